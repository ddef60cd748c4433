//! Windows: `OVER (base PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)` and
//! the clause `WINDOW name AS (...)`.
//!
//! sqlparser does not know EXCLUDE, takes a string at the beginning of a bound for an interval, and has
//! neither the place of the parenthesis nor those of the bounds. So before parsing, bounds are put in
//! parentheses, combinations of bounds that mean nothing are refused (as PostgreSQL's grammar does), and the
//! exclusion is packed into the name of the base window, after a character that no statement can contain.
//! Every window gets such a name, at the place of its parenthesis. [`WindowHead`] is what is unpacked.
//!
//! What is not a window is left as it is: the parser reports the error.
//!
//! Reference: `window_specification` and `opt_frame_clause` of PostgreSQL's gram.y.

use std::ops::ControlFlow;

use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{Expr, Query, WindowSpec, visit_expressions};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::lexer::{Lexer, character_position, syntax_error};
use super::names::can_name_relation;
use super::places::{byte_offset, is_keyword};

const PACKED: char = '\0';

/// The words before which an operand follows: no frame begins after them.
const BEFORE_OPERANDS: [Keyword; 17] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::COLLATE,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::FROM,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::NOT,
    Keyword::OR,
    Keyword::SOME,
    Keyword::THEN,
    Keyword::WHEN,
];

const UNITS: [Keyword; 3] = [Keyword::RANGE, Keyword::ROWS, Keyword::GROUPS];

/// The rows that a frame leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exclusion {
    #[default]
    NoOthers,
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers of the current row.
    Ties,
}

impl Exclusion {
    const ALL: [Exclusion; 4] =
        [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];

    fn packed(self) -> char {
        match self {
            Exclusion::NoOthers => 'n',
            Exclusion::CurrentRow => 'c',
            Exclusion::Group => 'g',
            Exclusion::Ties => 't',
        }
    }
}

/// What sqlparser's tree does not say about a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowHead<'a> {
    /// The name of the window that it is based on.
    pub(crate) base: Option<&'a str>,
    pub(crate) exclusion: Exclusion,
    /// The parenthesis before it.
    pub(crate) start: Location,
}

impl<'a> WindowHead<'a> {
    /// Of a window as the parser returns it.
    pub(crate) fn of(spec: &'a WindowSpec) -> WindowHead<'a> {
        let nothing = WindowHead { base: None, exclusion: Exclusion::NoOthers, start: Location::empty() };
        let Some(ident) = &spec.window_name else { return nothing };
        let mut packed = ident.value.chars();
        if packed.next() != Some(PACKED) {
            return WindowHead { base: Some(&ident.value), ..nothing };
        }
        let letter = packed.next();
        let known = Exclusion::ALL.into_iter().find(|exclusion| Some(exclusion.packed()) == letter);
        WindowHead {
            base: Some(packed.as_str()).filter(|base| !base.is_empty()),
            exclusion: known.unwrap_or_default(),
            start: ident.span.start,
        }
    }
}

/// Rewrites the windows among these tokens, none of which is a blank.
///
/// # Errors
/// 42P20 for frames that mean nothing.
pub(super) fn pack(sql: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| is_keyword(token, &[Keyword::OVER, Keyword::WINDOW])) {
        return Ok(tokens);
    }
    let packer = Packer { sql, closing: closing_parentheses(&tokens), tokens: &tokens };
    let mut packed = Vec::with_capacity(tokens.len() + 16);
    packer.rewrite(0, tokens.len(), &mut packed)?;
    Ok(packed)
}

