//! The search for the cheapest join order.
//!
//! Selinger et al., "Access Path Selection in a Relational Database Management System" (SIGMOD 1979): the
//! best order of a set of members ends with one of them, after the best order of the others. So the best
//! orders of all sets are found from small sets to large ones. Beyond [`MOST_SEARCHED`] members, the next
//! member is the one whose cost and resulting rows add up to the least, and members that share a condition
//! with earlier ones come first.
//!
//! Of orders with the same cost, the one that follows FROM longer is taken. Members of outer joins count in
//! the order of FROM. Their own groups are searched when their turn comes.

use hyades_engine::procedure::ir::RowSlot;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;

use super::estimate::{COST_OF_PROBE, Extension};
use super::{Member, Order};
use crate::bind::tree::Source;
use crate::plan::access::{self, OrderColumn};

/// Largest number of members for which all orders are considered.
const MOST_SEARCHED: usize = 8;
/// The cost of considering a member, in work units of a guest.
const UNITS_PER_MEMBER: usize = 4;
/// The cost of processing a row after the joins, or before it meets the next relation.
const COST_OF_ROW: f64 = 0.5;
/// Comparing two rows when they are sorted.
const COST_OF_COMPARISON: f64 = 0.5;

/// A set of joined members.
#[derive(Clone, Copy, Debug)]
struct Joined {
    cost: f64,
    rows: f64,
    is_single: bool,
    /// The last member. None if there are no members yet.
    last: Option<usize>,
    /// Whether its rows are kept in a join table although an index leads to them.
    keeps: bool,
}

impl Joined {
    fn and(&self, next: usize, extension: Extension) -> Joined {
        let rows = (self.rows * extension.rows).max(1.0);
        let by_index = extension.build + self.rows * extension.probe;
        let kept =
            extension.kept.map(|build| build + self.rows * COST_OF_PROBE).filter(|kept| *kept < by_index);
        Joined {
            cost: self.cost + kept.unwrap_or(by_index) + rows * COST_OF_ROW,
            rows,
            keeps: kept.is_some(),
            is_single: self.is_single && extension.is_single,
            last: Some(next),
        }
    }
}

/// Whether a set, represented as bits, contains a member.
fn contains(set: usize, member: usize) -> bool {
    set & 1 << member != 0
}

/// One step of an order.
pub(super) struct Next {
    /// The number of the member.
    pub(crate) member: usize,
    /// As in [`Joined`].
    pub(crate) keeps: bool,
}

impl Order<'_> {
    /// The members in the order of their loops.
    pub(super) fn search(&self, members: &[Member]) -> Result<Vec<Next>> {
        if members.len() == 1 {
            return Ok(vec![Next { member: 0, keeps: false }]);
        }
        let search = Search::new(self, members);
        let found = match members.len() <= MOST_SEARCHED {
            true => search.all_orders()?,
            false => search.next_by_next()?,
        };
        found.ok_or_else(|| {
            Error::input(sqlstate::INTERNAL_ERROR, "the items of FROM depend on each other in a circle")
        })
    }
}

