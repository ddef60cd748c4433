//! Prefetching memory.
//!
//! A read by key waits for memory three times: for the index's leaf, for the record, for the lock. A loop
//! over an array of keys knows the next ones, so it requests all leaves, then all records and locks, and the
//! waits overlap. The compiler finds such loops (`emit::optimize::look_ahead` of the SQL front end). What
//! was found is used when its turn comes.
//!
//! Reference: Chen, Ailamaki, Gibbons, Mowry: "Improving Hash Join Performance through Prefetching", ICDE
//! 2004 (group prefetching).

use hyades_types::value::Value;

use super::access;
use super::found_ahead::{Ahead, AheadRead};
use super::interpret::{Next, Run};
use super::ir::{Expr, Procedure, Register, TableIndex};
use crate::txn::{Access, Flow, FoundAhead};

/// Iterations whose rows are requested at once. With more, the first might be evicted from the cache before
/// they are read.
const ITERATIONS: i32 = 16;

impl<T: Access> Run<'_, T> {
    /// Called in every iteration of the loop. Acts in the first of each [`ITERATIONS`].
    #[inline]
    pub(super) fn look_ahead(
        &mut self,
        procedure: &Procedure,
        (variable, last): (Register, Register),
        reads: &[(TableIndex, Vec<Expr>)],
    ) -> Flow<Next> {
        let first = self.integer(variable);
        let last = self.integer(last).min(first.saturating_add(ITERATIONS - 1));
        // Arrays count from 1.
        if first % ITERATIONS == 1 && first < last {
            self.look_ahead_to(procedure, variable, (first, last), reads);
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    fn look_ahead_to(
        &mut self,
        procedure: &Procedure,
        variable: Register,
        (first, last): (i32, i32),
        reads: &[(TableIndex, Vec<Expr>)],
    ) {
        let mut keys = match self.ahead.take() {
            Some(before) => before.keys,
            None => std::mem::take(&mut self.frame.scratch.ahead),
        };
        keys.clear();
        let mut ahead = Ahead { keys, ..Ahead::default() };
        for number in first..=last {
            self.frame.registers[usize::from(variable)].put(Value::Integer(number));
            for (index, key) in reads {
                let reference = &procedure.tables[usize::from(*index)];
                let start = ahead.keys.len();
                let built = access::append_key(key, &reference.key_layout, &self.context(), &mut ahead.keys);
                // What cannot be computed will fail in its own iteration, if that is reached.
                if !built.unwrap_or(false) {
                    ahead.keys.truncate(start);
                    continue;
                }
                reference.table.state(self.guard).index().prefetch(&ahead.keys[start..], self.guard);
                let (table, key) = (reference.table.id(), start..ahead.keys.len());
                ahead.reads.push(AheadRead { table, reference: *index, key, found: None });
            }
        }
        self.frame.registers[usize::from(variable)].put(Value::Integer(first));
        for read in &mut ahead.reads {
            let (table, key) =
                (&procedure.tables[usize::from(read.reference)].table, &ahead.keys[read.key.clone()]);
            self.transaction.prefetch_lock(table, key);
            read.found = FoundAhead::of(table, key, self.guard);
        }
        self.ahead = Some(ahead);
    }
}