/// For each token, the index of the parenthesis that closes it, if it is one that is closed.
fn closing_parentheses(tokens: &[TokenWithSpan]) -> Vec<Option<usize>> {
    let mut closing = vec![None; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => open.push(at),
            Token::RParen => {
                if let Some(start) = open.pop() {
                    closing[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    closing
}

/// Which rows a bound lies at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    UnboundedPreceding,
    Preceding,
    CurrentRow,
    Following,
    UnboundedFollowing,
}

/// A bound of a frame, and the range of its tokens.
#[derive(Clone, Copy, Debug)]
struct Bound {
    side: Side,
    start: usize,
    end: usize,
}

/// The frame of a window, as ranges of tokens.
struct Frame {
    unit: usize,
    first: Bound,
    last: Option<Bound>,
    exclusion: Exclusion,
}

struct Packer<'t> {
    sql: &'t str,
    tokens: &'t [TokenWithSpan],
    closing: Vec<Option<usize>>,
}

impl Packer<'_> {
    fn is(&self, at: usize, keyword: Keyword) -> bool {
        self.tokens.get(at).is_some_and(|token| is_keyword(token, &[keyword]))
    }

    fn opens(&self, at: usize) -> Option<usize> {
        self.closing.get(at).copied().flatten()
    }

    /// Copies the tokens of this range, and rewrites the windows among them.
    fn rewrite(&self, from: usize, to: usize, out: &mut Vec<TokenWithSpan>) -> Result<()> {
        let mut at = from;
        // The next definition of the same WINDOW clause can begin here.
        let mut definition = None;
        while at < to {
            out.push(self.tokens[at].clone());
            at += 1;
            let after = &self.tokens[at - 1];
            let is_over =
                is_keyword(after, &[Keyword::OVER]) && at >= 2 && self.tokens[at - 2].token == Token::RParen;
            let is_definition = is_keyword(after, &[Keyword::WINDOW])
                || (definition == Some(at - 1) && after.token == Token::Comma);
            if is_definition || is_over {
                self.check_name(at)?;
            }
            let open = if is_definition && self.is(at + 1, Keyword::AS) {
                out.extend(self.tokens.get(at..at + 2).unwrap_or_default().iter().cloned());
                at += 2;
                Some(at)
            } else {
                is_over.then_some(at)
            };
            let Some(open) = open else { continue };
            let Some(close) = self.opens(open).filter(|close| *close < to) else { continue };
            self.window(open, close, out)?;
            at = close + 1;
            definition = is_definition.then_some(at);
        }
        Ok(())
    }

    /// Refuses a word that cannot name a window.
    fn check_name(&self, at: usize) -> Result<()> {
        let Some(TokenWithSpan { token: Token::Word(word), span }) = self.tokens.get(at) else {
            return Ok(());
        };
        if word.quote_style.is_some() || can_name_relation(&word.value.to_ascii_lowercase()) {
            return Ok(());
        }
        Err(syntax_error_at(self.sql, span.start))
    }

    /// The window between these parentheses.
    fn window(&self, open: usize, close: usize, out: &mut Vec<TokenWithSpan>) -> Result<()> {
        let mut at = open + 1;
        let mut base = String::new();
        if at < close
            && let Token::Word(word) = &self.tokens[at].token
        {
            let begins_clause = is_keyword(&self.tokens[at], &[Keyword::PARTITION, Keyword::ORDER])
                || is_keyword(&self.tokens[at], &UNITS);
            if !begins_clause {
                base = match word.quote_style {
                    Some(_) => word.value.clone(),
                    None => word.value.to_ascii_lowercase(),
                };
                at += 1;
            }
        }
        let frame = match self.frame_start(at, close) {
            Some(unit) => self.frame(unit, close)?,
            None => None,
        };
        let place = self.tokens[open].span;
        let exclusion = frame.as_ref().map(|frame| frame.exclusion).unwrap_or_default();
        let name = format!("{PACKED}{}{base}", exclusion.packed());
        out.push(self.tokens[open].clone());
        out.push(TokenWithSpan { token: Token::make_word(&name, Some('"')), span: place });
        match frame {
            None => self.rewrite(at, close, out)?,
            Some(frame) => {
                self.rewrite(at, frame.unit, out)?;
                self.packed_frame(&frame, out)?;
            }
        }
        out.push(self.tokens[close].clone());
        Ok(())
    }

    /// The first word of the frame in this range.
    fn frame_start(&self, from: usize, to: usize) -> Option<usize> {
        let mut at = from;
        while at < to {
            if is_keyword(&self.tokens[at], &UNITS) && (at == from || self.ends_operand(at - 1)) {
                return Some(at);
            }
            at = self.opens(at).unwrap_or(at) + 1;
        }
        None
    }

    /// Whether no operand has to follow this token.
    fn ends_operand(&self, at: usize) -> bool {
        match &self.tokens[at].token {
            Token::Word(word) => word.quote_style.is_some() || !BEFORE_OPERANDS.contains(&word.keyword),
            Token::RParen | Token::RBracket | Token::Number(..) | Token::Placeholder(_) => true,
            Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => true,
            _ => false,
        }
    }

    /// The frame that begins with this word and ends before `to`. `None` if the parser is to refuse it.
    fn frame(&self, unit: usize, to: usize) -> Result<Option<Frame>> {
        let is_between = self.is(unit + 1, Keyword::BETWEEN);
        let Some(first) = self.bound(unit + 1 + usize::from(is_between), to) else { return Ok(None) };
        let mut end = first.end;
        let mut last = None;
        if is_between {
            if !self.is(end, Keyword::AND) {
                return Ok(None);
            }
            let Some(second) = self.bound(end + 1, to) else { return Ok(None) };
            end = second.end;
            last = Some(second);
        }
        self.refuse_nonsense(first, last)?;
        let exclusion = match self.tokens.get(end..to).unwrap_or_default() {
            [] => Exclusion::NoOthers,
            words => match exclusion(words) {
                Some(exclusion) => exclusion,
                None => return Err(syntax_error_at(self.sql, self.misplaced(end, to))),
            },
        };
        Ok(Some(Frame { unit, first, last, exclusion }))
    }

    /// The first token after a frame that belongs to no exclusion.
    fn misplaced(&self, end: usize, to: usize) -> Location {
        let known: &[&[Keyword]] = &[
            &[Keyword::EXCLUDE],
            &[Keyword::CURRENT, Keyword::GROUP, Keyword::TIES, Keyword::NO],
            &[Keyword::ROW],
        ];
        let fits =
            |(at, keywords): &(usize, &&[Keyword])| *at < to && is_keyword(&self.tokens[*at], keywords);
        let wrong = (end..).zip(known).find(|pair| !fits(pair));
        let at = wrong.map_or(to, |(at, _)| at).min(to);
        self.tokens[at].span.start
    }

    fn bound(&self, start: usize, to: usize) -> Option<Bound> {
        let bound = |side, end| Some(Bound { side, start, end }).filter(|bound| bound.end <= to);
        if self.is(start, Keyword::UNBOUNDED) && self.is(start + 1, Keyword::PRECEDING) {
            return bound(Side::UnboundedPreceding, start + 2);
        }
        if self.is(start, Keyword::UNBOUNDED) && self.is(start + 1, Keyword::FOLLOWING) {
            return bound(Side::UnboundedFollowing, start + 2);
        }
        if self.is(start, Keyword::CURRENT) && self.is(start + 1, Keyword::ROW) {
            return bound(Side::CurrentRow, start + 2);
        }
        let mut at = start;
        while at < to {
            if at > start && self.is(at, Keyword::PRECEDING) {
                return bound(Side::Preceding, at + 1);
            }
            if at > start && self.is(at, Keyword::FOLLOWING) {
                return bound(Side::Following, at + 1);
            }
            at = self.opens(at).unwrap_or(at) + 1;
        }
        None
    }

    /// Refuses the bounds that PostgreSQL's grammar refuses.
    fn refuse_nonsense(&self, first: Bound, last: Option<Bound>) -> Result<()> {
        let end = last.map_or(Side::CurrentRow, |last| last.side);
        let (message, at) = match (first.side, end) {
            (Side::UnboundedFollowing, _) => ("frame start cannot be UNBOUNDED FOLLOWING", Some(first)),
            (_, Side::UnboundedPreceding) => ("frame end cannot be UNBOUNDED PRECEDING", last),
            (Side::CurrentRow, Side::Preceding) => {
                ("frame starting from current row cannot have preceding rows", last)
            }
            (Side::Following, Side::CurrentRow) if last.is_none() => {
                ("frame starting from following row cannot end with current row", Some(first))
            }
            (Side::Following, Side::Preceding | Side::CurrentRow) => {
                ("frame starting from following row cannot have preceding rows", last)
            }
            _ => return Ok(()),
        };
        let error = Error::input(sqlstate::WINDOWING_ERROR, message);
        let place = at.map(|at| byte_offset(self.sql, self.tokens[at.start].span.start));
        let position = place.map(|place| character_position(self.sql, place));
        Err(position.into_iter().fold(error, Error::with_position))
    }

    fn packed_frame(&self, frame: &Frame, out: &mut Vec<TokenWithSpan>) -> Result<()> {
        let Frame { unit, first, last, .. } = frame;
        out.push(self.tokens[*unit].clone());
        if let Some(last) = last {
            out.push(self.tokens[unit + 1].clone());
            self.packed_bound(first, out)?;
            out.push(self.tokens[first.end].clone());
            return self.packed_bound(last, out);
        }
        self.packed_bound(first, out)
    }

    /// The bound, with its offset in parentheses.
    fn packed_bound(&self, bound: &Bound, out: &mut Vec<TokenWithSpan>) -> Result<()> {
        let Bound { side, start, end } = *bound;
        if !matches!(side, Side::Preceding | Side::Following) {
            out.extend(self.tokens[start..end].iter().cloned());
            return Ok(());
        }
        let parenthesis = |token, at: usize| TokenWithSpan { token, span: self.tokens[at].span };
        out.push(parenthesis(Token::LParen, start));
        self.rewrite(start, end - 1, out)?;
        out.push(parenthesis(Token::RParen, end - 1));
        out.push(self.tokens[end - 1].clone());
        Ok(())
    }
}

/// The syntax error at the token at this place.
fn syntax_error_at(sql: &str, place: Location) -> Error {
    match Lexer::starting_at(sql, byte_offset(sql, place)).next() {
        Ok(token) => syntax_error(sql, &token),
        Err(error) => error,
    }
}

/// Whether a query calls a window function.
pub(crate) fn has_window_call(query: &Query) -> bool {
    let found = visit_expressions(query, |part| match part {
        Expr::Function(call) if call.over.is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// `EXCLUDE CURRENT ROW` and the like.
fn exclusion(words: &[TokenWithSpan]) -> Option<Exclusion> {
    let (first, rest) = words.split_first()?;
    let is_others = |token: &TokenWithSpan| {
        matches!(&token.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("others"))
    };
    if !is_keyword(first, &[Keyword::EXCLUDE]) {
        return None;
    }
    match rest {
        [group] if is_keyword(group, &[Keyword::GROUP]) => Some(Exclusion::Group),
        [ties] if is_keyword(ties, &[Keyword::TIES]) => Some(Exclusion::Ties),
        [current, row] if is_keyword(current, &[Keyword::CURRENT]) && is_keyword(row, &[Keyword::ROW]) => {
            Some(Exclusion::CurrentRow)
        }
        [no, others] if is_keyword(no, &[Keyword::NO]) && is_others(others) => Some(Exclusion::NoOthers),
        _ => None,
    }
}
