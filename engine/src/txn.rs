//! Concurrency control.
