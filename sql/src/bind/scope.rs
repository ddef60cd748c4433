//! The names that FROM makes visible.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::definition::ColumnDefinition;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};

use super::made_rows::field_expr;

/// The source of a relation's columns.
#[derive(Clone, Debug)]
pub(crate) enum RelationKind {
    /// A stored row.
    Table { table: Arc<Table>, row: RowSlot },
    /// Registers, one for each column.
    Registers(Vec<Register>),
    /// The same; they are the fields of a row of this type.
    Typed(Vec<Register>, CompositeType),
    /// The same for the relation of the catalog with this number.
    System(Vec<Register>, u32),
    /// Arrays in registers, one for each column. The last register holds the number of the current row, which
    /// a column after them shows (WITH ORDINALITY).
    Elements(Vec<Register>, Register),
    /// Values of other relations: `(a JOIN b) AS name`.
    Values(Vec<Expr>),
    /// The fields of a row of a composite type, and the column of WITH ORDINALITY.
    Fields { row: Expr, row_type: CompositeType, ordinality: Option<Expr> },
    /// The same for the relations of a view.
    View(Vec<Expr>, Arc<Table>),
}

/// How the columns of a relation may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Everywhere,
    /// Only as `name.column` (`excluded`).
    Qualified,
    /// Not at all: it belongs to a join that has a name of its own.
    Hidden,
    /// Not at all: it belongs to the view before it.
    InView,
}

/// Names and types of columns.
pub(crate) fn named_columns(columns: &[ColumnDefinition]) -> Vec<(String, SqlType)> {
    columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect()
}

/// One item of FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// The alias, or the table's own name.
    pub(crate) name: String,
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) kind: RelationKind,
    pub(crate) visibility: Visibility,
}

impl Relation {
    /// A table under its own name or an alias, read through a row slot.
    pub(crate) fn table(table: &Arc<Table>, alias: Option<String>, row: RowSlot) -> Relation {
        let definition = table.definition();
        Relation {
            name: alias.unwrap_or_else(|| definition.name.name.clone()),
            columns: named_columns(definition.visible_columns()),
            kind: RelationKind::Table { table: Arc::clone(table), row },
            visibility: Visibility::Everywhere,
        }
    }

    /// The same relation; if its first column is a row of a composite type, its fields take its place.
    pub(crate) fn with_fields(self) -> Relation {
        let (true, [(_, SqlType::Composite(row_type)), rest @ ..]) =
            (self.columns.len() <= 2, self.columns.as_slice())
        else {
            return self;
        };
        let row_type = *row_type;
        let fields = row_type.fields().iter().map(|field| (field.name.clone(), field.sql_type));
        let columns = fields.chain(rest.iter().cloned()).collect();
        let ordinality = (!rest.is_empty()).then(|| self.column(1));
        let kind = RelationKind::Fields { row: self.column(0), row_type, ordinality };
        Relation { columns, kind, ..self }
    }

    pub(crate) fn can_be_named(&self) -> bool {
        !matches!(self.visibility, Visibility::Hidden | Visibility::InView)
    }

    /// The expression that reads a column.
    pub(crate) fn column(&self, column: usize) -> Expr {
        match &self.kind {
            RelationKind::Table { row, .. } => {
                Expr::Column { row: *row, column: u16::try_from(column).unwrap_or(u16::MAX) }
            }
            RelationKind::Registers(registers)
            | RelationKind::Typed(registers, _)
            | RelationKind::System(registers, _) => Expr::Register(registers[column]),
            RelationKind::Elements(arrays, current) => match arrays.get(column) {
                Some(array) => Expr::Element {
                    array: Box::new(Expr::Register(*array)),
                    index: Box::new(Expr::Register(*current)),
                },
                None if self.columns[column].1 == SqlType::Integer => Expr::Register(*current),
                None => Expr::Cast {
                    operand: Box::new(Expr::Register(*current)),
                    to: SqlType::BigInt,
                    explicit: false,
                },
            },
            RelationKind::Fields { row, row_type, ordinality } => match row_type.fields().get(column) {
                Some(field) => field_expr(row.clone(), field),
                None => ordinality.clone().unwrap_or(Expr::Const(Value::Null)),
            },
            RelationKind::Values(values) | RelationKind::View(values, _) => values[column].clone(),
        }
    }
}

