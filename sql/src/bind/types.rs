//! Type names of SQL text to [`SqlType`].

use std::borrow::Cow;
use std::sync::Arc;

use hyades_engine::storage::stored_type::StoredType;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::identifier::quoted_identifier;
use hyades_types::interval::{self, IntervalFields, IntervalModifier};
use hyades_types::refusal::{Missing, refusal, refused};
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, Precision, SqlType};
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, Interval, ObjectName, TimezoneInfo,
};

use super::Place;
use crate::statement::names::{fold, parts};
use crate::statement::query;

/// PostgreSQL's limit on n in `char(n)` and `varchar(n)`.
const LONGEST_CHARACTER_TYPE: u64 = 10_485_760;

fn unsupported<T>(name: &str) -> Result<T> {
    Err(refused(Missing::of_type(name), &format!("type {name} is")))
}

/// The types of the catalog, as seen by the user who names one.
pub(crate) trait NamedTypes {
    fn named_type(&self, schema: Option<(&str, Place)>, name: &str) -> Option<Arc<StoredType>>;

    /// The current database. `None` if there is none.
    fn database(&self) -> Option<&str> {
        None
    }
}

/// Only the built-in types.
struct BuiltIn;

impl NamedTypes for BuiltIn {
    fn named_type(&self, _schema: Option<(&str, Place)>, _name: &str) -> Option<Arc<StoredType>> {
        None
    }
}

/// The built-in type of this name, as a statement writes it.
pub(crate) fn built_in(name: &str) -> Option<SqlType> {
    resolve(&query::parse_type(name).ok()?, &BuiltIn).ok()
}

/// The name of a type, which refers to it under every search path.
pub(crate) fn written_type(sql_type: SqlType) -> Cow<'static, str> {
    let Some((schema, name)) = sql_type.definition_name() else { return sql_type.name() };
    let name = format!("{}.{}", quoted_identifier(schema), quoted_identifier(name));
    Cow::Owned(match sql_type {
        SqlType::Array(_) => format!("{name}[]"),
        _ => name,
    })
}

/// What is declared with the name of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Declared {
    /// That of its values.
    pub(crate) sql_type: SqlType,
    /// The number of the domain, if the name is of one.
    pub(crate) domain: Option<u32>,
}

impl From<SqlType> for Declared {
    fn from(sql_type: SqlType) -> Declared {
        Declared { sql_type, domain: None }
    }
}

/// What a column or a cast names: a type, or a domain.
pub(crate) fn declared(data_type: &DataType, types: &dyn NamedTypes) -> Result<Declared> {
    match domain_named(data_type, types)? {
        Some(domain) => Ok(domain),
        None => resolve(data_type, types).map(Declared::from),
    }
}

fn domain_named(data_type: &DataType, types: &dyn NamedTypes) -> Result<Option<Declared>> {
    let DataType::Custom(name, modifiers) = data_type else { return Ok(None) };
    match named(name, types)? {
        Some(Named::Domain(stored)) if !modifiers.is_empty() => {
            let message = format!("type modifier is not allowed for type \"{}\"", stored.definition.name);
            Err(Error::input(sqlstate::SYNTAX_ERROR, message))
        }
        Some(Named::Domain(stored)) => {
            let base = stored.definition.domain().map(|domain| domain.base);
            Ok(base.map(|sql_type| Declared { sql_type, domain: Some(stored.id()) }))
        }
        _ => Ok(None),
    }
}

