//! Forms of calls that sqlparser does not know: `ROWS FROM (f(1), g(2))` in FROM, columns with types after a
//! function without an alias (`f(1) AS (a integer)`), and `f(VARIADIC array)`.
//!
//! Before parsing they are rewritten as calls whose names begin with a character that no statement can
//! contain: ROWS FROM becomes a call with the functions as its arguments, a function in it that has columns
//! of its own becomes a call with the function and, for each column, a NULL of its type under its name, and
//! VARIADIC becomes the name of its argument.
//!
//! Reference: `func_table`, `func_alias_clause` and `func_application` of PostgreSQL's gram.y.

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::places::{closing, is_keyword};

/// The name of the call that stands for ROWS FROM.
const ROWS_FROM: &str = "\0rows from";
/// The name of the call that stands for a function and its columns.
const DEFINED: &str = "\0defined";
/// The name of an argument after VARIADIC.
pub(crate) const VARIADIC: &str = "\0variadic";
/// The alias of a function that has columns, but no alias.
pub(crate) const NO_ALIAS: &str = "\0";

/// The words that begin a query, not a column, after `AS (`.
const QUERIES: [Keyword; 7] = [
    Keyword::SELECT,
    Keyword::VALUES,
    Keyword::WITH,
    Keyword::TABLE,
    Keyword::INSERT,
    Keyword::UPDATE,
    Keyword::DELETE,
];

/// Rewrites these forms. None of the tokens is a blank.
pub(super) fn pack(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_one =
        |at: usize| is_rows_from(&tokens, at) || is_variadic(&tokens, at) || has_columns(&tokens, at);
    if !(0..tokens.len()).any(is_one) {
        return tokens;
    }
    let mut packed = Vec::with_capacity(tokens.len() + 16);
    rewrite(&tokens, &mut packed);
    packed
}

fn like(token: Token, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token, span: place.span }
}

fn name(text: &str, place: &TokenWithSpan) -> TokenWithSpan {
    like(Token::make_word(text, Some('"')), place)
}

/// `ROWS FROM (`
fn is_rows_from(tokens: &[TokenWithSpan], at: usize) -> bool {
    matches!(tokens.get(at..at + 3), Some([rows, from, open])
        if is_keyword(rows, &[Keyword::ROWS]) && is_keyword(from, &[Keyword::FROM]) && open.token == Token::LParen)
}

/// `(VARIADIC` or `, VARIADIC`, with an argument after it.
fn is_variadic(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_word = matches!(&tokens[at].token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("variadic"));
    is_word && at > 0 && matches!(tokens[at - 1].token, Token::LParen | Token::Comma)
}

/// `) AS (column type`
fn has_columns(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some([close, word, open, first, second]) = tokens.get(at..at + 5) else { return false };
    close.token == Token::RParen
        && is_keyword(word, &[Keyword::AS])
        && open.token == Token::LParen
        && matches!(first.token, Token::Word(_))
        && !is_keyword(first, &QUERIES)
        && matches!(second.token, Token::Word(_))
}

fn rewrite(tokens: &[TokenWithSpan], out: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    // A comma after the argument of VARIADIC, which is the last one.
    let mut misplaced = None;
    while let Some(token) = tokens.get(at) {
        if is_rows_from(tokens, at)
            && let Some(close) = closing(tokens, at + 2)
        {
            out.extend([name(ROWS_FROM, token), tokens[at + 2].clone()]);
            functions(&tokens[at + 3..=close], out);
            at = close + 1;
            continue;
        }
        if is_variadic(tokens, at) {
            out.extend([name(VARIADIC, token), like(Token::RArrow, token)]);
            let after = items(&tokens[at + 1..]).first().map(|(_, end)| at + 1 + end);
            misplaced = after.filter(|after| tokens[*after].token == Token::Comma);
        } else if misplaced == Some(at) {
            out.push(like(Token::Char('\0'), token));
        } else {
            out.push(token.clone());
            if has_columns(tokens, at) {
                out.extend([tokens[at + 1].clone(), name(NO_ALIAS, &tokens[at + 2])]);
                at += 1;
            }
        }
        at += 1;
    }
}

/// The functions of ROWS FROM, up to and including the parenthesis that closes it.
fn functions(tokens: &[TokenWithSpan], out: &mut Vec<TokenWithSpan>) {
    for (begin, end) in items(tokens) {
        function(&tokens[begin..end], &tokens[end], out);
        out.push(tokens[end].clone());
    }
}

