//! `cargo xtask dump`: pg_dump's dump of Hyades loads into PostgreSQL and back into Hyades, and equals its
//! dump of PostgreSQL.
//!
//! `harness/dump/schema.sql` is run on both, and then the schemas that clients create
//! (`harness/dump/clients`). Their dumps must be the same text, in every form that [`FORMS`] lists, except
//! for what names the server and the time. Then the dumps of Hyades, as a script and as an archive, are
//! restored into an empty database of PostgreSQL and into an empty Hyades, where any error message fails the
//! command. What is there afterwards is dumped and queried again: schema and rows, also those of views, must
//! be the same.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::server::{
    Hyades, Instance, PASSWORD, PostgreSql, RunningServer, System, find_tool, hyades_binary,
};
use crate::tools;

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How many lines of a difference are shown.
const SHOWN_LINES: usize = 10;
pub(crate) const SCHEMA: &str = "harness/dump/schema.sql";
/// The schemas that clients create, each in the style of one of them.
const CLIENTS: &str = "harness/dump/clients";
/// Queries all tables and views.
const ROWS: &str = "harness/dump/rows.sql";

/// The forms of pg_dump that are tried, besides that of the whole database.
const FORMS: [&[&str]; 10] = [
    &["--schema-only"],
    &["--data-only"],
    &["--inserts"],
    &["--column-inserts", "--rows-per-insert=2"],
    &["--clean", "--if-exists"],
    &["--no-owner", "--no-privileges"],
    &["--table=sales.orders"],
    &["--exclude-table=keyless", "--exclude-schema=Odd Schema"],
    &["--schema=sales"],
    &["--section=pre-data", "--serializable-deferrable", "--lock-wait-timeout=1000"],
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
}

/// A running server, and how its clients find it.
pub(crate) struct Peer {
    pub(crate) instance: Instance,
    _server: RunningServer,
}

impl Peer {
    pub(crate) fn start(system: System, directory: &Path) -> Result<Peer> {
        let instance = Instance::create(system, directory.to_path_buf(), Vec::new())?;
        let (server, _) = instance.start_ready(START_LIMIT)?;
        Ok(Peer { instance, _server: server })
    }

    /// A program of PostgreSQL, connected to this server.
    pub(crate) fn command(&self, tool: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(find_tool(tool)?);
        command.args(arguments).args(self.instance.client_arguments());
        command.args(["--dbname", self.instance.system.database()]);
        command.env("PGPASSWORD", PASSWORD);
        Ok(command)
    }

    /// Runs a file of statements, up to the first error.
    pub(crate) fn load(&self, file: &Path) -> Result<()> {
        let arguments = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", "--file"];
        let mut command = self.command("psql", &arguments[..4])?;
        command.arg(arguments[4]).arg(file);
        silent(&mut command)
    }

    fn dump(&self, form: &[&str]) -> Result<String> {
        let dumped = tools::output_of(&mut self.command("pg_dump", form)?)?;
        Ok(dumped.lines().filter(|line| !is_of_its_time(line)).map(|line| format!("{line}\n")).collect())
    }
}

impl Peer {
    /// The rows of all tables and views, in no particular order.
    fn rows(&self) -> Result<String> {
        let file = format!("--file={}", tools::repository_root().join(ROWS).display());
        let options = ["--no-psqlrc", "--quiet", "-At", "--set=ON_ERROR_STOP=1", &file];
        let rows = tools::output_of(&mut self.command("psql", &options)?)?;
        let mut lines: Vec<&str> = rows.lines().collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    }
}

/// The files of the schemas that clients create.
fn client_schemas() -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(tools::repository_root().join(CLIENTS)).context(CLIENTS)?;
    let mut files = files.map(|file| Ok(file?.path())).collect::<Result<Vec<PathBuf>>>()?;
    files.sort_unstable();
    ensure!(!files.is_empty(), "{CLIENTS} is empty");
    Ok(files)
}

