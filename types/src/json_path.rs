//! The language of SQL/JSON paths: its syntax, and the type jsonpath.
//!
//! A value of the type is the text of a path in the form in which PostgreSQL prints it. A [`JsonPath`] is
//! that text, read. `function::json_path` evaluates it.
//!
//! The nodes of a path are in one list and refer to each other by their numbers, so that a path that a client
//! has nested deeply needs no stack to be dropped.
//!
//! Why not a crate: those that exist count with double precision and know no limits on memory and time.
//!
//! Reference: jsonpath_scan.l, jsonpath_gram.y and jsonpath.c of PostgreSQL 15.

mod lexer;
mod parser;
mod shown;

use crate::numeric::Numeric;

/// The number of a node.
pub(crate) type NodeId = usize;

/// A path.
#[derive(Debug)]
pub(crate) struct JsonPath {
    /// Whether it ignores what does not fit the structure of the value, and unwraps arrays.
    pub(crate) is_lax: bool,
    pub(crate) root: NodeId,
    nodes: Vec<PathNode>,
}

impl JsonPath {
    pub(crate) fn node(&self, id: NodeId) -> &PathNode {
        &self.nodes[id]
    }
}

/// An expression: what it begins with, and what is done with each item of that, one after the other.
#[derive(Debug)]
pub(crate) struct PathNode {
    pub(crate) kind: PathKind,
    pub(crate) steps: Vec<PathStep>,
    /// One more than that of the nodes in it.
    depth: u32,
}

#[derive(Debug)]
pub(crate) enum PathKind {
    Root,
    Current,
    Last,
    Variable(String),
    Null,
    Boolean(bool),
    Number(Numeric),
    String(String),
    Binary(PathOperator, NodeId, NodeId),
    Plus(NodeId),
    Minus(NodeId),
    Not(NodeId),
    IsUnknown(NodeId),
    Exists(NodeId),
    LikeRegex { value: NodeId, pattern: String, flags: RegexFlags },
}

/// In the order of [`PathOperator::symbol`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathOperator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    StartsWith,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl PathOperator {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            PathOperator::Or => "||",
            PathOperator::And => "&&",
            PathOperator::Equal => "==",
            PathOperator::NotEqual => "!=",
            PathOperator::Less => "<",
            PathOperator::Greater => ">",
            PathOperator::LessEqual => "<=",
            PathOperator::GreaterEqual => ">=",
            PathOperator::StartsWith => "starts with",
            PathOperator::Add => "+",
            PathOperator::Subtract => "-",
            PathOperator::Multiply => "*",
            PathOperator::Divide => "/",
            PathOperator::Modulo => "%",
        }
    }

    /// Operators of a higher priority are applied first.
    fn priority(self) -> u8 {
        match self {
            PathOperator::Or => 0,
            PathOperator::And => 1,
            PathOperator::Add | PathOperator::Subtract => 3,
            PathOperator::Multiply | PathOperator::Divide | PathOperator::Modulo => 4,
            _ => 2,
        }
    }
}

impl PathKind {
    /// Whether its value is true, false or unknown.
    pub(crate) fn is_predicate(&self) -> bool {
        match self {
            PathKind::Binary(operator, ..) => operator.priority() < 3,
            PathKind::Not(_) | PathKind::IsUnknown(_) | PathKind::Exists(_) | PathKind::LikeRegex { .. } => {
                true
            }
            _ => false,
        }
    }

    fn priority(&self) -> u8 {
        match self {
            PathKind::Binary(operator, ..) => operator.priority(),
            PathKind::Plus(_) | PathKind::Minus(_) => 5,
            _ => 6,
        }
    }

    /// The nodes in it, apart from those in its steps.
    fn inner(&self) -> [Option<NodeId>; 2] {
        match *self {
            PathKind::Binary(_, left, right) => [Some(left), Some(right)],
            PathKind::Plus(one)
            | PathKind::Minus(one)
            | PathKind::Not(one)
            | PathKind::IsUnknown(one)
            | PathKind::Exists(one)
            | PathKind::LikeRegex { value: one, .. } => [Some(one), None],
            _ => [None, None],
        }
    }
}

#[derive(Debug)]
pub(crate) enum PathStep {
    Member(String),
    AnyMember,
    AnyItem,
    /// Single items, and ranges.
    Items(Vec<(NodeId, Option<NodeId>)>),
    /// Everything at these levels; `None`: at the last one.
    Descendants(Option<u32>, Option<u32>),
    Filter(NodeId),
    Method(PathMethod),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathMethod {
    Abs,
    Size,
    Type,
    Floor,
    Double,
    Ceiling,
    KeyValue,
    /// With its template, if it has one.
    Datetime(Option<String>),
}

impl PathMethod {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            PathMethod::Abs => "abs",
            PathMethod::Size => "size",
            PathMethod::Type => "type",
            PathMethod::Floor => "floor",
            PathMethod::Double => "double",
            PathMethod::Ceiling => "ceiling",
            PathMethod::KeyValue => "keyvalue",
            PathMethod::Datetime(_) => "datetime",
        }
    }
}

/// Those of like_regex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegexFlags {
    pub(crate) ignores_case: bool,
    /// Whether the dot and negated brackets match the ends of lines.
    pub(crate) dot_matches_all: bool,
    /// Whether `^` and `$` match at every line.
    pub(crate) is_of_lines: bool,
    pub(crate) is_quoted: bool,
    /// It is shown, and means nothing.
    is_expanded: bool,
}

impl RegexFlags {
    /// The options of PostgreSQL's regular expressions that mean the same.
    pub(crate) fn options(self) -> String {
        let case = if self.ignores_case { "i" } else { "" };
        let rest = match (self.is_quoted, self.dot_matches_all, self.is_of_lines) {
            (true, ..) => "q",
            (_, true, true) => "w",
            (_, true, false) => "s",
            (_, false, true) => "n",
            (_, false, false) => "p",
        };
        format!("{rest}{case}")
    }

    /// The letters that are written after `flag`.
    fn letters(self) -> String {
        let letters = [
            (self.ignores_case, 'i'),
            (self.dot_matches_all, 's'),
            (self.is_of_lines, 'm'),
            (self.is_expanded, 'x'),
            (self.is_quoted, 'q'),
        ];
        letters.into_iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect()
    }
}
