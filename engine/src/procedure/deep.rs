//! Expressions that nest deeper than a thread's stack.
//!
//! PostgreSQL accepts thousands of nested calls and chains of thousands of operators. A walk over such a tree
//! recurses as deep. The compiler therefore puts a [`Deep`](super::ir::Deep) around a part of every
//! [`LEVELS`] levels, and everything that recurses (evaluation, visitors, cloning, comparing, dropping)
//! passes through [`with_stack`] there, which moves to a new segment of stack when little is left. An
//! expression of fewer levels has none and pays nothing.
//!
//! One instruction may evaluate an expression of a million parts, and instructions are what the interpreter
//! counts. So the compiler also puts one around every expression of many parts, which counts them.

/// The most levels of an expression without a [`Deep`](super::ir::Deep) among them, not counting conversions
/// that binding adds.
pub const LEVELS: usize = 32;

/// The stack that the levels between two [`Deep`](super::ir::Deep)s may use, unoptimised.
const RED_ZONE_BYTES: usize = 512 << 10;
const SEGMENT_BYTES: usize = 4 << 20;

/// Runs a function that recurses through at most [`LEVELS`] levels before it comes here again.
pub fn with_stack<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, walk)
}
