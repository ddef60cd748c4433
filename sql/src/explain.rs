//! EXPLAIN: the chosen access in PostgreSQL's words, without invented costs.

use hyades_engine::procedure::deep::with_stack;
use hyades_engine::procedure::ir::Expr;
use hyades_types::function::Function;
use hyades_types::operator::UnaryOperator;
use hyades_types::text;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;
use serde_json::json;

use crate::bind::operator::symbol;
use crate::bind::scope::{RelationKind, Scope};

/// One node of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanNode {
    /// `Index Scan using accounts_pkey on accounts`.
    pub(crate) title: String,
    /// `Index Cond` and the like, with their text.
    pub(crate) details: Vec<(&'static str, String)>,
    pub(crate) children: Vec<PlanNode>,
}

impl PlanNode {
    pub(crate) fn new(title: impl Into<String>) -> PlanNode {
        PlanNode { title: title.into(), ..PlanNode::default() }
    }

    /// This node above another one.
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

    /// The lines of the text format.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.write(0, &mut lines);
        lines
    }

    fn write(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = if depth == 0 { 0 } else { 6 * depth - 4 };
        let arrow = if depth == 0 { "" } else { "->  " };
        lines.push(format!("{:indent$}{arrow}{}", "", self.title));
        let indent = if depth == 0 { 2 } else { indent + 6 };
        for (label, text) in &self.details {
            lines.push(format!("{:indent$}{label}: {text}", ""));
        }
        for child in &self.children {
            child.write(depth + 1, lines);
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("Node Type".to_owned(), json!(self.title));
        for (label, text) in &self.details {
            object.insert((*label).to_owned(), json!(text));
        }
        if !self.children.is_empty() {
            let children: Vec<_> = self.children.iter().map(PlanNode::to_json).collect();
            object.insert("Plans".to_owned(), json!(children));
        }
        serde_json::Value::Object(object)
    }

    /// The JSON format, as one value.
    pub(crate) fn json_text(&self) -> String {
        serde_json::to_string_pretty(&json!([{ "Plan": self.to_json() }])).unwrap_or_default()
    }
}

/// Prints expressions with the names of the query.
pub(crate) struct Names<'a> {
    pub(crate) scope: &'a Scope,
    /// Whether columns carry their table's name.
    pub(crate) is_qualified: bool,
}