struct Search<'s, 'a> {
    order: &'s Order<'a>,
    members: &'s [Member],
    /// The member that an item belongs to. None for items that already have loops.
    member_of: Vec<Option<usize>>,
    /// For each member, those with which it shares a condition.
    neighbours: Vec<Vec<usize>>,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(order: &'s Order<'a>, members: &'s [Member]) -> Search<'s, 'a> {
        let mut member_of = vec![None; order.items.len()];
        for (number, member) in members.iter().enumerate() {
            member.items().iter().for_each(|item| member_of[*item] = Some(number));
        }
        let mut neighbours = vec![Vec::new(); members.len()];
        for pending in order.pending.iter().filter(|pending| pending.condition.is_some()) {
            let mut joined: Vec<usize> = pending.reads.iter().filter_map(|item| member_of[*item]).collect();
            joined.dedup();
            for member in &joined {
                neighbours[*member].extend(joined.iter().filter(|other| *other != member));
            }
        }
        for neighbours in &mut neighbours {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        Search { order, members, member_of, neighbours }
    }

    fn nothing(&self) -> Joined {
        Joined { cost: 0.0, rows: 1.0, is_single: self.order.is_single, last: None, keeps: false }
    }

    /// Whether an item comes before the next member, if these members do.
    fn is_known(&self, item: usize, comes_before: impl Fn(usize) -> bool) -> bool {
        self.member_of[item].map_or(self.order.items[item].is_none(), comes_before)
    }

    /// The cheapest order of all, or the cheapest that begins with rows in the requested order, if stopping
    /// early makes it cheaper than sorting.
    fn all_orders(&self) -> Result<Option<Vec<Next>>> {
        let mut known = vec![None; self.members.len() << self.members.len() << 1];
        let any = self.cheapest(None, &mut known)?;
        let stop = self.order.early_stop.as_ref().and_then(|stop| {
            let (row, columns) = stop.order.as_ref()?;
            Some((stop.limit, self.first_in_order(*row, columns)?))
        });
        let Some((limit, first)) = stop else {
            return Ok(any.map(|(_, order)| order));
        };
        let sorted_cost =
            any.as_ref().map(|(any, _)| any.cost + any.rows * any.rows.log2() * COST_OF_COMPARISON);
        let in_order = self.cheapest(Some(first), &mut known)?.filter(|(in_order, _)| {
            let cost = in_order.cost * (limit / in_order.rows).min(1.0);
            sorted_cost.is_none_or(|sorted| cost <= sorted)
        });
        Ok(in_order.or(any).map(|(_, order)| order))
    }

    /// The member whose rows can come in this order if it is the first.
    fn first_in_order(&self, wanted: RowSlot, columns: &[OrderColumn]) -> Option<usize> {
        self.members.iter().position(|member| {
            let Member::Item(item) = member else { return false };
            let Some(Source::Table { table, row, .. }) =
                self.order.items[*item].as_ref().map(|item| &item.source)
            else {
                return false;
            };
            if *row != wanted {
                return false;
            }
            let (_, choice) = self.order.choice_after(*item, &|item| self.order.items[item].is_none());
            access::in_order(&table.definition(), &choice, columns, true, false).is_some()
        })
    }

    /// The best order of all members, or with `first` of those that begin with this one. `known`: see
    /// [`Search::known_extension`].
    fn cheapest(
        &self,
        first: Option<usize>,
        known: &mut [Option<Extension>],
    ) -> Result<Option<(Joined, Vec<Next>)>> {
        let count = self.members.len();
        let mut best: Vec<Option<Joined>> = vec![None; 1 << count];
        best[0] = Some(self.nothing());
        for set in 0..best.len() {
            let Some(joined) = best[set] else { continue };
            guest::spend_for(UNITS_PER_MEMBER * count)?;
            for next in (0..count).filter(|next| !contains(set, *next)) {
                if set == 0 && first.is_some_and(|first| first != next) {
                    continue;
                }
                let Some(extension) = self.known_extension(next, set, joined.is_single, known) else {
                    continue;
                };
                let candidate = joined.and(next, extension);
                let place = &mut best[set | 1 << next];
                if place.is_none_or(|best| candidate.cost < best.cost) {
                    *place = Some(candidate);
                }
            }
        }
        let Some(all) = best[best.len() - 1] else { return Ok(None) };
        let mut order = Vec::with_capacity(count);
        let mut set = best.len() - 1;
        while let Some(Joined { last: Some(member), keeps, .. }) = best[set] {
            order.push(Next { member, keeps });
            set &= !(1 << member);
        }
        order.reverse();
        Ok(Some((all, order)))
    }

    /// The cost of joining a member to a set. `None` if it reads one that is not in the set. Only its
    /// neighbours matter.
    fn known_extension(
        &self,
        next: usize,
        set: usize,
        is_single: bool,
        known: &mut [Option<Extension>],
    ) -> Option<Extension> {
        let member = &self.members[next];
        if !self.order.is_ready(member, &|item| self.is_known(item, |member| contains(set, member))) {
            return None;
        }
        let of_interest = self.neighbours[next].iter().fold(0, |bits, neighbour| bits | 1 << neighbour) & set;
        let place = &mut known[(next << self.members.len() | of_interest) << 1 | usize::from(is_single)];
        Some(*place.get_or_insert_with(|| {
            let is_known = |item: usize| self.is_known(item, |member| contains(of_interest, member));
            self.order.extension(member, &is_known, is_single)
        }))
    }

    /// One member at a time: among those that share a condition with an earlier one, if there are any, the
    /// one with the lowest cost, including the rows that it leaves.
    fn next_by_next(&self) -> Result<Option<Vec<Next>>> {
        let count = self.members.len();
        let mut order = Vec::with_capacity(count);
        let (mut is_placed, mut is_joined) = (vec![false; count], vec![false; count]);
        let mut known: Vec<Option<Extension>> = vec![None; count];
        let mut joined = self.nothing();
        while order.len() < count {
            guest::spend_for(UNITS_PER_MEMBER * count)?;
            let mut best: Option<(bool, f64, Joined, usize)> = None;
            let is_known = |item: usize| self.is_known(item, |member| is_placed[member]);
            for next in (0..count).filter(|next| !is_placed[*next]) {
                let member = &self.members[next];
                if !self.order.is_ready(member, &is_known) {
                    continue;
                }
                let extension = *known[next]
                    .get_or_insert_with(|| self.order.extension(member, &is_known, joined.is_single));
                let candidate = joined.and(next, extension);
                let burden = candidate.cost - joined.cost + candidate.rows;
                let is_better = |(best_is_joined, least, ..): &(bool, f64, Joined, usize)| {
                    (is_joined[next], *least) > (*best_is_joined, burden)
                };
                if best.as_ref().is_none_or(is_better) {
                    best = Some((is_joined[next], burden, candidate, next));
                }
            }
            let Some((_, _, chosen, next)) = best else { return Ok(None) };
            if joined.is_single != chosen.is_single {
                known.fill(None);
            }
            is_placed[next] = true;
            for neighbour in &self.neighbours[next] {
                (is_joined[*neighbour], known[*neighbour]) = (true, None);
            }
            order.push(Next { member: next, keeps: chosen.keeps });
            joined = chosen;
        }
        Ok(Some(order))
    }
}
