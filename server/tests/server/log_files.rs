//! The files of a data directory: their permissions, how many remain after a crash, and what a start reports
//! about their ends.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::process::{Directory, Server, hyades};

/// Everything below a directory, and the directory itself.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_path_buf()];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Kills the server as kill -9 does and keeps its directory.
fn kill(mut server: Server) -> Directory {
    server.child.kill().unwrap();
    server.wait().3
}

/// The last used segment of the longest log, and its bytes up to the last non-zero one.
fn longest_log(data: &Path) -> (PathBuf, Vec<u8>) {
    let segments = below(data).into_iter().filter(|path| path.extension().is_some());
    let used = segments.map(|path| {
        let mut bytes = std::fs::read(&path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(end);
        (path, bytes)
    });
    used.max_by_key(|(_, bytes)| bytes.len()).unwrap()
}

/// Starts a server that must refuse, and returns its complaint.
fn refusal(data: &Path, arguments: &[&str]) -> String {
    let mut command = hyades();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(arguments);
    let output = command.output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    complaint
}

#[test]
fn only_the_owner_can_read_a_data_directory() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)", "insert into t values (1)"]);
    let data = server.data_directory();
    for path in below(&data) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
    let directory = server.stop();
    // A directory that an older program has made, or whose permissions were widened.
    let log = data.join("logs/log-0");
    for path in [&data, &log] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let server = Server::start_in(directory, &[]);
    assert_eq!((mode(&data), mode(&log)), (0o700, 0o700));
    server.signal("TERM");
    let (_, _, said, directory) = server.wait();
    assert_eq!(said.matches("its permissions are now u=rwx (0700)").count(), 2, "{said}");
    // The group may read if the owner permits it, as with PostgreSQL.
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o750)).unwrap();
    let _directory = Server::start_in(directory, &[]).stop();
    assert_eq!(mode(&data), 0o750);
}

#[test]
fn crashes_do_not_fill_the_disk() {
    let mut server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)"]);
    let data = server.data_directory();
    let used =
        || below(&data).iter().map(|path| std::fs::metadata(path).unwrap().blocks() * 512).sum::<u64>();
    let mut after = Vec::new();
    for round in 0..5 {
        server.query(&[&format!("insert into t values ({round})")]);
        server = Server::start_in(kill(server), &[]);
        after.push(used());
    }
    assert_eq!(server.query(&["select count(*) from t"]), "5");
    // The first segment of each of two logs and two prepared ones, of 1 MiB each.
    assert!(after.iter().all(|bytes| *bytes < 7 << 20), "{after:?}");
    let directory = server.stop();
    assert!(used() < 1 << 20, "a clean stop leaves {} bytes", used());
    drop(directory);
}

#[test]
fn a_torn_block_is_reported_and_a_block_missing_after_a_clean_stop_is_refused() {
    let sectors = ["--log-sector-bytes", "4096"];
    let server = Server::start(&sectors);
    server.query(&["create table t (id integer primary key)", "insert into t values (1)"]);
    let data = server.data_directory();
    let directory = kill(server);
    let (path, bytes) = longest_log(&data);
    let mut torn = bytes.clone();
    let last = torn.len() - 1;
    torn[last] ^= 1;
    std::fs::write(&path, [&torn[..], &vec![0; (1 << 20) - torn.len()]].concat()).unwrap();
    let server = Server::start_in(directory, &sectors);
    server.query(&["insert into t values (2)"]);
    server.signal("TERM");
    let (_, _, said, directory) = server.wait();
    let line = said.lines().find(|line| line.contains("with a torn block")).expect(&said);
    assert!(line.contains("WARN") && line.contains(&path.display().to_string()), "{line}");
    assert!(line.contains("are not used") && line.contains("at byte "), "{line}");

    let before = std::fs::read(data.join("manifest")).unwrap();
    let segments = below(&data).into_iter().filter(|path| path.to_str().unwrap().contains("00000002-"));
    let path = segments.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 4096]).unwrap();
    let complaint = refusal(&data, &[]);
    assert!(complaint.contains(path.to_str().unwrap()) && complaint.contains("durable up to"), "{complaint}");
    assert_eq!(std::fs::read(data.join("manifest")).unwrap(), before);
    std::fs::write(&path, &whole).unwrap();
    let server = Server::start_in(directory, &[]);
    assert_eq!(server.query(&["select max(id) from t"]), "2");
    let directory = server.stop();

    let complaint = refusal(&data, &["--protocol", "none"]);
    assert!(complaint.contains("holds a durable database"), "{complaint}");
    std::fs::rename(data.join("manifest"), data.join("../kept")).unwrap();
    let complaint = refusal(&data, &[]);
    assert!(complaint.contains("manifest\" is missing") && !data.join("manifest").exists(), "{complaint}");
    drop(directory);
}