/// The type that is named where a domain cannot stand.
pub(crate) fn resolve(data_type: &DataType, types: &dyn NamedTypes) -> Result<SqlType> {
    Ok(match data_type {
        DataType::Boolean | DataType::Bool => SqlType::Boolean,
        DataType::SmallInt(None) | DataType::Int2(None) => SqlType::SmallInt,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => SqlType::Integer,
        DataType::BigInt(None) | DataType::Int8(None) => SqlType::BigInt,
        DataType::Real | DataType::Float4 => SqlType::Real,
        DataType::DoublePrecision | DataType::Float8 => SqlType::DoublePrecision,
        DataType::Float(info) => float(info)?,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info)?,
        DataType::Text => SqlType::Text,
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            SqlType::Varchar(character_length(length.as_ref(), "varchar")?)
        }
        DataType::Char(length) | DataType::Character(length) => {
            SqlType::Char(character_length(length.as_ref(), "char")?.unwrap_or(1))
        }
        DataType::Bytea => SqlType::Bytea,
        DataType::Date => SqlType::Date,
        DataType::Timestamp(precision, zone) => timestamp(*precision, zone)?,
        DataType::Time(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            SqlType::Time(time_precision(*precision))
        }
        DataType::Time(precision, _) => SqlType::TimeTz(time_precision(*precision)),
        DataType::Uuid => SqlType::Uuid,
        DataType::JSON => SqlType::Json,
        DataType::JSONB => SqlType::Jsonb,
        DataType::Interval { fields, precision } => {
            let fields = fields.as_ref().map(|fields| fields.to_string());
            interval(fields.as_deref(), *precision)?
        }
        DataType::Regclass => SqlType::System(SystemType::RegClass),
        DataType::Custom(name, modifiers) => match named(name, types)? {
            Some(Named::Type(sql_type)) => sql_type,
            Some(Named::Domain(_)) => {
                let message = format!("domain \"{}\" is not supported here yet", written(name));
                return Err(refusal(Missing::DomainsElsewhere, message));
            }
            None => custom(&name.to_string(), modifiers).map_err(|error| match error.sqlstate() {
                sqlstate::UNDEFINED_OBJECT => undefined(&written(name)),
                _ => error,
            })?,
        },
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            match resolve(element, types)? {
                // The number of dimensions is not part of the type.
                array @ SqlType::Array(_) => array,
                element => match ArrayElement::fitted(element) {
                    Some(element) => SqlType::Array(element),
                    None => return unsupported(&format!("{}[]", element.base_name())),
                },
            }
        }
        DataType::Array(_) => return unsupported("array"),
        other => return unsupported(&other.to_string().to_lowercase()),
    })
}

/// How many pairs of brackets follow the type, if there are more than one.
pub(crate) fn dimensions(data_type: &DataType) -> u8 {
    let (mut rest, mut count) = (data_type, 0_u8);
    while let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = rest {
        (rest, count) = (element, count.saturating_add(1));
    }
    if count > 1 { count } else { 0 }
}

/// The type of a column: some types of the catalog are only for expressions.
pub(crate) fn declared_column(data_type: &DataType, types: &dyn NamedTypes) -> Result<Declared> {
    let declared = declared(data_type, types)?;
    match declared.sql_type {
        SqlType::System(system_type) if system_type.is_stored() => Ok(declared),
        SqlType::Array(ArrayElement::System(SystemType::Name)) => Ok(declared),
        _ => stored(declared),
    }
}

/// The type of a variable, as [`resolve_stored`].
pub(crate) fn declared_variable(data_type: &DataType, types: &dyn NamedTypes) -> Result<Declared> {
    stored(declared(data_type, types)?)
}

/// The type of a parameter or a variable: types of the catalog are not allowed for them.
pub(crate) fn resolve_stored(data_type: &DataType, types: &dyn NamedTypes) -> Result<SqlType> {
    stored(resolve(data_type, types)?.into()).map(|declared| declared.sql_type)
}

fn stored(declared: Declared) -> Result<Declared> {
    match declared.sql_type {
        SqlType::System(system_type) if system_type != SystemType::RefCursor => {
            unsupported(system_type.catalog_name())
        }
        SqlType::Array(ArrayElement::System(system_type)) => unsupported(system_type.array_names().0),
        _ => Ok(declared),
    }
}

/// For an array type: the element type, if it has a length or a precision, which the array type does not
/// keep.
pub(crate) fn fitted_element(data_type: &DataType, types: &dyn NamedTypes) -> Result<Option<SqlType>> {
    let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = data_type else { return Ok(None) };
    let element = resolve(element, types)?;
    Ok((element != element.without_modifier()).then_some(element))
}

/// What the name of a type stands for.
pub(crate) enum Named {
    Type(SqlType),
    Domain(Arc<StoredType>),
}

/// A type of the catalog, or its array type by its own name. Built-in types are found first, as `pg_catalog`
/// is searched first.
fn named(name: &ObjectName, types: &dyn NamedTypes) -> Result<Option<Named>> {
    let idents = parts(name)?;
    let place = idents.first().map_or(Place::Unknown, |ident| Place::at(ident.span.start));
    let parts: Vec<String> = idents.into_iter().map(fold).collect();
    Ok(match parts.as_slice() {
        [name] => of_name(None, name, types),
        [schema, name] => of_name(Some((schema, place)), name, types),
        [database, schema, name] if types.database() == Some(database) => {
            of_name(Some((schema, place)), name, types)
        }
        [_, _, _] if types.database().is_some() => return Err(other_database(&parts.join("."))),
        _ => None,
    })
}

