//! The result of parsing a statement: a [`Statement`] and its parts. Names and types are not looked up yet.
//!
//! Files:
//! * `access_commands` (roles and rights), `cast_commands`, `explain_options`, `extension_commands`,
//!   `qualified_name`, `trigger_commands`, `type_commands`.

mod access_commands;
mod cast_commands;
mod explain_options;
mod extension_commands;
mod qualified_name;
mod trigger_commands;
mod type_commands;

use hyades_engine::db::TableLock;
use hyades_types::cursors::FetchDirection;
use hyades_types::definition::{ParameterMode, RoutineKind, RoutineTraits};

pub(crate) use self::access_commands::{
    AccessCommand, Granted, GrantedOn, Owned, RoleName, RoleOption, SettingChange, SettingsTarget,
};
pub(crate) use self::cast_commands::{CastCommand, WrittenMethod};
pub(crate) use self::explain_options::{ExplainFormat, ExplainOptions};
pub(crate) use self::extension_commands::{CreateExtension, ExtensionCommand};
pub(crate) use self::qualified_name::QualifiedName;
pub(crate) use self::trigger_commands::{CreateTrigger, Referencing, TriggerAction, TriggerCommand};
pub(crate) use self::type_commands::{
    AlterType, AttributeAction, CreateType, DomainAction, DropType, TypeAction, WrittenAttribute,
    WrittenCheck, WrittenDomain, WrittenType,
};

/// One parsed statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Empty,
    Begin {
        modes: IsolationModes,
        /// START TRANSACTION, which has its own command tag.
        is_start: bool,
    },
    Commit {
        /// AND CHAIN.
        chains: bool,
    },
    Rollback {
        chains: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    SetTransaction(IsolationModes),
    SetSessionCharacteristics(IsolationModes),
    /// No names means ALL.
    Checkpoint,
    LockTable {
        tables: Vec<QualifiedName>,
        lock: TableLock,
        waits: bool,
    },
    SetConstraints {
        names: Vec<QualifiedName>,
        is_deferred: bool,
    },
    Set {
        name: String,
        value: SetValue,
        scope: SettingScope,
    },
    Show(Option<String>),
    Reset(Option<String>),
    /// Accepted without effect. The objects must exist.
    Maintenance {
        tag: &'static str,
        on: Maintained,
        refused_in_block: Option<&'static str>,
    },
    DiscardAll,
    DiscardTemporaries,
    Prepare {
        name: String,
        types: Vec<String>,
        body: String,
        body_offset: u32,
    },
    Execute {
        name: String,
        /// The text of the arguments, a list in parentheses, or empty.
        arguments: String,
    },
    Deallocate(Option<String>),
    Listen(ListenStatement),
    DeclareCursor(Box<DeclareCursor>),
    Fetch(FetchCursor),
    /// `None` means ALL.
    CloseCursor(Option<String>),
    Copy(Box<CopyStatement>),
    Explain {
        options: ExplainOptions,
        body: String,
        body_offset: u32,
    },
    CreateTableAs(Box<CreateTableAs>),
    CreateTableLike(Box<CreateTableLike>),
    CreateView(Box<CreateView>),
    DropView(DropView),
    /// Actions of ALTER TABLE on a materialized view.
    AlterMaterialized(Box<sqlparser::ast::AlterTable>),
    Refresh(Refresh),
    /// DO: a block without a name.
    Do(Box<CreateRoutine>),
    CreateRoutine(Box<CreateRoutine>),
    CreateAggregate(Box<CreateAggregate>),
    DropRoutine(DropRoutine),
    CreateSchema(Box<CreateSchema>),
    DropSchema(DropSchema),
    AlterSchema(AlterSchema),
    Move(Box<Move>),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequence(DropSequence),
    Comment(Box<Comment>),
    Access(Box<AccessCommand<Vec<WrittenParameter>>>),
    Database(Box<DatabaseCommand>),
    CreateType(CreateType),
    AlterType(AlterType),
    DropType(DropType),
    Trigger(Box<TriggerCommand>),
    Extension(ExtensionCommand),
    Cast(CastCommand<Vec<WrittenParameter>>),
    CreateIndex(Box<CreateIndex>),
    DropIndex(DropIndex),
    RenameIndex(RenameIndex),
    ChangeParameters(ChangeParameters),
    /// The index, and whether CONCURRENTLY.
    ReindexIndex(QualifiedName, bool),
    Call,
    Query(Box<sqlparser::ast::Statement>),
}

/// LISTEN, UNLISTEN and NOTIFY.
#[derive(Clone, Debug)]
pub(crate) enum ListenStatement {
    Listen(String),
    /// `None` means all.
    Unlisten(Option<String>),
    Notify {
        channel: String,
        payload: String,
    },
}

