//! `cargo xtask objects`: backups of a running server into a real object store, and back.
//!
//! The store is moto, an S3 server from PyPI, which is put beside cargo's build outputs. With `--endpoint`
//! any other one is used: it must have a bucket `hyades`, and the credentials must be in the environment
//! (AWS_ACCESS_KEY_ID and the like).
//!
//! It checks that
//! 1. a backup is made, adds what is new, and puts nothing when nothing is new;
//! 2. the restored database holds what the server held, and `hyades check` reads the backup in place;
//! 3. `--every` copies new data until it is told to stop;
//! 4. backups that are killed at any point leave either what could be restored before, or the new state;
//! 5. a missing bucket, wrong credentials and an endpoint without a server are each reported in a sentence;
//! 6. the same works over TLS: a store whose certificate is signed by an authority that SSL_CERT_FILE names
//!    is used, and without that it is refused.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::server::{Hyades, Instance, System, free_port, hyades_binary};
use crate::tools;

/// How long a server may take to start, and a backup to be seen.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const BUCKET: &str = "hyades";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A hyades binary; built if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The store to use, such as http://127.0.0.1:9000, instead of starting one.
    #[arg(long)]
    endpoint: Option<String>,
}

/// A store, and the environment for its clients.
struct Store {
    endpoint: String,
    has_own_keys: bool,
    /// The certificate of the authority that has signed the store's, if it uses TLS.
    authority: Option<PathBuf>,
    process: Option<Child>,
}

