//! Binding: from sqlparser's tree to typed expressions of the procedure IR.
//!
//! Names become columns of row slots, registers or functions; types are inferred as PostgreSQL does
//! (documentation, chapter 10): a literal in quotes, NULL and a parameter without a declared type are
//! *unknown* until an operator, function, column or clause gives them one ([`Class`]).
//!
//! Files:
//! * results: `tree` (of a query), `bound` (an expression: type and place), `rights` (what the user needs),
//!   `callee` (routines that are called), `meanings` (what names and literals meant);
//! * types: `types` (their names), `domain`, `coerce` (conversions), `user_cast` (those that users have
//!   created), `collation`;
//! * expressions: `expression` (the walk), `row_expression` (over one row), `rows` (as values),
//!   `row_columns` (their fields), `made_rows`, `row_syntax`, `operator`, `any_case`, `special` (constructs
//!   with a grammar of their own), `overlaps`, `array_expression`, `json_expression`, `hstore_expression`,
//!   `called_operator`, `subquery`;
//! * calls: `function_call`, `conversion_call` (`date(...)`), `enum_call`, `sequence_call`, `session_call`
//!   and `session_function` (about the session), `set_call` (of sets, in the select list), `routine_call`,
//!   `polymorphic` (the types of a routine's parameters in a call), `column_defaults`, `defaults` (of
//!   parameters), `variadic_call`, `missing` (functions that Hyades lacks);
//! * aggregates: `aggregate` (which they are), `aggregate_level` (whose they are), `aggregation` (as the
//!   executor computes them), `ordered_set`, `user_aggregate`, `support_call` (of what computes those);
//! * windows: `window_call`, `window_definition`, `windowing` (as the executor computes them);
//! * clauses of a query: `select`, `select_list`, `from_clause`, `rows_from` (functions in FROM), `join`,
//!   `full_join`, `derived` and `recursive` (queries in FROM and WITH), `group_by`, `row_locks`;
//! * names: `scope` (what FROM makes visible), `column`, `similar_columns` (hints), `visible_variables` and
//!   `variable` (those of a routine);
//! * views: `view` (read), `view_target` (changed);
//! * texts: `kept_text` (as the catalog keeps them), `deparse` (as it shows them).
//!
//! Every error carries the position in the statement's text that PostgreSQL reports.

