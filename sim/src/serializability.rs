//! Is this history of list-append transactions serializable?
//!
//! ```text
//! history -> versions: per key the order of its elements, from the longest list read
//!         -> direct anomalies: what no order of transactions can explain (G1a, G1b, lost, duplicate, incompatible, internal)
//!         -> graph: ww, wr, rw (and real-time) edges between transactions
//!         -> cycles: G0, G1c, G-single, G2, one minimal cycle for each strongly connected component
//! ```
//!
//! The names are Adya's ("Weak Consistency", 1999, chapter 3). A history without any of them is serializable.
//! With [`CheckOptions::real_time`] it is strictly serializable: a transaction that was answered before
//! another one began comes first.
//!
//! Transactions with an unknown outcome count as committed as soon as a committed one has read them,
//! otherwise they are left out. Aborted ones matter only as the source of dirty reads.
//!
//! Invariant: the checker never reports an anomaly for a history that has a serial order (it infers no more
//! than the lists prove). Versions of a key grow by one element at a time, so a list that was read is a
//! prefix of every later one, and an element that the longest list lacks came after it.

mod graph;
#[cfg(test)]
mod tests;
mod versions;

use std::fmt;

use crate::history::History;

/// What to demand beyond serializability.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckOptions {
    /// Transactions that do not overlap in real time must appear in that order (strict serializability).
    pub real_time: bool,
}

/// The kinds of anomalies, in the order in which they are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnomalyKind {
    /// An element appended twice, or twice in one list.
    Duplicate,
    /// An element that no transaction appended.
    Garbage,
    /// A transaction contradicts its own operations.
    Internal,
    /// Two reads of a key of which neither is a prefix of the other.
    IncompatibleOrder,
    /// A committed append that a later read does not show (real time).
    Lost,
    /// A committed transaction read what an aborted one wrote.
    G1a,
    /// A committed transaction read an intermediate state of another.
    G1b,
    /// A cycle of write-write edges.
    G0,
    /// A cycle of write-write and write-read edges.
    G1c,
    /// A cycle with exactly one read-write edge (lost update, read skew).
    GSingle,
    /// A cycle with more read-write edges (write skew, phantoms).
    G2,
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AnomalyKind::Duplicate => "duplicate element",
            AnomalyKind::Garbage => "element that nobody appended",
            AnomalyKind::Internal => "internal contradiction",
            AnomalyKind::IncompatibleOrder => "incompatible order",
            AnomalyKind::Lost => "lost append",
            AnomalyKind::G1a => "G1a (aborted read)",
            AnomalyKind::G1b => "G1b (intermediate read)",
            AnomalyKind::G0 => "G0 (write cycle)",
            AnomalyKind::G1c => "G1c (circular information flow)",
            AnomalyKind::GSingle => "G-single (one read-write dependency)",
            AnomalyKind::G2 => "G2 (read-write dependencies)",
        })
    }
}

/// One thing that is wrong with a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    pub kind: AnomalyKind,
    /// Whether a cycle needs real-time edges: the history may be serializable, but not strictly.
    pub is_real_time: bool,
    /// The numbers of the transactions involved, in the order of the cycle if it is one.
    pub transactions: Vec<usize>,
    /// For people: what each transaction did and why one precedes the next.
    pub explanation: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.is_real_time { ", in real time" } else { "" };
        write!(f, "{}{suffix}: {}", self.kind, self.explanation)
    }
}

/// How much was checked, so that a test can assert that the check was not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Transactions that count as committed.
    pub transactions: usize,
    /// Edges between them, real-time edges not counted.
    pub edges: usize,
    /// Elements whose place in their list is known.
    pub elements: usize,
}

/// Checks the history. Returns all anomalies found, but at most one cycle for each group of transactions that
/// are tangled.
pub fn check(history: &History, options: CheckOptions) -> Result<CheckReport, Vec<Anomaly>> {
    let mut anomalies = Vec::new();
    let versions = versions::Versions::infer(history, options, &mut anomalies);
    let graph = graph::Graph::build(history, &versions, options);
    graph.find_cycles(history, &mut anomalies);
    if anomalies.is_empty() {
        return Ok(CheckReport {
            transactions: versions.included.iter().filter(|included| **included).count(),
            edges: graph.dependency_count(),
            elements: versions.orders.values().map(Vec::len).sum(),
        });
    }
    anomalies.sort_by_key(|anomaly| (anomaly.kind, anomaly.is_real_time));
    Err(anomalies)
}

/// All anomalies as one text for an assertion's message.
pub fn explain(anomalies: &[Anomaly]) -> String {
    anomalies.iter().map(|anomaly| format!("{anomaly}\n")).collect()
}
