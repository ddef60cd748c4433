//! The dependency graph of logged transactions: how parallel a replay can be, however many workers it has.
//!
//! *Work* is the sum of the costs of all transactions, *span* the cost of the longest chain of transactions
//! that must follow each other, and work / span bounds the speed-up of any replay. Orders are compared over
//! the same transactions:
//!
//! | order | a transaction follows |
//! |---|---|
//! | serial | its predecessor: one LSN orders everything |
//! | LV | everything below its LSN vector, in every log: what Taurus's replay waits for |
//! | named | the transactions that its record names, and its positions: only in logs of the dependency graph |
//! | conflict | the last transaction before it that wrote one of its keys: what the data themselves demand |
//!
//! The LV of a compressed log record reads as the anchor's where the anchor covers it, so the LV order
//! includes the waits that a replay has without need. The conflict order knows what the log says: of a
//! data-logged transaction the keys it wrote, and data logging needs no reads to be replayed in order. Of a
//! command-logged transaction it knows no keys: it precedes and follows what LSN vectors say. A barrier
//! follows everything before it, and everything after it follows it.
//!
//! Positions before the first transaction of the graph count as replayed.

use std::collections::HashMap;
use std::hash::BuildHasher;

use hyades_types::definition::RoutineId;
use hyades_types::error::{Error, Result};

use super::TransactionEntry;
use crate::log::record::Operation;
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::RecordId;

/// What a transaction costs to replay, and in which unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Each the same.
    Transactions,
    /// One for each operation in its log record.
    Operations,
    /// The bytes of its operations.
    Bytes,
}

/// Identifies a transaction: its log and its place among the graph's transactions of that log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub log: usize,
    pub index: usize,
}

/// A transaction of the graph.
#[derive(Clone, Debug)]
pub struct Node {
    pub start: Lsn,
    pub end: Lsn,
    pub vector: LsnVector,
    /// With a protocol whose records name others: those, and the positions without them.
    pub named: Option<Box<(LsnVector, Vec<RecordId>)>>,
    pub cost: u64,
    pub operations: usize,
    pub is_barrier: bool,
    /// Whether its log record says which keys it writes.
    pub knows_keys: bool,
    /// The routine that a command-logged transaction called.
    pub routine: Option<RoutineId>,
    keys: Vec<u64>,
}

/// Transactions of all logs of one incarnation, those of each log in log order.
#[derive(Debug, Default)]
pub struct Graph {
    logs: Vec<Vec<Node>>,
    is_serial: bool,
}

/// Work and span of one order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub work: u64,
    pub span: u64,
}

impl Bounds {
    pub fn parallelism(&self) -> f64 {
        if self.span == 0 { 1.0 } else { self.work as f64 / self.span as f64 }
    }
}

/// The orders of one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orders {
    pub serial: Bounds,
    pub vectors: Bounds,
    pub named: Option<Bounds>,
    pub conflicts: Bounds,
}

/// An edge to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: Place,
    pub to: Place,
    /// Both wrote the same key.
    pub is_conflict: bool,
}

impl Node {
    /// Reads a transaction's operations.
    pub fn new(
        (start, end): (Lsn, Lsn),
        transaction: &TransactionEntry<'_>,
        ends: &LsnVector,
        weight: Weight,
    ) -> Node {
        let hashes = foldhash::fast::FixedState::with_seed(0);
        let mut node = Node {
            start,
            end,
            vector: transaction.positions_up_to(ends),
            named: transaction.named(ends).map(Box::new),
            cost: 1,
            operations: 0,
            is_barrier: transaction.is_barrier,
            knows_keys: true,
            routine: None,
            keys: Vec::new(),
        };
        for operation in transaction.operations().flatten() {
            node.operations += 1;
            match operation {
                Operation::Put { table, key, .. }
                | Operation::Patch { table, key, .. }
                | Operation::Delete { table, key } => {
                    node.keys.push(hashes.hash_one((table.0, key)));
                }
                // No other transaction follows it.
                Operation::Sequence { .. } => {}
                Operation::Catalog(_) => node.knows_keys = false,
                Operation::Command(command) => {
                    node.knows_keys = false;
                    node.routine = Some(command.routine);
                }
            }
        }
        node.cost = match weight {
            Weight::Transactions => 1,
            Weight::Operations => node.operations.max(1) as u64,
            Weight::Bytes => transaction.operations.len().max(1) as u64,
        };
        node
    }
}

impl Graph {
    pub fn new(logs: usize, is_serial: bool) -> Graph {
        Graph { logs: (0..logs).map(|_| Vec::new()).collect(), is_serial }
    }

