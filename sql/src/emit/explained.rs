//! Describes compiled loops and changes for EXPLAIN.

use hyades_engine::procedure::ir::{Direction, Expr, Register};
use hyades_engine::procedure::listing::{conditions, shown};
use hyades_types::error::Result;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::select::BoundSelect;
use super::windows::passes_of;
use super::{Compiler, Purpose};
use crate::bind::AGGREGATE_PLACEHOLDER;
use crate::bind::select::is_aggregate;
use crate::bind::tree::Source;
use crate::bind::tree::{BoundDistinct, OrderTarget};
use crate::bind::windowing::WINDOW_PLACEHOLDER;
use crate::explain::counted::{Counted, LoopName};
use crate::explain::{Names, PlanNode};
use crate::expr;
use crate::plan::access::{Access, Kept};
use crate::plan::level::{Level, Step, first_level, only_level};

impl Compiler<'_> {
    /// The description of a plan, built only for EXPLAIN.
    pub(crate) fn explained(&mut self, describe: impl FnOnce(&Self) -> PlanNode) -> Option<PlanNode> {
        if self.purpose == Purpose::Run {
            return None;
        }
        let mut node = describe(self);
        if !self.is_in_subquery {
            node.subplans.append(&mut self.subplans);
        }
        Some(node)
    }

    /// For EXPLAIN ANALYZE: counts how often execution reaches this point.
    pub(super) fn count(&mut self, counted: Counted) -> Result<()> {
        if self.purpose != Purpose::Analyze {
            return Ok(());
        }
        let known = self.counters.iter().find(|(known, _)| *known == counted);
        let register = match known {
            Some((_, register)) => *register,
            None => {
                let register = self.binder.new_register()?;
                self.counters.push((counted, register));
                register
            }
        };
        let so_far = Expr::Coalesce(vec![Expr::Register(register), Expr::Const(Value::BigInt(0))]);
        let one = Expr::Const(Value::BigInt(1));
        let more =
            Expr::Binary { operator: BinaryOperator::Add, left: Box::new(so_far), right: Box::new(one) };
        self.code.evaluate(register, more);
        Ok(())
    }

    /// Counts a row of an outer join whose inner side begins with this loop.
    pub(super) fn count_joined(&mut self, inner: Option<&Level>) -> Result<()> {
        inner.map_or(Ok(()), |inner| self.count(Counted::Joined(inner.name())))
    }

    /// Records the description of a subquery in an expression, for that of its statement.
    pub(super) fn note_subplan(&mut self, plan: Option<PlanNode>) {
        let name = format!("SubPlan {}", self.code.fragment_count() + 1);
        self.subplans.extend(plan.map(|plan| (name, plan)));
    }

    pub(super) fn names(&self) -> Names<'_> {
        Names {
            scope: &self.binder.scope,
            is_qualified: self.binder.scope.relations.len() > 1,
            parameters: self.binder.context.shown_parameters,
        }
    }

    fn explain_level(&self, level: &Level) -> PlanNode {
        let names = self.names();
        if let Some(kept) = level.kept() {
            let (opened, found) = (Counted::Opened(level.name()), Counted::Found(level.name()));
            return self.explain_kept(PlanNode::new("Hash Join"), level, kept).counted(opened, found);
        }
        let steering = conditions(&level.choice.steering, &names);
        let filter = conditions(&level.choice.filter, &names);
        let node = match &level.source {
            Source::Series(series) => {
                let function = if series.arrays.is_empty() { "generate_series" } else { "unnest" };
                let alias = if level.label == function { String::new() } else { format!(" {}", level.label) };
                PlanNode::new(format!("Function Scan on {function}{alias}"))
            }
            Source::Query(derived) => {
                let first = derived.registers.first().copied().unwrap_or_default();
                let is_system = self.binder.scope.system_column(first).is_some();
                let scan = if is_system { "Seq Scan" } else { "Subquery Scan" };
                let mut node = PlanNode::new(format!("{scan} on {}", level.label));
                node.children = self.plans_below(derived);
                node
            }
            Source::Working(..) => PlanNode::new(format!("WorkTable Scan on {}", level.label)),
            Source::Routine(_) => PlanNode::new(format!("Function Scan on {}", level.label)),
            Source::Table { table, .. } => {
                if let Access::Stored { cursor, .. } = &level.choice.access {
                    let condition = format!("CURRENT OF {cursor}");
                    return PlanNode::new(format!("Tid Scan on {}", level.label))
                        .with("TID Cond", Some(condition))
                        .with("Filter", filter)
                        .counted(Counted::Opened(level.name()), Counted::Found(level.name()))
                        .reading(Counted::Read(level.name()));
                }
                let definition = table.definition();
                let index = match level.choice.access.index() {
                    Some(index) => definition.indexes.get(usize::from(index)).map(|index| &index.name),
                    None => definition.primary_key.as_ref().map(|key| &key.name),
                };
                let (by_index, backward) = match &level.choice.access {
                    Access::Scan { range, direction } => (
                        range.index.is_some()
                            || !level.choice.steering.is_empty()
                            || *direction == Direction::Backward,
                        if *direction == Direction::Backward { " Backward" } else { "" },
                    ),
                    _ => (true, ""),
                };
                match index.filter(|_| by_index) {
                    Some(index) => {
                        PlanNode::new(format!("Index Scan{backward} using {index} on {}", level.label))
                            .with("Index Cond", steering)
                    }
                    None => PlanNode::new(format!("Seq Scan on {}", level.label)),
                }
            }
        };
        let (opened, found) = (Counted::Opened(level.name()), Counted::Found(level.name()));
        node.with("Filter", filter).counted(opened, found).reading(Counted::Read(level.name()))
    }

    /// The nested loops of a query or change.
    pub(crate) fn explain_steps(&self, steps: &[Step]) -> PlanNode {
        let names = self.names();
        let mut node: Option<PlanNode> = None;
        // Nested loops start together.
        let opened = first_level(steps).map_or(Counted::Started, |first| Counted::Opened(first.name()));
        let joined = |inner: Option<&Level>| Counted::Joined(inner.map_or(LoopName::NONE, Level::name));
        for step in steps {
            node = Some(match (step, node) {
                (Step::Loop(level), None) => self.explain_level(level),
                (Step::Loop(level), Some(outer)) => {
                    self.explain_join("", outer, level).counted(opened, Counted::Found(level.name()))
                }
                (Step::Left(join), outer) => {
                    let outer = outer.unwrap_or_else(|| PlanNode::new("Result"));
                    let node = match only_level(&join.steps) {
                        Some(level) => self.explain_join("Left ", outer, level),
                        None => PlanNode::new("Nested Loop Left Join")
                            .over(outer)
                            .over(self.explain_steps(&join.steps)),
                    };
                    node.with("Join Filter", conditions(&join.gate, &names))
                        .with("Filter", conditions(&join.after, &names))
                        .counted(opened, joined(first_level(&join.steps)))
                }
                (Step::Full(join), outer) => {
                    let full = self.explain_join("Full ", self.explain_steps(&join.left), &join.right);
                    let full = full
                        .with("Filter", conditions(&join.after, &names))
                        .counted(opened, joined(Some(&join.right)));
                    match outer {
                        Some(outer) => PlanNode::new("Nested Loop").over(outer).over(full),
                        None => full,
                    }
                }
            });
        }
        node.unwrap_or_else(|| PlanNode::new("Result"))
    }

    fn explain_join(&self, kind: &str, outer: PlanNode, level: &Level) -> PlanNode {
        let join = if kind.is_empty() { "" } else { "Join" };
        let Some(kept) = level.kept() else {
            let title = format!("Nested Loop {kind}{join}");
            return PlanNode::new(title.trim_end()).over(outer).over(self.explain_level(level));
        };
        self.explain_kept(PlanNode::new(format!("Hash {kind}Join")).over(outer), level, kept)
    }

    fn explain_kept(&self, join: PlanNode, level: &Level, kept: &Kept) -> PlanNode {
        let names = self.names();
        let read = Level { choice: kept.build.clone(), ..level.clone() };
        let (opened, found) = (Counted::Opened(read.name()), Counted::Found(read.name()));
        let reading = self.explain_level(&read);
        join.with("Hash Cond", conditions(&level.choice.steering, &names))
            .with("Join Filter", conditions(&level.choice.filter, &names))
            .over(PlanNode::new("Hash").counted(opened, found).over(reading))
    }

    /// The whole plan of a SELECT. `is_direct`: the procedure does everything.
    pub(crate) fn explain_select(&self, bound: &BoundSelect, is_direct: bool) -> PlanNode {
        let names = self.names();
        let (began, answered) = (Counted::Began(bound.number), Counted::Answered(bound.number));
        let mut node =
            self.explain_steps(&bound.steps).with("One-Time Filter", conditions(&bound.constant, &names));
        if bound.steps.is_empty() {
            node = node.counted(began, answered);
        }
        if bound.is_grouped() {
            let title = if bound.group.is_some() { "HashAggregate" } else { "Aggregate" };
            let keys = bound.group.as_ref().map(|keys| {
                let keys: Vec<String> = keys.keys.iter().map(|(key, _)| shown(key, &names)).collect();
                keys.join(", ")
            });
            let grouped = Counted::Grouped(bound.number);
            node = PlanNode::new(title).with("Group Key", keys).over(node).counted(began, grouped);
        }
        if !bound.windowing.is_empty() {
            node = self.explain_windows(bound, node).counted(began, answered);
        }
        if !bound.sets.is_empty() {
            node = PlanNode::new("ProjectSet").over(node);
        }
        let is_sorted_by_all = bound.is_sorted_by_all();
        if matches!(bound.distinct, BoundDistinct::Rows) && !is_sorted_by_all {
            let keys: Vec<String> =
                bound.outputs.iter().map(|output| self.shown_result(bound, &output.expr)).collect();
            node = PlanNode::new("HashAggregate").with("Group Key", Some(keys.join(", "))).over(node);
        }
        if !bound.order.is_empty() && !is_direct {
            let keys: Vec<String> = bound
                .order
                .iter()
                .map(|order| {
                    let expr = match &order.target {
                        OrderTarget::Output(at) => &bound.outputs[*at].expr,
                        OrderTarget::Expression(expr) => expr,
                    };
                    self.shown_key(bound, expr, (order.is_descending, order.nulls_first))
                })
                .collect();
            let keys = Some(keys.join(", "));
            node = PlanNode::new("Sort").with("Sort Key", keys).over(node);
            if !is_sorted_by_all {
                node = node.counted(began, answered);
            }
        }
        if matches!(bound.distinct, BoundDistinct::On(_)) || is_sorted_by_all {
            node = PlanNode::new("Unique").over(node).counted(began, answered);
        }
        if bound.limits.limit.is_some() || bound.limits.offset.is_some() {
            node = PlanNode::new("Limit").over(node).counted(began, answered);
        }
        node
    }

    /// A key of a sort.
    fn shown_key(
        &self,
        bound: &BoundSelect,
        expr: &Expr,
        (is_descending, nulls_first): (bool, bool),
    ) -> String {
        let output = bound.outputs.iter().find(|output| output.expr == *expr);
        let key = match output {
            Some(output) if is_aggregate(expr) => output.name.clone(),
            _ => self.shown_result(bound, expr),
        };
        let direction = if is_descending { " DESC" } else { "" };
        let nulls = match (is_descending, nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        };
        format!("{key}{direction}{nulls}")
    }

    /// An expression that may contain results of window functions and of aggregates.
    fn shown_result(&self, bound: &BoundSelect, expr: &Expr) -> String {
        let mut text = shown(expr, &self.names());
        for (number, call) in bound.windowing.calls.iter().enumerate() {
            let result = Expr::Register(WINDOW_PLACEHOLDER.saturating_add(number as Register));
            if expr::any(expr, &|part| *part == result) {
                let arguments: Vec<String> =
                    call.arguments.iter().map(|argument| self.shown_result(bound, argument)).collect();
                let named = format!("({}({}) OVER (?))", call.name, arguments.join(", "));
                text = text.replace(&shown(&result, &self.names()), &named);
            }
        }
        for output in bound.outputs.iter().filter(|output| is_aggregate(&output.expr)) {
            text = text.replace(&shown(&output.expr, &self.names()), &output.name);
        }
        for number in 0..bound.aggregates.len() {
            let result = Expr::Register(AGGREGATE_PLACEHOLDER.saturating_add(number as Register));
            text = text.replace(&shown(&result, &self.names()), "?");
        }
        text
    }

    /// The sorts and the windows over a node.
    fn explain_windows(&self, bound: &BoundSelect, mut node: PlanNode) -> PlanNode {
        for pass in passes_of(bound) {
            if pass.needs_sort {
                let keys = pass
                    .keys
                    .iter()
                    .map(|key| self.shown_key(bound, &key.expr, (key.is_descending, key.nulls_first)));
                let keys = keys.collect::<Vec<String>>().join(", ");
                node = PlanNode::new("Sort").with("Sort Key", Some(keys)).over(node);
            }
            for _ in pass.windows {
                node = PlanNode::new("WindowAgg").over(node);
            }
        }
        node
    }
}
