//! CREATE, ALTER and DROP INDEX, REINDEX INDEX, and UNIQUE constraints.
//!
//! Tables, columns and names are looked up when the statement runs. What can be checked without them is
//! checked here.
//!
//! Reference: DefineIndex and ComputeIndexAttrs of PostgreSQL's indexcmds.c, transformIndexConstraint of
//! parse_utilcmd.c.

use hyades_types::definition::{Deferral, IndexKind};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{
    self, ConstraintCharacteristics, DeferrableInitial, NullsDistinctOption, UniqueConstraint,
};

use super::command::{AlterAction, CatalogStatement, SchemaCommand};
use super::storage_parameter::{Holder, new_parameters};
use super::wanted::{WantedIndex, WantedIndexed, WantedKey, WantedUnique};
use crate::bind::Place;
use crate::bind::select_list::figure_name;
use crate::emit::{Compiler, impossible, unsupported};
use crate::statement::deep_text::Written;
use crate::statement::names::fold;
use crate::statement::query::{parse_expression, words_position};
use crate::statement::{
    ChangeParameters, CreateIndex, DropIndex, IndexKey, IndexedWritten, ParameterHolder, QualifiedName,
    RenameIndex,
};

/// PostgreSQL's limit.
const MOST_KEYS: usize = 32;

impl Compiler<'_> {
    pub(crate) fn create_index(&self, create: &CreateIndex) -> Result<CatalogStatement> {
        let kind = self.index_kind(&create.method)?;
        if create.keys.len() + create.included.len() > MOST_KEYS {
            let message = format!("cannot use more than {MOST_KEYS} columns in an index");
            return Err(Error::input(sqlstate::TOO_MANY_COLUMNS, message));
        }
        if kind == IndexKind::Hash {
            refuse_hash(create)?;
        }
        let parameters = new_parameters(Holder::Index(kind), &create.parameters)?;
        let key = |key: &IndexKey| -> Result<WantedKey> {
            let is_descending = key.is_descending.unwrap_or(false);
            // By default NULLs sort as larger than all other values.
            let nulls_first = key.nulls_first.unwrap_or(is_descending);
            let indexed = match &key.indexed {
                IndexedWritten::Column(name) => WantedIndexed::Column(name.clone()),
                IndexedWritten::Expression(text) => wanted_expression(parse_expression(text)?),
            };
            let operator_class = key.operator_class.clone();
            Ok(WantedKey { indexed, is_descending, nulls_first, operator_class })
        };
        let predicate = create.predicate.as_deref().map(parse_expression).transpose()?.map(Written::new);
        if predicate.is_some() && create.nulls_are_equal {
            return unsupported(Missing::NullsNotDistinct, "NULLS NOT DISTINCT in a partial index is");
        }
        let index = WantedIndex {
            name: create.name.clone(),
            table: create.table.clone(),
            keys: create.keys.iter().map(key).collect::<Result<_>>()?,
            included: create.included.clone(),
            is_unique: create.is_unique,
            nulls_are_equal: create.nulls_are_equal,
            kind,
            if_not_exists: create.if_not_exists,
            is_concurrent: create.is_concurrent,
            predicate,
            parameters,
        };
        Ok(CatalogStatement::new("CREATE INDEX", SchemaCommand::CreateIndex(index)))
    }

    fn index_kind(&self, method: &str) -> Result<IndexKind> {
        match method {
            "btree" => Ok(IndexKind::Ordered),
            "hash" => Ok(IndexKind::Hash),
            "gin" | "gist" | "spgist" | "brin" => {
                let what = format!("the index access method {method} is");
                self.binder.unsupported_at(Missing::IndexMethods, &what, &["using", method])
            }
            other => {
                let message = format!("access method \"{other}\" does not exist");
                Err(Error::input(sqlstate::UNDEFINED_OBJECT, message))
            }
        }
    }

    pub(crate) fn drop_index(&self, drop: &DropIndex) -> Result<CatalogStatement> {
        if drop.is_concurrent && drop.names.len() > 1 {
            return impossible("DROP INDEX CONCURRENTLY does not support dropping multiple objects");
        }
        if drop.is_concurrent && drop.cascades {
            return impossible("DROP INDEX CONCURRENTLY does not support CASCADE");
        }
        Ok(CatalogStatement::new("DROP INDEX", SchemaCommand::DropIndex(drop.clone())))
    }

    pub(crate) fn rename_index(&self, rename: &RenameIndex) -> CatalogStatement {
        CatalogStatement::new("ALTER INDEX", SchemaCommand::RenameIndex(rename.clone()))
    }

    /// ALTER ... SET and RESET of parameters.
    pub(crate) fn change_parameters(&self, change: &ChangeParameters) -> CatalogStatement {
        let (tag, is_of_view) = match change.of {
            ParameterHolder::Index => {
                let command = SchemaCommand::ChangeParameters(change.clone());
                return CatalogStatement::new("ALTER INDEX", command);
            }
            ParameterHolder::Table => ("ALTER TABLE", false),
            ParameterHolder::View => ("ALTER VIEW", true),
            ParameterHolder::MaterializedView => ("ALTER MATERIALIZED VIEW", false),
        };
        let action = AlterAction::ChangeParameters { changes: change.changes.clone(), is_of_view };
        let command = SchemaCommand::AlterTable {
            table: change.name.clone(),
            if_exists: change.if_exists,
            actions: vec![action],
            is_materialized: change.of == ParameterHolder::MaterializedView,
        };
        CatalogStatement::new(tag, command)
    }

    pub(crate) fn reindex(&self, name: &QualifiedName, is_concurrent: bool) -> CatalogStatement {
        CatalogStatement::new("REINDEX", SchemaCommand::Reindex(name.clone(), is_concurrent))
    }

    /// The UNIQUE constraint of a column.
    pub(super) fn column_unique(
        &self,
        option: &UniqueConstraint,
        name: Option<String>,
        column: &str,
    ) -> Result<WantedUnique> {
        let mut unique = self.unique(option)?;
        unique.name = name.or(unique.name);
        unique.columns = vec![column.to_owned()];
        Ok(unique)
    }

    /// A UNIQUE constraint of a new table, with the number of UNIQUE constraints before it.
    pub(super) fn table_unique(&self, unique: &UniqueConstraint, number: usize) -> Result<WantedUnique> {
        let position = words_position(self.binder.sql, &["unique"], number);
        Ok(WantedUnique { position, is_of_new_table: true, ..self.unique(unique)? })
    }

    /// When a constraint is checked, as written.
    pub(super) fn deferral(&self, written: Option<&ConstraintCharacteristics>) -> Result<Deferral> {
        let Some(written) = written else { return Ok(Deferral::Never) };
        if written.enforced.is_some() {
            return unsupported(Missing::Dialects, "ENFORCED and NOT ENFORCED are not supported");
        }
        let is_deferred = written.initially == Some(DeferrableInitial::Deferred);
        match written.deferrable {
            Some(false) if is_deferred => {
                let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                let error = Error::input(sqlstate::SYNTAX_ERROR, message);
                Err(match place_of_contradiction(self.binder.sql) {
                    Some(position) => error.with_position(position),
                    None => error,
                })
            }
            _ if is_deferred => Ok(Deferral::InitiallyDeferred),
            Some(true) => Ok(Deferral::InitiallyImmediate),
            Some(false) | None => Ok(Deferral::Never),
        }
    }

    /// A UNIQUE constraint as written.
    pub(super) fn unique(&self, unique: &UniqueConstraint) -> Result<WantedUnique> {
        let column = |column: &ast::IndexColumn| match &column.column.expr {
            ast::Expr::Identifier(ident) => Ok(fold(ident)),
            other => {
                let message = format!("syntax error at or near \"{other}\"");
                self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::of_expr(other))
            }
        };
        Ok(WantedUnique {
            name: unique.name.as_ref().map(fold),
            columns: unique.columns.iter().map(column).collect::<Result<_>>()?,
            nulls_are_equal: unique.nulls_distinct == NullsDistinctOption::NotDistinct,
            deferral: self.deferral(unique.characteristics.as_ref())?,
            is_primary: false,
            position: words_position(self.binder.sql, &["unique"], 0),
            is_of_new_table: false,
            parameters: Vec::new(),
        })
    }
}

