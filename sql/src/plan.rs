//! What a statement compiles to: a [`Plan`].
//!
//! A query or a change is one procedure that emits its result ([`RunPlan`]). Operations that need all rows
//! at once (aggregates, sorting, DISTINCT) are stages ([`Grouping`], [`Sorting`]) that the procedure feeds
//! and reads. Where rows must be collected before they may change (an UPDATE that moves rows along the
//! scanned key, INSERT ... SELECT into the same table), the procedure spools them.

pub(crate) mod access;
pub(crate) mod implication;
pub(crate) mod index_expressions;
pub(crate) mod level;
pub(crate) mod order;

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
use sqlparser::ast::SetOperator;

use crate::answer::{Response, ResultColumn};
use crate::bind::aggregation::AggregateKind;
use crate::bind::session_function::SessionCall;
use crate::explain::PlanNode;
use crate::explain::counted::Counters;
use crate::statement::deep_text::Written;
use crate::statement::{
    AccessCommand, AlterType, Commented, CopyOptions, DeclareCursor, DropIndex, DropSchema, DropSequence,
    DropType, DropView, ExplainOptions, FetchCursor, IsolationModes, ListenStatement, Maintained, Moved,
    OnCommit, QualifiedName, RenameIndex, RoleName, SchemaElement, SequenceOptions, SetValue, SettingScope,
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

impl Plan {
    /// The plan of a statement that returns no rows and changes nothing.
    pub(crate) fn simple(command: &'static str, action: Action) -> Plan {
        Plan { parameters: Vec::new(), response: Response::NoData, action, command, is_read_only: true }
    }

    /// The plan of a statement that changes the catalog.
    pub(crate) fn schema(command: &'static str, schema: SchemaCommand) -> Plan {
        Plan { is_read_only: false, ..Plan::simple(command, Action::Schema(schema)) }
    }
}

#[derive(Debug)]
pub(crate) enum Action {
    Empty,
    Run(Box<RunPlan>),
    Call(Box<CallPlan>),
    /// DO, before the session has compiled its block.
    Block {
        definition: Box<RoutineDefinition>,
        /// The number of characters of the statement before the body.
        body_offset: u32,
    },
    /// No names means ALL.
    SetConstraints {
        names: Vec<QualifiedName>,
        is_deferred: bool,
    },
    Lock(LockCommand),
    Checkpoint,
    /// Finished lines, and the rights that the explained statement needs.
    Explain(Vec<String>, Vec<NeededRight>),
    /// How a call is logged depends on the session, which explains it for this reason.
    ExplainCall {
        routine: Arc<Routine>,
        /// Whether its arguments draw from sequences.
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
        on: Maintained,
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
    /// `None` means ALL.
    CloseCursor(Option<String>),
}

impl Action {
    /// Calls `see` with each right that the role running it needs.
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

    /// Whether even a superuser needs rights for it: those of the owners of views.
    #[inline]
    pub(crate) fn needs_owners_rights(&self) -> bool {
        match self {
            Action::Run(run) => run.procedure.needs_owners_rights,
            Action::CopyOut(copy) => copy.run.procedure.needs_owners_rights,
            Action::Declare(declare) => declare.run.procedure.needs_owners_rights,
            Action::CopyIn(copy) => copy.insert.needs_owners_rights,
            Action::Explain(_, rights) => rights.iter().any(|right| right.owner_of.is_some()),
            _ => false,
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
        /// Those of the tables named by LIKE.
        indexes: Vec<CopiedIndex>,
        comments: Vec<CopiedComments>,
        on_commit: OnCommit,
    },
    CreateIndex(WantedIndex),
    DropIndex(DropIndex),
    RenameIndex(RenameIndex),
    /// The index, and whether CONCURRENTLY.
    Reindex(QualifiedName, bool),
    AlterTable {
        table: QualifiedName,
        if_exists: bool,
        /// In the order in which they are carried out.
        actions: Vec<AlterAction>,
    },
    /// CREATE [OR REPLACE] VIEW.
    CreateView {
        definition: Box<TableDefinition>,
        or_replace: bool,
        /// Whether the statement names the schema it goes to.
        names_schema: bool,
    },
    DropView(DropView),
    /// CREATE TABLE ... AS.
    CreateAs {
        definition: Box<TableDefinition>,
        if_not_exists: bool,
        /// The query whose rows go into it.
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
        /// The number of characters of the statement before the body.
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

/// One action of ALTER TABLE, as written. It is resolved once the table is locked.
#[derive(Clone, Debug)]
pub(crate) enum AlterAction {
    AddPrimaryKey(WantedPrimaryKey),
    AddUnique(WantedUnique),
    /// CREATE INDEX on something that must be computed from the rows.
    AddIndex(Box<WantedIndex>),
    /// UNIQUE or PRIMARY KEY by an index that exists already.
    UseIndex {
        name: Option<String>,
        index: String,
        is_primary: bool,
        deferral: Deferral,
        /// The position of the constraint in the statement.
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
        using: Option<Written>,
    },
    SetDefault {
        column: String,
        /// `None`: DROP DEFAULT.
        default: Option<Written>,
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
    /// Already the case, or without effect here.
    Nothing,
    DropConstraint {
        name: String,
        /// Whether the constraint may be missing.
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

/// A CHECK constraint, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedCheck {
    pub(crate) name: Option<String>,
    pub(crate) expr: Written,
    pub(crate) is_not_valid: bool,
}

/// A foreign key, as written. Its tables and columns are looked up when the statement runs.
#[derive(Clone, Debug)]
pub(crate) struct WantedForeignKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) parent: QualifiedName,
    /// Empty means the parent's primary key.
    pub(crate) parent_columns: Vec<String>,
    pub(crate) on_delete: KeyAction,
    /// The columns that ON DELETE sets. Empty means all of them.
    pub(crate) delete_columns: Vec<String>,
    pub(crate) on_update: KeyAction,
    pub(crate) is_full: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_not_valid: bool,
}

/// An index, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedIndex {
    /// `None` if a name must be made up.
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
    pub(crate) predicate: Option<Written>,
}

impl WantedIndex {
    /// Whether it is on something that must be computed from the rows.
    pub(crate) fn is_computed(&self) -> bool {
        let is_expression = |key: &WantedKey| matches!(key.indexed, WantedIndexed::Expression(..));
        self.predicate.is_some() || self.keys.iter().any(is_expression)
    }
}

/// An index that a new table gets because a table named by LIKE has it.
#[derive(Clone, Debug)]
pub(crate) struct CopiedIndex {
    /// The index of the other table.
    pub(crate) index: IndexDefinition,
    pub(crate) keys: Vec<CopiedKey>,
    pub(crate) included: Vec<String>,
    /// The columns that its condition reads.
    pub(crate) conditions: Vec<String>,
    /// Whether it takes over the comment on the other index.
    pub(crate) has_comment: bool,
    /// The other table.
    pub(crate) from: Arc<TableDefinition>,
}

/// What a copied index is on.
#[derive(Clone, Debug)]
pub(crate) enum CopiedKey {
    Column(String),
    /// A column that exists only for the index, and the columns from which it is computed.
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

/// The comments on parts of a table, for a new table made LIKE it.
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
    /// The expression, and what it is called in generated names.
    Expression(Written, String),
}

impl WantedIndexed {
    pub(crate) fn name(&self) -> &str {
        match self {
            WantedIndexed::Column(name) | WantedIndexed::Expression(_, name) => name,
        }
    }
}

/// One key of an index: what it is on, and its order.
#[derive(Clone, Debug)]
pub(crate) struct WantedKey {
    pub(crate) indexed: WantedIndexed,
    pub(crate) is_descending: bool,
    pub(crate) nulls_first: bool,
}

/// A PRIMARY KEY, as written.
#[derive(Clone, Debug)]
pub(crate) struct WantedPrimaryKey {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) deferral: Deferral,
}

/// A UNIQUE constraint, as written, or a PRIMARY KEY that can be deferred.
#[derive(Clone, Debug)]
pub(crate) struct WantedUnique {
    pub(crate) name: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) nulls_are_equal: bool,
    pub(crate) deferral: Deferral,
    pub(crate) is_primary: bool,
    /// Its position in the statement.
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
    /// DO has no count.
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
    /// Set if the answer is this analysis instead of the rows.
    pub(crate) analysis: Option<Analysis>,
    /// The sizes of the tables that it joins.
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

    /// Whether it should be compiled again: a view or a type in it has changed since, or a table has grown
    /// or shrunk so much that another join order may be better.
    pub(crate) fn is_outdated(&self) -> bool {
        (self.procedure.uses_unopened && !self.procedure.is_current())
            || self.judged.iter().any(JudgedSize::is_outdated)
    }
}

/// What EXPLAIN ANALYZE reports.
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
    /// Smaller tables count as having this many rows. They may grow, and matter little until then.
    pub(crate) const FEWEST_ROWS: u64 = 100;
    /// A plan is outdated once a table has grown or shrunk by this factor.
    const FACTOR: u64 = 8;

    pub(crate) fn of(table: &Arc<Table>) -> JudgedSize {
        JudgedSize { table: Arc::clone(table), rows: table.row_count().max(JudgedSize::FEWEST_ROWS) }
    }

    fn is_outdated(&self) -> bool {
        let rows = self.table.row_count().max(JudgedSize::FEWEST_ROWS);
        rows > self.rows.saturating_mul(JudgedSize::FACTOR) || rows < self.rows / JudgedSize::FACTOR
    }
}

/// UNION, INTERSECT and EXCEPT. The last value of an input row says whether it comes from the second query.
#[derive(Debug)]
pub(crate) struct Combination {
    /// Columns of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    pub(crate) operator: SetOperator,
    pub(crate) is_all: bool,
}

/// ARRAY (SELECT ...): its input is the elements of one array.
#[derive(Debug)]
pub(crate) struct ArrayOf {
    pub(crate) element: ArrayElement,
    /// The elements come out in order, each once, NULL last. For IN (SELECT ...), which searches them.
    pub(crate) is_set: bool,
}

/// DISTINCT, ORDER BY, OFFSET and LIMIT, in this order, over the rows that a procedure feeds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorting {
    pub(crate) distinct: Distinct,
    /// Values of type `character`, whose trailing blanks do not make rows distinct.
    pub(crate) chars: Vec<usize>,
    pub(crate) sort: Vec<SortKey>,
    /// Registers that hold non-negative row counts. NULL means no limit.
    pub(crate) limit: Option<Register>,
    pub(crate) offset: Option<Register>,
    /// How many of the values are output. The others serve only for sorting.
    pub(crate) width: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distinct {
    #[default]
    No,
    /// Rows are duplicates if these first values are equal.
    Rows(usize),
    /// The same where the rows are sorted by all of these values, which makes duplicates neighbours.
    Sorted,
    /// DISTINCT ON: for each combination of these values, the first row after sorting.
    On(Vec<usize>),
}

/// GROUP BY and aggregates: one row for each group is output, its keys first and then the results.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    /// This many first values of a row are the keys of its group.
    pub(crate) keys: usize,
    /// Keys of type `character`, whose trailing blanks do not count.
    pub(crate) chars: Vec<usize>,
    /// Without GROUP BY there is exactly one group, even if there are no rows.
    pub(crate) is_grouped: bool,
    /// Grouping sets: a row goes to one group of each set, whose other keys are NULL. If empty, all keys
    /// form one set.
    pub(crate) sets: Vec<Vec<usize>>,
    pub(crate) calls: Vec<AggregateCall>,
}

