//! From a command to the changes of the catalog that it makes at once. Those of ALTER TABLE, and of commands
//! that lock schemas or rights first, follow later (`alteration_steps`).

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::access::{Rights, RoleId};
use hyades_types::definition::{CatalogChange, TableName};
use hyades_types::error::{Error, Result, sqlstate};

use super::command::SchemaCommand;
use super::views::wrong_kind;
use crate::answer::Output;
use crate::statement::QualifiedName;
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    pub(crate) fn changes(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        self.check_may_change(command)?;
        self.refuse_pending(command)?;
        match command {
            SchemaCommand::Create { .. } | SchemaCommand::CreateAs { .. } => {
                self.created_table(command, output)
            }
            SchemaCommand::CreateView { definition, or_replace, names_schema } => {
                self.created_view(definition, *or_replace, *names_schema, output)
            }
            SchemaCommand::DropView(drop) => self.dropped_views(drop, output),
            // See `begun_alteration`.
            SchemaCommand::CreateIndex(wanted) if wanted.is_computed() => Ok(Vec::new()),
            SchemaCommand::CreateIndex(wanted) => self.created_index(wanted, output),
            SchemaCommand::DropIndex(drop) => self.dropped_indexes(drop, output),
            SchemaCommand::RenameIndex(rename) => self.renamed_index(rename, output),
            SchemaCommand::Reindex(name, is_concurrent) => self.reindexed(name, *is_concurrent),
            SchemaCommand::CreateSchema { name, owner, if_not_exists, .. } => {
                self.created_schema(name, owner.as_ref(), *if_not_exists, output)
            }
            // See `late_change`.
            SchemaCommand::DropSchema(_) | SchemaCommand::RenameSchema { .. } | SchemaCommand::Access(_) => {
                Ok(Vec::new())
            }
            SchemaCommand::Move { moved, name, if_exists, to } => {
                self.moved(moved, name, (*if_exists, to), output)
            }
            SchemaCommand::RenameRelation { kind, name, if_exists, to } => {
                self.renamed_relation(kind, (name, *if_exists), to, output)
            }
            SchemaCommand::DiscardTemporaries => self.discarded_temporaries(),
            SchemaCommand::CreateSequence { name, if_not_exists, options } => {
                let name = self.own_name(name);
                self.created_sequence(&name, *if_not_exists, options, output)
            }
            SchemaCommand::AlterSequence { name, if_exists, options } => {
                self.altered_sequence(name, *if_exists, options, output)
            }
            SchemaCommand::DropSequence(drop) => self.dropped_sequences(drop, output),
            SchemaCommand::CreateType { name, labels } => self.created_type(name, labels),
            SchemaCommand::AlterType(alter) => self.altered_type(alter, output),
            SchemaCommand::Comment { on, name, text } => self.commented(on, name, text.as_deref()),
            SchemaCommand::DropType(drop) => self.dropped_types(drop, output),
            SchemaCommand::Drop { tables, if_exists, cascades } => {
                let dropped = self.existing_tables(tables, *if_exists, output)?;
                self.dropped(&dropped, *cascades, output)
            }
            SchemaCommand::Truncate { tables, cascades, restarts } => {
                self.truncated(tables, *cascades, *restarts, output)
            }
            SchemaCommand::CreateRoutine { definition, or_replace, .. } => {
                self.created_routine(definition, *or_replace)
            }
            SchemaCommand::DropRoutine { kind, if_exists, names, cascades } => {
                self.dropped_routines((*kind, *if_exists), names, *cascades, output)
            }
            // Its changes are determined action by action.
            SchemaCommand::AlterTable { .. } => Ok(Vec::new()),
        }
    }

    /// CREATE TABLE, of columns or of a query.
    fn created_table(
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
    fn existing_tables(
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
                Some(view) if view.definition().view.is_some() => {
                    return Err(wrong_kind(&view.definition()));
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

    /// The rights of an object that the session has created, which belongs to its role.
    pub(crate) fn rights_of_new(
        &self,
        change: &CatalogChange,
        next: Option<&CatalogChange>,
    ) -> Option<CatalogChange> {
        let object = match change {
            CatalogChange::CreateTable { id, .. } => id.0,
            CatalogChange::CreateSequence { id, .. } => id.0,
            CatalogChange::CreateRoutine { id, replaces: None, .. } => id.0,
            CatalogChange::CreateSchema { id, .. } => id.0,
            CatalogChange::CreateType { definition } => definition.id,
            _ => return None,
        };
        let is_said = matches!(next, Some(CatalogChange::PutRights { object: own, .. }) if *own == object);
        let role = self.role();
        if is_said || role == RoleId::OWNER || change.is_temporary() {
            return None;
        }
        Some(CatalogChange::PutRights { object, rights: Rights::of(role) })
    }
}
