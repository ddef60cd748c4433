//! Domains: conversions to them, and the conditions on their values.
//!
//! An expression of a domain is one of the type that the domain is made of. Only a conversion to the domain
//! looks at its constraints, and so does whatever stores a value ([`crate::emit`]). A plan that has looked at
//! a domain is stale once the domain is altered.
//!
//! Reference: CoerceToDomain in PostgreSQL's execExprInterp.c; load_domaintype_info of typcache.c, for the
//! order of the constraints.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{ColumnDefinition, DomainDefinition, TableDefinition, TableName};
use hyades_types::error::{Error, Result, sqlstate};

use super::callee::{CalleeEntry, callee_of};
use super::row_expression::row_type;
use super::types::Declared;
use super::{Binder, Bound, Place};
use crate::expr;
use crate::statement::query::parse_expression;

/// A row of one column, the value, for binding conditions on it. It has no name.
pub(crate) fn value_row(domain: &DomainDefinition) -> TableDefinition {
    let columns = vec![ColumnDefinition::new(DomainDefinition::VALUE, domain.base)];
    let name = TableName { schema: String::new(), name: String::new() };
    TableDefinition { checks: domain.checks.clone(), ..TableDefinition::of_columns(name, columns) }
}

/// The constraints of a domain and of those that it is made of.
pub(crate) struct DomainTests {
    pub(crate) is_not_null: bool,
    /// The names of constraints with their conditions.
    pub(crate) conditions: Vec<(String, Expr)>,
}

impl Binder<'_> {
    /// The domain with this number.
    ///
    /// # Errors
    /// XX000 if there is none: whatever refers to it keeps it.
    pub(crate) fn domain(&self, id: u32) -> Result<Arc<StoredType>> {
        let found = self.context.tables.type_by_id(id).filter(|stored| stored.definition.domain().is_some());
        let stored = found.ok_or_else(|| {
            Error::input(sqlstate::INTERNAL_ERROR, format!("cache lookup failed for type {id}"))
        })?;
        self.note_type(&stored);
        Ok(stored)
    }

    /// CAST and `::`, to whatever is declared.
    pub(crate) fn coerce_to(&mut self, bound: Bound, to: Declared, cast_place: Place) -> Result<Bound> {
        let converted = self.coerce_explicitly(bound, to.sql_type, cast_place)?;
        self.checked_bound(converted, to.domain)
    }

    pub(crate) fn checked_bound(&mut self, bound: Bound, domain: Option<u32>) -> Result<Bound> {
        Ok(Bound { expr: self.checked_value(bound.expr, domain)?, ..bound })
    }

    /// A value of the base type as one of the domain, if there is one: its evaluation fails unless it is.
    pub(crate) fn checked_value(&mut self, value: Expr, domain: Option<u32>) -> Result<Expr> {
        let Some(domain) = domain else { return Ok(value) };
        let Some(check) = self.domain(domain)?.check.clone() else { return Ok(value) };
        let callee = callee_of(self.context.tables, &check, &check)?;
        let callee = self.callee_number(CalleeEntry { callee, is_strict: false })?;
        Ok(Expr::Routine { callee, arguments: vec![value] })
    }

    /// The constraints of a domain, for a value that is cheap to evaluate. Those of the domains that it is
    /// made of come first, otherwise by name.
    pub(crate) fn domain_tests(&mut self, stored: &StoredType, value: &Expr) -> Result<DomainTests> {
        let none = DomainTests { is_not_null: false, conditions: Vec::new() };
        let Some(domain) = stored.definition.domain() else { return Ok(none) };
        let mut tests = match domain.parent {
            Some(parent) => {
                let parent = self.domain(parent)?;
                self.domain_tests(&parent, value)?
            }
            None => none,
        };
        tests.is_not_null |= domain.is_not_null;
        if domain.checks.is_empty() {
            return Ok(tests);
        }
        let (table, row) = (row_type(&value_row(domain)), self.new_row()?);
        let mut checks: Vec<_> = domain.checks.iter().collect();
        checks.sort_by(|one, other| one.name.cmp(&other.name));
        for check in checks {
            let parsed = parse_expression(&check.expression)?;
            let condition = self.of_kept(|binder| binder.check_condition(&table, row, &parsed));
            let mut condition = condition.map_err(Error::without_position)?;
            expr::replace(&mut condition, &mut |part| match part {
                Expr::Column { row: own, .. } if *own == row => Some(value.clone()),
                _ => None,
            });
            tests.conditions.push((check.name.clone(), condition));
        }
        Ok(tests)
    }
}
