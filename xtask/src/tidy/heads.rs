//! The head of a room is a map of it: a list that names each of its files, and no others.
//!
//! A room is a file `x.rs` of a product crate with modules in `x/`. The list in its head begins with a line
//! such as `Files:` or `Files, in reading order:` and ends at the next empty line. In the list, a lower-case
//! word in backticks is the name of a file. Text in parentheses may mention anything else. A small room needs
//! no list.

use std::collections::BTreeSet;

use super::circles::{children, without_tests};
use super::paths::{is_of_tests, module_of};
use super::problem::Problem;
use super::source::Source;

const CRATES: [&str; 6] = ["types", "engine", "sql", "server", "bench", "sim"];

/// The most files of a room without a list.
const LARGEST_WITHOUT_LIST: usize = 3;

pub(super) fn check(file: &str, text: &str, source: &Source, problems: &mut Vec<Problem>) {
    let Some((_, module)) = module_of(file).filter(|(krate, _)| CRATES.contains(krate)) else { return };
    if is_of_tests(&module) {
        return;
    }
    let modules = children(&without_tests(&source.code), &module).into_keys();
    let is_file = |name: &String| name != "self" && !is_of_tests(std::slice::from_ref(name));
    let files: BTreeSet<String> = modules.filter(is_file).collect();
    let Some((line, named)) = list_in(text) else {
        if files.len() > LARGEST_WITHOUT_LIST {
            let message = format!("{} files and no list of them: add `Files:` to the head", files.len());
            problems.push(Problem::new(file, 1, message));
        }
        return;
    };
    let missing: Vec<&String> = files.difference(&named).collect();
    if !missing.is_empty() {
        let message = format!("the list of files lacks {}: say what each is for", in_backticks(&missing));
        problems.push(Problem::new(file, line, message));
    }
    let unknown: Vec<&String> = named.difference(&files).collect();
    if !unknown.is_empty() {
        let message = format!(
            "the list of files names {}, which this module does not declare: remove it, or put it in parentheses",
            in_backticks(&unknown)
        );
        problems.push(Problem::new(file, line, message));
    }
}

fn in_backticks(names: &[&String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The line at which the list of a head begins, and the files that it names.
fn list_in(text: &str) -> Option<(usize, BTreeSet<String>)> {
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let start = head.iter().position(|line| line.starts_with("Files") && line.ends_with(':'))?;
    let list = head[start + 1..].iter().take_while(|line| !line.is_empty());
    let list = without_parentheses(&list.copied().collect::<Vec<_>>().join(" "));
    let is_name = |word: &&str| {
        let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !word.is_empty() && word.chars().all(is_lower)
    };
    let quoted = list.split('`').skip(1).step_by(2);
    Some((start + 1, quoted.filter(is_name).map(str::to_owned).collect()))
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let is_outside = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    text.chars().filter(is_outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(file: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check(file, text, &Source::scan(text), &mut problems);
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_list_names_every_file() {
        let head = "//! A room.\n//!\n//! Files:\n//! * `one`: this (like `three`); [`two`]:\n//!   that `Type`.\n//!\n//! `else`\n";
        let code =
            "mod one;\npub mod two;\n#[cfg(all(test, not(loom)))]\nmod tests;\n#[cfg(test)]\nmod model;\n";
        assert_eq!(problems_of("sql/src/bind.rs", &format!("{head}{code}")), [""; 0]);
        let found = problems_of("sql/src/bind.rs", &format!("{head}{code}mod four;\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("sql/src/bind.rs:3: the list of files lacks `four`"), "{found:?}");
        let found = problems_of("sql/src/bind.rs", &format!("{head}mod one;\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("names `two`"), "{found:?}");
    }

    #[test]
    fn larger_rooms_need_a_list() {
        let three = "//! A room.\nmod one;\nmod two;\nmod three;\nmod tests;\n";
        assert_eq!(problems_of("engine/src/log.rs", three), [""; 0]);
        assert_eq!(problems_of("engine/src/log.rs", &format!("{three}mod four;\n")).len(), 1);
    }

    #[test]
    fn only_lists_of_the_product_are_read() {
        let text = "//! Files:\n//! * `one`\nmod two;\n";
        assert_eq!(problems_of("sql/src/bind.rs", text).len(), 2);
        for file in ["xtask/src/tidy.rs", "sql/src/bind/tests.rs", "sql/tests/golden.rs"] {
            assert_eq!(problems_of(file, text), [""; 0], "{file}");
        }
        assert_eq!(problems_of("sql/src/bind.rs", "//! Files are `here`.\nmod two;\n"), [""; 0]);
    }
}
