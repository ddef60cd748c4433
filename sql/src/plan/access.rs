//! Choosing how a table is read: by full primary key, by a range of an index, or whole.
//!
//! Each index is tried, the primary key first, and the one that leads to the fewest rows wins, as far as the
//! form of the conditions shows.
//!
//! A condition can steer an access ([`Steering`]) if it compares a key column with something known before the
//! row is read. Equality on the first key columns, followed by at most one lower and one upper bound on the
//! next, makes the range. Equality on all of them makes a point. Conditions that steer exactly are not
//! checked again. Those that steer only roughly (`<` of a `bigint` and an `integer` column, `char(n)` against
//! text) stay in the filter.

use std::cmp::Reverse;
use std::sync::Arc;

use hyades_engine::procedure::ir::{
    Direction, Expr, IndexNumber, JoinSlot, Register, RowSlot, ScanBound, ScanRange,
};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{IndexColumn, IndexKind, TableDefinition};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{ArrayElement, SqlType, Value};

use crate::bind::operator::mirrored;
use crate::evaluation;
use crate::expr;

/// Longest IN list whose items are part of the code. A longer one becomes a sorted array when the statement
/// begins.
const LONGEST_CODED_LIST: usize = 64;
/// From this length on a list of constants is searched instead of compared item by item.
const SEARCHED_LIST: usize = 16;

/// How the rows of one table are found.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    Point {
        key: Vec<Expr>,
    },
    /// The row that is stored under a key, as `Instruction::RowKey` gives it.
    Stored {
        key: Expr,
        /// The cursor that stands on it.
        cursor: String,
    },
    /// Key by key of an index: `before` holds the columns before the last one, which takes each of `items` in
    /// turn.
    PointList {
        index: IndexNumber,
        before: Vec<Expr>,
        items: Vec<Expr>,
    },
    /// The same for the elements of an array that is known only when the statement runs. They may be of a
    /// wider type than the key column: `narrows` gives the two types.
    PointArray {
        index: IndexNumber,
        before: Vec<Expr>,
        array: Expr,
        narrows: Option<(SqlType, SqlType)>,
    },
    Scan {
        range: ScanRange,
        direction: Direction,
    },
    /// Rows that a join table keeps.
    Kept(Box<Kept>),
}

impl Access {
    /// The index that it uses.
    pub(crate) fn index(&self) -> IndexNumber {
        match self {
            Access::Point { .. } | Access::Stored { .. } => None,
            Access::PointList { index, .. } | Access::PointArray { index, .. } => *index,
            Access::Scan { range, .. } => range.index,
            Access::Kept(_) => None,
        }
    }
}

/// How the rows of a level are kept in a join table.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) join: JoinSlot,
    /// How they are read in the first place, and with which conditions.
    pub(crate) build: Choice,
    /// The values that they are kept under.
    pub(crate) key: Vec<Expr>,
    /// The values that they are looked up with.
    pub(crate) probe: Vec<Expr>,
    /// The key contains all columns of a unique index: at most one row is kept under it.
    pub(crate) is_unique: bool,
    pub(crate) reading: Reading,
}

/// When the rows of a join table are read.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// Before the loops, each time the loops run.
    EachTime,
    /// Before the loops, the first time they run in a statement. The register, NULL until then, records that
    /// this has happened.
    Once(Register),
    /// The second time that the loops run in a statement. The register counts the runs: NULL, false, then
    /// true. The first time the rows are read by this choice, because there may be no second time.
    SecondTime(Register, Box<Choice>),
}

/// An access and what remains to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) access: Access,
    /// Conditions that steer the access, as written: for EXPLAIN, and to be checked again where a row may
    /// have changed since a secondary index found it.
    pub(crate) steering: Vec<Expr>,
    /// Conditions to check on each row.
    pub(crate) filter: Vec<Expr>,
    /// Key columns fixed by equality.
    pub(crate) equal_columns: Vec<u16>,
    /// It finds one row at most.
    pub(crate) is_single: bool,
}

