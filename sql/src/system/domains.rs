//! Domains in the catalog: their columns of `pg_type`, and their constraints.

use hyades_types::definition::{CheckConstraint, ColumnDefinition, DomainDefinition, TypeDefinition};

use super::data_types::{self, DataType, OfDomain};
use super::object_id::{self, Part};
use super::row::{NamedRow, oid, text, truth};
use super::snapshot::System;
use crate::statement::lexer::{Lexer, TokenKind};

/// The functions that read domains, in the place of those of the type: by name, in the order of
/// [`DataType::functions`].
const READ_BY: [(usize, (&str, u32)); 5] =
    [(0, ("-", 0)), (1, ("domain_in", 2597)), (3, ("domain_recv", 2598)), (5, ("-", 0)), (6, ("-", 0))];

/// A condition on the value, which PostgreSQL writes in capitals.
fn shown_condition(condition: &str) -> String {
    let (mut shown, mut copied) = (String::with_capacity(condition.len()), 0);
    let mut lexer = Lexer::new(condition);
    while let Ok(token) = lexer.next()
        && token.kind != TokenKind::End
    {
        if token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(DomainDefinition::VALUE) {
            shown.push_str(&condition[copied..token.start]);
            copied = token.start + token.text.len();
            let is_subscripted = condition[copied..].starts_with('[');
            shown.push_str(if is_subscripted { "(VALUE)" } else { "VALUE" });
        }
    }
    shown.push_str(&condition[copied..]);
    shown
}

impl System {
    pub(super) fn domains(&self) -> impl Iterator<Item = (&TypeDefinition, &DomainDefinition)> {
        let definitions = self.facts.types.iter().map(|stored| &stored.definition);
        definitions.filter_map(|definition| Some((definition, definition.domain()?)))
    }

    pub(super) fn domain(&self, id: u32) -> Option<(&TypeDefinition, &DomainDefinition)> {
        self.domains().find(|(definition, _)| definition.id == id)
    }

    /// The description of a domain: that of its base type, but for what is its own.
    pub(super) fn described_domain(&self, definition: &TypeDefinition) -> Option<DataType> {
        let domain = definition.domain()?;
        let mut described = data_types::of(domain.base)?.into_owned();
        described.oid = definition.id;
        described.name = definition.name.clone().into();
        described.schema = definition.schema.clone().into();
        described.kind = "d";
        described.is_preferred = false;
        described.array = definition.array_id;
        for (at, function) in READ_BY {
            described.functions[at] = function;
        }
        Some(described)
    }

    /// What `pg_type` says of the domain with this number, if there is one.
    pub(super) fn of_domain(&self, id: u32) -> Option<OfDomain> {
        let (_, domain) = self.domain(id)?;
        Some(OfDomain {
            is_not_null: domain.is_not_null,
            base: domain.parent.unwrap_or(domain.base.oid()),
            modifier: if domain.parent.is_some() { -1 } else { domain.base.type_modifier() },
            default: self.default_of_domain(domain),
        })
    }

    pub(super) fn default_of_domain(&self, domain: &DomainDefinition) -> Option<String> {
        let written = ColumnDefinition::new("", domain.base);
        self.default_of(&ColumnDefinition { default: domain.default.clone(), ..written })
    }

    /// `pg_constraint`, for domains.
    pub(super) fn domain_constraints(&self) -> Vec<NamedRow> {
        let row = |(definition, check): (&TypeDefinition, &CheckConstraint)| {
            vec![
                ("oid", oid(object_id::of_part(definition.id, Part::Constraint, &check.name))),
                ("conname", text(&check.name)),
                ("connamespace", oid(self.schema_oid(&definition.schema))),
                ("contype", text("c")),
                ("convalidated", truth(!check.is_not_valid)),
                ("contypid", oid(definition.id)),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
                ("conislocal", truth(true)),
            ]
        };
        self.checks_of_domains().map(row).collect()
    }

    pub(super) fn checks_of_domains(&self) -> impl Iterator<Item = (&TypeDefinition, &CheckConstraint)> {
        let definitions = self.facts.types.iter().map(|stored| &stored.definition);
        definitions.flat_map(|definition| {
            let checks = definition.domain().map_or(&[][..], |domain| &domain.checks);
            checks.iter().map(move |check| (definition, check))
        })
    }

    /// The definition of the constraint of a domain with this number.
    pub(super) fn domain_constraint_definition(&self, constraint: u32, is_pretty: bool) -> Option<String> {
        let mut checks = self.checks_of_domains();
        let is_meant = |definition: &TypeDefinition, check: &CheckConstraint| {
            object_id::of_part(definition.id, Part::Constraint, &check.name) == constraint
        };
        let (_, check) = checks.find(|(definition, check)| is_meant(definition, check))?;
        let (shown, pretty) = (shown_condition(&check.shown), shown_condition(&check.pretty));
        let shown = CheckConstraint { shown, pretty, ..check.clone() };
        Some(self.check_definition(&shown, is_pretty))
    }

    /// The condition of a constraint as the catalog shows it.
    pub(super) fn shown_condition(&self, check: &CheckConstraint) -> String {
        self.unqualified(&shown_condition(&check.shown))
    }

    pub(super) fn domain_names(&self, definition: &TypeDefinition) -> NamedRow {
        vec![
            ("domain_catalog", text(&self.facts.database)),
            ("domain_schema", text(&definition.schema)),
            ("domain_name", text(&definition.name)),
        ]
    }
}