mod aggregate;
mod aggregate_level;
pub(crate) mod aggregation;
mod any_case;
pub(crate) mod array_expression;
mod bound;
mod called_operator;
pub(crate) mod callee;
pub(crate) mod coerce;
mod collation;
mod column;
mod column_defaults;
mod conversion_call;
mod defaults;
pub(crate) mod deparse;
pub(crate) mod derived;
pub(crate) mod domain;
pub(crate) mod enum_call;
mod expression;
pub(crate) mod from_clause;
mod full_join;
pub(crate) mod function_call;
mod group_by;
mod hstore_expression;
mod join;
mod json_expression;
mod kept_text;
pub(crate) mod made_rows;
pub(crate) mod meanings;
mod missing;
pub(crate) mod operator;
mod ordered_set;
mod overlaps;
pub(crate) mod polymorphic;
mod recursive;
mod rights;
pub(crate) mod routine_call;
mod row_columns;
pub(crate) mod row_expression;
mod row_locks;
mod row_syntax;
mod rows;
mod rows_from;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod select_list;
pub(crate) mod sequence_call;
pub(crate) mod session_call;
pub(crate) mod session_function;
mod set_call;
mod similar_columns;
pub(crate) mod special;
mod subquery;
pub(crate) mod support_call;
pub(crate) mod tree;
pub(crate) mod types;
mod user_aggregate;
mod user_cast;
pub(crate) mod variable;
mod variadic_call;
pub(crate) mod view;
pub(crate) mod view_target;
pub(crate) mod visible_variables;
mod window_call;
mod window_definition;
pub(crate) mod windowing;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, JoinSlot, Procedure, Register, RowSlot, SpoolSlot, TableReference};
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::access::{Caller, NeededRight, ObjectKind, Privileges};
use hyades_types::definition::{Returns, RoutineDefinition, SchemaId, TableId, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::identifier::quoted_identifier;
use hyades_types::refusal::{Missing, refused};
use hyades_types::search_path::{SearchPath, is_system};
use hyades_types::sequence::Sequence;
use hyades_types::text::{DateStyles, Reading};
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use crate::bind::visible_variables::Names;
use crate::statement::query;
pub(crate) use aggregation::{AGGREGATE_PLACEHOLDER, GROUP_PLACEHOLDER};
use aggregation::{Aggregate, AggregateMode, Named};
use bound::no_parameter_type;
pub(crate) use bound::{Bound, Class, Place, start_of, start_of_query};
use callee::CalleeEntry;
use meanings::Meanings;
use scope::Scope;
use session_function::SessionCall;
use tree::{CommonTable, KnownRows, Subquery, Surroundings};
use types::NamedTypes;
use windowing::{WINDOW_PLACEHOLDER, WindowCalls};

/// The tables a statement can see.
pub(crate) trait Tables {
    fn table(&self, name: &TableName) -> Option<Arc<Table>>;
    fn by_id(&self, id: TableId) -> Option<Arc<Table>>;
    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>>;
    fn sequence(&self, name: &TableName) -> Option<Arc<Sequence>>;
    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>>;
    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>>;
    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>>;
    /// Whether a schema of this name has been created.
    fn has_schema(&self, name: &str) -> bool {
        self.schema(name).is_some()
    }
    /// The number of the schema that has been created with this name.
    fn schema(&self, name: &str) -> Option<SchemaId>;
    /// The schema of the session's temporary relations, if the session has created any.
    fn temporary_schema(&self) -> Option<String>;
    /// The time of the snapshot that the statement will read at, if some unique index is newer.
    fn old_snapshot(&self) -> Option<u64>;
}

/// Whether the user who wrote a statement may use the schemas that it names. The first one that it may not
/// use is the error of the statement, whatever else is wrong with it further on.
pub(crate) struct SchemaGate {
    caller: Caller,
    refused: RefCell<Option<Error>>,
}

impl SchemaGate {
    pub(crate) fn of(caller: &Caller) -> SchemaGate {
        SchemaGate { caller: caller.clone(), refused: RefCell::default() }
    }

    /// The outcome of what was bound with this gate.
    pub(crate) fn outcome<T>(self, bound: Result<T>) -> Result<T> {
        self.refused.into_inner().map_or(bound, Err)
    }

    /// The refusal so far.
    fn check(&self) -> Result<()> {
        self.refused.borrow().clone().map_or(Ok(()), Err)
    }

    fn admits(&self, schema: SchemaId) -> bool {
        let Caller { access, role } = &self.caller;
        access.privileges(*role, schema.0, ObjectKind::Schema).contains(Privileges::USAGE)
    }

    fn refuse(&self, error: Error) {
        let mut refused = self.refused.borrow_mut();
        let placed = |error: &Error| matches!(error, Error::Input(input) if input.position.is_some());
        // A name may be looked up more than once, and not always where its place is known.
        let is_better =
            |known: &Error| !placed(known) && placed(&error) && known.to_string() == error.to_string();
        if refused.as_ref().is_none_or(is_better) {
            *refused = Some(error);
        }
    }
}

/// What binding needs to know of its environment.
#[derive(Clone, Copy)]
pub(crate) struct BindContext<'a> {
    pub(crate) tables: &'a dyn Tables,
    /// For literals of `timestamptz`.
    pub(crate) time_zone: &'a jiff::tz::TimeZone,
    /// For literals of dates and intervals.
    pub(crate) styles: DateStyles,
    pub(crate) database: &'a str,
    /// For names without a schema. A routine's body uses the path of the user who created it, for
    /// every caller.
    pub(crate) path: &'a SearchPath,
    /// The values of the parameters, if EXPLAIN is to show them.
    pub(crate) shown_parameters: &'a [Value],
    /// `None` if names are looked up for no particular role, or for a superuser.
    pub(crate) gate: Option<&'a SchemaGate>,
}