impl Choice {
    /// Smaller is better: point, points, bounded range, everything. Of two with the same rank, the one that
    /// fixes more columns wins.
    pub(crate) fn rank(&self) -> u8 {
        match &self.access {
            _ if self.is_single => 0,
            Access::Point { .. } | Access::Stored { .. } => 0,
            Access::PointList { .. } | Access::PointArray { .. } => 1,
            Access::Scan { .. } if !self.equal_columns.is_empty() => 2,
            Access::Scan { .. } if !self.steering.is_empty() => 3,
            Access::Scan { .. } | Access::Kept(_) => 4,
        }
    }
}

/// A key that rows may be found by.
struct Key {
    index: IndexNumber,
    columns: Vec<IndexColumn>,
    is_unique: bool,
    /// It supports only equality.
    is_hash: bool,
}

/// The keys of a table, the primary key first.
fn keys(definition: &TableDefinition) -> Vec<Key> {
    let primary_key = definition.primary_key.iter().map(|key| Key {
        index: None,
        columns: key.columns.iter().map(|column| IndexColumn::ascending(*column)).collect(),
        is_unique: true,
        is_hash: key.index == IndexKind::Hash,
    });
    let secondary = (0u16..).zip(&definition.indexes).map(|(number, index)| Key {
        index: Some(number),
        columns: index.columns.clone(),
        is_unique: index.is_always_unique(),
        is_hash: index.kind == IndexKind::Hash,
    });
    primary_key.chain(secondary).collect()
}

/// The row slot into which the rows of a table are read, and the time of the snapshot at which they are read,
/// if some unique index is newer.
pub(crate) type Reader = (RowSlot, Option<u64>);

/// The same for a reader at a snapshot of this time, for which a newer index is not unique.
fn keys_at(table: &Table, definition: &TableDefinition, old_snapshot: Option<u64>) -> Vec<Key> {
    let mut keys = keys(definition);
    if let Some(time) = old_snapshot {
        let secondary = keys.iter_mut().filter_map(|key| Some((key.index?, key)));
        secondary.for_each(|(number, key)| {
            let id = definition.indexes[usize::from(number)].id;
            key.is_unique = key.is_unique && table.is_unique_at(id, time);
        });
    }
    keys
}

/// Whether two rows of a table never agree in all of these values, apart from NULLs.
pub(crate) fn is_unique(table: &Table, (row, old_snapshot): Reader, values: &[Expr]) -> bool {
    let has = |column: u16| values.contains(&Expr::Column { row, column });
    keys_at(table, &table.definition(), old_snapshot)
        .iter()
        .any(|key| key.is_unique && key.columns.iter().all(|key_column| has(key_column.column)))
}

/// A condition seen as `key column, operator, value`.
struct Steering {
    operator: BinaryOperator,
    value: Expr,
    is_exact: bool,
}

