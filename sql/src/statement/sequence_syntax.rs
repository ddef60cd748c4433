//! CREATE, ALTER and DROP SEQUENCE, and the parts of identity columns that sqlparser cannot read: options
//! in any order, and OVERRIDING in INSERT.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexer::{TokenKind, character_position};
use super::parsed::{AlterSequence, CreateSequence, DropSequence, Overriding, SequenceOptions, Statement};
use super::places::byte_offset;
use super::tokens::Tokens;

/// The statement after its first word, or `None` if the next word is not SEQUENCE.
fn begin<'a>(sql: &'a str, word: &str) -> Result<Option<Tokens<'a>>> {
    let mut tokens = Tokens::after(sql, word)?;
    Ok(tokens.accept("sequence").then_some(tokens))
}

/// `CREATE SEQUENCE`.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let is_temporary = tokens.persistence();
    if !tokens.accept("sequence") {
        return Ok(None);
    }
    let if_not_exists = tokens.if_not_exists()?;
    let name = tokens.qualified_name()?;
    let options = options(&mut tokens, true)?;
    tokens.end()?;
    let create = CreateSequence { name, is_temporary, if_not_exists, options };
    Ok(Some(Statement::CreateSequence(Box::new(create))))
}

/// `ALTER SEQUENCE`.
pub(crate) fn alter(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "alter")? else { return Ok(None) };
    let if_exists = tokens.if_exists()?;
    let name = tokens.qualified_name()?;
    for (word, what) in [("set", "ALTER SEQUENCE ... SET is"), ("owner", "ALTER SEQUENCE ... OWNER TO is")] {
        if tokens.peek().is_word(word) {
            return tokens.unsupported(Missing::Needless, what);
        }
    }
    let options = options(&mut tokens, true)?;
    if options == SequenceOptions::default() {
        return tokens.error();
    }
    tokens.end()?;
    Ok(Some(Statement::AlterSequence(Box::new(AlterSequence { name, if_exists, options }))))
}

/// `DROP SEQUENCE`.
pub(crate) fn drop_sequence(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "drop")? else { return Ok(None) };
    let if_exists = tokens.if_exists()?;
    let names = tokens.qualified_names()?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropSequence(DropSequence { names, if_exists, cascades })))
}

/// The options of an identity column, in the parentheses that begin at this byte.
pub(crate) fn identity_options(sql: &str, from: usize) -> Result<SequenceOptions> {
    let mut tokens = Tokens::new(sql)?;
    tokens.skip_to(from);
    tokens.expect_symbol("(")?;
    let options = options(&mut tokens, false)?;
    tokens.expect_symbol(")")?;
    Ok(options)
}

/// All options, up to something that is not one. With `is_statement`, those of a sequence on its own.
fn options(tokens: &mut Tokens<'_>, is_statement: bool) -> Result<SequenceOptions> {
    let mut options = SequenceOptions::default();
    while tokens.peek().kind == TokenKind::Word {
        let position = character_position(tokens.sql, tokens.peek().start);
        if !option(tokens, &mut options, is_statement)? {
            let message = "conflicting or redundant options";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(position));
        }
    }
    Ok(options)
}

/// Sets a value that was not set before. Returns false if it was.
pub(super) fn put<T>(slot: &mut Option<T>, value: T) -> bool {
    slot.replace(value).is_none()
}

pub(super) fn option(
    tokens: &mut Tokens<'_>,
    options: &mut SequenceOptions,
    is_statement: bool,
) -> Result<bool> {
    let word = tokens.peek().text.to_ascii_lowercase();
    if !is_option(&word) || (!is_statement && matches!(word.as_str(), "as" | "owned")) {
        return tokens.error();
    }
    tokens.next();
    Ok(match word.as_str() {
        "as" => {
            let name = tokens.identifier()?;
            put(&mut options.type_name, name)
        }
        "increment" => {
            tokens.accept("by");
            put(&mut options.increment, number(tokens)?)
        }
        "minvalue" => put(&mut options.least, Some(number(tokens)?)),
        "maxvalue" => put(&mut options.greatest, Some(number(tokens)?)),
        "no" if tokens.accept("minvalue") => put(&mut options.least, None),
        "no" if tokens.accept("maxvalue") => put(&mut options.greatest, None),
        "no" if tokens.accept("cycle") => put(&mut options.cycles, false),
        "cycle" => put(&mut options.cycles, true),
        "start" => {
            tokens.accept("with");
            put(&mut options.start, number(tokens)?)
        }
        "restart" => {
            let has_number = tokens.accept("with") || is_number(tokens);
            let value = if has_number { Some(number(tokens)?) } else { None };
            put(&mut options.restart, value)
        }
        "cache" => put(&mut options.cache, number(tokens)?),
        "owned" => {
            tokens.expect("by")?;
            let mut parts = vec![tokens.identifier()?];
            while tokens.accept_symbol(".") {
                parts.push(tokens.label()?);
            }
            put(&mut options.owner, parts)
        }
        "logged" | "unlogged" => {
            return tokens.unsupported_before(
                Missing::Unlogged,
                &format!("{} sequences are", word.to_ascii_uppercase()),
            );
        }
        "sequence" => {
            tokens.expect("name")?;
            let name = tokens.qualified_name()?;
            put(&mut options.name, Box::new(name))
        }
        _ => return tokens.error(),
    })
}

