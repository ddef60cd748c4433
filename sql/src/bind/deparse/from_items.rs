//! Printing of FROM.
//!
//! The items are visited in the order in which binding numbers them in the scope.

use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use sqlparser::ast::{
    DataType, FunctionArg, FunctionArgExpr, Ident, JoinConstraint, ObjectName, TableAlias, TableFactor,
    TableFunctionArgs, TableWithJoins,
};

use super::super::rows_from::typed_columns;
use super::super::scope::{Relation, ScopeColumn, Visibility};
use super::super::types;
use super::change::Change;
use super::item_columns::{ItemColumns, List, words_of};
use super::{Deparser, quoted};
use crate::statement::call_syntax::{Called, rows_from};
use crate::statement::kept_names::full_name;
use crate::statement::names::{fold, parts};
use crate::statement::using_alias;

impl Deparser<'_, '_> {
    pub(super) fn printed_from(&mut self, from: &[TableWithJoins], out: &mut String) -> Result<()> {
        let mut number = 0;
        for (at, joined) in from.iter().enumerate() {
            if at == 0 {
                self.clause(out, " FROM ", 2);
                let text = self.joined(joined, &mut number)?;
                out.push_str(&text);
                continue;
            }
            out.push_str(", ");
            let text = self.joined(joined, &mut number)?;
            match text.starts_with('\n') {
                true => out.truncate(out.trim_end_matches(' ').len()),
                false => self.clause(out, "", 4),
            }
            out.push_str(&text);
        }
        Ok(())
    }

    fn joined(&mut self, joined: &TableWithJoins, number: &mut usize) -> Result<String> {
        let first = *number;
        let mut out = self.factor(&joined.relation, number)?;
        for join in &joined.joins {
            let (word, constraint) = words_of(join);
            if !self.is_pretty {
                out.insert(0, '(');
            }
            let right = self.factor(&join.relation, number)?;
            let visible = first..*number;
            let natural = match constraint {
                JoinConstraint::Natural => self.natural_columns(visible.clone()),
                _ => Vec::new(),
            };
            // Without a column of the same name it is a cross join.
            let is_cross = matches!(constraint, JoinConstraint::Natural) && natural.is_empty();
            self.clause(&mut out, if is_cross && word == " JOIN " { " CROSS JOIN " } else { word }, 4);
            let is_nested =
                self.is_pretty && matches!(join.relation, TableFactor::NestedJoin { alias: None, .. });
            out.push_str(&if is_nested { format!("({right})") } else { right });
            match constraint {
                JoinConstraint::On(condition) => {
                    let saved = self.show_only(visible);
                    let condition = self.condition(condition);
                    self.binder.scope = saved;
                    let condition = condition?.text;
                    out.push_str(&match self.is_pretty {
                        true => format!(" ON {condition}"),
                        false => format!(" ON ({condition})"),
                    });
                }
                JoinConstraint::Using(columns) => {
                    let (columns, alias) = using_alias::unpack(columns);
                    let names = columns.iter().map(|name| {
                        let idents = parts(name)?;
                        Ok(idents.last().map(|ident| quoted(&fold(ident))).unwrap_or_default())
                    });
                    let names = names.collect::<Result<Vec<String>>>()?;
                    out.push_str(&format!(" USING ({})", names.join(", ")));
                    if alias.is_some() {
                        out.push_str(&format!(" AS {}", quoted(&self.level_name(*number))));
                        *number += 1;
                    }
                }
                JoinConstraint::Natural if is_cross && word == " JOIN " => {}
                JoinConstraint::Natural if is_cross => {
                    out.push_str(if self.is_pretty { " ON TRUE" } else { " ON (true)" });
                }
                JoinConstraint::Natural => {
                    out.push_str(&format!(" USING ({})", natural.join(", ")));
                }
                JoinConstraint::None => {}
            }
            if !self.is_pretty {
                out.push(')');
            }
        }
        Ok(out)
    }

    /// Makes only these relations visible, as in the condition of their join. Returns the previous scope.
    fn show_only(&mut self, relations: std::ops::Range<usize>) -> super::Scope {
        let saved = self.binder.scope.clone();
        let scope = &mut self.binder.scope;
        let merged: Vec<ScopeColumn> =
            scope.columns.iter().copied().filter(|column| matches!(column, ScopeColumn::Merged(_))).collect();
        let merged_names: Vec<String> =
            merged.iter().map(|column| scope.column_name(*column).to_owned()).collect();
        scope.columns = merged;
        for number in relations.clone() {
            let relation = &scope.relations[number];
            if relation.visibility != Visibility::Everywhere {
                continue;
            }
            for (column, (name, _)) in relation.columns.iter().enumerate() {
                if !merged_names.contains(name) {
                    scope.columns.push(ScopeColumn::Of { relation: number, column });
                }
            }
        }
        scope.relations.truncate(relations.end);
        scope.first_visible = relations.start;
        saved
    }

