//! `cargo xtask`: checks of the source, the order of `make test`, and the door to the harness.
//!
//! `tidy`, `test` and `ci` are commands of this program. Every other word is a command of the harness
//! (`harness/`), which is built and takes over; it alone knows its commands.
//!
//! Why two crates: a check of the source needs neither database drivers nor the product, and should not wait
//! until they are compiled. Why Rust: a program needs no shell dialect, is tested like the rest, and works
//! from any directory of the checkout.
//!
//! Invariant: no command of this program changes a tracked file.

mod ci;
mod harness;
mod test;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

/// Developer commands of Hyades.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything a change must pass: formatting, lints, tidy, loom models, procedures, dumps, tests.
    Ci,
    /// Checks limits, import directions and documents.
    Tidy,
    /// Runs all tests, then five crash rounds and some attacks against the real server.
    Test(test::Options),
    #[command(external_subcommand)]
    Harness(Vec<OsString>),
}

fn main() -> ExitCode {
    match run(asked(std::env::args_os().skip(1).collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: Vec<OsString>) -> Result<()> {
    if words == ["--help"] {
        CommandLine::command().print_help()?;
        println!();
        return harness::become_it(&words);
    }
    match CommandLine::parse_from(std::iter::once("xtask".into()).chain(words)).command {
        Command::Ci => ci::run(),
        Command::Tidy => tidy::run(),
        Command::Test(options) => test::run(&options),
        Command::Harness(words) => harness::become_it(&words),
    }
}

/// The words of the command line, with `--help` for all ways to ask for the commands of both programs, and
/// `crash --help` for `help crash`: the program that has a command also has its help.
fn asked(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_help = |word: &OsString| word == "help" || word == "--help" || word == "-h";
    if words.is_empty() {
        words.push("--help".into());
    } else if is_help(&words[0]) {
        words.remove(0);
        words.push("--help".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_ask_for_help() {
        let asked = |line: &str| asked(line.split_whitespace().map(OsString::from).collect());
        for line in ["", "help", "--help", "-h"] {
            assert_eq!(asked(line), ["--help"], "{line}");
        }
        assert_eq!(asked("help tidy"), ["tidy", "--help"]);
        assert_eq!(asked("crash --help"), ["crash", "--help"]);
        assert_eq!(asked("test --no-crash"), ["test", "--no-crash"]);
    }

    #[test]
    fn what_is_unknown_here_goes_to_the_harness() {
        let words = CommandLine::parse_from(["xtask", "crash", "--rounds", "2"]).command;
        assert!(matches!(words, Command::Harness(words) if words == ["crash", "--rounds", "2"]));
        assert!(matches!(CommandLine::parse_from(["xtask", "tidy"]).command, Command::Tidy));
    }
}
