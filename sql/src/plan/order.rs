//! The order of the loops over FROM, and which loop checks which condition.
//!
//! Joined relations stand in the order that is expected to cost least (`search`, with the numbers of
//! `estimate`). Both sides of an outer join stay together, and the nullable side comes last. A condition goes
//! to the first loop that knows everything it reads. A condition from outside an outer join waits until
//! absent rows have been replaced by NULLs.
//!
//! Time: the items that a condition reads are determined once, so FROM lists of hundreds of tables are
//! ordered in milliseconds.

mod estimate;
mod search;

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Intent, JoinSlot, Register, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::SqlType;

use super::access::{self, Access, Choice, Kept, OrderColumn, Reading};
use super::index_expressions::with_computed;
use super::level::{FullJoin, LeftJoin, Level, Step};
use crate::bind::tree::{Item, JoinGroup, JoinMember, OuterJoin, Source};
use crate::expr;

/// The context of the loops.
pub(crate) trait Around {
    fn new_join(&mut self) -> Result<JoinSlot>;

    /// A register that is NULL when the statement begins.
    fn new_mark(&mut self) -> Result<Register>;

    /// The registers whose values differ each time that the loops run in a statement. Empty if they run once.
    fn outer(&self) -> &[Register];

    /// Whether the rows of this source are the same each time.
    fn is_lasting(&self, source: &Source) -> bool;

    /// The assumed number of rows of a table.
    fn row_count(&mut self, table: &Arc<Table>) -> f64;
}

/// A query that stops after a few rows, unless it has to sort them.
#[derive(Debug)]
pub(crate) struct EarlyStop {
    pub(crate) limit: f64,
    /// The requested order of the rows, if any: that of columns of this row.
    pub(crate) order: Option<(RowSlot, Vec<OrderColumn>)>,
}

/// Orders the items into loops and gives each condition to the first loop that can check it. Conditions that
/// read no item are returned.
pub(crate) fn steps(
    from: JoinGroup,
    early_stop: Option<EarlyStop>,
    around: &mut dyn Around,
) -> Result<(Vec<Step>, Vec<Expr>)> {
    let JoinGroup { members, conditions } = from;
    if members.is_empty() {
        return Ok((Vec::new(), conditions));
    }
    let members = match <[JoinMember; 1]>::try_from(members) {
        Ok([JoinMember::Item(only)]) if around.outer().is_empty() => return Ok(single(only, conditions)),
        Ok(join) => join.into(),
        Err(several) => several,
    };
    let mut order = Order::new(JoinGroup { members, conditions }, early_stop, around);
    let steps = order.steps(0)?;
    Ok((steps, order.constant))
}

/// The same for a single item, the most common query.
fn single(item: Item, conditions: Vec<Expr>) -> (Vec<Step>, Vec<Expr>) {
    let (own, constant): (Vec<Expr>, Vec<Expr>) =
        conditions.into_iter().partition(|condition| item.source.is_read_by(condition));
    let choice = choice(&item.source, &own, &|value| !item.source.is_read_by(value));
    (vec![Step::Loop(Box::new(level(item, choice)))], constant)
}

fn level(item: Item, choice: Choice) -> Level {
    let Item { source, intent, label, .. } = item;
    Level { source, choice, intent, is_kept: true, key_into: None, label }
}

/// A loop that no condition steers.
pub(crate) fn unsteered(item: Item) -> Level {
    level(item, access::unsteered(&[]))
}

fn choice(source: &Source, conditions: &[Expr], is_known: &dyn Fn(&Expr) -> bool) -> Choice {
    match source {
        Source::Table { table, row, computed, old_snapshot } if !computed.is_empty() => {
            let conditions = with_computed(conditions, *row, computed);
            access::choose(table, (*row, *old_snapshot), &conditions, is_known)
        }
        Source::Table { table, row, old_snapshot, .. } => {
            access::choose(table, (*row, *old_snapshot), conditions, is_known)
        }
        _ => access::unsteered(conditions),
    }
}

