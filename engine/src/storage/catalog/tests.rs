//! Publishing tables, and schema changes with their errors.

use std::sync::Arc;

use crossbeam_epoch::pin;
use hyades_types::definition::{CatalogChange, ColumnDefinition, IndexKind, PrimaryKey, TableId, TableName};
use hyades_types::error::{Error, InputError};
use hyades_types::value::{SqlType, Value};

use super::{Catalog, NewId};
use crate::storage::table::Table;
use crate::storage::table::tests::{definition, install, numbers};

fn primary_key(columns: &[u16], index: IndexKind) -> PrimaryKey {
    PrimaryKey { name: "t_pkey".into(), columns: columns.to_vec(), index, parameters: Vec::new() }
}

fn input(error: Error) -> InputError {
    match error {
        Error::Input(input) => *input,
        other => panic!("{other:?} is no user error"),
    }
}

/// A table without a primary key, with these rows.
fn heap(rows: &[(Option<i32>, &str)]) -> Table {
    let table = Table::new(TableId(1), definition(&[], IndexKind::Ordered));
    rows.iter().for_each(|&(a, b)| install(&table, a, b));
    table
}

#[test]
fn a_primary_key_reorders_the_rows() {
    for kind in [IndexKind::Ordered, IndexKind::Hash] {
        let table = heap(&[(Some(3), "c"), (Some(-1), "a"), (Some(2), "b")]);
        let guard = pin();
        let state = table.state(&guard).with_primary_key(&primary_key(&[0], kind), &guard);
        let state = state.expect("the key is unique");
        assert_eq!(state.index().is_ordered(), kind == IndexKind::Ordered);
        assert_eq!(state.row_count(), 3);
        assert_eq!((state.key_columns(), state.has_hidden_key()), (&[0][..], false));
        assert!(!state.definition().columns[0].is_nullable && state.definition().columns[1].is_nullable);
        if state.index().is_ordered() {
            assert_eq!(numbers(&state), [-1, 2, 3].map(Value::Integer));
        }
        assert_eq!(table.row_count(), 3, "the old state is untouched");
    }
}

#[test]
fn a_primary_key_is_refused_as_postgresql_refuses_it() {
    let guard = pin();
    let refuse = |rows: &[(Option<i32>, &str)], columns: &[u16]| {
        let table = heap(rows);
        let refused = table.state(&guard).with_primary_key(&primary_key(columns, IndexKind::Ordered), &guard);
        input(refused.expect_err("the key is impossible"))
    };
    let error = refuse(&[(Some(1), "x"), (Some(2), "x"), (Some(1), "x")], &[0, 1]);
    assert_eq!(error.message, "could not create unique index \"t_pkey\"");
    assert_eq!(error.detail.as_deref(), Some("Key (a, b)=(1, x) is duplicated."));
    assert_eq!((error.state.0, error.constraint.as_deref()), ("23505", Some("t_pkey")));

    let error = refuse(&[(Some(1), "x"), (Some(1), "x"), (None, "x")], &[0]);
    assert_eq!(error.message, "column \"a\" of relation \"t\" contains null values");
    assert_eq!((error.state.0, error.column.as_deref()), ("23502", Some("a")));

    assert_eq!(refuse(&[], &[7]).state.0, "42703");

    let table = Table::new(TableId(1), definition(&[0], IndexKind::Ordered));
    let refused = table.state(&guard).with_primary_key(&primary_key(&[1], IndexKind::Ordered), &guard);
    let error = input(refused.expect_err("there is a key"));
    assert_eq!(error.message, "multiple primary keys for table \"t\" are not allowed");
    assert_eq!(error.state.0, "42P16");
}

#[test]
fn tables_are_published_under_one_name_and_id() {
    let catalog = Catalog::new();
    let id = TableId(catalog.new_id(NewId::Object));
    let table = Arc::new(Table::new(id, definition(&[0], IndexKind::Ordered)));
    catalog.add(Arc::clone(&table)).expect("the name is free");
    let name = TableName { schema: "public".into(), name: "t".into() };
    assert!(catalog.by_id(id).is_some_and(|found| Arc::ptr_eq(&found, &table)));
    assert!(catalog.by_name(&name).is_some_and(|found| Arc::ptr_eq(&found, &table)));
    let other =
        Arc::new(Table::new(TableId(catalog.new_id(NewId::Object)), definition(&[0], IndexKind::Ordered)));
    let error = input(catalog.add(other).expect_err("the name is taken"));
    assert_eq!((error.state.0, &*error.message), ("42P07", "relation \"t\" already exists"));

    assert!(catalog.remove(id).is_some() && table.is_dropped());
    assert!(catalog.remove(id).is_none() && catalog.by_name(&name).is_none() && catalog.tables().is_empty());
}

#[test]
fn replay_applies_changes_and_raises_ids() {
    let catalog = Catalog::new();
    let guard = pin();
    let id = TableId(99_999);
    let create = |id, key| CatalogChange::CreateTable { id, definition: definition(key, IndexKind::Ordered) };
    catalog.apply(&create(id, &[]), &guard).expect("a new table");
    let table = catalog.by_id(id).expect("just made");
    install(&table, Some(1), "x");
    let add_key = CatalogChange::AddPrimaryKey { id, primary_key: primary_key(&[0], IndexKind::Ordered) };
    catalog.apply(&add_key, &guard).expect("a unique key");
    assert_eq!((table.row_count(), table.version()), (1, 1));
    catalog.apply(&CatalogChange::Truncate { id }, &guard).expect("an existing table");
    assert_eq!((table.row_count(), table.version()), (0, 1));
    catalog.apply(&CatalogChange::DropTable { id }, &guard).expect("an existing table");
    assert!(catalog.tables().is_empty() && table.is_dropped());
    assert_eq!(TableId(catalog.new_id(NewId::Object)), TableId(100_000));
    catalog.reserve_table_id(TableId(200_000));
    assert_eq!(TableId(catalog.new_id(NewId::Object)), TableId(200_001));
}

#[test]
fn changes_that_do_not_fit_are_corruption() {
    let catalog = Catalog::new();
    let guard = pin();
    let id = TableId(20_000);
    let create = |id, key| CatalogChange::CreateTable { id, definition: definition(key, IndexKind::Ordered) };
    catalog.apply(&create(id, &[0]), &guard).expect("a new table");
    let add_key =
        |id| CatalogChange::AddPrimaryKey { id, primary_key: primary_key(&[0], IndexKind::Ordered) };
    for change in [
        create(TableId(20_001), &[0]),
        create(TableId(20_002), &[2]),
        add_key(id),
        add_key(TableId(3)),
        CatalogChange::Truncate { id: TableId(3) },
        CatalogChange::DropTable { id: TableId(3) },
    ] {
        assert!(matches!(catalog.apply(&change, &guard), Err(Error::Fatal(_))), "{change:?} was applied");
    }
    assert_eq!(catalog.tables().len(), 1);
}

#[test]
fn timestamps_of_before_precisions_are_read() {
    let earlier = r#"{"name":"at","sql_type":"TimestampTz","is_nullable":true,"default":null}"#;
    let column: ColumnDefinition = serde_json::from_str(earlier).expect("a column");
    assert_eq!(column.sql_type, SqlType::TIMESTAMPTZ);
    for sql_type in [SqlType::TIMESTAMP, SqlType::Timestamp(Some(3)), SqlType::Char(4), SqlType::INTERVAL] {
        let stored = serde_json::to_string(&sql_type).expect("a text");
        assert_eq!(serde_json::from_str::<SqlType>(&stored).expect("a type"), sql_type, "{stored}");
    }
}
