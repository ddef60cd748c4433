//! Foreign keys on the real engine: rolled back with their transaction, still enforced after a restart, and
//! enforced between sessions.

use std::process::Stdio;

use crate::process::Server;

const TABLES: [&str; 3] = [
    "create table p (id integer primary key)",
    "create table c (id integer primary key, p_id integer)",
    "insert into p values (1), (2)",
];

#[test]
fn a_foreign_key_is_undone_with_its_transaction() {
    let server = Server::start(&[]);
    server.query(&TABLES);
    let added = "alter table c add constraint fk foreign key (p_id) references p";
    server.query(&["insert into c values (1, 1)"]);
    let printed = server.query(&["begin", added, "insert into c values (2, 2)", "savepoint s", "rollback"]);
    assert!(printed.ends_with("ROLLBACK"), "{printed}");
    // The row was removed together with the constraint, and statements on both tables run without it.
    assert_eq!(server.query(&["select * from c"]), "1|1");
    server.query(&["insert into c values (2, 9)", "delete from p where id = 1"]);
    let error = server.error(&[added]);
    assert!(
        error.contains("23503") && error.contains("Key (p_id)=(1) is not present in table \"p\"."),
        "{error}"
    );
    server.query(&["delete from c", added, "insert into c values (1, 2)"]);
    let printed = server.query(&["begin", "drop table c", "delete from p", "rollback"]);
    assert!(printed.ends_with("ROLLBACK"), "{printed}");
    let error = server.error(&["delete from p"]);
    assert!(
        error.contains("23503") && error.contains("Key (id)=(2) is still referenced from table \"c\"."),
        "{error}"
    );
}

#[test]
fn a_foreign_key_survives_a_restart() {
    let server = Server::start(&[]);
    server.query(&TABLES);
    server.query(&[
        "alter table c add constraint fk foreign key (p_id) references p",
        "insert into c values (1, 1)",
        "create table gone (id integer references p)",
        "insert into gone values (2)",
        "drop table gone",
    ]);
    let mut server = Server::start_in(server.stop(), &[]);
    server.child.kill().unwrap();
    let (_, _, _, directory) = server.wait();
    let server = Server::start_in(directory, &[]);
    for (statement, state) in [
        ("insert into c values (2, 3)", "23503"),
        ("update c set p_id = 3", "23503"),
        ("delete from p where id = 1", "23503"),
        ("update p set id = 3 where id = 1", "23503"),
        ("truncate p", "0A000"),
        ("drop table p", "2BP01"),
    ] {
        let error = server.error(&[statement]);
        assert!(error.contains(state), "{statement}: {error}");
    }
    server.query(&["delete from p where id = 2", "drop table p cascade", "insert into c values (2, 3)"]);
    let server = Server::start_in(server.stop(), &[]);
    assert_eq!(server.query(&["insert into c values (3, 4)", "select count(*) from c"]), "INSERT 0 1\n3");
}

/// A restart after a crash restores the actions, and replays the calls that triggered them.
#[test]
fn actions_survive_a_restart() {
    let server = Server::start(&["--logging", "command"]);
    server.query(&[
        "create table p (id integer primary key, up integer references p on delete cascade on update cascade)",
        "create table c (id integer primary key, p_id integer default 1 constraint cp references p \
         on delete set default on update set null)",
        "create table d (id integer primary key, p_id integer references p deferrable initially deferred)",
        "insert into p select g, nullif(g / 2, 0) from generate_series(1, 40) g",
        "insert into c select g, g from generate_series(1, 40) g",
        "create procedure cut(x integer) language plpgsql as $$ begin delete from p where id = x; end $$",
        "create procedure move(x integer) language plpgsql as $$ \
         begin update p set id = id + 100 where id = x; end $$",
        "call cut(4)",
        "call move(3)",
        "call cut(5)",
        "begin",
        "insert into d values (1, 500)",
        "insert into p values (500)",
        "commit",
    ]);
    let all = ["select * from p order by id", "select * from c order by id", "select * from d"];
    let before = server.query(&all);
    let mut server = Server::start_in(server.stop(), &[]);
    server.child.kill().unwrap();
    let (_, _, _, directory) = server.wait();
    let server = Server::start_in(directory, &[]);
    assert_eq!(server.query(&all), before);
    let error = server.error(&["delete from p where id = 1"]);
    assert!(error.contains("23503") && error.contains("\"cp\""), "{error}");
    let error = server.error(&["begin", "insert into d values (2, 600)", "commit"]);
    assert!(error.contains("23503") && error.contains("Key (p_id)=(600)"), "{error}");
}

/// A DELETE on the parent that was compiled and started before the foreign key, or the child itself, has
/// committed must see it.
#[test]
fn a_statement_that_waits_for_a_new_foreign_key_obeys_it() {
    let server = Server::start(&[]);
    server.query(&TABLES);
    let mut child = server
        .psql()
        .args(["-c", "begin", "-c", "create table d (id integer references p)"])
        .args(["-c", "insert into d values (1)", "-c", "\\! sleep 1", "-c", "commit"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let error = server.error(&["delete from p where id = 1"]);
    assert!(error.contains("23503") && error.contains("table \"d\""), "{error}");
    assert!(child.wait().unwrap().success());
}

/// Sessions insert children and delete parents at the same time: no child may be left without its parent.
#[test]
fn children_and_parents_never_part() {
    let server = Server::start(&[]);
    server.query(&[
        "create table p (id integer primary key)",
        "create table c (id integer, p integer references p)",
    ]);
    server.query(&["insert into p select id from generate_series(1, 100) as s(id)"]);
    let script = |statement: &str| -> Vec<String> {
        (1..=100).flat_map(|id| ["-c".to_owned(), statement.replace('$', &id.to_string())]).collect()
    };
    let mut sessions: Vec<_> = ["insert into c values ($, $)", "delete from p where id = $"]
        .into_iter()
        .map(|statement| {
            let mut command = server.psql();
            command.args(["-v", "ON_ERROR_STOP=0"]).args(script(statement));
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for session in &mut sessions {
        session.wait().unwrap();
    }
    assert_eq!(server.query(&["select count(*) from c left join p on p.id = c.p where p.id is null"]), "0");
    let left = server.query(&["select count(*) from p", "select count(*) from c"]);
    let counts: Vec<u32> = left.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(counts[0], counts[1]);
}
