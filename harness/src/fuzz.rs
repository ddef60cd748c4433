//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/` one after the other.
//!
//! The targets are libFuzzer programs in a workspace of their own, built with nightly and AddressSanitizer.
//! No cargo plug-in is needed: the flags below turn coverage feedback on.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools;

/// Every fuzz target: a file `fuzz/targets/<name>.rs`.
const TARGETS: &[&str] = &["log_decoder", "wire_decoder", "sql_entry"];

/// Instruments every edge and comparison. libFuzzer is guided by these counters.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions -Zsanitizer=address";

/// A target that allocates more than this has an unbounded allocation.
const MEMORY_LIMIT_MEBIBYTES: u32 = 1024;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this target.
    target: Option<String>,
    /// Time for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen: Vec<&str> = match &options.target {
        None => TARGETS.to_vec(),
        Some(name) => match TARGETS.iter().find(|target| *target == name) {
            Some(target) => vec![target],
            None => bail!("no fuzz target {name}; there are {}", TARGETS.join(", ")),
        },
    };
    let fuzz_directory = tools::repository_root().join("fuzz");
    let target_directory = tools::target_directory().join("fuzz");
    let triple = host_triple()?;
    tools::run(
        tools::cargo_of("nightly")
            .args(["build", "--release", "--target", &triple])
            .current_dir(&fuzz_directory)
            .env("RUSTFLAGS", COVERAGE_FLAGS)
            .env("CARGO_TARGET_DIR", &target_directory),
    )
    .context("the fuzz targets need a nightly toolchain: rustup toolchain install nightly")?;
    for name in chosen {
        let program = target_directory.join(&triple).join("release").join(name);
        fuzz_one(name, &program, &fuzz_directory, options.seconds)?;
    }
    Ok(())
}

fn fuzz_one(name: &str, program: &Path, fuzz_directory: &Path, seconds: u32) -> Result<()> {
    println!("== fuzz {name} for {seconds} s");
    let corpus = fuzz_directory.join("corpus").join(name);
    let artifacts = fuzz_directory.join("artifacts").join(name);
    for directory in [&corpus, &artifacts] {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let mut command = Command::new(program);
    command
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_LIMIT_MEBIBYTES}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=10", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"]);
    let dictionary = fuzz_directory.join("dictionaries").join(name);
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let seeds = fuzz_directory.join("seeds").join(name);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name}: {}; the input is in {}\n{printed}", output.status, artifacts.display());
    }
    let statistic = |stat: &str| statistic(&printed, stat).unwrap_or("unknown");
    println!(
        "{name}: no failure, {} inputs, {} kept, at most {} MiB",
        statistic("number_of_executed_units"),
        statistic("new_units_added"),
        statistic("peak_rss_mb")
    );
    Ok(())
}

/// Parses one of libFuzzer's final statistics.
fn statistic<'a>(printed: &'a str, name: &str) -> Option<&'a str> {
    printed
        .lines()
        .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

fn host_triple() -> Result<String> {
    let version = tools::output_of(Command::new("rustc").arg("-vV"))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc -vV names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read() {
        let printed =
            "INFO: x\nstat::number_of_executed_units: 329351\nstat::peak_rss_mb:              344\n";
        assert_eq!(statistic(printed, "number_of_executed_units"), Some("329351"));
        assert_eq!(statistic(printed, "peak_rss_mb"), Some("344"));
        assert_eq!(statistic(printed, "new_units_added"), None);
    }

    #[test]
    fn every_target_has_a_file() {
        for name in TARGETS {
            let file = tools::repository_root().join("fuzz/targets").join(name).with_extension("rs");
            assert!(file.is_file(), "{}", file.display());
        }
    }
}
