//! The select list and RETURNING: expansion of `*`, names of columns.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, SelectItem, SelectItemQualifiedWildcardKind, TrimWhereField};

use super::scope::ScopeColumn;
use super::tree::OutputColumn;
use super::{Binder, Bound, Class, Place, types};
use crate::statement::field_wildcard;
use crate::statement::names::{fold, parts};

/// The name PostgreSQL gives to an expression (`FigureColname`), and whether it is a strong choice.
pub(crate) fn figure_name(expr: &ast::Expr) -> Option<(String, bool)> {
    use ast::Expr as Ast;
    let sure = |name: &str| Some((name.to_owned(), true));
    match expr {
        Ast::Identifier(ident) => Some((fold(ident), true)),
        Ast::Array(_) => sure("array"),
        Ast::Tuple(_) => sure("row"),
        // An element is named after its array.
        Ast::CompoundFieldAccess { root, access_chain } => {
            let is_field = |access: &&ast::AccessExpr| matches!(access, ast::AccessExpr::Dot(_));
            match access_chain.iter().rfind(is_field) {
                Some(ast::AccessExpr::Dot(Ast::Identifier(field))) => Some((fold(field), true)),
                _ => figure_name(root),
            }
        }
        Ast::CompoundIdentifier(idents) => idents.last().map(|ident| (fold(ident), true)),
        Ast::Nested(inner) | Ast::Collate { expr: inner, .. } => figure_name(inner),
        Ast::Function(call) => {
            let idents = parts(&call.name).ok()?;
            Some((fold(idents.last()?), true))
        }
        Ast::Cast { expr: inner, data_type, .. } => match figure_name(inner) {
            Some((name, true)) => Some((name, true)),
            _ => type_name(data_type),
        },
        Ast::TypedString(typed) => type_name(&typed.data_type),
        Ast::Interval(_) => Some(("interval".to_owned(), false)),
        Ast::Case { else_result, .. } => match else_result.as_deref().and_then(figure_name) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        Ast::Extract { .. } => sure("extract"),
        Ast::Ceil { .. } => sure("ceil"),
        Ast::Floor { .. } => sure("floor"),
        Ast::Position { .. } => sure("position"),
        Ast::Substring { shorthand, .. } => sure(if *shorthand { "substr" } else { "substring" }),
        Ast::Trim { trim_where: Some(TrimWhereField::Leading), .. } => sure("ltrim"),
        Ast::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => sure("rtrim"),
        Ast::Trim { .. } => sure("btrim"),
        Ast::AtTimeZone { .. } => sure("timezone"),
        Ast::Overlay { .. } => sure("overlay"),
        Ast::BinaryOp { op: ast::BinaryOperator::Overlaps, .. } => sure("overlaps"),
        Ast::IsNormalized { .. } => sure("is_normalized"),
        Ast::Exists { negated: false, .. } => sure("exists"),
        Ast::Subquery(query) => subquery_name(query).map(|name| (name, true)),
        _ => None,
    }
}

/// A subquery is named after its column.
fn subquery_name(query: &ast::Query) -> Option<String> {
    name_of_body(query.body.as_ref())
}

fn name_of_body(body: &ast::SetExpr) -> Option<String> {
    match body {
        ast::SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => figure_name(expr).map(|(name, _)| name),
            SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
            _ => None,
        },
        ast::SetExpr::Query(inner) => subquery_name(inner),
        ast::SetExpr::Values(_) => Some("column1".to_owned()),
        ast::SetExpr::SetOperation { left, .. } => name_of_body(left),
        _ => None,
    }
}

/// The name that a conversion gives to its result. For an array type it is that of the element type.
fn type_name(data_type: &ast::DataType) -> Option<(String, bool)> {
    Some((types::called(data_type)?, false))
}

