//! What a statement compiles to: a [`Plan`].
//!
//! A query or change is one procedure that emits its answer ([`RunPlan`]). What needs all rows at once
//! (aggregates, sorting, DISTINCT) are stages ([`Grouping`], [`Sorting`]) that the procedure feeds and reads;
//! where rows must be collected before they may change (an UPDATE that moves rows along the scanned key,
//! INSERT ... SELECT into the same table), the procedure spools them.

use std::sync::Arc;
use std::time::Duration;

use hyades_engine::db::TableLock;
use hyades_engine::procedure::ir::{Expr, Procedure, Register};
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::table::Table;
use hyades_types::access::NeededRight;
use hyades_types::definition::{
    ColumnDefinition, Deferral, Identity, IndexDefinition, IndexKind, KeyAction, RoutineDefinition,
    RoutineKind, TableDefinition, TableId, TableName,
};
use hyades_types::error::Result;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{self, SetOperator};

use crate::answer::{Response, ResultColumn};
use crate::bind::aggregation::AggregateKind;
use crate::bind::session_function::SessionCall;
use crate::explain::PlanNode;
use crate::explain::counted::Counters;
use crate::statement::{
    AccessCommand, AlterType, Commented, CopyOptions, DeclareCursor, DropIndex, DropSchema, DropSequence,
    DropType, DropView, ExplainOptions, FetchCursor, IsolationModes, ListenStatement, Moved, OnCommit,
    QualifiedName, RenameIndex, RoleName, SchemaElement, SequenceOptions, SetValue, SettingScope,
};

/// A compiled statement.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) parameters: Vec<SqlType>,
    pub(crate) response: Response,
    pub(crate) action: Action,
    /// The command's name, for messages (`cannot execute UPDATE in a read-only transaction`).
    pub(crate) command: &'static str,
    pub(crate) is_read_only: bool,
}

#[derive(Debug)]
pub(crate) enum Action {
    Empty,
    Run(Box<RunPlan>),
    Call(Box<CallPlan>),
    /// DO, before the session has compiled its block.
    Block {
        definition: Box<RoutineDefinition>,
        /// Characters of the statement before the body.
        body_offset: u32,
    },
    /// No names: ALL.
    SetConstraints {
        names: Vec<QualifiedName>,
        is_deferred: bool,
    },
    Lock(LockCommand),
    Checkpoint,
    /// Ready lines, and what the statement that they describe needs.
    Explain(Vec<String>, Vec<NeededRight>),
    /// How a call is logged depends on the session.
    ExplainCall {
        routine: Arc<Routine>,
        /// Its arguments draw from sequences.
        draws: bool,
        is_verbose: bool,
        is_json: bool,
    },
    /// EXPLAIN of EXECUTE.
    ExplainExecute {
        name: String,
        arguments: Vec<Expr>,
        options: ExplainOptions,
    },
    Transaction(TransactionCommand),
    Settings(SettingsCommand),
    Maintenance {
        tag: &'static str,
        refused_in_block: Option<&'static str>,
    },
    Schema(SchemaCommand),
    CopyIn(Box<CopyInPlan>),
    CopyOut(Box<CopyOutPlan>),
    Prepare {
        name: String,
        types: Vec<Option<SqlType>>,
        body: String,
        body_offset: u32,
    },
    Execute {
        name: String,
        arguments: Vec<Expr>,
    },
    Deallocate(Option<String>),
    Listen(ListenStatement),
    Declare(Box<DeclarePlan>),
    Fetch(FetchCursor),
    /// No name: ALL.
    CloseCursor(Option<String>),
}

impl Action {
    /// What is asked of whoever runs it.
    pub(crate) fn for_each_right(&self, see: &mut dyn FnMut(&NeededRight) -> Result<()>) -> Result<()> {
        match self {
            Action::Run(run) => run.procedure.for_each_right(see),
            Action::CopyOut(copy) => copy.run.procedure.for_each_right(see),
            Action::Declare(declare) => declare.run.procedure.for_each_right(see),
            Action::CopyIn(copy) => copy.insert.for_each_right(see),
            Action::Explain(_, rights) => rights.iter().try_for_each(see),
            _ => Ok(()),
        }
    }
}

#[derive(Debug)]
pub(crate) enum TransactionCommand {
    Begin(IsolationModes),
    Commit { chains: bool },
    Rollback { chains: bool },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    Set(IsolationModes),
}

