//! The names of the columns of FROM, in a query that is kept while its tables change.
//!
//! What a query names stays the same when a table gets, loses or renames a column. Three things in FROM
//! depend on all columns of a table: a list of aliases, which counts them; USING, which must find one column
//! of each name; and a join under an alias, whose columns are those of its items. So the query is printed
//! again, bound to the tables as they were, with lists of aliases wherever it would mean something else
//! without.
//!
//! Reference: set_using_names, set_relation_column_names and set_join_column_names of PostgreSQL's
//! ruleutils.c.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::TableId;
use sqlparser::ast::{
    FunctionArg, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableFunctionArgs,
    TableWithJoins,
};

use super::super::scope::{RelationKind, Scope, Visibility};
use super::change::Change;
use crate::statement::names::{fold, parts};
use crate::statement::using_alias;

/// Columns of tables.
type Columns = BTreeSet<(TableId, u16)>;

/// How the columns of an item of FROM are printed.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemColumns {
    /// Their names.
    pub(super) names: Vec<String>,
    /// The columns of tables that each of them shows.
    pub(super) shown: Vec<Columns>,
    pub(super) list: List,
}

/// The names of columns after the name of an item.
#[derive(Clone, Debug, Default)]
pub(super) enum List {
    /// If there is one.
    #[default]
    AsWritten,
    None,
    Names(Vec<String>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Kept,
    /// The query does not know it.
    New,
    /// It will not be there.
    Gone,
}

/// A column of an item, or of a join.
#[derive(Clone)]
struct Slot {
    /// The name in the query as it is.
    old: String,
    /// The name that is printed.
    name: String,
    /// The name that it would have without any list: before the change, and after it.
    base: (String, String),
    state: State,
    shown: Columns,
    /// It belongs to the table that changes.
    is_touched: bool,
}

/// The table or view of this name, if it is one.
type TableOf<'s> = &'s dyn Fn(&ObjectName) -> Option<Arc<Table>>;

/// A walk through FROM. It visits the items in the order in which binding numbers them.
pub(super) struct Walk<'s, 'f> {
    pub(super) functions: Vec<FunctionItem<'f>>,
    table_of: TableOf<'s>,
    scope: &'s Scope,
    change: Option<&'s Change<'s>>,
    number: usize,
    pub(super) items: Vec<ItemColumns>,
    /// The columns that USING and NATURAL compare.
    pub(super) compared: Columns,
}

impl<'s, 'f> Walk<'s, 'f> {
    pub(super) fn over(
        from: &'f [TableWithJoins],
        scope: &'s Scope,
        change: Option<&'s Change<'s>>,
        table_of: TableOf<'s>,
    ) -> Walk<'s, 'f> {
        let items = vec![ItemColumns::default(); scope.relations.len()];
        let (functions, compared) = (Vec::new(), Columns::new());
        let mut walk = Walk { functions, table_of, scope, change, number: 0, items, compared };
        let mut around = Vec::new();
        // A column that a full join merges is named without a relation.
        if from.iter().any(has_full_join) {
            from.iter().for_each(|joined| all_names(joined, &mut around));
        }
        for joined in from {
            walk.joined(joined, &around);
        }
        walk
    }

    /// `around`: the names in USING of the joins around this one.
    fn joined(&mut self, joined: &'f TableWithJoins, around: &[String]) -> Vec<Slot> {
        let using: Vec<Vec<String>> = joined.joins.iter().map(using_names).collect();
        let above = |from: usize| -> Vec<String> {
            around.iter().chain(using[from..].iter().flatten()).cloned().collect()
        };
        let mut left = self.factor(&joined.relation, &above(0));
        for (at, join) in joined.joins.iter().enumerate() {
            let right = self.factor(&join.relation, &above(at));
            left = match words_of(join).1 {
                JoinConstraint::Using(columns) => {
                    self.number += usize::from(using_alias::unpack(columns).1.is_some());
                    self.merged(left, right, &using[at])
                }
                JoinConstraint::Natural => {
                    let is_common = |name: &String| right.iter().any(|slot| slot.name == *name);
                    let names = left.iter().map(|slot| slot.name.clone());
                    let names: Vec<String> = names.filter(is_common).collect();
                    self.merged(left, right, &names)
                }
                _ => left.into_iter().chain(right).collect(),
            };
        }
        left
    }