/// A column that may be named without its relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeColumn {
    Of {
        relation: usize,
        column: usize,
    },
    /// By its number in [`Scope::merged`].
    Merged(usize),
}

/// A column that USING or NATURAL merges from one column on each side of a join.
#[derive(Clone, Debug)]
pub(crate) struct MergedColumn {
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) sql_type: SqlType,
}

/// What FROM makes visible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The items of FROM, in order.
    pub(crate) relations: Vec<Relation>,
    /// Relations before this one cannot be named: they stand outside the join whose condition is being bound.
    pub(crate) first_visible: usize,
    /// The columns in the order of `*`.
    pub(crate) columns: Vec<ScopeColumn>,
    pub(crate) merged: Vec<MergedColumn>,
}

impl Scope {
    pub(crate) fn of(relation: Relation) -> Scope {
        let mut scope = Scope::default();
        scope.add(relation);
        scope
    }

    /// Adds a relation and its columns.
    pub(crate) fn add(&mut self, relation: Relation) {
        let number = self.relations.len();
        if relation.visibility == Visibility::Everywhere {
            let columns = 0..relation.columns.len();
            self.columns.extend(columns.map(|column| ScopeColumn::Of { relation: number, column }));
        }
        self.relations.push(relation);
    }

    /// Makes the names of a relation invisible.
    pub(crate) fn hide(&mut self, number: usize) {
        self.relations[number].visibility = Visibility::Hidden;
        self.columns
            .retain(|column| !matches!(column, ScopeColumn::Of { relation, .. } if *relation == number));
    }

    /// Puts a relation before the others.
    pub(crate) fn put_first(&mut self, relation: Relation) {
        for column in &mut self.columns {
            if let ScopeColumn::Of { relation, .. } = column {
                *relation += 1;
            }
        }
        let columns = 0..relation.columns.len();
        self.columns.splice(0..0, columns.map(|column| ScopeColumn::Of { relation: 0, column }));
        self.relations.insert(0, relation);
    }

    /// Keeps only the first relation, as before the others were added.
    pub(crate) fn keep_first(&mut self) {
        self.relations.truncate(1);
        self.columns.retain(|column| matches!(column, ScopeColumn::Of { relation: 0, .. }));
    }

    /// The relations that `name.column` may mean, with their numbers.
    pub(crate) fn named(&self) -> impl Iterator<Item = (usize, &Relation)> {
        let relations = self.relations.iter().enumerate().skip(self.first_visible);
        relations.filter(|(_, relation)| relation.can_be_named())
    }

    /// Whether the expression itself is a column of a relation of this scope.
    pub(crate) fn reads(&self, expr: &Expr) -> bool {
        self.relations.iter().any(|relation| match (&relation.kind, expr) {
            (RelationKind::Table { row, .. }, Expr::Column { row: read, .. }) => row == read,
            (
                RelationKind::Registers(registers)
                | RelationKind::Typed(registers, _)
                | RelationKind::System(registers, _),
                Expr::Register(read),
            ) => registers.contains(read),
            (RelationKind::Elements(_, current), Expr::Register(read)) => current == read,
            _ => false,
        })
    }

    pub(crate) fn column_name(&self, column: ScopeColumn) -> &str {
        match column {
            ScopeColumn::Of { relation, column } => &self.relations[relation].columns[column].0,
            ScopeColumn::Merged(at) => &self.merged[at].name,
        }
    }

    /// The relation of the catalog that has a column in this register, and which one, counting from 1.
    pub(crate) fn system_column(&self, wanted: Register) -> Option<(u32, i16)> {
        self.relations.iter().find_map(|relation| match &relation.kind {
            RelationKind::System(registers, oid) => {
                let at = registers.iter().position(|register| *register == wanted)?;
                Some((*oid, i16::try_from(at + 1).unwrap_or(i16::MAX)))
            }
            _ => None,
        })
    }

    /// The table that fills a row slot.
    pub(crate) fn table_of(&self, wanted: RowSlot) -> Option<&Arc<Table>> {
        self.relations.iter().find_map(|relation| match &relation.kind {
            RelationKind::Table { table, row } if *row == wanted => Some(table),
            _ => None,
        })
    }
}
