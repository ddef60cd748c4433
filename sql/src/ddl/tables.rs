//! CREATE TABLE, DROP TABLE, TRUNCATE. ALTER TABLE is in `alter_table`.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CatalogChange, Collation, ColumnDefinition, Deferral, IndexKind, PrimaryKey, TableDefinition, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::search_path::{TEMPORARY, is_system};
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{
    self, ColumnOption, CreateTableOptions, HiveDistributionStyle, ObjectType, Spanned, SqlOption,
    TableConstraint,
};
use sqlparser::tokenizer::Location;

use super::command::{CatalogStatement, SchemaCommand};
use super::sequences::serial_type;
use super::storage_parameter::{Holder, new_parameters};
use super::views::wrong_kind;
use super::wanted::{WantedPrimaryKey, WantedUnique};
use crate::answer::Output;
use crate::bind::aggregation::AggregateMode;
use crate::bind::row_expression::default_mismatch;
use crate::bind::types::{self, Declared};
use crate::bind::{BindContext, Place};
use crate::emit::{Compiler, unsupported};
use crate::statement::missing::{missing_statement, object_of_statement};
use crate::statement::names::{fold, parts};
use crate::statement::query::{self, loose_default, words_position};
use crate::statement::{OnCommit, QualifiedName};
use crate::viewpoint::Viewpoint;

/// PostgreSQL's limit.
const MOST_COLUMNS: usize = 1600;
const MOST_KEY_COLUMNS: usize = 32;

/// The system columns that every table has in PostgreSQL.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];

