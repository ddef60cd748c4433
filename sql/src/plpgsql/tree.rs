//! The syntax tree of a routine's body. SQL in it stays text until it is compiled.

use hyades_engine::procedure::cursor_statement::FetchWay;
use hyades_engine::procedure::ir::Register;
use hyades_types::value::SqlType;

/// A routine's body.
pub(super) enum Body {
    /// In PL/pgSQL.
    Block(Block),
    /// In SQL.
    Statements(Vec<Fragment>),
}

/// A piece of SQL. `text` is as long as it was in the body. Parts that do not belong to it (INTO) are
/// blanked out, so that positions stay right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) text: String,
    /// The byte at which it begins in the body.
    pub(crate) start: usize,
}

/// `a`, `a.b`, `label.a.b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) parts: Vec<String>,
    pub(crate) start: usize,
}

/// A variable, or a part of one that is an array or a jsonb.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: Path,
    /// The only subscript, unless it is a slice.
    pub(crate) index: Option<Fragment>,
    /// All subscripts, after a letter in the place of the variable.
    pub(crate) subscripts: Option<Fragment>,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) label: Option<String>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) body: Vec<Statement>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) has_handlers: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) start: usize,
    pub(crate) line: u32,
    pub(crate) kind: DeclarationKind,
}

#[derive(Clone, Debug)]
pub(crate) enum DeclarationKind {
    Variable {
        type_name: Fragment,
        is_constant: bool,
        is_not_null: bool,
        default: Option<Fragment>,
    },
    Cursor(CursorDeclaration),
    /// `name ALIAS FOR other`.
    Alias(Path),
}

/// A bound cursor: the names and types of its parameters, and its query.
#[derive(Clone, Debug)]
pub(crate) struct CursorDeclaration {
    pub(crate) parameters: Vec<(String, Fragment)>,
    pub(crate) query: Fragment,
    /// SCROLL, NO SCROLL.
    pub(crate) scrolls: Option<bool>,
    /// Whether the body does more with it than take its rows one after the other.
    pub(crate) is_shared: bool,
}

/// OPEN of a cursor that has no query of its own.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuery {
    pub(crate) query: Fragment,
    /// If present, the query is a text, and these are its parameters.
    pub(crate) dynamic: Option<Vec<Fragment>>,
    pub(crate) scrolls: Option<bool>,
}

/// A cursor, named in a statement.
#[derive(Clone, Debug)]
pub(crate) struct CursorName {
    pub(crate) name: String,
    pub(crate) start: usize,
}

/// The direction of a FETCH.
#[derive(Clone, Debug)]
pub(crate) struct FetchSteps {
    pub(crate) way: FetchWay,
    pub(crate) steps: Steps,
}

#[derive(Clone, Debug)]
pub(crate) enum Steps {
    All,
    Number(i64),
    Value(Fragment),
}

/// A cursor that is visible in the current text.
#[derive(Clone)]
pub(super) struct BoundCursor<'a> {
    pub(super) name: String,
    pub(super) query: &'a Fragment,
    pub(super) parameters: Vec<(String, Register, SqlType)>,
    pub(super) columns: Vec<(String, SqlType)>,
    pub(super) spool: u16,
    pub(super) is_open: Register,
    pub(super) scrolls: Option<bool>,
    /// The register with the name under which the session keeps it, if it does.
    pub(super) name_in: Option<Register>,
}

pub(super) type Columns = Vec<(String, SqlType)>;

/// The columns of the query for which a variable was last opened in the text.
pub(super) struct OpenedFor {
    /// The register of the variable.
    pub(super) name_in: Register,
    pub(super) columns: Columns,
}

#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) conditions: Vec<(String, usize)>,
    pub(crate) body: Vec<Statement>,
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) line: u32,
    pub(crate) start: usize,
    pub(crate) kind: StatementKind,
}

