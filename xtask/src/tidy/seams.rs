//! Clocks, threads, chance and files are used where ARCHITECTURE.md says, and nowhere else in types, engine
//! and sql: a simulation controls only what goes through a seam.
//!
//! The table there is the list. Each row names the kind, its seam, and the files that have a reason of their
//! own. A file that is listed and does not use its kind is stale.

use std::collections::BTreeSet;

use super::problem::Problem;
use super::source::Source;

const LIST: &str = "ARCHITECTURE.md";
const CRATES: [&str; 3] = ["types/src/", "engine/src/", "sql/src/"];

/// The first cell of each row of the table, and what its kind looks like in code.
const KINDS: [(&str, &[&str]); 4] = [
    ("clocks", &["Instant::now", "SystemTime::now"]),
    ("threads", &["thread::spawn(", "thread::sleep(", "thread::Builder::", "spawn_scoped("]),
    ("chance", &["rand::random", "rand::rng("]),
    ("files", &["std::fs", "OpenOptions::new("]),
];

/// What the files of the checkout use.
#[derive(Default)]
pub(super) struct Seams {
    /// File, line, kind.
    used: Vec<(String, usize, usize)>,
    /// Line, kind, path.
    listed: Vec<(usize, usize, String)>,
}

impl Seams {
    pub(super) fn read(&mut self, file: &str, text: &str) {
        if file == LIST {
            self.listed = listed_in(text);
        }
        if !file.ends_with(".rs") || !CRATES.iter().any(|place| file.starts_with(place)) || is_test(file) {
            return;
        }
        for (index, code) in Source::scan(text).code_lines().iter().enumerate() {
            if code.starts_with("mod tests {") || code.starts_with("mod model {") {
                return;
            }
            if code.contains("loom::") {
                continue;
            }
            let uses = |words: &[&str]| words.iter().any(|word| code.contains(word));
            let kinds = KINDS.iter().enumerate().filter(|(_, (_, words))| uses(words));
            self.used.extend(kinds.map(|(kind, _)| (file.to_owned(), index + 1, kind)));
        }
    }

    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        let covers = |path: &str, file: &str| file == path || (path.ends_with('/') && file.starts_with(path));
        let mut found = BTreeSet::new();
        for (file, line, kind) in &self.used {
            let listed = |(_, its, path): &&(usize, usize, String)| its == kind && covers(path, file);
            if !self.listed.iter().any(|row| listed(&row)) && found.insert((file, kind)) {
                let name = KINDS[*kind].0;
                let message =
                    format!("uses {name} beside their seam: go through it, or give the reason in {LIST}");
                problems.push(Problem::new(file, *line, message));
            }
        }
        for (line, kind, path) in &self.listed {
            if !self.used.iter().any(|(file, _, its)| its == kind && covers(path, file)) {
                let message = format!("`{path}` does not use {}: remove it from the table", KINDS[*kind].0);
                problems.push(Problem::new(LIST, *line, message));
            }
        }
    }
}

fn is_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    file.contains("/tests/") || name == "tests.rs" || name.ends_with("_tests.rs") || name == "generators.rs"
}

/// The paths in backticks of the table's rows.
fn listed_in(text: &str) -> Vec<(usize, usize, String)> {
    let mut listed = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((first, rest)) = line.strip_prefix("| ").and_then(|line| line.split_once(" |")) else {
            continue;
        };
        let Some(kind) = KINDS.iter().position(|(name, _)| *name == first) else { continue };
        let paths = rest.split('`').skip(1).step_by(2).filter(|path| path.contains('/'));
        listed.extend(paths.map(|path| (index + 1, kind, path.to_owned())));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(table: &str, file: &str, code: &str) -> Vec<String> {
        let (mut seams, mut problems) = (Seams::default(), Vec::new());
        seams.read(LIST, table);
        seams.read(file, code);
        seams.check(&mut problems);
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn what_goes_beside_a_seam_is_found() {
        let code = "let begun = Instant::now();\n";
        let table = "| clocks | `engine/src/sync.rs` |\n";
        assert_eq!(problems_of(table, "engine/src/sync.rs", code), [""; 0]);
        assert_eq!(problems_of(table, "server/src/top.rs", code).len(), 1, "the listed file is not there");
        assert_eq!(problems_of("", "engine/src/db.rs", code).len(), 1);
        assert_eq!(
            problems_of("| files | `engine/src/` |", "engine/src/disk/real.rs", "use std::fs;"),
            [""; 0]
        );
        for own in ["// Instant::now()\n", "#[cfg(test)]\nmod tests {\n    Instant::now();\n"] {
            assert_eq!(problems_of("", "engine/src/db.rs", own), [""; 0], "{own}");
        }
        assert_eq!(problems_of("", "engine/src/db/tests.rs", code), [""; 0]);
    }
}