/// LOCK TABLE.
#[derive(Debug)]
pub(crate) struct LockCommand {
    pub(crate) tables: Vec<QualifiedName>,
    pub(crate) lock: TableLock,
    pub(crate) waits: bool,
}

#[derive(Debug)]
pub(crate) enum SettingsCommand {
    Set { name: String, value: SetValue, scope: SettingScope },
    Show(Option<String>),
    Reset(Option<String>),
    SetCharacteristics(IsolationModes),
    DiscardAll,
}

#[derive(Debug)]
pub(crate) enum SchemaCommand {
    Create {
        definition: Box<TableDefinition>,
        if_not_exists: bool,
        foreign_keys: Vec<WantedForeignKey>,
        sequences: Vec<WantedSequence>,
        uniques: Vec<WantedUnique>,
        /// Of the tables that it is like.
        indexes: Vec<CopiedIndex>,
        comments: Vec<CopiedComments>,
        on_commit: OnCommit,
    },
    CreateIndex(WantedIndex),
    DropIndex(DropIndex),
    RenameIndex(RenameIndex),
    /// Of an index.
    /// Whether CONCURRENTLY.
    Reindex(QualifiedName, bool),
    AlterTable {
        table: QualifiedName,
        if_exists: bool,
        /// In the order in which they are done.
        actions: Vec<AlterAction>,
    },
    /// CREATE [OR REPLACE] VIEW.
    CreateView {
        definition: Box<TableDefinition>,
        or_replace: bool,
        /// The statement says which schema it goes to.
        names_schema: bool,
    },
    DropView(DropView),
    /// CREATE TABLE ... AS.
    CreateAs {
        definition: Box<TableDefinition>,
        if_not_exists: bool,
        /// Whose rows go into it.
        query: Option<String>,
        on_commit: OnCommit,
        /// Under EXPLAIN ANALYZE.
        analysis: Option<Analysis>,
    },
    /// DISCARD TEMP.
    DiscardTemporaries,
    Drop {
        tables: Vec<QualifiedName>,
        if_exists: bool,
        cascades: bool,
    },
    Truncate {
        tables: Vec<QualifiedName>,
        cascades: bool,
        /// RESTART IDENTITY.
        restarts: bool,
    },
    CreateSchema {
        name: String,
        /// AUTHORIZATION.
        owner: Option<RoleName>,
        if_not_exists: bool,
        elements: Vec<SchemaElement>,
    },
    DropSchema(DropSchema),
    RenameSchema {
        name: String,
        to: String,
    },
    /// SET SCHEMA.
    Move {
        moved: Moved<Vec<SqlType>>,
        name: QualifiedName,
        if_exists: bool,
        to: String,
    },
    /// RENAME TO of a table, a view, a sequence, or an index that ALTER TABLE names.
    RenameRelation {
        kind: Moved<Vec<SqlType>>,
        name: QualifiedName,
        if_exists: bool,
        to: String,
    },
    /// Roles, rights, and OWNER TO.
    Access(Arc<AccessCommand<Vec<SqlType>>>),
    CreateSequence {
        name: TableName,
        if_not_exists: bool,
        options: SequenceOptions,
    },
    AlterSequence {
        name: QualifiedName,
        if_exists: bool,
        options: SequenceOptions,
    },
    DropSequence(DropSequence),
    CreateType {
        name: TableName,
        labels: Vec<String>,
    },
    AlterType(AlterType),
    Comment {
        on: Commented<Vec<SqlType>>,
        name: QualifiedName,
        text: Option<String>,
    },
    DropType(DropType),
    CreateRoutine {
        definition: Box<RoutineDefinition>,
        /// Characters of the statement before the body.
        body_offset: u32,
        or_replace: bool,
    },
    DropRoutine {
        kind: Option<RoutineKind>,
        if_exists: bool,
        names: Vec<(QualifiedName, Option<Vec<SqlType>>)>,
        cascades: bool,
    },
}

