//! Rows that break constraints are found and named. Constraints are added to tables without the statements
//! that would check the rows, as a bug in these statements would do it.

use std::sync::Arc;

use hyades_engine::disk::MemoryDisk;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{TableDefinition, TableName};

use crate::verification::{VerifiedConstraints, verify_constraints};
use crate::{Config, Connection, Database, ProtocolKind};

fn database(statements: &[&str]) -> (Database, Connection) {
    let config = Config { protocol: ProtocolKind::None, ..Config::new("/nowhere") };
    let disk = Arc::new(MemoryDisk::default());
    let database = Database::open(Config { disk, ..config }).expect("opens");
    let mut connection = database.connect().expect("connects");
    for statement in statements {
        connection.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    (database, connection)
}

fn table(database: &Database, name: &str) -> Arc<Table> {
    let name = TableName { schema: "public".into(), name: name.into() };
    database.engine().table(&name).expect("there")
}

/// Changes the definition of a table, whatever its rows hold.
fn redefine(database: &Database, name: &str, change: impl FnOnce(&mut TableDefinition)) {
    let table = table(database, name);
    let mut definition = (*table.definition()).clone();
    change(&mut definition);
    let state = table.shared_state().with_definition(definition);
    table.replace_state(Arc::new(state), &crossbeam_epoch::pin());
}

fn found(database: &Database) -> (VerifiedConstraints, Vec<String>) {
    let mut sentences = Vec::new();
    let found =
        verify_constraints(database, |sentence| sentences.push(sentence.to_owned())).expect("verified");
    (found, sentences)
}

#[test]
fn each_row_that_breaks_a_constraint_is_named() {
    let (database, _connection) = database(&[
        "create table parent (id int primary key)",
        "create table model (id int primary key, a int not null, b int generated always as (a * 2) stored, \
         c int check (c > 0), d int unique, p int references parent)",
        "create table t (id int primary key, a int, b int, c int, d int, p int)",
        "create index t_d_key on t (d)",
        "insert into parent values (1)",
        "insert into model (id, a, c, d, p) values (1, 1, 1, 1, 1), (2, 2, null, null, null)",
        "insert into t values (1, 1, 2, 1, 1, 1), (2, null, 5, 0, 1, 9), (3, 1, 2, null, null, null)",
    ]);
    let (before, sentences) = found(&database);
    assert_eq!((before.violations, sentences), (0, Vec::new()));
    let model = table(&database, "model").definition();
    redefine(&database, "t", |broken| {
        broken.columns[1].is_nullable = false;
        broken.columns[2].generation = model.columns[2].generation.clone();
        broken.checks = model.checks.clone();
        broken.indexes[0].is_unique = true;
        broken.indexes[0].is_constraint = true;
        broken.foreign_keys = model.foreign_keys.clone();
    });
    let (after, sentences) = found(&database);
    assert_eq!(
        sentences,
        [
            "table \"public.t\": column \"a\" is NULL in the row with (id) = (2), although it is NOT NULL",
            "table \"public.t\": the row with (id) = (2) violates check constraint \"model_c_check\"",
            "table \"public.t\": generated column \"b\" is 5 in the row with (id) = (2), and must be NULL",
            "table \"public.t\": 2 rows have (d) = (1), which unique constraint \"t_d_key\" allows to one only",
            "table \"public.t\": the row with (id) = (2) has (p) = (9), but foreign key \"model_p_fkey\" finds no such \
             (id) in \"public.parent\"",
        ]
    );
    assert_eq!(after, VerifiedConstraints { constraints: before.constraints + 5, violations: 5 });
}

#[test]
fn what_a_constraint_allows_is_no_violation() {
    let (database, _connection) = database(&[
        "create table \"Odd Name\" (\"Key\" text, part int, primary key (\"Key\", part))",
        "create table child (\"k K\" text, part int, x int, foreign key (\"k K\", part) references \"Odd Name\")",
        "create unique index on child (lower(\"k K\"), part) where x > 0",
        "create unique index on child (x) nulls not distinct",
        "insert into child values ('b', null, 7)",
        "alter table child add constraint full_key foreign key (\"k K\", part) references \"Odd Name\" match full not valid",
        "alter table child add check (child.x < 10) not valid",
        "insert into \"Odd Name\" values ('a', 1), ('A', 1)",
        "insert into child values ('a', 1, 1), ('A', 1, -1), (null, null, null)",
        "create table t (a int check (abs(a) > 0), b int generated always as (a / 2) stored, c int generated always as identity)",
        "insert into t (a) values (1), (null)",
    ]);
    let (found_now, sentences) = found(&database);
    assert_eq!((found_now.violations, sentences), (0, Vec::new()));
    assert!(found_now.constraints >= 8, "{found_now:?}");
    // If a table has no primary key, the whole row identifies it. With MATCH FULL, half a key is not a key.
    redefine(&database, "child", |child| {
        child.foreign_keys.iter_mut().filter(|key| key.is_full).for_each(|key| key.is_not_valid = false);
    });
    let (_, sentences) = found(&database);
    assert_eq!(
        sentences,
        [
            "table \"public.child\": the row with (k K, part, x) = (b, NULL, 7) has (k K, part) = (b, NULL), but foreign key \
          \"full_key\" finds no such (Key, part) in \"public.Odd Name\""
        ]
    );
}
