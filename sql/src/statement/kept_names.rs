//! Respells names of relations, routines and types inside stored texts (queries of views, conditions,
//! defaults).
//!
//! A stored text gives every such object with its schema, so that it means the same for every user. Texts
//! are respelled so when they are stored, and again when an object that they name is renamed. Where a text is
//! shown, the schemas that its reader does not need are left out.
//!
//! The text is parsed, and each name is replaced at its position in the text, so that the rest stays as it
//! was printed. The name of a relation can also be in a literal that is read as a `regclass`.

use std::ops::{ControlFlow, Range};

use hyades_types::definition::TableName;
use hyades_types::error::{Error, Result};
use hyades_types::sequence::written_name;
use hyades_types::text;
use hyades_types::value::{ArrayElement, SqlType, Value};
use jiff::tz::TimeZone;
use sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, TableFactor,
    ValueWithSpan, Visit, Visitor,
};
use sqlparser::tokenizer::Location;

use super::names::{fold, parts, quoted};
use super::places::byte_offset;
use super::query;

/// The kind of object that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameOf {
    Relation,
    Routine,
    Type,
}

/// Returns the new spelling of a name, which comes with its schema if that is written.
pub(crate) type Respell<'a> = dyn Fn(NameOf, Option<&str>, &str) -> Option<String> + 'a;

/// A query with some names respelled, or `None` if no name changes.
pub(crate) fn respelled_query(text: &str, respell: &Respell<'_>) -> Result<Option<String>> {
    let statement = query::parse(text)?;
    let super::Statement::Query(parsed) = &statement else { return Ok(None) };
    Ok(exchanged(text, &**parsed, respell))
}

/// The same for an expression.
pub(crate) fn respelled_expression(text: &str, respell: &Respell<'_>) -> Result<Option<String>> {
    Ok(exchanged(text, &query::parse_expression(text)?, respell))
}

fn exchanged(text: &str, parsed: &impl Visit, respell: &Respell<'_>) -> Option<String> {
    let mut found = Found { text, respell, commons: Vec::new(), pieces: Vec::new() };
    let _ = parsed.visit(&mut found);
    with_pieces(text, found.pieces)
}

/// The text with these ranges replaced, or `None` if there are none.
fn with_pieces(text: &str, mut pieces: Vec<(Range<usize>, String)>) -> Option<String> {
    if pieces.is_empty() {
        return None;
    }
    pieces.sort_by_key(|(range, _)| range.start);
    pieces.dedup();
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, piece) in pieces {
        out.push_str(&text[copied..range.start]);
        out.push_str(&piece);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// A name with its schema.
pub(crate) fn full_name(name: &TableName) -> String {
    format!("{}.{}", quoted(&name.schema), quoted(&name.name))
}

/// The literal that is read as the relation of this name.
fn relation_literal(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

/// The name in `name`, `name[]` and so on.
fn element_name(data_type: &ast::DataType) -> Option<&ObjectName> {
    match data_type {
        ast::DataType::Custom(name, _) => Some(name),
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => element_name(element),
        _ => None,
    }
}

struct Found<'a> {
    text: &'a str,
    respell: &'a Respell<'a>,
    /// The names of the queries of WITH of the query and of those around it.
    commons: Vec<Vec<String>>,
    /// Ranges of bytes, each with its replacement.
    pieces: Vec<(Range<usize>, String)>,
}

impl Found<'_> {
    fn name(&mut self, of: NameOf, name: &ObjectName) {
        let Ok(idents) = parts(name) else { return };
        let folded: Vec<String> = idents.iter().map(|ident| fold(ident)).collect();
        let (schema, own) = match folded.as_slice() {
            [own] => (None, own),
            [schema, own] => (Some(schema.as_str()), own),
            _ => return,
        };
        let is_common = of == NameOf::Relation && self.commons.iter().flatten().any(|common| common == own);
        if is_common && schema.is_none() {
            return;
        }
        let Some(new) = (self.respell)(of, schema, own) else { return };
        // Without its schema the name would mean the query of WITH.
        if is_common && new == quoted(own) {
            return;
        }
        let (Some(first), Some(last)) = (idents.first(), idents.last()) else { return };
        let range = byte_offset(self.text, first.span.start)..byte_offset(self.text, last.span.end);
        self.pieces.push((range, new));
    }

    fn data_type(&mut self, data_type: &ast::DataType) {
        if let Some(name) = element_name(data_type) {
            self.name(NameOf::Type, name);
        }
    }

    /// Respells a literal that names a relation.
    fn literal(&mut self, literal: &Expr, suffix: &str) {
        let Some((written, span)) = string_of(literal) else { return };
        let Ok((schema, own)) = written_name(written) else { return };
        let Some(new) = (self.respell)(NameOf::Relation, schema.as_deref(), &own) else { return };
        let range = byte_offset(self.text, span.start)..byte_offset(self.text, span.end);
        self.pieces.push((range, relation_literal(&new) + suffix));
    }

    fn call(&mut self, call: &Function) {
        self.name(NameOf::Routine, &call.name);
        let own = parts(&call.name).ok().and_then(|parts| parts.last().map(|ident| fold(ident)));
        let takes_sequence = matches!(own.as_deref(), Some("nextval" | "currval" | "setval"));
        if let FunctionArguments::List(list) = &call.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first()
            && takes_sequence
        {
            self.literal(first, "::regclass");
        }
    }
}

