//! A dialect for sqlparser, based on its PostgreSQL dialect, with these differences:
//!
//! * In its PostgreSQL dialect, sqlparser reads a function's argument twice (first as the name in
//!   `f(name => value)`), which takes time exponential in the nesting of calls. Here argument names are
//!   identifiers, as in PostgreSQL.
//! * If CASE, CAST and similar forms cannot be read, sqlparser tries them again as names, which is again
//!   exponential, and reports the second failure. Here they are not tried again.
//! * `*` has no alias, and ON is not an alias: `INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING`.
//! * sqlparser first tries each operand as a type name and formats an error message when it is not one,
//!   which takes a tenth of the time for a short query. Plain names, numbers and strings are read directly
//!   here.
//! * Where an operand is expected, sqlparser recognizes a query only by SELECT and WITH. A query in
//!   parentheses can also be VALUES or TABLE, and it can continue after a query in parentheses of its own:
//!   `((SELECT 1) UNION SELECT 2)`.
//! * `?` is an operator of jsonb, not a parameter.
//! * `USING operator` after a key of ORDER BY, and FETCH FIRST, are read here (`sort_operator`, `query_end`).
//! * BETWEEN SYMMETRIC is a BETWEEN whose first bound is marked.
//! * The right side of IS DISTINCT FROM ends before AND and OR.
//! * LIKE ANY and LIKE ALL work like ANY and ALL with other operators.
//! * GROUPING SETS may be nested in GROUPING SETS.
//! * What may follow a column's type is listed here. sqlparser takes words of other databases and drops them.
//! * An operator that is not known may stand in front of an operand, as in PostgreSQL's grammar, so that the
//!   error is the one that PostgreSQL reports.
//! * The parser asks the dialect about every operator. There the dialect accounts for the parser's work as
//!   a guest (`hyades_types::guest`).

use std::any::TypeId;
use std::cell::{Cell, RefCell};

use hyades_types::error::Error;
use hyades_types::guest;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, ColumnOption, DataType, Expr, Ident, Interval, KeyOrIndexDisplay, NullsDistinctOption,
    ObjectName, Statement, TypedString, UnaryOperator, UniqueConstraint,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::alteration_syntax::parse_collation;
use super::names::is_reserved;
use super::nested_parentheses::{CONTINUING_WORDS, NestedParentheses};
use super::{query_end, sort_operator};

/// See the module head.
#[derive(Debug, Default)]
pub(super) struct HyadesDialect {
    /// The error with which the parser was stopped.
    stopped: RefCell<Option<Error>>,
    /// Whether a JOIN after JOIN belongs to its right side: `a JOIN b JOIN c ON ... ON ...`.
    nests_joins: Cell<bool>,
    nested: RefCell<NestedParentheses>,
    /// Whether `USING operator` was met.
    has_sort_operators: Cell<bool>,
}

impl HyadesDialect {
    /// Examines the statement before it is parsed. The parser nests a join without checking that it has a
    /// condition. NATURAL joins have none, and are joined in the order of the text.
    pub(super) fn look_at(&self, tokens: &[TokenWithSpan]) {
        let is_natural = |token: &TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::NATURAL);
        self.nests_joins.set(!tokens.iter().any(is_natural));
        *self.nested.borrow_mut() = NestedParentheses::among(tokens);
    }

    /// Whether a key of ORDER BY has an operator.
    pub(super) fn has_sort_operators(&self) -> bool {
        self.has_sort_operators.get()
    }

    /// The error with which the parser was stopped, if it was. The parser's own error is then meaningless.
    pub(super) fn stopped(&self) -> Option<Error> {
        self.stopped.borrow_mut().take()
    }
}

/// The cost of parsing an operand, as work of a guest.
const UNITS_PER_OPERAND: u32 = 100;

const BASE: PostgreSqlDialect = PostgreSqlDialect {};

/// Passes flags through to PostgreSQL's dialect.
macro_rules! as_postgresql {
    ($($flag:ident),* $(,)?) => {
        $(fn $flag(&self) -> bool {
            BASE.$flag()
        })*
    };
}

/// `interval(3) 'text'`. Returns `None` and consumes nothing if it is something else.
fn precise_interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_literal = matches!(parser.peek_nth_token_ref(2).token, Token::Number(..))
        && parser.peek_nth_token_ref(3).token == Token::RParen
        && matches!(parser.peek_nth_token_ref(4).token, Token::SingleQuotedString(_));
    is_literal.then(|| {
        parser.next_token();
        let precision = parser.parse_optional_precision()?;
        let value = parser.parse_value().map(Expr::Value)?;
        Ok(Expr::Interval(Interval {
            value: Box::new(value),
            leading_field: None,
            leading_precision: precision,
            last_field: None,
            fractional_seconds_precision: None,
        }))
    })
}

