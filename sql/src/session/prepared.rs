//! Compiled statements and their cache.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hyades_types::memory::Charge;
use hyades_types::value::{SqlType, Value};
use parking_lot::Mutex;

use crate::answer::Response;
use crate::plan::Plan;

/// Statements kept for texts that come again; all are forgotten when there are more.
const MOST_CACHED: usize = 256;
/// Longer texts are not worth keeping: they are loads of data.
const LONGEST_CACHED_BYTES: usize = 4096;

/// A compiled statement; recompiles itself when a table changed.
pub struct Prepared {
    pub(super) text: String,
    pub(super) parameter_types: Vec<SqlType>,
    pub(super) response: Response,
    /// Of EXPLAIN EXECUTE: the values that its plan shows.
    pub(super) shown_parameters: Box<[Value]>,
    /// A FETCH from a binary cursor.
    pub(super) is_binary: bool,
    /// And the stamp of the names that it was compiled under (`search_path`).
    pub(super) plan: Mutex<(Arc<Plan>, u64)>,
    /// It may be kept for as long as the session lives.
    pub(super) _charge: Charge,
}

impl Prepared {
    pub fn parameter_types(&self) -> &[SqlType] {
        &self.parameter_types
    }

    pub fn response(&self) -> &Response {
        &self.response
    }

    /// Whether its rows are in the binary format where the client has asked for none: FETCH from a BINARY
    /// cursor in a simple query.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().0)
    }

    /// The plan, and whether names with this stamp are those that it was made under.
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
    /// When that ran: microseconds, as in the clock of SQL.
    pub(super) time: i64,
}

/// Slots of the memory for texts seen once.
const SEEN_SLOTS: usize = 512;

/// The statements of a session by text and declared parameter types. A text is kept when it comes the second
/// time: simple queries with their values in the text are never worth keeping.
pub(super) struct StatementCache {
    by_text: HashMap<String, Vec<CachedStatement>>,
    count: usize,
    /// Hashes of texts, each in the slot of its low bits.
    seen: Vec<u64>,
}

impl Default for StatementCache {
    fn default() -> StatementCache {
        StatementCache { by_text: HashMap::new(), count: 0, seen: vec![0; SEEN_SLOTS] }
    }
}

struct CachedStatement {
    declared: Vec<Option<SqlType>>,
    prepared: Arc<Prepared>,
}

impl StatementCache {
    pub(super) fn clear(&mut self) {
        self.by_text.clear();
        self.count = 0;
    }

    pub(super) fn get(&self, text: &str, declared: &[Option<SqlType>]) -> Option<&Arc<Prepared>> {
        let statements = self.by_text.get(text)?;
        statements.iter().find(|cached| cached.declared == declared).map(|cached| &cached.prepared)
    }

    pub(super) fn put(&mut self, prepared: &Arc<Prepared>, declared: &[Option<SqlType>]) {
        if prepared.text.len() > LONGEST_CACHED_BYTES {
            return;
        }
        let hash = self.by_text.hasher().hash_one(&prepared.text);
        let slot = usize::try_from(hash % SEEN_SLOTS as u64).unwrap_or(0);
        if std::mem::replace(&mut self.seen[slot], hash) != hash {
            return;
        }
        if self.count >= MOST_CACHED {
            self.clear();
        }
        let statements = self.by_text.entry(prepared.text.clone()).or_default();
        statements.retain(|cached| cached.declared != declared);
        statements.push(CachedStatement { declared: declared.to_vec(), prepared: Arc::clone(prepared) });
        self.count += 1;
    }
}
