//! Roles and rights across stops and crashes; calls whose replay has no role whose rights could be checked.

use hyades::{Connection, Database};
use hyades_sim::disk::SimulatedDisk;

use crate::harness::{PROTOCOLS, across_ends, config, run, state};

const WORK: [&str; 28] = [
    "create role ada login password 'secret' connection limit 4 valid until '2030-01-01'",
    "create role bob login in role ada",
    "create role gone",
    "create role staff",
    "grant staff to ada with admin option",
    "alter role bob nologin",
    "drop role gone",
    "create table t (id integer primary key)",
    "create sequence s",
    "create procedure p(n integer) language plpgsql as $$ begin insert into t values (n); end $$",
    "grant select, insert on t to staff with grant option",
    "grant usage on sequence s to public",
    "revoke execute on procedure p(integer) from public",
    "grant execute on procedure p(integer) to ada",
    "begin",
    "create role never",
    "grant delete on t to ada",
    "rollback",
    "checkpoint",
    "create schema side authorization ada",
    "set role ada",
    "call p(1)",
    "create table side.u (id serial primary key)",
    "insert into side.u default values",
    "reset role",
    "revoke insert on t from staff",
    "alter table t owner to bob",
    "create or replace procedure p(n integer) language plpgsql as $$ begin insert into t values (-n); end $$",
];

const LOOKS: [&str; 5] = [
    "select rolname, rolcanlogin, rolconnlimit, rolpassword, rolvaliduntil from pg_authid order by oid",
    "select roleid, member, admin_option from pg_auth_members order by 1, 2",
    "select relname, relowner, relacl::text from pg_class where relnamespace > 2000 order by 1",
    "select proname, proowner, proacl::text from pg_proc",
    "select nspname, nspowner, nspacl::text from pg_namespace order by 1",
];

#[test]
fn roles_and_rights_are_recovered() {
    across_ends(&WORK, &LOOKS, |connection: &mut Connection, way| {
        run(connection, "set role ada");
        run(connection, "select * from t");
        assert_eq!(state(connection, "delete from t"), "42501", "{way}");
        run(connection, "set role staff");
        run(connection, "select * from t");
        assert_eq!(state(connection, "insert into t values (7)"), "42501", "{way}");
        assert_eq!(state(connection, "call p(7)"), "42501", "{way}");
        run(connection, "reset role");
        assert_eq!(state(connection, "drop role ada"), "2BP01", "{way}");
        assert_eq!(state(connection, "set role never"), "22023", "{way}");
        // New numbers differ from those of all existing and dropped roles.
        run(connection, "create role more");
        assert_eq!(state(connection, "drop role bob"), "2BP01", "{way}");
    });
}

#[test]
fn a_call_is_replayed_although_the_caller_has_lost_the_right_to_make_it() {
    for protocol in PROTOCOLS {
        let disk = SimulatedDisk::new(1);
        let database = Database::open(config(&disk, protocol)).expect("an empty disk");
        let mut connection = database.connect().expect("a connection");
        for sql in [
            "set hyades.logging = command",
            "create role ada",
            "create table t (id integer primary key)",
            "create procedure p(n integer) language plpgsql as $$ begin insert into t values (n); end $$",
            "grant insert on t to ada",
            "set role ada",
            "call p(1)",
            "call p(2)",
            "reset role",
            "revoke all on t from ada",
            "revoke execute on procedure p(integer) from public",
            "drop role ada",
        ] {
            run(&mut connection, sql);
        }
        disk.crash_now();
        drop(database);
        let found = disk.after_power_cut(1);
        let database = Database::open(config(&found, protocol)).expect("it opens again");
        let mut connection = database.connect().expect("a connection");
        assert_eq!(crate::harness::number(&mut connection, "select count(*) from t"), 2, "{protocol:?}");
        assert_eq!(state(&mut connection, "set role ada"), "22023");
    }
}

#[test]
fn a_checkpoint_has_roles_and_rights() {
    let (mut work, all) = (WORK.to_vec(), LOOKS);
    work.push("checkpoint");
    across_ends(&work, &all, |connection: &mut Connection, way| {
        run(connection, "set role staff");
        run(connection, "select * from t");
        assert_eq!(state(connection, "insert into t values (7)"), "42501", "{way}");
    });
}

#[test]
fn a_detail_that_hides_values_is_recovered_as_it_was_seen() {
    let body = "declare d text; begin insert into t values (1); exception when unique_violation then \
                get stacked diagnostics d = pg_exception_detail; \
                insert into notes values (n, '[' || d || ']'); end";
    let procedure = format!("create procedure p(n integer) language plpgsql as $$ {body} $$");
    let work = [
        "create role ada",
        "create table t (id integer primary key)",
        "create table notes (id integer primary key, note text)",
        procedure.as_str(),
        "insert into t values (1)",
        "grant insert on t, notes to ada",
        "call p(1)",
        "set role ada",
        "call p(2)",
        "reset role",
    ];
    across_ends(&work, &["select * from notes order by id"], |connection: &mut Connection, way| {
        for (note, id) in [("[Key (id)=(1) already exists.]", 1), ("[]", 2)] {
            let found =
                crate::harness::number(connection, &format!("select id from notes where note = '{note}'"));
            assert_eq!(found, id, "{way}");
        }
    });
}