    /// Adds the next transaction of a log.
    pub fn push(&mut self, log: usize, node: Node) {
        self.logs[log].push(node);
    }

    pub fn node(&self, place: Place) -> &Node {
        &self.logs[place.log][place.index]
    }

    pub fn len(&self) -> usize {
        self.logs.iter().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of a log's transactions stand at or below a position.
    fn covered(&self, log: usize, position: Lsn) -> usize {
        self.logs[log].partition_point(|node| node.end <= position)
    }

    /// All transactions, each after everything its vector names.
    ///
    /// # Errors
    /// Vectors that name each other. No run writes such logs.
    pub fn order(&self) -> Result<Vec<Place>> {
        let mut next = vec![0; self.logs.len()];
        let mut order = Vec::with_capacity(self.len());
        while order.len() < self.len() {
            let before = order.len();
            for log in 0..self.logs.len() {
                while let Some(node) = self.logs[log].get(next[log]) {
                    let is_ready = (0..self.logs.len()).all(|other| {
                        let done = next[other];
                        self.covered(other, node.vector.get(other)) <= done
                    });
                    if !is_ready {
                        break;
                    }
                    order.push(Place { log, index: next[log] });
                    next[log] += 1;
                }
            }
            if order.len() == before {
                return Err(Error::corrupt("transactions in the logs depend on each other in a circle"));
            }
        }
        Ok(order)
    }

    /// Work and span of the orders.
    ///
    /// # Errors
    /// As [`Graph::order`].
    pub fn orders(&self) -> Result<Orders> {
        let order = self.order()?;
        let work = order.iter().map(|place| self.node(*place).cost).sum();
        let bounds = |span| Bounds { work, span };
        Ok(Orders {
            serial: bounds(work),
            vectors: bounds(self.span_of_vectors(&order)),
            named: self.span_of_names(&order).map(bounds),
            conflicts: bounds(self.span_of_conflicts(&order)),
        })
    }

    fn span_of_vectors(&self, order: &[Place]) -> u64 {
        let mut reach = Prefixes::new(self);
        for place in order {
            let node = self.node(*place);
            let finish = node.cost + self.latest_below(&reach, &node.vector);
            reach.push(place.log, finish);
        }
        reach.largest()
    }

    /// `None` if records do not name others.
    fn span_of_names(&self, order: &[Place]) -> Option<u64> {
        let mut reach = Prefixes::new(self);
        let mut finishes: Vec<Vec<u64>> =
            self.logs.iter().map(|nodes| Vec::with_capacity(nodes.len())).collect();
        for place in order {
            let node = self.node(*place);
            let (positions, ids) = &**node.named.as_ref()?;
            // What comes before the first transaction of the graph has finished.
            let index_of = |id: &RecordId| {
                let index = self.logs[id.log()].binary_search_by_key(&id.end(), |node| node.end);
                index.ok().map(|index| (id.log(), index))
            };
            let named = ids.iter().filter_map(index_of).map(|(log, index)| finishes[log][index]);
            let before = named.max().unwrap_or(0).max(self.latest_below(&reach, positions));
            finishes[place.log].push(before + node.cost);
            reach.push(place.log, before + node.cost);
        }
        Some(reach.largest())
    }

    /// The latest finish among what a vector names.
    fn latest_below(&self, reach: &Prefixes, vector: &LsnVector) -> u64 {
        let covered = (0..self.logs.len()).map(|log| (log, self.covered(log, vector.get(log))));
        covered.map(|(log, count)| reach.at(log, count)).max().unwrap_or(0)
    }

    fn span_of_conflicts(&self, order: &[Place]) -> u64 {
        let (mut reach, mut opaque) = (Prefixes::new(self), Prefixes::new(self));
        let mut last_writes: HashMap<u64, u64> = HashMap::new();
        let mut last_barrier = 0;
        for place in order {
            let node = self.node(*place);
            let mut before = last_barrier;
            if node.knows_keys {
                let conflicts = node.keys.iter().filter_map(|key| last_writes.get(key));
                before = before.max(conflicts.copied().max().unwrap_or(0));
                // A transaction without known keys may have written any of these.
                before = before.max(self.latest_below(&opaque, &node.vector));
            } else if node.is_barrier {
                before = reach.largest();
            } else {
                before = before.max(self.latest_below(&reach, &node.vector));
            }
            let finish = before + node.cost;
            last_writes.extend(node.keys.iter().map(|key| (*key, finish)));
            if node.is_barrier {
                last_barrier = finish;
            }
            reach.push(place.log, finish);
            opaque.push(place.log, if node.knows_keys { 0 } else { finish });
        }
        reach.largest()
    }

    /// The edges worth drawing: for each transaction the last one in each log that its vector names, and the
    /// last writer of each of its keys.
    ///
    /// # Errors
    /// As [`Graph::order`].
    pub fn edges(&self) -> Result<Vec<Edge>> {
        let mut edges: Vec<Edge> = Vec::new();
        let mut last_writers: HashMap<u64, Place> = HashMap::new();
        for to in self.order()? {
            let node = self.node(to);
            let first = edges.len();
            for log in 0..self.logs.len() {
                if let Some(index) = self.covered(log, node.vector.get(log)).checked_sub(1) {
                    edges.push(Edge { from: Place { log, index }, to, is_conflict: false });
                }
            }
            for key in &node.keys {
                let Some(from) = last_writers.insert(*key, to).filter(|from| *from != to) else { continue };
                match edges[first..].iter_mut().find(|edge| edge.from == from) {
                    Some(edge) => edge.is_conflict = true,
                    None => edges.push(Edge { from, to, is_conflict: true }),
                }
            }
        }
        Ok(edges)
    }

    pub fn is_serial(&self) -> bool {
        self.is_serial
    }
}

/// For each log, the running maximum of the finishes of its transactions.
struct Prefixes(Vec<Vec<u64>>);

impl Prefixes {
    fn new(graph: &Graph) -> Prefixes {
        Prefixes(graph.logs.iter().map(|nodes| Vec::with_capacity(nodes.len())).collect())
    }

