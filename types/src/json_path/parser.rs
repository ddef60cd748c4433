//! From the text of a path to its nodes.

use super::lexer::{Lexer, Token};
use super::{JsonPath, NodeId, PathKind, PathMethod, PathNode, PathOperator, PathStep, RegexFlags};
use crate::collect::List;
use crate::error::{Error, Result, sqlstate};
use crate::numeric;

/// How deep expressions nest at most.
const DEEPEST: u32 = 5000;

fn too_deep() -> Error {
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    nodes: List<PathNode>,
    /// How many expressions are being read, each in the one before.
    depth: u32,
    /// Whether `@` and `last` mean something here.
    filters: u32,
    subscripts: u32,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// 42601, 54001.
    pub(crate) fn parse(text: &str) -> Result<JsonPath> {
        let lexer = Lexer::new(text)?;
        let mut parser = Parser { lexer, nodes: List::default(), depth: 0, filters: 0, subscripts: 0 };
        if parser.lexer.token == Token::End {
            let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
            return Err(Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message));
        }
        let is_lax = match parser.keyword() {
            Some("strict") => {
                parser.lexer.next()?;
                false
            }
            Some("lax") => {
                parser.lexer.next()?;
                true
            }
            _ => true,
        };
        let root = parser.expression(0)?;
        match parser.lexer.token {
            Token::End => Ok(JsonPath { is_lax, root, nodes: parser.nodes.into_vec() }),
            _ => Err(parser.error()),
        }
    }
}

const KEYWORDS: [&str; 22] = [
    "is",
    "to",
    "abs",
    "lax",
    "flag",
    "last",
    "null",
    "size",
    "true",
    "type",
    "with",
    "false",
    "floor",
    "double",
    "exists",
    "starts",
    "strict",
    "ceiling",
    "unknown",
    "datetime",
    "keyvalue",
    "like_regex",
];

/// Keywords that are none in upper case.
const LOWER_CASE: [&str; 3] = ["null", "true", "false"];

