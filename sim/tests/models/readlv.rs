//! What readers leave for later writers: nothing, the paper's readLV as printed, or a readLV that works.
//!
//! # What is modelled
//! Taurus (VLDB 2020), section 4.4, algorithm 6: optimistic transactions that are logged as calls. A reader T
//! leaves its LSN vector at what it has read (readLV), so that a later writer W is replayed after it. And
//! what `engine/src/txn/writes/look.rs` and `engine/src/txn/replay_versions.rs` do in its place: readers
//! leave nothing, and a call is replayed on the rows of its own time
//! (docs/decisions/2026-11-29-calls-at-their-times.md).
//!
//! # State
//! Two rows, x and y, each with its version, its lock, its readLV and its writeLV. T reads x and writes y,
//! and its record is in log 0; W writes x, and its record is in log 1. For each: the vector that it has
//! collected, the vector in its record, and its commit time.
//!
//! # Rule
//! Algorithm 6: access, lock, raise the readLV of what was read, validate (what was read is neither changed
//! nor locked), log, release with the writeLV. The code: access, lock, reserve, draw the time, look (a writer
//! with an earlier time fails it, or is awaited), release. Replay may take the two records in each order that
//! their vectors allow.
//!
//! # Oracle
//! All interleavings in which both commit. Whatever order of replay the vectors allow, T's call reads what it
//! had read.

const X: usize = 0;
const Y: usize = 1;
/// The transactions; each has a log of its own.
const T: usize = 0;
const W: usize = 1;
const STEPS: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's: no readLV, and rows of the call's own time.
    CallsAtTheirTimes,
    /// Right, too: readLV has the reader's own end, whose place is reserved before, and writers follow it.
    ReadLvWithOwnEnd,
    /// Broken: as printed. No line reads readLV.
    Algorithm6,
    /// Broken: writers follow readLV, but it has only what the reader itself follows.
    WritersFollowReadLv,
    /// Broken: readers leave nothing, and a call reads the newest rows.
    NewestRows,
    /// Broken: as the code, but the look comes before the time.
    LookBeforeDraw,
}

impl Rule {
    fn has_times(self) -> bool {
        matches!(self, Rule::CallsAtTheirTimes | Rule::NewestRows | Rule::LookBeforeDraw)
    }

    fn follows_read_lv(self) -> bool {
        matches!(self, Rule::ReadLvWithOwnEnd | Rule::WritersFollowReadLv)
    }