impl Compiler<'_> {
    pub(crate) fn schema(&mut self, statement: &ast::Statement) -> Result<CatalogStatement> {
        let (command, schema) = match statement {
            ast::Statement::CreateTable(create) => ("CREATE TABLE", self.create_table(create)?),
            ast::Statement::Drop { object_type: ObjectType::Table, if_exists, names, cascade, .. } => {
                let tables = self.qualified_names(names)?;
                let (if_exists, cascades) = (*if_exists, *cascade);
                ("DROP TABLE", SchemaCommand::Drop { tables, if_exists, cascades })
            }
            ast::Statement::Truncate(truncate) => ("TRUNCATE TABLE", self.truncate(truncate)?),
            ast::Statement::AlterTable(alter) => ("ALTER TABLE", self.alter_table(alter)?),
            other => return self.refuse(other),
        };
        let parameters = self.binder.finished_parameters()?;
        Ok(CatalogStatement { parameters, ..CatalogStatement::new(command, schema) })
    }

    /// The name of a table that ought to exist.
    pub(super) fn name(&self, name: &ast::ObjectName) -> Result<QualifiedName> {
        self.new_name(name).map_err(|error| match error.sqlstate() {
            sqlstate::FEATURE_NOT_SUPPORTED => error.without_position(),
            _ => error,
        })
    }

    fn new_name(&self, name: &ast::ObjectName) -> Result<QualifiedName> {
        let idents = parts(name)?;
        idents.iter().try_for_each(|ident| self.binder.refuse_reserved(ident))?;
        match idents.iter().map(|ident| fold(ident)).collect::<Vec<String>>().as_slice() {
            [name] => Ok(QualifiedName::new(None, name.clone())),
            [schema, name] => Ok(QualifiedName::new(Some(schema.clone()), name.clone())),
            [database, schema, name] if database == self.binder.context.database => {
                Ok(QualifiedName::new(Some(schema.clone()), name.clone()))
            }
            // Anything else is an error.
            _ => {
                self.binder.table_name(name).map(|(name, _)| QualifiedName::new(Some(name.schema), name.name))
            }
        }
    }

    fn qualified_names(&self, names: &[ast::ObjectName]) -> Result<Vec<QualifiedName>> {
        names.iter().map(|name| self.name(name)).collect()
    }

    fn truncate(&self, truncate: &ast::Truncate) -> Result<SchemaCommand> {
        let tables =
            truncate.table_names.iter().map(|target| self.name(&target.name)).collect::<Result<Vec<_>>>()?;
        let cascades = matches!(truncate.cascade, Some(ast::CascadeOption::Cascade));
        let restarts = matches!(truncate.identity, Some(ast::TruncateIdentityOption::Restart));
        Ok(SchemaCommand::Truncate { tables, cascades, restarts })
    }

    fn create_table(&mut self, create: &ast::CreateTable) -> Result<SchemaCommand> {
        self.refuse_table_kinds(create)?;
        let name = self.new_name(&create.name)?;
        let mut definition = TableDefinition::of_columns(
            self.created_relation(&name, Some(&create.name), create.temporary)?,
            Vec::new(),
        );
        if create.columns.len() > MOST_COLUMNS {
            return self.binder.fail(
                sqlstate::TOO_MANY_COLUMNS,
                format!("tables can have at most {MOST_COLUMNS} columns"),
                Place::Unknown,
            );
        }
        let on_commit = on_commit(create, &definition)?;
        let (mut keys, mut sequences, mut uniques) = (Vec::new(), Vec::new(), Vec::new());
        for (number, column) in create.columns.iter().enumerate() {
            let column_name = fold(&column.name);
            if definition.column_index(&column_name).is_some() {
                let message = format!("column \"{column_name}\" specified more than once");
                return self.binder.fail(sqlstate::DUPLICATE_COLUMN, message, Place::Unknown);
            }
            let written = column;
            let mut column = self.column_definition(written, &mut keys, &mut uniques)?;
            let table = &definition.name.name;
            sequences.extend(self.column_sequence(table, written, &mut column, number)?);
            column.generation = self.unread_generation(table, written)?;
            definition.columns.push(column);
        }
        let mut foreign_keys = self.column_foreign_keys(create)?;
        for constraint in &create.constraints {
            match constraint {
                TableConstraint::ForeignKey(key) => foreign_keys.push(self.foreign_key(key)?),
                TableConstraint::Unique(unique) => uniques.push(self.table_unique(unique, uniques.len())?),
                // See `created_checks`.
                TableConstraint::Check(_) => {}
                other => keys.push(self.table_constraint(other)?),
            }
        }
        let index;
        (index, definition.parameters) = self.table_options(create)?;
        uniques.splice(0..0, self.set_primary_key(&mut definition, keys, index)?);
        self.created_generations(create, &mut definition)?;
        self.created_checks(create, &mut definition)?;
        let if_not_exists = create.if_not_exists;
        let definition = Box::new(definition);
        let indexes = Vec::new();
        Ok(SchemaCommand::Create {
            definition,
            if_not_exists,
            foreign_keys,
            sequences,
            uniques,
            indexes,
            comments: Vec::new(),
            on_commit,
        })
    }

    /// The primary key of a new table. Returns it if it can be deferred.
    fn set_primary_key(
        &self,
        definition: &mut TableDefinition,
        mut keys: Vec<WantedPrimaryKey>,
        index: IndexKind,
    ) -> Result<Option<WantedUnique>> {
        // Points at the words PRIMARY KEY. The constraint name before them would be the better place.
        let place_at = |error: Error, number: usize| match words_position(
            self.binder.sql,
            &["primary", "key"],
            number,
        ) {
            Some(position) => error.with_position(position),
            None => error,
        };
        if keys.len() > 1 {
            let message =
                format!("multiple primary keys for table \"{}\" are not allowed", definition.name.name);
            return Err(place_at(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message), 1));
        }
        let Some(wanted) = keys.pop() else { return Ok(None) };
        let key = primary_key(definition, wanted.name.clone(), &wanted.columns, index)
            .map_err(|error| place_at(error, 0))?;
        for column in &key.columns {
            check_ordered(definition.columns[usize::from(*column)].sql_type)?;
        }
        definition.refuse_nulls(&key.columns);
        if wanted.deferral != Deferral::Never {
            return Ok(Some(WantedUnique::of_key(&wanted)));
        }
        definition.primary_key = Some(key);
        Ok(None)
    }

    /// The name of a relation to be created. That of a temporary one is in [`TEMPORARY`], whichever schema
    /// the session uses for it.
    pub(super) fn created_relation(
        &self,
        name: &QualifiedName,
        written: Option<&ast::ObjectName>,
        is_temporary: bool,
    ) -> Result<TableName> {
        let path = self.binder.context.path;
        let schema = name.schema.as_deref();
        let means_own = |schema: &str| schema == TEMPORARY || Some(schema) == path.temporary();
        let goes_there = match schema {
            Some(schema) => means_own(schema),
            None => is_temporary || path.created_in() == Some(TEMPORARY),
        };
        if goes_there {
            return Ok(TableName { schema: TEMPORARY.to_owned(), name: name.name.clone() });
        }
        if is_temporary {
            let message = "cannot create temporary relation in non-temporary schema";
            return self.binder.fail(
                sqlstate::INVALID_TABLE_DEFINITION,
                message,
                written.map_or(Place::Unknown, Place::of),
            );
        }
        self.created_name(name, written)
    }

    /// The name of an object to be created. Without a schema it goes to the first schema of the search path.
    pub(super) fn created_name(
        &self,
        name: &QualifiedName,
        written: Option<&ast::ObjectName>,
    ) -> Result<TableName> {
        let place = written.map_or(Place::Unknown, Place::of);
        let no_schema = |message: &str| self.binder.fail(sqlstate::INVALID_SCHEMA_NAME, message, place);
        match name.schema.as_deref().or(self.binder.context.path.created_in()) {
            None => no_schema("no schema has been selected to create in"),
            Some(TEMPORARY) => {
                self.binder.unsupported(Missing::TemporaryRoutines, "temporary routines are", place)
            }
            Some("pg_catalog") => {
                let message = format!("permission denied to create \"pg_catalog.{}\"", name.name);
                Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                    .with_detail("System catalog modifications are currently disallowed."))
            }
            Some(schema) if !self.binder.context.has_schema(schema) => {
                no_schema(&format!("schema \"{schema}\" does not exist"))
            }
            Some(schema) if is_system(schema) => {
                let message = format!("permission denied for schema {schema}");
                Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
            }
            Some(schema) => Ok(TableName { schema: schema.to_owned(), name: name.name.clone() }),
        }
    }

    pub(super) fn column_definition(
        &mut self,
        column: &ast::ColumnDef,
        keys: &mut Vec<WantedPrimaryKey>,
        uniques: &mut Vec<WantedUnique>,
    ) -> Result<ColumnDefinition> {
        let name = fold(&column.name);
        if SYSTEM_COLUMNS.contains(&name.as_str()) {
            let message = format!("column name \"{name}\" conflicts with a system column name");
            return self.binder.fail(sqlstate::DUPLICATE_COLUMN, message, Place::Unknown);
        }
        let place = Place::OperatorAfter(column.name.span.end);
        let Declared { sql_type, domain } = match serial_type(&column.data_type) {
            Some(sql_type) => sql_type.into(),
            None => types::declared_column(&column.data_type, &self.binder)
                .map_err(|error| self.binder.place(error, place))?,
        };
        let mut definition = ColumnDefinition {
            domain,
            dimensions: types::dimensions(&column.data_type),
            ..ColumnDefinition::new(name, sql_type)
        };
        for option in &column.options {
            let constraint = option.name.as_ref().map(fold);
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => definition.is_nullable = false,
                ColumnOption::Default(expr) => {
                    if let Some(error) = loose_default(self.binder.sql, expr) {
                        return Err(error);
                    }
                    definition.default = self.kept_default(expr, &definition)?;
                }
                ColumnOption::PrimaryKey(key) => {
                    let constraint = constraint.or_else(|| key.name.as_ref().map(fold));
                    let deferral = self.deferral(key.characteristics.as_ref())?;
                    let columns = vec![definition.name.clone()];
                    keys.push(WantedPrimaryKey { name: constraint, columns, deferral });
                }
                ColumnOption::Unique(unique) => {
                    uniques.push(self.column_unique(unique, constraint, &definition.name)?);
                }
                ColumnOption::ForeignKey(_) => {}
                // See `created_checks`.
                ColumnOption::Check(_) => {}
                // See `column_sequence` and `unread_generation`.
                ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {}
                ColumnOption::Collation(collation) => {
                    definition.collation = self.collation(sql_type, collation)?;
                }
                other => return unsupported(Missing::OtherForms, &format!("column option {other} is")),
            }
        }
        Ok(definition)
    }

    /// Checks a DEFAULT and returns its text. `None` for NULL, unless that hides the default of a domain.
    pub(super) fn kept_default(
        &mut self,
        expr: &ast::Expr,
        column: &ColumnDefinition,
    ) -> Result<Option<String>> {
        let sql_type = column.sql_type;
        self.binder.aggregate_mode = AggregateMode::Forbidden("in DEFAULT expressions");
        self.binder.refuse_queries(expr, "DEFAULT expression")?;
        let (coerced, meanings) = self.binder.noting(|binder| binder.default_value(expr, sql_type));
        let (coerced, from) = coerced.map_err(|error| match &error {
            Error::Input(input) if input.state == sqlstate::UNDEFINED_COLUMN => {
                let message = "cannot use column reference in DEFAULT expression";
                let place = Place::of_expr(expr);
                self.binder.place(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message), place)
            }
            _ => error,
        })?;
        if let Some(coerced) = &coerced {
            self.binder.refuse_clock_literals(coerced, Place::of_expr(expr))?;
        }
        if coerced.is_none() {
            return Err(default_mismatch(&column.name, sql_type, from));
        }
        let is_null = matches!(expr, ast::Expr::Value(value) if matches!(value.value, ast::Value::Null));
        if is_null && column.domain.is_none() {
            return Ok(None);
        }
        let shown = self.binder.shown_default(expr, sql_type);
        Ok(Some(shown.unwrap_or_else(|| self.binder.kept(expr, &meanings))))
    }

    /// Refuses a collation that the type cannot have, or that does not exist here.
    pub(super) fn collation(&self, sql_type: SqlType, collation: &ast::ObjectName) -> Result<Collation> {
        if !sql_type.is_string() {
            let message = format!("collations are not supported by type {}", sql_type.base_name());
            let error = Error::input(sqlstate::DATATYPE_MISMATCH, message);
            let start = collation.0.first().map_or_else(Location::empty, |part| part.span().start);
            return Err(match query::word_before(self.binder.sql, start, "collate") {
                Some(position) => error.with_position(position),
                None => error,
            });
        }
        let collation = collation.to_string().replace('"', "").to_ascii_lowercase();
        match collation.trim_start_matches("pg_catalog.") {
            "c" => Ok(Collation::C),
            "posix" => Ok(Collation::Posix),
            "default" => Ok(Collation::Default),
            _ => unsupported(Missing::Collations, "collations other than \"C\" are"),
        }
    }

    fn refuse<T>(&self, statement: &ast::Statement) -> Result<T> {
        let shown = statement.to_string().to_ascii_lowercase();
        let is_plain = |word: &&str| word.chars().all(|character| character.is_ascii_alphabetic());
        let words: Vec<&str> = shown.split_whitespace().take(6).take_while(is_plain).collect();
        if let Some(part) = object_of_statement(&words) {
            return Err(part.refusal(|at| words_position(self.binder.sql, &words[at..=at], 0)));
        }
        let first = &words[..words.len().min(2)];
        let name = first.join(" ");
        let what = format!("{} is", name.to_ascii_uppercase());
        self.binder.unsupported_at(missing_statement(&name), &what, first)
    }

    fn refuse_table_kinds(&self, create: &ast::CreateTable) -> Result<()> {
        let is_partitioned = create.partition_by.is_some()
            || create.partition_of.is_some()
            || !matches!(create.hive_distribution, HiveDistributionStyle::NONE);
        if create.inherits.is_some() {
            let what = "table inheritance is";
            return self.binder.unsupported_at(Missing::Inheritance, what, &["inherits"]);
        }
        if is_partitioned {
            let what = "partitioned tables are";
            return self.binder.unsupported_at(Missing::Partitions, what, &["partition"]);
        }
        if create.query.is_some() {
            return self.binder.lacks(Missing::OtherForms, "CREATE TABLE AS is");
        }
        Ok(())
    }

    pub(super) fn table_constraint(&self, constraint: &TableConstraint) -> Result<WantedPrimaryKey> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns = key
                    .columns
                    .iter()
                    .map(|column| match &column.column.expr {
                        ast::Expr::Identifier(ident) => Ok(fold(ident)),
                        other => self.binder.fail(
                            sqlstate::SYNTAX_ERROR,
                            format!("syntax error at or near \"{other}\""),
                            Place::of_expr(other),
                        ),
                    })
                    .collect::<Result<Vec<String>>>()?;
                let deferral = self.deferral(key.characteristics.as_ref())?;
                Ok(WantedPrimaryKey { name: key.name.as_ref().map(fold), columns, deferral })
            }
            TableConstraint::UniqueUsingIndex(_) | TableConstraint::PrimaryKeyUsingIndex(_) => {
                unsupported(Missing::Unnamed, "constraints USING INDEX are")
            }
            other => unsupported(Missing::OtherForms, &format!("table constraint {other} is")),
        }
    }

    /// WITH (...): the kind of the primary index, and what is kept.
    fn table_options(&self, create: &ast::CreateTable) -> Result<(IndexKind, Vec<String>)> {
        let (CreateTableOptions::With(options) | CreateTableOptions::Plain(options)) = &create.table_options
        else {
            return Ok((IndexKind::Ordered, Vec::new()));
        };
        let (mut index, mut parameters) = (IndexKind::Ordered, Vec::new());
        for option in options {
            let (key, value) = match option {
                SqlOption::KeyValue { key, value } => (fold(key), parameter_value(value)),
                SqlOption::Ident(ident) => (fold(ident), "true".to_owned()),
                SqlOption::TableSpace(_) => continue,
                other => return unsupported(Missing::OtherForms, &format!("table option {other} is")),
            };
            match key.as_str() {
                "primary_index" => {
                    index = match value.to_ascii_lowercase().as_str() {
                        "hash" => IndexKind::Hash,
                        "ordered" | "btree" => IndexKind::Ordered,
                        other => {
                            return Err(Error::input(
                                sqlstate::INVALID_PARAMETER_VALUE,
                                format!("invalid value for option \"primary_index\": {other}"),
                            )
                            .with_hint("It is ordered or hash."));
                        }
                    };
                }
                _ => parameters.push((key, value)),
            }
        }
        Ok((index, new_parameters(Holder::Table, &parameters)?))
    }
}

