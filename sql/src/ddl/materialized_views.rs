//! CREATE, ALTER and REFRESH MATERIALIZED VIEW.
//!
//! A materialized view is a table whose definition also has a query. Its rows are logged, checkpointed and
//! recovered like those of any table, and a replay never runs the query. Only REFRESH changes them:
//!
//! * Without CONCURRENTLY the table is emptied under its strongest lock, and filled as CREATE fills it.
//! * CONCURRENTLY changes the rows that differ, and others may read the table meanwhile.
//!
//! docs/decisions/2026-11-28-materialized-views.md says why.
//!
//! Reference: PostgreSQL's ExecRefreshMatView of matview.c, ExecCreateTableAs of createas.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, MaterializedView, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast;

use super::alteration_steps::{AlterStep, Alteration};
use super::command::{AlterAction, CatalogStatement, SchemaCommand};
use super::views::{parsed_query, refuse_action, view_of};
use crate::answer::Output;
use crate::bind::BindContext;
use crate::bind::derived::changes_rows;
use crate::emit::run_plan::{Analysis, RunPlan};
use crate::emit::{Compiler, Purpose, shifted, unsupported};
use crate::statement::deep_text::with_stack_for;
use crate::statement::{CreateTableAs, QualifiedName, Refresh};
use crate::viewpoint::Viewpoint;

/// Compiles what computes the rows of a materialized view: all of them, or those that differ from the ones
/// that it has.
pub(crate) fn compile_refill(
    context: BindContext<'_>,
    view: &Arc<Table>,
    is_concurrent: bool,
    analysis: Option<Analysis>,
) -> Result<RunPlan> {
    let definition = view.definition();
    let text = definition.source().map_or("", |query| query.query.as_str());
    with_stack_for(text, || {
        let mut compiler = Compiler::new(text, context, &[], 0)?;
        if analysis.is_some() {
            compiler.purpose = Purpose::Analyze;
        }
        let mut run = match is_concurrent {
            true => compiler.refill_beside_readers(view)?,
            false => compiler.refill(view, &parsed_query(text)?)?,
        };
        // Only the query is described.
        run.explain = run.explain.and_then(|mut filling| filling.children.pop());
        run.analysis = analysis;
        Ok(run)
    })
    .map_err(Error::without_position)
}

impl Compiler<'_> {
    pub(super) fn create_materialized(&mut self, create: &CreateTableAs) -> Result<CatalogStatement> {
        let (mut definition, _) = self.table_of_query(create)?;
        let (text, context) = (create.query.as_str(), self.binder.context);
        let query = with_stack_for(text, || {
            let with = parsed_query(text)?.with;
            let changes = |with: ast::With| with.cte_tables.iter().any(|own| changes_rows(&own.query.body));
            if with.is_some_and(changes) {
                let message = "materialized views must not use data-modifying statements in WITH";
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            let names: Vec<String> = definition.columns.iter().map(|column| column.name.clone()).collect();
            view_of(text, context, &names)
        });
        let mut query = query.map_err(|error| shifted(error, create.query_offset))?;
        if query.tables.iter().any(|used| used.is_temporary()) {
            let message = "materialized views must not use temporary tables or views";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        query.base = None;
        definition.materialized = Some(Box::new(MaterializedView { query, is_populated: create.is_filled }));
        let command = SchemaCommand::CreateAs {
            definition: Box::new(definition),
            if_not_exists: create.if_not_exists,
            query: create.is_filled.then(|| create.query.clone()),
            on_commit: create.on_commit,
            analysis: None,
        };
        Ok(CatalogStatement::new("CREATE MATERIALIZED VIEW", command))
    }

    pub(super) fn alter_materialized(&mut self, alter: &ast::AlterTable) -> Result<CatalogStatement> {
        let mut command = self.alter_table(alter)?;
        if let SchemaCommand::AlterTable { is_materialized, .. } = &mut command {
            *is_materialized = true;
        }
        let parameters = self.binder.finished_parameters()?;
        Ok(CatalogStatement { parameters, ..CatalogStatement::new("ALTER MATERIALIZED VIEW", command) })
    }

    pub(super) fn refresh(&self, refresh: &Refresh) -> CatalogStatement {
        CatalogStatement::new("REFRESH MATERIALIZED VIEW", SchemaCommand::Refresh(refresh.clone()))
    }
}

/// The name of an action that cannot be done to a view or a materialized view. `None` for one that can.
fn refused_action(action: &AlterAction) -> Option<&'static str> {
    Some(match action {
        AlterAction::AddPrimaryKey(_)
        | AlterAction::AddUnique(_)
        | AlterAction::UseIndex { .. }
        | AlterAction::AddForeignKey(_)
        | AlterAction::AddCheck(_) => "ADD CONSTRAINT",
        AlterAction::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        AlterAction::AlterConstraint { .. } => "ALTER CONSTRAINT",
        AlterAction::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterAction::AddColumn { .. } => "ADD COLUMN",
        AlterAction::DropColumn { .. } => "DROP COLUMN",
        AlterAction::SetType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        AlterAction::SetDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        AlterAction::SetNullable { is_nullable: false, .. } => "ALTER COLUMN ... SET NOT NULL",
        AlterAction::SetNullable { is_nullable: true, .. } => "ALTER COLUMN ... DROP NOT NULL",
        AlterAction::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        AlterAction::SetIdentity { .. } => "ALTER COLUMN ... SET IDENTITY",
        AlterAction::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        AlterAction::Trigger(_) => "ENABLE/DISABLE TRIGGER",
        AlterAction::RenameColumn { .. }
        | AlterAction::RenameConstraint { .. }
        | AlterAction::AddIndex(_)
        | AlterAction::SetOwner(_)
        | AlterAction::ChangeParameters { .. }
        | AlterAction::Refresh(_) => return None,
    })
}

