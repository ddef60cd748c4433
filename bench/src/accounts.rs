//! A bank: one table of accounts, and the procedures that fill it, move money and count it.
//!
//! The procedures are written in the IR directly, as the compiler would write a stored procedure. A transfer
//! reads both rows for writing in the order of their keys, so transfers never deadlock.

use std::sync::Arc;

use hyades_engine::db::{Engine, TableLock, Waiting};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::procedure::ir::{
    Direction, Expr, Given, Instruction, Intent, Procedure, ScanRange, Strength, TableReference,
};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableDefinition, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use crate::pipelined_client::{self, Client};

/// The initial balance of every account.
pub const FIRST_BALANCE: i64 = 1_000;
/// Rows inserted by one transaction of the load.
const LOAD_BATCH: u64 = 1_000;

const ID: u16 = 0;
const BALANCE: u16 = 1;

fn table_name() -> TableName {
    TableName { schema: "public".to_owned(), name: "account".to_owned() }
}

/// The table of an open database, if it has been created.
pub fn find(engine: &Arc<dyn Engine>) -> Result<Arc<Table>> {
    engine
        .table(&table_name())
        .ok_or_else(|| Error::input(sqlstate::UNDEFINED_TABLE, "relation \"account\" does not exist"))
}

/// Creates the table and its accounts, numbered from 0. Returns when they are durable.
pub fn create(engine: &Arc<dyn Engine>, accounts: u64, index: IndexKind) -> Result<Arc<Table>> {
    let mut client = Client::new(engine);
    let column = |name: &str| ColumnDefinition {
        name: name.to_owned(),
        sql_type: SqlType::BigInt,
        is_nullable: false,
        default: None,
        identity: None,
        generation: None,
    };
    let definition = TableDefinition {
        name: table_name(),
        columns: vec![column("id"), column("balance")],
        primary_key: Some(PrimaryKey { name: "account_pkey".to_owned(), columns: vec![ID], index }),
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        checks: Vec::new(),
        dropped: Vec::new(),
    };
    client
        .transaction(|worker, _| {
            let id = worker.new_table_id();
            let definition = definition.clone();
            pipelined_client::done(|| {
                worker.change_catalog(CatalogChange::CreateTable { id, definition: definition.clone() })
            })
        })?
        .wait()?;
    let table = find(engine)?;
    let mut frame = Frame::new(Arc::new(insert(&table)));
    for first in (0..accounts).step_by(LOAD_BATCH as usize) {
        let batch = client.transaction(|worker, environment| {
            pipelined_client::done(|| {
                worker.lock_table(&table, TableLock::AccessExclusive, Waiting::InQueue)
            })?;
            for id in first..accounts.min(first + LOAD_BATCH) {
                frame.registers[0] = Value::BigInt(id as i64);
                pipelined_client::run(
                    worker,
                    environment,
                    &mut frame,
                    &mut pipelined_client::Rows::default(),
                )?;
            }
            Ok(())
        })?;
        batch.wait()?;
    }
    Ok(table)
}

fn procedure(name: &str, table: &Arc<Table>, parameters: u16, code: Vec<Instruction>) -> Procedure {
    Procedure {
        name: name.to_owned(),
        parameters: vec![SqlType::BigInt; usize::from(parameters)],
        registers: parameters,
        rows: 2,
        cursors: 1,
        tables: vec![TableReference::new(Arc::clone(table))],
        code,
        ..Procedure::default()
    }
}

fn insert(table: &Arc<Table>) -> Procedure {
    let values = vec![Expr::Register(0), Expr::Const(Value::BigInt(FIRST_BALANCE))];
    procedure(
        "insert",
        table,
        1,
        vec![Instruction::Insert { table: 0, values, row: 0, given: Given::default() }, Instruction::Return],
    )
}

/// Moves register 2 from the account of register 0 to the account of register 1, which has the larger number.
pub fn transfer(table: &Arc<Table>) -> Procedure {
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
    procedure("transfer", table, 3, code)
}

fn all_rows(table: &Arc<Table>) -> Procedure {
    let range = ScanRange::whole();
    let code = vec![
        Instruction::OpenScan {
            cursor: 0,
            table: 0,
            range,
            direction: Direction::Forward,
            intent: Intent::READ,
        },
        Instruction::NextRow { cursor: 0, row: 0, end: 4 },
        Instruction::Emit {
            values: vec![Expr::Column { row: 0, column: ID }, Expr::Column { row: 0, column: BALANCE }],
        },
        Instruction::Jump { to: 1 },
        Instruction::Return,
    ];
    Procedure { output: vec![SqlType::BigInt; 2], ..procedure("all_rows", table, 0, code) }
}

/// The contents of a bank, for comparing states and for checking that no money was lost or made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    pub accounts: u64,
    pub total: i64,
    /// Of all rows, in any order.
    pub hash: u64,
}

/// Reads every account in one transaction.
pub fn audit(engine: &Arc<dyn Engine>, table: &Arc<Table>) -> Result<Audit> {
    let mut audit = Audit::default();
    for row in Client::new(engine).query(&Arc::new(all_rows(table)))? {
        let [Value::BigInt(id), Value::BigInt(balance)] = row[..] else {
            return Err(Error::corrupt(format!("an account reads as {row:?}")));
        };
        audit.accounts += 1;
        audit.total += balance;
        audit.hash = audit.hash.wrapping_add(mix(mix(id as u64) ^ balance as u64));
    }
    Ok(audit)
}

/// The finalizer of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