impl<'a> BindContext<'a> {
    /// The context of a routine's body, which means the same in every session.
    pub(crate) fn of_routine(
        tables: &'a dyn Tables,
        time_zone: &'a jiff::tz::TimeZone,
        path: &'a SearchPath,
    ) -> BindContext<'a> {
        let styles = DateStyles::default();
        BindContext { tables, time_zone, styles, database: "", path, shown_parameters: &[], gate: None }
    }

    /// The settings by which literals are read.
    pub(crate) fn reading(&self) -> Reading<'a> {
        Reading { styles: self.styles, ..self.time_zone.into() }
    }

    /// Whether a schema of this name is visible here.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        let own = self.path.schema(name);
        is_system(own) || self.tables.has_schema(own) || self.path.temporary() == Some(own)
    }

    /// The relation that a name refers to. If there is none, the name to report in messages.
    pub(crate) fn meant(&self, schema: Option<&str>, name: &str) -> TableName {
        self.path.find(schema, name, |name| {
            self.tables.table(name).is_some() || self.tables.sequence(name).is_some()
        })
    }
}

impl NamedTypes for Binder<'_> {
    fn named_type(&self, schema: Option<(&str, Place)>, name: &str) -> Option<Arc<StoredType>> {
        let BindContext { tables, path, .. } = self.context;
        let schema = schema.map(|(schema, place)| {
            self.need_schema(schema, place);
            schema
        });
        let name =
            path.find(schema, name, |name| tables.type_named(name).is_some() || tables.table(name).is_some());
        let rows = || tables.table(&name).map(|table| Arc::new(StoredType::of_rows(&table)));
        let stored = tables.type_named(&name).or_else(rows)?;
        self.note_type(&stored);
        Some(stored)
    }

    fn database(&self) -> Option<&str> {
        Some(self.context.database)
    }
}

impl Binder<'_> {
    /// The name of a type in `format_type`: with the schema if the name alone means something else.
    pub(crate) fn shown_type(&self, sql_type: SqlType) -> Cow<'static, str> {
        let Some(id) = sql_type.created_id() else { return Cow::Borrowed(sql_type.base_name()) };
        let full = match sql_type.definition_name() {
            Some((schema, name)) => TableName { schema: schema.to_owned(), name: name.to_owned() },
            None => match self.context.tables.type_by_id(id) {
                Some(stored) => stored.name(),
                None => return Cow::Borrowed(sql_type.base_name()),
            },
        };
        let is_found = self.named_type(None, &full.name).is_some_and(|named| named.id() == id);
        let name = quoted_identifier(&full.name);
        let name = match is_found {
            true => name.to_string(),
            false => format!("{}.{name}", quoted_identifier(&full.schema)),
        };
        Cow::Owned(if matches!(sql_type, SqlType::Array(_)) { name + "[]" } else { name })
    }

    /// The name of a type in an expression that is shown.
    pub(crate) fn spelled_type(&self, sql_type: SqlType) -> Cow<'static, str> {
        match sql_type.extension_type() {
            Some(_) => self.shown_type(sql_type),
            None => types::written_type(sql_type),
        }
    }

    /// Records that the statement depends on what the rows of a relation are.
    pub(crate) fn note_rows_of(&self, table: &Arc<Table>) {
        self.note_type(&Arc::new(StoredType::of_rows(table)));
    }

    /// The same type; that of a relation's rows, or of arrays of them, as they are now.
    fn current_type(&self, sql_type: SqlType) -> SqlType {
        let relation = sql_type.composite_type().and_then(CompositeType::relation);
        let Some(table) = relation.and_then(|relation| self.context.tables.by_id(TableId(relation))) else {
            return sql_type;
        };
        self.note_rows_of(&table);
        sql_type.with_type(SqlType::Composite(table.definition().row_type(table.id())))
    }

    /// The type of the rows that a set-returning function returns, if it has a name.
    fn type_of_rows(&self, definition: &RoutineDefinition) -> Option<CompositeType> {
        let traits = &definition.traits;
        if let Some(row_type) = traits.row_type {
            return row_type.composite_type();
        }
        let table = self.context.tables.by_id(traits.row_of?)?;
        Some(table.definition().row_type(table.id()))
    }

    /// The definition of a routine, with the types of relations' rows as they are now.
    pub(crate) fn current_definition<'d>(
        &self,
        definition: &'d RoutineDefinition,
    ) -> Cow<'d, RoutineDefinition> {
        let is_of_rows = |sql_type: SqlType| {
            sql_type.composite_type().is_some_and(|row_type| row_type.relation().is_some())
        };
        let row_of = definition.traits.row_of.and_then(|table| self.context.tables.by_id(table));
        if row_of.is_none() && !definition.types().any(is_of_rows) {
            return Cow::Borrowed(definition);
        }
        let mut current = definition.clone();
        current.all_types_mut().into_iter().for_each(|own| *own = self.current_type(*own));
        if let (Some(table), Returns::SetOfRow(columns)) = (row_of, &mut current.returns) {
            self.note_rows_of(&table);
            *columns = scope::named_columns(table.definition().visible_columns());
        }
        Cow::Owned(current)
    }

    /// Records that the statement depends on the current definition of the type.
    fn note_type(&self, stored: &Arc<StoredType>) {
        let mut types = self.types.borrow_mut();
        if !types.iter().any(|known| Arc::ptr_eq(known, stored)) {
            types.push(Arc::clone(stored));
        }
    }
}

