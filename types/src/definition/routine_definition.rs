//! Definitions of routines: procedures and functions, as their creator wrote them.
//!
//! A definition is source text with its signature. `procedure::compiled_routine` holds the compiled form. The
//! log contains exactly this definition, so that a later start can compile it again and replay the calls that
//! were logged as commands.
//!
//! Routines are overloaded as in PostgreSQL: schema, name and the types of the parameters that a caller gives
//! (IN and INOUT) identify one. Length and precision do not count.

use serde::{Deserialize, Serialize};

use crate::definition::{
    AggregateDefinition, CastDefinition, SupportFunction, TableId, TableName, TypeDefinition,
};
use crate::search_path::{PUBLIC, SearchPath};
use crate::value::SqlType;

/// Identifies one version of a routine forever; never reused. CREATE OR REPLACE makes a new one, so the id
/// tells which source ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoutineId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoutineKind {
    Procedure,
    Function,
    Aggregate,
}

impl RoutineKind {
    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Procedure => "procedure",
            RoutineKind::Function => "function",
            RoutineKind::Aggregate => "aggregate",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParameterMode {
    #[default]
    In,
    Out,
    InOut,
    /// An array, whose elements the caller may give one by one. The last input.
    Variadic,
}

impl ParameterMode {
    /// Whether the caller gives a value.
    pub fn is_input(self) -> bool {
        self != ParameterMode::Out
    }

    /// Whether the caller gets a value.
    pub fn is_output(self) -> bool {
        matches!(self, ParameterMode::Out | ParameterMode::InOut)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoutineParameter {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `%TYPE` is resolved when the routine is created.
    pub sql_type: SqlType,
    #[serde(default)]
    pub mode: ParameterMode,
    /// The DEFAULT expression as SQL text; the SQL front end compiles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What a call returns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Returns {
    /// `RETURNS void`, and every procedure: the output parameters determine the result.
    #[default]
    Nothing,
    Value(SqlType),
    SetOf(SqlType),
    /// `RETURNS TABLE (name type, ...)`.
    Table(Vec<(String, SqlType)>),
    /// `RETURNS SETOF table`: the columns that the table had at the time, which are not variables.
    SetOfRow(Vec<(String, SqlType)>),
    /// The output parameters, or the columns that the caller declares.
    Record,
    SetOfRecord,
    /// `RETURNS trigger`: only triggers call it.
    Trigger,
}

impl Returns {
    fn types_mut(&mut self) -> Vec<&mut SqlType> {
        match self {
            Returns::Value(sql_type) | Returns::SetOf(sql_type) => vec![sql_type],
            Returns::Table(columns) | Returns::SetOfRow(columns) => {
                columns.iter_mut().map(|(_, sql_type)| sql_type).collect()
            }
            Returns::Nothing | Returns::Trigger | Returns::Record | Returns::SetOfRecord => Vec::new(),
        }
    }

    /// Whether a call returns rows.
    pub fn is_set(&self) -> bool {
        matches!(self, Returns::SetOf(_) | Returns::Table(_) | Returns::SetOfRow(_) | Returns::SetOfRecord)
    }
}

/// What a routine promises to PostgreSQL's planner. It is stored and shown, but has no effect here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoutineTraits {
    #[serde(default)]
    pub volatility: DeclaredVolatility,
    #[serde(default)]
    pub parallel: DeclaredParallel,
    #[serde(default)]
    pub is_leakproof: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<f32>,
    /// The table whose rows it returns, if it was declared that way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_of: Option<TableId>,
    /// The type of the rows that it returns, if that is a composite type that a user has created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_type: Option<SqlType>,
    /// It was created with SET search_path.
    #[serde(default)]
    pub sets_path: bool,
    /// The extension that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredVolatility {
    #[default]
    Volatile,
    Stable,
    Immutable,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredParallel {
    #[default]
    Unsafe,
    Restricted,
    Safe,
}

/// What a body in standard SQL names, which cannot be dropped without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyUses {
    /// The relations, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableId>,
    /// Their columns, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(TableId, String)>,
    /// The routines, with the types of their arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<(TableName, Vec<SqlType>)>,
    /// The numbers of the types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<u32>,
}

impl BodyUses {
    /// Whether the body names this column of a relation.
    pub fn uses_column(&self, relation: TableId, column: &str) -> bool {
        self.columns.iter().any(|(own, name)| *own == relation && name == column)
    }