/// One action of ALTER TABLE, as written: it is looked at when the table is locked.
#[derive(Clone, Debug)]
pub(crate) enum AlterAction {
    AddPrimaryKey(WantedPrimaryKey),
    AddUnique(WantedUnique),
    /// CREATE INDEX of what rows must compute.
    AddIndex(Box<WantedIndex>),
    /// UNIQUE and PRIMARY KEY of an index that is there.
    UseIndex {
        name: Option<String>,
        index: String,
        is_primary: bool,
        deferral: Deferral,
        /// Where the constraint stands in the statement.
        position: Option<u32>,
    },
    AddForeignKey(WantedForeignKey),
    AddCheck(WantedCheck),
    ValidateConstraint(String),
    AddColumn {
        column: Box<NewColumn>,
        if_not_exists: bool,
    },
    DropColumn {
        name: String,
        may_lack: bool,
        cascades: bool,
    },
    SetType {
        column: String,
        sql_type: SqlType,
        using: Option<Box<ast::Expr>>,
    },
    SetDefault {
        column: String,
        /// `None`: DROP DEFAULT.
        default: Option<Box<ast::Expr>>,
    },
    SetNullable {
        column: String,
        is_nullable: bool,
    },
    AddIdentity {
        column: String,
        identity: Identity,
        options: SequenceOptions,
    },
    /// SET GENERATED, SET of options of the sequence, RESTART.
    SetIdentity {
        column: String,
        identity: Option<Identity>,
        options: SequenceOptions,
    },
    /// When a foreign key is checked.
    AlterConstraint {
        name: String,
        deferral: Deferral,
    },
    DropIdentity {
        column: String,
        may_lack: bool,
    },
    RenameColumn {
        from: String,
        to: String,
    },
    RenameConstraint {
        from: String,
        to: String,
    },
    SetOwner(RoleName),
    /// What it says is so already, or changes nothing here.
    Nothing,
    DropConstraint {
        name: String,
        /// The constraint need not be there.
        may_lack: bool,
        cascades: bool,
    },
}

/// A column to be added.
#[derive(Clone, Debug)]
pub(crate) struct NewColumn {
    pub(crate) definition: ColumnDefinition,
    pub(crate) sequence: Option<WantedSequence>,
}

/// A CHECK constraint as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedCheck {
    pub(crate) name: Option<String>,
    pub(crate) expr: Box<ast::Expr>,
    pub(crate) is_not_valid: bool,
}

/// A foreign key as written; tables and columns are looked up when the statement runs.
#[derive(Clone, Debug)]
pub(crate) struct WantedForeignKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) parent: QualifiedName,
    /// Empty: the parent's primary key.
    pub(crate) parent_columns: Vec<String>,
    pub(crate) on_delete: KeyAction,
    /// What ON DELETE sets; empty: all columns.
    pub(crate) delete_columns: Vec<String>,
    pub(crate) on_update: KeyAction,
    pub(crate) is_full: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_not_valid: bool,
}

/// An index as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedIndex {
    /// One is made up where none is given.
    pub(crate) name: Option<String>,
    pub(crate) table: QualifiedName,
    pub(crate) keys: Vec<WantedKey>,
    pub(crate) included: Vec<String>,
    pub(crate) is_unique: bool,
    pub(crate) nulls_are_equal: bool,
    pub(crate) kind: IndexKind,
    pub(crate) if_not_exists: bool,
    pub(crate) is_concurrent: bool,
    /// WHERE.
    pub(crate) predicate: Option<Box<ast::Expr>>,
}

impl WantedIndex {
    /// Whether rows must compute what it is on.
    pub(crate) fn is_computed(&self) -> bool {
        let is_expression = |key: &WantedKey| matches!(key.indexed, WantedIndexed::Expression(..));
        self.predicate.is_some() || self.keys.iter().any(is_expression)
    }
}

/// An index that a new table gets because another one has it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedIndex {
    /// The other table's.
    pub(crate) index: IndexDefinition,
    pub(crate) keys: Vec<CopiedKey>,
    pub(crate) included: Vec<String>,
    /// The columns that its condition reads.
    pub(crate) conditions: Vec<String>,
    /// It has the other's comment.
    pub(crate) has_comment: bool,
    /// The other table.
    pub(crate) from: Arc<TableDefinition>,
}

/// What such an index is on.
#[derive(Clone, Debug)]
pub(crate) enum CopiedKey {
    Column(String),
    /// A column that is there for the index only, and the columns that it reads.
    Computed(Box<ColumnDefinition>, Vec<String>),
}

impl CopiedKey {
    pub(crate) fn name(&self) -> &str {
        match self {
            CopiedKey::Column(name) => name,
            CopiedKey::Computed(column, _) => &column.name,
        }
    }
}

