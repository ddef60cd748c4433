//! Locking clauses: `FOR strength [OF table, ...] [NOWAIT | SKIP LOCKED]`.
//!
//! sqlparser knows two of PostgreSQL's four strengths and one table. So what it does not know is packed into
//! the name of the one table before it parses, behind a character that no statement can contain, and unpacked
//! from there.

use hyades_engine::procedure::ir::{Impatience, Strength};
use sqlparser::ast::{Ident, LockClause, LockType, NonBlock, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::names::fold;
use super::places::is_keyword;

const PACKED: char = '\0';
/// Stands between a schema and a table.
const QUALIFIED: char = '\u{1}';

/// One clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Locking {
    pub(crate) strength: Strength,
    /// None: all.
    pub(crate) tables: Vec<String>,
    pub(crate) impatience: Option<Impatience>,
    /// A table is named with its schema.
    pub(crate) is_qualified: bool,
}

/// As PostgreSQL's messages have it.
pub(crate) fn name_of(strength: Strength) -> &'static str {
    match strength {
        Strength::KeyRead => "FOR KEY SHARE",
        Strength::Read => "FOR SHARE",
        Strength::NoKeyWrite => "FOR NO KEY UPDATE",
        Strength::Write => "FOR UPDATE",
    }
}

/// How a clause says that it does not wait.
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
    while let [first, behind @ ..] = rest {
        packed.push(first.clone());
        rest = behind;
        if is_keyword(first, &[Keyword::FOR])
            && let Some((clause, behind)) = clause(behind)
        {
            let words = [
                Token::make_keyword("UPDATE"),
                Token::make_keyword("OF"),
                Token::make_word(&clause, Some('"')),
            ];
            packed.extend(words.map(|token| TokenWithSpan { token, span: first.span }));
            rest = behind;
        }
    }
    packed
}

/// The tokens behind the next one, and that.
fn next(mut tokens: &[TokenWithSpan]) -> Option<(&TokenWithSpan, &[TokenWithSpan])> {
    while let [first, behind @ ..] = tokens {
        if !matches!(first.token, Token::Whitespace(_)) {
            return Some((first, behind));
        }
        tokens = behind;
    }
    None
}

/// What stands behind these keywords.
fn behind<'t>(mut tokens: &'t [TokenWithSpan], keywords: &[Keyword]) -> Option<&'t [TokenWithSpan]> {
    for keyword in keywords {
        let (token, rest) = next(tokens)?;
        if !is_keyword(token, &[*keyword]) {
            return None;
        }
        tokens = rest;
    }
    Some(tokens)
}

/// A clause behind its FOR, packed, and what stands behind its tables; none if sqlparser can read it.
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
        .find_map(|(name, is_known, keywords)| Some((name, is_known, behind(tokens, keywords)?)))?;
    let mut packed = format!("{PACKED}{name}");
    let (mut tables, mut is_part) = (0, false);
    let mut list = behind(rest, &[Keyword::OF]);
    while let Some(tokens) = list.take() {
        let (Token::Word(word), behind) = next(tokens).map(|(token, behind)| (&token.token, behind))? else {
            return None;
        };
        let ident = Ident { value: word.value.clone(), quote_style: word.quote_style, span: tokens[0].span };
        packed.push(if is_part { QUALIFIED } else { PACKED });
        packed.push_str(&fold(&ident));
        tables += 1;
        rest = behind;
        if let Some((token, behind)) = next(behind)
            && matches!(token.token, Token::Comma | Token::Period)
        {
            is_part = token.token == Token::Period;
            list = Some(behind);
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
