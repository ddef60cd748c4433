//! The same statements on a table with secondary indexes and on one without must give the same answers.
//!
//! Indexes, rows, changes and questions are generated from a seed. Columns hold few distinct values, NULL
//! among them, so that bounds of ranges often equal values.

use hyades::engine::config::ProtocolKind;
use hyades::{Connection, Database, Value};
use hyades_sim::disk::SimulatedDisk;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::lives::config;

const COLUMNS: [&str; 5] = ["a", "b", "c", "d", "id"];

struct Generator(StdRng);

impl Generator {
    fn below(&mut self, most: usize) -> usize {
        self.0.random_range(0..most)
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len());
        items[at]
    }

    /// A value of a column, in its SQL form.
    fn value(&mut self, column: &str) -> String {
        match column {
            "b" => format!("'{}'", self.one_of(&["", "a", "ab", "b", "b ", "ä"])),
            "c" => self.one_of(&["-1.5", "-1", "0", "0.5", "2", "10.25"]).to_owned(),
            "id" => self.below(60).to_string(),
            _ => (self.below(7) as i32 - 2).to_string(),
        }
    }

    fn value_or_null(&mut self, column: &str) -> String {
        if column != "d" && self.below(6) == 0 { "null".to_owned() } else { self.value(column) }
    }

    fn index(&mut self, number: usize) -> String {
        let mut columns = COLUMNS.to_vec();
        let keys: Vec<String> = (0..=self.below(3))
            .map(|_| {
                let at = self.below(columns.len());
                let order = self.one_of(&["", " desc", " nulls first", " desc nulls last"]);
                format!("{}{order}", columns.remove(at))
            })
            .collect();
        format!("create index i{number} on t ({})", keys.join(", "))
    }

    fn condition(&mut self) -> String {
        let column = self.one_of(&COLUMNS);
        let (one, other) = (self.value(column), self.value(column));
        match self.below(12) {
            0..3 => format!("{column} = {one}"),
            3..7 => format!("{column} {} {one}", self.one_of(&["<", "<=", ">", ">="])),
            7 => format!("{column} between {one} and {other}"),
            8 => format!("{column} in ({one}, {other}, null)"),
            9 if column != "b" => format!("{column} = any (array[{one}, {other}, {one}])"),
            10 => format!("{column} is {}null", self.one_of(&["", "not "])),
            _ => format!("({column} > {one} or {column} = {other})"),
        }
    }

    fn filter(&mut self) -> String {
        let conditions: Vec<String> = (0..=self.below(3)).map(|_| self.condition()).collect();
        conditions.join(" and ")
    }

    fn change(&mut self) -> String {
        let column = self.one_of(&["a", "b", "c", "d"]);
        let value = self.value_or_null(column);
        match self.below(8) {
            0..3 => {
                let id = self.below(60);
                let values: Vec<String> =
                    ["a", "b", "c", "d"].iter().map(|column| self.value_or_null(column)).collect();
                let values = values.join(", ");
                format!("insert into t values ({id}, {values}) on conflict do nothing")
            }
            3..5 => format!("update t set {column} = {value} where {}", self.filter()),
            5 => format!("update t set a = a + 1, d = d - 1 where {}", self.filter()),
            6 => format!("update t set id = id + 1000 where {} and id < 3", self.filter()),
            _ => format!("delete from t where {} and id % 5 = {}", self.filter(), self.below(5)),
        }
    }

    fn question(&mut self) -> String {
        let filter = self.filter();
        match self.below(5) {
            0 => {
                let column = self.one_of(&COLUMNS);
                let order = self.one_of(&["", " desc", " nulls first", " desc nulls last"]);
                format!("select {column} from t order by {column}{order} limit {}", self.below(12))
            }
            1 => {
                let (one, other) = (self.one_of(&COLUMNS), self.one_of(&COLUMNS));
                let order = self.one_of(&["", " desc"]);
                format!(
                    "select {one}, {other} from t where {filter} order by {one}{order}, {other}{order} limit 9"
                )
            }
            2 => {
                let (column, value) = (self.one_of(&COLUMNS), self.value("a"));
                let on = format!("x.a = y.d and y.a >= {value}");
                format!(
                    "select x.id, y.id from t x left join t y on {on} where x.{column} is not null and x.id < 9 order by 1, 2"
                )
            }
            3 => format!("select count(*), min(a), max(c), sum(d) from t where {filter}"),
            _ => format!("select * from t where {filter} order by id"),
        }
    }
}

fn answer(connection: &mut Connection, sql: &str) -> String {
    match connection.query(sql, &[]) {
        Ok(rows) => rows
            .iter()
            .map(|row| row.iter().map(|value| shown(value) + "|").collect::<String>())
            .collect::<Vec<_>>()
            .join("\n"),
        Err(error) => error.to_string(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        value => hyades::types::text::format(value, &jiff::tz::TimeZone::UTC).to_string(),
    }
}

#[test]
fn indexes_change_no_answer() {
    for seed in 0..12 {
        let mut generator = Generator(StdRng::seed_from_u64(seed));
        let open =
            || Database::open(config(&SimulatedDisk::new(seed), ProtocolKind::None)).expect("a database");
        let (with, without) = (open(), open());
        let mut both = [with.connect().expect("a connection"), without.connect().expect("a connection")];
        let table = "create table t (id int primary key, a int, b text, c numeric, d bigint not null)";
        for connection in &mut both {
            connection.execute(table, &[]).expect("a new table");
        }
        let mut indexes = 0;
        for round in 0..250 {
            if round % 40 == 0 {
                let index = generator.index(indexes);
                indexes += 1;
                both[0].execute(&index, &[]).unwrap_or_else(|error| panic!("{index}: {error}"));
            }
            let sql = if round % 3 == 0 { generator.question() } else { generator.change() };
            let [one, other] = both.each_mut().map(|connection| answer(connection, &sql));
            assert_eq!(one, other, "seed {seed}, round {round}: {sql}");
            if round % 10 == 9 {
                let all = "select * from t order by id";
                let [one, other] = both.each_mut().map(|connection| answer(connection, all));
                assert_eq!(one, other, "seed {seed}, round {round}: after {sql}");
            }
        }
    }
}
