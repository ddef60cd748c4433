//! Random tables: columns of many types, keys and indexes of several kinds, and rows drawn from few values,
//! so that joins match, groups have several rows, and every column has NULLs.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The types that columns and expressions have. Those of one [`Family`] can be compared with each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Type {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Numeric,
    Double,
    Text,
    VarChar,
    Char,
    Date,
    Timestamp,
}

/// Types that can be compared with each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Family {
    Boolean,
    Number,
    Text,
    Time,
}

/// Every type, the common ones several times.
const TYPES: [Type; 15] = [
    Type::Integer,
    Type::Integer,
    Type::Integer,
    Type::Text,
    Type::Text,
    Type::Numeric,
    Type::BigInt,
    Type::BigInt,
    Type::Boolean,
    Type::SmallInt,
    Type::Double,
    Type::VarChar,
    Type::Char,
    Type::Date,
    Type::Timestamp,
];

impl Type {
    pub(super) fn any(random: &mut StdRng) -> Type {
        *TYPES.choose(random).unwrap_or(&Type::Integer)
    }

    /// A type that can be compared with this one, often itself.
    pub(super) fn comparable(self, random: &mut StdRng) -> Type {
        if random.random_bool(0.6) {
            return self;
        }
        let family: Vec<Type> = TYPES.into_iter().filter(|other| other.family() == self.family()).collect();
        *family.choose(random).unwrap_or(&self)
    }

    pub(super) fn family(self) -> Family {
        match self {
            Type::Boolean => Family::Boolean,
            Type::SmallInt | Type::Integer | Type::BigInt | Type::Numeric | Type::Double => Family::Number,
            Type::Text | Type::VarChar | Type::Char => Family::Text,
            Type::Date | Type::Timestamp => Family::Time,
        }
    }

    /// The name of the type in SQL.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::SmallInt => "smallint",
            Type::Integer => "integer",
            Type::BigInt => "bigint",
            Type::Numeric => "numeric",
            Type::Double => "double precision",
            Type::Text => "text",
            Type::VarChar => "varchar(12)",
            Type::Char => "char(4)",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
        }
    }

    /// A constant of the type, without a cast.
    pub(super) fn literal(self, random: &mut StdRng) -> String {
        let texts: &[&str] = match self {
            Type::Boolean => &["true", "false"],
            Type::SmallInt | Type::Integer | Type::BigInt => &["0", "1", "2", "3", "5", "-1", "7"],
            Type::Numeric => &["0", "1", "2.5", "1.00", "-3.25", "10.5"],
            Type::Double => &["0", "1", "2.5", "-0.5", "3"],
            Type::Text | Type::VarChar => &["''", "'a'", "'b'", "'ab'", "'B'", "'a '", "'abc'"],
            Type::Char => &["''", "'a'", "'b'", "'ab'", "'B'"],
            Type::Date => &["'2024-01-01'", "'2024-02-29'", "'1999-12-31'"],
            Type::Timestamp => &["'2024-01-01'", "'2024-02-29 12:30:00'", "'1999-12-31 23:59:59.5'"],
        };
        (*texts.choose(random).unwrap_or(&"null")).to_owned()
    }
}

/// A column of a table, or of another item in FROM.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) of: Type,
}

/// A table or view that both systems have.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Whether the column `k` is its primary key.
    pub(super) has_key: bool,
    /// Of a view, the table that it shows.
    pub(super) of_view: Option<String>,
}

/// Tables, and the statements that create and fill them.
pub(super) struct Schema {
    pub(super) tables: Vec<Table>,
    pub(super) statements: Vec<String>,
}

impl Schema {
    /// The names begin with `prefix`, because many schemas share one database.
    pub(super) fn generate(random: &mut StdRng, prefix: &str) -> Schema {
        let mut schema = Schema { tables: Vec::new(), statements: Vec::new() };
        for number in 0..random.random_range(2..=4) {
            schema.add_table(random, format!("{prefix}_t{number}"));
        }
        if random.random_bool(0.5)
            && let Some(base) = schema.tables.iter().find(|table| table.has_key)
        {
            let name = format!("{prefix}_tv");
            schema.statements.push(format!("create view {name} as select * from {}", base.name));
            let view = Table { name, of_view: Some(base.name.clone()), ..base.clone() };
            schema.tables.push(view);
        }
        schema
    }

    /// Names of relations with the word that drops each, in an order in which they can be dropped.
    pub(super) fn relations(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let kind = |table: &Table| if table.of_view.is_some() { "view" } else { "table" };
        self.tables.iter().rev().map(move |table| (kind(table), table.name.as_str()))
    }

    fn add_table(&mut self, random: &mut StdRng, name: String) {
        let mut columns = vec![Column { name: "k".to_owned(), of: Type::Integer }];
        for number in 0..random.random_range(2..=5) {
            columns.push(Column { name: format!("c{number}"), of: Type::any(random) });
        }
        let has_key = random.random_bool(0.7);
        let mut lines: Vec<String> = Vec::new();
        for column in &columns {
            let is_key = has_key && column.name == "k";
            lines.push(format!(
                "{} {}{}",
                column.name,
                column.of.name(),
                if is_key { " primary key" } else { "" }
            ));
        }
        self.statements.push(format!("create table {name} ({})", lines.join(", ")));
        let rows = random.random_range(0..12);
        for key in 0..rows {
            let values: Vec<String> = columns
                .iter()
                .map(|column| match column.name.as_str() {
                    "k" if has_key => key.to_string(),
                    _ if random.random_bool(0.2) => "null".to_owned(),
                    _ => column.of.literal(random),
                })
                .collect();
            self.statements.push(format!("insert into {name} values ({})", values.join(", ")));
        }
        for _ in 0..random.random_range(0..3) {
            let wanted = random.random_range(1..=2);
            let chosen: Vec<String> = columns
                .sample(random, wanted)
                .map(|column| {
                    let order = ["", " desc", " nulls first", " desc nulls last"].choose(random);
                    format!("{}{}", column.name, order.unwrap_or(&""))
                })
                .collect();
            self.statements.push(format!("create index on {name} ({})", chosen.join(", ")));
        }
        self.tables.push(Table { name, columns, has_key, of_view: None });
    }
}
