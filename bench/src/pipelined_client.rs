//! Runs whole procedures from a thread that may block, and keeps several unacknowledged transactions in
//! flight.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::db::{Engine, Flow, Interrupt, Worker};
use hyades_engine::log::durable::Durability;
use hyades_engine::procedure::frame::{Frame, RowSink};
use hyades_engine::procedure::ir::Procedure;
use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result};
use hyades_types::value::Value;

/// Repeats a call until it no longer has to wait.
fn until_done<T>(mut call: impl FnMut() -> Flow<T>) -> Result<T> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// Collects the rows that a procedure emits.
#[derive(Default)]
pub struct Rows(pub Vec<Vec<Value>>);

impl RowSink for Rows {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.push(values.iter_mut().map(std::mem::take).collect());
        Ok(())
    }
}

/// One thread's access to the database.
pub struct Client {
    worker: Box<dyn Worker>,
    environment: Environment,
    /// The number of transactions that a conflict ended and that were begun again.
    pub retries: u64,
}

impl Client {
    pub fn new(engine: &Arc<dyn Engine>) -> Client {
        Client { worker: engine.worker(), environment: Environment::default(), retries: 0 }
    }

    /// Runs `steps` in one transaction until it is precommitted. After a conflict it begins again.
    pub fn transaction(
        &mut self,
        mut steps: impl FnMut(&mut dyn Worker, &mut Environment) -> Result<()>,
    ) -> Result<Durability> {
        loop {
            self.worker.begin();
            let outcome = steps(&mut *self.worker, &mut self.environment)
                .and_then(|()| until_done(|| self.worker.commit()));
            match outcome {
                Ok(durability) => return Ok(durability),
                Err(error) => {
                    self.worker.rollback();
                    if !matches!(error, Error::Abort(_)) {
                        return Err(error);
                    }
                    self.retries += 1;
                }
            }
        }
    }

    /// Runs one procedure in a transaction of its own. Its parameters are in the frame's registers.
    pub fn call(&mut self, frame: &mut Frame) -> Result<Durability> {
        self.transaction(|worker, environment| run(worker, environment, frame, &mut Rows::default()))
    }

    /// Runs one procedure in a transaction of its own. Returns what it emits, when that is durable.
    pub fn query(&mut self, procedure: &Arc<Procedure>) -> Result<Vec<Vec<Value>>> {
        let mut frame = Frame::new(Arc::clone(procedure));
        let mut rows = Rows::default();
        let durability = self.transaction(|worker, environment| {
            rows.0.clear();
            run(worker, environment, &mut frame, &mut rows)
        })?;
        durability.wait()?;
        Ok(rows.0)
    }
}

/// Runs the frame's procedure from its beginning to its end inside the open transaction.
pub fn run(
    worker: &mut dyn Worker,
    environment: &mut Environment,
    frame: &mut Frame,
    rows: &mut dyn RowSink,
) -> Result<()> {
    frame.restart();
    until_done(|| worker.run(frame, environment, rows))
}

/// Schema changes and table locks inside the open transaction.
pub fn done<T>(call: impl FnMut() -> Flow<T>) -> Result<T> {
    until_done(call)
}

/// Precommitted transactions that wait for durability, in order, at most `capacity` of them.
pub struct Pipeline {
    waiting: VecDeque<Durability>,
    capacity: usize,
    /// Transactions that are durable.
    pub durable: u64,
}

impl Pipeline {
    pub fn new(capacity: usize) -> Pipeline {
        Pipeline { waiting: VecDeque::with_capacity(capacity), capacity, durable: 0 }
    }

    /// Takes one more transaction. Blocks while too many wait.
    pub fn push(&mut self, transaction: Durability) -> Result<()> {
        self.waiting.push_back(transaction);
        while self.waiting.front().is_some_and(Durability::is_durable) {
            self.waiting.pop_front();
            self.durable += 1;
        }
        while self.waiting.len() >= self.capacity {
            self.wait_for_first()?;
        }
        Ok(())
    }

    /// Waits for all.
    pub fn drain(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            self.wait_for_first()?;
        }
        Ok(())
    }

    fn wait_for_first(&mut self) -> Result<()> {
        if let Some(first) = self.waiting.pop_front() {
            first.wait()?;
            self.durable += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_counts_what_is_durable() {
        let mut pipeline = Pipeline::new(4);
        for _ in 0..10 {
            pipeline.push(Durability::immediate()).expect("nothing can fail");
        }
        pipeline.drain().expect("nothing can fail");
        assert_eq!(pipeline.durable, 10);
    }
}
