//! Databases across crashes and clean stops: each keeps its own objects and rows, copies are whole, and what
//! was dropped is gone.

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::engine::db::{Interrupt, Worker};
use hyades::engine::storage::catalog::NewId;
use hyades::{Connection, Database};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::access::{DATABASE_OBJECT, Rights, RoleId};
use hyades_types::definition::{CatalogChange, DatabaseDefinition, DatabaseId};
use hyades_types::error::{Abort, Error};

use crate::harness::{PROTOCOLS, config, number, run, state};

/// A schema with objects of all kinds, and rows.
const SHOP: &[&str] = &[
    "create type mood as enum ('sad', 'happy')",
    "create domain posint as int check (value > 0)",
    "create table item (id serial primary key, name text unique, m mood default 'happy', n posint)",
    "create table line (item int references item on delete cascade, moods mood[], i int generated always as identity)",
    "create index line_item on line (item) where item > 0",
    "create view shown as select name, m from item where m = 'happy'",
    "create function is_happy(m mood) returns boolean language sql as 'select m = ''happy'''",
    "create procedure put(name text, n int) language plpgsql as $$ begin insert into item (name, n) values (name, n); \
     end $$",
    "create schema other",
    "create table other.log (at bigint, what text)",
    "comment on table item is 'what there is'",
    "create role keeper",
    "grant select on item to keeper",
    "grant usage on schema other to keeper",
    "insert into item (name, n) select 'item ' || g, g from generate_series(1, 500) g",
    "insert into line select id, array['sad', m]::mood[] from item where id % 5 = 0",
    "delete from item where id > 490",
];

const LOOKS: &[&str] = &[
    "select count(*), sum(id), min(m), max(n) from item",
    "select count(*), sum(item), max(moods), max(i) from line",
    "select count(*) from shown where is_happy(m)",
    "select string_agg(relname || ' ' || relkind, ', ' order by relname) from pg_class where oid >= 16384",
    "select string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' order by conname) from pg_constraint \
     where oid >= 16384",
    "select pg_get_viewdef('shown'::regclass), obj_description('item'::regclass)",
    "select has_table_privilege('keeper', 'item', 'select'), has_schema_privilege('keeper', 'other', 'usage')",
    "select string_agg(enumlabel, ' ' order by enumsortorder) from pg_enum",
];

fn looks(connection: &mut Connection) -> Vec<String> {
    let look = |sql: &&str| {
        format!("{:?}", connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}")))
    };
    LOOKS.iter().map(look).collect()
}

