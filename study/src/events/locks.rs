//! The locks of rows, as the engine grants them (`engine/src/txn/lock_table.rs`), and what a row leads its
//! reader to.
//!
//! Readers share a row, a writer has it alone. A request that is compatible with all holders and all waiters
//! is granted at once; others wait in the order in which they came, and a worker that releases a lock grants
//! from the head of the queue. A request that would close a circle of waiting transactions is refused.
//!
//! A row has cache lines. That of its lock moves if another worker has touched the row last; those of its
//! contents, if another worker has changed it and this one has not touched it since. But only as long as a
//! worker alone would still have them in its caches. What is touched after a longer time comes from memory in
//! either case, which is part of what a transaction costs alone.

use std::collections::{HashMap, VecDeque};

/// Rows that stay in the caches of a processor: 32 MiB (lscpu), rows of a kilobyte.
const CACHED_ROWS: u32 = 32_000;
/// The lines of a row: the bucket of its lock; its record, and the field that is changed.
const LOCK_LINES: u64 = 1;
const ROW_LINES: u64 = 2;
/// No worker.
const NONE: u16 = u16::MAX;

/// What a transaction wants of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) row: u32,
    pub(super) writes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    readers: u16,
    writer: u16,
    has_waiters: bool,
    toucher: u16,
    changer: u16,
    /// The number of the access that touched it last.
    touched: u32,
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Granted,
    Waits,
    Deadlock,
}

/// See the module head.
pub(super) struct Locks {
    rows: Vec<Row>,
    waiting: HashMap<u32, VecDeque<(u16, bool)>>,
    /// What each worker holds, and what it waits for.
    held: Vec<Vec<Access>>,
    wanted: Vec<Option<u32>>,
    accesses: u32,
}

impl Locks {
    pub(super) fn new(rows: usize, workers: usize) -> Locks {
        let row =
            Row { readers: 0, writer: NONE, has_waiters: false, toucher: NONE, changer: NONE, touched: 0 };
        Locks {
            rows: vec![row; rows],
            waiting: HashMap::new(),
            held: vec![Vec::new(); workers],
            wanted: vec![None; workers],
            accesses: CACHED_ROWS,
        }
    }

    /// A worker asks for a row. After `Waits` it holds the row when [`Locks::is_waiting`] says no.
    pub(super) fn ask(&mut self, worker: usize, access: Access) -> Asked {
        let row = &mut self.rows[access.row as usize];
        let is_free = row.writer == NONE && (row.readers == 0 || !access.writes) && !row.has_waiters;
        if is_free {
            grant(row, worker, access);
            self.held[worker].push(access);
            return Asked::Granted;
        }
        if self.held[worker].iter().any(|held| held.row == access.row) {
            // With few rows one transaction may want a row twice.
            return Asked::Granted;
        }
        row.has_waiters = true;
        self.waiting.entry(access.row).or_default().push_back((worker as u16, access.writes));
        self.wanted[worker] = Some(access.row);
        if self.closes_circle(worker) {
            self.withdraw(worker, access.row);
            return Asked::Deadlock;
        }
        Asked::Waits
    }

    pub(super) fn is_waiting(&self, worker: usize) -> bool {
        self.wanted[worker].is_some()
    }

    fn withdraw(&mut self, worker: usize, row: u32) {
        self.wanted[worker] = None;
        if let Some(queue) = self.waiting.get_mut(&row) {
            queue.retain(|(other, _)| *other as usize != worker);
            if queue.is_empty() {
                self.waiting.remove(&row);
                self.rows[row as usize].has_waiters = false;
            }
        }
    }

    /// Whether a worker waits, over others, for itself.
    fn closes_circle(&self, start: usize) -> bool {
        let (mut seen, mut left) = (vec![false; self.held.len()], vec![start]);
        while let Some(worker) = left.pop() {
            let Some(row) = self.wanted[worker] else { continue };
            let holders = (0..self.held.len())
                .filter(|other| *other != worker && self.held[*other].iter().any(|held| held.row == row));
            let queue = self.waiting.get(&row).into_iter().flatten().map(|(other, _)| *other as usize);
            for other in holders.chain(queue.take_while(|other| *other != worker)) {
                if other == start {
                    return true;
                }
                if !std::mem::replace(&mut seen[other], true) {
                    left.push(other);
                }
            }
        }
        false
    }

