//! The parser of bodies: recursive descent over the tokens of PL/pgSQL. A body in SQL is only divided into
//! its statements.
//!
//! As in PostgreSQL, expressions and SQL statements are not parsed here. They end at a word or symbol
//! outside of all parentheses (`THEN`, `LOOP`, `;`), and are parsed when they are compiled. Reserved words
//! have no other effect, so a variable may be named like most of the language's words.
//!
//! Reference: PostgreSQL's documentation, chapter 43; `pl_gram.y`.

use hyades_types::definition::RoutineDefinition;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::refusal::{Missing, refused_in};

use super::tree::{
    Block, Body, Declaration, DeclarationKind, Fragment, Handler, Into as IntoClause, Path, Statement,
    StatementKind, Target,
};
use crate::bind::visible_variables::IN_SQL;
use crate::statement::lexer::{
    Lexer, Token, TokenKind, character_position, identifier_value, string_value, syntax_error,
};
use crate::statement::{split, standard_body};

/// The deepest nesting of blocks, loops and branches.
const DEEPEST_NESTING: usize = 200;

/// Words that cannot begin an SQL statement and cannot name variables.
const RESERVED: [&str; 22] = [
    "all", "begin", "by", "case", "declare", "else", "end", "for", "foreach", "from", "if", "in", "into",
    "loop", "not", "null", "or", "strict", "then", "to", "using", "when",
];

pub(super) struct Parser<'a> {
    pub(super) body: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    /// Labels of the enclosing blocks and loops, for EXIT.
    labels: Vec<(Option<String>, bool)>,
    /// A byte of the body, and the newlines before it. The lines that are asked for increase.
    lines: (usize, usize),
}

/// The cost of a token and of a statement, as work of a guest.
const UNITS_PER_TOKEN: u32 = 10;
const UNITS_PER_STATEMENT: u32 = 30;

/// Parses the body of a routine.
pub(super) fn parse(definition: &RoutineDefinition) -> Result<Body> {
    match definition.language.as_str() {
        IN_SQL if definition.uses.is_some() => standard(&definition.body).map(Body::Statements),
        IN_SQL => statements(&definition.body).map(Body::Statements),
        _ => block(&definition.body).map(Body::Block),
    }
}

/// The statements of a body in SQL.
fn statements(body: &str) -> Result<Vec<Fragment>> {
    let parts = split::split(body)?.into_iter();
    Ok(fragments(body, parts.map(|(at, text)| (at, text.trim_end_matches(';').to_owned()))))
}

/// The same for a body in standard SQL.
fn standard(body: &str) -> Result<Vec<Fragment>> {
    let parts = standard_body::statements(body)?.into_iter();
    Ok(fragments(body, parts.map(|part| (part.start, part.text))))
}

/// Texts, with the characters before each in the body.
fn fragments(body: &str, texts: impl Iterator<Item = (usize, String)>) -> Vec<Fragment> {
    let places: Vec<usize> = body.char_indices().map(|(at, _)| at).collect();
    texts.map(|(at, text)| Fragment { start: places.get(at).copied().unwrap_or(body.len()), text }).collect()
}

