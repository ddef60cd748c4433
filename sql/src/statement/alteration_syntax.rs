//! The parts of ALTER TABLE that sqlparser cannot read: ALTER COLUMN for identity columns, ALTER CONSTRAINT,
//! and the collation of a new type.
//!
//! The first two are replaced by SET DEFAULT with a value that no statement can contain. This value gives
//! the byte of the text at which the original clause begins, and the clause is read there when the action is
//! compiled. `TYPE type COLLATE name USING value` is passed to sqlparser as USING, under the name of COLLATE:
//! it then expects an operand, and the dialect reads the name and the value there.

use hyades_types::definition::{Deferral, Identity};
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{Expr, Ident, ObjectName, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexer::{TokenKind, character_position};
use super::parsed::SequenceOptions;
use super::places::{byte_offset, is_keyword};
use super::sequence_syntax::{is_option, is_word, next, option, put};
use super::tokens::Tokens;

/// What ALTER COLUMN changes on an existing identity column.
pub(crate) enum IdentityChange {
    /// SET GENERATED, SET of options, RESTART.
    Set(Option<Identity>, SequenceOptions),
    Drop {
        /// IF EXISTS.
        may_lack: bool,
    },
}

/// Marks the DEFAULT that [`pack`] puts in place of an [`IdentityChange`].
const ALTERED_IDENTITY: &str = "identity at ";

const ALTERED_CONSTRAINT: &str = "constraint at ";

/// The clause that [`pack`] has replaced by this value, if it has.
pub(crate) fn identity_change(sql: &str, value: &Expr) -> Result<Option<IdentityChange>> {
    let Expr::Value(value) = value else { return Ok(None) };
    let Value::Placeholder(mark) = &value.value else { return Ok(None) };
    let Some(from) = mark.strip_prefix(ALTERED_IDENTITY) else { return Ok(None) };
    let mut tokens = Tokens::new(sql)?;
    tokens.skip_to(from.parse().unwrap_or(0));
    let tokens = &mut tokens;
    let change = if tokens.accept("drop") {
        tokens.expect("identity")?;
        IdentityChange::Drop { may_lack: tokens.if_exists()? }
    } else {
        let (mut identity, mut options) = (None, SequenceOptions::default());
        while altered_option(tokens, &mut identity, &mut options)? {}
        IdentityChange::Set(identity, options)
    };
    end_of_action(tokens)?;
    Ok(Some(change))
}

fn end_of_action(tokens: &Tokens<'_>) -> Result<()> {
    let is_whole = tokens.peek().is_symbol(",") || tokens.peek().is_symbol(";");
    if is_whole || tokens.peek().kind == TokenKind::End { Ok(()) } else { tokens.error() }
}

/// The same for ALTER CONSTRAINT: when the constraint is to be checked.
pub(crate) fn constraint_change(sql: &str, value: &Expr) -> Result<Option<Deferral>> {
    let Expr::Value(value) = value else { return Ok(None) };
    let Value::Placeholder(mark) = &value.value else { return Ok(None) };
    let Some(from) = mark.strip_prefix(ALTERED_CONSTRAINT) else { return Ok(None) };
    let mut tokens = Tokens::new(sql)?;
    tokens.skip_to(from.parse().unwrap_or(0));
    let deferral = deferral(&mut tokens)?;
    end_of_action(&tokens)?;
    Ok(Some(deferral))
}

/// When a constraint is to be checked: the words that follow it.
pub(super) fn deferral(tokens: &mut Tokens<'_>) -> Result<Deferral> {
    let (mut deferrable, mut deferred) = (None, None);
    loop {
        let position = character_position(tokens.sql, tokens.peek().start);
        let is_new = if tokens.accept("deferrable") {
            put(&mut deferrable, true)
        } else if tokens.peek().is_word("not") && tokens.peek_at(1).is_word("deferrable") {
            tokens.next();
            tokens.next();
            put(&mut deferrable, false)
        } else if tokens.accept("initially") {
            let is_deferred = tokens.accept("deferred");
            if !is_deferred {
                tokens.expect("immediate")?;
            }
            put(&mut deferred, is_deferred)
        } else {
            break;
        };
        let contradiction = deferrable == Some(false) && deferred == Some(true);
        if !is_new || contradiction {
            let message = match contradiction {
                true => "constraint declared INITIALLY DEFERRED must be DEFERRABLE",
                false => "conflicting constraint properties",
            };
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(position));
        }
    }
    Ok(match (deferrable, deferred) {
        (_, Some(true)) => Deferral::InitiallyDeferred,
        (Some(true), _) => Deferral::InitiallyImmediate,
        _ => Deferral::Never,
    })
}

/// Reads one of `SET GENERATED {ALWAYS | BY DEFAULT}`, `SET option`, `RESTART [WITH number]`. Returns false
/// if there is none.
fn altered_option(
    tokens: &mut Tokens<'_>,
    identity: &mut Option<Identity>,
    options: &mut SequenceOptions,
) -> Result<bool> {
    let is_set = tokens.accept("set");
    if !is_set && !tokens.peek().is_word("restart") {
        return Ok(false);
    }
    let redundant = || Error::input(sqlstate::SYNTAX_ERROR, "conflicting or redundant options");
    let position = character_position(tokens.sql, tokens.peek().start);
    if is_set && tokens.accept("generated") {
        let is_always = tokens.accept("always");
        if !is_always {
            tokens.expect("by")?;
            tokens.expect("default")?;
        }
        let said = if is_always { Identity::Always } else { Identity::ByDefault };
        return if put(identity, said) { Ok(true) } else { Err(redundant()) };
    }
    let word = tokens.peek().text.to_ascii_lowercase();
    if is_set && matches!(word.as_str(), "as" | "owned" | "restart") {
        let word = if word == "owned" { "owned_by" } else { &word };
        let message = format!("sequence option \"{word}\" not supported here");
        return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(position));
    }
    if option(tokens, options, false)? { Ok(true) } else { Err(redundant().with_position(position)) }
}