impl Parser<'_> {
    fn error(&self) -> Error {
        self.lexer.error("syntax error")
    }

    /// The keyword that the current token is.
    fn keyword(&self) -> Option<&'static str> {
        let Token::Name(name) = &self.lexer.token else { return None };
        let known = KEYWORDS.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
        (known == name || !LOWER_CASE.contains(&known)).then_some(known)
    }

    fn accept_keyword(&mut self, word: &str) -> Result<bool> {
        let is_it = self.keyword() == Some(word);
        if is_it {
            self.lexer.next()?;
        }
        Ok(is_it)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.lexer.token, Token::Sign(own) if own == sign)
    }

    fn accept(&mut self, sign: &str) -> Result<bool> {
        let is_it = self.is_sign(sign);
        if is_it {
            self.lexer.next()?;
        }
        Ok(is_it)
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.accept(sign)? { Ok(()) } else { Err(self.error()) }
    }

    fn add(&mut self, kind: PathKind) -> Result<NodeId> {
        let inner = kind.inner().into_iter().flatten().map(|id| self.nodes[id].depth).max();
        let depth = 1 + inner.unwrap_or(0);
        if depth > DEEPEST {
            return Err(too_deep());
        }
        self.nodes.push(PathNode { kind, steps: Vec::new(), depth })?;
        Ok(self.nodes.len() - 1)
    }

    fn is_predicate(&self, id: NodeId) -> bool {
        self.nodes[id].steps.is_empty() && self.nodes[id].kind.is_predicate()
    }

    /// A predicate, where nothing else can stand.
    fn predicate(&mut self) -> Result<NodeId> {
        let id = self.expression(0)?;
        if self.is_predicate(id) { Ok(id) } else { Err(self.error()) }
    }

    /// An expression that is no predicate.
    fn value(&mut self) -> Result<NodeId> {
        let id = self.expression(3)?;
        if self.is_predicate(id) { Err(self.error()) } else { Ok(id) }
    }

    /// An expression of operators of at least this priority.
    fn expression(&mut self, least: u8) -> Result<NodeId> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep());
        }
        let read = stacker::maybe_grow(64 << 10, 1 << 20, || self.operations(least));
        self.depth -= 1;
        read
    }

    fn operations(&mut self, least: u8) -> Result<NodeId> {
        let mut left = self.unary()?;
        loop {
            let Some(operator) = self.operator()? else {
                match self.keyword() {
                    Some("like_regex") if least <= 2 && !self.is_predicate(left) => {
                        left = self.like_regex(left)?;
                        continue;
                    }
                    _ => return Ok(left),
                }
            };
            let priority = operator.priority();
            if priority < least {
                return Ok(left);
            }
            // Predicates are combined, everything else is computed with and compared.
            if self.is_predicate(left) != (priority < 2) {
                return Err(self.error());
            }
            self.skip_operator(operator)?;
            let right = match operator {
                PathOperator::StartsWith => self.initial()?,
                _ => self.expression(priority + 1)?,
            };
            if self.is_predicate(right) != (priority < 2) {
                return Err(self.error());
            }
            left = self.add(PathKind::Binary(operator, left, right))?;
        }
    }

    /// The operator that comes next.
    fn operator(&self) -> Result<Option<PathOperator>> {
        if self.keyword() == Some("starts") {
            return Ok(Some(PathOperator::StartsWith));
        }
        let Token::Sign(sign) = self.lexer.token else { return Ok(None) };
        Ok(Some(match sign {
            "||" => PathOperator::Or,
            "&&" => PathOperator::And,
            "==" => PathOperator::Equal,
            "!=" | "<>" => PathOperator::NotEqual,
            "<" => PathOperator::Less,
            ">" => PathOperator::Greater,
            "<=" => PathOperator::LessEqual,
            ">=" => PathOperator::GreaterEqual,
            "+" => PathOperator::Add,
            "-" => PathOperator::Subtract,
            "*" => PathOperator::Multiply,
            "/" => PathOperator::Divide,
            "%" => PathOperator::Modulo,
            _ => return Ok(None),
        }))
    }

    fn skip_operator(&mut self, operator: PathOperator) -> Result<()> {
        self.lexer.next()?;
        if operator == PathOperator::StartsWith && !self.accept_keyword("with")? {
            return Err(self.error());
        }
        Ok(())
    }

    /// What stands after `starts with`.
    fn initial(&mut self) -> Result<NodeId> {
        match &self.lexer.token {
            Token::String(_) | Token::Variable(_) => match self.lexer.next()? {
                Token::String(text) => self.add(PathKind::String(text)),
                Token::Variable(name) => self.add(PathKind::Variable(name)),
                _ => Err(self.error()),
            },
            _ => Err(self.error()),
        }
    }

    fn like_regex(&mut self, value: NodeId) -> Result<NodeId> {
        self.lexer.next()?;
        let pattern = self.string()?;
        let flags = match self.accept_keyword("flag")? {
            true => flags(&self.string()?)?,
            false => RegexFlags::default(),
        };
        self.add(PathKind::LikeRegex { value, pattern, flags })
    }

    fn string(&mut self) -> Result<String> {
        match &self.lexer.token {
            Token::String(_) => match self.lexer.next()? {
                Token::String(text) => Ok(text),
                _ => Err(self.error()),
            },
            _ => Err(self.error()),
        }
    }

    fn unary(&mut self) -> Result<NodeId> {
        if self.is_sign("+") || self.is_sign("-") {
            let is_minus = self.is_sign("-");
            self.lexer.next()?;
            let operand = self.expression(5)?;
            if self.is_predicate(operand) {
                return Err(self.error());
            }
            let node = &mut self.nodes[operand];
            return match &mut node.kind {
                PathKind::Number(number) if node.steps.is_empty() => {
                    if is_minus {
                        *number = numeric::negate(number);
                    }
                    Ok(operand)
                }
                _ if is_minus => self.add(PathKind::Minus(operand)),
                _ => self.add(PathKind::Plus(operand)),
            };
        }
        if self.accept("!")? {
            let operand = self.primary()?;
            let is_delimited = self.is_predicate(operand);
            return if is_delimited { self.add(PathKind::Not(operand)) } else { Err(self.error()) };
        }
        let id = self.primary()?;
        self.steps(id)
    }

    /// What an expression begins with.
    fn primary(&mut self) -> Result<NodeId> {
        let keyword = self.keyword();
        if keyword == Some("exists") {
            self.lexer.next()?;
            self.expect("(")?;
            let operand = self.value()?;
            self.expect(")")?;
            return self.add(PathKind::Exists(operand));
        }
        if self.accept("(")? {
            let inner = self.expression(0)?;
            self.expect(")")?;
            if self.is_predicate(inner) && self.accept_keyword("is")? {
                return match self.accept_keyword("unknown")? {
                    true => self.add(PathKind::IsUnknown(inner)),
                    false => Err(self.error()),
                };
            }
            return Ok(inner);
        }
        let kind = match &self.lexer.token {
            Token::Sign("$") => PathKind::Root,
            Token::Sign("@") if self.filters == 0 => {
                return Err(Error::input(sqlstate::SYNTAX_ERROR, "@ is not allowed in root expressions"));
            }
            Token::Sign("@") => PathKind::Current,
            Token::String(text) => PathKind::String(text.clone()),
            Token::Variable(name) => PathKind::Variable(name.clone()),
            Token::Integer(text) | Token::Number(text) => PathKind::Number(numeric::parse(text)?),
            _ => match keyword {
                Some("null") => PathKind::Null,
                Some("true") => PathKind::Boolean(true),
                Some("false") => PathKind::Boolean(false),
                Some("last") if self.subscripts == 0 => {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
                }
                Some("last") => PathKind::Last,
                _ => return Err(self.error()),
            },
        };
        self.lexer.next()?;
        self.add(kind)
    }

    /// What is done with the items of an expression.
    fn steps(&mut self, id: NodeId) -> Result<NodeId> {
        loop {
            let step = if self.accept(".")? {
                self.after_dot()?
            } else if self.accept("[")? {
                self.subscript()?
            } else if self.accept("?")? {
                self.expect("(")?;
                self.filters += 1;
                let predicate = self.predicate()?;
                self.filters -= 1;
                self.expect(")")?;
                PathStep::Filter(predicate)
            } else {
                return Ok(id);
            };
            let inner: u32 = match &step {
                PathStep::Filter(predicate) => self.nodes[*predicate].depth,
                PathStep::Items(items) => {
                    let ends = items.iter().flat_map(|(from, to)| [Some(*from), *to]).flatten();
                    ends.map(|end| self.nodes[end].depth).max().unwrap_or(0)
                }
                _ => 0,
            };
            let node = &mut self.nodes[id];
            node.depth = node.depth.max(inner + 1);
            if node.depth > DEEPEST {
                return Err(too_deep());
            }
            node.steps.push(step);
        }
    }

    fn subscript(&mut self) -> Result<PathStep> {
        if self.accept("*")? {
            self.expect("]")?;
            return Ok(PathStep::AnyItem);
        }
        self.subscripts += 1;
        let mut items = Vec::new();
        loop {
            let from = self.value()?;
            let to = if self.accept_keyword("to")? { Some(self.value()?) } else { None };
            items.push((from, to));
            if !self.accept(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(PathStep::Items(items))
    }

    fn after_dot(&mut self) -> Result<PathStep> {
        if self.accept("*")? {
            return Ok(PathStep::AnyMember);
        }
        if self.accept("**")? {
            return self.levels();
        }
        let name = match &self.lexer.token {
            Token::Name(name) | Token::String(name) => name.clone(),
            _ => return Err(self.error()),
        };
        let keyword = self.keyword();
        self.lexer.next()?;
        if !self.is_sign("(") {
            return Ok(PathStep::Member(name));
        }
        let method = match keyword {
            Some("abs") => PathMethod::Abs,
            Some("size") => PathMethod::Size,
            Some("type") => PathMethod::Type,
            Some("floor") => PathMethod::Floor,
            Some("double") => PathMethod::Double,
            Some("ceiling") => PathMethod::Ceiling,
            Some("keyvalue") => PathMethod::KeyValue,
            Some("datetime") => {
                self.lexer.next()?;
                let template = if self.is_sign(")") { None } else { Some(self.string()?) };
                self.expect(")")?;
                return Ok(PathStep::Method(PathMethod::Datetime(template)));
            }
            _ => return Err(self.error()),
        };
        self.lexer.next()?;
        self.expect(")")?;
        Ok(PathStep::Method(method))
    }

    /// `**`, `**{2}`, `**{2 to last}`.
    fn levels(&mut self) -> Result<PathStep> {
        if !self.accept("{")? {
            return Ok(PathStep::Descendants(Some(0), None));
        }
        let from = self.level()?;
        let to = if self.accept_keyword("to")? { self.level()? } else { from };
        self.expect("}")?;
        Ok(PathStep::Descendants(from, to))
    }

    fn level(&mut self) -> Result<Option<u32>> {
        if self.accept_keyword("last")? {
            return Ok(None);
        }
        let Token::Integer(text) = &self.lexer.token else { return Err(self.error()) };
        let Ok(level) = text.parse::<i32>() else {
            let message = format!("value \"{text}\" is out of range for type integer");
            return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
        };
        self.lexer.next()?;
        Ok(u32::try_from(level).ok())
    }
}

fn flags(letters: &str) -> Result<RegexFlags> {
    let mut flags = RegexFlags::default();
    let mut is_expanded = false;
    for letter in letters.chars() {
        match letter {
            'i' => flags.ignores_case = true,
            's' => flags.dot_matches_all = true,
            'm' => flags.is_of_lines = true,
            'x' => is_expanded = true,
            'q' => flags.is_quoted = true,
            other => {
                let detail = format!("Unrecognized flag character \"{other}\" in LIKE_REGEX predicate.");
                let message = "invalid input syntax for type jsonpath";
                return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_detail(detail));
            }
        }
    }
    if is_expanded && !flags.is_quoted {
        let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(RegexFlags { is_expanded, ..flags })
}