fn connect(database: &Database, name: &str) -> Connection {
    database.connect_to(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn opened(disk: &SimulatedDisk, protocol: ProtocolKind) -> Database {
    Database::open(config(disk, protocol)).expect("it opens")
}

/// The copy is like the original, and lives on its own.
fn use_copy(database: &Database, expected: &[String], way: &str) {
    let (mut original, mut copy) = (connect(database, "shop"), connect(database, "copy"));
    assert_eq!(looks(&mut original), expected, "{way}");
    assert_eq!(looks(&mut copy), expected, "{way}");
    run(&mut copy, "begin");
    run(&mut copy, "call put('new', 7)");
    assert_eq!(number(&mut copy, "select id from item where name = 'new'"), 501, "{way}");
    assert_eq!(state(&mut copy, "insert into item (name, n) values ('item 1', 1)"), "23505", "{way}");
    run(&mut copy, "rollback");
    for (refused, expected) in [
        ("insert into item (name, n) values ('x', 0)", "23514"),
        ("insert into line (item) values (1000)", "23503"),
        ("select * from ledger", "42P01"),
    ] {
        assert_eq!(state(&mut copy, refused), expected, "{refused}, {way}");
    }
    run(&mut copy, "alter type mood add value 'calm' before 'happy'");
    run(&mut copy, "delete from item where id <= 10");
    assert_eq!(number(&mut copy, "select count(*) from line"), 96, "{way}");
    assert_eq!(looks(&mut original), expected, "{way}");
}

#[test]
fn databases_are_recovered_each_with_its_own() {
    for protocol in PROTOCOLS {
        for is_crash in [false, true] {
            for logging in ["data", "command"] {
                let way = format!("{protocol:?}, crash {is_crash}, {logging}");
                let disk = SimulatedDisk::new(1);
                let database = opened(&disk, protocol);
                let mut first = connect(&database, "hyades");
                run(&mut first, "create table ledger (id int primary key, v int)");
                run(&mut first, "insert into ledger values (1, 1)");
                run(&mut first, "create database shop");
                let mut shop = connect(&database, "shop");
                run(&mut shop, &format!("set hyades.logging = {logging}"));
                SHOP.iter().for_each(|sql| run(&mut shop, sql));
                run(&mut shop, "call put('called', 3)");
                run(&mut shop, "delete from item where name = 'called'");
                run(&mut shop, "create table ledger (other text)");
                run(&mut shop, "drop table ledger");
                let expected = looks(&mut shop);
                drop(shop);
                run(&mut first, "create database copy template shop");
                run(&mut first, "create database gone");
                run(&mut connect(&database, "gone"), "create table ledger (id int)");
                run(&mut first, "drop database gone");
                run(&mut first, "alter database postgres rename to maintenance");
                run(&mut first, "alter database maintenance connection limit 7");
                run(&mut first, "create role guest login");
                run(&mut first, "revoke connect on database copy from public");
                if is_crash {
                    run(&mut first, "checkpoint");
                }
                run(&mut connect(&database, "copy"), "select nextval('item_id_seq')");
                run(&mut connect(&database, "copy"), "select setval('item_id_seq', 500)");
                let found = if is_crash {
                    disk.crash_now();
                    disk.after_power_cut(1)
                } else {
                    drop(first);
                    database.shutdown().expect("a clean stop");
                    disk
                };
                drop(database);
                let database = opened(&found, protocol);
                let mut first = connect(&database, "hyades");
                assert_eq!(number(&mut first, "select count(*) from ledger"), 1, "{way}");
                assert_eq!(
                    number(&mut first, "select count(*) from pg_class where relname = 'item'"),
                    0,
                    "{way}"
                );
                assert!(
                    database.connect_to("gone").is_err() && database.connect_to("postgres").is_err(),
                    "{way}"
                );
                let limit = "select datconnlimit from pg_database where datname = 'maintenance'";
                assert_eq!(number(&mut first, limit), 7, "{way}");
                let may = "select has_database_privilege('guest', 'copy', 'connect')::int";
                assert_eq!(number(&mut first, may), 0, "{way}");
                use_copy(&database, &expected, &way);
            }
        }
    }
}

/// A database that could not be made whole leaves nothing.
#[test]
fn what_fails_leaves_no_database() {
    let disk = SimulatedDisk::new(1);
    let database = opened(&disk, ProtocolKind::Taurus);
    let mut first = connect(&database, "hyades");
    for (refused, expected) in [
        ("create database hyades", "42P04"),
        ("create database x template nowhere", "3D000"),
        ("create database x owner nobody", "42704"),
        ("create database x encoding 'latin1'", "0A000"),
        ("create database x locale 'de_DE'", "0A000"),
        ("create database x nonsense 1", "42601"),
        ("drop database hyades", "55006"),
        ("drop database template1", "42809"),
        ("drop database nowhere", "3D000"),
        ("alter database hyades rename to x", "0A000"),
    ] {
        assert_eq!(state(&mut first, refused), expected, "{refused}");
    }
    run(&mut first, "create database full");
    let mut full = connect(&database, "full");
    run(&mut full, "create table t (v text)");
    run(&mut full, "insert into t select repeat('x', 1000) from generate_series(1, 2000)");
    drop(full);
    run(&mut first, "begin");
    assert_eq!(state(&mut first, "create database x"), "25001");
    run(&mut first, "rollback");
    let before = number(&mut first, "select count(*) from pg_database");
    let stop = Arc::clone(&first.session().stop_request());
    stop.cancel();
    assert_eq!(state(&mut first, "create database x template full"), "57014");
    assert_eq!(number(&mut first, "select count(*) from pg_database"), before);
    run(&mut first, "create database x template full");
    let mut copy = connect(&database, "x");
    assert_eq!(number(&mut copy, "select count(*) from t"), 2000);
}

/// A transaction of the engine with one change of the catalog, still open.
fn changing(database: &Database, change: &CatalogChange) -> Result<Box<dyn Worker>, Interrupt> {
    let mut worker = database.engine().worker();
    worker.begin();
    worker.change_catalog(change.clone()).map(|()| worker)
}

fn number_of(database: &Database, name: &str) -> DatabaseId {
    database.engine().databases().named(name).expect("it is there").0
}

/// A right that is granted on a database beside its drop is not logged after the drop.
#[test]
fn rights_on_a_database_are_ordered_with_its_drop() {
    let disk = SimulatedDisk::new(1);
    let database = opened(&disk, ProtocolKind::Taurus);
    run(&mut connect(&database, "hyades"), "create database x");
    let id = number_of(&database, "x");
    let rights = CatalogChange::PutRights { object: DATABASE_OBJECT, rights: Rights::of(RoleId::OWNER) };
    let grant = CatalogChange::InDatabase { database: id, change: Box::new(rights) };
    let drop_it = CatalogChange::DropDatabase { id };
    let mut granting = changing(&database, &grant).ok().expect("nothing is in its way");
    assert!(matches!(changing(&database, &drop_it), Err(Interrupt::Wait(_))), "the right is not committed");
    granting.commit().ok().expect("a commit");
    let mut dropping = changing(&database, &drop_it).ok().expect("nothing is in its way");
    assert!(matches!(changing(&database, &grant), Err(Interrupt::Wait(_))), "the drop is not committed");
    dropping.commit().ok().expect("a commit").wait().expect("it is durable");
    let refused = changing(&database, &grant);
    assert!(matches!(refused, Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)))));
    disk.crash_now();
    let database = opened(&disk.after_power_cut(1), ProtocolKind::Taurus);
    assert_eq!(number(&mut connect(&database, "hyades"), "select count(*) from pg_database"), 4);
}

