//! Room on the stack for texts that may nest deeply: dropping the parser's tree, walking it and reading spans
//! from it recurse without checking the stack.
//!
//! A short text nests no deeper than a thread's own stack. But it may name objects whose texts nest: views,
//! and tables with checks, defaults and indexes on expressions. How long these are shows only while the
//! statement is compiled. So a short text is first compiled on the thread's own stack, on which
//!
//! 1. no long text is parsed, and
//! 2. the texts of views are short together.
//!
//! If one of them is refused for that reason, everything is compiled once more, on a large stack. What is
//! compiled must therefore have no effect but its result.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

use hyades_types::error::Result;
use sqlparser::ast::{Expr, Value};

use super::split::too_deep;

/// Shorter texts nest no deeper than a thread's own stack.
const DEEP_TEXT_BYTES: usize = 1 << 10;
/// Enough for as many levels as the parser and the binder allow. Only the part that is used costs memory.
const DEEP_STACK_BYTES: usize = 32 << 20;
/// What must be left of a thread's own stack for a short text.
const SHORT_STACK_BYTES: usize = 1 << 20;

thread_local! {
    /// On a thread's own stack: the length that the texts of views may still have.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static HAS_REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Sets what is left, until it is dropped.
struct Limited(Option<usize>);

impl Limited {
    fn to(left: Option<usize>) -> Limited {
        Limited(LEFT.replace(left))
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        LEFT.set(self.0);
    }
}

fn has_left(bytes: usize) -> bool {
    stacker::remaining_stack().is_none_or(|left| left >= bytes)
}

/// Runs `work`, which compiles this text, perhaps twice; see the module head.
pub(crate) fn with_stack_for<T>(sql: &str, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    if sql.len() >= DEEP_TEXT_BYTES || !has_left(SHORT_STACK_BYTES) {
        return with_deep_stack(work);
    }
    if LEFT.get().is_some() || has_left(DEEP_STACK_BYTES) {
        return work();
    }
    HAS_REFUSED.set(false);
    let done = {
        let _limited = Limited::to(Some(DEEP_TEXT_BYTES));
        work()
    };
    if HAS_REFUSED.take() { with_deep_stack(work) } else { done }
}

/// Runs `work` with room for any text.
pub(crate) fn with_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    let _unlimited = Limited::to(None);
    stacker::maybe_grow(DEEP_STACK_BYTES, 2 * DEEP_STACK_BYTES, work)
}

/// Refuses to parse a long text on a stack that is too small for it.
pub(super) fn check_stack_for(sql: &str) -> Result<()> {
    if sql.len() >= DEEP_TEXT_BYTES && LEFT.get().is_some() { refuse() } else { Ok(()) }
}

/// Runs `work`, which binds this text of a view within another.
pub(crate) fn within<T>(sql: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    match LEFT.get() {
        None if sql.len() >= DEEP_TEXT_BYTES => with_deep_stack(work),
        None => stacker::maybe_grow(2 * SHORT_STACK_BYTES, DEEP_STACK_BYTES, work),
        Some(left) => match left.checked_sub(sql.len()) {
            Some(less) => {
                LEFT.set(Some(less));
                work()
            }
            None => refuse(),
        },
    }
}

fn refuse<T>() -> Result<T> {
    HAS_REFUSED.set(true);
    Err(too_deep())
}

/// An expression as written that outlives the compilation of its text.
pub(crate) struct Written(Box<Expr>);

impl Written {
    pub(crate) fn new(expr: Expr) -> Written {
        Written(Box::new(expr))
    }
}

impl Deref for Written {
    type Target = Expr;

    fn deref(&self) -> &Expr {
        &self.0
    }
}

impl Clone for Written {
    fn clone(&self) -> Written {
        with_deep_stack(|| Written(self.0.clone()))
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let expr = std::mem::replace(&mut *self.0, Expr::Value(Value::Null.into()));
        with_deep_stack(|| drop(expr));
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_deep_stack(|| self.0.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread with a stack of its own.
    fn on_small_stack(work: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn what_turns_out_to_be_long_gets_a_large_stack() {
        on_small_stack(|| {
            let mut runs = 0;
            let length = with_stack_for("short", || {
                runs += 1;
                within(&"x".repeat(600), || within(&"x".repeat(600), || Ok(LEFT.get())))
            });
            assert_eq!((runs, length.unwrap()), (2, None));
            let length = with_stack_for("short", || {
                let one = || within(&"x".repeat(300), || Ok(LEFT.get()));
                one().and_then(|_| one())
            });
            assert_eq!(length.unwrap(), Some(DEEP_TEXT_BYTES - 600));
            let parsed = with_stack_for("short", || check_stack_for(&"x".repeat(2000)).map(|()| LEFT.get()));
            assert_eq!((parsed.unwrap(), LEFT.get()), (None, None));
            // An error of another kind is told as it is, after one run.
            let mut runs = 0;
            let failed: Result<()> = with_stack_for("short", || {
                runs += 1;
                Err(too_deep())
            });
            assert!(failed.is_err());
            assert_eq!(runs, 1);
        });
    }
}
