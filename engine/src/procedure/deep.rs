//! Expressions that nest deeper than a thread's stack.
//!
//! PostgreSQL takes thousands of nested calls and chains of thousands of operators; a walk over such a tree
//! recurses as deep. The compiler therefore puts a [`Deep`] around a part of every [`LEVELS`] levels, and
//! whatever recurses (evaluation, visitors, cloning, comparing, dropping) passes through [`with_stack`]
//! there, which moves to a new segment of stack when little is left. An expression of fewer levels has none
//! and pays nothing.

use std::fmt;

use hyades_types::value::Value;

use super::ir::Expr;

/// Levels of an expression without a [`Deep`] among them, conversions that binding adds aside.
pub const LEVELS: usize = 32;

/// What the levels between two [`Deep`]s may use, unoptimised.
const RED_ZONE_BYTES: usize = 512 << 10;
const SEGMENT_BYTES: usize = 4 << 20;

/// Runs something that recurses through at most [`LEVELS`] levels before it comes here again.
pub fn with_stack<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, walk)
}

/// An expression at which whatever recurses makes sure that there is stack left.
pub struct Deep(Box<Expr>);

impl Deep {
    pub fn new(expr: Expr) -> Deep {
        Deep(Box::new(expr))
    }

    /// The expression. Walks into it go through [`with_stack`].
    pub fn expr(&self) -> &Expr {
        &self.0
    }

    pub fn expr_mut(&mut self) -> &mut Expr {
        &mut self.0
    }

    /// Leaves nothing behind that would have to be walked through.
    pub fn take(&mut self) -> Expr {
        std::mem::replace(&mut self.0, Expr::Const(Value::Null))
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        let expr = self.take();
        with_stack(|| drop(expr));
    }
}

impl Clone for Deep {
    fn clone(&self) -> Deep {
        with_stack(|| Deep::new(self.expr().clone()))
    }
}

impl PartialEq for Deep {
    fn eq(&self, other: &Deep) -> bool {
        with_stack(|| self.expr() == other.expr())
    }
}

impl fmt::Debug for Deep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_stack(|| self.expr().fmt(f))
    }
}