impl Names<'_> {
    /// Conditions joined with AND; `None` if there are none.
    pub(crate) fn conditions(&self, conditions: &[Expr]) -> Option<String> {
        match conditions {
            [] => None,
            [single] => Some(self.bracketed(single)),
            several => {
                let parts: Vec<String> = several.iter().map(|part| self.bracketed(part)).collect();
                Some(format!("({})", parts.join(" AND ")))
            }
        }
    }

    fn bracketed(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        if text.starts_with('(') || matches!(expr, Expr::Column { .. } | Expr::Call { .. }) {
            text
        } else {
            format!("({text})")
        }
    }

    fn column(&self, row: u16, column: u16) -> String {
        for relation in &self.scope.relations {
            if matches!(relation.kind, RelationKind::Table { row: its_row, .. } if its_row == row) {
                let name = relation.columns.get(usize::from(column)).map_or("?", |(name, _)| name.as_str());
                return self.qualified(&relation.name, name);
            }
        }
        format!("?{row}.{column}")
    }

    fn qualified(&self, relation: &str, column: &str) -> String {
        if self.is_qualified { format!("{relation}.{column}") } else { column.to_owned() }
    }

    /// Whether this is a column of `pg_stat_activity`, all its rows.
    fn is_activity(&self, array: &Expr) -> bool {
        let Expr::Register(register) = array else { return false };
        self.scope.relations.iter().any(|relation| {
            matches!(&relation.kind, RelationKind::Elements(arrays, _) if arrays.contains(register))
        })
    }

    fn register(&self, register: u16) -> String {
        for relation in &self.scope.relations {
            if let RelationKind::Elements(arrays, _) = &relation.kind
                && let Some(at) = arrays.iter().position(|known| *known == register)
            {
                return self.qualified(&relation.name, &relation.columns[at].0);
            }
            if let RelationKind::Registers(registers) = &relation.kind
                && let Some(at) = registers.iter().position(|known| *known == register)
            {
                return self.qualified(&relation.name, &relation.columns[at].0);
            }
        }
        format!("${}", u32::from(register) + 1)
    }

    fn list(&self, items: &[Expr]) -> String {
        let items: Vec<String> = items.iter().map(|item| self.expr(item)).collect();
        items.join(", ")
    }

    pub(crate) fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => constant(value),
            Expr::Register(register) => self.register(*register),
            Expr::Column { row, column } => self.column(*row, *column),
            Expr::Unary { operator, operand } => {
                let symbol = match operator {
                    UnaryOperator::Negate => "-",
                    UnaryOperator::BitNot => "~",
                };
                format!("({symbol} {})", self.expr(operand))
            }
            Expr::Binary { operator, left, right } => {
                format!("({} {} {})", self.expr(left), symbol(*operator), self.expr(right))
            }
            Expr::And(..) => {
                let mut parts = Vec::new();
                crate::expr::conjuncts(expr.clone(), &mut parts);
                let parts: Vec<String> = parts.iter().map(|part| self.bracketed(part)).collect();
                format!("({})", parts.join(" AND "))
            }
            Expr::Or(left, right) => format!("({} OR {})", self.bracketed(left), self.bracketed(right)),
            Expr::Not(inner) => match inner.as_ref() {
                Expr::IsNull(inner) => format!("({} IS NOT NULL)", self.expr(inner)),
                other => format!("(NOT {})", self.bracketed(other)),
            },
            Expr::IsNull(inner) => format!("({} IS NULL)", self.expr(inner)),
            Expr::NotDistinct(left, right) => {
                format!("(NOT ({} IS DISTINCT FROM {}))", self.expr(left), self.expr(right))
            }
            Expr::Case { branches, otherwise } => {
                let branches: Vec<String> = branches
                    .iter()
                    .map(|(when, then)| format!("WHEN {} THEN {}", self.expr(when), self.expr(then)))
                    .collect();
                format!("CASE {} ELSE {} END", branches.join(" "), self.expr(otherwise))
            }
            Expr::Deep(deep) => with_stack(|| self.expr(deep.expr())),
            Expr::Coalesce(items) => format!("COALESCE({})", self.list(items)),
            Expr::InList { operand, list } => format!("({} IN ({}))", self.expr(operand), self.list(list)),
            Expr::Like { operand, pattern, case_insensitive } => {
                let symbol = if *case_insensitive { "~~*" } else { "~~" };
                format!("({} {symbol} {})", self.expr(operand), self.expr(pattern))
            }
            Expr::Cast { operand, to, .. } => format!("({})::{}", self.expr(operand), to.name()),
            Expr::Call { function: Function::CharToText, arguments } => {
                format!("({})::text", self.list(arguments))
            }
            Expr::Call { function: Function::EqualsAny | Function::EqualsSorted, arguments } => {
                match arguments.as_slice() {
                    [wanted, array] => format!("({} = ANY ({}))", self.expr(wanted), self.expr(array)),
                    _ => self.list(arguments),
                }
            }
            Expr::Element { array, .. } if self.is_activity(array) => self.expr(array),
            Expr::Element { array, index } => format!("({})[{}]", self.expr(array), self.expr(index)),
            Expr::Array { items, .. } => format!("ARRAY[{}]", self.list(items)),
            Expr::Routine { callee, arguments } => format!("routine {callee}({})", self.list(arguments)),
            Expr::Call { function, arguments } => {
                format!("{}({})", snake_case(&format!("{function:?}")), self.list(arguments))
            }
        }
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (at, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

/// A constant as PostgreSQL's deparser prints it.
fn constant(value: &Value) -> String {
    let Some(sql_type) = value.sql_type() else { return "NULL".to_owned() };
    let mut bytes = Vec::new();
    text::write(value, sql_type, &TimeZone::UTC, &mut bytes);
    let shown = String::from_utf8_lossy(&bytes);
    match sql_type {
        SqlType::Boolean => if shown == "t" { "true" } else { "false" }.to_owned(),
        SqlType::Integer => shown.into_owned(),
        SqlType::Numeric(_) if shown.contains('.') => shown.into_owned(),
        _ => format!("'{}'::{}", shown.replace('\'', "''"), sql_type.name()),
    }
}
