//! What a statement that changes the catalog compiles to. Names are looked up when it runs.

use std::sync::Arc;

use hyades_types::definition::{
    Collation, Deferral, Identity, RoutineDefinition, RoutineKind, TableDefinition, TableName, TypeKind,
};
use hyades_types::value::SqlType;

use super::wanted::{
    CopiedComments, CopiedIndex, NewColumn, WantedCheck, WantedForeignKey, WantedIndex, WantedPrimaryKey,
    WantedSequence, WantedUnique,
};
use crate::bind::types::Declared;
use crate::emit::run_plan::Analysis;
use crate::statement::deep_text::Written;
use crate::statement::{
    AccessCommand, AlterType, CastCommand, ChangeParameters, Commented, DatabaseCommand, DropIndex,
    DropSchema, DropSequence, DropType, DropView, ExtensionCommand, Moved, OnCommit, ParameterChange,
    QualifiedName, Refresh, RenameIndex, RoleName, SchemaElement, SequenceOptions, TriggerAction,
    TriggerCommand,
};

/// A compiled statement that changes the catalog.
#[derive(Debug)]
pub(crate) struct CatalogStatement {
    /// The command's name, for messages.
    pub(crate) tag: &'static str,
    pub(crate) command: SchemaCommand,
    pub(crate) parameters: Vec<SqlType>,
}

impl CatalogStatement {
    pub(super) fn new(tag: &'static str, command: SchemaCommand) -> CatalogStatement {
        CatalogStatement { tag, command, parameters: Vec::new() }
    }
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
    /// Those of an index. Those of other relations are an action of ALTER TABLE.
    ChangeParameters(ChangeParameters),
    /// The index, and whether CONCURRENTLY.
    Reindex(QualifiedName, bool),
    AlterTable {
        table: QualifiedName,
        if_exists: bool,
        /// In the order in which they are carried out.
        actions: Vec<AlterAction>,
        /// ALTER MATERIALIZED VIEW.
        is_materialized: bool,
    },
    Refresh(Refresh),
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
    Database(Arc<DatabaseCommand>),
    Trigger(TriggerCommand),
    Extension(ExtensionCommand),
    Cast(CastCommand<Vec<SqlType>>),
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
    Type(TypeCommand),
    Comment {
        on: Commented<Vec<SqlType>>,
        name: QualifiedName,
        text: Option<String>,
    },
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

impl SchemaCommand {
    /// Whether it runs the query of a materialized view, which reads as a statement that changes nothing.
    pub(crate) fn computes_rows(&self) -> bool {
        match self {
            SchemaCommand::Refresh(_) => true,
            SchemaCommand::CreateAs { definition, .. } => definition.materialized.is_some(),
            _ => false,
        }
    }
}

/// CREATE, ALTER and DROP TYPE.
#[derive(Debug)]
pub(crate) enum TypeCommand {
    Create { name: TableName, kind: TypeKind },
    Alter(AlterType),
    Drop(DropType),
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
        declared: Declared,
        collation: Collation,
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
    ChangeParameters {
        /// One after the other.
        changes: Vec<ParameterChange>,
        /// ALTER VIEW.
        is_of_view: bool,
    },
    /// REFRESH MATERIALIZED VIEW.
    Refresh(Refresh),
    Trigger(TriggerAction),
    DropConstraint {
        name: String,
        /// Whether the constraint may be missing.
        may_lack: bool,
        cascades: bool,
    },
}
