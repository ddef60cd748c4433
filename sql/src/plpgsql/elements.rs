//! Arrays whose elements have a length or a precision: `x numeric(4,2)[]`.
//!
//! The type of an array knows only the base type of its elements, so the variable keeps the rest
//! (`Scalar::element`). A value assigned to one element is converted like any other. A whole array is
//! converted element by element in a register of its own, so that the variable keeps its old value if one
//! element does not fit.

use hyades_engine::procedure::ir::{Expr, Instruction, Register};
use hyades_types::error::Result;
use hyades_types::function::Function;
use hyades_types::value::{SqlType, Value};

use super::routine_body::Routine;
use crate::bind::visible_variables::Scalar;

impl Routine<'_> {
    /// A whole array to be assigned to this variable, with its elements converted to fit.
    pub(super) fn with_fitting_elements(&mut self, scalar: &Scalar, value: Expr) -> Result<Expr> {
        let Some(element) = scalar.element else { return Ok(value) };
        let array = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(array, value);
        self.fit_elements(array, element)?;
        Ok(Expr::Register(array))
    }

    /// Converts each element of the array in this register, as an assignment does.
    pub(super) fn fit_elements(&mut self, array: Register, to: SqlType) -> Result<()> {
        let Some(element) = hyades_types::value::ArrayElement::of(to) else { return Ok(()) };
        let (counter, last, step, place) = (
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
        );
        let one = || Expr::Const(Value::Integer(1));
        let code = &mut self.compiler.code;
        let (again, exit) = (code.label(), code.label());
        code.evaluate(counter, one());
        code.evaluate(step, one());
        let arguments = vec![Expr::Register(array)];
        code.evaluate(last, Expr::Call { function: Function::Cardinality, arguments });
        code.jump_unless(Expr::Not(Box::new(Expr::IsNull(Box::new(Expr::Register(last))))), exit);
        code.place(again);
        code.push(Instruction::ForNext { counter, last, variable: place, is_reverse: false, end: exit });
        let operand =
            Expr::Element { array: Box::new(Expr::Register(array)), index: Box::new(Expr::Register(place)) };
        let value = Expr::Cast { operand: Box::new(operand), to, explicit: false };
        code.push(Instruction::SetElement { array, element, index: Expr::Register(place), value });
        code.push(Instruction::ForStep { counter, step, is_reverse: false, again, end: exit });
        code.place(exit);
        Ok(())
    }
}
