//! The procedure IR: every request of a client compiles to this, and nothing else reaches the data.
//!
//! A [`Procedure`] is a flat list of [`Instruction`]s over three kinds of slots, all numbered from 0 and
//! private to one run (a [`Frame`](super::frame::Frame)):
//!
//! * **registers** hold a [`Value`] each, and parameters arrive in the first ones.
//! * **row slots** show one stored row each, in its table or as a copy, filled by reads and scans, read by
//!   [`Expr::Column`].
//! * **cursors** hold the position of a scan.
//!
//! A run may stop before any data instruction to wait for another transaction and later resume at that same
//! instruction, so an instruction either happens wholly or not at all.
//!
//! Expressions are typed by the compiler: both sides of an operator have the same type (it inserted
//! [`Expr::Cast`]s), and evaluation follows PostgreSQL, NULLs included.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use hyades_types::access::NeededRight;
use hyades_types::deferred_checks::DeferrableCheck;
use hyades_types::definition::{IndexDefinition, TableDefinition, TableId, TableName};
use hyades_types::environment::Severity;
use hyades_types::error::{Result, SqlState};
use hyades_types::key::KeyLayout;
use hyades_types::value::{ArrayElement, SqlType};

use super::cursor_statement::CursorStatement;
pub use super::expression::{Deep, Expr};
pub use super::slots::{
    CalleeIndex, CursorSlot, JoinSlot, Label, Register, RowSlot, SpoolSlot, StageIndex, TableIndex, TapeSlot,
};
pub use super::stage::{LaterRows, Stage, StageRows, StageRun};
use crate::storage::row::{Leading, RowLayout};
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;

/// A statement whose text is known only when it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicStatement {
    pub text: Expr,
    /// Its parameters, `$1` and so on.
    pub arguments: Vec<Expr>,
    pub types: Vec<SqlType>,
    /// What is made of its rows. `None`: they are not needed.
    pub rows: Option<(SpoolSlot, DynamicRows)>,
    /// Receives the number of rows returned or changed, as a `bigint`.
    pub count: Register,
}

/// The rows that such a statement must return.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicRows {
    /// Rows of exactly these types.
    Exact(Vec<SqlType>),
    /// Converted to these types. Surplus columns are dropped, missing ones are NULL.
    Converted(Vec<SqlType>),
    /// As they are. The spool knows their columns.
    Any,
}

/// A compiled procedure, immutable and shared by all sessions.
#[derive(Clone, Debug, Default)]
pub struct Procedure {
    /// For EXPLAIN and messages.
    pub name: String,
    /// Types of the parameters, which arrive in registers `0..parameters.len()`.
    pub parameters: Vec<SqlType>,
    pub registers: u16,
    pub rows: u16,
    /// For each row slot, the part of a row that is read of it.
    pub leading: Vec<Leading>,
    pub cursors: u16,
    pub tables: Vec<TableReference>,
    pub code: Vec<Instruction>,
    /// Types of the values of every [`Instruction::Emit`].
    pub output: Vec<SqlType>,
    /// The names of these values, for [`DynamicRows::Any`].
    pub output_names: Vec<String>,
    /// Whether a command record may represent a run of it.
    pub replay: Replayability,
    pub spools: u16,
    pub joins: u16,
    /// Only slices have any.
    pub tapes: u16,
    pub stages: Vec<Arc<dyn Stage>>,
    pub callees: Vec<Callee>,
    /// Registers that are passed to the caller when the procedure returns: OUT parameters, or a function's
    /// value.
    pub results: Vec<Register>,
    /// Whether a run of it reads the catalog. Then the environment must have one.
    pub asks_catalog: bool,
    /// Enum types that its source names.
    pub types: Vec<Arc<StoredType>>,
    /// Casts of users that it applies.
    pub casts: Vec<Arc<Routine>>,
    /// Whether it, or what it calls, uses views or types. No run opens them, so before a run the caller
    /// checks that they have not changed.
    pub uses_unopened: bool,
    /// Names without a schema that its source uses as relations: temporary ones of a session may shadow them.
    pub open_names: Vec<String>,
    /// The rights needed to start a run. A replay needs none.
    pub rights: Vec<NeededRight>,
    /// Whether one of these, or of those of what it calls, must be the owner of a view's: even a superuser's
    /// run needs those.
    pub needs_owners_rights: bool,
    /// Variables of its body that have a register of their own, for reports about it.
    pub variables: Vec<(Register, String)>,
    /// Where the code of each statement begins, and what the statement is, by label. Empty for what has no
    /// body.
    pub lines: Vec<Line>,
    /// Whether it is a trigger's function, which `pg_trigger_depth()` counts.
    pub is_trigger: bool,
    /// The procedures on the longest way from it to what it calls, itself included.
    pub depth: u32,
    /// If it is the head of a cycle of calls, the other procedures of that, which exist only in it.
    pub members: Vec<Called>,
    /// Its number as a [`Callee::Member`]. The members have those that follow.
    pub number: u16,
    /// Its replay program, once that has been asked for. `None`: all of it is needed.
    pub program: OnceLock<Option<Arc<Procedure>>>,
    /// Whether it is a procedure of a cycle that has another head. Then it can run only inside that one, and
    /// what is asked of it leaves out what the rest of the cycle does.
    pub is_member: bool,
}

