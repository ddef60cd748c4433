//! CREATE DOMAIN, and what ALTER DOMAIN does in addition to ALTER TYPE.
//!
//! A constraint that is added to a domain in use would have to be checked in all its columns, which is not
//! done yet: only NOT VALID is accepted there.
//!
//! Reference: DefineDomain and AlterDomain* of PostgreSQL's typecmds.c.

use std::sync::Arc;

use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{
    CatalogChange, CheckConstraint, ColumnDefinition, DomainDefinition, SequenceId, TableName,
    TypeDefinition, TypeKind,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::dependents::Object;
use super::stored_texts::Reads;
use super::wanted::WantedCheck;
use crate::answer::Output;
use crate::bind::BindContext;
use crate::bind::domain::value_row;
use crate::bind::row_expression::row_type;
use crate::bind::sequence_call::sequences_of;
use crate::bind::types::{self, Declared};
use crate::emit::{Compiler, unsupported};
use crate::statement::names::cut_name;
use crate::statement::{DomainAction, WrittenCheck, WrittenDomain};
use crate::viewpoint::Viewpoint;

impl Compiler<'_> {
    /// The kind of a new type. Errors have no position, as in PostgreSQL.
    pub(super) fn created_domain(&mut self, name: &TableName, written: &WrittenDomain) -> Result<TypeKind> {
        self.made_domain(name, written).map_err(Error::without_position)
    }

    fn made_domain(&mut self, name: &TableName, written: &WrittenDomain) -> Result<TypeKind> {
        let Declared { sql_type, domain } = types::declared_variable(&written.base, &self.binder)?;
        let parent = domain.map(|parent| self.binder.domain(parent)).transpose()?;
        let inherited = parent.and_then(|parent| parent.definition.domain()?.default.clone());
        let mut made = DomainDefinition {
            base: sql_type,
            parent: domain,
            is_not_null: written.is_not_null,
            default: inherited,
            checks: Vec::new(),
        };
        if let Some(default) = &written.default {
            made.default = self.kept_default(default, &column_of(name, &made))?;
        }
        for check in &written.checks {
            let check = self.domain_check(name, &made, check)?;
            made.checks.push(check);
        }
        Ok(TypeKind::Domain { domain: Box::new(made) })
    }

    /// A constraint of a domain that already has others. Its name is generated if none was given.
    fn domain_check(
        &mut self,
        name: &TableName,
        domain: &DomainDefinition,
        written: &WrittenCheck,
    ) -> Result<CheckConstraint> {
        let is_taken = |wanted: &str| domain.checks.iter().any(|check| check.name == *wanted);
        if let Some(wanted) = written.name.as_ref().filter(|wanted| is_taken(wanted)) {
            let message = format!("constraint \"{wanted}\" for domain \"{}\" already exists", name.name);
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        let labels =
            std::iter::once("check".to_owned()).chain((1u32..).map(|number| format!("check{number}")));
        let mut made_up = labels.map(|label| cut_name(&name.name, "", &label));
        let row = value_row(domain);
        let wanted = WantedCheck {
            name: written.name.clone().or_else(|| made_up.find(|wanted| !is_taken(wanted))),
            expr: written.condition.clone(),
            is_not_valid: false,
        };
        self.binder.check_constraint(&row_type(&row), &row, &wanted)
    }
}

/// The column that a default of the domain is a value of.
fn column_of(name: &TableName, domain: &DomainDefinition) -> ColumnDefinition {
    ColumnDefinition { domain: domain.parent, ..ColumnDefinition::new(name.name.clone(), domain.base) }
}

fn compiled<T>(context: BindContext<'_>, compile: impl FnOnce(&mut Compiler<'_>) -> Result<T>) -> Result<T> {
    compile(&mut Compiler::new("", context, &[], 0)?).map_err(Error::without_position)
}

impl Viewpoint {
    /// The changes of ALTER DOMAIN.
    pub(super) fn altered_domain(
        &self,
        stored: &StoredType,
        action: &DomainAction,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = stored.definition.clone();
        let name = definition.full_name();
        let TypeKind::Domain { domain } = &mut definition.kind else { return Ok(Vec::new()) };
        match action {
            DomainAction::SetDefault(None) => domain.default = None,
            DomainAction::SetDefault(Some(default)) => {
                let column = column_of(&name, domain);
                domain.default =
                    self.with_context(|context| compiled(context, |it| it.kept_default(default, &column)))?;
            }
            DomainAction::SetNotNull(false) => domain.is_not_null = false,
            DomainAction::SetNotNull(true) if domain.is_not_null => return Ok(Vec::new()),
            DomainAction::SetNotNull(true) => {
                self.refuse_columns_of(stored)?;
                domain.is_not_null = true;
            }
            DomainAction::AddCheck { check, is_not_valid } => {
                if !is_not_valid {
                    self.refuse_columns_of(stored)?;
                }
                let made = self
                    .with_context(|context| compiled(context, |it| it.domain_check(&name, domain, check)))?;
                domain.checks.push(CheckConstraint { is_not_valid: *is_not_valid, ..made });
            }
            DomainAction::DropConstraint { name: wanted, if_exists } => {
                let before = domain.checks.len();
                domain.checks.retain(|check| check.name != *wanted);
                if domain.checks.len() == before {
                    let missing = no_constraint(&name, wanted);
                    if !if_exists {
                        return Err(missing);
                    }
                    self.note(output, "00000", format!("{missing}, skipping"));
                    return Ok(Vec::new());
                }
            }
            DomainAction::RenameConstraint { from, to } => {
                if domain.checks.iter().any(|check| check.name == *to) {
                    let message = format!("constraint \"{to}\" for domain {} already exists", name.name);
                    return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
                }
                let renamed = domain.checks.iter_mut().find(|check| check.name == *from);
                to.clone_into(&mut renamed.ok_or_else(|| no_constraint(&name, from))?.name);
            }
        }
        definition.begin_change();
        Ok(vec![CatalogChange::AlterType { definition }])
    }