/// A condition that no loop has taken yet.
struct Pending {
    condition: Option<Expr>,
    /// The numbers of the items it reads.
    reads: Vec<usize>,
    /// How many of them have no loop yet.
    unplaced: usize,
    /// The group whose rows it filters.
    home: usize,
}

/// Items joined with each other, at some depth of FROM.
#[derive(Default)]
struct Group {
    members: Vec<Member>,
    /// The enclosing groups whose conditions may be checked inside it: all up to the next outer join that may
    /// leave its rows out.
    homes: Vec<usize>,
}

enum Member {
    Item(usize),
    /// Both groups, and their items, from which its dependencies follow.
    Left {
        left: usize,
        right: usize,
        items: Vec<usize>,
    },
    Full {
        left: usize,
        right: usize,
        on: Vec<Expr>,
        items: Vec<usize>,
    },
}

impl Member {
    fn items(&self) -> &[usize] {
        match self {
            Member::Item(item) => std::slice::from_ref(item),
            Member::Left { items, .. } | Member::Full { items, .. } => items,
        }
    }
}

/// If a condition compares a relation with values known outside it: both sides.
type Equality<'f, 'a> = dyn Fn(&Order<'a>, &Expr) -> Option<(Expr, Expr)> + 'f;

struct Order<'a> {
    around: &'a mut dyn Around,
    early_stop: Option<EarlyStop>,
    groups: Vec<Group>,
    /// In the order of FROM; `None` once placed.
    items: Vec<Option<Item>>,
    /// The group of each item.
    group_of: Vec<usize>,
    /// The items that an item reads itself (LATERAL).
    depends: Vec<Vec<usize>>,
    /// The item that a row slot or register belongs to. Mostly there are one or two, so sorted lists are
    /// searched faster than hash tables.
    rows: Vec<(RowSlot, usize)>,
    registers: Vec<(Register, usize)>,
    tables: Vec<(RowSlot, Arc<Table>)>,
    pending: Vec<Pending>,
    /// For each item the conditions that read it.
    readers: Vec<Vec<usize>>,
    /// For each item its assumed number of rows, if there are several items.
    row_counts: Vec<f64>,
    constant: Vec<Expr>,
    /// Whether the loops so far together find at most one row.
    is_single: bool,
    /// Whether there is a loop already.
    has_loop: bool,
}

fn item_of(items: &[(u16, usize)], slot: u16) -> Option<usize> {
    let at = items.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
    Some(items[at].1)
}

