//! Expressions whose results were taken from a PostgreSQL 15 server.
//!
//! `postgres.txt` has one expression a line: `operation¦type:literal¦type:literal => expected`, where
//! `expected` is `type [text]`, `type NULL`, or `!SQLSTATE message / detail`. An operation is an operator, a
//! function's name, `::type` (an explicit cast), `parse` (reading the literal alone), or a word for other
//! syntax (`in`, `coalesce` ...). The server ran with TimeZone Europe/Berlin, DateStyle ISO,
//! extra_float_digits 1.

use hyades_types::error::{Error, Result};
use hyades_types::function::{Function, Signature, TypePattern, lookup};
use hyades_types::operator::{BinaryOperator, UnaryOperator};
use hyades_types::text;
use hyades_types::value::{SqlType, Value};

use super::tests::environment;
use super::{Context, evaluate};
use crate::procedure::ir::Expr;

const CASES: &str = include_str!("postgres.txt");

pub(super) fn type_named(name: &str) -> SqlType {
    let (base, modifier) = name.split_once('(').unwrap_or((name, ""));
    let numbers: Vec<i32> = modifier
        .trim_end_matches(')')
        .split(',')
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect();
    match base {
        "bool" | "boolean" => SqlType::Boolean,
        "int2" | "smallint" => SqlType::SmallInt,
        "int4" | "integer" => SqlType::Integer,
        "int8" | "bigint" => SqlType::BigInt,
        "float4" | "real" => SqlType::Real,
        "float8" | "double precision" => SqlType::DoublePrecision,
        "numeric" => {
            SqlType::Numeric(numbers.first().map(|p| (*p as u16, numbers.get(1).map_or(0, |s| *s as i16))))
        }
        "text" => SqlType::Text,
        "varchar" | "character varying" => SqlType::Varchar(numbers.first().map(|n| *n as u32)),
        "char" | "character" => SqlType::Char(numbers.first().map_or(0, |n| *n as u32)),
        "bytea" => SqlType::Bytea,
        "date" => SqlType::Date,
        "timestamp" | "timestamp without time zone" => SqlType::TIMESTAMP,
        "timestamptz" | "timestamp with time zone" => SqlType::TIMESTAMPTZ,
        "uuid" => SqlType::Uuid,
        "interval" => SqlType::INTERVAL,
        "time" => SqlType::TIME,
        other => panic!("no type {other}"),
    }
}

struct Argument {
    expr: Expr,
    sql_type: SqlType,
}

/// `type:literal` as `'literal'::type`: read without modifiers, then cast.
fn argument(text: &str) -> Result<Argument> {
    let (name, literal) = text.split_once(':').unwrap();
    let sql_type = type_named(name);
    let value = if literal == "NULL" {
        Value::Null
    } else {
        text::parse(literal, sql_type.without_modifier(), &environment().time_zone)?
    };
    let operand = Box::new(Expr::Const(value));
    Ok(Argument { expr: Expr::Cast { operand, to: sql_type, explicit: true }, sql_type })
}

/// What the compiler inserts where `text` is wanted.
fn as_text(argument: Argument) -> Expr {
    if matches!(argument.sql_type, SqlType::Char(_)) {
        return Expr::Call { function: Function::CharToText, arguments: vec![argument.expr] };
    }
    argument.expr
}

fn operator(symbol: &str) -> Option<BinaryOperator> {
    Some(match symbol {
        "+" => BinaryOperator::Add,
        "-" => BinaryOperator::Subtract,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "^" => BinaryOperator::Power,
        "||" => BinaryOperator::Concat,
        "&" => BinaryOperator::BitAnd,
        "|" => BinaryOperator::BitOr,
        "#" => BinaryOperator::BitXor,
        "<<" => BinaryOperator::ShiftLeft,
        ">>" => BinaryOperator::ShiftRight,
        "=" => BinaryOperator::Equal,
        "<>" => BinaryOperator::NotEqual,
        "<" => BinaryOperator::Less,
        "<=" => BinaryOperator::LessEqual,
        ">" => BinaryOperator::Greater,
        ">=" => BinaryOperator::GreaterEqual,
        _ => return None,
    })
}

fn accepts(signature: &Signature, arguments: &[Argument], exactly: bool) -> bool {
    let enough = signature.arguments.len() == arguments.len()
        || (signature.is_variadic && signature.arguments.len() < arguments.len());
    enough
        && arguments.iter().enumerate().all(|(number, argument)| {
            match signature.arguments[number.min(signature.arguments.len() - 1)] {
                TypePattern::Exact(wanted) if exactly => wanted.is_same_base(argument.sql_type),
                TypePattern::Exact(wanted) => {
                    wanted.is_same_base(argument.sql_type)
                        || (wanted == SqlType::Text && argument.sql_type.is_text())
                }
                TypePattern::Any | TypePattern::Common => true,
            }
        })
}

