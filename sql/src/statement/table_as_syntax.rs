//! CREATE TABLE ... AS, SELECT ... INTO, and `TABLE t` as a query.
//!
//! The query is kept as text. It is compiled once to find the columns of the table, and again to fill the
//! table once that exists.

use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexer::TokenKind;
use super::parsed::{CreateTableAs, OnCommit, Statement};
use super::tokens::Tokens;

/// `CREATE TABLE ... AS`, or `None` for another CREATE TABLE.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::new(sql)?;
    while tokens.accept_symbol(";") {}
    tokens.expect("create")?;
    let is_temporary = tokens.persistence();
    if !tokens.accept("table") {
        return Ok(None);
    }
    let if_not_exists = tokens.accept("if");
    if if_not_exists && !(tokens.accept("not") && tokens.accept("exists")) {
        return Ok(None);
    }
    let Ok(name) = tokens.qualified_name() else { return Ok(None) };
    let Some(columns) = column_names(&mut tokens) else { return Ok(None) };
    let mut parameters = Vec::new();
    if tokens.peek().is_word("with") && tokens.tokens.iter().any(|token| token.is_word("as")) {
        tokens.next();
        parameters = tokens.parameters()?;
    }
    let Some(on_commit) = on_commit(&mut tokens) else { return Ok(None) };
    if !tokens.accept("as") {
        return Ok(None);
    }
    if tokens.peek().is_word("execute") {
        return tokens.unsupported(Missing::ExecutedQueries, "CREATE TABLE AS EXECUTE is");
    }
    let (query, query_offset) = tokens.rest();
    let (query, is_filled) = without_data_clause(&query)?;
    Ok(Some(Statement::CreateTableAs(Box::new(CreateTableAs {
        name,
        columns,
        if_not_exists,
        query,
        query_offset,
        is_filled,
        is_into: false,
        is_temporary,
        on_commit,
        parameters,
        is_materialized: false,
    }))))
}

/// `ON COMMIT ...`, which is optional. `None` if something else follows.
fn on_commit(tokens: &mut Tokens<'_>) -> Option<OnCommit> {
    if !tokens.accept("on") {
        return Some(OnCommit::PreserveRows);
    }
    if !tokens.accept("commit") {
        return None;
    }
    if tokens.accept("drop") {
        return Some(OnCommit::Drop);
    }
    let deletes = tokens.accept("delete");
    if !deletes && !tokens.accept("preserve") {
        return None;
    }
    let on_commit = if deletes { OnCommit::DeleteRows } else { OnCommit::PreserveRows };
    tokens.accept("rows").then_some(on_commit)
}

/// `(a, b)`, which is optional. `None` if it is not a list of names.
pub(super) fn column_names(tokens: &mut Tokens<'_>) -> Option<Vec<String>> {
    let mut columns = Vec::new();
    if !tokens.accept_symbol("(") {
        return Some(columns);
    }
    loop {
        columns.push(tokens.identifier().ok()?);
        if tokens.accept_symbol(")") {
            return Some(columns);
        }
        if !tokens.accept_symbol(",") {
            return None;
        }
    }
}

/// The query without a final `WITH [NO] DATA`, and whether its rows are wanted.
pub(super) fn without_data_clause(query: &str) -> Result<(String, bool)> {
    let tokens = Tokens::new(query)?.tokens;
    let ends_with = |words: &[&str]| {
        let at = tokens.len().checked_sub(words.len() + 1)?;
        let last = &tokens[at..tokens.len() - 1];
        last.iter().zip(words).all(|(token, word)| token.is_word(word)).then(|| tokens[at].start)
    };
    let without = |start: usize| query[..start].trim_end().to_owned();
    if let Some(start) = ends_with(&["with", "no", "data"]) {
        return Ok((without(start), false));
    }
    Ok((ends_with(&["with", "data"]).map_or_else(|| query.to_owned(), without), true))
}

/// `SELECT ... INTO t ...`. Blanks replace INTO, so that all positions stay right.
pub(super) fn into(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::new(sql)?;
    let mut depth = 0usize;
    while !(depth == 0 && tokens.peek().is_word("into")) {
        match tokens.next() {
            token if token.is_symbol("(") => depth += 1,
            token if token.is_symbol(")") => depth = depth.saturating_sub(1),
            token if token.kind == TokenKind::End => return tokens.error(),
            _ => {}
        }
    }
    let start = tokens.next().start;
    let is_temporary = tokens.persistence();
    tokens.accept("table");
    let name = tokens.qualified_name()?;
    let end = tokens.peek().start;
    let blanks: String =
        sql[start..end].chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect();
    let query = format!("{}{blanks}{}", &sql[..start], &sql[end..]);
    let query = query.trim_end().trim_end_matches(';').to_owned();
    Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
        name,
        columns: Vec::new(),
        if_not_exists: false,
        query,
        query_offset: 0,
        is_filled: true,
        is_into: true,
        is_temporary,
        on_commit: OnCommit::PreserveRows,
        parameters: Vec::new(),
        is_materialized: false,
    })))
}

/// Rewrites `TABLE t` as `SELECT * FROM t` where it is a query.
pub(super) fn spell_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| keyword(token) == Some(Keyword::TABLE)) {
        return tokens;
    }
    let mut spelled = Vec::with_capacity(tokens.len() + 2);
    let mut before: Option<TokenWithSpan> = None;
    for token in tokens {
        if keyword(&token) == Some(Keyword::TABLE) && before.as_ref().is_none_or(begins_query) {
            let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
            spelled.extend(words.map(|word| TokenWithSpan { token: word, span: token.span }));
            before = Some(token);
            continue;
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            before = Some(token.clone());
        }
        spelled.push(token);
    }
    spelled
}

fn keyword(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether a query may follow the token.
fn begins_query(token: &TokenWithSpan) -> bool {
    use Keyword::{ALL, AS, DISTINCT, EXCEPT, INTERSECT, UNION};
    match token.token {
        Token::LParen | Token::SemiColon => true,
        _ => keyword(token).is_some_and(|word| [ALL, AS, DISTINCT, EXCEPT, INTERSECT, UNION].contains(&word)),
    }
}
