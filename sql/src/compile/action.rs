//! What a statement compiles to: a [`Plan`].

use std::sync::Arc;

use hyades_engine::db::TableLock;
use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::access::NeededRight;
use hyades_types::definition::{RoutineDefinition, TableId};
use hyades_types::error::Result;
use hyades_types::value::SqlType;

use crate::answer::{Response, ResultColumn};
use crate::copy::copy_plan::{CopyInPlan, CopyOutPlan, CopyPlan, described};
use crate::ddl::command::{CatalogStatement, SchemaCommand};
use crate::emit::run_plan::RunPlan;
use crate::statement::{
    DeclareCursor, ExplainFormat, ExplainOptions, FetchCursor, IsolationModes, ListenStatement, Maintained,
    QualifiedName, SetValue, SettingScope,
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
    pub(super) fn of_catalog(statement: CatalogStatement) -> Plan {
        let CatalogStatement { tag, command, parameters } = statement;
        Plan { parameters, is_read_only: false, ..Plan::simple(tag, Action::Schema(command)) }
    }

    /// The plan of COPY.
    pub(super) fn of_copy(copy: CopyPlan) -> Plan {
        match copy {
            CopyPlan::In(copy) => Plan {
                response: Response::CopyIn(described(copy.columns.len(), &copy.options)),
                is_read_only: false,
                ..Plan::simple("COPY FROM", Action::CopyIn(copy))
            },
            CopyPlan::Out(copy, is_read_only) => Plan {
                response: Response::CopyOut(described(copy.columns.len(), &copy.options)),
                is_read_only,
                ..Plan::simple("COPY TO", Action::CopyOut(copy))
            },
        }
    }

    /// The plan of a procedure that a statement which changes the catalog runs.
    pub(crate) fn of_run(command: &'static str, run: RunPlan) -> Plan {
        Plan::simple(command, Action::Run(Box::new(run)))
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
        format: ExplainFormat,
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
    CopyIn(Arc<CopyInPlan>),
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

/// A CALL.
#[derive(Debug)]
pub(crate) struct CallPlan {
    pub(crate) routine: Arc<Routine>,
    /// One for each input, of constants and parameters.
    pub(crate) arguments: Vec<Expr>,
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
