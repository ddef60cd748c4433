//! Routines for tests: a compiler whose source is a name, and the hand-written procedures for these names.
//!
//! | source | parameters | does |
//! |---|---|---|
//! | `script` | number, four times (kind, key, value), text, writes | the steps of a scripted transaction (0 read, 1 put, 2 add, 3 delete, 4 none), then its text and, with what it read, its ledger entry |
//! | `lists` | number, four times (kind, key, element) | steps over lists (0 read, 1 append, 2 scan forward, 3 backward, 4 none); emits step, key and list for each list met, and enters in the ledger what it has read |
//! | `copy` | from, to, amount | sets `to` to the value under `from` (0 if absent) plus the amount |
//! | `sum` | from, to, into | sets `into` to number and sum of the rows in `from <= key < to` |
//! | `refer` | key, to, amount | sets `to` to the amount if there is a row under `key`, of which it looks at nothing else, and to 0 if not |
//! | `bump` | amount | adds the amount to every number |
//! | `remove` | key | deletes a row, if it is there |
//! | `journal` | value | adds a row to a table without a primary key |
//! | `surroundings` | key | sets the text under `key` to times, in the time zone, and a random value |
//! | `chances` | key | inserts a random value under `key` and the next key, unless they are taken |
//! | `whole` | into | as `sum` over the whole table |
//! | `fail` | key | writes, then fails |

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;

use hyades_engine::db::Engine;
use hyades_engine::procedure::compiled_routine::{CatalogView, RoutineCompiler};
use hyades_engine::procedure::ir::{
    Arbiter, Direction, Expr, Given, Instruction, Intent, Label, Procedure, Replayability, ScanBound,
    ScanRange, Strength, TableReference,
};
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, ParameterMode, PrimaryKey, Returns, RoutineDefinition, RoutineId,
    RoutineKind, RoutineParameter, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use crate::client::blocking;

/// Compiles the routines of tests: the source is a name, for which there is a hand-written procedure.
#[derive(Clone, Copy, Debug, Default)]
pub struct TestCompiler;

/// Every routine with the number of its bigint parameters.
const ROUTINES: &[(&str, usize)] = &[
    ("script", 14),
    ("lists", 13),
    ("copy", 3),
    ("sum", 3),
    ("refer", 3),
    ("bump", 1),
    ("remove", 1),
    ("journal", 1),
    ("surroundings", 1),
    ("chances", 1),
    ("whole", 1),
    ("fail", 1),
];

const NUMBERS: u16 = 0;
const LEDGER: u16 = 1;
const JOURNAL: u16 = 2;
const LISTS: u16 = 3;
/// In the order of these numbers.
const TABLES: [&str; 4] = ["numbers", "ledger", "journal", "lists"];

pub fn public(name: &str) -> TableName {
    TableName { schema: "public".to_owned(), name: name.to_owned() }
}

/// A definition whose source is `body`.
pub fn definition(name: &str, parameters: usize, body: &str) -> RoutineDefinition {
    let parameter =
        |sql_type| RoutineParameter { name: None, sql_type, mode: ParameterMode::In, default: None };
    let mut parameters: Vec<_> = (0..parameters).map(|_| parameter(SqlType::BigInt)).collect();
    if body == "script" {
        // The text comes last, after whether the transaction writes.
        parameters.push(parameter(SqlType::Text));
    }
    RoutineDefinition {
        name: public(name),
        kind: RoutineKind::Procedure,
        parameters,
        returns: Returns::Nothing,
        language: "test".to_owned(),
        body: body.to_owned(),
        path: None,
        is_strict: false,
        traits: Default::default(),
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
    }
}

/// Creates the journal and all routines, and waits until they are durable.
pub fn create_routines(engine: &dyn Engine) -> Result<()> {
    let mut worker = engine.worker();
    worker.begin();
    let journal = TableDefinition {
        name: public("journal"),
        columns: vec![ColumnDefinition {
            is_nullable: false,
            ..ColumnDefinition::new("value", SqlType::BigInt)
        }],
        primary_key: None::<PrimaryKey>,
        indexes: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        view: None,
        materialized: None,
        checks: Vec::new(),
        triggers: Vec::new(),
        dropped: Vec::new(),
        parameters: Vec::new(),
    };
    let id = TableId(worker.new_id(NewId::Object));
    let change = CatalogChange::CreateTable { id, definition: journal };
    blocking(|| worker.change_catalog(change.clone()))?;
    for (name, parameters) in ROUTINES {
        let id = RoutineId(worker.new_id(NewId::Object));
        let definition = definition(name, *parameters, name);
        let change = CatalogChange::CreateRoutine { id, definition, replaces: None };
        blocking(|| worker.change_catalog(change.clone()))?;
    }
    blocking(|| worker.commit())?.wait()
}

