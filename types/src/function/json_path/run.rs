//! The walk along a path.

use super::{Failure, Found, Item, Outcome, path_error};
use crate::collect::List;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::json::{Builder, Jsonb, Node, number};
use crate::json_path::{JsonPath, NodeId, PathKind, PathOperator, PathStep};
use crate::numeric::{self, Numeric};

/// A place on a path: an expression, and how many parts of it have been followed. The first part is what it
/// begins with.
#[derive(Clone, Copy)]
pub(super) struct Place {
    node: NodeId,
    done: usize,
}

pub(super) struct Run<'p> {
    pub(super) path: &'p JsonPath,
    root: Item,
    variables: Option<Item>,
    /// What `@` is.
    current: Item,
    /// The size of the array whose subscript is computed.
    array_size: usize,
    /// Whether it is no error that something is missing.
    pub(super) ignores_missing: bool,
    /// The number of the next object that is made.
    pub(super) next_base: u64,
}

/// The levels of `**`.
#[derive(Clone, Copy)]
struct Levels {
    first: u32,
    last: u32,
    /// Whether what is missing below is ignored.
    ignores_missing: bool,
    /// Whether arrays among them are taken apart.
    unwraps: bool,
}

impl<'p> Run<'p> {
    pub(super) fn new(path: &'p JsonPath, value: &Jsonb, variables: Option<&Jsonb>) -> Result<Run<'p>> {
        let root = Item::of(value.clone(), 0);
        let variables = variables.map(|variables| Item::of(variables.clone(), 1));
        if variables.as_ref().is_some_and(|given| !matches!(given.node(), Node::Object(_))) {
            let message = "\"vars\" argument is not an object";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message).with_detail(
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
            ));
        }
        let next_base = if variables.is_some() { 2 } else { 1 };
        let (current, ignores_missing) = (root.clone(), path.is_lax);
        Ok(Run { path, root, variables, current, array_size: 0, ignores_missing, next_base })
    }

    /// Finds everything. Returns whether there is anything.
    pub(super) fn all(&mut self, found: &mut Found) -> Outcome<bool> {
        let root = self.root.clone();
        self.execute(Place { node: self.path.root, done: 0 }, &root, found, self.path.is_lax)
    }

    fn has_next(&self, place: Place) -> bool {
        place.done < self.path.node(place.node).steps.len()
    }

    /// Follows the next part of the path with an item, or adds it to what was found.
    pub(super) fn next(&mut self, place: Place, item: &Item, found: &mut Found) -> Outcome<bool> {
        if self.has_next(place) {
            let place = Place { done: place.done + 1, ..place };
            return self.execute(place, item, found, self.path.is_lax);
        }
        if !found.is_test {
            found.items.push(item.clone())?;
        }
        Ok(true)
    }

    /// Follows a part of the path. `unwraps`: whether an array is replaced by its items.
    fn execute(&mut self, place: Place, item: &Item, found: &mut Found, unwraps: bool) -> Outcome<bool> {
        guest::spend_for(1)?;
        stacker::maybe_grow(64 << 10, 1 << 20, || match place.done.checked_sub(1) {
            None => self.begin(place, item, found),
            Some(step) => self.step(place, step, item, found, unwraps),
        })
    }

    /// What an expression begins with.
    fn begin(&mut self, place: Place, item: &Item, found: &mut Found) -> Outcome<bool> {
        let path = self.path;
        match &path.node(place.node).kind {
            PathKind::Root => {
                let root = self.root.clone();
                self.next(place, &root, found)
            }
            PathKind::Current => {
                let current = self.current.clone();
                self.next(place, &current, found)
            }
            PathKind::Variable(name) => {
                let value = self.variable(name)?;
                self.next(place, &value, found)
            }
            PathKind::Binary(operator, left, right) if !path.node(place.node).kind.is_predicate() => {
                let value = self.computed(*operator, (*left, *right), item)?;
                self.next(place, &value, found)
            }
            PathKind::Plus(operand) => self.signed(place, *operand, false, item, found),
            PathKind::Minus(operand) => self.signed(place, *operand, true, item, found),
            kind if kind.is_predicate() => {
                let truth = self.predicate(place.node, item)?;
                let value = Item::made(|builder| match truth {
                    Some(truth) => builder.boolean(truth),
                    None => builder.null(),
                })?;
                self.next(place, &value, found)
            }
            kind => {
                let last = i64::try_from(self.array_size).unwrap_or(i64::MAX) - 1;
                let value = Item::made(|builder| match kind {
                    PathKind::Boolean(truth) => builder.boolean(*truth),
                    PathKind::String(text) => builder.string(text.as_bytes()),
                    PathKind::Number(value) => put_number(builder, value),
                    PathKind::Last => builder.number(&last.to_string()),
                    _ => builder.null(),
                })?;
                self.next(place, &value, found)
            }
        }
    }

    fn variable(&mut self, name: &str) -> Outcome<Item> {
        let Some(variables) = &self.variables else { return Ok(Item::made(Builder::null)?) };
        if let Node::Object(members) = variables.node() {
            let place = members.into_iter().position(|(key, _)| key == name.as_bytes());
            if let (Some(value), Some(place)) = (members.find(name.as_bytes()), place) {
                return Ok(Item { base: 1 + place as u64, ..variables.part(value) });
            }
        }
        let message = format!("could not find jsonpath variable \"{name}\"");
        Err(Failure::Other(Error::input(sqlstate::UNDEFINED_OBJECT, message)))
    }

    fn step(
        &mut self,
        place: Place,
        step: usize,
        item: &Item,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome<bool> {
        let path = self.path;
        match &path.node(place.node).steps[step] {
            PathStep::Member(name) => match item.node() {
                Node::Object(members) => match members.find(name.as_bytes()) {
                    Some(value) => {
                        let value = item.part(value);
                        self.next(place, &value, found)
                    }
                    None if self.ignores_missing => Ok(false),
                    None => {
                        let message = format!("JSON object does not contain key \"{name}\"");
                        path_error(sqlstate::SQL_JSON_MEMBER_NOT_FOUND, message)
                    }
                },
                Node::Array(_) if unwraps => self.unwrapped(place, item, found),
                _ => self.missing(
                    sqlstate::SQL_JSON_MEMBER_NOT_FOUND,
                    "jsonpath member accessor can only be applied to an object",
                ),
            },
            PathStep::AnyMember => match item.node() {
                Node::Object(_) => self.each(self.after(place), item, found, self.path.is_lax),
                Node::Array(_) if unwraps => self.unwrapped(place, item, found),
                _ => self.missing(
                    sqlstate::SQL_JSON_OBJECT_NOT_FOUND,
                    "jsonpath wildcard member accessor can only be applied to an object",
                ),
            },
            PathStep::AnyItem if item.is_array() => {
                self.each(self.after(place), item, found, self.path.is_lax)
            }
            PathStep::AnyItem if self.path.is_lax => self.next(place, item, found),
            PathStep::AnyItem => self.missing(
                sqlstate::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath wildcard array accessor can only be applied to an array",
            ),
            PathStep::Items(items) if item.is_array() || self.path.is_lax => {
                let around = self.array_size;
                let outcome = self.subscripted(place, items, item, found);
                self.array_size = around;
                outcome
            }
            PathStep::Items(_) => self.missing(
                sqlstate::SQL_JSON_ARRAY_NOT_FOUND,
                "jsonpath array accessor can only be applied to an array",
            ),
            PathStep::Descendants(first, last) => self.descendants(place, (*first, *last), item, found),
            PathStep::Filter(_) if unwraps && item.is_array() => self.unwrapped(place, item, found),
            PathStep::Filter(predicate) => {
                let around = std::mem::replace(&mut self.current, item.clone());
                let truth = self.predicate(*predicate, item);
                self.current = around;
                if truth? == Some(true) { self.next(place, item, found) } else { Ok(false) }
            }
            PathStep::Method(method) => self.method(place, method, item, found, unwraps),
        }
    }

    /// The place that follows, if there is one.
    fn after(&self, place: Place) -> Option<Place> {
        self.has_next(place).then_some(Place { done: place.done + 1, ..place })
    }

    pub(super) fn missing(&self, state: crate::error::SqlState, message: &str) -> Outcome<bool> {
        if self.ignores_missing { Ok(false) } else { path_error(state, message) }
    }

    /// Follows the path from here with every item of an array.
    pub(super) fn unwrapped(&mut self, place: Place, array: &Item, found: &mut Found) -> Outcome<bool> {
        self.each(Some(place), array, found, false)
    }

    /// The same with everything in a container. Without a place they are found themselves.
    fn each(
        &mut self,
        place: Option<Place>,
        container: &Item,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome<bool> {
        let levels = Levels { first: 1, last: 1, ignores_missing: false, unwraps };
        self.below(place, container, found, (1, levels))
    }

    fn below(
        &mut self,
        place: Option<Place>,
        container: &Item,
        found: &mut Found,
        (level, levels): (u32, Levels),
    ) -> Outcome<bool> {
        let mut has_found = false;
        if level > levels.last {
            return Ok(false);
        }
        let only_leaves = levels.first == u32::MAX && levels.last == u32::MAX;
        for child in container.children()? {
            let is_container = child.raw().is_container();
            if level >= levels.first || (only_leaves && !is_container) {
                match place {
                    Some(place) => {
                        let around = self.ignores_missing;
                        self.ignores_missing |= levels.ignores_missing;
                        let outcome = self.execute(place, &child, found, levels.unwraps);
                        self.ignores_missing = around;
                        has_found = outcome?;
                    }
                    None if found.is_test => return Ok(true),
                    None => found.items.push(child.clone())?,
                }
                if has_found && found.is_test {
                    return Ok(true);
                }
            }
            if level < levels.last && is_container {
                has_found = stacker::maybe_grow(64 << 10, 1 << 20, || {
                    self.below(place, &child, found, (level + 1, levels))
                })?;
                if has_found && found.is_test {
                    return Ok(true);
                }
            }
        }
        Ok(has_found)
    }

    fn descendants(
        &mut self,
        place: Place,
        (first, last): (Option<u32>, Option<u32>),
        item: &Item,
        found: &mut Found,
    ) -> Outcome<bool> {
        let mut has_found = false;
        if first == Some(0) {
            let around = std::mem::replace(&mut self.ignores_missing, true);
            let outcome = self.next(place, item, found);
            self.ignores_missing = around;
            has_found = outcome?;
            if has_found && found.is_test {
                return Ok(true);
            }
        }
        if !item.raw().is_container() {
            return Ok(has_found);
        }
        let (first, last) = (first.unwrap_or(u32::MAX), last.unwrap_or(u32::MAX));
        let levels = Levels { first, last, ignores_missing: true, unwraps: self.path.is_lax };
        self.below(self.after(place), item, found, (1, levels))
    }

    fn subscripted(
        &mut self,
        place: Place,
        subscripts: &[(NodeId, Option<NodeId>)],
        item: &Item,
        found: &mut Found,
    ) -> Outcome<bool> {
        // In lax mode anything else is an array of one item.
        let items = if item.is_array() { item.children()? } else { vec![item.clone()] };
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        self.array_size = items.len();
        let mut has_found = false;
        for (from, to) in subscripts {
            let from = self.subscript(*from, item)?;
            let to = to.map_or(Ok(from), |to| self.subscript(to, item))?;
            if !self.ignores_missing && (from < 0 || from > to || to >= size) {
                let message = "jsonpath array subscript is out of bounds";
                return path_error(sqlstate::INVALID_SQL_JSON_SUBSCRIPT, message);
            }
            has_found = false;
            for at in from.max(0)..=to.min(size - 1) {
                let Some(one) = usize::try_from(at).ok().and_then(|at| items.get(at)) else { continue };
                has_found = self.next(place, one, found)?;
                if has_found && found.is_test {
                    return Ok(true);
                }
            }
        }
        Ok(has_found)
    }

    fn subscript(&mut self, node: NodeId, item: &Item) -> Outcome<i64> {
        let mut values = Found::default();
        self.execute(Place { node, done: 0 }, item, &mut values, self.path.is_lax)?;
        let [only] = &values.items[..] else { return not_a_subscript() };
        let Node::Number(digits) = only.node() else { return not_a_subscript() };
        let whole = numeric::truncate(&number(digits), 0)?;
        match numeric::to_i64(&whole).filter(|index| i32::try_from(*index).is_ok()) {
            Some(index) => Ok(index),
            None => {
                let message = "jsonpath array subscript is out of integer range";
                path_error(sqlstate::INVALID_SQL_JSON_SUBSCRIPT, message)
            }
        }
    }

    /// The items of an expression. `unwraps`: in lax mode arrays among them are replaced by their items.
    pub(super) fn items_of(&mut self, node: NodeId, item: &Item, unwraps: bool) -> Outcome<Vec<Item>> {
        let mut found = Found::default();
        self.execute(Place { node, done: 0 }, item, &mut found, self.path.is_lax)?;
        if !unwraps || !self.path.is_lax {
            return Ok(found.items.into_vec());
        }
        let mut unwrapped = List::default();
        for item in found.items.into_vec() {
            match item.is_array() {
                true => unwrapped.extend(item.children()?)?,
                false => unwrapped.push(item)?,
            }
        }
        Ok(unwrapped.into_vec())
    }

    /// Whether an expression finds anything. In strict mode everything is looked at.
    pub(super) fn finds(&mut self, node: NodeId, item: &Item) -> Outcome<bool> {
        let mut found = Found { is_test: self.path.is_lax, items: List::default() };
        let has_found = self.execute(Place { node, done: 0 }, item, &mut found, self.path.is_lax)?;
        Ok(if self.path.is_lax { has_found } else { !found.items.is_empty() })
    }

    fn computed(
        &mut self,
        operator: PathOperator,
        (left, right): (NodeId, NodeId),
        item: &Item,
    ) -> Outcome<Item> {
        let left = self.items_of(left, item, true)?;
        let right = self.items_of(right, item, true)?;
        let single = |items: &[Item], side: &str| match items {
            [only] if matches!(only.node(), Node::Number(_)) => Ok(number_of(only)),
            _ => {
                let symbol = operator.symbol();
                let message =
                    format!("{side} operand of jsonpath operator {symbol} is not a single numeric value");
                path_error(sqlstate::SINGLETON_SQL_JSON_ITEM_REQUIRED, message)
            }
        };
        let (left, right) = (single(&left, "left")?, single(&right, "right")?);
        let result = match operator {
            PathOperator::Add => numeric::add(&left, &right),
            PathOperator::Subtract => numeric::subtract(&left, &right),
            PathOperator::Multiply => numeric::multiply(&left, &right),
            PathOperator::Divide => numeric::divide(&left, &right),
            _ => numeric::modulo(&left, &right),
        };
        let result = result.map_err(of_arithmetic)?;
        Ok(Item::made(|builder| put_number(builder, &result))?)
    }

    fn signed(
        &mut self,
        place: Place,
        operand: NodeId,
        is_minus: bool,
        item: &Item,
        found: &mut Found,
    ) -> Outcome<bool> {
        let mut has_found = false;
        for value in self.items_of(operand, item, true)? {
            if !matches!(value.node(), Node::Number(_)) {
                if found.is_test && !self.has_next(place) {
                    continue;
                }
                let sign = if is_minus { "-" } else { "+" };
                let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                return path_error(sqlstate::SQL_JSON_NUMBER_NOT_FOUND, message);
            }
            let value = match is_minus {
                true => Item::made(|builder| put_number(builder, &numeric::negate(&number_of(&value))))?,
                false => value,
            };
            has_found |= self.next(place, &value, found)?;
            if has_found && found.is_test {
                return Ok(true);
            }
        }
        Ok(has_found)
    }
}

fn not_a_subscript<T>() -> Outcome<T> {
    let message = "jsonpath array subscript is not a single numeric value";
    path_error(sqlstate::INVALID_SQL_JSON_SUBSCRIPT, message)
}

/// Errors of the user's are errors of the path.
pub(super) fn of_arithmetic(error: Error) -> Failure {
    match error {
        Error::Input(_) => Failure::Path(error),
        other => Failure::Other(other),
    }
}

/// The number that an item is.
pub(super) fn number_of(item: &Item) -> Numeric {
    match item.node() {
        Node::Number(digits) => number(digits),
        _ => Numeric::NaN,
    }
}

pub(super) fn put_number(builder: &mut Builder, value: &Numeric) -> Result<()> {
    // Bounded: by the length of a numeric.
    let mut shown = Vec::new();
    numeric::write(value, &mut shown);
    builder.number(&String::from_utf8_lossy(&shown))
}
