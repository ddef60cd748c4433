//! The calls: which functions, operators and casts there are, and what each is given.
//!
//! Functions with names say which types they take. For those that only the compiler calls, small values of
//! all kinds are tried first. Arguments are drawn from a seed that depends on the name, so that a new
//! function does not change the calls of the others.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::{FUNCTIONS, Function, TypePattern, call, lookup, names};
use hyades_types::json::Jsonb;
use hyades_types::operator::{BinaryOperator, UnaryOperator};
use hyades_types::random::Random;
use hyades_types::text::Reading;
use hyades_types::value::{ArrayElement, SqlType, Value};
use hyades_types::{arithmetic, binary, cast, compare, like, numeric};

use crate::SETS;
use crate::arguments::{Kind, values_of};

/// Kinds tried for functions without signatures.
const TRIED: [Kind; 10] = [
    Kind::Array,
    Kind::Text,
    Kind::Integer,
    Kind::Texts,
    Kind::Jsonb,
    Kind::Json,
    Kind::Boolean,
    Kind::BigInt,
    Kind::Null,
    Kind::Numeric,
];
/// The most arguments that are tried.
const MOST_TRIED: usize = 3;
/// The most lists of kinds that are used of those which a function without signatures takes.
const MOST_SHAPES: usize = 6;
/// How often the last argument of a variadic function is repeated.
const VARIADIC: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// The arguments are of types for which there is a result, or an error of the user's.
    Computed,
    /// They may not fit.
    Anything,
}

/// What is done with the arguments.
#[derive(Clone, Copy, Debug)]
enum Act {
    Function(Function),
    Binary(BinaryOperator),
    Unary(UnaryOperator),
    Compare,
    Like,
    AnyCaseLike,
    Cast(SqlType),
    /// From its binary form.
    FromBinary(SqlType),
}

type Pools = HashMap<String, Vec<Arc<Value>>>;

pub(crate) struct Call {
    /// Function and arguments in words.
    pub(crate) name: String,
    /// The function, operator or cast.
    pub(crate) subject: String,
    pub(crate) expectation: Expectation,
    /// Steps that it takes at least, if that is known.
    pub(crate) steps: u64,
    arguments: Vec<Arc<Value>>,
    act: Act,
}

impl Call {
    /// Copies of the arguments, made before anything is counted.
    pub(crate) fn arguments(&self) -> Vec<Value> {
        self.arguments.iter().map(|value| (**value).clone()).collect()
    }

    pub(crate) fn run(&self, mut arguments: Vec<Value>) -> Result<()> {
        let environment = Environment::default();
        match (self.act, arguments.as_mut_slice()) {
            (Act::Function(function), arguments) => call(function, arguments, &environment).map(drop),
            (Act::Binary(operator), [left, right]) => arithmetic::binary(operator, left, right).map(drop),
            (Act::Unary(operator), [value]) => arithmetic::unary(operator, value).map(drop),
            (Act::Compare, [left, right]) => {
                compare::total(left, right);
                Ok(())
            }
            (Act::Like, [Value::Text(text), Value::Text(pattern)]) => like::matches(text, pattern).map(drop),
            (Act::AnyCaseLike, [Value::Text(text), Value::Text(pattern)]) => {
                like::matches_ignoring_case(text, pattern).map(drop)
            }
            (Act::Cast(to), [value]) => {
                let reading = Reading::from(&environment.time_zone);
                cast::cast(std::mem::take(value), to, true, reading).map(drop)
            }
            (Act::FromBinary(sql_type), [Value::Bytea(bytes)]) => binary::read(bytes, sql_type).map(drop),
            _ => Ok(()),
        }
    }
}

/// Draws arguments and names the calls.
struct Maker {
    pools: Pools,
    calls: Vec<Call>,
}

fn short(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("{:?}[{}]", array.element, array.values.len()),
        Value::Text(text) if text.len() > 24 => {
            let start: String = text.chars().take(24).collect();
            format!("\"{start}\".. of {} bytes", text.len())
        }
        _ if value.heap_bytes() > 24 => {
            let kind = value.sql_type().map_or("", SqlType::base_name);
            format!("{kind} of {} bytes", value.heap_bytes())
        }
        other => format!("{other:?}"),
    }
}

impl Maker {
    fn pool(&mut self, kind: Kind) -> Vec<Arc<Value>> {
        let name = format!("{kind:?}");
        let fresh = || values_of(kind).into_iter().map(Arc::new).collect();
        self.pools.entry(name).or_insert_with(fresh).clone()
    }

