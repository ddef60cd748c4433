//! Set-returning functions in the select list: `SELECT name, unnest(tags) FROM ...`.
//!
//! Such a function becomes an item of FROM after all others, so it is called for every row of them that
//! satisfies WHERE, and its result is a column. DISTINCT, ORDER BY and LIMIT apply to the rows after that.
//! Several functions go in lockstep, and those that have no more rows give NULL: each makes an array first,
//! and one item counts through the longest. A function in the arguments of another is an item before it. With
//! GROUP BY or aggregates they are called for each group.
//!
//! The name of the item is hidden: neither `*` nor anything else sees it.
//!
//! Reference: PostgreSQL 15 documentation, section 38.5.9.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::{Missing, refusal};
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{
    self, Expr as Ast, FunctionArg, FunctionArguments, Ident, SelectItem, TableAlias, visit_expressions,
};
use std::ops::ControlFlow;

use super::aggregation::{AggregateMode, IN_FUNCTION};
use super::any_case::ignores_case;
use super::row_syntax::expands_array;
use super::scope::{Relation, RelationKind, Visibility};
use super::session_function::{SessionCall, SessionFunction};
use super::tree::{Item, JoinGroup, OutputColumn, Source};
use super::{Binder, Bound, Place};
use crate::expr;
use crate::statement::names::{fold, parts};
use crate::statement::query::select_of;

/// PostgreSQL's set-returning functions.
pub(super) const SET_FUNCTIONS: [&str; 22] = [
    "generate_series",
    "generate_subscripts",
    "json_array_elements",
    "json_array_elements_text",
    "json_each",
    "json_each_text",
    "json_object_keys",
    "json_populate_recordset",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_object_keys",
    "jsonb_path_query",
    "jsonb_path_query_tz",
    "jsonb_populate_recordset",
    "pg_listening_channels",
    "pg_partition_ancestors",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
    "unnest",
];

/// A name that cannot clash with a written one.
const HIDDEN_NAME: &str = "?set?";

const HINT: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// The set-returning functions of one select list.
#[derive(Default)]
pub(super) struct SetCalls {
    /// First the functions that are called for a row, then those that are called for the results of these,
    /// and so on.
    levels: Vec<Level>,
    /// The level of the call being bound: one more than that of the calls in its arguments.
    level: usize,
    /// Calls that were bound, so that ORDER BY finds the one in the select list.
    known: Vec<(ast::Function, Bound)>,
    /// The select list is bound: a call that equals one of its calls is the same call.
    is_complete: bool,
}

/// Functions that go in lockstep.
#[derive(Default)]
struct Level {
    /// How many there are in the list. A single one needs no array.
    calls: usize,
    item: Option<Item>,
    arrays: Vec<(Register, Expr)>,
    /// The number of the current row in them.
    current: Option<Register>,
}

impl SetCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn level_of(&mut self, at: usize) -> &mut Level {
        if self.levels.len() <= at {
            self.levels.resize_with(at + 1, Level::default);
        }
        &mut self.levels[at]
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.known.len()
    }

    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }
}

fn arguments_of(call: &ast::Function) -> impl Iterator<Item = &Ast> {
    let list = match &call.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    })
}

/// The flags of a pattern that disregards case, unless these say otherwise.
fn in_any_case_flags(flags: Option<Expr>) -> Expr {
    let any = Expr::Const(Value::text("i"));
    match flags {
        None => any,
        // A later flag counts more.
        Some(flags) => {
            Expr::Binary { operator: BinaryOperator::Concat, left: Box::new(any), right: Box::new(flags) }
        }
    }
}

