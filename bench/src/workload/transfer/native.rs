//! The transfer in the engine's own language, as the compiler would write a stored procedure.
//!
//! It reads both rows for writing in the order of their keys, so transfers never deadlock. A conflict begins
//! it again.

use std::sync::Arc;

use anyhow::{Context, Result};
use hyades_engine::db::{Engine, Flow, Interrupt, Worker};
use hyades_engine::log::durable::Durability;
use hyades_engine::procedure::frame::{Frame, RowSink};
use hyades_engine::procedure::ir::{Expr, Instruction, Intent, Procedure, Strength, TableReference};
use hyades_engine::storage::table::Table;
use hyades_types::definition::TableName;
use hyades_types::environment::Environment;
use hyades_types::error::Error;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use crate::target::{Argument, Caller, Ended, Request};

const BALANCE: u16 = 1;

/// Calls the procedure on a thread that may block.
pub(super) struct NativeCaller {
    worker: Box<dyn Worker>,
    environment: Environment,
    frame: Frame,
}

impl NativeCaller {
    pub(super) fn new(engine: &Arc<dyn Engine>) -> Result<NativeCaller> {
        let name = TableName { schema: "public".to_owned(), name: "account".to_owned() };
        let table = engine.table(&name).context("the table account does not exist")?;
        let frame = Frame::new(Arc::new(transfer(table)));
        Ok(NativeCaller { worker: engine.worker(), environment: Environment::default(), frame })
    }

    /// One attempt, up to its precommit.
    fn attempt(&mut self) -> hyades_types::error::Result<Durability> {
        let NativeCaller { worker, environment, frame } = self;
        worker.begin();
        frame.restart();
        until_done(|| worker.run(frame, environment, &mut NoRows))?;
        until_done(|| worker.commit())
    }
}

impl Caller for NativeCaller {
    fn call(&mut self, request: &Request) -> Result<Ended> {
        for (register, argument) in self.frame.registers.iter_mut().zip(&request.arguments) {
            if let Argument::BigInt(number) = argument {
                *register = Value::BigInt(*number);
            }
        }
        let mut retries = 0;
        loop {
            match self.attempt() {
                Ok(durability) => return Ok(Ended { durability, retries, is_refused: false }),
                Err(error) => {
                    self.worker.rollback();
                    if !matches!(error, Error::Abort(_)) {
                        return Err(error.into());
                    }
                    retries += 1;
                }
            }
        }
    }
}

/// Repeats a call until it no longer has to wait.
fn until_done<T>(mut call: impl FnMut() -> Flow<T>) -> hyades_types::error::Result<T> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// A transfer emits no rows.
struct NoRows;

impl RowSink for NoRows {
    fn row(&mut self, _values: &mut [Value]) -> hyades_types::error::Result<()> {
        Ok(())
    }
}

/// Moves register 2 from the account of register 0 to the account of register 1, which has the larger number.
fn transfer(table: Arc<Table>) -> Procedure {
    const ABSENT: u32 = 5;
    let read = |register: u16, row: u16| Instruction::ReadPoint {
        table: 0,
        key: vec![Expr::Register(register)],
        row,
        intent: Intent::newest(Strength::Write),
        absent: ABSENT,
    };
    let change = |row: u16, operator: BinaryOperator| Instruction::Update {
        table: 0,
        row,
        set: vec![(
            BALANCE,
            Expr::Binary {
                operator,
                left: Box::new(Expr::Column { row, column: BALANCE }),
                right: Box::new(Expr::Register(2)),
            },
        )],
    };
    let code = vec![
        read(0, 0),
        read(1, 1),
        change(0, BinaryOperator::Subtract),
        change(1, BinaryOperator::Add),
        Instruction::Return,
        Instruction::Raise { state: "P0002", message: Expr::Const(Value::Text("no such account".into())) },
    ];
    Procedure {
        name: "transfer".to_owned(),
        parameters: vec![SqlType::BigInt; 3],
        registers: 3,
        rows: 2,
        tables: vec![TableReference::new(table)],
        code,
        ..Procedure::default()
    }
}
