//! The transfer workload: one procedure moves an amount from one account to another if the first can pay it.
//!
//! Accounts are `(id bigint primary key, balance bigint)`, drawn uniformly. The sum of balances never changes, and after recovery
//! the hash over all rows must be what it was before.

use std::path::Path;
use std::sync::Arc;

use hyades_engine::catalog::{
    CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableName,
};
use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db::{self, Engine};
use hyades_engine::error::{Error, Result, sqlstate};
use hyades_engine::procedure::frame::{Environment, Frame, RowSink};
use hyades_engine::procedure::ir::{
    BinaryOperator, Direction, Expr, Instruction, Intent, Procedure, ScanBound, ScanRange, TableReference,
};
use hyades_engine::storage::table::Table;
use hyades_engine::value::{SqlType, Value};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::driver::{self, Arguments, Figures, blocking};

/// Balance every account starts with.
const INITIAL_BALANCE: i64 = 1_000;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub protocol: ProtocolKind,
    pub index: IndexKind,
    pub logs: usize,
    pub workers: usize,
    pub accounts: u64,
    pub seconds: f64,
}

/// What came out.
pub struct Outcome {
    pub figures: Figures,
    /// Transactions replayed per second when the database was opened again; none without a log.
    pub replay: Option<Replay>,
    pub log_bytes_per_transaction: f64,
}

pub struct Replay {
    pub transactions: u64,
    pub seconds: f64,
}

impl Replay {
    pub fn rate(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
}

/// Runs the workload in a fresh database below `directory`, recovers it, and compares the states.
pub fn run(options: &Options, directory: &Path) -> Result<Outcome> {
    let mut config = Config::new(directory);
    config.protocol = options.protocol;
    config.logs = options.logs;
    let engine = db::open(config.clone())?;
    let table = load(&*engine, options)?;
    let environment = Environment::default();
    let transfer = transfer_procedure(&table);
    let arguments = (0..options.workers)
        .map(|worker| Draw { accounts: options.accounts, random: SmallRng::seed_from_u64(worker as u64) })
        .collect();
    let frame = || Frame::new(Arc::clone(&transfer));
    let figures = driver::run(&*engine, frame, arguments, &environment, options.seconds)?;
    let before = state(&*engine, &environment)?;
    if before.sum != INITIAL_BALANCE * options.accounts as i64 {
        return Err(internal(format!("the balances sum up to {}", before.sum)));
    }
    engine.shutdown()?;
    drop(engine);
    if options.protocol == ProtocolKind::None {
        return Ok(Outcome { figures, replay: None, log_bytes_per_transaction: 0.0 });
    }
    let engine = db::open(config)?;
    if state(&*engine, &environment)? != before {
        return Err(internal("the recovered state differs from the state before".to_owned()));
    }
    let report = engine.recovery_report();
    let replay = Replay { transactions: report.transactions, seconds: report.seconds };
    let log_bytes_per_transaction = report.log_bytes as f64 / report.transactions as f64;
    engine.shutdown()?;
    Ok(Outcome { figures, replay: Some(replay), log_bytes_per_transaction })
}

fn internal(message: String) -> Error {
    Error::fatal(sqlstate::INTERNAL_ERROR, message)
}

struct Draw {
    accounts: u64,
    random: SmallRng,
}

impl Arguments for Draw {
    fn draw(&mut self, registers: &mut [Value]) {
        let from = self.random.random_range(0..self.accounts);
        let to = (from + self.random.random_range(1..self.accounts)) % self.accounts;
        registers[0] = Value::BigInt(from as i64);
        registers[1] = Value::BigInt(to as i64);
        registers[2] = Value::BigInt(self.random.random_range(1..=10));
    }
}

fn table_name() -> TableName {
    TableName { schema: "public".to_owned(), name: "accounts".to_owned() }
}

fn load(engine: &dyn Engine, options: &Options) -> Result<Arc<Table>> {
    let column = |name: &str| ColumnDefinition {
        name: name.to_owned(),
        sql_type: SqlType::BigInt,
        is_nullable: false,
        default: None,
    };
    let key = PrimaryKey { name: "accounts_pkey".to_owned(), columns: vec![0], index: options.index };
    let definition = TableDefinition {
        name: table_name(),
        columns: vec![column("id"), column("balance")],
        primary_key: Some(key),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
    };
    let mut worker = engine.worker();
    worker.begin();
    let id = worker.new_table_id();
    blocking(|| worker.change_catalog(CatalogChange::CreateTable { id, definition: definition.clone() }))?;
    let table = worker.table(&table_name()).ok_or_else(|| internal("no table".to_owned()))?;
    let mut frame = Frame::new(insert_procedure(&table));
    let mut environment = Environment::default();
    for account in 0..options.accounts {
        frame.registers[0] = Value::BigInt(account as i64);
        frame.registers[1] = Value::BigInt(INITIAL_BALANCE);
        frame.restart();
        blocking(|| worker.run(&mut frame, &mut environment, &mut State::default()))?;
    }
    blocking(|| worker.commit())?.wait()?;
    Ok(table)
}

fn procedure(name: &str, table: &Arc<Table>, parameters: usize, code: Vec<Instruction>) -> Arc<Procedure> {
    Arc::new(Procedure {
        name: name.to_owned(),
        parameters: vec![SqlType::BigInt; parameters],
        registers: parameters as u16,
        rows: 2,
        cursors: 1,
        tables: vec![TableReference::new(Arc::clone(table))],
        code,
        output: vec![SqlType::BigInt; 2],
    })
}

fn insert_procedure(table: &Arc<Table>) -> Arc<Procedure> {
    let values = vec![Expr::Register(0), Expr::Register(1)];
    procedure("load", table, 2, vec![Instruction::Insert { table: 0, values, row: 0 }])
}

/// `transfer(from, to, amount)`.
fn transfer_procedure(table: &Arc<Table>) -> Arc<Procedure> {
    let balance = |row| Box::new(Expr::Column { row, column: 1 });
    let amount = || Box::new(Expr::Register(2));
    let binary = |operator, left, right| Expr::Binary { operator, left, right };
    let read = |register, row| Instruction::ReadPoint {
        table: 0,
        key: vec![Expr::Register(register)],
        row,
        intent: Intent::Write,
        absent: 5,
    };
    let set = |row, operator| Instruction::Update {
        table: 0,
        row,
        set: vec![(1, binary(operator, balance(row), amount()))],
    };
    let code = vec![
        read(0, 0),
        Instruction::JumpUnless {
            condition: binary(BinaryOperator::GreaterEqual, balance(0), amount()),
            to: 5,
        },
        read(1, 1),
        set(0, BinaryOperator::Subtract),
        set(1, BinaryOperator::Add),
    ];
    procedure("transfer", table, 3, code)
}

/// The whole state: the sum of balances and an order-independent hash of all rows.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    rows: u64,
    sum: i64,
    hash: u64,
}

