//! Documents name files that exist, and nothing names a path of one machine.
//!
//! A token of a document counts as a path of the checkout when it contains a slash and ends in `.rs`, `.md`
//! or `.toml`, or when it is in backticks or a link and ends in a slash. It is looked up from the root and
//! from the document's own directory.

use std::path::Path;

use super::problem::Problem;

pub(super) fn is_document(file: &str) -> bool {
    file.ends_with(".md") && (file.starts_with("docs/") || !file.contains('/'))
}

pub(super) fn check_paths(root: &Path, file: &str, text: &str, problems: &mut Vec<Problem>) {
    let directory = root.join(file);
    let directory = directory.parent().unwrap_or(root);
    for (index, line) in text.lines().enumerate() {
        for path in paths_in(line) {
            if !root.join(&path).exists() && !directory.join(&path).exists() {
                let message =
                    format!("names `{path}`, which does not exist: correct the name or the document");
                problems.push(Problem::new(file, index + 1, message));
            }
        }
    }
}

/// Everything in a line that looks like a path of the checkout.
fn paths_in(line: &str) -> Vec<String> {
    line.split(|c: char| c.is_whitespace() || "()[]\"'`,;|".contains(c))
        .map(|token| token.trim_end_matches(['.', ':']).split('#').next().unwrap_or_default())
        .filter(|token| looks_like_path(token, line))
        .map(str::to_owned)
        .collect()
}

fn looks_like_path(token: &str, line: &str) -> bool {
    let is_pattern = token.contains(['<', '>', '*', '{', '$', '=']) || token.contains("YYYY");
    let is_elsewhere = token.contains("://") || token.starts_with(['/', '~', '.']);
    if is_pattern || is_elsewhere || !token.contains('/') {
        return false;
    }
    let is_file = [".rs", ".md", ".toml"].iter().any(|ending| token.ends_with(ending));
    let is_directory = token.ends_with('/')
        && (line.contains(&format!("`{token}`")) || line.contains(&format!("]({token})")));
    is_file || is_directory
}

/// The checkout itself, the home directory of the current user, and where home directories usually are.
pub(super) fn check_machine_paths(root: &Path, file: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut forbidden: Vec<String> =
        [["/ro", "ot/"], ["/ho", "me/"], ["/Use", "rs/"]].iter().map(|halves| halves.concat()).collect();
    forbidden.extend(own_prefix(root));
    if let Some(home) = std::env::var_os("HOME") {
        forbidden.extend(own_prefix(Path::new(&home)));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(path) = forbidden.iter().find(|path| contains_absolute(line, path)) {
            let message = format!("names `{path}`, a path of one machine: use a relative path or a variable");
            problems.push(Problem::new(file, index + 1, message));
        }
    }
}

/// A directory as a prefix to look for. `None` for directories like `/`, with which every path starts.
fn own_prefix(directory: &Path) -> Option<String> {
    let text = directory.to_str()?.trim_end_matches('/');
    (text.len() > 1).then(|| format!("{text}/"))
}

/// Whether `path` occurs in the line as the start of an absolute path, not in the middle of another one.
fn contains_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_-.)}$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_words() {
        assert_eq!(
            paths_in("see `engine/src/db.rs`, and docs/testing.md."),
            vec!["engine/src/db.rs", "docs/testing.md"]
        );
        assert_eq!(paths_in("[map](ARCHITECTURE.md) [x](docs/sql.md#types)"), vec!["docs/sql.md"]);
        assert_eq!(paths_in("the crate `engine/` and and/or either/ way"), vec!["engine/"]);
        let elsewhere =
            "https://example.org/a.md ./data/x.toml /etc/y.toml docs/decisions/YYYY-MM-DD-name.md a/*.rs";
        assert!(paths_in(elsewhere).is_empty());
    }

    #[test]
    fn missing_files_are_reported_with_their_line() {
        let root = xtask::tools::repository_root();
        let mut problems = Vec::new();
        let text = "fine: `xtask/src/main.rs`\nnot fine: `xtask/src/nothing.rs`\n";
        check_paths(&root, "docs/testing.md", text, &mut problems);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].line, 2);
    }

    #[test]
    fn machine_paths_are_reported() {
        let root = Path::new("/some/checkout");
        let home = ["/ho", "me/"].concat();
        let text = format!("cd {home}ann/x\n/some/checkout/y\n$(HOME){home}z\n/etc/passwd\n");
        let mut problems = Vec::new();
        check_machine_paths(root, "a.rs", &text, &mut problems);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), vec![1, 2]);
    }
}
