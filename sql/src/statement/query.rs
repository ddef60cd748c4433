//! The statements that sqlparser parses, with its errors converted to PostgreSQL's.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::refusal::{Missing, refused};
use sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, SetExpr, Spanned,
    Visit, VisitMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace};

use super::array_suffix;
use super::call_syntax;
use super::conflict_syntax;
use super::cursor_syntax;
use super::deep_text::check_stack_for;
use super::dialect::HyadesDialect;
use super::element_target;
use super::field_wildcard;
use super::foreign;
use super::keywords;
use super::lexer::{Lexer, TokenKind, character_position, string_value, syntax_error, truncate_name};
use super::locking;
use super::names::{positional_after_named, split_arguments};
use super::nested_parentheses;
use super::operator_signs;
use super::parsed::Statement;
use super::places::byte_offset;
use super::plain_words;
use super::query_end;
use super::reference_syntax;
use super::sort_operator;
use super::split::{check_memory, too_deep};
use super::substring_syntax;
use super::table_as_syntax;
use super::using_alias;
use super::window_syntax;
use super::{alteration_syntax, sequence_syntax};

/// How deep parentheses and subqueries may nest, as in PostgreSQL. The few forms that sqlparser tries again
/// on every level have a limit of their own (`split::survey`), because their time grows exponentially with
/// the depth.
const RECURSION_LIMIT: usize = 10_000;

/// Parses one statement. A semicolon may end it, and nothing may follow.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    let statement = with_parser(sql, |parser| {
        while parser.consume_token(&Token::SemiColon) {}
        let statement = parser.parse_statement()?;
        while parser.consume_token(&Token::SemiColon) {}
        Ok(statement)
    })?;
    if selects_into(&statement) {
        return table_as_syntax::into(sql);
    }
    Ok(Statement::Query(Box::new(statement)))
}

/// `TRIM (BOTH FROM x)` without its FROM, which sqlparser accepts only after characters.
fn without_idle_from(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let keyword = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let is_side = |token: &Token| {
        keyword(token)
            .is_some_and(|word| matches!(word, Keyword::BOTH | Keyword::LEADING | Keyword::TRAILING))
    };
    if !tokens.iter().any(|token| is_side(&token.token)) {
        return tokens;
    }
    let mut is_after_side = false;
    let mut kept = Vec::with_capacity(tokens.len());
    for token in tokens {
        if is_after_side && keyword(&token.token) == Some(Keyword::FROM) {
            is_after_side = false;
            continue;
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            is_after_side = is_side(&token.token);
        }
        kept.push(token);
    }
    kept
}

/// `SELECT ... INTO`, not in a subquery.
fn selects_into(statement: &ast::Statement) -> bool {
    let ast::Statement::Query(query) = statement else { return false };
    matches!(query.body.as_ref(), SetExpr::Select(select) if select.into.is_some())
}

/// Parses one expression (a column default, an argument).
pub(crate) fn parse_expression(sql: &str) -> Result<Expr> {
    with_parser(sql, |parser| parser.parse_expr())
}

/// Parses an expression of PL/pgSQL, which is the rest of a SELECT: `count(*) > 0 FROM t WHERE a = b`.
pub(crate) fn parse_selected(sql: &str) -> Result<Expr> {
    let mut query = select_of(Expr::Identifier(ast::Ident::new("")))?;
    with_parser(sql, |parser| {
        let expression = parser.parse_expr()?;
        if !parser.parse_keyword(Keyword::FROM) {
            return Ok(expression);
        }
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![ast::SelectItem::UnnamedExpr(expression)];
            select.from = parser.parse_comma_separated(Parser::parse_table_and_joins)?;
            if parser.parse_keyword(Keyword::WHERE) {
                select.selection = Some(parser.parse_expr()?);
            }
        }
        query.order_by = parser.parse_optional_order_by()?;
        if parser.parse_keyword(Keyword::LIMIT) {
            let limit = Some(parser.parse_expr()?);
            query.limit_clause =
                Some(ast::LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
        }
        Ok(Expr::Subquery(Box::new(query)))
    })
}

