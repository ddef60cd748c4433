//! The import rules, each broken once.

use super::*;

fn objections(file: &str, text: &str) -> Vec<String> {
    let files: Vec<String> =
        ["list", "serial", "taurus"].iter().map(|name| format!("engine/src/protocol/{name}.rs")).collect();
    let mut problems = Vec::new();
    check_modules(file, &Source::scan(text), &files, &mut problems);
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn lower_layers_do_not_use_higher_ones() {
    for (file, text) in [
        ("engine/src/storage/row.rs", "use crate::txn::Transaction;"),
        ("engine/src/storage.rs", "fn f(x: crate::log::record::Kind) {}"),
        ("engine/src/log/store.rs", "use crate::{disk::Disk, protocol::Protocol};"),
        ("engine/src/log/store.rs", "use super::super::db::Engine;"),
        ("engine/src/txn/undo.rs", "use crate::procedure::interpret;"),
        ("engine/src/protocol/serial.rs", "use crate::txn::Lock;"),
        ("engine/src/config.rs", "use crate::recovery::OnProgress;"),
        ("sql/src/bind/routine_call.rs", "use crate::compile::code::Code;"),
        ("sql/src/plan.rs", "use crate::session::Session;"),
        ("bench/src/target.rs", "use crate::workload::Request;"),
        ("engine/src/new_room.rs", "use crate::disk::Disk;"),
    ] {
        assert_eq!(objections(file, text).len(), 1, "{file}: {text}");
    }
}

#[test]
fn the_allowed_direction_passes() {
    for (file, text) in [
        ("engine/src/db.rs", "use crate::{protocol::list::check, txn, storage, procedure::interpret};"),
        ("engine/src/protocol/list.rs", "use super::{serial::Serial, taurus::Taurus};"),
        ("engine/src/txn/undo.rs", "use crate::storage::table::Table; use crate::protocol::Protocol;"),
        (
            "engine/src/protocol/taurus.rs",
            "use super::{Append, Protocol}; use crate::log::buffer::LogBuffer;",
        ),
        ("engine/src/storage/tests.rs", "use crate::db::open;"),
        ("engine/src/storage/row.rs", "// use crate::txn::X;\nlet s = \"crate::txn::X\";"),
        ("engine/src/storage/row/extremes_tests.rs", "use crate::db::open;"),
        ("engine/src/lib.rs", "pub use crate::db::open;"),
        ("sql/src/session.rs", "use crate::plan::Plan; use crate::answer::Response;"),
        ("types/src/text.rs", "use crate::cast; use crate::value::Value;"),
    ] {
        assert_eq!(objections(file, text), Vec::<String>::new(), "{file}: {text}");
    }
}

#[test]
fn protocols_do_not_know_each_other() {
    assert_eq!(objections("engine/src/protocol/taurus.rs", "use super::serial::Serial;").len(), 1);
    assert_eq!(objections("engine/src/protocol/taurus.rs", "use crate::protocol::serial::Serial;").len(), 1);
    assert_eq!(objections("engine/src/txn.rs", "use crate::protocol::taurus::Taurus;").len(), 1);
    assert_eq!(objections("engine/src/db.rs", "use crate::protocol::taurus::Taurus;").len(), 1);
    assert!(objections("engine/src/protocol/taurus/anchor.rs", "use crate::protocol::taurus::X;").is_empty());
}

#[test]
fn crates_keep_their_direction() {
    let check = |text: &str, allowed: &[&str]| {
        let mut problems = Vec::new();
        check_manifest("x/Cargo.toml", &text.parse().expect("valid TOML"), allowed, &mut problems);
        problems.len()
    };
    assert_eq!(check("[dependencies]\nhyades.workspace = true\nclap = \"4\"", &["hyades"]), 0);
    assert_eq!(check("[dependencies]\nhyades.workspace = true", &[]), 1);
    assert_eq!(check("[dependencies]\nhyades-sim.workspace = true", &[]), 1);
    assert_eq!(check("[dev-dependencies]\nhyades-sim.workspace = true", &[]), 0);
    assert_eq!(check("[target.'cfg(loom)'.dependencies]\nhyades-server = \"1\"", &[]), 1);
}

#[test]
fn the_crates_of_this_checkout_are_all_known() {
    let mut problems = Vec::new();
    check_crates(&xtask::tools::repository_root(), &mut problems).expect("manifests can be read");
    assert!(problems.is_empty(), "{problems:?}");
}
