//! Describes compiled loops and changes for EXPLAIN.

use hyades_engine::procedure::ir::Direction;
use hyades_engine::procedure::listing::{conditions, shown};
use hyades_types::error::Result;
use hyades_types::value::SqlType;

use super::access::{Access, Kept};
use super::level::{Level, Step, only_level};
use super::select::BoundSelect;
use super::{Compiler, Purpose, compile_for, shifted};
use crate::answer::{Response, ResultColumn};
use crate::bind::tree::Source;
use crate::bind::tree::{BoundDistinct, OrderTarget};
use crate::explain::{Names, PlanNode};
use crate::plan::{Action, Plan};

impl Compiler<'_> {
    /// EXPLAIN of the statement in `body`.
    pub(crate) fn explain(
        &mut self,
        is_verbose: bool,
        is_json: bool,
        body: &str,
        body_offset: u32,
    ) -> Result<Plan> {
        let declared = self.binder.parameter_types.clone();
        let plan = compile_for(body, self.binder.context, &declared, &mut Vec::new(), Purpose::Explain)
            .map_err(|error| shifted(error, body_offset))?;
        let lines = |node: PlanNode| if is_json { vec![node.json_text()] } else { node.lines() };
        let action = match plan.action {
            Action::Run(run) => {
                let node = run.explain.unwrap_or_default();
                Action::Explain(lines(if is_verbose { node.running(&run.procedure) } else { node }))
            }
            Action::Call(call) => {
                let draws = call.arguments.iter().any(|argument| argument.looks_at().sequences);
                Action::ExplainCall { routine: call.routine, draws, is_verbose, is_json }
            }
            _ => Action::Explain(lines(PlanNode::new("Utility Statement"))),
        };
        let column = ResultColumn { name: "QUERY PLAN".to_owned(), sql_type: SqlType::Text, source: None };
        Ok(Plan {
            parameters: plan.parameters,
            response: Response::Rows(vec![column]),
            action,
            command: "EXPLAIN",
            is_read_only: true,
        })
    }

    /// The description of a plan, made only for EXPLAIN.
    pub(crate) fn explained(&mut self, describe: impl FnOnce(&Self) -> PlanNode) -> Option<PlanNode> {
        if self.purpose != Purpose::Explain {
            return None;
        }
        let mut node = describe(self);
        if !self.is_in_subquery {
            node.subplans.append(&mut self.subplans);
        }
        Some(node)
    }

    /// The description of a subquery in an expression, for that of its statement.
    pub(super) fn note_subplan(&mut self, plan: Option<PlanNode>) {
        let name = format!("SubPlan {}", self.code.fragment_count() + 1);
        self.subplans.extend(plan.map(|plan| (name, plan)));
    }

    fn names(&self) -> Names<'_> {
        Names { scope: &self.binder.scope, is_qualified: self.binder.scope.relations.len() > 1 }
    }

    fn explain_level(&self, level: &Level) -> PlanNode {
        let names = self.names();
        if let Some(kept) = level.kept() {
            return self.explain_kept(PlanNode::new("Hash Join"), level, kept);
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
                PlanNode::new(format!("{scan} on {}", level.label))
            }
            Source::Working(..) => PlanNode::new(format!("WorkTable Scan on {}", level.label)),
            Source::Routine(_) => PlanNode::new(format!("Function Scan on {}", level.label)),
            Source::Table { table, .. } => {
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
        node.with("Filter", filter)
    }

    /// The nested loops of a query or change.
    pub(crate) fn explain_steps(&self, steps: &[Step]) -> PlanNode {
        let names = self.names();
        let mut node: Option<PlanNode> = None;
        for step in steps {
            node = Some(match (step, node) {
                (Step::Loop(level), None) => self.explain_level(level),
                (Step::Loop(level), Some(outer)) => self.explain_join("", outer, level),
                (Step::Left(join), outer) => {
                    let outer = outer.unwrap_or_else(|| PlanNode::new("Result"));
                    let joined = match only_level(&join.steps) {
                        Some(level) => self.explain_join("Left ", outer, level),
                        None => PlanNode::new("Nested Loop Left Join")
                            .over(outer)
                            .over(self.explain_steps(&join.steps)),
                    };
                    joined
                        .with("Join Filter", conditions(&join.gate, &names))
                        .with("Filter", conditions(&join.after, &names))
                }
                (Step::Full(join), outer) => {
                    let full = self.explain_join("Full ", self.explain_steps(&join.left), &join.right);
                    let full = full.with("Filter", conditions(&join.after, &names));
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
        let reading = self.explain_level(&Level { choice: kept.build.clone(), ..level.clone() });
        join.with("Hash Cond", conditions(&level.choice.steering, &names))
            .with("Join Filter", conditions(&level.choice.filter, &names))
            .over(PlanNode::new("Hash").over(reading))
    }

    /// The whole plan of a SELECT. `is_direct`: the procedure does it all.
    pub(crate) fn explain_select(&self, bound: &BoundSelect, is_direct: bool) -> PlanNode {
        let names = self.names();
        let mut node =
            self.explain_steps(&bound.steps).with("One-Time Filter", conditions(&bound.constant, &names));
        if bound.is_grouped() {
            let title = if bound.group.is_some() { "HashAggregate" } else { "Aggregate" };
            let keys = bound.group.as_ref().map(|keys| {
                let keys: Vec<String> = keys.keys.iter().map(|(key, _)| shown(key, &names)).collect();
                keys.join(", ")
            });
            node = PlanNode::new(title).with("Group Key", keys).over(node);
        }
        if matches!(bound.distinct, BoundDistinct::Rows) {
            let keys: Vec<String> = bound.outputs.iter().map(|output| shown(&output.expr, &names)).collect();
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
                    let key = match &order.target {
                        OrderTarget::Output(at) if crate::bind::select::is_aggregate(expr) => {
                            bound.outputs[*at].name.clone()
                        }
                        _ => shown(expr, &names),
                    };
                    let direction = if order.is_descending { " DESC" } else { "" };
                    let nulls = match (order.is_descending, order.nulls_first) {
                        (false, true) => " NULLS FIRST",
                        (true, false) => " NULLS LAST",
                        _ => "",
                    };
                    format!("{key}{direction}{nulls}")
                })
                .collect();
            node = PlanNode::new("Sort").with("Sort Key", Some(keys.join(", "))).over(node);
        }
        if matches!(bound.distinct, BoundDistinct::On(_)) {
            node = PlanNode::new("Unique").over(node);
        }
        if bound.limits.limit.is_some() || bound.limits.offset.is_some() {
            node = PlanNode::new("Limit").over(node);
        }
        node
    }
}