/// `CALL name(arguments)`.
#[derive(Clone, Debug)]
pub(crate) struct CallSyntax {
    pub(crate) name: ObjectName,
    pub(crate) arguments: Vec<Expr>,
    /// The names of the last arguments.
    pub(crate) names: Vec<String>,
}

/// Parses a CALL. A semicolon may end it.
pub(crate) fn parse_call(sql: &str) -> Result<CallSyntax> {
    let statement = with_parser(sql, |parser| {
        while parser.consume_token(&Token::SemiColon) {}
        let statement = parser.parse_statement()?;
        while parser.consume_token(&Token::SemiColon) {}
        Ok(statement)
    })?;
    let refuse = |what: &str| Err(refused(Missing::CallArguments, &format!("{what} in CALL are")));
    let ast::Statement::Call(call) = statement else { return refuse("other statements") };
    let arguments = match call.args {
        FunctionArguments::List(list) => list.args,
        FunctionArguments::None => return Err(error_at(sql, None)),
        FunctionArguments::Subquery(_) => return refuse("subqueries"),
    };
    let misplaced = |argument: Option<&Expr>| {
        let position = argument.and_then(|argument| position(sql, argument.span().start));
        positional_after_named().with_position(position.unwrap_or(1))
    };
    let (exprs, names) = split_arguments(&arguments, misplaced)?;
    let exprs: Option<Vec<Expr>> = exprs.into_iter().map(|expr| expr.cloned()).collect();
    let Some(arguments) = exprs else { return refuse("asterisks") };
    Ok(CallSyntax { name: call.name, arguments, names })
}

/// Parses a type name.
pub(crate) fn parse_type(sql: &str) -> Result<ast::DataType> {
    with_parser(sql, |parser| parser.parse_data_type())
}

/// The cost of tokenizing a character, as work of a guest.
const UNITS_PER_CHARACTER: usize = 4;

fn with_parser<T: Visit + VisitMut>(
    sql: &str,
    parse: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    check_memory(sql)?;
    check_stack_for(sql)?;
    let dialect = HyadesDialect::default();
    guest::spend_for(sql.len() * UNITS_PER_CHARACTER)?;
    let mut tokens = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|error| tokenizer_error(sql, &error))?;
    keywords::restrict(&mut tokens);
    operator_signs::rename(&mut tokens);
    let tokens = table_as_syntax::spell_out(join_strings(sql, operator_signs::split(tokens)));
    let tokens = array_suffix::respell(plain_words::respell(tokens));
    let tokens = substring_syntax::respell(without_idle_from(tokens));
    let tokens = using_alias::pack(conflict_syntax::pack(sql, element_target::pack(sql, tokens)));
    let tokens = alteration_syntax::pack(sql, sequence_syntax::pack(sql, locking::pack(tokens)));
    let mut tokens = cursor_syntax::pack(field_wildcard::pack(reference_syntax::pack(tokens)));
    // The parser would skip them again with each lookahead.
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let tokens = query_end::respell(window_syntax::pack(sql, tokens)?);
    if nested_parentheses::depth(&tokens) > RECURSION_LIMIT {
        return Err(too_deep());
    }
    let tokens = call_syntax::pack(tokens);
    dialect.look_at(&tokens);
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(RECURSION_LIMIT).with_tokens_with_locations(tokens);
    let outcome = parse(&mut parser);
    if let Some(error) = dialect.stopped() {
        return Err(error);
    }
    let next = parser.peek_token();
    match outcome {
        Ok(mut value) if next.token == Token::EOF => {
            if dialect.has_sort_operators() {
                sort_operator::settle(&mut value);
            }
            foreign::refuse(sql, &value).map(|()| value)
        }
        Ok(_) => Err(error_at(sql, Some(next.span.start))),
        Err(ParserError::RecursionLimitExceeded) => Err(too_deep()),
        Err(ParserError::ParserError(message) | ParserError::TokenizerError(message)) => {
            let location = message_location(&message);
            if location.is_none() && !message.contains("found: EOF") && next.token != Token::EOF {
                return Err(error_at(sql, Some(next.span.start)));
            }
            Err(error_at(sql, location))
        }
    }
}

