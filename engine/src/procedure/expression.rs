//! Expressions of a procedure: they have a value, and change nothing.

use std::fmt;

use hyades_types::function::Function;
use hyades_types::operator::{BinaryOperator, UnaryOperator};
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::deep::{LEVELS, with_stack};
use super::slots::{CalleeIndex, Register, RowSlot};

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Const(Value),
    Register(Register),
    /// A column of a row slot.
    Column {
        row: RowSlot,
        column: u16,
    },
    Unary {
        operator: UnaryOperator,
        operand: Box<Expr>,
    },
    Binary {
        operator: BinaryOperator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// IS NOT DISTINCT FROM.
    NotDistinct(Box<Expr>, Box<Expr>),
    /// The first condition that is true gives the result, else `otherwise`.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Box<Expr>,
    },
    Coalesce(Vec<Expr>),
    /// `operand IN (list)`, in SQL's three-valued logic.
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
    },
    /// `left operator ANY (array)`, or ALL, of a comparison, in SQL's three-valued logic.
    Quantified {
        operator: BinaryOperator,
        is_all: bool,
        left: Box<Expr>,
        array: Box<Expr>,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        case_insensitive: bool,
    },
    /// An explicit (`::`) or inserted conversion. `explicit` truncates over-long strings silently, as in
    /// PostgreSQL.
    Cast {
        operand: Box<Expr>,
        to: SqlType,
        explicit: bool,
    },
    Call {
        function: Function,
        arguments: Vec<Expr>,
    },
    /// `array[index]`. NULL outside the array.
    Element {
        array: Box<Expr>,
        index: Box<Expr>,
    },
    /// `ARRAY[...]`.
    Array {
        element: ArrayElement,
        items: Vec<Expr>,
    },
    /// A call of a routine. The compiler turns it into an instruction of its own, so it never reaches the
    /// evaluator.
    Routine {
        callee: CalleeIndex,
        arguments: Vec<Expr>,
    },
    /// The value of a subquery, by its number, given these values of the enclosing query. The compiler puts
    /// the subquery's code before the expression, so it never reaches the evaluator.
    Query {
        query: u16,
        outer: Vec<Expr>,
    },
    /// The same as its content. A walk into it ensures that there is enough stack, and an evaluation counts
    /// as work.
    Deep(Deep),
}

/// An expression at which every recursive walk ensures that there is stack left, and whose evaluation counts
/// as the work of so many parts.
pub struct Deep(Box<Expr>, u32);

impl Deep {
    /// A part of an expression that nests deep.
    pub fn new(expr: Expr) -> Deep {
        Deep::of_parts(expr, LEVELS as u32)
    }

    /// An expression of many parts: one instruction evaluates all of them.
    pub fn of_parts(expr: Expr, parts: u32) -> Deep {
        Deep(Box::new(expr), parts)
    }

    pub fn parts(&self) -> u32 {
        self.1
    }

    /// The expression. Walks into it go through [`with_stack`].
    pub fn expr(&self) -> &Expr {
        &self.0
    }

    pub fn expr_mut(&mut self) -> &mut Expr {
        &mut self.0
    }

    /// Leaves nothing in place that would have to be walked through.
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
        with_stack(|| Deep::of_parts(self.expr().clone(), self.parts()))
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
