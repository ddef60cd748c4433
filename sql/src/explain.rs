//! EXPLAIN: the chosen access in PostgreSQL's words, without invented costs. With ANALYZE also what was
//! counted during execution (`counted`). The formats other than text are those of one value (`formats`).

pub(crate) mod counted;
mod formats;

use std::time::Duration;

use hyades_engine::procedure::ir::{Expr, Procedure};
use hyades_engine::procedure::listing::{SlotNames, shown};
use hyades_types::value::Value;
use serde_json::json;

use counted::{Actual, NodeCounts};

use crate::bind::scope::{RelationKind, Scope};
use crate::statement::ExplainFormat;

/// One node of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanNode {
    /// `Index Scan using accounts_pkey on accounts`.
    pub(crate) title: String,
    /// `Index Cond` and the like, with their text.
    pub(crate) details: Vec<(&'static str, String)>,
    pub(crate) children: Vec<PlanNode>,
    /// Queries in its expressions, with the names that the expressions use for them.
    pub(crate) subplans: Vec<(String, PlanNode)>,
    /// Lines of the procedures that it runs.
    pub(crate) program: Vec<String>,
    /// The counters of its rows, for ANALYZE.
    events: Option<NodeCounts>,
    actual: Option<Actual>,
}

impl PlanNode {
    pub(crate) fn new(title: impl Into<String>) -> PlanNode {
        PlanNode { title: title.into(), ..PlanNode::default() }
    }

    /// This node on top of another one.
    #[must_use]
    pub(crate) fn over(mut self, child: PlanNode) -> PlanNode {
        self.children.push(child);
        self
    }

    #[must_use]
    pub(crate) fn with(mut self, label: &'static str, text: Option<String>) -> PlanNode {
        if let Some(text) = text {
            self.details.push((label, text));
        }
        self
    }

    /// This node, with the listings of a procedure that it runs and of those that this one calls, each once.
    #[must_use]
    pub(crate) fn running(mut self, procedure: &Procedure) -> PlanNode {
        let mut listed: Vec<&Procedure> = vec![procedure];
        let mut next = 0;
        while let Some(procedure) = listed.get(next).copied() {
            next += 1;
            self.program.extend(procedure.to_string().lines().map(str::to_owned));
            for called in procedure.called() {
                if !listed.iter().any(|known| known.name == called.procedure.name) {
                    listed.push(&called.procedure);
                }
            }
        }
        self
    }

    /// The whole description, one text for each row of the result.
    pub(crate) fn texts(&self, format: ExplainFormat, times: Option<Times>) -> Vec<String> {
        let whole = || self.described(times);
        match format {
            ExplainFormat::Text => {}
            ExplainFormat::Json => {
                return vec![serde_json::to_string_pretty(&json!([whole()])).unwrap_or_default()];
            }
            ExplainFormat::Xml => return vec![formats::xml(&whole())],
            ExplainFormat::Yaml => return vec![formats::yaml(&whole())],
        }
        let mut lines = self.lines();
        if let Some(Times { planning, execution }) = times {
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            lines.push(format!("Planning Time: {:.3} ms", milliseconds(planning)));
            lines.push(format!("Execution Time: {:.3} ms", milliseconds(execution)));
        }
        lines
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.write(0, &mut lines);
        lines.extend(self.program.iter().map(|line| format!("  {line}")));
        lines
    }

