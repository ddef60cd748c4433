//! Chooses the span of a backup that has a point in time, and what of it is restored (`span`).

use hyades_types::error::Result;

use super::place::{Place, PointInTime};
use super::span::{Choice, Chooser, no_checkpoint, unusable};
use super::windows::{Window, sentence, window_of};
use crate::log::manifest::Manifest;

/// Chooses what to restore of a backup.
///
/// # Errors
/// A point that the backup does not have, or files that are missing or damaged.
pub(super) fn choose(source: Place<'_>, backup: &Manifest, point: PointInTime) -> Result<Choice> {
    let spans = backup.spans();
    let Some(last) = spans.last() else {
        return Err(unusable("there is nothing in the backup".to_owned()));
    };
    match point {
        PointInTime::End => Chooser::new(source, last).choose_time(u64::MAX),
        PointInTime::Time(until_us) => {
            let windows: Vec<Window> =
                spans.iter().map(|span| window_of(source, span)).collect::<Result<_>>()?;
            let begins_before = |window: &Window| window.from_us.is_none_or(|from_us| from_us <= until_us);
            let Some(place) = windows.iter().rposition(begins_before) else {
                return Err(unusable(format!("the backup begins later than that: {}", sentence(&windows))));
            };
            if until_us > windows[place].to_us {
                let message = format!("recovery would end before that time: {}", sentence(&windows));
                return Err(unusable(message));
            }
            Chooser::new(source, &spans[place]).choose_time(until_us)
        }
        PointInTime::Checkpoint(number) => {
            let has = |span: &&Manifest| span.checkpoints.iter().any(|one| one.number == number);
            match spans.iter().rfind(has) {
                Some(span) => Chooser::new(source, span).choose_checkpoint(number),
                None => Err(no_checkpoint(number, &spans)),
            }
        }
        PointInTime::Transaction { place, is_exclusive } => {
            let has = |span: &&Manifest| Chooser::new(source, span).may_have(place);
            let span = spans.iter().rfind(has).unwrap_or(last);
            Chooser::new(source, span).choose_transaction(place, is_exclusive)
        }
    }
}