/// 0A000: the name of something that has no rows, in another database.
pub(crate) fn other_database(name: &str) -> Error {
    let message = format!("cross-database references are not implemented: {name}");
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// The same for a name in its parts.
pub(crate) fn of_name(placed: Option<(&str, Place)>, name: &str, types: &dyn NamedTypes) -> Option<Named> {
    let schema = placed.map(|(schema, _)| schema);
    if matches!(schema, None | Some("pg_catalog"))
        && let Some(array) = array_of_built_in(name, types)
    {
        return Some(Named::Type(array));
    }
    if schema.is_none() && is_built_in(name) {
        return None;
    }
    if let Some(stored) = types.named_type(placed, name) {
        return Some(match stored.sql_type {
            Some(sql_type) => Named::Type(sql_type),
            None => Named::Domain(stored),
        });
    }
    let element = name.strip_prefix('_').and_then(|element| types.named_type(placed, element))?;
    let element = element.sql_type.and_then(ArrayElement::fitted)?;
    Some(Named::Type(SqlType::Array(element)))
}

/// `_int4`: an array type by its own name.
fn array_of_built_in(name: &str, types: &dyn NamedTypes) -> Option<SqlType> {
    let element = name.strip_prefix('_')?;
    let sql_type = resolve(&query::parse_type(element).ok()?, types).ok()?;
    if sql_type.created_id().is_some() || sql_type.catalog_name() != element {
        return None;
    }
    ArrayElement::fitted(sql_type.without_modifier()).map(SqlType::Array)
}

/// The name as it was written, with unquoted words in lower case.
fn written(name: &ObjectName) -> String {
    let parts = parts(name).unwrap_or_default().into_iter().map(fold);
    parts.collect::<Vec<String>>().join(".")
}

fn undefined(name: &str) -> Error {
    Error::input(sqlstate::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// Whether a type of this name is in `pg_catalog`, here or in PostgreSQL.
fn is_built_in(name: &str) -> bool {
    let is_unknown = |error: &Error| error.sqlstate() == sqlstate::UNDEFINED_OBJECT;
    !custom(name, &[]).is_err_and(|error| is_unknown(&error))
}

/// The last part of the name, which names a column that is converted to the type.
pub(crate) fn called(data_type: &DataType) -> Option<String> {
    match (resolve(data_type, &BuiltIn), data_type) {
        (Ok(SqlType::Array(element)), DataType::Array(_)) => {
            Some(element.sql_type().catalog_name().to_owned())
        }
        (Ok(sql_type), _) => Some(sql_type.catalog_name().to_owned()),
        (Err(_), DataType::Custom(name, _)) => parts(name).ok()?.last().map(|last| fold(last)),
        (Err(_), DataType::Array(ArrayElemTypeDef::SquareBracket(element, _))) => called(element),
        (Err(_), _) => None,
    }
}

/// Names that sqlparser does not know as types.
fn custom(name: &str, modifiers: &[String]) -> Result<SqlType> {
    let folded = name.to_ascii_lowercase().replace('"', "");
    let base = folded.strip_prefix("pg_catalog.").unwrap_or(&folded);
    let length = || -> Result<Option<u32>> {
        let Some(text) = modifiers.first() else { return Ok(None) };
        let length = text.parse().map_err(|_| {
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid type modifier: \"{text}\""))
        })?;
        checked_length(length, base).map(Some)
    };
    Ok(match base {
        "bool" => SqlType::Boolean,
        "int2" => SqlType::SmallInt,
        "int4" => SqlType::Integer,
        "int8" => SqlType::BigInt,
        "float4" => SqlType::Real,
        "float8" => SqlType::DoublePrecision,
        "numeric" => SqlType::Numeric(None),
        "text" => SqlType::Text,
        "varchar" => SqlType::Varchar(length()?),
        "bpchar" => SqlType::Char(length()?.unwrap_or(0)),
        "bytea" => SqlType::Bytea,
        "date" => SqlType::Date,
        "time" => SqlType::TIME,
        "timetz" => SqlType::TIMETZ,
        "timestamp" => SqlType::TIMESTAMP,
        "timestamptz" => SqlType::TIMESTAMPTZ,
        "uuid" => SqlType::Uuid,
        "json" => SqlType::Json,
        "jsonb" => SqlType::Jsonb,
        "interval" => SqlType::INTERVAL,
        "inet" => SqlType::Inet,
        "cidr" => SqlType::Cidr,
        "macaddr" => SqlType::MacAddr,
        "macaddr8" => SqlType::MacAddr8,
        // Unquoted it is `character(1)`, which the parser knows.
        "char" if !name.contains('"') && base == folded => SqlType::Char(1),
        _ if let Some(system_type) = SystemType::from_name(base) => SqlType::System(system_type),
        "money" | "xml" | "point" | "line" | "lseg" | "box" | "path" | "polygon" | "circle" | "tsvector"
        | "tsquery" | "bit" | "varbit" | "void" | "record" | "jsonpath" | "pg_lsn" | "xid8" | "int4range"
        | "int8range" | "numrange" | "tsrange" | "tstzrange" | "daterange" | "int4multirange"
        | "int8multirange" | "nummultirange" | "tsmultirange" | "tstzmultirange" | "datemultirange" => {
            return unsupported(base);
        }
        _ => {
            return Err(undefined(&folded));
        }
    })
}

fn float(info: &ExactNumberInfo) -> Result<SqlType> {
    match info {
        ExactNumberInfo::None => Ok(SqlType::DoublePrecision),
        ExactNumberInfo::Precision(0) => Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            "precision for type float must be at least 1 bit",
        )),
        ExactNumberInfo::Precision(1..=24) => Ok(SqlType::Real),
        ExactNumberInfo::Precision(25..=53) => Ok(SqlType::DoublePrecision),
        _ => Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            "precision for type float must be less than 54 bits",
        )),
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let precision = u16::try_from(precision).ok().filter(|precision| (1..=1000).contains(precision));
    let Some(precision) = precision else {
        return Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("NUMERIC precision {} must be between 1 and 1000", precision_text(info)),
        ));
    };
    match i16::try_from(scale).ok().filter(|scale| (-1000..=1000).contains(scale)) {
        Some(scale) => Ok(SqlType::Numeric(Some((precision, scale)))),
        None => Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("NUMERIC scale {scale} must be between -1000 and 1000"),
        )),
    }
}

