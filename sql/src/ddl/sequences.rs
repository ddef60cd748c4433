//! CREATE, ALTER and DROP SEQUENCE, and the sequences of columns: SERIAL and GENERATED AS IDENTITY.
//!
//! The options are kept as written. Numbers are checked when the statement runs, against the sequence and the
//! tables at that time.
//!
//! Reference: transformColumnDefinition of PostgreSQL's parse_utilcmd.c.

use hyades_types::definition::{ColumnDefinition, Identity};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{self, ColumnOption, DataType, Expr, GeneratedAs};

use super::command::{CatalogStatement, SchemaCommand};
use super::wanted::WantedSequence;
use crate::emit::{Compiler, unsupported};
use crate::statement::sequence_syntax::identity_options;
use crate::statement::{AlterSequence, CreateSequence, DropSequence, SequenceOptions, query};

/// The type of a column that is declared as SERIAL.
pub(crate) fn serial_type(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match name.to_string().to_ascii_lowercase().as_str() {
        "smallserial" | "serial2" => Some(SqlType::SmallInt),
        "serial" | "serial4" => Some(SqlType::Integer),
        "bigserial" | "serial8" => Some(SqlType::BigInt),
        _ => None,
    }
}

/// The options that a column declares.
#[derive(Default)]
struct Said {
    identity: Option<(Identity, SequenceOptions)>,
    defaults: usize,
    is_null: bool,
}

impl Compiler<'_> {
    pub(crate) fn create_sequence(&self, create: &CreateSequence) -> Result<CatalogStatement> {
        let name = self.created_relation(&create.name, None, create.is_temporary)?;
        let (if_not_exists, options) = (create.if_not_exists, create.options.clone());
        let command = SchemaCommand::CreateSequence { name, if_not_exists, options };
        Ok(CatalogStatement::new("CREATE SEQUENCE", command))
    }

    pub(crate) fn alter_sequence(&self, alter: &AlterSequence) -> CatalogStatement {
        let (name, if_exists, options) = (alter.name.clone(), alter.if_exists, alter.options.clone());
        CatalogStatement::new("ALTER SEQUENCE", SchemaCommand::AlterSequence { name, if_exists, options })
    }

    pub(crate) fn drop_sequence(&self, drop: &DropSequence) -> CatalogStatement {
        CatalogStatement::new("DROP SEQUENCE", SchemaCommand::DropSequence(drop.clone()))
    }

    /// The sequence of a column of the new table, if it has one. Such a column is NOT NULL.
    pub(super) fn column_sequence(
        &self,
        table: &str,
        written: &ast::ColumnDef,
        column: &mut ColumnDefinition,
        number: usize,
    ) -> Result<Option<WantedSequence>> {
        let is_serial = serial_type(&written.data_type).is_some();
        let said = self.said(table, written)?;
        if !is_serial && said.identity.is_none() {
            return Ok(None);
        }
        let name = &column.name;
        if is_serial && said.identity.is_some() || said.identity.is_some() && said.defaults > 0 {
            let message =
                format!("both default and identity specified for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if is_serial && said.defaults > 0 {
            let message =
                format!("multiple default values specified for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if said.is_null {
            let message =
                format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{table}\"");
            return self.misdeclared(written, message);
        }
        if said.identity.is_some() && !column.sql_type.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        column.is_nullable = false;
        let column_number = u16::try_from(number).unwrap_or(u16::MAX);
        let (identity, options) = said.identity.unzip();
        column.identity = identity;
        let options = options.unwrap_or_default();
        Ok(Some(WantedSequence { column: column_number, is_identity: identity.is_some(), options }))
    }

    /// 42601 at the word GENERATED, as in PostgreSQL.
    pub(super) fn misdeclared<T>(&self, written: &ast::ColumnDef, message: String) -> Result<T> {
        let error = Error::input(sqlstate::SYNTAX_ERROR, message);
        if serial_type(&written.data_type).is_some() {
            return Err(error);
        }
        Err(match query::word_after(self.binder.sql, written.name.span.end, "generated") {
            Some(position) => error.with_position(position),
            None => error,
        })
    }

    fn said(&self, table: &str, written: &ast::ColumnDef) -> Result<Said> {
        let mut said = Said::default();
        for option in &written.options {
            match &option.option {
                ColumnOption::Default(_) => said.defaults += 1,
                ColumnOption::Null => said.is_null = true,
                // See `unread_generation`.
                ColumnOption::Generated { generation_expr: Some(_), .. } => {}
                ColumnOption::Generated { generated_as, sequence_options, .. } => {
                    let identity = match generated_as {
                        GeneratedAs::ByDefault => Identity::ByDefault,
                        GeneratedAs::Always | GeneratedAs::ExpStored => Identity::Always,
                    };
                    let options = self.identity_options(sequence_options.as_deref())?;
                    if said.identity.replace((identity, options)).is_some() {
                        let name = &written.name.value;
                        let message = format!(
                            "multiple identity specifications for column \"{name}\" of table \"{table}\""
                        );
                        return self.misdeclared(written, message);
                    }
                }
                ColumnOption::Identity(_) => {
                    return unsupported("this form of identity columns is not supported");
                }
                _ => {}
            }
        }
        Ok(said)
    }

    /// The options, read from the statement's text at the byte offset that stands for them
    /// (`statement::sequence_syntax`).
    pub(super) fn identity_options(
        &self,
        packed: Option<&[ast::SequenceOptions]>,
    ) -> Result<SequenceOptions> {
        let Some([ast::SequenceOptions::StartWith(Expr::Value(at), _)]) = packed else {
            return Ok(SequenceOptions::default());
        };
        identity_options(self.binder.sql, at.value.to_string().parse().unwrap_or(0))
    }
}
