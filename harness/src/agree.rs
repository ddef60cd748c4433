//! `cargo xtask agree`: random schemas, data, queries and changes, made from seeds, on Hyades and on a
//! PostgreSQL that is started for it.
//!
//! Each seed is a schema of its own: two to four tables with keys, indexes and few rows, a view, triggers,
//! then statements. After a change all tables are compared, and the log that the triggers write. A
//! statement whose results differ is shrunk (`fragment`) and printed with the statements that make its
//! tables, ready to become a script of `sql/tests/scripts`. Statements that Hyades refuses as unsupported are
//! counted by message, and are not differences. A change on which both agree is made in both.
//!
//! Nothing in the repository changes. Reference for the method: Rigger and Su, "Testing Database Engines via
//! Pivoted Query Synthesis" (OSDI 2020), section 2, which discusses differential testing.

mod compare;
mod expression;
mod fragment;
mod query;
mod schema;
mod trigger;
mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use self::compare::{Pair, Verdict, judge};
use self::query::Generator;
use self::schema::Schema;
use crate::server::{Control, Hyades, Instance, PostgreSql, System, hyades_binary};
use crate::tools;

/// The default seeds, also used by `cargo xtask ci`.
const CI_SEEDS: &str = "1..10";
/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
/// The number of statements for a seed.
const STATEMENTS: usize = 100;
/// How many simpler forms of a statement that differs are tried.
const SHRINKING_TRIALS: usize = 2000;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seeds, first..last; each makes a schema and a hundred statements.
    #[arg(long, default_value = CI_SEEDS)]
    seeds: String,
    /// Stop after this many differences.
    #[arg(long, default_value_t = 10)]
    differences: usize,
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The concurrency control of Hyades.
    #[arg(long, value_enum)]
    control: Option<Control>,
}

/// The results so far.
#[derive(Default)]
struct Tally {
    agreed: u64,
    skipped: u64,
    refused: BTreeMap<String, u64>,
    differences: usize,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let seeds = parse_seeds(&options.seeds)?;
    let directory = tools::scratch_directory(None)?;
    let binary = hyades_binary(options.server.as_deref(), false)?;
    let hyades = Hyades { control: options.control, ..Hyades::usual(binary) };
    let hyades = Instance::create(System::Hyades(hyades), directory.path().join("hyades"), Vec::new())?;
    let (mut running, _) = hyades.start_ready(START_LIMIT).context("Hyades")?;
    let system = System::PostgreSql(PostgreSql { settings: vec!["fsync=off".to_owned()] });
    let postgresql = Instance::create(system, directory.path().join("postgresql"), Vec::new())?;
    let (peer, _) = postgresql.start_ready(START_LIMIT).context("PostgreSQL")?;
    let mut tally = Tally::default();
    for seed in seeds {
        let mut pair = Pair::connect(&hyades, &postgresql)?;
        run_seed(seed, &mut pair, &mut tally)
            .with_context(|| format!("seed {seed}\n{}", running.log_tail()))?;
        if tally.differences >= options.differences {
            println!("stopped at {} differences", tally.differences);
            break;
        }
    }
    drop(peer);
    running.kill()?;
    summarize(&tally)
}

fn parse_seeds(text: &str) -> Result<std::ops::RangeInclusive<u64>> {
    let (first, last) = text.split_once("..").with_context(|| format!("`{text}` is not first..last"))?;
    Ok(first.parse()?..=last.trim_start_matches('=').parse()?)
}