fn precision_text(info: &ExactNumberInfo) -> String {
    match info {
        ExactNumberInfo::None => String::new(),
        ExactNumberInfo::Precision(precision) | ExactNumberInfo::PrecisionAndScale(precision, _) => {
            precision.to_string()
        }
    }
}

fn checked_length(length: u64, name: &str) -> Result<u32> {
    if length == 0 {
        return Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("length for type {name} must be at least 1"),
        ));
    }
    match u32::try_from(length) {
        Ok(short) if length <= LONGEST_CHARACTER_TYPE => Ok(short),
        _ => Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("length for type {name} cannot exceed {LONGEST_CHARACTER_TYPE}"),
        )),
    }
}

fn character_length(length: Option<&CharacterLength>, name: &str) -> Result<Option<u32>> {
    match length {
        None | Some(CharacterLength::Max) => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => checked_length(*length, name).map(Some),
    }
}

/// The type of `interval '1' day`.
pub(crate) fn interval_literal(literal: &Interval) -> Result<SqlType> {
    let first = literal.leading_field.as_ref().map(ToString::to_string);
    let last = literal.last_field.as_ref().map(ToString::to_string);
    let fields = match (first, last) {
        (Some(first), Some(last)) => Some(format!("{first} to {last}")),
        (first, _) => first,
    };
    interval(fields.as_deref(), literal.fractional_seconds_precision.or(literal.leading_precision))
}

/// `interval` of these fields, as they are written, and this precision.
fn interval(fields: Option<&str>, precision: Option<u64>) -> Result<SqlType> {
    let syntax = |at: &str| Error::input(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{at}\""));
    let fields = match fields.map(str::to_ascii_lowercase) {
        None => None,
        Some(name) => Some(IntervalFields::named(&name).ok_or_else(|| syntax(&name))?),
    };
    if precision.is_some() && fields.is_some_and(|fields| fields.smallest() != IntervalFields::Second) {
        return Err(syntax("("));
    }
    Ok(SqlType::Interval(IntervalModifier { fields, precision: time_precision(precision) }))
}

/// PostgreSQL warns about a precision above 6 and uses 6.
fn time_precision(written: Option<u64>) -> Precision {
    written.map(|precision| precision.min(u64::from(interval::MAXIMUM_PRECISION)) as u8)
}

fn timestamp(precision: Option<u64>, zone: &TimezoneInfo) -> Result<SqlType> {
    let precision = time_precision(precision);
    Ok(match zone {
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => SqlType::Timestamp(precision),
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => SqlType::TimestampTz(precision),
    })
}
