//! What the values of an INSERT go to: columns, elements of arrays and parts of a jsonb
//! (`INSERT INTO t (a[1], a[2])`).
//!
//! The elements that a row gives for a column are put into an array that begins as NULL, in the order in
//! which they are named. The default of the column does not count.

use hyades_engine::procedure::ir::Expr;
use hyades_types::definition::{ColumnDefinition, TableDefinition};
use hyades_types::error::Result;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{AccessExpr, Expr as Ast, ObjectName, Subscript};

use super::Compiler;
use crate::bind::coerce::cast;
use crate::bind::{Bound, Place};
use crate::statement::element_target;
use crate::statement::names::fold;
use crate::statement::query::parse_expression;

/// What a value goes to.
#[derive(Clone)]
pub(super) struct InsertedColumn {
    /// The number of the column in the table.
    pub(super) at: usize,
    pub(super) subscripts: Option<Vec<AccessExpr>>,
    /// Where it is named.
    pub(super) place: Place,
}

impl InsertedColumn {
    pub(super) fn whole(at: usize) -> InsertedColumn {
        InsertedColumn { at, subscripts: None, place: Place::Unknown }
    }

    /// The type and the name that a literal for it takes.
    pub(super) fn hint(&self, definition: &TableDefinition) -> (SqlType, String) {
        let column = &definition.columns[self.at];
        let is_slice = |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
        let sql_type = match (&self.subscripts, column.sql_type) {
            (Some(subscripts), SqlType::Array(element)) if !subscripts.iter().any(is_slice) => {
                element.sql_type()
            }
            (Some(chain), SqlType::Composite(row_type)) => match chain.as_slice() {
                [AccessExpr::Dot(Ast::Identifier(field))] => {
                    row_type.field(&fold(field)).map_or(column.sql_type, |field| field.sql_type)
                }
                _ => column.sql_type,
            },
            (_, sql_type) => sql_type,
        };
        (sql_type, column.name.clone())
    }
}

/// What the values of a query go to.
pub(super) struct Inserted {
    columns: Vec<InsertedColumn>,
    /// Whether the value is stored.
    takes: Vec<bool>,
    types: Vec<SqlType>,
}

impl Inserted {
    pub(super) fn new(
        columns: Vec<InsertedColumn>,
        takes: Vec<bool>,
        types: impl Iterator<Item = SqlType>,
    ) -> Inserted {
        Inserted { columns, takes, types: types.collect() }
    }
}

/// The subscripts of a target, if it has any.
pub(super) fn subscripts(target: &ObjectName) -> Result<Option<Vec<AccessExpr>>> {
    let Some(text) = element_target::unpack(target) else { return Ok(None) };
    Ok(match parse_expression(text)? {
        Ast::CompoundFieldAccess { root, access_chain } => {
            let mut chain = fields_of(*root);
            chain.extend(access_chain);
            Some(chain)
        }
        whole @ Ast::CompoundIdentifier(_) => Some(fields_of(whole)),
        _ => None,
    })
}

/// The fields in a dotted name, after the letter in the place of the target.
fn fields_of(name: Ast) -> Vec<AccessExpr> {
    let Ast::CompoundIdentifier(idents) = name else { return Vec::new() };
    idents.into_iter().skip(1).map(|field| AccessExpr::Dot(Ast::Identifier(field))).collect()
}

impl Compiler<'_> {
    /// The array with another element, or the jsonb with another part. `known` is what the row has for the
    /// column so far.
    pub(super) fn with_element(
        &mut self,
        known: Option<Expr>,
        column: &ColumnDefinition,
        goal: &InsertedColumn,
        value: Bound,
    ) -> Result<Expr> {
        let chain = goal.subscripts.as_deref().unwrap_or_default();
        let array = known.unwrap_or(Expr::Const(Value::Null));
        // Subscripts see no columns.
        let scope = std::mem::take(&mut self.binder.scope);
        let target = (array, column.sql_type, column.name.as_str());
        let is_array = matches!(column.sql_type, SqlType::Array(_) | SqlType::Jsonb | SqlType::Composite(_));
        let place = if is_array { goal.place } else { Place::Unknown };
        let assigned = self.binder.assigned_elements(target, chain, value, place);
        self.binder.scope = scope;
        cast(assigned?, column.sql_type.without_modifier(), column.sql_type, false)
    }

    /// The row with these values of a query, and with defaults.
    pub(super) fn inserted_row(
        &mut self,
        definition: &TableDefinition,
        defaults: &[Expr],
        inserted: &Inserted,
        given: impl Iterator<Item = Expr>,
    ) -> Result<Vec<Expr>> {
        let mut values = defaults.to_vec();
        let mut begun: Vec<usize> = Vec::new();
        let goals = inserted.columns.iter().zip(&inserted.takes).zip(&inserted.types);
        for (value, ((goal, takes), sql_type)) in given.zip(goals) {
            if goal.subscripts.is_some() {
                let known = begun.contains(&goal.at).then(|| values[goal.at].clone());
                let value = Bound::typed(value, *sql_type, goal.place);
                values[goal.at] = self.with_element(known, &definition.columns[goal.at], goal, value)?;
                begun.push(goal.at);
            } else if *takes {
                values[goal.at] = value;
            }
        }
        Ok(values)
    }
}
