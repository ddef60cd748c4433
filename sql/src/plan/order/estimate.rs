//! How many rows are expected, and what it costs to find them.
//!
//! What is known: the numbers of rows of tables, which columns are unique, and the form of conditions. Where
//! nothing says how many values a column has, the numbers are PostgreSQL's for that case (`selfuncs.h`). The
//! unit of cost is one row read by a scan.

use hyades_engine::procedure::ir::{Expr, Intent, RowSlot};
use hyades_types::definition::TableDefinition;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::{Around, Member, Order, choice, item_of};
use crate::bind::tree::Source;
use crate::plan::access::{self, Choice};

/// Number of values of a column of which nothing is known.
const DISTINCT_VALUES: f64 = 200.0;
/// The share of rows on one side of a bound.
const SHARE_OF_RANGE: f64 = 1.0 / 3.0;
/// The share of rows that are NULL, or match a pattern.
const SHARE_OF_MATCHES: f64 = 0.005;
/// The share of rows for which a condition of another form holds.
const SHARE_OF_OTHERS: f64 = 0.5;
/// Number of elements of an unknown array.
const ELEMENTS: f64 = 10.0;
/// Number of rows of a set of which nothing is known.
const ROWS_OF_SET: f64 = 1000.0;

/// Descending an index.
const COST_OF_DESCENT: f64 = 1.0;
/// A row that an index leads to.
const COST_OF_FOUND: f64 = 1.0;
/// Putting a row into a join table.
const COST_OF_KEEPING: f64 = 4.0;
/// Looking up a key in a join table.
pub(super) const COST_OF_PROBE: f64 = 1.0;

/// Number of runs of a subquery that reads the enclosing row.
const RUNS: f64 = 100.0;

/// The cost of joining one more member to those before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    /// Cost paid once.
    pub(crate) build: f64,
    /// Cost for each row of the members before it, unless its rows are kept.
    pub(crate) probe: f64,
    /// Number of rows for each row of the members before it.
    pub(crate) rows: f64,
    /// It finds at most one row.
    pub(crate) is_single: bool,
    /// Cost paid once if its rows are kept in a join table although an index leads to them.
    pub(crate) kept: Option<f64>,
}

impl Extension {
    const NOTHING: Extension = Extension { build: 0.0, probe: 0.0, rows: 1.0, is_single: true, kept: None };

    /// Both extensions in sequence.
    fn then(self, next: Extension) -> Extension {
        Extension {
            build: self.build + next.build,
            probe: self.probe + self.rows * next.probe,
            rows: self.rows * next.rows,
            is_single: self.is_single && next.is_single,
            kept: None,
        }
    }
}

/// The assumed number of rows of a relation.
pub(super) fn row_count(source: &Source, around: &mut dyn Around) -> f64 {
    match source {
        Source::Table { table, .. } => around.row_count(table),
        Source::Routine(routine) if !routine.is_set => 1.0,
        Source::Series(_) | Source::Routine(_) | Source::Query(_) | Source::Working(..) => ROWS_OF_SET,
    }
}