impl Procedure {
    /// Whether it, or what it calls, uses the table.
    pub fn uses_table(&self, table: TableId) -> bool {
        self.tables.iter().any(|used| used.table.id() == table)
            || self.called().any(|called| called.procedure.uses_table(table))
    }

    /// Passes all rights that a run, including everything that it calls, needs to `see`.
    ///
    /// # Errors
    /// The error of `see`.
    pub fn for_each_right(&self, see: &mut dyn FnMut(&NeededRight) -> Result<()>) -> Result<()> {
        self.rights.iter().try_for_each(&mut *see)?;
        self.called().try_for_each(|called| called.procedure.for_each_right(see))
    }

    /// The procedures that it calls outside of its cycle, and if it is the head of that, those in it.
    pub fn called(&self) -> impl Iterator<Item = &Called> {
        let outside = self.callees.iter().filter_map(|callee| match callee {
            Callee::Member { .. } => None,
            Callee::Procedure(called) => Some(called),
        });
        outside.chain(&self.members)
    }

    /// It, and all that it calls, directly or through others, each once.
    pub fn with_all_called(&self) -> Vec<&Procedure> {
        let (mut seen, mut all, mut next) = (HashSet::new(), vec![self], 0);
        while let Some(procedure) = all.get(next).copied() {
            next += 1;
            let called = procedure.called().map(|called| &called.procedure);
            all.extend(called.filter(|called| seen.insert(Arc::as_ptr(called))).map(|called| &**called));
        }
        all
    }

    /// Makes it the head of a cycle of calls. What was known of it from then on holds for all of the cycle.
    pub fn become_head(&mut self, number: u16, members: Vec<Called>) {
        for Called { procedure, .. } in &members {
            self.asks_catalog |= procedure.asks_catalog;
            self.uses_unopened |= procedure.uses_unopened;
            self.needs_owners_rights |= procedure.needs_owners_rights;
            self.depth = self.depth.max(procedure.depth.saturating_add(1));
            self.replay = std::mem::take(&mut self.replay).and(&procedure.replay);
        }
        (self.number, self.members) = (number, members);
    }

    /// A procedure of the cycle of which this is the head, by its number in [`Callee::Member`]. `None`: the
    /// head.
    pub fn member(&self, number: u16) -> Option<&Called> {
        self.members.get(usize::from(number.checked_sub(self.number)?.checked_sub(1)?))
    }

    /// A table that it uses.
    #[inline]
    pub fn table(&self, index: TableIndex) -> &TableReference {
        &self.tables[usize::from(index)]
    }
}

/// A statement of a routine's body, for the context of errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub from: Label,
    /// The line in the body, from 1. 0 for code that belongs to no line.
    pub line: u32,
    /// The routine whose body it is, if that is one whose code has come in place of a call.
    pub routine: Option<Arc<str>>,
    /// `assignment`, `SQL statement` ... Those that begin with `during`, or have no line, are shown without
    /// "at".
    pub kind: &'static str,
}

/// The kind of a statement in a function in SQL. Its line is its number.
pub const SQL_STATEMENT: &str = "statement";

/// What an [`Instruction::Call`] calls.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A procedure of the same cycle: of those that call each other, directly or through others. They are
    /// kept by the one that is called from outside, the head.
    Member {
        number: u16,
        /// For EXPLAIN.
        name: String,
    },
    Procedure(Called),
}

