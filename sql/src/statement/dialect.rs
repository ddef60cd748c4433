//! PostgreSQL's dialect for sqlparser, with what its own one lacks here.
//!
//! * sqlparser reads a function's argument twice in its PostgreSQL dialect (first as the name in `f(name =>
//!   value)`), which takes time exponential in the nesting of calls; names of arguments are identifiers here,
//!   as in PostgreSQL.
//! * When CASE, CAST and their like cannot be read, sqlparser tries them again as names, exponential again,
//!   and reports the second failure; they stay what they are here.
//! * `*` has no alias.
//! * sqlparser takes each operand for a type's name first and writes a message when it is none, which takes a
//!   tenth of the time for a short query; plain names, numbers and strings are read at once here.
//! * It is asked about every operator, and says there what the parser does as a guest
//!   (`hyades_types::guest`).

use std::any::TypeId;
use std::cell::RefCell;

use hyades_types::error::Error;
use hyades_types::guest;
use sqlparser::ast::{Expr, Interval};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// See the module head.
#[derive(Debug, Default)]
pub(super) struct HyadesDialect {
    /// Why the parser was stopped.
    stopped: RefCell<Option<Error>>,
}

impl HyadesDialect {
    /// Why the parser was stopped, if it was: what it says itself means nothing then.
    pub(super) fn stopped(&self) -> Option<Error> {
        self.stopped.borrow_mut().take()
    }
}

/// What it takes to parse an operand, as work of a guest.
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

/// `interval(3) 'text'`; None, with nothing read, if it is something else.
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
        BASE.get_next_precedence(parser)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let [operand, behind] = parser.peek_tokens_ref();
        match &operand.token {
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {
                Some(parser.parse_value().map(Expr::Value))
            }
            // sqlparser drops the precision of `interval(3) '1.2345 s'`.
            Token::Word(word) if word.keyword == Keyword::INTERVAL && behind.token == Token::LParen => {
                precise_interval(parser)
            }
            // Whether it is a name depends on what stands behind it: `f(x)`, `f 'text'`, `f[] 'text'`.
            Token::Word(word)
                if word.keyword == Keyword::NoKeyword
                    && matches!(
                        &behind.token,
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

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
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
