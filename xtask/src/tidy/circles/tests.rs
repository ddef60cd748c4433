//! Circles that are found, and code without any.

use super::*;

fn files(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    texts.iter().map(|(name, text)| (format!("engine/src/{name}.rs"), (*text).to_owned())).collect()
}

/// The components of a crate, each as the names of its files.
fn circles(texts: &[(&str, &str)]) -> Vec<String> {
    let name = |module: &Vec<String>| module.join("/");
    let found = components(&graph_of(&read_files(&files(texts))));
    found.iter().map(|component| component.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn imports_and_paths_in_code_make_circles() {
    assert_eq!(
        circles(&[("a", "use crate::b::B; pub struct A;"), ("b", "fn f() { crate::a::A; }")]),
        ["a b"]
    );
    assert_eq!(circles(&[("a", "use crate::b::B;"), ("b", "pub struct B;")]), NOTHING);
    let round = [("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "use crate::{a::A, d};")];
    assert_eq!(circles(&round), ["a b c"]);
}

#[test]
fn a_child_that_needs_its_parent_is_a_circle_if_the_parent_needs_it() {
    let child = ("a/b", "use super::A; pub struct B;");
    assert_eq!(circles(&[("a", "mod b; pub struct A;"), child]), NOTHING, "`mod` is no import");
    assert_eq!(circles(&[("a", "mod b; pub struct A { b: b::B }"), child]), ["a a/b"]);
    assert_eq!(circles(&[("a", "mod b; use b::B; pub struct A;"), child]), ["a a/b"]);
    assert_eq!(circles(&[("a", "mod b; use self::b::B; pub struct A;"), child]), ["a a/b"]);
}

#[test]
fn edges_up_and_down_make_no_circle_beside() {
    let graph = |texts| beside(&graph_of(&read_files(&files(texts))));
    let below = ("a/b", "use super::A; use crate::c::C; pub struct B;");
    let texts = [("a", "mod b; pub struct A { b: b::B }"), below, ("c", "use crate::a::A; pub struct C;")];
    assert_eq!(components(&graph(&texts)).len(), 0, "a -> a/b -> c -> a");
    let texts = [("a", "mod b;"), below, ("c", "use crate::a::b::B; pub struct C;")];
    assert_eq!(components(&graph(&texts)).len(), 1);
}

#[test]
fn re_exports_are_followed() {
    let parent = "mod b; mod c; pub(crate) use b::B; use c::C as D;";
    let files = [("a", parent), ("a/b", "pub struct B; use super::D;"), ("a/c", "pub struct C;")];
    assert_eq!(circles(&files), NOTHING, "the items stand in other files");
    let used = format!("{parent} fn f(b: B) {{}} pub struct A;");
    let files = [("a", used.as_str()), ("a/b", "pub struct B; use super::A;"), ("a/c", "pub struct C;")];
    assert_eq!(circles(&files), ["a a/b"], "who re-exports uses it, too");
    let files = [
        ("lib", "mod a; mod b; pub use a::*;"),
        ("a", "pub struct A; use crate::b::B;"),
        ("b", "use crate::A;"),
    ];
    assert_eq!(circles(&files), ["a b"]);
}

#[test]
fn modules_are_used_where_their_items_are_named() {
    let b = ("b", "use crate::a::A; pub fn f() {}");
    assert_eq!(circles(&[("a", "use crate::b; pub struct A;"), b]), NOTHING);
    assert_eq!(circles(&[("a", "use crate::b; pub struct A; fn g() { b::f() }"), b]), ["a b"]);
    assert_eq!(circles(&[("a", "use crate::b as c; pub struct A; fn g() { c::f() }"), b]), ["a b"]);
}

#[test]
fn what_comes_from_elsewhere_and_tests_count_for_nothing() {
    let parent = ("a", "mod b; use std::sync::{Arc, atomic::AtomicBool as Flag}; fn f() { b::g() }");
    assert_eq!(circles(&[parent, ("a/b", "use super::{Arc, Flag}; pub fn g() {}")]), NOTHING);
    let child = "pub fn g() {}\n#[cfg(test)]\nmod tests { use super::super::f; }";
    assert_eq!(circles(&[parent, ("a/b", child)]), NOTHING);
    assert_eq!(circles(&[parent, ("a/b", "pub fn g() {}"), ("a/b/tests", "use crate::a::f;")]), NOTHING);
}

#[test]
fn larger_circles_are_refused_with_one_of_their_ways() {
    let texts = files(&[
        ("a", "use crate::b::X;\npub struct X;"),
        ("b", "\nuse crate::{a::X as Y, c::X};\npub struct X;"),
        ("c", "use crate::d::X;\npub struct X;"),
        ("d", "use crate::b::X;\npub struct X;"),
    ]);
    let mut problems = Vec::new();
    check_crate(&texts, &mut problems);
    let refused: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), 2, "beside each other, and at all");
    assert!(refused[0].starts_with("engine/src/a.rs:1: 4 files need each other"), "{refused:?}");
    assert!(refused[0].contains("engine/src/a.rs:1 -> engine/src/b.rs:2 -> engine/src/a.rs:"), "{refused:?}");
    let mut problems = Vec::new();
    check_crate(&texts[..3], &mut problems);
    assert_eq!(problems.len(), 1, "two beside each other may not, but three at all");
}
