//! What a restart on demand replays first: the *passes* of the replay over the logs.
//!
//! A database may have much more to load than its logs change, and a session that waits for a table that they
//! change need not wait until everything else has been loaded. So the logs may be replayed several times,
//! each time for other tables: early passes for tables that sessions wait for, and a last pass for everything
//! that no early pass has replayed.
//!
//! **What belongs together.** Data records say what rows become, so those of one table mean the same without
//! those of another. A call is replayed on all tables that its procedure names. Tables that calls in the logs
//! connect, directly or through others, are therefore one *group*: a pass replays all of it or nothing, and
//! every call belongs to one group.
//!
//! **What an early pass takes.** It begins when a group that a session waits for has been loaded, and takes
//! all groups that have been loaded: each is replayed only once anyway. Transactions touch several tables,
//! one after another, and each table could become a pass of its own. So the smallest groups that the logs
//! change, as long as they have no more bytes together than the logs, are its *companions*: they are loaded
//! before it begins.
//!
//! **What it reads.** If it is known where in the logs the records lie that change a table (`extents`), and
//! that is a part of the logs only, an early pass reads just that, for the tables that sessions wait for: it
//! is *selective*. There is no need then to wait for other tables. Calls have no extents, so groups with
//! calls need all of the logs.
//!
//! **When it is worth it.** An early pass reads some of the logs once more. It begins only while at least as
//! much remains to be loaded (a selective one also if it reads little), and only if all early passes together
//! read no more of the logs than the checkpoint has bytes. Nothing is loaded while it runs: a session that
//! waits for a table that only has to be loaded waits for the end of the pass.
//!
//! **Ranges.** The changes of some ranges of keys may have been merged into them while they were loaded
//! (`range_reader`). No pass replays those.
//!
//! Invariants:
//! 1. Each change of a table that was not merged, and each call, is replayed by exactly one pass.
//! 2. An early pass begins when everything that it takes has been loaded, the last one when everything has.
//! 3. A table that cannot be loaded takes its whole group with it: no pass replays any of it.
//! 4. If the logs change the catalog, or if a call in them may be refused, there is only the last pass.

use std::collections::{HashMap, HashSet};

use hyades_types::definition::TableId;

use super::last_positions::Called;
use crate::mutant::{self, Mutant};

/// A selective pass reads at most this part of the logs for a table.
const SELECTIVE_PART: u64 = 2;

/// At most so much of the logs is read, and kept in memory, for one range of keys.
const MOST_RANGE_BYTES: u64 = 64 << 20;

/// What a pass replays.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// What earlier passes have replayed, and what no pass can replay.
    done: Part,
    /// Of the rest, only this. If it is `None`, all of the rest.
    only: Option<Part>,
    /// Bytes of the logs that it reads, if it is selective.
    selective_bytes: Option<u64>,
    /// Of the tables that it takes, the keys whose changes were merged when their ranges were loaded.
    merged: Vec<(TableId, MergedKeys)>,
}

/// From a key on, and before another one.
type MergedRange = (Box<[u8]>, Option<Box<[u8]>>);

/// Ranges of keys, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct MergedKeys(Vec<MergedRange>);

impl MergedKeys {
    /// Adds a range, which overlaps no other.
    pub(super) fn add(&mut self, (from, until): (&[u8], Option<&[u8]>)) {
        let place = self.0.partition_point(|(other, _)| **other < *from);
        self.0.insert(place, (from.into(), until.map(Into::into)));
    }

    #[inline]
    pub(super) fn has(&self, key: &[u8]) -> bool {
        let after = self.0.partition_point(|(from, _)| **from <= *key);
        let range = after.checked_sub(1).and_then(|place| self.0.get(place));
        range.is_some_and(|(_, until)| until.as_ref().is_none_or(|until| *key < **until))
    }
}

#[derive(Clone, Debug, Default)]
struct Part {
    tables: HashSet<TableId>,
    calls: HashSet<Called>,
}

impl Selection {
    pub(super) fn is_everything(&self) -> bool {
        self.done.tables.is_empty() && self.only.is_none() && self.merged.is_empty()
    }

    /// The same without the changes of these keys.
    pub(super) fn without(&self, merged: Vec<(TableId, MergedKeys)>) -> Selection {
        Selection { merged, ..self.clone() }
    }