/// A procedure that another contains.
#[derive(Clone, Debug)]
pub struct Called {
    pub procedure: Arc<Procedure>,
    /// What it was compiled from. When that is dropped, so is this.
    pub routine: Arc<Routine>,
}

/// What the compiler guarantees: whether a run can be repeated from a log record that holds only the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayability {
    /// The same arguments, captured values and state give the same run. The record captures what is declared
    /// here as used.
    Deterministic {
        /// `now()` and `statement_timestamp()`. A procedure that asks for the time of day while it runs is
        /// not deterministic.
        uses_clock: bool,
        /// `random()`, `gen_random_uuid()`.
        uses_random: bool,
        /// User, database or time zone.
        uses_identity: bool,
    },
    /// Must be logged as data, for this reason.
    Unknown(Cow<'static, str>),
}

impl Replayability {
    /// Deterministic, and nothing to capture.
    pub const PURE: Replayability =
        Replayability::Deterministic { uses_clock: false, uses_random: false, uses_identity: false };

    /// That of a procedure which also runs another.
    #[must_use]
    pub fn and(self, other: &Replayability) -> Replayability {
        match (self, other) {
            (Replayability::Unknown(why), _) => Replayability::Unknown(why),
            (_, Replayability::Unknown(why)) => Replayability::Unknown(why.clone()),
            (
                Replayability::Deterministic { uses_clock, uses_random, uses_identity },
                Replayability::Deterministic {
                    uses_clock: clock,
                    uses_random: random,
                    uses_identity: identity,
                },
            ) => Replayability::Deterministic {
                uses_clock: uses_clock || *clock,
                uses_random: uses_random || *random,
                uses_identity: uses_identity || *identity,
            },
        }
    }
}

impl Default for Replayability {
    fn default() -> Replayability {
        Replayability::Unknown(Cow::Borrowed("it is a statement, not a call"))
    }
}

/// A table and the version of its definition that the procedure was compiled against. If it has changed,
/// running returns [`Abort::StalePlan`](hyades_types::error::Abort::StalePlan).
#[derive(Clone, Debug)]
pub struct TableReference {
    pub table: Arc<Table>,
    pub version: u64,
    pub definition: Arc<TableDefinition>,
    /// An index that is being built. It is written like the others.
    pub unfinished_index: Option<Arc<IndexDefinition>>,
    pub layout: Arc<RowLayout>,
    pub key_layout: Arc<KeyLayout>,
}

pub use crate::txn::{Direction, Impatience, IndexNumber, Intent, Sight, Strength};

/// One end of a scan: a prefix of the index's columns, already of the columns' types. A NULL in it
/// makes the scan empty.
#[derive(Clone, Debug)]
pub enum ScanBound {
    Unbounded,
    Included(Vec<Expr>),
    Excluded(Vec<Expr>),
    /// For a secondary index: the non-NULL values of the column after the prefix.
    NotNull(Vec<Expr>),
}

/// The keys that a scan visits: those of an index between two bounds, in the order of the index.
#[derive(Clone, Debug)]
pub struct ScanRange {
    pub index: IndexNumber,
    pub lower: ScanBound,
    pub upper: ScanBound,
}

impl ScanRange {
    /// All keys of the primary index.
    pub fn whole() -> ScanRange {
        ScanRange { index: None, lower: ScanBound::Unbounded, upper: ScanBound::Unbounded }
    }
}

/// Which duplicates are not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    Any,
    Index(IndexNumber),
}

/// The columns of a new row whose values come from the statement itself. The details of errors always
/// show them, and show the other columns only to roles that may read the table.
pub type Given = Arc<[u16]>;

