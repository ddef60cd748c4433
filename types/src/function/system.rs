//! Functions of the catalog. What needs to know what there is, is asked of the environment's
//! [`SystemCatalog`](crate::system_catalog::SystemCatalog).

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::system_catalog::Question;
use crate::system_type::SystemType;
use crate::value::Value;

/// `pg_char_to_encoding('UTF8')`.
const UTF8: i32 = 6;
const SQL_ASCII: i32 = 0;

/// The names of the units of `pg_size_pretty`, and up to where PostgreSQL shows a number of each.
const UNITS: [(&str, u64); 6] =
    [("bytes", 10 << 10), ("kB", 20_479), ("MB", 20_479), ("GB", 20_479), ("TB", 20_479), ("PB", 20_479)];

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::ExpressionText, [text, ..]) => Ok(text.clone()),
        (Function::NoDefinition, _) => Ok(Value::Null),
        (Function::TablespaceLocation, _) => Ok(Value::text("")),
        (Function::HasAnyPrivilege, _) => Ok(Value::Boolean(true)),
        (Function::EncodingName, [Value::Integer(encoding)]) => Ok(Value::text(match *encoding {
            UTF8 => "UTF8",
            SQL_ASCII => "SQL_ASCII",
            _ => "",
        })),
        (Function::EncodingName, []) => Ok(Value::text("UTF8")),
        (Function::EncodingNumber, [Value::Text(name)]) => {
            Ok(Value::Integer(match name.to_ascii_uppercase().as_str() {
                "UTF8" | "UTF-8" | "UNICODE" => UTF8,
                "SQL_ASCII" => SQL_ASCII,
                _ => -1,
            }))
        }
        (Function::SizePretty, [Value::BigInt(bytes)]) => Ok(Value::text(size_pretty(*bytes))),
        (Function::HasPrivilege, [.., Value::Reference(_), _]) => Ok(Value::Boolean(true)),
        (_, arguments) => match &environment.catalog {
            Some(catalog) => match (question_of(function), reference_of(function)) {
                (Some(question), _) => Ok(catalog.answer(question, arguments)),
                (None, None) => Err(mismatch(function, arguments)),
                (None, Some(system_type)) => {
                    let [Value::Text(name)] = arguments else { return Err(mismatch(function, arguments)) };
                    match catalog.find(system_type, name) {
                        Ok(oid) => Ok(system_type.reference(oid, catalog.shown(system_type, oid))),
                        Err(Error::Input(_)) => Ok(Value::Null),
                        Err(error) => Err(error),
                    }
                }
            },
            None => {
                let message = "the system catalog cannot be looked at here";
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
            }
        },
    }
}

/// What a function asks the catalog.
fn question_of(function: Function) -> Option<Question> {
    Some(match function {
        Function::FormatType => Question::FormatType,
        Function::UserById => Question::UserById,
        Function::TableIsVisible => Question::TableIsVisible,
        Function::TypeIsVisible => Question::TypeIsVisible,
        Function::RoutineIsVisible => Question::RoutineIsVisible,
        Function::CollationIsVisible => Question::CollationIsVisible,
        Function::IndexDefinition => Question::IndexDefinition,
        Function::ViewDefinition => Question::ViewDefinition,
        Function::ConstraintDefinition => Question::ConstraintDefinition,
        Function::RoutineSource => Question::RoutineSource,
        Function::RoutineResult => Question::RoutineResult,
        Function::RoutineArguments => Question::RoutineArguments,
        Function::RoutineIdentity => Question::RoutineIdentity,
        Function::IsPublishable => Question::IsPublishable,
        Function::Description => Question::Description,
        _ => return None,
    })
}

/// What `to_regclass` and its like answer.
fn reference_of(function: Function) -> Option<SystemType> {
    Some(match function {
        Function::ToRegClass => SystemType::RegClass,
        Function::ToRegType => SystemType::RegType,
        Function::ToRegProc => SystemType::RegProc,
        Function::ToRegProcedure => SystemType::RegProcedure,
        Function::ToRegNamespace => SystemType::RegNamespace,
        Function::ToRegRole => SystemType::RegRole,
        _ => return None,
    })
}

/// Rounded half up from unit to unit, as `pg_size_pretty(bigint)` does.
fn size_pretty(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    let mut size = bytes.unsigned_abs();
    let mut is_halves = false;
    for (at, (name, limit)) in UNITS.into_iter().enumerate() {
        let is_last = at + 1 == UNITS.len();
        if is_last || size < limit {
            let shown = if is_halves { size.div_ceil(2) } else { size };
            return format!("{sign}{shown} {name}");
        }
        // One bit is kept to round by.
        size >>= if is_halves { 10 } else { 9 };
        is_halves = true;
    }
    format!("{sign}{size} bytes")
}
