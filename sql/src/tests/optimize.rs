//! What remains of a routine's code after optimization.

use std::sync::Arc;

use hyades_engine::db::Engine;
use hyades_engine::procedure::ir::{Expr, Instruction, Procedure};

use super::engine::{TestEngine, Trouble};
use crate::session::Database;

/// The procedure compiled from this body.
fn compiled(body: &str) -> Arc<Procedure> {
    let engine = Arc::new(TestEngine::with(Trouble::None));
    let database = Database::with_engine(Arc::clone(&engine) as Arc<dyn Engine>);
    let mut connection = database.connect().expect("a connection");
    connection.execute("create table t (id int primary key, v int not null)", &[]).expect("a table");
    connection.execute("create table wide (id int primary key, v int, late text)", &[]).expect("a table");
    let create = format!(
        "create procedure p(a int, inout b int) language plpgsql as $$ declare x int; y int; begin {body} end $$"
    );
    connection.execute(&create, &[]).expect("a procedure");
    let mut worker = engine.worker();
    worker.begin();
    let routine = &worker.routines()[0];
    let procedure = worker.procedure(routine).expect("it compiles");
    worker.rollback();
    procedure
}

fn reads(body: &str) -> usize {
    compiled(body)
        .code
        .iter()
        .filter(|instruction| matches!(instruction, Instruction::ReadPoint { .. }))
        .count()
}

const LOCK: &str = "select v into strict x from t where id = a for update;";
const UPDATE: &str = "update t set v = x + 1 where id = a;";

#[test]
fn a_row_just_read_to_be_written_is_not_read_again() {
    assert_eq!(reads(&format!("{LOCK} {UPDATE}")), 1);
    assert_eq!(reads(&format!("{LOCK} if x > 5 then x := 3; end if; {UPDATE}")), 1);
    assert_eq!(reads(&format!("for i in 1 .. 3 loop {LOCK} {UPDATE} end loop;")), 1);
}

#[test]
fn a_row_that_may_be_another_one_is_read_again() {
    // Another key, a change of another row in between, a row that may be gone, a lock for reading only, a
    // handler in between.
    assert_eq!(reads(&format!("{LOCK} a := a + 1; {UPDATE}")), 2);
    assert_eq!(reads(&format!("{LOCK} update t set v = 0 where id = b; {UPDATE}")), 3);
    assert_eq!(reads(&format!("{LOCK} delete from t where id = b; {UPDATE}")), 3);
    assert_eq!(reads(&format!("select v into x from t where id = a for update; {UPDATE}")), 2);
    assert_eq!(reads(&format!("select v into strict x from t where id = a; {UPDATE}")), 2);
    assert_eq!(reads(&format!("begin {LOCK} exception when others then null; end; {UPDATE}")), 2);
    assert_eq!(reads(&format!("if b > 0 then {LOCK} end if; {UPDATE}")), 2);
}

#[test]
fn values_that_are_not_read_are_not_computed() {
    let sets_found = |body: &str| {
        let procedure = compiled(body);
        procedure
            .code
            .iter()
            .filter(|instruction| matches!(instruction, Instruction::TakeCount { .. }))
            .count()
    };
    assert_eq!(sets_found(&format!("{UPDATE} {UPDATE}")), 0);
    assert_eq!(sets_found(&format!("{UPDATE} {UPDATE} if found then b := 1; end if;")), 1);
    assert_eq!(compiled("x := a; y := x; b := y;").code.len(), 1);
    // It may fail.
    assert_eq!(compiled("x := 1 / a;").code.len(), 1);
    // A handler reads it.
    let guarded = compiled("begin x := 1; b := 1 / a; x := 2; exception when others then b := x; end;");
    let sets =
        guarded.code.iter().filter(|instruction| matches!(instruction, Instruction::Evaluate { .. })).count();
    assert!(sets >= 4, "{:?}", guarded.code);
}

const DECIDE: &str = "case a when 1 then v when 2 then id else 0 end";

