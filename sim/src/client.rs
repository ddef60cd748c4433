//! A small blocking client of the engine for tests: tables of numbers and lists, one hand-written procedure
//! per operation.
//!
//! It uses the public engine API only (`Engine`, `Worker`, procedures), so what it proves holds for every
//! user of the engine. Waits block the thread. Durability is left to the caller, which decides what counts as
//! acknowledged.

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::db::{Engine, Flow, Interrupt, Isolation, Logging, LoggingChoice, Savepoint, Worker};
use hyades_engine::log::durable::Durability;
use hyades_engine::procedure::frame::{Frame, RowSink};
use hyades_engine::procedure::ir::{
    Direction, Expr, Given, Impatience, Instruction, Intent, Procedure, ScanBound, ScanRange, Strength,
    TableReference,
};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableId, TableName,
};
use hyades_types::environment::Environment;
use hyades_types::error::{Abort, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};
use hyades_types::{Error, Result};

/// A table `(key bigint primary key, value <type>)`.
fn definition(name: &str, value: SqlType, index: IndexKind) -> TableDefinition {
    let column = |name: &str, sql_type| ColumnDefinition {
        is_nullable: false,
        ..ColumnDefinition::new(name, sql_type)
    };
    TableDefinition {
        name: table_name(name),
        columns: vec![column("key", SqlType::BigInt), column("value", value)],
        primary_key: Some(PrimaryKey {
            name: format!("{name}_pkey"),
            columns: vec![0],
            index,
            parameters: Vec::new(),
        }),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        materialized: None,
        checks: Vec::new(),
        triggers: Vec::new(),
        dropped: Vec::new(),
        parameters: Vec::new(),
    }
}

fn table_name(name: &str) -> TableName {
    TableName { schema: "public".to_owned(), name: name.to_owned() }
}

/// Creates the tables `numbers`, `ledger` and `lists`, and waits until they are durable.
pub fn create_tables(engine: &dyn Engine, index: IndexKind) -> Result<()> {
    let mut worker = engine.worker();
    worker.begin();
    for (name, value) in [("numbers", SqlType::BigInt), ("ledger", SqlType::BigInt), ("lists", SqlType::Text)]
    {
        let id = TableId(worker.new_id(NewId::Object));
        let change = CatalogChange::CreateTable { id, definition: definition(name, value, index) };
        blocking(|| worker.change_catalog(change.clone()))?;
    }
    blocking(|| worker.commit())?.wait()
}

