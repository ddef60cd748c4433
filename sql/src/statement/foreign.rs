//! Clauses of other databases, which sqlparser accepts in every dialect and PostgreSQL calls a syntax error.
//!
//! Each structure of sqlparser's tree that Hyades takes apart is listed here with all of its fields: those
//! that are used, and those that must be absent, each with the word that begins its clause. A field that a
//! newer sqlparser adds does not compile until it is listed, so no clause can be dropped silently. Words that
//! are no keywords of PostgreSQL do not get this far (`super::keywords`).

use std::ops::ControlFlow;

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, ColumnOption, CreateTable, Cte, Delete, Expr,
    ForeignKeyConstraint, FromTable, Function, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, HiveDistributionStyle, IndexColumn, Insert, Join, JoinConstraint, JoinOperator,
    KeyOrIndexDisplay, LimitClause, NamedWindowDefinition, NamedWindowExpr, OnInsert, OrderBy, OrderByExpr,
    OrderByKind, OrderByOptions, PrimaryKeyConstraint, Query, Select, SelectFlavor, SetExpr, SetQuantifier,
    Statement, TableAlias, TableConstraint, TableFactor, TableFunctionArgs, TableWithJoins, Truncate,
    TypedString, UniqueConstraint, Update, UpdateTableFromKind, Values, Visit, Visitor, WindowSpec,
    WindowType, With,
};
use sqlparser::ast::{CastKind, CreateTableLikeKind, CreateTableOptions, ExtractSyntax, SqlOption};
use sqlparser::tokenizer::Location;

use super::lexer::{Lexer, TokenKind, syntax_error};
use super::places::byte_offset;
use super::{query_end, sort_operator};

