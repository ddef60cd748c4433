//! What went wrong with an object store, as a sentence.
//!
//! The library's own texts name requests and repeat whole answers. These have one line each, say which
//! variable of the environment to look at, and of an answer only its code and message: never what was signed,
//! nor a key.

use std::error::Error as _;
use std::io;

use object_store::Error;
use object_store::client::HttpError;

/// Somebody else's object is where ours was to be put.
pub(super) fn is_overtaken(error: &Error) -> bool {
    matches!(error, Error::Precondition { .. } | Error::AlreadyExists { .. })
}

/// What kind of error the caller is told.
pub(super) fn kind(error: &Error) -> io::ErrorKind {
    match error {
        _ if is_without_bucket(&deepest(error)) => io::ErrorKind::Other,
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        _ if is_overtaken(error) => io::ErrorKind::AlreadyExists,
        _ if is_refused(&deepest(error)) => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    }
}

/// The sentence for what went wrong with a bucket.
pub(super) fn sentence(error: &Error, bucket: &str) -> String {
    let text = deepest(error);
    let answer = || reason(&text);
    match error {
        // Where machines of Amazon's learn their credentials, if nothing else gives any.
        _ if error.to_string().contains("http://169.254.169.254/") => {
            "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned()
        }
        _ if is_without_bucket(&text) => format!("there is no bucket \"{bucket}\""),
        Error::NotFound { path, .. } => format!("there is no object \"{path}\""),
        _ if is_refused(&text) => format!(
            "the store of bucket \"{bucket}\" refuses the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY): {}",
            answer()
        ),
        _ if is_overtaken(error) => {
            "somebody else has made a backup there meanwhile: make this one again".to_owned()
        }
        _ if is_without_answer(error) => {
            format!("the store of bucket \"{bucket}\" cannot be reached (AWS_ENDPOINT): {}", answer())
        }
        _ if status(&text).is_some() => format!("the store of bucket \"{bucket}\" answers {}", answer()),
        _ => format!("bucket \"{bucket}\" cannot be used: {}", answer()),
    }
}

fn is_without_bucket(text: &str) -> bool {
    element(text, "Code") == Some("NoSuchBucket")
}

/// The library says so of some requests and not of others, so the answer itself is looked at.
fn is_refused(text: &str) -> bool {
    status(text).is_some_and(|status| ["401", "403"].iter().any(|code| status.starts_with(code)))
}

/// No answer has come, or only a part of one.
fn is_without_answer(error: &Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        if cause.is::<HttpError>() {
            return true;
        }
        next = cause.source();
    }
    false
}

/// What is at the bottom of an error.
fn deepest(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// An answer's status, code and message, or what else the text says, in one line.
fn reason(text: &str) -> String {
    let told = ["Code", "Message"].map(|name| element(text, name)).into_iter().flatten();
    let parts: Vec<&str> = status(text).into_iter().chain(told).collect();
    match parts.as_slice() {
        [] => text.lines().next().unwrap_or_default().trim().to_owned(),
        parts => parts.join(": "),
    }
}

/// Such as `503 Service Unavailable`.
fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("status code: ")?;
    Some(rest.split_once(':').map_or(rest, |(status, _)| status).trim())
}

/// What stands in an element of an answer in XML.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.split_once(&format!("</{name}>"))?;
    inner.lines().next().map(str::trim).filter(|inner| !inner.is_empty())
}
