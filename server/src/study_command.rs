//! `hyades study`: figures of the papers and our own, measured here; and what can be learnt from a database
//! without serving it.
//!
//! Files:
//! * [`replay_model`]: how long the replay of the logs of a database takes, measured and simulated.

pub mod replay_model;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use hyades_study::study::{Size, Study};
use hyades_study::{list, run};

use crate::log_command::Failure;
use crate::serve::Sentence;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct StudyArguments {
    #[command(subcommand)]
    command: Option<StudyCommand>,
    /// Studies to run, or all.
    #[arg(value_parser = names(), hide_possible_values = true)]
    names: Vec<String>,
    /// Where results and pages go. What is there is not measured again.
    #[arg(long, value_name = "FOLDER", default_value = "hyades-study")]
    out: PathBuf,
    /// Short measurements, for trying out: they are no figures.
    #[arg(long)]
    quick: bool,
    /// A document in Markdown whose tables are written anew, between marks such as
    /// "<!-- begin: hyades study protocols -->".
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
}

#[derive(Subcommand)]
enum StudyCommand {
    /// Lists the studies.
    List,
    /// How much faster more workers would replay the logs of a database: simulated, and measured with as many
    /// as there are processors.
    ReplayModel(replay_model::ReplayModelArguments),
}

/// The names of all studies, and `all`.
fn names() -> PossibleValuesParser {
    let studies = list::all().map(|study| PossibleValue::new(study.name).help(study.title));
    PossibleValuesParser::new(studies.chain([PossibleValue::new("all").help("every study")]))
}

/// Runs the command; what it prints goes to standard output.
///
/// # Errors
/// A sentence for the user.
pub fn run(arguments: &StudyArguments) -> Result<(), Sentence> {
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match &arguments.command {
        Some(StudyCommand::List) => print_list(&mut out),
        Some(StudyCommand::ReplayModel(arguments)) => replay_model::run(arguments, &mut out),
        None => run_studies(arguments, &mut out),
    };
    match outcome.and_then(|()| out.flush().map_err(Failure::from)) {
        Ok(()) => Ok(()),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Failure::Output(error)) => Err(format!("could not print: {error}")),
        Err(Failure::Sentence(sentence)) => Err(sentence),
    }
}

fn print_list(out: &mut dyn Write) -> Result<(), Failure> {
    for Study { name, title, source, evidence, .. } in list::all() {
        writeln!(out, "{name:<14} {title} ({source}); {}", evidence.sentence())?;
    }
    Ok(())
}

fn run_studies(arguments: &StudyArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let is_wanted = |study: &&Study| arguments.names.iter().any(|name| name == "all" || name == study.name);
    let studies: Vec<&'static Study> = list::all().filter(is_wanted).collect();
    let options = run::Options {
        folder: arguments.out.clone(),
        size: if arguments.quick { Size::Quick } else { Size::Full },
        document: arguments.document.clone(),
    };
    run::run(&studies, &options, out).map_err(|error| Failure::Sentence(format!("{error:#}")))
}
