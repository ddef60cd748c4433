//! `cargo xtask ci`: what every change must pass, with the checks that find mistakes most cheaply first.
//!
//! All steps run even when an early one fails, except that nothing is tested that does not compile. The
//! summary at the end names each with its time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use xtask::tools;

use crate::harness;

struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped,
}

pub(crate) fn run() -> Result<()> {
    let mut steps = Vec::new();
    let mut step = |name: &'static str, work: &dyn Fn() -> Result<()>| {
        println!("== {name}");
        let start = Instant::now();
        let outcome = match work() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                eprintln!("{name}: {error:#}");
                Outcome::Failed(format!("{error:#}"))
            }
        };
        let passed = matches!(outcome, Outcome::Passed);
        steps.push(Step { name, outcome, took: start.elapsed() });
        passed
    };

    step("fmt", &|| {
        tools::run(tools::cargo().args(["fmt", "--all", "--check"]))?;
        // It is a workspace of its own.
        tools::run(tools::cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))
    });
    step("tidy", &crate::tidy::run);
    let compiles = step("clippy", &|| {
        tools::run(tools::cargo().args([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    });
    if compiles {
        step("loom", &|| harness::run(&["loom"]));
        step("procedures", &|| harness::run(&["procedures"]));
        step("agree", &|| harness::run(&["agree"]));
        step("dump", &|| harness::run(&["dump"]));
        step("backslash", &|| harness::run(&["backslash"]));
        step("test", &|| crate::test::run(&crate::test::Options::default()));
    } else {
        steps.push(Step { name: "test", outcome: Outcome::Skipped, took: Duration::ZERO });
    }
    summarize(&steps)
}

fn summarize(steps: &[Step]) -> Result<()> {
    println!("\n== summary");
    for step in steps {
        let outcome = match &step.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped => "not run: the code does not pass clippy",
        };
        println!("{:<10} {:>6.1} s  {outcome}", step.name, step.took.as_secs_f64());
    }
    let failed: Vec<&str> =
        steps.iter().filter(|step| !matches!(step.outcome, Outcome::Passed)).map(|step| step.name).collect();
    if failed.is_empty() {
        println!("all passed");
        return Ok(());
    }
    for step in steps {
        if let Outcome::Failed(why) = &step.outcome {
            let first = why.lines().next().unwrap_or_default();
            eprintln!("{}: {first}", step.name);
        }
    }
    bail!("not passed: {}", failed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_the_whole() {
        let step = |outcome| Step { name: "x", outcome, took: Duration::ZERO };
        assert!(summarize(&[step(Outcome::Passed)]).is_ok());
        assert!(summarize(&[step(Outcome::Passed), step(Outcome::Failed("why".into()))]).is_err());
        assert!(summarize(&[step(Outcome::Skipped)]).is_err());
    }
}
