//! Compiled statements and their cache.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hyades_types::memory::Charge;
use hyades_types::value::{SqlType, Value};
use parking_lot::Mutex;

use crate::answer::Response;
use crate::compile::action::Plan;

/// The number of statements kept for texts that recur. If there are more, all are dropped.
const MOST_CACHED: usize = 256;
/// Longer texts are not cached, because they are mostly bulk loads.
const LONGEST_CACHED_BYTES: usize = 4096;
/// Plans that have taken more are large: they hold constants that were computed when they were compiled.
const LARGEST_CACHED_PLAN: usize = 1 << 20;
/// What the cached plans have taken together. If it is more, all are dropped.
const MOST_CACHED_BYTES: usize = 16 << 20;

/// A compiled statement. The session compiles it again when a table has changed.
pub struct Prepared {
    pub(super) text: String,
    pub(super) parameter_types: Vec<SqlType>,
    pub(super) response: Response,
    /// For EXPLAIN EXECUTE: the values that its plan shows.
    pub(super) shown_parameters: Box<[Value]>,
    /// Set for a FETCH from a binary cursor.
    pub(super) is_binary: bool,
    /// The plan, and the stamp of the names that it was compiled under (`search_path`).
    pub(super) plan: Mutex<(Arc<Plan>, u64)>,
    /// The version of the catalog that its text was compiled under. In a newer one its names may mean
    /// something else.
    pub(super) catalog_version: u64,
    /// Charged for as long as it lives, because it may be kept for the rest of the session.
    pub(super) charge: Charge,
}

impl Prepared {
    pub fn parameter_types(&self) -> &[SqlType] {
        &self.parameter_types
    }

    pub fn response(&self) -> &Response {
        &self.response
    }

    /// Whether its rows are in binary format although the client has not asked for it: FETCH from a BINARY
    /// cursor in a simple query.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its plan has taken so much memory that nothing but its owner should keep it.
    pub(super) fn is_large(&self) -> bool {
        self.charge.bytes() > LARGEST_CACHED_PLAN
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().0)
    }

    /// The plan, and whether it was made under names with this stamp.
    pub(super) fn plan_under(&self, stamp: u64) -> (Arc<Plan>, bool) {
        let plan = self.plan.lock();
        (Arc::clone(&plan.0), plan.1 == stamp)
    }
}

/// A statement of SQL's PREPARE.
pub(super) struct NamedStatement {
    pub(super) prepared: Arc<Prepared>,
    /// The text of PREPARE.
    pub(super) text: String,
    /// The time at which PREPARE ran, in microseconds, as in the clock of SQL.
    pub(super) time: i64,
}

/// The number of texts of which a hash is remembered.
const MARK_SLOTS: usize = 512;

/// The statements of a session by text and declared parameter types. A text is kept when it occurs for the
/// second time, because one that occurs once is not worth keeping.
#[derive(Default)]
pub(super) struct StatementCache {
    by_text: HashMap<String, Vec<CachedStatement>>,
    count: usize,
    /// What their plans have taken.
    bytes: usize,
    seen: Marks,
    /// Texts whose literals must not be lifted ([`super::lifted`]).
    refused: Marks,
}

/// Hashes of texts, each in the pair of slots given by its low bits, the latest one first. The second text
/// that comes afterwards may displace it: a text as it is written and with parameters never displace each
/// other.
struct Marks(Vec<u64>);

impl Default for Marks {
    fn default() -> Marks {
        Marks(vec![0; MARK_SLOTS])
    }
}

impl Marks {
    fn first_slot(hash: u64) -> usize {
        usize::try_from(hash % MARK_SLOTS as u64).unwrap_or(0) & !1
    }

    fn has(&self, hash: u64) -> bool {
        let slot = Marks::first_slot(hash);
        self.0[slot..][..2].contains(&hash)
    }

    fn put(&mut self, hash: u64) {
        let slot = Marks::first_slot(hash);
        if self.0[slot] != hash {
            self.0[slot + 1] = self.0[slot];
            self.0[slot] = hash;
        }
    }
}

struct CachedStatement {
    declared: Vec<Option<SqlType>>,
    prepared: Arc<Prepared>,
}

impl StatementCache {
    pub(super) fn clear(&mut self) {
        self.by_text.clear();
        (self.count, self.bytes) = (0, 0);
    }

    pub(super) fn get(&self, text: &str, declared: &[Option<SqlType>]) -> Option<&Arc<Prepared>> {
        let statements = self.by_text.get(text)?;
        statements.iter().find(|cached| cached.declared == declared).map(|cached| &cached.prepared)
    }

    /// Whether a text has occurred before, as far as is known. Remembers it.
    pub(super) fn comes_again(&mut self, text: &str) -> bool {
        let hash = self.by_text.hasher().hash_one(text);
        let is_known = self.seen.has(hash);
        self.seen.put(hash);
        is_known
    }

    /// Remembers that a text with parameters must not be used for texts with literals.
    pub(super) fn refuse(&mut self, text: &str) {
        self.refused.put(self.by_text.hasher().hash_one(text));
    }

    pub(super) fn is_refused(&self, text: &str) -> bool {
        self.refused.has(self.by_text.hasher().hash_one(text))
    }

    /// Keeps a statement if its text has occurred before.
    pub(super) fn put(&mut self, prepared: &Arc<Prepared>, declared: &[Option<SqlType>]) {
        if prepared.text.len() <= LONGEST_CACHED_BYTES && self.comes_again(&prepared.text) {
            self.keep(prepared, declared);
        }
    }

    pub(super) fn keep(&mut self, prepared: &Arc<Prepared>, declared: &[Option<SqlType>]) {
        if prepared.is_large() {
            return;
        }
        let bytes = prepared.charge.bytes();
        if self.count >= MOST_CACHED || self.bytes + bytes > MOST_CACHED_BYTES {
            self.clear();
        }
        let statements = self.by_text.entry(prepared.text.clone()).or_default();
        statements.retain(|cached| cached.declared != declared);
        statements.push(CachedStatement { declared: declared.to_vec(), prepared: Arc::clone(prepared) });
        self.count += 1;
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::{MARK_SLOTS, Marks};

    #[test]
    fn two_texts_with_one_place_are_both_known() {
        let mut marks = Marks::default();
        let [one, other, third] = [5, 5 + MARK_SLOTS as u64, 5 + 2 * MARK_SLOTS as u64];
        for hash in [one, other, one, other] {
            marks.put(hash);
        }
        assert!(marks.has(one) && marks.has(other) && !marks.has(third));
        marks.put(third);
        assert!(marks.has(other) && marks.has(third) && !marks.has(one));
    }
}