/// The place of the second of two contradictory phrases in a text.
fn place_of_contradiction(sql: &str) -> Option<u32> {
    let (never, later) = (["not", "deferrable"], ["initially", "deferred"]);
    [(never, later), (later, never)].into_iter().find_map(|(said, contrary)| {
        let start = words_position(sql, &[said, contrary].concat(), 0)?;
        (0..).map_while(|number| words_position(sql, &contrary, number)).find(|at| *at > start)
    })
}

/// An expression that consists of a column is that column.
fn wanted_expression(expr: ast::Expr) -> WantedIndexed {
    match expr {
        ast::Expr::Nested(inner) => wanted_expression(*inner),
        ast::Expr::Identifier(ident) => WantedIndexed::Column(fold(&ident)),
        other => {
            let name = figure_name(&other).map_or_else(|| "expr".to_owned(), |(name, _)| name);
            WantedIndexed::Expression(Written::new(other), name)
        }
    }
}

/// What PostgreSQL's hash indexes lack, in the order in which it checks.
fn refuse_hash(create: &CreateIndex) -> Result<()> {
    let lacks = [
        (create.is_unique, "unique indexes"),
        (!create.included.is_empty(), "included columns"),
        (create.keys.len() > 1, "multicolumn indexes"),
        (create.keys.iter().any(|key| key.is_descending.is_some()), "ASC/DESC options"),
        (create.keys.iter().any(|key| key.nulls_first.is_some()), "NULLS FIRST/LAST options"),
    ];
    match lacks.iter().find(|(is_wanted, _)| *is_wanted) {
        Some((_, what)) => impossible(format!("access method \"hash\" does not support {what}")),
        None => Ok(()),
    }
}
