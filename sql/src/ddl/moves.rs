//! Moving objects to another schema: SET SCHEMA, and all objects of a schema that is renamed. RENAME TO and
//! OWNER TO are compiled here too, because they are written in the same way.
//!
//! Stored texts name relations, routines and types with their schemas, so they are rewritten where they name
//! a moved object. Bodies of routines stay as they were written. Instead, a renamed schema is also renamed in
//! the path by which their names are looked up.
//!
//! Reference: AlterTableNamespace of PostgreSQL's tablecmds.c, AlterObjectNamespace_internal of alter.c.

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    BodyUses, CatalogChange, RoutineDefinition, RoutineId, RoutineKind, TableDefinition, TableId, TableName,
    TypeDefinition, ViewDefinition,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::search_path::is_temporary;
use hyades_types::sequence::{Sequence, not_a_sequence};
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use super::schemas::no_schema;
use super::stored_texts::{Reads, rewrite};
use super::view_changes::{changed_view, redefined};
use crate::answer::Output;
use crate::bind::deparse::change::Change;
use crate::emit::{Compiler, unsupported};
use crate::statement::kept_names::{NameOf, full_name, respelled_expression, respelled_query};
use crate::statement::{AccessCommand, Move, Moved, MovedTo, Owned, QualifiedName, RoleName};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    pub(crate) fn moved(&self, change: &Move) -> Result<CatalogStatement> {
        let (command, moved) = match &change.moved {
            Moved::Table => ("ALTER TABLE", Moved::Table),
            Moved::View => ("ALTER VIEW", Moved::View),
            Moved::MaterializedView => ("ALTER MATERIALIZED VIEW", Moved::MaterializedView),
            Moved::Sequence => ("ALTER SEQUENCE", Moved::Sequence),
            Moved::Routine { kind, arguments } => {
                let arguments = self.signature(arguments.as_deref())?;
                let command = match kind {
                    Some(RoutineKind::Function) => "ALTER FUNCTION",
                    Some(RoutineKind::Procedure) => "ALTER PROCEDURE",
                    Some(RoutineKind::Aggregate) => "ALTER AGGREGATE",
                    None => "ALTER ROUTINE",
                };
                (command, Moved::Routine { kind: *kind, arguments })
            }
        };
        let (name, if_exists) = (change.name.clone(), change.if_exists);
        let to = match &change.to {
            MovedTo::Schema(schema) => schema.clone(),
            MovedTo::Owner(role) => {
                return Ok(self.owned(command, Owned::Object { moved, name, if_exists }, role.clone()));
            }
            MovedTo::Name(to) => {
                let rename = SchemaCommand::RenameRelation { kind: moved, name, if_exists, to: to.clone() };
                return Ok(CatalogStatement::new(command, rename));
            }
        };
        Ok(CatalogStatement::new(command, SchemaCommand::Move { moved, name, if_exists, to }))
    }

    /// ALTER ... OWNER TO.
    pub(super) fn owned(
        &self,
        command: &'static str,
        owned: Owned<Vec<SqlType>>,
        to: RoleName,
    ) -> CatalogStatement {
        CatalogStatement::new(command, SchemaCommand::Access(Arc::new(AccessCommand::Own { owned, to })))
    }
}

/// The objects that move to another schema.
#[derive(Default)]
struct Moving {
    relations: Vec<Arc<Table>>,
    sequences: Vec<Arc<Sequence>>,
    routines: Vec<Arc<Routine>>,
    types: Vec<Arc<StoredType>>,
    /// Set if other routines of the same name stay, so that the name alone does not say which one is
    /// called.
    is_partial: bool,
    /// The new schema.
    to: String,
    /// The schema of this name is renamed to `to`.
    renamed: Option<String>,
    /// The new name of the one relation that stays in its schema, `to`.
    name: Option<String>,
}

/// The routines that a text calls, each with its argument types.
type Calls = [(TableName, Vec<SqlType>)];

impl Moving {
    fn moves_routine(&self, name: &TableName, types: &[SqlType]) -> bool {
        let is_it = |own: &RoutineDefinition| own.name == *name && own.identity() == types;
        self.routines.iter().any(|routine| is_it(&routine.definition))
    }

