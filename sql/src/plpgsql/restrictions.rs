//! Variables that do not take every value of their type: NOT NULL, and those of domains.
//!
//! A value is looked at before it is assigned: after an error that a handler catches, the variable has its
//! old value. Where rows are assigned to variables by code that knows nothing of them, such a variable is
//! replaced by a register, whose value is assigned to it afterwards.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Result, sqlstate};

use super::routine_body::Routine;
use crate::bind::visible_variables::Scalar;
use crate::emit::row_sink::{Wanted, report};

/// What takes the values of a row.
#[derive(Clone)]
pub(super) struct Targets {
    pub(super) wanted: Wanted,
    pub(super) restricted: Vec<Restricted>,
}

/// A variable, and what is to be assigned to it.
#[derive(Clone)]
pub(super) struct Restricted {
    pub(super) scalar: Scalar,
    pub(super) from: Expr,
    /// For messages.
    pub(super) name: String,
}

impl Routine<'_> {
    /// Assigns a value of its type to a variable.
    pub(super) fn store(&mut self, scalar: &Scalar, value: Expr, name: &str) -> Result<()> {
        let mut value = self.compiler.binder.checked_value(value, scalar.domain)?;
        if scalar.is_not_null {
            let new = self.compiler.binder.new_register()?;
            self.compiler.code.evaluate(new, value);
            self.refuse_null(new, name);
            value = Expr::Register(new);
        }
        self.compiler.code.evaluate(scalar.register, value);
        Ok(())
    }

    pub(super) fn store_restricted(&mut self, restricted: &[Restricted]) -> Result<()> {
        restricted.iter().try_for_each(|one| self.store(&one.scalar, one.from.clone(), &one.name))
    }

    /// Fails if a variable that must not be NULL is about to get this register's value.
    fn refuse_null(&mut self, register: Register, name: &str) {
        let fine = self.compiler.code.label();
        self.compiler.code.jump_unless(Expr::IsNull(Box::new(Expr::Register(register))), fine);
        let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
        self.compiler.code.push(report(sqlstate::NULL_VALUE_NOT_ALLOWED, &message, None));
        self.compiler.code.place(fine);
    }
}
