//! Replay programs of procedures made by hand: what they leave out, and what they do where the run they
//! repeat has not come.

use std::sync::Arc;

use hyades_types::definition::{IndexKind, TableId};
use hyades_types::environment::Environment;

use hyades_types::value::{SqlType, Value};

use crate::log::record::command::HashForm;
use crate::mutant::{self, Mutant};
use crate::procedure::frame::{Frame, RowSink};
use crate::procedure::interpret::{self, Undo};
use crate::procedure::ir::{Expr, Given, Instruction, Intent, Line, Procedure, Strength, TableReference};
use crate::storage::databases::Databases;
use crate::storage::table::Table;
use crate::storage::table::tests::definition;
use crate::txn::Interrupt;
use crate::txn::replay_access::ReplayAccess;
use crate::txn::replay_versions::{ReplayVersions, VersionWriter};

fn table() -> Arc<Table> {
    Arc::new(Table::new(TableId(1), definition(&[0], IndexKind::Ordered)))
}

/// Of `(a integer, b text)`.
fn procedure(table: &Arc<Table>, code: Vec<Instruction>) -> Arc<Procedure> {
    Arc::new(Procedure {
        parameters: vec![SqlType::Integer, SqlType::Text],
        registers: 4,
        rows: 2,
        tables: vec![TableReference::new(Arc::clone(table))],
        code,
        lines: vec![Line { from: 0, line: 7, routine: None, kind: "SQL statement" }],
        ..Procedure::default()
    })
}

fn register(register: u16) -> Expr {
    Expr::Register(register)
}

fn read(absent: u32) -> Instruction {
    let intent = Intent::newest(Strength::NoKeyWrite);
    Instruction::ReadPoint { table: 0, key: vec![register(0)], row: 0, intent, absent }
}

fn insert() -> Instruction {
    let values = vec![register(0), register(1)];
    Instruction::Insert { table: 0, values, row: 0, given: Given::default() }
}

fn fails() -> Instruction {
    Instruction::Raise { state: "P0002", message: Expr::Const(Value::text("no row")) }
}

struct Nobody;

impl RowSink for Nobody {
    fn row(&mut self, _values: &mut [Value]) -> hyades_types::Result<()> {
        Ok(())
    }
}

/// Replays a call with these arguments. The error of the run, or of its writes.
fn replay(program: &Arc<Procedure>, writer: &mut VersionWriter, key: i32, text: &str) -> Result<(), String> {
    let mut frame = Frame::new(Arc::clone(program));
    frame.registers[0] = Value::Integer(key);
    frame.registers[1] = Value::text(text);
    writer.at(Some(1), |writer| {
        let mut access = ReplayAccess::new(writer, &[], HashForm::ByTable);
        let undo: Undo<'_, ReplayAccess<'_>> = &mut |access, savepoint, _| {
            crate::txn::Access::rollback_to(access, savepoint);
        };
        let ran = interpret::run(&mut access, &mut frame, &mut Environment::default(), &mut Nobody, undo);
        match ran {
            Ok(()) => access.write_set().map(drop).map_err(|error| error.to_string()),
            Err(Interrupt::Failed(error)) => Err(error.to_string()),
            Err(Interrupt::Wait(_)) => Err("it waits".to_owned()),
        }
    })
}

fn writer() -> VersionWriter {
    VersionWriter::new(&ReplayVersions::new(&Databases::new(), false))
}

#[test]
fn a_way_to_an_error_ends_in_a_trap() {
    let table = table();
    // 0: the row, or 4; 1: a check; 2: an error; 3: the update; 4: an error.
    let found = Expr::IsNull(Box::new(register(1)));
    let update = Instruction::Update { table: 0, row: 0, set: vec![(1, register(1))] };
    let checked = Instruction::JumpUnless { condition: found, to: 3 };
    let code = vec![read(5), checked, fails(), update, Instruction::Return, fails()];
    let program = Procedure::replay_program(&procedure(&table, code));
    let shown = program.to_string();
    let expected = "procedure (integer, text)\n   0  row0 := t[$1] for no key update, or go to 3\n   \
                    1  update row0 of t set b = $2\n   2  return\n   3  trap: a check in line 7 fails";
    assert_eq!(shown, expected);
    let mut writer = writer();
    assert_eq!(
        replay(&program, &mut writer, 1, "one"),
        Err("a check in line 7 fails, which held when it ran".into())
    );
    let blind = Procedure::replay_program(&procedure(&table, vec![insert()]));
    assert!(matches!(blind.code[0], Instruction::InsertBlind { .. }), "{blind}");
    assert_eq!(replay(&blind, &mut writer, 1, "one"), Ok(()));
    assert_eq!(replay(&program, &mut writer, 1, "uno"), Ok(()));
    let twice = replay(&blind, &mut writer, 1, "one").expect_err("there is a row");
    assert!(twice.contains("there is a row already where table \"t\" gets one"), "{twice}");

    // The switch is for the whole process, and no other test of it meets a trap.
    mutant::activate(Some(Mutant::TrapsIgnored));
    let unnoticed = [replay(&program, &mut writer, 2, "two"), replay(&blind, &mut writer, 1, "one")];
    mutant::activate(None);
    assert_eq!(unnoticed, [Ok(()), Ok(())], "the mutant is the bug that traps find");
}

#[test]
fn an_insert_with_a_handler_looks_for_other_rows() {
    let table = table();
    let code = vec![
        Instruction::EnterBlock { handler: 4 },
        insert(),
        Instruction::LeaveBlock,
        Instruction::Return,
        Instruction::ForgetError,
    ];
    let program = Procedure::replay_program(&procedure(&table, code));
    assert!(matches!(program.code[1], Instruction::Insert { .. }), "{program}");
    let mut writer = writer();
    assert_eq!(replay(&program, &mut writer, 1, "one"), Ok(()));
    assert_eq!(replay(&program, &mut writer, 1, "uno"), Ok(()));
    assert_eq!(table.row_count(), 1);
}
