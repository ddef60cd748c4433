//! Tests of values of domains: of columns when a row is written, and of whatever is converted to a domain.

use hyades_engine::procedure::ir::{ErrorField, Expr, Instruction, Label, Report, RowSlot, TableIndex};
use hyades_engine::storage::stored_type::StoredType;
use hyades_types::environment::Severity;
use hyades_types::error::{Result, SqlState, sqlstate};
use hyades_types::value::Value;

use super::Compiler;

impl Compiler<'_> {
    /// Fails unless these columns of the row in a slot are values of their domains.
    pub(super) fn test_columns(&mut self, table: TableIndex, row: RowSlot, columns: &[u16]) -> Result<()> {
        let definition = self.code.definition(table);
        for column in columns {
            if let Some(domain) = definition.columns[usize::from(*column)].domain {
                self.test_domain(domain, &Expr::Column { row, column: *column })?;
            }
        }
        Ok(())
    }

    /// Fails unless a value, which is cheap to evaluate, is one of the domain.
    pub(crate) fn test_domain(&mut self, domain: u32, value: &Expr) -> Result<()> {
        let stored = self.binder.domain(domain)?;
        let tests = self.binder.domain_tests(&stored, value)?;
        let name = stored.definition.shown();
        if tests.is_not_null {
            let fine = self.code.label();
            self.code.jump_unless(Expr::IsNull(Box::new(value.clone())), fine);
            let message = format!("domain {name} does not allow null values");
            self.refuse_value(&stored, sqlstate::NOT_NULL_VIOLATION, message, None);
            self.code.place(fine);
        }
        for (constraint, condition) in tests.conditions {
            let fine: Label = self.code.label();
            // An unknown result is not a violation.
            self.code.jump_unless(Expr::Not(Box::new(condition)), fine);
            let message = format!("value for domain {name} violates check constraint \"{constraint}\"");
            self.refuse_value(&stored, sqlstate::CHECK_VIOLATION, message, Some(constraint));
            self.code.place(fine);
        }
        Ok(())
    }

    fn refuse_value(
        &mut self,
        stored: &StoredType,
        state: SqlState,
        message: String,
        constraint: Option<String>,
    ) {
        let text = |text: &str| Expr::Const(Value::text(text));
        let mut fields = vec![
            (ErrorField::Schema, text(&stored.definition.schema)),
            (ErrorField::DataType, text(&stored.definition.name)),
        ];
        fields.extend(constraint.map(|constraint| (ErrorField::Constraint, text(&constraint))));
        self.code.push(Instruction::Report(Box::new(Report {
            severity: Severity::Exception,
            state: text(state.0),
            message: text(&message),
            fields,
        })));
    }
}
