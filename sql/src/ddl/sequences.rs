//! CREATE, ALTER and DROP SEQUENCE, and the sequences of columns: SERIAL and GENERATED AS IDENTITY.
//!
//! The options are kept as written. Numbers are checked when the statement runs, against the sequence and the
//! tables at that time. As with foreign keys, these are not locked yet. The engine checks again under the
//! locks.
//!
//! Reference for checks, their order and messages: init_params and process_owned_by of PostgreSQL's
//! sequence.c; transformColumnDefinition and generateSerialExtraStmts of parse_utilcmd.c; makeObjectName of
//! indexcmds.c.

use std::sync::Arc;

use hyades_engine::storage::catalog::duplicate_table;
use hyades_types::access::RoleId;
use hyades_types::definition::{
    CatalogChange, ColumnDefinition, Identity, SequenceDefinition, SequenceOwner, TableDefinition, TableId,
    TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::search_path;
use hyades_types::sequence::{Sequence, not_a_sequence, relation_name, written_name};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, ColumnOption, DataType, Expr, GeneratedAs};

use super::command::{CatalogStatement, SchemaCommand};
use super::dependents::Object;
use super::views::wrong_kind;
use super::wanted::WantedSequence;
use crate::answer::Output;
use crate::emit::{Compiler, unsupported};
use crate::statement::names::{cut_name, fold, quoted};
use crate::statement::sequence_syntax::identity_options;
use crate::statement::{AlterSequence, CreateSequence, DropSequence, QualifiedName, SequenceOptions, query};
use crate::viewpoint::Viewpoint;