#[derive(Clone, Debug)]
pub enum Instruction {
    Evaluate {
        expr: Expr,
        into: Register,
    },
    Jump {
        to: Label,
    },
    /// Jumps when the condition is false or NULL.
    JumpUnless {
        condition: Expr,
        to: Label,
    },
    /// Reads the row with this full primary key into `row`, or jumps to `absent`. A NULL key value is absent.
    /// With [`Strength::KeyRead`], `row` gets only the key, and its columns must not be read. The same holds
    /// below.
    ReadPoint {
        table: TableIndex,
        key: Vec<Expr>,
        row: RowSlot,
        intent: Intent,
        absent: Label,
    },
    /// The key under which the row in `row` is stored, as a `bytea`, for finding it again with
    /// [`Instruction::ReadKey`].
    RowKey {
        row: RowSlot,
        into: Register,
    },
    /// Reads the row that is stored under this key, or jumps to `absent`.
    ReadKey {
        table: TableIndex,
        key: Expr,
        row: RowSlot,
        intent: Intent,
        absent: Label,
    },
    /// At the head of a FOR loop over integers: the rows with these keys will be read in the iteration in
    /// which `variable` has its value, and in those up to `last`. Prefetches their memory, and has no effect.
    LookAhead {
        variable: Register,
        last: Register,
        reads: Vec<(TableIndex, Vec<Expr>)>,
    },
    /// Positions `cursor` before the first row of the range. A table whose primary index is a hash, and a
    /// table without a primary key, is scanned as a whole and in no particular order, unless the range is of
    /// a secondary index.
    OpenScan {
        cursor: CursorSlot,
        table: TableIndex,
        range: ScanRange,
        direction: Direction,
        intent: Intent,
    },
    /// Reads the next row of the scan into `row`, or jumps to `end`. A scan does not see rows that its own
    /// procedure has meanwhile inserted at keys that it has passed.
    NextRow {
        cursor: CursorSlot,
        row: RowSlot,
        end: Label,
    },
    /// The row in `row`, read with [`Sight::Chosen`] and this intent, is one of the wanted rows. A
    /// transaction that reads at a snapshot locks it now. If the row has changed since, `row` shows its new
    /// state, and the code at `changed` checks again whether it is wanted. If it no longer exists, execution
    /// continues at `gone`. All other transactions have locked it when they read it. A scan with `cursor`
    /// that skips locked rows releases the locks of rows that reach no such instruction.
    LockRow {
        table: TableIndex,
        row: RowSlot,
        cursor: Option<CursorSlot>,
        intent: Intent,
        changed: Label,
        gone: Label,
    },
    /// The row in `row` was read with this intent, kept in a join table, and is about to be changed:
    /// [`Instruction::LockRow`] for a transaction that reads at a snapshot. Any other reads it again, and
    /// continues at `changed` or `gone` if this statement has changed or deleted it since.
    LockAgain {
        table: TableIndex,
        row: RowSlot,
        intent: Intent,
        changed: Label,
        gone: Label,
    },
    /// A statement of a body begins: under READ COMMITTED it sees what has been committed up to now.
    BeginStatement,
    /// Sets the count of affected rows to zero, before a statement of a body.
    ResetCount,
    /// Writes the row of these values, one per column, into `row`, and nowhere else: for constraints and
    /// generated columns, which examine a row before it is inserted. NOT NULL and lengths are checked, except
    /// in a partial row, some of whose values come later.
    MakeRow {
        table: TableIndex,
        values: Vec<Expr>,
        row: RowSlot,
        is_partial: bool,
        given: Given,
    },
    /// Inserts a row of one value per column, of the columns' types. NOT NULL, lengths and uniqueness are
    /// checked here. The new row is also put into `row`.
    Insert {
        table: TableIndex,
        values: Vec<Expr>,
        row: RowSlot,
        given: Given,
    },
    /// The same where it is known to succeed: no other row is looked for. Only in replay programs.
    InsertBlind {
        table: TableIndex,
        values: Vec<Expr>,
        row: RowSlot,
    },
    /// Like `Insert`, but jumps to `duplicate` instead of failing when another row has the same key in the
    /// index that `arbiter` names, or in any.
    InsertOr {
        table: TableIndex,
        values: Vec<Expr>,
        row: RowSlot,
        arbiter: Arbiter,
        duplicate: Label,
        given: Given,
    },
    /// Sets columns of the row last read into `row` and locked with [`Strength::Write`], or, if none of the
    /// columns belongs to the primary key or a unique index, with [`Strength::NoKeyWrite`]. All expressions
    /// see the old row. `row` then holds the new one. A changed primary key is a delete and an insert.
    Update {
        table: TableIndex,
        row: RowSlot,
        set: Vec<(u16, Expr)>,
    },
    /// Deletes the row last read into `row` and locked with [`Strength::Write`]. `row` keeps its old content.
    Delete {
        table: TableIndex,
        row: RowSlot,
    },
    /// Passes one result row to the caller.
    Emit {
        values: Vec<Expr>,
    },
    /// The same for each row left in a spool, with its first `width` values.
    EmitSpooled {
        spool: SpoolSlot,
        width: u16,
    },
    /// Adds one to the run's count of affected rows.
    CountRow,
    /// Fails with this SQLSTATE and message.
    Raise {
        state: &'static str,
        message: Expr,
    },
    /// Notes that a constraint is to be checked with these values when the transaction ends, or continues at
    /// `immediate` if it is not deferred now.
    Defer {
        check: Box<DeferrableCheck>,
        values: Vec<Expr>,
        immediate: Label,
    },
    /// Jumps to `alone` if no other row can have the values of the row in `row`, which was just written, in
    /// this unique index, whose constraint is checked later. Never waits.
    SkipUnlessTwin {
        table: TableIndex,
        row: RowSlot,
        index: u16,
        alone: Label,
    },
    /// Fails if another row has these values and will keep them.
    RefuseTwin {
        table: TableIndex,
        row: RowSlot,
        index: u16,
    },
    /// Fails because a constraint is violated.
    RaiseViolation(Box<Violation>),
    /// Fails because the row in `row` violates a CHECK constraint. `is_stored`: the row is in the table
    /// already.
    RefuseRow {
        table: TableIndex,
        row: RowSlot,
        constraint: String,
        is_stored: bool,
        given: Given,
    },
    /// RAISE: a message to the client, or an error.
    Report(Box<Report>),
    /// Calls another procedure: its parameters get the values of `arguments`, and when it returns, its
    /// results are put into `into`. What it emits goes to `rows`. It has the spools `lent` as its first ones.
    Call {
        callee: CalleeIndex,
        arguments: Vec<Expr>,
        into: Vec<Register>,
        rows: Option<SpoolSlot>,
        lent: Vec<SpoolSlot>,
    },
    /// Runs a text as a statement of SQL (EXECUTE).
    Dynamic(Box<DynamicStatement>),
    /// OPEN, FETCH, MOVE and CLOSE of a cursor that the session keeps.
    Cursor(Box<CursorStatement>),
    /// COMMIT or ROLLBACK of a procedure: ends the transaction and begins the next one.
    EndTransaction {
        commits: bool,
    },
    /// Moves the count into registers: whether it is above zero, and the count itself as a `bigint`.
    TakeCount {
        found: Option<Register>,
        count: Option<Register>,
    },
    /// Empties a spool.
    OpenSpool {
        spool: SpoolSlot,
    },
    /// Appends a row to a spool.
    Spool {
        spool: SpoolSlot,
        values: Vec<Expr>,
    },
    /// Takes the next row from a spool into `width` registers from `into` on, or jumps to `end`.
    NextSpooled {
        spool: SpoolSlot,
        into: Register,
        width: u16,
        end: Label,
    },
    /// Copies the row at `position` (counting from 0) from a spool into `width` registers from `into` on, and
    /// advances the position, or jumps to `end`. The rows stay.
    ReadSpool {
        spool: SpoolSlot,
        position: Register,
        into: Register,
        width: u16,
        end: Label,
    },
    /// A step of a join that keeps one side in a join table.
    Join {
        join: JoinSlot,
        step: JoinStep,
    },
    /// The row slot shows a row of NULLs, for an outer join without a match.
    AbsentRow {
        table: TableIndex,
        row: RowSlot,
    },
    /// Notes in a spool that the statement has written the row in `row`, for [`Instruction::RefuseWritten`]
    /// and [`Instruction::SkipWritten`].
    NoteWritten {
        spool: SpoolSlot,
        row: RowSlot,
    },
    /// ON CONFLICT DO UPDATE: fails if the statement has written the row in `row` before.
    RefuseWritten {
        spool: SpoolSlot,
        row: RowSlot,
    },
    /// Jumps if the statement has written the row in `row` before.
    SkipWritten {
        spool: SpoolSlot,
        row: RowSlot,
        to: Label,
    },
    OpenStage {
        stage: StageIndex,
    },
    /// Passes a row to a stage.
    FeedStage {
        stage: StageIndex,
        values: Vec<Expr>,
    },
    /// Appends the result rows of the stage to the spool.
    FinishStage {
        stage: StageIndex,
        spool: SpoolSlot,
    },
    /// Appends the rows of the system catalog's relation with this number to a spool.
    ReadCatalog {
        relation: u32,
        spool: SpoolSlot,
    },
    /// From here to the matching [`Instruction::LeaveBlock`], an error undoes what has been done since, and
    /// jumps to `handler`.
    EnterBlock {
        handler: Label,
    },
    LeaveBlock,
    /// Jumps to `otherwise` unless the error being handled is one of these.
    MatchError {
        conditions: Vec<Condition>,
        otherwise: Label,
    },
    /// A field of the error being handled, as text.
    ErrorField {
        field: ErrorField,
        into: Register,
    },
    /// Fails with the error being handled.
    Rethrow,
    /// The handling of the error is complete.
    ForgetError,
    /// FOR over integers: `variable` becomes `counter`, or the loop ends because `counter` is beyond `last`.
    ForNext {
        counter: Register,
        last: Register,
        variable: Register,
        is_reverse: bool,
        end: Label,
    },
    /// Adds `step` to `counter` (or subtracts it) and jumps to `again`, or to `end` if the next number would
    /// be out of range.
    ForStep {
        counter: Register,
        step: Register,
        is_reverse: bool,
        again: Label,
        end: Label,
    },
    /// `array[index] := value`, both of the right types. An array that is NULL becomes one with elements.
    SetElement {
        array: Register,
        element: ArrayElement,
        index: Expr,
        value: Expr,
    },
    /// Fails, because the run that is replayed has not come here: a check of this line would have failed.
    /// Only in replay programs.
    Trap {
        line: u32,
        /// As in [`Line`].
        routine: Option<Arc<str>>,
    },
    /// Appends values to a tape. Only in slices, which pass each other values so.
    Put {
        tape: TapeSlot,
        values: Vec<Expr>,
    },
    /// Takes the next values from a tape that another slice of the same call has written.
    Take {
        tape: TapeSlot,
        into: Vec<Register>,
    },
    /// Ends the run. Running off the end of the code does the same.
    Return,
}