/// The value of a parameter, as PostgreSQL keeps it.
pub(super) fn parameter_value(value: &ast::Expr) -> String {
    match value {
        ast::Expr::Identifier(ident) => fold(ident),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

fn on_commit(create: &ast::CreateTable, definition: &TableDefinition) -> Result<OnCommit> {
    if create.on_commit.is_some() && definition.name.schema != TEMPORARY {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message));
    }
    Ok(match create.on_commit {
        None | Some(ast::OnCommit::PreserveRows) => OnCommit::PreserveRows,
        Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
        Some(ast::OnCommit::Drop) => OnCommit::Drop,
    })
}

/// Whether values of the type can be in an index.
pub(crate) fn check_ordered(sql_type: SqlType) -> Result<()> {
    match sql_type {
        SqlType::Json => {
            let message = "data type json has no default operator class for access method \"btree\"";
            let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
            Err(Error::input(sqlstate::UNDEFINED_OBJECT, message).with_hint(hint))
        }
        SqlType::Array(ArrayElement::Json) => {
            let message = "could not identify a comparison function for type json";
            Err(Error::input(sqlstate::UNDEFINED_FUNCTION, message))
        }
        _ => Ok(()),
    }
}

/// The primary key on these columns. Without a given name it has an empty one, until the session that creates
/// it finds a free name.
pub(crate) fn primary_key(
    definition: &TableDefinition,
    name: Option<String>,
    columns: &[String],
    index: IndexKind,
) -> Result<PrimaryKey> {
    let mut numbers: Vec<u16> = Vec::with_capacity(columns.len());
    for column in columns {
        let at = definition.column_index(column).and_then(|at| u16::try_from(at).ok());
        let Some(at) = at else {
            return Err(Error::input(
                sqlstate::UNDEFINED_COLUMN,
                format!("column \"{column}\" named in key does not exist"),
            ));
        };
        if numbers.contains(&at) {
            return Err(Error::input(
                sqlstate::DUPLICATE_COLUMN,
                format!("column \"{column}\" appears twice in primary key constraint"),
            ));
        }
        numbers.push(at);
    }
    if numbers.len() > MOST_KEY_COLUMNS {
        return Err(Error::input(
            sqlstate::TOO_MANY_COLUMNS,
            format!("cannot use more than {MOST_KEY_COLUMNS} columns in an index"),
        ));
    }
    let (name, parameters) = (name.unwrap_or_default(), Vec::new());
    Ok(PrimaryKey { name, columns: numbers, index, parameters })
}