fn string_of(expr: &Expr) -> Option<(&str, sqlparser::tokenizer::Span)> {
    match expr {
        Expr::Value(ValueWithSpan { value, span }) => Some((text_of(value)?, *span)),
        _ => None,
    }
}

/// The text of a literal in quotes.
pub(crate) fn text_of(value: &ast::Value) -> Option<&str> {
    match value {
        ast::Value::SingleQuotedString(text)
        | ast::Value::EscapedStringLiteral(text)
        | ast::Value::UnicodeStringLiteral(text)
        | ast::Value::NationalStringLiteral(text) => Some(text),
        ast::Value::DollarQuotedString(quoted) => Some(&quoted.value),
        _ => None,
    }
}

/// Whether this type is `regclass`.
fn is_regclass(data_type: &ast::DataType) -> bool {
    let name = data_type.to_string().to_ascii_lowercase();
    name.strip_prefix("pg_catalog.").unwrap_or(&name) == "regclass"
}

impl Visitor for Found<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.commons.push(tables.map(|table| fold(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &ast::Query) -> ControlFlow<()> {
        self.commons.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &ast::Statement) -> ControlFlow<()> {
        if let ast::Statement::Insert(ast::Insert { table: ast::TableObject::TableName(name), .. }) =
            statement
        {
            self.name(NameOf::Relation, name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.name(NameOf::Relation, name),
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                self.name(NameOf::Routine, name);
            }
            _ => {}
        }
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. } = factor
        {
            alias.columns.iter().filter_map(|column| column.data_type.as_ref()).for_each(|own| {
                self.data_type(own);
            });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => self.call(call),
            Expr::Cast { expr: operand, data_type, .. } if is_regclass(data_type) => {
                self.literal(operand, "");
            }
            Expr::Cast { data_type, .. } => self.data_type(data_type),
            Expr::TypedString(typed) => self.data_type(&typed.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// A change of a type's name in stored texts.
pub(crate) struct Retyping<'a> {
    pub(crate) from: &'a TableName,
    pub(crate) to: &'a TableName,
    /// The old and the new label.
    pub(crate) label: Option<(&'a str, &'a str)>,
}

/// A query with a type or one of its labels renamed, or `None` if it contains neither.
pub(crate) fn retyped_query(text: &str, retyping: &Retyping<'_>) -> Result<Option<String>> {
    let statement = query::parse(text)?;
    let super::Statement::Query(parsed) = &statement else { return Ok(None) };
    retyped(text, &**parsed, retyping)
}

/// The same for an expression.
pub(crate) fn retyped_expression(text: &str, retyping: &Retyping<'_>) -> Result<Option<String>> {
    retyped(text, &query::parse_expression(text)?, retyping)
}

/// Whether an expression names a type.
pub(crate) fn names_type(text: &str, name: &TableName) -> bool {
    if !text.contains(&name.name) {
        return false;
    }
    let parsed = query::parse_expression(text);
    parsed.is_ok_and(|parsed| {
        let mut named = NamedTypes { text, name, found: Vec::new() };
        let _ = parsed.visit(&mut named);
        !named.found.is_empty()
    })
}

fn retyped(text: &str, parsed: &impl Visit, retyping: &Retyping<'_>) -> Result<Option<String>> {
    let mut named = NamedTypes { text, name: retyping.from, found: Vec::new() };
    let _ = parsed.visit(&mut named);
    let mut pieces = Vec::new();
    for found in named.found {
        if retyping.from != retyping.to {
            let says_schema = found.has_schema || retyping.from.schema != retyping.to.schema;
            let name = if says_schema { full_name(retyping.to) } else { quoted(&retyping.to.name) };
            pieces.push((found.name, name));
        }
        let (Some((from, to)), Some((label, range))) = (retyping.label, found.literal) else { continue };
        let new = match found.is_array {
            true => relabelled_array(&label, from, to),
            false => (label == from).then(|| to.to_owned()),
        };
        pieces.extend(new.map(|new| (range, quoted_literal(&new))));
    }
    Ok(with_pieces(text, pieces))
}

/// A text as a literal.
pub(crate) fn quoted_literal(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\'', "''").replace('\\', "\\\\"))
}

/// The text of an array with another text in place of elements that are this one, or `None` if there are
/// none.
pub(crate) fn relabelled_array(array: &str, from: &str, to: &str) -> Option<String> {
    let sql_type = SqlType::Array(ArrayElement::Text);
    let Ok(Value::Array(parsed)) = text::parse(array, sql_type, &TimeZone::UTC) else { return None };
    let is_it = |value: &Value| matches!(value, Value::Text(label) if **label == *from);
    if !parsed.values.iter().any(is_it) {
        return None;
    }
    let new = |value: &Value| if is_it(value) { Value::text(to) } else { value.clone() };
    let values = parsed.values.iter().map(new).collect();
    let array = Value::shaped_array(ArrayElement::Text, &parsed.dimensions(), values);
    let mut bytes = Vec::new();
    text::write(&array, sql_type, &TimeZone::UTC, &mut bytes);
    String::from_utf8(bytes).ok()
}

/// An expression with other texts in some of its literals, or `None` if there are none. `exchange` gets the
/// place of a literal and its text.
pub(crate) fn with_literals(
    text: &str,
    parsed: &Expr,
    exchange: &mut dyn FnMut(Location, &str) -> Result<Option<String>>,
) -> Result<Option<String>> {
    let mut literals = Literals { text, exchange, pieces: Vec::new() };
    match parsed.visit(&mut literals) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(with_pieces(text, literals.pieces)),
    }
}

