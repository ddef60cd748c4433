//! Several concurrent sessions: `tests/sessions/*.sql`, each with the answers of a real PostgreSQL 15 in a
//! file beside it (`*.expected`).
//!
//! A line is a session's name and a statement, which is run. The session `ada@1` logs in as the role ada,
//! others as the superuser. A statement that has to wait is marked so, and its answer follows the statement
//! that lets it continue. The answers are recorded like those of `golden`:
//!
//! ```text
//! HYADES_RECORD_PSQL="-h /run/postgresql -U me -d scratch" cargo test -p hyades sessions_answer
//! ```
//!
//! The answers to a script `*.own.sql` are specific to Hyades. They are written when missing, and reviewed
//! by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hyades_engine::config::{Config, ControlKind, ProtocolKind};
use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::ticket::Ticket;
use hyades_sim::disk::SimulatedDisk;
use hyades_types::error::Error;
use hyades_types::guest::Host;
use hyades_types::text;
use hyades_types::value::{SqlType, Value};

use super::engine::{TestEngine, Trouble};
use super::golden::Lifted;
use crate::session::{Completion, Database, Notice, Output, Response, Session, SessionOptions};

/// The system that runs the statements: Hyades or PostgreSQL.
pub(super) trait Sessions {
    /// Runs a statement. Returns its answer, or `None` if it waits.
    fn run(&mut self, session: &str, sql: &str) -> Option<String>;
    /// The answer of a session that has waited and waits no longer.
    fn resumed(&mut self) -> Option<(String, String)>;
    /// Ends a session.
    fn close(&mut self, session: &str);
    /// Whether a client would be let in under this name, if that can be known without trying.
    fn may_log_in(&self, name: &str) -> Option<bool>;
}

pub(super) fn answers(script: &str, sessions: &mut dyn Sessions) -> String {
    let mut text = String::new();
    for line in script.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        let (session, sql) = line.split_once(": ").expect("a session and a statement");
        let answer = sessions.run(session, sql).unwrap_or_else(|| "... waits\n".to_owned());
        write!(text, "> {line}\n{answer}").expect("writing to a string");
        while let Some((session, answer)) = sessions.resumed() {
            write!(text, "... {session} goes on\n{answer}").expect("writing to a string");
        }
    }
    text
}

/// The rows of an answer.
#[derive(Default)]
struct Rows {
    text: String,
    types: Vec<SqlType>,
}

impl Output for Rows {
    fn row(&mut self, values: &mut [Value]) -> hyades_types::Result<()> {
        let field = |(value, sql_type): (&Value, &SqlType)| {
            let mut bytes = Vec::new();
            if !value.is_null() {
                text::write(value, *sql_type, &jiff::tz::TimeZone::UTC, &mut bytes);
            }
            String::from_utf8(bytes).expect("text is UTF-8")
        };
        let fields: Vec<String> = values.iter().zip(&self.types).map(field).collect();
        writeln!(self.text, "{}", fields.join("|")).expect("writing to a string");
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> hyades_types::Result<()> {
        Ok(())
    }
    fn notice(&mut self, _: Notice) {}
    fn restart(&mut self) {
        self.text.clear();
    }
}

/// A wait for the janitor has ended after this time. Other waits end only after another statement of the
/// script.
const BRIEFLY: Duration = Duration::from_millis(30);

struct Waiting {
    statement: Statement,
    ticket: Ticket,
}

/// How far a statement has come.
enum Statement {
    Text(String),
    Prepared(Lifted),
}

impl Statement {
    /// Compiles the text as one that recurs; see `golden::lifted`.
    fn prepared(&mut self, session: &mut Session) -> Flow<&Lifted> {
        if let Statement::Text(sql) = self {
            session.prepare_text(sql)?;
            *self = Statement::Prepared(session.prepare_text(sql)?);
            session.take_notices();
        }
        match self {
            Statement::Prepared(prepared) => Ok(prepared),
            Statement::Text(_) => unreachable!("it has been compiled"),
        }
    }
}

pub(super) struct Hyades {
    database: Database,
    sessions: BTreeMap<String, (Session, Option<Waiting>)>,
}

impl Hyades {
    pub(super) fn new() -> Hyades {
        Hyades::under(ControlKind::default())
    }

