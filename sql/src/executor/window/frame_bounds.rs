//! Where the frame of the current row begins and ends.
//!
//! Neither end ever goes back while the current row goes on, so each is found by going on from where it was.

use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::value::Value;
use jiff::tz::TimeZone;

use super::in_range::{Comparison, in_range};
use super::window_rows::{GroupCursor, Peers, WindowRows};
use crate::bind::windowing::{Exclusion, FrameUnit};
use crate::plan::stage::SortKey;
use crate::plan::window_stage::{StagedBound, StagedFrame};

/// The frame of the current row, before rows are excluded.
pub(super) struct FrameBounds {
    pub(super) frame: StagedFrame,
    pub(super) start: usize,
    /// The row after the last one. Not before the start.
    pub(super) end: usize,
    /// The same, which may be before the start.
    end_found: usize,
    offsets: [Value; 2],
    /// For RANGE with an offset: the key of the order.
    key: Option<SortKey>,
    time_zone: TimeZone,
    groups: [GroupCursor; 2],
    /// What is excluded.
    excluded: (usize, usize),
    current: usize,
}

/// Rows of a frame, one after the other: from the first number up to but excluding the second.
pub(super) type Segment = (usize, usize);

/// An offset in rows or groups.
fn distance(offset: &Value) -> usize {
    offset.as_i64().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(usize::MAX)
}

impl FrameBounds {
    pub(super) fn new(
        frame: StagedFrame,
        offsets: [Value; 2],
        key: Option<SortKey>,
        time_zone: TimeZone,
    ) -> FrameBounds {
        FrameBounds {
            frame,
            start: 0,
            end: 0,
            end_found: 0,
            offsets,
            key,
            time_zone,
            groups: [GroupCursor::default(); 2],
            excluded: (0, 0),
            current: 0,
        }
    }

    /// Begins a partition.
    pub(super) fn restart(&mut self) {
        (self.start, self.end, self.end_found) = (0, 0, 0);
        self.groups = [GroupCursor::default(); 2];
    }

    /// Finds the frame of this row.
    pub(super) fn settle(&mut self, current: usize, peers: &mut Peers, rows: &mut WindowRows) -> Result<()> {
        self.current = current;
        self.start = self.start_of(current, peers, rows)?;
        self.end_found = self.end_of(current, peers, rows)?;
        self.end = self.end_found.max(self.start);
        self.excluded = match self.frame.exclusion {
            Exclusion::NoOthers => (0, 0),
            Exclusion::CurrentRow => (current, current + 1),
            Exclusion::Group | Exclusion::Ties => (peers.start, peers.end(current, rows)?),
        };
        Ok(())
    }

    fn start_of(&mut self, current: usize, peers: &Peers, rows: &mut WindowRows) -> Result<usize> {
        let FrameUnit::Rows = self.frame.unit else {
            return match self.frame.start {
                StagedBound::UnboundedPreceding => Ok(0),
                StagedBound::CurrentRow => Ok(peers.start),
                StagedBound::UnboundedFollowing => rows.complete(),
                StagedBound::Preceding(_) | StagedBound::Following(_) => {
                    self.start_at_offset(current, peers, rows)
                }
            };
        };
        Ok(match self.frame.start {
            StagedBound::UnboundedPreceding => 0,
            StagedBound::CurrentRow => current,
            StagedBound::UnboundedFollowing => rows.complete()?,
            StagedBound::Preceding(_) => current.saturating_sub(distance(&self.offsets[0])),
            StagedBound::Following(_) => {
                let start = current.saturating_add(distance(&self.offsets[0]));
                if rows.has(start)? { start } else { rows.complete()? }
            }
        })
    }

    fn start_at_offset(&mut self, current: usize, peers: &Peers, rows: &mut WindowRows) -> Result<usize> {
        let is_preceding = matches!(self.frame.start, StagedBound::Preceding(_));
        if self.frame.unit == FrameUnit::Groups {
            let offset = distance(&self.offsets[0]);
            let number = match is_preceding {
                true => peers.number.saturating_sub(offset),
                false => peers.number.saturating_add(offset),
            };
            self.groups[0].go_to(number, rows)?;
            return Ok(self.groups[0].row);
        }
        let Some(key) = self.key else { return Ok(0) };
        let base = rows.row(current)?[key.value].clone();
        let mut start = self.start;
        while rows.has(start)? {
            guest::spend(1)?;
            let value = &rows.row(start)?[key.value];
            let is_in = match (value.is_null(), base.is_null()) {
                (false, false) => {
                    let comparison = Comparison {
                        is_subtracted: is_preceding != key.is_descending,
                        is_less: key.is_descending,
                    };
                    in_range(value, &base, &self.offsets[0], comparison, &self.time_zone)?
                }
                (is_null, is_base_null) if key.nulls_first => !is_null || is_base_null,
                (is_null, is_base_null) => is_null || !is_base_null,
            };
            if is_in {
                break;
            }
            start += 1;
        }
        Ok(start)
    }

