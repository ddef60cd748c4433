//! Logs: bytes of records (`record`), buffers in memory (`buffer`), files (`store`), the manifest, durable positions (`durable`).
pub mod durable;
