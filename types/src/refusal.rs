//! What PostgreSQL has and Hyades lacks, and the way round it.
//!
//! Every refusal of such a thing is made here, so none lacks a hint. A statement that PostgreSQL refuses too
//! is an error like any other, with PostgreSQL's text, and is not made here.

use crate::error::{Error, sqlstate};

/// The error (0A000) for something that is missing. `what` names it and ends in a verb: "range types are".
pub fn refused(missing: Missing, what: &str) -> Error {
    refusal(missing, format!("{what} not supported yet"))
}

/// The same with a sentence of its own.
pub fn refusal(missing: Missing, sentence: impl Into<String>) -> Error {
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, sentence).with_hint(missing.way_round())
}

/// The same in a language.
pub fn refused_in(missing: Missing, what: &str, language: &str) -> Error {
    refusal(missing, format!("{what} not supported yet in {language}"))
}

macro_rules! missing {
    ($($(#[$attribute:meta])* $name:ident => $hint:literal,)*) => {
        /// What is missing. Things with the same way round share a name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Missing {
            $($(#[$attribute])* $name,)*
        }

        impl Missing {
            /// All of them.
            pub const ALL: &[Missing] = &[$(Missing::$name),*];

            /// What a user can do instead: the hint of the refusal.
            pub const fn way_round(self) -> &'static str {
                match self {
                    $(Missing::$name => $hint,)*
                }
            }
        }
    };
}

missing! {
    /// CREATE ACCESS METHOD, SET ACCESS METHOD.
    AccessMethods => "There is one access method for tables, and btree and hash for indexes: leave it out.",
    /// ALTER and DROP of kinds of objects that cannot be created.
    AbsentObjects => "No such object can exist here: leave the statement out.",
    /// GRANT on kinds of objects without rights.
    AbsentRights => "There are no such rights here: leave the statement out.",
    /// Ordered-set aggregates of users, and states of internal types.
    Aggregates => "Use array_agg, and a function that takes the array.",
    /// AND CHAIN in routines.
    AndChain => "Use COMMIT or ROLLBACK without AND CHAIN: the next statement begins a transaction.",
    /// Parts of arrays and of records as targets.
    AssignedParts => "Change a copy of the whole value, and assign that.",
    /// Base types and shell types.
    BaseTypes => "Use a domain over a type that exists.",
    /// Basic regular expressions.
    BasicExpressions => "Write it as an advanced regular expression, with ( ) for \\( \\).",
    /// Bit strings.
    BitStrings => "Use an integer with &, | and #, or bytea.",
    /// Functions in the arguments of CALL.
    CallArguments => "Compute the value first, and give it to CALL as a value.",
    /// Casts of domains, and of types whose values differ inside.
    Casts => "Write a function that converts the value, and call it.",
    /// LOCK TABLE of relations of the catalog.
    CatalogLocks => "It is not needed: leave the statement out.",
    /// A change of a routine's records between places.
    ChangingRecords => "Use a record of its own for each query, or variables.",
    /// WITH CHECK OPTION.
    CheckOption => "Use a CHECK constraint on the table.",
    /// `'now'` in defaults.
    ClockWords => "Use current_date or current_timestamp.",
    /// CLUSTER.
    Clustering => "The order of rows in memory has no effect: leave it out.",
    /// CREATE COLLATION, COLLATE.
    Collations => "Texts are compared byte by byte, as with COLLATE \"C\". To ignore case, compare lower(text).",
    /// Rights on columns.
    ColumnRights => "Grant rights on a view of these columns.",
    /// Columns that CREATE TABLE AS cannot have.
    ColumnTypes => "Convert it to another type in the query: value::text.",
    /// Comments on objects that take none.
    Comments => "A comment changes nothing: leave the statement out.",
    /// The type `record`, in a declaration.
    CompositeTypes => "Use a composite type, or jsonb.",
    /// Attributes that come or go where values of the type are.
    AttributesInUse => "Create another type, and convert the columns to it: ALTER TABLE ... ALTER COLUMN ... TYPE.",
    /// Routines of the session where only values can stand.
    ComputedFirst => "Compute the value in a statement of its own first.",
    /// CREATE CONVERSION, encodings.
    Conversions => "The encoding is UTF8: convert the text in the client.",
    /// WHERE CURRENT OF in joins.
    CurrentOf => "Name the row by its key: WHERE id = ...",
    /// Cursors whose columns are known too late.
    CursorColumns => "FETCH into variables, one for each column.",
    /// CREATE TABLE AS in a routine.
    DefinedInRoutine => "Use CREATE TABLE, and EXECUTE of INSERT ... SELECT.",
    /// ALTER DEFAULT PRIVILEGES.
    DefaultPrivileges => "Grant rights on objects when they are created.",
    /// Changes of what stored definitions name.
    Dependents => "Drop what depends on it first, and create it again afterwards.",
    /// Items of GET DIAGNOSTICS.
    Diagnostics => "There is no way round it yet.",
    /// Forms that only other databases know.
    Dialects => "Write out what it stands for, as for PostgreSQL.",
    /// DO in a routine.
    DoInRoutines => "Write the block itself: BEGIN ... END.",
    /// Domains as types of parameters and elements.
    DomainsElsewhere => "Use the type that the domain is made of.",
    /// Constraints of domains in use.
    DomainsInUse => "A CHECK constraint can be added as NOT VALID: it holds for new values.",
    /// The default of a column that is a record.
    DefaultsOfRecords => "Assign to it after BEGIN.",
    /// VALIDATE CONSTRAINT of domains.
    DomainValidation => "There is no way round it yet. The constraint already holds for new values.",
    /// ALTER INDEX of other relations.
    OtherKinds => "Say what it is: ALTER TABLE, ALTER VIEW or ALTER SEQUENCE.",
    /// DROP OWNED, REASSIGN OWNED.
    OwnedObjects => "Name the objects: DROP, REVOKE and ALTER ... OWNER TO.",
    /// Encodings of a database.
    Encodings => "Texts are UTF-8: use ENCODING 'UTF8'.",
    /// Event triggers.
    EventTriggers => "There is no way round it yet.",
    /// Exclusion constraints.
    Exclusion => "Use a UNIQUE constraint, or check in a procedure that locks what it reads.",
    /// EXECUTE in CREATE TABLE AS.
    ExecutedQueries => "Write the query itself.",
    /// EXPLAIN ANALYZE of what is no query and no change.
    Explain => "Use EXPLAIN without ANALYZE.",
    /// ALTER EXTENSION, comments on extensions.
    ExtensionChanges => "It is not needed: leave the statement out.",
    /// The database that a data directory was made with.
    FirstDatabase => "Drop its schemas, or give it another name.",
    /// The role that there is from the beginning.
    FirstRole => "Create another role, WITH SUPERUSER if needed.",
    /// Foreign tables, servers and wrappers.
    ForeignData => "Use a table, and fill it with COPY.",
    /// Foreign keys between columns of different types.
    ForeignKeyTypes => "Give both columns the same type.",
    /// FOR over a cursor.
    ForOverCursor => "Use FOR ... IN followed by the query.",
    /// Built-in functions.
    Functions => "Write a function of that name in SQL or PL/pgSQL.",
    /// `#variable_conflict` and the like.
    RoutineOptions => "Leave it out, and give the variables names that no column has.",
    /// ALTER FUNCTION and its like, of anything but the schema and the owner.
    RoutineChanges => "Use CREATE OR REPLACE, or drop the routine and create it again.",
    /// SEARCH DEPTH FIRST.
    SearchOrder => "Collect the keys on the way in an array, and order by it.",
    /// Functions about the session in routines.
    SessionFunctions => "Give the value to the routine as a parameter.",
    /// Settings of a routine.
    RoutineSettings => "Use SET in the session before the call.",
    /// DROP EXPRESSION.
    GeneratedColumns => "Add a plain column, copy the values with UPDATE, and drop the generated one.",
    /// GIN, GiST, BRIN, SP-GiST.
    IndexMethods => "Use a btree index on columns or on expressions: (data ->> 'name').",
    /// User-defined functions in indexes.
    IndexedFunctions => "Keep the value in a column that a trigger sets, and index that column.",
    /// Inheritance of tables.
    Inheritance => "Use CREATE TABLE ... (LIKE ...), and a view with UNION ALL.",
    /// Constants that cannot be kept.
    KeptValues => "Write the value as a literal with its type: 'text'::type.",
    /// CREATE LANGUAGE, LANGUAGE.
    Languages => "Functions can be written in SQL and in PL/pgSQL.",
    /// LATERAL in certain joins.
    Lateral => "Put one side of the join into a subquery.",
    /// lo_creat and its like.
    LargeObjects => "Use a column of type bytea.",
    /// LC_COLLATE and its like.
    Locales => "Texts are ordered by their bytes: use LOCALE 'C', or leave it out.",
    /// Locking clauses over what is no table.
    LockingClauses => "Lock the rows of the table in a query of its own.",
    /// MERGE.
    Merge => "Use INSERT ... ON CONFLICT, or several statements in a transaction.",
    /// money.
    Money => "Use numeric(12, 2).",
    /// MD5 hashes of passwords.
    Md5 => "Give the password itself, or a SCRAM verifier.",
    /// Arguments by name in stored definitions.
    NamedArguments => "Give the arguments in their order.",
    /// NO INHERIT and other words about what does not exist.
    Needless => "It is not needed: leave it out.",
    /// NULLS NOT DISTINCT in partial indexes.
    NullsNotDistinct => "Index an expression that is never null: (coalesce(a, '')).",
    /// The number of a database.
    Numbers => "Leave OID out.",
    /// Other types of geometry.
    Points => "Use two columns of type double precision for each point.",
    /// CREATE OPERATOR, and operators that do not exist.
    Operators => "Write a function that does it, and call that.",
    /// CREATE OPERATOR CLASS, and classes that do not exist.
    OperatorClasses => "Leave the operator class out, or index an expression that has the wanted order.",
    /// Partitioned tables.
    Partitions => "Make one table and an index on the column that would choose the partition.",
    /// CREATE POLICY.
    Policies => "Grant rights on views that show only some of the rows.",
    /// Unknown types of parameters.
    ParameterTypes => "Write a function for each type.",
    /// Hashes of passwords.
    PasswordHashes => "Use the type bf.",
    /// The message FunctionCall.
    ProtocolCalls => "Send a query: SELECT function(arguments).",
    /// CREATE PUBLICATION, CREATE SUBSCRIPTION.
    Publications => "Call pg_notify in a trigger to tell others of changes.",
    /// Options of RAISE.
    RaiseOptions => "Leave the option out.",
    /// Range types.
    Ranges => "Use two columns, for the bounds.",
    /// Functions that return records of unknown columns.
    RecordResults => "Use RETURNS TABLE (...), or output parameters.",
    /// WITH RECURSIVE beyond what exists.
    Recursion => "Keep the rows in a temporary table, and add to it in a loop of PL/pgSQL.",
    /// Renaming columns of a view.
    RenamedViewColumns => "Drop the view, and create it again with the other names.",
    /// Columns and attributes of the type of a table's rows.
    RowsOfTables => "Create a composite type with the same columns, and use that.",
    /// Rows as values.
    RowsAsValues => "Name the columns one by one, or convert the row: to_jsonb(t).",
    /// The cost of hashes.
    Rounds => "Use fewer rounds.",
    /// CREATE RULE.
    Rules => "Use a trigger of the table, or a view with INSTEAD OF triggers.",
    /// ALTER ... SET SCHEMA in a trigger of TRUNCATE.
    SchemaInTriggers => "Change the schema before or after TRUNCATE.",
    /// CREATE SCHEMA AUTHORIZATION of a role that is not named.
    SchemaOfRole => "Give the schema a name: CREATE SCHEMA name AUTHORIZATION role.",
    /// Other statements in CREATE SCHEMA.
    SchemaElements => "Write it as a statement of its own, after CREATE SCHEMA.",
    /// SECURITY DEFINER.
    SecurityDefiner => "Use a view, which reads with the rights of its owner.",
    /// security_invoker.
    SecurityInvoker => "Use a function that returns the rows: it runs with the rights of its caller.",
    /// FROM a sequence.
    SequencesAsTables => "Read the view pg_sequences.",
    /// COPY from and to files of the server.
    ServerFiles => "Use COPY FROM STDIN or TO STDOUT. psql's \\copy does so with files of the client.",
    /// Set-returning functions in certain places.
    SetFunctions => "Call the function in FROM.",
    /// Some settings for sessions to come: `session_authorization`, those of transactions.
    Settings => "Set them when a session begins: the connection parameter \"options\", or SET.",
    /// Values of settings.
    SettingValues => "Leave the setting as it is.",
    /// SKIP LOCKED beyond what exists.
    SkipLocked => "Lock the rows of one table in a query of its own.",
    /// SLICE.
    Slices => "Use FOR over the subscripts, and a slice: a[i:i].",
    /// pg_export_snapshot.
    Snapshots => "Leave --jobs out.",
    /// Bodies of routines in standard SQL.
    StandardBodies => "Write the body as a text: AS $$ ... $$.",
    /// Statements in routines.
    StatementsInRoutines => "Send the statement on its own, or call the routine after it.",
    /// CREATE STATISTICS.
    Statistics => "It is not needed: leave the statement out.",
    /// Subscripts of what is computed.
    Subscripts => "Put the value into a column of a subquery first.",
    /// ALTER SYSTEM.
    System => "Give the server its options when it starts: see hyades serve --help.",
    /// xmin, ctid and their like.
    SystemColumns => "Use a column of your own for it.",
    /// Tables and views without columns.
    TablesWithoutColumns => "Give it a column that stays empty.",
    /// The schemas of the catalog.
    SystemSchemas => "Create a schema of your own.",
    /// TABLESAMPLE.
    TableSample => "Use WHERE random() < 0.1, which reads all rows.",
    /// CREATE TABLESPACE, TABLESPACE.
    Tablespaces => "Tables are kept in memory: leave it out.",
    /// Routines in `pg_temp`.
    TemporaryRoutines => "Create it in a schema, and drop it when it is not needed.",
    /// Text search.
    TextSearch => "Use LIKE or a regular expression.",
    /// Time zones more than a day from Greenwich.
    TimeZones => "Use a time zone that is nearer to Greenwich.",
    /// Transition tables in COPY.
    TransitionsInCopy => "Copy into a temporary table, and use INSERT ... SELECT.",
    /// PREPARE TRANSACTION.
    TwoPhase => "Commit in one step.",
    /// Other types.
    Types => "Use text, or a type that exists.",
    /// CREATE TABLE ... OF.
    TypedTables => "Write out the columns.",
    /// UNLOGGED.
    Unlogged => "Use a temporary table, whose rows are not logged.",
    /// NOT VALID, USING INDEX where they cannot stand.
    Unnamed => "Leave it out, and use ALTER TABLE ... ADD CONSTRAINT afterwards.",
    /// Defaults of columns of views.
    ViewDefaults => "Set the default of the table's column.",
    /// Several targets of a change.
    WholeRows => "Name the columns one by one.",
    /// WITH of changes beyond what exists.
    WithChanges => "Use several statements in a transaction.",
    /// XML.
    Xml => "Keep it as text, and read it in the client.",
    /// Other forms of expressions and queries.
    OtherForms => "Write it in another form.",
}

impl Missing {
    /// For a type of this name, in lower case.
    pub fn of_type(name: &str) -> Missing {
        match name.trim_end_matches("[]") {
            "money" => Missing::Money,
            "xml" => Missing::Xml,
            "bit" | "varbit" | "bit varying" => Missing::BitStrings,
            "tsvector" | "tsquery" => Missing::TextSearch,
            "point" | "line" | "lseg" | "box" | "path" | "polygon" | "circle" => Missing::Points,
            "record" => Missing::CompositeTypes,
            name if name.ends_with("range") => Missing::Ranges,
            _ => Missing::Types,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_hint() {
        for missing in Missing::ALL {
            let hint = missing.way_round();
            assert!(
                hint.ends_with(['.', ')']) && hint.starts_with(char::is_uppercase),
                "{missing:?}: {hint}"
            );
        }
        let Error::Input(error) = refused(Missing::Money, "type money is") else { panic!("no user error") };
        assert_eq!(error.state, sqlstate::FEATURE_NOT_SUPPORTED);
        assert_eq!(error.message, "type money is not supported yet");
        assert_eq!(error.hint.as_deref(), Some("Use numeric(12, 2)."));
    }
}