/// Repeats a call until it no longer has to wait.
pub fn blocking<T>(mut call: impl FnMut() -> Flow<T>) -> Result<T> {
    loop {
        match call() {
            Ok(answer) => return Ok(answer),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// About as long as a transaction of the workloads takes.
const MOMENT: Duration = Duration::from_micros(100);

/// Collects emitted rows.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl RowSink for Rows {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.push(values.to_vec());
        Ok(())
    }
}

fn register(number: u16) -> Expr {
    Expr::Register(number)
}

fn column(column: u16) -> Expr {
    Expr::Column { row: 0, column }
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

fn procedure(
    name: &str,
    table: &Arc<Table>,
    parameters: Vec<SqlType>,
    code: Vec<Instruction>,
) -> Arc<Procedure> {
    Arc::new(Procedure {
        name: name.to_owned(),
        registers: parameters.len() as u16,
        parameters,
        rows: 1,
        cursors: 1,
        tables: vec![TableReference::new(Arc::clone(table))],
        code,
        ..Procedure::default()
    })
}

fn read_point(intent: Intent, absent: u32) -> Instruction {
    Instruction::ReadPoint { table: 0, key: vec![register(0)], row: 0, intent, absent }
}

/// `get(key)`: emits the value.
fn get(table: &Arc<Table>) -> Arc<Procedure> {
    let code = vec![read_point(Intent::READ, 2), Instruction::Emit { values: vec![column(1)] }];
    procedure("get", table, vec![SqlType::BigInt], code)
}

/// `upsert(key, value)`: inserts the value, or sets the existing row's to `combined`.
fn upsert(name: &str, table: &Arc<Table>, value: SqlType, combined: Expr) -> Arc<Procedure> {
    let code = vec![
        read_point(Intent::newest(Strength::NoKeyWrite), 3),
        Instruction::Update { table: 0, row: 0, set: vec![(1, combined)] },
        Instruction::Return,
        Instruction::Insert {
            table: 0,
            values: vec![register(0), register(1)],
            row: 0,
            given: Given::default(),
        },
    ];
    procedure(name, table, vec![SqlType::BigInt, value], code)
}

/// `delete(key)`.
fn delete(table: &Arc<Table>) -> Arc<Procedure> {
    let code = vec![
        read_point(Intent::newest(Strength::Write), 3),
        Instruction::Delete { table: 0, row: 0 },
        Instruction::CountRow,
    ];
    procedure("delete", table, vec![SqlType::BigInt], code)
}

/// `scan(from, to)`: emits key and value of `from <= key < to`.
fn scan(table: &Arc<Table>, direction: Direction) -> Arc<Procedure> {
    let range = ScanRange {
        index: None,
        lower: ScanBound::Included(vec![register(0)]),
        upper: ScanBound::Excluded(vec![register(1)]),
    };
    let in_range = Expr::And(
        Box::new(binary(BinaryOperator::GreaterEqual, column(0), register(0))),
        Box::new(binary(BinaryOperator::Less, column(0), register(1))),
    );
    let code = vec![
        Instruction::OpenScan { cursor: 0, table: 0, range, direction, intent: Intent::READ },
        Instruction::NextRow { cursor: 0, row: 0, end: 5 },
        Instruction::JumpUnless { condition: in_range, to: 1 },
        Instruction::Emit { values: vec![column(0), column(1)] },
        Instruction::Jump { to: 1 },
    ];
    procedure("scan", table, vec![SqlType::BigInt, SqlType::BigInt], code)
}

/// `skip_and_put(value)`: sets the rows that a scan with SKIP LOCKED visits, and returns none of them.
fn skip_and_put(table: &Arc<Table>) -> Arc<Procedure> {
    let range = ScanRange::whole();
    let intent = Intent::chosen(Strength::Write, Some(Impatience::SkipLocked));
    let key = vec![column(0)];
    let code = vec![
        Instruction::OpenScan { cursor: 0, table: 0, range, direction: Direction::Forward, intent },
        Instruction::NextRow { cursor: 0, row: 0, end: 5 },
        Instruction::ReadPoint {
            table: 0,
            key,
            row: 0,
            intent: Intent::newest(Strength::NoKeyWrite),
            absent: 1,
        },
        Instruction::Update { table: 0, row: 0, set: vec![(1, register(0))] },
        Instruction::Jump { to: 1 },
    ];
    procedure("skip_and_put", table, vec![SqlType::BigInt], code)
}

/// `scan_at_once()`: emits all rows, or fails where it would have to wait.
fn scan_at_once(table: &Arc<Table>) -> Arc<Procedure> {
    let range = ScanRange::whole();
    let intent = Intent::chosen(Strength::Write, Some(Impatience::NoWait));
    let code = vec![
        Instruction::OpenScan { cursor: 0, table: 0, range, direction: Direction::Forward, intent },
        Instruction::NextRow { cursor: 0, row: 0, end: 4 },
        Instruction::Emit { values: vec![column(0), column(1)] },
        Instruction::Jump { to: 1 },
    ];
    procedure("scan_at_once", table, Vec::new(), code)
}

/// The operations of a client, each one procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    GetNumber,
    PutNumber,
    AddNumber,
    DeleteNumber,
    ScanNumbers,
    Note,
    ScanLedger,
    GetList,
    AppendList,
    ScanLists,
    ScanListsBackward,
    SkipAndPutNumbers,
    ScanNumbersAtOnce,
}

/// See the module head. One transaction at a time.
pub struct Client {
    worker: Box<dyn Worker>,
    environment: Environment,
    /// In the order of [`Operation`].
    frames: Vec<Frame>,
    /// The rows of a call that has to wait.
    pending: Option<Rows>,
    is_impatient: bool,
}

impl Client {
    pub fn new(engine: &dyn Engine) -> Result<Client> {
        let table = |name: &str| {
            let missing = || Error::input(sqlstate::UNDEFINED_TABLE, format!("no table {name}"));
            engine.table(&table_name(name)).ok_or_else(missing)
        };
        let (numbers, ledger, lists) = (table("numbers")?, table("ledger")?, table("lists")?);
        let sum = binary(BinaryOperator::Add, column(1), register(1));
        let appended = binary(BinaryOperator::Concat, column(1), register(1));
        let procedures = [
            get(&numbers),
            upsert("put", &numbers, SqlType::BigInt, register(1)),
            upsert("add", &numbers, SqlType::BigInt, sum),
            delete(&numbers),
            scan(&numbers, Direction::Forward),
            upsert("note", &ledger, SqlType::BigInt, register(1)),
            scan(&ledger, Direction::Forward),
            get(&lists),
            upsert("append", &lists, SqlType::Text, appended),
            scan(&lists, Direction::Forward),
            scan(&lists, Direction::Backward),
            skip_and_put(&numbers),
            scan_at_once(&numbers),
        ];
        Ok(Client {
            worker: engine.worker(),
            environment: Environment::default(),
            frames: procedures.into_iter().map(Frame::new).collect(),
            pending: None,
            is_impatient: false,
        })
    }

    /// Begins a serializable transaction.
    pub fn begin(&mut self) {
        self.worker.begin();
        self.worker.isolate(Isolation::Serializable);
    }

    pub fn worker(&mut self) -> &mut dyn Worker {
        &mut *self.worker
    }

    /// Precommits. The transaction may be acknowledged when the handle is durable.
    pub fn commit(&mut self) -> Result<Durability> {
        blocking(|| self.worker.commit())
    }

    pub fn rollback(&mut self) -> Durability {
        self.pending = None;
        self.worker.rollback()
    }

    /// From now on an operation that has to wait is cancelled (57014) after a moment, during which it may be
    /// granted what it waits for.
    pub fn set_impatient(&mut self, is_impatient: bool) {
        self.is_impatient = is_impatient;
    }

    pub fn savepoint(&mut self) -> Savepoint {
        self.worker.savepoint()
    }

    /// Undoes what has been done since the savepoint, and gives up what it waits for.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Durability {
        self.pending = None;
        self.worker.rollback_to(savepoint)
    }

    /// Starts an operation, or continues one that had to wait (with the same arguments).
    pub fn attempt(&mut self, operation: Operation, arguments: &[Value]) -> Flow<Vec<Vec<Value>>> {
        let frame = &mut self.frames[operation as usize];
        let mut rows = self.pending.take().unwrap_or_else(|| {
            frame.registers[..arguments.len()].clone_from_slice(arguments);
            frame.restart();
            Rows::default()
        });
        match self.worker.run(frame, &mut self.environment, &mut rows) {
            Ok(()) => Ok(rows.0),
            Err(Interrupt::Wait(ticket)) => {
                self.pending = Some(rows);
                Err(Interrupt::Wait(ticket))
            }
            Err(failed) => Err(failed),
        }
    }

    fn run(&mut self, operation: Operation, arguments: &[Value]) -> Result<Vec<Vec<Value>>> {
        if !self.is_impatient {
            return blocking(|| self.attempt(operation, arguments));
        }
        match self.attempt(operation, arguments) {
            Ok(rows) => Ok(rows),
            Err(Interrupt::Failed(error)) => Err(error),
            Err(Interrupt::Wait(_)) => {
                crate::threads::sleep(MOMENT);
                Err(Error::input(sqlstate::QUERY_CANCELED, "canceling statement due to user request"))
            }
        }
    }

    /// Calls a routine as a transaction of its own, with the requested logging if that is possible. Ends the
    /// transaction unless it failed.
    pub fn call(
        &mut self,
        name: &str,
        arguments: &[Value],
        logging: Logging,
    ) -> Result<(LoggingChoice, Durability)> {
        self.begin();
        let outcome = self.call_inside(name, arguments, logging);
        let outcome = outcome.and_then(|choice| Ok((choice, blocking(|| self.worker.commit())?)));
        outcome.inspect_err(|_| drop(self.worker.rollback()))
    }

    /// As [`Client::call`], in a transaction that has just begun and remains open.
    pub fn call_inside(
        &mut self,
        name: &str,
        arguments: &[Value],
        logging: Logging,
    ) -> Result<LoggingChoice> {
        self.call_for_rows(name, arguments, logging).map(|(choice, _)| choice)
    }

    fn call_for_rows(
        &mut self,
        name: &str,
        arguments: &[Value],
        logging: Logging,
    ) -> Result<(LoggingChoice, Vec<Vec<Value>>)> {
        loop {
            let routines = self.worker.routines_named(&table_name(name));
            let missing = || Error::input(sqlstate::UNDEFINED_FUNCTION, format!("no routine {name}"));
            let routine = routines.first().ok_or_else(missing)?;
            let procedure = self.worker.procedure(routine)?;
            let mut frame = Frame::new(procedure);
            frame.registers[..arguments.len()].clone_from_slice(arguments);
            let choice = self.worker.begin_call(routine, &mut frame, &self.environment, logging);
            let (worker, environment) = (&mut self.worker, &mut self.environment);
            let mut rows = Rows::default();
            match blocking(|| worker.run(&mut frame, environment, &mut rows)) {
                Ok(()) => return Ok((choice, rows.0)),
                Err(Error::Abort(Abort::StalePlan)) => {
                    drop(self.worker.rollback());
                    self.begin();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `lists` in a transaction that has just begun. Returns the steps' lists, with the number of the
    /// step and the key.
    pub fn call_lists(
        &mut self,
        arguments: &[Value],
        logging: Logging,
    ) -> Result<Vec<(usize, u64, Vec<u64>)>> {
        let (_, rows) = self.call_for_rows("lists", arguments, logging)?;
        let of_row = |row: &Vec<Value>| (number(&row[0]) as usize, number(&row[1]) as u64, list(&row[2]));
        Ok(rows.iter().map(of_row).collect())
    }

    /// The values of the environment that procedures may ask for.
    pub fn environment(&mut self) -> &mut Environment {
        &mut self.environment
    }

    pub fn get_number(&mut self, key: u64) -> Result<Option<i64>> {
        let rows = self.run(Operation::GetNumber, &[big(key as i64)])?;
        Ok(rows.first().map(|row| number(&row[0])))
    }

    pub fn put_number(&mut self, key: u64, value: i64) -> Result<()> {
        self.run(Operation::PutNumber, &[big(key as i64), big(value)]).map(drop)
    }

    /// Adds to a number. An absent row counts as zero.
    pub fn add_number(&mut self, key: u64, amount: i64) -> Result<()> {
        self.run(Operation::AddNumber, &[big(key as i64), big(amount)]).map(drop)
    }

    pub fn delete_number(&mut self, key: u64) -> Result<()> {
        self.run(Operation::DeleteNumber, &[big(key as i64)]).map(drop)
    }

    /// All numbers, in key order.
    pub fn numbers(&mut self) -> Result<Vec<(u64, i64)>> {
        let rows = self.run(Operation::ScanNumbers, &[big(i64::MIN), big(i64::MAX)])?;
        let mut numbers: Vec<(u64, i64)> =
            rows.iter().map(|row| (number(&row[0]) as u64, number(&row[1]))).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Writes a transaction's number into the ledger.
    pub fn note(&mut self, transaction: u64) -> Result<()> {
        self.run(Operation::Note, &[big(transaction as i64), big(0)]).map(drop)
    }

    /// The numbers in the ledger.
    pub fn ledger(&mut self) -> Result<Vec<u64>> {
        let rows = self.run(Operation::ScanLedger, &[big(i64::MIN), big(i64::MAX)])?;
        Ok(rows.iter().map(|row| number(&row[0]) as u64).collect())
    }

    pub fn get_list(&mut self, key: u64) -> Result<Vec<u64>> {
        let rows = self.run(Operation::GetList, &[big(key as i64)])?;
        Ok(rows.first().map(|row| list(&row[0])).unwrap_or_default())
    }

    pub fn append_list(&mut self, key: u64, element: u64) -> Result<()> {
        let arguments = [big(key as i64), Value::Text(format!("{element} ").into())];
        self.run(Operation::AppendList, &arguments).map(drop)
    }

    /// Stores a text in the table of lists; the key must be absent.
    pub fn put_text(&mut self, key: u64, text: &str) -> Result<()> {
        let arguments = [big(key as i64), Value::Text(text.into())];
        self.run(Operation::AppendList, &arguments).map(drop)
    }

    /// All texts in the table of lists, by key.
    pub fn texts(&mut self) -> Result<Vec<(u64, String)>> {
        let rows = self.run(Operation::ScanLists, &[big(i64::MIN), big(i64::MAX)])?;
        Ok(rows.iter().map(|row| (number(&row[0]) as u64, text(&row[1]).to_owned())).collect())
    }

    /// The lists of `from <= key < to` that exist, in key order of the direction.
    pub fn scan_lists(&mut self, from: u64, to: u64, direction: Direction) -> Result<Vec<(u64, Vec<u64>)>> {
        let operation = match direction {
            Direction::Forward => Operation::ScanLists,
            Direction::Backward => Operation::ScanListsBackward,
        };
        let rows = self.run(operation, &[big(from as i64), big(to as i64)])?;
        Ok(rows.iter().map(|row| (number(&row[0]) as u64, list(&row[1]))).collect())
    }
}

/// A bigint argument.
pub fn big(value: i64) -> Value {
    Value::BigInt(value)
}

fn number(value: &Value) -> i64 {
    match value {
        Value::BigInt(number) => *number,
        other => panic!("expected a bigint, got {other:?}"),
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("expected text, got {other:?}"),
    }
}

fn list(value: &Value) -> Vec<u64> {
    text(value).split_whitespace().filter_map(|word| word.parse().ok()).collect()
}
