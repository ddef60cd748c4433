//! Random queries and changes over given tables: joins of every kind, correlated subqueries, set operations,
//! grouping, window functions, WITH.
//!
//! Every query is made for a list of wanted types, so that it can be used wherever rows of those types can. A
//! stack of scopes holds the columns that an expression may name: those of the innermost FROM first, then
//! those of the enclosing queries. In a grouped query only the names of GROUP BY may be used outside
//! aggregates.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::fragment::Fragment;
use super::schema::{Column, Table, Type};

/// How deep expressions nest at the top, and below.
const DEPTH: u32 = 3;
/// How deep queries nest in queries.
const QUERY_DEPTH: u32 = 3;

/// The names that the expressions of one query may use.
#[derive(Default)]
struct Scope {
    /// Qualified names and types.
    columns: Vec<Column>,
    /// The names of GROUP BY, if there is grouping and the expression is evaluated after it.
    groups: Option<Vec<Column>>,
    inside_aggregate: bool,
    /// Whether window functions may be called.
    windows: bool,
    /// Whether one has been called whose result depends on the order of rows.
    is_ordered: bool,
}

/// Makes statements over some tables.
pub(super) struct Generator<'a> {
    pub(super) random: &'a mut StdRng,
    pub(super) tables: &'a [Table],
    scopes: Vec<Scope>,
    names: u32,
    /// The last key that an INSERT took.
    keys: u32,
    /// Queries of WITH that can be read like tables.
    with: Vec<Table>,
    query_depth: u32,
    /// Whether expressions contain no queries.
    is_without_queries: bool,
}

/// A FROM item: its text and its columns.
type Item = (Fragment, Vec<Column>);

