//! What CREATE AGGREGATE gives besides a name, parameters and a result: the parts of the computation.
//!
//! An aggregate is a routine ([`RoutineDefinition`](super::RoutineDefinition)) without a body.

use serde::{Deserialize, Serialize};

use crate::definition::TableName;
use crate::value::SqlType;

/// A function that computes a part of an aggregate. Its name and the types of its parameters identify it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SupportFunction {
    /// The schema is `pg_catalog` for PostgreSQL's own functions.
    pub name: TableName,
    /// The declared types of its parameters.
    pub types: Vec<SqlType>,
    /// A NULL argument makes the result NULL without a run.
    pub is_strict: bool,
    /// Whether its last argument stands after VARIADIC.
    #[serde(default)]
    pub is_variadic: bool,
}

/// A state, and the functions that compute with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateSteps {
    pub state: SqlType,
    /// From the state and a row's arguments to the next state.
    pub transition: SupportFunction,
    /// The text of the first state; `None`: NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// From the state to the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<SupportFunction>,
    /// Whether that also gets a NULL for each argument.
    #[serde(default)]
    pub last_takes_arguments: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateDefinition {
    pub steps: AggregateSteps,
    /// What PostgreSQL uses for frames that move, with the function that takes a row away again. It is stored
    /// and shown; every frame is computed by `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Box<(AggregateSteps, SupportFunction)>>,
    /// The operator by which the result is the first value in an order. It is stored and shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_operator: Option<String>,
}

impl AggregateDefinition {
    /// The functions that it uses.
    pub fn functions(&self) -> impl Iterator<Item = &SupportFunction> {
        let moving = self.moving.as_deref();
        let steps = [Some(&self.steps), moving.map(|(steps, _)| steps)].into_iter().flatten();
        let of_steps = steps.flat_map(|steps| [Some(&steps.transition), steps.last.as_ref()]).flatten();
        of_steps.chain(moving.map(|(_, inverse)| inverse))
    }

    /// The same, to be changed.
    pub fn functions_mut(&mut self) -> Vec<&mut SupportFunction> {
        let mut all: Vec<&mut SupportFunction> = Vec::new();
        all.push(&mut self.steps.transition);
        all.extend(self.steps.last.as_mut());
        if let Some((steps, inverse)) = self.moving.as_deref_mut() {
            all.extend([&mut steps.transition, inverse]);
            all.extend(steps.last.as_mut());
        }
        all
    }

    /// Every type that it names.
    pub(super) fn types_mut(&mut self) -> Vec<&mut SqlType> {
        let mut all: Vec<&mut SqlType> = vec![&mut self.steps.state];
        let mut functions = vec![&mut self.steps.transition];
        functions.extend(self.steps.last.as_mut());
        if let Some((steps, inverse)) = self.moving.as_deref_mut() {
            all.push(&mut steps.state);
            functions.extend([&mut steps.transition, inverse]);
            functions.extend(steps.last.as_mut());
        }
        all.extend(functions.into_iter().flat_map(|function| &mut function.types));
        all
    }
}