    /// [`SETS`] sets of arguments of these kinds; fewer if there are not so many.
    fn add(&mut self, subject: &str, act: Act, kinds: &[Kind], expectation: Expectation) {
        let pools: Vec<Vec<Arc<Value>>> = kinds.iter().map(|kind| self.pool(*kind)).collect();
        let all = pools.iter().map(Vec::len).product::<usize>();
        let mut hasher = DefaultHasher::new();
        (subject, format!("{kinds:?}")).hash(&mut hasher);
        let random = std::cell::RefCell::new(Random::seeded(hasher.finish()));
        let draw = |count: usize| (random.borrow_mut().fraction() * count as f64) as usize;
        // A single argument is each of its values.
        let sets = if kinds.len() == 1 { all } else { all.min(SETS) };
        for set in 0..sets {
            let arguments: Vec<Arc<Value>> = match kinds.len() {
                1 => vec![Arc::clone(&pools[0][set])],
                _ => pools.iter().map(|pool| Arc::clone(&pool[draw(pool.len())])).collect(),
            };
            let shown: Vec<String> = arguments.iter().map(|value| short(value)).collect();
            let name = format!("{subject}({})", shown.join(", "));
            self.calls.push(Call {
                name,
                subject: subject.to_owned(),
                expectation,
                steps: 0,
                arguments,
                act,
            });
        }
    }

    /// What has ended the process, or could not be stopped.
    fn known(&mut self) {
        let integers = |from: i32| {
            let values = (from..).take(20_000).map(Value::Integer).collect();
            Value::array(ArrayElement::Integer, values)
        };
        let texts = |values: Vec<Value>| Value::array(ArrayElement::Text, values);
        let keys =
            |prefix: &str| texts((0..20_000).map(|key| Value::text(format!("{prefix}{key}"))).collect());
        let members: Vec<String> = (0..20_000).map(|key| format!("\"key{key}\":{key}")).collect();
        let object =
            Jsonb::parse(&format!("{{{}}}", members.join(","))).map(Value::Jsonb).unwrap_or_default();
        let long = || Value::text("a".repeat(1 << 20));
        let number = numeric::parse("1e131071").map(Value::numeric).unwrap_or_default();
        let patterns = texts(vec![Value::text("%a%b"); 10_000]);
        let pairs = 20_000 * 20_000;
        let all = [
            (Function::StringToArray, vec![long(), Value::Null], 1 << 20),
            (
                Function::ArrayReplace,
                vec![texts(vec![Value::text("x"); 40_000]), Value::text("x"), long()],
                0,
            ),
            (
                Function::ArrayFill,
                vec![
                    texts(vec![]),
                    number,
                    Value::array(ArrayElement::Integer, vec![Value::Integer(100_000)]),
                ],
                0,
            ),
            (Function::ArrayOverlaps, vec![integers(0), integers(1_000_000)], pairs),
            (Function::ArrayContains, vec![integers(0), integers(0)], pairs / 2),
            (Function::JsonExistsAny, vec![object.clone(), keys("other")], pairs),
            (Function::JsonDelete, vec![object, keys("other")], 20_000),
            (Function::MatchesAny, vec![long(), patterns, Value::text("~~")], 0),
        ];
        for (function, arguments, steps) in all {
            let name = format!("known {function:?}");
            let arguments = arguments.into_iter().map(Arc::new).collect();
            let (subject, act) = (name.clone(), Act::Function(function));
            self.calls.push(Call {
                name,
                subject,
                expectation: Expectation::Computed,
                steps,
                arguments,
                act,
            });
        }
    }

    fn named_functions(&mut self) {
        for name in names() {
            for signature in lookup(name) {
                let mut kinds: Vec<Vec<Kind>> = vec![Vec::new()];
                for pattern in signature.arguments {
                    let choices: &[Kind] = match pattern {
                        TypePattern::Exact(sql_type) => &[Kind::of(*sql_type)],
                        TypePattern::Any | TypePattern::Common => &[Kind::Text, Kind::Array],
                    };
                    kinds = kinds
                        .iter()
                        .flat_map(|list| {
                            choices.iter().map(move |choice| [list.as_slice(), &[*choice]].concat())
                        })
                        .collect();
                }
                for list in &mut kinds {
                    if let (true, Some(last)) = (signature.is_variadic, list.last().copied()) {
                        list.extend(std::iter::repeat_n(last, VARIADIC));
                    }
                }
                for list in kinds {
                    self.add(name, Act::Function(signature.function), &list, Expectation::Computed);
                }
            }
        }
    }

