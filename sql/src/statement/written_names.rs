//! The names of objects that a statement gives, all of which must be in the current database.
//!
//! Names in queries are looked up where they are bound, and tested there.

use hyades_types::error::{Error, Result, sqlstate};

use super::parsed::{
    AccessCommand, Commented, CopySource, Granted, GrantedOn, LikeClause, Maintained, Moved, Owned,
    QualifiedName, SequenceOptions, Statement, TriggerAction, TriggerCommand,
};

/// An object that a statement names.
struct Name<'s> {
    name: &'s QualifiedName,
    is_relation: bool,
    /// Where the error is shown.
    position: Option<u32>,
}

fn relation(name: &QualifiedName) -> Name<'_> {
    Name { name, is_relation: true, position: None }
}

fn other(name: &QualifiedName) -> Name<'_> {
    Name { is_relation: false, ..relation(name) }
}

impl Statement {
    /// 0A000 if an object is in another database.
    pub(crate) fn check_databases(&self, current: &str) -> Result<()> {
        self.names().into_iter().try_for_each(|Name { name, is_relation, position }| {
            let QualifiedName { database: Some(database), schema, name } = name else { return Ok(()) };
            if database == current {
                return Ok(());
            }
            let name = format!("{database}.{}.{name}", schema.as_deref().unwrap_or_default());
            let shown = if is_relation { format!("\"{name}\"") } else { name };
            let message = format!("cross-database references are not implemented: {shown}");
            let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message);
            Err(match position {
                Some(position) => error.with_position(position),
                None => error,
            })
        })
    }

    fn names(&self) -> Vec<Name<'_>> {
        match self {
            Statement::LockTable { tables, .. } => relations(tables),
            Statement::SetConstraints { names, .. } => relations(names),
            Statement::Maintenance { on: Maintained::Tables(tables), .. } => relations(tables),
            Statement::Copy(copy) => match &copy.source {
                CopySource::Table { name, .. } => vec![relation(name)],
                CopySource::Query(_) => Vec::new(),
            },
            Statement::CreateTableAs(create) => vec![relation(&create.name)],
            Statement::CreateTableLike(create) => create.clauses.iter().map(of_like).collect(),
            Statement::CreateView(create) => vec![relation(&create.name)],
            Statement::DropView(drop) => relations(&drop.names),
            Statement::Refresh(refresh) => vec![relation(&refresh.name)],
            Statement::CreateRoutine(create) => vec![other(&create.name)],
            Statement::CreateAggregate(create) => vec![other(&create.name)],
            Statement::DropRoutine(drop) => drop.names.iter().map(|(name, _)| other(name)).collect(),
            Statement::Move(change) => vec![of_moved(&change.moved, &change.name)],
            Statement::CreateSequence(create) => of_sequence(&create.name, &create.options),
            Statement::AlterSequence(alter) => of_sequence(&alter.name, &alter.options),
            Statement::DropSequence(drop) => relations(&drop.names),
            Statement::Comment(comment) => {
                let is_relation = !matches!(comment.on, Commented::Type | Commented::Routine { .. });
                vec![Name { is_relation, ..relation(&comment.name) }]
            }
            Statement::Access(command) => of_access(command),
            Statement::CreateType(create) => vec![other(&create.name)],
            Statement::AlterType(alter) => vec![other(&alter.name)],
            Statement::DropType(drop) => drop.names.iter().map(other).collect(),
            Statement::CreateIndex(create) => vec![relation(&create.table)],
            Statement::Trigger(command) => of_trigger(command),
            Statement::DropIndex(drop) => relations(&drop.names),
            Statement::RenameIndex(rename) => vec![relation(&rename.index)],
            Statement::ChangeParameters(change) => vec![relation(&change.name)],
            Statement::ReindexIndex(name, _) => vec![relation(name)],
            _ => Vec::new(),
        }
    }
}

fn relations(names: &[QualifiedName]) -> Vec<Name<'_>> {
    names.iter().map(relation).collect()
}

fn of_moved<'s, A>(moved: &Moved<A>, name: &'s QualifiedName) -> Name<'s> {
    Name { is_relation: !matches!(moved, Moved::Routine { .. }), ..relation(name) }
}

fn of_like(clause: &LikeClause) -> Name<'_> {
    Name { position: Some(clause.position), ..relation(&clause.table) }
}

fn of_sequence<'s>(name: &'s QualifiedName, options: &'s SequenceOptions) -> Vec<Name<'s>> {
    std::iter::once(name).chain(options.name.as_deref()).map(relation).collect()
}

fn of_trigger(command: &TriggerCommand) -> Vec<Name<'_>> {
    let mut names = vec![relation(&command.table)];
    if let TriggerAction::Create(create) = &command.action {
        names.push(other(&create.function));
        names.extend(create.referenced.as_ref().map(relation));
    }
    names
}

fn of_access<A>(command: &AccessCommand<A>) -> Vec<Name<'_>> {
    match command {
        AccessCommand::Grant(Granted { on, .. }) => match on {
            GrantedOn::Tables(names) | GrantedOn::Sequences(names) => relations(names),
            GrantedOn::Routines(_, names) => names.iter().map(|(name, _)| other(name)).collect(),
            GrantedOn::Types(names) => names.iter().map(other).collect(),
            _ => Vec::new(),
        },
        AccessCommand::Own { owned: Owned::Object { moved, name, .. }, .. } => {
            vec![of_moved(moved, name)]
        }
        AccessCommand::Own { owned: Owned::Type(name), .. } => vec![other(name)],
        _ => Vec::new(),
    }
}
