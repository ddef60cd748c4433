//! Aggregation: one [`Group`] for each distinct key, one [`Accumulator`] for each aggregate of a group.
//!
//! Groups come out in the order in which their first row came in.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hyades_engine::procedure::ir::{Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::accumulator::Accumulator;
use super::{Row, grouping_bytes, sort};
use crate::plan::{Grouping, SortKey};

#[derive(Debug)]
struct Group {
    keys: Row,
    accumulators: Vec<Accumulator>,
    /// For DISTINCT aggregates: the arguments seen.
    seen: Vec<HashSet<Vec<u8>>>,
    /// For aggregates with ORDER BY: arguments and keys of the rows, to be sorted.
    waiting: Vec<Vec<Row>>,
}

/// The groups on their way.
struct GroupingRun {
    grouping: Arc<Grouping>,
    groups: Vec<Group>,
    by_key: HashMap<Vec<u8>, usize>,
    key_bytes: Vec<u8>,
}

impl Group {
    fn new(grouping: &Grouping, keys: Row) -> Group {
        Group {
            keys,
            accumulators: grouping.calls.iter().map(Accumulator::new).collect(),
            seen: grouping.calls.iter().map(|_| HashSet::new()).collect(),
            waiting: grouping.calls.iter().map(|_| Vec::new()).collect(),
        }
    }

    fn add(&mut self, grouping: &Grouping, values: &mut [Value]) -> Result<()> {
        for (at, call) in grouping.calls.iter().enumerate() {
            if call.filter.is_some_and(|filter| values[filter].as_bool() != Some(true)) {
                continue;
            }
            // Arguments stand beside each other, and keys of the order after them.
            let first = call.arguments.first().copied().unwrap_or_default();
            let arguments = &values[first..first + call.arguments.len()];
            if arguments.first().is_some_and(Value::is_null) && !call.kind.takes_null() {
                continue;
            }
            if call.is_distinct {
                let mut bytes = Vec::new();
                grouping_bytes(arguments, &mut bytes);
                if !self.seen[at].insert(bytes) {
                    continue;
                }
            }
            if call.order.is_empty() {
                self.accumulators[at].add(call.kind, arguments)?;
            } else {
                let end = first + call.arguments.len() + call.order.len();
                self.waiting[at].push(values[first..end].to_vec());
            }
        }
        Ok(())
    }

    /// Its keys, then the results.
    fn result(mut self, grouping: &Grouping) -> Result<Row> {
        let mut row = self.keys;
        for (at, (mut accumulator, call)) in self.accumulators.into_iter().zip(&grouping.calls).enumerate() {
            let mut waiting = std::mem::take(&mut self.waiting[at]);
            let first = call.arguments.first().copied().unwrap_or_default();
            let order: Vec<SortKey> =
                call.order.iter().map(|key| SortKey { value: key.value - first, ..*key }).collect();
            sort(&mut waiting, &order)?;
            for values in &waiting {
                guest::spend(1)?;
                accumulator.add(call.kind, &values[..call.arguments.len()])?;
            }
            row.push(accumulator.result(call)?);
        }
        Ok(row)
    }
}

impl Stage for Grouping {
    fn start(self: Arc<Self>, _registers: &[Value]) -> Box<dyn StageRun> {
        let (by_key, key_bytes) = (HashMap::new(), Vec::new());
        Box::new(GroupingRun { grouping: self, groups: Vec::new(), by_key, key_bytes })
    }
}

impl StageRun for GroupingRun {
    /// The first values are the keys.
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        let grouping = Arc::clone(&self.grouping);
        let at = if grouping.keys == 0 {
            if self.groups.is_empty() {
                self.groups.push(Group::new(&grouping, Row::new()));
            }
            0
        } else {
            self.key_bytes.clear();
            grouping_bytes(&values[..grouping.keys], &mut self.key_bytes);
            match self.by_key.get(&self.key_bytes) {
                Some(at) => *at,
                None => {
                    let keys = values[..grouping.keys].iter_mut().map(std::mem::take).collect();
                    self.groups.push(Group::new(&grouping, keys));
                    self.by_key.insert(self.key_bytes.clone(), self.groups.len() - 1);
                    self.groups.len() - 1
                }
            }
        };
        self.groups[at].add(&grouping, values)
    }

    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Row>> {
        let mut groups = std::mem::take(&mut self.groups);
        if groups.is_empty() && !self.grouping.is_grouped {
            groups.push(Group::new(&self.grouping, Row::new()));
        }
        groups
            .into_iter()
            .map(|group| {
                guest::spend(4)?;
                memory::check(0)?;
                group.result(&self.grouping)
            })
            .collect()
    }
}
