//! The graph of dependencies between transactions, and its minimal cycles.
//!
//! Real time would need an edge for every pair of transactions that do not overlap. Instead every answer is a
//! node of its own. The answers form a chain in time, and each transaction has an edge to its answer and one
//! from the last answer before it began, so the size is linear. These nodes weigh nothing, so the shortest
//! cycle is the one with the fewest transactions.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::history::History;

use super::versions::Versions;
use super::{Anomaly, AnomalyKind, CheckOptions};

/// Why one transaction precedes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Appended right after the other's element.
    WriteWrite {
        key: u64,
        first: u64,
        second: u64,
    },
    /// Read a list that ends with the other's element.
    WriteRead {
        key: u64,
        element: u64,
    },
    /// Read a list that lacks the other's element.
    ReadWrite {
        key: u64,
        missing: u64,
    },
    RealTime,
}

/// Which edges a search may take.
#[derive(Clone, Copy)]
struct Allowed {
    write_read: bool,
    read_write: bool,
    real_time: bool,
}

impl Allowed {
    fn permits(self, reason: Reason) -> bool {
        match reason {
            Reason::WriteWrite { .. } => true,
            Reason::WriteRead { .. } => self.write_read,
            Reason::ReadWrite { .. } => self.read_write,
            Reason::RealTime => self.real_time,
        }
    }
}

#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    reason: Reason,
}

/// Edges with their sources, each leading to the next one's.
type Path = Vec<(usize, Edge)>;

pub(super) struct Graph {
    /// Edges by their source; nodes from `transactions` on are answers.
    edges: Vec<Vec<Edge>>,
    transactions: usize,
    has_real_time: bool,
}

impl Graph {
    pub(super) fn build(history: &History, versions: &Versions, options: CheckOptions) -> Graph {
        let transactions = history.transactions.len();
        let mut graph =
            Graph { edges: vec![Vec::new(); transactions], transactions, has_real_time: options.real_time };
        graph.add_write_write(versions);
        graph.add_reads(versions);
        if options.real_time {
            graph.add_real_time(history, versions);
        }
        graph
    }

    pub(super) fn dependency_count(&self) -> usize {
        self.edges.iter().flatten().filter(|edge| edge.reason != Reason::RealTime).count()
    }

    fn add(&mut self, from: usize, to: usize, reason: Reason) {
        if from != to {
            self.edges[from].push(Edge { to, reason });
        }
    }

    fn add_write_write(&mut self, versions: &Versions) {
        for (key, order) in &versions.orders {
            let writer = |element: &u64| versions.writers.get(&(*key, *element)).copied();
            let later = versions.unobserved.get(key).map_or(&[][..], Vec::as_slice);
            let pairs = order.windows(2).map(|pair| (pair[0], pair[1]));
            let last = order.last().into_iter().flat_map(|last| later.iter().map(|second| (*last, *second)));
            for (first, second) in pairs.chain(last) {
                if let (Some(from), Some(to)) = (writer(&first), writer(&second)) {
                    self.add(from, to, Reason::WriteWrite { key: *key, first, second });
                }
            }
        }
    }

    fn add_reads(&mut self, versions: &Versions) {
        for read in &versions.reads {
            let key = read.key;
            let writer = |element: &u64| versions.writers.get(&(key, *element)).copied();
            if let Some(element) = read.list.last()
                && let Some(from) = writer(element)
            {
                self.add(from, read.transaction, Reason::WriteRead { key, element: *element });
            }
            let order = versions.orders.get(&key).map_or(&[][..], Vec::as_slice);
            let later = versions.unobserved.get(&key).map_or(&[][..], Vec::as_slice);
            let next = match order.get(read.list.len()) {
                Some(next) => std::slice::from_ref(next),
                None => later,
            };
            for missing in next {
                if let Some(to) = writer(missing) {
                    self.add(read.transaction, to, Reason::ReadWrite { key, missing: *missing });
                }
            }
        }
    }