    /// Whether the body calls the routine of this name and these types.
    pub fn uses_routine(&self, name: &TableName, types: &[SqlType]) -> bool {
        self.routines.iter().any(|(own, own_types)| own == name && own_types == types)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoutineDefinition {
    pub name: TableName,
    pub kind: RoutineKind,
    pub parameters: Vec<RoutineParameter>,
    #[serde(default)]
    pub returns: Returns,
    /// Folded to lower case: `plpgsql`.
    pub language: String,
    /// The text between the quotes after AS. A body in standard SQL as PostgreSQL prints it, with the schemas
    /// of everything that it names.
    pub body: String,
    /// A NULL argument makes the result NULL without a run.
    #[serde(default)]
    pub is_strict: bool,
    /// The schemas in which names in the body are looked up; `None`: only `public`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
    #[serde(default)]
    pub traits: RoutineTraits,
    /// Set if the body is in standard SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<Box<BodyUses>>,
    /// Of an aggregate, whose language is `internal` and whose body is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Box<AggregateDefinition>>,
    /// Of a cast, whose language and body are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cast: Option<Box<CastDefinition>>,
    /// Of a polymorphic routine that is called with certain types: its identity. Only such a routine is
    /// compiled; it is made of the stored one and never stored itself.
    #[serde(skip)]
    pub declared: Option<Vec<SqlType>>,
}

impl RoutineDefinition {
    /// The cast between two types.
    pub fn of_cast((source, target): (SqlType, SqlType), cast: CastDefinition) -> RoutineDefinition {
        let parameter =
            |sql_type| RoutineParameter { name: None, sql_type, mode: ParameterMode::In, default: None };
        RoutineDefinition {
            name: RoutineDefinition::name_of_casts(),
            kind: RoutineKind::Function,
            parameters: vec![parameter(source), parameter(target)],
            returns: Returns::Value(target),
            language: String::new(),
            body: String::new(),
            is_strict: false,
            path: None,
            traits: RoutineTraits::default(),
            uses: None,
            aggregate: None,
            cast: Some(Box::new(cast)),
            declared: None,
        }
    }

    /// The name of every cast. Casts are in no schema.
    pub fn name_of_casts() -> TableName {
        TableName { schema: String::new(), name: String::new() }
    }

    /// The source and the target of a cast.
    pub fn cast_types(&self) -> Option<(SqlType, SqlType)> {
        match self.parameters.as_slice() {
            [source, target] if self.cast.is_some() => Some((source.sql_type, target.sql_type)),
            _ => None,
        }
    }

    /// The functions that an aggregate or a cast calls.
    pub fn support_functions(&self) -> impl Iterator<Item = &SupportFunction> {
        let of_aggregate = self.aggregate.iter().flat_map(|aggregate| aggregate.functions());
        of_aggregate.chain(self.cast.iter().filter_map(|cast| cast.function()))
    }

    /// The same, to be changed.
    pub fn support_functions_mut(&mut self) -> impl Iterator<Item = &mut SupportFunction> {
        let of_aggregate = self.aggregate.iter_mut().flat_map(|aggregate| aggregate.functions_mut());
        of_aggregate.chain(self.cast.iter_mut().filter_map(|cast| cast.function_mut()))
    }

    /// The types of the arguments that a caller gives, without modifiers: with the name, the routine's
    /// identity.
    pub fn identity(&self) -> Vec<SqlType> {
        self.declared.clone().unwrap_or_else(|| self.input_types())
    }

    /// The types of the inputs, without modifiers.
    pub fn input_types(&self) -> Vec<SqlType> {
        self.inputs().map(|parameter| parameter.sql_type.without_modifier()).collect()
    }

    /// Whether its signature has polymorphic types.
    pub fn is_polymorphic(&self) -> bool {
        self.types().any(SqlType::is_polymorphic)
    }

    /// The routine that is called where this polymorphic one is: `actual` gives the type for which a
    /// polymorphic type stands.
    #[must_use]
    pub fn with_actual(&self, actual: impl Fn(SqlType) -> SqlType) -> RoutineDefinition {
        let mut definition = RoutineDefinition { declared: Some(self.identity()), ..self.clone() };
        definition.types_mut().into_iter().for_each(|own| *own = actual(*own));
        definition
    }

    /// Parameters that the caller gives, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &RoutineParameter> {
        self.parameters.iter().filter(|parameter| parameter.mode.is_input())
    }

    /// Whether one of its parameters or its result is of the type with this number.
    pub fn uses_type(&self, id: u32) -> bool {
        self.types().any(|own| own.contains_type(id))
    }

    /// The same definition with the current version of the type.
    #[must_use]
    pub fn with_type(&self, changed: &TypeDefinition) -> RoutineDefinition {
        let mut definition = self.clone();
        let Some(changed) = changed.sql_type() else { return definition };
        for sql_type in definition.all_types_mut() {
            *sql_type = sql_type.with_type(changed);
        }
        if let (Some(SqlType::Composite(row_type)), Returns::SetOfRow(columns)) =
            (definition.traits.row_type, &mut definition.returns)
        {
            *columns = row_type.columns();
        }
        definition
    }

    /// Every type that it names.
    pub fn all_types_mut(&mut self) -> Vec<&mut SqlType> {
        let returned = self.returns.types_mut();
        let parameters = self.parameters.iter_mut().map(|parameter| &mut parameter.sql_type);
        let mut all: Vec<&mut SqlType> =
            parameters.chain(returned).chain(&mut self.traits.row_type).collect();
        if let Some(aggregate) = &mut self.aggregate {
            all.extend(aggregate.types_mut());
        }
        if let Some(function) = self.cast.as_mut().and_then(|cast| cast.function_mut()) {
            all.extend(&mut function.types);
        }
        all
    }

    /// Those of its signature, and of an aggregate's state.
    fn types_mut(&mut self) -> Vec<&mut SqlType> {
        let returned = self.returns.types_mut();
        let parameters = self.parameters.iter_mut().map(|parameter| &mut parameter.sql_type);
        let state = self.aggregate.iter_mut().map(|aggregate| &mut aggregate.steps.state);
        parameters.chain(returned).chain(state).collect()
    }

    /// The types in its signature, and that of an aggregate's state. The columns of rows whose type has a
    /// are not there.
    pub fn types(&self) -> impl Iterator<Item = SqlType> {
        let columns: &[(String, SqlType)] = match &self.returns {
            Returns::Table(columns) => columns,
            Returns::SetOfRow(columns) if !self.returns_named_row() => columns,
            _ => &[],
        };
        let value = match self.returns {
            Returns::Value(sql_type) | Returns::SetOf(sql_type) => Some(sql_type),
            _ => None,
        };
        let parameters = self.parameters.iter().map(|parameter| parameter.sql_type);
        let parameters = parameters.chain(self.aggregate.iter().map(|aggregate| aggregate.steps.state));
        let columns = columns.iter().map(|(_, sql_type)| *sql_type);
        parameters.chain(columns).chain(value).chain(self.traits.row_type)
    }

    fn returns_named_row(&self) -> bool {
        self.traits.row_of.is_some() || self.traits.row_type.is_some()
    }

    /// Where names in the body are looked up, for a caller with these temporary relations.
    pub fn search_path(&self, temporary: Option<String>) -> SearchPath {
        let schemas = self.path.clone().unwrap_or_else(|| vec![PUBLIC.to_owned()]);
        SearchPath::new(schemas, temporary)
    }

    /// Whether the two cannot exist at the same time.
    pub fn is_same_routine(&self, other: &RoutineDefinition) -> bool {
        self.name == other.name && self.identity() == other.identity()
    }

    /// `transfer(integer, bigint)`, as PostgreSQL's messages name it.
    pub fn signature(&self) -> String {
        let types: Vec<_> = self.identity().iter().map(|sql_type| sql_type.name().into_owned()).collect();
        format!("{}({})", self.name.name, types.join(", "))
    }
}
