//! Full joins between joins: `(a JOIN b ON ...) FULL JOIN (c JOIN d ON ...) ON ...`.
//!
//! A full join keeps the rows of one side, and tracks for each whether it has matched a row of the other
//! side. The kept rows form one relation. So where both sides are joins, the right one becomes a query in
//! FROM, whose rows have the columns of all its relations. The relations stay where they are in the scope,
//! and their columns are read from that query from then on.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::error::Result;
use hyades_types::refusal::Missing;

use super::scope::{Relation, RelationKind, Scope, Visibility};
use super::tree::{BoundDistinct, BoundQuery, Branch, Item, JoinGroup, JoinMember, Limits, OutputColumn};
use super::tree::{DerivedTable, QueryBody, Source};
use super::windowing::Windowing;
use super::{Binder, Place};
use crate::expr;

/// What EXPLAIN calls the query.
const OWN_NAME: &str = "*JOIN*";

/// Whether one side of a join is one relation.
fn is_lone(side: &JoinGroup) -> bool {
    matches!(side.members.as_slice(), [JoinMember::Item(_)])
}

impl Binder<'_> {
    /// The right side of a full join, whose relations are those from the number `first` on. `before`: how
    /// often enclosing queries had been read when it began.
    pub(super) fn right_of_full_join(
        &mut self,
        left: &JoinGroup,
        mut right: JoinGroup,
        first: usize,
        before: usize,
    ) -> Result<JoinGroup> {
        if is_lone(left) || is_lone(&right) {
            return Ok(right);
        }
        let outside = Scope { relations: self.scope.relations[..first].to_vec(), ..Scope::default() };
        right.for_each_item_mut(&mut |item, _| {
            let arguments = item.source.arguments();
            match arguments.iter().any(|argument| expr::any(argument, &|part| outside.reads(part))) {
                true => self.lacks(Missing::Lateral, "LATERAL in a full join with a join on both sides is"),
                false => Ok(()),
            }
        })?;
        let scope = self.scope.clone();
        let (outputs, registers) = self.columns_of_side(first)?;
        let query = BoundQuery {
            from: right,
            outputs,
            group: None,
            having: None,
            having_places: (0, 0),
            sets: Vec::new(),
            order: Vec::new(),
            distinct: BoundDistinct::No,
            limits: Limits::default(),
            aggregates: Vec::new(),
            windowing: Windowing::default(),
        };
        let branch = Branch { body: QueryBody::Select(Box::new(query)), scope };
        let query = self.keep_rows(branch, before);
        self.scope.add(Relation {
            name: OWN_NAME.to_owned(),
            columns: Vec::new(),
            kind: RelationKind::Registers(registers.clone()),
            visibility: Visibility::InView,
        });
        let derived = DerivedTable { query, registers, outer: Vec::new(), recursion: None };
        let relation = self.scope.relations.len() - 1;
        Ok(JoinGroup::of(Item::new(Source::Query(derived), OWN_NAME.to_owned(), relation)))
    }

    /// The columns of the relations from this number on. They are read from registers from now on.
    fn columns_of_side(&mut self, first: usize) -> Result<(Vec<OutputColumn>, Vec<Register>)> {
        let (mut outputs, mut registers) = (Vec::new(), Vec::new());
        let mut side = self.scope.relations.split_off(first);
        for relation in &mut side {
            if let RelationKind::Values(_) | RelationKind::View(..) = relation.kind {
                continue;
            }
            let mut own = Vec::with_capacity(relation.columns.len());
            for (number, (name, sql_type)) in relation.columns.iter().enumerate() {
                outputs.push(OutputColumn {
                    name: name.clone(),
                    expr: relation.column(number),
                    sql_type: *sql_type,
                    place: Place::Unknown,
                    column_places: (0, 0),
                });
                own.push(self.new_register()?);
            }
            registers.extend_from_slice(&own);
            relation.kind = match &relation.kind {
                RelationKind::Table { table, .. } => {
                    let values = own.into_iter().map(Expr::Register).collect();
                    RelationKind::View(values, table.clone())
                }
                RelationKind::System(_, oid) => RelationKind::System(own, *oid),
                RelationKind::Typed(_, row_type) => RelationKind::Typed(own, *row_type),
                _ => RelationKind::Registers(own),
            };
        }
        let moved = |part: &Expr| {
            let at = outputs.iter().position(|output| output.expr == *part)?;
            Some(Expr::Register(registers[at]))
        };
        for relation in &mut side {
            if let RelationKind::Values(values) | RelationKind::View(values, _) = &mut relation.kind {
                values.iter_mut().for_each(|value| expr::replace(value, &mut |part| moved(part)));
            }
        }
        for merged in &mut self.scope.merged {
            expr::replace(&mut merged.expr, &mut |part| moved(part));
        }
        self.scope.relations.extend(side);
        Ok((outputs, registers))
    }
}
