//! The catalog as computations see it: tables, types, routines and everything else that has a name, as
//! visible to the statement's transaction.

use std::fmt::Debug;

use compact_str::CompactString;

use crate::error::Result;
use crate::system_type::SystemType;
use crate::value::Value;

/// The catalog of a statement. The front end has it made when a statement that looks at it begins.
pub trait SystemCatalog: Debug + Send + Sync {
    /// The rows of the catalog relation of this number.
    ///
    /// # Errors
    /// Out of memory, or a cancel.
    fn rows(&self, relation: u32) -> Result<Vec<Vec<Value>>>;

    /// The name of an object, as a value of this type is shown.
    fn shown(&self, system_type: SystemType, oid: u32) -> CompactString;

    /// The object that a text names, as a value of this type is read.
    ///
    /// # Errors
    /// The object does not exist.
    fn find(&self, system_type: SystemType, text: &str) -> Result<u32>;

    /// Whether a role has a right. Arguments: the role if it is given, the object, and words for the right.
    ///
    /// # Errors
    /// 42704 and 22023 if one of them does not exist.
    fn has_privilege(&self, of: Privileged, arguments: &[Value]) -> Result<Value>;

    /// The bytes of a relation.
    fn size(&self, size: Size, relation: u32) -> Value;

    /// The bytes of a database, which is given by its name or its number. NULL for an unknown number.
    ///
    /// # Errors
    /// 3D000 for an unknown name.
    fn database_size(&self, database: &Value) -> Result<Value>;

    /// The result of a catalog function: NULL, as in PostgreSQL, for an object that does not exist.
    fn answer(&self, question: Question, arguments: &[Value]) -> Value;
}

/// The part of a relation whose bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The relation itself.
    Own,
    /// Its secondary indexes.
    Indexes,
    Whole,
}

/// What `information_schema` says of the values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Characters,
    Bytes,
    Precision,
    Radix,
    Scale,
    TimePrecision,
    IntervalFields,
}

/// The kinds of objects that rights are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privileged {
    Relation,
    Column,
    Sequence,
    Routine,
    Schema,
    Database,
    Type,
    Role,
}

/// The questions of SQL's functions to the catalog. The first argument is the id of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The name of a type with this modifier, which may be NULL.
    FormatType,
    UserById,
    TableIsVisible,
    TypeIsVisible,
    RoutineIsVisible,
    CollationIsVisible,
    /// The whole definition, or that of a column; pretty or not.
    IndexDefinition,
    ConstraintDefinition,
    /// Pretty or not.
    TriggerDefinition,
    /// Pretty or not.
    ViewDefinition,
    RuleDefinition,
    RoutineSource,
    RoutineBody,
    RoutineResult,
    /// With default values.
    RoutineArguments,
    /// Without default values.
    RoutineIdentity,
    /// The default of the input with this number, from 1.
    RoutineDefault,
    IsPublishable,
    /// Of the type with this number and modifier.
    Measure(Measure),
    /// The value of the session's setting of this name.
    Setting,
    /// The name of the sequence that belongs to a table's column, both given by name.
    SerialSequence,
    SequenceLastValue,
    /// The names of the types with these numbers.
    TypesOfVector,
    /// The comment on an object in the catalog of this name, or on the column with this number.
    Description,
}
