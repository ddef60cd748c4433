//! Random expressions of a wanted type over the columns in scope.
//!
//! They avoid what may fail in one system and not in the other although both are right: divisions by zero,
//! texts that are not numbers, sums of floating point. Where PostgreSQL evaluates a constant that would never
//! be reached and Hyades does not (docs/sql.md), `compare` allows the difference.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::fragment::Fragment;
use super::query::Generator;
use super::schema::{Family, Type};

/// Shapes of an expression of any type.
const SHAPES_OF_ALL: [&str; 5] = ["coalesce", "case", "simple case", "nullif", "subquery"];

/// Operations of one type with operands of the same type.
fn shapes(of: Type) -> &'static [&'static str] {
    match of {
        Type::SmallInt | Type::Integer | Type::BigInt => {
            &["({} + {})", "({} - {})", "({} * {})", "abs({})", "(- {})", "greatest({}, {})", "least({}, {})"]
        }
        Type::Numeric => &[
            "({} + {})",
            "({} - {})",
            "({} * {})",
            "abs({})",
            "round({}, 1)",
            "(- {})",
            "floor({})",
            "trunc({}, 1)",
        ],
        Type::Double => &["abs({})", "(- {})", "greatest({}, {})", "floor({})", "least({}, {})"],
        Type::Text | Type::VarChar => {
            &["({} || {})", "upper({})", "substr({}, 1, 2)", "btrim({})", "greatest({}, {})", "left({}, 2)"]
        }
        Type::Char => &["coalesce({}, {})"],
        Type::Boolean => {
            &["({} and {})", "({} or {})", "(not {})", "({} = {})", "({} is true)", "({} is not false)"]
        }
        Type::Date | Type::Timestamp => &["greatest({}, {})", "least({}, {})"],
    }
}

/// Operations of one type with an operand of another type.
const CONVERSIONS: [(Type, &str, Type); 20] = [
    (Type::Integer, "length({})", Type::Text),
    (Type::Integer, "({})::integer", Type::SmallInt),
    (Type::Integer, "({})::integer", Type::Boolean),
    (Type::Integer, "strpos({}, 'a')", Type::Text),
    (Type::BigInt, "({})::bigint", Type::Integer),
    (Type::BigInt, "({})::bigint", Type::Numeric),
    (Type::Numeric, "({})::numeric", Type::Integer),
    (Type::Numeric, "({})::numeric(10, 2)", Type::Double),
    (Type::Numeric, "extract(year from {})", Type::Date),
    (Type::Double, "({})::double precision", Type::Integer),
    (Type::Double, "({})::double precision", Type::Numeric),
    (Type::Text, "({})::text", Type::Integer),
    (Type::Text, "({})::text", Type::Numeric),
    (Type::Text, "({})::text", Type::Char),
    (Type::Text, "({})::text", Type::Boolean),
    (Type::VarChar, "({})::varchar", Type::Date),
    (Type::Char, "({})::char(4)", Type::Text),
    (Type::Date, "({})::date", Type::Timestamp),
    (Type::Timestamp, "({})::timestamp", Type::Date),
    (Type::SmallInt, "(({}) % 100)::smallint", Type::Integer),
];

const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