/// Refuses clauses of other databases. See the module head.
pub(super) fn refuse(sql: &str, parsed: &impl Visit) -> Result<()> {
    match parsed.visit(&mut Foreign { sql, inner_lists: Vec::new() }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Foreign<'a> {
    sql: &'a str,
    /// The lists in `ARRAY[[1, 2], [3, 4]]`, which are no arrays without the word.
    inner_lists: Vec<*const Expr>,
}

type Checked = ControlFlow<Error>;

const PASSED: Checked = ControlFlow::Continue(());

/// Whether a field says anything.
trait Given {
    fn is_given(&self) -> bool;
}

impl Given for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

impl<T> Given for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> Given for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

/// Takes a structure apart. The first list has the fields that are used, the second one those that must be
/// absent, each with the first word of its clause.
macro_rules! only {
    ($self:ident, $value:expr, $type:ident { $($used:ident)* } { $($foreign:ident $word:literal)* }) => {{
        let $type { $($used: _,)* $($foreign,)* } = $value;
        $self.absent(&[$(($foreign.is_given(), $word)),*])?;
    }};
}

impl Foreign<'_> {
    /// 42601 at the first of these clauses that is present.
    fn absent(&self, clauses: &[(bool, &str)]) -> Checked {
        match clauses.iter().find(|(is_there, _)| *is_there) {
            Some((_, words)) => ControlFlow::Break(self.error_at(words)),
            None => PASSED,
        }
    }

    /// The syntax error at the last of these words, which follow each other.
    fn error_at(&self, words: &str) -> Error {
        let words: Vec<&str> = words.split(' ').collect();
        let (mut lexer, mut met) = (Lexer::new(self.sql), 0);
        while let Ok(token) = lexer.next()
            && token.kind != TokenKind::End
        {
            // `_` stands for any token.
            let is_met =
                |at: usize| words[at] == "_" || token.is_word(words[at]) || token.is_symbol(words[at]);
            met = if is_met(met) { met + 1 } else { usize::from(is_met(0)) };
            if met == words.len() {
                return syntax_error(self.sql, &token);
            }
        }
        let last = words.last().unwrap_or(&"");
        Error::input(sqlstate::SYNTAX_ERROR, format!("syntax error at or near \"{last}\""))
    }

    /// The syntax error at the token that begins here.
    fn error_from(&self, place: Location) -> Error {
        match Lexer::starting_at(self.sql, byte_offset(self.sql, place)).next() {
            Ok(token) => syntax_error(self.sql, &token),
            Err(error) => error,
        }
    }

    fn refused(&self, words: &str) -> Checked {
        ControlFlow::Break(self.error_at(words))
    }

    /// The error at the place of this word.
    fn placed_at(&self, error: Error, word: &str) -> Error {
        match self.error_at(word) {
            Error::Input(input) if input.position.is_some() => {
                error.with_position(input.position.unwrap_or_default())
            }
            _ => error,
        }
    }

    fn not_yet(&self, missing: Missing, word: &str) -> Checked {
        let error = refused(missing, &format!("{} is", word.to_ascii_uppercase()));
        ControlFlow::Break(self.placed_at(error, word))
    }

    fn limit(&self, clause: &LimitClause) -> Checked {
        match clause {
            LimitClause::LimitOffset { limit: _, offset: _, limit_by } => {
                self.absent(&[(!limit_by.is_empty(), "by")])
            }
            LimitClause::OffsetCommaLimit { offset: _, limit: _ } => {
                let told = Error::input(sqlstate::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                    .with_hint("Use separate LIMIT and OFFSET clauses.");
                ControlFlow::Break(self.placed_at(told, "limit"))
            }
        }
    }

    /// What FETCH FIRST ... WITH TIES cannot be combined with.
    fn ties(query: &Query) -> Checked {
        let message = match query_end::has_ties(query) {
            true if query.order_by.is_none() => "WITH TIES cannot be specified without ORDER BY clause",
            true if query.locks.iter().any(query_end::skips) => {
                "SKIP LOCKED and WITH TIES options cannot be used together"
            }
            _ => return PASSED,
        };
        ControlFlow::Break(Error::input(sqlstate::SYNTAX_ERROR, message))
    }

    fn body(&self, body: &SetExpr) -> Checked {
        match body {
            SetExpr::SetOperation { left, op: _, set_quantifier, right } => {
                match set_quantifier {
                    SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None => {}
                    SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => {
                        return self.refused("by");
                    }
                }
                self.body(left)?;
                self.body(right)
            }
            SetExpr::Values(Values { explicit_row, value_keyword, rows: _ }) => {
                self.absent(&[(*explicit_row, "values row"), (*value_keyword, "value")])
            }
            SetExpr::Select(_)
            | SetExpr::Query(_)
            | SetExpr::Insert(_)
            | SetExpr::Update(_)
            | SetExpr::Delete(_)
            | SetExpr::Merge(_)
            | SetExpr::Table(_) => PASSED,
        }
    }

    fn ordered(&self, key: &OrderByExpr) -> Checked {
        only!(self, key, OrderByExpr { expr options } { with_fill "fill" });
        PASSED
    }

    fn with(&self, with: &With) -> Checked {
        let With { with_token: _, recursive: _, cte_tables } = with;
        cte_tables.iter().try_for_each(|table| {
            only!(self, table, Cte { alias query materialized closing_paren_token } { from "from" });
            self.alias(&table.alias)
        })
    }

    fn alias(&self, alias: &TableAlias) -> Checked {
        only!(self, alias, TableAlias { explicit name columns } { at "at" });
        PASSED
    }

    fn joins(&self, from: &[TableWithJoins]) -> Checked {
        from.iter().try_for_each(|TableWithJoins { relation: _, joins }| {
            joins.iter().try_for_each(|join| self.join(join))
        })
    }

    fn join(&self, join: &Join) -> Checked {
        only!(self, join, Join { relation join_operator } { global "global" });
        match &join.join_operator {
            JoinOperator::Join(_)
            | JoinOperator::Inner(_)
            | JoinOperator::Left(_)
            | JoinOperator::LeftOuter(_)
            | JoinOperator::Right(_)
            | JoinOperator::RightOuter(_)
            | JoinOperator::FullOuter(_)
            | JoinOperator::CrossJoin(JoinConstraint::None) => PASSED,
            JoinOperator::CrossJoin(JoinConstraint::Using(_)) => self.refused("using"),
            JoinOperator::CrossJoin(JoinConstraint::On(_) | JoinConstraint::Natural) => self.refused("on"),
            JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                self.refused("array")
            }
            JoinOperator::Semi(_)
            | JoinOperator::LeftSemi(_)
            | JoinOperator::RightSemi(_)
            | JoinOperator::Anti(_)
            | JoinOperator::LeftAnti(_)
            | JoinOperator::RightAnti(_)
            | JoinOperator::CrossApply
            | JoinOperator::OuterApply
            | JoinOperator::AsOf { match_condition: _, constraint: _ }
            | JoinOperator::StraightJoin(_) => self.refused("join"),
        }
    }

    fn table_arguments(&self, arguments: &TableFunctionArgs) -> Checked {
        only!(self, arguments, TableFunctionArgs { args } { settings "settings" });
        PASSED
    }

    fn function(&self, call: &Function) -> Checked {
        only!(self, call, Function { name args filter over within_group parameters } {
            uses_odbc_syntax "{"
            null_treatment "ignore"
        });
        if !matches!(call.parameters, FunctionArguments::None) {
            return self.refused(") (");
        }
        if let Some(WindowType::WindowSpec(window)) = &call.over {
            self.window(window)?;
        }
        let FunctionArguments::List(list) = &call.args else { return PASSED };
        let FunctionArgumentList { duplicate_treatment: _, args: _, clauses } = list;
        clauses.iter().try_for_each(|clause| match clause {
            FunctionArgumentClause::OrderBy(keys) => keys.iter().try_for_each(|key| self.ordered(key)),
            FunctionArgumentClause::IgnoreOrRespectNulls(_) => self.refused("ignore"),
            FunctionArgumentClause::Limit(_) => self.refused("limit"),
            FunctionArgumentClause::OnOverflow(_) => self.refused("on"),
            FunctionArgumentClause::Having(_) => self.refused("having"),
            FunctionArgumentClause::Separator(_) => self.refused("separator"),
            FunctionArgumentClause::JsonNullClause(_) => self.refused("null on"),
            FunctionArgumentClause::JsonReturningClause(_) => self.refused("returning"),
        })
    }

    fn window(&self, window: &WindowSpec) -> Checked {
        let WindowSpec { window_name: _, partition_by: _, order_by, window_frame: _ } = window;
        order_by.iter().try_for_each(|key| self.ordered(key))
    }

    fn insert(&self, insert: &Insert) -> Checked {
        only!(self, insert, Insert {
            insert_token optimizer_hints into table table_alias columns source on returning
        } {
            or "or" ignore "ignore" overwrite "overwrite" partitioned "partition" after_columns "partition"
            has_table_keyword "table" assignments "set" output "output" replace_into "replace"
            priority "insert" insert_alias "as" settings "settings" format_clause "format"
            multi_table_insert_type "all" multi_table_into_clauses "into" multi_table_when_clauses "when"
            multi_table_else_clause "else"
        });
        match &insert.on {
            Some(OnInsert::DuplicateKeyUpdate(_)) => self.refused("duplicate"),
            Some(OnInsert::OnConflict(_)) | None => self.absent(&[(!insert.into, "insert _")]),
            Some(_) => self.refused("on"),
        }
    }

    fn update(&self, update: &Update) -> Checked {
        only!(self, update, Update {
            update_token optimizer_hints table assignments from selection returning
        } { output "output" or "or" order_by "order" limit "limit" });
        self.absent(&[
            (!update.table.joins.is_empty(), "join"),
            (matches!(update.from, Some(UpdateTableFromKind::BeforeSet(_))), "from"),
        ])?;
        match &update.from {
            Some(UpdateTableFromKind::AfterSet(from)) => self.joins(from),
            Some(UpdateTableFromKind::BeforeSet(_)) | None => PASSED,
        }
    }

    fn delete(&self, delete: &Delete) -> Checked {
        only!(self, delete, Delete { delete_token optimizer_hints from using selection returning } {
            output "output" order_by "order" limit "limit" tables "delete _"
        });
        match &delete.from {
            FromTable::WithFromKeyword(_) => {}
            FromTable::WithoutKeyword(_) => return self.refused("delete _"),
        }
        self.joins(delete.using.as_deref().unwrap_or_default())
    }

    fn create_table(&self, create: &CreateTable) -> Checked {
        only!(self, create, CreateTable {
            temporary global if_not_exists name columns constraints table_options query on_commit inherits
            partition_by partition_of for_values hive_distribution like or_replace
        } {
            external "external" dynamic "dynamic" transient "transient" volatile "volatile" iceberg "iceberg"
            snapshot "snapshot" hive_formats "location" file_format "stored" location "location"
            without_rowid "rowid" clone "clone" version "at" comment "comment" on_cluster "on cluster"
            primary_key "primary" order_by "order" cluster_by "cluster" clustered_by "clustered"
            strict "strict"
            copy_grants "copy" enable_schema_evolution "enable" change_tracking "change" backup "backup"
            data_retention_time_in_days "data" max_data_extension_time_in_days "max"
            default_ddl_collation "default" with_aggregation_policy "with" with_row_access_policy "with"
            with_storage_lifecycle_policy "with" with_tags "with" external_volume "external"
            base_location "base" catalog "catalog" catalog_sync "catalog"
            storage_serialization_policy "storage"
            target_lag "target" warehouse "warehouse" refresh_mode "refresh" initialize "initialize"
            require_user "require" diststyle "diststyle" distkey "distkey" sortkey "sortkey"
        });
        self.absent(&[
            (create.or_replace, "replace table"),
            (matches!(create.like, Some(CreateTableLikeKind::Plain(_))), "like"),
        ])?;
        match &create.hive_distribution {
            HiveDistributionStyle::NONE | HiveDistributionStyle::PARTITIONED { columns: _ } => {}
            HiveDistributionStyle::SKEWED { columns: _, on: _, stored_as_directories: _ } => {
                return self.refused("skewed");
            }
        }
        match &create.table_options {
            CreateTableOptions::None | CreateTableOptions::With(_) => {}
            CreateTableOptions::Plain(options) => self.table_options(options)?,
            CreateTableOptions::Options(_) => return self.refused("options"),
            CreateTableOptions::TableProperties(_) => return self.refused("tblproperties"),
        }
        create.columns.iter().try_for_each(|column| self.column(column))?;
        create.constraints.iter().try_for_each(|constraint| self.constraint(constraint))
    }

    /// Options that follow the list of columns, without WITH.
    fn table_options(&self, options: &[SqlOption]) -> Checked {
        options.iter().try_for_each(|option| {
            let shown = option.to_string().to_ascii_lowercase();
            let word = shown.split([' ', '=']).next().unwrap_or_default();
            self.absent(&[(!matches!(option, SqlOption::TableSpace(_)), word)])
        })
    }

    fn column(&self, column: &ColumnDef) -> Checked {
        let ColumnDef { name: _, data_type: _, options } = column;
        options.iter().try_for_each(|option| match &option.option {
            ColumnOption::Null
            | ColumnOption::NotNull
            | ColumnOption::Default(_)
            | ColumnOption::ForeignKey(_)
            | ColumnOption::Check(_)
            | ColumnOption::Collation(_)
            | ColumnOption::Generated { .. } => PASSED,
            ColumnOption::PrimaryKey(key) => self.primary_key(key),
            ColumnOption::Unique(unique) => self.unique(unique),
            ColumnOption::Materialized(_)
            | ColumnOption::Ephemeral(_)
            | ColumnOption::Alias(_)
            | ColumnOption::DialectSpecific(_)
            | ColumnOption::CharacterSet(_)
            | ColumnOption::Comment(_)
            | ColumnOption::OnUpdate(_)
            | ColumnOption::Options(_)
            | ColumnOption::Identity(_)
            | ColumnOption::OnConflict(_)
            | ColumnOption::Policy(_)
            | ColumnOption::Tags(_)
            | ColumnOption::Srid(_)
            | ColumnOption::Invisible => {
                let shown = option.option.to_string().to_ascii_lowercase();
                self.refused(shown.split([' ', '(']).next().unwrap_or_default())
            }
        })
    }

    fn constraint(&self, constraint: &TableConstraint) -> Checked {
        match constraint {
            TableConstraint::PrimaryKey(key) => self.primary_key(key),
            TableConstraint::Unique(unique) => self.unique(unique),
            TableConstraint::ForeignKey(key) => {
                only!(self, key, ForeignKeyConstraint {
                    name columns foreign_table referred_columns on_delete on_update match_kind characteristics
                } { index_name "key _" });
                PASSED
            }
            TableConstraint::Index(_) => self.refused("("),
            TableConstraint::FulltextOrSpatial(_) => self.refused("key"),
            TableConstraint::Check(_)
            | TableConstraint::PrimaryKeyUsingIndex(_)
            | TableConstraint::UniqueUsingIndex(_) => PASSED,
        }
    }

    fn primary_key(&self, key: &PrimaryKeyConstraint) -> Checked {
        only!(self, key, PrimaryKeyConstraint { name columns characteristics } {
            index_name "key _" index_type "using" index_options "using"
        });
        key.columns.iter().try_for_each(|column| self.key_column(column))
    }

    fn unique(&self, unique: &UniqueConstraint) -> Checked {
        only!(self, unique, UniqueConstraint {
            name columns characteristics nulls_distinct index_type_display
        } { index_name "unique _" index_type "using" index_options "using" });
        match unique.index_type_display {
            KeyOrIndexDisplay::None => {}
            KeyOrIndexDisplay::Key => return self.refused("unique key"),
            KeyOrIndexDisplay::Index => return self.refused("unique index"),
        }
        unique.columns.iter().try_for_each(|column| self.key_column(column))
    }

    /// A column of a PRIMARY KEY or UNIQUE constraint, which has no order.
    fn key_column(&self, column: &IndexColumn) -> Checked {
        let IndexColumn { column, operator_class } = column;
        self.ordered(column)?;
        let OrderByOptions { asc, nulls_first } = column.options;
        let class = operator_class.as_ref().map(ToString::to_string).unwrap_or_default();
        self.absent(&[
            (asc == Some(true), "asc"),
            (asc == Some(false), "desc"),
            (nulls_first.is_some(), "nulls"),
            (operator_class.is_some(), &class.to_ascii_lowercase()),
        ])
    }

    fn alter_table(&self, alter: &AlterTable) -> Checked {
        only!(self, alter, AlterTable { name if_exists only operations end_token } {
            location "location" on_cluster "on" table_type "alter _"
        });
        alter.operations.iter().try_for_each(|operation| match operation {
            AlterTableOperation::AddColumn {
                column_keyword: _,
                if_not_exists: _,
                column_def,
                column_position,
            } => {
                let position = column_position.as_ref().map(ToString::to_string).unwrap_or_default();
                let word = position.split(' ').next().unwrap_or_default().to_ascii_lowercase();
                self.absent(&[(column_position.is_some(), &word)])?;
                self.column(column_def)
            }
            AlterTableOperation::AddConstraint { constraint, not_valid: _ } => self.constraint(constraint),
            _ => PASSED,
        })
    }

    fn truncate(&self, truncate: &Truncate) -> Checked {
        only!(self, truncate, Truncate { table_names table identity cascade } {
            partitions "partition" if_exists "if exists" on_cluster "on"
        });
        PASSED
    }
}