/// Variables that a query reads, and the registers to which they are copied before the query begins: it must
/// not see what the body of its loop assigns to them.
pub(crate) type Captured = Vec<(Register, Register)>;

/// The slots of a procedure's frame allocated so far.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) registers: Cell<u32>,
    pub(crate) rows: Cell<u16>,
    pub(crate) spools: Cell<u16>,
    pub(crate) joins: Cell<u16>,
}

impl Slots {
    fn next(slots: &Cell<u16>) -> Result<u16> {
        let slot = slots.get();
        let next = slot
            .checked_add(1)
            .ok_or_else(|| Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is too large"))?;
        slots.set(next);
        Ok(slot)
    }

    pub(crate) fn new_spool(&self) -> Result<SpoolSlot> {
        Slots::next(&self.spools)
    }

    pub(crate) fn new_join(&self) -> Result<JoinSlot> {
        Slots::next(&self.joins)
    }

    /// The next row slot.
    pub(crate) fn new_row(&self) -> Result<RowSlot> {
        Slots::next(&self.rows)
    }
}

/// Types that a procedure was compiled with.
pub(crate) type UsedTypes = Rc<RefCell<Vec<Arc<StoredType>>>>;

/// Casts of users that a procedure applies.
pub(crate) type UsedCasts = Rc<RefCell<Vec<Arc<Routine>>>>;

/// See the module head.
pub(crate) struct Binder<'a> {
    pub(crate) sql: &'a str,
    pub(crate) context: BindContext<'a>,
    /// Declared or inferred types of `$1`, `$2` ...
    pub(crate) parameter_types: Vec<Option<SqlType>>,
    pub(crate) scope: Scope,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) aggregate_mode: AggregateMode,
    /// What the current expression has named.
    named: Named,
    /// In a select list: its set-returning functions.
    set_calls: Option<set_call::SetCalls>,
    known_rows: KnownRows,
    /// The window functions of the current query, from its select list on.
    windows: Option<WindowCalls>,
    pub(crate) session_calls: Vec<SessionCall>,
    /// Where columns were named, so that an error can point at one that is not grouped.
    pub(crate) column_places: Vec<(RowSlot, u16, Place)>,
    /// The next free register and row slot, shared with the code.
    slots: Rc<Slots>,
    /// In INSERT ... SELECT: the columns that the select list fills. Their types are given to literals and
    /// parameters without a type.
    pub(crate) output_hints: Vec<(SqlType, String)>,
    /// The variables of the routine that is being compiled.
    pub(crate) names: Option<Names>,
    /// Variables copied for a query that outlives its statement.
    pub(crate) captured: Option<Captured>,
    /// The subqueries of the procedure, in the order of their numbers.
    pub(crate) subqueries: Vec<Subquery>,
    /// Whether the code being bound may run after the statement has changed rows.
    pub(crate) sees_changes: bool,
    /// In RETURNING of INSERT: 0 for a row that was inserted, another number for one that already existed.
    pub(crate) replaced: Option<Expr>,
    /// The visible queries of WITH, innermost last.
    pub(crate) common_tables: Vec<CommonTable>,
    /// The tables in FROM and those whose rows are changed, in the order in which they were bound.
    pub(crate) tables_read: Vec<TableId>,
    /// The views that were bound.
    pub(crate) views: Vec<TableReference>,
    /// The rights that the user who runs the statement needs.
    pub(crate) rights: RefCell<Vec<NeededRight>>,
    /// The views whose queries are being bound, outermost first.
    pub(crate) expanding: Vec<TableId>,
    /// Whether the query is that of a view to be created, which counts as one of them.
    pub(crate) is_of_view: bool,
    /// The length of the texts of all views so far.
    expanded_bytes: usize,
    /// Whether the text being bound is kept in the catalog.
    is_kept: bool,
    /// Rows of an item of the current FROM may be missing.
    in_outer_join: bool,
    /// Names without a schema that were looked up as relations.
    pub(crate) open_names: RefCell<BTreeSet<String>>,
    /// The number of a query that exists only to call a function of a select list.
    call_level: Option<usize>,
    /// How often something of an enclosing query was read.
    handed_over: usize,
    /// The other items of the FROM in which the current query stands. The query does not see them.
    beside: Vec<Scope>,
    /// The queries that enclose the current one, outermost first.
    surroundings: Vec<Surroundings>,
    /// The routine that is being compiled.
    pub(crate) current: Option<Arc<RoutineDefinition>>,
    /// Routines that the statement calls, shared with the code.
    pub(crate) callees: Rc<RefCell<Vec<CalleeEntry>>>,
    /// Types that the statement names, shared with the code.
    pub(crate) types: UsedTypes,
    /// Casts that the statement applies, shared with the code.
    pub(crate) casts: UsedCasts,
    /// All casts that users have created, once they have been looked up.
    created_casts: OnceCell<Vec<Arc<Routine>>>,
    /// Routines that expressions call.
    pub(crate) called: Vec<Arc<Routine>>,
    /// What the parts of an expression that is to be kept mean.
    meanings: Option<Meanings>,
    depth: usize,
    /// The statement contains COLLATE.
    has_collation: bool,
}

