//! Variables that do not take every value of their type: NOT NULL, and those of domains.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Result, sqlstate};

use super::routine_body::Routine;
use crate::bind::visible_variables::Scalar;
use crate::emit::row_sink::report;

impl Routine<'_> {
    /// The check after an assignment to a variable.
    pub(super) fn test_variable(&mut self, scalar: &Scalar, name: &str) -> Result<()> {
        if let Some(domain) = scalar.domain {
            self.compiler.test_domain(domain, &Expr::Register(scalar.register))?;
        }
        if scalar.is_not_null {
            self.refuse_null(scalar.register, name);
        }
        Ok(())
    }

    /// The check after an assignment to a variable that must not be NULL.
    pub(super) fn refuse_null(&mut self, register: Register, name: &str) {
        let fine = self.compiler.code.label();
        self.compiler.code.jump_unless(Expr::IsNull(Box::new(Expr::Register(register))), fine);
        let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
        self.compiler.code.push(report(sqlstate::NULL_VALUE_NOT_ALLOWED, &message, None));
        self.compiler.code.place(fine);
    }
}
