//! Functions of FROM: alone, with numbers of their rows (WITH ORDINALITY), side by side (ROWS FROM), and with
//! columns that are given with their types.
//!
//! Most functions are items of their own (`from_clause`). Where the rows need numbers that the item does not
//! have, each function becomes a query that numbers them with `row_number()`, and a full join by these
//! numbers puts several side by side. A function of JSON whose columns are given becomes a query over the
//! objects that are its rows, which reads a member of them for each column.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{
    self, Expr as Ast, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
};

use super::aggregation::IN_FUNCTION;
use super::scope::RelationKind;
use super::tree::{Item, Source};
use super::{Binder, Bound, Class, Place, types};
use crate::statement::call_syntax::{Called, NO_ALIAS, rows_from};
use crate::statement::names::{fold, name_in_catalog, parts};
use crate::statement::query::query_of;

/// Functions whose columns are given with the call.
const RECORDS: [&str; 4] = ["json_to_record", "json_to_recordset", "jsonb_to_record", "jsonb_to_recordset"];

/// Calls that stand for the objects that become rows, and for a member of one. No statement can name them.
pub(super) const RECORDS_OF: &str = "\0records";
const MEMBER_OF: &str = "\0member";

/// Functions whose items number their rows themselves.
const NUMBERED: [&str; 7] = [
    "unnest",
    "pg_listening_channels",
    "pg_options_to_table",
    "pg_partition_ancestors",
    "regexp_split_to_table",
    "string_to_table",
    RECORDS_OF,
];

/// A call in FROM.
#[derive(Clone, Copy)]
pub(super) struct CallInFrom<'a> {
    pub(super) name: &'a ObjectName,
    pub(super) arguments: &'a [FunctionArg],
    pub(super) alias: Option<&'a TableAlias>,
    pub(super) with_ordinality: bool,
}

/// The columns of an alias that have types.
pub(super) fn typed_columns(alias: Option<&TableAlias>) -> Vec<(&Ident, &ast::DataType)> {
    let columns = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
    columns.iter().filter_map(|column| Some((&column.name, column.data_type.as_ref()?))).collect()
}