/// The comments on parts of a table, for another one that is like it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedComments {
    pub(crate) from: Arc<Table>,
    pub(crate) of_checks: bool,
    pub(crate) of_keys: bool,
}

/// What an index is on.
#[derive(Clone, Debug)]
pub(crate) enum WantedIndexed {
    Column(String),
    /// And what it is called in names that are made up.
    Expression(Box<ast::Expr>, String),
}

impl WantedIndexed {
    pub(crate) fn name(&self) -> &str {
        match self {
            WantedIndexed::Column(name) | WantedIndexed::Expression(_, name) => name,
        }
    }
}

/// What an index is on, and its order there.
#[derive(Clone, Debug)]
pub(crate) struct WantedKey {
    pub(crate) indexed: WantedIndexed,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
}

/// A PRIMARY KEY as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedPrimaryKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) deferral: Deferral,
}

/// A UNIQUE constraint as written, or a PRIMARY KEY that can be deferred.
#[derive(Clone, Debug)]
pub(crate) struct WantedUnique {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) nulls_are_equal: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_primary: bool,
    /// Where it stands in the statement.
    pub(crate) position: Option<u32>,
    pub(crate) is_of_new_table: bool,
}

impl WantedUnique {
    /// The index of a PRIMARY KEY that can be deferred.
    pub(crate) fn of_key(key: &WantedPrimaryKey) -> WantedUnique {
        WantedUnique {
            name: key.name.clone(),
            columns: key.columns.clone(),
            nulls_are_equal: false,
            deferral: key.deferral,
            is_primary: true,
            position: None,
            is_of_new_table: false,
        }
    }
}

/// The sequence of a column of a new table.
#[derive(Clone, Debug)]
pub(crate) struct WantedSequence {
    pub(crate) column: u16,
    pub(crate) is_identity: bool,
    pub(crate) options: SequenceOptions,
}

/// A CALL.
#[derive(Debug)]
pub(crate) struct CallPlan {
    pub(crate) routine: Arc<Routine>,
    /// One for each input, of constants and parameters.
    pub(crate) arguments: Vec<Expr>,
}

/// What the command tag counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Select,
    Insert,
    Update,
    Delete,
    /// DO counts nothing.
    Do,
}

#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) session_calls: Vec<SessionCall>,
    pub(crate) procedure: Arc<Procedure>,
    /// Whether it changes no rows and locks none.
    pub(crate) only_looks: bool,
    pub(crate) tag: Tag,
    /// Only for EXPLAIN.
    pub(crate) explain: Option<PlanNode>,
    /// Only for EXPLAIN ANALYZE.
    pub(crate) counters: Counters,
    /// The answer is this, and not the rows.
    pub(crate) analysis: Option<Analysis>,
    /// The tables of its joins.
    pub(crate) judged: Vec<JudgedSize>,
}

impl RunPlan {
    pub(crate) fn new(procedure: Arc<Procedure>, tag: Tag) -> RunPlan {
        RunPlan {
            session_calls: Vec::new(),
            only_looks: procedure.only_looks(),
            procedure,
            tag,
            explain: None,
            counters: Counters::new(),
            analysis: None,
            judged: Vec::new(),
        }
    }

    /// Whether it should be compiled again: a view or a type in it is not what it was then, or a table has
    /// become so large or small that another order of joins may be better.
    pub(crate) fn is_outdated(&self) -> bool {
        (self.procedure.uses_unopened && !self.procedure.is_current())
            || self.judged.iter().any(JudgedSize::is_outdated)
    }
}

/// What EXPLAIN ANALYZE tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Analysis {
    pub(crate) options: ExplainOptions,
    /// How long planning took.
    pub(crate) planning: Duration,
}

/// The size of a table when a statement was compiled.
#[derive(Clone, Debug)]
pub(crate) struct JudgedSize {
    pub(crate) table: Arc<Table>,
    pub(crate) rows: u64,
}

impl JudgedSize {
    /// Smaller tables count as having so many: they may grow, and matter little until then.
    pub(crate) const FEWEST_ROWS: u64 = 100;
    /// A table that has become larger or smaller by this factor has outgrown the plan.
    const FACTOR: u64 = 8;

    pub(crate) fn of(table: &Arc<Table>) -> JudgedSize {
        JudgedSize { table: Arc::clone(table), rows: table.row_count().max(JudgedSize::FEWEST_ROWS) }
    }