    /// Whether the body of a routine names something that moves.
    fn is_in_body(&self, uses: &BodyUses) -> bool {
        self.relations.iter().any(|table| uses.tables.contains(&table.id()))
            || self.types.iter().any(|stored| uses.types.contains(&stored.id()))
            || uses.routines.iter().any(|(name, types)| self.moves_routine(name, types))
    }

    /// The relation that gets another name in its schema.
    fn renaming(&self) -> Option<(TableId, &str)> {
        Some((self.relations.first()?.id(), self.name.as_deref()?))
    }

    fn is_moved(&self, of: NameOf, name: &TableName, calls: &Calls) -> bool {
        match of {
            NameOf::Relation => {
                self.relations.iter().any(|table| table.definition().name == *name)
                    || self.sequences.iter().any(|sequence| sequence.definition.name == *name)
            }
            NameOf::Routine if self.is_partial => {
                calls.iter().any(|(own, types)| own == name && self.moves_routine(own, types))
            }
            NameOf::Routine => self.routines.iter().any(|routine| routine.definition.name == *name),
            NameOf::Type => self.types.iter().any(|stored| stored.name() == *name),
        }
    }

    /// The new spelling of names in a text that calls these routines.
    fn respell(&self, calls: &Calls) -> impl Fn(NameOf, Option<&str>, &str) -> Option<String> {
        move |of, schema, name| {
            let old = TableName { schema: schema?.to_owned(), name: name.to_owned() };
            self.is_moved(of, &old, calls).then(|| full_name(&self.new_name(old)))
        }
    }

    fn new_name(&self, old: TableName) -> TableName {
        TableName { schema: self.to.clone(), name: self.name.clone().unwrap_or(old.name) }
    }

    /// Refuses a text that calls several routines of one name of which only some move, because it cannot be
    /// seen which call means which.
    fn refuse_mixed(&self, calls: &Calls) -> Result<()> {
        let is_moved = |(name, types): &&(TableName, Vec<SqlType>)| self.moves_routine(name, types);
        let moved = calls.iter().filter(is_moved);
        let stays = |name: &TableName| {
            calls.iter().any(|(other, types)| other == name && !self.moves_routine(other, types))
        };
        match moved.into_iter().any(|(name, _)| stays(name)) {
            true => unsupported(
                Missing::Dependents,
                "moving one of several functions of a name that a definition calls is",
            ),
            false => Ok(()),
        }
    }
}

/// A view's texts with the new spelling, or `None` if nothing in them changes.
fn respelled_view(view: &ViewDefinition, moving: &Moving) -> Result<Option<ViewDefinition>> {
    let respell = moving.respell(&view.routines);
    let Some(query) = respelled_query(&view.query, &respell)? else { return Ok(None) };
    moving.refuse_mixed(&view.routines)?;
    let pretty = respelled_query(&view.pretty, &respell)?;
    let routines = view.routines.iter().map(|(name, types)| {
        let is_moved = moving.is_moved(NameOf::Routine, name, &view.routines);
        (if is_moved { moving.new_name(name.clone()) } else { name.clone() }, types.clone())
    });
    Ok(Some(ViewDefinition {
        query,
        pretty: pretty.unwrap_or_else(|| view.pretty.clone()),
        routines: routines.collect(),
        ..view.clone()
    }))
}

/// The changes of types that move to a schema, and of those whose texts have been rewritten. Whatever is made
/// of an enum gets its new definition.
fn moved_types(
    moved: &[Arc<StoredType>],
    mut definitions: Vec<TypeDefinition>,
    to: &str,
) -> Vec<CatalogChange> {
    for stored in moved {
        let known = definitions.iter_mut().find(|definition| definition.id == stored.id());
        if let Some(definition) = known {
            to.clone_into(&mut definition.schema);
            continue;
        }
        let mut definition = stored.definition.clone();
        to.clone_into(&mut definition.schema);
        definition.begin_change();
        definitions.push(definition);
    }
    let enums: Vec<TypeDefinition> =
        definitions.iter().filter(|definition| definition.labels().is_some()).cloned().collect();
    let with_enums = |definition: TypeDefinition| {
        enums.iter().fold(definition, |definition, changed| definition.with_type(changed))
    };
    let changed = definitions.into_iter().map(with_enums);
    changed.map(|definition| CatalogChange::AlterType { definition }).collect()
}