impl Binder<'_> {
    /// A function, or several of them, in FROM.
    pub(super) fn function_item(&mut self, call: CallInFrom<'_>) -> Result<Item> {
        let CallInFrom { name, arguments, alias, with_ordinality } = call;
        let typed = typed_columns(alias);
        let Some(functions) = rows_from(name, arguments) else {
            return self.single_item(call, typed);
        };
        let Some(functions) = functions.into_iter().collect::<Option<Vec<Called<'_>>>>() else {
            return self.unsupported(
                Missing::OtherForms,
                "this form of a call in ROWS FROM is",
                Place::of(name),
            );
        };
        if let Some((first, _)) = typed.first() {
            return self.misplaced_columns(&functions, first, with_ordinality);
        }
        if let ([single], false) = (functions.as_slice(), with_ordinality) {
            let call = CallInFrom { name: single.name, arguments: single.arguments, ..call };
            return self.single_item(call, single.columns.clone());
        }
        self.side_by_side(&functions, alias, with_ordinality)
    }

    /// Columns after ROWS FROM.
    fn misplaced_columns<T>(
        &self,
        functions: &[Called<'_>],
        first: &Ident,
        with_ordinality: bool,
    ) -> Result<T> {
        let place = Place::at(first.span.start);
        let inside = "Put a separate column definition list for each function inside ROWS FROM().";
        let (message, hint) = match functions {
            functions if functions.iter().any(|called| !called.columns.is_empty()) => {
                ("multiple column definition lists are not allowed for the same function", None)
            }
            [_] if with_ordinality => (
                "WITH ORDINALITY cannot be used with a column definition list",
                Some("Put the column definition list inside ROWS FROM()."),
            ),
            _ => ("ROWS FROM() with multiple functions cannot have a column definition list", Some(inside)),
        };
        let error = Error::input(sqlstate::SYNTAX_ERROR, message);
        let error = hint.into_iter().fold(error, Error::with_hint);
        Err(self.place(error, place))
    }

    /// One function, whose columns have these types if they are given.
    fn single_item(&mut self, call: CallInFrom<'_>, typed: Vec<(&Ident, &ast::DataType)>) -> Result<Item> {
        let CallInFrom { name, arguments, alias, with_ordinality } = call;
        let own = name_in_catalog(name);
        let is_record = own.as_deref().is_some_and(|own| RECORDS.contains(&own));
        if let Some((first, _)) = typed.first() {
            if with_ordinality {
                let error = Error::input(
                    sqlstate::SYNTAX_ERROR,
                    "WITH ORDINALITY cannot be used with a column definition list",
                )
                .with_hint("Put the column definition list inside ROWS FROM().");
                return Err(self.place(error, Place::at(first.span.start)));
            }
            if is_record {
                return self.defined_item(call, &typed);
            }
            let place = Place::at(first.span.start);
            self.single_item(CallInFrom { alias: None, ..call }, Vec::new())?;
            let message = "a column definition list is only allowed for functions returning \"record\"";
            return self.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        if is_record {
            let message = "a column definition list is required for functions returning \"record\"";
            return self.fail(sqlstate::SYNTAX_ERROR, message, Place::of(name));
        }
        let is_numbered =
            own.as_deref().is_some_and(|own| NUMBERED.contains(&own) || own.starts_with("json"));
        if with_ordinality && !is_numbered {
            let called = Called { name, arguments, columns: Vec::new() };
            return self.side_by_side(&[called], alias, true);
        }
        self.without_aggregates(IN_FUNCTION, |binder| {
            if let Some(item) = binder.set_item(name, arguments, alias, with_ordinality)? {
                return Ok(item);
            }
            binder.series_item(name, arguments, alias)
        })
    }

    /// The rows of several functions next to each other, with their numbers if these are wanted.
    fn side_by_side(
        &mut self,
        functions: &[Called<'_>],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> Result<Item> {
        let numbered = r#"(SELECT row_number() OVER () AS "?number?", * FROM f())"#;
        let mut text = format!("SELECT * FROM LATERAL {numbered} AS f0");
        for at in 1..functions.len() {
            text.push_str(&format!(r#" FULL JOIN LATERAL {numbered} AS f{at} USING ("?number?")"#));
        }
        text.push_str(" ORDER BY 1");
        let mut query = query_of(&text)?;
        let own_name = match (alias, functions) {
            (Some(alias), _) => self.alias(&alias.name)?,
            (None, [first, ..]) => parts(first.name)?.last().map(|ident| fold(ident)).unwrap_or_default(),
            (None, []) => String::new(),
        };
        if let SetExpr::Select(select) = query.body.as_mut() {
            for joined in &mut select.from {
                let items = std::iter::once(&mut joined.relation);
                let items = items.chain(joined.joins.iter_mut().map(|join| &mut join.relation));
                for (item, called) in items.zip(functions) {
                    let inner = if functions.len() == 1 { alias } else { None };
                    set_function(item, called, inner);
                }
            }
        }
        let (query, mut columns, outer) = self.lateral_rows_of(&query)?;
        let (mut derived, mut relation) = self.derived_relation(query, columns.clone(), own_name.clone())?;
        derived.outer = outer;
        // The number comes first there, and here last or not at all.
        let mut registers = derived.registers.clone();
        registers.rotate_left(1);
        columns.rotate_left(1);
        if with_ordinality {
            columns.last_mut().into_iter().for_each(|(name, _)| "ordinality".clone_into(name));
        } else {
            columns.pop();
            registers.pop();
        }
        relation.columns = columns;
        relation.kind = RelationKind::Registers(registers);
        let relation = self.add_relation(relation, alias, Place::Unknown)?;
        Ok(Item::new(Source::Query(derived), own_name, relation))
    }

    /// A function of JSON with these columns.
    fn defined_item(&mut self, call: CallInFrom<'_>, typed: &[(&Ident, &ast::DataType)]) -> Result<Item> {
        let own = name_in_catalog(call.name).unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        let mut columns = Vec::new();
        for (name, data_type) in typed {
            let place = match data_type {
                ast::DataType::Custom(name, _) => Place::of(name),
                _ => Place::Unknown,
            };
            types::declared(data_type, self).map_err(|error| self.place(error, place))?;
            let folded = fold(name);
            if names.contains(&folded) {
                let message = format!("column name \"{folded}\" specified more than once");
                return self.fail(sqlstate::DUPLICATE_COLUMN, message, Place::Unknown);
            }
            let arguments = [Ast::Identifier(Ident::new("record")), literal(&folded)];
            let arguments = arguments.map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
            let member_of = written_call(Ident::with_quote('"', MEMBER_OF).into(), arguments.to_vec());
            let member = Ast::Cast {
                kind: ast::CastKind::Cast,
                expr: Box::new(Ast::Function(member_of)),
                data_type: (*data_type).clone(),
                array: false,
                format: None,
            };
            columns.push(SelectItem::ExprWithAlias { expr: member, alias: (*name).clone() });
            names.push(folded);
        }
        let mut query = query_of(r#"SELECT NULL FROM f() AS "?records?"(record)"#)?;
        let place = parts(call.name)?.last().map_or_else(|| Ident::new("").span, |ident| ident.span);
        let mut arguments = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(literal(&own)))];
        arguments.extend(call.arguments.iter().cloned());
        let records = ObjectName::from(vec![Ident::with_quote_and_span('"', place, RECORDS_OF)]);
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = columns;
            for joined in &mut select.from {
                let alias = match &joined.relation {
                    TableFactor::Table { alias, .. } => alias.clone(),
                    _ => None,
                };
                joined.relation = function_factor(&records, &arguments, alias);
            }
        }
        let written = call.alias.filter(|alias| alias.name.value != NO_ALIAS);
        let alias = TableAlias {
            explicit: true,
            name: written.map_or_else(|| Ident::with_quote('"', own), |alias| alias.name.clone()),
            columns: plain_columns(written),
            at: None,
        };
        self.without_aggregates(IN_FUNCTION, |binder| binder.derived_item(&query, Some(&alias), true))
    }

    /// The objects that become rows, as arguments of an item of elements.
    pub(super) fn record_array(&mut self, mut bound: Vec<Bound>, place: Place) -> Result<Bound> {
        let first = if bound.is_empty() { None } else { Some(bound.remove(0).class) };
        let name = if let Some(Class::Literal(name)) = first { name } else { String::new() };
        let (own, element) = match name.starts_with("jsonb") {
            true => (SqlType::Jsonb, ArrayElement::Jsonb),
            false => (SqlType::Json, ArrayElement::Json),
        };
        match bound.as_slice() {
            [whole] if whole.known_type().is_none_or(|known| known == own) => {
                let whole = self.coerce(whole.clone(), own)?;
                let arguments = vec![Expr::Const(Value::text(name)), whole];
                let call = Expr::Call { function: Function::JsonRecords, arguments };
                Ok(Bound::typed(call, SqlType::Array(element), place))
            }
            _ => Err(self.no_function_of(&name, &bound, place)),
        }
    }

    /// `CAST (member AS type)` with the member of an object that becomes a row. None for any other cast.
    pub(super) fn member_as(&mut self, inner: &Ast, data_type: &ast::DataType) -> Result<Option<Bound>> {
        let Ast::Function(call) = inner else { return Ok(None) };
        let is_member = matches!(call.name.0.as_slice(), [part]
            if part.as_ident().is_some_and(|ident| ident.value == MEMBER_OF));
        let (true, FunctionArguments::List(list)) = (is_member, &call.args) else { return Ok(None) };
        let to = types::declared(data_type, self)?;
        let form = match to.sql_type {
            SqlType::Json | SqlType::Jsonb => "json",
            SqlType::Array(ArrayElement::Json | ArrayElement::Jsonb) => "array of json",
            SqlType::Array(_) => "array",
            _ => "text",
        };
        let mut arguments = Vec::new();
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { continue };
            let bound = self.expression(argument)?;
            arguments.push(match bound.known_type() {
                Some(_) => bound.expr,
                None => self.coerce(bound, SqlType::Text)?,
            });
        }
        arguments.push(Expr::Const(Value::text(form)));
        let text = Expr::Call { function: Function::JsonRecordMember, arguments };
        // Read like the input of the type: what is too long does not fit.
        let bound = if to.sql_type.is_text() {
            let expr = Expr::Cast { operand: Box::new(text), to: to.sql_type, explicit: false };
            Bound::typed(expr, to.sql_type, Place::Unknown)
        } else {
            let text = Bound::typed(text, SqlType::Text, Place::Unknown);
            self.coerce_explicitly(text, to.sql_type, Place::Unknown)?
        };
        self.checked_bound(bound, to.domain).map(Some)
    }
}

fn literal(text: &str) -> Ast {
    Ast::Value(ast::Value::SingleQuotedString(text.to_owned()).with_empty_span())
}

/// A call as it is written.
pub(super) fn written_call(name: ObjectName, args: Vec<FunctionArg>) -> ast::Function {
    ast::Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

fn function_factor(name: &ObjectName, arguments: &[FunctionArg], alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Function {
        lateral: true,
        name: name.clone(),
        args: arguments.to_vec(),
        with_ordinality: false,
        alias,
    }
}

/// The names in an alias of columns, without types.
fn plain_columns(alias: Option<&TableAlias>) -> Vec<TableAliasColumnDef> {
    let columns = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
    columns.iter().filter(|column| column.data_type.is_none()).cloned().collect()
}

/// Puts a function into the query that numbers its rows. The alias of a single function also names its
/// column.
fn set_function(item: &mut TableFactor, called: &Called<'_>, alias: Option<&TableAlias>) {
    let TableFactor::Derived { subquery, .. } = item else { return };
    let SetExpr::Select(select) = subquery.body.as_mut() else { return };
    let typed = |(name, data_type): &(&Ident, &ast::DataType)| TableAliasColumnDef {
        name: (*name).clone(),
        data_type: Some((*data_type).clone()),
    };
    let columns: Vec<TableAliasColumnDef> = called.columns.iter().map(typed).collect();
    let name = match alias {
        Some(alias) => Some(alias.name.clone()),
        None => (!columns.is_empty()).then(|| Ident::with_quote('"', NO_ALIAS)),
    };
    let alias = name.map(|name| TableAlias { explicit: true, name, columns, at: None });
    for joined in &mut select.from {
        joined.relation = function_factor(called.name, called.arguments, alias.clone());
    }
}
