//! The parser front end: from text to a [`Statement`].
//!
//! The first keyword decides. Transaction control, settings, COPY, maintenance and prepared statements have
//! small grammars, and PostgreSQL forms that sqlparser lacks, so they are parsed here. Everything else goes
//! through sqlparser, whose errors are converted to PostgreSQL's `syntax error at or near`.
//!
//! Files:
//! * `parsed`: the result; `names`: names and named arguments in it;
//! * the text before it is parsed: `lexer`, `split` (into statements, and limits), `lifting` (literals become
//!   parameters), `deep_text` (room on the stack);
//! * parsers of our own, on `tokens`: `control` (small statements), `copy_syntax`, `cursor_syntax`,
//!   `comment_syntax`, `index_syntax`, `parameter_syntax`, `routine_syntax`, `standard_body` (RETURN, BEGIN
//!   ATOMIC), `aggregate_syntax`,
//!   `schema_syntax`, `sequence_syntax`, `table_as_syntax`, `view_syntax`, `materialized_syntax`,
//!   `type_syntax`, `domain_syntax`, `role_syntax`, `database_syntax`, `trigger_syntax`, `extension_syntax`,
//!   `cast_syntax`;
//! * sqlparser: `query` (calls it, and respells its errors), with `dialect` and `keywords` (what it accepts);
//! * tokens respelled for it: `plain_words` (removed), `operator_signs`, `nested_parentheses`, `array_suffix`
//!   (`text ARRAY`), `element_target` (`SET a[1] =`), `field_wildcard` (`(row).*`), `conflict_syntax` (the
//!   index of ON CONFLICT), `locking` (FOR UPDATE and the like), `using_alias` (`USING (id) AS j`),
//!   `substring_syntax`, `reference_syntax` (SET NULL of some columns), `alteration_syntax` (identity, ALTER
//!   CONSTRAINT), `like_syntax` (LIKE in CREATE TABLE), `window_syntax` (frames), `call_syntax` (ROWS FROM,
//!   VARIADIC), `query_end` (the order of LIMIT and locks, FETCH FIRST);
//! * read by the dialect: `sort_operator` (`ORDER BY x USING <`);
//! * names: `written_names` (all of a statement, which must be of this database);
//! * errors: `places` (where in the text), `foreign` (clauses of other databases), `missing` (clauses that
//!   Hyades lacks);
//! * `kept_names`: names respelled in texts that the catalog keeps.

pub(crate) mod aggregate_syntax;
pub(crate) mod alteration_syntax;
mod array_suffix;
pub(crate) mod call_syntax;
mod cast_syntax;
mod comment_syntax;
pub(crate) mod conflict_syntax;
pub(crate) mod control;
pub(crate) mod copy_syntax;
pub(crate) mod cursor_syntax;
mod database_syntax;
pub(crate) mod deep_text;
pub(crate) mod dialect;
mod domain_syntax;
pub(crate) mod element_target;
mod extension_syntax;
pub(crate) mod field_wildcard;
mod foreign;
mod index_syntax;
pub(crate) mod kept_names;
mod keywords;
pub(crate) mod lexer;
pub(crate) mod lifting;
mod like_syntax;
pub(crate) mod locking;
mod materialized_syntax;
pub(crate) mod missing;
pub(crate) mod names;
mod nested_parentheses;
pub(crate) mod operator_signs;
mod parameter_syntax;
mod parsed;
pub(crate) mod places;
mod plain_words;
pub(crate) mod query;
pub(crate) mod query_end;
pub(crate) mod reference_syntax;
pub(crate) mod role_syntax;
pub(crate) mod routine_syntax;
mod schema_syntax;
pub(crate) mod sequence_syntax;
pub(crate) mod sort_operator;
pub(crate) mod split;
pub(crate) mod standard_body;
mod substring_syntax;
mod table_as_syntax;
pub(crate) mod tokens;
mod trigger_syntax;
pub(crate) mod type_syntax;
pub(crate) mod using_alias;
mod view_syntax;
pub(crate) mod window_syntax;
mod written_names;

use hyades_types::error::Result;

pub(crate) use parsed::{
    AccessCommand, AlterSchema, AlterSequence, AlterType, AttributeAction, CastCommand, ChangeParameters,
    Comment, Commented, CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, CreateAggregate,
    CreateExtension, CreateIndex, CreateRoutine, CreateSchema, CreateSequence, CreateTableAs,
    CreateTableLike, CreateTrigger, CreateType, CreateView, DatabaseCommand, DatabaseOptions, DeclareCursor,
    DomainAction, DropIndex, DropRoutine, DropSchema, DropSequence, DropType, DropView, ExplainFormat,
    ExplainOptions, ExtensionCommand, FetchCursor, ForceQuote, Granted, GrantedOn, IndexKey, IndexedWritten,
    IsolationModes, LikeClause, LikeParts, ListenStatement, Maintained, Move, Moved, MovedTo, OnCommit,
    Overriding, Owned, ParameterChange, ParameterHolder, QualifiedName, Refresh, RenameIndex, RoleName,
    RoleOption, SchemaElement, SequenceOptions, SetValue, SettingChange, SettingScope, SettingsTarget,
    SqlPart, Statement, TriggerAction, TriggerCommand, TypeAction, WrittenAttribute, WrittenCheck,
    WrittenDomain, WrittenMethod, WrittenParameter, WrittenReturns, WrittenType,
};