    fn end_of(&mut self, current: usize, peers: &mut Peers, rows: &mut WindowRows) -> Result<usize> {
        let FrameUnit::Rows = self.frame.unit else {
            return match self.frame.end {
                StagedBound::UnboundedPreceding => Ok(0),
                StagedBound::CurrentRow => peers.end(current, rows),
                StagedBound::UnboundedFollowing => rows.complete(),
                StagedBound::Preceding(_) | StagedBound::Following(_) => {
                    self.end_at_offset(current, peers, rows)
                }
            };
        };
        Ok(match self.frame.end {
            StagedBound::UnboundedPreceding => 0,
            StagedBound::CurrentRow => current + 1,
            StagedBound::UnboundedFollowing => rows.complete()?,
            StagedBound::Preceding(_) => (current + 1).saturating_sub(distance(&self.offsets[1])),
            StagedBound::Following(_) => {
                let last = current.saturating_add(distance(&self.offsets[1]));
                if rows.has(last)? { last + 1 } else { rows.complete()? }
            }
        })
    }

    fn end_at_offset(&mut self, current: usize, peers: &Peers, rows: &mut WindowRows) -> Result<usize> {
        let is_preceding = matches!(self.frame.end, StagedBound::Preceding(_));
        if self.frame.unit == FrameUnit::Groups {
            let offset = distance(&self.offsets[1]);
            // The peers after the last ones of the frame.
            let number = match is_preceding {
                true => (peers.number + 1).saturating_sub(offset),
                false => (peers.number + 1).saturating_add(offset),
            };
            self.groups[1].go_to(number, rows)?;
            return Ok(self.groups[1].row);
        }
        let Some(key) = self.key else { return rows.complete() };
        let base = rows.row(current)?[key.value].clone();
        let mut end = self.end_found;
        while rows.has(end)? {
            guest::spend(1)?;
            let value = &rows.row(end)?[key.value];
            let is_in = match (value.is_null(), base.is_null()) {
                (false, false) => {
                    let comparison = Comparison {
                        is_subtracted: is_preceding != key.is_descending,
                        is_less: !key.is_descending,
                    };
                    in_range(value, &base, &self.offsets[1], comparison, &self.time_zone)?
                }
                (is_null, _) if key.nulls_first => is_null,
                (_, is_base_null) => is_base_null,
            };
            if !is_in {
                break;
            }
            end += 1;
        }
        Ok(end)
    }

    /// Following frames look at no row before this one to find where they begin and end.
    pub(super) fn needed(&self) -> usize {
        let is_offset = |bound| matches!(bound, StagedBound::Preceding(_) | StagedBound::Following(_));
        let mut needed = usize::MAX;
        if self.frame.unit != FrameUnit::Rows {
            if is_offset(self.frame.start) {
                needed = self.start;
            }
            if is_offset(self.frame.end) {
                needed = needed.min(self.end_found);
            }
        }
        needed
    }

    /// The rows of the frame that are not excluded.
    pub(super) fn segments(&self) -> impl DoubleEndedIterator<Item = Segment> {
        let (start, end) = (self.start, self.end);
        let current = (start.max(self.current), end.min(self.current + 1));
        let (before, after) = ((start, end.min(self.excluded.0)), (start.max(self.excluded.1), end));
        let segments = match self.frame.exclusion {
            Exclusion::NoOthers => [(start, end), (0, 0), (0, 0)],
            Exclusion::CurrentRow | Exclusion::Group => [before, (0, 0), after],
            Exclusion::Ties => [before, current, after],
        };
        segments.into_iter().filter(|(from, to)| from < to)
    }

    /// The row at this place of the frame, counting from 0.
    pub(super) fn nth(&self, mut place: usize) -> Option<usize> {
        for (from, to) in self.segments() {
            if place < to - from {
                return Some(from + place);
            }
            place -= to - from;
        }
        None
    }

    /// The last row of the frame.
    pub(super) fn last(&self) -> Option<usize> {
        self.segments().next_back().map(|(_, to)| to - 1)
    }
}