/// A whole body in PL/pgSQL.
fn block(body: &str) -> Result<Block> {
    let mut lexer = Lexer::new(body);
    let mut tokens = Vec::new();
    loop {
        guest::spend(UNITS_PER_TOKEN)?;
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            break;
        }
    }
    let mut parser = Parser { body, tokens, at: 0, depth: 0, labels: Vec::new(), lines: (0, 0) };
    parser.refuse_options()?;
    let label = parser.label()?;
    let block = parser.block(label)?;
    parser.accept_symbol(";");
    if parser.peek().kind != TokenKind::End {
        return parser.error();
    }
    Ok(block)
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token<'a> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    /// The tokens of the whole body.
    pub(super) fn all(&self) -> &[Token<'a>] {
        &self.tokens
    }

    /// The current position, to come back to.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn error<T>(&self) -> Result<T> {
        Err(syntax_error(self.body, &self.peek()))
    }

    /// An error at a byte of the body.
    pub(super) fn fail<T>(
        &self,
        state: hyades_types::error::SqlState,
        message: impl Into<String>,
        start: usize,
    ) -> Result<T> {
        Err(Error::input(state, message).with_position(character_position(self.body, start)))
    }

    pub(super) fn unsupported<T>(&self, missing: Missing, what: &str, start: usize) -> Result<T> {
        Err(refused_in(missing, what, "PL/pgSQL").with_position(character_position(self.body, start)))
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_word(word);
        if is_next {
            self.next();
        }
        is_next
    }

    pub(super) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.peek().is_symbol(symbol);
        if is_next {
            self.next();
        }
        is_next
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { self.error() }
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { self.error() }
    }

    pub(super) fn identifier(&mut self) -> Result<String> {
        let token = self.peek();
        let is_reserved = token.kind == TokenKind::Word
            && RESERVED.iter().any(|word| token.text.eq_ignore_ascii_case(word));
        match token.kind {
            TokenKind::Word | TokenKind::QuotedIdentifier if !is_reserved => {
                Ok(identifier_value(&self.next()))
            }
            _ => self.error(),
        }
    }

    fn string(&mut self) -> Result<String> {
        match self.peek().kind {
            TokenKind::String => Ok(string_value(self.next().text)),
            _ => self.error(),
        }
    }

    fn line(&mut self, start: usize) -> u32 {
        let (from, before) = if start < self.lines.0 { (0, 0) } else { self.lines };
        let newlines = before + self.body[from..start].bytes().filter(|byte| *byte == b'\n').count();
        self.lines = (start, newlines);
        u32::try_from(newlines + 1).unwrap_or(u32::MAX)
    }

    pub(super) fn path(&mut self) -> Result<Path> {
        let start = self.peek().start;
        let mut parts = vec![self.identifier()?];
        while self.accept_symbol(".") {
            parts.push(self.identifier()?);
        }
        Ok(Path { parts, start })
    }

    pub(super) fn paths(&mut self) -> Result<Vec<Path>> {
        let mut paths = vec![self.path()?];
        while self.accept_symbol(",") {
            paths.push(self.path()?);
        }
        Ok(paths)
    }

    /// The text up to the first of these words or symbols outside of parentheses, which is not consumed.
    pub(super) fn fragment(&mut self, ends: &[&str]) -> Result<Fragment> {
        let start = self.peek().start;
        let mut end = start;
        let mut open = 0usize;
        loop {
            let token = self.peek();
            let is_end = ends.iter().any(|end| token.is_word(end) || token.is_symbol(end));
            if open == 0 && is_end {
                break;
            }
            match token.text {
                _ if token.kind == TokenKind::End => return self.error(),
                ";" => return self.missing(ends),
                "(" | "[" if token.kind == TokenKind::Symbol => open += 1,
                ")" | "]" if token.kind == TokenKind::Symbol => match open.checked_sub(1) {
                    Some(left) => open = left,
                    None => return self.error(),
                },
                _ => {}
            }
            end = self.next().end();
        }
        if end == start {
            // PostgreSQL reports an empty expression this way.
            return self.missing(ends);
        }
        Ok(Fragment { text: self.body[start..end].to_owned(), start })
    }

    fn missing<T>(&self, ends: &[&str]) -> Result<T> {
        let token = self.peek();
        if token.is_symbol(";") && !ends.contains(&";") {
            let wanted = ends.first().map_or(String::new(), |end| end.to_ascii_uppercase());
            return self.fail(
                sqlstate::SYNTAX_ERROR,
                format!("missing \"{wanted}\" at end of SQL expression"),
                token.start,
            );
        }
        if token.kind == TokenKind::End {
            return self.error();
        }
        self.fail(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{}\"", token.text), token.start)
    }

    /// Refuses `#variable_conflict` and similar options.
    fn refuse_options(&mut self) -> Result<()> {
        if self.peek().kind == TokenKind::Symbol && self.peek().text.starts_with('#') {
            let option = self.peek_at(1).text.to_owned();
            return self.unsupported(
                Missing::RoutineOptions,
                &format!("the option #{option} is"),
                self.peek().start,
            );
        }
        Ok(())
    }

    fn label(&mut self) -> Result<Option<String>> {
        if !self.accept_symbol("<<") {
            return Ok(None);
        }
        let label = self.identifier()?;
        self.expect_symbol(">>")?;
        Ok(Some(label))
    }

    /// The label after END, which must be the same as at the beginning.
    fn end_label(&mut self, label: Option<&String>) -> Result<()> {
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdentifier) {
            return Ok(());
        }
        let found = self.identifier()?;
        match label {
            Some(label) if *label == found => Ok(()),
            Some(label) => self.fail(
                sqlstate::SYNTAX_ERROR,
                format!("end label \"{found}\" differs from block's label \"{label}\""),
                token.start,
            ),
            None => self.fail(
                sqlstate::SYNTAX_ERROR,
                format!("end label \"{found}\" specified for unlabeled block"),
                token.start,
            ),
        }
    }

    /// `[DECLARE ...] BEGIN ... [EXCEPTION ...] END [label]`.
    fn block(&mut self, label: Option<String>) -> Result<Block> {
        let mut declarations = Vec::new();
        while self.accept("declare") {
            while !self.peek().is_word("begin") && !self.peek().is_word("declare") {
                declarations.push(self.declaration()?);
            }
        }
        self.expect("begin")?;
        self.labels.push((label.clone(), false));
        let body = self.statements(&["end", "exception"])?;
        let mut handlers = Vec::new();
        let has_handlers = self.accept("exception");
        while has_handlers && self.accept("when") {
            handlers.push(self.handler()?);
        }
        if has_handlers && handlers.is_empty() {
            return self.error();
        }
        self.labels.pop();
        self.expect("end")?;
        self.end_label(label.as_ref())?;
        Ok(Block { label, declarations, body, handlers, has_handlers })
    }

    fn handler(&mut self) -> Result<Handler> {
        let mut conditions = Vec::new();
        loop {
            let start = self.peek().start;
            let name = self.identifier()?;
            if name == "sqlstate" {
                let state = self.string()?;
                self.check_state(&state, start)?;
                conditions.push((state, start));
            } else {
                conditions.push((name, start));
            }
            if !self.accept("or") {
                break;
            }
        }
        self.expect("then")?;
        let body = self.statements(&["when", "end"])?;
        Ok(Handler { conditions, body })
    }

    pub(super) fn check_state(&self, state: &str, start: usize) -> Result<()> {
        let is_code =
            state.len() == 5 && state.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if is_code { Ok(()) } else { self.fail(sqlstate::SYNTAX_ERROR, "invalid SQLSTATE code", start) }
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let start = self.peek().start;
        let line = self.line(start);
        let name = self.identifier()?;
        if self.accept("alias") {
            self.expect("for")?;
            let kind = if self.peek().kind == TokenKind::Parameter {
                let token = self.next();
                DeclarationKind::Alias(Path { parts: vec![token.text.to_owned()], start: token.start })
            } else {
                DeclarationKind::Alias(self.path()?)
            };
            self.expect_symbol(";")?;
            return Ok(Declaration { name, start, line, kind });
        }
        let is_constant = self.accept("constant");
        if let Some(cursor) = self.cursor_declaration(&name)? {
            return Ok(Declaration { name, start, line, kind: DeclarationKind::Cursor(cursor) });
        }
        let type_name = self.fragment(&[";", ":=", "=", "default", "not", "collate"])?;
        if self.peek().is_word("collate") {
            return self.unsupported(Missing::Collations, "COLLATE is", self.peek().start);
        }
        let is_not_null = self.accept("not");
        if is_not_null {
            self.expect("null")?;
        }
        let has_default = self.accept_symbol(":=") || self.accept_symbol("=") || self.accept("default");
        let default = if has_default { Some(self.fragment(&[";"])?) } else { None };
        self.expect_symbol(";")?;
        if is_not_null && default.is_none() {
            return self.fail(
                sqlstate::NULL_VALUE_NOT_ALLOWED,
                format!("variable \"{name}\" must have a default value, since it's declared NOT NULL"),
                start,
            );
        }
        let kind = DeclarationKind::Variable { type_name, is_constant, is_not_null, default };
        Ok(Declaration { name, start, line, kind })
    }

    pub(super) fn statements(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return self.fail(
                sqlstate::STATEMENT_TOO_COMPLEX,
                format!("blocks are nested more than {DEEPEST_NESTING} deep"),
                self.peek().start,
            );
        }
        let mut statements = Vec::new();
        loop {
            let token = self.peek();
            if token.kind == TokenKind::End {
                return self.error();
            }
            if ends.iter().any(|end| token.is_word(end)) {
                self.depth -= 1;
                return Ok(statements);
            }
            guest::spend(UNITS_PER_STATEMENT)?;
            let (start, line) = (token.start, self.line(token.start));
            let kind = self.statement()?;
            statements.push(Statement { line, start, kind });
        }
    }

    fn statement(&mut self) -> Result<StatementKind> {
        let label = self.label()?;
        let token = self.peek();
        let word = match token.kind {
            TokenKind::Word => token.text.to_ascii_lowercase(),
            TokenKind::QuotedIdentifier => String::new(),
            _ => return self.error(),
        };
        match word.as_str() {
            "declare" | "begin" => {
                let block = self.block(label)?;
                self.expect_symbol(";")?;
                return Ok(StatementKind::Block(block));
            }
            "loop" | "while" | "for" | "foreach" => return self.looped(&word, label),
            _ if label.is_some() => return self.error(),
            _ => {}
        }
        if self.is_assignment() {
            return self.assignment();
        }
        self.simple(&word)
    }

    /// Whether a name is followed by `:=`, `=`, or a subscript.
    fn is_assignment(&self) -> bool {
        let mut ahead = 1;
        while self.peek_at(ahead).is_symbol(".") {
            ahead += 2;
        }
        let next = self.peek_at(ahead);
        next.is_symbol(":=") || next.is_symbol("=") || next.is_symbol("[")
    }

    fn assignment(&mut self) -> Result<StatementKind> {
        let path = self.path()?;
        let (mut indexes, mut is_plain) = (Vec::new(), true);
        let start = self.peek().start;
        let mut end = start;
        while self.accept_symbol("[") {
            if !self.peek().is_symbol(":") {
                indexes.push(self.fragment(&["]", ":"])?);
            }
            if self.accept_symbol(":") {
                is_plain = false;
                if !self.peek().is_symbol("]") {
                    self.fragment(&["]"])?;
                }
            }
            end = self.peek().end();
            self.expect_symbol("]")?;
        }
        let text = format!("x{}", &self.body[start..end]);
        let subscripts = (end > start).then(|| Fragment { text, start: start.saturating_sub(1) });
        let index = if is_plain && indexes.len() == 1 { indexes.pop() } else { None };
        if !self.accept_symbol(":=") {
            self.expect_symbol("=")?;
        }
        let value = self.fragment(&[";"])?;
        self.expect_symbol(";")?;
        Ok(StatementKind::Assign { target: Target { path, index, subscripts }, value })
    }

    fn simple(&mut self, word: &str) -> Result<StatementKind> {
        let start = self.peek().start;
        let kind = match word {
            "if" => return self.branches(),
            "case" => return self.cases(),
            "exit" | "continue" => self.exit()?,
            "return" => self.returned()?,
            "raise" => {
                self.next();
                StatementKind::Raise(self.raise()?)
            }
            "assert" => {
                self.next();
                let condition = self.fragment(&[",", ";"])?;
                let message = if self.accept_symbol(",") { Some(self.fragment(&[";"])?) } else { None };
                StatementKind::Assert { condition, message }
            }
            "perform" => {
                self.next();
                let mut query = self.fragment(&[";"])?;
                // It is a SELECT without that word. The blanks keep positions right.
                let mut text = "select ".to_owned();
                text.push_str(&query.text);
                query.start -= "select ".len();
                query.text = text;
                StatementKind::Perform(query)
            }
            "null" => {
                self.next();
                StatementKind::Null
            }
            "get" => self.diagnostics()?,
            "call" => StatementKind::Call(self.fragment(&[";"])?),
            "execute" => self.execute()?,
            "open" | "fetch" | "move" | "close" => self.cursor_statement(word)?,
            "commit" | "rollback" => self.end_transaction()?,
            "do" => return self.unsupported(Missing::DoInRoutines, "DO is", start),
            "select" | "insert" | "update" | "delete" | "with" | "values" | "table" => return self.sql(),
            "create" | "drop" | "alter" | "truncate" | "refresh" => {
                StatementKind::ChangeSchema(self.fragment(&[";"])?)
            }
            "copy" | "set" | "reset" | "show" | "vacuum" | "analyze" | "lock" | "grant" | "revoke"
            | "merge" | "explain" | "prepare" | "savepoint" | "release" | "declare" | "listen" | "notify" => {
                return self.unsupported(
                    Missing::StatementsInRoutines,
                    &format!("{} in a routine is", word.to_ascii_uppercase()),
                    start,
                );
            }
            _ => return self.error(),
        };
        self.expect_symbol(";")?;
        Ok(kind)
    }

    /// An SQL statement, with INTO taken out.
    fn sql(&mut self) -> Result<StatementKind> {
        let first = self.peek();
        let start = first.start;
        let mut end = start;
        let mut open = 0usize;
        let mut into = None;
        let mut cut = None;
        let mut previous = "";
        loop {
            let token = self.peek();
            if token.kind == TokenKind::End {
                return self.error();
            }
            if token.is_symbol(";") && open == 0 {
                break;
            }
            if token.is_word("into") && !previous.eq_ignore_ascii_case("insert") {
                if into.is_some() {
                    return self.fail(sqlstate::SYNTAX_ERROR, "INTO specified more than once", token.start);
                }
                self.next();
                let is_strict = self.accept("strict");
                into = Some(IntoClause { targets: self.paths()?, is_strict });
                let into_end = self.tokens[self.at - 1].end();
                cut = Some((token.start, into_end));
                end = end.max(into_end);
                previous = "";
                continue;
            }
            match token.text {
                "(" => open += 1,
                ")" => open = open.saturating_sub(1),
                _ => {}
            }
            previous = token.text;
            end = self.next().end();
        }
        self.expect_symbol(";")?;
        let mut text = self.body[start..end].to_owned();
        if let Some((from, to)) = cut {
            let blanks: String =
                self.body[from..to].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
            text = format!("{}{blanks}{}", &self.body[start..from], &self.body[to..end]);
        }
        Ok(StatementKind::Sql { text: Fragment { text, start }, into })
    }

    fn branches(&mut self) -> Result<StatementKind> {
        self.expect("if")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.fragment(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.statements(&["elsif", "elseif", "else", "end"])?));
            if !self.accept("elsif") && !self.accept("elseif") {
                break;
            }
        }
        let otherwise = if self.accept("else") { self.statements(&["end"])? } else { Vec::new() };
        self.expect("end")?;
        self.expect("if")?;
        self.expect_symbol(";")?;
        Ok(StatementKind::If { branches, otherwise })
    }

    fn cases(&mut self) -> Result<StatementKind> {
        self.expect("case")?;
        let operand = if self.peek().is_word("when") { None } else { Some(self.fragment(&["when"])?) };
        let mut branches = Vec::new();
        while self.accept("when") {
            let condition = self.fragment(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.statements(&["when", "else", "end"])?));
        }
        let otherwise = if self.accept("else") { Some(self.statements(&["end"])?) } else { None };
        self.expect("end")?;
        self.expect("case")?;
        self.expect_symbol(";")?;
        Ok(StatementKind::Case { operand, branches, otherwise })
    }

    fn loop_body(&mut self, label: Option<String>) -> Result<Vec<Statement>> {
        self.expect("loop")?;
        self.labels.push((label.clone(), true));
        let body = self.statements(&["end"])?;
        self.labels.pop();
        self.expect("end")?;
        self.expect("loop")?;
        self.end_label(label.as_ref())?;
        self.expect_symbol(";")?;
        Ok(body)
    }

    fn looped(&mut self, word: &str, label: Option<String>) -> Result<StatementKind> {
        match word {
            "loop" => {
                let body = self.loop_body(label.clone())?;
                Ok(StatementKind::Loop { label, body })
            }
            "while" => {
                self.next();
                let condition = self.fragment(&["loop"])?;
                let body = self.loop_body(label.clone())?;
                Ok(StatementKind::While { label, condition, body })
            }
            "foreach" => {
                self.next();
                let target = self.path()?;
                if self.peek().is_word("slice") {
                    return self.unsupported(Missing::Slices, "SLICE is", self.peek().start);
                }
                self.expect("in")?;
                self.expect("array")?;
                let array = self.fragment(&["loop"])?;
                let body = self.loop_body(label.clone())?;
                Ok(StatementKind::ForEach { label, target, array, body })
            }
            _ => self.for_loop(label),
        }
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<StatementKind> {
        self.expect("for")?;
        let targets = self.paths()?;
        self.expect("in")?;
        if self.accept("execute") {
            let (query, using) = self.dynamic("loop")?;
            let body = self.loop_body(label.clone())?;
            return Ok(StatementKind::ForExecute { label, targets, query, using, body });
        }
        if let Some((cursor, arguments)) = self.cursor_of_loop() {
            let body = self.loop_body(label.clone())?;
            return Ok(StatementKind::ForCursor { label, targets, cursor, arguments, body });
        }
        let is_reverse = self.accept("reverse");
        let is_query = ["select", "insert", "update", "delete", "with", "values"]
            .iter()
            .any(|word| self.peek().is_word(word));
        if is_query {
            let query = self.fragment(&["loop"])?;
            let body = self.loop_body(label.clone())?;
            return Ok(StatementKind::ForQuery { label, targets, query, body });
        }
        let start = self.peek().start;
        let lower = self.fragment(&["..", "loop"])?;
        if !self.accept_symbol("..") {
            return self.unsupported(Missing::ForOverCursor, "FOR over a cursor is", start);
        }
        let upper = self.fragment(&["loop", "by"])?;
        let step = if self.accept("by") { Some(self.fragment(&["loop"])?) } else { None };
        let [Path { parts, .. }] = targets.as_slice() else { return self.for_targets(start) };
        let [variable] = parts.as_slice() else { return self.for_targets(start) };
        let variable = variable.clone();
        let body = self.loop_body(label.clone())?;
        Ok(StatementKind::ForInteger { label, variable, is_reverse, lower, upper, step, body })
    }

    fn for_targets<T>(&self, start: usize) -> Result<T> {
        self.fail(sqlstate::SYNTAX_ERROR, "integer FOR loop must have only one target variable", start)
    }

    fn exit(&mut self) -> Result<StatementKind> {
        let word = self.next();
        let is_continue = word.is_word("continue");
        let token = self.peek();
        let label = if token.is_symbol(";") || token.is_word("when") {
            None
        } else {
            Some((self.identifier()?, token.start))
        };
        let condition = if self.accept("when") { Some(self.fragment(&[";"])?) } else { None };
        let shown = if is_continue { "CONTINUE" } else { "EXIT" };
        match &label {
            None if !self.labels.iter().any(|(_, is_loop)| *is_loop) => {
                let message = if is_continue {
                    "CONTINUE cannot be used outside a loop".to_owned()
                } else {
                    "EXIT cannot be used outside a loop, unless it has a label".to_owned()
                };
                return self.fail(sqlstate::SYNTAX_ERROR, message, word.start);
            }
            Some((label, start)) => {
                match self.labels.iter().rev().find(|(known, _)| known.as_ref() == Some(label)) {
                    None => {
                        let message = format!(
                            "there is no label \"{label}\" attached to any block or loop enclosing this statement"
                        );
                        return self.fail(sqlstate::SYNTAX_ERROR, message, *start);
                    }
                    Some((_, false)) if is_continue => {
                        let message = format!("block label \"{label}\" cannot be used in {shown}");
                        return self.fail(sqlstate::SYNTAX_ERROR, message, *start);
                    }
                    Some(_) => {}
                }
            }
            None => {}
        }
        Ok(StatementKind::Exit { is_continue, label, condition })
    }

    fn returned(&mut self) -> Result<StatementKind> {
        self.expect("return")?;
        if self.peek().is_symbol(";") {
            return Ok(StatementKind::Return(None));
        }
        if self.accept("next") {
            let value = if self.peek().is_symbol(";") { None } else { Some(self.fragment(&[";"])?) };
            return Ok(StatementKind::ReturnNext(value));
        }
        if self.accept("query") {
            if self.accept("execute") {
                let (query, using) = self.dynamic(";")?;
                return Ok(StatementKind::ReturnExecute { query, using });
            }
            return Ok(StatementKind::ReturnQuery(self.fragment(&[";"])?));
        }
        Ok(StatementKind::Return(Some(self.fragment(&[";"])?)))
    }

    fn diagnostics(&mut self) -> Result<StatementKind> {
        self.expect("get")?;
        let is_stacked = self.accept("stacked");
        if !is_stacked {
            self.accept("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.path()?;
            if !self.accept_symbol(":=") {
                self.expect_symbol("=")?;
            }
            let start = self.peek().start;
            items.push((target, self.identifier()?, start));
            if !self.accept_symbol(",") {
                return Ok(StatementKind::GetDiagnostics { is_stacked, items });
            }
        }
    }
}