/// How our own store is started.
#[derive(Clone, Copy)]
enum Manner<'m> {
    /// It accepts all requests.
    Open,
    /// It refuses clients without a key that was made there.
    KnowsKeys,
    /// It uses TLS. Its certificate and key are put into this directory.
    Tls(&'m Path),
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It has no data to lose.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Store {
    /// Starts moto.
    fn start(python: &Path, manner: Manner<'_>) -> Result<Store> {
        let port = free_port()?;
        let mut command = Command::new(python.with_file_name("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut endpoint = format!("http://127.0.0.1:{port}");
        let mut authority = None;
        if let Manner::Tls(directory) = manner {
            // server.pem, server.key, and client.pem: the authority that clients trust.
            tools::run(Command::new(python).args(["-m", "trustme", "--quiet", "-d"]).arg(directory))?;
            command.arg("-s").arg("-c").arg(directory.join("server.pem"));
            command.arg("-k").arg(directory.join("server.key"));
            endpoint = format!("https://localhost:{port}");
            authority = Some(directory.join("client.pem"));
        }
        // The number of initial requests that need no authentication.
        let open_requests = if matches!(manner, Manner::KnowsKeys) { "1" } else { "1000000000" };
        command.env("INITIAL_NO_AUTH_ACTION_COUNT", open_requests);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().context("cannot start moto_server")?;
        let store = Store { endpoint, has_own_keys: true, authority, process: Some(process) };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(begun.elapsed() < LIMIT, "moto_server does not listen");
            std::thread::sleep(PAUSE);
        }
        let verify =
            store.authority.as_ref().map_or("None".to_owned(), |path| format!("'{}'", path.display()));
        let program = format!(
            "import boto3; boto3.client('s3', endpoint_url='{}', verify={verify}, region_name='us-east-1', \
             aws_access_key_id='k', aws_secret_access_key='s').create_bucket(Bucket='{BUCKET}')",
            store.endpoint
        );
        tools::run(Command::new(python).args(["-c", &program]))?;
        Ok(store)
    }

    fn command(&self, binary: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command.args(arguments).env("AWS_ENDPOINT", &self.endpoint).env("AWS_REGION", "us-east-1");
        if self.has_own_keys {
            command.env("AWS_ACCESS_KEY_ID", "k").env("AWS_SECRET_ACCESS_KEY", "s");
        }
        if let Some(authority) = &self.authority {
            command.env("SSL_CERT_FILE", authority);
        }
        command
    }

    /// The output of the command when it fails.
    fn refusal(&self, binary: &Path, arguments: &[&str]) -> Result<String> {
        let output = self.command(binary, arguments).output()?;
        ensure!(!output.status.success(), "{arguments:?} was not refused");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The number of backups that are killed, each a little later than the one before.
const KILLED: u32 = 8;

/// A database and its backup.
struct Ground {
    store: Store,
    binary: PathBuf,
    directory: tempfile::TempDir,
    system: System,
    data: String,
    into: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = hyades_binary(options.server.as_deref(), false)?;
    let (store, python) = match &options.endpoint {
        Some(endpoint) => {
            let endpoint = endpoint.clone();
            (Store { endpoint, has_own_keys: false, authority: None, process: None }, None)
        }
        None => {
            let python = moto()?;
            (Store::start(&python, Manner::Open)?, Some(python))
        }
    };
    let directory = tools::scratch_directory(None)?;
    let ground = Ground {
        store,
        system: System::Hyades(Hyades::usual(binary.clone())),
        data: directory.path().join("server/data").to_string_lossy().into_owned(),
        into: format!("s3://{BUCKET}/backups/{}", std::process::id()),
        binary,
        directory,
    };
    let place = ground.directory.path().join("server");
    let instance = Instance::create(ground.system.clone(), place, Vec::new())?;
    let (mut server, _) = instance.start_ready(LIMIT)?;
    ground.check_backups(&mut instance.connect()?)?;
    server.kill()?;
    ground.check_refusals(python.as_deref())?;
    python.map_or(Ok(()), |python| ground.check_tls(&python))
}

impl Ground {
    fn back_up(&self) -> [&str; 5] {
        ["backup", "--data", &self.data, "--into", &self.into]
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.store.command(&self.binary, arguments)
    }

    fn check_backups(&self, client: &mut postgres::Client) -> Result<()> {
        client.batch_execute(
            "create table t (id int primary key, note text); create index t_note on t (note);
             insert into t select id, repeat('x', 1000) || id from generate_series(1, 20000) ids (id)",
        )?;
        let first = tools::output_of(&mut self.command(&self.back_up()))?;
        client.batch_execute("checkpoint; update t set note = 'changed' where id % 10 = 0")?;
        let second = tools::output_of(&mut self.command(&self.back_up()))?;
        ensure!(first.contains("all logs") && second.contains("checkpoint 1"), "{first}{second}");
        println!("backups: passed");

        let every = [&self.back_up()[..], &["--every", "200ms"]].concat();
        let mut going_on = self.command(&every).stdout(Stdio::null()).spawn()?;
        client.batch_execute("insert into t values (0, 'the last')")?;
        let expected = held(client)?;
        let begun = Instant::now();
        loop {
            let found = self.restored(&self.into)?;
            if found == expected {
                break;
            }
            ensure!(begun.elapsed() < LIMIT, "restored is {found}, and not {expected}");
        }
        let process = i32::try_from(going_on.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(process.context("no process")?, rustix::process::Signal::TERM)?;
        let status = going_on.wait()?;
        ensure!(status.success(), "--every ended with {status}");
        let checked = tools::output_of(&mut self.command(&["check", "--data", &self.into]))?;
        ensure!(checked.contains("constraints hold"), "{checked}");
        println!("restores, --every, check: passed");
        let file = format!("file://{}", self.directory.path().join("backup").display());
        tools::output_of(&mut self.command(&["backup", "--data", &self.data, "--into", &file]))?;
        ensure!(self.restored(&file)? == expected, "what file:// holds is something else");
        println!("file://: passed");
        self.check_killed(client, expected)
    }

    /// Kills backups at any moment: the restored state is either the one before or the one being backed up.
    fn check_killed(&self, client: &mut postgres::Client, mut before: String) -> Result<()> {
        let mut cut_short = 0;
        for number in 0..KILLED {
            client
                .batch_execute("update t set note = note || '.'; checkpoint; delete from t where id = 1")?;
            client.execute("insert into t values (1, $1)", &[&number.to_string()])?;
            let after = held(client)?;
            let mut child = self.command(&self.back_up()).stdout(Stdio::null()).spawn()?;
            std::thread::sleep(PAUSE * number);
            child.kill()?;
            child.wait()?;
            let found = self.restored(&self.into)?;
            ensure!(found == before || found == after, "restored is {found}, and not {before} or {after}");
            cut_short += u32::from(found == before);
            tools::output_of(&mut self.command(&self.back_up()))?;
            let found = self.restored(&self.into)?;
            ensure!(found == after, "restored is {found}, and not {after}");
            before = after;
        }
        println!("killed backups: passed ({cut_short} of {KILLED} were cut short)");
        Ok(())
    }

    /// The contents of a server that is restored now.
    fn restored(&self, from: &str) -> Result<String> {
        let place = self.directory.path().join("restored");
        let into = place.join("data").to_string_lossy().into_owned();
        tools::output_of(&mut self.command(&["restore", "--from", from, "--into", &into]))?;
        let instance = Instance::create(self.system.clone(), place.clone(), Vec::new())?;
        let (mut server, _) = instance.start_ready(LIMIT)?;
        let found = held(&mut instance.connect()?)?;
        server.kill()?;
        std::fs::remove_dir_all(place)?;
        Ok(found)
    }

    fn check_refusals(&self, python: Option<&Path>) -> Result<()> {
        let refused = |store: &Store, arguments: &[&str], words: &str| -> Result<()> {
            let refusal = store.refusal(&self.binary, arguments)?;
            ensure!(refusal.contains(words), "{refusal}");
            Ok(())
        };
        let elsewhere = ["backup", "--data", &self.data, "--into", "s3://nowhere-to-be-found/b"];
        refused(&self.store, &elsewhere, "there is no bucket \"nowhere-to-be-found\"")?;
        let nothing = format!("{}/nothing", self.into);
        refused(&self.store, &["restore", "--from", &nothing, "--into", "nothing"], "there is no backup in")?;
        let endpoint = format!("http://127.0.0.1:{}", free_port()?);
        let nobody = Store { endpoint, has_own_keys: true, authority: None, process: None };
        refused(&nobody, &self.back_up(), "cannot be reached (AWS_ENDPOINT)")?;
        if let Some(python) = python {
            refused(&Store::start(python, Manner::KnowsKeys)?, &self.back_up(), "refuses the credentials")?;
        }
        println!("refusals: passed");
        Ok(())
    }

    /// The database is idle. Its backup is read again from a store that uses TLS.
    fn check_tls(&self, python: &Path) -> Result<()> {
        let directory = self.directory.path().join("tls");
        std::fs::create_dir(&directory)?;
        let mut store = Store::start(python, Manner::Tls(&directory))?;
        tools::output_of(&mut store.command(&self.binary, &self.back_up()))?;
        let checked = tools::output_of(&mut store.command(&self.binary, &["check", "--data", &self.into]))?;
        ensure!(checked.contains("constraints hold"), "{checked}");
        store.authority = None;
        let refusal = store.refusal(&self.binary, &self.back_up())?;
        ensure!(refusal.contains("invalid peer certificate"), "{refusal}");
        println!("TLS: passed");
        Ok(())
    }
}

/// The contents of a server's table.
fn held(client: &mut postgres::Client) -> Result<String> {
    let row = client.query_one(
        "select count(*)::text || ' ' || md5(string_agg(id || note, ',' order by id)) from t",
        &[],
    )?;
    Ok(row.get(0))
}

/// Installs moto and the package that makes certificates. Returns the interpreter that has them.
fn moto() -> Result<PathBuf> {
    let built = tools::target_directory().join("objects");
    let interpreter = built.join("bin/python");
    if !interpreter.is_file() {
        tools::run(Command::new("python3").args(["-m", "venv"]).arg(&built))?;
    }
    tools::run(Command::new(&interpreter).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "moto[server]",
        "boto3",
        "trustme",
    ]))?;
    Ok(interpreter)
}
