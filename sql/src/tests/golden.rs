//! Golden scripts: `tests/scripts/*.sql`, each with the answers of a real PostgreSQL 15 in a file beside it
//! (`*.expected`).
//!
//! A script is a list of statements, each ending with a semicolon at the end of a line. A COPY FROM STDIN
//! is followed by its data up to `\.`. The answers are recorded through psql by
//!
//! ```text
//! HYADES_RECORD_PSQL="-h /run/postgresql -U me -d scratch" cargo test -p hyades scripts_answer
//! ```
//!
//! and contain, for each statement: columns with their types, rows, command tag, notices, and errors with
//! SQLSTATE, position and hint. The answers to a script `*.own.sql` are specific to Hyades (EXPLAIN,
//! refusals). They are written when missing, and reviewed by hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hyades_engine::config::ControlKind;
use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::helpers::Helpers;
use hyades_types::error::Error;
use hyades_types::text;
use hyades_types::value::Value;

use super::engine::{TestEngine, Trouble};
use crate::copy::pieces::Sharing;
use crate::session::{Completion, Database, Notice, Output, Prepared, Response, Session, SessionOptions};

/// One statement and the data that follows it.
struct Step {
    sql: String,
    data: Option<String>,
}

fn steps(script: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = script.lines();
    let mut sql = String::new();
    while let Some(line) = lines.next() {
        if sql.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        if !sql.is_empty() {
            sql.push('\n');
        }
        sql.push_str(line);
        let statement = sql.trim_end();
        let lower = statement.to_lowercase();
        let is_quoted = ["create", "do"].iter().any(|word| lower.starts_with(word))
            && statement.matches("$$").count() % 2 == 1;
        if is_quoted || !statement.ends_with(';') {
            continue;
        }
        let data = (lower.starts_with("copy") && lower.contains("from stdin")).then(|| {
            let rows = lines.by_ref().take_while(|line| *line != "\\.");
            rows.fold(String::new(), |data, line| data + line + "\n")
        });
        steps.push(Step { sql: statement.to_owned(), data });
        sql.clear();
    }
    steps
}

/// Writes answers in the form of the expected files.
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    types: Vec<hyades_types::value::SqlType>,
    rows: usize,
    float_digits: i8,
    styles: text::DateStyles,
    in_full: bool,
}

impl Output for Answer {
    fn row(&mut self, values: &mut [Value]) -> hyades_types::Result<()> {
        self.rows += 1;
        let zone = jiff::tz::TimeZone::UTC;
        let fields: Vec<String> = values
            .iter()
            .zip(&self.types)
            .map(|(value, sql_type)| {
                if value.is_null() {
                    return "NULL".to_owned();
                }
                let mut bytes = Vec::new();
                let form =
                    text::TextForm { time_zone: &zone, float_digits: self.float_digits, styles: self.styles };
                text::write_as(value, *sql_type, form, &mut bytes);
                String::from_utf8(bytes).expect("text is UTF-8")
            })
            .collect();
        writeln!(self.text, "{}", fields.join("|")).expect("writing to a string");
        Ok(())
    }
    fn copy_data(&mut self, bytes: &[u8]) -> hyades_types::Result<()> {
        self.text.push_str(std::str::from_utf8(bytes).expect("text is UTF-8"));
        Ok(())
    }
    fn notice(&mut self, notice: Notice) {
        writeln!(self.text, "{}: {}", notice.severity, notice.message).expect("writing to a string");
        if let Some(detail) = notice.detail.filter(|_| self.in_full) {
            writeln!(self.text, "DETAIL: {detail}").expect("writing to a string");
        }
    }
    fn restart(&mut self) {
        self.text.clear();
        self.rows = 0;
    }
}

/// Repeats a call until it no longer waits.
pub(super) fn done<T>(mut call: impl FnMut() -> Flow<T>) -> Result<T, Error> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(Interrupt::Failed(error)) => return Err(error),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
        }
    }
}

/// A statement and the values of its parameters.
pub(super) type Lifted = (Arc<Prepared>, Vec<Value>);

/// Prepares a text as one that recurs: its literals become parameter values where possible. Passes on each
/// notice about it only once.
fn lifted(session: &mut Session, sql: &str, output: &mut dyn Output) -> Result<Lifted, Error> {
    let first = done(|| session.prepare_text(sql));
    session.take_notices().into_iter().for_each(|notice| output.notice(notice));
    first?;
    let again = done(|| session.prepare_text(sql));
    session.take_notices();
    again
}

