//! A round: one database, some generated calls, a power cut, a recovery.
//!
//! Each call is first explained. What EXPLAIN promises must be true of what the call looks at: the time of
//! day makes it data, and everything else must be captured. After the power cut, recovery must find exactly
//! the state that was there. In half of the rounds calls also leave their after-images, which must lead to
//! the same state. Three sessions with different users, databases and time zones take turns, so that a
//! replay under the surroundings of another call is noticed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use hyades::engine::db::{Flow, Interrupt};
use hyades::engine::recovery::{recover, tables_hash};
use hyades::engine::storage::databases::Databases;
use hyades::session::{Notice, Output, Session, SessionOptions};
use hyades::types::function::LooksAt;
use hyades::{Config, Database, Error, Result, Value};
use hyades_sim::disk::SimulatedDisk;

use super::generator::{Generator, Program, tables};

pub(crate) fn config(disk: &SimulatedDisk) -> Config {
    Config {
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        recovery_workers: 2,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

/// The results of the calls.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commands: usize,
    pub(crate) data: usize,
    /// Calls that failed when they ran, and left nothing.
    pub(crate) failed: usize,
    /// Programs that did not compile.
    pub(crate) refused: usize,
    /// Calls that succeeded, by clause.
    pub(crate) clauses: BTreeMap<&'static str, usize>,
    /// An error for each SQLSTATE and clause, for review.
    pub(crate) errors: BTreeMap<String, String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.commands += other.commands;
        self.data += other.data;
        self.failed += other.failed;
        self.refused += other.refused;
        self.errors.extend(other.errors);
        for (clause, count) in other.clauses {
            *self.clauses.entry(clause).or_default() += count;
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.commands + self.data
    }
}

/// Collects the texts of rows.
#[derive(Default)]
struct Texts(Vec<String>);

impl Output for Texts {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.extend(values.iter().filter_map(|value| value.as_str().map(str::to_owned)));
        Ok(())
    }
    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _notice: Notice) {}
    fn restart(&mut self) {
        self.0.clear();
    }
}

/// A session that waits until its work is durable.
pub(crate) struct Client(Session);

