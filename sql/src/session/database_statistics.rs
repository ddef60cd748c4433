//! The statistics of a database for its operator.

use hyades_types::memory;

use super::Database;
use super::statistics::{Memory, Statistics};

impl Database {
    /// The current statistics.
    pub fn statistics(&self) -> Statistics {
        let (sessions, counts, session_bytes) = self.shared.activities.counted(None);
        let engine = self.engine().statistics();
        let logs = engine.logs;
        let memory = Memory {
            tables: engine.tables,
            indexes: engine.indexes,
            versions: engine.versions,
            sessions: session_bytes,
            logs: logs.iter().map(|log| log.buffer).sum(),
            total: memory::total_bytes() as u64,
            limit: self.shared.memory.server_bytes as u64,
        };
        Statistics { sessions, counts, logs, memory }
    }
}
