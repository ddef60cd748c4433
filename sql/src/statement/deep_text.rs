//! Room on the stack for texts that may nest deeply: dropping the parser's tree, walking it and reading spans
//! from it recurse without checking the stack.

/// Runs `work`, which parses this text.
pub(crate) fn with_stack_for<T>(sql: &str, work: impl FnOnce() -> T) -> T {
    if sql.len() < DEEP_TEXT_BYTES {
        return work();
    }
    stacker::maybe_grow(DEEP_STACK_BYTES, 2 * DEEP_STACK_BYTES, work)
}

/// Shorter texts nest no deeper than a thread's own stack.
const DEEP_TEXT_BYTES: usize = 1 << 10;
/// Enough for as many levels as the parser and the binder allow. Only the part that is used costs memory.
const DEEP_STACK_BYTES: usize = 32 << 20;
