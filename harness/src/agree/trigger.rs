//! Random triggers of the tables, and a view that can be changed through triggers.
//!
//! Neither system promises the order in which a statement visits its rows. So what triggers do must not
//! depend on it: one before a row computes from that row alone, one after a row writes to a log of which the
//! order is not compared, or changes the rows of a later table that have the row's key, where that is unique.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::query::Generator;
use super::schema::{Column, Table, Type};

/// How deep the expressions of triggers nest.
const DEPTH: u32 = 2;

/// A trigger that is being written: its table, and what tells its name from others.
struct Written<'a> {
    table: &'a Table,
    name: String,
    log: &'a str,
}

impl Generator<'_> {
    /// The statements that make triggers of the tables. What they log goes into the table `log`.
    pub(super) fn triggers(&mut self, log: &str) -> Vec<String> {
        let mut made = vec![format!("create table {log} (what text, note text)")];
        let tables = self.tables;
        self.without_queries(|generator| {
            for (at, table) in tables.iter().enumerate().filter(|(_, table)| table.of_view.is_none()) {
                let later: Vec<&Table> =
                    tables[at + 1..].iter().filter(|later| later.of_view.is_none()).collect();
                for number in 0..generator.random.random_range(0..=3) {
                    let name = format!("{}_f{number}", table.name);
                    made.extend(generator.trigger(&Written { table, name, log }, &later));
                }
            }
            for view in tables {
                if let Some(base) = &view.of_view {
                    made.extend(generator.instead_of(view, base));
                }
            }
        });
        made
    }

    fn trigger(&mut self, written: &Written<'_>, later: &[&Table]) -> [String; 2] {
        match self.random.random_range(0..10) {
            0..=3 => self.before_row(written),
            4..=6 => self.after_row(written),
            7 => self.of_statement(written),
            8 => self.with_transition_table(written),
            _ => match later.choose(self.random) {
                Some(other) if written.table.has_key => self.cascade(written, other),
                _ => self.after_row(written),
            },
        }
    }

    /// Sets a column of the new row, or drops the row.
    fn before_row(&mut self, written: &Written<'_>) -> [String; 2] {
        let Written { table, name, .. } = written;
        let column = table.columns[1..].choose(self.random).unwrap_or(&table.columns[0]);
        let new = columns_of("new", table);
        let value = self.written_over(new.clone(), column.of);
        let mut body = format!("new.{} := {value};", column.name);
        if self.random.random_bool(0.3) {
            let condition = self.written_over(new.clone(), Type::Boolean);
            body = format!("if {condition} then return null; end if; {body}");
        }
        let set = self.set_columns(table);
        let events = *["insert", "insert or update", "update", &set].choose(self.random).unwrap_or(&"insert");
        let when = self.when(new);
        let timing = format!("before {events} on {} for each row {when}", table.name);
        defined(name, &timing, &format!("{body} return new;"))
    }

    fn after_row(&mut self, written: &Written<'_>) -> [String; 2] {
        let Written { table, name, log } = written;
        let (old, new) = (columns_of("old", table), columns_of("new", table));
        let both = [old.clone(), new.clone()].concat();
        let set = self.set_columns(table);
        let (events, columns) = match self.random.random_range(0..5) {
            0 => ("insert", new),
            1 => ("delete", old),
            2 => ("update", both),
            3 => (&*set, both),
            _ => ("insert or delete or update", Vec::new()),
        };
        let when = if columns.is_empty() { String::new() } else { self.when(columns.clone()) };
        let note = match columns.is_empty() {
            true => "coalesce(old.k, -1) || ' ' || coalesce(new.k, -1)".to_owned(),
            false => format!("({})::text", self.written_over(columns, Type::Text)),
        };
        let timing = format!("after {events} on {} for each row {when}", table.name);
        let body = format!("insert into {log} values (tg_name || ' ' || tg_op, {note}); return null;");
        defined(name, &timing, &body)
    }

    fn of_statement(&mut self, Written { table, name, log }: &Written<'_>) -> [String; 2] {
        let events = ["insert", "update", "delete", "insert or update or delete"].choose(self.random);
        let time = ["before", "after"].choose(self.random).unwrap_or(&"after");
        let timing = format!("{time} {} on {} for each statement", events.unwrap_or(&"insert"), table.name);
        let body = format!("insert into {log} values (tg_name, tg_when || ' ' || tg_op); return null;");
        defined(name, &timing, &body)
    }

    fn with_transition_table(&mut self, Written { table, name, log }: &Written<'_>) -> [String; 2] {
        let (event, rows) = *[("insert", "new"), ("delete", "old"), ("update", "new"), ("update", "old")]
            .choose(self.random)
            .unwrap_or(&("insert", "new"));
        let summed = self.written_over(columns_of("r", table), Type::Integer);
        let timing =
            format!("after {event} on {} referencing {rows} table as rows_of for each statement", table.name);
        let body = format!(
            "insert into {log} select tg_name, count(*) || ' ' || coalesce(sum({summed})::text, '') from rows_of r; \
             return null;"
        );
        defined(name, &timing, &body)
    }

    /// Changes the rows of another table that have the key of the row.
    fn cascade(&mut self, Written { table, name, .. }: &Written<'_>, other: &Table) -> [String; 2] {
        let (event, row) = *[("insert", "new"), ("delete", "old"), ("update", "new")]
            .choose(self.random)
            .unwrap_or(&("update", "new"));
        let timing = format!("after {event} on {} for each row", table.name);
        let change = if self.random.random_bool(0.3) {
            format!("delete from {} where k = {row}.k", other.name)
        } else {
            let column = other.columns[1..].choose(self.random).unwrap_or(&other.columns[0]);
            let value = self.written_over(columns_of(row, table), column.of);
            format!("update {} set {} = {value} where k = {row}.k", other.name, column.name)
        };
        defined(name, &timing, &format!("{change}; return null;"))
    }

    /// The triggers that carry changes of a view over to its table.
    fn instead_of(&mut self, view: &Table, base: &str) -> [String; 2] {
        let columns = view.columns.iter().map(|column| format!("new.{}", column.name));
        let values = columns.collect::<Vec<_>>().join(", ");
        let set = view.columns[1..].iter().map(|column| format!("{0} = new.{0}", column.name));
        let set = set.collect::<Vec<_>>().join(", ");
        let body = format!(
            "if tg_op = 'INSERT' then insert into {base} values ({values}); \
             elsif tg_op = 'DELETE' then delete from {base} where k = old.k; return old; \
             else update {base} set {set} where k = old.k; \
             end if; return new;"
        );
        let timing = format!("instead of insert or update or delete on {} for each row", view.name);
        defined(&format!("{}_f", view.name), &timing, &body)
    }

    fn when(&mut self, columns: Vec<Column>) -> String {
        match self.random.random_bool(0.3) {
            true => format!("when ({})", self.written_over(columns, Type::Boolean)),
            false => String::new(),
        }
    }

    /// `update of` some column.
    fn set_columns(&mut self, table: &Table) -> String {
        let column = table.columns[1..].choose(self.random).unwrap_or(&table.columns[0]);
        format!("update of {}", column.name)
    }

    fn written_over(&mut self, columns: Vec<Column>, of: Type) -> String {
        self.within(columns, |generator| generator.expression(of, DEPTH)).text()
    }
}

fn columns_of(row: &str, table: &Table) -> Vec<Column> {
    super::query::qualified(row, &table.columns)
}

fn defined(name: &str, timing: &str, body: &str) -> [String; 2] {
    [
        format!("create function {name}() returns trigger language plpgsql as $$ begin {body} end $$"),
        format!("create trigger {name} {timing} execute function {name}()"),
    ]
}