/// The text of a DEFAULT for an existing column. `None` for NULL.
pub(crate) fn compile_default(
    context: BindContext<'_>,
    column: &ColumnDefinition,
    expr: &ast::Expr,
) -> Result<Option<String>> {
    let mut compiler = Compiler::new("", context, &[], 0)?;
    compiler.kept_default(expr, column).map_err(Error::without_position)
}

impl Viewpoint {
    /// CREATE TABLE, of columns or of a query.
    pub(super) fn created_table(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let (definition, if_not_exists, on_commit) = match command {
            SchemaCommand::Create { definition, if_not_exists, on_commit, .. }
            | SchemaCommand::CreateAs { definition, if_not_exists, on_commit, .. } => {
                (&**definition, *if_not_exists, *on_commit)
            }
            _ => return Ok(Vec::new()),
        };
        let definition = self.own_definition(definition);
        if self.is_there(&definition.name, if_not_exists, output)? {
            return Ok(Vec::new());
        }
        self.check_row_type_name(&definition.name)?;
        let changes = match command {
            SchemaCommand::Create { foreign_keys, sequences, uniques, indexes, comments, .. } => {
                let mut definition = definition;
                self.name_primary_key(&mut definition, uniques)?;
                self.created_uniques(&mut definition, uniques)?;
                let copied = self.copied_indexes(&mut definition, indexes)?;
                let mut changes = self.created(&definition, foreign_keys, sequences)?;
                let id = changes.iter().find_map(|change| match change {
                    CatalogChange::CreateTable { id, .. } => Some(*id),
                    _ => None,
                });
                if let Some(id) = id {
                    changes.extend(self.copied_comments((id, &definition), comments, &copied));
                }
                changes
            }
            _ => self.created(&definition, &[], &[])?,
        };
        self.note_on_commit(&changes, on_commit);
        Ok(changes)
    }

