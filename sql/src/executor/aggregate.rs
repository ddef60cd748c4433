//! Aggregation: one [`Group`] for each distinct key, one [`Accumulator`] for each aggregate of a group.
//!
//! Groups come out in the order in which their first row came in. With grouping sets every row goes to a
//! group of each set, and a set without keys has its one group even if no row came.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::accumulator::Accumulator;
use super::row_keys::RowKeys;
use super::{Row, sort};
use crate::bind::aggregation::AggregateKind;
use crate::plan::{Grouping, SortKey};

#[derive(Debug)]
struct Group {
    /// The number of its grouping set, from 1.
    set: i32,
    keys: Row,
    accumulators: Vec<Accumulator>,
    /// For DISTINCT aggregates: the arguments seen.
    seen: Vec<RowKeys>,
    /// For aggregates with ORDER BY: arguments and keys of the rows, to be sorted.
    waiting: Vec<Vec<Row>>,
}

/// The groups on their way.
struct GroupingRun {
    grouping: Arc<Grouping>,
    groups: Vec<Group>,
    by_key: RowKeys,
}

impl Group {
    fn new(grouping: &Grouping, set: usize, keys: Row) -> Group {
        Group {
            set: i32::try_from(set).unwrap_or(i32::MAX) + 1,
            keys,
            accumulators: grouping.calls.iter().map(Accumulator::new).collect(),
            seen: grouping.calls.iter().map(|_| RowKeys::default()).collect(),
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
            if call.is_distinct && !self.seen[at].is_new(arguments) {
                continue;
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
            row.push(match call.kind {
                AggregateKind::Grouping => Value::Integer(self.set),
                _ => accumulator.result(call)?,
            });
        }
        Ok(row)
    }
}

impl Stage for Grouping {
    fn start(self: Arc<Self>, _registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(GroupingRun { grouping: self, groups: Vec::new(), by_key: RowKeys::default() })
    }
}

impl GroupingRun {
    /// The place of the group with the key that was made; `keys` makes the values of a new one.
    fn group_of_key(&mut self, set: usize, keys: impl FnOnce() -> Row) -> usize {
        let next = self.groups.len();
        let at = self.by_key.place(next);
        if at == next {
            self.groups.push(Group::new(&self.grouping, set, keys()));
        }
        at
    }

    /// To a group of each set.
    fn feed_sets(&mut self, values: &mut [Value]) -> Result<()> {
        let grouping = Arc::clone(&self.grouping);
        for (number, set) in grouping.sets.iter().enumerate() {
            self.by_key.begin(number);
            set.iter().for_each(|key| self.by_key.push(&values[*key]));
            let at = self.group_of_key(number, || {
                let mut keys = vec![Value::Null; grouping.keys];
                set.iter().for_each(|key| keys[*key] = values[*key].clone());
                keys
            });
            self.groups[at].add(&grouping, values)?;
        }
        Ok(())
    }
}

impl StageRun for GroupingRun {
    /// The first values are the keys.
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        let grouping = Arc::clone(&self.grouping);
        if !grouping.sets.is_empty() {
            return self.feed_sets(values);
        }
        let at = if grouping.keys == 0 {
            if self.groups.is_empty() {
                self.groups.push(Group::new(&grouping, 0, Row::new()));
            }
            0
        } else {
            self.by_key.begin(0);
            values[..grouping.keys].iter().for_each(|value| self.by_key.push(value));
            self.group_of_key(0, || values[..grouping.keys].iter_mut().map(std::mem::take).collect())
        };
        self.groups[at].add(&grouping, values)
    }

    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Row>> {
        let mut groups = std::mem::take(&mut self.groups);
        if groups.is_empty() {
            let grouping = &self.grouping;
            let without_keys = grouping.sets.iter().enumerate().filter(|(_, set)| set.is_empty());
            let keys = vec![Value::Null; grouping.keys];
            groups.extend(without_keys.map(|(number, _)| Group::new(grouping, number, keys.clone())));
            if !grouping.is_grouped {
                groups.push(Group::new(grouping, 0, Row::new()));
            }
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
