//! All that a procedure may do to data: from expressions and columns to keys and rows.
//!
//! The interpreter (`interpret`) decides what happens next. The transaction (`txn`) decides whether it may.
//! In between, this file turns key expressions into key bytes, values into rows, and a refused insert into
//! the error that a client expects.

use std::sync::Arc;

use hyades_types::definition::{IndexDefinition, TableName};
use hyades_types::environment::Environment;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::key;
use hyades_types::key::KeyLayout;
use hyades_types::memory;
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;

use super::buffers::{RowBuffer, Scratch};
use crate::procedure::evaluate::{Context, Places, chosen, evaluate, operand, peek_text, scalar};
use crate::procedure::ir::{Expr, ScanBound, ScanRange, TableReference};
use crate::storage::row::{RowLayout, RowPatch, RowWriter};
use crate::storage::secondary_index::{self, SecondaryIndex};
use crate::storage::table::Table;
use crate::txn::{Access, Duplicate, Flow, IndexNumber, Insertion, Intent, KeyRange, NewRow, Strength};

/// Values in the detail of a violation are cut after this many bytes.
const LONGEST_SHOWN_BYTES: usize = 64;

/// Evaluates a full key or a prefix of one into `out`. Returns false if a part of it is NULL.
pub(super) fn build_key(
    expressions: &[Expr],
    layout: &KeyLayout,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    append_key(expressions, layout, context, out)
}

/// Like [`build_key`], but appends to `out`.
pub(super) fn append_key(
    expressions: &[Expr],
    layout: &KeyLayout,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    for (expression, sql_type) in expressions.iter().zip(layout.types()) {
        if let Some(scalar) = scalar(expression, context) {
            if scalar.is_null() {
                return Ok(false);
            }
            key::encode_scalar(scalar, out);
            continue;
        }
        let value = operand(expression, context)?;
        if value.is_null() {
            return Ok(false);
        }
        key::encode(&value, *sql_type, out);
    }
    Ok(true)
}

/// Like [`build_key`], for columns of a secondary index.
fn build_columns(
    expressions: &[Expr],
    index: &SecondaryIndex,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    for (place, expression) in expressions.iter().enumerate() {
        let value = operand(expression, context)?;
        if value.is_null() {
            return Ok(false);
        }
        let sql_type = index.column_type(place);
        index.append_value(place, out, |out| key::encode(&value, sql_type, out));
    }
    Ok(true)
}

/// What a bound of a scan is a prefix of.
pub(super) enum BoundLayout<'l> {
    Key(&'l KeyLayout),
    Index(&'l SecondaryIndex),
}

impl BoundLayout<'_> {
    /// The columns of a bound. Returns false if a part of it is NULL.
    fn build(&self, prefix: &[Expr], context: &Context<'_>, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            BoundLayout::Key(layout) => build_key(prefix, layout, context, out),
            BoundLayout::Index(index) => build_columns(prefix, index, context, out),
        }
    }
}

/// The key range of a scan, into the memory of an earlier one. False if it is empty because a bound is NULL.
pub(super) fn build_range(
    range: &ScanRange,
    layout: &BoundLayout<'_>,
    context: &Context<'_>,
    bounds: &mut KeyRange,
) -> Result<bool> {
    let (lower, upper) = (bounds.lower.take(), bounds.upper.take());
    let mut bytes = lower.unwrap_or_default();
    match &range.lower {
        ScanBound::Unbounded => {}
        ScanBound::Included(prefix) | ScanBound::Excluded(prefix) | ScanBound::NotNull(prefix) => {
            if !layout.build(prefix, context, &mut bytes)? {
                return Ok(false);
            }
            match range.lower {
                ScanBound::NotNull(_) => bytes.push(secondary_index::VALUE),
                ScanBound::Excluded(_) if !key::successor(&mut bytes) => return Ok(false),
                _ => {}
            }
            bounds.lower = Some(bytes);
        }
    }
    let mut bytes = upper.unwrap_or_default();
    match &range.upper {
        ScanBound::Unbounded => {}
        ScanBound::Included(prefix) | ScanBound::Excluded(prefix) | ScanBound::NotNull(prefix) => {
            if !layout.build(prefix, context, &mut bytes)? {
                return Ok(false);
            }
            if matches!(range.upper, ScanBound::NotNull(_)) {
                bytes.push(secondary_index::VALUE);
            }
            if matches!(range.upper, ScanBound::Excluded(_)) || key::successor(&mut bytes) {
                bounds.upper = Some(bytes);
            }
        }
    }
    Ok(true)
}

