//! GROUP BY: its keys, what is allowed next to them, and how the arguments of aggregates are laid out.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};

use super::Compiler;
use super::select::BoundSelect;
use crate::bind::aggregation::{Aggregate, AggregateKind};
use crate::bind::tree::{GroupBy, OrderTarget, Source};
use crate::bind::{AGGREGATE_PLACEHOLDER, GROUP_PLACEHOLDER, Place};
use crate::expr;
use crate::plan::level::for_each_level;
use crate::plan::stage::{AggregateCall, SortKey};

/// What the procedure computes from each row for aggregates.
#[derive(Default)]
pub(super) struct AggregateLayout {
    pub(crate) calls: Vec<AggregateCall>,
    /// Filters, and the registers in which they are computed first.
    pub(crate) filters: Vec<(Register, Expr)>,
}

impl Compiler<'_> {
    /// The keys of the groups. Replaces them in the other clauses, and refuses columns that are neither keys
    /// nor aggregated.
    pub(super) fn group_keys(&mut self, bound: &mut BoundSelect) -> Result<Vec<(Expr, SqlType)>> {
        self.add_dependent_keys(bound);
        let keys = bound.group.as_ref().map(|group| group.keys.clone()).unwrap_or_default();
        let has_sets = bound.group.as_ref().is_some_and(|group| !group.sets.is_empty());
        let replace_keys = |expr: &mut Expr| {
            // A constant is a key only as a whole: sets that leave it out have NULL in its place.
            if has_sets
                && matches!(expr, Expr::Const(_))
                && let Some(at) = keys.iter().position(|(key, _)| key == expr)
            {
                *expr = Expr::Register(GROUP_PLACEHOLDER + Register::try_from(at).unwrap_or_default());
                return;
            }
            expr::replace(expr, &mut |part| {
                let is_key = !matches!(part, Expr::Const(_));
                let at = keys.iter().position(|(key, _)| is_key && key == part)?;
                Some(Expr::Register(GROUP_PLACEHOLDER + Register::try_from(at).ok()?))
            });
        };
        for output in &mut bound.outputs {
            replace_keys(&mut output.expr);
        }
        for order in &mut bound.order {
            if let OrderTarget::Expression(expr) = &mut order.target {
                replace_keys(expr);
            }
        }
        if let Some(having) = &mut bound.having {
            replace_keys(having);
        }
        for level in &mut bound.sets {
            level.source.arguments_mut().into_iter().for_each(&replace_keys);
        }
        bound.windowing.expressions_mut().for_each(&replace_keys);
        let sets: Vec<Register> =
            bound.sets.iter().flat_map(|level| level.source.registers().iter().copied()).collect();
        for output in &bound.outputs {
            self.refuse_ungrouped(&output.expr, output.column_places, &sets)?;
        }
        for direct in bound.aggregates.iter().flat_map(Aggregate::direct_arguments) {
            self.check_direct_argument(direct, has_sets, &replace_keys)?;
        }
        if let Some(having) = &bound.having {
            self.refuse_ungrouped(having, bound.having_places, &sets)?;
        }
        for order in &bound.order {
            if let OrderTarget::Expression(expr) = &order.target {
                self.refuse_ungrouped(expr, order.column_places, &sets)?;
            }
        }
        for (expr, places) in bound.windowing.expressions() {
            self.refuse_ungrouped(expr, places, &sets)?;
        }
        for argument in bound.sets.iter().flat_map(|level| level.source.arguments()) {
            self.refuse_ungrouped(argument, (0, self.binder.column_places.len()), &sets)?;
        }
        Ok(keys)
    }

    /// A direct argument of an aggregate WITHIN GROUP has one value for each group. It is computed from the
    /// rows of the group, in which the keys that a grouping set leaves out have their values still.
    fn check_direct_argument(
        &self,
        direct: &Expr,
        has_sets: bool,
        replace_keys: &dyn Fn(&mut Expr),
    ) -> Result<()> {
        let mut replaced = direct.clone();
        replace_keys(&mut replaced);
        self.refuse_ungrouped(&replaced, (0, self.binder.column_places.len()), &[])?;
        if has_sets && replaced != *direct {
            let what = "keys of grouping sets among the direct arguments of an aggregate are";
            return self.binder.lacks(Missing::OtherForms, what);
        }
        Ok(())
    }

    /// A query that groups by a primary key may name the table's other columns: they become keys too. With
    /// grouping sets the primary key must be in all of them.
    fn add_dependent_keys(&self, bound: &mut BoundSelect) {
        let Some(mut group) = bound.group.take() else { return };
        let GroupBy { keys, sets } = &mut group;
        let mut sources = Vec::new();
        for_each_level(&bound.steps, &mut |level| sources.push(&level.source));
        for source in sources {
            let Source::Table { table, row, .. } = source else { continue };
            let definition = table.definition();
            let Some(primary_key) = &definition.primary_key else { continue };
            let column = |column: u16| Expr::Column { row: *row, column };
            let is_key = |keys: &[(Expr, SqlType)], expr: &Expr| keys.iter().any(|(key, _)| key == expr);
            let is_in_all = |expr: &Expr| {
                let at = keys.iter().position(|(key, _)| key == expr);
                at.is_some_and(|at| sets.iter().all(|set| set.contains(&at)))
            };
            if !primary_key.columns.iter().all(|key| is_in_all(&column(*key))) {
                continue;
            }
            for (number, defined) in definition.columns.iter().enumerate() {
                let expr = column(u16::try_from(number).unwrap_or(u16::MAX));
                let is_used = bound
                    .outputs
                    .iter()
                    .any(|output| expr::any(&output.expr, &|part| *part == expr))
                    || bound.having.iter().any(|having| expr::any(having, &|part| *part == expr))
                    || bound.order.iter().any(|order| match &order.target {
                        OrderTarget::Expression(order) => expr::any(order, &|part| *part == expr),
                        OrderTarget::Output(_) => false,
                    })
                    || bound.windowing.expressions().any(|(part, _)| expr::any(part, &|part| *part == expr))
                    || bound.sets.iter().any(|level| {
                        let mut arguments = level.source.arguments().into_iter();
                        arguments.any(|argument| expr::any(argument, &|part| *part == expr))
                    });
                if is_used && !is_key(keys, &expr) {
                    keys.push((expr, defined.sql_type));
                    sets.iter_mut().for_each(|set| set.push(keys.len() - 1));
                }
            }
        }
        bound.group = Some(group);
    }

    /// `sets`: the registers of set-returning functions that are called for each group.
    fn refuse_ungrouped(&self, expr: &Expr, places: (usize, usize), sets: &[Register]) -> Result<()> {
        let mut ungrouped: Option<Expr> = None;
        let is_free = |part: &Expr| match part {
            Expr::Column { .. } => true,
            Expr::Register(register) if sets.contains(register) => false,
            part => self.binder.scope.reads(part),
        };
        find(expr, &is_free, &mut ungrouped);
        let Some(found) = ungrouped else { return Ok(()) };
        let mut place = Place::Unknown;
        if let Expr::Column { row, column } = &found {
            let named = &self.binder.column_places[places.0..places.1];
            place = named
                .iter()
                .find(|(its_row, its_column, _)| its_row == row && its_column == column)
                .map_or(Place::Unknown, |(_, _, place)| *place);
        }
        let names = crate::explain::Names { is_qualified: true, ..self.names() };
        let shown = hyades_engine::procedure::listing::shown(&found, &names);
        let is_handed_in = expr::any(
            expr,
            &|part| matches!(part, Expr::Query { outer, .. } if outer.iter().any(|value| expr::any(value, &|part| *part == found))),
        );
        let message = match is_handed_in {
            true => format!("subquery uses ungrouped column \"{shown}\" from outer query"),
            false => format!(
                "column \"{shown}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        };
        self.binder.fail(sqlstate::GROUPING_ERROR, message, place)
    }

    /// Adds the arguments of the aggregates to the values that are fed. Arguments of an aggregate with a
    /// filter are computed only where the filter is true.
    pub(super) fn aggregate_layout(
        &mut self,
        aggregates: &[Aggregate],
        fed: &mut Vec<Expr>,
    ) -> Result<AggregateLayout> {
        let mut layout = AggregateLayout::default();
        for aggregate in aggregates {
            let filter = match &aggregate.filter {
                None => None,
                Some(filter) => {
                    let register = self.binder.new_register()?;
                    layout.filters.push((register, filter.clone()));
                    Some(register)
                }
            };
            let mut add = |value: &Expr| {
                fed.push(match filter {
                    None => value.clone(),
                    Some(filter) => Expr::Case {
                        branches: vec![(Expr::Register(filter), value.clone())],
                        otherwise: Box::new(Expr::Const(Value::Null)),
                    },
                });
                fed.len() - 1
            };
            let arguments = match aggregate.kind {
                AggregateKind::Grouping => Vec::new(),
                _ => aggregate.arguments.iter().map(&mut add).collect(),
            };
            let order = aggregate
                .order
                .iter()
                .map(|order| SortKey {
                    value: add(&order.expr),
                    is_descending: order.is_descending,
                    nulls_first: order.nulls_first,
                    is_char: matches!(order.sql_type, SqlType::Char(_)),
                })
                .collect();
            let filter = filter.map(|register| {
                fed.push(Expr::Register(register));
                fed.len() - 1
            });
            layout.calls.push(AggregateCall {
                kind: aggregate.kind,
                arguments,
                argument_type: aggregate.argument_type,
                filter,
                is_distinct: aggregate.is_distinct,
                order,
            });
        }
        Ok(layout)
    }
}

/// The results of a group, with the values of GROUPING instead of the number of its set.
pub(super) fn with_grouping_calls(
    mut results: Vec<Expr>,
    aggregates: &[Aggregate],
    keys: usize,
) -> Vec<Expr> {
    for (aggregate, result) in aggregates.iter().zip(&mut results[keys..]) {
        if aggregate.kind == AggregateKind::Grouping
            && let Some(masks) = aggregate.arguments.first()
        {
            let index = Box::new(std::mem::replace(result, Expr::Const(Value::Null)));
            *result = Expr::Element { array: Box::new(masks.clone()), index };
        }
    }
    results
}

fn find(expr: &Expr, wanted: &dyn Fn(&Expr) -> bool, found: &mut Option<Expr>) {
    if found.is_some() {
        return;
    }
    if wanted(expr) {
        *found = Some(expr.clone());
        return;
    }
    expr.for_each_part(&mut |part| find(part, wanted, found));
}

/// The expression with the keys of its group and the results of its aggregates filled in.
pub(super) fn with_results(mut expr: Expr, results: &[Expr], keys: usize) -> Expr {
    expr::replace(&mut expr, &mut |part| match part {
        Expr::Register(register) if *register >= GROUP_PLACEHOLDER => {
            results.get(usize::from(register - GROUP_PLACEHOLDER)).cloned()
        }
        Expr::Register(register) if *register >= AGGREGATE_PLACEHOLDER => {
            results.get(keys + usize::from(register - AGGREGATE_PLACEHOLDER)).cloned()
        }
        _ => None,
    });
    expr
}