    /// The changes of the domains whose texts have to be written in another way. `rewrite` is given a text,
    /// the row whose columns it may use, and the type that its value has, and returns whether it has changed
    /// it. `changed`: the type that is altered at the same time.
    pub(super) fn rewritten_domains(
        &self,
        changed: Option<&TypeDefinition>,
        rewrite: impl Fn(&mut String, Reads<'_>, SqlType) -> Result<bool>,
    ) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::new();
        for stored in self.worker.types() {
            let Some(before) = stored.definition.domain() else { continue };
            let row = row_type(&value_row(before));
            let mut definition = match changed {
                Some(changed) => stored.definition.with_type(changed),
                None => stored.definition.clone(),
            };
            let TypeKind::Domain { domain } = &mut definition.kind else { continue };
            let mut is_changed = false;
            if let Some(default) = &mut domain.default {
                is_changed |= rewrite(default, Reads::Nothing, domain.base)?;
            }
            for check in &mut domain.checks {
                is_changed |= rewrite(&mut check.expression, Reads::Row(&row), SqlType::Boolean)?;
                is_changed |= rewrite(&mut check.shown, Reads::Row(&row), SqlType::Boolean)?;
                if !check.pretty.is_empty() {
                    is_changed |= rewrite(&mut check.pretty, Reads::Row(&row), SqlType::Boolean)?;
                }
            }
            if is_changed {
                definition.begin_change();
                changes.push(CatalogChange::AlterType { definition });
            }
        }
        Ok(changes)
    }

    /// Finds what of a domain depends on something: a constraint, or the domain, if it is the default. `uses`
    /// is given a text, and the row whose columns it may use.
    pub(super) fn users_in_domain(
        &self,
        stored: &Arc<StoredType>,
        uses: impl Fn(&str, Reads<'_>) -> bool,
        found: &mut Vec<(Object, bool)>,
    ) {
        let Some(domain) = stored.definition.domain() else { return };
        if domain.default.as_ref().is_some_and(|default| uses(default, Reads::Nothing)) {
            found.push((Object::Type(Arc::clone(stored)), false));
        }
        let row = row_type(&value_row(domain));
        let checks = domain.checks.iter().filter(|check| uses(&check.expression, Reads::Row(&row)));
        found
            .extend(checks.map(|check| (Object::DomainCheck(Arc::clone(stored), check.name.clone()), false)));
    }

    /// The sequences that the default of a domain draws from.
    pub(super) fn sequences_of_domain(&self, stored: &StoredType) -> Result<Vec<SequenceId>> {
        let Some(domain) = stored.definition.domain().filter(|domain| domain.default.is_some()) else {
            return Ok(Vec::new());
        };
        let mut row = value_row(domain);
        row.columns[0].default.clone_from(&domain.default);
        Ok(self.bound_defaults(&row)?.iter().flat_map(sequences_of).collect())
    }

    /// The changes of domains that lose these constraints, unless they are dropped themselves.
    pub(super) fn without_domain_checks(objects: &[Object]) -> Vec<CatalogChange> {
        let goes = |id: u32| objects.iter().any(|one| matches!(one, Object::Type(own) if own.id() == id));
        let mut definitions: Vec<TypeDefinition> = Vec::new();
        for object in objects {
            let Object::DomainCheck(stored, name) = object else { continue };
            if goes(stored.id()) {
                continue;
            }
            let known = definitions.iter().position(|definition| definition.id == stored.id());
            let at = known.unwrap_or_else(|| {
                definitions.push(stored.definition.clone());
                definitions.len() - 1
            });
            if let TypeKind::Domain { domain } = &mut definitions[at].kind {
                domain.checks.retain(|check| check.name != *name);
            }
        }
        let changed = definitions.into_iter().map(|mut definition| {
            definition.begin_change();
            CatalogChange::AlterType { definition }
        });
        changed.collect()
    }

    /// Refuses a new constraint of a domain that rows may violate.
    fn refuse_columns_of(&self, stored: &StoredType) -> Result<()> {
        let is_made_of_it = |other: &StoredType| other.definition.uses_type(stored.id());
        let has_columns = self.visible_tables().iter().any(|table| {
            let definition = table.definition();
            definition.view().is_none() && definition.uses_type(stored.id())
        });
        if !has_columns && !self.worker.types().iter().any(|other| is_made_of_it(other)) {
            return Ok(());
        }
        let shown = self.shown_type(stored);
        unsupported(
            Missing::DomainsInUse,
            &format!("adding a constraint to domain {shown}, which is in use, is"),
        )
    }
}

fn no_constraint(domain: &TableName, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of domain \"{}\" does not exist", domain.name);
    Error::input(sqlstate::UNDEFINED_OBJECT, message)
}
