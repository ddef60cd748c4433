//! The catalogs of built-in functions, operators and casts say what exists: a use of each row is compiled.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::engine::{TestEngine, Trouble};
use crate::{Connection, Database};

/// A file of `system`, as lines of words.
fn rows(file: &'static str) -> Vec<Vec<&'static str>> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').collect()).collect()
}

fn functions() -> Vec<Vec<&'static str>> {
    rows(include_str!("../system/functions.txt"))
}

/// Compiles uses of objects.
struct Uses {
    connection: Connection,
    /// The names of types by number.
    types: HashMap<&'static str, &'static str>,
    refused: Vec<String>,
}

impl Uses {
    fn new() -> Uses {
        let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
        let types = rows(include_str!("../system/types.txt"));
        Uses {
            connection: database.connect().expect("a connection"),
            types: types.into_iter().map(|words| (words[0], words[1])).collect(),
            refused: Vec::new(),
        }
    }

    /// A type; an example of a pseudo-type.
    fn type_name(&self, number: &str) -> String {
        match number {
            "2276" | "2283" | "2776" | "5077" | "5079" => "integer".to_owned(),
            "2277" | "5078" => "integer[]".to_owned(),
            "18" => "\"char\"".to_owned(),
            _ => format!("pg_catalog.{}", self.types[number]),
        }
    }

    fn null(&self, number: &str) -> String {
        format!("null::{}", self.type_name(number))
    }

    fn compile(&mut self, sql: &str) {
        if let Err(error) = self.connection.prepare(sql) {
            self.refused.push(format!("{sql}: {error}"));
        }
    }

    fn check(self) {
        assert!(self.refused.is_empty(), "{:#?}", self.refused);
    }
}

#[test]
fn functions_that_are_listed_can_be_called() {
    let mut uses = Uses::new();
    let aggregates = rows(include_str!("../system/aggregates.txt"));
    // They are called with WITHIN GROUP.
    let ordered: BTreeSet<&str> =
        aggregates.iter().filter(|words| words[1] != "n").map(|words| words[0]).collect();
    for words in functions().iter().filter(|words| words[2] == "t" && !ordered.contains(words[0])) {
        let values: Vec<String> = match words[16] {
            "-" if words[8] == "a" => vec!["*".to_owned()],
            "-" => Vec::new(),
            list => list.split(',').map(|one| uses.null(one)).collect(),
        };
        let head = if words[11] == "t" { "select * from" } else { "select" };
        let window = if words[8] == "w" { " over ()" } else { "" };
        uses.compile(&format!("{head} pg_catalog.\"{}\"({}){window}", words[1], values.join(", ")));
    }
    uses.check();
}

#[test]
fn operators_that_are_listed_exist() {
    let mut uses = Uses::new();
    for words in rows(include_str!("../system/operators.txt")) {
        let left = if words[5] == "0" { String::new() } else { uses.null(words[5]) };
        let right = uses.null(words[6]);
        uses.compile(&format!("select {left} {} {right}", words[1]));
    }
    uses.check();
}

#[test]
fn casts_that_are_listed_exist() {
    let mut uses = Uses::new();
    for words in rows(include_str!("../system/casts.txt")) {
        uses.compile(&format!("select ({})::{}", uses.null(words[1]), uses.type_name(words[2])));
    }
    uses.check();
}

/// Names of functions that no row of PostgreSQL's `pg_proc` has: its grammar turns them into other calls, or
/// they are operators. The one of `pg_terminate_backend` has a second parameter.
const WRITTEN_OTHERWISE: [&str; 36] = [
    "greatest",
    "least",
    "nullif",
    "trim",
    "current_timestamp",
    "current_date",
    "localtime",
    "current_time",
    "localtimestamp",
    "->",
    "->>",
    "#>",
    "#>>",
    "@>",
    "<@",
    "?",
    "?|",
    "?&",
    "||",
    "-",
    "#-",
    "<<",
    "<<=",
    ">>",
    ">>=",
    "&&",
    "&",
    "|",
    "+",
    "pg_terminate_backend",
    "#<#",
    "#<=#",
    "#>#",
    "#>=#",
    "@?",
    "@@",
];

#[test]
fn functions_of_the_table_are_listed() {
    let listed: BTreeSet<&str> = functions().iter().map(|words| words[1]).collect();
    // Those of the information schema and those that extensions call are not of this catalog.
    let others = ["information_schema.", "pgcrypto_", "uuid_ossp_", "hstore_"];
    let is_own = |name: &&str| !others.iter().any(|other| name.starts_with(other));
    let own = hyades_types::function::names().filter(is_own);
    let missing: Vec<&str> = own.filter(|name| !listed.contains(name)).collect();
    assert_eq!(missing, WRITTEN_OTHERWISE);
}