pub(super) fn column_name(expr: &ast::Expr) -> String {
    figure_name(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// PostgreSQL's limit. The protocol counts columns with 16 bits.
const MOST_OUTPUTS: usize = 1664;

/// Refuses rows that are too wide for a result.
pub(crate) fn check_width(columns: usize) -> Result<()> {
    if columns <= MOST_OUTPUTS {
        return Ok(());
    }
    let message = format!("target lists can have at most {MOST_OUTPUTS} entries");
    Err(Error::input(sqlstate::TOO_MANY_COLUMNS, message))
}

impl Binder<'_> {
    /// Binds a select list.
    pub(crate) fn outputs(&mut self, items: &[SelectItem]) -> Result<Vec<OutputColumn>> {
        // Once before the work, and again when every * has been expanded to columns.
        check_width(items.len())?;
        let mut outputs = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) if let Some(row) = field_wildcard::row_of(expr) => {
                    let fields = self.expanded_row(&row)?;
                    self.fields(fields, &mut outputs)?;
                }
                SelectItem::UnnamedExpr(expr) => {
                    outputs.push(self.output(expr, column_name(expr), outputs.len())?);
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let name = self.alias(alias)?;
                    outputs.push(self.output(expr, name, outputs.len())?);
                }
                SelectItem::Wildcard(options) => {
                    self.refuse_wildcard_options(options)?;
                    self.wildcard(None, &mut outputs)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    self.refuse_wildcard_options(options)?;
                    let idents = parts(name)?;
                    let place = Place::of(name);
                    let relation = idents.last().map(|ident| fold(ident)).unwrap_or_default();
                    match self.record_columns(&relation, place)? {
                        Some(columns) => self.fields(columns, &mut outputs)?,
                        None => {
                            let relation = self.relation(&relation, place)?;
                            self.wildcard(Some(relation), &mut outputs)?;
                        }
                    }
                }
                _ => {
                    return self.lacks(Missing::OtherForms, "this item of a select list is");
                }
            }
        }
        check_width(outputs.len())?;
        Ok(outputs)
    }

    fn output(&mut self, expr: &ast::Expr, name: String, at: usize) -> Result<OutputColumn> {
        let first = self.column_places.len();
        let bound = self.expression(expr)?;
        let place = bound.place;
        let (expr, sql_type) = match self.output_hints.get(at).cloned() {
            Some((wanted, column)) if bound.known_type().is_none() => {
                (self.assign(bound, wanted, &column)?, wanted)
            }
            _ => self.known_or_text(bound)?,
        };
        let column_places = (first, self.column_places.len());
        Ok(OutputColumn { name, expr, sql_type, place, column_places })
    }

    /// `*` takes no alias and none of the options that other databases allow after it.
    fn refuse_wildcard_options(&self, options: &ast::WildcardAdditionalOptions) -> Result<()> {
        if let Some(alias) = &options.opt_alias {
            let message = format!("syntax error at or near \"{}\"", alias.value);
            return self.fail(sqlstate::SYNTAX_ERROR, message, Place::at(alias.span.start));
        }
        let has_more = options.opt_ilike.is_some()
            || options.opt_exclude.is_some()
            || options.opt_except.is_some()
            || options.opt_replace.is_some()
            || options.opt_rename.is_some();
        if has_more {
            return self.lacks(Missing::Dialects, "options after * are");
        }
        Ok(())
    }

    /// The columns of a record.
    fn fields(&mut self, fields: Vec<(String, Bound)>, outputs: &mut Vec<OutputColumn>) -> Result<()> {
        for (name, bound) in fields {
            let place = bound.place;
            let (expr, sql_type) = self.known_or_text(bound)?;
            let column_places = (self.column_places.len(), self.column_places.len());
            outputs.push(OutputColumn { name, expr, sql_type, place, column_places });
        }
        Ok(())
    }

    fn wildcard(&mut self, only: Option<usize>, outputs: &mut Vec<OutputColumn>) -> Result<()> {
        if self.scope.relations.is_empty() {
            return self.fail(
                sqlstate::SYNTAX_ERROR,
                "SELECT * with no tables specified is not valid",
                Place::Unknown,
            );
        }
        let columns: Vec<ScopeColumn> = match only {
            None => self.scope.columns.clone(),
            Some(relation) => (0..self.scope.relations[relation].columns.len())
                .map(|column| ScopeColumn::Of { relation, column })
                .collect(),
        };
        for column in columns {
            let name = self.scope.column_name(column).to_owned();
            let first = self.column_places.len();
            let Bound { expr, place, class } = self.scope_column(column, Place::Unknown);
            let Class::Typed(sql_type) = class else { continue };
            let column_places = (first, self.column_places.len());
            outputs.push(OutputColumn { name, expr, sql_type, place, column_places });
        }
        Ok(())
    }
}
