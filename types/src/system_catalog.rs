//! What computations see of the catalog: tables, types, routines and everything else that has a name, as the
//! statement's transaction sees them.

use std::fmt::Debug;

use compact_str::CompactString;

use crate::error::Result;
use crate::system_type::SystemType;
use crate::value::Value;

/// The catalog of a statement. The front end has one made when a statement begins that looks at it.
pub trait SystemCatalog: Debug + Send + Sync {
    /// The rows of the catalog relation of this number.
    ///
    /// # Errors
    /// No memory, or a cancel.
    fn rows(&self, relation: u32) -> Result<Vec<Vec<Value>>>;

    /// The name of an object, as a value of this type shows it.
    fn shown(&self, system_type: SystemType, oid: u32) -> CompactString;

    /// The object that a text names, as a value of this type reads it.
    ///
    /// # Errors
    /// There is none.
    fn find(&self, system_type: SystemType, text: &str) -> Result<u32>;

    /// Whether somebody has a right: the role where it is given, the object, and words for the right.
    ///
    /// # Errors
    /// 42704 and 22023 for what is not there.
    fn has_privilege(&self, of: Privileged, arguments: &[Value]) -> Result<Value>;

    /// The bytes of a relation, or of the database where no relation is given.
    fn size(&self, size: Size, relation: Option<u32>) -> Value;

    /// What a function of the catalog gives: NULL, as PostgreSQL's, for an object that does not exist.
    fn answer(&self, question: Question, arguments: &[Value]) -> Value;
}

/// Which bytes of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Its own.
    Own,
    /// Of its secondary indexes.
    Indexes,
    Whole,
}

/// What rights are asked about.
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

/// What SQL's functions ask the catalog; the first argument is the number of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The name of a type with this modifier, which may be NULL.
    FormatType,
    UserById,
    TableIsVisible,
    TypeIsVisible,
    RoutineIsVisible,
    CollationIsVisible,
    /// The whole, or that of a column; pretty or not.
    IndexDefinition,
    ConstraintDefinition,
    /// Pretty or not.
    ViewDefinition,
    RoutineSource,
    RoutineResult,
    /// With their defaults.
    RoutineArguments,
    /// Without.
    RoutineIdentity,
    /// The default of the input of this number, from 1.
    RoutineDefault,
    IsPublishable,
    /// The value of the session's setting of this name.
    Setting,
    /// The comment on an object: of the catalog of this name, or on the column of this number.
    Description,
}