    /// The keys of a table whose changes are not taken.
    #[inline]
    pub(super) fn merged_keys(&self, table: TableId) -> Option<&MergedKeys> {
        self.merged.iter().find(|(merged, _)| *merged == table).map(|(_, keys)| keys)
    }

    /// Whether other passes follow it.
    pub(super) fn is_early(&self) -> bool {
        self.only.is_some()
    }

    /// Bytes of the logs that it reads, if those are only the extents of its tables.
    pub(super) fn selective_bytes(&self) -> Option<u64> {
        self.selective_bytes
    }

    pub(super) fn takes_table(&self, table: TableId) -> bool {
        self.takes(|part| part.tables.contains(&table))
    }

    pub(super) fn takes_call(&self, called: Called) -> bool {
        self.takes(|part| part.calls.contains(&called))
    }

    fn takes(&self, has: impl Fn(&Part) -> bool) -> bool {
        let is_done = has(&self.done) && !mutant::is_active(Mutant::EarlyPassForgotten);
        !is_done && self.only.as_ref().is_none_or(has)
    }
}

/// A table that the logs change.
pub(super) struct Changed {
    pub(super) table: TableId,
    /// Of the checkpoint.
    pub(super) bytes_to_load: u64,
    /// Of the logs, in the extents of the table; `None` if they are not known.
    pub(super) extent_bytes: Option<u64>,
}

#[derive(Debug, Default)]
struct Group {
    tables: Vec<TableId>,
    calls: Vec<Called>,
    bytes_to_load: u64,
    /// As in [`Changed`].
    extent_bytes: Option<u64>,
    /// Whether it is loaded before an early pass begins.
    is_companion: bool,
    /// Whether a pass over it has begun.
    is_done: bool,
}

/// The groups of the tables that the logs change, and which of them have been replayed.
#[derive(Debug, Default)]
pub(super) struct Passes {
    groups: Vec<Group>,
    group_of: HashMap<TableId, usize>,
    /// Bytes of the logs that a pass reads.
    log_bytes: u64,
    /// Bytes of the logs that the early passes read that have begun, and what those take.
    early_bytes: u64,
    done: Part,
}

impl Passes {
    pub(super) fn new(changed: &[Changed], calls: &[(Called, Vec<TableId>)], log_bytes: u64) -> Passes {
        let mut connected = Connected::default();
        for (_, tables) in calls {
            tables.windows(2).for_each(|pair| connected.connect(pair[0], pair[1]));
        }
        let mut passes = Passes { log_bytes, ..Passes::default() };
        let mut group_of_first = HashMap::new();
        for Changed { table, bytes_to_load, extent_bytes } in changed {
            let first = connected.first(*table);
            let place = *group_of_first.entry(first).or_insert_with(|| {
                passes.groups.push(Group::default());
                passes.groups.len() - 1
            });
            passes.group_of.insert(*table, place);
            passes.groups[place].tables.push(*table);
            let group = &mut passes.groups[place];
            group.bytes_to_load += bytes_to_load;
            // Only calls connect several tables.
            group.extent_bytes = extent_bytes.filter(|_| group.tables.len() == 1);
        }
        for (called, tables) in calls {
            // A call without tables is left to the last pass.
            let place = tables.first().and_then(|first| passes.group_of.get(first));
            if let Some(place) = place {
                passes.groups[*place].calls.push(*called);
                passes.groups[*place].extent_bytes = None;
            }
        }
        passes.choose_companions();
        passes
    }

    fn choose_companions(&mut self) {
        let mut by_size: Vec<&mut Group> = self.groups.iter_mut().collect();
        by_size.sort_by_key(|group| group.bytes_to_load);
        let mut bytes = 0;
        for group in by_size {
            bytes += group.bytes_to_load;
            group.is_companion = bytes <= self.log_bytes;
        }
    }

    pub(super) fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    /// The tables that are loaded before an early pass begins, whatever it is wanted for.
    pub(super) fn companions(&self) -> HashSet<TableId> {
        let companions = self.groups.iter().filter(|group| group.is_companion);
        companions.flat_map(|group| group.tables.iter().copied()).collect()
    }