/// `type 'text'`
fn typed_literal(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    let value = parser.parse_value()?;
    let data_type = DataType::Custom(ObjectName::from(vec![name]), Vec::new());
    Ok(Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false }))
}

/// Words that come before an operand and are not reserved.
const OPERATOR_WORDS: [Keyword; 6] =
    [Keyword::BETWEEN, Keyword::LIKE, Keyword::ILIKE, Keyword::ESCAPE, Keyword::BY, Keyword::ZONE];
/// Whether the next operand is a query that sqlparser would not recognize; see the module head.
/// The arguments of a function are not queries, and an ORDER BY among them belongs to the function.
fn is_unseen_query(parser: &Parser<'_>, nested: &NestedParentheses) -> bool {
    let next = parser.index();
    let opens_parentheses = next > 0 && parser.token_at(next - 1).token == Token::LParen;
    let is_call = match &parser.token_at(next.wrapping_sub(2)).token {
        Token::Word(word) if OPERATOR_WORDS.contains(&word.keyword) => false,
        Token::Word(word) => word.quote_style.is_some() || !is_reserved(&word.value),
        _ => false,
    };
    if !opens_parentheses || is_call {
        return false;
    }
    match &parser.token_at(next).token {
        Token::Word(word) => matches!(word.keyword, Keyword::VALUES | Keyword::TABLE),
        Token::LParen => nested.continues(next),
        _ => false,
    }
}

/// Words that begin what may follow a column's type.
const COLUMN_OPTIONS: [Keyword; 9] = [
    Keyword::NOT,
    Keyword::NULL,
    Keyword::DEFAULT,
    Keyword::PRIMARY,
    Keyword::UNIQUE,
    Keyword::REFERENCES,
    Keyword::CHECK,
    Keyword::GENERATED,
    Keyword::COLLATE,
];

/// An operator without a meaning in front of an operand.
fn unknown_prefix(parser: &mut Parser<'_>, operator: String) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    let value = parser.parse_subexpr(BASE.prec_value(Precedence::PgOther))?;
    Ok(Expr::Prefixed { prefix: Ident::with_span(span, operator), value: Box::new(value) })
}

/// `UNIQUE NULLS [NOT] DISTINCT` of a column, which sqlparser knows only for tables. Returns `None` and
/// consumes nothing if it is something else.
fn unique_nulls(parser: &mut Parser<'_>) -> Option<Result<ColumnOption, ParserError>> {
    if !parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS]) {
        return None;
    }
    let nulls_distinct = match parser.parse_keyword(Keyword::NOT) {
        true => NullsDistinctOption::NotDistinct,
        false => NullsDistinctOption::Distinct,
    };
    let parsed = parser.expect_keyword_is(Keyword::DISTINCT);
    Some(parsed.and_then(|()| {
        let unique = UniqueConstraint {
            name: None,
            index_name: None,
            index_type_display: KeyOrIndexDisplay::None,
            index_type: None,
            columns: Vec::new(),
            index_options: Vec::new(),
            characteristics: parser.parse_constraint_characteristics()?,
            nulls_distinct,
        };
        Ok(ColumnOption::Unique(unique))
    }))
}

fn is_question(token: &Token) -> bool {
    matches!(token, Token::Placeholder(name) if name == "?")
}

/// The operators `?`, `?|` and `?&`.
fn existence(parser: &mut Parser<'_>, left: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    parser.advance_token();
    let op = match parser.peek_token_no_skip().token {
        Token::Pipe => BinaryOperator::QuestionPipe,
        Token::Ampersand => BinaryOperator::QuestionAnd,
        _ => BinaryOperator::Question,
    };
    if op != BinaryOperator::Question {
        parser.advance_token();
    }
    let right = Box::new(parser.parse_subexpr(precedence)?);
    Ok(Expr::BinaryOp { left: Box::new(left.clone()), op, right })
}

/// `IS [NOT] DISTINCT FROM value`. sqlparser takes everything that follows for the value, also AND and OR.
/// Returns `None` and consumes nothing if it is something else.
fn distinct_from(parser: &mut Parser<'_>, operand: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
    if !negated && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
        return None;
    }
    let left = Box::new(operand.clone());
    Some(parser.parse_subexpr(BASE.prec_value(Precedence::Is)).map(|right| match negated {
        true => Expr::IsNotDistinctFrom(left, Box::new(right)),
        false => Expr::IsDistinctFrom(left, Box::new(right)),
    }))
}