    pub(super) fn under(control: ControlKind) -> Hyades {
        let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::Control(control))));
        Hyades { database, sessions: BTreeMap::new() }
    }

    /// Like [`Hyades::go_on`], but waits for as long as the janitor may hold a lock.
    fn go_on_past_brief_waits(session: &mut Session, statement: &mut Statement) -> Result<String, Ticket> {
        loop {
            let ticket = match Hyades::go_on(session, statement) {
                Ok(answer) => return Ok(answer),
                Err(ticket) => ticket,
            };
            let deadline = Instant::now() + BRIEFLY;
            while !ticket.is_ready() {
                if Instant::now() > deadline {
                    return Err(ticket);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// The answer if there is one, or the ticket for it.
    fn go_on(session: &mut Session, statement: &mut Statement) -> Result<String, Ticket> {
        let prepared = match statement.prepared(session) {
            Ok(prepared) => prepared,
            Err(Interrupt::Wait(ticket)) => return Err(ticket),
            Err(Interrupt::Failed(error)) => return Ok(shown(&error)),
        };
        let mut rows = Rows::default();
        if let Response::Rows(columns) = prepared.0.response() {
            rows.types = columns.iter().map(|column| column.sql_type).collect();
        }
        session.set_last(true);
        let outcome = match session.execute(&prepared.0, &prepared.1, &mut rows) {
            Err(Interrupt::Wait(ticket)) => return Err(ticket),
            Err(Interrupt::Failed(error)) => Err(error),
            Ok(completion) => Ok(completion),
        };
        let ended = super::golden::done(|| session.end_implicit());
        Ok(match outcome.and_then(|completion| ended.map(|()| completion)) {
            Ok(Completion::Tag(tag)) if tag.starts_with("SELECT") => rows.text,
            Ok(Completion::Tag(tag)) => format!("{}{tag}\n", rows.text),
            Ok(Completion::CopyIn) => panic!("COPY has no place here"),
            Err(error) => shown(&error),
        })
    }
}

fn shown(error: &Error) -> String {
    format!("ERROR {}: {error}\n", error.sqlstate())
}

impl Sessions for Hyades {
    fn run(&mut self, name: &str, sql: &str) -> Option<String> {
        let database = &self.database;
        let options = || SessionOptions {
            user: role_of(name).unwrap_or("hyades").to_owned(),
            role: role_of(name).map(|user| database.login(user).expect("a role").role),
            database: "hyades".to_owned(),
            ..SessionOptions::default()
        };
        let (session, waiting) = self
            .sessions
            .entry(name.to_owned())
            .or_insert_with(|| (database.session(options()).expect("a session"), None));
        if waiting.is_some() {
            return Some("... waits still\n".to_owned());
        }
        let mut statement = Statement::Text(sql.to_owned());
        match Hyades::go_on_past_brief_waits(session, &mut statement) {
            Ok(answer) => Some(answer),
            Err(ticket) => {
                *waiting = Some(Waiting { statement, ticket });
                None
            }
        }
    }

    fn resumed(&mut self) -> Option<(String, String)> {
        for (name, (session, waiting)) in &mut self.sessions {
            if let Some(mut wait) = waiting.take_if(|wait| wait.ticket.is_ready()) {
                match Hyades::go_on_past_brief_waits(session, &mut wait.statement) {
                    Ok(answer) => return Some((name.clone(), answer)),
                    Err(ticket) => *waiting = Some(Waiting { ticket, ..wait }),
                }
            }
        }
        None
    }

    fn close(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    fn may_log_in(&self, name: &str) -> Option<bool> {
        Some(self.database.login(name).is_some_and(|login| login.can_log_in))
    }
}

/// PostgreSQL, with one psql for each session.
pub(super) struct Postgres {
    arguments: String,
    sessions: BTreeMap<String, Psql>,
}

impl Postgres {
    pub(super) fn new(arguments: &str) -> Postgres {
        Postgres { arguments: arguments.to_owned(), sessions: BTreeMap::new() }
    }
}

struct Psql {
    child: Child,
    lines: Receiver<String>,
    is_waiting: bool,
}

/// A statement without an answer after this time is waiting.
const PATIENCE: Duration = Duration::from_millis(700);
const MARK: &str = "=== done";
/// Lines of psql about errors and notices that are not compared.
const PASSED_OVER: [&str; 12] = [
    "WARNING",
    "DETAIL",
    "HINT",
    "CONTEXT",
    "LOCATION",
    "LINE",
    "NOTICE",
    "SCHEMA NAME",
    "TABLE NAME",
    "CONSTRAINT NAME",
    "Process ",
    "   ",
];

impl Psql {
    fn start(arguments: &str) -> Psql {
        let command =
            format!("exec stdbuf -oL psql -X -A -t -v VERBOSITY=verbose -v ON_ERROR_STOP=0 {arguments} 2>&1");
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut psql = Psql { child, lines, is_waiting: false };
        psql.say("set deadlock_timeout = '100ms';");
        psql.answer().expect("it is set");
        psql
    }

    fn say(&mut self, sql: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{sql}\n\\echo {MARK}").expect("psql listens");
    }

    fn answer(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line == MARK => return Some(text),
                Ok(line) => match line.strip_prefix("ERROR:  ") {
                    Some(error) => writeln!(text, "ERROR {error}").expect("writing to a string"),
                    None if PASSED_OVER.iter().any(|head| line.starts_with(head)) => {}
                    None => writeln!(text, "{line}").expect("writing to a string"),
                },
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sessions for Postgres {
    fn run(&mut self, name: &str, sql: &str) -> Option<String> {
        let arguments = match role_of(name) {
            Some(role) => format!("{} -U {role}", self.arguments),
            None => self.arguments.clone(),
        };
        let psql = self.sessions.entry(name.to_owned()).or_insert_with(|| Psql::start(&arguments));
        if psql.is_waiting {
            return Some("... waits still\n".to_owned());
        }
        psql.say(sql);
        let answer = psql.answer();
        psql.is_waiting = answer.is_none();
        answer
    }

    fn resumed(&mut self) -> Option<(String, String)> {
        for (name, psql) in self.sessions.iter_mut().filter(|(_, psql)| psql.is_waiting) {
            if let Some(answer) = psql.answer() {
                psql.is_waiting = false;
                return Some((name.clone(), answer));
            }
        }
        None
    }

    fn close(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    fn may_log_in(&self, _: &str) -> Option<bool> {
        None
    }
}

/// The role as which a session logs in, if its name says so.
fn role_of(session: &str) -> Option<&str> {
    session.split_once('@').map(|(role, _)| role)
}

fn scripts() -> Vec<PathBuf> {
    let folder = super::folder("sessions");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the scripts are there")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    found.sort();
    found
}

#[test]
fn sessions_answer_as_postgresql_does() {
    let only = std::env::var("HYADES_SCRIPT").unwrap_or_default();
    let mut wrong = String::new();
    for path in scripts().into_iter().filter(|path| path.to_string_lossy().contains(&only)) {
        let script = std::fs::read_to_string(&path).expect("a readable script");
        let expected_path = path.with_extension("expected");
        let is_own = path.to_string_lossy().ends_with(".own.sql");
        if let (Ok(arguments), false) = (std::env::var("HYADES_RECORD_PSQL"), is_own) {
            let mut postgres = Postgres::new(&arguments);
            std::fs::write(&expected_path, answers(&script, &mut postgres)).expect("a writable folder");
        }
        let answer = answers(&script, &mut Hyades::new());
        let Ok(expected) = std::fs::read_to_string(&expected_path) else {
            assert!(is_own, "{} is not recorded", path.display());
            std::fs::write(&expected_path, answer).expect("a writable folder");
            continue;
        };
        super::golden::compare(&path, &answer, &expected, &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Under another concurrency control, a script has other answers only if there is a file of them, named after
/// the control. They are written if `HYADES_RECORD_CONTROLS` is set, and reviewed by hand.
#[test]
fn sessions_answer_under_every_control() {
    let only = std::env::var("HYADES_SCRIPT").unwrap_or_default();
    let records = std::env::var_os("HYADES_RECORD_CONTROLS").is_some();
    let mut wrong = String::new();
    for control in [ControlKind::Optimistic, ControlKind::MultiVersion] {
        for path in scripts().into_iter().filter(|path| path.to_string_lossy().contains(&only)) {
            let script = std::fs::read_to_string(&path).expect("a readable script");
            let answer = answers(&script, &mut Hyades::under(control));
            let own_path = path.with_extension(format!("{}.expected", control.name()));
            let usual = std::fs::read_to_string(path.with_extension("expected")).expect("a recorded script");
            if records && answer != usual {
                std::fs::write(&own_path, &answer).expect("a writable folder");
            }
            let expected = std::fs::read_to_string(&own_path).unwrap_or(usual);
            super::golden::compare(&own_path, &answer, &expected, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Its replay could not know which rows were locked.
#[test]
fn a_call_that_does_not_wait_is_logged_as_data() {
    let config = Config {
        protocol: ProtocolKind::Taurus,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    let mut run = |sql: &str| connection.query(sql, &[]).expect("it is done");
    run("create table queue (id int primary key, taken_by int)");
    for (name, clause, expected) in [
        ("waits", "for no key update", "command"),
        ("refuses", "for update nowait", "data (what it reads depends on which rows are locked)"),
        ("skips", "for update skip locked", "data (what it reads depends on which rows are locked)"),
    ] {
        run(&format!(
            "create procedure {name}(me int) language plpgsql as $$ declare one int; begin \
             select id into one from queue order by id limit 1 {clause}; \
             update queue set taken_by = me where id = one; end $$"
        ));
        let explained = run(&format!("explain call {name}(1)"));
        let text: Vec<&str> = explained.iter().filter_map(|row| row[0].as_str()).collect();
        assert!(text.concat().contains(&format!("Logging: {expected}")), "{name}: {text:?}");
    }
}

/// Otherwise the thread would be unavailable to other sessions until everything is undone.
#[test]
fn a_session_that_is_dropped_undoes_what_it_did_as_a_guest() {
    #[derive(Clone, Default)]
    struct Told(Arc<AtomicUsize>);
    impl Host for Told {
        fn overstayed(&mut self, _: Duration) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let config = Config {
        protocol: ProtocolKind::None,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    connection.execute("create table t (id int primary key)", &[]).expect("a table");
    connection.execute("begin", &[]).expect("a transaction");
    connection.execute("insert into t select g from generate_series(1, 200000) g", &[]).expect("rows");
    let told = Told::default();
    connection.session().set_host(Box::new(told.clone()));
    drop(connection);
    assert!(told.0.load(Ordering::Relaxed) > 0, "nobody was told");
    let mut connection = database.connect().expect("a connection");
    assert_eq!(connection.query("select count(*) from t", &[]).expect("a count"), [[Value::BigInt(0)]]);
}