impl Order<'_> {
    /// `is_known` tells whether an item comes before the member. `is_single` tells whether the loops before
    /// it together find at most one row.
    pub(super) fn extension(
        &self,
        member: &Member,
        is_known: &dyn Fn(usize) -> bool,
        is_single: bool,
    ) -> Extension {
        match member {
            Member::Item(item) => self.extension_by_item(*item, is_known, is_single),
            Member::Left { left, right, .. } => {
                let members = &self.groups[*left].members;
                let is_left = |item: usize| members.iter().any(|member| member.items().contains(&item));
                let found = self.extension_by_group(*left, is_known, is_single);
                let is_known = |item: usize| is_known(item) || is_left(item);
                let mut other = self.extension_by_group(*right, &is_known, is_single && found.is_single);
                other.rows = other.rows.max(1.0);
                found.then(other)
            }
            Member::Full { left, right, .. } => {
                let left = self.extension_by_group(*left, is_known, is_single);
                let right = self.extension_by_group(*right, is_known, is_single);
                let build = right.probe + right.build + COST_OF_KEEPING * right.rows;
                let probe = left.probe + COST_OF_PROBE * left.rows;
                Extension {
                    build: left.build + build,
                    probe,
                    rows: left.rows.max(right.rows),
                    is_single: false,
                    kept: None,
                }
            }
        }
    }

    /// The members in the order of FROM.
    fn extension_by_group(
        &self,
        group: usize,
        is_known: &dyn Fn(usize) -> bool,
        is_single: bool,
    ) -> Extension {
        let mut all = Extension::NOTHING;
        let mut before: Vec<usize> = Vec::new();
        for member in &self.groups[group].members {
            let is_known = |item: usize| is_known(item) || before.contains(&item);
            let next = self.extension(member, &is_known, is_single && all.is_single);
            all = all.then(next);
            before.extend(member.items());
        }
        all
    }

    fn extension_by_item(&self, item: usize, is_known: &dyn Fn(usize) -> bool, is_single: bool) -> Extension {
        let Some(it) = &self.items[item] else { return Extension::NOTHING };
        let (own, chosen) = self.choice_after(item, is_known);
        let total = self.row_counts[item];
        let mut rows = total * self.share_of_all(&own);
        if chosen.is_single {
            rows = rows.min(1.0);
        }
        let found = if chosen.is_single { 1.0 } else { total * self.share_of_all(&chosen.steering) };
        let keeping = || {
            let is_local = |part: &&Expr| self.reads_only(&it.source, part);
            let local: f64 = own.iter().filter(is_local).map(|part| self.share(part)).product();
            COST_OF_KEEPING * total * local
        };
        let extension =
            |build, probe| Extension { build, probe, rows, is_single: chosen.is_single, kept: None };
        let is_joined = || own.iter().any(|part| self.equality(&it.source, part).is_some());
        let may_be_kept = !is_single && it.intent == Intent::READ && self.depends[item].is_empty();
        if self.is_steered(&chosen) {
            let by_index = extension(0.0, COST_OF_DESCENT + COST_OF_FOUND * found);
            let is_alternative = may_be_kept && self.is_worth_keeping() && is_joined();
            return Extension { kept: is_alternative.then(|| total + keeping()), ..by_index };
        }
        if self.is_kept_for_the_statement(&it.source, &chosen, &own) {
            return extension((found + COST_OF_KEEPING * total) / RUNS, COST_OF_PROBE);
        }
        if may_be_kept && (matches!(it.source, Source::Routine(_)) || is_joined()) {
            return extension(found + keeping(), COST_OF_PROBE);
        }
        extension(0.0, found)
    }

    /// Whether the loops run only once, and to their end.
    fn is_worth_keeping(&self) -> bool {
        self.early_stop.is_none() && self.around.outer().is_empty()
    }

    /// The conditions that an item's loop can check after the known items, and how it then finds its rows.
    pub(super) fn choice_after(&self, item: usize, is_known: &dyn Fn(usize) -> bool) -> (Vec<Expr>, Choice) {
        let Some(it) = &self.items[item] else { return (Vec::new(), access::unsteered(&[])) };
        let homes = &self.groups[self.group_of[item]].homes;
        let own: Vec<Expr> = self.readers[item]
            .iter()
            .map(|at| &self.pending[*at])
            .filter(|pending| homes.contains(&pending.home))
            .filter(|pending| pending.reads.iter().all(|read| *read == item || is_known(*read)))
            .filter_map(|pending| pending.condition.clone())
            .collect();
        let chosen = choice(&it.source, &own, &|value| {
            let mut is_ready = !it.source.is_read_by(value);
            self.for_each_read(value, &mut |read| is_ready &= is_known(read));
            is_ready
        });
        (own, chosen)
    }

    fn share_of_all(&self, conditions: &[Expr]) -> f64 {
        conditions.iter().map(|condition| self.share(condition)).product()
    }

    /// The share of rows for which a condition holds.
    fn share(&self, condition: &Expr) -> f64 {
        use BinaryOperator::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        match condition {
            Expr::Const(Value::Boolean(is_true)) => f64::from(*is_true),
            Expr::Const(_) => 0.0,
            Expr::Binary { operator: Equal, left, right } | Expr::NotDistinct(left, right) => {
                1.0 / self.distinct_values(left).max(self.distinct_values(right))
            }
            Expr::Binary { operator: NotEqual, left, right } => {
                1.0 - 1.0 / self.distinct_values(left).max(self.distinct_values(right)).max(2.0)
            }
            Expr::Binary { operator: Less | LessEqual | Greater | GreaterEqual, .. } => SHARE_OF_RANGE,
            Expr::InList { operand, list } => {
                (list.len() as f64 / self.distinct_values(operand)).min(SHARE_OF_OTHERS)
            }
            Expr::Quantified { operator: Equal, is_all: false, left, .. } => {
                (ELEMENTS / self.distinct_values(left)).min(SHARE_OF_OTHERS)
            }
            Expr::And(left, right) => self.share(left) * self.share(right),
            Expr::Or(left, right) => {
                let (left, right) = (self.share(left), self.share(right));
                left + right - left * right
            }
            Expr::Not(condition) => 1.0 - self.share(condition),
            Expr::IsNull(_) | Expr::Like { .. } => SHARE_OF_MATCHES,
            _ => SHARE_OF_OTHERS,
        }
    }

    /// The number of values of an expression in the rows of its table. 1 if it reads none.
    fn distinct_values(&self, value: &Expr) -> f64 {
        let mut most: f64 = match value {
            Expr::Column { row, column } => self.distinct_values_of_column(*row, *column),
            Expr::Register(register) if item_of(&self.registers, *register).is_some() => DISTINCT_VALUES,
            _ => 1.0,
        };
        value.for_each_part(&mut |part| most = most.max(self.distinct_values(part)));
        most
    }

    fn distinct_values_of_column(&self, row: RowSlot, column: u16) -> f64 {
        let table = self.tables.iter().find(|(known, _)| *known == row);
        let (Some((_, table)), Some(item)) = (table, item_of(&self.rows, row)) else { return 1.0 };
        let rows = self.row_counts[item];
        if is_unique(&table.definition(), column) { rows } else { rows.min(DISTINCT_VALUES) }
    }
}

/// Whether no two rows have the same value in this column alone.
fn is_unique(definition: &TableDefinition, column: u16) -> bool {
    let is_key = definition.primary_key.as_ref().is_some_and(|key| key.columns == [column]);
    is_key
        || definition.indexes.iter().any(|index| {
            index.is_always_unique()
                && index.predicate.is_none()
                && matches!(index.columns.as_slice(), [only] if only.column == column)
        })
}
