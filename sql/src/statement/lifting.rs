//! Takes the literals out of a text: `where id = 42` and `where id = 43` are one statement with a
//! parameter.
//!
//! Many clients put values into the text of their statements, so that no text occurs twice and each one is
//! parsed and compiled again. Lifting leaves a text with `$1`, `$2` ... in place of the literals, which
//! does recur and is found compiled. It must mean the same as the text with its literals. So a literal is
//! lifted only where it is certainly a value of its own and where its neighbours determine its possible
//! types:
//! 1. *compared*, `operand = literal`, up to the end of the condition: it takes the type of the operand;
//! 2. *assigned*, `column = literal` in UPDATE, or a member of a row of INSERT: it takes that of the
//!    column;
//! 3. *computed with*, `operand + literal`, numbers only: it has its own type;
//! 4. *an argument* of CALL: a number has its own type, a string that of the procedure's parameter.
//!
//! A string in one of these places may be cast, as drivers write `'2026-11-25'::date`, and then has that
//! type. Literals everywhere else stay: in LIMIT, ORDER BY 1, IN, functions, intervals. A literal must be
//! followed by a word or sign that ends it, so that no operator that binds more tightly is overlooked.
//!
//! The parameters get their types when the text is compiled. [`Literal::value`] decides which of them are
//! equivalent to their literals. In all other cases, and whenever the text with parameters does not
//! compile, the original text is compiled, so that errors refer to it.
//!
//! Reference: "forced parameterization" of commercial systems. `pg_stat_statements` identifies the same
//! texts, but only for its statistics.

use std::fmt::Write as _;

use hyades_types::text::{self, Reading};
use hyades_types::value::{SqlType, Value};

use super::lexer::{Lexer, Token, TokenKind, string_value};

/// Longer texts are bulk loads, which do not recur.
const LONGEST_BYTES: usize = 4096;
/// A statement with more literals is a bulk load.
const MOST_LITERALS: usize = 64;
/// The number of digits that certainly fit a `bigint`.
const BIGINT_DIGITS: usize = 18;

/// Statements whose literals may be lifted.
const LIFTED_STATEMENTS: [&str; 5] = ["select", "insert", "update", "delete", "call"];

/// Words that may follow a literal which is a whole operand.
const ENDS: [&str; 18] = [
    "and",
    "as",
    "else",
    "end",
    "except",
    "for",
    "from",
    "group",
    "having",
    "intersect",
    "limit",
    "offset",
    "or",
    "order",
    "returning",
    "then",
    "union",
    "where",
];

/// Words that are not operands: an operand begins after them.
const NO_OPERANDS: [&str; 24] = [
    "all",
    "and",
    "any",
    "as",
    "between",
    "by",
    "case",
    "distinct",
    "else",
    "from",
    "having",
    "in",
    "is",
    "like",
    "limit",
    "not",
    "offset",
    "on",
    "or",
    "returning",
    "select",
    "set",
    "then",
    "when",
];

/// The form of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Integer,
    Decimal,
    String,
}

/// How a literal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Compared,
    Assigned,
    Computed,
    Argument,
    /// A string that is cast to the type it is read as.
    Cast,
}

/// A literal that has been taken out. Its places are bytes of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literal {
    start: usize,
    end: usize,
    form: Form,
    used: Use,
}

/// A text without its literals. Reused for the next text.
#[derive(Default)]
pub(crate) struct Lifting {
    pub(crate) text: String,
    pub(crate) literals: Vec<Literal>,
    /// The types that the literals have by themselves. For the others, their neighbours determine the type.
    pub(crate) types: Vec<Option<SqlType>>,
}