    fn add_real_time(&mut self, history: &History, versions: &Versions) {
        let mut answers: Vec<(u64, usize)> = (0..self.transactions)
            .filter(|number| versions.included[*number])
            .filter_map(|number| Some((history.transactions[number].completed?, number)))
            .collect();
        answers.sort_unstable();
        for (place, (_, number)) in answers.iter().enumerate() {
            let node = self.transactions + place;
            self.edges.push(Vec::new());
            if place > 0 {
                self.add(node - 1, node, Reason::RealTime);
            }
            self.add(*number, node, Reason::RealTime);
        }
        for number in (0..self.transactions).filter(|number| versions.included[*number]) {
            let invoked = history.transactions[number].invoked;
            let before = answers.partition_point(|(completed, _)| *completed < invoked);
            if before > 0 {
                self.add(self.transactions + before - 1, number, Reason::RealTime);
            }
        }
    }

    pub(super) fn find_cycles(&self, history: &History, anomalies: &mut Vec<Anomaly>) {
        /// More tangles than these add no information.
        const MOST_REPORTED: usize = 8;
        let everything = Allowed { write_read: true, read_write: true, real_time: self.has_real_time };
        let components = self.components(everything);
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (node, component) in components.iter().enumerate() {
            if members.len() <= *component {
                members.resize(component + 1, Vec::new());
            }
            members[*component].push(node);
        }
        for tangle in members.iter().filter(|members| members.len() > 1).take(MOST_REPORTED) {
            if let Some((kind, is_real_time, cycle)) = self.worst_cycle(tangle) {
                anomalies.push(self.report(history, kind, is_real_time, &cycle));
            }
        }
    }

    /// The first kind of cycle that the nodes contain, in the order of Adya's levels, without real time if
    /// possible.
    fn worst_cycle(&self, nodes: &[usize]) -> Option<(AnomalyKind, bool, Path)> {
        for real_time in [false, true] {
            if real_time && !self.has_real_time {
                break;
            }
            let allowed = |write_read, read_write| Allowed { write_read, read_write, real_time };
            type IsStart = fn(Reason) -> bool;
            let levels: [(AnomalyKind, Allowed, IsStart); 4] = [
                (AnomalyKind::G0, allowed(false, false), |reason| {
                    matches!(reason, Reason::WriteWrite { .. })
                }),
                (AnomalyKind::G1c, allowed(true, false), |reason| matches!(reason, Reason::WriteRead { .. })),
                (AnomalyKind::GSingle, allowed(true, false), |reason| {
                    matches!(reason, Reason::ReadWrite { .. })
                }),
                (AnomalyKind::G2, allowed(true, true), |reason| matches!(reason, Reason::ReadWrite { .. })),
            ];
            for (kind, allowed, is_start) in levels {
                if let Some(cycle) = self.shortest_cycle(nodes, allowed, is_start) {
                    return Some((kind, real_time, cycle));
                }
            }
        }
        None
    }

    /// The cycle with the fewest transactions that begins with a starting edge and returns by allowed ones.
    fn shortest_cycle(
        &self,
        nodes: &[usize],
        allowed: Allowed,
        is_start: fn(Reason) -> bool,
    ) -> Option<Path> {
        let mut best: Option<Path> = None;
        // Where the starting edges are allowed anyway, a cycle lies inside one component, so every search
        // finds one.
        let components = self.components(allowed);
        let may_close = |from: usize, edge: &Edge| {
            is_start(edge.reason)
                && (!allowed.permits(edge.reason) || components[from] == components[edge.to])
        };
        for from in nodes {
            for start in self.edges[*from].iter().filter(|edge| may_close(*from, edge)) {
                let Some(path) = self.shortest_path(start.to, *from, allowed) else { continue };
                if best.as_ref().is_none_or(|best| path.len() + 1 < best.len()) {
                    let mut cycle = vec![(*from, *start)];
                    cycle.extend(path);
                    best = Some(cycle);
                }
                // No cycle is shorter than two transactions.
                if best.as_ref().is_some_and(|best| best.len() == 2) {
                    return best;
                }
            }
        }
        best
    }