/// Replaces the source of a routine, and returns the new id.
pub fn replace_routine(engine: &dyn Engine, name: &str, parameters: usize, body: &str) -> Result<RoutineId> {
    let mut worker = engine.worker();
    worker.begin();
    let replaces = worker.routines_named(&public(name)).first().map(|routine| routine.id);
    let id = RoutineId(worker.new_id(NewId::Object));
    let change =
        CatalogChange::CreateRoutine { id, definition: definition(name, parameters, body), replaces };
    blocking(|| worker.change_catalog(change.clone()))?;
    // Not waited for: other sessions build on it before it is durable.
    blocking(|| worker.commit()).map(|_| id)
}

fn register(number: u16) -> Expr {
    Expr::Register(number)
}

fn integer(number: i64) -> Expr {
    Expr::Const(Value::BigInt(number))
}

fn column(row: u16, column: u16) -> Expr {
    Expr::Column { row, column }
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

fn add(left: Expr, right: Expr) -> Expr {
    binary(BinaryOperator::Add, left, right)
}

fn equal(left: Expr, right: i64) -> Expr {
    binary(BinaryOperator::Equal, left, integer(right))
}

/// `into = into * 31 + value`, kept small.
fn mix(into: u16, value: Expr) -> Instruction {
    let product = binary(BinaryOperator::Multiply, register(into), integer(31));
    let expr = binary(BinaryOperator::Modulo, add(product, value), integer(1_000_003));
    Instruction::Evaluate { expr, into }
}

fn read(table: u16, key: Expr, intent: Intent, absent: Label) -> Instruction {
    Instruction::ReadPoint { table, key: vec![key], row: table, intent, absent }
}

/// Inserts, or sets the existing row's second column.
fn upsert(code: &mut Vec<Instruction>, table: u16, key: Expr, value: Expr) {
    let at = code.len() as Label;
    code.extend([
        read(table, key.clone(), Intent::newest(Strength::NoKeyWrite), at + 3),
        Instruction::Update { table, row: table, set: vec![(1, value.clone())] },
        Instruction::Jump { to: at + 4 },
        Instruction::Insert { table, values: vec![key, value], row: table, given: Given::default() },
    ]);
}

fn script_step(code: &mut Vec<Instruction>, kind: u16, seen: u16) {
    let (key, value) = (register(kind + 1), register(kind + 2));
    let at = code.len() as Label;
    let end = at + 13;
    let writes = binary(BinaryOperator::LessEqual, register(kind), integer(2));
    let combined = Expr::Case {
        branches: vec![(equal(register(kind), 2), add(column(NUMBERS, 1), value.clone()))],
        otherwise: Box::new(value.clone()),
    };
    code.extend([
        Instruction::JumpUnless { condition: equal(register(kind), 0), to: at + 4 },
        read(NUMBERS, key.clone(), Intent::READ, end),
        mix(seen, column(NUMBERS, 1)),
        Instruction::Jump { to: end },
        Instruction::JumpUnless { condition: equal(register(kind), 3), to: at + 8 },
        read(NUMBERS, key.clone(), Intent::newest(Strength::Write), end),
        Instruction::Delete { table: NUMBERS, row: NUMBERS },
        Instruction::Jump { to: end },
        Instruction::JumpUnless { condition: writes, to: end },
        read(NUMBERS, key.clone(), Intent::newest(Strength::NoKeyWrite), at + 12),
        Instruction::Update { table: NUMBERS, row: NUMBERS, set: vec![(1, combined)] },
        Instruction::Jump { to: end },
        Instruction::Insert {
            table: NUMBERS,
            values: vec![key, value],
            row: NUMBERS,
            given: Given::default(),
        },
    ]);
}

fn script() -> Vec<Instruction> {
    let (writes, text, seen) = (13, 14, 15);
    let mut code = vec![Instruction::Evaluate { expr: integer(1), into: seen }];
    for step in 0..4 {
        script_step(&mut code, 1 + 3 * step, seen);
    }
    let at = code.len() as Label;
    let has_text = Expr::Not(Box::new(Expr::IsNull(Box::new(register(text)))));
    code.extend([
        Instruction::JumpUnless { condition: equal(register(writes), 1), to: at + 4 },
        Instruction::JumpUnless { condition: has_text, to: at + 3 },
        Instruction::Insert {
            table: LISTS,
            values: vec![register(0), register(text)],
            row: LISTS,
            given: Given::default(),
        },
        Instruction::Insert {
            table: LEDGER,
            values: vec![register(0), register(seen)],
            row: LEDGER,
            given: Given::default(),
        },
    ]);
    code
}

/// Keys that a step of `lists` scans.
pub const SCANNED_KEYS: u64 = 4;

fn list_step(code: &mut Vec<Instruction>, step: i64, kind: u16, seen: u16) {
    let (key, element) = (register(kind + 1), register(kind + 2));
    let text = |expr| Expr::Cast { operand: Box::new(expr), to: SqlType::Text, explicit: true };
    let concat = |left, right| binary(BinaryOperator::Concat, left, right);
    let item = concat(text(element), Expr::Const(Value::text(" ")));
    let met = || {
        let length = Expr::Call { function: Function::Length, arguments: vec![column(LISTS, 1)] };
        let values = vec![integer(step), column(LISTS, 0), column(LISTS, 1)];
        [mix(seen, length), Instruction::Emit { values }]
    };
    let at = code.len() as Label;
    let end = at + 22;
    let [mix_read, emit_read] = met();
    code.extend([
        Instruction::JumpUnless { condition: equal(register(kind), 0), to: at + 5 },
        read(LISTS, key.clone(), Intent::READ, end),
        mix_read,
        emit_read,
        Instruction::Jump { to: end },
        Instruction::JumpUnless { condition: equal(register(kind), 1), to: at + 10 },
        read(LISTS, key.clone(), Intent::newest(Strength::NoKeyWrite), at + 9),
        Instruction::Update {
            table: LISTS,
            row: LISTS,
            set: vec![(1, concat(column(LISTS, 1), item.clone()))],
        },
        Instruction::Jump { to: end },
        Instruction::Insert {
            table: LISTS,
            values: vec![key.clone(), item],
            row: LISTS,
            given: Given::default(),
        },
    ]);
    for (kind_of_scan, direction) in [(2, Direction::Forward), (3, Direction::Backward)] {
        let at = code.len() as Label;
        let range = ScanRange {
            index: None,
            lower: ScanBound::Included(vec![key.clone()]),
            upper: ScanBound::Excluded(vec![add(key.clone(), integer(SCANNED_KEYS as i64))]),
        };
        let [mix_scanned, emit_scanned] = met();
        code.extend([
            Instruction::JumpUnless { condition: equal(register(kind), kind_of_scan), to: at + 6 },
            Instruction::OpenScan { cursor: 0, table: LISTS, range, direction, intent: Intent::READ },
            Instruction::NextRow { cursor: 0, row: LISTS, end: at + 6 },
            mix_scanned,
            emit_scanned,
            Instruction::Jump { to: at + 2 },
        ]);
    }
    debug_assert_eq!(code.len() as Label, end);
}

fn lists() -> Vec<Instruction> {
    let seen = 13;
    let mut code = vec![Instruction::Evaluate { expr: integer(1), into: seen }];
    for step in 0..4 {
        list_step(&mut code, i64::from(step), 1 + 3 * step, seen);
    }
    code.push(Instruction::Insert {
        table: LEDGER,
        values: vec![register(0), register(seen)],
        row: LEDGER,
        given: Given::default(),
    });
    code
}

fn copy() -> Vec<Instruction> {
    let mut code = vec![
        Instruction::Evaluate { expr: integer(0), into: 3 },
        read(NUMBERS, register(0), Intent::READ, 3),
        Instruction::Evaluate { expr: column(NUMBERS, 1), into: 3 },
    ];
    upsert(&mut code, NUMBERS, register(1), add(register(3), register(2)));
    code
}

fn refer() -> Vec<Instruction> {
    let mut code = vec![
        Instruction::Evaluate { expr: integer(0), into: 3 },
        read(NUMBERS, register(0), Intent::newest(Strength::KeyRead), 3),
        Instruction::Evaluate { expr: register(2), into: 3 },
    ];
    upsert(&mut code, NUMBERS, register(1), register(3));
    code
}

fn bump() -> Vec<Instruction> {
    let range = ScanRange::whole();
    let (direction, intent) = (Direction::Forward, Intent::newest(Strength::NoKeyWrite));
    let set = vec![(1, add(column(NUMBERS, 1), register(0)))];
    vec![
        Instruction::OpenScan { cursor: 0, table: NUMBERS, range, direction, intent },
        Instruction::NextRow { cursor: 0, row: NUMBERS, end: 4 },
        Instruction::Update { table: NUMBERS, row: NUMBERS, set },
        Instruction::Jump { to: 1 },
    ]
}

fn sum(range: ScanRange, into: u16, seen: u16) -> Vec<Instruction> {
    let open = Instruction::OpenScan {
        cursor: 0,
        table: NUMBERS,
        range,
        direction: Direction::Forward,
        intent: Intent::READ,
    };
    let mut code = vec![
        Instruction::Evaluate { expr: integer(7), into: seen },
        open,
        Instruction::NextRow { cursor: 0, row: NUMBERS, end: 6 },
        mix(seen, column(NUMBERS, 0)),
        mix(seen, column(NUMBERS, 1)),
        Instruction::Jump { to: 2 },
    ];
    upsert(&mut code, NUMBERS, register(into), register(seen));
    code
}

fn call(function: Function) -> Expr {
    Expr::Call { function, arguments: Vec::new() }
}

fn text(expr: Expr) -> Expr {
    Expr::Cast { operand: Box::new(expr), to: SqlType::Text, explicit: true }
}

/// Inserts that may have to wait after they have drawn a random value.
fn chances() -> Vec<Instruction> {
    let insert = |key, next| Instruction::InsertOr {
        table: LISTS,
        values: vec![key, text(call(Function::Random))],
        row: LISTS,
        arbiter: Arbiter::Any,
        duplicate: next,
        given: Given::default(),
    };
    vec![insert(register(0), 1), insert(add(register(0), integer(1)), 2)]
}

fn surroundings() -> Vec<Instruction> {
    let concat = |left, right| binary(BinaryOperator::Concat, left, right);
    let known = concat(
        concat(text(call(Function::Now)), text(call(Function::StatementTimestamp))),
        concat(text(call(Function::Random)), text(call(Function::GenRandomUuid))),
    );
    let mut code = Vec::new();
    upsert(&mut code, LISTS, register(0), known);
    code
}

fn code_of(body: &str) -> Option<Vec<Instruction>> {
    Some(match body {
        "script" => script(),
        "lists" => lists(),
        "copy" => copy(),
        "refer" => refer(),
        "bump" => bump(),
        // Another version of the same routine, for replacements.
        "copy twice" => {
            let mut code = copy();
            upsert(&mut code, NUMBERS, register(1), add(add(register(3), register(2)), integer(1000)));
            code
        }
        "sum" => {
            let bound = |number| vec![register(number)];
            let range = ScanRange {
                index: None,
                lower: ScanBound::Included(bound(0)),
                upper: ScanBound::Excluded(bound(1)),
            };
            sum(range, 2, 3)
        }
        "whole" => sum(ScanRange::whole(), 0, 1),
        "remove" => vec![
            read(NUMBERS, register(0), Intent::newest(Strength::Write), 2),
            Instruction::Delete { table: NUMBERS, row: NUMBERS },
        ],
        "journal" => vec![Instruction::Insert {
            table: JOURNAL,
            values: vec![register(0)],
            row: JOURNAL,
            given: Given::default(),
        }],
        "surroundings" => surroundings(),
        "chances" => chances(),
        "fail" => {
            let mut code = Vec::new();
            upsert(&mut code, NUMBERS, register(0), integer(-1));
            let message = Expr::Const(Value::text("on purpose"));
            code.push(Instruction::Raise { state: "P0001", message });
            code
        }
        _ => return None,
    })
}

/// A compiler of the test routines, as `open` and `recover` want it.
pub fn test_compiler() -> Option<Arc<dyn RoutineCompiler>> {
    Some(Arc::new(TestCompiler))
}

impl RoutineCompiler for TestCompiler {
    fn compile(&self, routine: &RoutineDefinition, catalog: &dyn CatalogView) -> Result<Procedure> {
        let body = routine.body.as_str();
        let unknown =
            || Error::input(sqlstate::SYNTAX_ERROR, format!("no routine has the source \"{body}\""));
        let code = code_of(body).ok_or_else(unknown)?;
        let reference = |name: &str| {
            let missing = || Error::input(sqlstate::UNDEFINED_TABLE, format!("no table {name}"));
            catalog.table(&public(name)).map(TableReference::new).ok_or_else(missing)
        };
        let parameters: Vec<SqlType> = routine.inputs().map(|parameter| parameter.sql_type).collect();
        let uses = matches!(body, "surroundings" | "chances");
        let tables = match body {
            "copy" | "sum" | "refer" | "bump" | "remove" | "whole" | "fail" => NUMBERS,
            "journal" => JOURNAL,
            _ => LISTS,
        };
        let tables = usize::from(tables) + 1;
        Ok(Procedure {
            name: routine.name.name.clone(),
            registers: parameters.len() as u16 + 2,
            parameters,
            rows: 4,
            cursors: 1,
            tables: TABLES[..tables].iter().copied().map(reference).collect::<Result<_>>()?,
            code,
            output: if body == "lists" {
                vec![SqlType::BigInt, SqlType::BigInt, SqlType::Text]
            } else {
                Vec::new()
            },
            replay: Replayability::Deterministic { uses_clock: uses, uses_random: uses, uses_identity: uses },
            ..Procedure::default()
        })
    }
}
