//! Choosing how a table is read: by full primary key, by a range of it, or whole.
//!
//! A condition can steer an access ([`Steering`]) if it compares a key column with something known before the
//! row is read. Equality on the first key columns, then at most one lower and one upper bound on the next,
//! make the range; equality on all of them makes a point. Conditions that steer exactly are not checked
//! again; those that steer only roughly (a `bigint` against an `integer` column, `char(n)` against text) stay
//! in the filter.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Direction, Expr, RowSlot, ScanBound, ScanRange};
use hyades_engine::storage::table::Table;
use hyades_types::definition::IndexKind;
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::level::Kept;
use crate::bind::operator::mirrored;
use crate::evaluation;
use crate::expr;

/// Longest IN list whose items are part of the code; a longer one is made an array, in order, when the
/// statement begins.
const LONGEST_CODED_LIST: usize = 64;
/// From this length on a list of constants is searched, not gone through.
const SEARCHED_LIST: usize = 16;

/// How the rows of one table are found.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    Point {
        key: Vec<Expr>,
    },
    /// Point by point: `before` are the key columns before the last one, which takes each of `items` in turn.
    PointList {
        before: Vec<Expr>,
        items: Vec<Expr>,
    },
    /// The same for the elements of an array that is known only when the statement runs. They may be of a
    /// wider type than the key column: from that one to that one.
    PointArray {
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

/// An access and what remains to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) access: Access,
    /// Conditions that steer the access, as written, for EXPLAIN.
    pub(crate) steering: Vec<Expr>,
    /// Conditions to check on each row.
    pub(crate) filter: Vec<Expr>,
    /// Key columns fixed by equality.
    pub(crate) equal_columns: Vec<u16>,
}

