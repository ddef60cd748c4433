//! Encrypted connections: real psql, certificates made here, and malicious handshakes.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};

use crate::process::{Directory, PATIENCE, Server, hyades, wait_for};
use crate::raw::{Client, kinds, message, read_answer, startup};

/// SSLRequest.
fn request() -> Vec<u8> {
    message(0, &80_877_103_u32.to_be_bytes())[1..].to_vec()
}

/// The files of a certificate authority and of a server whose certificate it has signed.
struct Files {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Makes those of a server "localhost" under a new authority.
fn make_files(directory: &Path, prefix: &str) -> Files {
    let path = |name: &str| directory.join(format!("{prefix}-{name}"));
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.distinguished_name = named(&format!("{prefix} authority"));
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    parameters.distinguished_name = named("localhost");
    let certificate = parameters.signed_by(&key, &authority).unwrap();
    let files = Files { authority: path("ca.pem"), certificate: path("cert.pem"), key: path("key.pem") };
    std::fs::write(&files.authority, authority.pem()).unwrap();
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    write_private(&files.key, &key.serialize_pem());
    files
}

impl Files {
    fn arguments(&self) -> [&str; 4] {
        let [certificate, key] = [&self.certificate, &self.key].map(|path| path.to_str().unwrap());
        ["--tls-certificate", certificate, "--tls-key", key]
    }
}

/// A server with a certificate, and its files.
fn server(more: &[&str]) -> (Server, Files) {
    let directory = Directory::new();
    let files = make_files(directory.path(), "first");
    let arguments = [&files.arguments()[..], more].concat();
    (Server::start_in(directory, &arguments), files)
}

fn psql(server: &Server, connection: &str, sql: &str) -> Output {
    let mut command = Command::new("psql");
    let port = server.port;
    command.args(["-XAt", "-v", "VERBOSITY=verbose", "-c", sql]);
    command.arg(format!("port={port} user=hyades dbname=hyades {connection}"));
    command.output().expect("psql is installed")
}

fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn complained(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SHOWN: &str = "select ssl, version, bits from pg_stat_ssl where pid = pg_backend_pid()";

#[test]
fn psql_checks_the_certificate_and_the_view_shows_what_was_agreed() {
    let (server, files) = server(&[]);
    let authority = files.authority.display();
    assert_eq!(printed(&psql(&server, "host=localhost sslmode=require", SHOWN)), "t|TLSv1.3|256");
    let verified = format!("host=localhost sslmode=verify-full sslrootcert={authority}");
    assert_eq!(printed(&psql(&server, &verified, SHOWN)), "t|TLSv1.3|256");
    let older = format!("{verified} ssl_max_protocol_version=TLSv1.2");
    assert_eq!(printed(&psql(&server, &older, SHOWN)), "t|TLSv1.2|256");
    let cipher = "select cipher from pg_stat_ssl where ssl";
    assert_eq!(printed(&psql(&server, &verified, cipher)), "TLS_AES_256_GCM_SHA384");
    // The name differs from that in the certificate.
    let wrong = format!("host=127.0.0.1 sslmode=verify-full sslrootcert={authority}");
    assert!(complained(&psql(&server, &wrong, SHOWN)).contains("does not match host name"));
    // A client that does not ask for encryption gets none.
    assert_eq!(printed(&psql(&server, "host=localhost sslmode=disable", SHOWN)), "f||");
}

#[test]
fn large_answers_and_copy_come_through_whole() {
    let (server, _) = server(&[]);
    let rows: String = (1..=100_000).map(|number| format!("{number}|{}\n", "x".repeat(50))).collect();
    let sql = "select g, repeat('x', 50) from generate_series(1, 100000) g";
    let output = psql(&server, "host=localhost sslmode=require", sql);
    assert_eq!(printed(&output), rows.trim_end());
    let large = "select length(repeat('x', 5000000)), repeat('y', 5000000)";
    let output = psql(&server, "host=localhost sslmode=require", large);
    assert_eq!(printed(&output).len(), "5000000|".len() + 5_000_000);
}

#[test]
fn only_encrypted_connections_if_so_required() {
    let directory = Directory::new();
    let socket = directory.path().to_str().unwrap().to_owned();
    let files = make_files(directory.path(), "first");
    let arguments = [&files.arguments()[..], &["--tls", "required", "--socket", &socket]].concat();
    let server = Server::start_in(directory, &arguments);
    let error = complained(&psql(&server, "host=localhost sslmode=disable", "select 1"));
    assert!(error.contains("this server accepts connections over TCP only with TLS"), "{error}");
    let mut plain = server.connect();
    plain.write_all(&startup(196_608, &[("user", "hyades")])).unwrap();
    assert_eq!(read_answer(&mut plain).unwrap().field(b'C').as_deref(), Some("28000"));
    assert_eq!(printed(&psql(&server, "host=localhost", "select 1")), "1");
    // A Unix socket needs no encryption.
    assert_eq!(printed(&psql(&server, &format!("host={socket}"), SHOWN)), "f||");
}

#[test]
fn passwords_are_bound_to_the_channel() {
    let directory = Directory::new();
    let files = make_files(directory.path(), "first");
    let users = directory.path().join("users");
    let mut child = hyades();
    child.args(["password", "--user", "hyades"]);
    child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    std::fs::write(&users, child.wait_with_output().unwrap().stdout).unwrap();
    let arguments = [&files.arguments()[..], &["--user-file", users.to_str().unwrap()]].concat();
    let server = Server::start_in(directory, &arguments);
    let with = |rest: &str, password: &str| {
        psql(&server, &format!("host=localhost password={password} {rest}"), "select 1")
    };
    assert_eq!(printed(&with("sslmode=require channel_binding=require", "secret")), "1");
    assert_eq!(printed(&with("sslmode=require channel_binding=disable", "secret")), "1");
    assert_eq!(printed(&with("sslmode=disable", "secret")), "1");
    let error = complained(&with("sslmode=require channel_binding=require", "wrong"));
    assert!(error.contains("password authentication failed"), "{error}");
    assert!(
        complained(&with("sslmode=disable channel_binding=require", "secret")).contains("channel binding")
    );
}

/// Asserts that a start is refused, and returns its complaint.
fn refused(arguments: &[&str]) -> String {
    let directory = Directory::new();
    let data = directory.path().join("data");
    let mut command = hyades();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).args(arguments);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!data.exists(), "the data directory was touched");
    let errors = String::from_utf8(output.stderr).unwrap();
    errors.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_start_with_bad_files_is_refused_with_a_sentence() {
    let directory = Directory::new();
    let files = make_files(directory.path(), "first");
    let other = make_files(directory.path(), "other");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let empty = directory.path().join("empty");
    write_private(&empty, "nothing\n");
    let (good, key) = (path(&files.certificate), path(&files.key));
    let encrypted = directory.path().join("encrypted");
    write_private(
        &encrypted,
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let damaged = directory.path().join("damaged");
    write_private(&damaged, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    for (certificate, key, expected) in [
        (good.as_str(), path(&other.key).as_str(), "does not belong to the certificate"),
        ("/nowhere/cert.pem", &key, "could not read the TLS certificate /nowhere/cert.pem: No such file"),
        (&good, "/nowhere/key.pem", "could not read the TLS key /nowhere/key.pem: No such file"),
        (&path(&empty), &key, "there is no certificate in"),
        (&good, &path(&empty), "there is no private key in"),
        (&good, &path(&encrypted), "is encrypted"),
        (&good, &path(&damaged), "cannot be used"),
        (&good, &path(directory.path()), "is not a regular file"),
    ] {
        let sentence = refused(&["--tls-certificate", certificate, "--tls-key", key]);
        assert!(sentence.starts_with("hyades: ") && sentence.contains(expected), "{expected}: {sentence}");
    }
    std::fs::set_permissions(&files.key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let sentence = refused(&files.arguments());
    assert!(sentence.contains("has permissions 0644, so others can use it"), "{sentence}");
}

#[test]
fn a_signal_has_the_files_read_again() {
    let (server, files) = server(&[]);
    let trusts = |authority: &Path| {
        let authority = authority.display();
        let connection = format!("host=localhost sslmode=verify-full sslrootcert={authority}");
        psql(&server, &connection, "select 1").status.success()
    };
    assert!(trusts(&files.authority));
    let other = make_files(files.key.parent().unwrap(), "other");
    // A key that does not belong to the certificate: the files read before stay in use.
    std::fs::copy(&other.key, &files.key).unwrap();
    server.signal("HUP");
    assert!(trusts(&files.authority));
    std::fs::copy(&other.certificate, &files.certificate).unwrap();
    server.signal("HUP");
    wait_for("the new certificate", || trusts(&other.authority).then_some(()));
    assert!(!trusts(&files.authority));
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    assert!(log.contains("certificate and key of TLS were read again"), "{log}");
}

#[test]
fn handshakes_that_mean_harm_end_and_the_server_serves() {
    let (server, _) = server(&["--authentication-timeout", "1"]);
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xFF; 64], &[0x16, 3, 1, 0xFF, 0xFF], &[0; 20_000]] {
        let mut stream = server.connect();
        stream.write_all(&request()).unwrap();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"S");
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        // An alert, a reset, or nothing.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    // Half a handshake is bounded in time.
    let mut half = server.connect();
    half.write_all(&request()).unwrap();
    half.set_read_timeout(Some(PATIENCE)).unwrap();
    half.read_exact(&mut [0]).unwrap();
    half.write_all(hello).unwrap();
    assert_eq!(half.read(&mut [0; 16]).unwrap_or(0), 0);
    // What was sent ahead of the handshake might come from a man in the middle.
    let mut ahead = server.connect();
    ahead.write_all(&[request(), startup(196_608, &[("user", "hyades")])].concat()).unwrap();
    let error = read_answer(&mut ahead).unwrap();
    assert_eq!(error.field(b'M').as_deref(), Some("received unencrypted data after SSL request"));
    assert_eq!(kinds(&Client::connect(&server).query("select 1")), "TDCZ");
    assert_eq!(printed(&psql(&server, "host=localhost sslmode=require", "select 1")), "1");
}