struct Literals<'a> {
    text: &'a str,
    exchange: &'a mut dyn FnMut(Location, &str) -> Result<Option<String>>,
    pieces: Vec<(Range<usize>, String)>,
}

impl Visitor for Literals<'_> {
    type Break = Error;

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Error> {
        let Some(written) = text_of(&value.value) else { return ControlFlow::Continue(()) };
        let span = value.span;
        match (self.exchange)(span.start, written) {
            Err(error) => return ControlFlow::Break(error),
            Ok(None) => {}
            Ok(Some(new)) => {
                let range = byte_offset(self.text, span.start)..byte_offset(self.text, span.end);
                self.pieces.push((range, quoted_literal(&new)));
            }
        }
        ControlFlow::Continue(())
    }
}

/// A use of a type's name in a text.
struct NamedType {
    name: Range<usize>,
    has_schema: bool,
    /// Whether it is the type of arrays of the type.
    is_array: bool,
    /// The literal that is read as a value of the type.
    literal: Option<(String, Range<usize>)>,
}

/// Finds the uses of a type in a text.
struct NamedTypes<'a> {
    text: &'a str,
    name: &'a TableName,
    found: Vec<NamedType>,
}

impl NamedTypes<'_> {
    fn bytes(&self, span: sqlparser::tokenizer::Span) -> Range<usize> {
        byte_offset(self.text, span.start)..byte_offset(self.text, span.end)
    }

    fn add(&mut self, data_type: &ast::DataType, literal: Option<(&str, sqlparser::tokenizer::Span)>) {
        let (custom, is_array) = match data_type {
            ast::DataType::Custom(name, _) => (name, false),
            ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => match &**element {
                ast::DataType::Custom(name, _) => (name, true),
                _ => return,
            },
            _ => return,
        };
        let Ok(idents) = parts(custom) else { return };
        let folded: Vec<String> = idents.iter().map(|ident| fold(ident)).collect();
        let is_it = match folded.as_slice() {
            [own] => *own == self.name.name,
            [schema, own] => *schema == self.name.schema && *own == self.name.name,
            _ => false,
        };
        let (Some(first), Some(last)) = (idents.first(), idents.last()) else { return };
        if is_it {
            let name = self.bytes(first.span).start..self.bytes(last.span).end;
            let literal = literal.map(|(label, span)| (label.to_owned(), self.bytes(span)));
            let has_schema = folded.len() > 1;
            self.found.push(NamedType { name, has_schema, is_array, literal });
        }
    }
}

