//! SQL functions collect in the types of `types/src/collect.rs`, which ask for memory and count their work. A
//! vector or a string that grows with an argument in any other way is the next statement that ends the
//! process.
//!
//! A place that cannot become large says why in a comment on its line or above it: `// Bounded: by ...`.

use super::problem::Problem;
use super::source::Source;

/// The functions, and the values that they build.
const PLACES: [&str; 2] = ["types/src/function/", "types/src/json/"];

/// What allocates as much as an argument is long.
const UNASKED: [&str; 9] = [
    ".collect(",
    ".collect::<",
    ".to_vec(",
    ".repeat(",
    ".concat(",
    ".join(",
    ".replace(",
    "with_capacity(",
    ".values.clone(",
];

/// What is empty, and grows if it is mutable.
const EMPTY: [&str; 3] = ["= Vec::new(", "= String::new(", "= CompactString::default("];

/// The same words where they ask.
const ASKED: [&str; 3] = ["List::with_capacity(", "Text::with_capacity(", "Bytes::with_capacity("];

const REASON: &str = "// Bounded: ";

pub(super) fn check(file: &str, text: &str, source: &Source, problems: &mut Vec<Problem>) {
    if !PLACES.iter().any(|place| file.starts_with(place)) || file.ends_with("tests.rs") {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    for (index, code) in source.code_lines().iter().enumerate() {
        if code.starts_with("mod tests {") {
            return;
        }
        let plain = ASKED.iter().fold(code.clone(), |code, asked| code.replace(asked, ""));
        let is_filled = plain.contains("vec![") && plain.contains("; ");
        let found = UNASKED.iter().find(|word| plain.contains(*word));
        let grown = EMPTY.iter().find(|word| plain.contains("let mut ") && plain.contains(*word));
        let Some(word) = found.or(grown).copied().or(is_filled.then_some("vec![..; n]")) else { continue };
        if !has_reason(&lines, index) {
            let message = format!(
                "`{word}` in a function: collect in the types of types/src/collect.rs, or say above why it \
                 cannot become large ({}...)",
                REASON.trim_start_matches("// ")
            );
            problems.push(Problem::new(file, index + 1, message));
        }
    }
}

/// Whether a comment on the line, or among those directly above it, gives the reason.
fn has_reason(lines: &[&str], index: usize) -> bool {
    let above = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
    above.chain([&lines[index]]).any(|line| line.contains(REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(file: &str, text: &str) -> usize {
        let mut problems = Vec::new();
        check(file, text, &Source::scan(text), &mut problems);
        problems.len()
    }

    #[test]
    fn what_grows_without_asking_is_found() {
        let file = "types/src/function/new.rs";
        for line in [
            "let all: Vec<&str> = text.split(',').collect();",
            "let copy = array.values.to_vec();",
            "let many = vec![Value::Null; count];",
            "let mut out = String::new();",
            "let mut out = Vec::with_capacity(text.len());",
        ] {
            assert_eq!(problems_of(file, line), 1, "{line}");
            assert_eq!(problems_of(file, &format!("// Bounded: by the dimensions.\n{line}")), 0, "{line}");
            assert_eq!(problems_of("types/src/text.rs", line), 0, "{line}");
        }
        for line in [
            "let all = collect::list(text.split(','))?;",
            "let mut out = Bytes::with_capacity(text.len())?;",
            "return Ok(Vec::new());",
            "// .collect() in a comment",
            "#[cfg(test)]\nmod tests {\nlet all: Vec<u8> = x.collect();",
        ] {
            assert_eq!(problems_of(file, line), 0, "{line}");
        }
    }
}
