//! LISTEN and NOTIFY: which clients are notified, when, and in which order.

use crate::process::Server;
use crate::raw::{Answer, Client, bind, execute, kinds, parse, sync};

/// Channel and payload of the notifications among the answers.
fn told(answers: &[Answer]) -> Vec<(String, String)> {
    let notifications = answers.iter().filter(|answer| answer.kind == b'A');
    notifications.map(parts).collect()
}

fn parts(notification: &Answer) -> (String, String) {
    let mut texts = notification.body[4..].split(|byte| *byte == 0);
    let mut text = || String::from_utf8(texts.next().unwrap_or_default().to_vec()).unwrap();
    (text(), text())
}

fn pair(channel: &str, payload: &str) -> (String, String) {
    (channel.to_owned(), payload.to_owned())
}

#[test]
fn an_idle_client_is_told_at_once() {
    let server = Server::start(&[]);
    let (mut listener, mut notifier) = (Client::connect(&server), Client::connect(&server));
    listener.query("listen jobs");
    notifier.query("notify jobs, 'first'");
    let answer = listener.answer();
    assert_eq!((answer.kind, parts(&answer)), (b'A', pair("jobs", "first")));
    // The process that notified, by the identifier that its client was given.
    let key = notifier.greeting.iter().find(|answer| answer.kind == b'K').unwrap();
    assert_eq!(answer.body[..4], key.body[..4]);
    notifier.query("notify others, 'x'");
    notifier.query("notify jobs");
    assert_eq!(parts(&listener.answer()), pair("jobs", ""));
}

#[test]
fn a_transaction_notifies_when_it_commits_and_is_told_when_it_ends() {
    let server = Server::start(&[]);
    let (mut listener, mut notifier) = (Client::connect(&server), Client::connect(&server));
    listener.query("create table t (a int primary key)");
    listener.query("listen a");
    listener.query("listen b");
    notifier.query("begin");
    notifier.query("notify a, '1'; notify b, '2'; notify a, '1'; notify a, '3'");
    notifier.query("savepoint s");
    notifier.query("notify a, 'lost'");
    notifier.query("rollback to s");
    assert!(told(&listener.query("select 1")).is_empty());
    notifier.query("insert into t values (1)");
    listener.query("begin");
    notifier.query("commit");
    assert!(told(&listener.query("select 1")).is_empty());
    let answers = listener.query("commit");
    assert_eq!(told(&answers), [pair("a", "1"), pair("b", "2"), pair("a", "3")]);
    assert_eq!(kinds(&answers), "CAAAZ");
    notifier.query("begin; notify a, 'never'; rollback");
    listener.query("unlisten a");
    notifier.query("notify a, 'unheard'");
    assert!(told(&listener.query("select 1")).is_empty());
}

#[test]
fn a_client_hears_itself_before_it_is_ready() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    client.query("listen own");
    let answers = client.query("select pg_notify('own', 'x' || 1)");
    assert_eq!(kinds(&answers), "TDCAZ");
    assert_eq!(told(&answers), [pair("own", "x1")]);
    let answers =
        client.ask(&[parse("", "select pg_notify('own', $1)"), bind("", "", &["y"]), execute("", 0), sync()]);
    assert_eq!(kinds(&answers), "12DCAZ");
    assert_eq!(told(&answers), [pair("own", "y")]);
}

#[test]
fn advisory_locks_go_with_their_client() {
    let server = Server::start(&[]);
    let (mut first, mut second) = (Client::connect(&server), Client::connect(&server));
    first.query("select pg_advisory_lock(1)");
    second.query("set lock_timeout = '50ms'");
    let refused = second.query("select pg_advisory_lock(1)");
    assert_eq!(crate::raw::state(&refused), "55P03");
    second.query("set statement_timeout = '50ms'; set lock_timeout = 0");
    assert_eq!(crate::raw::state(&second.query("select pg_advisory_lock(1)")), "57014");
    second.query("set statement_timeout = 0");
    drop(first);
    assert_eq!(kinds(&second.query("select pg_advisory_lock(1)")), "TDCZ");
}

#[test]
fn a_large_transaction_reaches_all_listeners_and_is_kept_once() {
    let server = Server::start(&[]);
    let mut listeners: Vec<Client> = (0..20).map(|_| Client::connect(&server)).collect();
    for listener in &mut listeners {
        listener.query("listen c");
    }
    let mut notifier = Client::connect(&server);
    let sql = "select count(pg_notify('c', repeat('x', 7900) || g)) from generate_series(1, 7800) g";
    assert_eq!(kinds(&notifier.query(sql)), "TDCZ");
    let peak_mib = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
    };
    for listener in &mut listeners {
        for number in 1..=7800 {
            let (channel, payload) = parts(&listener.answer());
            assert_eq!((channel.as_str(), payload.len()), ("c", 7900 + number.to_string().len()));
        }
        assert_eq!(kinds(&listener.query("select 1")), "TDCZ");
    }
    // They take 62 MB, which used to be kept for every listener, twice.
    assert!(peak_mib() < 1000, "{} MiB", peak_mib());
}