/// DECLARE ... CURSOR.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclareCursor {
    pub(crate) name: String,
    pub(crate) is_binary: bool,
    pub(crate) is_insensitive: bool,
    pub(crate) is_scroll: bool,
    /// NO SCROLL.
    pub(crate) is_forward: bool,
    pub(crate) is_holdable: bool,
    pub(crate) query: String,
    pub(crate) query_offset: u32,
}

/// FETCH and MOVE.
#[derive(Clone, Debug)]
pub(crate) struct FetchCursor {
    pub(crate) name: String,
    pub(crate) direction: FetchDirection,
    pub(crate) is_move: bool,
}

/// The modes in BEGIN and SET TRANSACTION.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IsolationModes {
    pub(crate) level: Option<&'static str>,
    pub(crate) read_only: Option<bool>,
    pub(crate) deferrable: Option<bool>,
}

/// The right side of SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SetValue {
    Default,
    /// One or more values, joined as PostgreSQL joins lists.
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingScope {
    Session,
    /// Until the end of the transaction.
    Local,
}

#[derive(Clone, Debug)]
pub(crate) struct CopyStatement {
    pub(crate) source: CopySource,
    pub(crate) is_from: bool,
    pub(crate) options: CopyOptions,
    /// COPY FROM inserts only rows that satisfy this. `None` means all rows.
    pub(crate) condition: Option<SqlPart>,
}

/// The source or target of COPY.
#[derive(Clone, Debug)]
pub(crate) enum CopySource {
    Table {
        name: QualifiedName,
        /// Names and positions. Empty means all columns.
        columns: Vec<(String, u32)>,
    },
    Query(SqlPart),
}

/// A part of a statement.
#[derive(Clone, Debug)]
pub(crate) struct SqlPart {
    pub(crate) text: String,
    /// The number of characters before it.
    pub(crate) offset: u32,
}

/// Checked options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    pub(crate) format: CopyFormat,
    pub(crate) delimiter: u8,
    pub(crate) null: String,
    pub(crate) header: CopyHeader,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
    pub(crate) force_quote: ForceQuote,
    /// Columns whose fields are NULL even if the text for NULL is in quotes.
    pub(crate) force_null: Vec<String>,
    /// Columns whose fields are never NULL.
    pub(crate) force_not_null: Vec<String>,
}