    fn push(&mut self, log: usize, finish: u64) {
        let before = self.0[log].last().copied().unwrap_or(0);
        self.0[log].push(before.max(finish));
    }

    /// The maximum over the first `count`.
    fn at(&self, log: usize, count: usize) -> u64 {
        count.checked_sub(1).map_or(0, |last| self.0[log][last])
    }

    fn largest(&self) -> u64 {
        self.0.iter().filter_map(|prefix| prefix.last()).copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(end: u64, vector: &[u64], keys: &[u64]) -> Node {
        Node {
            start: Lsn(end - 8),
            end: Lsn(end),
            vector: LsnVector::from_slice(vector),
            named: None,
            cost: 1,
            operations: keys.len(),
            is_barrier: false,
            knows_keys: true,
            routine: None,
            keys: keys.to_vec(),
        }
    }

    /// Log 0: a, b after a. Log 1: c, d after b and c.
    fn small() -> Graph {
        let mut graph = Graph::new(2, false);
        graph.push(0, node(8, &[0, 0], &[1]));
        graph.push(0, node(16, &[8, 0], &[1]));
        graph.push(1, node(8, &[0, 0], &[2]));
        graph.push(1, node(16, &[16, 8], &[3]));
        graph
    }

    #[test]
    fn the_longest_chain_is_found_in_each_order() {
        let orders = small().orders().expect("no circle");
        assert_eq!(orders.serial, Bounds { work: 4, span: 4 });
        assert_eq!(orders.vectors, Bounds { work: 4, span: 3 });
        // d shares no key with any other transaction.
        assert_eq!(orders.conflicts, Bounds { work: 4, span: 2 });
        assert_eq!(orders.conflicts.parallelism(), 2.0);
    }

    #[test]
    fn a_transaction_that_names_no_keys_is_ordered_by_its_vector() {
        let mut graph = small();
        graph.logs[0][1].knows_keys = false;
        // d follows b, which follows a.
        assert_eq!(graph.orders().expect("no circle").conflicts.span, 3);
    }

    #[test]
    fn a_barrier_holds_everything_back() {
        let mut graph = Graph::new(1, false);
        graph.push(0, node(8, &[0], &[1]));
        graph.push(0, Node { is_barrier: true, knows_keys: false, ..node(16, &[8], &[]) });
        graph.push(0, node(24, &[0], &[2]));
        assert_eq!(graph.orders().expect("no circle").conflicts.span, 3);
    }

    #[test]
    fn edges_lead_to_the_last_of_each_log_and_to_the_last_writer() {
        let place = |log, index| Place { log, index };
        let edges = small().edges().expect("no circle");
        let edge = |from, to, is_conflict| Edge { from, to, is_conflict };
        let expected = [
            edge(place(0, 0), place(0, 1), true),
            edge(place(0, 1), place(1, 1), false),
            edge(place(1, 0), place(1, 1), false),
        ];
        assert_eq!(edges, expected);
    }

    #[test]
    fn vectors_that_name_each_other_are_refused() {
        let mut graph = Graph::new(2, false);
        graph.push(0, node(8, &[0, 8], &[]));
        graph.push(1, node(8, &[8, 0], &[]));
        assert!(graph.orders().is_err());
    }
}