use lexer::TokenKind;

/// Parses one statement. A semicolon may end it, and nothing may follow.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    parse_whole(sql).map_err(|error| missing::named(sql, error))
}

fn parse_whole(sql: &str) -> Result<Statement> {
    let mut lexer = lexer::Lexer::new(sql);
    let mut first = lexer.next()?;
    while first.is_symbol(";") {
        first = lexer.next()?;
    }
    match first.kind {
        TokenKind::End => return Ok(Statement::Empty),
        TokenKind::Word => {}
        TokenKind::Symbol if first.text == "(" => return query::parse(sql),
        _ => return Err(lexer::syntax_error(sql, &first)),
    }
    let word = first.text.to_ascii_lowercase();
    match word.as_str() {
        // sqlparser accepts DELETE without FROM, as some other databases do. PostgreSQL does not.
        "delete" => match lexer.next()? {
            next if next.is_word("from") => query::parse(sql),
            next => Err(lexer::syntax_error(sql, &next)),
        },
        "create" => create(sql, lexer.next()?),
        "drop" => first_of(
            sql,
            &[
                routine_syntax::drop_routine,
                sequence_syntax::drop_sequence,
                index_syntax::drop_index,
                view_syntax::drop_view,
                materialized_syntax::drop_view,
                schema_syntax::drop_schema,
                type_syntax::drop_type,
                role_syntax::drop,
                database_syntax::drop_database,
                trigger_syntax::drop_trigger,
                extension_syntax::drop_extension,
                cast_syntax::drop_cast,
            ],
        ),
        "alter" => first_of(
            sql,
            &[
                schema_syntax::alter,
                parameter_syntax::alter,
                materialized_syntax::alter,
                sequence_syntax::alter,
                index_syntax::alter,
                type_syntax::alter,
                role_syntax::alter,
                database_syntax::alter,
                trigger_syntax::alter,
                extension_syntax::alter,
            ],
        ),
        "do" => routine_syntax::anonymous_block(sql),
        "call" => query::parse_call(sql).map(|_| Statement::Call),
        "select" | "insert" | "update" | "with" | "values" | "table" | "truncate" => query::parse(sql),
        "copy" => copy_syntax::parse(sql),
        "comment" => comment_syntax::parse(sql),
        "refresh" => materialized_syntax::refresh(sql),
        "grant" | "revoke" => role_syntax::grant(sql, word == "revoke"),
        _ => control::parse(sql, &word),
    }
}

/// A parser that returns a statement if the text is of its kind.
type OwnParser = fn(&str) -> Result<Option<Statement>>;

/// The statement from the first of these parsers that accepts it, else from sqlparser.
fn first_of(sql: &str, parsers: &[OwnParser]) -> Result<Statement> {
    for parse in parsers {
        if let Some(statement) = parse(sql)? {
            return Ok(statement);
        }
    }
    query::parse(sql)
}

/// CREATE of anything.
fn create(sql: &str, first: lexer::Token<'_>) -> Result<Statement> {
    if first.is_word("unique") || first.is_word("index") {
        return match index_syntax::create(sql)? {
            Some(create) => Ok(create),
            None => query::parse(sql),
        };
    }
    if ["role", "user", "group"].iter().any(|word| first.is_word(word))
        && let Some(create) = role_syntax::create(sql)?
    {
        return Ok(create);
    }
    if first.is_word("database")
        && let Some(create) = database_syntax::create(sql)?
    {
        return Ok(create);
    }
    if let Some(create) = type_syntax::create(sql)? {
        return Ok(create);
    }
    if let Some(schema) = schema_syntax::create(sql)? {
        return Ok(schema);
    }
    if let Some(table) = like_syntax::create(sql)? {
        return Ok(table);
    }
    if let Some(view) = view_syntax::create(sql)? {
        return Ok(view);
    }
    if let Some(view) = materialized_syntax::create(sql)? {
        return Ok(view);
    }
    if let Some(trigger) = trigger_syntax::create(sql)? {
        return Ok(trigger);
    }
    if let Some(extension) = extension_syntax::create(sql)? {
        return Ok(extension);
    }
    if let Some(cast) = cast_syntax::create(sql)? {
        return Ok(cast);
    }
    let parsed = match (table_as_syntax::create(sql)?, sequence_syntax::create(sql)?) {
        (Some(create), _) | (_, Some(create)) => Some(create),
        _ => match aggregate_syntax::create(sql)? {
            Some(create) => Some(create),
            None => routine_syntax::create(sql)?,
        },
    };
    match parsed {
        Some(create) => Ok(create),
        // sqlparser does not know this word.
        None if first.is_word("unlogged") => {
            let blank = " ".repeat(first.text.len());
            let rest = &sql[first.start + first.text.len()..];
            query::parse(&format!("{}{blank}{rest}", &sql[..first.start]))
        }
        None => query::parse(sql),
    }
}