impl Lifting {
    /// Takes the literals out of a text. Returns false if none can be lifted.
    pub(crate) fn lift(&mut self, sql: &str) -> bool {
        self.text.clear();
        self.literals.clear();
        self.types.clear();
        if sql.len() > LONGEST_BYTES || Search::new(sql).run(&mut self.literals).is_none() {
            return false;
        }
        let mut copied = 0;
        for (place, literal) in self.literals.iter().enumerate() {
            self.text.push_str(&sql[copied..literal.start]);
            // Writing to a string does not fail.
            let _ = write!(self.text, "${}", place + 1);
            copied = literal.end;
            self.types.push(literal.own_type(sql));
        }
        self.text.push_str(&sql[copied..]);
        !self.literals.is_empty()
    }

    /// Whether a literal is computed with. There may be an index on just that expression.
    pub(crate) fn has_computed(&self) -> bool {
        self.literals.iter().any(|literal| literal.used == Use::Computed)
    }
}

impl Literal {
    /// The type that a number has if its neighbours do not determine one.
    fn own_type(&self, sql: &str) -> Option<SqlType> {
        if !matches!(self.used, Use::Computed | Use::Argument) {
            return None;
        }
        match self.form {
            Form::Integer if sql[self.start..self.end].parse::<i32>().is_ok() => Some(SqlType::Integer),
            Form::Integer => Some(SqlType::BigInt),
            Form::Decimal => Some(SqlType::Numeric(None)),
            Form::String => None,
        }
    }

    /// Whether a parameter of this type, read from the literal's text, has the value that the literal has
    /// in its place. This does not hold for strings in a comparison that would be rounded to the type, or
    /// for integers compared with texts, which are an error.
    pub(crate) fn is_value_of(&self, sql_type: SqlType) -> bool {
        use SqlType::{
            BigInt, Boolean, Bytea, Char, Cidr, Date, DoublePrecision, Extension, Inet, Integer, Json, Jsonb,
            MacAddr, MacAddr8, Numeric, Real, SmallInt, Text, Timestamp, TimestampTz, Uuid, Varchar,
        };
        let (is_assigned, is_cast) = (self.used == Use::Assigned, self.used == Use::Cast);
        let is_string = self.form == Form::String;
        match sql_type {
            Numeric(None) | DoublePrecision => true,
            Numeric(Some(_)) => is_assigned,
            Real => is_assigned || is_cast,
            SmallInt | Integer | BigInt => self.form != Form::Decimal,
            Text | Varchar(_) | Uuid | Boolean | Date | Inet | Cidr | MacAddr | MacAddr8 | Extension(_) => {
                is_string
            }
            Char(_) => is_string && !is_cast,
            Timestamp(precision) | TimestampTz(precision) => {
                is_string && (is_assigned || precision.is_none())
            }
            Json | Jsonb | Bytea => is_string && (is_assigned || is_cast),
            _ => false,
        }
    }

    /// The value of a parameter of this type. `None` if it differs from the literal, if the text is not
    /// valid for the type, or if it means something else each time, as `'now'` does.
    pub(crate) fn value(&self, sql: &str, sql_type: SqlType, reading: Reading<'_>) -> Option<Value> {
        if !self.is_value_of(sql_type) {
            return None;
        }
        let written = &sql[self.start..self.end];
        if self.form != Form::String {
            // -0 equals 0, except in the text of a float.
            let is_negative_zero =
                written.starts_with('-') && !written.contains(|digit| ('1'..='9').contains(&digit));
            return if is_negative_zero { None } else { text::parse(written, sql_type, reading).ok() };
        }
        let inner = &written[1..written.len() - 1];
        let is_moment = matches!(sql_type, SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_));
        if is_moment && !inner.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        match inner.contains('\'') {
            true => text::parse(&string_value(written), sql_type, reading).ok(),
            false => text::parse(inner, sql_type, reading).ok(),
        }
    }
}

/// Which bound of a BETWEEN comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    None,
    First,
    Second,
}

/// Scans a text for its literals.
struct Search<'a> {
    lexer: Lexer<'a>,
    /// The last three tokens, the newest first.
    before: [Token<'a>; 3],
    statement: &'a str,
    /// The depth of parentheses and brackets.
    depth: usize,
    /// Whether in the list of SET.
    is_setting: bool,
    /// Whether in the rows of INSERT ... VALUES.
    is_in_rows: bool,
    between: Between,
}