/// The first line of COPY's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CopyHeader {
    /// It is a row.
    #[default]
    None,
    /// It has the names of the columns.
    Names,
    /// It has the names of the columns, which must match.
    Match,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFormat {
    Text,
    Csv,
    Binary,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ForceQuote {
    #[default]
    None,
    All,
    Columns(Vec<String>),
}

/// What happens to a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnCommit {
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

/// `CREATE TABLE ... AS` and `SELECT ... INTO`.
#[derive(Clone, Debug)]
pub(crate) struct CreateTableAs {
    pub(crate) name: QualifiedName,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    pub(crate) if_not_exists: bool,
    pub(crate) query: String,
    /// The number of characters before the query.
    pub(crate) query_offset: u32,
    /// Not WITH NO DATA.
    pub(crate) is_filled: bool,
    /// SELECT ... INTO.
    pub(crate) is_into: bool,
    pub(crate) is_temporary: bool,
    pub(crate) on_commit: OnCommit,
    /// WITH.
    pub(crate) parameters: Vec<(String, String)>,
    /// CREATE MATERIALIZED VIEW.
    pub(crate) is_materialized: bool,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    pub(crate) name: QualifiedName,
    /// CONCURRENTLY.
    pub(crate) is_concurrent: bool,
    /// Not WITH NO DATA.
    pub(crate) is_filled: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateView {
    pub(crate) name: QualifiedName,
    /// Names of the first columns.
    pub(crate) columns: Vec<String>,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) query: String,
    /// The number of characters before the query.
    pub(crate) query_offset: u32,
    pub(crate) or_replace: bool,
    pub(crate) is_temporary: bool,
    /// Whether its query may name the view itself.
    pub(crate) is_recursive: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct DropView {
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) if_exists: bool,
    pub(crate) cascades: bool,
    pub(crate) is_materialized: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateRoutine {
    pub(crate) or_replace: bool,
    pub(crate) kind: RoutineKind,
    pub(crate) name: QualifiedName,
    pub(crate) parameters: Vec<WrittenParameter>,
    pub(crate) returns: WrittenReturns,
    pub(crate) language: String,
    pub(crate) body: String,
    /// The number of characters before the body.
    pub(crate) body_offset: u32,
    pub(crate) is_strict: bool,
    pub(crate) traits: RoutineTraits,
    /// SET search_path.
    pub(crate) path: Option<Vec<String>>,
    /// The body is in standard SQL, not a text.
    pub(crate) is_standard: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateAggregate {
    pub(crate) or_replace: bool,
    pub(crate) name: QualifiedName,
    /// `None`: an option gives the type of the only one.
    pub(crate) parameters: Option<Vec<WrittenParameter>>,
    /// Names, and the texts of the values that are given.
    pub(crate) options: Vec<(String, Option<String>)>,
}

#[derive(Clone, Debug)]
pub(crate) struct DropRoutine {
    /// `None` means DROP ROUTINE.
    pub(crate) kind: Option<RoutineKind>,
    pub(crate) if_exists: bool,
    /// Names, each with the types of its arguments if they were given.
    pub(crate) names: Vec<(QualifiedName, Option<Vec<WrittenParameter>>)>,
    pub(crate) cascades: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateSchema {
    /// `None` if the name is left out, and is that of the owner.
    pub(crate) name: Option<String>,
    /// AUTHORIZATION.
    pub(crate) owner: Option<RoleName>,
    pub(crate) if_not_exists: bool,
    /// In the order in which they are created.
    pub(crate) elements: Vec<SchemaElement>,
}

/// A statement inside CREATE SCHEMA.
#[derive(Clone, Debug)]
pub(crate) struct SchemaElement {
    pub(crate) text: String,
    /// The number of characters before it.
    pub(crate) offset: u32,
    pub(crate) rank: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct DropSchema {
    pub(crate) names: Vec<String>,
    pub(crate) if_exists: bool,
    pub(crate) cascades: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum AlterSchema {
    Rename { name: String, to: String },
    Owner { name: String, to: RoleName },
}

/// SET SCHEMA, OWNER TO, and RENAME TO of relations.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) moved: Moved<Vec<WrittenParameter>>,
    pub(crate) name: QualifiedName,
    pub(crate) if_exists: bool,
    pub(crate) to: MovedTo,
}

/// The new schema, owner or name.
#[derive(Clone, Debug)]
pub(crate) enum MovedTo {
    Schema(String),
    Owner(RoleName),
    Name(String),
}

/// An object that is moved to another schema, as the statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moved<A> {
    Table,
    View,
    MaterializedView,
    Sequence,
    Routine {
        /// `None` means ROUTINE.
        kind: Option<RoutineKind>,
        arguments: Option<A>,
    },
}

impl<A> Moved<A> {
    /// The kind in messages, if it is a view of some kind. ALTER TABLE takes tables and views.
    pub(crate) fn view_word(&self) -> Option<&'static str> {
        match self {
            Moved::View => Some("view"),
            Moved::MaterializedView => Some("materialized view"),
            Moved::Table | Moved::Sequence | Moved::Routine { .. } => None,
        }
    }
}

/// A parameter, as written. Its type is looked up when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenParameter {
    pub(crate) name: Option<String>,
    pub(crate) mode: ParameterMode,
    pub(crate) type_name: String,
    pub(crate) default: Option<String>,
    /// The position where it begins, 1-based, in characters.
    pub(crate) position: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum WrittenReturns {
    /// A procedure, or a function with output parameters.
    Unsaid,
    Type {
        name: String,
        is_set: bool,
        position: u32,
    },
    Table(Vec<WrittenParameter>),
}

/// Options of a sequence, as written. `None` where an option is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SequenceOptions {
    pub(crate) type_name: Option<String>,
    pub(crate) increment: Option<i64>,
    /// NO MINVALUE is `Some(None)`.
    pub(crate) least: Option<Option<i64>>,
    pub(crate) greatest: Option<Option<i64>>,
    pub(crate) start: Option<i64>,
    /// RESTART without a number is `Some(None)`.
    pub(crate) restart: Option<Option<i64>>,
    pub(crate) cache: Option<i64>,
    pub(crate) cycles: Option<bool>,
    /// SEQUENCE NAME of an identity column.
    pub(crate) name: Option<Box<QualifiedName>>,
    /// The parts of the name in OWNED BY.
    pub(crate) owner: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateSequence {
    pub(crate) name: QualifiedName,
    pub(crate) is_temporary: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) options: SequenceOptions,
}

#[derive(Clone, Debug)]
pub(crate) struct AlterSequence {
    pub(crate) name: QualifiedName,
    pub(crate) if_exists: bool,
    pub(crate) options: SequenceOptions,
}

#[derive(Clone, Debug)]
pub(crate) struct DropSequence {
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) if_exists: bool,
    pub(crate) cascades: bool,
}

/// COMMENT ON.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) on: Commented<Vec<WrittenParameter>>,
    /// The name of the table if the comment is on a part of one.
    pub(crate) name: QualifiedName,
    /// `None` removes the comment.
    pub(crate) text: Option<String>,
}