/// INTO.
#[derive(Clone, Debug)]
pub(crate) struct Into {
    pub(crate) targets: Vec<Path>,
    pub(crate) is_strict: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    Block(Block),
    Assign {
        target: Target,
        value: Fragment,
    },
    If {
        branches: Vec<(Fragment, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    Case {
        operand: Option<Fragment>,
        branches: Vec<(Fragment, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop {
        label: Option<String>,
        body: Vec<Statement>,
    },
    While {
        label: Option<String>,
        condition: Fragment,
        body: Vec<Statement>,
    },
    ForInteger {
        label: Option<String>,
        variable: String,
        is_reverse: bool,
        lower: Fragment,
        upper: Fragment,
        step: Option<Fragment>,
        body: Vec<Statement>,
    },
    ForQuery {
        label: Option<String>,
        targets: Vec<Path>,
        query: Fragment,
        body: Vec<Statement>,
    },
    ForEach {
        label: Option<String>,
        target: Path,
        array: Fragment,
        body: Vec<Statement>,
    },
    Exit {
        is_continue: bool,
        label: Option<(String, usize)>,
        condition: Option<Fragment>,
    },
    Return(Option<Fragment>),
    ReturnNext(Option<Fragment>),
    ReturnQuery(Fragment),
    Raise(Raise),
    Assert {
        condition: Fragment,
        message: Option<Fragment>,
    },
    Perform(Fragment),
    Sql {
        text: Fragment,
        into: Option<Into>,
    },
    Call(Fragment),
    /// CREATE, ALTER, DROP and TRUNCATE.
    ChangeSchema(Fragment),
    Execute {
        query: Fragment,
        into: Option<Into>,
        using: Vec<Fragment>,
    },
    ForExecute {
        label: Option<String>,
        targets: Vec<Path>,
        query: Fragment,
        using: Vec<Fragment>,
        body: Vec<Statement>,
    },
    ReturnExecute {
        query: Fragment,
        using: Vec<Fragment>,
    },
    Open {
        cursor: CursorName,
        arguments: Vec<Fragment>,
        query: Option<OpenQuery>,
    },
    /// MOVE if there are no targets.
    Fetch {
        cursor: CursorName,
        steps: FetchSteps,
        targets: Option<Vec<Path>>,
    },
    Close {
        cursor: CursorName,
    },
    ForCursor {
        label: Option<String>,
        targets: Vec<Path>,
        cursor: CursorName,
        arguments: Vec<Fragment>,
        body: Vec<Statement>,
    },
    /// COMMIT and ROLLBACK.
    EndTransaction {
        commits: bool,
    },
    GetDiagnostics {
        is_stacked: bool,
        items: Vec<(Path, String, usize)>,
    },
    Null,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Raise {
    /// In lower case. Empty if none was given.
    pub(crate) level: String,
    pub(crate) format: Option<(String, usize)>,
    pub(crate) arguments: Vec<Fragment>,
    /// The name of a condition, or an SQLSTATE.
    pub(crate) condition: Option<(String, usize)>,
    /// Option names in lower case, and their values.
    pub(crate) options: Vec<(String, Fragment, usize)>,
}

impl StatementKind {
    /// Its name in the context of errors.
    pub(super) fn name(&self) -> &'static str {
        match self {
            StatementKind::Block(_) => "statement block",
            StatementKind::Assign { .. } => "assignment",
            StatementKind::If { .. } => "IF",
            StatementKind::Case { .. } => "CASE",
            StatementKind::Loop { .. } => "LOOP",
            StatementKind::While { .. } => "WHILE",
            StatementKind::ForInteger { .. } => "FOR with integer loop variable",
            StatementKind::ForQuery { .. } => "FOR over SELECT rows",
            StatementKind::ForEach { .. } => "FOREACH over array",
            StatementKind::Exit { is_continue: false, .. } => "EXIT",
            StatementKind::Exit { .. } => "CONTINUE",
            StatementKind::Return(_) => "RETURN",
            StatementKind::ReturnNext(_) => "RETURN NEXT",
            StatementKind::ReturnQuery(_) => "RETURN QUERY",
            StatementKind::Raise(_) => "RAISE",
            StatementKind::Assert { .. } => "ASSERT",
            StatementKind::Perform(_) => "PERFORM",
            StatementKind::Sql { .. } | StatementKind::ChangeSchema(_) => "SQL statement",
            StatementKind::Call(_) => "CALL",
            StatementKind::GetDiagnostics { is_stacked: true, .. } => "GET STACKED DIAGNOSTICS",
            StatementKind::GetDiagnostics { .. } => "GET DIAGNOSTICS",
            StatementKind::Null => "NULL",
            StatementKind::Open { .. } => "OPEN",
            StatementKind::Fetch { targets: Some(_), .. } => "FETCH",
            StatementKind::Fetch { .. } => "MOVE",
            StatementKind::Close { .. } => "CLOSE",
            StatementKind::ForCursor { .. } => "FOR over cursor",
            StatementKind::Execute { .. } => "EXECUTE",
            StatementKind::ForExecute { .. } => "FOR over EXECUTE statement",
            StatementKind::ReturnExecute { .. } => "RETURN QUERY",
            StatementKind::EndTransaction { commits: true } => "COMMIT",
            StatementKind::EndTransaction { commits: false } => "ROLLBACK",
        }
    }
}
