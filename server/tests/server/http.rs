//! Monitoring over HTTP: metrics, health, the page, and malicious requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::process::{Directory, PATIENCE, Server, wait_for};
use crate::raw::{Client, kinds};

/// A server with HTTP, and its address, which it logs.
fn server() -> (Server, SocketAddr) {
    let (reader, writer) = std::io::pipe().unwrap();
    let arguments = ["--http", "127.0.0.1:0"];
    let server = Server::start_logging_to(Stdio::from(writer), Directory::new(), &arguments);
    let mut lines = BufReader::new(reader).lines();
    let address = lines.by_ref().map(|line| line.unwrap()).find_map(|line| {
        let address = line.split("http://").nth(1)?.trim_end_matches('/');
        address.parse().ok()
    });
    // Keep reading the log, so that the pipe does not fill up.
    std::thread::spawn(move || lines.count());
    (server, address.expect("a line with the address"))
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns status, head and body.
fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let mut stream = connect(address);
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// The value of a metric.
fn metric(address: SocketAddr, name: &str) -> f64 {
    let (status, _, body) = get(address, "/metrics");
    assert_eq!(status, 200);
    let line = body.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("there is no {name} in {body}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn metrics_count_what_happens() {
    let (server, address) = server();
    let committed = "hyades_transactions_total{outcome=\"committed\"}";
    let rolled_back = "hyades_transactions_total{outcome=\"rolled_back\"}";
    let before = (metric(address, committed), metric(address, rolled_back));
    server.query(&["create table t (id int primary key)", "insert into t values (1)"]);
    server.error(&["insert into t values (1)"]);
    assert!(metric(address, committed) >= before.0 + 2.0);
    assert!(metric(address, rolled_back) > before.1);
    assert!(metric(address, "hyades_statements_total") >= 3.0);
    assert_eq!(metric(address, "hyades_up"), 1.0);
    assert!(metric(address, "hyades_memory_total_bytes") > 1e6);
    let mut client = Client::connect(&server);
    client.query("begin");
    wait_for("a session in a transaction", || {
        (metric(address, "hyades_sessions{state=\"idle_in_transaction\"}") == 1.0).then_some(())
    });
    let (_, head, body) = get(address, "/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    for log in ["hyades_log_appended_bytes_total{log=\"1\"}", "hyades_log_lag_bytes{log=\"0\"}"] {
        assert!(body.contains(log), "{body}");
    }
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
    }
    // What was committed is durable, so nothing lags behind.
    assert_eq!(metric(address, "hyades_log_lag_bytes{log=\"0\"}"), 0.0);
}

#[test]
fn health_is_200_until_the_database_is_poisoned() {
    let (server, address) = server();
    assert_eq!(get(address, "/health"), (200, get(address, "/health").1, "serving\n".to_owned()));
    server.query(&["create table t (id integer primary key)"]);
    let mut writer = Client::connect(&server);
    let limit = Rlimit { current: Some(512), maximum: Some(512) };
    prlimit(Some(Pid::from_child(&server.child)), Resource::Fsize, limit).unwrap();
    writer.query("insert into t values (2)");
    let (status, _, body) = get(address, "/health");
    assert_eq!(status, 503);
    assert!(body.starts_with("poisoned: could not write"), "{body}");
    assert_eq!(metric(address, "hyades_up"), 0.0);
}

#[test]
fn the_page_stands_on_its_own() {
    let (_server, address) = server();
    let (status, head, body) = get(address, "/");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/html"), "{head}");
    assert!(!body.contains("http://") && !body.contains("https://") && !body.contains("src="), "{body}");
    let (_, _, status) = get(address, "/status.json");
    let json: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(json["health"], "serving");
    assert!(json["counts"]["commits"].is_u64() && json["logs"][0]["durable"].is_u64(), "{json}");
}

#[test]
fn requests_that_mean_harm_are_refused_and_the_server_serves() {
    let (server, address) = server();
    assert_eq!(get(address, "/../../etc/passwd").0, 404);
    let mut post = connect(address);
    post.write_all(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    post.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 405");
    for request in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        vec![0xFF; 100_000],
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(20_000)).into_bytes(),
    ] {
        let mut stream = connect(address);
        let _ = stream.write_all(&request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
    // Silent clients keep their places for a while, but shut no other client out for good.
    let silent: Vec<TcpStream> = (0..40).map(|_| connect(address)).collect();
    assert_eq!(kinds(&Client::connect(&server).query("select 1")), "TDCZ");
    assert_eq!(get(address, "/health").0, 200);
    drop(silent);
}

/// The slow clients used to keep all places for five seconds each.
#[test]
fn slow_clients_do_not_take_the_health_check_away() {
    let (_server, address) = server();
    let mut slow: Vec<TcpStream> = (0..16).map(|_| connect(address)).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /health HTTP/1.1\r\n").unwrap();
    }
    assert_eq!(get(address, "/health").0, 200);
    // One had to go. The latest of them is still there, so the answer has not waited for their time to be up.
    let latest = slow.last_mut().unwrap();
    latest.write_all(b"Host: localhost\r\n\r\n").unwrap();
    let mut text = String::new();
    latest.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}
