//! The typed tree of a query: the result of binding its text, and the input of planning.

use std::sync::Arc;

use hyades_engine::procedure::ir::{
    CalleeIndex, Expr, Impatience, Intent, JoinSlot, Register, RowSlot, SpoolSlot, Strength,
};
use hyades_engine::storage::table::Table;
use hyades_types::error::Result;
use hyades_types::value::{ArrayElement, SqlType};

use super::aggregation::{Aggregate, AggregateMode};
use super::bound::Place;
use super::scope::Scope;
use super::windowing::Windowing;
use crate::expr::{self, Computed};
use crate::statement::query::select_of;
use sqlparser::ast;
use sqlparser::ast::SetOperator;

/// A column of the result.
#[derive(Clone, Debug)]
pub(crate) struct OutputColumn {
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) sql_type: SqlType,
    pub(crate) place: Place,
    /// Range in `Binder::column_places` of the columns it names.
    pub(crate) column_places: (usize, usize),
}

/// `generate_series(start, stop, step)`: the current value is in `current`.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) start: Expr,
    pub(crate) stop: Expr,
    pub(crate) step: Expr,
    pub(crate) sql_type: SqlType,
    pub(crate) current: Register,
    /// Arrays whose elements it counts: evaluated first, into these registers.
    pub(crate) arrays: Vec<(Register, Expr)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Table {
        table: Arc<Table>,
        row: RowSlot,
        /// The expressions that its indexes are on, apart from columns.
        computed: Arc<[Computed]>,
        /// Its rows are read at a snapshot of this time, and some unique index is newer.
        old_snapshot: Option<u64>,
    },
    Series(Series),
    Routine(RoutineSource),
    Query(DerivedTable),
    /// The rows that the last step of a recursive query has added, read into these registers.
    Working(WorkingTable, Vec<Register>),
}

impl Source {
    /// The newest rows of a table.
    pub(crate) fn newest(table: &Arc<Table>, row: RowSlot) -> Source {
        Source::Table { table: Arc::clone(table), row, computed: Arc::new([]), old_snapshot: None }
    }

    /// The registers that hold its rows.
    pub(crate) fn registers(&self) -> &[Register] {
        match self {
            Source::Table { .. } => &[],
            Source::Series(series) => std::slice::from_ref(&series.current),
            Source::Routine(routine) => &routine.registers,
            Source::Query(derived) => &derived.registers,
            Source::Working(_, registers) => registers,
        }
    }

    /// The expressions that it evaluates to find its rows.
    pub(crate) fn arguments(&self) -> Vec<&Expr> {
        match self {
            Source::Table { .. } | Source::Working(..) => Vec::new(),
            Source::Series(series) => {
                let arrays = series.arrays.iter().map(|(_, array)| array);
                arrays.chain([&series.start, &series.stop, &series.step]).collect()
            }
            Source::Routine(routine) => routine.arguments.iter().collect(),
            Source::Query(derived) => derived.outer.iter().collect(),
        }
    }

    /// The same, for replacement.
    pub(crate) fn arguments_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Source::Table { .. } | Source::Working(..) => Vec::new(),
            Source::Series(series) => {
                let arrays = series.arrays.iter_mut().map(|(_, array)| array);
                arrays.chain([&mut series.start, &mut series.stop, &mut series.step]).collect()
            }
            Source::Routine(routine) => routine.arguments.iter_mut().collect(),
            Source::Query(derived) => derived.outer.iter_mut().collect(),
        }
    }

    /// Whether an expression reads a row of this source.
    pub(crate) fn is_read_by(&self, expr: &Expr) -> bool {
        expr::any(expr, &|part| match (self, part) {
            (Source::Table { row, .. }, Expr::Column { row: read, .. }) => row == read,
            (_, Expr::Register(read)) => self.registers().contains(read),
            _ => false,
        })
    }
}

/// A call of a routine: its rows are read one by one into these registers.
#[derive(Clone, Debug)]
pub(crate) struct RoutineSource {
    pub(crate) callee: CalleeIndex,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) registers: Vec<Register>,
    pub(crate) is_set: bool,
    /// A NULL argument means that it does not run.
    pub(crate) is_strict: bool,
}

/// A query in FROM, or a reference to a query of WITH: its rows are read into these registers.
#[derive(Clone, Debug)]
pub(crate) struct DerivedTable {
    /// The number of the subquery.
    pub(crate) query: u16,
    pub(crate) registers: Vec<Register>,
    /// What it reads of the relations before it (LATERAL).
    pub(crate) outer: Vec<Expr>,
    /// For a recursive query, the number of the subquery that runs a step.
    pub(crate) recursion: Option<(u16, Recursion)>,
}

/// The rows of a spool from one number on, up to but excluding another, with the numbers in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkingTable {
    pub(crate) spool: SpoolSlot,
    pub(crate) from: Register,
    pub(crate) to: Register,
}