/// `SELECT expression`, for an expression that the binder has made.
pub(crate) fn select_of(expression: Expr) -> Result<ast::Query> {
    let mut query = with_parser("SELECT NULL", |parser| parser.parse_query())?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![ast::SelectItem::UnnamedExpr(expression)];
    }
    Ok(*query)
}

/// Parses a query that the binder needs.
pub(crate) fn query_of(sql: &str) -> Result<ast::Query> {
    with_parser(sql, |parser| parser.parse_query()).map(|query| *query)
}

/// Joins strings with nothing but blanks and a line break between them, as the standard requires. Cuts
/// names at their maximum length.
fn join_strings(sql: &str, mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let (mut strings, mut lines) = (0, 0);
    for token in &mut tokens {
        match &mut token.token {
            Token::Word(word) => {
                truncate_name(&mut word.value);
            }
            Token::SingleQuotedString(_) => strings += 1,
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => lines += 1,
            _ => {}
        }
    }
    if strings == 0 || lines == 0 {
        return tokens;
    }
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The index in `joined` of the last token that is not a blank, and whether a line has ended after it.
    let mut last: Option<usize> = None;
    let mut is_new_line = false;
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => {
                is_new_line = true;
            }
            Token::Whitespace(Whitespace::Space | Whitespace::Tab) => {}
            Token::Whitespace(Whitespace::MultiLineComment(_)) => last = None,
            Token::SingleQuotedString(more)
                if is_new_line
                    && let Some(first) = last.and_then(|at| joined.get_mut(at))
                    && lengthen(sql, first, more, &token) =>
            {
                is_new_line = false;
                continue;
            }
            _ => {
                last = Some(joined.len());
                is_new_line = false;
            }
        }
        joined.push(token);
    }
    joined
}

/// Appends to a string. Returns false if the first token is not a string.
fn lengthen(sql: &str, first: &mut TokenWithSpan, more: &str, token: &TokenWithSpan) -> bool {
    match &mut first.token {
        Token::SingleQuotedString(text) | Token::UnicodeStringLiteral(text) => text.push_str(more),
        // The E of the first string applies to the rest.
        Token::EscapedStringLiteral(text) => {
            let (start, end) = (byte_offset(sql, token.span.start), byte_offset(sql, token.span.end));
            let escaped = format!("E{}", sql.get(start..end).unwrap_or_default());
            match Tokenizer::new(&HyadesDialect::default(), &escaped).tokenize().as_deref() {
                Ok([Token::EscapedStringLiteral(more)]) => text.push_str(more),
                _ => return false,
            }
        }
        _ => return false,
    }
    first.span.end = token.span.end;
    true
}

/// The error about a string in place of a name, after something that ends an expression.
pub(crate) fn string_as_name(sql: &str, value: &str) -> Error {
    let mut lexer = Lexer::new(sql);
    let mut may_end = false;
    while let Ok(token) = lexer.next()
        && token.kind != TokenKind::End
    {
        if may_end && token.kind == TokenKind::String && string_value(token.text) == value {
            return syntax_error(sql, &token);
        }
        may_end = match token.kind {
            TokenKind::Symbol => matches!(token.text, ")" | "]"),
            TokenKind::Word => !["select", "distinct", "returning"].iter().any(|word| token.is_word(word)),
            _ => true,
        };
    }
    Error::input(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"'{value}'\""))
}

fn tokenizer_error(sql: &str, error: &TokenizerError) -> Error {
    // Unterminated quotes and comments were already reported by our own lexer (`split::survey`), in
    // PostgreSQL's words.
    error_at(sql, Some(error.location))
}

/// sqlparser ends its messages with ` at Line: 1, Column: 8`.
fn message_location(message: &str) -> Option<Location> {
    let (_, place) = message.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let digits: String = column.chars().take_while(char::is_ascii_digit).collect();
    Some(Location { line: line.parse().ok()?, column: digits.parse().ok()? })
}

