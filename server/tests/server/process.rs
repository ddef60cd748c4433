//! The server process of a test.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long any step may take before the test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory that is removed with the test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hyades-server-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn hyades() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hyades"))
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) ready_line: String,
    stdout: BufReader<ChildStdout>,
    directory: Directory,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Server {
        Server::start_in(Directory::new(), arguments)
    }

    pub(crate) fn start_in(directory: Directory, arguments: &[&str]) -> Server {
        Server::start_logging_to(Stdio::piped(), directory, arguments)
    }

    /// The user hyades has the password "secret".
    pub(crate) fn start_with_password(arguments: &[&str]) -> Server {
        Server::start_with_password_in(Directory::new(), arguments)
    }

    pub(crate) fn start_with_password_in(directory: Directory, arguments: &[&str]) -> Server {
        let mut command = hyades();
        command.env("HYADES_PASSWORD", "secret");
        Server::start_command(command, Stdio::piped(), directory, arguments)
    }

    pub(crate) fn start_logging_to(log: Stdio, directory: Directory, arguments: &[&str]) -> Server {
        Server::start_command(hyades(), log, directory, arguments)
    }

    fn start_command(mut command: Command, log: Stdio, directory: Directory, arguments: &[&str]) -> Server {
        let data = directory.path().join("data");
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--segment-mib", "1", "--log-buffer-mib", "1"])
            .arg("--data")
            .arg(data)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut ready_line = String::new();
        stdout.read_line(&mut ready_line).unwrap();
        let port = ready_line.split(" -p ").nth(1).and_then(|rest| rest.split(' ').next()).map(str::parse);
        let Some(Ok(port)) = port else {
            let mut errors = String::new();
            child.kill().unwrap();
            if let Some(mut log) = child.stderr.take() {
                log.read_to_string(&mut errors).unwrap();
            }
            panic!("the server is not ready: {ready_line:?} {errors}");
        };
        Server { child, port, ready_line, stdout, directory }
    }

    pub(crate) fn data_directory(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn psql(&self) -> Command {
        let mut command = Command::new("psql");
        command.args(["-h", "127.0.0.1", "-U", "hyades", "-X", "-v", "VERBOSITY=verbose", "-p"]);
        command.arg(self.port.to_string()).stdin(Stdio::null());
        command
    }

    /// Runs statements one by one. Rows are printed unaligned and without headers.
    pub(crate) fn run(&self, statements: &[&str]) -> Output {
        let mut command = self.psql();
        command.args(["-At", "-v", "ON_ERROR_STOP=1"]);
        for statement in statements {
            command.args(["-c", statement]);
        }
        command.output().expect("psql is installed")
    }

    /// Runs statements that must succeed, and returns what they print.
    pub(crate) fn query(&self, statements: &[&str]) -> String {
        let output = self.run(statements);
        assert!(output.status.success(), "{statements:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Runs statements of which the last must fail, and returns psql's error output.
    pub(crate) fn error(&self, statements: &[&str]) -> String {
        let output = self.run(statements);
        assert!(!output.status.success(), "{statements:?} succeeded");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for the process to end. Returns its exit code, the rest of its output, its log, and its
    /// directory.
    pub(crate) fn wait(mut self) -> (Option<i32>, String, String, Directory) {
        let status = wait_for("the server to end", || self.child.try_wait().unwrap());
        let (mut rest, mut log) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut log).unwrap();
        }
        (status.code(), rest, log, std::mem::replace(&mut self.directory, Directory::new()))
    }

    /// Sends SIGTERM and expects a clean end.
    pub(crate) fn stop(self) -> Directory {
        self.signal("TERM");
        let (code, rest, log, directory) = self.wait();
        assert_eq!((code, rest.as_str()), (Some(0), ""), "{log}");
        directory
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until it returns a value.
pub(crate) fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