impl Visitor for Foreign<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &Statement) -> Checked {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::CreateTable(create) => self.create_table(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::Truncate(truncate) => self.truncate(truncate),
            Statement::Drop {
                object_type: _,
                if_exists: _,
                names: _,
                cascade: _,
                restrict: _,
                purge,
                temporary,
                table,
            } => self.absent(&[(*purge, "purge"), (*temporary, "temporary"), (table.is_some(), "on")]),
            _ => PASSED,
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        only!(self, query, Query { with body order_by limit_clause locks } {
            fetch "fetch _" for_clause "for _" settings "settings" format_clause "format" pipe_operators "|>"
        });
        Self::ties(query)?;
        query.with.iter().try_for_each(|with| self.with(with))?;
        query.limit_clause.iter().try_for_each(|clause| self.limit(clause))?;
        if let Some(order) = &query.order_by {
            only!(self, order, OrderBy { kind } { interpolate "interpolate" });
            match &order.kind {
                OrderByKind::All(_) => return self.refused("by all"),
                OrderByKind::Expressions(keys) => keys.iter().try_for_each(|key| self.ordered(key))?,
            }
        }
        self.body(&query.body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Checked {
        only!(self, select, Select {
            select_token optimizer_hints distinct projection into from selection group_by having named_window
            window_before_qualify flavor
        } {
            select_modifiers "select _" top "top _" top_before_distinct "top _" exclude "exclude"
            lateral_views "lateral view" prewhere "prewhere" connect_by "connect" cluster_by "cluster"
            distribute_by "distribute" sort_by "sort" qualify "qualify" value_table_mode "as"
        });
        match select.flavor {
            SelectFlavor::Standard => {}
            SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => return self.refused("from"),
        }
        select.named_window.iter().try_for_each(|NamedWindowDefinition(_, window)| match window {
            NamedWindowExpr::WindowSpec(window) => self.window(window),
            NamedWindowExpr::NamedWindow(_) => self.refused("window"),
        })?;
        self.joins(&select.from)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        let alias = match factor {
            TableFactor::Table {
                name: _,
                alias,
                args,
                with_hints,
                version,
                with_ordinality: _,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if sample.is_some() {
                    return self.not_yet(Missing::TableSample, "tablesample");
                }
                self.absent(&[
                    (!with_hints.is_empty(), "with"),
                    (version.is_some(), "for"),
                    (!partitions.is_empty(), "partition ("),
                    (json_path.is_some(), ":"),
                    (!index_hints.is_empty(), "index"),
                ])?;
                args.iter().try_for_each(|arguments| self.table_arguments(arguments))?;
                alias
            }
            TableFactor::Derived { lateral: _, subquery: _, alias, sample } => {
                if sample.is_some() {
                    return self.not_yet(Missing::TableSample, "tablesample");
                }
                alias
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.joins(std::slice::from_ref(table_with_joins))?;
                alias
            }
            TableFactor::Function { lateral: _, name: _, args: _, with_ordinality: _, alias } => alias,
            TableFactor::UNNEST {
                alias,
                array_exprs: _,
                with_offset,
                with_offset_alias,
                with_ordinality: _,
            } => {
                self.absent(&[(*with_offset || with_offset_alias.is_some(), "with offset")])?;
                alias
            }
            TableFactor::TableFunction { expr: _, alias: _ } => return self.refused("table"),
            TableFactor::XmlTable { .. } => return self.not_yet(Missing::Xml, "xmltable"),
            TableFactor::JsonTable { .. }
            | TableFactor::OpenJsonTable { .. }
            | TableFactor::Pivot { .. }
            | TableFactor::Unpivot { .. }
            | TableFactor::MatchRecognize { .. }
            | TableFactor::SemanticView { .. } => return self.refused("("),
        };
        alias.iter().try_for_each(|alias| self.alias(alias))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Cast { kind, expr: _, data_type: _, array, format } => self.absent(&[
                (matches!(kind, CastKind::TryCast | CastKind::SafeCast), "as"),
                (*array, "array"),
                (format.is_some(), "format"),
            ]),
            Expr::TypedString(literal) => {
                only!(self, literal, TypedString { data_type value } { uses_odbc_syntax "{" });
                PASSED
            }
            Expr::Function(call) => self.function(call),
            Expr::Extract { field: _, syntax, expr: _ } => {
                self.absent(&[(matches!(syntax, ExtractSyntax::Comma), ",")])
            }
            Expr::Like { negated: _, any, expr: _, pattern: _, escape_char: _ }
            | Expr::ILike { negated: _, any, expr: _, pattern: _, escape_char: _ } => {
                self.absent(&[(*any, "any")])
            }
            Expr::Array(array) => {
                if !array.named && !self.inner_lists.contains(&std::ptr::from_ref(expr)) {
                    return self.refused("[");
                }
                let lists = array.elem.iter().filter(|item| matches!(item, Expr::Array(_)));
                self.inner_lists.extend(lists.map(std::ptr::from_ref));
                PASSED
            }
            // What binding does not know, it refuses.
            other => match sort_operator::misplaced(other) {
                Some(using) => ControlFlow::Break(self.error_from(using.span.start)),
                None => PASSED,
            },
        }
    }
}