impl Viewpoint {
    /// SET SCHEMA.
    pub(super) fn moved(
        &self,
        moved: &Moved<Vec<SqlType>>,
        name: &QualifiedName,
        (if_exists, schema): (bool, &str),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut moving = Moving::default();
        match moved {
            Moved::Routine { kind, arguments } => {
                let routine = self.routine_meant((*kind, arguments.as_deref()), name)?;
                moving.is_partial = self.worker.routines_named(&routine.definition.name).len() > 1;
                moving.routines.push(routine);
            }
            kind => {
                if !self.find_moved(kind, name, if_exists, &mut moving, output)? {
                    return Ok(Vec::new());
                }
            }
        }
        moving.to = self.search_path().schema(schema).to_owned();
        if let [sequence] = moving.sequences.as_slice()
            && moving.relations.is_empty()
        {
            self.refuse_owned(sequence)?;
        }
        if !self.has_schema(schema) {
            return Err(no_schema(schema));
        }
        let from = self.schema_of(&moving);
        if from == moving.to {
            return Ok(Vec::new());
        }
        if is_temporary(&from) || is_temporary(&moving.to) {
            let message = "cannot move objects into or out of temporary schemas";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        if self.schemas().get(&moving.to).is_none() {
            let message = format!("permission denied for schema {}", moving.to);
            return Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        self.check_free(&moving)?;
        self.moves(&moving)
    }

    fn schema_of(&self, moving: &Moving) -> String {
        let relation = moving.relations.first().map(|table| table.definition().name.schema.clone());
        let sequence = || moving.sequences.first().map(|one| one.definition.name.schema.clone());
        let routine = || moving.routines.first().map(|one| one.definition.name.schema.clone());
        relation.or_else(sequence).or_else(routine).unwrap_or_default()
    }

    /// Finds the relation that moves. Returns false if there is none, which IF EXISTS permits.
    fn find_moved(
        &self,
        kind: &Moved<Vec<SqlType>>,
        name: &QualifiedName,
        if_exists: bool,
        moving: &mut Moving,
        output: &mut dyn Output,
    ) -> Result<bool> {
        let full = self.meant(name);
        let refused = |message: String| Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
        if let Some(table) = self.table(&full) {
            let word = table.definition().word();
            match kind.view_word() {
                Some(wanted) if wanted != word => {
                    return refused(format!("\"{}\" is not a {wanted}", full.name));
                }
                None if *kind == Moved::Sequence => return Err(not_a_sequence(&full.name)),
                _ => {}
            }
            moving.sequences = self.owned_sequences(&[table.id()]);
            moving.relations.push(table);
            return Ok(true);
        }
        if let Some(sequence) = self.worker.catalog_view().sequence_named(&full) {
            if let Some(wanted) = kind.view_word() {
                return refused(format!("\"{}\" is not a {wanted}", full.name));
            }
            moving.sequences.push(sequence);
            return Ok(true);
        }
        if self.is_index(&full) {
            let message = format!("cannot change schema of index \"{}\"", full.name);
            return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_hint("Change the schema of the table instead."));
        }
        if !if_exists {
            return Err(self.no_relation(name));
        }
        self.note(output, "00000", format!("relation \"{}\" does not exist, skipping", name.name));
        Ok(false)
    }

    fn refuse_owned(&self, sequence: &Sequence) -> Result<()> {
        let owner = sequence.definition.owner.and_then(|owner| self.table_by_id(owner.table));
        let Some(table) = owner else { return Ok(()) };
        let message = "cannot move an owned sequence into another schema";
        Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(format!(
            "Sequence \"{}\" is linked to table \"{}\".",
            sequence.definition.name.name,
            table.definition().name.name
        )))
    }