/// The state of a recursive query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recursion {
    /// This spool holds all its rows. The working table is what the last step has added.
    pub(crate) working: WorkingTable,
    /// The number of its rows.
    pub(crate) count: Register,
    pub(crate) is_finished: Register,
    /// For UNION without ALL, the rows found so far.
    pub(crate) seen: Option<JoinSlot>,
}

/// A relation of FROM whose place among the loops is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) source: Source,
    /// The number of its relation in the scope.
    pub(crate) relation: usize,
    /// The lock that locking clauses have asked for.
    pub(crate) locking: Option<(Strength, Option<Impatience>)>,
    pub(crate) intent: Intent,
    pub(crate) label: String,
    /// Its rows are read for every row of all items before it.
    pub(crate) is_last: bool,
}

impl Item {
    pub(crate) fn new(source: Source, label: String, relation: usize) -> Item {
        Item { source, relation, locking: None, intent: Intent::READ, label, is_last: false }
    }
}

/// Relations that are joined with each other in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinGroup {
    pub(crate) members: Vec<JoinMember>,
    /// The conditions on their rows: those of WHERE and of inner joins.
    pub(crate) conditions: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) enum JoinMember {
    Item(Item),
    Outer(Box<OuterJoin>),
}

/// A left join or a full one. (A right join is a left one with its sides exchanged.)
#[derive(Clone, Debug)]
pub(crate) struct OuterJoin {
    /// Whether rows of the right side without a match are kept too.
    pub(crate) is_full: bool,
    pub(crate) left: JoinGroup,
    pub(crate) right: JoinGroup,
    pub(crate) on: Vec<Expr>,
}

impl JoinGroup {
    pub(crate) fn of(item: Item) -> JoinGroup {
        JoinGroup { members: vec![JoinMember::Item(item)], conditions: Vec::new() }
    }

    /// Both groups, joined only by their conditions.
    pub(crate) fn append(&mut self, other: JoinGroup) {
        self.members.extend(other.members);
        self.conditions.extend(other.conditions);
    }

    /// Visits the items, each with whether an outer join may replace its row by NULLs.
    pub(crate) fn for_each_item_mut(
        &mut self,
        visit: &mut dyn FnMut(&mut Item, bool) -> Result<()>,
    ) -> Result<()> {
        self.visit(false, visit)
    }

    fn visit(
        &mut self,
        is_nullable: bool,
        visit: &mut dyn FnMut(&mut Item, bool) -> Result<()>,
    ) -> Result<()> {
        self.members.iter_mut().try_for_each(|member| match member {
            JoinMember::Item(item) => visit(item, is_nullable),
            JoinMember::Outer(join) => {
                join.left.visit(is_nullable || join.is_full, visit)?;
                join.right.visit(true, visit)
            }
        })
    }
}

/// LIMIT and OFFSET, as bigint expressions without columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
    /// Rows that the order makes equal to the last one are returned, too.
    pub(crate) with_ties: bool,
}

/// One key of ORDER BY.
#[derive(Clone, Debug)]
pub(crate) struct OrderKey {
    pub(crate) target: OrderTarget,
    pub(crate) sql_type: SqlType,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) place: Place,
    pub(crate) column_places: (usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) enum OrderTarget {
    Output(usize),
    Expression(Expr),
}

/// A bound SELECT. The order in which FROM is read is not decided yet.
#[derive(Clone, Debug)]
pub(crate) struct BoundQuery {
    pub(crate) from: JoinGroup,
    pub(crate) outputs: Vec<OutputColumn>,
    pub(crate) group: Option<GroupBy>,
    pub(crate) having: Option<Expr>,
    pub(crate) having_places: (usize, usize),
    /// Set-returning functions of its select list that are called for each group, or for each row with the
    /// results of window functions.
    pub(crate) sets: Vec<Item>,
    pub(crate) order: Vec<OrderKey>,
    pub(crate) distinct: BoundDistinct,
    pub(crate) limits: Limits,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) windowing: Windowing,
}

/// GROUP BY.
#[derive(Clone, Debug)]
pub(crate) struct GroupBy {
    pub(crate) keys: Vec<(Expr, SqlType)>,
    /// Grouping sets, each as the positions of its keys. Empty for a plain GROUP BY, which groups by all
    /// keys.
    pub(crate) sets: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) enum BoundDistinct {
    No,
    Rows,
    On(Vec<(OrderTarget, SqlType)>),
}

impl BoundDistinct {
    /// The order in which DISTINCT ON finds its rows where the query asks for none: that of its keys, as in
    /// PostgreSQL, so that clients see the same rows in the same order.
    pub(super) fn own_order(&self) -> Vec<OrderKey> {
        let BoundDistinct::On(targets) = self else { return Vec::new() };
        let key = |(target, sql_type): &(OrderTarget, SqlType)| OrderKey {
            target: target.clone(),
            sql_type: *sql_type,
            is_descending: false,
            nulls_first: false,
            place: Place::Unknown,
            column_places: (0, 0),
        };
        targets.iter().map(key).collect()
    }
}

