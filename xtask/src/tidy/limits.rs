//! Limits of a Rust file: it explains itself, is short, has short functions, and contains nothing unfinished.

use super::problem::Problem;
use super::source::{Source, is_word, line_of};

/// The most lines of a file, including documentation and tests.
const FILE_LINES: usize = 800;
/// The most lines of a protocol's file, so that a reader can keep it in mind.
const PROTOCOL_LINES: usize = 700;
/// From the line of `fn` to the line of the closing brace.
const FUNCTION_LINES: usize = 70;

/// The most characters of a line of comment. Code has the same limit in `rustfmt.toml`. Tables and text
/// between fences may be wider.
const COMMENT_WIDTH: usize = 110;

/// What code must not contain, and what to do instead.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "write it or return an error"),
    ("unimplemented!", "write it or return an error"),
    ("dbg!", "remove it or use tracing"),
    ("#[ignore", "make the test fast enough to run, or delete it"),
];

pub(super) fn check(file: &str, text: &str, source: &Source, problems: &mut Vec<Problem>) {
    if !text.starts_with("//!") {
        let message = "no `//!` at the top: say what the file is, why it is here, and its invariants";
        problems.push(Problem::new(file, 1, message));
    }
    let limit = if is_protocol(file) { PROTOCOL_LINES } else { FILE_LINES };
    let lines = text.lines().count();
    if lines > limit {
        let message = format!("{lines} lines, the limit is {limit}: split it by responsibility");
        problems.push(Problem::new(file, limit + 1, message));
    }
    for (name, first, last) in functions(&source.code) {
        let lines = last - first + 1;
        if lines > FUNCTION_LINES {
            let message = format!("fn {name} has {lines} lines, the limit is {FUNCTION_LINES}: split it");
            problems.push(Problem::new(file, first, message));
        }
    }
    check_words(file, source, problems);
    check_comment_width(file, text, problems);
    check_type_documents(file, text, problems);
    check_compiled_paths(file, text, problems);
}

/// Clones can share a build cache, so a path that is compiled in may belong to another clone.
fn check_compiled_paths(file: &str, text: &str, problems: &mut Vec<Problem>) {
    for (index, line) in text.lines().enumerate() {
        if line.contains("env!(\"CARGO_MANIFEST_DIR\")") && !line.contains("var_os") {
            let message = "a path that is compiled in: ask for CARGO_MANIFEST_DIR at run time first";
            problems.push(Problem::new(file, index + 1, message));
        }
    }
}

/// A public type is seen without the head of its file, so its document must be a sentence of its own.
fn check_type_documents(file: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut refers_to_head = None;
    for (index, line) in text.lines().enumerate() {
        if matches!(line, "/// See the module head." | "/// See the file head.") {
            refers_to_head = Some(index + 1);
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let is_type = ["pub struct ", "pub enum ", "pub trait "].iter().any(|word| line.starts_with(word));
        if let Some(at) = refers_to_head.take().filter(|_| is_type) {
            problems.push(Problem::new(file, at, "say in a sentence what the public type is"));
        }
    }
}

fn check_comment_width(file: &str, text: &str, problems: &mut Vec<Problem>) {
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_fenced = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        is_fenced ^= comment.starts_with("```");
        let width = line.chars().count();
        if width > COMMENT_WIDTH && !is_fenced && !comment.starts_with('|') {
            let message = format!("a comment of {width} characters, the limit is {COMMENT_WIDTH}: wrap it");
            problems.push(Problem::new(file, index + 1, message));
        }
    }
}

fn is_protocol(file: &str) -> bool {
    file.starts_with("engine/src/protocol/")
}

fn check_words(file: &str, source: &Source, problems: &mut Vec<Problem>) {
    for (index, line) in source.code_lines().iter().enumerate() {
        for (word, remedy) in UNFINISHED {
            if contains_word(line, word) {
                problems.push(Problem::new(file, index + 1, format!("`{word}` in code: {remedy}")));
            }
        }
    }
    for (index, line) in source.comment_lines().iter().enumerate() {
        for word in ["TODO", "FIXME"] {
            if contains_word(line, word) && !has_reason(line, word) {
                let message = format!(
                    "{word} without a reason: do it, or write {word}(docs/<file>.md) and say there why"
                );
                problems.push(Problem::new(file, index + 1, message));
            }
        }
    }
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let last = word.chars().next_back();
        !(before.is_some_and(is_word) || last.is_some_and(is_word) && after.is_some_and(is_word))
    })
}

/// Whether the word is followed by the document that gives the reason.
fn has_reason(line: &str, word: &str) -> bool {
    line.split(word).skip(1).all(|rest| rest.starts_with("(docs/"))
}