impl Choice {
    /// Smaller is better: point, points, bounded range, everything.
    pub(crate) fn rank(&self) -> u8 {
        match &self.access {
            Access::Point { .. } => 0,
            Access::PointList { .. } | Access::PointArray { .. } => 1,
            Access::Scan { .. } if !self.equal_columns.is_empty() => 2,
            Access::Scan { .. } if !self.steering.is_empty() => 3,
            Access::Scan { .. } | Access::Kept(_) => 4,
        }
    }
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

fn integer(sql_type: SqlType, number: i64) -> Expr {
    // The callers pass numbers of the type's range.
    #[allow(clippy::cast_possible_truncation)]
    Expr::Const(match sql_type {
        SqlType::SmallInt => Value::SmallInt(number as i16),
        SqlType::Integer => Value::Integer(number as i32),
        _ => Value::BigInt(number),
    })
}

/// A wider integer as a bound on a narrower key column: what lies outside becomes the nearest bound, or NULL
/// where nothing can match.
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

/// The condition as steering of this column, if it is of that form.
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
        Expr::Cast { operand, to, .. } if is_column(operand, row, column) => {
            let value = narrowed(value, *to, sql_type, operator)?;
            Some(Steering { operator, value, is_exact: false })
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

/// Collects bounds while going through the key columns.
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

/// Everything, filtered.
pub(crate) fn unsteered(conditions: &[Expr]) -> Choice {
    Choice {
        access: Access::Scan {
            range: ScanRange { lower: ScanBound::Unbounded, upper: ScanBound::Unbounded },
            direction: Direction::Forward,
        },
        steering: Vec::new(),
        filter: conditions.iter().cloned().map(searched).collect(),
        equal_columns: Vec::new(),
    }
}

/// Chooses the access to a table read into `row`. `conditions` are those that hold for its rows; `is_known`
/// tells whether an expression can be evaluated before the row is read.
pub(crate) fn choose(
    table: &Arc<Table>,
    row: RowSlot,
    conditions: &[Expr],
    is_known: &dyn Fn(&Expr) -> bool,
) -> Choice {
    let definition = table.definition();
    let Some(primary_key) = &definition.primary_key else { return unsteered(conditions) };
    let mut search = Search::default();
    let usable = |steering: &Steering| is_known(&steering.value) && !expr::is_volatile(&steering.value);
    let find = |column: u16, wanted: &[BinaryOperator], search: &Search| {
        let sql_type = definition.columns[usize::from(column)].sql_type;
        conditions.iter().enumerate().filter(|(at, _)| !search.used.contains(at)).find_map(
            |(at, condition)| {
                let steering = steering(condition, row, column, sql_type)?;
                (wanted.contains(&steering.operator) && usable(&steering)).then_some((at, steering))
            },
        )
    };
    let mut equal = Vec::new();
    for column in &primary_key.columns {
        let Some((at, steering)) = find(*column, &[BinaryOperator::Equal], &search) else { break };
        search.take(at, steering.is_exact);
        equal.push(steering.value);
    }
    let equal_columns: Vec<u16> = primary_key.columns[..equal.len()].to_vec();
    let filter_without = |exact: &[usize]| -> Vec<Expr> {
        let left = conditions.iter().enumerate().filter(|(at, _)| !exact.contains(at));
        left.map(|(_, condition)| searched(condition.clone())).collect()
    };
    let steering_of =
        |used: &[usize]| -> Vec<Expr> { used.iter().map(|at| conditions[*at].clone()).collect() };
    if equal.len() == primary_key.columns.len() {
        return Choice {
            access: Access::Point { key: equal },
            steering: steering_of(&search.used),
            filter: filter_without(&search.exact),
            equal_columns,
        };
    }
    if let Some((access, used)) = list_access(table, row, conditions, is_known, &equal) {
        search.take(used, true);
        return Choice {
            access,
            steering: steering_of(&search.used),
            filter: filter_without(&search.exact),
            equal_columns,
        };
    }
    if primary_key.index == IndexKind::Hash {
        return unsteered(conditions);
    }
    let next = primary_key.columns[equal.len()];
    let lower = find(next, &[BinaryOperator::Greater, BinaryOperator::GreaterEqual], &search);
    if let Some((at, steering)) = &lower {
        search.take(*at, steering.is_exact);
    }
    let upper = find(next, &[BinaryOperator::Less, BinaryOperator::LessEqual], &search);
    if let Some((at, steering)) = &upper {
        search.take(*at, steering.is_exact);
    }
    let access =
        scan_access(&equal, lower.map(|(_, steering)| steering), upper.map(|(_, steering)| steering));
    Choice {
        access,
        steering: steering_of(&search.used),
        filter: filter_without(&search.exact),
        equal_columns,
    }
}

/// A scan between two bounds on the column behind the equal ones.
fn scan_access(equal: &[Expr], lower: Option<Steering>, upper: Option<Steering>) -> Access {
    let range = ScanRange { lower: bound(equal, lower), upper: bound(equal, upper) };
    Access::Scan { range, direction: Direction::Forward }
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

/// An IN list or `= ANY (array)` on the last key column, when the columns before it are equal to something.
fn list_access(
    table: &Arc<Table>,
    row: RowSlot,
    conditions: &[Expr],
    is_known: &dyn Fn(&Expr) -> bool,
    equal: &[Expr],
) -> Option<(Access, usize)> {
    let definition = table.definition();
    let columns = &definition.primary_key.as_ref()?.columns;
    let (column, behind) = columns[equal.len()..].split_first()?;
    if !behind.is_empty() {
        return None;
    }
    let is_usable = |expr: &Expr| is_known(expr) && !expr::is_volatile(expr);
    let sql_type = definition.columns[usize::from(*column)].sql_type;
    // What the column is compared as, if it is this column.
    let compared_as = |operand: &Expr| match operand {
        _ if is_column(operand, row, *column) => Some(sql_type),
        Expr::Cast { operand, to, .. } if is_column(operand, row, *column) => {
            integer_range(sql_type).and(integer_range(*to)).and(Some(*to))
        }
        _ => None,
    };
    let narrows = |wide: SqlType| (wide != sql_type).then_some((wide, sql_type));
    conditions.iter().enumerate().find_map(|(at, condition)| {
        let before = equal.to_vec();
        let access = match condition {
            Expr::InList { operand, list } if list.iter().all(is_usable) => {
                let wide = compared_as(operand)?;
                let items = distinct(list);
                if items.len() <= LONGEST_CODED_LIST {
                    let fit = |item: Expr| match narrows(wide) {
                        Some((wide, narrow)) => narrowed(&item, wide, narrow, BinaryOperator::Equal),
                        None => Some(item),
                    };
                    let items = items.into_iter().map(fit).collect::<Option<Vec<Expr>>>()?;
                    Access::PointList { before, items }
                } else {
                    let element = ArrayElement::of(wide)?;
                    let array = Expr::Array { element, items: list.clone() };
                    Access::PointArray { before, array, narrows: narrows(wide) }
                }
            }
            Expr::Call { function: Function::EqualsAny, arguments } => match arguments.as_slice() {
                [operand, array] if is_usable(array) => {
                    let wide = compared_as(operand)?;
                    Access::PointArray { before, array: array.clone(), narrows: narrows(wide) }
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((access, at))
    })
}

/// The condition with its long lists of constants in order, so that a few comparisons find a value in them.
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

/// The list without repetitions: constants are sorted and compared now, others when they are met. (Not in a
/// list that is too long to be coded.)
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
