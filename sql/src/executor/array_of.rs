//! ARRAY (SELECT ...): one array of the values that come in.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Stage, StageRun};
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::value::{ArrayElement, Value};

use super::Row;
use crate::plan::ArrayOf;

struct Elements {
    element: ArrayElement,
    values: Vec<Value>,
}

impl Stage for ArrayOf {
    fn start(self: Arc<Self>, _registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(Elements { element: self.0, values: Vec::new() })
    }
}

impl StageRun for Elements {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        self.values.extend(values.first_mut().map(std::mem::take));
        Ok(())
    }

    fn finish(&mut self, _environment: &Environment) -> Result<Vec<Row>> {
        Ok(vec![vec![Value::array(self.element, std::mem::take(&mut self.values))]])
    }
}