impl<'a> Search<'a> {
    fn new(sql: &'a str) -> Search<'a> {
        let none = Token { kind: TokenKind::End, start: 0, text: "" };
        Search {
            lexer: Lexer::new(sql),
            before: [none; 3],
            statement: "",
            depth: 0,
            is_setting: false,
            is_in_rows: false,
            between: Between::None,
        }
    }

    /// Returns `None` for a text of another statement, with parameters of its own, or that is not SQL.
    fn run(&mut self, literals: &mut Vec<Literal>) -> Option<()> {
        let mut token = self.lexer.next().ok()?;
        self.statement = token.text;
        LIFTED_STATEMENTS.iter().find(|word| token.is_word(word))?;
        while token.kind != TokenKind::End {
            if token.kind == TokenKind::Parameter {
                return None;
            }
            let next = self.lexer.next().ok()?;
            if matches!(token.kind, TokenKind::Number | TokenKind::String)
                && let Some(literal) = self.literal(&token, &next)
            {
                if literals.len() == MOST_LITERALS {
                    return None;
                }
                literals.push(literal);
            }
            self.pass(token);
            token = next;
        }
        Some(())
    }

    /// Advances to the next token.
    fn pass(&mut self, token: Token<'a>) {
        match token.kind {
            TokenKind::Symbol => match token.text {
                "(" | "[" => self.depth += 1,
                ")" | "]" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            },
            TokenKind::Word if token.is_word("between") => self.between = Between::First,
            TokenKind::Word if token.is_word("and") => {
                let is_first = self.between == Between::First;
                self.between = if is_first { Between::Second } else { Between::None };
            }
            TokenKind::Word if self.depth == 0 => self.begin_clause(&token),
            _ => {}
        }
        self.before = [token, self.before[0], self.before[1]];
    }

    fn begin_clause(&mut self, token: &Token<'_>) {
        if token.is_word("set") {
            self.is_setting = true;
        } else if ["where", "from", "returning", "on"].iter().any(|word| token.is_word(word)) {
            (self.is_setting, self.is_in_rows) = (false, false);
        } else if token.is_word("values") && self.statement.eq_ignore_ascii_case("insert") {
            self.is_in_rows = true;
        }
    }

    /// The literal to lift, given the token and the one that follows it.
    fn literal(&self, token: &Token<'_>, next: &Token<'_>) -> Option<Literal> {
        let form = form_of(token)?;
        let [last, second, third] = &self.before;
        // The sign of a number does not follow an operand.
        let is_signed = last.is_symbol("-") && !is_operand(second);
        let (operator, operand, start) = match is_signed {
            true if last.end() != token.start || form == Form::String => return None,
            true => (second, third, last.start),
            false => (last, second, token.start),
        };
        let cast = if form == Form::String { self.after_cast(next) } else { None };
        let used = self.use_of(operator, operand, cast.as_ref().unwrap_or(next), is_signed, form)?;
        let used = if cast.is_some() { Use::Cast } else { used };
        Some(Literal { start, end: token.end(), form, used })
    }

    /// The token after a cast to a type of one word.
    fn after_cast(&self, next: &Token<'_>) -> Option<Token<'a>> {
        if !next.is_symbol("::") {
            return None;
        }
        let mut ahead = self.lexer.clone();
        let sql_type = ahead.next().ok()?;
        (sql_type.kind == TokenKind::Word).then(|| ahead.next().ok())?
    }

    fn use_of(
        &self,
        operator: &Token<'_>,
        operand: &Token<'_>,
        next: &Token<'_>,
        is_signed: bool,
        form: Form,
    ) -> Option<Use> {
        let is_call = self.statement.eq_ignore_ascii_case("call");
        let is_member = self.depth == 1 && (operator.is_symbol("(") || operator.is_symbol(","));
        if is_member && (self.is_in_rows || is_call) {
            let used = if is_call { Use::Argument } else { Use::Assigned };
            return (next.is_symbol(",") || next.is_symbol(")")).then_some(used);
        }
        if !is_end(next) {
            return None;
        }
        if operator.kind == TokenKind::Word {
            let is_second = self.between == Between::Second && operator.is_word("and");
            let is_bound = operator.is_word("between") || is_second;
            return is_bound.then_some(Use::Compared);
        }
        if operator.kind != TokenKind::Symbol || !is_operand(operand) {
            return None;
        }
        match operator.text {
            "=" if self.is_setting && self.depth == 0 => {
                let [_, _, third] = &self.before;
                // With a sign, the token before the column is no longer remembered.
                let is_column = !is_signed && (third.is_word("set") || third.is_symbol(","));
                is_column.then_some(Use::Assigned)
            }
            "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" => Some(Use::Compared),
            "+" | "-" | "*" if form != Form::String => Some(Use::Computed),
            _ => None,
        }
    }
}

fn is_word_of(token: &Token<'_>, words: &[&str]) -> bool {
    token.kind == TokenKind::Word && words.iter().any(|word| token.text.eq_ignore_ascii_case(word))
}

/// Whether an operand ends with this token.
fn is_operand(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Word => !is_word_of(token, &NO_OPERANDS),
        TokenKind::QuotedIdentifier => true,
        TokenKind::Symbol => matches!(token.text, ")" | "]"),
        _ => false,
    }
}

/// Whether this token ends the operand before it.
fn is_end(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::End => true,
        TokenKind::Symbol => matches!(token.text, ")" | "," | ";"),
        _ => is_word_of(token, &ENDS),
    }
}