#[test]
fn what_is_read_once_is_computed_there() {
    let evaluations = |body: &str| {
        let procedure = compiled(body);
        procedure.code.iter().filter(|code| matches!(code, Instruction::Evaluate { .. })).count()
    };
    let read = "select v into strict x from t where id = a;";
    let insert = "insert into t values (b, x);";
    assert_eq!(evaluations(&format!("{read} {insert}")), 0);
    assert_eq!(evaluations(&format!("select {DECIDE} into strict x from t where id = a; {insert}")), 0);
    assert_eq!(evaluations(&format!("{read} y := a / b; b := x + y;")), 2);
    assert_eq!(evaluations("for i in 1 .. 3 loop x := a; insert into t values (i, x); end loop;"), 3);
    // Read twice, by a handler, after a loop, an expression that may fail, set again in between, another
    // row in between.
    assert_eq!(evaluations(&format!("{read} insert into t values (x, x);")), 1);
    let guarded = compiled(&format!("begin {read} {insert} exception when others then b := x; end;"));
    let inserts_register = guarded.code.iter().any(
        |code| matches!(code, Instruction::Insert { values, .. } if matches!(values[1], Expr::Register(_))),
    );
    assert!(inserts_register, "{:?}", guarded.code);
    assert_eq!(evaluations(&format!("{read} for i in 1 .. 3 loop {insert} end loop;")), 4);
    assert_eq!(evaluations(&format!("select v + 1 into strict x from t where id = a; {insert}")), 1);
    assert_eq!(evaluations("x := a; a := 5; insert into t values (a, x); insert into t values (a, 0);"), 2);
    let update = "update t set v = 0 where id = a";
    assert_eq!(evaluations(&format!("{update} returning v into strict x; {update}; {insert}")), 1);
}

#[test]
fn the_way_without_errors_does_not_jump() {
    let jumps = |body: &str| {
        let procedure = compiled(body);
        procedure.code.iter().filter(|code| matches!(code, Instruction::Jump { .. })).count()
    };
    let found = "select v into x from t where id = a; if not found then raise exception 'none'; end if;";
    assert_eq!(jumps(&format!("{found} b := x;")), 0);
    assert_eq!(jumps(&format!("{LOCK} b := x + 1; {LOCK} b := b + x;")), 0);
    assert_eq!(jumps("loop b := b + 1; end loop;"), 1);
}

#[test]
fn what_is_not_read_of_a_row_is_not_copied() {
    // Of each row slot, whether all of its row is copied.
    let copies = |body: &str| {
        let procedure = compiled(body);
        procedure.leading.iter().map(|leading| leading.is_whole()).collect::<Vec<bool>>()
    };
    let read = "select v into x from wide where id = a;";
    assert_eq!(copies(read), [false]);
    assert_eq!(copies("select 1 into x from wide where id = a;"), [false]);
    assert_eq!(copies("select length(late) into x from wide where id = a;"), [true]);
    assert_eq!(copies("select v into x from wide where id = a and late = 'x';"), [true]);
    assert_eq!(copies("select v into x from wide where id < a limit 1;"), [true]);
    assert_eq!(copies("update wide set v = 1 where id = a;"), [true]);
    // The UPDATE has the slot of the SELECT.
    let lock = "select v into strict x from wide where id = a for update;";
    assert_eq!(copies(&format!("{lock} update wide set v = x + 1 where id = a;")), [true, true]);
    // There is nothing to leave out.
    assert_eq!(copies("select v into x from t where id = a;"), [true]);
}

/// The keys that loops announce.
fn announced(body: &str) -> Vec<Vec<Expr>> {
    let procedure = compiled(body);
    let reads = procedure.code.iter().filter_map(|instruction| match instruction {
        Instruction::LookAhead { reads, .. } => Some(reads),
        _ => None,
    });
    reads.flatten().map(|(_, key)| key.clone()).collect()
}

#[test]
fn loops_announce_reads_whose_keys_follow_from_the_number() {
    let read = |key: &str| format!("select v into x from t where id = {key};");
    let in_loop = |inner: &str| announced(&format!("for i in 1 .. b loop {inner} end loop;")).len();
    assert!(matches!(
        announced(&format!("for i in 1 .. b loop {} end loop;", read("i")))[0][..],
        [Expr::Register(_)]
    ));
    assert_eq!(in_loop(&format!("y := i + a; {}", read("y * 2"))), 1);
    assert_eq!(in_loop(&format!("{} update t set v = 0 where id = i + 1; {}", read("i"), read("i"))), 2);
    assert_eq!(in_loop(&format!("if a > i then {} end if;", read("i"))), 1);
    assert_eq!(in_loop(&format!("begin {} exception when others then null; end;", read("i"))), 1);
    assert_eq!(in_loop(&format!("for j in 1 .. 2 loop {} {} end loop;", read("i"), read("i + j"))), 2);
    // Always the same row, a key from a row or from the last iteration, a key that draws.
    assert_eq!(in_loop(&read("a")), 0);
    assert_eq!(in_loop(&format!("{} {}", read("i"), read("x"))), 1);
    assert_eq!(in_loop(&format!("{} y := i;", read("y"))), 0);
    assert_eq!(in_loop(&read("i + (random() * 9)::int")), 0);
    assert_eq!(in_loop(&format!("y := i; y := abs(y); {}", read("y"))), 0);
    // Not counting up, or not a loop over integers.
    assert_eq!(announced(&format!("for i in reverse b .. 1 loop {} end loop;", read("i"))).len(), 0);
    assert_eq!(announced(&format!("while b > 0 loop b := b - 1; {} end loop;", read("b"))).len(), 0);
}
