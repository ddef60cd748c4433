//! WITH whose queries change rows, and WITH in front of INSERT, UPDATE and DELETE.
//!
//! The queries that change something run once, in their order and before the statement itself, whether or not
//! their results are read. The results are kept in spools. All queries are to see the state before the
//! statement. So a query that reads tables runs where it stands in WITH, before the changes that follow it. A
//! statement that would read a table after changing it is refused.

use hyades_engine::procedure::ir::Instruction;
use hyades_types::definition::TableId;
use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, FromTable, SetExpr, TableFactor, TableObject};

use super::row_sink::Sink;
use super::{CompiledQuery, Compiler};
use crate::bind::derived;
use crate::bind::select::clause_around;
use crate::bind::tree::BoundCommonTable;

/// Whether the statement or a query of its WITH changes rows.
pub(crate) fn changes_rows(query: &ast::Query) -> bool {
    let mut common = query.with.iter().flat_map(|with| &with.cte_tables);
    derived::changes_rows(&query.body) || common.any(|table| derived::changes_rows(&table.query.body))
}

/// The table whose rows are changed.
fn target(body: &SetExpr) -> Option<&ast::ObjectName> {
    let factor = match body {
        SetExpr::Insert(ast::Statement::Insert(insert)) => {
            let TableObject::TableName(name) = &insert.table else { return None };
            return Some(name);
        }
        SetExpr::Update(ast::Statement::Update(update)) => &update.table.relation,
        SetExpr::Delete(ast::Statement::Delete(delete)) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            &from.first()?.relation
        }
        _ => return None,
    };
    match factor {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

impl Compiler<'_> {
    pub(super) fn query_with_changes(
        &mut self,
        query: &ast::Query,
        with: &ast::With,
    ) -> Result<CompiledQuery> {
        let visible = self.binder.common_tables.len();
        let mut changed: Vec<TableId> = Vec::new();
        if with.cte_tables.iter().any(|table| derived::changes_rows(&table.query.body)) {
            if with.recursive {
                return self.binder.lacks(Missing::WithChanges, "WITH RECURSIVE that changes rows is");
            }
            for table in &with.cte_tables {
                self.common_part(table, visible, &mut changed)?;
            }
        } else {
            self.binder.with_clause(with)?;
        }
        let first_read = self.binder.tables_read.len();
        let compiled = match &query.body {
            body if derived::changes_rows(body) => self.changing_body(query),
            _ => self.query(&ast::Query { with: None, ..query.clone() }),
        }?;
        self.binder.common_tables.truncate(visible);
        self.refuse_late_reads(&changed, first_read)?;
        Ok(compiled)
    }

    pub(super) fn changing_body(&mut self, query: &ast::Query) -> Result<CompiledQuery> {
        if let Some(clause) = clause_around(&ast::Query { with: None, ..query.clone() }) {
            return self.binder.lacks(Missing::WithChanges, &format!("{clause} after a change is"));
        }
        match query.body.as_ref() {
            SetExpr::Insert(ast::Statement::Insert(insert)) => self.insert(insert),
            SetExpr::Update(ast::Statement::Update(update)) => self.update(update),
            SetExpr::Delete(ast::Statement::Delete(delete)) => self.delete(delete),
            _ => self.binder.lacks(Missing::OtherForms, "this form of query is"),
        }
    }

    /// A query of WITH. The first of them has the number `visible`.
    pub(super) fn common_part(
        &mut self,
        table: &ast::Cte,
        visible: usize,
        changed: &mut Vec<TableId>,
    ) -> Result<()> {
        let first_read = self.binder.tables_read.len();
        if !derived::changes_rows(&table.query.body) {
            self.binder.declare_common(table, visible, false)?;
            self.binder.bind_commons(self.binder.common_tables.len() - 1)?;
            self.prepare_subqueries()?;
            let bound = self.binder.common_tables.last().and_then(|common| common.bound.as_ref());
            if let Some(bound) = bound
                && self.binder.tables_read.len() > first_read
            {
                self.code.kept_rows(bound.query, &[]);
            }
            return self.refuse_late_reads(changed, first_read);
        }
        self.common_change(table, visible)?;
        self.refuse_late_reads(changed, first_read)?;
        if let Some(name) = target(&table.query.body) {
            let named = self.binder.table(name)?;
            changed.push(self.binder.table_below(named).id());
        }
        Ok(())
    }

    /// The code of a change that puts its rows into a spool.
    fn common_change(&mut self, table: &ast::Cte, visible: usize) -> Result<()> {
        self.prepare_subqueries()?;
        let inner = self.binder.common_tables.len();
        if let Some(with) = &table.query.with {
            self.binder.with_clause(with)?;
        }
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        let sink = std::mem::replace(&mut self.sink, Sink::Spool(spool));
        let nested = self.nested.take();
        let scope = std::mem::take(&mut self.binder.scope);
        let compiled = self.changing_body(&ast::Query { with: None, ..table.query.as_ref().clone() });
        self.binder.scope = scope;
        (self.sink, self.nested) = (sink, nested);
        let CompiledQuery { columns, .. } = compiled?;
        self.binder.common_tables.truncate(inner);
        // The statement counts only its own rows.
        self.code.push(Instruction::ResetCount);
        self.prepare_subqueries()?;
        self.binder.declare_common(table, visible, false)?;
        let Some(columns) = columns else { return Ok(()) };
        let mut columns = columns.into_iter().map(|column| (column.name, column.sql_type)).collect();
        let query = self.binder.kept_query();
        self.code.add_kept(spool);
        if let Some(mut common) = self.binder.common_tables.pop() {
            self.binder.rename_columns(&common, &mut columns)?;
            common.bound = Some(BoundCommonTable { query, columns, recursion: None });
            self.binder.common_tables.push(common);
        }
        Ok(())
    }

    /// Refuses reads, from this one on, of tables that were changed before.
    fn refuse_late_reads(&self, changed: &[TableId], first_read: usize) -> Result<()> {
        let late = self.binder.tables_read[first_read..].iter().find(|table| changed.contains(table));
        let Some(late) = late.and_then(|table| self.binder.context.tables.by_id(*table)) else {
            return Ok(());
        };
        let name = &late.definition().name.name;
        let what = format!("reading table \"{name}\" after a query of WITH that changes it is");
        self.binder.lacks(Missing::WithChanges, &what)
    }
}