impl Generator<'_> {
    /// An expression of the type. A `depth` of 0 gives a column or a constant.
    pub(super) fn expression(&mut self, of: Type, depth: u32) -> Fragment {
        let leaf = self.leaf(of);
        if depth == 0 || self.random.random_bool(0.25) {
            return leaf;
        }
        if self.may_aggregate() && self.random.random_bool(0.35) {
            let aggregate = self.aggregate(of, depth);
            return Fragment::choice(aggregate, vec![leaf, format!("null::{}", of.name()).into()]);
        }
        if self.may_use_windows() && self.random.random_bool(0.2) {
            let call = self.window_call(of, depth);
            return Fragment::choice(call, vec![leaf, format!("null::{}", of.name()).into()]);
        }
        if self.random.random_bool(0.1)
            && let Some(aggregate) = self.outer_aggregate(of, 1)
        {
            return Fragment::choice(aggregate, vec![leaf, format!("null::{}", of.name()).into()]);
        }
        let whole = match self.random.random_range(0..10) {
            0..=3 => self.operation(of, depth),
            4..=5 => self.conversion(of, depth),
            6..=7 if of == Type::Boolean => self.comparison(depth),
            _ if of == Type::Boolean => self.predicate(depth),
            _ => self.of_any_type(of, depth),
        };
        Fragment::choice(whole, vec![leaf, format!("null::{}", of.name()).into()])
    }

    /// A column in scope, or a constant.
    fn leaf(&mut self, of: Type) -> Fragment {
        let columns = self.columns_of(of);
        let constant = match self.random.random_range(0..8) {
            0 => format!("null::{}", of.name()),
            // Without a cast, as people write it, where the literal already has the type.
            1..=3 if matches!(of, Type::Integer | Type::Boolean) => of.literal(self.random),
            _ => format!("{}::{}", quoted(&of.literal(self.random)), of.name()),
        };
        match columns.choose(self.random) {
            Some(column) if self.random.random_bool(0.8) => {
                Fragment::choice(column.as_str().into(), vec![constant.into()])
            }
            _ => constant.into(),
        }
    }

    fn operation(&mut self, of: Type, depth: u32) -> Fragment {
        let template = shapes(of).choose(self.random).copied().unwrap_or("{}");
        self.filled(template, of, depth)
    }

    /// The template with operands of one type. If that is also the type of the whole, each operand may
    /// replace the whole.
    fn filled(&mut self, template: &str, of: Type, depth: u32) -> Fragment {
        let operands = template.matches("{}").count();
        Fragment::fill(template, (0..operands).map(|_| self.expression(of, depth - 1)).collect())
    }

    fn conversion(&mut self, of: Type, depth: u32) -> Fragment {
        let possible: Vec<_> = CONVERSIONS.iter().filter(|(to, _, _)| *to == of).collect();
        match possible.choose(self.random) {
            Some((_, template, from)) => self.filled(template, *from, depth),
            None => self.operation(of, depth),
        }
    }

    fn of_any_type(&mut self, of: Type, depth: u32) -> Fragment {
        let inner = depth - 1;
        match *SHAPES_OF_ALL.choose(self.random).unwrap_or(&"coalesce") {
            "coalesce" => self.filled("coalesce({}, {})", of, depth),
            "nullif" => self.filled("nullif({}, {})", of, depth),
            "case" => {
                let parts = vec![
                    self.expression(Type::Boolean, inner),
                    self.expression(of, inner),
                    self.expression(of, inner),
                ];
                Fragment::fill("case when {} then {} else {} end", parts)
            }
            "simple case" => {
                let compared = Type::any(self.random);
                let parts = vec![
                    self.expression(compared, inner),
                    self.expression(compared, inner),
                    self.expression(of, inner),
                    self.expression(of, inner),
                ];
                Fragment::fill("case {} when {} then {} else {} end", parts)
            }
            _ if self.may_query() => self.scalar_subquery(of),
            _ => self.filled("coalesce({}, {})", of, depth),
        }
    }

    fn comparison(&mut self, depth: u32) -> Fragment {
        let left = Type::any(self.random);
        let right = left.comparable(self.random);
        let sign = COMPARISONS.choose(self.random).copied().unwrap_or("=");
        let parts = vec![self.expression(left, depth - 1), self.expression(right, depth - 1)];
        Fragment::fill(&format!("({{}} {sign} {{}})"), parts)
    }

    /// A condition that is not a comparison of two values.
    fn predicate(&mut self, depth: u32) -> Fragment {
        let inner = depth - 1;
        let of = Type::any(self.random);
        let other = of.comparable(self.random);
        let not = if self.random.random_bool(0.3) { "not " } else { "" };
        let operand = self.expression(of, inner);
        let shape = match self.random.random_range(0..11) {
            4..=8 if !self.may_query() => 0,
            shape => shape,
        };
        match shape {
            0 => Fragment::fill(&format!("({{}} is {not}null)"), vec![operand]),
            1 => {
                let right = self.expression(other, inner);
                Fragment::fill(&format!("({{}} is {not}distinct from {{}})"), vec![operand, right])
            }
            2 => {
                let (low, high) = (self.expression(other, inner), self.expression(other, inner));
                Fragment::fill(&format!("({{}} {not}between {{}} and {{}})"), vec![operand, low, high])
            }
            3 => {
                let wanted = self.random.random_range(1..=4);
                let list = (0..wanted).map(|_| self.expression(other, inner)).collect();
                Fragment::fill(&format!("({{}} {not}in ({{}}))"), vec![operand, Fragment::join(list, ", ")])
            }
            4 | 5 => {
                let query = self.subquery(&[other]);
                Fragment::fill(&format!("({{}} {not}in ({{}}))"), vec![operand, query])
            }
            6 | 7 => {
                let query = self.subquery(&[of]);
                Fragment::fill(&format!("({not}exists ({{}}))"), vec![query])
            }
            8 => {
                let query = self.subquery(&[other]);
                let sign = COMPARISONS.choose(self.random).copied().unwrap_or("=");
                let every = ["any", "all"].choose(self.random).copied().unwrap_or("any");
                Fragment::fill(&format!("({{}} {sign} {every} ({{}}))"), vec![operand, query])
            }
            9 => {
                let (second, third) = (Type::any(self.random), self.expression(other, inner));
                let sign = ["=", "<>", "<", ">="].choose(self.random).copied().unwrap_or("=");
                let (left, right) = (self.expression(second, inner), self.expression(second, inner));
                Fragment::fill(
                    &format!("(({{}}, {{}}) {sign} ({{}}, {{}}))"),
                    vec![operand, left, third, right],
                )
            }
            _ => {
                let text = self.expression(Type::Text, inner);
                let pattern = ["a%", "%b", "_", "%", "a_%"].choose(self.random).copied().unwrap_or("%");
                Fragment::fill(&format!("({{}} {not}like '{pattern}')"), vec![text])
            }
        }
    }

    /// A query of one row and one column.
    fn scalar_subquery(&mut self, of: Type) -> Fragment {
        let query = self.single_row_query(of);
        Fragment::fill("({})", vec![query])
    }

    /// An aggregate of the type over the columns of the innermost query.
    pub(super) fn aggregate(&mut self, of: Type, depth: u32) -> Fragment {
        let (template, argument): (&str, Type) = match of {
            Type::Boolean => {
                (["bool_and({})", "bool_or({})"].choose(self.random).unwrap_or(&"every({})"), of)
            }
            Type::BigInt => match self.random.random_range(0..5) {
                0 => ("count(*)", of),
                1 => ("count({})", Type::any(self.random)),
                2 => ("count(distinct {})", Type::any(self.random)),
                3 => ("sum({})", Type::Integer),
                _ => ("max({})", of),
            },
            Type::Numeric => match self.random.random_range(0..4) {
                0 => ("sum({})", Type::BigInt),
                1 => ("avg({})", Type::Integer),
                2 => ("sum(distinct {})", of),
                _ => ("min({})", of),
            },
            Type::Text => match self.random.random_range(0..3) {
                0 => ("string_agg({0}, '+' order by {0})", of),
                1 => ("string_agg(distinct {0}, ',' order by {0})", of),
                _ => ("max({})", of),
            },
            Type::Integer | Type::SmallInt => match self.random.random_range(0..3) {
                0 => ("bit_or({})", of),
                1 => ("min({})", of),
                _ => ("max({})", of),
            },
            Type::Double | Type::VarChar | Type::Char | Type::Date | Type::Timestamp => ("min({})", of),
        };
        self.begin_aggregate();
        let operand = self.expression(argument, depth.saturating_sub(1).min(1));
        let filter = if self.random.random_bool(0.2) {
            let condition = self.expression(Type::Boolean, 1);
            Fragment::optional(Fragment::fill(" filter (where {})", vec![condition]))
        } else {
            Fragment::default()
        };
        self.end_aggregate();
        // The same text twice: DISTINCT requires an ORDER BY on its own argument.
        let text = operand.text();
        let call = match template {
            "count(*)" => template.into(),
            _ if template.contains("{0}") => Fragment::from(template.replace("{0}", &text)),
            _ => Fragment::fill(template, vec![operand]),
        };
        let whole = Fragment::join(vec![call, filter], "");
        // The aggregate of a varchar or char has type text.
        match of.family() {
            Family::Text if of != Type::Text => {
                Fragment::fill(&format!("({{}})::{}", of.name()), vec![whole])
            }
            _ => whole,
        }
    }
}

/// A literal in quotation marks, so that its sign is not separated from it.
fn quoted(literal: &str) -> String {
    if literal.starts_with('\'') { literal.to_owned() } else { format!("'{literal}'") }
}