/// An aggregate over values of the input rows.
#[derive(Clone, Debug)]
pub(crate) struct AggregateCall {
    pub(crate) kind: AggregateKind,
    /// The values it takes.
    pub(crate) arguments: Vec<usize>,
    pub(crate) argument_type: SqlType,
    /// The value that must be true for a row to count.
    pub(crate) filter: Option<usize>,
    pub(crate) is_distinct: bool,
    /// The order in which it takes the rows.
    pub(crate) order: Vec<SortKey>,
}

impl AggregateCall {
    /// Whether it takes every row in input order.
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
    /// Like `ORDER BY value` for a type other than `character`.
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
    /// Whether the cursor may move backwards.
    pub(crate) is_scrollable: bool,
    /// The table of which the query returns each row individually. The values of its primary key follow the
    /// columns.
    pub(crate) table: Option<TableId>,
}

/// How COPY FROM converts a field besides reading its text.
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
    /// The columns of the data, in order.
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// For each column.
    pub(crate) forced: Vec<ForcedField>,
    /// Inserts one row, with the columns' values as parameters.
    pub(crate) insert: Arc<Procedure>,
}

#[derive(Debug)]
pub(crate) struct CopyOutPlan {
    pub(crate) run: RunPlan,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) options: CopyOptions,
    /// For each column, whether its values are always quoted (CSV).
    pub(crate) force_quote: Vec<bool>,
}
