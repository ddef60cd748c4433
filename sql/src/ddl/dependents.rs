//! What depends on what, where many objects are dropped at once: the order in which PostgreSQL finds the
//! dependents of an object, and the order in which it reports them.
//!
//! An object's dependents are visited from the newest to the oldest, each after its own dependents. They
//! are reported in reverse order. Objects that are dropped with another one in any case (a table's own
//! constraints, defaults and sequences) are not reported.
//!
//! Reference: findDependentObjects and reportDependentObjects of PostgreSQL's dependency.c.

use std::cell::OnceCell;
use std::sync::Arc;

use hyades_engine::procedure::deep::with_stack;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{BodyUses, CatalogChange, ColumnDefinition, ForeignKey, Generation, SchemaId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use hyades_types::sequence::Sequence;
use hyades_types::value::SqlType;
use hyades_types::value::composite::CompositeType;
use sqlparser::ast;

use super::drawing_defaults::DrawingDefault;
use super::stored_texts::Reads;
use crate::answer::Output;
use crate::bind::Binder;
use crate::bind::meanings::Meanings;
use crate::statement::kept_names::names_type;
use crate::statement::query::parse_expression;
use crate::viewpoint::Viewpoint;

/// An object that others depend on, or that depends on others.
#[derive(Clone)]
pub(crate) enum Object {
    Schema(SchemaId, String),
    /// A table or view.
    Relation(Arc<Table>),
    Sequence(Arc<Sequence>),
    Routine(Arc<Routine>),
    Type(Arc<StoredType>),
    /// The column with this number, which cannot outlive its type.
    Column(Arc<Table>, u16),
    /// The foreign key or CHECK constraint of this name.
    Constraint(Arc<Table>, String),
    /// The default of the column with this number.
    Default(Arc<Table>, u16),
    /// The constraint of this name of a domain.
    DomainCheck(Arc<StoredType>, String),
    /// The trigger of this name.
    Trigger(Arc<Table>, String),
    /// The attribute with this number of a composite type.
    Attribute(Arc<StoredType>, u16),
    /// The type of the rows of a table or view, which goes with it.
    Rows(Arc<Table>),
    /// An extension, which is its functions and types.
    Extension(String),
}

impl Object {
    /// The newest object has the greatest age. Parts of a table come after the table.
    fn age(&self) -> (u32, usize) {
        match self {
            Object::Schema(id, _) => (id.0, 0),
            // Its functions are visited with it.
            Object::Extension(_) => (0, 0),
            Object::Relation(table) => (table.id().0, 0),
            Object::Sequence(sequence) => (sequence.id.0, 0),
            Object::Routine(routine) => (routine.id.0, 0),
            Object::Type(stored) => (stored.id(), 0),
            Object::Attribute(stored, number) => (stored.id(), usize::from(*number)),
            Object::Rows(table) => (table.id().0, 0),
            Object::DomainCheck(stored, name) => {
                let mut checks = stored.definition.domain().into_iter().flat_map(|domain| &domain.checks);
                (stored.id(), 1 + checks.position(|check| check.name == *name).unwrap_or(0))
            }
            Object::Default(table, column) | Object::Column(table, column) => {
                (table.id().0, 1 + usize::from(*column))
            }
            Object::Constraint(table, name) => {
                let definition = table.definition();
                let names = definition.checks.iter().map(|check| &check.name);
                let mut names = names.chain(definition.foreign_keys.iter().map(|key| &key.name));
                let at = names.position(|own| own == name).unwrap_or(0);
                (table.id().0, 1 + usize::from(u16::MAX) + at)
            }
            Object::Trigger(table, name) => {
                let definition = table.definition();
                let at = definition.triggers.iter().position(|trigger| trigger.name == *name).unwrap_or(0);
                (table.id().0, 1 + 2 * usize::from(u16::MAX) + at)
            }
        }
    }

    fn is(&self, other: &Object) -> bool {
        match (self, other) {
            (Object::Schema(one, _), Object::Schema(other, _)) => one == other,
            (Object::Extension(one), Object::Extension(other)) => one == other,
            (Object::Relation(one), Object::Relation(other)) => one.id() == other.id(),
            (Object::Sequence(one), Object::Sequence(other)) => one.id == other.id,
            (Object::Routine(one), Object::Routine(other)) => one.id == other.id,
            (Object::Constraint(one, name), Object::Constraint(other, other_name))
            | (Object::Trigger(one, name), Object::Trigger(other, other_name)) => {
                one.id() == other.id() && name == other_name
            }
            (Object::Type(one), Object::Type(other)) => one.id() == other.id(),
            (Object::Attribute(one, number), Object::Attribute(other, other_number)) => {
                one.id() == other.id() && number == other_number
            }
            (Object::Rows(one), Object::Rows(other)) => one.id() == other.id(),
            (Object::DomainCheck(one, name), Object::DomainCheck(other, other_name)) => {
                one.id() == other.id() && name == other_name
            }
            (Object::Default(one, column), Object::Default(other, other_column))
            | (Object::Column(one, column), Object::Column(other, other_column)) => {
                one.id() == other.id() && column == other_column
            }
            _ => false,
        }
    }
}

/// An object to be dropped.
struct Target {
    object: Object,
    /// Whether it was named, or is dropped with another object in any case.
    is_silent: bool,
    /// The object through which it was found.
    on: String,
}

/// What is dropped along with some objects.
struct Dependents<'a> {
    session: &'a Viewpoint,
    tables: Vec<Arc<Table>>,
    sequences: Vec<Arc<Sequence>>,
    routines: Vec<Arc<Routine>>,
    types: Vec<Arc<StoredType>>,
    /// The defaults that draw from sequences, once they have been looked up.
    defaults: OnceCell<Vec<DrawingDefault>>,
    /// Each object comes after its dependents.
    targets: Vec<Target>,
}