fn run_seed(seed: u64, pair: &mut Pair, tally: &mut Tally) -> Result<()> {
    let mut random = StdRng::seed_from_u64(seed);
    let schema = Schema::generate(&mut random, &format!("s{seed}"));
    for statement in &schema.statements {
        pair.both(statement)?;
    }
    let mut history = schema.statements.clone();
    let mut generator = Generator::new(&mut random, &schema.tables);
    let log = format!("s{seed}_tlog");
    for statement in generator.triggers(&log) {
        pair.both(&statement)?;
        history.push(statement);
    }
    let changed: Vec<&str> =
        schema.relations().map(|(_, name)| name).chain(std::iter::once(log.as_str())).collect();
    for _ in 0..STATEMENTS {
        if generator.random.random_bool(0.3) {
            let change = generator.change();
            let text = change.text();
            let verdict = pair.tried_change(&text, &changed)?;
            if verdict == Verdict::Agree {
                // Both accept it, or both refuse it.
                let _ = pair.answers(&text)?;
                history.push(text);
            } else if tally.count(verdict) {
                let shrunk = change.shrink(SHRINKING_TRIALS, |text| {
                    pair.tried_change(text, &changed).is_ok_and(|verdict| verdict == Verdict::Differ)
                });
                report(seed, &shrunk.text(), &history, pair)?;
            }
            continue;
        }
        let query = generator.query();
        let (ours, theirs) = pair.answers_twice(&query.text())?;
        if tally.count(judge(&ours, &theirs)) {
            let shrunk = query.shrink(SHRINKING_TRIALS, |text| {
                pair.answers_twice(text).is_ok_and(|(ours, theirs)| judge(&ours, &theirs) == Verdict::Differ)
            });
            report(seed, &shrunk.text(), &history, pair)?;
        }
    }
    for (kind, name) in schema.relations().chain(std::iter::once(("table", log.as_str()))) {
        pair.both(&format!("drop {kind} {name}"))?;
    }
    Ok(())
}

impl Tally {
    /// Counts the verdict. Returns whether it is a difference.
    fn count(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Agree => self.agreed += 1,
            Verdict::Skipped => self.skipped += 1,
            Verdict::Refused(message) => *self.refused.entry(message).or_default() += 1,
            Verdict::Differ => {
                self.differences += 1;
                return true;
            }
        }
        false
    }
}

/// Prints the statement with all that it needs, and the results of both systems.
fn report(seed: u64, statement: &str, history: &[String], pair: &mut Pair) -> Result<()> {
    println!("-- seed {seed}");
    for made in history.iter().filter(|made| names_a_table_of(made, statement)) {
        println!("{made};");
    }
    pair.both("begin")?;
    let (ours, theirs) = pair.answers(statement)?;
    pair.both("rollback")?;
    println!("{statement};\n-- hyades:     {ours:?}\n-- postgresql: {theirs:?}\n");
    Ok(())
}

/// Whether both texts name the same table.
fn names_a_table_of(made: &str, statement: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c| !is_of_name(c)).filter(|word| word.contains("_t")).map(str::to_owned).collect()
    };
    let wanted = words(statement);
    words(made).iter().any(|word| wanted.contains(word))
}

fn summarize(tally: &Tally) -> Result<()> {
    let mut refused: Vec<(&String, &u64)> = tally.refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (message, count) in &refused {
        println!("refused {count:>6}: {message}");
    }
    let of_refused: u64 = tally.refused.values().sum();
    println!(
        "agree: {} statements agree, {of_refused} refused, {} skipped, {} differ",
        tally.agreed, tally.skipped, tally.differences
    );
    if tally.agreed == 0 {
        bail!("no statement was compared");
    }
    if tally.differences > 0 {
        bail!("Hyades and PostgreSQL differ");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range() {
        assert_eq!(parse_seeds("3..5").expect("a range").count(), 3);
        assert!(parse_seeds("3").is_err());
    }

    #[test]
    fn a_seed_makes_the_same_statements_each_time() {
        let made = || {
            let mut random = StdRng::seed_from_u64(7);
            let schema = Schema::generate(&mut random, "s7");
            let mut generator = Generator::new(&mut random, &schema.tables);
            let mut texts = schema.statements.clone();
            texts.extend(generator.triggers("s7_tlog"));
            texts.extend((0..50).map(|_| generator.query().text()));
            texts.extend((0..50).map(|_| generator.change().text()));
            texts
        };
        assert_eq!(made(), made());
    }
}
