//! Words the errors of an object store.
//!
//! The library's own texts name requests and repeat whole replies. The sentences here have one line each,
//! name the environment variable to check, and quote only the code and message of a reply: never what was
//! signed, nor a key.

use std::error::Error as _;
use std::io;

use object_store::Error;
use object_store::client::HttpError;

/// Another client's object is where ours was to be put.
pub(super) fn is_overtaken(error: &Error) -> bool {
    matches!(error, Error::Precondition { .. } | Error::AlreadyExists { .. })
}

/// The kind of error for the caller.
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
        // The address from which machines of Amazon get their credentials, if nothing else gives any.
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
            "another backup has been made there meanwhile: make this one again".to_owned()
        }
        _ if is_without_answer(error) => {
            format!("the store of bucket \"{bucket}\" cannot be reached (AWS_ENDPOINT): {}", answer())
        }
        _ if status(&text).is_some() => format!("the store of bucket \"{bucket}\" returned {}", answer()),
        _ => format!("bucket \"{bucket}\" cannot be used: {}", answer()),
    }
}

fn is_without_bucket(text: &str) -> bool {
    element(text, "Code") == Some("NoSuchBucket")
}

/// The library distinguishes this for some requests and not for others, so the reply itself is examined.
fn is_refused(text: &str) -> bool {
    status(text).is_some_and(|status| ["401", "403"].iter().any(|code| status.starts_with(code)))
}

/// No reply has arrived, or only a part of one.
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

/// The innermost cause of an error.
fn deepest(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The status, code and message of a reply, or else what the text says, in one line.
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

/// The content of an element of a reply in XML.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.split_once(&format!("</{name}>"))?;
    inner.lines().next().map(str::trim).filter(|inner| !inner.is_empty())
}