impl<'a> Dependents<'a> {
    fn new(session: &'a Viewpoint) -> Dependents<'a> {
        Dependents {
            session,
            tables: session.visible_tables(),
            sequences: session.worker.sequences(),
            routines: session.worker.routines(),
            types: session.worker.types(),
            defaults: OnceCell::new(),
            targets: Vec::new(),
        }
    }

    fn visit(&mut self, object: &Object, is_silent: bool, on: String) -> Result<()> {
        if let Some(known) = self.targets.iter_mut().find(|target| target.object.is(object)) {
            known.is_silent |= is_silent;
            return Ok(());
        }
        let shown = self.session.described(object);
        let mut dependents = self.dependents_of(object)?;
        dependents.sort_by_key(|(dependent, _)| std::cmp::Reverse(dependent.age()));
        for (dependent, is_part) in dependents {
            with_stack(|| self.visit(&dependent, is_part, shown.clone()))?;
        }
        // It may have been reached through a cycle.
        if !self.targets.iter().any(|target| target.object.is(object)) {
            self.targets.push(Target { object: object.clone(), is_silent, on });
        }
        Ok(())
    }

    /// The objects that depend on an object, each with whether it is a part of it.
    fn dependents_of(&self, object: &Object) -> Result<Vec<(Object, bool)>> {
        let mut found = Vec::new();
        match object {
            Object::Schema(_, name) => self.contents(name, &mut found),
            Object::Extension(name) => {
                let members = self.routines.iter().filter(|routine| routine.extension() == Some(name));
                found.extend(members.map(|routine| (Object::Routine(Arc::clone(routine)), true)));
                let brought = self.types.iter().filter(|stored| stored.extension() == Some(name));
                found.extend(brought.map(|stored| (Object::Type(Arc::clone(stored)), true)));
            }
            Object::Relation(table) => self.dependents_of_table(table, &mut found),
            Object::Sequence(sequence) => {
                let drawing = self.defaults()?.iter().filter(|default| default.sequence.id == sequence.id);
                found.extend(drawing.map(|one| {
                    // The default of an identity column belongs to the sequence itself.
                    let is_identity = sequence.definition.owner.is_some_and(|owner| {
                        owner.is_identity && owner.table == one.table.id() && owner.column == one.column
                    });
                    (Object::Default(Arc::clone(&one.table), one.column), is_identity)
                }));
                for stored in &self.types {
                    if self.session.sequences_of_domain(stored)?.contains(&sequence.id) {
                        found.push((Object::Type(Arc::clone(stored)), false));
                    }
                }
            }
            Object::Routine(routine) => {
                for table in &self.tables {
                    self.session.callers_in(table, routine, &mut found);
                }
                let called = &routine.definition;
                let uses = |other: &&Arc<Routine>| {
                    let types = called.identity();
                    let mut functions = other.definition.support_functions();
                    functions.any(|own| own.name == called.name && own.types == types)
                };
                let users = self.routines.iter().filter(uses);
                found.extend(users.map(|own| (Object::Routine(Arc::clone(own)), false)));
                let (name, types) = (&called.name, called.identity());
                self.users_in_bodies(|uses| uses.uses_routine(name, &types), &mut found);
                let calls = |text: &str, reads: Reads<'_>| self.session.calls(text, reads, routine);
                self.types.iter().for_each(|own| self.session.users_in_domain(own, calls, &mut found));
            }
            Object::Type(stored) => self.dependents_of_type(stored, &mut found)?,
            Object::Column(table, column) => self.dependents_of_column(table, *column, &mut found),
            Object::Rows(table) => {
                let number = CompositeType::number_of_rows(table.id().0);
                let is_user = |routine: &&Arc<Routine>| {
                    let definition = &routine.definition;
                    definition.traits.row_of == Some(table.id())
                        || definition.types().any(|own| own.is_of_type(number))
                };
                let users = self.routines.iter().filter(is_user);
                found.extend(users.map(|routine| (Object::Routine(Arc::clone(routine)), false)));
            }
            Object::Constraint(..)
            | Object::Default(..)
            | Object::DomainCheck(..)
            | Object::Trigger(..)
            | Object::Attribute(..) => {}
        }
        Ok(found)
    }

    /// The routines whose bodies, in standard SQL, use something.
    fn users_in_bodies(&self, is_used: impl Fn(&BodyUses) -> bool, found: &mut Vec<(Object, bool)>) {
        let users = self.routines.iter();
        let users = users.filter(|routine| routine.definition.uses.as_deref().is_some_and(&is_used));
        found.extend(users.map(|routine| (Object::Routine(Arc::clone(routine)), false)));
    }

    fn defaults(&self) -> Result<&[DrawingDefault]> {
        if let Some(known) = self.defaults.get() {
            return Ok(known);
        }
        let found = self.session.drawing_defaults(&self.sequences, &[])?;
        Ok(self.defaults.get_or_init(|| found))
    }

    fn contents(&self, schema: &str, found: &mut Vec<(Object, bool)>) {
        let tables = self.tables.iter().filter(|table| table.definition().name.schema == schema);
        found.extend(tables.map(|table| (Object::Relation(Arc::clone(table)), false)));
        let sequences = self.sequences.iter().filter(|one| one.definition.name.schema == schema);
        found.extend(sequences.map(|sequence| (Object::Sequence(Arc::clone(sequence)), false)));
        let routines = self.routines.iter().filter(|one| one.definition.name.schema == schema);
        found.extend(routines.map(|routine| match routine.extension() {
            Some(extension) => (Object::Extension(extension.to_owned()), false),
            None => (Object::Routine(Arc::clone(routine)), false),
        }));
        let types = self.types.iter().filter(|stored| stored.name().schema == schema);
        found.extend(types.map(|stored| match stored.extension() {
            Some(extension) => (Object::Extension(extension.to_owned()), false),
            None => (Object::Type(Arc::clone(stored)), false),
        }));
    }

    fn dependents_of_type(&self, stored: &Arc<StoredType>, found: &mut Vec<(Object, bool)>) -> Result<()> {
        let name = stored.name();
        let says = |text: &str| names_type(text, &name);
        for table in &self.tables {
            let definition = table.definition();
            let when = definition
                .triggers
                .iter()
                .filter(|trigger| trigger.condition.as_ref().is_some_and(|condition| says(&condition.shown)));
            found.extend(when.map(|own| (Object::Trigger(Arc::clone(table), own.name.clone()), false)));
            if definition.source().is_some() {
                if definition.uses_type(stored.id()) {
                    found.push((Object::Relation(Arc::clone(table)), false));
                }
                continue;
            }
            let is_of_type = |column: &ColumnDefinition| {
                column.domain == Some(stored.id()) || column.sql_type.is_of_type(stored.id())
            };
            for (at, column) in (0u16..).zip(definition.visible_columns()) {
                let computes = column.generation.as_ref().is_some_and(|own| says(&own.expression));
                if computes || is_of_type(column) {
                    found.push((Object::Column(Arc::clone(table), at), false));
                } else if column.default.as_deref().is_some_and(says) {
                    found.push((Object::Default(Arc::clone(table), at), false));
                }
            }
            // An index is dropped with the columns that it reads.
            let stays = |own: &Generation| {
                !own.columns.iter().any(|at| is_of_type(&definition.columns[usize::from(*at)]))
            };
            let computed = definition.columns[definition.visible_columns().len()..].iter();
            let mut computed = computed.filter_map(|column| column.generation.as_ref());
            if computed.any(|own| says(&own.expression) && stays(own)) {
                let table = self.session.shown(&definition.name);
                let type_name = stored.definition.shown();
                let what = format!("dropping type {type_name}, which an index on {table} converts to, is");
                return Err(refused(Missing::Dependents, &what));
            }
            let checks = definition.checks.iter().filter(|check| says(&check.shown));
            let constraint = |name: &String| Object::Constraint(Arc::clone(table), name.clone());
            found.extend(checks.map(|check| (constraint(&check.name), false)));
        }
        let routines = self.routines.iter();
        let routines =
            routines.filter(|routine| routine.definition.types().any(|own| own.is_of_type(stored.id())));
        found.extend(routines.map(|routine| (Object::Routine(Arc::clone(routine)), false)));
        self.users_in_bodies(|uses| uses.types.contains(&stored.id()), found);
        if let Some(domain) = stored.definition.domain() {
            let own = domain.checks.iter().map(|check| check.name.clone());
            found.extend(own.map(|name| (Object::DomainCheck(Arc::clone(stored), name), true)));
        }
        found.extend(
            self.types.iter().flat_map(|other| attributes_of(other, stored.id())).map(|own| (own, false)),
        );
        let is_domain = |other: &&Arc<StoredType>| {
            let domain = other.definition.domain();
            domain.is_some_and(|own| own.parent == Some(stored.id()) || own.base.is_of_type(stored.id()))
        };
        let domains = self.types.iter().filter(is_domain);
        found.extend(domains.map(|domain| (Object::Type(Arc::clone(domain)), false)));
        let says = |text: &str, _: Reads<'_>| says(text);
        let others = self.types.iter().filter(|other| other.id() != stored.id());
        others.for_each(|other| self.session.users_in_domain(other, says, found));
        Ok(())
    }

    /// The objects that belong to a column, and those that depend on it.
    fn dependents_of_column(&self, table: &Arc<Table>, column: u16, found: &mut Vec<(Object, bool)>) {
        let definition = table.definition();
        let constraint =
            |table: &Arc<Table>, name: &String| Object::Constraint(Arc::clone(table), name.clone());
        let checks = definition.checks.iter().filter(|check| check.columns.contains(&column));
        found.extend(checks.map(|check| (constraint(table, &check.name), true)));
        let keys = definition.foreign_keys.iter().filter(|key| key.columns.contains(&column));
        found.extend(keys.map(|key| (constraint(table, &key.name), true)));
        let triggers = definition.triggers.iter().filter(|trigger| trigger.uses_column(column));
        found.extend(triggers.map(|own| (Object::Trigger(Arc::clone(table), own.name.clone()), false)));
        let name = definition.columns.get(usize::from(column)).map_or("", |column| column.name.as_str());
        self.users_in_bodies(|uses| uses.uses_column(table.id(), name), found);
        let is_owned = |sequence: &&Arc<Sequence>| {
            let owner = sequence.definition.owner;
            owner.is_some_and(|owner| owner.table == table.id() && owner.column == column)
        };
        let owned = self.sequences.iter().filter(is_owned);
        found.extend(owned.map(|sequence| (Object::Sequence(Arc::clone(sequence)), true)));
        for (at, other) in (0u16..).zip(definition.visible_columns()) {
            if other.generation.as_ref().is_some_and(|own| own.columns.contains(&column)) {
                found.push((Object::Column(Arc::clone(table), at), false));
            }
        }
        for other in &self.tables {
            let other_definition = other.definition();
            if other_definition.source().is_some_and(|view| view.uses_column(table.id(), column)) {
                found.push((Object::Relation(Arc::clone(other)), false));
            }
            let refers = |key: &&ForeignKey| key.parent == table.id() && key.parent_columns.contains(&column);
            for key in other_definition.foreign_keys.iter().filter(refers) {
                found.push((constraint(other, &key.name), false));
            }
        }
    }

    fn dependents_of_table(&self, table: &Arc<Table>, found: &mut Vec<(Object, bool)>) {
        found.push((Object::Rows(Arc::clone(table)), true));
        self.users_in_bodies(|uses| uses.tables.contains(&table.id()), found);
        for key in &table.definition().foreign_keys {
            found.push((Object::Constraint(Arc::clone(table), key.name.clone()), true));
        }
        let is_owned = |sequence: &&Arc<Sequence>| {
            sequence.definition.owner.is_some_and(|owner| owner.table == table.id())
        };
        let owned = self.sequences.iter().filter(is_owned);
        found.extend(owned.map(|sequence| (Object::Sequence(Arc::clone(sequence)), true)));
        let children = table.definition().children();
        for other in &self.tables {
            let definition = other.definition();
            if definition.source().is_some_and(|view| view.uses_table(table.id())) {
                found.push((Object::Relation(Arc::clone(other)), false));
            }
            let from = definition.triggers.iter().filter(|own| own.referenced == Some(table.id()));
            found.extend(from.map(|own| (Object::Trigger(Arc::clone(other), own.name.clone()), true)));
            if other.id() != table.id() && children.contains(&other.id()) {
                let keys = definition.foreign_keys.iter().filter(|key| key.parent == table.id());
                found
                    .extend(keys.map(|key| (Object::Constraint(Arc::clone(other), key.name.clone()), false)));
            }
        }
    }

    /// Whether it is dropped with its table anyway.
    fn is_part_of_target(&self, object: &Object) -> bool {
        let (Object::Default(table, _)
        | Object::Column(table, _)
        | Object::Constraint(table, _)
        | Object::Trigger(table, _)) = object
        else {
            return false;
        };
        self.targets.iter().any(|target| target.object.is(&Object::Relation(Arc::clone(table))))
    }

    /// What is dropped besides the named objects: a description, and the sentence that gives the reason.
    fn reported(&self) -> Vec<(String, String)> {
        let is_told = |target: &&Target| !target.is_silent && !self.is_part_of_target(&target.object);
        let told = self.targets.iter().rev().filter(is_told);
        told.map(|target| {
            let shown = self.session.described(&target.object);
            let sentence = format!("{shown} depends on {}", target.on);
            (shown, sentence)
        })
        .collect()
    }
}

/// Error 2BP01: the object, or one of several, cannot be dropped while others depend on it.
fn blocked(only: &str, count: usize, reported: &[(String, String)]) -> Error {
    let message = match count {
        1 => format!("cannot drop {only} because other objects depend on it"),
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    let details: Vec<&str> = reported.iter().map(|(_, sentence)| sentence.as_str()).collect();
    Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_detail(details.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}

impl Viewpoint {
    /// The changes that drop these objects, and with `cascades` their dependents.
    pub(super) fn dropped_objects(
        &self,
        named: &[Object],
        cascades: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut dependents = Dependents::new(self);
        for object in named {
            dependents.visit(object, true, String::new())?;
        }
        let reported = dependents.reported();
        if !reported.is_empty() && !cascades {
            let only = named.first().map(|first| self.described(first)).unwrap_or_default();
            return Err(blocked(&only, named.len(), &reported));
        }
        self.note_cascade(output, &reported.iter().map(|(what, _)| what).collect::<Vec<_>>());
        let objects: Vec<Object> = dependents.targets.into_iter().map(|target| target.object).collect();
        self.drops_of_objects(&objects)
    }

    /// These objects and all that depend on them, each before its dependents.
    pub(super) fn with_dependents(&self, named: &[Object]) -> Result<Vec<Object>> {
        let mut dependents = Dependents::new(self);
        for object in named {
            dependents.visit(object, false, String::new())?;
        }
        // The type of a relation's rows is no object of its own.
        let is_told = |object: &Object| !matches!(object, Object::Rows(_));
        Ok(dependents.targets.into_iter().rev().map(|target| target.object).filter(is_told).collect())
    }

    /// Finds what calls a routine in a table or view: the query of a view, defaults and CHECK constraints.
    fn callers_in(&self, table: &Arc<Table>, routine: &Arc<Routine>, found: &mut Vec<(Object, bool)>) {
        let (definition, called) = (table.definition(), &routine.definition);
        for trigger in &definition.triggers {
            let runs = trigger.function == called.name && called.identity().is_empty();
            let calls = |text: &str| self.calls(text, Reads::OldAndNew(table), routine);
            if runs || trigger.condition.as_ref().is_some_and(|own| calls(&own.expression)) {
                found.push((Object::Trigger(Arc::clone(table), trigger.name.clone()), false));
            }
        }
        if let Some(view) = definition.source() {
            if view.uses_routine(&called.name, &called.identity()) {
                found.push((Object::Relation(Arc::clone(table)), false));
            }
            return;
        }
        let calls = |text: &str| self.calls(text, Reads::Row(table), routine);
        for (at, column) in (0u16..).zip(&definition.columns) {
            let draws = |text: &str| self.calls_as(text, (Reads::Nothing, Some(column.sql_type)), routine);
            if column.default.as_deref().is_some_and(draws) {
                found.push((Object::Default(Arc::clone(table), at), false));
            }
        }
        for check in definition.checks.iter().filter(|check| calls(&check.expression)) {
            found.push((Object::Constraint(Arc::clone(table), check.name.clone()), false));
        }
    }

    /// Whether a stored expression calls a routine.
    fn calls(&self, text: &str, reads: Reads<'_>, routine: &Routine) -> bool {
        self.calls_as(text, (reads, None), routine)
    }

    /// The same for an expression whose value is used as one of a type.
    fn calls_as(&self, text: &str, reads: (Reads<'_>, Option<SqlType>), routine: &Routine) -> bool {
        let called = || self.called_in(text, reads);
        text.contains(&routine.definition.name.name)
            && called().is_ok_and(|called| called.iter().any(|one| one.id == routine.id))
    }

    /// The routines that an expression calls, which may be used as a value of a type.
    pub(super) fn called_in(
        &self,
        text: &str,
        (reads, to): (Reads<'_>, Option<SqlType>),
    ) -> Result<Vec<Arc<Routine>>> {
        self.with_binder(|binder| {
            let parsed = parse_expression(text)?;
            reads.bind(binder, |binder| match to {
                Some(to) => binder.default_value(&parsed, to).map(|_| ()),
                None => binder.expression(&parsed).map(|_| ()),
            })?;
            Ok(std::mem::take(&mut binder.called))
        })
    }

    /// What the parts of a stored expression mean that is used as a value of this type.
    pub(super) fn meanings(&self, parsed: &ast::Expr, reads: Reads<'_>, to: SqlType) -> Result<Meanings> {
        self.with_binder(|binder| {
            let value = |binder: &mut Binder<'_>| binder.of_kept(|binder| binder.default_value(parsed, to));
            let (bound, meanings) = binder.noting(|binder| reads.bind(binder, value));
            bound.map(|_| meanings)
        })
    }

    /// The name of a table or view for messages.
    pub(super) fn described_table(&self, table: &Arc<Table>) -> String {
        let definition = table.definition();
        format!("{} {}", definition.word(), self.shown(&definition.name))
    }

    /// The name of an object in PostgreSQL's messages, with its schema if it is not found without.
    pub(super) fn described(&self, object: &Object) -> String {
        match object {
            Object::Schema(_, name) => format!("schema {name}"),
            Object::Extension(name) => format!("extension {name}"),
            Object::Relation(table) => self.described_table(table),
            Object::Sequence(sequence) => format!("sequence {}", self.shown(&sequence.definition.name)),
            Object::Routine(routine) => match routine.definition.cast_types() {
                Some((source, target)) => {
                    let shown = |own: SqlType| {
                        let shown = self.with_binder(|binder| Ok(binder.shown_type(own)));
                        shown.unwrap_or_else(|_| own.base_name().into())
                    };
                    format!("cast from {} to {}", shown(source), shown(target))
                }
                // PostgreSQL calls procedures functions here too.
                None => format!("function {}", self.shown_signature(&routine.definition)),
            },
            Object::Type(stored) => format!("type {}", self.shown_type(stored)),
            Object::Attribute(stored, number) => {
                let mut fields = stored.definition.fields().unwrap_or_default().iter();
                let name = fields.find(|field| field.number == *number).map(|field| field.name.as_str());
                format!("column {} of composite type {}", name.unwrap_or_default(), self.shown_type(stored))
            }
            Object::Rows(table) => format!("type {}", self.shown(&table.definition().name)),
            Object::DomainCheck(_, name) => format!("constraint {name}"),
            Object::Column(table, column) => {
                let definition = table.definition();
                let column = &definition.columns[usize::from(*column)].name;
                format!("column {column} of table {}", self.shown(&definition.name))
            }
            Object::Constraint(table, name) => {
                format!("constraint {name} on table {}", self.shown(&table.definition().name))
            }
            Object::Trigger(table, name) => {
                let definition = table.definition();
                format!("trigger {name} on {} {}", definition.word(), self.shown(&definition.name))
            }
            Object::Default(table, column) => {
                let definition = table.definition();
                let column = &definition.columns[usize::from(*column)].name;
                format!("default value for column {column} of table {}", self.shown(&definition.name))
            }
        }
    }
}

/// The attributes of a composite type that are of this type, or of arrays of it.
fn attributes_of(stored: &Arc<StoredType>, id: u32) -> impl Iterator<Item = Object> {
    let fields = stored.definition.fields().unwrap_or_default().iter();
    let own = fields.filter(move |field| field.sql_type.is_of_type(id));
    own.map(|field| Object::Attribute(Arc::clone(stored), field.number))
}
