//! `cargo xtask regression --source DIR`: PostgreSQL's own regression files on PostgreSQL and on Hyades,
//! statement by statement.
//!
//! `harness/regression/pgregress.py` runs them, and this command counts the results. A statement agrees when
//! both give the same rows, the same command tag or the same SQLSTATE. EXPLAIN, and statements for which
//! PostgreSQL's own results vary, are left out. Two kinds of differences are distinguished: what Hyades
//! refuses, which is missing work, and what it answers differently: with other rows, with the same rows in
//! another order despite an ORDER BY (whose keys are equal, then), or at all, where PostgreSQL has an error.
//! Each such answer must be listed in `harness/regression/reasons.txt`, or the command fails:
//!
//! ```text
//! file:line of PostgreSQL 15.18 | why
//! ```
//!
//! `--write` puts the figures into `docs/regression.md`.
//!
//! The files belong to PostgreSQL's source (Debian: `apt-get source postgresql-15`) and are not kept here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::server::{Instance, PASSWORD, PostgreSql, System, hyades_binary};
use crate::tools;

const START_LIMIT: Duration = Duration::from_secs(60);
const PROGRAM: &str = "harness/regression/pgregress.py";
const REASONS: &str = "harness/regression/reasons.txt";
const REPORT: &str = "docs/regression.md";

/// The share of statements of a tier that must agree, in percent.
const TIERS: [(&str, u64); 2] = [("1", 85), ("2", 66)];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// PostgreSQL's unpacked source.
    #[arg(long)]
    source: PathBuf,
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Writes docs/regression.md.
    #[arg(long)]
    write: bool,
}

/// Statements by result.
#[derive(Clone, Copy, Default)]
struct Count {
    all: u64,
    agree: u64,
    /// Those that return rows on PostgreSQL.
    queries: u64,
    agreeing_queries: u64,
    refused: u64,
    differ: u64,
    /// Of those that differ: other rows, or no answer at all.
    wrong: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.all += other.all;
        self.agree += other.agree;
        self.queries += other.queries;
        self.agreeing_queries += other.agreeing_queries;
        self.refused += other.refused;
        self.differ += other.differ;
        self.wrong += other.wrong;
    }

    /// Counts a statement. Returns whether its answer differs or is missing.
    fn see(&mut self, record: &Value) -> bool {
        let verdict = record["verdict"].as_str().unwrap_or_default();
        if matches!(verdict, "explain" | "unstable" | "skipped") {
            return false;
        }
        let sql = record["sql"].as_str().unwrap_or_default().trim_start().to_ascii_lowercase();
        let begins = |word: &&str| sql.starts_with(word);
        let gives_rows = ["select", "values", "table", "with", "("].iter().any(begins)
            && !matches!(verdict, "error" | "other_error" | "tag");
        let agrees = matches!(verdict, "rows" | "tag" | "error");
        let is_wrong = matches!(verdict, "wrong" | "hang" | "timeout" | "lost" | "crash");
        let differs = is_wrong || matches!(verdict, "order" | "accepted");
        self.add(Count {
            all: 1,
            agree: u64::from(agrees),
            queries: u64::from(gives_rows),
            agreeing_queries: u64::from(gives_rows && agrees),
            refused: u64::from(matches!(verdict, "refused" | "other_error" | "follow" | "accepted_follow")),
            differ: u64::from(differs),
            wrong: u64::from(is_wrong),
        });
        differs
    }
}

/// How the answer to this statement differs.
fn kind_of(statement: &Value) -> &'static str {
    match statement["verdict"].as_str() {
        Some("order") => "other order",
        Some("accepted") => "no error",
        Some("wrong") => "other rows",
        _ => "no answer",
    }
}