    fn is_outdated(&self) -> bool {
        let rows = self.table.row_count().max(JudgedSize::FEWEST_ROWS);
        rows > self.rows.saturating_mul(JudgedSize::FACTOR) || rows < self.rows / JudgedSize::FACTOR
    }
}

/// UNION, INTERSECT and EXCEPT. The last value of a row that comes in says whether it is the second query's.
#[derive(Debug)]
pub(crate) struct Combination {
    /// Columns of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    pub(crate) operator: SetOperator,
    pub(crate) is_all: bool,
}

/// ARRAY (SELECT ...): the elements of one array come in.
#[derive(Debug)]
pub(crate) struct ArrayOf {
    pub(crate) element: ArrayElement,
    /// They come out in order, each once, NULL last: for IN (SELECT ...), which looks for values.
    pub(crate) is_set: bool,
}

/// DISTINCT, ORDER BY, OFFSET and LIMIT over the rows that a procedure feeds, in this order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorting {
    pub(crate) distinct: Distinct,
    /// Values of type `character`, whose trailing blanks do not tell rows apart.
    pub(crate) chars: Vec<usize>,
    pub(crate) sort: Vec<SortKey>,
    /// Registers with numbers of rows that are not negative; NULL is no limit.
    pub(crate) limit: Option<Register>,
    pub(crate) offset: Option<Register>,
    /// How many of the values come out; the rest served sorting only.
    pub(crate) width: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distinct {
    #[default]
    No,
    /// Equal in the first values.
    Rows(usize),
    /// The same where the rows are sorted by all of these: those that are equal become neighbours.
    Sorted,
    /// DISTINCT ON: the first row after sorting for each value of these.
    On(Vec<usize>),
}

/// GROUP BY and aggregates: a row for each group comes out, its keys and then the results.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    /// The first values of a row are the keys of its group.
    pub(crate) keys: usize,
    /// Those of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    /// Without GROUP BY there is one group, even of no rows.
    pub(crate) is_grouped: bool,
    /// Grouping sets: a row goes to a group of each, whose other keys are NULL. None: all keys are one set.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate over values of the rows.
#[derive(Clone, Debug)]
pub(crate) struct AggregateCall {
    pub(crate) kind: AggregateKind,
    /// The values it takes.
    pub(crate) arguments: Vec<usize>,
    pub(crate) argument_type: SqlType,
    /// The value that must be true.
    pub(crate) filter: Option<usize>,
    pub(crate) is_distinct: bool,
    /// The order in which it takes them.
    pub(crate) order: Vec<SortKey>,
}

impl AggregateCall {
    /// Whether it takes every row as it comes.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.filter.is_none() && !self.is_distinct && self.order.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub(crate) value: usize,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) is_char: bool,
}

impl SortKey {
    /// As `ORDER BY value` of what is no `character`.
    pub(crate) fn ascending(value: usize) -> SortKey {
        SortKey { value, is_descending: false, nulls_first: false, is_char: false }
    }
}

/// DECLARE ... CURSOR: the query runs at once, and its rows are kept.
#[derive(Debug)]
pub(crate) struct DeclarePlan {
    pub(crate) cursor: DeclareCursor,
    pub(crate) run: RunPlan,
    pub(crate) columns: Vec<ResultColumn>,
    /// It may go backwards.
    pub(crate) is_scrollable: bool,
    /// The table whose rows the query shows one by one; the values of its primary key follow those of the
    /// columns.
    pub(crate) table: Option<TableId>,
}

/// What COPY FROM makes of a field beside what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForcedField {
    /// FORCE_NULL.
    pub(crate) to_null: bool,
    /// FORCE_NOT_NULL.
    pub(crate) to_text: bool,
}

#[derive(Debug)]
pub(crate) struct CopyInPlan {
    pub(crate) table: Arc<Table>,
    /// The columns of the data.
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// For each column.
    pub(crate) forced: Vec<ForcedField>,
    /// Inserts one row given the columns' values as parameters.
    pub(crate) insert: Arc<Procedure>,
}

#[derive(Debug)]
pub(crate) struct CopyOutPlan {
    pub(crate) run: RunPlan,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// Of each column, whether its values are always quoted (CSV).
    pub(crate) force_quote: Vec<bool>,
}
