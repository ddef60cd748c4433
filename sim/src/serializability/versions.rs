//! Which transactions count, which one wrote which element, and the order of the elements of each key; the
//! anomalies that show without a graph.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::{History, ListOperation, Outcome};

use super::{Anomaly, AnomalyKind, CheckOptions};

/// A read of a key without the reader's own appends: what it saw of other transactions.
#[derive(Clone, Debug)]
pub(super) struct ExternalRead {
    pub(super) transaction: usize,
    pub(super) key: u64,
    pub(super) list: Vec<u64>,
}

pub(super) struct Versions {
    /// For each transaction whether it counts as committed.
    pub(super) included: Vec<bool>,
    /// The transactions that appended (key, element), including aborted ones.
    pub(super) writers: HashMap<(u64, u64), usize>,
    /// Per key the longest list read by transactions other than its writers.
    pub(super) orders: BTreeMap<u64, Vec<u64>>,
    /// Per key the elements that count but are in no list: they came after the longest.
    pub(super) unobserved: BTreeMap<u64, Vec<u64>>,
    pub(super) reads: Vec<ExternalRead>,
}

fn anomaly(kind: AnomalyKind, transactions: &[usize], explanation: String) -> Anomaly {
    Anomaly {
        kind,
        is_real_time: kind == AnomalyKind::Lost,
        transactions: transactions.to_vec(),
        explanation,
    }
}

impl Versions {
    pub(super) fn infer(history: &History, options: CheckOptions, anomalies: &mut Vec<Anomaly>) -> Versions {
        let writers = find_writers(history, anomalies);
        let included = find_included(history, &writers);
        let mut versions = Versions {
            included,
            writers,
            orders: BTreeMap::new(),
            unobserved: BTreeMap::new(),
            reads: Vec::new(),
        };
        versions.collect_reads(history, anomalies);
        versions.find_orders(anomalies);
        versions.find_unobserved(history);
        versions.check_reads(history, anomalies);
        if options.real_time {
            versions.check_lost(history, anomalies);
        }
        versions
    }

    /// Checks each transaction against itself and keeps what it saw of others.
    fn collect_reads(&mut self, history: &History, anomalies: &mut Vec<Anomaly>) {
        for (number, transaction) in history.transactions.iter().enumerate() {
            if !self.included[number] {
                continue;
            }
            let mut known: HashMap<u64, Vec<u64>> = HashMap::new();
            let mut own: HashMap<u64, Vec<u64>> = HashMap::new();
            for operation in &transaction.operations {
                match operation {
                    ListOperation::Append { key, element } => {
                        own.entry(*key).or_default().push(*element);
                        known.entry(*key).and_modify(|list| list.push(*element));
                    }
                    ListOperation::Read { key, list } => {
                        let own = own.get(key).map_or(&[][..], Vec::as_slice);
                        let expected = known.insert(*key, list.clone());
                        if !list.ends_with(own) || expected.as_ref().is_some_and(|expected| expected != list)
                        {
                            let expected = expected.unwrap_or_else(|| own.to_vec());
                            anomalies.push(anomaly(
                                AnomalyKind::Internal,
                                &[number],
                                format!("T{number} {operation}, but its own operations say {expected:?}"),
                            ));
                        }
                        let external =
                            list.iter().filter(|element| !own.contains(element)).copied().collect();
                        self.reads.push(ExternalRead { transaction: number, key: *key, list: external });
                    }
                }
            }
        }
    }

    fn find_orders(&mut self, anomalies: &mut Vec<Anomaly>) {
        let mut longest: BTreeMap<u64, &ExternalRead> = BTreeMap::new();
        for read in &self.reads {
            let best = longest.entry(read.key).or_insert(read);
            if read.list.len() > best.list.len() {
                *best = read;
            }
        }
        for read in &self.reads {
            let best = longest[&read.key];
            if !best.list.starts_with(&read.list) {
                let (key, one, other) = (read.key, read.transaction, best.transaction);
                anomalies.push(anomaly(
                    AnomalyKind::IncompatibleOrder,
                    &[one, other],
                    format!("key {key}: T{one} read {:?}, T{other} read {:?}", read.list, best.list),
                ));
            }
        }
        self.orders = longest.into_iter().map(|(key, read)| (key, read.list.clone())).collect();
    }

    fn find_unobserved(&mut self, history: &History) {
        let observed: HashSet<(u64, u64)> = self
            .orders
            .iter()
            .flat_map(|(key, order)| order.iter().map(move |element| (*key, *element)))
            .collect();
        for (number, transaction) in history.transactions.iter().enumerate() {
            for operation in &transaction.operations {
                if let ListOperation::Append { key, element } = operation
                    && self.included[number]
                    && !observed.contains(&(*key, *element))
                {
                    self.unobserved.entry(*key).or_default().push(*element);
                }
            }
        }
    }