/// A database that is made beside a change of roles has the roles as they are when it is there.
#[test]
fn a_new_database_has_the_roles_of_its_first_moment() {
    let disk = SimulatedDisk::new(1);
    let database = opened(&disk, ProtocolKind::Taurus);
    let mut first = connect(&database, "hyades");
    run(&mut first, "create role gone");
    let definition = DatabaseDefinition::new("new");
    let id = DatabaseId(database.engine().worker().new_id(NewId::Object));
    let mut making =
        changing(&database, &CatalogChange::PutDatabase { id, definition }).ok().expect("a change");
    run(&mut first, "drop role gone");
    run(&mut first, "create role made");
    making.commit().ok().expect("a commit");
    let roles =
        "select string_agg(rolname, ' ' order by rolname) from pg_roles where rolname in ('gone', 'made')";
    let seen = |database: &Database| {
        let rows = connect(database, "new").query(roles, &[]).expect(roles);
        rows[0][0].as_str().map(str::to_owned)
    };
    assert_eq!(seen(&database).as_deref(), Some("made"));
    run(&mut connect(&database, "new"), "drop role made");
    disk.crash_now();
    assert_eq!(seen(&opened(&disk.after_power_cut(1), ProtocolKind::Taurus)), None);
}

/// Numbers drawn from a copied sequence are not drawn again, whichever logs they and the copy are in.
#[test]
fn draws_from_a_copied_sequence_depend_on_the_copy() {
    for seed in 1..=6 {
        let disk = SimulatedDisk::new(seed);
        let database = Database::open(hyades::Config { logs: 4, ..config(&disk, ProtocolKind::Taurus) })
            .expect("an empty disk");
        let mut first = connect(&database, "hyades");
        run(&mut first, "create database original");
        let mut original = connect(&database, "original");
        run(&mut original, "create sequence s");
        run(&mut original, "create table t (v text)");
        run(&mut original, "insert into t select repeat('x', 1000) from generate_series(1, 3000)");
        drop(original);
        run(&mut first, "create database copy template original");
        let drawn: Vec<i64> =
            (0..8).map(|_| number(&mut connect(&database, "copy"), "select nextval('s')")).collect();
        assert_eq!(drawn, (1..=8).collect::<Vec<i64>>());
        disk.crash_now();
        let database = Database::open(hyades::Config {
            logs: 4,
            ..config(&disk.after_power_cut(seed), ProtocolKind::Taurus)
        })
        .expect("it opens again");
        assert_eq!(number(&mut connect(&database, "copy"), "select nextval('s')"), 9, "seed {seed}");
    }
}