    /// The tables that must be loaded before an early pass for these, and that have not been replayed.
    pub(super) fn needed_for(&self, waited_for: &[TableId]) -> Vec<TableId> {
        let mut groups = self.groups_left_of(waited_for);
        if !groups.is_empty() {
            groups.extend((0..self.groups.len()).filter(|place| self.is_companion_left(*place)));
        }
        groups.into_iter().flat_map(|place| self.groups[place].tables.iter().copied()).collect()
    }

    /// Whether another early pass is worth it while this much of a checkpoint remains to be loaded.
    pub(super) fn is_worth(&self, bytes_left: u64, checkpoint_bytes: u64) -> bool {
        let early = self.early_bytes.saturating_add(self.log_bytes);
        bytes_left > 0 && bytes_left >= self.log_bytes && early <= checkpoint_bytes
    }

    /// Whether ranges of a table can be opened one by one: whatever changes it, its extents say where.
    pub(super) fn can_be_divided(&self, table: TableId) -> bool {
        let group = self.group_of.get(&table).map(|place| &self.groups[*place]);
        group.is_none_or(|group| group.extent_bytes.is_some())
    }

    /// Whether so many bytes of the logs may be read for a range of this table. They count as those of an
    /// early pass.
    pub(super) fn admit_range(&mut self, table: TableId, bytes: u64, checkpoint_bytes: u64) -> bool {
        let is_left = self.group_of.get(&table).is_none_or(|place| !self.groups[*place].is_done);
        let fits = bytes <= MOST_RANGE_BYTES && self.early_bytes + bytes <= checkpoint_bytes;
        self.early_bytes += if is_left && fits { bytes } else { 0 };
        is_left && fits
    }

    /// Whether a group can be replayed by a selective pass.
    fn is_selective(&self, group: &Group) -> bool {
        group.extent_bytes.is_some_and(|bytes| bytes <= self.log_bytes / SELECTIVE_PART)
    }

    /// Begins a selective pass, if some of the tables that sessions wait for are ready for one that is worth
    /// it. The other two are as for [`Passes::is_worth`].
    pub(super) fn begin_selective(
        &mut self,
        waited_for: &[TableId],
        unloaded: &HashSet<TableId>,
        (bytes_left, checkpoint_bytes): (u64, u64),
    ) -> Option<Selection> {
        let is_loaded = |group: &Group| group.tables.iter().all(|table| !unloaded.contains(table));
        let mut taken = Vec::new();
        let (mut bytes, most) = (0, bytes_left.max(self.log_bytes / SELECTIVE_PART));
        for place in self.groups_left_of(waited_for) {
            let group = &self.groups[place];
            let more = group.extent_bytes.filter(|_| is_loaded(group) && self.is_selective(group));
            let fits = |bytes| bytes <= most && self.early_bytes + bytes <= checkpoint_bytes;
            if let Some(more) = more.filter(|more| fits(bytes + more)) {
                bytes += more;
                taken.push(place);
            }
        }
        (!taken.is_empty()).then(|| Selection { selective_bytes: Some(bytes), ..self.take(taken, bytes) })
    }

    /// Begins an early pass, if one of the tables that sessions wait for is ready for it.
    pub(super) fn begin_early(
        &mut self,
        waited_for: &[TableId],
        unloaded: &HashSet<TableId>,
    ) -> Option<Selection> {
        let is_loaded =
            |place: &usize| self.groups[*place].tables.iter().all(|table| !unloaded.contains(table));
        let all = 0..self.groups.len();
        let is_ready = self.groups_left_of(waited_for).iter().any(is_loaded)
            && all.clone().filter(|place| self.is_companion_left(*place)).all(|place| is_loaded(&place));
        if !is_ready {
            return None;
        }
        let taken: Vec<usize> =
            all.filter(|place| !self.groups[*place].is_done && is_loaded(place)).collect();
        Some(self.take(taken, self.log_bytes))
    }

    /// An early pass over these groups begins, which reads this much of the logs.
    fn take(&mut self, taken: Vec<usize>, log_bytes: u64) -> Selection {
        let mut only = Part::default();
        for place in taken {
            let group = &mut self.groups[place];
            group.is_done = true;
            only.tables.extend(&group.tables);
            only.calls.extend(&group.calls);
        }
        let done = self.done.clone();
        self.done.tables.extend(&only.tables);
        self.done.calls.extend(&only.calls);
        self.early_bytes += log_bytes;
        Selection { done, only: Some(only), ..Selection::default() }
    }