impl RowSink for State {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        let [Value::BigInt(id), Value::BigInt(balance)] = values else {
            return Err(internal(format!("unexpected row {values:?}")));
        };
        self.rows += 1;
        self.sum += *balance;
        let mixed = (*id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (*balance as u64);
        self.hash = self.hash.wrapping_add(mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(31));
        Ok(())
    }
}

fn state(engine: &dyn Engine, environment: &Environment) -> Result<State> {
    let table = engine.table(&table_name()).ok_or_else(|| internal("the table is lost".to_owned()))?;
    let range = ScanRange { lower: ScanBound::Unbounded, upper: ScanBound::Unbounded };
    let columns = vec![Expr::Column { row: 0, column: 0 }, Expr::Column { row: 0, column: 1 }];
    let code = vec![
        Instruction::OpenScan {
            cursor: 0,
            table: 0,
            range,
            direction: Direction::Forward,
            intent: Intent::Read,
        },
        Instruction::NextRow { cursor: 0, row: 0, end: 4 },
        Instruction::Emit { values: columns },
        Instruction::Jump { to: 1 },
    ];
    let mut frame = Frame::new(procedure("state", &table, 0, code));
    let mut environment = environment.clone();
    let mut state = State::default();
    let mut worker = engine.worker();
    worker.begin();
    blocking(|| worker.run(&mut frame, &mut environment, &mut state))?;
    blocking(|| worker.commit())?.wait()?;
    Ok(state)
}