    /// The columns that a NATURAL join merges: the merged ones that belong to the last relation.
    fn natural_columns(&self, relations: std::ops::Range<usize>) -> Vec<String> {
        let scope = &self.binder.scope;
        let shown: Vec<&Relation> = scope.relations[relations]
            .iter()
            .filter(|relation| relation.visibility != Visibility::InView)
            .collect();
        let Some((last, before)) = shown.split_last() else { return Vec::new() };
        let is_common = |name: &&String| {
            last.columns.iter().any(|(own, _)| own == *name)
                && before.iter().any(|relation| relation.columns.iter().any(|(own, _)| own == *name))
        };
        let mut names: Vec<String> = Vec::new();
        for name in scope.merged.iter().map(|merged| &merged.name).filter(is_common) {
            if !names.contains(&quoted(name)) {
                names.push(quoted(name));
            }
        }
        names
    }

    /// The relations inside a view have numbers but are not printed.
    fn factor(&mut self, factor: &TableFactor, number: &mut usize) -> Result<String> {
        let text = self.factor_here(factor, number)?;
        let relations = &self.binder.scope.relations;
        while relations.get(*number).is_some_and(|inner| inner.visibility == Visibility::InView) {
            *number += 1;
        }
        Ok(text)
    }

    fn factor_here(&mut self, factor: &TableFactor, number: &mut usize) -> Result<String> {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let inner = self.joined(table_with_joins, number)?;
                let Some(_) = alias else { return Ok(inner) };
                let inner = if self.is_pretty { format!("({inner})") } else { inner };
                let named = self.named(*number, true, alias.as_ref(), false);
                *number += 1;
                Ok(format!("{inner}{named}"))
            }
            TableFactor::Table { name, alias, args: None, .. } => {
                let own = *number;
                *number += 1;
                let (text, base) = self.relation_text(name)?;
                // It may have been there only for its list.
                let is_idle = |alias: &TableAlias| !alias.columns.is_empty() && self.has_lost_list(own);
                let is_said =
                    alias.as_ref().is_some_and(|alias| !is_idle(alias)) || self.level_name(own) != base;
                Ok(format!("{text}{}", self.named(own, is_said, alias.as_ref(), false)))
            }
            TableFactor::Table {
                name,
                alias,
                args: Some(TableFunctionArgs { args, .. }),
                with_ordinality,
                ..
            }
            | TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                self.function_item(name, args, alias.as_ref(), *with_ordinality, number)
            }
            TableFactor::UNNEST { array_exprs, alias, with_ordinality, .. } => {
                let own = *number;
                *number += 1;
                let arrays = array_exprs.iter().map(|array| Ok(self.expression(array)?.text));
                let arrays = arrays.collect::<Result<Vec<String>>>()?;
                let ordinality = if *with_ordinality { " WITH ORDINALITY" } else { "" };
                let word = if arrays.len() > 1 { "UNNEST" } else { "unnest" };
                let named = self.named(own, true, alias.as_ref(), true);
                Ok(format!("{word}({}){ordinality}{named}", arrays.join(", ")))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let own = *number;
                *number += 1;
                let text = self.nested(subquery, *lateral, true)?;
                let lateral = if *lateral { "LATERAL " } else { "" };
                Ok(format!("{lateral}({text}){}", self.named(own, true, alias.as_ref(), false)))
            }
            _ => self.binder.lacks(Missing::OtherForms, "this item of FROM in a view is"),
        }
    }

    fn function_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
        number: &mut usize,
    ) -> Result<String> {
        let own = *number;
        *number += 1;
        let ordinality = if with_ordinality { " WITH ORDINALITY" } else { "" };
        let functions: Option<Vec<Called<'_>>> =
            rows_from(name, arguments).and_then(|functions| functions.into_iter().collect());
        let (call, typed) = match functions.as_deref() {
            None => (self.called_in_from(name, arguments)?, typed_columns(alias)),
            Some([single]) if single.columns.is_empty() || !with_ordinality => {
                (self.called_in_from(single.name, single.arguments)?, single.columns.clone())
            }
            Some(functions) => (self.side_by_side(functions)?, Vec::new()),
        };
        let mut named = self.named(own, true, alias, true);
        if !typed.is_empty() {
            named = format!(" {}{}", quoted(&self.level_name(own)), self.typed(own, &typed)?);
        }
        Ok(format!("{call}{ordinality}{named}"))
    }

    /// The functions of ROWS FROM. Each array of `unnest` is a function of its own.
    fn side_by_side(&mut self, functions: &[Called<'_>]) -> Result<String> {
        let (mut shown, mut arrays) = (Vec::new(), Vec::new());
        let mut is_all_unnest = true;
        for called in functions {
            let is_unnest = matches!(parts(called.name)?.last(), Some(name) if fold(name) == "unnest");
            if is_unnest && called.columns.is_empty() {
                for argument in called.arguments {
                    let (FunctionArg::Unnamed(argument)
                    | FunctionArg::Named { arg: argument, .. }
                    | FunctionArg::ExprNamed { arg: argument, .. }) = argument;
                    if let FunctionArgExpr::Expr(array) = argument {
                        let array = self.expression(array)?.text;
                        shown.push(format!("unnest({array})"));
                        arrays.push(array);
                    }
                }
                continue;
            }
            is_all_unnest = false;
            let call = self.called_in_from(called.name, called.arguments)?;
            shown.push(match called.columns.is_empty() {
                true => call,
                false => format!("{call} AS {}", self.defined(&called.columns)?),
            });
        }
        if is_all_unnest {
            return Ok(format!("UNNEST({})", arrays.join(", ")));
        }
        Ok(format!("ROWS FROM({})", shown.join(", ")))
    }

    /// Columns of a relation with their types.
    fn typed(&mut self, relation: usize, columns: &[(&Ident, &DataType)]) -> Result<String> {
        let names = self.levels.last().map(|level| level.scope.relations[relation].columns.clone());
        let names: Vec<String> = names.unwrap_or_default().into_iter().map(|(name, _)| name).collect();
        let shown = names
            .iter()
            .zip(columns)
            .map(|(name, (_, data_type))| Ok(format!("{} {}", quoted(name), self.type_name(data_type)?)));
        Ok(format!("({})", shown.collect::<Result<Vec<String>>>()?.join(", ")))
    }

    /// Columns with their types, as they were written.
    fn defined(&mut self, columns: &[(&Ident, &DataType)]) -> Result<String> {
        let shown = columns
            .iter()
            .map(|(name, data_type)| Ok(format!("{} {}", quoted(&fold(name)), self.type_name(data_type)?)));
        Ok(format!("({})", shown.collect::<Result<Vec<String>>>()?.join(", ")))
    }

    fn type_name(&mut self, data_type: &DataType) -> Result<String> {
        let to = types::declared(data_type, self.binder)?;
        Ok(match to.domain {
            Some(domain) => full_name(&self.binder.domain(domain)?.name()),
            None => self.binder.spelled_type(to.sql_type).into_owned(),
        })
    }

    /// Whether the list of this relation's columns says nothing any more.
    fn has_lost_list(&self, relation: usize) -> bool {
        let item = self.levels.last().and_then(|level| level.items.get(relation));
        matches!(item, Some(ItemColumns { list: List::None, .. }))
    }

    fn level_name(&self, relation: usize) -> String {
        let names = self.levels.last().map(|level| level.names.as_slice()).unwrap_or_default();
        names.get(relation).cloned().unwrap_or_default()
    }

    /// The name after an item and the names of its columns, where they are printed.
    fn named(
        &self,
        relation: usize,
        is_said: bool,
        alias: Option<&TableAlias>,
        says_columns: bool,
    ) -> String {
        let Some(level) = self.levels.last() else { return String::new() };
        let list = level.items.get(relation).map_or(&List::AsWritten, |item| &item.list);
        let has_columns = alias.is_some_and(|alias| !alias.columns.is_empty());
        let columns: Vec<String> = match list {
            List::Names(names) => names.iter().map(|name| quoted(name)).collect(),
            List::AsWritten if is_said && (has_columns || says_columns) => {
                level.scope.relations[relation].columns.iter().map(|(name, _)| quoted(name)).collect()
            }
            _ if !is_said => return String::new(),
            _ => Vec::new(),
        };
        let list = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
        format!(" {}{list}", quoted(&self.level_name(relation)))
    }

    /// A relation by its full name, and its name alone.
    fn relation_text(&mut self, name: &ObjectName) -> Result<(String, String)> {
        let idents: Vec<String> = parts(name)?.into_iter().map(fold).collect();
        if let [single] = idents.as_slice()
            && self.binder.common_tables.iter().any(|common| common.name == *single)
        {
            return Ok((quoted(single), single.clone()));
        }
        if let Some(relation) = self.binder.system_relation(name)? {
            return Ok((format!("{}.{}", relation.schema, quoted(relation.name)), relation.name.to_owned()));
        }
        let table = self.binder.table(name)?;
        self.uses.tables.insert(table.id());
        let mut name = table.definition().name.clone();
        if let Some(Change::Relation(id, to)) = self.change
            && *id == table.id()
        {
            (*to).clone_into(&mut name.name);
        }
        Ok((format!("{}.{}", quoted(&name.schema), quoted(&name.name)), name.name))
    }
}
