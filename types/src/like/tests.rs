//! LIKE against a plain recursive implementation of its definition.

use proptest::prelude::*;

use super::{escape, matches, matches_ignoring_case};

/// LIKE by its definition, regardless of time; None for a pattern that ends in its escape.
fn by_definition(text: &[char], pattern: &[char]) -> Option<bool> {
    match pattern {
        [] => Some(text.is_empty()),
        ['%', rest @ ..] => {
            for skipped in 0..=text.len() {
                if by_definition(&text[skipped..], rest)? {
                    return Some(true);
                }
            }
            Some(false)
        }
        ['_', rest @ ..] => text.split_first().map_or(Some(false), |(_, text)| by_definition(text, rest)),
        ['\\'] => {
            if text.is_empty() {
                Some(false)
            } else {
                None
            }
        }
        ['\\', plain, rest @ ..] | [plain, rest @ ..] => match text.split_first() {
            Some((first, text)) if first == plain => by_definition(text, rest),
            _ => Some(false),
        },
    }
}

#[test]
fn a_lone_escape_at_the_end_is_an_error() {
    let error = matches("ab", "a\\").unwrap_err();
    let message = "LIKE pattern must not end with escape character".to_owned();
    assert_eq!((error.sqlstate().0, error.to_string()), ("22025", message));
    assert!(!matches("a", "a\\").unwrap());
}

#[test]
fn case_is_ignored_on_both_sides() {
    assert!(matches_ignoring_case("ÉCOLE", "éc%E").unwrap());
    assert!(!matches_ignoring_case("ab", "a").unwrap());
}

#[test]
fn other_escapes_become_backslashes() {
    assert_eq!(escape("10#%", "#").unwrap(), "10\\%");
    assert_eq!(escape("a\\b", "#").unwrap(), "a\\\\b");
    assert_eq!(escape("a\\%", "\\").unwrap(), "a\\%");
    assert_eq!(escape("a\\%", "").unwrap(), "a\\\\%");
    let error = escape("a", "##").unwrap_err();
    assert_eq!((error.sqlstate().0, error.to_string()), ("22025", "invalid escape string".to_owned()));
}

/// A recursive matcher would take forever.
#[test]
fn many_wildcards_take_no_ages() {
    let text = "a".repeat(5000);
    assert!(!matches(&text, &("%a".repeat(50) + "%b")).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn matches_what_the_definition_does(text in "[abé漢]{0,8}", pattern in "[abé漢%_\\\\]{0,7}") {
        let characters = |text: &str| text.chars().collect::<Vec<char>>();
        let expected = by_definition(&characters(&text), &characters(&pattern));
        // If the pattern is invalid, it depends on the order of the search whether that is noticed.
        if let Some(expected) = expected {
            prop_assert_eq!(matches(&text, &pattern).unwrap_or(expected), expected);
        }
    }
}
