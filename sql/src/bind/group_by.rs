//! GROUP BY: plain keys, GROUPING SETS, ROLLUP and CUBE, and the function GROUPING.
//!
//! A query with grouping sets is grouped once by each set, over all keys of all sets: the keys that a set
//! leaves out are NULL in its groups. GROUPING says which of its arguments are left out. Whether the
//! arguments are keys is known only when GROUP BY has been bound, so its calls wait among the aggregates
//! until then.
//!
//! Reference: section 7.2.4 of PostgreSQL's documentation; expand_grouping_sets of parse_agg.c.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{self, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr};

use super::aggregation::{Aggregate, AggregateKind, AggregateMode};
use super::select::{is_aggregate, ordinal};
use super::tree::{GroupBy, OutputColumn};
use super::{Binder, Bound, Place};
use crate::statement::names::fold;

/// PostgreSQL's limit on the sets of a query, and of a single CUBE.
const MOST_SETS: usize = 4096;
const MOST_CUBE_KEYS: usize = 12;

/// The most arguments of GROUPING: its result is an integer.
const MOST_GROUPING_ARGUMENTS: usize = 31;

/// Grouping sets, each as the positions of its keys.
type Sets = Vec<Vec<usize>>;

/// The concatenation of each set on the left with each on the right.
fn product(left: &Sets, right: &Sets) -> Sets {
    left.iter().flat_map(|one| right.iter().map(move |other| [&one[..], &other[..]].concat())).collect()
}