/// Refuses the actions of ALTER TABLE that a view or a materialized view does not take.
pub(super) fn check_actions(
    definition: &TableDefinition,
    actions: &[AlterAction],
    is_materialized: bool,
) -> Result<()> {
    let renames = |action: &AlterAction| matches!(action, AlterAction::RenameColumn { .. });
    if is_materialized && definition.materialized.is_none() && !actions.iter().all(renames) {
        let message = format!("\"{}\" is not a materialized view", definition.name.name);
        return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
    }
    if definition.source().is_none() {
        return Ok(());
    }
    for action in actions {
        if definition.view.is_some() {
            match action {
                AlterAction::SetDefault { .. } => {
                    return unsupported(Missing::ViewDefaults, "ALTER VIEW ... ALTER COLUMN is");
                }
                AlterAction::RenameColumn { .. } => {
                    return unsupported(Missing::RenamedViewColumns, "ALTER VIEW ... RENAME COLUMN is");
                }
                _ => {}
            }
        }
        if let Some(name) = refused_action(action) {
            return Err(refuse_action(definition, name));
        }
    }
    Ok(())
}

/// Error 55000 unless a unique index tells the rows apart.
fn check_unique(definition: &TableDefinition) -> Result<()> {
    if Compiler::keys_of_rows(definition).is_empty() {
        let name = crate::statement::kept_names::full_name(&definition.name);
        let message = format!("cannot refresh materialized view \"{name}\" concurrently");
        return Err(Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(
            "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
        ));
    }
    Ok(())
}

impl Viewpoint {
    /// The table that REFRESH names.
    pub(super) fn refreshed_table(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        let full = self.meant(name);
        let table = self.table(&full).filter(|table| table.definition().view.is_none());
        let Some(table) = table else {
            if self.table(&full).is_none() && !self.is_relation(&full) {
                return Err(self.no_relation(name));
            }
            let message = format!("\"{}\" is not a table or materialized view", name.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        };
        if table.definition().materialized.is_none() {
            let message = format!("\"{}\" is not a materialized view", name.name);
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(table)
    }

    /// The changes that REFRESH begins with. The rows come after them.
    pub(super) fn refreshed(
        &self,
        alteration: &mut Alteration,
        refresh: &Refresh,
    ) -> Result<Vec<CatalogChange>> {
        let (table, mut definition) =
            (&alteration.table, TableDefinition::clone(&alteration.table.definition()));
        let Some(materialized) = &mut definition.materialized else { return Ok(Vec::new()) };
        let Refresh { is_concurrent, is_filled, .. } = *refresh;
        if is_concurrent && !materialized.is_populated {
            let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if is_concurrent && !is_filled {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
        }
        if is_filled {
            alteration.steps.push_front(AlterStep::Refill { is_concurrent });
        }
        if is_concurrent {
            check_unique(&definition)?;
            return Ok(Vec::new());
        }
        let was_populated = std::mem::replace(&mut materialized.is_populated, is_filled);
        let mut changes = vec![CatalogChange::Truncate { id: table.id() }];
        if was_populated != is_filled {
            let (id, definition) = (table.id(), Box::new(definition));
            changes.push(CatalogChange::AlterTable { id, definition, columns: None });
        }
        Ok(changes)
    }

    /// The table that ALTER TABLE or ALTER MATERIALIZED VIEW names, or `None`, with a notice, under IF EXISTS
    /// if there is none.
    pub(super) fn altered_table(
        &self,
        name: &QualifiedName,
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Option<Arc<Table>>> {
        match self.table(&self.meant(name)) {
            None if if_exists => {
                let message = format!("relation \"{}\" does not exist, skipping", name.name);
                self.note(output, "00000", message);
                Ok(None)
            }
            None => Err(self.no_relation(name)),
            table => Ok(table),
        }
    }
}