/// Deepest nesting of an expression. PostgreSQL's own limits lie between 1,000 (CASE) and 10,000
/// (parentheses).
const DEEPEST_EXPRESSION: usize = 10_000;

impl<'a> Binder<'a> {
    /// `declared` gives the types of the first parameters; `parameters` is the largest `$n` of the text.
    pub(crate) fn new(
        sql: &'a str,
        context: BindContext<'a>,
        declared: &[Option<SqlType>],
        parameters: u16,
    ) -> Result<Binder<'a>> {
        let mut parameter_types = declared.to_vec();
        if parameter_types.len() < usize::from(parameters) {
            parameter_types.resize(usize::from(parameters), None);
        }
        if parameter_types.len() >= usize::from(WINDOW_PLACEHOLDER) / 2 {
            return Err(Error::input(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("a statement cannot have {} parameters", parameter_types.len()),
            ));
        }
        let registers = u32::try_from(parameter_types.len()).unwrap_or(u32::MAX);
        Ok(Binder {
            sql,
            context,
            parameter_types,
            scope: Scope::default(),
            aggregates: Vec::new(),
            aggregate_mode: AggregateMode::Forbidden("in this context"),
            named: Named::default(),
            set_calls: None,
            known_rows: KnownRows::default(),
            windows: None,
            session_calls: Vec::new(),
            column_places: Vec::new(),
            slots: Rc::new(Slots { registers: Cell::new(registers), ..Slots::default() }),
            output_hints: Vec::new(),
            names: None,
            captured: None,
            subqueries: Vec::new(),
            sees_changes: false,
            replaced: None,
            common_tables: Vec::new(),
            tables_read: Vec::new(),
            views: Vec::new(),
            rights: RefCell::default(),
            expanding: Vec::new(),
            is_of_view: false,
            expanded_bytes: 0,
            is_kept: false,
            in_outer_join: false,
            open_names: RefCell::default(),
            call_level: None,
            handed_over: 0,
            surroundings: Vec::new(),
            beside: Vec::new(),
            current: None,
            callees: Rc::default(),
            types: Rc::default(),
            casts: Rc::default(),
            created_casts: OnceCell::new(),
            called: Vec::new(),
            meanings: None,
            depth: 0,
            has_collation: false,
        })
    }

    /// A register that nothing else uses.
    pub(crate) fn new_register(&mut self) -> Result<Register> {
        let register = self.slots.registers.get();
        self.slots.registers.set(register + 1);
        match u16::try_from(register) {
            Ok(register) if register < WINDOW_PLACEHOLDER => Ok(register),
            _ => {
                Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the statement needs too many registers"))
            }
        }
    }

    /// How many registers have been allocated.
    pub(crate) fn register_count(&self) -> u16 {
        u16::try_from(self.slots.registers.get()).unwrap_or(u16::MAX)
    }

    /// A row slot that nothing else uses.
    pub(crate) fn new_row(&mut self) -> Result<RowSlot> {
        self.slots.new_row()
    }

    /// The counters of registers and row slots.
    pub(crate) fn slots(&self) -> Rc<Slots> {
        Rc::clone(&self.slots)
    }

    /// The types of all parameters, or an error that names one without a type.
    pub(crate) fn finished_parameters(&self) -> Result<Vec<SqlType>> {
        self.parameter_types
            .iter()
            .enumerate()
            .map(|(number, sql_type)| {
                let number = u16::try_from(number).unwrap_or(u16::MAX);
                sql_type.ok_or_else(|| no_parameter_type(number))
            })
            .collect()
    }

    /// Adds the position to an error that has none yet.
    pub(crate) fn place(&self, error: Error, place: Place) -> Error {
        if matches!(&error, Error::Input(input) if input.position.is_some()) {
            return error;
        }
        let position = match place {
            Place::Unknown => None,
            Place::At(location) => query::position(self.sql, location),
            Place::OperatorAfter(end) => query::operator_position(self.sql, end),
            Place::CastAfter(end) => query::token_position(self.sql, end, 0),
            Place::CastBefore(start) => query::cast_position(self.sql, start),
            Place::TypeAfter(end) => query::token_position(self.sql, end, 1),
        };
        match position {
            Some(position) => error.with_position(position),
            None => error,
        }
    }

    /// An error at a place.
    pub(crate) fn fail<T>(
        &self,
        state: hyades_types::error::SqlState,
        message: impl Into<String>,
        place: Place,
    ) -> Result<T> {
        Err(self.place(Error::input(state, message), place))
    }

    /// The name that an alias gives. sqlparser takes strings too, PostgreSQL does not.
    pub(crate) fn alias(&self, alias: &ast::Ident) -> Result<String> {
        if alias.quote_style == Some('\'') {
            return Err(query::string_as_name(self.sql, &alias.value));
        }
        Ok(crate::statement::names::fold(alias))
    }

    /// A feature that PostgreSQL has and Hyades does not support yet.
    pub(crate) fn unsupported<T>(&self, missing: Missing, what: &str, place: Place) -> Result<T> {
        Err(self.place(refused(missing, what), place))
    }

    /// The same where there is no place to point at.
    pub(crate) fn lacks<T>(&self, missing: Missing, what: &str) -> Result<T> {
        self.unsupported(missing, what, Place::Unknown)
    }

    /// The same at these words of the statement, in lower case.
    pub(crate) fn unsupported_at<T>(&self, missing: Missing, what: &str, words: &[&str]) -> Result<T> {
        let error = refused(missing, what);
        Err(match query::words_position(self.sql, words, 0) {
            Some(position) => error.with_position(position),
            None => error,
        })
    }
}