    fn merged(&mut self, mut left: Vec<Slot>, mut right: Vec<Slot>, names: &[String]) -> Vec<Slot> {
        let take = |slots: &mut Vec<Slot>, name: &String| {
            let at = slots.iter().position(|slot| slot.name == *name && slot.state != State::New);
            at.map(|at| slots.remove(at))
        };
        let mut all = Vec::with_capacity(left.len() + right.len());
        for name in names {
            let (from_left, from_right) = (take(&mut left, name), take(&mut right, name));
            let (mut shown, mut is_touched) = (Columns::new(), false);
            for slot in from_left.into_iter().chain(from_right) {
                shown.extend(slot.shown);
                is_touched |= slot.is_touched;
            }
            self.compared.extend(shown.iter().copied());
            let base = (name.clone(), name.clone());
            let (old, name) = base.clone();
            all.push(Slot { old, name, base, state: State::Kept, shown, is_touched });
        }
        all.extend(left);
        all.extend(right);
        all
    }

    fn factor(&mut self, factor: &'f TableFactor, around: &[String]) -> Vec<Slot> {
        let slots = match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.joined(table_with_joins, around)
            }
            TableFactor::NestedJoin { table_with_joins, alias: Some(alias) } => {
                let inner = self.joined(table_with_joins, around);
                self.named_join(inner, has_list(Some(alias)), around)
            }
            TableFactor::Table { name, args: None, .. } => self.item((self.table_of)(name), around),
            TableFactor::Table {
                name,
                args: Some(TableFunctionArgs { args: arguments, .. }),
                with_ordinality,
                ..
            }
            | TableFactor::Function { name, args: arguments, with_ordinality, .. } => {
                let (number, with_ordinality) = (self.number, *with_ordinality);
                self.functions.push(FunctionItem { number, name, arguments, with_ordinality });
                self.item(None, around)
            }
            _ => self.item(None, around),
        };
        // Those inside a view have numbers, too.
        let relations = &self.scope.relations;
        while relations.get(self.number).is_some_and(|inner| inner.visibility == Visibility::InView) {
            self.number += 1;
        }
        slots
    }

    /// A table, a view, a function or a subquery.
    fn item(&mut self, table: Option<Arc<Table>>, around: &[String]) -> Vec<Slot> {
        let own = self.number;
        self.number += 1;
        let Some(relation) = self.scope.relations.get(own) else { return Vec::new() };
        let is_table = matches!(relation.kind, RelationKind::Table { .. });
        let change =
            self.change.filter(|change| table.as_ref().is_some_and(|table| change.is_of(table.id())));
        let definition = table.as_ref().map(|table| table.definition());
        let slot = |(at, (name, _)): (usize, &(String, _))| {
            let column = definition.as_ref().and_then(|definition| definition.columns.get(at));
            let real = column.map_or(name, |column| &column.name);
            let number = u16::try_from(at).unwrap_or(u16::MAX);
            let id = table.as_ref().filter(|_| is_table).map(|table| (table.id(), number));
            Slot {
                old: name.clone(),
                name: name.clone(),
                base: (
                    real.clone(),
                    change.map_or(real.as_str(), |change| change.new_name(number, real)).to_owned(),
                ),
                state: if change.is_some_and(|change| change.drops(number)) {
                    State::Gone
                } else {
                    State::Kept
                },
                shown: id.into_iter().collect(),
                is_touched: change.is_some(),
            }
        };
        let mut slots: Vec<Slot> = relation.columns.iter().enumerate().map(slot).collect();
        if let Some(change) = change {
            slots.extend(change.new_names().iter().map(|name| Slot {
                old: String::new(),
                name: String::new(),
                base: (String::new(), name.clone()),
                state: State::New,
                shown: Columns::new(),
                is_touched: true,
            }));
        }
        self.named(own, &mut slots, around);
        slots
    }

    /// A join under an alias.
    fn named_join(&mut self, mut slots: Vec<Slot>, has_list: bool, around: &[String]) -> Vec<Slot> {
        let own = self.number;
        self.number += 1;
        let Some(relation) = self.scope.relations.get(own) else { return slots };
        let mut known = relation.columns.iter();
        for slot in &mut slots {
            slot.base = (slot.old.clone(), slot.name.clone());
            if slot.state != State::New
                && let Some((name, _)) = known.next().filter(|_| has_list)
            {
                slot.old.clone_from(name);
            }
        }
        self.named(own, &mut slots, around);
        slots
    }

    /// Chooses the names of the columns of an item, and notes them.
    fn named(&mut self, own: usize, slots: &mut [Slot], around: &[String]) {
        let is_touched = slots.iter().any(|slot| slot.is_touched);
        if is_touched {
            choose(slots, around);
        } else {
            slots.iter_mut().for_each(|slot| slot.name.clone_from(&slot.old));
        }
        let kept = slots.iter().filter(|slot| slot.state != State::New);
        let (names, shown) = kept.map(|slot| (slot.name.clone(), slot.shown.clone())).unzip();
        let there = || slots.iter().filter(|slot| slot.state != State::Gone);
        let differs = there().any(|slot| slot.name != slot.base.1);
        let list = match (is_touched, differs) {
            (false, _) => List::AsWritten,
            (true, false) => List::None,
            (true, true) => List::Names(there().map(|slot| slot.name.clone()).collect()),
        };
        self.items[own] = ItemColumns { names, shown, list };
    }
}

