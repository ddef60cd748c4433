//! `hyades analyze` on procedures as users write them (`analyze.sql`): its text as reviewed
//! (`analyze.expected`, written when it is missing), and the other forms.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use hyades::{Config, Database};

use crate::process::{Directory, hyades};

fn folder(file: &str) -> PathBuf {
    PathBuf::from("tests/server").join(file)
}

fn analyze(arguments: &[&str]) -> Output {
    hyades().arg("analyze").args(arguments).output().unwrap()
}

fn shown(arguments: &[&str]) -> String {
    let output = analyze(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = analyze(arguments);
    assert!(!output.status.success() && output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn procedures_are_explained_as_reviewed() {
    let script = folder("analyze.sql");
    let script = script.to_str().unwrap();
    let text = shown(&["--sql", script]);
    let path = folder("analyze.expected");
    match std::fs::read_to_string(&path) {
        Ok(expected) => assert_eq!(text, expected, "delete {} to write it anew", path.display()),
        Err(_) => std::fs::write(&path, &text).unwrap(),
    }
    // It leaves nothing behind where it runs.
    let nowhere = Directory::new();
    let absolute = std::fs::canonicalize(script).unwrap();
    let mut command = hyades();
    command.current_dir(nowhere.path()).args(["analyze", "--sql"]).arg(absolute);
    assert!(command.output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(nowhere.path()).unwrap().count(), 0);
    let one = shown(&["--sql", script, "pay", "--written", "price,public.audit"]);
    assert!(one.starts_with("1 routine, 1 of them logged as calls, on 6 blocks of tables\n"), "{one}");

    let dot = shown(&["--sql", script, "--format", "dot"]);
    assert!(dot.starts_with("digraph blocks {") && dot.contains("[label=\"account\\nquota\"]"), "{dot}");
    let directory = Directory::new();
    let page = directory.path().join("page.html");
    shown(&["--sql", script, "--format", "html", "--out", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("'taken: ' || n") && page.contains("class='chip s0'"), "{page}");
    for outside in ["http://", "https://", "src=", "@import", "<script"] {
        assert!(!page.contains(outside), "it needs no network: {outside}");
    }
}

/// A database that is stopped, and the same one while a server has it.
#[test]
fn a_database_is_read_and_not_changed() {
    let directory = Directory::new();
    let database = Database::open(Config::new(directory.path())).unwrap();
    {
        let mut session = database.connect().unwrap();
        session.execute("create table \"t<&\" (id int primary key, n int)", &[]).unwrap();
        let procedure = "create procedure add(what int) language plpgsql as $$ begin
            update \"t<&\" set n = n + 1 where id = what; end $$";
        session.execute(procedure, &[]).unwrap();
        session.execute("call add(1)", &[]).unwrap();
    }
    let path = directory.path().to_str().unwrap();
    let running = refused(&["--data", path]);
    assert!(running.contains("a server has this directory open"), "{running}");
    database.shutdown().unwrap();
    drop(database);
    for _ in 0..2 {
        let text = shown(&["--data", path, "public.add"]);
        assert!(text.contains("slice 0 on t<& (block 0)"), "{text}");
    }
    let page = shown(&["--data", path, "--format", "html"]);
    assert!(page.contains("t&lt;&amp;") && !page.contains("t<&"), "{page}");
}

#[test]
fn nonsense_is_refused_with_a_sentence() {
    let from_input = |text: &str| {
        let mut command = hyades();
        command.args(["analyze", "--sql", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(from_input("select 1;\n\nselec 2;").contains("standard input, line 3: syntax error"));
    assert!(from_input("select 'x").contains("standard input: unterminated quoted string"));
    let script = folder("analyze.sql");
    let script = script.to_str().unwrap();
    assert!(refused(&["--sql", script, "nothing"]).contains("there is no routine \"nothing\""));
    assert!(refused(&["--sql", script, "--written", "no"]).contains("there is no table \"no\""));
    assert!(refused(&["--sql", "/nowhere.sql"]).contains("could not read /nowhere.sql"));
    assert!(refused(&["--data", "/nowhere"]).contains("there is no Hyades database in directory"));
    assert!(refused(&[]).contains("<--data <DATA>|--sql <FILE>>"));
}
