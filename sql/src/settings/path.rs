//! `search_path`: the list of schemas in which names without a schema are looked up.
//!
//! `viewpoint::meaning` decides what a list means in a session.
//!
//! Reference: SplitIdentifierString of varlena.c.

/// The names of a list, folded to lower case unless they are in double quotes. `None` if it is not a list.
pub(crate) fn schemas(path: &str) -> Option<Vec<String>> {
    let mut rest = path.trim();
    let mut names = Vec::new();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => {
                let end = rest.find([',', '"']).unwrap_or(rest.len());
                let name = rest[..end].trim_end();
                let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
                (is_name.then(|| name.to_ascii_lowercase())?, &rest[end..])
            }
        };
        names.push(name);
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// The name up to the closing quote, and the rest after the quote.
fn quoted_name(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}
