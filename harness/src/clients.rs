//! `cargo xtask clients`: the usual first steps with drivers, ORMs and migration tools, each against a fresh
//! server.
//!
//! The programs are in `clients/`, in one folder for each language. Their dependencies come from the
//! registries of their languages and are put beside cargo's build outputs. A program fails when anything
//! differs from what its tool's users expect. It finds the server by the environment (`PGHOST` and the like).
//! `--peer postgres` runs them against PostgreSQL, where all must pass.
//!
//! Some programs run the test suites that ORMs have of their own, and must pass as many tests as PostgreSQL
//! does; what they print last is shown beside their time.
//!
//! A language whose tools are not installed is left out with a note.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::server::{Instance, PASSWORD, Serializability, System, hyades_binary};
use crate::tools;

/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How many lines of a failed program's output are shown.
const SHOWN_LINES: usize = 40;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only programs whose name contains one of these: `python/with_django`, `node`.
    names: Vec<String>,
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Run against another database, to check the programs themselves.
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    #[command(flatten)]
    serializability: Serializability,
    /// Passed on to the programs: `-- --all` runs more applications of a test suite.
    #[arg(last = true)]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Peer {
    Postgres,
}

/// A program that is ready to run.
struct Client {
    name: String,
    command: Command,
}

enum Outcome {
    /// With the last line that the program printed, such as the number of its tests.
    Passed(String),
    /// With the last lines of its output.
    Failed(String),
}

/// A language: its folder, the tool that it requires, and how its programs are prepared.
struct Language {
    folder: &'static str,
    tool: &'static str,
    prepare: fn(&Path, &Path) -> Result<Vec<Client>>,
}

const LANGUAGES: [Language; 4] = [
    Language { folder: "python", tool: "python3", prepare: python },
    Language { folder: "node", tool: "npm", prepare: node },
    Language { folder: "go", tool: "go", prepare: go },
    Language { folder: "java", tool: "mvn", prepare: java },
];