    /// This table cannot be loaded, so nothing that the logs change together with it can be replayed. No pass
    /// takes these tables and calls any more. Returns the tables.
    pub(super) fn give_up(&mut self, table: TableId) -> Vec<TableId> {
        let Some(place) = self.group_of.get(&table) else { return vec![table] };
        let group = &mut self.groups[*place];
        group.is_done = true;
        self.done.tables.extend(&group.tables);
        self.done.calls.extend(&group.calls);
        group.tables.clone()
    }

    /// The last pass.
    pub(super) fn rest(&self) -> Selection {
        Selection { done: self.done.clone(), ..Selection::default() }
    }

    /// The groups of these tables for which no pass has begun.
    fn groups_left_of(&self, tables: &[TableId]) -> HashSet<usize> {
        let places = tables.iter().filter_map(|table| self.group_of.get(table).copied());
        places.filter(|place| !self.groups[*place].is_done).collect()
    }

    fn is_companion_left(&self, place: usize) -> bool {
        self.groups[place].is_companion && !self.groups[place].is_done
    }
}

/// Which tables are connected: each leads to the first of those with which it is connected.
#[derive(Default)]
struct Connected(HashMap<TableId, TableId>);

impl Connected {
    fn first(&self, table: TableId) -> TableId {
        let mut first = table;
        while let Some(next) = self.0.get(&first) {
            first = *next;
        }
        first
    }