    /// Error 42P07 or 42723 if the new schema already has an object with the name of a moved one.
    fn check_free(&self, moving: &Moving) -> Result<()> {
        let mut names: Vec<String> =
            moving.sequences.iter().map(|sequence| sequence.definition.name.name.clone()).collect();
        for table in &moving.relations {
            let definition = table.definition();
            names.push(definition.name.name.clone());
            names.extend(definition.primary_key.iter().map(|key| key.name.clone()));
            names.extend(definition.indexes.iter().map(|index| index.name.clone()));
        }
        for name in names {
            let full = TableName { schema: moving.to.clone(), name };
            if self.is_relation(&full) {
                let message =
                    format!("relation \"{}\" already exists in schema \"{}\"", full.name, full.schema);
                return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
            }
        }
        for routine in &moving.routines {
            let definition = &routine.definition;
            let full = TableName { schema: moving.to.clone(), name: definition.name.name.clone() };
            let others = self.worker.routines_named(&full);
            if others.iter().any(|other| other.definition.identity() == definition.identity()) {
                let (signature, to) = (definition.signature(), &moving.to);
                let message = format!("function {signature} already exists in schema \"{to}\"");
                return Err(Error::input(sqlstate::DUPLICATE_FUNCTION, message));
            }
        }
        Ok(())
    }

    /// ALTER SEQUENCE ... RENAME.
    pub(super) fn renamed_sequence(&self, sequence: Arc<Sequence>, to: &str) -> Result<Vec<CatalogChange>> {
        let schema = sequence.definition.name.schema.clone();
        self.refuse_taken(&TableName { schema: schema.clone(), name: to.to_owned() })?;
        self.moves(&Moving {
            sequences: vec![sequence],
            to: schema,
            name: Some(to.to_owned()),
            ..Moving::default()
        })
    }

    /// ALTER SCHEMA ... RENAME: moves the objects in the schema.
    pub(super) fn moved_with_schema(&self, from: &str, to: &str) -> Result<Vec<CatalogChange>> {
        let mut moving = Moving { to: to.to_owned(), renamed: Some(from.to_owned()), ..Moving::default() };
        moving.relations = self.visible_tables();
        moving.relations.retain(|table| table.definition().name.schema == from);
        moving.sequences = self.worker.sequences();
        moving.sequences.retain(|sequence| sequence.definition.name.schema == from);
        moving.routines = self.worker.routines();
        moving.routines.retain(|routine| routine.definition.name.schema == from);
        moving.types = self.worker.types();
        moving.types.retain(|stored| stored.name().schema == from);
        let changes = self.moves(&moving)?;
        // These come last, so that every table ends up with the new definitions of the types.
        let (rewritten, mut changes): (Vec<CatalogChange>, Vec<CatalogChange>) =
            changes.into_iter().partition(|change| matches!(change, CatalogChange::AlterType { .. }));
        let rewritten = rewritten.into_iter().filter_map(|change| match change {
            CatalogChange::AlterType { definition } => Some(definition),
            _ => None,
        });
        changes.extend(moved_types(&moving.types, rewritten.collect(), to));
        Ok(changes)
    }

    /// RENAME of a table or view.
    pub(super) fn moved_table(&self, table: &Arc<Table>, name: &str) -> Result<Vec<CatalogChange>> {
        let schema = table.definition().name.schema.clone();
        self.moves(&Moving {
            relations: vec![Arc::clone(table)],
            to: schema,
            name: Some(name.to_owned()),
            ..Moving::default()
        })
    }

    /// The changes that move the objects, and the changes of the definitions that name them.
    fn moves(&self, moving: &Moving) -> Result<Vec<CatalogChange>> {
        self.refuse_named_in_bodies("something", |uses| moving.is_in_body(uses))?;
        let mut changes = Vec::new();
        for table in &moving.relations {
            let new = moving.new_name(table.definition().name.clone());
            let schema = Some(new.schema).filter(|_| moving.name.is_none());
            changes.push(CatalogChange::RenameTable { id: table.id(), name: new.name, schema });
        }
        for sequence in &moving.sequences {
            let mut definition = sequence.definition.clone();
            definition.name.schema.clone_from(&moving.to);
            if let Some(name) = &moving.name {
                definition.name.name.clone_from(name);
            }
            definition.version = definition.version.wrapping_add(1);
            changes.push(CatalogChange::AlterSequence { id: sequence.id, definition, restart: None });
        }
        self.respell_tables(moving, &mut changes)?;
        changes.extend(self.rewritten_domains(None, |text, row, _| {
            let other = self.respelled(text, row, moving)?;
            let is_changed = other.is_some();
            *text = other.unwrap_or_else(|| std::mem::take(text));
            Ok(is_changed)
        })?);
        let mut routines = self.worker.routines();
        // The order of the new numbers still shows which routine is older.
        routines.sort_unstable_by_key(|routine| routine.id);
        for routine in routines {
            if let Some(definition) = self.moved_routine(&routine.definition, moving)? {
                let (id, replaces) = (RoutineId(self.worker.new_id(NewId::Object)), Some(routine.id));
                changes.push(CatalogChange::CreateRoutine { id, definition, replaces });
            }
        }
        Ok(changes)
    }

