//! `cargo xtask hostile`: hostile clients and circumstances, against the real server.
//!
//! Each group of attacks has a file of its own with a table: what is done, and what must hold. All of them
//! run, whatever fails. The report says for each attack whether the condition has held, how long the other
//! sessions waited for `select 1` meanwhile, how much memory the server took at most against its limit, and
//! whether its process ended by itself.
//!
//! * `slow`: statements that compute for long; other sessions are answered, and the statements can be
//!   cancelled;
//! * `loops`: loops of a role without rights, from more sessions than there are workers; the same, and the
//!   server ends in time;
//! * `abandoned`: clients that go away in the middle of a statement; it ends, and its locks are free;
//! * `functions`: every SQL function with arguments that make the largest results; none ends the process;
//! * `too_much_memory`: statements that need more than there is; they fail, and no others do;
//! * `wire`: bytes that no proper client sends, made from a seed;
//! * `handshakes`: connections that are never completed; others get in, cancel requests get through;
//! * `logins`: SCRAM messages that are broken, forged or replayed, and passwords that are guessed;
//! * `rights`: roles that try more than they may, and rights that are revoked;
//! * `http`: the operator's HTTP port;
//! * `files`: who may read the data; directories that must not be opened;
//! * `logging`: a log that cannot be written;
//! * `signals`, `poisoned`: what an operator and a supervisor rely on;
//! * `readers`: serializable transactions that read very much; they hold up no writers;
//! * `masses`: many connections, statements, portals, savepoints; `sessions`: timeouts.
//!
//! `--brief` is the part of `cargo xtask test`: each attack is short, and the only bound on time is "answered
//! at all", because the machine may be busy with other work.

mod abandoned;
mod client;
mod files;
mod functions;
mod ground;
mod handshakes;
mod http;
mod logging;
mod logins;
mod loops;
mod masses;
mod ping;
mod poisoned;
mod readers;
mod report;
mod rights;
mod sessions;
mod signals;
mod slow;
mod too_much_memory;
mod wire;

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::ground::Ground;
use self::report::{HEADING, Outcome, Verdict};
use crate::server::hyades_binary;
use crate::tools;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these groups.
    groups: Vec<String>,
    /// Short attacks, no limits on time: what `cargo xtask test` runs.
    #[arg(long)]
    brief: bool,
    /// Build and attack the release profile.
    #[arg(long)]
    release: bool,
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Also this many single faults on log directories (`sim/tests/single_faults.rs`): each is refused or
    /// changes nothing.
    #[arg(long, value_name = "N", default_value_t = 0)]
    faults: u32,
    /// The seed of everything drawn at random.
    #[arg(long)]
    seed: Option<u64>,
}

type Group = (&'static str, fn(&Ground, &mut dyn FnMut(Verdict)));

const GROUPS: [Group; 17] = [
    ("slow", slow::run),
    ("loops", loops::run),
    ("abandoned", abandoned::run),
    ("memory", too_much_memory::run),
    ("functions", functions::run),
    ("wire", wire::run),
    ("handshakes", handshakes::run),
    ("logins", logins::run),
    ("rights", rights::run),
    ("http", http::run),
    ("files", files::run),
    ("logging", logging::run),
    ("signals", signals::run),
    ("poisoned", poisoned::run),
    ("masses", masses::run),
    ("sessions", sessions::run),
    ("readers", readers::run),
];

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(unknown) = options.groups.iter().find(|name| GROUPS.iter().all(|(group, _)| group != name)) {
        let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        bail!("there is no group \"{unknown}\"; there are: {}", names.join(", "));
    }
    // Attacks open thousands of sockets.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let binary = hyades_binary(options.server.as_deref(), options.release)?;
    let scratch = tools::scratch_directory(None)?;
    let ground = Ground {
        help: tools::output_of(Command::new(&binary).args(["serve", "--help"]))?,
        binary,
        directory: scratch.path().to_owned(),
        brief: options.brief,
        seed: options.seed.unwrap_or_else(rand::random),
        faults: options.faults,
        next: Cell::new(0),
    };
    println!("hostile: seed {}", ground.seed);
    let start = Instant::now();
    let mut verdicts = Vec::new();
    for (name, group) in GROUPS {
        if !options.groups.is_empty() && !options.groups.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("== {name}\n{HEADING}");
        group(&ground, &mut |verdict| {
            println!("{}", verdict.line());
            verdicts.push(verdict);
        });
    }
    summarize(&verdicts, start.elapsed().as_secs_f64())
}

fn summarize(verdicts: &[Verdict], seconds: f64) -> Result<()> {
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.failed()).collect();
    let aborts = verdicts.iter().filter(|verdict| verdict.aborted).count();
    let skipped = verdicts.iter().filter(|verdict| matches!(verdict.outcome, Outcome::Skipped(_))).count();
    let longest = verdicts.iter().filter_map(|verdict| verdict.observed.pings).map(|pings| pings.max).max();
    println!(
        "== hostile: {} attacks, {} failed, {skipped} skipped, {aborts} aborts, longest answer to a ping {:.1} ms, {seconds:.0} s",
        verdicts.len(),
        failed.len(),
        longest.unwrap_or_default() as f64 / 1e3
    );
    if failed.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        failed.iter().map(|verdict| format!("{}: {}", verdict.group, verdict.name)).collect();
    bail!("attacks succeeded:\n  {}", names.join("\n  "))
}
