//! The variables that are visible at a place in a routine.
//!
//! Names are looked up as in PostgreSQL: a name in SQL may be a column or a variable, and it is an error if
//! it is both. Blocks hide the variables of enclosing blocks, but `label.variable` still reaches them. The
//! routine's own name is the label of its parameters.
//!
//! A record's columns are those of the statement that last assigned a row to it, in the order of the text.
//! Where paths with different columns meet, the columns become unknown, and using them is refused when the
//! routine is created.

use hyades_engine::procedure::ir::Register;
use hyades_types::definition::RoutineDefinition;
use hyades_types::value::SqlType;
use hyades_types::value::composite::{CompositeField, CompositeType};

/// The name of the language SQL. Every other routine is in PL/pgSQL.
pub(crate) const IN_SQL: &str = "sql";

/// A scalar variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) register: Register,
    pub(crate) sql_type: SqlType,
    pub(crate) is_constant: bool,
    pub(crate) is_not_null: bool,
    /// The number of the domain that it was declared with.
    pub(crate) domain: Option<u32>,
    /// For an array: the element type, if that has a length or a precision.
    pub(crate) element: Option<SqlType>,
}

impl Scalar {
    /// A variable that takes any value of its type.
    pub(crate) fn new(register: Register, sql_type: SqlType) -> Scalar {
        Scalar { register, sql_type, is_constant: false, is_not_null: false, domain: None, element: None }
    }

    /// Whether it takes every value of its type.
    pub(crate) fn is_unrestricted(&self) -> bool {
        !self.is_not_null && self.domain.is_none()
    }
}

/// The columns of a record or row: name, type, where.
pub(crate) type Columns = Vec<(String, SqlType, Register)>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RecordState {
    /// Nothing has been assigned yet.
    Unassigned,
    Known(Columns),
    /// Different paths have assigned different columns.
    Unclear,
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) state: RecordState,
    /// `%ROWTYPE`: the columns are fixed.
    pub(crate) is_fixed: bool,
    /// The composite type that it was declared with.
    pub(crate) row_type: Option<CompositeType>,
}

#[derive(Clone, Debug)]
pub(crate) enum Variable {
    Scalar(Scalar),
    /// An index into [`Names::records`].
    Record(usize),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) label: Option<String>,
    pub(crate) variables: Vec<(String, Variable)>,
}

/// What a name refers to.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    Scalar(Scalar),
    Record(usize),
    /// A field of a variable of a composite type.
    Field(Scalar, &'static CompositeField),
    /// A column of a record.
    Column(SqlType, Register),
    /// `record.column` where the record has no such column.
    NoColumn(String, String),
    Unassigned(String),
    Unclear(String),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) records: Vec<Record>,
    /// Parameters in order, for `$1`.
    pub(crate) parameters: Vec<(Register, SqlType)>,
    /// Every variable that a register of its own has been given.
    pub(crate) declared: Vec<(Register, String)>,
    /// A name that is also a column refers to the column, as in SQL functions.
    pub(crate) yields_to_columns: bool,
}

impl Names {
    /// The parameters of a routine, in these registers. A body in SQL sees only what the caller gives.
    pub(crate) fn of_parameters(definition: &RoutineDefinition, registers: &[Register]) -> Names {
        let mut names = Names::default();
        names.scopes.push(Scope::default());
        names.scopes.push(Scope { label: Some(definition.name.name.clone()), variables: Vec::new() });
        for (register, parameter) in registers.iter().zip(&definition.parameters) {
            if definition.language == IN_SQL && !parameter.mode.is_input() {
                continue;
            }
            let sql_type = parameter.sql_type.without_modifier();
            names.parameters.push((*register, sql_type));
            if let Some(name) = &parameter.name {
                names.add(name, Variable::Scalar(Scalar::new(*register, sql_type)));
            }
        }
        names
    }

    pub(crate) fn add(&mut self, name: &str, variable: Variable) {
        if let Variable::Scalar(scalar) = &variable {
            self.declared.push((scalar.register, name.to_owned()));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.push((name.to_owned(), variable));
        }
    }

    pub(crate) fn new_record(
        &mut self,
        state: RecordState,
        is_fixed: bool,
        row_type: Option<CompositeType>,
    ) -> usize {
        self.records.push(Record { state, is_fixed, row_type });
        self.records.len() - 1
    }

    /// What the dotted name refers to, if its first part is a variable or a label: in each scope, from the
    /// innermost on, first one of its variables, then one that is written with its label.
    ///
    /// Reference: plpgsql_ns_lookup of PostgreSQL's pl_funcs.c.
    pub(crate) fn find(&self, parts: &[String]) -> Option<Found> {
        let (first, rest) = parts.split_first()?;
        let member = |scope: &Scope, name: &String, rest: &[String]| {
            find(scope, name).and_then(|variable| self.member(name, variable, rest))
        };
        self.scopes.iter().rev().find_map(|scope| {
            member(scope, first, rest).or_else(|| {
                let (name, rest) = rest.split_first().filter(|_| scope.label.as_ref() == Some(first))?;
                member(scope, name, rest)
            })
        })
    }

    fn member(&self, name: &str, variable: &Variable, rest: &[String]) -> Option<Found> {
        match (variable, rest) {
            (Variable::Scalar(scalar), []) => Some(Found::Scalar(*scalar)),
            (Variable::Scalar(scalar), [field]) => match scalar.sql_type {
                SqlType::Composite(row_type) => Some(match row_type.field(field) {
                    Some(field) => Found::Field(*scalar, field),
                    None => Found::NoColumn(name.to_owned(), field.clone()),
                }),
                _ => None,
            },
            (Variable::Scalar(_), _) => None,
            (Variable::Record(record), []) => Some(Found::Record(*record)),
            (Variable::Record(record), [column]) => Some(match &self.records[*record].state {
                RecordState::Unassigned => Found::Unassigned(name.to_owned()),
                RecordState::Unclear => Found::Unclear(name.to_owned()),
                RecordState::Known(columns) => match columns.iter().find(|(known, ..)| known == column) {
                    Some((_, sql_type, register)) => Found::Column(*sql_type, *register),
                    None => Found::NoColumn(name.to_owned(), column.clone()),
                },
            }),
            (Variable::Record(_), _) => None,
        }
    }

    /// The states of all records, for comparison where paths meet.
    pub(crate) fn states(&self) -> Vec<RecordState> {
        self.records.iter().map(|record| record.state.clone()).collect()
    }

    pub(crate) fn restore(&mut self, states: &[RecordState]) {
        for (record, state) in self.records.iter_mut().zip(states) {
            record.state = state.clone();
        }
    }

    /// Another path with these states joins the current one.
    pub(crate) fn join(&mut self, states: &[RecordState]) {
        for (record, state) in self.records.iter_mut().zip(states) {
            if record.state == *state {
                continue;
            }
            record.state = match (&record.state, state) {
                // On the path where nothing was assigned the columns are NULL here.
                (RecordState::Unassigned, known @ RecordState::Known(_))
                | (known @ RecordState::Known(_), RecordState::Unassigned) => known.clone(),
                _ => RecordState::Unclear,
            };
        }
    }
}

fn find<'s>(scope: &'s Scope, name: &str) -> Option<&'s Variable> {
    scope.variables.iter().find(|(known, _)| known == name).map(|(_, variable)| variable)
}