    fn respell_tables(&self, moving: &Moving, changes: &mut Vec<CatalogChange>) -> Result<()> {
        for table in self.visible_tables() {
            let mut definition = TableDefinition::clone(&table.definition());
            let is_moved = moving.relations.iter().any(|moved| moved.id() == table.id());
            if is_moved {
                definition.name = moving.new_name(definition.name);
            }
            let mut is_changed = false;
            for trigger in &mut definition.triggers {
                if moving.moves_routine(&trigger.function, &[]) {
                    trigger.function = moving.new_name(trigger.function.clone());
                    is_changed = true;
                }
            }
            is_changed |= rewrite(&table, &mut definition, |text, reads, _| {
                let other = self.respelled(text, reads, moving)?;
                Ok(other.map(|other| *text = other).is_some())
            })?;
            let other_view = match (definition.source(), moving.renaming()) {
                (Some(view), Some((id, to))) if view.uses_table(id) => {
                    let change = Change::Relation(id, to);
                    Some(self.with_context(|context| changed_view(&table, view, context, &change))?)
                }
                (view, _) => view.map(|view| respelled_view(view, moving)).transpose()?.flatten(),
            };
            if let (Some(view), Some(query)) = (other_view, definition.source_mut()) {
                *query = view;
                is_changed = true;
            }
            if is_changed {
                changes.push(redefined(&table, definition));
            }
        }
        Ok(())
    }

    /// A stored expression in the new spelling.
    fn respelled(&self, text: &str, reads: Reads<'_>, moving: &Moving) -> Result<Option<String>> {
        let calls: Vec<(TableName, Vec<SqlType>)> = match moving.is_partial {
            true => self
                .called_in(text, (reads, None))?
                .iter()
                .map(|routine| (routine.definition.name.clone(), routine.definition.identity()))
                .collect(),
            false => Vec::new(),
        };
        moving.refuse_mixed(&calls)?;
        respelled_expression(text, &moving.respell(&calls))
    }

    /// The routine as it will be, or `None` if it does not change.
    fn moved_routine(
        &self,
        definition: &RoutineDefinition,
        moving: &Moving,
    ) -> Result<Option<RoutineDefinition>> {
        let mut new = definition.clone();
        if moving.moves_routine(&definition.name, &definition.identity()) {
            new.name.schema.clone_from(&moving.to);
        }
        for function in new.support_functions_mut() {
            if moving.moves_routine(&function.name, &function.types) {
                function.name.schema.clone_from(&moving.to);
            }
        }
        if let (Some(from), Some(path)) = (&moving.renamed, &mut new.path) {
            for schema in path.iter_mut().filter(|schema| *schema == from) {
                schema.clone_from(&moving.to);
            }
        }
        for default in new.parameters.iter_mut().filter_map(|parameter| parameter.default.as_mut()) {
            if let Some(other) = self.respelled(default, Reads::Nothing, moving)? {
                *default = other;
            }
        }
        Ok((new != *definition).then_some(new))
    }

    /// The routine that a statement names.
    pub(super) fn routine_meant(
        &self,
        wanted: (Option<RoutineKind>, Option<&[SqlType]>),
        name: &QualifiedName,
    ) -> Result<Arc<Routine>> {
        self.check_schema(name.schema.as_deref())?;
        match self.find_routine(wanted, name)? {
            Ok(routine) => Ok(routine),
            Err(missing) => Err(missing.error()),
        }
    }
}
