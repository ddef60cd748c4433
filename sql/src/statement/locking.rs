//! Locking clauses: `FOR strength [OF table, ...] [NOWAIT | SKIP LOCKED]`.
//!
//! sqlparser knows two of PostgreSQL's four strengths, and only one table. So before parsing, the rest is
//! packed into the name of that table, after a character that no statement can contain, and is unpacked
//! afterwards.

use hyades_engine::procedure::ir::{Impatience, Strength};
use sqlparser::ast::{Ident, LockClause, LockType, NonBlock, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::names::fold;
use super::places::is_keyword;

const PACKED: char = '\0';
/// Separates a schema from a table.
const QUALIFIED: char = '\u{1}';

/// One clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    pub(crate) strength: Strength,
    /// Empty means all tables.
    pub(crate) tables: Vec<String>,
    pub(crate) impatience: Option<Impatience>,
    /// Whether a table is named with its schema.
    pub(crate) is_qualified: bool,
}

/// The name in PostgreSQL's messages.
pub(crate) fn name_of(strength: Strength) -> &'static str {
    match strength {
        Strength::KeyRead => "FOR KEY SHARE",
        Strength::Read => "FOR SHARE",
        Strength::NoKeyWrite => "FOR NO KEY UPDATE",
        Strength::Write => "FOR UPDATE",
    }
}

/// The words of a clause that does not wait.
pub(crate) fn impatience_words(impatience: Impatience) -> &'static str {
    match impatience {
        Impatience::NoWait => " NOWAIT",
        Impatience::SkipLocked => " SKIP LOCKED",
    }
}

/// Rewrites the clauses that sqlparser cannot read.
pub(super) fn pack(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(token, &[Keyword::FOR])) {
        return tokens;
    }
    let mut packed = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        packed.push(first.clone());
        rest = after;
        if is_keyword(first, &[Keyword::FOR])
            && let Some((clause, after)) = clause(after)
        {
            let words = [
                Token::make_keyword("UPDATE"),
                Token::make_keyword("OF"),
                Token::make_word(&clause, Some('"')),
            ];
            packed.extend(words.map(|token| TokenWithSpan { token, span: first.span }));
            rest = after;
        }
    }
    packed
}

/// The next token, and the tokens after it.
fn next(mut tokens: &[TokenWithSpan]) -> Option<(&TokenWithSpan, &[TokenWithSpan])> {
    while let [first, after @ ..] = tokens {
        if !matches!(first.token, Token::Whitespace(_)) {
            return Some((first, after));
        }
        tokens = after;
    }
    None
}

/// The tokens after these keywords.
fn after_keywords<'t>(mut tokens: &'t [TokenWithSpan], keywords: &[Keyword]) -> Option<&'t [TokenWithSpan]> {
    for keyword in keywords {
        let (token, rest) = next(tokens)?;
        if !is_keyword(token, &[*keyword]) {
            return None;
        }
        tokens = rest;
    }
    Some(tokens)
}

/// A clause after its FOR, packed, and the tokens after its tables. `None` if sqlparser can read the
/// clause.
fn clause(tokens: &[TokenWithSpan]) -> Option<(String, &[TokenWithSpan])> {
    use Keyword::{KEY, NO, SHARE, UPDATE};
    let strengths: [(&str, bool, &[Keyword]); 4] = [
        ("u", true, &[UPDATE]),
        ("n", false, &[NO, KEY, UPDATE]),
        ("s", true, &[SHARE]),
        ("k", false, &[KEY, SHARE]),
    ];
    let (name, is_known, mut rest) = strengths
        .into_iter()
        .find_map(|(name, is_known, keywords)| Some((name, is_known, after_keywords(tokens, keywords)?)))?;
    let mut packed = format!("{PACKED}{name}");
    let (mut tables, mut is_part) = (0, false);
    let mut list = after_keywords(rest, &[Keyword::OF]);
    while let Some(tokens) = list.take() {
        let (Token::Word(word), after) = next(tokens).map(|(token, after)| (&token.token, after))? else {
            return None;
        };
        let ident = Ident { value: word.value.clone(), quote_style: word.quote_style, span: tokens[0].span };
        packed.push(if is_part { QUALIFIED } else { PACKED });
        packed.push_str(&fold(&ident));
        tables += 1;
        rest = after;
        if let Some((token, after)) = next(after)
            && matches!(token.token, Token::Comma | Token::Period)
        {
            is_part = token.token == Token::Period;
            list = Some(after);
        }
    }
    (!is_known || tables > 1).then_some((packed, rest))
}

/// A clause as it was written.
pub(crate) fn unpack(clause: &LockClause) -> Locking {
    let mut strength = match clause.lock_type {
        LockType::Update => Strength::Write,
        LockType::Share => Strength::Read,
    };
    let mut tables = Vec::new();
    let parts: &[ObjectNamePart] = clause.of.as_ref().map_or(&[], |name| &name.0);
    if let [ObjectNamePart::Identifier(ident)] = parts {
        match ident.value.strip_prefix(PACKED) {
            None => tables.push(fold(ident)),
            Some(packed) => {
                let mut parts = packed.split(PACKED);
                strength = match parts.next() {
                    Some("k") => Strength::KeyRead,
                    Some("s") => Strength::Read,
                    Some("n") => Strength::NoKeyWrite,
                    _ => Strength::Write,
                };
                tables.extend(parts.map(str::to_owned));
            }
        }
    }
    let impatience = clause.nonblock.as_ref().map(|nonblock| match nonblock {
        NonBlock::Nowait => Impatience::NoWait,
        NonBlock::SkipLocked => Impatience::SkipLocked,
    });
    let is_qualified = parts.len() > 1 || tables.iter().any(|table: &String| table.contains(QUALIFIED));
    Locking { strength, tables, impatience, is_qualified }
}
