//! The errors for a store that is in trouble, refuses, or does not exist, and for invalid settings.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::BackoffConfig;

use super::*;

const SECRET: &str = "a-very-secret-key";

/// A server that gives these replies, the last one for ever.
struct Server {
    endpoint: String,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start(answers: Vec<(&'static str, String)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // The thread ends with the process: there are no more connections once a test is over.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let (mut line, mut length) = (String::new(), 0);
                while stream.read_line(&mut line).unwrap_or(0) > 2 {
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let _ = stream.read_exact(&mut vec![0; length]);
                let number = count.fetch_add(1, Ordering::Relaxed);
                let (status, body) = &answers[number.min(answers.len() - 1)];
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                // A client that has not waited has given up.
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Server { endpoint, asked }
    }

    fn open(&self) -> Result<ObjectDisk, String> {
        open(&self.endpoint)
    }
}

fn builder(endpoint: &str) -> AmazonS3Builder {
    AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_access_key_id("who")
        .with_secret_access_key(SECRET)
        .with_region("us-east-1")
}

/// Opens a store with a shorter retry limit.
fn open(endpoint: &str) -> Result<ObjectDisk, String> {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        ..BackoffConfig::default()
    };
    ObjectDisk::of_builder(builder(endpoint), RetryConfig { backoff, ..retries() }, "bucket", "a/backup")
}

fn error(code: &str, message: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>{message}</Message>\
         <StringToSign>{SECRET}</StringToSign></Error>"
    )
}

const EMPTY: &str = "<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount>\
    <IsTruncated>false</IsTruncated></ListBucketResult>";

#[test]
fn a_store_that_is_busy_for_a_while_is_asked_again() {
    let busy = ("503 Service Unavailable", error("SlowDown", "Reduce your request rate."));
    let server = Server::start(vec![busy.clone(), busy, ("200 OK", EMPTY.to_owned())]);
    server.open().unwrap();
    assert_eq!(server.asked.load(Ordering::Relaxed), 3);
}

#[test]
fn a_store_that_stays_busy_is_given_up() {
    let busy = ("503 Service Unavailable", error("SlowDown", "Reduce your request rate."));
    let server = Server::start(vec![busy]);
    assert_eq!(
        server.open().err().unwrap(),
        "the store of bucket \"bucket\" returned 503 Service Unavailable: SlowDown: Reduce your request rate."
    );
    assert_eq!(server.asked.load(Ordering::Relaxed), RETRIES + 1);
}

#[test]
fn refusals_are_sentences_without_secrets() {
    let refused = |status, body| Server::start(vec![(status, body)]).open().err().unwrap();
    let message = "The signature does not match.";
    assert_eq!(
        refused("403 Forbidden", error("SignatureDoesNotMatch", message)),
        "the store of bucket \"bucket\" refuses the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY): \
         403 Forbidden: SignatureDoesNotMatch: The signature does not match."
    );
    assert_eq!(
        refused("404 Not Found", error("NoSuchBucket", "The specified bucket does not exist")),
        "there is no bucket \"bucket\""
    );
    assert_eq!(
        refused("400 Bad Request", error("AuthorizationHeaderMalformed", "the region is wrong\nmore")),
        "the store of bucket \"bucket\" returned 400 Bad Request: AuthorizationHeaderMalformed: the region is wrong"
    );
    let no_store = refused("200 OK", "<html>It works!</body>".to_owned());
    assert!(
        no_store.starts_with("bucket \"bucket\" cannot be used: ") && !no_store.contains('\n'),
        "{no_store}"
    );
}

#[test]
fn who_does_not_listen_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let refused = open(&endpoint).err().unwrap();
    assert!(
        refused.starts_with("the store of bucket \"bucket\" cannot be reached (AWS_ENDPOINT): ")
            && refused.contains("refused"),
        "{refused}"
    );
}

#[test]
fn settings_of_which_no_request_can_be_made_are_refused() {
    let refused = |builder: AmazonS3Builder, bucket: &str| {
        let refused = ObjectDisk::of_builder(builder, retries(), bucket, "").err().unwrap();
        assert!(!refused.contains(SECRET), "{refused}");
        refused
    };
    for endpoint in ["nonsense", "127.0.0.1:9000", "ftp://host", "http://", "http://a b", "http://h/?q"] {
        let refused = refused(builder(endpoint), "bucket");
        assert_eq!(refused, "AWS_ENDPOINT must be a URL such as https://host:port", "{endpoint}");
    }
    let usual = || builder("http://127.0.0.1:1");
    for (builder, name) in [
        (usual().with_region("two words"), "AWS_REGION"),
        (usual().with_access_key_id("line\n"), "AWS_ACCESS_KEY_ID"),
        (usual().with_secret_access_key(format!("{SECRET}\n")), "AWS_SECRET_ACCESS_KEY"),
        (usual().with_token(""), "AWS_SESSION_TOKEN"),
    ] {
        assert!(refused(builder, "bucket").starts_with(&format!("{name} must be one word")), "{name}");
    }
    assert_eq!(refused(usual(), "no bucket"), "\"no bucket\" is no name of a bucket");
    let no_bucket = ObjectDisk::open("s3://").err().unwrap();
    assert!(no_bucket.contains("names no bucket"), "{no_bucket}");
    let no_prefix = ObjectDisk::of_store(Arc::new(InMemory::new()), "bucket", "a//b").err().unwrap();
    assert!(no_prefix.contains("\"a//b\" is no prefix of objects"), "{no_prefix}");
}