/// The type of a column that is declared as SERIAL.
pub(crate) fn serial_type(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    let [ast::ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    match fold(name).as_str() {
        "smallserial" | "serial2" => Some(SqlType::SmallInt),
        "serial" | "serial4" => Some(SqlType::Integer),
        "bigserial" | "serial8" => Some(SqlType::BigInt),
        _ => None,
    }
}

/// The options that a column declares.
#[derive(Default)]
struct Said {
    identity: Option<(Identity, SequenceOptions)>,
    defaults: usize,
    is_null: bool,
}

impl Compiler<'_> {
    pub(crate) fn create_sequence(&self, create: &CreateSequence) -> Result<CatalogStatement> {
        let name = self.created_relation(&create.name, None, create.is_temporary)?;
        let (if_not_exists, options) = (create.if_not_exists, create.options.clone());
        let command = SchemaCommand::CreateSequence { name, if_not_exists, options };
        Ok(CatalogStatement::new("CREATE SEQUENCE", command))
    }

    pub(crate) fn alter_sequence(&self, alter: &AlterSequence) -> CatalogStatement {
        let (name, if_exists, options) = (alter.name.clone(), alter.if_exists, alter.options.clone());
        CatalogStatement::new("ALTER SEQUENCE", SchemaCommand::AlterSequence { name, if_exists, options })
    }

    pub(crate) fn drop_sequence(&self, drop: &DropSequence) -> CatalogStatement {
        CatalogStatement::new("DROP SEQUENCE", SchemaCommand::DropSequence(drop.clone()))
    }

    /// The sequence of a column of the new table, if it has one. Such a column is NOT NULL.
    pub(super) fn column_sequence(
        &self,
        table: &str,
        written: &ast::ColumnDef,
        column: &mut ColumnDefinition,
        number: usize,
    ) -> Result<Option<WantedSequence>> {
        let is_serial = serial_type(&written.data_type).is_some();
        let said = self.said(table, written)?;
        if !is_serial && said.identity.is_none() {
            return Ok(None);
        }
        let name = &column.name;
        if is_serial && said.identity.is_some() || said.identity.is_some() && said.defaults > 0 {
            let message =
                format!("both default and identity specified for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if is_serial && said.defaults > 0 {
            let message =
                format!("multiple default values specified for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if said.is_null {
            let message =
                format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if said.identity.is_some() && !column.sql_type.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        column.is_nullable = false;
        let column_number = u16::try_from(number).unwrap_or(u16::MAX);
        let (identity, options) = said.identity.unzip();
        column.identity = identity;
        let options = options.unwrap_or_default();
        Ok(Some(WantedSequence { column: column_number, is_identity: identity.is_some(), options }))
    }

    /// 42601 at the word GENERATED, as in PostgreSQL.
    pub(super) fn misdeclared<T>(&self, written: &ast::ColumnDef, message: String) -> Result<T> {
        let error = Error::input(sqlstate::SYNTAX_ERROR, message);
        if serial_type(&written.data_type).is_some() {
            return Err(error);
        }
        Err(match query::word_after(self.binder.sql, written.name.span.end, "generated") {
            Some(position) => error.with_position(position),
            None => error,
        })
    }

    fn said(&self, table: &str, written: &ast::ColumnDef) -> Result<Said> {
        let mut said = Said::default();
        for option in &written.options {
            match &option.option {
                ColumnOption::Default(_) => said.defaults += 1,
                ColumnOption::Null => said.is_null = true,
                // See `unread_generation`.
                ColumnOption::Generated { generation_expr: Some(_), .. } => {}
                ColumnOption::Generated { generated_as, sequence_options, .. } => {
                    let identity = match generated_as {
                        GeneratedAs::ByDefault => Identity::ByDefault,
                        GeneratedAs::Always | GeneratedAs::ExpStored => Identity::Always,
                    };
                    let options = self.identity_options(sequence_options.as_deref())?;
                    if said.identity.replace((identity, options)).is_some() {
                        let name = &written.name.value;
                        let message = format!(
                            "multiple identity specifications for column \"{name}\" of table \"{table}\""
                        );
                        return self.misdeclared(written, message);
                    }
                }
                ColumnOption::Identity(_) => {
                    return unsupported(
                        Missing::OtherForms,
                        "this form of identity columns is not supported",
                    );
                }
                _ => {}
            }
        }
        Ok(said)
    }

    /// The options, read from the statement's text at the byte offset that stands for them
    /// (`statement::sequence_syntax`).
    pub(super) fn identity_options(
        &self,
        packed: Option<&[ast::SequenceOptions]>,
    ) -> Result<SequenceOptions> {
        let Some([ast::SequenceOptions::StartWith(Expr::Value(at), _)]) = packed else {
            return Ok(SequenceOptions::default());
        };
        identity_options(self.binder.sql, at.value.to_string().parse().unwrap_or(0))
    }
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
}

/// The range of an integer type.
fn range_of(sql_type: SqlType) -> (i64, i64) {
    match sql_type {
        SqlType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn type_of(options: &SequenceOptions) -> Result<Option<SqlType>> {
    let Some(name) = &options.type_name else { return Ok(None) };
    match name.as_str() {
        "smallint" | "int2" => Ok(Some(SqlType::SmallInt)),
        "integer" | "int" | "int4" => Ok(Some(SqlType::Integer)),
        "bigint" | "int8" => Ok(Some(SqlType::BigInt)),
        _ => invalid("sequence type must be smallint, integer, or bigint".to_owned()),
    }
}

/// The definition that results from `base` and the options. The numbers of `base` count only if it
/// `is_altered`.
fn defined(
    base: SequenceDefinition,
    options: &SequenceOptions,
    is_altered: bool,
) -> Result<SequenceDefinition> {
    let mut new = base;
    let old_range = range_of(new.sql_type);
    let (mut resets_least, mut resets_greatest) = (!is_altered, !is_altered);
    let mut spans_type = (false, false);
    if let Some(sql_type) = type_of(options)? {
        // A bound at the end of the old type moves to the end of the new one.
        spans_type = (is_altered && new.least == old_range.0, is_altered && new.greatest == old_range.1);
        new.sql_type = sql_type;
    }
    resets_least |= spans_type.0 || options.least == Some(None);
    resets_greatest |= spans_type.1 || options.greatest == Some(None);
    new.increment = options.increment.unwrap_or(new.increment);
    if new.increment == 0 {
        return invalid("INCREMENT must not be zero".to_owned());
    }
    new.cycles = options.cycles.unwrap_or(new.cycles);
    new.cache = options.cache.unwrap_or(new.cache);
    let (lowest, highest) = range_of(new.sql_type);
    let goes_up = new.increment > 0;
    match options.greatest {
        Some(Some(greatest)) => new.greatest = greatest,
        _ if resets_greatest => new.greatest = if goes_up || spans_type.1 { highest } else { -1 },
        _ => {}
    }
    let type_name = new.sql_type.base_name();
    if !(lowest..=highest).contains(&new.greatest) {
        return invalid(format!(
            "MAXVALUE ({}) is out of range for sequence data type {type_name}",
            new.greatest
        ));
    }
    match options.least {
        Some(Some(least)) => new.least = least,
        _ if resets_least => new.least = if !goes_up || spans_type.0 { lowest } else { 1 },
        _ => {}
    }
    if !(lowest..=highest).contains(&new.least) {
        return invalid(format!(
            "MINVALUE ({}) is out of range for sequence data type {type_name}",
            new.least
        ));
    }
    if new.least >= new.greatest {
        return invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", new.least, new.greatest));
    }
    match options.start {
        Some(start) => new.start = start,
        None if !is_altered => new.start = if goes_up { new.least } else { new.greatest },
        None => {}
    }
    check_within("START", new.start, &new)?;
    Ok(new)
}

fn check_within(what: &str, value: i64, definition: &SequenceDefinition) -> Result<()> {
    let SequenceDefinition { least, greatest, .. } = definition;
    if value < *least {
        return invalid(format!("{what} value ({value}) cannot be less than MINVALUE ({least})"));
    }
    if value > *greatest {
        return invalid(format!("{what} value ({value}) cannot be greater than MAXVALUE ({greatest})"));
    }
    Ok(())
}

fn check_cache(options: &SequenceOptions) -> Result<()> {
    match options.cache {
        Some(cache) if cache <= 0 => invalid(format!("CACHE ({cache}) must be greater than zero")),
        _ => Ok(()),
    }
}

fn blank(name: TableName, sql_type: SqlType) -> SequenceDefinition {
    SequenceDefinition {
        name,
        sql_type,
        start: 1,
        increment: 1,
        least: 1,
        greatest: i64::MAX,
        cache: 1,
        cycles: false,
        owner: None,
        version: 0,
    }
}

/// The DEFAULT of a column that draws from this sequence.
fn drawing(name: &TableName) -> String {
    let shown = format!("{}.{}", quoted(&name.schema), quoted(&name.name));
    format!("nextval('{}'::regclass)", shown.replace('\'', "''"))
}

impl Viewpoint {
    /// Error 42809 for a sequence where a table is wanted.
    pub(super) fn refuse_sequence(&self, name: &TableName) -> Result<()> {
        if self.sequence(name).is_none() {
            return Ok(());
        }
        let message = format!("\"{}\" is not a table", name.name);
        Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
            .with_hint("Use DROP SEQUENCE to remove a sequence."))
    }

    /// The sequences for the columns of a new table. Sets the columns' defaults.
    pub(super) fn created_for_columns(
        &self,
        id: TableId,
        definition: &mut TableDefinition,
        wanted: &[WantedSequence],
    ) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::with_capacity(wanted.len());
        let mut taken = vec![definition.name.clone()];
        for sequence in wanted {
            let WantedSequence { column: number, is_identity, ref options } = *sequence;
            let column = &definition.columns[usize::from(number)];
            let labels =
                std::iter::once("seq".to_owned()).chain((1u32..).map(|number| format!("seq{number}")));
            let names = labels.map(|label| TableName {
                schema: definition.name.schema.clone(),
                name: cut_name(&definition.name.name, &column.name, &label),
            });
            let is_taken = |name: &TableName| {
                taken.contains(name) || definition.has_relation(&name.name) || self.is_relation(name)
            };
            let mut free = names.filter(|name| !is_taken(name));
            let Some(mut name) = free.next() else { continue };
            if let Some(wanted) = &options.name {
                name.name.clone_from(&wanted.name);
                if is_taken(&name) {
                    return Err(duplicate_table(&name));
                }
            }
            taken.push(name.clone());
            let mut new = defined(blank(name, column.sql_type), options, false)?;
            new.owner = Some(SequenceOwner { table: id, column: number, is_identity });
            definition.columns[usize::from(number)].default = Some(drawing(&new.name));
            changes.extend(self.creation(new, options)?);
        }
        Ok(changes)
    }

    pub(super) fn created_sequence(
        &self,
        name: &TableName,
        if_not_exists: bool,
        options: &SequenceOptions,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if self.is_relation(name) {
            let message = format!("relation \"{}\" already exists", name.name);
            if !if_not_exists {
                return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
            }
            self.note(output, "42P07", format!("{message}, skipping"));
            return Ok(Vec::new());
        }
        let mut definition = defined(blank(name.clone(), SqlType::BigInt), options, false)?;
        let role = if search_path::is_temporary(&name.schema) { RoleId::OWNER } else { self.role() };
        definition.owner = self.owner(options, (role, name))?;
        self.creation(definition, options)
    }

    fn creation(
        &self,
        mut definition: SequenceDefinition,
        options: &SequenceOptions,
    ) -> Result<Vec<CatalogChange>> {
        let restart = options.restart.flatten();
        check_within("RESTART", restart.unwrap_or(definition.start), &definition)?;
        check_cache(options)?;
        let id = self.new_sequence_id(&definition.name.schema);
        let mut changes = vec![CatalogChange::CreateSequence { id, definition: definition.clone() }];
        if let Some(value) = restart {
            // RESTART leads to another value than the start value.
            let restart = Sequence::new(id, definition.clone()).restarted(value, false);
            definition.version += 1;
            changes.push(CatalogChange::AlterSequence { id, definition, restart: Some(restart) });
        }
        Ok(changes)
    }

    /// The column named in OWNED BY.
    fn owner(
        &self,
        options: &SequenceOptions,
        (role, sequence): (RoleId, &TableName),
    ) -> Result<Option<SequenceOwner>> {
        let (schema, name, column) = match options.owner.as_deref() {
            None => return Ok(None),
            Some([none]) if none == "none" => return Ok(None),
            Some([table, column]) => (None, table, column),
            Some([schema, table, column]) => (Some(schema.clone()), table, column),
            Some(_) => {
                return Err(Error::input(sqlstate::SYNTAX_ERROR, "invalid OWNED BY option")
                    .with_hint("Specify OWNED BY table.column or OWNED BY NONE."));
            }
        };
        let name = QualifiedName::new(schema, name.clone());
        let full = self.meant(&name);
        self.check_names_schema(name.schema.as_deref())?;
        let table = self.table(&full).ok_or_else(|| self.no_relation(&name))?;
        let differ = |what| {
            let message = format!("sequence must {what} as table it is linked to");
            Err(Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        };
        if self.access().owner(table.id().0) != role {
            return differ("have same owner");
        }
        if full.schema != sequence.schema {
            return differ("be in same schema");
        }
        let at = table.definition().column_index(column).and_then(|at| u16::try_from(at).ok());
        let Some(at) = at else {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", full.name);
            return Err(Error::input(sqlstate::UNDEFINED_COLUMN, message));
        };
        Ok(Some(SequenceOwner { table: table.id(), column: at, is_identity: false }))
    }

    pub(super) fn altered_sequence(
        &self,
        name: &QualifiedName,
        if_exists: bool,
        options: &SequenceOptions,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let full = self.meant(name);
        let Some(sequence) = self.sequence(&full) else {
            if self.table(&full).is_some() {
                return Err(not_a_sequence(&full.name));
            }
            if if_exists {
                let message = format!("relation \"{}\" does not exist, skipping", name.name);
                self.note(output, "00000", message);
                return Ok(Vec::new());
            }
            return Err(self.no_relation(name));
        };
        Ok(vec![self.sequence_change(&sequence, options)?])
    }

    /// The change of a sequence according to the options.
    pub(super) fn sequence_change(
        &self,
        sequence: &Sequence,
        options: &SequenceOptions,
    ) -> Result<CatalogChange> {
        let old = &sequence.definition;
        let mut definition = defined(old.clone(), options, true)?;
        let mut restart = match options.restart {
            Some(value) => Some(sequence.restarted(value.unwrap_or(definition.start), false)),
            None => None,
        };
        let state = restart.unwrap_or_else(|| sequence.state());
        check_within("RESTART", state.value, &definition)?;
        check_cache(options)?;
        if restart.is_none() && (old.increment < 0) != (definition.increment < 0) {
            // From now on later numbers are lower instead of higher, or the reverse.
            restart = Some(sequence.restarted(state.value, state.is_called));
        }
        if options.owner.is_some() {
            if let Some(owner) = old.owner.filter(|owner| owner.is_identity) {
                let table = self.table_by_id(owner.table).map(|table| table.definition().name.name.clone());
                let message = "cannot change ownership of identity sequence";
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(format!(
                    "Sequence \"{}\" is linked to table \"{}\".",
                    old.name.name,
                    table.unwrap_or_default()
                )));
            }
            definition.owner = self.owner(options, (self.access().owner(sequence.id.0), &old.name))?;
        }
        definition.version = old.version.wrapping_add(1);
        Ok(CatalogChange::AlterSequence { id: sequence.id, definition, restart })
    }

    /// The changes of TRUNCATE ... RESTART IDENTITY for these tables.
    pub(super) fn restarted_sequences(&self, tables: &[TableId]) -> Result<Vec<CatalogChange>> {
        let owned = self.owned_sequences(tables).into_iter();
        owned
            .map(|sequence| {
                let described = ("sequence", sequence.definition.name.name.as_str());
                self.check_owner(sequence.id.0, described, None)?;
                let mut definition = sequence.definition.clone();
                definition.version = definition.version.wrapping_add(1);
                let restart = Some(sequence.restarted(definition.start, false));
                Ok(CatalogChange::AlterSequence { id: sequence.id, definition, restart })
            })
            .collect()
    }

    /// The sequences owned by columns of these tables.
    pub(super) fn owned_sequences(&self, tables: &[TableId]) -> Vec<Arc<Sequence>> {
        let mut sequences = self.worker.sequences();
        sequences.retain(|one| one.definition.owner.is_some_and(|owner| tables.contains(&owner.table)));
        sequences
    }

    pub(super) fn dropped_sequences(
        &self,
        drop: &DropSequence,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut dropped: Vec<Arc<Sequence>> = Vec::new();
        for name in &drop.names {
            let full = self.meant(name);
            match self.sequence(&full) {
                Some(sequence) if dropped.iter().any(|known| known.id == sequence.id) => {}
                Some(sequence) => dropped.push(sequence),
                None if let Some(table) = self.table(&full) => {
                    return Err(wrong_kind(&table.definition(), "sequence"));
                }
                None => {
                    let sequence = ("sequence", sqlstate::UNDEFINED_TABLE);
                    self.nothing_to_drop(sequence, name, drop.if_exists, output)?;
                }
            }
        }
        for sequence in &dropped {
            self.refuse_identity(sequence)?;
        }
        let dropped: Vec<Object> = dropped.into_iter().map(Object::Sequence).collect();
        self.dropped_objects(&dropped, drop.cascades, output)
    }

    fn refuse_identity(&self, sequence: &Sequence) -> Result<()> {
        let Some(owner) = sequence.definition.owner.filter(|owner| owner.is_identity) else { return Ok(()) };
        let Some(table) = self.table_by_id(owner.table) else { return Ok(()) };
        let definition = table.definition();
        let column = definition.columns.get(usize::from(owner.column)).map(|column| column.name.clone());
        let table = self.shown(&definition.name);
        let what = format!("column {} of table {table}", column.unwrap_or_default());
        let name = self.shown(&sequence.definition.name);
        let message = format!("cannot drop sequence {name} because {what} requires it");
        Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_hint(format!("You can drop {what} instead.")))
    }

    /// `pg_get_serial_sequence(table, column)`.
    pub(crate) fn serial_sequence(&self, table: &str, column: &str) -> Result<Value> {
        self.check_names_schema(written_name(table)?.0.as_deref())?;
        let name = relation_name(table, self.search_path(), |name| self.is_relation(name))?;
        let Some(found) = self.table(&name) else {
            return Err(hyades_types::sequence::no_relation(table, |schema| self.has_schema(schema)));
        };
        let Some(at) = found.definition().column_index(column) else {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", name.name);
            return Err(Error::input(sqlstate::UNDEFINED_COLUMN, message));
        };
        let is_of_column = |owner: SequenceOwner| usize::from(owner.column) == at;
        let owned = self.owned_sequences(&[found.id()]);
        let sequence = owned.iter().find(|one| one.definition.owner.is_some_and(is_of_column));
        Ok(sequence.map_or(Value::Null, |sequence| {
            let name = &sequence.definition.name;
            Value::text(format!("{}.{}", quoted(&name.schema), quoted(&name.name)))
        }))
    }
}
