//! Functions of the catalog. Those that need to know its content ask the environment's
//! [`SystemCatalog`](crate::system_catalog::SystemCatalog).

use std::sync::Arc;

use super::{Function, mismatch};
use crate::collect::List;
use crate::environment::Environment;
use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::system_catalog::{Measure, Privileged, Question, Size, SystemCatalog};
use crate::system_type::SystemType;
use crate::value::array_value::ArrayValue;
use crate::value::{ArrayElement, Value};

/// `pg_char_to_encoding('UTF8')`.
const UTF8: i32 = 6;
const SQL_ASCII: i32 = 0;

/// `NAMEDATALEN`
const NAME_BYTES: usize = 64;

/// The names of the units of `pg_size_pretty`, and the limit up to which PostgreSQL uses each.
const UNITS: [(&str, u64); 6] =
    [("bytes", 10 << 10), ("kB", 20_479), ("MB", 20_479), ("GB", 20_479), ("TB", 20_479), ("PB", 20_479)];

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::ExpressionText, [text, ..]) => Ok(text.clone()),
        (Function::NoDefinition | Function::NoSize, _) => Ok(Value::Null),
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
        (Function::OptionNames, [Value::Array(options)]) => options_part(options, 0),
        (Function::OptionValues, [Value::Array(options)]) => options_part(options, 1),
        (Function::NameCharacter, [Value::Text(name), Value::Integer(at)]) => Ok(name_character(name, *at)),
        (Function::DefaultPrivileges, [Value::Text(kind), Value::Oid(owner)]) => {
            let shown = |catalog: &Arc<dyn SystemCatalog>| catalog.shown(SystemType::RegRole, *owner);
            default_privileges(kind, &environment.catalog.as_ref().map(shown).unwrap_or_default())
        }
        (Function::NamedViewDefinition, [Value::Text(name), rest @ ..]) if environment.catalog.is_some() => {
            let Some(catalog) = &environment.catalog else { return Ok(Value::Null) };
            let mut arguments = vec![Value::Oid(catalog.find(SystemType::RegClass, name)?)];
            arguments.extend_from_slice(rest);
            Ok(catalog.answer(Question::ViewDefinition, &arguments))
        }
        (_, arguments) => match &environment.catalog {
            Some(catalog) if function == Function::DatabaseSize || size_of(function).is_some() => {
                size(function, arguments, catalog.as_ref())
            }
            Some(catalog) if privileged_by(function).is_some() => match privileged_by(function) {
                Some(of) => catalog.has_privilege(of, arguments),
                None => Err(mismatch(function, arguments)),
            },
            Some(catalog) => match (question_of(function), reference_of(function)) {
                (Some(question), _) => match catalog.answer(question, arguments) {
                    Value::Null if question == Question::Setting => Err(no_setting(arguments)),
                    answer => Ok(answer),
                },
                (None, None) => Err(mismatch(function, arguments)),
                (None, Some(system_type)) => {
                    let [Value::Text(name)] = arguments else { return Err(mismatch(function, arguments)) };
                    match catalog.find(system_type, name) {
                        Ok(oid) => Ok(Value::reference(system_type, oid, catalog.shown(system_type, oid))),
                        Err(Error::Input(input)) if input.state != sqlstate::INSUFFICIENT_PRIVILEGE => {
                            Ok(Value::Null)
                        }
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

/// The names (0) or the values (1) of options in the form `name=value`; an option without a value has NULL.
fn options_part(options: &ArrayValue, part: usize) -> Result<Value> {
    let mut parts = List::default();
    for option in &options.values {
        match option.as_str().and_then(|option| option.splitn(2, '=').nth(part)) {
            Some(part) => parts.push_text(part)?,
            None => parts.push(Value::Null)?,
        }
    }
    Ok(Value::array(ArrayElement::Text, parts.into_vec()))
}

/// A byte of a name, which is a zero-padded array of them that counts from 0.
fn name_character(name: &str, at: i32) -> Value {
    let Some(at) = usize::try_from(at).ok().filter(|at| *at < NAME_BYTES) else { return Value::Null };
    match name.as_bytes().get(at) {
        None => Value::text(""),
        Some(byte) if byte.is_ascii() => Value::text(char::from(*byte).to_string()),
        Some(byte) => Value::text(format!("\\{byte:03o}")),
    }
}

/// `acldefault`: the letters of the rights are those of PostgreSQL's `aclitem`.
fn default_privileges(kind: &str, owner: &str) -> Result<Value> {
    let (of_everybody, of_owner) = match kind {
        "c" => return Ok(Value::array(ArrayElement::System(SystemType::AclItem), Vec::new())),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        "p" => ("", "sA"),
        _ => {
            let message = format!("unrecognized objtype abbreviation: {}", quoted(kind));
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    };
    let everybody = (!of_everybody.is_empty()).then(|| format!("={of_everybody}/{owner}"));
    let items = everybody.into_iter().chain([format!("{owner}={of_owner}/{owner}")]);
    // Bounded: two items.
    Ok(Value::array(ArrayElement::System(SystemType::AclItem), items.map(Value::text).collect()))
}

fn no_setting(arguments: &[Value]) -> Error {
    let name = match arguments {
        [Value::Text(name), ..] => name.as_str(),
        _ => "",
    };
    let message = format!("unrecognized configuration parameter \"{}\"", quoted(name));
    Error::input(sqlstate::UNDEFINED_OBJECT, message)
}

fn size(function: Function, arguments: &[Value], catalog: &dyn SystemCatalog) -> Result<Value> {
    match (size_of(function), arguments) {
        (None, [database]) => catalog.database_size(database),
        (Some(size), [Value::Reference(relation), ..]) => Ok(catalog.size(size, relation.oid)),
        _ => Err(mismatch(function, arguments)),
    }
}

/// The kind of size that a function returns.
fn size_of(function: Function) -> Option<Size> {
    Some(match function {
        Function::RelationSize => Size::Own,
        Function::IndexesSize => Size::Indexes,
        Function::WholeSize => Size::Whole,
        _ => return None,
    })
}

/// The kind of object that a privilege function is about.
fn privileged_by(function: Function) -> Option<Privileged> {
    Some(match function {
        Function::HasTablePrivilege => Privileged::Relation,
        Function::HasColumnPrivilege => Privileged::Column,
        Function::HasSequencePrivilege => Privileged::Sequence,
        Function::HasFunctionPrivilege => Privileged::Routine,
        Function::HasSchemaPrivilege => Privileged::Schema,
        Function::HasDatabasePrivilege => Privileged::Database,
        Function::HasTypePrivilege => Privileged::Type,
        Function::HasRole => Privileged::Role,
        _ => return None,
    })
}

/// The question to the catalog that a function stands for.
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
        Function::RuleDefinition => Question::RuleDefinition,
        Function::ConstraintDefinition => Question::ConstraintDefinition,
        Function::TriggerText => Question::TriggerDefinition,
        Function::RoutineSource => Question::RoutineSource,
        Function::RoutineBody => Question::RoutineBody,
        Function::RoutineResult => Question::RoutineResult,
        Function::RoutineArguments => Question::RoutineArguments,
        Function::RoutineIdentity => Question::RoutineIdentity,
        Function::RoutineDefault => Question::RoutineDefault,
        Function::IsPublishable => Question::IsPublishable,
        Function::Description => Question::Description,
        Function::SettingShown => Question::Setting,
        Function::SerialSequence => Question::SerialSequence,
        Function::SequenceLastValue => Question::SequenceLastValue,
        Function::TypesOfVector => Question::TypesOfVector,
        Function::MostCharacters => Question::Measure(Measure::Characters),
        Function::MostBytes => Question::Measure(Measure::Bytes),
        Function::NumericPrecision => Question::Measure(Measure::Precision),
        Function::NumericRadix => Question::Measure(Measure::Radix),
        Function::NumericScale => Question::Measure(Measure::Scale),
        Function::TimePrecision => Question::Measure(Measure::TimePrecision),
        Function::IntervalFields => Question::Measure(Measure::IntervalFields),
        _ => return None,
    })
}

/// The result type of `to_regclass` and similar functions.
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
        // One bit is kept for rounding.
        size >>= if is_halves { 10 } else { 9 };
        is_halves = true;
    }
    format!("{sign}{size} bytes")
}