/// The position of a constraint that is made from this index: of the word CONSTRAINT if it has a name, else
/// of UNIQUE or PRIMARY.
pub(crate) fn constraint_position(sql: &str, index: &Ident, is_named: bool) -> Option<u32> {
    let end = byte_offset(sql, index.span.start);
    let words: &[&str] = if is_named { &["constraint"] } else { &["unique", "primary"] };
    let mut tokens = Tokens::new(sql).ok()?;
    let mut found = None;
    while tokens.peek().start < end && tokens.peek().kind != TokenKind::End {
        let token = tokens.next();
        if words.iter().any(|word| token.is_word(word)) {
            found = Some(character_position(sql, token.start));
        }
    }
    found
}

/// The text of the USING that stands for COLLATE, and the mark of what follows it.
const COLLATE: &str = "\0collate";

/// Marks the COLLATE of each `ALTER column TYPE type COLLATE name`.
fn mark_collations(tokens: &mut [TokenWithSpan]) {
    let (mut is_in_type, mut depth) = (false, 0_usize);
    for token in tokens {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => is_in_type = false,
            _ if is_keyword(token, &[Keyword::TYPE]) => is_in_type = true,
            // After them there are expressions.
            _ if is_keyword(token, &[Keyword::USING, Keyword::DEFAULT, Keyword::CHECK]) => is_in_type = false,
            _ => {}
        }
        if is_in_type
            && is_keyword(token, &[Keyword::COLLATE])
            && let Token::Word(word) = &mut token.token
        {
            (word.keyword, word.value) = (Keyword::USING, COLLATE.to_owned());
            is_in_type = false;
        }
    }
}

/// `name [USING value]` after such a COLLATE. `None`, with nothing consumed, if the parser is not there.
pub(super) fn parse_collation(parser: &mut Parser<'_>) -> Option<std::result::Result<Expr, ParserError>> {
    let before = parser.index().checked_sub(1)?;
    match &parser.token_at(before).token {
        Token::Word(word) if word.value == COLLATE && word.quote_style.is_none() => {}
        _ => return None,
    }
    Some(parser.parse_object_name(false).and_then(|collation| {
        let value = match parser.parse_keyword(Keyword::USING) {
            true => parser.parse_expr()?,
            false => match parser.peek_token_ref() {
                next if matches!(next.token, Token::Comma | Token::SemiColon | Token::EOF) => {
                    Expr::Wildcard(AttachedToken::empty())
                }
                other => return parser.expected_ref("USING or the end of the action", other),
            },
        };
        let value = Box::new(Expr::Collate { expr: Box::new(value), collation });
        Ok(Expr::Prefixed { prefix: Ident::new(COLLATE), value })
    }))
}

/// The collation and the value in what follows the new type of a column.
pub(crate) fn collation(using: &Expr) -> (Option<&ObjectName>, Option<&Expr>) {
    let Expr::Prefixed { prefix, value } = using else { return (None, Some(using)) };
    match value.as_ref() {
        Expr::Collate { expr, collation } if prefix.value == COLLATE => {
            (Some(collation), Some(expr.as_ref()).filter(|expr| !matches!(expr, Expr::Wildcard(_))))
        }
        _ => (None, Some(using)),
    }
}

/// Rewrites what sqlparser cannot read; see the module head.
pub(super) fn pack(sql: &str, mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut words = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let is_alter = words.next().is_some_and(|token| is_word(token, "alter"));
    if !is_alter || !words.next().is_some_and(|token| is_word(token, "table")) {
        return tokens;
    }
    mark_collations(&mut tokens);
    let mut packed: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        packed.push(first.clone());
        rest = after;
        if !is_word(first, "alter") {
            continue;
        }
        let Some((mut column, mut after)) = next(rest) else { continue };
        let is_constraint = is_word(column, "constraint");
        if (is_constraint || is_word(column, "column"))
            && let Some(name) = next(after)
        {
            (column, after) = name;
        }
        let (mark, from) = if is_constraint {
            (ALTERED_CONSTRAINT, byte_offset(sql, column.span.end))
        } else {
            let Some((change, _)) = next(after).filter(|_| alters_identity(after)) else { continue };
            (ALTERED_IDENTITY, byte_offset(sql, change.span.start))
        };
        packed.push(column.clone());
        let mark = format!("{mark}{from}");
        let value = [Token::make_keyword("SET"), Token::make_keyword("DEFAULT"), Token::Placeholder(mark)];
        packed.extend(value.map(|token| TokenWithSpan { token, span: column.span }));
        let end = after.iter().position(|token| matches!(token.token, Token::Comma | Token::SemiColon));
        rest = &after[end.unwrap_or(after.len())..];
    }
    packed
}

/// Whether the tokens after a column change it as an identity column.
fn alters_identity(after: &[TokenWithSpan]) -> bool {
    let Some((first, after)) = next(after) else { return false };
    let Some((second, _)) = next(after) else { return is_word(first, "restart") };
    let is_option = || match &second.token {
        Token::Word(word) => word.quote_style.is_none() && is_option(&word.value.to_ascii_lowercase()),
        _ => false,
    };
    is_word(first, "restart")
        || is_word(first, "drop") && is_word(second, "identity")
        || is_word(first, "set") && (is_word(second, "generated") || is_option())
}