impl Binder<'_> {
    /// Whether this calls a set-returning function.
    pub(super) fn is_set_call(&self, call: &ast::Function) -> bool {
        let Ok(idents) = parts(&call.name) else { return false };
        let names: Vec<String> = idents.into_iter().map(fold).collect();
        match names.as_slice() {
            [name] if SET_FUNCTIONS.contains(&name.as_str()) => true,
            [schema, name] if schema == "pg_catalog" => SET_FUNCTIONS.contains(&name.as_str()),
            _ if expands_array(call) => true,
            names => self.candidates(names).iter().any(|candidate| {
                let definition = candidate.definition();
                definition.kind == RoutineKind::Function && definition.returns.is_set()
            }),
        }
    }

    fn has_set_call(&self, expr: &Ast) -> bool {
        let found = visit_expressions(expr, |part| match part {
            Ast::Function(call) if self.is_set_call(call) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// How deeply such functions are nested.
    fn set_depth(&self, expr: &Ast) -> usize {
        match expr {
            Ast::Function(call) => {
                let inner = arguments_of(call).map(|argument| self.set_depth(argument)).max();
                inner.unwrap_or_default() + usize::from(self.is_set_call(call))
            }
            Ast::BinaryOp { left, right, .. } => self.set_depth(left).max(self.set_depth(right)),
            Ast::UnaryOp { expr, .. } | Ast::Nested(expr) | Ast::Cast { expr, .. } => self.set_depth(expr),
            _ => 0,
        }
    }

    /// The set-returning functions that a select list may call.
    pub(super) fn set_calls_of(&self, items: &[SelectItem]) -> SetCalls {
        let mut calls = SetCalls::default();
        for item in items {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
                continue;
            };
            // Descends neither into queries, which have select lists of their own, nor into constructs where
            // no such function is allowed.
            let mut waiting = vec![expr];
            while let Some(part) = waiting.pop() {
                match part {
                    Ast::Function(call) => {
                        if self.is_set_call(call) {
                            let depth = self.set_depth(part);
                            let several = if expands_array(call) { 2 } else { 1 };
                            calls.level_of(depth.saturating_sub(1)).calls += several;
                        }
                        waiting.extend(arguments_of(call));
                    }
                    Ast::BinaryOp { left, right, .. } => waiting.extend([&**left, &**right]),
                    Ast::UnaryOp { expr, .. } | Ast::Nested(expr) | Ast::Cast { expr, .. } => {
                        waiting.push(expr);
                    }
                    Ast::CompoundFieldAccess { root, .. } => waiting.push(root),
                    _ => {}
                }
            }
        }
        calls
    }

    /// Binds something that must not call a set-returning function.
    pub(super) fn without_set_calls<T>(
        &mut self,
        construct: &str,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let count = |binder: &Self| binder.set_calls.as_ref().map_or(0, SetCalls::count);
        let before = count(self);
        let bound = bind(self)?;
        if count(self) == before {
            return Ok(bound);
        }
        let last = self.set_calls.as_ref().and_then(|calls| calls.known.last());
        let place = last.map_or(Place::Unknown, |(_, bound)| bound.place);
        let message = format!("set-returning functions are not allowed in {construct}");
        let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_hint(HINT);
        Err(self.place(error, place))
    }

    /// A call of a set-returning function. None for any other.
    pub(super) fn try_set_call(&mut self, call: &ast::Function, place: Place) -> Result<Option<Bound>> {
        if !self.is_set_call(call) {
            return Ok(None);
        }
        let Some(calls) = &self.set_calls else {
            let clause = match self.aggregate_mode {
                AggregateMode::Forbidden(IN_FUNCTION) => {
                    let message = "set-returning functions must appear at top level of FROM";
                    return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
                }
                AggregateMode::Forbidden(clause) => clause,
                AggregateMode::Allowed if self.is_in_window() => {
                    return self.unsupported(
                        Missing::SetFunctions,
                        "set-returning functions in a window are",
                        place,
                    );
                }
                AggregateMode::Allowed => "in HAVING",
                AggregateMode::Nested => "in this context",
            };
            let message = format!("set-returning functions are not allowed {clause}");
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        };
        if self.aggregate_mode == AggregateMode::Nested || self.is_in_window_call() {
            let caller = if self.aggregate_mode == AggregateMode::Nested { "aggregate" } else { "window" };
            let message = format!("{caller} function calls cannot contain set-returning function calls");
            let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_hint(HINT);
            return Err(self.place(error, place));
        }
        if calls.is_complete
            && let Some((_, known)) = calls.known.iter().find(|(known, _)| known == call)
        {
            return Ok(Some(known.clone()));
        }
        let FunctionArguments::List(list) = &call.args else {
            return Err(self.no_function(&call.name.to_string(), "", place));
        };
        let depth = self.set_depth(&Ast::Function(call.clone()));
        let around = self.set_calls.as_mut().map(|calls| std::mem::take(&mut calls.level));
        let bound = self.set_call(call, &list.args, depth, place)?;
        if let Some(calls) = &mut self.set_calls {
            calls.known.push((call.clone(), bound.clone()));
            calls.level = around.unwrap_or_default().max(calls.level + 1);
        }
        Ok(Some(bound))
    }

    /// The level of a call with bound arguments. The only call of its level is an item.
    fn own_level(&mut self, is_item: bool, place: Place) -> Result<Option<&mut Level>> {
        let Some(calls) = &mut self.set_calls else { return Ok(None) };
        let at = calls.level;
        let level = calls.level_of(at);
        if level.item.is_some() || (is_item && level.current.is_some()) {
            // One of them stands where the search did not look.
            return self.unsupported(
                Missing::SetFunctions,
                "several set-returning functions in such expressions are",
                place,
            );
        }
        Ok(self.set_calls.as_mut().map(|calls| calls.level_of(at)))
    }

    fn set_call(
        &mut self,
        call: &ast::Function,
        arguments: &[FunctionArg],
        depth: usize,
        place: Place,
    ) -> Result<Bound> {
        let name = parts(&call.name)?.last().map(|ident| fold(ident)).unwrap_or_default();
        let levels = self.set_calls.as_ref().map(|calls| calls.levels.as_slice()).unwrap_or_default();
        let is_single = levels.get(depth.saturating_sub(1)).is_none_or(|level| level.calls < 2);
        let array = match name.as_str() {
            "unnest"
            | "regexp_matches"
            | "regexp_split_to_table"
            | "string_to_table"
            | "pg_listening_channels" => {
                let arguments = self.written_arguments(arguments, &name, place)?;
                self.set_as_array(&name, arguments.bound, place)?
            }
            json if json.starts_with("json") => {
                let arguments = self.arguments_with_defaults(arguments, json, place)?;
                self.set_as_array(json, arguments.bound, place)?
            }
            _ if is_single => return self.set_item_of(call, arguments, place),
            _ if arguments_of(call).any(|argument| self.has_set_call(argument)) => {
                let sentence =
                    "such set-returning functions inside of each other are not supported yet beside others";
                let error = refusal(Missing::SetFunctions, sentence);
                return Err(self.place(error, place));
            }
            _ => {
                let query = select_of(Ast::Function(call.clone()))?;
                let around = self.call_level.replace(self.level() + 1);
                let array = self.array_subquery(&query, place);
                self.call_level = around;
                (array?, None)
            }
        };
        self.element_of_set(array, place)
    }

    /// What is unnested, and the type that its elements are read as.
    pub(super) fn set_as_array(
        &mut self,
        name: &str,
        mut arguments: Vec<Bound>,
        place: Place,
    ) -> Result<(Bound, Option<SqlType>)> {
        match name {
            "regexp_split_to_table" => Ok((self.call_of("regexp_split_to_array", arguments, place)?, None)),
            "pg_listening_channels" if arguments.is_empty() => {
                let into = self.new_register()?;
                let function = SessionFunction::ListeningChannels;
                self.session_calls.push(SessionCall { function, arguments: Vec::new(), into });
                let texts = SqlType::Array(ArrayElement::Text);
                Ok((Bound::typed(Expr::Register(into), texts, place), None))
            }
            "string_to_table" => Ok((self.call_of("string_to_array", arguments, place)?, None)),
            "regexp_matches" => {
                // Checked like `regexp_match`, whose rows are arrays too.
                self.call_of("regexp_match", arguments.clone(), place)?;
                let texts = SqlType::Array(ArrayElement::Text);
                let is_in_any_case = match arguments.as_slice() {
                    [text, pattern, ..] => ignores_case(text.known_type(), pattern.known_type()),
                    _ => false,
                };
                let arguments = arguments.into_iter().map(|argument| self.coerce(argument, SqlType::Text));
                let mut arguments = arguments.collect::<Result<Vec<Expr>>>()?;
                if is_in_any_case {
                    arguments.truncate(3);
                    let flags = arguments.drain(2..).next();
                    arguments.push(in_any_case_flags(flags));
                }
                let expr = Expr::Call { function: Function::RegexpMatches, arguments };
                Ok((Bound::typed(expr, texts, place), Some(texts)))
            }
            "unnest" if arguments.len() == 1 => Ok((arguments.remove(0), None)),
            "json_populate_recordset" | "jsonb_populate_recordset" => {
                match self.try_populate(name, &arguments, place)? {
                    Some(array) => Ok((array, None)),
                    None => Err(self.no_function_of(name, &arguments, place)),
                }
            }
            json if json.starts_with("json") => match self.json_set(json, &arguments, place)?.as_deref() {
                Some([(_, array)]) => Ok((array.clone(), None)),
                Some(_) => self.unsupported(Missing::RowsAsValues, "rows as values are", place),
                None => Err(self.no_function_of(name, &arguments, place)),
            },
            _ => Err(self.no_function_of(name, &arguments, place)),
        }
    }

    /// The column of a function that is an item by itself.
    fn set_item_of(
        &mut self,
        call: &ast::Function,
        arguments: &[FunctionArg],
        place: Place,
    ) -> Result<Bound> {
        let alias =
            TableAlias { explicit: true, name: Ident::new(HIDDEN_NAME), columns: Vec::new(), at: None };
        let item = match self.set_item(&call.name, arguments, Some(&alias), false)? {
            Some(item) => item,
            None => self.series_item(&call.name, arguments, Some(&alias))?,
        };
        let number = item.relation;
        self.scope.hide(number);
        let relation = &self.scope.relations[number];
        let bound = match relation.columns.as_slice() {
            [(_, sql_type)] => Bound::typed(relation.column(0), *sql_type, place),
            _ => {
                let row = self.row_of_relation(number, place)?;
                self.row_value(row)?
            }
        };
        if let Some(level) = self.own_level(true, place)? {
            level.item = Some(item);
        }
        Ok(bound)
    }

    /// The current element of an array.
    fn element_of_set(&mut self, (array, read_as): (Bound, Option<SqlType>), place: Place) -> Result<Bound> {
        let Some(element) = array.known_type().and_then(SqlType::element) else {
            return Err(self.no_function_of("unnest", &[array], place));
        };
        let (new, register) = (self.new_register()?, self.new_register()?);
        let Some(level) = self.own_level(false, place)? else {
            return self.unsupported(Missing::SetFunctions, "a set-returning function here is", place);
        };
        let current = *level.current.get_or_insert(new);
        // In order, whatever the dimensions are.
        let flat = Expr::Call { function: Function::ArrayFlat, arguments: vec![array.expr] };
        level.arrays.push((register, flat));
        let (array, index) = (Box::new(Expr::Register(register)), Box::new(Expr::Register(current)));
        let expr = Expr::Element { array, index };
        Ok(match read_as {
            Some(to) => {
                let expr = Expr::Cast { operand: Box::new(expr), to, explicit: true };
                Bound::typed(expr, to, place)
            }
            None => Bound::typed(expr, element.sql_type(), place),
        })
    }

    /// Puts the items of the functions after those of FROM. Those of a query with groups are returned: they
    /// are called for each group, unless the query is grouped by their results.
    pub(super) fn place_set_calls(
        &mut self,
        calls: SetCalls,
        from: &mut JoinGroup,
        keys: Option<&[(Expr, SqlType)]>,
        outputs: &[OutputColumn],
    ) -> Result<Vec<Item>> {
        let items = self.items_of_set_calls(calls);
        if let Some(keys) = keys {
            let registers: Vec<Register> =
                items.iter().flat_map(|item| item.source.registers().iter().copied()).collect();
            let reads = |expr: &Expr| {
                expr::any(expr, &|part| matches!(part, Expr::Register(read) if registers.contains(read)))
            };
            if !keys.iter().any(|(key, _)| reads(key)) {
                return Ok(items);
            }
            for output in outputs {
                let mut rest = output.expr.clone();
                expr::replace(&mut rest, &mut |part| {
                    keys.iter().any(|(key, _)| key == part).then_some(Expr::Const(Value::Null))
                });
                if reads(&rest) {
                    let what = "set-returning functions beside one that is grouped by are";
                    return self.unsupported(Missing::SetFunctions, what, output.place);
                }
            }
        }
        for item in items {
            from.append(JoinGroup::of(item));
        }
        Ok(Vec::new())
    }

    fn items_of_set_calls(&mut self, calls: SetCalls) -> Vec<Item> {
        let mut items = Vec::new();
        for level in calls.levels {
            items.extend(level.item);
            let Some(current) = level.current else { continue };
            let registers = level.arrays.iter().map(|(register, _)| *register).collect();
            self.scope.add(Relation {
                name: HIDDEN_NAME.to_owned(),
                columns: Vec::new(),
                kind: RelationKind::Elements(registers, current),
                visibility: Visibility::Hidden,
            });
            let series = Self::counting(level.arrays, current);
            let relation = self.scope.relations.len() - 1;
            items.push(Item::new(Source::Series(series), "unnest".to_owned(), relation));
        }
        items.iter_mut().for_each(|item| item.is_last = true);
        items
    }
}