/// The form of a literal that can be lifted: no exponents, no prefixes, and no more digits than certainly
/// fit a `bigint`.
fn form_of(token: &Token<'_>) -> Option<Form> {
    let bytes = token.text.as_bytes();
    if token.kind == TokenKind::String {
        return (bytes.first() == Some(&b'\'')).then_some(Form::String);
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = bytes.iter().filter(|byte| **byte == b'.').count();
    match (digits + points == bytes.len() && digits <= BIGINT_DIGITS, points) {
        (true, 0) => Some(Form::Integer),
        (true, 1) => Some(Form::Decimal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its literals, or `-` if none is lifted.
    fn lifted(sql: &str) -> String {
        let mut lifting = Lifting::default();
        if lifting.lift(sql) { lifting.text } else { "-".to_owned() }
    }

    #[test]
    fn values_of_their_own_are_lifted() {
        for (sql, expected) in [
            ("select a from t where b = 5", "select a from t where b = $1"),
            ("SELECT a FROM t WHERE b=-5;", "SELECT a FROM t WHERE b=$1;"),
            ("select a from t where (b <> 5.5) or c >= 'x''y'", "select a from t where (b <> $1) or c >= $2"),
            (
                "select * from t where a between 1 and 9 and b = 3",
                "select * from t where a between $1 and $2 and b = $3",
            ),
            (
                "select * from t where a between -1 and -9 order by 1",
                "select * from t where a between $1 and $2 order by 1",
            ),
            ("update t set a = a + 5, b = 'x' where c = 7", "update t set a = a + $1, b = $2 where c = $3"),
            ("update t set a = a + -5 where c = 7", "update t set a = a + $1 where c = $2"),
            (
                "insert into t values (1, -2, 'x', 1.5, default), (2, 3, null, .5, f(1))",
                "insert into t values ($1, $2, $3, $4, default), ($5, $6, null, $7, f(1))",
            ),
            (
                "insert into t(a) values (1) on conflict (a) do update set b = 5",
                "insert into t(a) values ($1) on conflict (a) do update set b = $2",
            ),
            (
                "select a from t where b = 'x'::uuid and c = 5",
                "select a from t where b = $1::uuid and c = $2",
            ),
            ("insert into t values ('x'::json, 'y'::text)", "insert into t values ($1::json, $2::text)"),
            ("call p(1, 'x', -2, null)", "call p($1, $2, $3, null)"),
            ("delete from t where \"A\" = 1 returning a", "delete from t where \"A\" = $1 returning a"),
            (
                "select a from t where b = 5 /* why */ and c = 6 -- x\n",
                "select a from t where b = $1 /* why */ and c = $2 -- x\n",
            ),
            ("select a from t where (a + b) > 7", "select a from t where (a + b) > $1"),
        ] {
            assert_eq!(lifted(sql), expected, "{sql}");
        }
    }

    #[test]
    fn what_may_be_something_else_stays() {
        for sql in [
            "",
            "select 1",
            "select - 5",
            "select a from t limit 5 offset 6",
            "select a from t order by 1",
            "select a from t order by -1",
            "select a from t where b in (1, 2)",
            "select a from t where b = 5::bigint",
            "select a from t where b = 'x'::varchar(3)",
            "select a from t where b = 'x'::timestamp with time zone",
            "select a from t where b = 'x'::text || c",
            "select a from t where b = 'x'::text::uuid",
            "select a from t where b = 5 * c",
            "select a from t where b = 'x' || c",
            "select a from t where b = 'x' collate \"C\"",
            "select a from t where b = 'x'\n'y'",
            "select a from t where b = E'x'",
            "select a from t where b = 1e5",
            "select a from t where b = 1234567890123456789",
            "select a from t where b = date '2020-01-01'",
            "select a from t where b like 'x%'",
            "select a from t where b -> 'x' is null",
            "select a from t where 1 = 0",
            "select a from t where (a + b) * 2 > 7",
            "select a from t where b = $1 and c = 5",
            "select f(5)",
            "call p(f(5), array[1, 2], a => 5, 5::bigint)",
            "select array[1, 2]",
            "values (1)",
            "set a = 5",
            "explain select a from t where b = 5",
            "create table t as select a from u where b = 5",
            "insert into t values (array[1, 2, 3])",
            "update t set (a, b) = (1, 2)",
            "update t set a = -1",
            "select 'open",
        ] {
            assert_eq!(lifted(sql), "-", "{sql}");
        }
    }

    #[test]
    fn a_load_of_data_stays() {
        let rows = ["(1, 2)"; 33].join(", ");
        assert_eq!(lifted(&format!("insert into t values {rows}")), "-");
        assert_eq!(lifted(&format!("select a from t where b = '{}'", "x".repeat(LONGEST_BYTES))), "-");
    }

    #[test]
    fn literals_are_of_types_in_which_they_are_the_same() {
        let mut lifting = Lifting::default();
        assert!(lifting.lift("call p(2147483647, 2147483648, -2147483648, 1.5, 'x')"));
        let own = [SqlType::Integer, SqlType::BigInt, SqlType::Integer, SqlType::Numeric(None)];
        assert_eq!(lifting.types[..4], own.map(Some));
        assert_eq!(lifting.types[4], None);
        assert!(lifting.lift("update t set a = 1.25 where b = 7 and c = 'x' and d = d + 12345678901"));
        let kinds: Vec<(Form, Use)> =
            lifting.literals.iter().map(|literal| (literal.form, literal.used)).collect();
        assert_eq!(
            kinds,
            [
                (Form::Decimal, Use::Assigned),
                (Form::Integer, Use::Compared),
                (Form::String, Use::Compared),
                (Form::Integer, Use::Computed),
            ]
        );
        assert_eq!(lifting.types, [None, None, None, Some(SqlType::BigInt)]);
        let [assigned, compared, string, _] = &lifting.literals[..] else { panic!("four literals") };
        let rounded = SqlType::Numeric(Some((5, 1)));
        assert!(assigned.is_value_of(rounded) && !compared.is_value_of(rounded));
        assert!(!assigned.is_value_of(SqlType::Integer) && compared.is_value_of(SqlType::Integer));
        assert!(!compared.is_value_of(SqlType::Text) && string.is_value_of(SqlType::Text));
        assert!(!compared.is_value_of(SqlType::Real) && assigned.is_value_of(SqlType::Real));
    }
}