/// An operation of an [`Instruction::Join`] on its join table.
#[derive(Clone, Debug)]
pub enum JoinStep {
    /// Empties it.
    Open,
    /// Keeps a row under these values.
    Keep { key: Vec<Expr>, parts: JoinedParts },
    /// Keeps these values, or jumps to `known` if they are kept already. NULLs are equal to each other.
    KeepNew { key: Vec<Expr>, known: Label },
    /// Shows the next row that is kept under these values, or jumps to `end`. `position` is NULL before the
    /// first one, and then that row's number. Nothing equals NULL.
    Probe { key: Vec<Expr>, position: Register, parts: JoinedParts, end: Label },
    /// The same if at most one row is kept under the same values: shows it, or jumps to `end`.
    ProbeOnly { key: Vec<Expr>, parts: JoinedParts, end: Label },
    /// Notes that the row with this number has found a match on the other side.
    Note { position: Register },
    /// Forgets all matches.
    Forget,
    /// Shows the next row after `position` that has no match on the other side, or jumps to `end`.
    NextUnjoined { position: Register, parts: JoinedParts, end: Label },
}

/// What a join table keeps of a row: a row slot, and `width` registers from `into` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinedParts {
    pub row: Option<(TableIndex, RowSlot)>,
    /// Whether the row's key in storage is kept too, so that the row can be changed.
    pub is_changed: bool,
    pub into: Register,
    pub width: u16,
}

impl JoinedParts {
    /// The registers.
    pub fn registers(&self) -> std::ops::Range<Register> {
        self.into..self.into.saturating_add(self.width)
    }
}

/// The error of [`Instruction::RaiseViolation`].
#[derive(Clone, Debug)]
pub struct Violation {
    pub state: &'static str,
    pub message: String,
    /// A text that names the offending values.
    pub detail: Expr,
    /// The table that has these values, and the detail for roles that may not read it.
    pub hidden: Option<(TableId, String)>,
    /// The table that has the constraint.
    pub table: TableName,
    pub constraint: String,
}

/// What an exception handler catches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Everything but a cancelled query.
    Others,
    /// A SQLSTATE. One that ends in 000 stands for its class.
    State(SqlState),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorField {
    State,
    Message,
    Detail,
    Hint,
    Table,
    Column,
    Constraint,
    Schema,
    DataType,
    Context,
}

/// What RAISE reports. All expressions are texts.
#[derive(Clone, Debug)]
pub struct Report {
    pub severity: Severity,
    /// The SQLSTATE.
    pub state: Expr,
    pub message: Expr,
    pub fields: Vec<(ErrorField, Expr)>,
}