/// The ranges of the items of a list, each of which ends with a comma or the parenthesis that closes it.
/// What follows that is not looked at.
fn items(tokens: &[TokenWithSpan]) -> Vec<(usize, usize)> {
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth > 0 => depth -= 1,
            Token::Comma | Token::RParen if depth == 0 => {
                found.push((begin, at));
                begin = at + 1;
                if token.token == Token::RParen {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// A function of ROWS FROM, with its columns if it has some.
fn function(tokens: &[TokenWithSpan], after: &TokenWithSpan, out: &mut Vec<TokenWithSpan>) {
    let open = tokens.iter().position(|token| token.token == Token::LParen);
    let is_call = open.is_some_and(|open| open % 2 == 1 && matches!(tokens[0].token, Token::Word(_)));
    let close = open.filter(|_| is_call).and_then(|open| closing(tokens, open));
    let Some(close) = close else {
        // The parser reports a syntax error there.
        return out.push(like(Token::Char('\0'), tokens.first().unwrap_or(after)));
    };
    match tokens.get(close + 1..close + 3) {
        None if close + 1 == tokens.len() => rewrite(tokens, out),
        Some([word, begin])
            if is_keyword(word, &[Keyword::AS])
                && begin.token == Token::LParen
                && closing(tokens, close + 2) == Some(tokens.len() - 1) =>
        {
            out.extend([name(DEFINED, &tokens[0]), like(Token::LParen, &tokens[0])]);
            rewrite(&tokens[..=close], out);
            columns(&tokens[close + 3..], out);
            out.push(like(Token::RParen, &tokens[tokens.len() - 1]));
        }
        _ => out.push(like(Token::Char('\0'), &tokens[close + 1])),
    }
}

/// Columns with types, as NULLs under their names.
fn columns(tokens: &[TokenWithSpan], out: &mut Vec<TokenWithSpan>) {
    for (begin, end) in items(tokens) {
        let Some((first, written)) = tokens[begin..end].split_first() else { continue };
        let word = |token: Token| like(token, first);
        out.extend([word(Token::Comma), first.clone(), word(Token::RArrow)]);
        out.extend([
            word(Token::make_keyword("CAST")),
            word(Token::LParen),
            word(Token::make_keyword("NULL")),
        ]);
        out.push(word(Token::make_keyword("AS")));
        out.extend(written.iter().cloned());
        out.push(word(Token::RParen));
    }
}

/// A function of ROWS FROM.
pub(crate) struct Called<'a> {
    pub(crate) name: &'a ObjectName,
    pub(crate) arguments: &'a [FunctionArg],
    /// Its columns, each with its type, if they are given.
    pub(crate) columns: Vec<(&'a Ident, &'a sqlparser::ast::DataType)>,
}

fn is_named(name: &ObjectName, wanted: &str) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| ident.value == wanted))
}

/// The functions, if this name is that of ROWS FROM. None in the place of one that is no plain call.
pub(crate) fn rows_from<'a>(
    name: &ObjectName,
    arguments: &'a [FunctionArg],
) -> Option<Vec<Option<Called<'a>>>> {
    is_named(name, ROWS_FROM).then(|| arguments.iter().map(called).collect())
}

fn called(argument: &FunctionArg) -> Option<Called<'_>> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) = argument else { return None };
    let arguments = arguments_of(call)?;
    if !is_named(&call.name, DEFINED) {
        return Some(Called { name: &call.name, arguments, columns: Vec::new() });
    }
    let (first, columns) = arguments.split_first()?;
    let columns = columns.iter().map(|column| match column {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(Expr::Cast { data_type, .. }), .. } => {
            Some((name, data_type))
        }
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(Expr::Cast { data_type, .. }),
            ..
        } => Some((name, data_type)),
        _ => None,
    });
    Some(Called { columns: columns.collect::<Option<_>>()?, ..called(first)? })
}

fn arguments_of(call: &Function) -> Option<&[FunctionArg]> {
    match &call.args {
        FunctionArguments::List(list) if call.over.is_none() && call.filter.is_none() => Some(&list.args),
        _ => None,
    }
}

/// The argument, and whether it stands after VARIADIC.
pub(crate) fn plain_argument(argument: &FunctionArg) -> Option<(&Expr, bool)> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some((argument, false)),
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(argument), .. } if name.value == VARIADIC => {
            Some((argument, true))
        }
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(argument), ..
        } if name.value == VARIADIC => Some((argument, true)),
        _ => None,
    }
}
