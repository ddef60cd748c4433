//! Bodies of routines in standard SQL. Unlike others they are bound when the routine is created: they are
//! kept as they are shown, with the schemas of everything that they name, and what they name cannot be
//! dropped without them.
//!
//! Reference: interpret_AS_clause of PostgreSQL's functioncmds.c, print_function_sqlbody of ruleutils.c.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{BodyUses, RoutineDefinition};
use hyades_types::error::Result;
use hyades_types::refusal::{Missing, refusal, refused};
use sqlparser::ast;

use crate::bind::deparse::Uses;
use crate::bind::visible_variables::Names;
use crate::bind::{BindContext, Binder};
use crate::emit::shifted;
use crate::statement::deep_text::with_stack_for;
use crate::statement::standard_body::{BodyStatement, is_atomic, statements};
use crate::statement::{Statement, query};
use crate::viewpoint::Viewpoint;

/// Prints a body, whose errors are placed after so many characters.
fn printed(
    definition: &RoutineDefinition,
    context: BindContext<'_>,
    offset: u32,
) -> Result<(String, BodyUses)> {
    let is_atomic = is_atomic(&definition.body)?;
    let (mut texts, mut uses) = (Vec::new(), BodyUses::default());
    for statement in statements(&definition.body)? {
        let before = offset.saturating_add(u32::try_from(statement.start).unwrap_or(u32::MAX));
        let (text, own) =
            with_stack_for(&statement.text, || printed_statement(definition, &statement, context, is_atomic))
                .map_err(|error| shifted(error, before))?;
        texts.push(text);
        add(&mut uses, own, context);
    }
    let body = match is_atomic {
        true => {
            let lines: String = texts.iter().map(|text| format!("{text};\n")).collect();
            format!("BEGIN ATOMIC\n{lines}END")
        }
        false => texts.concat(),
    };
    Ok((body, uses))
}

fn printed_statement(
    definition: &RoutineDefinition,
    statement: &BodyStatement,
    context: BindContext<'_>,
    is_atomic: bool,
) -> Result<(String, (Uses, Vec<u32>))> {
    let parsed = match query::parse(&statement.text)? {
        Statement::Query(parsed) => *parsed,
        _ => return Err(refused(Missing::StandardBodies, "this statement in such a body is")),
    };
    let mut binder = Binder::new(&statement.text, context, &[], 0)?;
    let registers = definition.parameters.iter().map(|_| binder.new_register());
    let mut names = Names::of_parameters(definition, &registers.collect::<Result<Vec<_>>>()?);
    names.yields_to_columns = true;
    binder.names = Some(names);
    let (text, uses) = match &parsed {
        ast::Statement::Query(query) => binder.shown_body_query(query, statement.is_return, is_atomic)?,
        ast::Statement::Insert(insert) => binder.shown_body_insert(insert)?,
        _ => return Err(refused(Missing::StandardBodies, "this statement in such a body is")),
    };
    let types = binder.types.take().iter().map(|stored| stored.id()).collect();
    Ok((text, (uses, types)))
}

fn add(into: &mut BodyUses, (uses, types): (Uses, Vec<u32>), context: BindContext<'_>) {
    for table in uses.tables {
        if !into.tables.contains(&table) {
            into.tables.push(table);
        }
    }
    for (table, column) in uses.columns {
        let found = context.tables.by_id(table).map(|table| table.definition());
        let column = found.and_then(|own| Some(own.columns.get(usize::from(column))?.name.clone()));
        let column = column.map(|column| (table, column)).filter(|column| !into.columns.contains(column));
        into.columns.extend(column);
    }
    for routine in uses.routines {
        if !into.routines.contains(&routine) {
            into.routines.push(routine);
        }
    }
    into.types.extend(types);
    into.types.sort_unstable();
    into.types.dedup();
}

/// The routine with its body as it is kept.
///
/// # Errors
/// Those of the body. 0A000 for a body that cannot be kept.
pub(crate) fn kept_body(
    definition: &RoutineDefinition,
    context: BindContext<'_>,
    offset: u32,
) -> Result<RoutineDefinition> {
    let (body, uses) = printed(definition, context, offset)?;
    let kept = RoutineDefinition { body, uses: Some(Box::new(uses)), ..definition.clone() };
    if kept.uses.iter().flat_map(|uses| &uses.tables).any(|table| table.is_temporary()) {
        let what = "a temporary relation in a body of standard SQL is";
        return Err(refused(Missing::StandardBodies, what));
    }
    // It must mean the same, which shows in printing it again.
    match printed(&kept, context, 0) {
        Ok((again, _)) if again == kept.body => Ok(kept),
        Err(error) if error.is_of_circumstances() => Err(error),
        _ => {
            tracing::debug!(body = %kept.body, "a body is not what it was when it is printed");
            Err(refusal(Missing::StandardBodies, "this body of standard SQL is not supported yet"))
        }
    }
}

impl Viewpoint {
    /// The routines whose bodies use something.
    pub(super) fn routines_using(
        &self,
        is_used: impl Fn(&BodyUses) -> bool,
    ) -> impl Iterator<Item = Arc<Routine>> {
        let routines = self.worker.routines().into_iter();
        routines.filter(move |routine| routine.definition.uses.as_deref().is_some_and(&is_used))
    }

    /// Refuses to rename or move what the body of a routine names, because the body would have to change.
    pub(super) fn refuse_named_in_bodies(&self, what: &str, names: impl Fn(&BodyUses) -> bool) -> Result<()> {
        match self.routines_using(names).next() {
            None => Ok(()),
            Some(user) => {
                let name = &user.definition.name.name;
                let what = format!("renaming or moving {what} that the body of function \"{name}\" names is");
                Err(refused(Missing::Dependents, &what))
            }
        }
    }
}
