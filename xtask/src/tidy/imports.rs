//! Who may use whom: between crates (read from the `Cargo.toml` files) and between the rooms of each crate,
//! its top-level modules (read from paths that start with `crate::` or `super::`).
//!
//! The two tables below are ARCHITECTURE.md's direction in a form that a machine can check. A file of tests
//! (`tests.rs`, `*_tests.rs`, or anything below a directory `tests`) may use every module of its crate: it is
//! built only for tests.

use std::path::Path;

use anyhow::{Context, Result};

use super::Problem;
use super::source::{Source, is_word, line_of};

/// Crates by directory: its package, and the workspace packages it may depend on.
const CRATES: &[(&str, &str, &[&str])] = &[
    ("types", "hyades-types", &[]),
    ("engine", "hyades-engine", &["hyades-types"]),
    ("sql", "hyades", &["hyades-engine", "hyades-types"]),
    ("server", "hyades-server", &["hyades", "hyades-engine", "hyades-types", "hyades-bench"]),
    ("bench", "hyades-bench", &["hyades", "hyades-engine", "hyades-types"]),
    ("sim", "hyades-sim", &["hyades", "hyades-engine", "hyades-types"]),
    ("xtask", "xtask", &[]),
];

/// Tests may use this package from every crate; nothing else may.
const SIMULATOR: &str = "hyades-sim";

/// The rooms of each crate, its top-level modules, lowest first: a room uses only rooms before it, so there
/// are no circles across rooms. `types` is one room: a value's forms, casts and operators are told of each
/// other.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "engine",
        &[
            "disk",
            "config",
            "local_arc",
            "lsn",
            "mutant",
            "sync",
            "ticket",
            "storage",
            "log",
            "protocol",
            "txn",
            "procedure",
            "recovery",
            "db",
            "inspect",
        ],
    ),
    (
        "sql",
        &[
            "evaluation",
            "expr",
            "answer",
            "statement",
            "settings",
            "bind",
            "explain",
            "plan",
            "compile",
            "executor",
            "plpgsql",
            "session",
            "connection",
        ],
    ),
    (
        "server",
        &[
            "memory",
            "arguments",
            "codec",
            "registry",
            "hang_up",
            "logging",
            "scram",
            "users",
            "connection",
            "serve",
            "log_command",
            "recover_command",
        ],
    ),
    (
        "bench",
        &[
            "client",
            "accounts",
            "device",
            "target",
            "generator",
            "workload",
            "drive",
            "spread",
            "instance",
            "compare",
            "ledger",
            "report",
            "command",
            "cost",
            "transfer",
            "replay",
        ],
    ),
    (
        "sim",
        &[
            "client",
            "disk",
            "routines",
            "script",
            "crash",
            "given_up",
            "hand_written",
            "history",
            "salvage",
            "serializability",
            "single_faults",
            "workload",
        ],
    ),
    (
        "xtask",
        &[
            "tools",
            "server",
            "pgbench",
            "bench",
            "loom",
            "crash",
            "hostile",
            "procedures",
            "test",
            "tidy",
            "ci",
            "cost",
            "fuzz",
            "promises",
        ],
    ),
];

/// Files that stand above all rooms of their crate.
const ROOTS: &[&str] = &["lib", "main"];

const ENGINE_SOURCES: &str = "engine/src/";

pub(super) fn check_crates(root: &Path, problems: &mut Vec<Problem>) -> Result<()> {
    let workspace = read_manifest(&root.join("Cargo.toml"))?;
    let members =
        workspace.get("workspace").and_then(|table| table.get("members")).and_then(|list| list.as_array());
    for member in members.into_iter().flatten().filter_map(|member| member.as_str()) {
        if !CRATES.iter().any(|(directory, _, _)| *directory == member) {
            let message =
                format!("crate `{member}` has no place in xtask/src/tidy/imports.rs: add what it may use");
            problems.push(Problem::new("Cargo.toml", 1, message));
        }
    }
    for (directory, _, allowed) in CRATES {
        let file = format!("{directory}/Cargo.toml");
        let manifest = read_manifest(&root.join(&file))?;
        check_manifest(&file, &manifest, allowed, problems);
    }
    Ok(())
}

fn read_manifest(path: &Path) -> Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().with_context(|| format!("cannot parse {}", path.display()))
}

fn check_manifest(file: &str, manifest: &toml::Table, allowed: &[&str], problems: &mut Vec<Problem>) {
    let own: Vec<&str> = CRATES.iter().map(|(_, package, _)| *package).collect();
    for (section, name) in dependencies(manifest) {
        let is_for_tests = section == "dev-dependencies";
        let is_allowed = allowed.contains(&name.as_str()) || (is_for_tests && name == SIMULATOR);
        if own.contains(&name.as_str()) && !is_allowed {
            let message = format!(
                "[{section}] names {name}: the direction is server, bench -> sql -> engine -> types (ARCHITECTURE.md)"
            );
            problems.push(Problem::new(file, 1, message));
        }
    }
}