pub(crate) fn run(options: &Options) -> Result<()> {
    let system = match options.peer {
        Some(Peer::Postgres) => System::PostgreSql(options.serializability.postgresql("fsync=off")),
        None => {
            let binary = hyades_binary(options.server.as_deref(), false)?;
            System::Hyades(options.serializability.hyades(binary))
        }
    };
    let is_wanted =
        |name: &str| options.names.is_empty() || options.names.iter().any(|part| name.contains(part));
    let (mut passed, mut failed) = (0, Vec::new());
    for language in &LANGUAGES {
        let names_another =
            !options.names.is_empty() && !options.names.iter().any(|part| part.starts_with(language.folder));
        if names_another {
            continue;
        }
        if Command::new(language.tool).arg("--version").output().is_err() && language.tool != "go" {
            println!("{}: left out, {} is not installed", language.folder, language.tool);
            continue;
        }
        let source = tools::repository_root().join("clients").join(language.folder);
        let built = tools::target_directory().join("clients").join(language.folder);
        std::fs::create_dir_all(&built)?;
        for mut client in (language.prepare)(&source, &built).with_context(|| language.folder.to_owned())? {
            if !is_wanted(&client.name) {
                continue;
            }
            client.command.args(&options.arguments);
            let start = Instant::now();
            let outcome = run_client(&system, &mut client.command)?;
            let seconds = start.elapsed().as_secs();
            match outcome {
                Outcome::Passed(said) => {
                    passed += 1;
                    println!("{:<36} passed in {seconds:>3} s  {said}", client.name);
                }
                Outcome::Failed(output) => {
                    println!("{:<36} FAILED in {seconds:>3} s\n{output}", client.name);
                    failed.push(client.name);
                }
            }
        }
    }
    println!("clients: {passed} passed, {} failed", failed.len());
    if !failed.is_empty() {
        bail!("clients failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs the program against a fresh server, which must survive it.
fn run_client(system: &System, command: &mut Command) -> Result<Outcome> {
    let directory = tools::scratch_directory(None)?;
    let instance = Instance::create(system.clone(), directory.path().join("server"), Vec::new())?;
    let (mut server, _) = instance.start_ready(START_LIMIT)?;
    let [_, host, _, port, _, user] = &instance.client_arguments()[..] else {
        bail!("the harness names host, port and user");
    };
    command.envs([
        ("PGHOST", host.as_str()),
        ("PGPORT", port),
        ("PGUSER", user),
        ("PGDATABASE", system.database()),
        ("PGPASSWORD", PASSWORD),
        ("PGSSLMODE", "disable"),
    ]);
    let output = command.output().with_context(|| format!("cannot start `{}`", tools::display(command)))?;
    let is_alive = server.is_running();
    server.kill()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && is_alive {
        return Ok(Outcome::Passed(printed.lines().next_back().unwrap_or_default().to_owned()));
    }
    let said = [printed, String::from_utf8_lossy(&output.stderr)].concat();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    if !is_alive {
        shown.push_str("\nthe server has ended by itself\n");
        shown.push_str(&server.log_tail());
    }
    Ok(Outcome::Failed(shown))
}

/// The programs of a folder, by name.
fn programs(source: &Path, is_program: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))? {
        let path = entry?.path();
        if is_program(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Programs are called after the tool `with` which they work; other files of a folder are parts of them.
fn is_program(path: &Path, prefix: &str, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn name_of(folder: &str, path: &Path) -> String {
    format!("{folder}/{}", path.file_stem().unwrap_or_default().to_string_lossy())
}

fn python(source: &Path, built: &Path) -> Result<Vec<Client>> {
    let interpreter = built.join("bin/python");
    if !interpreter.is_file() {
        tools::run(Command::new("python3").args(["-m", "venv"]).arg(built))?;
    }
    tools::run(
        Command::new(&interpreter)
            .args(["-m", "pip", "install", "--quiet", "--requirement"])
            .arg(source.join("requirements.txt")),
    )?;
    let client = |path: PathBuf| {
        let mut command = Command::new(&interpreter);
        // Nothing compiled is left beside the programs.
        command.arg(&path).env("PYTHONDONTWRITEBYTECODE", "1");
        Client { name: name_of("python", &path), command }
    };
    Ok(programs(source, |path| is_program(path, "with_", "py"))?.into_iter().map(client).collect())
}

/// Programs look for their packages in their own directory, so they are copied to where the packages are.
fn node(source: &Path, built: &Path) -> Result<Vec<Client>> {
    for path in programs(source, Path::is_file)? {
        std::fs::copy(&path, built.join(path.file_name().unwrap_or_default()))?;
    }
    tools::run(
        Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund"]).current_dir(built),
    )?;
    let client = |path: PathBuf| {
        let mut command = Command::new("node");
        command.arg(built.join(path.file_name().unwrap_or_default()));
        Client { name: name_of("node", &path), command }
    };
    Ok(programs(source, |path| is_program(path, "with_", "mjs"))?.into_iter().map(client).collect())
}

fn go(source: &Path, built: &Path) -> Result<Vec<Client>> {
    tools::run(Command::new("go").args(["build", "-o"]).arg(built).arg("./...").current_dir(source))?;
    let client = |path: PathBuf| {
        let command = Command::new(built.join(path.file_name().unwrap_or_default()));
        Client { name: name_of("go", &path), command }
    };
    Ok(programs(source, Path::is_dir)?.into_iter().map(client).collect())
}

/// Maven compiles the programs and copies their libraries beside them.
fn java(source: &Path, built: &Path) -> Result<Vec<Client>> {
    tools::run(
        Command::new("mvn")
            .args(["--quiet", "--batch-mode", "compile", "--file"])
            .arg(source.join("pom.xml"))
            .arg(format!("-Dbuilt={}", built.display())),
    )?;
    let path = format!("{}:{}", built.join("classes").display(), built.join("libraries/*").display());
    let client = |program: PathBuf| {
        let mut command = Command::new("java");
        command.args(["-cp", &path]).arg(program.file_stem().unwrap_or_default());
        Client { name: name_of("java", &program), command }
    };
    Ok(programs(source, |path| is_program(path, "With", "java"))?.into_iter().map(client).collect())
}