impl<'a> Generator<'a> {
    pub(super) fn new(random: &'a mut StdRng, tables: &'a [Table]) -> Generator<'a> {
        Generator {
            random,
            tables,
            scopes: Vec::new(),
            names: 0,
            keys: 1000,
            with: Vec::new(),
            query_depth: 0,
            is_without_queries: false,
        }
    }

    /// Makes expressions that contain no queries.
    pub(super) fn without_queries<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.is_without_queries = true;
        let result = work(self);
        self.is_without_queries = false;
        result
    }

    pub(super) fn may_query(&self) -> bool {
        !self.is_without_queries
    }

    /// A query, ordered by all its columns.
    pub(super) fn query(&mut self) -> Fragment {
        let wanted: Vec<Type> =
            (0..self.random.random_range(1..=4)).map(|_| Type::any(self.random)).collect();
        let with = self.with_clause();
        let body = self.rows(&wanted);
        let places: Vec<String> = (1..=wanted.len()).map(|place| place.to_string()).collect();
        let mut order = places.join(", ");
        if self.random.random_bool(0.3) {
            order = places.join(" desc, ");
        }
        let limit = match self.random.random_range(0..6) {
            0 => format!(" limit {}", self.random.random_range(0..6)),
            1 => format!(" limit 3 offset {}", self.random.random_range(0..4)),
            _ => String::new(),
        };
        let order = Fragment::fill(&format!(" order by {order}{{}}"), vec![Fragment::optional(limit.into())]);
        Fragment::join(vec![with, body, Fragment::optional(order)], "")
    }

    /// A statement that changes a table.
    pub(super) fn change(&mut self) -> Fragment {
        let tables = self.tables;
        self.with.clear();
        let table = tables.choose(self.random).unwrap_or(&tables[0]);
        let condition = |generator: &mut Self, more: Vec<Column>| {
            let mut columns = qualified(&table.name, &table.columns);
            columns.extend(more);
            generator.within(columns, |generator| generator.expression(Type::Boolean, DEPTH))
        };
        let returning = Fragment::optional(" returning *".into());
        let name = table.name.clone();
        match self.random.random_range(0..4) {
            0 => {
                let given: Vec<Type> = table.columns[1..].iter().map(|column| column.of).collect();
                let rows = self.rows(&given);
                // A new key, the same in both systems.
                self.keys += 1;
                let first = self.keys;
                let order: Vec<String> = (1..=given.len()).map(|place| place.to_string()).collect();
                Fragment::fill(
                    &format!(
                        "insert into {name} (k, {0}) select {first}, f.* from ({{}} order by {1} limit 1) as f ({0}){{}}",
                        names_of(&table.columns[1..]),
                        order.join(", ")
                    ),
                    vec![Fragment::fill("({})", vec![rows]), returning],
                )
            }
            1 => {
                let condition = condition(self, Vec::new());
                Fragment::fill(
                    &format!("delete from {name}{{}}{{}}"),
                    vec![Fragment::fill(" where {}", vec![condition]), returning],
                )
            }
            2 => {
                let (item, columns) = self.item();
                let condition = condition(self, columns);
                let parts = vec![item, condition, returning_of(&name)];
                Fragment::fill(&format!("delete from {name} using {{}} where {{}}{{}}"), parts)
            }
            _ => {
                let column = table.columns[1..].choose(self.random).unwrap_or(&table.columns[0]);
                let own = qualified(&table.name, &table.columns);
                let value = self.within(own, |generator| generator.expression(column.of, DEPTH));
                let condition = condition(self, Vec::new());
                let parts =
                    vec![value, Fragment::optional(Fragment::fill(" where {}", vec![condition])), returning];
                Fragment::fill(&format!("update {name} set {} = {{}}{{}}{{}}", column.name), parts)
            }
        }
    }

    /// A query inside an expression.
    pub(super) fn subquery(&mut self, wanted: &[Type]) -> Fragment {
        self.rows(wanted)
    }

    /// A query that returns at most one row: an aggregate without groups, or the first row in its order.
    pub(super) fn single_row_query(&mut self, of: Type) -> Fragment {
        if self.random.random_bool(0.5) {
            let query = self.rows(&[of]);
            return Fragment::fill("({}) order by 1 limit 1", vec![query]);
        }
        self.query_depth += 1;
        let (from, columns) = self.items();
        let (condition, value) = self.within(columns, |generator| {
            let condition = generator.where_clause();
            if let Some(scope) = generator.scopes.last_mut() {
                scope.groups = Some(Vec::new());
            }
            (condition, generator.aggregate(of, 1))
        });
        self.query_depth -= 1;
        // The aggregate may belong to an enclosing query. Then there are as many rows as in FROM, all equal.
        let text = format!("select ({{}})::{} from {{}}{{}} limit 1", of.name());
        Fragment::fill(&text, vec![value, from, condition])
    }

    /// The names of a type that an expression may use here.
    pub(super) fn columns_of(&self, of: Type) -> Vec<String> {
        let visible = |scope: &Scope| -> Vec<String> {
            let columns = match &scope.groups {
                Some(groups) if !scope.inside_aggregate => groups,
                _ => &scope.columns,
            };
            columns.iter().filter(|column| column.of == of).map(|column| column.name.clone()).collect()
        };
        let own = self.scopes.last().map(visible).unwrap_or_default();
        let outer: Vec<String> = self.scopes.iter().rev().skip(1).flat_map(visible).collect();
        // The query's own columns have more weight.
        own.iter().chain(&own).chain(&own).chain(&outer).cloned().collect()
    }

    pub(super) fn may_aggregate(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.groups.is_some() && !scope.inside_aggregate)
    }

    /// An aggregate of an enclosing grouped query, if there is one.
    pub(super) fn outer_aggregate(&mut self, of: Type, depth: u32) -> Option<Fragment> {
        let around = self.scopes.len().saturating_sub(1);
        let is_grouped = |scope: &Scope| scope.groups.is_some() && !scope.inside_aggregate;
        let places: Vec<usize> = (0..around).filter(|at| is_grouped(&self.scopes[*at])).collect();
        let place = *places.choose(self.random)?;
        let inside = self.scopes.split_off(place + 1);
        let aggregate = self.aggregate(of, depth);
        self.scopes.extend(inside);
        Some(aggregate)
    }

    /// Whether a window function may be called.
    pub(super) fn may_use_windows(&self) -> bool {
        self.scopes.last().is_some_and(|scope| scope.windows && !scope.inside_aggregate)
    }

    /// Allows window functions, or not. Returns what was set before.
    pub(super) fn set_windows(&mut self, are_allowed: bool) -> bool {
        let windows = self.scopes.last_mut().map(|scope| &mut scope.windows);
        windows.is_some_and(|windows| std::mem::replace(windows, are_allowed))
    }

    /// Notes that the result of a window function depends on the order of rows. Returns whether that is so
    /// for an earlier one.
    pub(super) fn note_ordered(&mut self) -> bool {
        let is_ordered = self.scopes.last_mut().map(|scope| &mut scope.is_ordered);
        is_ordered.is_some_and(|is_ordered| std::mem::replace(is_ordered, true))
    }

    /// The columns of the rows over which windows are: those of FROM, or the keys of the groups.
    pub(super) fn own_columns(&self) -> Vec<Column> {
        let own = self.scopes.last().map(|scope| scope.groups.as_ref().unwrap_or(&scope.columns));
        own.cloned().unwrap_or_default()
    }

    pub(super) fn begin_aggregate(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.inside_aggregate = true;
        }
    }

    pub(super) fn end_aggregate(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.inside_aggregate = false;
        }
    }

    pub(super) fn within<T>(&mut self, columns: Vec<Column>, work: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Scope { columns, ..Scope::default() });
        let result = work(self);
        self.scopes.pop();
        result
    }

    fn expression_depth(&self) -> u32 {
        DEPTH.saturating_sub(self.query_depth)
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Rows of these types: a SELECT, VALUES, or a set operation.
    fn rows(&mut self, wanted: &[Type]) -> Fragment {
        self.query_depth += 1;
        let deep = self.query_depth >= QUERY_DEPTH;
        let rows = match self.random.random_range(0..12) {
            0 | 1 if !deep => {
                let sign = ["union", "union all", "intersect", "except", "except all", "intersect all"];
                let sign = sign.choose(self.random).copied().unwrap_or("union");
                let (left, right) = (self.rows(wanted), self.rows(wanted));
                let whole =
                    Fragment::fill(&format!("({{}}) {sign} ({{}})"), vec![left.clone(), right.clone()]);
                Fragment::choice(whole, vec![left, right])
            }
            2 => self.values(wanted),
            3..=5 => self.grouped(wanted),
            _ => self.plain(wanted),
        };
        self.query_depth -= 1;
        rows
    }

    fn values(&mut self, wanted: &[Type]) -> Fragment {
        let rows = (0..self.random.random_range(1..=3))
            .map(|_| {
                let row = wanted.iter().map(|of| self.typed(*of)).collect();
                Fragment::fill("({})", vec![Fragment::join(row, ", ")])
            })
            .collect();
        // In parentheses: VALUES may not precede every clause that follows a query.
        Fragment::fill("values {}", vec![Fragment::join(rows, ", ")])
    }

    /// The columns of a SELECT.
    fn select_list(&mut self, wanted: &[Type]) -> Vec<Fragment> {
        self.set_windows(true);
        let list = wanted.iter().map(|of| self.typed(*of)).collect();
        self.set_windows(false);
        list
    }

    /// An expression that certainly has the type, whatever type its operands lead to.
    fn typed(&mut self, of: Type) -> Fragment {
        let depth = self.expression_depth();
        let value = self.expression(of, depth);
        Fragment::fill(&format!("({{}})::{}", of.name()), vec![value])
    }

    fn plain(&mut self, wanted: &[Type]) -> Fragment {
        let (from, columns) = self.items();
        self.within(columns, |generator| {
            let list = generator.select_list(wanted);
            let distinct =
                if generator.random.random_bool(0.15) { "distinct ".into() } else { Fragment::default() };
            let condition = generator.where_clause();
            let parts = vec![Fragment::optional(distinct), Fragment::join(list, ", "), from, condition];
            Fragment::fill("select {}{} from {}{}", parts)
        })
    }

    fn grouped(&mut self, wanted: &[Type]) -> Fragment {
        let (from, columns) = self.items();
        let wanted_groups = self.random.random_range(0..=2);
        let groups: Vec<Column> = columns.sample(self.random, wanted_groups).cloned().collect();
        self.within(columns, |generator| {
            let condition = generator.where_clause();
            if let Some(scope) = generator.scopes.last_mut() {
                scope.groups = Some(groups.clone());
            }
            // Without GROUP BY an aggregate is needed to make it a single group.
            let mut list = generator.select_list(wanted);
            let names: Vec<&str> = groups.iter().map(|column| column.name.as_str()).collect();
            let clause = if names.is_empty() {
                let of = wanted.first().copied().unwrap_or(Type::BigInt);
                let aggregate = generator.aggregate(of, 1);
                if let Some(first) = list.first_mut() {
                    *first = Fragment::fill(&format!("({{}})::{}", of.name()), vec![aggregate]);
                }
                String::new()
            } else {
                format!(" group by {}", names.join(", "))
            };
            let having = if generator.random.random_bool(0.3) {
                let condition = generator.expression(Type::Boolean, 1);
                Fragment::optional(Fragment::fill(" having {}", vec![condition]))
            } else {
                Fragment::default()
            };
            let parts = vec![Fragment::join(list, ", "), from, condition, clause.into(), having];
            Fragment::fill("select {} from {}{}{}{}", parts)
        })
    }

    fn where_clause(&mut self) -> Fragment {
        if self.random.random_bool(0.35) {
            return Fragment::default();
        }
        let depth = self.expression_depth();
        let condition = self.expression(Type::Boolean, depth);
        Fragment::optional(Fragment::fill(" where {}", vec![condition]))
    }

    /// One to three items, joined.
    fn items(&mut self) -> Item {
        let (mut text, mut columns) = self.item();
        for _ in 0..[0, 0, 1, 1, 2].choose(self.random).copied().unwrap_or(0) {
            let lateral = self.random.random_bool(0.15);
            let (right, more) = match lateral {
                true => self.lateral_item(&columns),
                false if self.random.random_bool(0.15) => self.joined_item(),
                false => self.item(),
            };
            let kind = match self.random.random_range(0..6) {
                0 => "cross join",
                1 => "left join",
                2 if !lateral => "right join",
                3 if !lateral => "full join",
                _ => "join",
            };
            let mut both = columns.clone();
            both.extend(more);
            let left = text.clone();
            let joined = match kind {
                "cross join" => Fragment::fill("{} cross join {}", vec![text, right]),
                _ => {
                    let on = self.join_condition(&columns, &both, kind == "full join");
                    Fragment::fill(&format!("({{}} {kind} {{}} on {{}})"), vec![text, right, on])
                }
            };
            // The right side alone would not do: other parts name the columns of the left side.
            text = Fragment::choice(joined, vec![left]);
            columns = both;
        }
        (text, columns)
    }

    /// Two items that are joined with each other before anything else is joined with them.
    fn joined_item(&mut self) -> Item {
        let (left, columns) = self.item();
        let (right, more) = self.item();
        let mut both = columns.clone();
        both.extend(more);
        let kind = ["join", "left join", "full join"].choose(self.random).copied().unwrap_or("join");
        let on = self.join_condition(&columns, &both, kind == "full join");
        let joined = Fragment::fill(&format!("({{}} {kind} {{}} on {{}})"), vec![left.clone(), right, on]);
        (Fragment::choice(joined, vec![left]), both)
    }

    /// Usually the equality of two columns. A full join accepts nothing else (PostgreSQL's own limit).
    fn join_condition(&mut self, left: &[Column], both: &[Column], only_equality: bool) -> Fragment {
        let right = &both[left.len()..];
        let pairs: Vec<(&Column, &Column)> = left
            .iter()
            .flat_map(|column| right.iter().map(move |other| (column, other)))
            .filter(|(column, other)| column.of == other.of)
            .collect();
        let equality =
            pairs.choose(self.random).map(|(column, other)| format!("{} = {}", column.name, other.name));
        if only_equality {
            return equality.unwrap_or_else(|| "true".to_owned()).into();
        }
        let rest = |generator: &mut Self| {
            generator.within(both.to_vec(), |generator| {
                generator.expression(Type::Boolean, generator.expression_depth().min(2))
            })
        };
        match equality {
            Some(equality) if self.random.random_bool(0.6) => equality.into(),
            Some(equality) => {
                let rest = rest(self);
                let whole = Fragment::fill("({} and {})", vec![equality.as_str().into(), rest.clone()]);
                Fragment::choice(whole, vec![equality.into(), rest])
            }
            None => {
                let rest = rest(self);
                Fragment::choice(rest, vec!["true".into(), "false".into()])
            }
        }
    }

    /// A table, or a query in parentheses.
    fn item(&mut self) -> Item {
        let tables = self.tables;
        let alias = self.fresh("a");
        let readable: Vec<&Table> = tables.iter().chain(&self.with).collect();
        let table = readable.choose(self.random).copied().unwrap_or(&tables[0]);
        let plain: Item = (format!("{} as {alias}", table.name).into(), qualified(&alias, &table.columns));
        if self.query_depth >= QUERY_DEPTH || self.random.random_bool(0.75) {
            return plain;
        }
        // No column of an enclosing FROM: it is not visible without LATERAL, except in outer queries.
        self.derived("", &alias)
    }

    fn lateral_item(&mut self, left: &[Column]) -> Item {
        let alias = self.fresh("l");
        self.within(left.to_vec(), |generator| generator.derived("lateral ", &alias))
    }

    fn derived(&mut self, lateral: &str, alias: &str) -> Item {
        let types: Vec<Type> = (0..self.random.random_range(1..=3)).map(|_| Type::any(self.random)).collect();
        let query = self.rows(&types);
        let columns = numbered(&types);
        let text = format!("{lateral}({{}}) as {alias} ({})", names_of(&columns));
        (Fragment::fill(&text, vec![query]), qualified(alias, &columns))
    }

    /// Sometimes a WITH. The rest of the query may read it.
    fn with_clause(&mut self) -> Fragment {
        self.with.clear();
        if self.random.random_bool(0.85) {
            return Fragment::default();
        }
        let name = self.fresh("w");
        let types: Vec<Type> = (0..self.random.random_range(1..=3)).map(|_| Type::any(self.random)).collect();
        let query = self.rows(&types);
        let columns = numbered(&types);
        let text = format!("with {name} ({}) as ({{}}) ", names_of(&columns));
        self.with.push(Table { name, columns, has_key: false, of_view: None });
        Fragment::choice(Fragment::fill(&text, vec![query]), vec![Fragment::default()])
    }
}

/// Columns x0, x1, ...
fn numbered(types: &[Type]) -> Vec<Column> {
    types.iter().enumerate().map(|(place, of)| Column { name: format!("x{place}"), of: *of }).collect()
}

fn names_of(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn returning_of(table: &str) -> Fragment {
    Fragment::optional(format!(" returning {table}.*").into())
}

pub(super) fn qualified(alias: &str, columns: &[Column]) -> Vec<Column> {
    columns.iter().map(|column| Column { name: format!("{alias}.{}", column.name), of: column.of }).collect()
}
