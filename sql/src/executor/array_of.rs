//! ARRAY (SELECT ...): one array of the values that are fed.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRows, StageRun};
use hyades_types::collect;
use hyades_types::compare;
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::memory;
use hyades_types::value::Value;

use crate::plan::stage::ArrayOf;

struct Elements {
    array: Arc<ArrayOf>,
    values: Vec<Value>,
}

impl Stage for ArrayOf {
    fn registers(&self) -> Vec<Register> {
        Vec::new()
    }

    fn start(self: Arc<Self>, _registers: &[Value], _environment: &Environment) -> Box<dyn StageRun> {
        Box::new(Elements { array: self, values: Vec::new() })
    }
}

impl StageRun for Elements {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        memory::check_growth::<Value>(self.values.capacity(), self.values.len() + 1)?;
        self.values.extend(values.first_mut().map(std::mem::take));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<StageRows> {
        let mut values = self.values;
        if self.array.is_set {
            collect::sort(&mut values, compare::total)?;
            values.dedup_by(|one, other| compare::total(one, other).is_eq());
        }
        Ok(StageRows::InMemory(vec![vec![Value::array(self.array.element, values)]]))
    }
}
