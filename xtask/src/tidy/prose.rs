//! Prose says what is so: numbers that are cited exist, decisions that are overtaken say so, no line of a
//! comment stands twice, and sentences have subjects.
//!
//! * Pitfalls: the table in docs/log-format.md lists exactly the numbers that code and documents cite.
//! * Decisions: the third line is the state of a decision, `*date. Decided.*`. A decision that says `Amends`
//!   or `Supersedes` another is named there by the other one.
//! * Comments: a block of lines is not followed by itself, which is what a careless edit leaves.
//! * Words: a sentence says which session, transaction, client or role it is about.

use std::collections::BTreeMap;

use super::problem::Problem;

const PITFALLS: &str = "docs/log-format.md";
const DECISIONS: &str = "docs/decisions/";
/// Shorter lines of a comment may be the same.
const SHORTEST_DOUBLED: usize = 25;
/// The longest block that is looked for.
const LONGEST_BLOCK: usize = 6;

/// Words that hide the subject of a sentence. What is in backticks is quoted, and may have them.
const VAGUE: [&str; 8] =
    ["whoever", "whomever", "nobody", "somebody", "anybody", "everybody", "himself", "those who"];

/// What the texts of the checkout have said so far.
#[derive(Default)]
pub(super) struct Prose {
    /// The first place that cites each pitfall.
    cited: BTreeMap<u32, (String, usize)>,
    /// The lines of the table.
    listed: BTreeMap<u32, usize>,
    decisions: BTreeMap<String, State>,
}

/// The state of a decision: which others it amends, and which have amended it.
#[derive(Default)]
struct State {
    amends: Vec<String>,
    amended_by: Vec<String>,
}

impl Prose {
    pub(super) fn read(&mut self, file: &str, text: &str, problems: &mut Vec<Problem>) {
        let is_document = file.ends_with(".md");
        if file.ends_with(".rs") || is_document {
            let prose: Vec<Option<&str>> = text
                .lines()
                .map(|line| if is_document { Some(line.trim()) } else { comment(line) })
                .collect();
            self.cite(file, &prose);
            check_doubled(file, &prose, problems);
            check_words(file, &prose, problems);
        }
        if file.ends_with(".sql") {
            let prose: Vec<Option<&str>> = text.lines().map(|line| line.strip_prefix("--")).collect();
            check_words(file, &prose, problems);
        }
        if file == PITFALLS {
            self.listed = listed_in(text);
        }
        if let Some(name) = file.strip_prefix(DECISIONS) {
            match state_of(name, text) {
                Ok(state) => drop(self.decisions.insert(name.to_owned(), state)),
                Err(message) => problems.push(Problem::new(file, 3, message)),
            }
        }
    }

    /// What only all files together show.
    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        for (number, (file, line)) in &self.cited {
            if !self.listed.contains_key(number) {
                let message = format!("cites pitfall {number}, which {PITFALLS} does not list: add its rule");
                problems.push(Problem::new(file, *line, message));
            }
        }
        for (number, line) in &self.listed {
            if !self.cited.contains_key(number) {
                let message =
                    format!("lists pitfall {number}, which nothing cites: cite it where it is avoided");
                problems.push(Problem::new(PITFALLS, *line, message));
            }
        }
        for (name, state) in &self.decisions {
            let mut mismatch = |other: &String, has: bool, says: &str, must: &str| {
                if !has {
                    let message = format!("{says} {other}, which must say `{must} {DECISIONS}{name}`");
                    problems.push(Problem::new(&format!("{DECISIONS}{name}"), 3, message));
                }
            };
            for other in &state.amends {
                let named = self.decisions.get(other).is_some_and(|other| other.amended_by.contains(name));
                mismatch(other, named, "amends", "Amended by");
            }
            for other in &state.amended_by {
                let named = self.decisions.get(other).is_some_and(|other| other.amends.contains(name));
                mismatch(other, named, "is amended by", "Amends");
            }
        }
    }

    fn cite(&mut self, file: &str, prose: &[Option<&str>]) {
        // A line may end between the word and its numbers.
        let mut is_open = false;
        for (index, line) in prose.iter().enumerate() {
            let Some(line) = line else {
                is_open = false;
                continue;
            };
            let mut words = line.split_whitespace();
            while let Some(word) = words.next() {
                let number = if is_open { number_in(word) } else { None };
                match number {
                    Some(number) => drop(self.cited.entry(number).or_insert((file.to_owned(), index + 1))),
                    None if is_open && word == "and" => {}
                    None => is_open = matches!(word.trim_start_matches('('), "pitfall" | "pitfalls"),
                }
                if number.is_some() {
                    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
                    is_open = rest == "," || (rest.is_empty() && words.clone().next() == Some("and"));
                }
            }
        }
    }
}

/// The text of a line that is only a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// A number with the punctuation that may follow it in a sentence.
fn number_in(word: &str) -> Option<u32> {
    word.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// The first column of the table of pitfalls.
fn listed_in(text: &str) -> BTreeMap<u32, usize> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.contains("pitfall N"));
    let number = |line: &str| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok();
    lines.filter_map(|(index, line)| Some((number(line)?, index + 1))).collect()
}

