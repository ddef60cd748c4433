//! The text of a path, as PostgreSQL prints it.

use super::{JsonPath, NodeId, PathKind, PathMethod, PathStep};
use crate::collect::{Bytes, Sink};
use crate::error::Result;
use crate::json::write_escaped;
use crate::numeric;

impl JsonPath {
    /// The text that stands for the path.
    pub(crate) fn shown(&self) -> Result<String> {
        let mut out = Bytes::default();
        if !self.is_lax {
            out.put(b"strict ")?;
        }
        self.write(self.root, true, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// `in_brackets`: whether an operation stands in parentheses.
    fn write(&self, id: NodeId, in_brackets: bool, out: &mut Bytes) -> Result<()> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.write_node(id, in_brackets, out))
    }

    /// An operand, in parentheses unless it binds more closely than what it is an operand of.
    fn write_operand(&self, id: NodeId, of: &PathKind, out: &mut Bytes) -> Result<()> {
        let in_brackets = self.node(id).kind.priority() <= of.priority();
        self.write(id, in_brackets, out)
    }

    fn write_node(&self, id: NodeId, in_brackets: bool, out: &mut Bytes) -> Result<()> {
        let node = self.node(id);
        let is_operation = matches!(
            node.kind,
            PathKind::Binary(..) | PathKind::LikeRegex { .. } | PathKind::Plus(_) | PathKind::Minus(_)
        );
        let is_number = matches!(node.kind, PathKind::Number(_)) && !node.steps.is_empty();
        let has_brackets = (is_operation && in_brackets) || is_number;
        if has_brackets {
            out.push(b'(')?;
        }
        self.write_kind(&node.kind, out)?;
        if has_brackets {
            out.push(b')')?;
        }
        node.steps.iter().try_for_each(|step| self.write_step(step, out))
    }

    fn write_kind(&self, kind: &PathKind, out: &mut Bytes) -> Result<()> {
        match kind {
            PathKind::Root => out.push(b'$'),
            PathKind::Current => out.push(b'@'),
            PathKind::Last => out.put(b"last"),
            PathKind::Variable(name) => {
                out.push(b'$')?;
                write_escaped(name.as_bytes(), out)
            }
            PathKind::Null => out.put(b"null"),
            PathKind::Boolean(truth) => out.put(if *truth { b"true" } else { b"false" }),
            PathKind::Number(number) => {
                // Bounded: by the length of a numeric.
                let mut shown = Vec::new();
                numeric::write(number, &mut shown);
                out.put(&shown)
            }
            PathKind::String(text) => write_escaped(text.as_bytes(), out),
            PathKind::Binary(operator, left, right) => {
                self.write_operand(*left, kind, out)?;
                out.push(b' ')?;
                out.put(operator.symbol().as_bytes())?;
                out.push(b' ')?;
                self.write_operand(*right, kind, out)
            }
            PathKind::Plus(operand) => {
                out.push(b'+')?;
                self.write_operand(*operand, kind, out)
            }
            PathKind::Minus(operand) => {
                out.push(b'-')?;
                self.write_operand(*operand, kind, out)
            }
            PathKind::Not(operand) => self.write_between(b"!(", *operand, b")", out),
            PathKind::IsUnknown(operand) => self.write_between(b"(", *operand, b") is unknown", out),
            PathKind::Exists(operand) => self.write_between(b"exists (", *operand, b")", out),
            PathKind::LikeRegex { value, pattern, flags } => {
                self.write_operand(*value, kind, out)?;
                out.put(b" like_regex ")?;
                write_escaped(pattern.as_bytes(), out)?;
                let letters = flags.letters();
                if !letters.is_empty() {
                    out.put(b" flag \"")?;
                    out.put(letters.as_bytes())?;
                    out.push(b'"')?;
                }
                Ok(())
            }
        }
    }

    fn write_between(&self, before: &[u8], inner: NodeId, after: &[u8], out: &mut Bytes) -> Result<()> {
        out.put(before)?;
        self.write(inner, false, out)?;
        out.put(after)
    }

    fn write_step(&self, step: &PathStep, out: &mut Bytes) -> Result<()> {
        match step {
            PathStep::Member(name) => {
                out.push(b'.')?;
                write_escaped(name.as_bytes(), out)
            }
            PathStep::AnyMember => out.put(b".*"),
            PathStep::AnyItem => out.put(b"[*]"),
            PathStep::Items(items) => {
                for (at, (from, to)) in items.iter().enumerate() {
                    out.push(if at == 0 { b'[' } else { b',' })?;
                    self.write(*from, false, out)?;
                    if let Some(to) = to {
                        out.put(b" to ")?;
                        self.write(*to, false, out)?;
                    }
                }
                out.push(b']')
            }
            PathStep::Descendants(from, to) => {
                let shown = |level: &Option<u32>| level.map_or("last".to_owned(), |level| level.to_string());
                let levels = match (from, to) {
                    (Some(0), None) => String::new(),
                    (from, to) if from == to => format!("{{{}}}", shown(from)),
                    (from, to) => format!("{{{} to {}}}", shown(from), shown(to)),
                };
                out.put(b".**")?;
                out.put(levels.as_bytes())
            }
            PathStep::Filter(predicate) => self.write_between(b"?(", *predicate, b")", out),
            PathStep::Method(method) => {
                out.push(b'.')?;
                out.put(method.name().as_bytes())?;
                out.push(b'(')?;
                if let PathMethod::Datetime(Some(template)) = method {
                    write_escaped(template.as_bytes(), out)?;
                }
                out.push(b')')
            }
        }
    }
}
