//! Predicates: true, false, or unknown (`None`).

use super::run::{Run, number_of};
use super::{Failure, Item, Outcome};
use crate::error::Result;
use crate::function::regular_expression::{self, Options};
use crate::guest;
use crate::json::Node;
use crate::json_path::{NodeId, PathKind, PathOperator, RegexFlags};
use crate::numeric;

/// What is tested with a pair of items, or with one.
#[derive(Clone, Copy)]
enum Test<'p> {
    Order(PathOperator),
    StartsWith,
    Matches(&'p str, RegexFlags),
}

/// The outcome of a part; `None` for an error of the path.
fn known<T>(outcome: Outcome<T>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Failure::Path(_)) => Ok(None),
        Err(Failure::Other(error)) => Err(error),
    }
}

impl Run<'_> {
    pub(super) fn predicate(&mut self, node: NodeId, item: &Item) -> Result<Option<bool>> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.truth(node, item))
    }

    fn truth(&mut self, node: NodeId, item: &Item) -> Result<Option<bool>> {
        let path = self.path;
        match &path.node(node).kind {
            PathKind::Binary(PathOperator::And, left, right) => {
                let left = self.predicate(*left, item)?;
                if left == Some(false) {
                    return Ok(left);
                }
                let right = self.predicate(*right, item)?;
                Ok(if right == Some(true) { left } else { right })
            }
            PathKind::Binary(PathOperator::Or, left, right) => {
                let left = self.predicate(*left, item)?;
                if left == Some(true) {
                    return Ok(left);
                }
                let right = self.predicate(*right, item)?;
                Ok(if right == Some(false) { left } else { right })
            }
            PathKind::Not(operand) => Ok(self.predicate(*operand, item)?.map(|truth| !truth)),
            PathKind::IsUnknown(operand) => Ok(Some(self.predicate(*operand, item)?.is_none())),
            PathKind::Exists(operand) => known(self.finds(*operand, item)),
            PathKind::Binary(PathOperator::StartsWith, left, right) => {
                self.tested(Test::StartsWith, (*left, Some((*right, false))), item)
            }
            PathKind::Binary(operator, left, right) => {
                self.tested(Test::Order(*operator), (*left, Some((*right, true))), item)
            }
            PathKind::LikeRegex { value, pattern, flags } => {
                self.tested(Test::Matches(pattern, *flags), (*value, None), item)
            }
            _ => Ok(None),
        }
    }

    /// Whether the test holds for some pair. In strict mode all pairs are tested.
    fn tested(
        &mut self,
        test: Test<'_>,
        (left, right): (NodeId, Option<(NodeId, bool)>),
        item: &Item,
    ) -> Result<Option<bool>> {
        let Some(left) = known(self.items_of(left, item, true))? else { return Ok(None) };
        let right = match right {
            None => None,
            Some((right, unwraps)) => match known(self.items_of(right, item, unwraps))? {
                Some(right) => Some(right),
                None => return Ok(None),
            },
        };
        let (mut is_unknown, mut holds) = (false, false);
        for one in &left {
            let single = std::slice::from_ref(one);
            for other in right.as_deref().unwrap_or(single) {
                guest::spend_for(1)?;
                match test.holds(one, other)? {
                    None if !self.path.is_lax => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if self.path.is_lax => return Ok(Some(true)),
                    Some(truth) => holds |= truth,
                }
            }
        }
        Ok(if holds { Some(true) } else { (!is_unknown).then_some(false) })
    }
}

impl Test<'_> {
    fn holds(self, one: &Item, other: &Item) -> Result<Option<bool>> {
        match (self, one.node(), other.node()) {
            (Test::StartsWith, Node::String(whole), Node::String(start)) => {
                Ok(Some(whole.starts_with(start)))
            }
            (Test::Matches(pattern, flags), Node::String(text), _) => {
                let options = Options::of(&flags.options())?;
                let text = std::str::from_utf8(text).unwrap_or_default();
                regular_expression::is_match(text, pattern, options).map(Some)
            }
            (Test::Order(operator), ..) => Ok(ordered(operator, one, other)),
            _ => Ok(None),
        }
    }
}

fn ordered(operator: PathOperator, one: &Item, other: &Item) -> Option<bool> {
    let order = match (one.node(), other.node()) {
        (Node::Null, Node::Null) => std::cmp::Ordering::Equal,
        (Node::Null, _) | (_, Node::Null) => return Some(operator == PathOperator::NotEqual),
        (Node::Boolean(one), Node::Boolean(other)) => one.cmp(&other),
        (Node::Number(_), Node::Number(_)) => numeric::compare(&number_of(one), &number_of(other)),
        (Node::String(one), Node::String(other)) => one.cmp(other),
        _ => return None,
    };
    Some(match operator {
        PathOperator::Equal => order.is_eq(),
        PathOperator::NotEqual => order.is_ne(),
        PathOperator::Less => order.is_lt(),
        PathOperator::Greater => order.is_gt(),
        PathOperator::LessEqual => order.is_le(),
        _ => order.is_ge(),
    })
}