impl<'a> Order<'a> {
    fn new(from: JoinGroup, early_stop: Option<EarlyStop>, around: &'a mut dyn Around) -> Order<'a> {
        let mut order = Order {
            around,
            early_stop,
            groups: Vec::new(),
            items: Vec::new(),
            group_of: Vec::new(),
            depends: Vec::new(),
            rows: Vec::new(),
            tables: Vec::new(),
            registers: Vec::new(),
            pending: Vec::new(),
            readers: Vec::new(),
            row_counts: Vec::new(),
            constant: Vec::new(),
            is_single: true,
            has_loop: false,
        };
        let mut conditions = Vec::new();
        order.add_group(from, None, &mut conditions);
        // A single item needs no order.
        if order.items.len() > 1 {
            let count = |item: &Item| estimate::row_count(&item.source, order.around);
            order.row_counts = order.items.iter().flatten().map(count).collect();
        }
        order.rows.sort_unstable();
        order.registers.sort_unstable();
        order.depends =
            order.items.iter().enumerate().map(|(at, item)| order.dependencies(at, item.as_ref())).collect();
        for (home, condition) in conditions {
            order.add_condition(home, condition);
        }
        order
    }

    /// Numbers the items of a group. `around`: the group whose conditions may be checked in this one.
    fn add_group(
        &mut self,
        group: JoinGroup,
        around: Option<usize>,
        conditions: &mut Vec<(usize, Expr)>,
    ) -> usize {
        let number = self.groups.len();
        let mut homes = vec![number];
        homes.extend(around.iter().flat_map(|around| &self.groups[*around].homes));
        self.groups.push(Group { members: Vec::new(), homes });
        for member in group.members {
            let member = match member {
                JoinMember::Item(item) => self.add_item(item, number),
                JoinMember::Outer(join) => self.add_outer(*join, number, conditions),
            };
            self.groups[number].members.push(member);
        }
        conditions.extend(group.conditions.into_iter().map(|condition| (number, condition)));
        number
    }

    fn add_outer(&mut self, join: OuterJoin, around: usize, conditions: &mut Vec<(usize, Expr)>) -> Member {
        let OuterJoin { is_full, left, right, on } = join;
        let first = self.items.len();
        let left = self.add_group(left, (!is_full).then_some(around), conditions);
        let right = self.add_group(right, None, conditions);
        let items = (first..self.items.len()).collect();
        if is_full {
            return Member::Full { left, right, on, items };
        }
        conditions.extend(on.into_iter().map(|condition| (right, condition)));
        Member::Left { left, right, items }
    }

    fn add_item(&mut self, item: Item, group: usize) -> Member {
        let number = self.items.len();
        match &item.source {
            Source::Table { table, row, .. } => {
                self.rows.push((*row, number));
                self.tables.push((*row, Arc::clone(table)));
            }
            source => self.registers.extend(source.registers().iter().map(|register| (*register, number))),
        }
        self.items.push(Some(item));
        self.group_of.push(group);
        self.readers.push(Vec::new());
        Member::Item(number)
    }

    fn dependencies(&self, number: usize, item: Option<&Item>) -> Vec<usize> {
        if item.is_some_and(|item| item.is_last) {
            return (0..number).collect();
        }
        let mut reads = Vec::new();
        for part in item.iter().flat_map(|item| item.source.arguments()) {
            reads.extend(self.reads(part));
        }
        reads
    }

    fn add_condition(&mut self, home: usize, condition: Expr) {
        let reads = self.reads(&condition);
        if reads.is_empty() && self.groups[home].homes.contains(&0) {
            self.constant.push(condition);
            return;
        }
        reads.iter().for_each(|item| self.readers[*item].push(self.pending.len()));
        self.pending.push(Pending { condition: Some(condition), unplaced: reads.len(), reads, home });
    }

    /// The items that the expression reads, without repetitions.
    fn reads(&self, condition: &Expr) -> Vec<usize> {
        let mut reads = Vec::new();
        self.for_each_read(condition, &mut |item| reads.push(item));
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    fn for_each_read(&self, part: &Expr, found: &mut dyn FnMut(usize)) {
        let item = match part {
            Expr::Column { row, .. } => item_of(&self.rows, *row),
            Expr::Register(register) => item_of(&self.registers, *register),
            _ => None,
        };
        item.into_iter().for_each(&mut *found);
        part.for_each_part(&mut |inner| self.for_each_read(inner, found));
    }

    /// Whether everything that a member itself reads is known.
    fn is_ready(&self, member: &Member, is_known: &dyn Fn(usize) -> bool) -> bool {
        let items = member.items();
        let mut depends = items.iter().flat_map(|item| &self.depends[*item]);
        depends.all(|item| is_known(*item) || items.contains(item))
    }

    /// The loops of a group, inside those that already exist.
    fn steps(&mut self, group: usize) -> Result<Vec<Step>> {
        let members = std::mem::take(&mut self.groups[group].members);
        let order = self.search(&members)?;
        let mut members: Vec<Option<Member>> = members.into_iter().map(Some).collect();
        let mut steps = Vec::with_capacity(members.len());
        for search::Next { member, keeps } in order {
            let Some(member) = members[member].take() else { continue };
            match member {
                Member::Item(item) => {
                    steps.extend(self.place(item, keeps)?.map(|level| Step::Loop(Box::new(level))))
                }
                Member::Left { left, right, .. } => {
                    steps.extend(self.steps(left)?);
                    let gate = self.settled_before(right);
                    let steps_of_right = self.steps(right)?;
                    let homes = self.groups[group].homes.clone();
                    let after = self.settled(group, &homes);
                    steps.push(Step::Left(LeftJoin { gate, steps: steps_of_right, after }));
                }
                Member::Full { left, right, on, .. } => steps.push(self.full(group, left, right, on)?),
            }
        }
        Ok(steps)
    }

    /// The conditions that this item's loop could check if it came next.
    fn checkable(&self, number: usize) -> impl Iterator<Item = usize> {
        let homes = &self.groups[self.group_of[number]].homes;
        let is_checkable =
            |at: &usize| self.pending[*at].unplaced == 1 && homes.contains(&self.pending[*at].home);
        self.readers[number].iter().copied().filter(is_checkable)
    }

    /// Takes the conditions on which this group's rows depend but which do not read them: those of the group,
    /// and of groups inside it whose rows no outer join may leave out.
    fn settled_before(&mut self, group: usize) -> Vec<Expr> {
        let inside: Vec<usize> =
            (0..self.groups.len()).filter(|inner| self.groups[*inner].homes.contains(&group)).collect();
        self.settled(group, &inside)
    }

    /// Takes the conditions of these homes whose items all have loops.
    fn settled(&mut self, group: usize, homes: &[usize]) -> Vec<Expr> {
        debug_assert!(homes.contains(&group), "a group is at home in itself");
        let settled =
            self.pending.iter_mut().filter(|pending| pending.unplaced == 0 && homes.contains(&pending.home));
        settled.filter_map(|pending| pending.condition.take()).collect()
    }

    /// Whether the value reads neither this relation, which has no loop yet, nor another one without a loop.
    fn is_known(&self, source: &Source, value: &Expr) -> bool {
        let mut is_known = !source.is_read_by(value);
        self.for_each_read(value, &mut |read| is_known &= self.items[read].is_none());
        is_known
    }

    /// Turns an item into a loop, with the conditions it can check. `keeps`: its rows are kept in a join
    /// table even if an index leads to them.
    fn place(&mut self, number: usize, keeps: bool) -> Result<Option<Level>> {
        let own: Vec<usize> = self.checkable(number).collect();
        let own: Vec<Expr> = own.into_iter().filter_map(|at| self.pending[at].condition.take()).collect();
        let Some(item) = self.take(number) else { return Ok(None) };
        let mut chosen = choice(&item.source, &own, &|value| self.is_known(&item.source, value));
        if let Some(kept) = self.kept_instead(number, &item, (&chosen, keeps), &own)? {
            chosen = kept;
        }
        let level = level(item, chosen);
        self.is_single &= level.choice.is_single;
        self.has_loop = true;
        Ok(Some(level))
    }

    /// Takes the item, which has a loop from now on.
    fn take(&mut self, number: usize) -> Option<Item> {
        for at in std::mem::take(&mut self.readers[number]) {
            self.pending[at].unplaced -= 1;
        }
        self.items[number].take()
    }

    /// Reads all rows once and finds them by value, if that is better than the chosen access: if the rows
    /// would be read again for every row of another relation, or each time that the loops run.
    fn kept_instead(
        &mut self,
        number: usize,
        item: &Item,
        (chosen, keeps): (&Choice, bool),
        own: &[Expr],
    ) -> Result<Option<Choice>> {
        let is_lateral = !self.depends[number].is_empty();
        if is_lateral || item.intent != Intent::READ {
            return Ok(None);
        }
        if let Some(lasting) = self.lasting_instead(&item.source, chosen, own)? {
            return Ok(Some(lasting));
        }
        // A function is called only once.
        let is_called = matches!(item.source, Source::Routine(_)) && self.has_loop;
        if !is_called && !keeps && (self.is_single || self.is_steered(chosen)) {
            return Ok(None);
        }
        let (own, others): (Vec<Expr>, Vec<Expr>) = own
            .iter()
            .cloned()
            .partition(|condition| self.reads_only(&item.source, condition) && !expr::is_volatile(condition));
        let kept = self
            .kept(&item.source, &own, others, &|order, condition| order.equality(&item.source, condition))?;
        let is_found = matches!(&kept.access, Access::Kept(kept) if !kept.key.is_empty());
        Ok((is_found || is_called).then_some(kept))
    }

    /// Whether its rows are found faster by value in a join table that lasts as long as the statement.
    fn is_kept_for_the_statement(&self, source: &Source, chosen: &Choice, own: &[Expr]) -> bool {
        let is_steered =
            || self.is_steered(chosen) || chosen.steering.iter().any(|part| self.reads_outer(part));
        let is_found = |condition: &Expr| {
            !self.reads_only(source, condition)
                || self.reads_outer(condition)
                || !expr::never_fails(condition)
        };
        !self.around.outer().is_empty()
            && self.around.is_lasting(source)
            && !is_steered()
            && !own.iter().any(expr::is_volatile)
            && own
                .iter()
                .filter(|part| is_found(part))
                .any(|part| self.lasting_equality(source, part).is_some())
    }

    /// The same with a join table that lasts as long as the statement.
    fn lasting_instead(&mut self, source: &Source, chosen: &Choice, own: &[Expr]) -> Result<Option<Choice>> {
        if !self.is_kept_for_the_statement(source, chosen, own) {
            return Ok(None);
        }
        let (own, others): (Vec<Expr>, Vec<Expr>) = own.iter().cloned().partition(|condition| {
            self.reads_only(source, condition) && !self.reads_outer(condition) && expr::never_fails(condition)
        });
        let mut choice =
            self.kept(source, &own, others, &|order, condition| order.lasting_equality(source, condition))?;
        if let Access::Kept(kept) = &mut choice.access {
            let mark = self.around.new_mark()?;
            kept.reading = match self.is_single {
                true => Reading::SecondTime(mark, Box::new(chosen.clone())),
                false => Reading::Once(mark),
            };
        }
        Ok(Some(choice))
    }

    fn reads_outer(&self, value: &Expr) -> bool {
        let outer = self.around.outer();
        expr::any(value, &|part| matches!(part, Expr::Register(register) if outer.contains(register)))
    }

    /// Whether the access uses values from the loops before it, or finds few rows.
    fn is_steered(&self, chosen: &Choice) -> bool {
        let reads_others = chosen.steering.iter().any(|condition| self.reads(condition).len() > 1);
        reads_others || !matches!(chosen.access, Access::Scan { .. })
    }

    /// Whether the expression reads this relation and no other.
    fn reads_only(&self, source: &Source, value: &Expr) -> bool {
        source.is_read_by(value) && self.reads(value).len() == 1
    }

    /// A join table of the rows that satisfy `own`, searched by the equalities among the other conditions.
    fn kept(
        &mut self,
        source: &Source,
        own: &[Expr],
        others: Vec<Expr>,
        equality: &Equality<'_, 'a>,
    ) -> Result<Choice> {
        let build = choice(source, own, &|value| !source.is_read_by(value));
        let (mut key, mut probe, mut steering, mut filter) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for condition in others {
            match equality(self, &condition) {
                Some((inside, outside)) => {
                    key.push(inside);
                    probe.push(outside);
                    steering.push(condition);
                }
                None => filter.push(condition),
            }
        }
        let join = self.around.new_join()?;
        let is_unique = matches!(source, Source::Table { table, row, old_snapshot, .. }
            if access::is_unique(table, (*row, *old_snapshot), &key));
        let reading = Reading::EachTime;
        let access = Access::Kept(Box::new(Kept { join, build, key, probe, is_unique, reading }));
        Ok(Choice { access, steering, filter, equal_columns: Vec::new(), is_single: false })
    }

    /// `value of this relation = value of the others`.
    fn equality(&self, source: &Source, condition: &Expr) -> Option<(Expr, Expr)> {
        self.sides_of(source, condition, &|outside| !self.reads(outside).is_empty())
    }

    /// The same, also with values from outside the loops, where the rows are read only once. Computing a side
    /// must not fail, since it may be computed for rows that are otherwise not read.
    fn lasting_equality(&self, source: &Source, condition: &Expr) -> Option<(Expr, Expr)> {
        let reads_around = |outside: &Expr| self.reads_outer(outside) || !self.reads(outside).is_empty();
        let sides = self.sides_of(source, condition, &reads_around)?;
        let is_safe =
            expr::never_fails(&sides.0) && expr::never_fails(&sides.1) && !self.reads_outer(&sides.0);
        is_safe.then_some(sides)
    }

    /// The value of this relation, and the other one, which must satisfy `reads_others`.
    fn sides_of(
        &self,
        source: &Source,
        condition: &Expr,
        reads_others: &dyn Fn(&Expr) -> bool,
    ) -> Option<(Expr, Expr)> {
        let Expr::Binary { operator: BinaryOperator::Equal, left, right } = condition else { return None };
        if expr::is_volatile(condition) {
            return None;
        }
        // Trailing blanks do not count.
        let is_char = self.is_char(left) || self.is_char(right);
        let compared = |side: &Expr| match is_char {
            true => Expr::Call { function: Function::CharToText, arguments: vec![side.clone()] },
            false => side.clone(),
        };
        let is_pair = |inside: &Expr, outside: &Expr| {
            self.reads_only(source, inside) && !source.is_read_by(outside) && reads_others(outside)
        };
        if is_pair(left, right) {
            Some((compared(left), compared(right)))
        } else if is_pair(right, left) {
            Some((compared(right), compared(left)))
        } else {
            None
        }
    }

    /// Whether the value is a `char(n)` as it was stored or converted.
    fn is_char(&self, value: &Expr) -> bool {
        match value {
            Expr::Column { row, column } => {
                let table = self.tables.iter().find(|(known, _)| known == row);
                let definition = table.map(|(_, table)| table.definition());
                let column = definition.as_ref().and_then(|table| table.columns.get(usize::from(*column)));
                column.is_some_and(|column| matches!(column.sql_type, SqlType::Char(_)))
            }
            Expr::Cast { to, .. } => matches!(to, SqlType::Char(_)),
            _ => false,
        }
    }

    /// A full join: the right side is kept in a join table.
    fn full(&mut self, group: usize, left: usize, right: usize, on: Vec<Expr>) -> Result<Step> {
        let (mut left, mut right) = (left, right);
        if self.lone_item(right).is_none() {
            std::mem::swap(&mut left, &mut right);
        }
        let Some(item) = self.lone_item(right) else {
            return Err(Error::input(
                sqlstate::INTERNAL_ERROR,
                "neither side of a full join is one relation",
            ));
        };
        let gate = self.settled_before(left);
        let mut left_steps = self.steps(left)?;
        match left_steps.first_mut() {
            Some(Step::Loop(first)) => first.choice.filter.extend(gate),
            Some(Step::Full(first)) => first.after.extend(gate),
            Some(Step::Left(_)) | None => {}
        }
        let own = self.settled_after(item, right);
        let Some(item) = self.take(item) else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "an item of FROM has two loops"));
        };
        let choice =
            self.kept(&item.source, &own, on, &|order, condition| order.equality(&item.source, condition))?;
        let reads_both =
            |condition: &Expr| item.source.is_read_by(condition) && !self.reads_only(&item.source, condition);
        if choice.steering.is_empty() && choice.filter.iter().any(reads_both) {
            let what = "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, what));
        }
        let right = level(item, choice);
        (self.is_single, self.has_loop) = (false, true);
        let homes = self.groups[group].homes.clone();
        let after = self.settled(group, &homes);
        Ok(Step::Full(Box::new(FullJoin { left: left_steps, right, after })))
    }

    /// The only item of a group.
    fn lone_item(&self, group: usize) -> Option<usize> {
        match self.groups[group].members.as_slice() {
            [Member::Item(item)] => Some(*item),
            _ => None,
        }
    }

    /// The conditions of the group that this item, its only one, can check alone.
    fn settled_after(&mut self, number: usize, group: usize) -> Vec<Expr> {
        let own: Vec<usize> = self.checkable(number).filter(|at| self.pending[*at].home == group).collect();
        own.into_iter().filter_map(|at| self.pending[at].condition.take()).collect()
    }
}
