//! Tables and columns by name.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::table::Table;
use hyades_types::definition::TableName;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{Expr as AstExpr, Ident, ObjectName};

use super::routine_call::Arguments;
use super::scope::{MergedColumn, Relation, RelationKind, ScopeColumn, Visibility};
use super::{Binder, Bound, Place};
use crate::statement::names::{fold, is_reserved, parts};
use crate::system::relation;

impl Binder<'_> {
    /// The relation that a name refers to. Records the name if it may refer to another relation for other
    /// users.
    pub(crate) fn meant(&self, schema: Option<&str>, name: &str, place: Place) -> TableName {
        match schema {
            None => drop(self.open_names.borrow_mut().insert(name.to_owned())),
            Some(schema) => self.need_schema(schema, place),
        }
        self.context.meant(schema, name)
    }

    /// Schema and name. A missing schema is filled in from the search path.
    pub(crate) fn table_name(&self, name: &ObjectName) -> Result<(TableName, Place)> {
        let idents = parts(name)?;
        let place = idents.first().map_or(Place::Unknown, |ident| Place::at(ident.span.start));
        let folded: Vec<String> = idents.iter().map(|ident| fold(ident)).collect();
        let name = match folded.as_slice() {
            [name] => self.meant(None, name, place),
            [schema, name] => self.meant(Some(schema), name, place),
            [database, schema, name] if database == self.context.database => {
                self.meant(Some(schema), name, place)
            }
            [_, _, _] => {
                let message =
                    format!("cross-database references are not implemented: \"{}\"", folded.join("."));
                return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
            }
            _ => {
                let message =
                    format!("improper qualified name (too many dotted names): {}", folded.join("."));
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
        };
        Ok((name, place))
    }

    /// 3F000 if the schema does not exist.
    pub(crate) fn check_schema(&self, schema: &str, place: Place) -> Result<()> {
        if self.context.has_schema(schema) {
            self.need_schema(schema, place);
            return Ok(());
        }
        self.fail(sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"), place)
    }

    /// sqlparser accepts some of PostgreSQL's reserved words as names.
    pub(crate) fn refuse_reserved(&self, ident: &Ident) -> Result<()> {
        if ident.quote_style.is_some() || !is_reserved(&ident.value) {
            return Ok(());
        }
        let message = format!("syntax error at or near \"{}\"", ident.value);
        self.fail(sqlstate::SYNTAX_ERROR, message, Place::at(ident.span.start))
    }

    /// The table of this name, or 42P01.
    pub(crate) fn table(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let (table_name, place) = self.table_name(name)?;
        match self.context.tables.table(&table_name) {
            Some(table) => Ok(table),
            None if self.context.tables.sequence(&table_name).is_some() => {
                let what = format!("sequence \"{}\" in the place of a table is", table_name.name);
                self.unsupported(Missing::SequencesAsTables, &what, place)
            }
            None => {
                // Checked only here, because this code runs for every statement.
                parts(name)?.into_iter().try_for_each(|ident| self.refuse_reserved(ident))?;
                let written: Vec<String> = parts(name)?.into_iter().map(fold).collect();
                let shown = written.join(".");
                self.fail(sqlstate::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"), place)
            }
        }
    }

    /// `column`.
    pub(crate) fn column(&mut self, ident: &Ident) -> Result<Bound> {
        let name = fold(ident);
        let place = Place::at(ident.span.start);
        let own = std::slice::from_ref(&name);
        match (self.find_column(&name, place)?, self.variable(own, place)?) {
            (Some(_), Some(_)) if !self.yields_to_columns() => Err(self.ambiguous_variable(&name, place)),
            (Some(bound), _) => Ok(bound),
            (None, Some(bound)) => match self.yields_to_columns() {
                true => Ok(self.find_outer_column(&name, place)?.unwrap_or(bound)),
                false => Ok(bound),
            },
            (None, None) => {
                if let Some(outer) = self.find_outer_column(&name, place)? {
                    return Ok(outer);
                }
                if let Some(row) = self.row(&AstExpr::Identifier(ident.clone()))? {
                    return self.row_value(row);
                }
                if let Some(element) = self.element_of_relation(&name, place) {
                    return Ok(element);
                }
                let only = self.scope.named().map(|(number, _)| number).collect::<Vec<usize>>();
                match only.as_slice() {
                    [relation] => {
                        if let Some(number) = self.system_column(*relation, &name, place)? {
                            return Ok(number);
                        }
                    }
                    [_, _, ..] if name == "tableoid" => {
                        let message = "column reference \"tableoid\" is ambiguous";
                        return self.fail(sqlstate::AMBIGUOUS_COLUMN, message, place);
                    }
                    _ => {}
                }
                self.refuse_reserved(ident)?;
                Err(self.missing_column(None, &name, place))
            }
        }
    }

    /// The name of a scalar function in FROM refers to its value, whatever its column is called.
    pub(super) fn element_of_relation(&mut self, name: &str, place: Place) -> Option<Bound> {
        let is_one = |relation: &Relation| {
            relation.name == name
                && relation.columns.len() == 1
                && matches!(relation.kind, RelationKind::Elements(..))
        };
        let (number, _) = self.scope.named().find(|(_, relation)| is_one(relation))?;
        Some(self.column_of(number, 0, place))
    }

    fn yields_to_columns(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.yields_to_columns)
    }

    /// The column of this name, if there is one; 42702 if there are several.
    pub(crate) fn find_column(&mut self, name: &str, place: Place) -> Result<Option<Bound>> {
        let scope = &self.scope;
        let mut found = scope.columns.iter().filter(|column| scope.column_name(**column) == name);
        match (found.next().copied(), found.next()) {
            (Some(_), Some(_)) => {
                let message = format!("column reference \"{name}\" is ambiguous");
                self.fail(sqlstate::AMBIGUOUS_COLUMN, message, place)
            }
            (Some(column), None) => Ok(Some(self.scope_column(column, place))),
            (None, _) => Ok(None),
        }
    }

    /// `table.column` or `schema.table.column`.
    pub(crate) fn qualified_column(&mut self, idents: &[Ident]) -> Result<Bound> {
        let place = idents.first().map_or(Place::Unknown, |ident| Place::at(ident.span.start));
        let folded: Vec<String> = idents.iter().map(fold).collect();
        if let Some(variable) = self.variable(&folded, place)? {
            let is_column = folded.len() == 2
                && self.scope.named().any(|(_, relation)| {
                    relation.name == folded[0] && relation.columns.iter().any(|(name, _)| *name == folded[1])
                });
            match (is_column, self.yields_to_columns()) {
                (false, _) => return Ok(variable),
                (true, false) => return Err(self.ambiguous_variable(&folded.join("."), place)),
                (true, true) => {}
            }
        }
        let (schema, table, column) = match folded.as_slice() {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema), table, column),
            [database, schema, table, column] if *database == self.context.database => {
                (Some(schema), table, column)
            }
            _ => {
                let message =
                    format!("improper qualified name (too many dotted names): {}", folded.join("."));
                return self.fail(sqlstate::SYNTAX_ERROR, message, place);
            }
        };
        if let Some(schema) = schema {
            self.check_schema_of(schema, table, place)?;
        }
        if let Some(outer) = self.find_outer_qualified((table, column), place)? {
            return Ok(outer);
        }
        self.column_of_relation(table, column, place)
    }

    /// 42P01 if the item of this name in FROM is not the relation of this schema.
    fn check_schema_of(&self, schema: &str, name: &str, place: Place) -> Result<()> {
        let named = self.scope.named().find(|(_, relation)| relation.name == name);
        let Some((_, relation)) = named else { return Ok(()) };
        let is_meant = match &relation.kind {
            RelationKind::Table { table, .. } | RelationKind::View(_, table) => {
                let own = &table.definition().name;
                own.schema == self.context.path.schema(schema) && own.name == name
            }
            RelationKind::System(..) => relation::find(schema, name).is_some(),
            _ => false,
        };
        if is_meant {
            return Ok(());
        }
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let hint = format!(
            "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
        );
        let error = Error::input(sqlstate::UNDEFINED_TABLE, message).with_hint(hint);
        Err(self.place(error, place))
    }

    /// A column of a relation of this scope.
    pub(super) fn column_of_relation(&mut self, table: &str, column: &str, place: Place) -> Result<Bound> {
        let relation = self.relation(table, place)?;
        let found = self.scope.relations[relation].columns.iter().position(|(name, _)| name == column);
        match found {
            Some(found) => Ok(self.column_of(relation, found, place)),
            None => {
                if let Some(number) = self.system_column(relation, column, place)? {
                    return Ok(number);
                }
                if let Some(called) = self.called_on_row(relation, column, place)? {
                    return Ok(called);
                }
                Err(self.missing_column(Some(table), column, place))
            }
        }
    }

    /// `relation.function`, which is `function(relation)`.
    fn called_on_row(&mut self, relation: usize, function: &str, place: Place) -> Result<Option<Bound>> {
        let name = [function.to_owned()];
        if self.candidates(&name).is_empty() {
            return Ok(None);
        }
        let row = self.row_of_relation(relation, place)?;
        let bound = vec![self.row_value(row)?];
        self.try_routine(&name, &Arguments { bound, names: Vec::new() }, place)
    }

    /// `tableoid`: the number of the relation, NULL where an outer join has found no row of it, which shows
    /// in a column that is never NULL. `xmax` of a row that an INSERT has written: whether the row already
    /// existed.
    fn system_column(&mut self, relation: usize, name: &str, place: Place) -> Result<Option<Bound>> {
        let is_table = matches!(self.scope.relations[relation].kind, RelationKind::Table { .. });
        match (name, &self.replaced) {
            ("tableoid", _) => {}
            ("xmax", Some(replaced)) if is_table => {
                let xid = SqlType::System(SystemType::Xid);
                return Ok(Some(Bound::typed(replaced.clone(), xid, place)));
            }
            ("xmin" | "xmax" | "cmin" | "cmax" | "ctid", _) if is_table => {
                return self.unsupported(
                    Missing::SystemColumns,
                    &format!("the system column {name} is"),
                    place,
                );
            }
            _ => return Ok(None),
        }
        let (number, sure) = match &self.scope.relations[relation].kind {
            RelationKind::Table { table, .. } => {
                let definition = table.definition();
                (table.id().0, definition.columns.iter().position(|column| !column.is_nullable))
            }
            RelationKind::System(_, number) => (*number, Some(0)),
            _ => return Ok(None),
        };
        let Some(sure) = sure else {
            return self.unsupported(
                Missing::SystemColumns,
                "tableoid of a table without a NOT NULL column is",
                place,
            );
        };
        let sure = self.column_of(relation, sure, place).expr;
        let expr = Expr::Case {
            branches: vec![(Expr::IsNull(Box::new(sure)), Expr::Const(Value::Null))],
            otherwise: Box::new(Expr::Const(Value::Oid(number))),
        };
        Ok(Some(Bound::typed(expr, SqlType::System(SystemType::Oid), place)))
    }

    /// The number of the relation of this name.
    pub(crate) fn relation(&self, name: &str, place: Place) -> Result<usize> {
        let mut named = self.scope.named().filter(|(_, relation)| relation.name == name);
        match (named.next(), named.next()) {
            (Some((found, _)), None) => Ok(found),
            // A table called `excluded` that is the target of the insert.
            (Some(_), Some(_)) => {
                let message = format!("table reference \"{name}\" is ambiguous");
                self.fail(sqlstate::AMBIGUOUS_ALIAS, message, place)
            }
            (None, _) => {
                let is_outside_view = |relation: &&Relation| relation.visibility != Visibility::InView;
                let mut relations = self.scope.relations.iter().filter(is_outside_view);
                let hidden = relations.find(|relation| match &relation.kind {
                    RelationKind::Table { table, .. } | RelationKind::View(_, table) => {
                        table.definition().name.name == name
                    }
                    _ => false,
                });
                let mut scopes = std::iter::once(&self.scope).chain(&self.beside);
                let outside = scopes.any(|scope| {
                    let mut relations = scope.relations.iter().filter(is_outside_view);
                    relations.any(|relation| relation.name == name)
                });
                let hint = match hidden {
                    _ if outside => Some(format!(
                        "There is an entry for table \"{name}\", but it cannot be referenced from this part of \
                         the query."
                    )),
                    Some(relation) => {
                        Some(format!("Perhaps you meant to reference the table alias \"{}\".", relation.name))
                    }
                    None => None,
                };
                let what = if hint.is_some() { "invalid reference to" } else { "missing" };
                let message = format!("{what} FROM-clause entry for table \"{name}\"");
                let error = Error::input(sqlstate::UNDEFINED_TABLE, message);
                Err(self.place(hint.into_iter().fold(error, Error::with_hint), place))
            }
        }
    }

    /// The value of a column that is named without a relation.
    pub(crate) fn scope_column(&mut self, column: ScopeColumn, place: Place) -> Bound {
        match column {
            ScopeColumn::Of { relation, column } => self.column_of(relation, column, place),
            ScopeColumn::Merged(at) => {
                self.note_column(self.level(), place);
                let MergedColumn { expr, sql_type, .. } = self.scope.merged[at].clone();
                if let Expr::Column { row, column } = expr {
                    self.column_places.push((row, column, place));
                }
                Bound::typed(expr, sql_type, place)
            }
        }
    }

    pub(crate) fn column_of(&mut self, relation: usize, column: usize, place: Place) -> Bound {
        self.note_column(self.level(), place);
        let relation = &self.scope.relations[relation];
        let expr = relation.column(column);
        if let Expr::Column { row, column } = expr {
            self.column_places.push((row, column, place));
        }
        Bound::typed(expr, relation.columns[column].1, place)
    }
}
