//! What is left of procedures for the replay of their calls, as text: `tests/replay_programs.expected`,
//! written when it is missing, and reviewed by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use hyades_engine::db::Engine;
use hyades_engine::procedure::analysis::{Blocks, Slices};
use hyades_engine::procedure::ir::Procedure;
use hyades_types::definition::TableId;

use super::engine::{TestEngine, Trouble};
use crate::connection::Connection;
use crate::session::Database;
use crate::statement::split::split;

/// The procedures of the benchmarks.
const WORKLOADS: [&str; 5] = [
    include_str!("../../../bench/workloads/tpcc_schema.sql"),
    include_str!("../../../bench/workloads/tpcc_procedures.sql"),
    include_str!("../../../bench/workloads/smallbank.sql"),
    include_str!("../../../bench/workloads/ycsb.sql"),
    include_str!("../../../bench/workloads/bank.sql"),
];

/// What else a program has to keep or may leave out.
const OTHERS: &str = "
create table node (id int primary key, v int not null check (v > 0), note text);
create table child (id int primary key, node int references node on delete cascade, v int);
create table audit (at int, what text);
create table drawn (v int);
create procedure q_while(a int) language plpgsql as $$ declare i int := 0; n int; begin
  while i < a loop
    select v into n from node where id = i;
    if not found then raise exception 'no node'; end if;
    update node set v = n + 1 where id = i;
    raise notice 'node %', i;
    i := i + 1;
  end loop; end $$;
create procedure q_handler(a int) language plpgsql as $$ begin
  begin insert into node values (a, 1, 'new');
  exception when unique_violation then insert into audit values (a, sqlerrm); end;
  insert into child values (a, a, 1); end $$;
create procedure q_upsert(a int) language plpgsql as $$ declare n int; begin
  insert into node values (a, 1, 'x') on conflict (id) do update set v = node.v + 1 returning v into n;
  if n > 3 then delete from audit where at = a; end if; end $$;
create procedure q_drop_parent(a int) language plpgsql as $$ begin delete from node where id = a; end $$;
create procedure q_draws(a int) language plpgsql as $$ declare x int := (random() * 9)::int; y int; begin
  y := (random() * 9)::int; insert into drawn values (y); x := (random() * 9)::int; end $$;
create procedure q_until(a int, inout n int) language plpgsql as $$ declare i int := a; begin
  loop
    exit when i > 10;
    i := i + 1;
    n := n + i;
  end loop;
  insert into drawn values (a); end $$;
";

/// Runs the statements of a script.
fn run(connection: &mut Connection, script: &str) {
    for (_, statement) in split(script).expect("a script") {
        connection.execute(&statement, &[]).unwrap_or_else(|error| panic!("{error}: {statement}"));
    }
}

/// The replay programs of all procedures that the statements create.
fn programs(statements: &[&str]) -> BTreeMap<String, (Arc<Procedure>, Arc<Procedure>)> {
    let engine = Arc::new(TestEngine::with(Trouble::None));
    let database = Database::with_engine(Arc::clone(&engine) as Arc<dyn Engine>);
    let mut connection = database.connect().expect("a connection");
    for sql in statements {
        run(&mut connection, sql);
    }
    let mut worker = engine.worker();
    worker.begin();
    let mut programs = BTreeMap::new();
    for routine in worker.routines() {
        let procedure = worker.procedure(&routine).expect("it compiles");
        let program = Procedure::replay_program(&procedure);
        programs.insert(routine.definition.name.name.clone(), (procedure, program));
    }
    worker.rollback();
    programs
}

#[test]
fn programs_are_those_that_were_reviewed() {
    let mut all = WORKLOADS.to_vec();
    all.push(OTHERS);
    let mut found = String::new();
    for (name, (procedure, program)) in programs(&all) {
        let (kept, of) = (program.code.len(), procedure.code.len());
        let _ = writeln!(found, "-- {name}: {kept} of {of}\n{program}\n");
    }
    compare("replay_programs.expected", &found);
}

/// The file is written when it is missing.
fn compare(file: &str, found: &str) {
    let path = super::folder(file);
    match std::fs::read_to_string(&path) {
        Ok(expected) => assert_eq!(found, expected, "delete {} to write it anew", path.display()),
        Err(_) => std::fs::write(&path, found).expect("the file can be written"),
    }
}

/// What is analysed together: the procedures whose names begin so, and tables that data records write.
const LOGS: [(&str, &[&str], &[&str]); 9] = [
    ("TPC-C", &["tpcc_"], &[]),
    ("TPC-C, and data records on item", &["tpcc_"], &["item"]),
    ("the bank of the paper", &["bank_"], &[]),
    ("the same, and data records on spouse", &["bank_"], &["spouse"]),
    ("SmallBank", &["smallbank_"], &[]),
    ("YCSB", &["ycsb"], &[]),
    ("q_upsert, q_handler", &["q_upsert", "q_handler"], &[]),
    ("q_while, q_handler", &["q_while", "q_handler"], &[]),
    ("q_drop_parent, q_while, q_draws", &["q_drop_parent", "q_while", "q_draws"], &[]),
];

#[test]
fn blocks_are_those_that_were_reviewed() {
    let mut all = WORKLOADS.to_vec();
    all.push(OTHERS);
    let programs = programs(&all);
    let mut found = String::new();
    for (log, prefixes, data) in LOGS {
        let is_in = |name: &String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let called: Vec<Arc<Procedure>> =
            programs.iter().filter(|(name, _)| is_in(name)).map(|(_, (_, left))| Arc::clone(left)).collect();
        let names: BTreeMap<TableId, String> = programs
            .values()
            .flat_map(|(procedure, _)| &procedure.tables)
            .map(|used| (used.table.id(), used.definition.name.name.clone()))
            .collect();
        let data = names.iter().filter(|(_, name)| data.contains(&name.as_str())).map(|(table, _)| *table);
        let blocks = Blocks::of(&called, &data.collect());
        let _ = writeln!(found, "-- {log}: {} blocks", blocks.blocks.len());
        for (number, block) in blocks.blocks.iter().enumerate() {
            let tables: Vec<&str> = block.tables.iter().map(|table| names[table].as_str()).collect();
            let _ = writeln!(found, "{number}: {}, after {:?}", tables.join(", "), block.after);
        }
        for join in &blocks.joins {
            let (one, other) = (&names[&join.tables.0], &names[&join.tables.1]);
            let _ = writeln!(found, "{one} and {other}: {:?}", join.cause);
        }
        found.push('\n');
    }
    compare("replay_blocks.expected", &found);
}

/// If the log holds calls of all of them.
#[test]
fn slices_are_those_that_were_reviewed() {
    let mut all = WORKLOADS.to_vec();
    all.push(OTHERS);
    let programs = programs(&all);
    let is_written = |table| programs.values().any(|(_, program)| program.may_write(table));
    let mut found = String::new();
    for (name, (_, program)) in &programs {
        let slices = Slices::of(program, &|table| is_written(table).then_some(table.0));
        let _ = writeln!(found, "-- {name}\n{slices}");
    }
    compare("replay_slices.expected", &found);
}
