//! What CREATE CAST gives besides the two types.
//!
//! A cast is a function ([`RoutineDefinition`](super::RoutineDefinition)) without a body, whose parameters
//! are of the two types. All casts have one name, which no statement can write.

use serde::{Deserialize, Serialize};

use super::SupportFunction;
use crate::cast::CastContext;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CastDefinition {
    /// From which context on it is applied.
    pub context: CastContext,
    pub method: CastMethod,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CastMethod {
    /// Its parameters are the value and, optionally, the modifier of the target type and whether the cast is
    /// explicit.
    Function(SupportFunction),
    /// WITH INOUT: the text form of the value is read as one of the target type.
    Text,
    /// WITHOUT FUNCTION: the types have the same values. Applied as by text.
    Same,
}

impl CastDefinition {
    /// The function that it calls.
    pub fn function(&self) -> Option<&SupportFunction> {
        match &self.method {
            CastMethod::Function(function) => Some(function),
            CastMethod::Text | CastMethod::Same => None,
        }
    }

    /// The same, to be changed.
    pub fn function_mut(&mut self) -> Option<&mut SupportFunction> {
        match &mut self.method {
            CastMethod::Function(function) => Some(function),
            CastMethod::Text | CastMethod::Same => None,
        }
    }
}