    /// Releases all that a worker holds. Those that hold a lock now are added to `woken`.
    pub(super) fn release(&mut self, worker: usize, woken: &mut Vec<usize>) {
        let mut held = std::mem::take(&mut self.held[worker]);
        for access in held.drain(..) {
            let row = &mut self.rows[access.row as usize];
            match access.writes {
                true => row.writer = NONE,
                false => row.readers -= 1,
            }
            if row.has_waiters {
                self.grant_waiters(access.row, woken);
            }
        }
        self.held[worker] = held;
    }

    fn grant_waiters(&mut self, number: u32, woken: &mut Vec<usize>) {
        let Some(queue) = self.waiting.get_mut(&number) else { return };
        let row = &mut self.rows[number as usize];
        while let Some((worker, writes)) = queue.front().copied() {
            if row.writer != NONE || (row.readers > 0 && writes) {
                break;
            }
            queue.pop_front();
            let (worker, access) = (worker as usize, Access { row: number, writes });
            grant(row, worker, access);
            self.held[worker].push(access);
            self.wanted[worker] = None;
            woken.push(worker);
        }
        if queue.is_empty() {
            row.has_waiters = false;
            self.waiting.remove(&number);
        }
    }

    /// A worker touches a row that it has locked. Returns how many lines come from another worker's cache.
    pub(super) fn touch(&mut self, worker: usize, access: Access) -> u64 {
        self.accesses = self.accesses.wrapping_add(1);
        let worker = worker as u16;
        let row = &mut self.rows[access.row as usize];
        let is_recent = self.accesses.wrapping_sub(row.touched) < CACHED_ROWS;
        let is_other = |other: u16| other != worker && other != NONE;
        let lines = match is_recent && is_other(row.toucher) {
            true if is_other(row.changer) => LOCK_LINES + ROW_LINES,
            true => LOCK_LINES,
            false => 0,
        };
        (row.toucher, row.touched) = (worker, self.accesses);
        if access.writes {
            row.changer = worker;
        }
        lines
    }
}

fn grant(row: &mut Row, worker: usize, access: Access) {
    match access.writes {
        true => row.writer = worker as u16,
        false => row.readers += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn read(row: u32) -> Access {
        Access { row, writes: false }
    }

    const fn write(row: u32) -> Access {
        Access { row, writes: true }
    }

    #[test]
    fn waiters_are_granted_in_their_order_and_readers_together() {
        let mut locks = Locks::new(10, 5);
        assert_eq!(locks.ask(0, write(3)), Asked::Granted);
        assert_eq!((locks.ask(1, read(3)), locks.ask(2, read(3))), (Asked::Waits, Asked::Waits));
        assert_eq!((locks.ask(3, write(3)), locks.ask(4, read(3))), (Asked::Waits, Asked::Waits));
        let mut woken = Vec::new();
        locks.release(0, &mut woken);
        assert_eq!(woken, [1, 2], "not the reader after the writer");
        locks.release(1, &mut woken);
        assert_eq!(woken, [1, 2]);
        locks.release(2, &mut woken);
        assert_eq!(woken, [1, 2, 3]);
        assert!(!locks.is_waiting(3) && locks.is_waiting(4));
        locks.release(3, &mut woken);
        assert_eq!(locks.ask(0, read(3)), Asked::Granted);
    }

    #[test]
    fn a_circle_is_refused_and_leaves_nothing() {
        let mut locks = Locks::new(10, 3);
        assert_eq!((locks.ask(0, write(1)), locks.ask(1, write(2))), (Asked::Granted, Asked::Granted));
        assert_eq!(locks.ask(0, read(2)), Asked::Waits);
        assert_eq!(locks.ask(1, read(1)), Asked::Deadlock);
        let mut woken = Vec::new();
        locks.release(1, &mut woken);
        assert_eq!(woken, [0]);
        locks.release(0, &mut woken);
        assert_eq!((locks.ask(2, write(1)), locks.ask(2, write(2))), (Asked::Granted, Asked::Granted));
    }

    #[test]
    fn lines_move_only_between_workers_and_while_they_are_cached() {
        let mut locks = Locks::new(2 * CACHED_ROWS as usize, 2);
        assert_eq!((locks.touch(0, write(1)), locks.touch(0, read(1))), (0, 0));
        assert_eq!((locks.touch(1, read(1)), locks.touch(1, read(1))), (LOCK_LINES + ROW_LINES, 0));
        assert_eq!(locks.touch(0, read(1)), LOCK_LINES, "the contents are still there");
        (0..CACHED_ROWS).for_each(|row| assert_eq!(locks.touch(1, read(100 + row)), 0));
        assert_eq!(locks.touch(1, read(1)), 0, "it comes from memory");
    }
}