/// A function of FROM, or several side by side.
#[derive(Clone, Copy)]
pub(super) struct FunctionItem<'f> {
    /// Its number in the scope.
    pub(super) number: usize,
    pub(super) name: &'f ObjectName,
    pub(super) arguments: &'f [FunctionArg],
    pub(super) with_ordinality: bool,
}

/// How a column gets its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    /// A list gave it, or USING needs it.
    Fixed,
    /// It is the column's own.
    Own,
    /// It is the column's own with a number.
    Numbered,
    New,
}

fn choice(slot: &Slot, around: &[String]) -> Choice {
    let number = slot.old.strip_prefix(&slot.base.0).and_then(|rest| rest.strip_prefix('_'));
    match number.and_then(|number| number.parse::<u32>().ok()) {
        _ if slot.state == State::New => Choice::New,
        _ if around.contains(&slot.old) => Choice::Fixed,
        _ if slot.old == slot.base.0 => Choice::Own,
        Some(_) => Choice::Numbered,
        None => Choice::Fixed,
    }
}

/// Chooses the names of columns, which follow what they show unless they are fixed.
fn choose(slots: &mut [Slot], around: &[String]) {
    let mut order: Vec<(Choice, usize)> =
        slots.iter().enumerate().map(|(at, slot)| (choice(slot, around), at)).collect();
    order.sort_unstable();
    let mut taken: Vec<String> = around.to_vec();
    for (choice, at) in order {
        let slot = &mut slots[at];
        slot.name = match choice {
            Choice::Fixed => slot.old.clone(),
            _ => free_name(&slot.base.1, &taken),
        };
        taken.push(slot.name.clone());
    }
}

fn has_list(alias: Option<&TableAlias>) -> bool {
    alias.is_some_and(|alias| !alias.columns.is_empty())
}

fn has_full_join(joined: &TableWithJoins) -> bool {
    let inside = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_full_join(table_with_joins),
        _ => false,
    };
    let is_full = |join: &Join| matches!(join.join_operator, JoinOperator::FullOuter(_));
    inside(&joined.relation) || joined.joins.iter().any(|join| is_full(join) || inside(&join.relation))
}

/// All names in USING.
fn all_names(joined: &TableWithJoins, names: &mut Vec<String>) {
    let factors = std::iter::once(&joined.relation).chain(joined.joins.iter().map(|join| &join.relation));
    for factor in factors {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            all_names(table_with_joins, names);
        }
    }
    names.extend(joined.joins.iter().flat_map(using_names));
}

fn using_names(join: &Join) -> Vec<String> {
    let JoinConstraint::Using(columns) = words_of(join).1 else { return Vec::new() };
    let (columns, _) = using_alias::unpack(columns);
    let last = |name| parts(name).ok().and_then(|idents| idents.last().map(|ident| fold(ident)));
    columns.iter().filter_map(last).collect()
}

/// The name, with a number if it is taken.
pub(super) fn free_name(name: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.contains(name);
    let mut numbered = (1u32..).map(|number| format!("{name}_{number}"));
    let own = Some(name.to_owned()).filter(is_free);
    own.or_else(|| numbered.find(is_free)).unwrap_or_default()
}

/// How a join is written, and its condition.
pub(super) fn words_of(join: &Join) -> (&'static str, &JoinConstraint) {
    match &join.join_operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (" JOIN ", constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (" LEFT JOIN ", constraint),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (" RIGHT JOIN ", constraint)
        }
        JoinOperator::FullOuter(constraint) => (" FULL JOIN ", constraint),
        _ => (" CROSS JOIN ", &JoinConstraint::None),
    }
}