/// Smallest and largest value of an integer type.
fn integer_range(sql_type: SqlType) -> Option<(i64, i64)> {
    match sql_type {
        SqlType::SmallInt => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        SqlType::Integer => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        SqlType::BigInt => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// Whether all integers of one type fit the other.
fn is_widening(from: SqlType, to: SqlType) -> bool {
    match (integer_range(from), integer_range(to)) {
        (Some((from_least, from_most)), Some((least, most))) => least <= from_least && from_most <= most,
        _ => false,
    }
}

fn integer(sql_type: SqlType, number: i64) -> Expr {
    // The callers pass numbers in the range of the type.
    #[allow(clippy::cast_possible_truncation)]
    Expr::Const(match sql_type {
        SqlType::SmallInt => Value::SmallInt(number as i16),
        SqlType::Integer => Value::Integer(number as i32),
        _ => Value::BigInt(number),
    })
}

/// A wider integer as a bound on a narrower key column: a value out of range becomes the nearest bound, or
/// NULL where nothing can match. Not for a column that is cast to a narrower type, which is an error in some
/// rows.
pub(crate) fn narrowed(
    value: &Expr,
    wide: SqlType,
    narrow: SqlType,
    operator: BinaryOperator,
) -> Option<Expr> {
    let (minimum, maximum) = integer_range(narrow)?;
    integer_range(wide)?;
    let null = Expr::Const(Value::Null);
    let (below, above) = match operator {
        BinaryOperator::Equal => (null.clone(), null),
        BinaryOperator::Greater | BinaryOperator::GreaterEqual => (integer(narrow, minimum), null),
        BinaryOperator::Less | BinaryOperator::LessEqual => (null, integer(narrow, maximum)),
        _ => return None,
    };
    let compare = |operator, bound| Expr::Binary {
        operator,
        left: Box::new(value.clone()),
        right: Box::new(integer(wide, bound)),
    };
    let case = Expr::Case {
        branches: vec![
            (compare(BinaryOperator::Less, minimum), below),
            (compare(BinaryOperator::Greater, maximum), above),
        ],
        otherwise: Box::new(Expr::Cast { operand: Box::new(value.clone()), to: narrow, explicit: false }),
    };
    Some(evaluation::fold_if_constant(case))
}

/// The condition as steering of this column, if it has that form.
fn steering(condition: &Expr, row: RowSlot, column: u16, sql_type: SqlType) -> Option<Steering> {
    match condition {
        Expr::Binary { operator, left, right } => one_side(left, *operator, right, row, column, sql_type)
            .or_else(|| one_side(right, mirrored(*operator), left, row, column, sql_type)),
        Expr::InList { operand, list } if list.len() == 1 => {
            one_side(operand, BinaryOperator::Equal, &list[0], row, column, sql_type)
        }
        _ => None,
    }
}

fn is_column(expr: &Expr, row: RowSlot, column: u16) -> bool {
    matches!(expr, Expr::Column { row: its_row, column: its_column } if *its_row == row && *its_column == column)
}

fn one_side(
    side: &Expr,
    operator: BinaryOperator,
    value: &Expr,
    row: RowSlot,
    column: u16,
    sql_type: SqlType,
) -> Option<Steering> {
    use BinaryOperator::{Equal, Greater, GreaterEqual, Less, LessEqual};
    if !matches!(operator, Equal | Less | LessEqual | Greater | GreaterEqual) {
        return None;
    }
    match side {
        _ if is_column(side, row, column) => {
            Some(Steering { operator, value: value.clone(), is_exact: true })
        }
        Expr::Cast { operand, to, .. } if is_column(operand, row, column) && is_widening(sql_type, *to) => {
            let value = narrowed(value, *to, sql_type, operator)?;
            // A value out of the column's range becomes a bound that its values meet, or NULL.
            let is_exact = matches!(operator, Equal | LessEqual | GreaterEqual);
            Some(Steering { operator, value, is_exact })
        }
        Expr::Call { function: Function::CharToText, arguments } if operator == Equal => {
            let [argument] = arguments.as_slice() else { return None };
            is_column(argument, row, column).then(|| Steering {
                operator,
                value: value.clone(),
                is_exact: false,
            })
        }
        _ => None,
    }
}

/// Collects bounds while walking the key columns.
#[derive(Default)]
struct Search {
    used: Vec<usize>,
    exact: Vec<usize>,
}

impl Search {
    fn take(&mut self, at: usize, is_exact: bool) {
        self.used.push(at);
        if is_exact {
            self.exact.push(at);
        }
    }
}

/// A scan of all rows, filtered.
pub(crate) fn unsteered(conditions: &[Expr]) -> Choice {
    Choice {
        access: Access::Scan { range: ScanRange::whole(), direction: Direction::Forward },
        steering: Vec::new(),
        filter: conditions.iter().cloned().map(searched).collect(),
        equal_columns: Vec::new(),
        is_single: false,
    }
}

/// Chooses the access to a table. `conditions` hold for the wanted rows. `is_known` tells whether an
/// expression can be evaluated before the row is read.
pub(crate) fn choose(
    table: &Arc<Table>,
    (row, old_snapshot): Reader,
    conditions: &[Expr],
    is_known: &dyn Fn(&Expr) -> bool,
) -> Choice {
    let definition = table.definition();
    let conditions = Conditions { definition: &definition, row, conditions, is_known };
    let keys = keys_at(table, &definition, old_snapshot);
    let choices = keys.into_iter().filter_map(|key| conditions.by(&key));
    let best = choices.min_by_key(|choice| (choice.rank(), Reverse(choice.equal_columns.len())));
    best.unwrap_or_else(|| unsteered(conditions.conditions))
}

/// What is known about the wanted rows of a table.
struct Conditions<'c> {
    definition: &'c TableDefinition,
    row: RowSlot,
    conditions: &'c [Expr],
    is_known: &'c dyn Fn(&Expr) -> bool,
}

impl Conditions<'_> {
    /// The access by one key; `None` if no condition steers it.
    fn by(&self, key: &Key) -> Option<Choice> {
        let mut search = Search::default();
        let mut equal = Vec::new();
        for column in &key.columns {
            let Some((at, steering)) = self.find(column.column, &[BinaryOperator::Equal], &search) else {
                break;
            };
            search.take(at, steering.is_exact);
            equal.push(steering.value);
        }
        let is_whole = equal.len() == key.columns.len();
        let equal_columns: Vec<u16> = key.columns[..equal.len()].iter().map(|key| key.column).collect();
        if is_whole {
            let access = match key.index {
                None => Access::Point { key: equal },
                Some(_) => scan_access(key.index, (bound(&equal, None), bound(&equal, None))),
            };
            return Some(self.choice(access, &search, equal_columns, key.is_unique));
        }
        if let Some((access, used)) = self.list_access(key, &equal) {
            search.take(used, true);
            return Some(self.choice(access, &search, equal_columns, false));
        }
        if key.is_hash {
            return None;
        }
        let next = key.columns[equal.len()];
        let lower = self.find(next.column, &[BinaryOperator::Greater, BinaryOperator::GreaterEqual], &search);
        if let Some((at, steering)) = &lower {
            search.take(*at, steering.is_exact);
        }
        let upper = self.find(next.column, &[BinaryOperator::Less, BinaryOperator::LessEqual], &search);
        if let Some((at, steering)) = &upper {
            search.take(*at, steering.is_exact);
        }
        if search.used.is_empty() && key.index.is_some() {
            return None;
        }
        let bounds = self.bounds(&equal, next, (lower.map(|found| found.1), upper.map(|found| found.1)));
        Some(self.choice(scan_access(key.index, bounds), &search, equal_columns, false))
    }

    fn choice(&self, access: Access, search: &Search, equal_columns: Vec<u16>, is_single: bool) -> Choice {
        let left = self.conditions.iter().enumerate().filter(|(at, _)| !search.exact.contains(at));
        Choice {
            access,
            steering: search.used.iter().map(|at| self.conditions[*at].clone()).collect(),
            filter: left.map(|(_, condition)| searched(condition.clone())).collect(),
            equal_columns,
            is_single,
        }
    }

    /// A condition that steers this column by one of these operators.
    fn find(&self, column: u16, wanted: &[BinaryOperator], search: &Search) -> Option<(usize, Steering)> {
        let sql_type = self.definition.columns[usize::from(column)].sql_type;
        let left = self.conditions.iter().enumerate().filter(|(at, _)| !search.used.contains(at));
        left.filter_map(|(at, condition)| Some((at, steering(condition, self.row, column, sql_type)?)))
            .find(|(_, steering)| wanted.contains(&steering.operator) && self.is_usable(&steering.value))
    }

    fn is_usable(&self, value: &Expr) -> bool {
        (self.is_known)(value) && !expr::is_volatile(value)
    }

    /// Both ends of a range of values of the column after the equal ones, in the order of the index. A range
    /// never contains NULLs.
    fn bounds(
        &self,
        equal: &[Expr],
        column: IndexColumn,
        (lower, upper): (Option<Steering>, Option<Steering>),
    ) -> (ScanBound, ScanBound) {
        let is_range = lower.is_some() || upper.is_some();
        let has_nulls = is_range && self.definition.columns[usize::from(column.column)].is_nullable;
        let (first, last) = if column.is_descending { (upper, lower) } else { (lower, upper) };
        let end = |steering: Option<Steering>, has_nulls: bool| match steering {
            None if has_nulls => ScanBound::NotNull(equal.to_vec()),
            steering => bound(equal, steering),
        };
        (end(first, has_nulls && column.nulls_first), end(last, has_nulls && !column.nulls_first))
    }

    /// An IN list or `= ANY (array)` on the column after the equal ones. In the primary key this must be the
    /// last column.
    fn list_access(&self, key: &Key, equal: &[Expr]) -> Option<(Access, usize)> {
        let (column, rest) = key.columns[equal.len()..].split_first()?;
        if !rest.is_empty() && (key.index.is_none() || key.is_hash) {
            return None;
        }
        let (index, column) = (key.index, column.column);
        let sql_type = self.definition.columns[usize::from(column)].sql_type;
        // The type in which the column is compared, if the operand is this column.
        let compared_as = |operand: &Expr| match operand {
            _ if is_column(operand, self.row, column) => Some(sql_type),
            Expr::Cast { operand, to, .. } if is_column(operand, self.row, column) => {
                is_widening(sql_type, *to).then_some(*to)
            }
            _ => None,
        };
        let narrows = |wide: SqlType| (wide != sql_type).then_some((wide, sql_type));
        self.conditions.iter().enumerate().find_map(|(at, condition)| {
            let before = equal.to_vec();
            let access = match condition {
                Expr::InList { operand, list } if list.iter().all(|item| self.is_usable(item)) => {
                    let wide = compared_as(operand)?;
                    let items = distinct(list);
                    if items.len() <= LONGEST_CODED_LIST {
                        let fit = |item: Expr| match narrows(wide) {
                            Some((wide, narrow)) => narrowed(&item, wide, narrow, BinaryOperator::Equal),
                            None => Some(item),
                        };
                        let items = items.into_iter().map(fit).collect::<Option<Vec<Expr>>>()?;
                        Access::PointList { index, before, items }
                    } else {
                        let element = ArrayElement::of(wide)?;
                        let array = Expr::Array { element, items: list.clone() };
                        Access::PointArray { index, before, array, narrows: narrows(wide) }
                    }
                }
                Expr::Call { function: Function::EqualsAny | Function::EqualsSorted, arguments } => {
                    match arguments.as_slice() {
                        [operand, array] if self.is_usable(array) => {
                            let wide = compared_as(operand)?;
                            Access::PointArray { index, before, array: array.clone(), narrows: narrows(wide) }
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            };
            Some((access, at))
        })
    }
}

/// A scan of an index between two bounds.
fn scan_access(index: IndexNumber, (lower, upper): (ScanBound, ScanBound)) -> Access {
    Access::Scan { range: ScanRange { index, lower, upper }, direction: Direction::Forward }
}

/// One end of the range: the equal columns, then the bound on the next one.
fn bound(equal: &[Expr], steering: Option<Steering>) -> ScanBound {
    let mut values = equal.to_vec();
    let Some(steering) = steering else {
        return if values.is_empty() { ScanBound::Unbounded } else { ScanBound::Included(values) };
    };
    values.push(steering.value);
    // A rough bound must not exclude its own value: the filter decides.
    let is_strict = matches!(steering.operator, BinaryOperator::Less | BinaryOperator::Greater);
    if is_strict && steering.is_exact { ScanBound::Excluded(values) } else { ScanBound::Included(values) }
}

/// A column of a table by which rows are to be ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderColumn {
    pub(crate) column: u16,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
}

/// The direction in which an index, from the equal columns on, yields rows in the requested order. `None`:
/// neither direction does.
fn order_of_scan(
    definition: &TableDefinition,
    index: IndexNumber,
    equal_columns: &[u16],
    order: &[OrderColumn],
    is_only_table: bool,
) -> Option<Direction> {
    let key = keys(definition).into_iter().find(|key| key.index == index).filter(|key| !key.is_hash)?;
    let mut columns = key.columns[equal_columns.len()..].iter();
    let mut wanted: Option<Direction> = None;
    for OrderColumn { column, is_descending, nulls_first } in order {
        if equal_columns.contains(column) {
            continue;
        }
        let next = match columns.next() {
            Some(next) if next.column == *column => next,
            Some(_) => return None,
            // The whole key is already in order: it is unique, unless it contains NULLs.
            None if is_only_table && key.is_unique && index.is_none() => break,
            None => return None,
        };
        let is_backward = next.is_descending != *is_descending;
        let is_nullable = definition.columns[usize::from(*column)].is_nullable;
        if is_nullable && (next.nulls_first != *nulls_first) != is_backward {
            return None;
        }
        let direction = if is_backward { Direction::Backward } else { Direction::Forward };
        if *wanted.get_or_insert(direction) != direction {
            return None;
        }
    }
    Some(wanted.unwrap_or(Direction::Forward))
}

/// The index and direction in which a chosen scan can yield rows in the requested order. A scan that no
/// condition steers may use any index if the query stops early.
pub(crate) fn in_order(
    definition: &TableDefinition,
    choice: &Choice,
    order: &[OrderColumn],
    stops_early: bool,
    is_only_table: bool,
) -> Option<(IndexNumber, Direction)> {
    let Access::Scan { range, .. } = &choice.access else { return None };
    let mut indexes = vec![range.index];
    if choice.steering.is_empty() && stops_early {
        indexes.extend(ordered_indexes(definition));
    }
    indexes.into_iter().find_map(|index| {
        let direction = order_of_scan(definition, index, &choice.equal_columns, order, is_only_table)?;
        Some((index, direction))
    })
}

/// The ordered secondary indexes of a table, by number.
fn ordered_indexes(definition: &TableDefinition) -> impl Iterator<Item = IndexNumber> {
    let indexes = (0u16..).zip(&definition.indexes);
    indexes.filter(|(_, index)| index.kind == IndexKind::Ordered).map(|(number, _)| Some(number))
}

/// The condition with its long lists of constants sorted, so that a value is found in them with few
/// comparisons.
fn searched(mut condition: Expr) -> Expr {
    expr::replace(&mut condition, &mut |part| match part {
        Expr::InList { operand, list } if list.len() >= SEARCHED_LIST => {
            let mut values: Vec<Value> = list
                .iter()
                .map(|item| match item {
                    Expr::Const(value) => Some(value.clone()),
                    _ => None,
                })
                .collect::<Option<_>>()?;
            values.sort_by(evaluation::total_order);
            values.dedup_by(|a, b| evaluation::total_order(a, b).is_eq());
            let element = ArrayElement::of(values.first()?.sql_type()?)?;
            let array = Expr::Const(Value::array(element, values));
            Some(Expr::Call {
                function: Function::EqualsSorted,
                arguments: vec![operand.as_ref().clone(), array],
            })
        }
        _ => None,
    });
    condition
}

/// The list without repetitions: constants are sorted and compared now, others when they are reached. (Not in
/// a list that is too long to be coded.)
fn distinct(list: &[Expr]) -> Vec<Expr> {
    let others = list.iter().filter(|item| !matches!(item, Expr::Const(_))).count();
    if others > LONGEST_CODED_LIST {
        return list.to_vec();
    }
    let mut constants: Vec<Value> = Vec::new();
    let mut others = Vec::new();
    for item in list {
        match item {
            Expr::Const(Value::Null) => {}
            Expr::Const(value) => constants.push(value.clone()),
            other => others.push(other.clone()),
        }
    }
    constants.sort_by(evaluation::total_order);
    constants.dedup_by(|a, b| evaluation::total_order(a, b).is_eq());
    let mut items: Vec<Expr> = constants.into_iter().map(Expr::Const).collect();
    let mut seen = items.clone();
    for other in others {
        items.push(if seen.is_empty() {
            other.clone()
        } else {
            // A NULL key finds nothing.
            let repeated = Expr::InList { operand: Box::new(other.clone()), list: seen.clone() };
            Expr::Case {
                branches: vec![(repeated, Expr::Const(Value::Null))],
                otherwise: Box::new(other.clone()),
            }
        });
        seen.push(other);
    }
    items
}
