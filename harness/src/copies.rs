//! `cargo xtask copies`: how long CREATE DATABASE .. TEMPLATE takes, and the first write to the copy, on
//! Hyades and on PostgreSQL in turn.
//!
//! The original has a table of 1 KiB rows with a primary key and another index, and a small table that
//! references it. Both servers keep what they acknowledge. Test runners copy such a database for each test.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};

use crate::server::{Hyades, Instance, PostgreSql, System, hyades_binary};
use crate::tools::{self, Spread};

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A hyades binary; the release build if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The size of the original, in MiB.
    #[arg(long, default_value_t = 100)]
    mebibytes: u32,
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// The times of one system, in seconds.
#[derive(Default)]
struct Times {
    copy: Vec<f64>,
    connect_and_write: Vec<f64>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = hyades_binary(options.server.as_deref(), true)?;
    let ours = System::Hyades(Hyades::usual(binary));
    let theirs = System::PostgreSql(PostgreSql { settings: Vec::new() });
    let directory = tools::scratch_directory(None)?;
    let mut running = Vec::new();
    for (name, system) in [("Hyades", ours), ("PostgreSQL", theirs)] {
        let instance = Instance::create(system, directory.path().join(name), Vec::new())?;
        let (server, _) = instance.start_ready(START_LIMIT)?;
        fill(&instance, options.mebibytes).context(name)?;
        running.push((name, instance, server, Times::default()));
    }
    for _ in 0..options.rounds {
        for (name, instance, _, times) in &mut running {
            round(instance, options.mebibytes, times).context(*name)?;
        }
    }
    println!(
        "a database of {} MiB, {} rounds, median [least .. most] in ms",
        options.mebibytes, options.rounds
    );
    for (name, _, _, Times { copy, connect_and_write }) in &running {
        println!(
            "{name:<11} copied in {}, connected and first written in {}",
            shown(copy),
            shown(connect_and_write)
        );
    }
    Ok(())
}

fn shown(seconds: &[f64]) -> String {
    let milliseconds: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e3).collect();
    match Spread::of(&milliseconds) {
        Some(Spread { median, minimum, maximum }) => format!("{median:.1} [{minimum:.1} .. {maximum:.1}]"),
        None => "-".to_owned(),
    }
}

fn connect(instance: &Instance, database: &str) -> Result<Client> {
    instance.connection_options().dbname(database).connect(NoTls).context("cannot connect")
}

fn fill(instance: &Instance, mebibytes: u32) -> Result<()> {
    instance.connect()?.batch_execute("create database original")?;
    connect(instance, "original")?.batch_execute(&format!(
        "create table item (id int primary key, owner int not null, note text not null);
         insert into item select g, g % 1000, repeat(chr(97 + g % 26), 1000) from generate_series(1, {mebibytes} * 1000) g;
         create index item_owner on item (owner);
         create table line (id bigint generated always as identity primary key, item int references item);
         insert into line (item) select g from generate_series(1, 1000) g"
    ))?;
    Ok(())
}

fn round(instance: &Instance, mebibytes: u32, times: &mut Times) -> Result<()> {
    let mut client = instance.connect()?;
    let begun = Instant::now();
    client.batch_execute("create database copy template original")?;
    times.copy.push(begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let mut copy = connect(instance, "copy")?;
    copy.batch_execute("insert into line (item) values (1)")?;
    times.connect_and_write.push(begun.elapsed().as_secs_f64());
    let count: i64 = copy.query_one("select count(*) from item", &[])?.get(0);
    ensure!(count == i64::from(mebibytes) * 1000, "the copy has {count} rows");
    drop(copy);
    client.batch_execute("drop database copy")?;
    Ok(())
}
