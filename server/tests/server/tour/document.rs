//! The page and its fenced blocks: each begins with a line of three backticks, a language, and its name.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const FENCE: &str = "```";

/// Cargo says at run time where the crate is: the path that was compiled in may belong to another clone.
fn page() -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&root).join("../docs/tour.md")
}

/// Every block of the page must be one of these, and each of these must be there. If the environment asks for
/// it, the blocks of the page are rewritten instead.
pub(super) fn check(blocks: &[(&str, String)]) {
    let page = page();
    let text = std::fs::read_to_string(&page).expect("docs/tour.md is there");
    let (written, wrong) = rewritten(&text, blocks);
    if std::env::var_os("HYADES_RECORD_TOUR").is_some() {
        std::fs::write(&page, written).expect("docs/tour.md can be written");
    } else {
        assert!(wrong.is_empty(), "docs/tour.md is not what happens; HYADES_RECORD_TOUR=1 records:\n{wrong}");
    }
}

/// The page with the right blocks, and a list of what was wrong with it.
fn rewritten(text: &str, blocks: &[(&str, String)]) -> (String, String) {
    let (mut page, mut wrong) = (String::new(), String::new());
    let mut missing: Vec<&str> = blocks.iter().map(|(name, _)| *name).collect();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page = page + line + "\n";
        let Some(head) = line.strip_prefix(FENCE) else { continue };
        let name = head.split(' ').nth(1).unwrap_or_default();
        let is =
            lines.by_ref().take_while(|line| *line != FENCE).fold(String::new(), |is, line| is + line + "\n");
        let found = blocks.iter().find(|(known, _)| *known == name);
        let (_, must_be) = found.unwrap_or_else(|| panic!("nothing makes a block \"{name}\": {line}"));
        let must_be = must_be.trim_end().to_owned() + "\n";
        if is != must_be {
            writeln!(wrong, "block \"{name}\" says\n{is}but must say\n{must_be}")
                .expect("writing to a string");
        }
        missing.retain(|missing| *missing != name);
        page = page + &must_be + FENCE + "\n";
    }
    assert!(missing.is_empty(), "docs/tour.md lacks the blocks {missing:?}");
    (page, wrong)
}

#[test]
fn blocks_are_replaced_by_name() {
    let blocks = [("one", "1\n".to_owned()), ("two", "2".to_owned())];
    let (page, wrong) = rewritten("a\n```text one\n1\n```\nb\n```sql two\nx\ny\n```\n", &blocks);
    assert_eq!(page, "a\n```text one\n1\n```\nb\n```sql two\n2\n```\n");
    assert_eq!(wrong, "block \"two\" says\nx\ny\nbut must say\n2\n\n");
}
