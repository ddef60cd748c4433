//! Recovery.
/// What recovery found, for the operator.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    pub logs: usize,
    pub incarnations: u64,
    pub transactions: u64,
    pub log_bytes: u64,
    pub tables: usize,
    pub rows: u64,
    pub seconds: f64,
    /// Transactions found in a log that had not become durable with all they depend on.
    pub discarded: u64,
}

/// Where recovery stands.
#[derive(Clone, Debug, Default)]
pub struct RecoveryProgress {
    pub bytes_done: u64,
    pub bytes_total: u64,
    pub transactions: u64,
    pub seconds: f64,
}