fn run_step(session: &mut Session, step: &Step, in_full: bool) -> Result<String, (String, Error)> {
    let (float_digits, styles) = (session.float_digits(), session.date_styles());
    let mut answer = Answer { float_digits, styles, in_full, ..Answer::default() };
    let mut noticed = Answer::default();
    let prepared = lifted(session, &step.sql, &mut noticed);
    let noticed = noticed.text;
    let (prepared, values) = prepared.map_err(|error| (noticed.clone(), error))?;
    let mut head = String::new();
    if let Response::Rows(columns) = prepared.response() {
        // psql describes neither EXECUTE nor FETCH.
        let is_execute = ["execute", "fetch"].iter().any(|word| step.sql.starts_with(word));
        let shown: Vec<String> = columns
            .iter()
            .map(|column| match is_execute {
                true => column.name.clone(),
                false => format!("{}:{}", column.name, column.sql_type.name()),
            })
            .collect();
        head = format!("{}\n", shown.join("|"));
        answer.types = columns.iter().map(|column| column.sql_type).collect();
    }
    let outcome =
        done(|| session.execute(&prepared, &values, &mut answer)).and_then(|completion| match completion {
            Completion::Tag(tag) => Ok(tag.into_owned()),
            Completion::CopyIn => {
                let data = step.data.as_deref().unwrap_or_default();
                for chunk in data.as_bytes().chunks(7) {
                    done(|| session.copy_feed(chunk))?;
                }
                let finished = done(|| session.copy_finish());
                session.take_notices().into_iter().for_each(|notice| answer.notice(notice));
                match finished? {
                    Completion::Tag(tag) => Ok(tag.into_owned()),
                    Completion::CopyIn => panic!("COPY does not end"),
                }
            }
        });
    match outcome {
        Ok(tag) => {
            let mut text = head + &noticed + &answer.text;
            if matches!(prepared.response(), Response::Rows(_)) {
                let plural = if answer.rows == 1 { "" } else { "s" };
                writeln!(text, "({} row{plural})", answer.rows).expect("writing to a string");
            }
            // psql prints no tag after rows and data.
            let is_silent = match prepared.response() {
                Response::Rows(_) => {
                    ["SELECT", "SHOW", "EXPLAIN", "CALL", "FETCH"].iter().any(|word| tag.starts_with(word))
                }
                Response::CopyOut(_) => true,
                _ => false,
            };
            if !is_silent {
                writeln!(text, "{tag}").expect("writing to a string");
            }
            Ok(text)
        }
        Err(error) => {
            let is_message =
                |line: &&str| ["NOTICE", "WARNING", "INFO"].iter().any(|word| line.starts_with(word));
            let messages = answer.text.lines().filter(is_message);
            Err((noticed + &messages.map(|line| format!("{line}\n")).collect::<String>(), error))
        }
    }
}

/// `in_full` adds details and contexts.
fn shown_error(error: &Error, in_full: bool) -> String {
    let Error::Input(input) = error else { return format!("ERROR {}: {error}\n", error.sqlstate()) };
    let place = input.position.map_or_else(String::new, |position| format!(" at {position}"));
    let mut text = format!("ERROR {}{place}: {}\n", input.state, input.message);
    if let Some(detail) = input.detail.as_ref().filter(|_| in_full) {
        writeln!(text, "DETAIL: {detail}").expect("writing to a string");
    }
    if let Some(hint) = &input.hint {
        writeln!(text, "HINT: {hint}").expect("writing to a string");
    }
    if in_full {
        text.push_str(&shown_context(input.context.as_deref().unwrap_or_default()));
    }
    text
}

/// The lines of a context that give the place in a routine. PostgreSQL also quotes the statement.
fn shown_context(context: &str) -> String {
    let lines = context.lines().filter(|line| line.starts_with("PL/pgSQL function"));
    lines.map(|line| format!("CONTEXT: {line}\n")).collect()
}

fn run_script(script: &str, trouble: Trouble, in_full: bool) -> String {
    run_script_in(&Database::with_engine(Arc::new(TestEngine::with(trouble))), script, in_full)
}