/// Where the last statement ends: at its semicolon, if it has one.
fn end_of_statement(sql: &str) -> usize {
    let (mut lexer, mut end) = (Lexer::new(sql), None);
    while let Ok(token) = lexer.next()
        && token.kind != TokenKind::End
    {
        end = if token.is_symbol(";") { end.or(Some(token.start)) } else { None };
    }
    end.unwrap_or(sql.len())
}

/// The syntax error at the token at this location. Without a location, at the end of the input.
fn error_at(sql: &str, location: Option<Location>) -> Error {
    let place = location.filter(|location| location.line > 0).map(|at| byte_offset(sql, at));
    let start = place.unwrap_or_else(|| end_of_statement(sql));
    match Lexer::starting_at(sql, start).next() {
        Ok(token) => syntax_error(sql, &token),
        Err(error) => error,
    }
}

/// The syntax error at the token after this place.
pub(crate) fn error_after(sql: &str, end: Location) -> Error {
    error_at(sql, Some(end))
}

/// The 1-based character position of a line and column, or `None` for an unknown place.
pub(crate) fn position(sql: &str, location: Location) -> Option<u32> {
    (location.line > 0).then(|| character_position(sql, byte_offset(sql, location)))
}

/// DEFAULT accepts what PostgreSQL calls a `b_expr`: no logic, IN, BETWEEN, LIKE or test for NULL outside
/// of parentheses. Returns the syntax error at the first of these.
pub(crate) fn loose_default(sql: &str, expr: &Expr) -> Option<Error> {
    use sqlparser::ast::{BinaryOperator, UnaryOperator};
    let after = |operand: &Expr, skipped: usize| {
        let position = token_position(sql, end_of(operand), skipped)?;
        Some(syntax_error_at(sql, position))
    };
    match expr {
        Expr::BinaryOp { left, op, right } => loose_default(sql, left).or_else(|| match op {
            BinaryOperator::And | BinaryOperator::Or => after(left, 0),
            _ => loose_default(sql, right),
        }),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => Some(syntax_error_at_word(sql, "not")),
        Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => loose_default(sql, inner),
        Expr::InList { expr: inner, .. }
        | Expr::InSubquery { expr: inner, .. }
        | Expr::Between { expr: inner, .. }
        | Expr::Like { expr: inner, .. }
        | Expr::ILike { expr: inner, .. }
        | Expr::SimilarTo { expr: inner, .. } => loose_default(sql, inner).or_else(|| after(inner, 0)),
        Expr::IsNull(inner) | Expr::IsTrue(inner) | Expr::IsFalse(inner) | Expr::IsUnknown(inner) => {
            loose_default(sql, inner).or_else(|| after(inner, 1))
        }
        Expr::IsNotNull(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNotUnknown(inner) => loose_default(sql, inner).or_else(|| after(inner, 2)),
        _ => None,
    }
}

/// The syntax error at the token at this position.
fn syntax_error_at(sql: &str, position: u32) -> Error {
    let start = sql.char_indices().nth(position as usize - 1).map_or(sql.len(), |(at, _)| at);
    match Lexer::starting_at(sql, start).next() {
        Ok(token) => syntax_error(sql, &token),
        Err(error) => error,
    }
}

/// The position of the first occurrence of this word after a place.
pub(crate) fn word_after(sql: &str, after: Location, word: &str) -> Option<u32> {
    let mut lexer = Lexer::starting_at(sql, byte_offset(sql, after));
    loop {
        let token = lexer.next().ok().filter(|token| token.kind != TokenKind::End)?;
        if token.is_word(word) {
            return Some(character_position(sql, token.start));
        }
    }
}

/// The syntax error at the last occurrence of this word in the text.
fn syntax_error_at_word(sql: &str, word: &str) -> Error {
    let mut lexer = Lexer::new(sql);
    let mut found = None;
    while let Ok(token) = lexer.next()
        && token.kind != TokenKind::End
    {
        if token.is_word(word) {
            found = Some(token);
        }
    }
    match found {
        Some(token) => syntax_error(sql, &token),
        None => Error::input(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{word}\"")),
    }
}