    /// 0-1 breadth-first search. Entering an answer's node costs nothing.
    fn shortest_path(&self, from: usize, to: usize, allowed: Allowed) -> Option<Path> {
        let mut arrived_by: Vec<Option<(usize, Edge)>> = vec![None; self.edges.len()];
        let mut distance = vec![usize::MAX; self.edges.len()];
        distance[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            for edge in self.edges[node].iter().filter(|edge| allowed.permits(edge.reason)) {
                let cost = usize::from(edge.to < self.transactions);
                if distance[node] + cost < distance[edge.to] {
                    distance[edge.to] = distance[node] + cost;
                    arrived_by[edge.to] = Some((node, *edge));
                    if cost == 0 { queue.push_front(edge.to) } else { queue.push_back(edge.to) }
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let (previous, edge) = arrived_by[node]?;
            path.push((previous, edge));
            node = previous;
        }
        path.reverse();
        Some(path)
    }

    fn report(
        &self,
        history: &History,
        kind: AnomalyKind,
        is_real_time: bool,
        cycle: &[(usize, Edge)],
    ) -> Anomaly {
        let transactions: Vec<usize> =
            cycle.iter().map(|(node, _)| *node).filter(|node| *node < self.transactions).collect();
        let mut text = format!("a cycle of {} transactions", transactions.len());
        for number in &transactions {
            let transaction = &history.transactions[*number];
            let operations: Vec<String> = transaction.operations.iter().map(ToString::to_string).collect();
            let _ =
                write!(text, "\n  T{number} (session {}): {}", transaction.session, operations.join("; "));
        }
        let mut from = transactions[0];
        for (_, edge) in cycle {
            if edge.to >= self.transactions {
                continue;
            }
            let to = edge.to;
            let _ = write!(text, "\n  T{from} before T{to}: ");
            let _ = match edge.reason {
                Reason::WriteWrite { key, first, second } => {
                    write!(text, "in key {key} T{to}'s {second} stands after T{from}'s {first}")
                }
                Reason::WriteRead { key, element } => {
                    write!(text, "T{to} read T{from}'s {element} in key {key}")
                }
                Reason::ReadWrite { key, missing } => {
                    write!(text, "T{from} read key {key} without T{to}'s {missing}")
                }
                Reason::RealTime => write!(text, "T{from} was answered before T{to} began"),
            };
            from = to;
        }
        Anomaly { kind, is_real_time, transactions, explanation: text }
    }

    /// Tarjan's strongly connected components, without recursion. Returns the component of each node.
    fn components(&self, allowed: Allowed) -> Vec<usize> {
        let mut search = Tarjan {
            index: vec![usize::MAX; self.edges.len()],
            low: vec![0; self.edges.len()],
            component: vec![usize::MAX; self.edges.len()],
            ..Tarjan::default()
        };
        for root in 0..self.edges.len() {
            if search.index[root] == usize::MAX {
                search.visit(root, &self.edges, allowed);
            }
        }
        search.component
    }
}

#[derive(Default)]
struct Tarjan {
    index: Vec<usize>,
    low: Vec<usize>,
    component: Vec<usize>,
    stack: Vec<usize>,
    next_index: usize,
    next_component: usize,
}

impl Tarjan {
    fn enter(&mut self, node: usize) {
        self.index[node] = self.next_index;
        self.low[node] = self.next_index;
        self.next_index += 1;
        self.stack.push(node);
    }

    fn visit(&mut self, root: usize, edges: &[Vec<Edge>], allowed: Allowed) {
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(edge) = edges[node].get(*next) else {
                path.pop();
                if let Some((above, _)) = path.last() {
                    self.low[*above] = self.low[*above].min(self.low[node]);
                }
                self.close(node);
                continue;
            };
            *next += 1;
            if !allowed.permits(edge.reason) {
                continue;
            }
            if self.index[edge.to] == usize::MAX {
                self.enter(edge.to);
                path.push((edge.to, 0));
            } else if self.component[edge.to] == usize::MAX {
                self.low[node] = self.low[node].min(self.index[edge.to]);
            }
        }
    }

    /// If the node is the root of its component, takes the component off the stack.
    fn close(&mut self, node: usize) {
        if self.low[node] != self.index[node] {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.component[member] = self.next_component;
            if member == node {
                break;
            }
        }
        self.next_component += 1;
    }
}
