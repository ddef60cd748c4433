//! The `hyades` command.

mod allocator;
mod arguments;
mod machine_memory;

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use hyades::types::memory::Counted;
use hyades_server::scram::Verifier;
use hyades_server::serve::{Ended, Sentence};
use hyades_server::{
    analyze_command, backup_command, log_command, logging, recover_command, serve, study_command,
    top_command, users,
};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::allocator::Mimalloc;
use crate::arguments::{Arguments, Command, ServeArguments};

#[global_allocator]
static ALLOCATOR: Counted<Mimalloc> = Counted(Mimalloc);

/// The exit code of a server that ended because its database was poisoned. A new process may have more luck.
const POISONED_EXIT_CODE: u8 = 3;

fn main() -> ExitCode {
    machine_memory::give_back_soon();
    let outcome = match Arguments::parse().command {
        Command::Serve(arguments) => match serve_until_ended(*arguments) {
            Ok(Ended::Stopped) => Ok(()),
            Ok(Ended::Poisoned) => return ExitCode::from(POISONED_EXIT_CODE),
            Err(sentence) => Err(sentence),
        },
        Command::Bench(arguments) => machine_memory::reserve(arguments.reserve_memory_mib)
            .and_then(|()| hyades_bench::command_line::run(&arguments).map_err(|error| format!("{error:#}"))),
        Command::Log(command) => log_command::run(&command),
        Command::Study(command) => study_command::run(&command),
        Command::Analyze(arguments) => analyze_command::run(&arguments),
        Command::Recover(arguments) => recover_command::run(&arguments),
        Command::Backup(arguments) => backup_command::run_backup(&arguments),
        Command::Restore(arguments) => backup_command::run_restore(&arguments),
        Command::Check(arguments) => backup_command::run_check(&arguments),
        Command::Top(arguments) => top_command::run(&arguments),
        Command::Password { user, superuser } => print_user_line(&user, superuser),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            logging::complain(&sentence);
            ExitCode::FAILURE
        }
    }
}

fn serve_until_ended(arguments: ServeArguments) -> Result<Ended, Sentence> {
    let (format, level) = arguments.log();
    let _logging =
        logging::start(format, level).map_err(|error| format!("could not start threads: {error}"))?;
    let mib = arguments.reserve_memory_mib;
    let options = arguments.options()?;
    machine_memory::reserve(mib)?;
    serve::run(options)
}

fn print_user_line(user: &str, is_superuser: bool) -> Result<(), Sentence> {
    if user.is_empty() || user.contains([':', '\n', '#']) {
        return Err(
            "a user's name must not be empty nor contain a colon, a number sign or a line break".to_owned()
        );
    }
    let password = read_password().map_err(|error| format!("could not read a password: {error}"))?;
    if password.is_empty() {
        return Err("the password is empty".to_owned());
    }
    println!("{}", users::line(user, &Verifier::of_password(&password), is_superuser));
    Ok(())
}

/// Reads one line of standard input, without echo when that is a terminal.
fn read_password() -> std::io::Result<String> {
    let input = std::io::stdin();
    let mut line = String::new();
    if input.is_terminal() {
        eprint!("Password: ");
        let before = tcgetattr(&input)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Flush, &silent)?;
        let read = input.lock().read_line(&mut line);
        tcsetattr(&input, OptionalActions::Flush, &before)?;
        eprintln!();
        read?;
    } else {
        input.lock().read_line(&mut line)?;
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