fn state_of(name: &str, text: &str) -> Result<State, String> {
    let date = name.get(..10).unwrap_or_default();
    let said: Vec<&str> = text.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    let said = said.join(" ");
    let begins = [format!("*{date}. Decided."), format!("*{date}. Superseded by ")];
    if !begins.iter().any(|begin| said.starts_with(begin)) || !said.ends_with('*') {
        return Err(format!("the third line is the state of the decision, such as `{}*`", begins[0]));
    }
    let named = |words: [&str; 2]| -> Vec<String> {
        let sentences =
            said.split_inclusive(". ").filter(|sentence| words.iter().any(|word| sentence.contains(word)));
        let others = |sentence: &str| {
            let paths = sentence.split(DECISIONS).skip(1);
            paths.filter_map(|path| Some(format!("{}.md", path.split_once(".md")?.0))).collect::<Vec<_>>()
        };
        sentences.flat_map(others).collect()
    };
    Ok(State {
        amends: named(["Amends ", "Supersedes "]),
        amended_by: named(["Amended by ", "Superseded by "]),
    })
}

/// Refuses vague words, also those that a line begins and the next one ends.
fn check_words(file: &str, prose: &[Option<&str>], problems: &mut Vec<Problem>) {
    let mut before = "";
    for (index, line) in prose.iter().enumerate() {
        let line = line.unwrap_or_default();
        let text =
            format!("{before} {}", line.split('`').step_by(2).collect::<Vec<_>>().join("")).to_lowercase();
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        let has = |vague: &&&str| {
            let vague: Vec<&str> = vague.split(' ').collect();
            words.windows(vague.len()).any(|words| words == vague)
        };
        if let Some(vague) = VAGUE.iter().find(has) {
            let message =
                format!("`{vague}` in prose: name the session, transaction, client, role or reader");
            problems.push(Problem::new(file, index + 1, message));
        }
        before = line.rsplit(' ').next().filter(|word| *word == "those").unwrap_or_default();
    }
}

fn check_doubled(file: &str, prose: &[Option<&str>], problems: &mut Vec<Problem>) {
    for start in 0..prose.len() {
        let is_doubled = |length: usize| {
            let (Some(once), Some(again)) =
                (prose.get(start..start + length), prose.get(start + length..start + 2 * length))
            else {
                return false;
            };
            let is_text = |line: &Option<&str>| line.is_some_and(|line| line.contains(char::is_alphabetic));
            once == again
                && once.iter().all(is_text)
                && once.iter().flatten().any(|line| line.len() >= SHORTEST_DOUBLED)
        };
        if let Some(length) = (1..=LONGEST_BLOCK).find(|&length| is_doubled(length)) {
            let message = format!("{length} lines stand twice, one after the other");
            problems.push(Problem::new(file, start + length + 1, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(files: &[(&str, &str)]) -> Vec<String> {
        let (mut prose, mut problems) = (Prose::default(), Vec::new());
        for (file, text) in files {
            prose.read(file, text, &mut problems);
        }
        prose.check(&mut problems);
        problems.iter().map(Problem::to_string).collect()
    }

    const TABLE: &str = "## Rules cited as \"pitfall N\"\n\n| | rule |\n|---|---|\n| 3 | x |\n| 19 | y |\n";

    #[test]
    fn pitfalls_are_cited_as_they_are_listed() {
        let code = "// See pitfalls 3 and\n// 19. There are 7 others.\nlet pitfall = 5;\n";
        assert_eq!(problems_of(&[(PITFALLS, TABLE), ("a.rs", code)]), [""; 0]);
        let found = problems_of(&[
            (PITFALLS, TABLE),
            ("a.rs", "/// 1 so (pitfall 3), 2 not so (pitfall 4), 3 else.\n"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a.rs:1: cites pitfall 4"), "{found:?}");
        assert!(found[1].contains("lists pitfall 19"), "{found:?}");
    }

    #[test]
    fn overtaken_decisions_say_so() {
        let (old, new) = ("docs/decisions/2026-01-01-old.md", "docs/decisions/2026-01-02-new.md");
        let new_text = format!("# B\n\n*2026-01-02. Decided. Amends {old}.*\n\ntext");
        let found = problems_of(&[(old, "# A\n\n*2026-01-01. Decided.*\n"), (new, &new_text)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`Amended by docs/decisions/2026-01-02-new.md`"), "{found:?}");
        let old_text = format!("# A\n\n*2026-01-01. Decided. Amended by {new}:\nno more a.*\n");
        assert_eq!(problems_of(&[(old, &old_text), (new, &new_text)]), [""; 0]);
        assert_eq!(problems_of(&[(old, "# A\n\n2026-01-01\n")]).len(), 1);
    }

    #[test]
    fn sentences_have_subjects() {
        let found = |file: &str, text: &str| problems_of(&[(file, text)]).len();
        assert_eq!(found("a.rs", "/// Nobody waits, whoever\n/// comes.\nlet nobody = 1;\n"), 1);
        assert_eq!(found("a.md", "This is for those\nwho wait.\n"), 1);
        assert_eq!(found("a.sql", "-- Whoever waits.\nselect 'nobody';\n"), 1);
        assert_eq!(found("a.rs", "/// `nobody` is a role, and those whose rows\n/// it sees are many.\n"), 0);
    }

    #[test]
    fn no_line_stands_twice() {
        let line = "//! 2. `version` grows with every exchange.\n";
        assert_eq!(problems_of(&[("a.rs", &line.repeat(2))]).len(), 1);
        assert_eq!(
            problems_of(&[("a.rs", &format!("{line}//! Another, a second one.\n").repeat(2))]).len(),
            1
        );
        assert_eq!(
            problems_of(&[("a.rs", "// short\n// short\nlet same = 1; // of 25 letters and more\n")]),
            [""; 0]
        );
    }
}