    fn write(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = if depth == 0 { 0 } else { 6 * depth - 4 };
        let arrow = if depth == 0 { "" } else { "->  " };
        let actual = self.actual.map(Actual::shown).unwrap_or_default();
        lines.push(format!("{:indent$}{arrow}{}{actual}", "", self.title));
        let indent = if depth == 0 { 2 } else { indent + 6 };
        for (label, text) in &self.details {
            lines.push(format!("{:indent$}{label}: {text}", ""));
        }
        for child in &self.children {
            child.write(depth + 1, lines);
        }
        for (name, plan) in &self.subplans {
            lines.push(format!("{:indent$}{name}", ""));
            let mut of_plan = Vec::new();
            plan.write(depth + 1, &mut of_plan);
            lines.extend(of_plan.into_iter().map(|line| format!("  {line}")));
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("Node Type".to_owned(), json!(self.title));
        if let Some(actual) = self.actual {
            object.insert("Actual Rows".to_owned(), json!(actual.rows.round_ties_even() as u64));
            object.insert("Actual Loops".to_owned(), json!(actual.loops));
        }
        for (label, text) in &self.details {
            object.insert((*label).to_owned(), json!(text));
        }
        let subplan = |(name, plan): &(String, PlanNode)| {
            let mut plan = plan.to_json();
            plan["Subplan Name"] = json!(name);
            plan
        };
        let children = self.children.iter().map(PlanNode::to_json);
        let children: Vec<_> = children.chain(self.subplans.iter().map(subplan)).collect();
        if !children.is_empty() {
            object.insert("Plans".to_owned(), json!(children));
        }
        if !self.program.is_empty() {
            object.insert("Program".to_owned(), json!(self.program));
        }
        serde_json::Value::Object(object)
    }

    /// The plan and the times, as one value.
    fn described(&self, times: Option<Times>) -> serde_json::Value {
        let mut described = json!({ "Plan": self.to_json() });
        if let Some(Times { planning, execution }) = times {
            described["Planning Time"] = json!(planning.as_secs_f64() * 1e3);
            described["Execution Time"] = json!(execution.as_secs_f64() * 1e3);
        }
        described
    }
}

/// How long planning and execution took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) planning: Duration,
    pub(crate) execution: Duration,
}

/// Prints expressions with the query's names.
pub(crate) struct Names<'a> {
    pub(crate) scope: &'a Scope,
    /// Whether columns are qualified with the name of their table.
    pub(crate) is_qualified: bool,
    /// The values of the parameters, if they are to be shown.
    pub(crate) parameters: &'a [Value],
}

impl Names<'_> {
    fn qualified(&self, relation: &str, column: &str) -> String {
        if self.is_qualified { format!("{relation}.{column}") } else { column.to_owned() }
    }
}

impl SlotNames for Names<'_> {
    fn register(&self, register: u16) -> String {
        let wanted = Expr::Register(register);
        for relation in &self.scope.relations {
            if let RelationKind::View(values, _) = &relation.kind
                && let Some(at) = values.iter().position(|value| *value == wanted)
                && let Some((column, _)) = relation.columns.get(at)
            {
                return self.qualified(&relation.name, column);
            }
            if let RelationKind::Elements(arrays, _) = &relation.kind
                && let Some(at) = arrays.iter().position(|known| *known == register)
                && let Some((column, _)) = relation.columns.get(at)
            {
                return self.qualified(&relation.name, column);
            }
            if let RelationKind::Registers(registers)
            | RelationKind::Typed(registers, _)
            | RelationKind::System(registers, _) = &relation.kind
                && let Some(at) = registers.iter().position(|known| *known == register)
                && let Some((column, _)) = relation.columns.get(at)
            {
                return self.qualified(&relation.name, column);
            }
        }
        match self.parameters.get(usize::from(register)) {
            Some(value) => shown(&Expr::Const(value.clone()), self),
            None => format!("${}", u32::from(register) + 1),
        }
    }

    fn column(&self, row: u16, column: u16) -> String {
        let wanted = Expr::Column { row, column };
        for relation in &self.scope.relations {
            if let RelationKind::View(values, _) = &relation.kind
                && let Some(at) = values.iter().position(|value| *value == wanted)
                && let Some((column, _)) = relation.columns.get(at)
            {
                return self.qualified(&relation.name, column);
            }
            if let RelationKind::Table { table, row: its_row } = &relation.kind
                && *its_row == row
            {
                return match relation.columns.get(usize::from(column)) {
                    Some((name, _)) => self.qualified(&relation.name, name),
                    // Only an index uses this column.
                    None => table.definition().key_name(column).to_owned(),
                };
            }
        }
        format!("?{row}.{column}")
    }

    /// The arrays of `unnest`, whose columns are named after the array.
    fn hides_subscript(&self, array: &Expr) -> bool {
        let Expr::Register(register) = array else { return false };
        self.scope.relations.iter().any(|relation| {
            matches!(&relation.kind, RelationKind::Elements(arrays, _) if arrays.contains(register))
        })
    }
}
