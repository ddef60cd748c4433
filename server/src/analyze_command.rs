//! `hyades analyze`: what the calls of procedures cost at a restart, before there is a crash.
//!
//! A call that is logged as a command runs again when the log is replayed. How much of it runs, and how much
//! of that at the same time as other calls, is known from the source: this command prints which lines are
//! left, into which slices they are cut, what keeps slices together, and how the tables of all procedures
//! form blocks.
//!
//! Files:
//! * [`report`]: what is found, for people;
//! * [`text`], [`dot`], [`html`]: how it is shown.

pub mod dot;
pub mod html;
pub mod report;
pub mod text;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgGroup, Args, ValueEnum};
use hyades::session::SessionOptions;
use hyades::{Config, Database};
use hyades_engine::recovery::recover;
use hyades_engine::storage::databases::Databases;
use hyades_engine::storage::table::Table;

use self::report::Report;
use crate::log_command::Failure;
use crate::serve::{Sentence, with_hint};

#[derive(Args)]
#[command(group(ArgGroup::new("source").args(["data", "sql"]).required(true)))]
pub struct AnalyzeArguments {
    /// Procedures to analyse, as if the log held calls of these and of no others [default: all].
    #[arg(value_name = "ROUTINE")]
    routines: Vec<String>,
    /// Data directory of a stopped database. It is recovered in memory, and only read.
    #[arg(long)]
    data: Option<PathBuf>,
    /// A script that creates tables and procedures, such as the output of "pg_dump --schema-only"; "-" is
    /// standard input. May be given several times. Nothing is kept.
    #[arg(long, value_name = "FILE")]
    sql: Vec<PathBuf>,
    /// Tables that other statements write, which are logged as data.
    #[arg(long, value_name = "TABLE", value_delimiter = ',')]
    written: Vec<String>,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where it is written [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    /// The blocks, in Graphviz's language.
    Dot,
    /// One page that needs no network.
    Html,
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(arguments: &AnalyzeArguments) -> Result<(), Sentence> {
    let outcome = match &arguments.out {
        Some(path) => {
            fs::File::create(path).map_err(Failure::from).and_then(|mut file| analyze(arguments, &mut file))
        }
        None => analyze(arguments, &mut io::stdout().lock()),
    };
    outcome.map_err(|failure| match failure {
        Failure::Output(error) => format!("could not write: {error}"),
        Failure::Sentence(sentence) => sentence,
    })
}

fn analyze(arguments: &AnalyzeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let databases = match &arguments.data {
        Some(directory) => recovered(directory)?,
        None => made_by(&arguments.sql)?,
    };
    let tables = databases.tables();
    let mut written = BTreeSet::new();
    for name in &arguments.written {
        let has_name = |table: &&Arc<Table>| report::is_named(&table.definition().name, name);
        let Some(table) = tables.iter().find(has_name) else {
            return Err(Failure::Sentence(format!("there is no table \"{name}\"")));
        };
        written.insert(table.id());
    }
    let report = Report::of(&databases, &arguments.routines, &written).map_err(Failure::Sentence)?;
    let shown = match arguments.format {
        Format::Text => text::shown(&report),
        Format::Dot => dot::shown(&report),
        Format::Html => html::shown(&report),
    };
    out.write_all(shown.as_bytes())?;
    Ok(())
}

fn recovered(directory: &Path) -> Result<Arc<Databases>, Failure> {
    let inspection = hyades_engine::inspect::Inspection::open(directory)?;
    if inspection.is_in_use() == Some(true) {
        let message = "a server has this directory open; analyse its schema with \"pg_dump --schema-only ... | hyades analyze --sql -\"";
        return Err(Failure::Sentence(message.to_owned()));
    }
    let databases = Arc::new(Databases::new());
    recover(&Config::new(directory), Some(hyades::routine_compiler()), &databases)
        .map_err(|error| with_hint(&error, directory))?;
    Ok(databases)
}

/// Runs scripts in a database that is in memory only.
fn made_by(scripts: &[PathBuf]) -> Result<Arc<Databases>, Failure> {
    // Nothing is opened, and nothing is written anywhere.
    let database = Database::of_recovered(&Config::new("in memory"), Arc::new(Databases::new()))?;
    let mut connection = database.connect()?;
    for script in scripts {
        let is_input = script.as_os_str() == "-";
        let name = if is_input { "standard input".to_owned() } else { script.display().to_string() };
        let mut text = String::new();
        let read = match is_input {
            true => io::stdin().read_to_string(&mut text),
            false => fs::File::open(script).and_then(|mut file| file.read_to_string(&mut text)),
        };
        read.map_err(|error| format!("could not read {name}: {error}"))?;
        // psql's own commands, which pg_dump writes since 2025, are no SQL.
        let lines = text.lines().map(|line| if line.starts_with('\\') { "" } else { line });
        let text = lines.collect::<Vec<&str>>().join("\n");
        let mut session = database.session(SessionOptions::default())?;
        let statements = session.split(&text).map_err(|error| format!("{name}: {error}"))?;
        for (at, statement) in statements {
            connection.execute(&statement, &[]).map_err(|error| {
                let line = text.chars().take(at).filter(|char| *char == '\n').count() + 1;
                format!("{name}, line {line}: {error}")
            })?;
        }
    }
    Ok(Arc::clone(database.engine().databases()))
}