fn run_script_in(database: &Database, script: &str, in_full: bool) -> String {
    let options = SessionOptions {
        user: "hyades".to_owned(),
        database: "hyades".to_owned(),
        ..SessionOptions::default()
    };
    let mut session = database.session(options).expect("a session");
    session.set_last(true);
    let mut text = String::new();
    for step in steps(script) {
        writeln!(text, "> {}", step.sql).expect("writing to a string");
        let outcome = run_step(&mut session, &step, in_full);
        let ended = done(|| session.end_implicit());
        match outcome {
            // It is taken back.
            Ok(_) if ended.is_err() => {}
            Ok(answer) => text.push_str(&answer),
            Err((notices, error)) => {
                text.push_str(&notices);
                text.push_str(&shown_error(&error, in_full));
            }
        }
        if let Err(error) = ended {
            text.push_str(&shown_error(&error, in_full));
        }
        text.push('\n');
    }
    text
}

fn scripts() -> Vec<PathBuf> {
    let folder = super::folder("scripts");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the scripts are there")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    found.sort();
    found
}

/// Whether details and contexts are compared too.
fn is_in_full(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| ["plpgsql_", "schema", "rights_"].iter().any(|start| name.starts_with(start)))
}

#[test]
fn scripts_answer_as_postgresql_does() {
    record_scripts();
    check_scripts(Trouble::None);
}

#[test]
fn waits_change_no_answer() {
    check_scripts(Trouble::Waits);
    check_seeds(Trouble::Waits);
}

#[test]
fn stale_plans_change_no_answer() {
    check_scripts(Trouble::StalePlans);
    check_seeds(Trouble::StalePlans);
}

#[test]
fn little_memory_changes_no_answer() {
    check_scripts(Trouble::LittleMemory);
    check_seeds(Trouble::LittleMemory);
}

#[test]
fn concurrency_controls_change_no_answer() {
    for control in [ControlKind::Optimistic, ControlKind::MultiVersion] {
        check_scripts(Trouble::Control(control));
        check_seeds(Trouble::Control(control));
    }
}

