//! Which paths below its crate a file names: in `use` declarations and anywhere else in its code.
//!
//! A scanner, not a parser: it reads every path that starts with `crate::`, `super::` or a name that it knows
//! to be a module. Paths that macros put together are not seen. Reference: "Paths" and "Use declarations" in
//! The Rust Reference.

use std::collections::BTreeMap;

use super::source::is_word;

/// First words of paths that are modules, with their paths below the crate.
pub(super) type Names = BTreeMap<String, Vec<String>>;

/// A path that the code names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Used {
    /// Where it starts, as a position in the code. For a tree of `{...}` the start of the whole.
    pub(super) at: usize,
    /// Its parts below the crate.
    pub(super) path: Vec<String>,
    pub(super) import: Option<Import>,
}

/// The name that a `use` declaration gives to a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The name in the file. `*` for everything inside.
    pub(super) name: String,
    pub(super) is_public: bool,
}

/// Crate and path: `engine/src/log/buffer.rs` is `[log, buffer]` of `engine`.
pub(super) fn module_of(file: &str) -> Option<(&str, Vec<String>)> {
    let (krate, path) = file.split_once("/src/")?;
    let path = path.strip_suffix(".rs")?;
    Some((krate, path.split('/').map(str::to_owned).collect()))
}

/// Whether a file is built for tests only.
pub(super) fn is_of_tests(module: &[String]) -> bool {
    module.iter().any(|part| part == "tests" || part.ends_with("_tests"))
}

/// Every path below the crate that the code of `module` names.
pub(super) fn used_paths(code: &[char], module: &[String], names: &Names) -> Vec<Used> {
    let mut found = Vec::new();
    let mut declaration = None;
    let mut at = 0;
    while at < code.len() {
        if !is_word(code[at]) {
            if code[at] == ';' {
                declaration = None;
            }
            at += 1;
            continue;
        }
        let start = at;
        let word = take_word(code, &mut at);
        if word == "use" && code.get(at).is_some_and(|c| c.is_whitespace()) {
            declaration = Some(is_public(code, start));
            continue;
        }
        let continues_path = start >= 2 && code[start - 2..start] == [':', ':'];
        let Some(base) = base_of(&word, module, names).filter(|_| !continues_path) else { continue };
        if !take_separator(code, &mut at) {
            continue;
        }
        let base = take_parents(code, &mut at, base);
        let mut leaves = Vec::new();
        take_tree(code, &mut at, base, &mut leaves);
        for (path, name) in leaves {
            let import = declaration.map(|is_public| Import { name, is_public });
            found.push(Used { at: start, path, import });
        }
    }
    found
}

/// The module that a path's first word refers to.
fn base_of(word: &str, module: &[String], names: &Names) -> Option<Vec<String>> {
    match word {
        "crate" => Some(Vec::new()),
        "super" => Some(parent(module)),
        _ => names.get(word).cloned(),
    }
}

/// `super::super::`
fn take_parents(code: &[char], at: &mut usize, mut base: Vec<String>) -> Vec<String> {
    loop {
        let before = *at;
        if take_word(code, at) != "super" || !take_separator(code, at) {
            *at = before;
            return base;
        }
        base = parent(&base);
    }
}

/// Whether `pub` or `pub(...)` precedes a position.
fn is_public(code: &[char], at: usize) -> bool {
    let before: String = code[..at].iter().collect();
    let before = before.trim_end();
    let before = match before.strip_suffix(')') {
        Some(inner) => inner.rsplit_once('(').map_or("", |(before, _)| before),
        None => before,
    };
    before.strip_suffix("pub").is_some_and(|rest| !rest.ends_with(is_word))
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

fn take_word(code: &[char], at: &mut usize) -> String {
    let start = *at;
    while *at < code.len() && is_word(code[*at]) {
        *at += 1;
    }
    code[start..*at].iter().collect()
}

fn take_separator(code: &[char], at: &mut usize) -> bool {
    let is_separator = code[*at..].starts_with(&[':', ':']);
    *at += if is_separator { 2 } else { 0 };
    is_separator
}

fn skip_space(code: &[char], at: &mut usize) {
    while *at < code.len() && code[*at].is_whitespace() {
        *at += 1;
    }
}

/// Reads a path or a tree of `{...}` after its prefix, and adds every leaf with the name that it introduces.
fn take_tree(
    code: &[char],
    at: &mut usize,
    mut prefix: Vec<String>,
    leaves: &mut Vec<(Vec<String>, String)>,
) {
    loop {
        if code.get(*at) == Some(&'{') {
            *at += 1;
            loop {
                skip_space(code, at);
                match code.get(*at) {
                    None => return,
                    Some('}') => {
                        *at += 1;
                        return;
                    }
                    Some('*') => {
                        leaves.push((prefix.clone(), "*".to_owned()));
                        *at += 1;
                    }
                    Some(&c) if is_word(c) || c == '{' => take_tree(code, at, prefix.clone(), leaves),
                    Some(_) => *at += 1,
                }
            }
        }
        let word = take_word(code, at);
        if word.is_empty() {
            let is_glob = code.get(*at) == Some(&'*');
            *at += usize::from(is_glob);
            leaves.push((prefix, if is_glob { "*".to_owned() } else { String::new() }));
            return;
        }
        if word != "self" {
            prefix.push(word);
        }
        if !take_separator(code, at) {
            let name = take_name(code, at).or_else(|| prefix.last().cloned()).unwrap_or_default();
            leaves.push((prefix, name));
            return;
        }
    }
}

/// `as name`
fn take_name(code: &[char], at: &mut usize) -> Option<String> {
    let before = *at;
    skip_space(code, at);
    if take_word(code, at) != "as" {
        *at = before;
        return None;
    }
    skip_space(code, at);
    Some(take_word(code, at))
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let module = ["log".to_owned(), "store".to_owned()];
        let names = Names::from([("block".to_owned(), vec!["log".to_owned(), "block".to_owned()])]);
        used_paths(&Source::scan(text).code, &module, &names)
            .iter()
            .map(|used| {
                let import = used.import.as_ref();
                let how = import.map_or("", |import| if import.is_public { "pub " } else { "use " });
                let name = import.map_or("", |import| &import.name);
                format!("{how}{} {name}", used.path.join("::")).trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn trees_of_imports_are_read() {
        assert_eq!(
            read(
                "use crate::{a, b::{self, c as d, e::*}, f::g};\npub(in crate::x) use super::j::{\n  K,\n};"
            ),
            ["use a a", "use b b", "use b::c d", "use b::e *", "use f::g g", "x", "pub log::j::K K"]
        );
        assert_eq!(read("use super::super::j::K;"), ["use j::K K"]);
    }

    #[test]
    fn paths_in_code_are_read() {
        assert_eq!(read("let x = crate::h::I::new(y as u8);"), ["h::I::new"]);
        assert_eq!(read("f(block::LENGTH, std::block::X, my_block::X)"), ["log::block::LENGTH"]);
        assert_eq!(read("// use crate::a;\nlet s = \"crate::b\";"), [] as [&str; 0]);
        assert_eq!(read("fn f() -> impl Iterator + use<'a> { crate::a() }"), ["a"]);
    }
}