impl Visitor for NamedTypes<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast { expr: operand, data_type, .. } => self.add(data_type, string_of(operand)),
            Expr::TypedString(typed) => self.add(&typed.data_type, None),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    //! Names in every kind of place.

    use super::*;

    fn moved(of: NameOf, schema: Option<&str>, name: &str) -> Option<String> {
        let is_meant = schema == Some("s")
            && match of {
                NameOf::Routine => name.starts_with('f'),
                NameOf::Type => name == "st",
                NameOf::Relation => !name.starts_with('f'),
            };
        is_meant.then(|| full_name(&TableName { schema: "New".to_owned(), name: name.to_owned() }))
    }

    #[test]
    fn names_are_exchanged_where_they_stand() {
        let query = "SELECT s.a, s.f(t.b) AS f\n   FROM (s.t s JOIN LATERAL s.f(1) g(x) ON (true))";
        let wanted =
            "SELECT s.a, \"New\".f(t.b) AS f\n   FROM (\"New\".t s JOIN LATERAL \"New\".f(1) g(x) ON (true))";
        assert_eq!(respelled_query(query, &moved).expect("it is a query").as_deref(), Some(wanted));
        assert_eq!(respelled_query("SELECT t.a FROM u.t", &moved).expect("it is a query"), None);
    }

    #[test]
    fn literals_name_relations_too() {
        let drawn = |text: &str| respelled_expression(text, &moved).expect("it is an expression");
        assert_eq!(drawn("nextval('s.q'::regclass)").as_deref(), Some("nextval('\"New\".q'::regclass)"));
        assert_eq!(drawn("nextval('s.q')").as_deref(), Some("nextval('\"New\".q'::regclass)"));
        assert_eq!(drawn("s.f('s.q')").as_deref(), Some("\"New\".f('s.q')"));
        assert_eq!(drawn("nextval('q')"), None);
    }

    #[test]
    fn types_are_named_in_casts_and_lists_of_columns() {
        let cast = |text: &str| respelled_expression(text, &moved).expect("it is an expression");
        assert_eq!(cast("('s.st'::s.st = st)").as_deref(), Some("('s.st'::\"New\".st = st)"));
        assert_eq!(cast("CAST(s.st AS s.st[])").as_deref(), Some("CAST(s.st AS \"New\".st[])"));
        assert_eq!(cast("'a'::u.st"), None);
        let query = "SELECT x.a FROM json_to_record('{}'::json) x(a s.st)";
        let wanted = "SELECT x.a FROM json_to_record('{}'::json) x(a \"New\".st)";
        assert_eq!(respelled_query(query, &moved).expect("it is a query").as_deref(), Some(wanted));
    }
}
