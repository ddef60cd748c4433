//! Which code may use which: between crates (read from the `Cargo.toml` files) and between the rooms of each
//! crate, its top-level modules (read from paths that start with `crate::` or `super::`).
//!
//! The two tables below are ARCHITECTURE.md's direction in a form that a machine can check. A file of tests
//! (`tests.rs`, `*_tests.rs`, or anything below a directory `tests`) may use every module of its crate,
//! because it is built only for tests.

use std::path::Path;

use anyhow::{Context, Result};

use super::paths::{Names, is_of_tests, module_of, used_paths};
use super::problem::Problem;
use super::source::{Source, line_of};

/// Crates by directory: its package, and the workspace packages it may depend on.
const CRATES: &[(&str, &str, &[&str])] = &[
    ("types", "hyades-types", &[]),
    ("engine", "hyades-engine", &["hyades-types"]),
    ("sql", "hyades", &["hyades-engine", "hyades-types"]),
    ("server", "hyades-server", &["hyades", "hyades-engine", "hyades-types", "hyades-bench", "hyades-study"]),
    ("study", "hyades-study", &["hyades", "hyades-bench"]),
    ("bench", "hyades-bench", &["hyades", "hyades-engine", "hyades-types"]),
    ("sim", "hyades-sim", &["hyades", "hyades-engine", "hyades-types"]),
    ("harness", "hyades-harness", &["xtask"]),
    ("xtask", "xtask", &[]),
];

/// Tests may use this package from every crate; nothing else may.
const SIMULATOR: &str = "hyades-sim";

/// The rooms of each crate, its top-level modules, lowest first: a room uses only rooms before it, so there
/// are no circles across rooms. `types` is one room: a value's forms, casts and operators depend on each
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
            "conductor",
            "sync",
            "ticket",
            "helpers",
            "storage",
            "log",
            "spill",
            "protocol",
            "txn",
            "procedure",
            "catalog",
            "checkpoint",
            "recovery",
            "backup",
            "db",
            "inspect",
        ],
    ),
    (
        "sql",
        &[
            "evaluation",
            "expr",
            "password",
            "answer",
            "statement",
            "settings",
            "system",
            "bind",
            "explain",
            "viewpoint",
            "plan",
            "emit",
            "copy",
            "ddl",
            "compile",
            "executor",
            "plpgsql",
            "session",
            "connection",
            "verification",
        ],
    ),
    (
        "server",
        &[
            "allocator",
            "machine_memory",
            "arguments",
            "object_disk",
            "codec",
            "registry",
            "hang_up",
            "logging",
            "scram",
            "users",
            "tls",
            "newcomers",
            "connection",
            "http",
            "serve",
            "log_command",
            "analyze_command",
            "study_command",
            "recover_command",
            "backup_command",
            "top_command",
        ],
    ),
    (
        "bench",
        &[
            "device",
            "target",
            "generator",
            "processor_time",
            "workload",
            "drive",
            "spread",
            "instance",
            "compare",
            "ledger",
            "report",
            "command_line",
            "cost",
        ],
    ),
    (
        "study",
        &[
            "study", "crossing", "results", "events", "page", "figures", "run", "taurus", "graph", "ours",
            "list",
        ],
    ),
    (
        "sim",
        &[
            "threads",
            "scheduler",
            "client",
            "disk",
            "routines",
            "script",
            "crash",
            "fault_table",
            "given_up",
            "restarts",
            "wanted_first",
            "hand_written",
            "history",
            "salvage",
            "serializability",
            "single_faults",
            "workload",
            "simulation",
            "conformance",
        ],
    ),
    (
        "harness",
        &[
            "tools",
            "sim",
            "conformance",
            "server",
            "pgbench",
            "bench",
            "loom",
            "crash",
            "soak",
            "hostile",
            "procedures",
            "agree",
            "clients",
            "copies",
            "objects",
            "dump",
            "backslash",
            "regression",
            "cost",
            "fuzz",
            "promises",
        ],
    ),
    ("xtask", &["tools", "harness", "test", "tidy", "ci"]),
];

/// Files that are above all rooms of their crate.
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

/// The section and name of every dependency, including those of single targets.
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
    if is_of_tests(&module) || module.len() == 1 && ROOTS.contains(&module[0].as_str()) {
        return;
    }
    for used in used_paths(&source.code, &module, &Names::new()) {
        if let Some(reason) = objection(krate, &module, &used.path, files) {
            let message = format!("uses crate::{}: {reason}", used.path.join("::"));
            problems.push(Problem::new(file, line_of(&source.code, used.at), message));
        }
    }
}

/// Why `module` must not use `path`, both given as parts below the crate.
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

#[cfg(test)]
mod tests;
