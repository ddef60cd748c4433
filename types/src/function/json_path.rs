//! Evaluates SQL/JSON paths over jsonb values.
//!
//! Errors are of two kinds: those of the path, which a predicate takes for unknown and `silent` for the end
//! of the items, and all others.
//!
//! Reference: jsonpath_exec.c of PostgreSQL 15.

mod compare;
mod methods;
mod run;

use super::{Function, mismatch};
use crate::collect::List;
use crate::environment::Environment;
use crate::error::{Error, Result, SqlState, sqlstate};
use crate::json::{Builder, Jsonb, Node, RawNode};
use crate::json_path::JsonPath;
use crate::value::{ArrayElement, Value};
use run::Run;

/// A part of a value.
#[derive(Clone)]
struct Item {
    /// Where its bytes are.
    owner: Jsonb,
    start: usize,
    end: usize,
    /// Which value it is a part of, in the numbers of objects that keyvalue() gives.
    base: u64,
}

impl Item {
    fn of(owner: Jsonb, base: u64) -> Item {
        let end = owner.as_bytes().len();
        Item { owner, start: 0, end, base }
    }

    /// A value that is built at once.
    fn made(build: impl FnOnce(&mut Builder) -> Result<()>) -> Result<Item> {
        let mut builder = Builder::default();
        build(&mut builder)?;
        Ok(Item::of(builder.finish()?, 0))
    }

    fn raw(&self) -> RawNode<'_> {
        RawNode::of(&self.owner.as_bytes()[self.start..self.end])
    }

    fn node(&self) -> Node<'_> {
        self.raw().node()
    }

    /// A node that is a part of this one.
    fn part(&self, node: RawNode<'_>) -> Item {
        let start = node.bytes().as_ptr() as usize - self.owner.as_bytes().as_ptr() as usize;
        Item { owner: self.owner.clone(), start, end: start + node.bytes().len(), base: self.base }
    }

    fn is_array(&self) -> bool {
        matches!(self.node(), Node::Array(_))
    }

    /// The items of an array, or the values of an object.
    fn children(&self) -> Result<Vec<Item>> {
        let mut children = List::default();
        match self.node() {
            Node::Array(items) => items.into_iter().try_for_each(|item| children.push(self.part(item)))?,
            Node::Object(members) => {
                members.into_iter().try_for_each(|(_, value)| children.push(self.part(value)))?;
            }
            _ => {}
        }
        Ok(children.into_vec())
    }
}

/// Why an evaluation has ended.
enum Failure {
    /// The path does not fit the value.
    Path(Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

type Outcome<T> = std::result::Result<T, Failure>;

fn path_error<T>(state: SqlState, message: impl Into<String>) -> Outcome<T> {
    Err(Failure::Path(Error::input(state, message.into())))
}

/// The items that a path finds.
#[derive(Default)]
struct Found {
    /// Whether the first item ends the search.
    is_test: bool,
    items: List<Item>,
}

/// What a call gives besides the value and the path.
struct Given<'a> {
    variables: Option<&'a Jsonb>,
    is_silent: bool,
}

fn given(rest: &[Value]) -> Option<Given<'_>> {
    Some(match rest {
        [] => Given { variables: None, is_silent: false },
        [Value::Jsonb(variables)] => Given { variables: Some(variables), is_silent: false },
        [Value::Jsonb(variables), Value::Boolean(is_silent)] => {
            Given { variables: Some(variables), is_silent: *is_silent }
        }
        _ => return None,
    })
}

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let [Value::Jsonb(value), Value::Text(path), rest @ ..] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let Some(mut given) = given(rest) else { return Err(mismatch(function, arguments)) };
    given.is_silent |= matches!(function, Function::JsonPathMatchesQuietly | Function::JsonPathExistsQuietly);
    let path = JsonPath::parse(path)?;
    let tests = matches!(function, Function::JsonPathExists | Function::JsonPathExistsQuietly);
    let mut found = Found { is_test: tests && path.is_lax, items: List::default() };
    let mut run = Run::new(&path, value, given.variables)?;
    let outcome = match run.all(&mut found) {
        Err(Failure::Path(error)) if !given.is_silent => return Err(error),
        Err(Failure::Other(error)) => return Err(error),
        Err(Failure::Path(_)) => None,
        Ok(has_found) => Some(has_found),
    };
    let items = found.items.into_vec();
    match function {
        Function::JsonPathExists | Function::JsonPathExistsQuietly => {
            let exists = |has_found| Value::Boolean(if path.is_lax { has_found } else { !items.is_empty() });
            Ok(outcome.map_or(Value::Null, exists))
        }
        Function::JsonPathMatches | Function::JsonPathMatchesQuietly => match items.as_slice() {
            [only] if matches!(only.node(), Node::Null) => Ok(Value::Null),
            [only] if matches!(only.node(), Node::Boolean(_)) => {
                Ok(Value::Boolean(matches!(only.node(), Node::Boolean(true))))
            }
            _ if given.is_silent => Ok(Value::Null),
            _ => {
                let state = sqlstate::SINGLETON_SQL_JSON_ITEM_REQUIRED;
                Err(Error::input(state, "single boolean result is expected"))
            }
        },
        Function::JsonPathFirst => items.first().map_or(Ok(Value::Null), whole),
        Function::JsonPathArray => {
            let mut builder = Builder::default();
            builder.begin_array()?;
            items.iter().try_for_each(|item| builder.node(item.raw()))?;
            builder.end()?;
            builder.finish().map(Value::Jsonb)
        }
        _ => {
            let mut values = List::default();
            for item in &items {
                values.push(whole(item)?)?;
            }
            Ok(Value::array(ArrayElement::Jsonb, values.into_vec()))
        }
    }
}

/// An item as a value of its own.
fn whole(item: &Item) -> Result<Value> {
    let mut builder = Builder::default();
    builder.node(item.raw())?;
    builder.finish().map(Value::Jsonb)
}