fn call(name: &str, arguments: Vec<Argument>) -> Expr {
    let signatures = lookup(name);
    let signature = signatures
        .iter()
        .find(|signature| accepts(signature, &arguments, true))
        .or_else(|| signatures.iter().find(|signature| accepts(signature, &arguments, false)))
        .unwrap_or_else(|| panic!("no function {name} for these arguments"));
    let wants_text = |number: usize| {
        signature.arguments[number.min(signature.arguments.len() - 1)] == TypePattern::Exact(SqlType::Text)
    };
    let arguments = arguments.into_iter().enumerate();
    let arguments =
        arguments.map(|(number, a)| if wants_text(number) { as_text(a) } else { a.expr }).collect();
    Expr::Call { function: signature.function, arguments }
}

fn compile(operation: &str, mut arguments: Vec<Argument>) -> Expr {
    let boxed = |argument: Argument| Box::new(argument.expr);
    if let Some(to) = operation.strip_prefix("::") {
        return Expr::Cast { operand: boxed(arguments.remove(0)), to: type_named(to), explicit: true };
    }
    let first = arguments.remove(0);
    match operation {
        "parse" => first.expr,
        "neg" => Expr::Unary { operator: UnaryOperator::Negate, operand: boxed(first) },
        "~" => Expr::Unary { operator: UnaryOperator::BitNot, operand: boxed(first) },
        "not" => Expr::Not(boxed(first)),
        "isnotdistinct" => Expr::NotDistinct(boxed(first), boxed(arguments.remove(0))),
        "and" => Expr::And(boxed(first), boxed(arguments.remove(0))),
        "or" => Expr::Or(boxed(first), boxed(arguments.remove(0))),
        "in" => Expr::InList { operand: boxed(first), list: arguments.into_iter().map(|a| a.expr).collect() },
        "coalesce" => {
            let rest = arguments.into_iter().map(|a| a.expr);
            Expr::Coalesce(std::iter::once(first.expr).chain(rest).collect())
        }
        "like" | "ilike" => Expr::Like {
            operand: boxed(first),
            pattern: boxed(arguments.remove(0)),
            case_insensitive: operation == "ilike",
        },
        _ => match operator(operation) {
            Some(operator) => {
                let second = arguments.remove(0);
                let both_char =
                    matches!((first.sql_type, second.sql_type), (SqlType::Char(_), SqlType::Char(_)));
                let keep = both_char && operator != BinaryOperator::Concat;
                let (left, right) =
                    if keep { (first.expr, second.expr) } else { (as_text(first), as_text(second)) };
                Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
            }
            None => {
                arguments.insert(0, first);
                call(operation, arguments)
            }
        },
    }
}

fn run(case: &str) -> Result<Value> {
    let mut parts = case.split('¦');
    let operation = parts.next().unwrap();
    let arguments = parts.map(argument).collect::<Result<Vec<Argument>>>()?;
    let expr = if arguments.is_empty() { call(operation, arguments) } else { compile(operation, arguments) };
    let environment = environment();
    evaluate(&expr, &Context::of_registers(&[], &environment))
}

fn show(result: Result<Value>, expected: &str) -> String {
    match result {
        Ok(value) => {
            let name = expected.split_once([' ', '[']).map_or(expected, |_| {
                expected.split(" [").next().unwrap_or(expected).trim_end_matches(" NULL")
            });
            if name.starts_with('!') {
                return format!("{value:?}");
            }
            let sql_type = type_named(name);
            assert!(value.fits(sql_type), "{value:?} is no {name}");
            if value.is_null() {
                return format!("{name} NULL");
            }
            let mut bytes = Vec::new();
            text::write(&value, sql_type, &environment().time_zone, &mut bytes);
            format!("{name} [{}]", String::from_utf8_lossy(&bytes))
        }
        Err(error) => {
            let detail = match &error {
                Error::Input(input) => {
                    input.detail.as_ref().map_or(String::new(), |detail| format!(" / {detail}"))
                }
                _ => String::new(),
            };
            format!("!{} {error}{detail}", error.sqlstate())
        }
    }
}

#[test]
fn results_are_those_of_postgresql() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (case, expected) = line.split_once(" => ").unwrap();
        count += 1;
        let found = show(run(case), expected);
        if found != expected {
            wrong.push(format!("{case}\n    PostgreSQL {expected}\n    Hyades     {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