/// Runs a program that must succeed without output.
fn silent(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start `{}`", tools::display(command)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && said.trim().is_empty(),
        "`{}`: {}\n{}",
        tools::display(command),
        output.status,
        said.trim_end()
    );
    Ok(())
}

/// Without parentheses and blanks, in lower case.
fn unspaced(dump: &str) -> String {
    let told_apart = |character: &char| !matches!(character, '(' | ')' | ' ');
    dump.chars().filter(told_apart).flat_map(char::to_lowercase).collect()
}

/// Whether the line names the server, or is a key that pg_dump draws at random.
fn is_of_its_time(line: &str) -> bool {
    ["-- Dumped from ", "-- Dumped by ", "\\restrict ", "\\unrestrict "]
        .iter()
        .any(|head| line.starts_with(head))
}

pub(crate) fn hyades(named: Option<&Path>) -> Result<System> {
    let binary = hyades_binary(named, false)?;
    Ok(System::Hyades(Hyades::usual(binary)))
}

pub(crate) fn postgresql() -> System {
    System::PostgreSql(PostgreSql { settings: vec!["fsync=off".to_owned()] })
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let directory = tools::scratch_directory(None)?;
    let place = |name: &str| directory.path().join(name);
    let schema = tools::repository_root().join(SCHEMA);
    let ours = Peer::start(hyades(options.server.as_deref())?, &place("ours"))?;
    let theirs = Peer::start(postgresql(), &place("theirs"))?;
    for file in std::iter::once(schema).chain(client_schemas()?) {
        ours.load(&file).with_context(|| format!("Hyades, {}", file.display()))?;
        theirs.load(&file).with_context(|| format!("PostgreSQL, {}", file.display()))?;
    }
    let (whole, rows) = (ours.dump(&[])?, ours.rows()?);
    same("of everything", &theirs.dump(&[])?, &whole)?;
    same("rows", &theirs.rows()?, &rows)?;
    for form in FORMS {
        same(&form.join(" "), &theirs.dump(form)?, &ours.dump(form)?)?;
    }
    println!("dump: {} forms are what they are of PostgreSQL", FORMS.len() + 1);
    let script = place("script.sql");
    let archive = place("archive");
    std::fs::write(&script, &whole)?;
    let mut archived = ours.command("pg_dump", &["--format=custom"])?;
    silent(archived.arg("--file").arg(&archive))?;
    let empty = [
        ("PostgreSQL", postgresql(), postgresql()),
        ("Hyades", hyades(options.server.as_deref())?, hyades(options.server.as_deref())?),
    ];
    for (name, first, second) in empty {
        let loaded = Peer::start(first, &place(&format!("{name} with the script")))?;
        loaded.load(&script).context(name)?;
        let dumped = loaded.dump(&[])?;
        // PostgreSQL writes some expressions of its own dumps differently; what it makes of a script is what
        // it makes of the archive. Hyades keeps parentheses that the dump has added, and writes some types in
        // capitals.
        let wanted = if name == "Hyades" { &whole } else { &dumped };
        same(&format!("of {name} with the script"), &unspaced(wanted), &unspaced(&dumped))?;
        same(&format!("rows of {name} with the script"), &rows, &loaded.rows()?)?;
        let restored = Peer::start(second, &place(&format!("{name} with the archive")))?;
        silent(restored.command("pg_restore", &["--exit-on-error"])?.arg(&archive)).context(name)?;
        same(&format!("of {name} with the archive"), &unspaced(wanted), &unspaced(&restored.dump(&[])?))?;
        println!("dump: restored into {name}");
    }
    Ok(())
}

/// Fails with the first lines that differ.
pub(crate) fn same(what: &str, wanted: &str, found: &str) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    let (wanted, found): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), found.lines().collect());
    let first = wanted.iter().zip(&found).take_while(|(wanted, found)| wanted == found).count();
    let shown =
        |lines: &[&str]| lines.iter().skip(first).take(SHOWN_LINES).copied().collect::<Vec<_>>().join("\n");
    bail!("{what}, line {}:\n{}\n-- but Hyades --\n{}", first + 1, shown(&wanted), shown(&found));
}
