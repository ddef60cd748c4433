//! The hint about a column that does not exist: which one may have been meant.
//!
//! Reference: searchRangeTableForCol, updateFuzzyAttrMatchState and errorMissingColumn of PostgreSQL's
//! parse_relation.c.

use hyades_types::error::{Error, sqlstate};

use super::scope::{Relation, Visibility};
use super::{Binder, Place};

/// Names that differ by more than this are not proposed.
const FURTHEST: usize = 3;

/// The most similar columns so far. `None` stands for a column of exactly this name, which cannot be seen.
#[derive(Default)]
struct Best<'s> {
    distance: usize,
    first: Option<(&'s Relation, Option<&'s str>)>,
    second: Option<(&'s Relation, &'s str)>,
}

impl<'s> Best<'s> {
    /// Compares a column's name. `penalty`: how far the relation's name is from the one that was written.
    fn compare(&mut self, penalty: usize, relation: &'s Relation, name: &'s str, wanted: &str) {
        if penalty > self.distance {
            return;
        }
        let distance = levenshtein(name, wanted);
        // Names of which more than half differs are not similar.
        if distance > wanted.len() / 2 {
            return;
        }
        let distance = distance + penalty;
        if distance < self.distance {
            *self = Best { distance, first: Some((relation, Some(name))), second: None };
        } else if distance == self.distance {
            if self.second.is_some() {
                *self = Best { distance: distance.saturating_sub(1), first: None, second: None };
            } else if self.first.is_some() {
                self.second = Some((relation, name));
            } else if distance <= FURTHEST {
                self.first = Some((relation, Some(name)));
            }
        }
    }

    fn hint(&self, wanted: &str) -> Option<String> {
        let (relation, first) = self.first?;
        let Some(first) = first else {
            return Some(format!(
                "There is a column named \"{wanted}\" in table \"{}\", but it cannot be referenced from this \
                 part of the query.",
                relation.name
            ));
        };
        let second =
            self.second.map(|(relation, second)| format!(" or the column \"{}.{second}\"", relation.name));
        let second = second.unwrap_or_default();
        Some(format!("Perhaps you meant to reference the column \"{}.{first}\"{second}.", relation.name))
    }
}

/// How many characters have to be inserted, removed or replaced to turn one name into the other.
fn levenshtein(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut costs: Vec<usize> = (0..=other.len()).collect();
    for (row, left) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut costs[0], row + 1);
        for (column, right) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = costs[column + 1];
            costs[column + 1] = replaced.min(costs[column] + 1).min(diagonal + 1);
        }
    }
    costs[other.len()]
}

impl Binder<'_> {
    /// Error 42703, with a hint if there is a column with a similar name.
    pub(super) fn missing_column(&self, table: Option<&str>, column: &str, place: Place) -> Error {
        let message = match table {
            Some(table) => format!("column {table}.{column} does not exist"),
            None => format!("column \"{column}\" does not exist"),
        };
        let error = Error::input(sqlstate::UNDEFINED_COLUMN, message);
        let error = match self.most_similar(table, column).hint(column) {
            Some(hint) => error.with_hint(hint),
            None => error,
        };
        self.place(error, place)
    }

    fn most_similar(&self, table: Option<&str>, column: &str) -> Best<'_> {
        let around = self.surroundings.iter().rev().map(|around| &around.scope);
        let mut best = Best { distance: FURTHEST + 1, ..Best::default() };
        for relation in std::iter::once(&self.scope).chain(around).flat_map(|scope| &scope.relations) {
            if relation.visibility == Visibility::InView {
                continue;
            }
            let penalty = table.map_or(0, |table| levenshtein(table, &relation.name).min(FURTHEST + 2));
            if penalty == 0 && relation.columns.iter().any(|(name, _)| name == column) {
                return Best { distance: 0, first: Some((relation, None)), second: None };
            }
            for (name, _) in &relation.columns {
                best.compare(penalty, relation, name, column);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::levenshtein;

    #[test]
    fn distances() {
        for (one, other, distance) in
            [("", "", 0), ("", "abc", 3), ("nmae", "name", 2), ("colour", "color", 1), ("äb", "ab", 1)]
        {
            assert_eq!((levenshtein(one, other), levenshtein(other, one)), (distance, distance));
        }
    }
}