    fn connect(&mut self, one: TableId, other: TableId) {
        let (one, other) = (self.first(one), self.first(other));
        if one != other {
            self.0.insert(one, other);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;

    use hyades_types::definition::{RoutineId, TableId};

    use crate::recovery::last_positions::Called;
    use crate::recovery::passes::{Changed, Passes, Selection};

    const CALL: Called = (RoutineId(1), 7);
    const OTHER_CALL: Called = (RoutineId(2), 7);

    /// Tables 1, 2, 3 ... of these sizes in bytes.
    fn passes(bytes: &[u64], calls: &[(Called, &[u32])], log_bytes: u64) -> Passes {
        let changed = bytes.iter().zip(1..).map(|(bytes, id)| Changed {
            table: TableId(id),
            bytes_to_load: *bytes,
            extent_bytes: None,
        });
        let calls =
            calls.iter().map(|(called, tables)| (*called, tables.iter().copied().map(TableId).collect()));
        Passes::new(&changed.collect::<Vec<_>>(), &calls.collect::<Vec<_>>(), log_bytes)
    }

    fn set(ids: &[u32]) -> HashSet<TableId> {
        ids.iter().copied().map(TableId).collect()
    }

    /// Which of the first four tables the pass takes.
    fn taken(selection: &Selection) -> HashSet<TableId> {
        (1..=4).map(TableId).filter(|table| selection.takes_table(*table)).collect()
    }

    #[test]
    fn what_calls_connect_is_replayed_together() {
        let calls: [(Called, &[u32]); 2] = [(CALL, &[1, 2]), (OTHER_CALL, &[2, 4])];
        let mut passes = passes(&[900; 4], &calls, 10);
        let waited_for = [TableId(4)];
        let needed: HashSet<TableId> = passes.needed_for(&waited_for).into_iter().collect();
        assert_eq!(needed, set(&[1, 2, 4]));
        assert!(passes.begin_early(&waited_for, &set(&[1, 3])).is_none(), "table 1 is not loaded");
        let early = passes.begin_early(&waited_for, &set(&[3])).expect("it is ready");
        assert!(early.is_early() && early.takes_call(CALL) && early.takes_call(OTHER_CALL));
        assert_eq!(taken(&early), set(&[1, 2, 4]));
        let last = passes.rest();
        assert!(!last.is_early() && !last.takes_call(CALL) && !last.takes_call(OTHER_CALL));
        assert_eq!(taken(&last), set(&[3]));
    }

    #[test]
    fn a_call_of_no_table_is_replayed_by_the_last_pass() {
        let mut passes = passes(&[900, 900], &[(CALL, &[])], 10);
        let early = passes.begin_early(&[TableId(1)], &HashSet::new()).expect("it is ready");
        assert_eq!(taken(&early), set(&[1, 2]), "all that is loaded");
        assert!(!early.takes_call(CALL) && passes.rest().takes_call(CALL));
    }

    #[test]
    fn what_is_as_small_as_the_logs_is_loaded_before() {
        let mut passes = passes(&[50, 900, 40, 30], &[], 80);
        assert_eq!(passes.companions(), set(&[3, 4]));
        assert!(passes.needed_for(&[]).is_empty());
        let waited_for = [TableId(1)];
        assert_eq!(passes.needed_for(&waited_for).into_iter().collect::<HashSet<_>>(), set(&[1, 3, 4]));
        assert!(passes.begin_early(&waited_for, &set(&[2, 3])).is_none(), "a companion is not loaded");
        assert!(passes.begin_early(&waited_for, &set(&[1, 2])).is_none(), "nobody waits for what is");
        let early = passes.begin_early(&waited_for, &set(&[2])).expect("it is ready");
        assert_eq!(taken(&early), set(&[1, 3, 4]));
        assert!(passes.begin_early(&waited_for, &set(&[2])).is_none(), "it has been replayed");
    }

    #[test]
    fn a_large_table_that_is_waited_for_holds_no_other_up() {
        let mut passes = passes(&[900, 10], &[], 80);
        let early = passes.begin_early(&[TableId(1), TableId(2)], &set(&[1])).expect("table 2 is ready");
        assert!(early.takes_table(TableId(2)) && !early.takes_table(TableId(1)));
    }

    #[test]
    fn it_is_worth_it_while_loading_takes_longer_and_reading_has_not_doubled() {
        let mut passes = passes(&[50, 900, 900], &[], 80);
        assert!(passes.is_worth(80, 950) && !passes.is_worth(79, 950) && !passes.is_worth(80, 79));
        assert!(!Passes::default().is_worth(0, 0));
        passes.begin_early(&[TableId(2)], &set(&[3])).expect("it is ready");
        assert!(passes.is_worth(80, 160) && !passes.is_worth(80, 159));
    }

    #[test]
    fn a_selective_pass_takes_only_what_is_waited_for_and_reads_little() {
        let changed = [(1, 900, Some(30)), (2, 900, Some(30)), (3, 900, Some(60)), (4, 900, Some(10))];
        let changed = changed.map(|(id, bytes_to_load, extent_bytes)| Changed {
            table: TableId(id),
            bytes_to_load,
            extent_bytes,
        });
        let mut passes = Passes::new(&changed, &[(CALL, vec![TableId(4)])], 100);
        let (bytes, loaded) = ((1000, 1000), HashSet::new());
        let all = [1, 2, 3, 4].map(TableId);
        assert!(passes.begin_selective(&all[..2], &set(&[1, 2]), bytes).is_none(), "they are not loaded");
        let early = passes.begin_selective(&all[..1], &loaded, bytes).expect("it is ready");
        assert_eq!((taken(&early), early.selective_bytes()), (set(&[1]), Some(30)));
        assert!(passes.begin_selective(&all[..1], &loaded, bytes).is_none(), "it has been replayed");
        assert!(passes.begin_selective(&all[2..], &loaded, bytes).is_none(), "too much, and a call");
        assert!(
            passes.begin_selective(&all[1..2], &loaded, (1000, 59)).is_none(),
            "with the other, too much"
        );
        let early = passes.begin_selective(&all, &loaded, (0, 60)).expect("it reads little");
        assert_eq!((taken(&early), early.takes_call(CALL)), (set(&[2]), false));
        assert_eq!(taken(&passes.rest()), set(&[3, 4]));
    }

    #[test]
    fn each_change_is_replayed_by_one_pass() {
        let mut passes = passes(&[50, 900, 40, 30], &[(CALL, &[2, 3])], 0);
        assert!(passes.rest().is_everything());
        let first = passes.begin_early(&[TableId(1)], &set(&[2, 3, 4])).expect("it is ready");
        let second = passes.begin_early(&[TableId(3)], &set(&[4])).expect("it is ready");
        let selections = [first, second, passes.rest()];
        for table in 1..=4 {
            let takes = selections.iter().filter(|selection| selection.takes_table(TableId(table)));
            assert_eq!(takes.count(), 1, "table {table}");
        }
        assert_eq!(selections.iter().filter(|selection| selection.takes_call(CALL)).count(), 1);
    }
}