/// Marks the first bound of `BETWEEN SYMMETRIC`.
const SYMMETRIC: &str = "symmetric";

/// The first bound of a BETWEEN without its mark, if it is marked. The bounds may then be in any order.
pub(crate) fn symmetric_bound(low: &Expr) -> Option<&Expr> {
    match low {
        Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => Some(value),
        _ => None,
    }
}

/// `[NOT] BETWEEN SYMMETRIC a AND b`, or with ASYMMETRIC, which changes nothing. sqlparser knows neither.
/// Returns `None` and consumes nothing if it is something else.
fn between(parser: &mut Parser<'_>, operand: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::NOT);
    let words = usize::from(negated);
    let unquoted = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word),
        _ => None,
    };
    let is_between = unquoted(words).is_some_and(|word| word.keyword == Keyword::BETWEEN);
    let word = unquoted(words + 1).filter(|_| is_between)?.value.to_ascii_lowercase();
    if word != SYMMETRIC && word != "asymmetric" {
        return None;
    }
    (0..words + 2).for_each(|_| parser.advance_token());
    let parsed = parser.parse_between(operand.clone(), negated).map(|mut parsed| {
        if let Expr::Between { low, .. } = &mut parsed
            && word == SYMMETRIC
        {
            let value = std::mem::replace(low, Box::new(Expr::Wildcard(AttachedToken::empty())));
            **low = Expr::Prefixed { prefix: Ident::new(SYMMETRIC), value };
        }
        parsed
    });
    Some(parsed)
}

/// `[NOT] LIKE ANY (array)`, and the same with ILIKE, ALL and a query. Returns `None` and consumes nothing
/// if it is something else.
fn quantified_like(parser: &mut Parser<'_>, operand: &Expr) -> Option<Result<Expr, ParserError>> {
    let keyword = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let negated = keyword(0) == Keyword::NOT;
    let words = usize::from(negated);
    let op = match (keyword(words), negated) {
        (Keyword::LIKE, false) => BinaryOperator::PGLikeMatch,
        (Keyword::LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (Keyword::ILIKE, false) => BinaryOperator::PGILikeMatch,
        (Keyword::ILIKE, true) => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    };
    let quantifier = keyword(words + 1);
    let is_quantifier = matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL);
    if !is_quantifier || parser.peek_nth_token_ref(words + 2).token != Token::LParen {
        return None;
    }
    let is_query = matches!(keyword(words + 3), Keyword::SELECT | Keyword::WITH | Keyword::VALUES);
    (0..words + 3).for_each(|_| parser.advance_token());
    let right = match is_query {
        true => parser.parse_query().map(Expr::Subquery),
        false => parser.parse_expr(),
    };
    let left = Box::new(operand.clone());
    Some(right.and_then(|right| {
        parser.expect_token(&Token::RParen)?;
        let right = Box::new(right);
        Ok(match quantifier {
            Keyword::ALL => Expr::AllOp { left, compare_op: op, right },
            _ => Expr::AnyOp { left, compare_op: op, right, is_some: quantifier == Keyword::SOME },
        })
    }))
}