/// What a subquery does with its rows.
#[derive(Clone, Debug)]
pub(crate) enum SubqueryKind {
    /// The only value, or NULL if there is no row.
    Value,
    /// The values of the only row, in registers of their own, or NULLs if there is no row.
    Row { first: Register, width: u16 },
    /// Whether there is a row.
    Exists,
    /// The values, as an array.
    Array(ArrayElement),
    /// The same, sorted and each value once: for IN, where the array is built once for all rows.
    Set(ArrayElement),
    /// The rows are kept, so that they can be read.
    Rows,
    /// The rows are the first rows of a recursive query.
    Start(Recursion),
    /// The rows are added to the recursive query.
    Step(Recursion),
    /// Whether the condition is true for some row. NULL if it is true for none, but NULL for one.
    Any(RowTest),
    /// The condition applied to its only row, or to a row of NULLs if there is none.
    Compared(RowTest),
}

impl SubqueryKind {
    /// Whether it stands in an expression instead of in FROM.
    pub(crate) fn is_in_expression(&self) -> bool {
        !matches!(self, SubqueryKind::Rows | SubqueryKind::Start(_) | SubqueryKind::Step(_))
    }
}

/// A condition over the rows of a subquery.
#[derive(Clone, Debug)]
pub(crate) struct RowTest {
    /// The registers in which the condition expects the values of a row, and their types.
    pub(crate) values: Vec<(Register, SqlType)>,
    pub(crate) condition: Expr,
}

/// The source of a query's rows.
#[derive(Clone, Debug)]
pub(crate) enum QueryBody {
    Select(Box<BoundQuery>),
    Values(Vec<Vec<Expr>>),
    Both {
        operator: SetOperator,
        is_all: bool,
        sides: Box<[Branch; 2]>,
    },
    /// A relation of the catalog, by its number.
    System(u32),
}

/// A body, and the names that its clauses see.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) body: QueryBody,
    pub(crate) scope: Scope,
}

/// A query of WITH.
#[derive(Clone, Debug)]
pub(crate) struct CommonTable {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) column_names: Vec<String>,
    pub(crate) query: Box<ast::Query>,
    /// Whether it may refer to itself.
    pub(crate) is_recursive: bool,
    /// What a reference to itself means at this point.
    pub(crate) own: SelfReference,
    /// Its bound form. It is bound again for each reference if it depends on enclosing queries.
    pub(crate) bound: Option<BoundCommonTable>,
}

impl CommonTable {
    /// Rows that are kept already, under a name.
    pub(crate) fn kept(name: String, bound: BoundCommonTable) -> Result<CommonTable> {
        let query = Box::new(select_of(ast::Expr::value(ast::Value::Null))?);
        Ok(CommonTable {
            name,
            place: Place::Unknown,
            column_names: Vec::new(),
            query,
            is_recursive: false,
            own: SelfReference::Hidden,
            bound: Some(bound),
        })
    }
}

/// A query of WITH, bound.
#[derive(Clone, Debug)]
pub(crate) struct BoundCommonTable {
    /// The number of its subquery.
    pub(crate) query: u16,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) recursion: Option<(u16, Recursion)>,
}

/// What the name of a query of WITH means inside it.
#[derive(Clone, Debug)]
pub(crate) enum SelfReference {
    /// It is not being bound.
    Hidden,
    /// 42P19 with this message, at this place instead of that of the reference.
    Refused(String, Option<Place>),
    /// 0A000, at this place: a clause of the whole query, with this name.
    InClause(&'static str, Place),
    Working {
        recursion: Recursion,
        columns: Vec<(String, SqlType)>,
        /// The places of the references.
        reads: Vec<Place>,
    },
}

/// A subquery, bound.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    pub(crate) branch: Branch,
    pub(crate) kind: SubqueryKind,
    /// Whether it reads nothing of the enclosing queries: then it runs at most once in a statement.
    pub(crate) is_independent: bool,
    /// Whether it may run after the statement has changed rows.
    pub(crate) sees_changes: bool,
    /// The registers that receive the values of enclosing queries, in the order of [`Expr::Query`]'s parts.
    pub(crate) outer: Vec<Register>,
}

/// What a subquery sees of the enclosing query.
pub(crate) struct Surroundings {
    pub(super) scope: Scope,
    /// What the subquery has read of it: the expression there, and the register here.
    pub(super) captured: Vec<(Expr, Register)>,
    /// Its aggregates, and whether one is allowed where the subquery stands.
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) mode: AggregateMode,
}

impl Surroundings {
    pub(super) fn has(&self, relation: &str) -> bool {
        self.scope.named().any(|(_, known)| known.name == relation)
    }
}

/// Names and types of the fields of a row.
pub(super) type Fields = Vec<(String, SqlType)>;

/// Which expressions are rows.
#[derive(Default)]
pub(super) struct KnownRows {
    pub(super) made: Vec<(Expr, Fields)>,
    /// The columns of queries in FROM, by the number of the query.
    pub(super) columns: Vec<(u16, usize, Fields)>,
}