/// The position of a token that follows the operand ending here: the next one, or the one `skipped` tokens
/// later.
pub(crate) fn token_position(sql: &str, operand_end: Location, skipped: usize) -> Option<u32> {
    if operand_end.line == 0 {
        return None;
    }
    let mut lexer = Lexer::starting_at(sql, byte_offset(sql, operand_end));
    let mut to_skip = skipped;
    loop {
        let token = lexer.next().ok()?;
        // The recorded end of a call is that of its last argument, or of its name if it has none.
        if token.is_symbol(")") || token.is_symbol("(") {
            continue;
        }
        if to_skip == 0 {
            return Some(character_position(sql, token.start));
        }
        to_skip -= 1;
    }
}

/// The position of the operator that follows the operand ending here, after any types that the operand is
/// cast to.
pub(crate) fn operator_position(sql: &str, operand_end: Location) -> Option<u32> {
    let position = token_position(sql, operand_end, 0)?;
    let (start, _) = sql.char_indices().nth(position as usize - 1)?;
    let mut lexer = Lexer::starting_at(sql, start);
    loop {
        let token = lexer.next().ok()?;
        if token.is_symbol("::") {
            skip_type(&mut lexer);
        } else if !token.is_symbol(")") {
            return Some(character_position(sql, token.start));
        }
    }
}

/// Moves past a type name.
fn skip_type(lexer: &mut Lexer<'_>) {
    const MORE: [&str; 6] = ["precision", "varying", "with", "without", "time", "zone"];
    let mut is_first = true;
    let mut depth = 0usize;
    loop {
        let mut ahead = lexer.clone();
        let Ok(token) = ahead.next() else { return };
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" if depth > 0 => depth -= 1,
            "." if depth == 0 => is_first = true,
            text if depth == 0 => {
                if !is_first && !MORE.iter().any(|word| text.eq_ignore_ascii_case(word)) {
                    return;
                }
                is_first = false;
            }
            _ => {}
        }
        if token.kind == TokenKind::End {
            return;
        }
        *lexer = ahead;
    }
}

/// The position of the last word CAST before the operand that begins here.
pub(crate) fn cast_position(sql: &str, operand_start: Location) -> Option<u32> {
    word_before(sql, operand_start, "cast")
}

/// The position of the last occurrence of this word before a place.
pub(crate) fn word_before(sql: &str, place: Location, word: &str) -> Option<u32> {
    let end = byte_offset(sql, place);
    let mut lexer = Lexer::starting_at(sql, 0);
    let mut found = None;
    loop {
        let token = lexer.next().ok()?;
        if token.start >= end || token.text.is_empty() {
            return found.map(|start| character_position(sql, start));
        }
        if token.is_word(word) {
            found = Some(token.start);
        }
    }
}

/// The position of these words in a row, skipping the first `skipped` occurrences.
pub(crate) fn words_position(sql: &str, words: &[&str], skipped: usize) -> Option<u32> {
    let mut lexer = Lexer::starting_at(sql, 0);
    let mut tokens = Vec::new();
    while let Ok(token) = lexer.next()
        && token.kind != TokenKind::End
    {
        tokens.push(token);
    }
    let is_here = |window: &&[super::lexer::Token<'_>]| {
        window.iter().zip(words).all(|(token, word)| token.is_word(word))
    };
    let found = tokens.windows(words.len()).filter(is_here).nth(skipped)?;
    Some(character_position(sql, found.first()?.start))
}

/// The end of an expression, not counting closing parentheses.
pub(crate) fn end_of(expr: &Expr) -> Location {
    let mut rest = expr;
    loop {
        rest = match rest {
            Expr::BinaryOp { right, .. } => right,
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => inner,
            Expr::Between { high, .. } => high,
            Expr::Like { pattern, .. } => pattern,
            Expr::Function(call) => match last_argument(call) {
                Some(argument) => argument,
                None => return rest.span().end,
            },
            Expr::Case { end_token, .. } => return end_token.0.span.end,
            other => return other.span().end,
        };
    }
}

/// The last argument of a call, if it is an expression and nothing follows it.
fn last_argument(call: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_bare = list.clauses.is_empty() && call.filter.is_none() && call.within_group.is_empty();
    match list.args.last()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) if is_bare => Some(argument),
        _ => None,
    }
}