    fn steps(self) -> [Step; STEPS] {
        use Step::{Access, Draw, Lock, Log, Look, RaiseReadLv, Release};
        match self {
            Rule::Algorithm6 | Rule::WritersFollowReadLv => [Access, Lock, RaiseReadLv, Look, Log, Release],
            Rule::ReadLvWithOwnEnd => [Access, Lock, Log, RaiseReadLv, Look, Release],
            Rule::CallsAtTheirTimes | Rule::NewestRows => [Access, Lock, Log, Draw, Look, Release],
            Rule::LookBeforeDraw => [Access, Lock, Log, Look, Draw, Release],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Access,
    Lock,
    RaiseReadLv,
    /// The paper's validation.
    Look,
    Log,
    Draw,
    Release,
}

/// For each log, whether the record there is followed.
type Vector = [bool; 2];

fn raise(vector: &mut Vector, by: Vector) {
    vector.iter_mut().zip(by).for_each(|(entry, by)| *entry |= by);
}

#[derive(Clone, Copy, Default)]
struct Row {
    is_changed: bool,
    locked_by: Option<usize>,
    read_lv: Vector,
    write_lv: Vector,
}

#[derive(Clone, Copy, Default)]
struct Transaction {
    vector: Vector,
    /// What its record says.
    logged: Vector,
    has_seen_change: bool,
    time: usize,
}

#[derive(Default)]
struct Run {
    rows: [Row; 2],
    transactions: [Transaction; 2],
    clock: usize,
}

impl Run {
    /// Runs both in this order of steps, if that is possible and both commit.
    fn new(rule: Rule, order: &[usize]) -> Option<Run> {
        let mut run = Run::default();
        let mut at = [0; 2];
        for own in order {
            run.step(rule, *own, rule.steps()[at[*own]])?;
            at[*own] += 1;
        }
        Some(run)
    }

    /// `None`: the transaction fails, or waits.
    fn step(&mut self, rule: Rule, own: usize, step: Step) -> Option<()> {
        let written = if own == T { Y } else { X };
        let one = &mut self.transactions[own];
        match step {
            Step::Access => {
                raise(&mut one.vector, self.rows[X].write_lv);
                one.has_seen_change = self.rows[X].is_changed;
            }
            Step::Lock => {
                if self.rows[written].locked_by.is_some() {
                    return None;
                }
                self.rows[written].locked_by = Some(own);
                raise(&mut one.vector, self.rows[written].write_lv);
                if rule.follows_read_lv() {
                    raise(&mut one.vector, self.rows[written].read_lv);
                }
            }
            Step::RaiseReadLv if own == T => raise(&mut self.rows[X].read_lv, one.vector),
            Step::Look if own == T => return self.look(rule),
            Step::RaiseReadLv | Step::Look => {}
            Step::Log => {
                if rule.follows_read_lv() {
                    raise(&mut one.vector, self.rows[written].read_lv);
                }
                one.logged = one.vector;
                one.vector[own] = true;
            }
            Step::Draw => {
                self.clock += 1;
                one.time = self.clock;
            }
            Step::Release => {
                let row = &mut self.rows[written];
                raise(&mut row.write_lv, one.vector);
                (row.is_changed, row.locked_by) = (true, None);
            }
        }
        Some(())
    }

    /// T looks again at x.
    fn look(&self, rule: Rule) -> Option<()> {
        let (reader, writer) = (self.transactions[T], self.transactions[W]);
        let has_changed = self.rows[X].is_changed != reader.has_seen_change;
        let is_locked = self.rows[X].locked_by.is_some();
        let is_earlier = writer.time > 0 && writer.time < reader.time;
        let fails = match rule.has_times() && reader.time > 0 {
            true => (has_changed || is_locked) && is_earlier,
            // A look without a time is one at the present.
            false => has_changed || (is_locked && !rule.has_times()),
        };
        (!fails).then_some(())
    }

    /// Whether T's call reads what it had read if W is replayed before it, or after it.
    fn is_right(&self, rule: Rule, is_writer_first: bool) -> bool {
        let (reader, writer) = (self.transactions[T], self.transactions[W]);
        let is_visible = rule == Rule::NewestRows || !rule.has_times() || writer.time < reader.time;
        (is_writer_first && is_visible) == reader.has_seen_change
    }

    /// Whether the vectors allow that W is replayed before T, or after it.
    fn is_allowed(&self, is_writer_first: bool) -> bool {
        match is_writer_first {
            true => !self.transactions[W].logged[T],
            false => !self.transactions[T].logged[W],
        }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    both_commit: usize,
    read_before: usize,
    wrong: usize,
}

fn all_interleavings(rule: Rule) -> Found {
    let mut found = Found::default();
    for bits in 0..1_u32 << (2 * STEPS) {
        if bits.count_ones() as usize != STEPS {
            continue;
        }
        let order: Vec<usize> = (0..2 * STEPS).map(|at| (bits >> at & 1) as usize).collect();
        let Some(run) = Run::new(rule, &order) else { continue };
        found.both_commit += 1;
        found.read_before += usize::from(!run.transactions[T].has_seen_change);
        let is_wrong = |first: &bool| run.is_allowed(*first) && !run.is_right(rule, *first);
        found.wrong += usize::from([true, false].iter().any(is_wrong));
    }
    println!("what readers leave, {rule:?}: {found:?}");
    found
}

#[test]
fn calls_at_their_times_need_nothing_of_readers() {
    let found = all_interleavings(Rule::CallsAtTheirTimes);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.read_before > 100 && found.both_commit > found.read_before, "{found:?}");
}

#[test]
fn a_read_lv_with_the_own_end_orders_readers_and_writers() {
    let found = all_interleavings(Rule::ReadLvWithOwnEnd);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.read_before > 30, "{found:?}");
}

#[test]
fn algorithm_6_as_printed_loses_the_edge_from_reader_to_writer() {
    let found = all_interleavings(Rule::Algorithm6);
    assert!(found.wrong > 100, "{found:?}");
}

#[test]
fn a_read_lv_without_the_own_end_loses_the_edge_although_writers_follow_it() {
    let found = all_interleavings(Rule::WritersFollowReadLv);
    assert!(found.wrong > 100, "{found:?}");
}

#[test]
fn a_call_that_reads_the_newest_rows_needs_what_readers_leave() {
    let found = all_interleavings(Rule::NewestRows);
    assert!(found.wrong > 100, "{found:?}");
}

#[test]
fn a_look_before_the_time_is_drawn_has_calls_replayed_on_other_rows() {
    let found = all_interleavings(Rule::LookBeforeDraw);
    assert!(found.wrong > 0, "{found:?}");
}