/// The data of COPY is divided into pieces of a few bytes, read by this thread or by others.
#[test]
fn small_pieces_change_no_answer() {
    let mut wrong = String::new();
    for path in scripts() {
        let script = std::fs::read_to_string(&path).expect("a readable script");
        if !script.to_lowercase().contains("from stdin") {
            continue;
        }
        let expected = std::fs::read_to_string(path.with_extension("expected")).expect("a recorded script");
        for (trouble, bytes) in [(Trouble::None, 7), (Trouble::Waits, 20), (Trouble::StalePlans, 30)] {
            for helpers in [Helpers::at_once(1), Helpers::new(2)] {
                let engine = Arc::new(TestEngine::with(trouble));
                let database = Database::sharing(engine, Sharing::of(helpers, bytes));
                let answer = run_script_in(&database, &script, is_in_full(&path));
                compare(&path, &answer, &expected, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Seeds of the scripts that are run both with and without trouble.
const TROUBLED_SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Procedures generated from seeds give the same answers with trouble as without.
fn check_seeds(trouble: Trouble) {
    for seed in TROUBLED_SEEDS {
        let script = super::procedures::script(seed);
        let troubled = run_script(&script, trouble, true);
        let undisturbed = run_script(&script, Trouble::None, true);
        for (troubled, undisturbed) in troubled.split("\n> ").zip(undisturbed.split("\n> ")) {
            assert_eq!(troubled, undisturbed, "seed {seed} under {trouble:?}");
        }
        assert_eq!(troubled, undisturbed, "seed {seed} under {trouble:?}");
    }
}

/// Records the answers of PostgreSQL again, if the environment says how to reach it.
fn record_scripts() {
    let Ok(arguments) = std::env::var("HYADES_RECORD_PSQL") else { return };
    let only = std::env::var("HYADES_SCRIPT").unwrap_or_default();
    for path in scripts() {
        let name = path.to_string_lossy();
        if !name.ends_with(".own.sql") && name.contains(&only) {
            record(&path, &arguments);
        }
    }
}

fn check_scripts(trouble: Trouble) {
    let only = std::env::var("HYADES_SCRIPT").unwrap_or_default();
    let mut wrong = String::new();
    for path in scripts() {
        if !path.to_string_lossy().contains(&only) {
            continue;
        }
        let script = std::fs::read_to_string(&path).expect("a readable script");
        let answer = run_script(&script, trouble, is_in_full(&path));
        let expected_path = path.with_extension("expected");
        let Ok(expected) = std::fs::read_to_string(&expected_path) else {
            assert!(path.to_string_lossy().ends_with(".own.sql"), "{} is not recorded", path.display());
            std::fs::write(&expected_path, answer).expect("a writable folder");
            continue;
        };
        compare(&path, &answer, &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Records in `wrong` where the answers differ.
pub(super) fn compare(path: &Path, answer: &str, expected: &str, wrong: &mut String) {
    let got: Vec<&str> = answer.split("\n> ").collect();
    let want: Vec<&str> = expected.split("\n> ").collect();
    for (got, want) in got.iter().zip(&want) {
        let is_same = got == want || (is_in_full(path) && without_place(got, want) == *want);
        if !is_same {
            writeln!(wrong, "{}:\n--- PostgreSQL\n{want}\n--- Hyades\n{got}\n", path.display())
                .expect("writing to a string");
        }
    }
    assert_eq!(got.len(), want.len(), "{}", path.display());
}

/// Some errors in bodies have no position in PostgreSQL. Here all of them have one.
fn without_place(got: &str, want: &str) -> String {
    let mut want = want.lines();
    let lines = got.lines().map(|line| {
        let wanted = want.next().unwrap_or_default();
        match line.split_once(": ") {
            Some((head, message))
                if line.starts_with("ERROR") && head.contains(" at ") && !wanted.contains(" at ") =>
            {
                format!("{}: {message}", head.split(" at ").next().unwrap_or(head))
            }
            _ => line.to_owned(),
        }
    });
    let text: Vec<String> = lines.collect();
    text.join("\n") + if got.ends_with('\n') { "\n" } else { "" }
}

/// Compares scripts generated from seeds with a running PostgreSQL. Neither the scripts nor the answers are
/// kept. `cargo xtask procedures` sets `HYADES_SEEDS=1..50` and `HYADES_RECORD_PSQL`.
#[test]
fn generated_procedures_answer_as_postgresql_does() {
    let (Ok(seeds), Ok(arguments)) = (std::env::var("HYADES_SEEDS"), std::env::var("HYADES_RECORD_PSQL"))
    else {
        // Without a PostgreSQL, checks that the script of a seed can be run and is the same each time.
        let script = super::procedures::script(1);
        assert_eq!(script, super::procedures::script(1));
        let answer = run_script(&script, Trouble::None, true);
        assert_eq!(answer.matches("CREATE FUNCTION").count(), super::procedures::FUNCTIONS);
        return;
    };
    let (first, last) = seeds.split_once("..").expect("HYADES_SEEDS is first..last");
    let (first, last): (u64, u64) = (first.parse().expect("a number"), last.parse().expect("a number"));
    let mut wrong = String::new();
    for seed in first..=last {
        let script = super::procedures::script(seed);
        let expected = recorded(&script, &arguments, true);
        // The name of a script about routines, for which there is no file.
        let name = PathBuf::from(format!("plpgsql_seed_{seed}.sql"));
        compare(&name, &run_script(&script, Trouble::None, true), &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The beginnings of lines that start a new field of a message.
const FIELDS: [&str; 11] = [
    "HINT:  ",
    "CONTEXT:  ",
    "QUERY:  ",
    "LOCATION:  ",
    "LINE ",
    "SCHEMA NAME:  ",
    "TABLE NAME:  ",
    "COLUMN NAME:  ",
    "CONSTRAINT NAME:  ",
    "DATATYPE NAME:  ",
    "NOTICE:  ",
];

/// Turns psql's verbose error into one line: `ERROR 42703 at 8: message`.
fn recorded_error(lines: &[&str], sql: &str, in_full: bool) -> String {
    let mut text = String::new();
    let mut position = None;
    // The position is then one in a statement of a routine.
    let is_inside = lines.iter().any(|line| line.starts_with("QUERY:  "));
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("LINE ").filter(|_| !is_inside) else { continue };
        let Some((number, _)) = rest.split_once(": ") else { continue };
        let number: usize = number.parse().unwrap_or(1);
        let prefix = "LINE ".len() + rest.split_once(": ").map_or(0, |(number, _)| number.len()) + 2;
        let caret = lines.get(at + 1).map_or(0, |line| line.chars().take_while(|c| *c != '^').count());
        let before: usize = sql.lines().take(number - 1).map(|line| line.chars().count() + 1).sum();
        position = Some(before + caret + 1 - prefix);
    }
    for (at, line) in lines.iter().enumerate() {
        if let Some(rest) = line.strip_prefix("ERROR:  ") {
            let (state, message) = rest.split_once(": ").unwrap_or((rest, ""));
            let place = position.map_or_else(String::new, |position| format!(" at {position}"));
            writeln!(text, "ERROR {state}{place}: {message}").expect("writing to a string");
        } else if let Some(hint) = line.strip_prefix("HINT:  ").filter(|_| text.contains("ERROR")) {
            writeln!(text, "HINT: {hint}").expect("writing to a string");
        } else if let Some(detail) = line.strip_prefix("DETAIL:  ").filter(|_| in_full) {
            writeln!(text, "DETAIL: {detail}").expect("writing to a string");
            let is_more = |line: &&&str| !FIELDS.iter().any(|field| line.starts_with(field));
            for more in lines.get(at + 1..).unwrap_or_default().iter().take_while(is_more) {
                writeln!(text, "{more}").expect("writing to a string");
            }
        } else if in_full && text.contains("ERROR") {
            text.push_str(&shown_context(line.strip_prefix("CONTEXT:  ").unwrap_or(line)));
        } else if let Some(rest) =
            ["NOTICE:  ", "WARNING:  ", "INFO:  "].iter().find_map(|word| line.strip_prefix(word))
        {
            let severity = line.split(':').next().unwrap_or_default();
            let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
            writeln!(text, "{severity}: {message}").expect("writing to a string");
        }
    }
    text
}

fn psql_input(steps: &[Step]) -> String {
    let mut input = String::from(
        "drop schema public cascade;\ncreate schema public;\nalter schema public owner to pg_database_owner;\ngrant usage on schema public to public;\n\\set VERBOSITY verbose\n\\pset null NULL\nset timezone = 'UTC';\n\\echo @@\n\\warn @@\n",
    );
    for step in steps {
        writeln!(input, "{}", step.sql).expect("writing to a string");
        if let Some(data) = &step.data {
            writeln!(input, "{data}\\.").expect("writing to a string");
        }
        input.push_str("\\echo @@\n\\warn @@\n");
        let lower = step.sql.to_lowercase();
        if ["select", "values", "show", "call", "with", "table", "("]
            .iter()
            .any(|word| lower.starts_with(word))
            || (lower.contains("returning") && !lower.starts_with("create"))
        {
            writeln!(input, "{} \\gdesc", step.sql.trim_end_matches(';')).expect("writing to a string");
        }
        input.push_str("\\echo @@\n\\warn @@\n");
    }
    input
}

fn record(path: &Path, arguments: &str) {
    let script = std::fs::read_to_string(path).expect("a readable script");
    let text = recorded(&script, arguments, is_in_full(path));
    std::fs::write(path.with_extension("expected"), text).expect("a writable folder");
}

/// PostgreSQL's answers to a script.
fn recorded(script: &str, arguments: &str, in_full: bool) -> String {
    let steps = steps(script);
    let input = std::env::temp_dir().join(format!("hyades-golden-{}.psql", std::process::id()));
    std::fs::write(&input, psql_input(&steps)).expect("a writable folder");
    let output = Command::new("psql")
        .args(arguments.split_whitespace())
        .args(["-X", "-A", "-F", "|", "-f"])
        .arg(&input)
        .env("PGAPPNAME", "")
        .env("PGOPTIONS", "-c client_min_messages=notice")
        .output()
        .expect("psql runs");
    std::fs::remove_file(&input).expect("it was written");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let stdout: Vec<&str> = stdout.split("@@\n").skip(1).collect();
    let stderr: Vec<&str> = stderr.split("@@\n").skip(1).collect();
    let mut text = String::new();
    for (at, step) in steps.iter().enumerate() {
        let (out, types, err) = (stdout[at * 2], stdout[at * 2 + 1], stderr[at * 2]);
        writeln!(text, "> {}", step.sql).expect("writing to a string");
        let error_lines: Vec<&str> = err
            .lines()
            .map(|line| match (line.starts_with("psql:"), line.find(": ")) {
                (true, Some(end)) => &line[end + 2..],
                _ => line,
            })
            .collect();
        let said = recorded_error(&error_lines, &step.sql, in_full);
        let error_at = said.find("ERROR").unwrap_or(said.len());
        let (notices, errors) = said.split_at(error_at);
        let columns: Vec<String> = types
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with('('))
            .map(|line| line.replacen('|', ":", 1))
            .collect();
        let mut lines = out.lines();
        if !columns.is_empty() && errors.is_empty() {
            lines.next();
            writeln!(text, "{}", columns.join("|")).expect("writing to a string");
        }
        if errors.is_empty() {
            text.push_str(notices);
            for line in lines {
                writeln!(text, "{line}").expect("writing to a string");
            }
        } else {
            text.push_str(notices);
            text.push_str(errors);
        }
        text.push('\n');
    }
    text
}