fn wait<T>(session: &mut Session, mut call: impl FnMut(&mut Session) -> Flow<T>) -> Result<T> {
    loop {
        match call(session) {
            Ok(value) => return Ok(value),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

impl Client {
    pub(crate) fn new(database: &Database, user: &str, name: &str, time_zone: &str) -> Client {
        let options = SessionOptions {
            user: user.to_owned(),
            database: name.to_owned(),
            parameters: vec![("TimeZone".to_owned(), time_zone.to_owned())],
            ..SessionOptions::default()
        };
        Client(database.session(options).expect("a session"))
    }

    /// Runs a statement; returns the texts of its rows.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<String>> {
        let mut texts = Texts::default();
        let prepared = wait(&mut self.0, |session| session.prepare(sql, &[]));
        let outcome = prepared
            .and_then(|prepared| wait(&mut self.0, |session| session.execute(&prepared, &[], &mut texts)))
            .and_then(|_| wait(&mut self.0, Session::end_implicit));
        self.0.pending_durability().wait()?;
        outcome.map(|()| texts.0)
    }
}

/// Whether the text of EXPLAIN can be true of something that looks at this. Returns whether it says
/// command.
fn check_promise(logging: &str, looks_at: LooksAt) -> std::result::Result<bool, String> {
    if logging.starts_with("data (") {
        return Ok(false);
    }
    let captures = |what: &str| logging.contains(what);
    let is_kept = logging.starts_with("command (")
        && !looks_at.clock
        && !looks_at.catalog
        && (!looks_at.times || captures("the time"))
        && (!looks_at.chance || captures("a seed of random numbers"))
        && (!looks_at.identity || captures("user, database and time zone"));
    if is_kept { Ok(true) } else { Err(format!("EXPLAIN says \"{logging}\" of what looks at {looks_at:?}")) }
}

fn told(program: &Program) -> String {
    format!("({})\n{};\n{};\n{};", program.clause, program.setup.join(";\n"), program.create, program.call)
}

fn call(client: &mut Client, program: &Program, tally: &mut Tally) -> std::result::Result<(), String> {
    let note = |tally: &mut Tally, error: &Error| {
        let key = format!("{} {}", error.sqlstate().0, program.clause);
        tally.errors.entry(key).or_insert_with(|| format!("{error}: {}", program.create));
    };
    for statement in program.setup.iter().chain([&program.create]) {
        if let Err(error) = client.run(statement) {
            tally.refused += 1;
            note(tally, &error);
            return Ok(());
        }
    }
    let lines = match client.run(&format!("explain {}", program.call)) {
        Ok(lines) => lines,
        // The body has an operator that does not exist, which creating the procedure does not tell.
        Err(error) => {
            tally.refused += 1;
            note(tally, &error);
            return Ok(());
        }
    };
    let logging = lines.iter().find_map(|line| line.trim().strip_prefix("Logging: "));
    let logging = logging.ok_or_else(|| format!("EXPLAIN says {lines:?}"))?;
    let is_command =
        check_promise(logging, program.looks_at).map_err(|error| format!("{error}\n{}", told(program)))?;
    match client.run(&program.call) {
        Err(error) => {
            tally.failed += 1;
            note(tally, &error);
        }
        Ok(_) => {
            tally.commands += usize::from(is_command);
            tally.data += usize::from(!is_command);
            *tally.clauses.entry(program.clause).or_default() += 1;
        }
    }
    Ok(())
}

/// The hash of the tables that a start would find.
fn recovered(disk: &SimulatedDisk, replay_images: bool) -> std::result::Result<u64, String> {
    let databases = Arc::new(Databases::new());
    let config = Config { replay_images, ..config(disk) };
    recover(&config, Some(hyades::routine_compiler()), &databases)
        .map_err(|error| format!("the database does not open again: {error}"))?;
    tables_hash(&databases.tables()).map_err(|error| error.to_string())
}

/// See the module head.
fn attempt(
    generator: &mut Generator,
    numbers: Range<usize>,
    seed: u64,
) -> std::result::Result<Tally, String> {
    let disk = SimulatedDisk::new(seed);
    let has_images = (numbers.start / 100).is_multiple_of(2);
    let database = Database::open(Config { command_images: has_images, ..config(&disk) })
        .map_err(|error| error.to_string())?;
    let mut clients = [
        Client::new(&database, "alice", "hyades", "Europe/Berlin"),
        Client::new(&database, "bob", "hyades", "Asia/Kolkata"),
        Client::new(&database, "carol", "hyades", "America/New_York"),
    ];
    for sql in tables() {
        clients[0].run(&sql).map_err(|error| format!("{error}: {sql}"))?;
    }
    let mut tally = Tally::default();
    for number in numbers {
        let program = generator.program(number);
        call(&mut clients[number % 3], &program, &mut tally)?;
    }
    let live = tables_hash(&database.engine().tables()).map_err(|error| error.to_string())?;
    disk.crash_now();
    let found = disk.after_power_cut(seed);
    if recovered(&found, false)? != live {
        return Err("recovery finds another state than was there".to_owned());
    }
    if has_images && recovered(&found, true)? != live {
        return Err("the after-images are not what was there".to_owned());
    }
    Ok(tally)
}

/// Like [`attempt`]. If it fails, and a call also fails alone, the error names that call.
pub(crate) fn round(seed: u64, numbers: Range<usize>) -> std::result::Result<Tally, String> {
    let mut generator = Generator::new(seed);
    attempt(&mut generator, numbers.clone(), seed).map_err(|error| {
        for number in numbers.clone() {
            if let Err(alone) = attempt(&mut generator, number..number + 1, seed) {
                return format!("seed {seed}, call {number}: {alone}\n{}", told(&generator.program(number)));
            }
        }
        format!("seed {seed}, calls {numbers:?}, but none of them alone: {error}")
    })
}
