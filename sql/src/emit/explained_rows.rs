//! Describes, for EXPLAIN, queries whose rows are read like a table's: those in FROM and of WITH, and the
//! sides of UNION, INTERSECT and EXCEPT.

use sqlparser::ast::SetOperator;

use super::Compiler;
use crate::bind::tree::{DerivedTable, QueryBody};
use crate::explain::PlanNode;

/// The structure of a body. The plans of its SELECTs become available while it is compiled, in order.
pub(super) enum Shape {
    Select,
    /// Rows without a plan of their own, and their title in the output.
    Rows(Option<&'static str>),
    Both(String, Box<[Shape; 2]>),
}

impl Shape {
    pub(super) fn of(body: &QueryBody) -> Shape {
        match body {
            QueryBody::Select(_) => Shape::Select,
            QueryBody::Values(_) => Shape::Rows(Some("Values Scan on \"*VALUES*\"")),
            QueryBody::System(_) => Shape::Rows(None),
            QueryBody::Both { operator, is_all, sides } => {
                let title = match (operator, is_all) {
                    (SetOperator::Union, true) => "Append".to_owned(),
                    (SetOperator::Union, false) => "HashSetOp Union".to_owned(),
                    (SetOperator::Intersect, false) => "HashSetOp Intersect".to_owned(),
                    (SetOperator::Intersect, true) => "HashSetOp Intersect All".to_owned(),
                    (_, false) => "HashSetOp Except".to_owned(),
                    (_, true) => "HashSetOp Except All".to_owned(),
                };
                Shape::Both(title, Box::new(sides.each_ref().map(|side| Shape::of(&side.body))))
            }
        }
    }

    /// The plan of the body.
    pub(super) fn plan(self, plans: &mut dyn Iterator<Item = PlanNode>) -> Option<PlanNode> {
        match self {
            Shape::Select => plans.next(),
            Shape::Rows(title) => title.map(PlanNode::new),
            Shape::Both(title, sides) => {
                let mut node = PlanNode::new(title);
                for side in *sides {
                    match side.plan(plans) {
                        // Appending is associative, whatever the parentheses.
                        Some(inner) if node.title == "Append" && inner.title == "Append" => {
                            node.children.extend(inner.children);
                        }
                        side => node.children.extend(side),
                    }
                }
                Some(node)
            }
        }
    }
}

impl Compiler<'_> {
    /// The plans underneath the scan of a query's rows.
    pub(super) fn plans_below(&self, derived: &DerivedTable) -> Vec<PlanNode> {
        let plan_of = |query: u16| {
            let kept = self.kept_plans.iter().find(|(number, _)| *number == usize::from(query));
            kept.map(|(_, plan)| plan.clone())
        };
        match derived.recursion {
            None => plan_of(derived.query).into_iter().collect(),
            Some((step, _)) => {
                let mut node = PlanNode::new("Recursive Union");
                node.children = [plan_of(derived.query), plan_of(step)].into_iter().flatten().collect();
                vec![node]
            }
        }
    }
}