/// The contents of GROUPING SETS in GROUPING SETS.
fn grouping_sets(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let lists = parser.parse_comma_separated(|parser| {
        if !parser.consume_token(&Token::LParen) {
            return parser.parse_expr().map(|key| vec![key]);
        }
        if parser.consume_token(&Token::RParen) {
            return Ok(Vec::new());
        }
        let keys = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        Ok(keys)
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::GroupingSets(lists))
}

/// The number of tokens before the list in `IN (...)` or `NOT IN (...)`, if the list begins with a
/// parenthesis and is not a query. sqlparser takes the first operand of `IN ((SELECT 1), 2)` for the whole
/// list.
fn list_with_parentheses(parser: &Parser<'_>, nested: &NestedParentheses) -> Option<usize> {
    let first = parser.index();
    let is_keyword = |index: usize, wanted: Keyword| match &parser.token_at(index).token {
        Token::Word(word) => word.keyword == wanted && word.quote_style.is_none(),
        _ => false,
    };
    let words = if is_keyword(first, Keyword::NOT) { 2 } else { 1 };
    let opening = first + words;
    let opens = |index: usize| parser.token_at(index).token == Token::LParen;
    if !is_keyword(opening - 1, Keyword::IN) || !opens(opening) || !opens(opening + 1) {
        return None;
    }
    match &parser.token_at(nested.closing(opening + 1)? + 1).token {
        Token::RParen => None,
        Token::Word(word) if CONTINUING_WORDS.contains(&word.keyword) => None,
        _ => Some(words + 1),
    }
}

/// The words that an alias may not be without AS: `SELECT 1 FOR UPDATE` locks and names nothing. They are
/// those of `pg_get_keywords` whose `barelabel` is false and that sqlparser has, too.
const NO_BARE_ALIAS: [Keyword; 38] = [
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::CHAR,
    Keyword::CHARACTER,
    Keyword::CREATE,
    Keyword::DAY,
    Keyword::EXCEPT,
    Keyword::FETCH,
    Keyword::FILTER,
    Keyword::FOR,
    Keyword::FROM,
    Keyword::GRANT,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::HOUR,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::LIMIT,
    Keyword::MINUTE,
    Keyword::MONTH,
    Keyword::NOTNULL,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::ORDER,
    Keyword::OVER,
    Keyword::OVERLAPS,
    Keyword::PRECISION,
    Keyword::RETURNING,
    Keyword::SECOND,
    Keyword::TO,
    Keyword::UNION,
    Keyword::VARYING,
    Keyword::WHERE,
    Keyword::WINDOW,
    Keyword::WITH,
    Keyword::WITHIN,
    Keyword::WITHOUT,
    Keyword::YEAR,
];

/// `ISNULL`, which sqlparser has only as a function of other databases.
fn is_isnull(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
}

/// A sign in front of an operand. It binds more tightly than any operator except `[`, `.` and `::`:
/// `-2 ^ 2` is 4.
fn signed(parser: &mut Parser<'_>, op: UnaryOperator) -> Result<Expr, ParserError> {
    parser.advance_token();
    let expr = Box::new(parser.parse_subexpr(SIGN_PRECEDENCE)?);
    Ok(Expr::UnaryOp { op, expr })
}

/// Between that of COLLATE and that of a subscript.
const SIGN_PRECEDENCE: u8 = 125;

impl Dialect for HyadesDialect {
    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        BASE.identifier_quote_style(identifier)
    }

    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        BASE.is_delimited_identifier_start(character)
    }

    fn is_identifier_start(&self, character: char) -> bool {
        BASE.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        BASE.is_identifier_part(character)
    }

    fn is_custom_operator_part(&self, character: char) -> bool {
        BASE.is_custom_operator_part(character)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if let Err(error) = guest::spend(UNITS_PER_OPERAND) {
            *self.stopped.borrow_mut() = Some(error);
            return Some(Err(ParserError::ParserError("stopped".to_owned())));
        }
        if is_question(&parser.peek_token_ref().token) {
            return Some(Ok(BASE.prec_value(Precedence::PgOther)));
        }
        if is_isnull(&parser.peek_token_ref().token) {
            return Some(Ok(BASE.prec_value(Precedence::Is)));
        }
        if sort_operator::is_next(parser) {
            return Some(Ok(sort_operator::PRECEDENCE));
        }
        BASE.get_next_precedence(parser)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if is_unseen_query(parser, &self.nested.borrow()) {
            return Some(parser.parse_query().map(Expr::Subquery));
        }
        if let Some(marked) = query_end::fetched(parser).or_else(|| parse_collation(parser)) {
            return Some(marked);
        }
        if parser.parse_keywords(&[Keyword::GROUPING, Keyword::SETS]) {
            return Some(grouping_sets(parser));
        }
        let [operand, following] = parser.peek_tokens_ref();
        match &operand.token {
            Token::CustomBinaryOperator(operator) => {
                let operator = operator.clone();
                Some(unknown_prefix(parser, operator))
            }
            Token::Minus => Some(signed(parser, UnaryOperator::Minus)),
            Token::Plus => Some(signed(parser, UnaryOperator::Plus)),
            Token::AtAt => Some(unknown_prefix(parser, "@@".to_owned())),
            token if is_question(token) => Some(unknown_prefix(parser, "?".to_owned())),
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {
                Some(parser.parse_value().map(Expr::Value))
            }
            // sqlparser drops the precision of `interval(3) '1.2345 s'`.
            Token::Word(word) if word.keyword == Keyword::INTERVAL && following.token == Token::LParen => {
                precise_interval(parser)
            }
            // A column may have this name, but a function may not.
            Token::Word(word) if word.keyword == Keyword::VALUES && word.quote_style.is_none() => {
                Some(parser.parse_identifier().map(Expr::Identifier))
            }
            // A literal of a type that sqlparser does not know: `inet '::1'`.
            Token::Word(word)
                if matches!(word.keyword, Keyword::NoKeyword | Keyword::NAME)
                    && matches!(following.token, Token::SingleQuotedString(_)) =>
            {
                Some(typed_literal(parser))
            }
            // Whether it is a name depends on what follows it: `f(x)`, `f 'text'`, `f[] 'text'`.
            Token::Word(word)
                if word.keyword == Keyword::NoKeyword
                    && matches!(
                        &following.token,
                        Token::Comma
                            | Token::Period
                            | Token::RParen
                            | Token::SemiColon
                            | Token::EOF
                            | Token::DoubleColon
                            | Token::Eq
                            | Token::Neq
                            | Token::Lt
                            | Token::Gt
                            | Token::LtEq
                            | Token::GtEq
                            | Token::Plus
                            | Token::Minus
                            | Token::Mul
                            | Token::Div
                            | Token::Word(_)
                    ) =>
            {
                Some(parser.parse_identifier().map(Expr::Identifier))
            }
            _ => None,
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        operand: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if is_question(&parser.peek_token_ref().token) {
            return Some(existence(parser, operand, precedence));
        }
        if is_isnull(&parser.peek_token_ref().token) {
            parser.advance_token();
            return Some(Ok(Expr::IsNull(Box::new(operand.clone()))));
        }
        if sort_operator::is_next(parser) {
            self.has_sort_operators.set(true);
            return Some(sort_operator::parse(parser, operand));
        }
        // sqlparser recognizes it only directly after an operand, not after `::type`.
        if parser.parse_keyword(Keyword::COLLATE) {
            let collated = parser
                .parse_object_name(false)
                .map(|collation| Expr::Collate { expr: Box::new(operand.clone()), collation });
            return Some(collated);
        }
        if let Some(parsed) = distinct_from(parser, operand)
            .or_else(|| between(parser, operand))
            .or_else(|| quantified_like(parser, operand))
        {
            return Some(parsed);
        }
        let tokens_before = list_with_parentheses(parser, &self.nested.borrow())?;
        for _ in 0..tokens_before {
            parser.advance_token();
        }
        let list = parser.parse_comma_separated(Parser::parse_expr).and_then(|list| {
            parser.expect_token(&Token::RParen)?;
            Ok(Expr::InList { expr: Box::new(operand.clone()), list, negated: tokens_before == 3 })
        });
        Some(list)
    }

    // sqlparser takes other words between INSERT and INTO.
    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        let keyword = |at: usize| match &parser.peek_nth_token_ref(at).token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        };
        let is_foreign = match keyword(0) {
            Keyword::INSERT => keyword(1) != Keyword::INTO,
            Keyword::UPDATE => keyword(1) == Keyword::OR,
            _ => false,
        };
        is_foreign.then(|| {
            parser.advance_token();
            parser.expected_ref("INTO or a name", parser.peek_token_ref())
        })
    }

    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        let is_known = match &parser.peek_token_ref().token {
            Token::Word(word) => word.quote_style.is_none() && COLUMN_OPTIONS.contains(&word.keyword),
            _ => false,
        };
        Ok(match is_known {
            true => unique_nulls(parser).map(|option| option.map(Some)),
            false => Some(Ok(None)),
        })
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        !self.nests_joins.get()
    }

    // It is refused in PostgreSQL's words (`super::foreign`).
    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        !NO_BARE_ALIAS.contains(keyword) && BASE.is_column_alias(keyword, parser)
    }

    fn is_reserved_for_identifier(&self, _keyword: Keyword) -> bool {
        true
    }

    as_postgresql!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_comma_separated_trim,
    );
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX};

    use super::NO_BARE_ALIAS;

    #[test]
    fn words_that_need_as_are_those_of_the_catalog() {
        let words = include_str!("../system/keywords.txt").lines().filter_map(|line| {
            let (_, line) = line.split_once(' ')?;
            line.strip_prefix("f ")
        });
        let of_catalog: BTreeSet<String> =
            words.flat_map(str::split_whitespace).map(str::to_uppercase).collect();
        let known = ALL_KEYWORDS.iter().zip(ALL_KEYWORDS_INDEX);
        let (mut refused, mut expected) = (BTreeSet::new(), BTreeSet::new());
        for (word, keyword) in known {
            if NO_BARE_ALIAS.contains(keyword) {
                refused.insert(*word);
            }
            if of_catalog.contains(*word) {
                expected.insert(*word);
            }
        }
        assert_eq!(refused, expected);
    }
}