    /// Functions that only the compiler calls take what does not fail as unsuitable.
    fn unnamed_functions(&mut self) {
        let named: Vec<Function> = names().flat_map(lookup).map(|signature| signature.function).collect();
        for function in FUNCTIONS.iter().filter(|function| !named.contains(function)) {
            let mut shapes: Vec<Vec<Kind>> = vec![Vec::new()];
            let mut fitting = Vec::new();
            for _ in 0..MOST_TRIED {
                shapes = shapes
                    .iter()
                    .flat_map(|list| TRIED.iter().map(move |kind| [list.as_slice(), &[*kind]].concat()))
                    .collect();
                let takes = |kinds: &Vec<Kind>| {
                    let arguments: Vec<Value> = kinds.iter().map(|kind| small(*kind)).collect();
                    let result =
                        std::panic::catch_unwind(|| call(*function, &arguments, &Environment::default()));
                    matches!(result, Ok(Ok(ref value)) if !value.is_null())
                        || matches!(result, Ok(Err(ref error)) if error.sqlstate() != sqlstate::INTERNAL_ERROR)
                };
                fitting.extend(shapes.iter().filter(|kinds| takes(kinds)).take(MOST_SHAPES).cloned());
            }
            for kinds in fitting.iter().take(2 * MOST_SHAPES) {
                self.add(&format!("{function:?}"), Act::Function(*function), kinds, Expectation::Anything);
            }
        }
    }

    fn operators(&mut self) {
        let heavy = [Kind::Numeric, Kind::Text, Kind::Bytea, Kind::Jsonb, Kind::Array, Kind::Interval];
        for operator in function_operators() {
            for kind in heavy {
                let subject = format!("{} of {kind:?}", operator.symbol());
                self.add(&subject, Act::Binary(operator), &[kind, kind], Expectation::Anything);
            }
        }
        for operator in [UnaryOperator::Negate, UnaryOperator::BitNot] {
            self.add(operator.symbol(), Act::Unary(operator), &[Kind::Numeric], Expectation::Anything);
        }
        for kind in [Kind::Numeric, Kind::Text, Kind::Bytea, Kind::Jsonb, Kind::Array, Kind::Texts] {
            self.add(&format!("compare {kind:?}"), Act::Compare, &[kind, kind], Expectation::Anything);
        }
        self.add("LIKE", Act::Like, &[Kind::Text, Kind::Text], Expectation::Computed);
        self.add("ILIKE", Act::AnyCaseLike, &[Kind::Text, Kind::Text], Expectation::Computed);
    }

    fn casts(&mut self) {
        let arrays = [
            ArrayElement::Integer,
            ArrayElement::Text,
            ArrayElement::Numeric,
            ArrayElement::Bytea,
            ArrayElement::Jsonb,
            ArrayElement::Timestamp,
        ];
        let plain = [
            SqlType::Boolean,
            SqlType::Integer,
            SqlType::DoublePrecision,
            SqlType::Numeric(None),
            SqlType::Numeric(Some((1000, 500))),
            SqlType::Text,
            SqlType::Varchar(Some(10)),
            SqlType::Char(1_000_000),
            SqlType::Bytea,
            SqlType::Date,
            SqlType::TIME,
            SqlType::TIMESTAMP,
            SqlType::TIMESTAMPTZ,
            SqlType::Uuid,
            SqlType::Inet,
            SqlType::MacAddr,
            SqlType::Json,
            SqlType::Jsonb,
            SqlType::INTERVAL,
        ];
        let all: Vec<SqlType> = plain.into_iter().chain(arrays.map(SqlType::Array)).collect();
        for to in all {
            let from = [Kind::Text, Kind::Bytea, Kind::Numeric, Kind::Json, Kind::Jsonb, Kind::Array];
            for kind in from {
                let subject = format!("cast of {kind:?} to {}", to.name());
                self.add(&subject, Act::Cast(to), &[kind], Expectation::Anything);
            }
            let subject = format!("binary form of {}", to.name());
            self.add(&subject, Act::FromBinary(to), &[Kind::Bytea], Expectation::Anything);
        }
    }
}

fn function_operators() -> [BinaryOperator; 7] {
    [
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Modulo,
        BinaryOperator::Power,
        BinaryOperator::Concat,
    ]
}

thread_local! {
    static SMALL: std::cell::RefCell<HashMap<String, Value>> = std::cell::RefCell::default();
}

/// A small value of a kind.
fn small(kind: Kind) -> Value {
    SMALL.with_borrow_mut(|known| {
        let fresh = || values_of(kind).into_iter().next().unwrap_or_default();
        known.entry(format!("{kind:?}")).or_insert_with(fresh).clone()
    })
}

pub(crate) fn all() -> Vec<Call> {
    let mut maker = Maker { pools: Pools::new(), calls: Vec::new() };
    maker.known();
    maker.named_functions();
    maker.unnamed_functions();
    maker.operators();
    maker.casts();
    maker.calls
}