fn percent(part: u64, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = hyades_binary(options.server.as_deref(), false)?;
    let scratch = tools::scratch_directory(None)?;
    let system = System::PostgreSql(PostgreSql { settings: vec!["fsync=off".to_owned()] });
    let peer = Instance::create(system, scratch.path().join("peer"), Vec::new())?;
    let (mut server, _) = peer.start_ready(START_LIMIT)?;
    let [_, host, _, port, _, user] = &peer.client_arguments()[..] else {
        bail!("the harness names host, port and user");
    };
    let reasons = reasons()?;
    let (mut unexplained, mut seen) = (Vec::new(), BTreeMap::new());
    let mut report = String::from(HEAD);
    for (tier, wanted) in TIERS {
        let found = scratch.path().join(format!("tier-{tier}.json"));
        let mut command = Command::new("python3");
        command.arg(tools::repository_root().join(PROGRAM)).env("PGPASSWORD", PASSWORD);
        command.args(["--pg", &format!("{host}:{port}"), "--user", user, "--tier", tier, "--quiet"]);
        command.args(["--port", &free_port()?.to_string()]);
        command.arg("--bin").arg(&binary).arg("--src").arg(&options.source).arg("--json").arg(&found);
        tools::output_of(&mut command)?;
        let records: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&std::fs::read(&found)?)?;
        let mut sum = Count::default();
        writeln!(report, "\n## Tier {tier}: at least {wanted} % are wanted\n\n{TABLE}")?;
        for (file, statements) in &records {
            let mut count = Count::default();
            for statement in statements {
                if !count.see(statement) {
                    continue;
                }
                let place = format!("{file}:{}", statement["line"]);
                if !reasons.contains_key(&place) {
                    unexplained.push(format!("{place} {}: {}", statement["verdict"], statement["sql"]));
                }
                seen.insert(place, kind_of(statement));
            }
            report.push_str(&line(file, count));
            sum.add(count);
        }
        report.push_str(&line("all", sum));
    }
    server.kill()?;
    report.push_str("\n## Answers that differ, and why\n\n| statement | here | why |\n|---|---|---|\n");
    for (place, kind) in &seen {
        if let Some(reason) = reasons.get(place) {
            writeln!(report, "| {place} | {kind} | {reason} |")?;
        }
    }
    print!("{report}");
    if options.write {
        std::fs::write(tools::repository_root().join(REPORT), &report)?;
    }
    if !unexplained.is_empty() {
        bail!("answers that differ without a reason in {REASONS}:\n{}", unexplained.join("\n"));
    }
    Ok(())
}

const HEAD: &str = "# PostgreSQL's regression files on Hyades

Written by `cargo xtask regression --source DIR --write` (`harness/src/regression.rs` says what is counted). A statement agrees when it
gives the same rows, command tag or SQLSTATE as PostgreSQL 15; *refused* ones fail here only, or otherwise, or meet a table that an earlier one
could not make; *differ* are answers that are not PostgreSQL's: each stands at the end with its reason. *wrong* are those of them with other
rows; the others have the same rows in another order where the keys of ORDER BY are equal, or a result where PostgreSQL has an error.
";

const TABLE: &str = "| file | statements | agree | % | queries | agree | % | refused | differ | wrong |\n|---|---|---|---|---|---|---|---|---|---|";

fn line(name: &str, count: Count) -> String {
    let Count { all, agree, queries, agreeing_queries, refused, differ, wrong } = count;
    format!(
        "| {name} | {all} | {agree} | {:.1} | {queries} | {agreeing_queries} | {:.1} | {refused} | {differ} | {wrong} |\n",
        percent(agree, all),
        percent(agreeing_queries, queries)
    )
}

/// The places of statements, and why their answers differ.
fn reasons() -> Result<BTreeMap<String, String>> {
    let path = tools::repository_root().join(REASONS);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut reasons = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (places, reason) = line.split_once('|').with_context(|| format!("no reason: {line}"))?;
        for place in places.split_whitespace() {
            reasons.insert(place.to_owned(), reason.trim().to_owned());
        }
    }
    Ok(reasons)
}

/// A port on which nothing listens now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