    /// Whether the name of a CREATE is taken and IF NOT EXISTS makes it do nothing.
    fn is_there(&self, name: &TableName, if_not_exists: bool, output: &mut dyn Output) -> Result<bool> {
        if !self.is_relation(name) {
            return Ok(false);
        }
        let message = format!("relation \"{}\" already exists", name.name);
        if !if_not_exists {
            return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
        }
        self.note(output, "42P07", format!("{message}, skipping"));
        Ok(true)
    }

    /// The tables with these names, each once, for DROP TABLE.
    pub(super) fn existing_tables(
        &self,
        names: &[QualifiedName],
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<Arc<Table>>> {
        let mut tables: Vec<Arc<Table>> = Vec::with_capacity(names.len());
        for name in names {
            let full = self.meant(name);
            self.refuse_sequence(&full)?;
            self.refuse_index(&full)?;
            match self.table(&full) {
                Some(view) if view.definition().source().is_some() => {
                    return Err(wrong_kind(&view.definition(), "table"));
                }
                Some(table) => {
                    if !tables.iter().any(|known| known.id() == table.id()) {
                        tables.push(table);
                    }
                }
                None => {
                    self.nothing_to_drop(("table", sqlstate::UNDEFINED_TABLE), name, if_exists, output)?;
                }
            }
        }
        Ok(tables)
    }
}