impl Binder<'_> {
    /// Numbers and names of the select list are accepted. A column takes precedence over a name of the list.
    pub(super) fn group(
        &mut self,
        group_by: &GroupByExpr,
        outputs: &[OutputColumn],
    ) -> Result<Option<GroupBy>> {
        let GroupByExpr::Expressions(expressions, modifiers) = group_by else {
            return self.lacks(Missing::Dialects, "GROUP BY ALL is");
        };
        if !modifiers.is_empty() {
            return self.lacks(Missing::Dialects, "GROUP BY ... WITH is");
        }
        if expressions.is_empty() {
            return Ok(None);
        }
        self.aggregate_mode = AggregateMode::Forbidden("in GROUP BY");
        let mut keys = Vec::new();
        let mut sets: Sets = vec![Vec::new()];
        let mut is_plain = true;
        for expression in expressions {
            let own = self.sets_of(expression, outputs, &mut keys)?;
            let is_one = matches!(expression, ast::Expr::Tuple(items) if !items.is_empty());
            is_plain &= is_one || !is_sets(expression);
            if own.len().saturating_mul(sets.len()) > MOST_SETS {
                return self.too_many_sets();
            }
            sets = product(&sets, &own);
        }
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        Ok(Some(GroupBy { keys, sets: if is_plain { Vec::new() } else { sets } }))
    }

    /// The sets that an item of GROUP BY or GROUPING SETS stands for.
    fn sets_of(
        &mut self,
        item: &ast::Expr,
        outputs: &[OutputColumn],
        keys: &mut Vec<(Expr, SqlType)>,
    ) -> Result<Sets> {
        Ok(match item {
            ast::Expr::GroupingSets(lists) => {
                let mut sets = Vec::new();
                for list in lists {
                    match list.as_slice() {
                        [only] if let Some(inner) = nested_sets(only) => {
                            sets.extend(self.sets_of(&inner, outputs, keys)?);
                        }
                        list => sets.push(self.key_list(list, outputs, keys)?),
                    }
                    if sets.len() > MOST_SETS {
                        return self.too_many_sets();
                    }
                }
                sets
            }
            ast::Expr::Rollup(lists) => {
                let parts = self.key_lists(lists, outputs, keys)?;
                if parts.len() >= MOST_SETS {
                    return self.too_many_sets();
                }
                (0..=parts.len()).rev().map(|length| parts[..length].concat()).collect()
            }
            ast::Expr::Cube(lists) => {
                let parts = self.key_lists(lists, outputs, keys)?;
                if parts.len() > MOST_CUBE_KEYS {
                    let message = format!("CUBE is limited to {MOST_CUBE_KEYS} elements");
                    return self.fail(sqlstate::TOO_MANY_COLUMNS, message, Place::Unknown);
                }
                let chosen = |bits: usize| {
                    let parts = parts.iter().enumerate();
                    parts.filter(|(at, _)| bits & 1 << at == 0).flat_map(|(_, part)| part.clone()).collect()
                };
                (0..1 << parts.len()).map(chosen).collect()
            }
            ast::Expr::Tuple(items) => vec![self.key_list(items, outputs, keys)?],
            other => vec![self.key_list(std::slice::from_ref(other), outputs, keys)?],
        })
    }

    fn too_many_sets<T>(&self) -> Result<T> {
        let message = format!("too many grouping sets present (maximum {MOST_SETS})");
        self.fail(sqlstate::STATEMENT_TOO_COMPLEX, message, Place::Unknown)
    }

    fn key_lists(
        &mut self,
        lists: &[Vec<ast::Expr>],
        outputs: &[OutputColumn],
        keys: &mut Vec<(Expr, SqlType)>,
    ) -> Result<Sets> {
        lists.iter().map(|list| self.key_list(list, outputs, keys)).collect()
    }

    /// The positions of these keys, which are added if they are new.
    fn key_list(
        &mut self,
        list: &[ast::Expr],
        outputs: &[OutputColumn],
        keys: &mut Vec<(Expr, SqlType)>,
    ) -> Result<Vec<usize>> {
        let mut places = Vec::with_capacity(list.len());
        for expression in list {
            let key = self.group_key(expression, outputs)?;
            places.push(keys.iter().position(|(known, _)| *known == key.0).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            }));
        }
        Ok(places)
    }

    fn group_key(&mut self, expression: &ast::Expr, outputs: &[OutputColumn]) -> Result<(Expr, SqlType)> {
        let place = Place::of_expr(expression);
        let of_output = |output: &OutputColumn| (output.expr.clone(), output.sql_type);
        let key = if let Some(number) = ordinal(expression) {
            of_output(&outputs[self.output_number(number, outputs.len(), "GROUP BY", place)?])
        } else if let ast::Expr::Identifier(ident) = expression {
            let name = fold(ident);
            match (self.find_column(&name, place)?, outputs.iter().find(|output| output.name == name)) {
                (None, Some(output)) => of_output(output),
                (Some(column), _) => self.known_or_text(column)?,
                (None, None) => {
                    let column = self.column(ident)?;
                    self.known_or_text(column)?
                }
            }
        } else {
            let bound = self.expression(expression)?;
            self.known_or_text(bound)?
        };
        if crate::expr::any(&key.0, &is_aggregate) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return self.fail(sqlstate::GROUPING_ERROR, message, place);
        }
        let output = outputs.iter().find(|output| output.expr == key.0);
        self.refuse_window_result(&key.0, "in GROUP BY", output.map_or(place, |output| output.place))?;
        self.check_equality(key.1, place)?;
        Ok(key)
    }

    /// `GROUPING(keys)`, whose value waits for GROUP BY. `None` for other functions.
    pub(super) fn try_grouping_call(
        &mut self,
        name: &str,
        call: &Function,
        place: Place,
    ) -> Result<Option<Bound>> {
        let FunctionArguments::List(list) = &call.args else { return Ok(None) };
        if name != "grouping" {
            return Ok(None);
        }
        if list.args.len() > MOST_GROUPING_ARGUMENTS {
            return self.fail(
                sqlstate::TOO_MANY_ARGUMENTS,
                "GROUPING must have fewer than 32 arguments",
                place,
            );
        }
        let bound = self.settled_aggregate("grouping operations", place, |binder| {
            let arguments = binder.written_arguments(&list.args, name, place)?;
            Ok(Aggregate {
                kind: AggregateKind::Grouping,
                arguments: arguments.bound.into_iter().map(|bound| bound.expr).collect(),
                argument_type: SqlType::Integer,
                is_distinct: false,
                filter: None,
                order: Vec::new(),
                result: SqlType::Integer,
            })
        })?;
        Ok(Some(bound))
    }

    /// 42803 for an argument of GROUPING.
    fn no_key<T>(&self, argument: &Expr) -> Result<T> {
        let mut place = Place::Unknown;
        if let Expr::Column { row, column } = argument {
            let written = self.column_places.iter().find(|(own, at, _)| own == row && at == column);
            place = written.map_or(Place::Unknown, |(_, _, place)| *place);
        }
        let message = "arguments to GROUPING must be grouping expressions of the associated query level";
        self.fail(sqlstate::GROUPING_ERROR, message, place)
    }

    /// Called when GROUP BY is bound: the arguments of GROUPING become one array of its values in the groups
    /// of each set.
    pub(super) fn settle_grouping_calls(
        &self,
        group: Option<&GroupBy>,
        aggregates: &mut [Aggregate],
    ) -> Result<()> {
        for call in aggregates.iter_mut().filter(|one| one.kind == AggregateKind::Grouping) {
            let keys = group.map(|group| group.keys.as_slice()).unwrap_or_default();
            let place_of = |argument: &Expr| keys.iter().position(|(key, _)| key == argument);
            let mut places = Vec::with_capacity(call.arguments.len());
            for argument in &call.arguments {
                places.push(place_of(argument).map_or_else(|| self.no_key(argument), Ok)?);
            }
            let mask = |set: &Vec<usize>| {
                places.iter().fold(0, |mask, place| mask << 1 | i32::from(!set.contains(place)))
            };
            let sets = group.map(|group| group.sets.as_slice()).unwrap_or_default();
            let mut masks: Vec<Value> = sets.iter().map(|set| Value::Integer(mask(set))).collect();
            if masks.is_empty() {
                masks.push(Value::Integer(0));
            }
            call.arguments = vec![Expr::Const(Value::array(ArrayElement::Integer, masks))];
        }
        Ok(())
    }
}

/// ROLLUP, CUBE or GROUPING SETS inside GROUPING SETS. The parser takes the first two for functions there.
pub(super) fn nested_sets(item: &ast::Expr) -> Option<ast::Expr> {
    let call = match item {
        ast::Expr::GroupingSets(_) => return Some(item.clone()),
        ast::Expr::Function(call) => call,
        _ => return None,
    };
    let [ast::ObjectNamePart::Identifier(name)] = call.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let lists = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Tuple(items))) => Some(items.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Nested(key))) => Some(vec![(**key).clone()]),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(key)) => Some(vec![key.clone()]),
        _ => None,
    });
    let lists = lists.collect::<Option<Vec<Vec<ast::Expr>>>>()?;
    match name.value.to_ascii_lowercase().as_str() {
        "rollup" if name.quote_style.is_none() => Some(ast::Expr::Rollup(lists)),
        "cube" if name.quote_style.is_none() => Some(ast::Expr::Cube(lists)),
        _ => None,
    }
}

/// Whether the item stands for anything other than a single set of keys.
fn is_sets(item: &ast::Expr) -> bool {
    match item {
        ast::Expr::GroupingSets(_) | ast::Expr::Rollup(_) | ast::Expr::Cube(_) => true,
        ast::Expr::Tuple(items) => items.is_empty(),
        _ => false,
    }
}
