//! What a worker remembers from one step to the next. The steps are in `workers`.

use std::collections::VecDeque;

use hyades_bench::generator::{Random, random_for};

use super::Setting;
use super::locks::Access;
use super::rule::Need;

/// Where a worker is. The numbers are those of an access, or of a part of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Begin,
    Access(usize),
    Append,
    Latch(usize),
    Reserve(usize),
    Place(usize),
    Draw,
    Commit,
    /// Takes note of answers.
    Answers,
}

/// One session of a worker: which log it uses with Taurus (`engine/src/protocol/taurus/log_choice.rs`), and
/// how far its log was when it offered its processor.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Session {
    pub(super) log: Option<usize>,
    pub(super) commits: u32,
    pub(super) reserved: u64,
    pub(super) blocks: u64,
    pub(super) gave_way_at: u64,
}

pub(super) struct InFlight {
    pub(super) need: Need,
    pub(super) begun: u64,
}

/// See the module head.
pub(super) struct Worker {
    pub(super) random: Random,
    pub(super) at: At,
    /// What the transaction accesses, as the benchmark draws it.
    pub(super) keys: Vec<i32>,
    pub(super) accesses: Vec<Access>,
    pub(super) begun: u64,
    /// The logs that get a part of the record, in their order.
    pub(super) parts: Vec<usize>,
    /// What the transaction follows, and its own end.
    pub(super) vector: Vec<u64>,
    /// Serial: the position that its answer waits for.
    pub(super) position: u64,
    pub(super) sessions: Vec<Session>,
    pub(super) session: usize,
    pub(super) in_flight: VecDeque<InFlight>,
    pub(super) done: u64,
    pub(super) begun_again: u64,
    pub(super) latency_ns: u64,
}

impl Worker {
    pub(super) fn new(worker: usize, setting: &Setting, words: usize) -> Worker {
        Worker {
            random: random_for(&[setting.seed, worker as u64]),
            at: At::Begin,
            keys: Vec::new(),
            accesses: Vec::new(),
            begun: 0,
            parts: Vec::new(),
            vector: vec![0; words],
            position: 0,
            sessions: vec![Session::default(); setting.sessions_of_a_worker()],
            session: 0,
            in_flight: VecDeque::new(),
            done: 0,
            begun_again: 0,
            latency_ns: 0,
        }
    }

    pub(super) fn writes(&self) -> bool {
        self.accesses.iter().any(|access| access.writes)
    }
}