/// Every function with a body: its name, first and last line.
fn functions(code: &[char]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = next_word(code, at, "fn") {
        at = start + 2;
        let name: String = code[at..]
            .iter()
            .skip_while(|c| c.is_whitespace())
            .take_while(|&&c| is_word(c) || c == '#')
            .collect();
        // A function pointer type has no name.
        if name.is_empty() {
            continue;
        }
        if let Some(open) = body_start(code, at) {
            let close = matching_brace(code, open);
            found.push((name, line_of(code, start), line_of(code, close)));
        }
    }
    found
}

fn next_word(code: &[char], from: usize, word: &str) -> Option<usize> {
    let word: Vec<char> = word.chars().collect();
    (from..code.len().saturating_sub(word.len())).find(|&i| {
        code[i..i + word.len()] == word[..]
            && (i == 0 || !is_word(code[i - 1]))
            && !is_word(code[i + word.len()])
    })
}

/// The `{` of a function's body, or `None` for a declaration that ends in `;`.
fn body_start(code: &[char], from: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (i, &c) in code.iter().enumerate().skip(from) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// The position of the brace that closes the one at `open`. The end of the file when there is none.
fn matching_brace(code: &[char], open: usize) -> usize {
    let mut depth = 0_i32;
    for (i, &c) in code.iter().enumerate().skip(open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(file: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check(file, text, &Source::scan(text), &mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn functions_are_measured_from_name_to_closing_brace() {
        let text = "impl T {\n  fn a(&self, f: fn(u8) -> [u8; 2]) -> u8\n  where\n    T: Sized,\n  {\n    \
                    \"}\".len();\n    '}'; // }\n  }\n  fn declared(x: [u8; 4]);\n  fn b() {}\n}\n";
        let code = Source::scan(text).code;
        assert_eq!(functions(&code), vec![("a".to_owned(), 2, 8), ("b".to_owned(), 10, 10)]);
    }

    #[test]
    fn a_long_function_is_named() {
        let text = format!("//! head\nfn long() {{\n{}}}\n", "    x();\n".repeat(69));
        let problems = problems_of("a.rs", &text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("a.rs:2: fn long has 71 lines"), "{problems:?}");
        let text = format!("//! head\nfn long() {{\n{}}}\n", "    x();\n".repeat(68));
        assert!(problems_of("a.rs", &text).is_empty());
    }

    #[test]
    fn a_path_that_is_compiled_in_is_found() {
        let path = "env!(\"CARGO_MANIFEST_DIR\")";
        assert_eq!(problems_of("a.rs", &format!("//! head\nlet root = {path};\n")).len(), 1);
        let asked = format!("//! head\nlet root = var_os(NAME).unwrap_or_else(|| {path}.into());\n");
        assert!(problems_of("a.rs", &asked).is_empty());
    }

    #[test]
    fn files_have_a_head_and_a_limit() {
        assert_eq!(problems_of("a.rs", "fn f() {}\n").len(), 1);
        let text = format!("//! head\n{}", "\n".repeat(750));
        assert!(problems_of("a.rs", &text).is_empty());
        assert_eq!(problems_of("engine/src/protocol/x.rs", &text).len(), 1);
    }

    #[test]
    fn comments_are_as_wide_as_code() {
        let long = "word ".repeat(30);
        assert_eq!(problems_of("a.rs", &format!("//! head\n    // {long}\n")).len(), 1);
        let table = format!("//! | {long}|\n//! ```text\n//! {long}\n//! ```\nlet x = \"// {long}\";\n");
        assert!(problems_of("a.rs", &table).is_empty());
    }

    #[test]
    fn unfinished_code_is_found_only_in_code() {
        assert!(problems_of("a.rs", "//! about todo!() and #[ignore]\nlet s = \"dbg!(\";\n").is_empty());
        for word in ["todo!()", "unimplemented!()", "dbg!(x)", "#[ignore]", "#[ignore = \"slow\"]"] {
            assert_eq!(problems_of("a.rs", &format!("//! head\n{word}\n")).len(), 1, "{word}");
        }
        assert!(problems_of("a.rs", "//! head\nmy_dbg!(x)\n").is_empty());
    }

    #[test]
    fn a_reminder_needs_a_reason() {
        let reminder = ["TO", "DO"].concat();
        assert_eq!(problems_of("a.rs", &format!("//! head\n// {reminder}: later\n")).len(), 1);
        assert!(
            problems_of("a.rs", &format!("//! head\n// {reminder}(docs/testing.md): later\n")).is_empty()
        );
    }

    #[test]
    fn a_public_type_has_a_sentence_of_its_own() {
        let of = |text: &str| problems_of("engine/src/new.rs", &format!("//! Head.\n\n{text}"));
        let refers = "/// See the module head.\n#[derive(Debug)]\n";
        assert_eq!(of(&format!("{refers}pub struct New;\n")).len(), 1);
        assert!(of(&format!("{refers}struct New;\n")).is_empty(), "whoever sees it sees the head");
        assert!(of("/// A new thing.\npub struct New;\n").is_empty());
    }
}