/// The object that a comment is on, as the statement names it.
#[derive(Clone, Debug)]
pub(crate) enum Commented<A> {
    Table,
    View,
    MaterializedView,
    Index,
    Sequence,
    Type,
    Schema,
    Column(String),
    Constraint(String),
    /// The name of a trigger.
    Trigger(String),
    Extension,
    Routine {
        /// `None` means ROUTINE.
        kind: Option<RoutineKind>,
        arguments: Option<A>,
    },
    /// Its two types.
    Cast(A),
}

/// What VACUUM, ANALYZE or REINDEX works on.
#[derive(Clone, Debug)]
pub(crate) enum Maintained {
    /// Or on whatever there is.
    Nothing,
    Tables(Vec<QualifiedName>),
    Schema(String),
    Database(String),
}

/// The values that go into identity columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overriding {
    /// The values in the statement.
    System,
    /// The values from the sequence.
    User,
}

#[derive(Clone, Debug)]
pub(crate) struct CreateIndex {
    /// `None` if a name must be made up.
    pub(crate) name: Option<String>,
    pub(crate) table: QualifiedName,
    /// USING.
    pub(crate) method: String,
    pub(crate) keys: Vec<IndexKey>,
    pub(crate) included: Vec<String>,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) is_unique: bool,
    pub(crate) nulls_are_equal: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) is_concurrent: bool,
    /// The text of WHERE.
    pub(crate) predicate: Option<String>,
}

/// What an index is on.
#[derive(Clone, Debug)]
pub(crate) enum IndexedWritten {
    Column(String),
    /// The text of the expression.
    Expression(String),
}

/// One key of an index and its order, `None` where nothing is written.
#[derive(Clone, Debug)]
pub(crate) struct IndexKey {
    pub(crate) indexed: IndexedWritten,
    pub(crate) is_descending: Option<bool>,
    pub(crate) nulls_first: Option<bool>,
    /// Its name without the schema.
    pub(crate) operator_class: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct DropIndex {
    pub(crate) names: Vec<QualifiedName>,
    pub(crate) if_exists: bool,
    pub(crate) cascades: bool,
    pub(crate) is_concurrent: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct RenameIndex {
    pub(crate) index: QualifiedName,
    pub(crate) if_exists: bool,
    pub(crate) name: String,
}

/// What a relation's parameters are changed to.
#[derive(Clone, Debug)]
pub(crate) enum ParameterChange {
    Set(Vec<(String, String)>),
    Reset(Vec<String>),
}

/// `ALTER ... SET (...)` and `RESET (...)` of a relation.
#[derive(Clone, Debug)]
pub(crate) struct ChangeParameters {
    pub(crate) of: ParameterHolder,
    pub(crate) name: QualifiedName,
    pub(crate) if_exists: bool,
    /// One after the other.
    pub(crate) changes: Vec<ParameterChange>,
}

/// The word after ALTER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterHolder {
    Table,
    View,
    MaterializedView,
    Index,
}

/// `CREATE TABLE` with LIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreateTableLike {
    /// The whole statement.
    pub(crate) text: String,
    pub(crate) clauses: Vec<LikeClause>,
}

/// One LIKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LikeClause {
    /// Its position in the text, in bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) table: QualifiedName,
    /// The position of that name, for messages.
    pub(crate) position: u32,
    pub(crate) parts: LikeParts,
}

/// The parts that LIKE copies besides names, types and NOT NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LikeParts {
    pub(crate) defaults: bool,
    pub(crate) constraints: bool,
    pub(crate) indexes: bool,
    pub(crate) identity: bool,
    pub(crate) generated: bool,
    pub(crate) comments: bool,
}

impl LikeParts {
    /// INCLUDING ALL, or EXCLUDING ALL.
    pub(crate) fn all(is_included: bool) -> LikeParts {
        LikeParts {
            defaults: is_included,
            constraints: is_included,
            indexes: is_included,
            identity: is_included,
            generated: is_included,
            comments: is_included,
        }
    }
}

/// CREATE, ALTER and DROP DATABASE.
#[derive(Clone, Debug)]
pub(crate) enum DatabaseCommand {
    Create { name: String, options: DatabaseOptions },
    Alter { name: String, options: DatabaseOptions },
    Rename { name: String, to: String },
    Own { name: String, to: RoleName },
    Drop { name: String, if_exists: bool, is_forced: bool },
}

/// Of CREATE and ALTER DATABASE. `None` keeps what is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatabaseOptions {
    pub(crate) owner: Option<RoleName>,
    pub(crate) template: Option<String>,
    pub(crate) is_template: Option<bool>,
    pub(crate) allows_connections: Option<bool>,
    pub(crate) connection_limit: Option<i32>,
}