/// Section and name of every dependency, those of single targets included.
fn dependencies(manifest: &toml::Table) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let targets = manifest.get("target").and_then(|target| target.as_table());
    let per_target =
        targets.into_iter().flat_map(|table| table.values()).filter_map(|value| value.as_table());
    for table in std::iter::once(manifest).chain(per_target) {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = table.get(section).and_then(|names| names.as_table());
            found
                .extend(names.into_iter().flat_map(|names| names.keys()).map(|name| (section, name.clone())));
        }
    }
    found
}

pub(super) fn check_modules(file: &str, source: &Source, files: &[String], problems: &mut Vec<Problem>) {
    let Some((krate, module)) = module_of(file) else { return };
    let is_of_tests = module.iter().any(|part| part == "tests" || part.ends_with("_tests"));
    if is_of_tests || module.len() == 1 && ROOTS.contains(&module[0].as_str()) {
        return;
    }
    for (line, path) in used_paths(source, &module) {
        if let Some(reason) = objection(krate, &module, &path, files) {
            let message = format!("uses crate::{}: {reason}", path.join("::"));
            problems.push(Problem::new(file, line, message));
        }
    }
}

/// Crate and path: `engine/src/log/buffer.rs` is `[log, buffer]` of `engine`.
fn module_of(file: &str) -> Option<(&str, Vec<String>)> {
    let (krate, path) = file.split_once("/src/")?;
    let path = path.strip_suffix(".rs")?;
    Some((krate, path.split('/').map(str::to_owned).collect()))
}

/// Why `module` must not use `path`, both as parts below the crate.
fn objection(krate: &str, module: &[String], path: &[String], files: &[String]) -> Option<String> {
    let (room, used) = (module.first()?, path.first()?);
    if let Some((_, layers)) = LAYERS.iter().find(|(name, _)| *name == krate) {
        let height = |name: &str| layers.iter().position(|layer| *layer == name);
        let Some(own) = height(room) else {
            return Some(format!(
                "`{room}` has no place in LAYERS of xtask/src/tidy/imports.rs: give it one"
            ));
        };
        if height(used).is_some_and(|used| used > own) {
            return Some(format!(
                "`{room}` stands below `{used}` (LAYERS in xtask/src/tidy/imports.rs, ARCHITECTURE.md)"
            ));
        }
    }
    let names_protocol =
        krate == "engine" && path.len() > 1 && used == "protocol" && is_protocol(&path[1], files);
    let is_list = room == "protocol" && module.get(1).is_some_and(|file| file == PROTOCOL_LIST);
    if names_protocol && !is_list && module.get(1) != path.get(1) {
        return Some(
            "only protocol/list.rs names a protocol, and a protocol never another one: move what they share"
                .to_owned(),
        );
    }
    None
}

/// The file beside the protocols that names them all.
const PROTOCOL_LIST: &str = "list";

fn is_protocol(name: &str, files: &[String]) -> bool {
    name != PROTOCOL_LIST && files.iter().any(|file| *file == format!("{ENGINE_SOURCES}protocol/{name}.rs"))
}

/// Every path below the crate that the code names, with its line.
fn used_paths(source: &Source, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let code = &source.code;
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        if !is_word(code[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut word = take_word(code, &mut at);
        let continues_path = start >= 2 && code[start - 2..start] == [':', ':'];
        if continues_path || !matches!(word.as_str(), "crate" | "super") || !take_separator(code, &mut at) {
            continue;
        }
        let mut base = if word == "crate" { Vec::new() } else { parent(module) };
        // super::super::
        loop {
            let before = at;
            word = take_word(code, &mut at);
            if word != "super" || !take_separator(code, &mut at) {
                at = before;
                break;
            }
            base = parent(&base);
        }
        let line = line_of(code, start);
        let mut paths = Vec::new();
        take_tree(code, &mut at, base, &mut paths);
        found.extend(paths.into_iter().map(|path| (line, path)));
    }
    found
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

/// Reads a path or a tree of `{...}` after its prefix and adds every leaf.
fn take_tree(code: &[char], at: &mut usize, mut prefix: Vec<String>, paths: &mut Vec<Vec<String>>) {
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
                    Some(&c) if is_word(c) || c == '{' => take_tree(code, at, prefix.clone(), paths),
                    Some(_) => *at += 1,
                }
            }
        }
        let word = take_word(code, at);
        if word.is_empty() {
            paths.push(prefix);
            return;
        }
        prefix.push(word);
        if !take_separator(code, at) {
            paths.push(prefix);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