    fn check_reads(&self, history: &History, anomalies: &mut Vec<Anomaly>) {
        for ExternalRead { transaction: number, key, list } in &self.reads {
            let mut seen = HashSet::new();
            for element in list {
                if !seen.insert(element) {
                    let text = format!("T{number} read element {element} twice in key {key} = {list:?}");
                    anomalies.push(anomaly(AnomalyKind::Duplicate, &[*number], text));
                }
                match self.writers.get(&(*key, *element)) {
                    None => anomalies.push(anomaly(
                        AnomalyKind::Garbage,
                        &[*number],
                        format!("T{number} read element {element} in key {key} = {list:?}"),
                    )),
                    Some(writer) if history.transactions[*writer].outcome == Outcome::Aborted => {
                        let text =
                            format!("T{number} read element {element} of key {key}, appended by T{writer}");
                        anomalies.push(anomaly(AnomalyKind::G1a, &[*writer, *number], text));
                    }
                    Some(_) => {}
                }
            }
            self.check_intermediate(history, *number, *key, list, anomalies);
        }
    }

    /// The last element of a list must be its writer's last one.
    fn check_intermediate(
        &self,
        history: &History,
        number: usize,
        key: u64,
        list: &[u64],
        anomalies: &mut Vec<Anomaly>,
    ) {
        let Some(last) = list.last() else { return };
        let Some(writer) = self.writers.get(&(key, *last)) else { return };
        let mut appended =
            history.transactions[*writer].operations.iter().filter_map(|operation| match operation {
                ListOperation::Append { key: appended_to, element } if *appended_to == key => Some(*element),
                _ => None,
            });
        if *writer != number && appended.next_back() != Some(*last) {
            let text =
                format!("T{number} read key {key} = {list:?}, but T{writer} appended more after {last}");
            anomalies.push(anomaly(AnomalyKind::G1b, &[*writer, number], text));
        }
    }

    fn check_lost(&self, history: &History, anomalies: &mut Vec<Anomaly>) {
        // Of the reads of a key, only the one that began last matters.
        let mut last_reads: HashMap<u64, &ExternalRead> = HashMap::new();
        let invoked = |number: usize| history.transactions[number].invoked;
        for read in &self.reads {
            let last = last_reads.entry(read.key).or_insert(read);
            if invoked(read.transaction) > invoked(last.transaction) {
                *last = read;
            }
        }
        for (key, elements) in &self.unobserved {
            let Some(read) = last_reads.get(key) else { continue };
            for element in elements {
                let writer = self.writers[&(*key, *element)];
                let completed = history.transactions[writer].completed;
                if completed.is_some_and(|completed| completed < invoked(read.transaction)) {
                    let reader = read.transaction;
                    let text = format!(
                        "T{writer} appended {element} to key {key} and was answered before T{reader} began and read {:?}",
                        read.list
                    );
                    anomalies.push(anomaly(AnomalyKind::Lost, &[writer, reader], text));
                }
            }
        }
    }
}

fn find_writers(history: &History, anomalies: &mut Vec<Anomaly>) -> HashMap<(u64, u64), usize> {
    let mut writers = HashMap::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        for operation in &transaction.operations {
            if let ListOperation::Append { key, element } = operation
                && let Some(other) = writers.insert((*key, *element), number)
            {
                let text =
                    format!("element {element} was appended to key {key} by T{other} and by T{number}");
                anomalies.push(anomaly(AnomalyKind::Duplicate, &[other, number], text));
            }
        }
    }
    writers
}

/// Committed transactions, and unknown ones that a committed one has read.
fn find_included(history: &History, writers: &HashMap<(u64, u64), usize>) -> Vec<bool> {
    let mut included: Vec<bool> =
        history.transactions.iter().map(|transaction| transaction.outcome == Outcome::Committed).collect();
    let mut to_visit: Vec<usize> = (0..included.len()).filter(|number| included[*number]).collect();
    while let Some(number) = to_visit.pop() {
        for operation in &history.transactions[number].operations {
            let ListOperation::Read { key, list } = operation else { continue };
            for element in list {
                if let Some(writer) = writers.get(&(*key, *element))
                    && history.transactions[*writer].outcome == Outcome::Unknown
                    && !included[*writer]
                {
                    included[*writer] = true;
                    to_visit.push(*writer);
                }
            }
        }
    }
    included
}