/// Writes the row of these values into `out`: straight from where they are, if they are scalars or texts.
/// Returns the first NOT NULL column that is NULL, if `checks_nulls`.
pub(super) fn build_row(
    values: &[Expr],
    reference: &TableReference,
    checks_nulls: bool,
    context: &Context<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<usize>> {
    assert_eq!(values.len(), reference.layout.column_count(), "a row needs one value per column");
    out.clear();
    let mut missing = None;
    let mut writer = reference.layout.writer(out);
    for (column, value) in values.iter().enumerate() {
        // The most frequent case of an insert.
        if let Expr::Register(register) = value
            && let Some(Value::Integer(number)) = context.registers.get(usize::from(*register))
            && writer.integer(*number)
        {
            continue;
        }
        if write_column(value, &mut writer, context)?
            && checks_nulls
            && missing.is_none()
            && !reference.definition.columns[column].is_nullable
        {
            missing = Some(column);
        }
    }
    writer.finish()?;
    Ok(missing)
}

/// Writes a row's next column. Returns whether it is NULL.
fn write_column(expression: &Expr, writer: &mut RowWriter<'_>, context: &Context<'_>) -> Result<bool> {
    let expression = match expression {
        Expr::Case { branches, otherwise } => chosen(branches, otherwise, context)?,
        other => other,
    };
    if matches!(writer.sql_type(), SqlType::Text | SqlType::Varchar(_))
        && let Some(text) = peek_text(expression, context)
    {
        writer.text(text);
        return Ok(false);
    }
    match scalar(expression, context) {
        Some(scalar) if scalar.is_null() => {
            writer.null();
            return Ok(true);
        }
        Some(scalar) => {
            writer.scalar(scalar);
            return Ok(false);
        }
        None => {}
    }
    let value = evaluate(expression, context)?;
    writer.value(&value);
    Ok(value.is_null())
}

/// Inserts the row in `row`. The key of a table without a primary key is drawn after the transaction has
/// entered the table. So an insert that waits after that point, for a value of a unique index, and is begun
/// again has the same key.
pub(super) fn insert(
    transaction: &mut impl Access,
    reference: &TableReference,
    row: &mut RowBuffer,
    (arbiter, is_blind): (IndexNumber, bool),
) -> Flow<Insertion> {
    transaction.enter(&reference.table, reference.version, Intent::newest(Strength::Write))?;
    memory::admit_row(row.bytes.len())?;
    match reference.definition.primary_key {
        Some(_) => key_of_row(reference, &row.bytes, &mut row.key),
        None => {
            let number = transaction.new_row_number(&reference.table)?;
            row.key.clear();
            row.key.extend_from_slice(&number.to_be_bytes());
        }
    }
    transaction.insert(&reference.table, NewRow { arbiter, is_blind, ..NewRow::new(&row.key, &row.bytes) })
}

/// The primary key of a row. Empty in a table without one.
fn key_of_row(reference: &TableReference, row: &[u8], out: &mut Vec<u8>) {
    out.clear();
    if let Some(primary_key) = &reference.definition.primary_key {
        reference.layout.encode_key(row, &primary_key.columns, out);
    }
}

/// Makes the patch of an update straight from scalars. False where that is impossible: a NULL, a text, a part
/// of the key or of a secondary index, an error.
pub(super) fn patch_scalars(
    reference: &TableReference,
    old: &[u8],
    set: &[(u16, Expr)],
    places: &impl Places,
    patch: &mut RowPatch,
) -> bool {
    let key: &[u16] = reference.definition.primary_key.as_ref().map_or(&[], |key| &key.columns);
    patch.clear();
    set.iter().all(|(column, value)| {
        reference.layout.is_scalar(*column)
            && !key.contains(column)
            && !reference.indexes().any(|index| index.has_column(*column))
            && scalar(value, places)
                .is_some_and(|scalar| reference.layout.patch_scalar(old, *column, scalar, patch))
    })
}

/// Whether setting these columns changes the row's key.
pub(super) fn moves_row(reference: &TableReference, set: &[(u16, Value)]) -> bool {
    let primary_key = reference.definition.primary_key.as_ref();
    primary_key.is_some_and(|key| set.iter().any(|(column, _)| key.columns.contains(column)))
}

/// Whether setting these columns may move the row's entries in secondary indexes.
pub(super) fn moves_entries(reference: &TableReference, set: &[(u16, Value)]) -> bool {
    let is_set = |column: u16| set.iter().any(|(set, _)| *set == column);
    reference.indexes().any(|index| index.key_columns().any(is_set))
}

/// Refuses values that their columns cannot hold, and NULL for NOT NULL columns.
#[inline]
pub(super) fn check_set(
    reference: &TableReference,
    old: &[u8],
    set: &[(u16, Value)],
    environment: &Environment,
) -> Result<()> {
    let is_right = |(column, value): &(u16, Value)| {
        if value.is_null() {
            reference.definition.columns[usize::from(*column)].is_nullable
        } else {
            reference.layout.is_fit(*column, value)
        }
    };
    if set.iter().all(is_right) { Ok(()) } else { refuse_set(reference, old, set, environment) }
}

#[cold]
fn refuse_set(
    reference: &TableReference,
    old: &[u8],
    set: &[(u16, Value)],
    environment: &Environment,
) -> Result<()> {
    reference.layout.check_values(set)?;
    let definition = &reference.definition;
    let refused = |(column, value): &&(u16, Value)| {
        value.is_null() && !definition.columns[usize::from(*column)].is_nullable
    };
    // The first in the order of the table, not of the statement.
    let Some((column, _)) = set.iter().filter(refused).min_by_key(|(column, _)| *column) else {
        return Ok(());
    };
    let mut values = Vec::new();
    reference.layout.values(old, &mut values);
    for (column, value) in set {
        values[usize::from(*column)] = value.clone();
    }
    let given: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
    Err(null_violation(reference, usize::from(*column), (&values, &given), environment))
}

/// Sets columns, as computed in `scratch.set`, of the row in `row`, or of the one read in place. `row` then
/// holds the new row and key. `keeps_length` says that `scratch.patch` makes the same change. Returns the
/// duplicate that keeps the new row, left in `scratch.row`, from its place.
pub(super) fn update(
    transaction: &mut impl Access,
    reference: &TableReference,
    scratch: &mut Scratch,
    keeps_length: bool,
    in_place: Option<&[u8]>,
    row: &mut RowBuffer,
) -> Flow<Option<Duplicate>> {
    let old = in_place.unwrap_or(&row.bytes);
    scratch.row.clear();
    reference.layout.update(old, &scratch.set, &mut scratch.row);
    if scratch.row.len() > old.len() {
        memory::admit_row(scratch.row.len())?;
    }
    if moves_row(reference, &scratch.set) {
        key_of_row(reference, &scratch.row, &mut scratch.key);
        if scratch.key != row.key {
            let new = NewRow { moved_from: Some(&row.key), ..NewRow::new(&scratch.key, &scratch.row) };
            if let Insertion::Duplicate(duplicate) = transaction.insert(&reference.table, new)? {
                return Ok(Some(duplicate));
            }
            let deleted = transaction.admit_write(&reference.table, &row.key, None)?;
            transaction.delete(deleted);
            std::mem::swap(&mut row.key, &mut scratch.key);
            std::mem::swap(&mut row.bytes, &mut scratch.row);
            return Ok(None);
        }
    }
    if moves_entries(reference, &scratch.set)
        && let Some(duplicate) = transaction.index_row(&reference.table, &row.key, &scratch.row)?
    {
        return Ok(Some(duplicate));
    }
    let patch = keeps_length.then(|| scratch.patch.bytes());
    let written = transaction.admit_write(&reference.table, &row.key, None)?;
    transaction.update(written, &scratch.row, patch);
    std::mem::swap(&mut row.bytes, &mut scratch.row);
    Ok(None)
}

/// 23514: a row in the table violates a CHECK constraint.
pub(super) fn stored_violation(reference: &TableReference, constraint: &str) -> Error {
    let TableName { schema, name: table } = &reference.definition.name;
    let message =
        format!("check constraint \"{constraint}\" of relation \"{table}\" is violated by some row");
    Error::input(sqlstate::CHECK_VIOLATION, message).with_table(schema, table).with_constraint(constraint)
}

/// 23514: a new row violates a CHECK constraint.
pub(super) fn check_violation(
    reference: &TableReference,
    (row, given): (&[u8], &[u16]),
    constraint: &str,
    environment: &Environment,
) -> Error {
    let TableName { schema, name: table } = &reference.definition.name;
    let mut values = Vec::new();
    reference.layout.values(row, &mut values);
    let message = format!("new row for relation \"{table}\" violates check constraint \"{constraint}\"");
    let error = Error::input(sqlstate::CHECK_VIOLATION, message)
        .with_table(schema, table)
        .with_constraint(constraint);
    with_row(error, reference, (&values, given), environment)
}

/// 23502: a new row has NULL in a column that is NOT NULL.
pub(super) fn null_violation(
    reference: &TableReference,
    column: usize,
    row: (&[Value], &[u16]),
    environment: &Environment,
) -> Error {
    let definition = &reference.definition;
    let (TableName { schema, name: table }, column) = (&definition.name, &definition.columns[column].name);
    let message =
        format!("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint");
    let error =
        Error::input(sqlstate::NOT_NULL_VIOLATION, message).with_table(schema, table).with_column(column);
    with_row(error, reference, row, environment)
}

/// Adds the row as far as the reader of the error may see it: all of it, or only what the statement itself
/// has given. Long values are cut, as in PostgreSQL.
fn with_row(
    error: Error,
    reference: &TableReference,
    (values, given): (&[Value], &[u16]),
    environment: &Environment,
) -> Error {
    let columns = reference.definition.visible_columns();
    let shows_all = environment.shows_rows_of(reference.table.id());
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (at, (column, value)) in (0u16..).zip(columns.iter().zip(values)) {
        if !shows_all && (!given.contains(&at) || column.generation.is_some()) {
            continue;
        }
        let mut text = display(&reference.layout, at, value, &environment.time_zone);
        if text.len() > LONGEST_SHOWN_BYTES {
            text.truncate(text.floor_char_boundary(LONGEST_SHOWN_BYTES));
            text.push_str("...");
        }
        names.push(column.name.as_str());
        texts.push(text);
    }
    let texts = texts.join(", ");
    match (shows_all, names.is_empty()) {
        (true, _) => error.with_detail(format!("Failing row contains ({texts}).")),
        (false, true) => error,
        (false, false) => {
            error.with_detail(format!("Failing row contains ({}) = ({texts}).", names.join(", ")))
        }
    }
}

/// The 23505 error for a row whose key exists already. The key is shown to roles that may read the table.
pub(super) fn duplicate_key(
    reference: &TableReference,
    duplicate: Duplicate,
    row: &[u8],
    environment: &Environment,
) -> Error {
    let definition = &reference.definition;
    let (constraint, columns): (&str, Vec<u16>) = match (duplicate.index, &definition.primary_key) {
        (Some(index), _) => {
            // The index has been created since the procedure was compiled.
            let Some(index) = definition.indexes.get(usize::from(index)) else {
                return Error::Abort(Abort::StalePlan);
            };
            (&index.name, index.key_columns().collect())
        }
        (None, Some(primary_key)) => (&primary_key.name, primary_key.columns.clone()),
        (None, None) => return Error::fatal(sqlstate::INTERNAL_ERROR, "a row number was given twice"),
    };
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    let error = Error::input(sqlstate::UNIQUE_VIOLATION, message)
        .with_table(&definition.name.schema, &definition.name.name)
        .with_constraint(constraint);
    if !environment.shows_rows_of(reference.table.id()) {
        return error;
    }
    let names: Vec<&str> = columns.iter().map(|column| definition.key_name(*column)).collect();
    let values: Vec<String> = columns
        .iter()
        .map(|column| {
            display(&reference.layout, *column, &reference.layout.value(row, *column), &TimeZone::UTC)
        })
        .collect();
    error.with_detail(format!("Key ({})=({}) already exists.", names.join(", "), values.join(", ")))
}

fn display(layout: &RowLayout, column: u16, value: &Value, time_zone: &TimeZone) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let mut text = Vec::new();
    hyades_types::text::write(value, layout.column_type(column), time_zone, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

impl TableReference {
    /// The secondary indexes that a change of a row may change.
    fn indexes(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.definition.indexes.iter().chain(self.unfinished_index.as_deref())
    }

    /// The table with its current definition.
    pub fn new(table: Arc<Table>) -> TableReference {
        loop {
            let version = table.version();
            let state = table.shared_state();
            if table.version() == version {
                return TableReference {
                    version,
                    definition: Arc::clone(state.definition()),
                    unfinished_index: state
                        .unfinished_index()
                        .map(|index| Arc::new(index.definition().clone())),
                    layout: Arc::new(state.layout().clone()),
                    key_layout: Arc::new(state.key_layout().clone()),
                    table,
                };
            }
        }
    }
}