pub(super) fn is_option(word: &str) -> bool {
    const OPTIONS: [&str; 13] = [
        "as",
        "cache",
        "cycle",
        "increment",
        "logged",
        "maxvalue",
        "minvalue",
        "no",
        "owned",
        "restart",
        "sequence",
        "start",
        "unlogged",
    ];
    OPTIONS.contains(&word)
}

fn is_number(tokens: &Tokens<'_>) -> bool {
    let token = tokens.peek();
    token.kind == TokenKind::Number || token.is_symbol("-") || token.is_symbol("+")
}

/// A number with its sign.
fn number(tokens: &mut Tokens<'_>) -> Result<i64> {
    let is_negative = tokens.accept_symbol("-");
    if !is_negative {
        tokens.accept_symbol("+");
    }
    if tokens.peek().kind != TokenKind::Number {
        return tokens.error();
    }
    let digits = tokens.next().text;
    let text = if is_negative { format!("-{digits}") } else { digits.to_owned() };
    text.parse().map_err(|_| {
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!("value \"{text}\" is out of range for type bigint");
            return Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message);
        }
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// Rewrites what sqlparser cannot read. The options of an identity column are replaced by the byte at which
/// they begin, as its `START WITH` ([`identity_options`] reads them there). OVERRIDING is removed
/// ([`overriding`] finds it in the text).
pub(super) fn pack(sql: &str, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_special = |token: &TokenWithSpan| is_word(token, "identity") || is_word(token, "overriding");
    if !tokens.iter().any(is_special) {
        return tokens;
    }
    let mut packed: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        if is_word(first, "overriding")
            && let Some(after) = after_overriding(after)
        {
            rest = after;
            continue;
        }
        packed.push(first.clone());
        if is_word(first, "identity")
            && is_word_before(&packed, "as")
            && let Some((open, after)) = next(after)
            && open.token == Token::LParen
        {
            let at = byte_offset(sql, open.span.start).to_string();
            packed.push(open.clone());
            let start = [Token::make_keyword("START"), Token::Number(at, false)];
            packed.extend(start.map(|token| TokenWithSpan { token, span: open.span }));
            rest = after;
            while let [inside, after @ ..] = rest
                && inside.token != Token::RParen
            {
                rest = after;
            }
        }
    }
    packed
}

pub(super) fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// Whether the last token but one, not counting blanks, is this word.
fn is_word_before(tokens: &[TokenWithSpan], wanted: &str) -> bool {
    let mut before = tokens.iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    before.nth(1).is_some_and(|token| is_word(token, wanted))
}

pub(super) fn next(mut tokens: &[TokenWithSpan]) -> Option<(&TokenWithSpan, &[TokenWithSpan])> {
    while let [first, after @ ..] = tokens {
        if !matches!(first.token, Token::Whitespace(_)) {
            return Some((first, after));
        }
        tokens = after;
    }
    None
}

/// The tokens after `SYSTEM VALUE` or `USER VALUE`.
fn after_overriding(tokens: &[TokenWithSpan]) -> Option<&[TokenWithSpan]> {
    let (whose, after) = next(tokens)?;
    let (value, after) = next(after)?;
    let is_whole = (is_word(whose, "system") || is_word(whose, "user")) && is_word(value, "value");
    let is_before_rows = next(after).is_some_and(|(token, _)| match &token.token {
        Token::Word(word) => {
            matches!(word.keyword, Keyword::VALUES | Keyword::SELECT | Keyword::WITH | Keyword::TABLE)
        }
        other => *other == Token::LParen,
    });
    (is_whole && is_before_rows).then_some(after)
}

/// The OVERRIDING clause of an INSERT.
pub(crate) fn overriding(sql: &str) -> Result<Option<Overriding>> {
    const WORD: &[u8] = b"overriding";
    if !sql.as_bytes().windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD)) {
        return Ok(None);
    }
    let mut tokens = Tokens::new(sql)?;
    while tokens.peek().kind != TokenKind::End {
        if tokens.accept("overriding") && tokens.peek_at(1).is_word("value") {
            let is_system = tokens.peek().is_word("system");
            return Ok(Some(if is_system { Overriding::System } else { Overriding::User }));
        }
        tokens.next();
    }
    Ok(None)
}
