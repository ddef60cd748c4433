//! Expressions over registers and rows, the logic of NULL, and the order of evaluation.

use std::cell::RefCell;
use std::sync::Arc;

use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::function::Function;
use hyades_types::generators::any_row;
use hyades_types::operator::{BinaryOperator, UnaryOperator};
use hyades_types::value::{ArrayElement, SqlType, Value};
use proptest::prelude::*;

use super::{Context, MAXIMUM_DEPTH, condition, evaluate};
use crate::procedure::buffers::RowBuffer;
use crate::procedure::ir::Expr;
use crate::storage::row::RowLayout;

pub(super) fn environment() -> Environment {
    Environment {
        transaction_time: 0,
        statement_time: 1,
        time_zone: jiff::tz::TimeZone::get("Europe/Berlin").unwrap(),
        user: "user".to_owned(),
        database: "database".to_owned(),
        stop: Default::default(),
        sessions: None,
        random: RefCell::new(hyades_types::random::Random::seeded(1)),
        ..Environment::default()
    }
}

/// Evaluates over these registers and one row.
fn over(expr: &Expr, registers: &[Value], types: &[SqlType], row: &[Value]) -> Result<Value> {
    let layout = RowLayout::new(types);
    let mut buffer = RowBuffer::default();
    layout.encode(row, &mut buffer.bytes);
    let environment = environment();
    let layouts = [Some(Arc::new(layout))];
    let (rows, rows_in_place) = (&[buffer], &[]);
    evaluate(expr, &Context { registers, rows, rows_in_place, layouts: &layouts, environment: &environment })
}

fn plain(expr: &Expr) -> Result<Value> {
    over(expr, &[], &[], &[])
}

fn constant(value: impl Into<Option<i32>>) -> Expr {
    Expr::Const(value.into().map_or(Value::Null, Value::Integer))
}

fn boolean(truth: Option<bool>) -> Expr {
    Expr::Const(truth.map_or(Value::Null, Value::Boolean))
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

/// Fails if it is ever evaluated.
fn failing() -> Expr {
    binary(BinaryOperator::Equal, binary(BinaryOperator::Divide, constant(1), constant(0)), constant(1))
}

const COLUMN: Expr = Expr::Column { row: 0, column: 0 };

#[test]
fn logic_has_three_values() {
    let values = [Some(true), Some(false), None];
    for a in values {
        for b in values {
            let and = plain(&Expr::And(Box::new(boolean(a)), Box::new(boolean(b)))).unwrap().as_bool();
            let or = plain(&Expr::Or(Box::new(boolean(a)), Box::new(boolean(b)))).unwrap().as_bool();
            let expected_and = if a == Some(false) || b == Some(false) { Some(false) } else { a.and(b) };
            let expected_or = if a == Some(true) || b == Some(true) { Some(true) } else { a.and(b) };
            assert_eq!((and, or), (expected_and, expected_or), "{a:?} {b:?}");
        }
        assert_eq!(plain(&Expr::Not(Box::new(boolean(a)))).unwrap().as_bool(), a.map(|a| !a));
    }
}

#[test]
fn only_true_is_true() {
    let environment = environment();
    let context = Context::of_registers(&[], &environment);
    assert!(condition(&boolean(Some(true)), &context).unwrap());
    assert!(!condition(&boolean(Some(false)), &context).unwrap());
    assert!(!condition(&boolean(None), &context).unwrap());
    assert_eq!(condition(&constant(1), &context).unwrap_err().sqlstate().0, "XX000");
}

#[test]
fn what_is_not_needed_is_not_evaluated() {
    let boxed = |expr| Box::new(expr);
    let yes = || boolean(Some(true));
    let no = || boolean(Some(false));
    assert_eq!(plain(&Expr::And(boxed(no()), boxed(failing()))).unwrap(), Value::Boolean(false));
    assert_eq!(plain(&Expr::Or(boxed(yes()), boxed(failing()))).unwrap(), Value::Boolean(true));
    assert_eq!(
        plain(&Expr::Coalesce(vec![constant(None), constant(5), failing()])).unwrap(),
        Value::Integer(5)
    );
    let list = vec![constant(None), constant(1), failing()];
    assert_eq!(plain(&Expr::InList { operand: boxed(constant(1)), list }).unwrap(), Value::Boolean(true));
    let case = Expr::Case {
        branches: vec![(boolean(None), failing()), (yes(), constant(2)), (failing(), failing())],
        otherwise: boxed(failing()),
    };
    assert_eq!(plain(&case).unwrap(), Value::Integer(2));
    let case = Expr::Case { branches: vec![(no(), failing())], otherwise: boxed(constant(3)) };
    assert_eq!(plain(&case).unwrap(), Value::Integer(3));
    // But an AND whose left side is unknown needs its right side.
    assert!(plain(&Expr::And(boxed(boolean(None)), boxed(failing()))).is_err());
}

/// A NULL operand does not hide that the other fails.
#[test]
fn both_operands_are_evaluated() {
    assert!(plain(&binary(BinaryOperator::Equal, constant(None), failing())).is_err());
    let division = binary(BinaryOperator::Divide, constant(1), constant(0));
    let comparison = binary(BinaryOperator::Less, COLUMN, division.clone());
    assert!(over(&comparison, &[], &[SqlType::Integer], &[Value::Null]).is_err());
    assert!(plain(&binary(BinaryOperator::Add, constant(None), division)).is_err());
}

#[test]
fn columns_meet_registers_and_constants() {
    let types = [SqlType::Integer, SqlType::BigInt, SqlType::SmallInt, SqlType::Text, SqlType::Integer];
    let row = [Value::Integer(5), Value::BigInt(6), Value::SmallInt(7), Value::text("abc"), Value::Null];
    let registers = [Value::Integer(5), Value::BigInt(-6), Value::SmallInt(7), Value::text("abd")];
    let column = |column| Expr::Column { row: 0, column };
    let both = |operator, number: u16| {
        over(&binary(operator, column(number), Expr::Register(number)), &registers, &types, &row)
    };
    assert_eq!(both(BinaryOperator::Equal, 0).unwrap(), Value::Boolean(true));
    assert_eq!(both(BinaryOperator::Greater, 1).unwrap(), Value::Boolean(true));
    assert_eq!(both(BinaryOperator::NotEqual, 2).unwrap(), Value::Boolean(false));
    assert_eq!(both(BinaryOperator::LessEqual, 3).unwrap(), Value::Boolean(true));
    assert_eq!(both(BinaryOperator::Add, 0).unwrap(), Value::Integer(10));
    assert_eq!(both(BinaryOperator::Multiply, 1).unwrap(), Value::BigInt(-36));
    assert_eq!(both(BinaryOperator::Subtract, 2).unwrap(), Value::SmallInt(0));
    assert_eq!(both(BinaryOperator::Concat, 3).unwrap(), Value::text("abcabd"));
    let null = binary(BinaryOperator::GreaterEqual, column(4), Expr::Register(0));
    assert!(over(&null, &registers, &types, &row).unwrap().is_null());
    let is_null = |number| over(&Expr::IsNull(Box::new(column(number))), &registers, &types, &row).unwrap();
    assert_eq!((is_null(4), is_null(0)), (Value::Boolean(true), Value::Boolean(false)));
    let negative = Expr::Unary { operator: UnaryOperator::Negate, operand: Box::new(column(1)) };
    assert_eq!(over(&negative, &registers, &types, &row).unwrap(), Value::BigInt(-6));
}

#[test]
fn char_columns_ignore_their_blanks() {
    let types = [SqlType::Char(5)];
    let row = [Value::text("ab   ")];
    let run = |expr: &Expr| over(expr, &[Value::text("ab  ")], &types, &row).unwrap();
    assert_eq!(run(&COLUMN), Value::text("ab   "));
    assert_eq!(run(&binary(BinaryOperator::Equal, COLUMN, Expr::Register(0))), Value::Boolean(true));
    assert_eq!(run(&Expr::NotDistinct(Box::new(Expr::Register(0)), Box::new(COLUMN))), Value::Boolean(true));
    let list = vec![Expr::Const(Value::text("x")), Expr::Const(Value::text("ab"))];
    assert_eq!(run(&Expr::InList { operand: Box::new(COLUMN), list }), Value::Boolean(true));
    let cast = |to| Expr::Cast { operand: Box::new(COLUMN), to, explicit: false };
    assert_eq!(run(&cast(SqlType::Text)), Value::text("ab"));
    assert_eq!(run(&cast(SqlType::Char(3))), Value::text("ab "));
    let wrapped = Expr::Call { function: Function::CharToText, arguments: vec![Expr::Register(0)] };
    assert_eq!(run(&wrapped), Value::text("ab"));
}

#[test]
fn casts_take_the_time_zone_of_the_session() {
    let cast = Expr::Cast {
        operand: Box::new(Expr::Const(Value::text("2024-07-01 02:00"))),
        to: SqlType::TIMESTAMPTZ,
        explicit: true,
    };
    let midnight =
        hyades_types::datetime::parse_timestamp("2024-07-01", (&jiff::tz::TimeZone::UTC).into()).unwrap();
    assert_eq!(plain(&cast).unwrap(), Value::TimestampTz(midnight));
}

#[test]
fn slots_that_do_not_exist_are_an_internal_error() {
    for expr in [Expr::Register(9), Expr::Column { row: 3, column: 0 }] {
        assert_eq!(plain(&expr).unwrap_err().sqlstate().0, "XX000");
        assert!(plain(&binary(BinaryOperator::Equal, expr.clone(), constant(1))).is_err());
        assert!(plain(&Expr::IsNull(Box::new(expr))).is_err());
    }
}

#[test]
fn the_deepest_expression_fits_a_small_stack() {
    let run = || {
        let one = || Box::new(constant(1));
        let operator = BinaryOperator::Add;
        let mut sum = constant(1);
        let mut logic = boolean(Some(true));
        let mut case = constant(1);
        for _ in 1..MAXIMUM_DEPTH {
            sum = Expr::Binary { operator, left: Box::new(sum), right: one() };
            logic = Expr::And(Box::new(logic), Box::new(boolean(Some(true))));
        }
        for _ in 0..MAXIMUM_DEPTH / 2 {
            case =
                Expr::Case { branches: vec![(boolean(Some(false)), constant(0))], otherwise: Box::new(case) };
            case = Expr::Call { function: Function::Abs, arguments: vec![case] };
        }
        assert_eq!(plain(&sum).unwrap(), Value::Integer(MAXIMUM_DEPTH as i32));
        assert_eq!(plain(&logic).unwrap(), Value::Boolean(true));
        assert_eq!(plain(&case).unwrap(), Value::Integer(1));
    };
    // Half of the usual stack of a thread.
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

proptest! {
    /// An operator sees the same value, however it is reached.
    #[test]
    fn columns_registers_and_constants_are_alike((types, row) in any_row(), number in any::<prop::sample::Index>()) {
        let number = number.index(types.len());
        let column = Expr::Column { row: 0, column: number as u16 };
        let sources = [column, Expr::Register(number as u16), Expr::Const(row[number].clone())];
        let expected = if row[number].is_null() { Value::Null } else { Value::Boolean(true) };
        for left in &sources {
            for right in &sources {
                let equal = binary(BinaryOperator::GreaterEqual, left.clone(), right.clone());
                prop_assert_eq!(over(&equal, &row, &types, &row).unwrap(), expected.clone());
                let same = Expr::NotDistinct(Box::new(left.clone()), Box::new(right.clone()));
                prop_assert_eq!(over(&same, &row, &types, &row).unwrap(), Value::Boolean(true));
            }
        }
    }
}

const OPERATORS: [BinaryOperator; 12] = [
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::Modulo,
    BinaryOperator::BitXor,
    BinaryOperator::Equal,
    BinaryOperator::NotEqual,
    BinaryOperator::Less,
    BinaryOperator::LessEqual,
    BinaryOperator::Greater,
    BinaryOperator::GreaterEqual,
];

/// Expressions over four registers and four columns, of all types, including ill-typed ones.
fn any_expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (0..4_u16).prop_map(Expr::Register),
        (0..4_u16).prop_map(|column| Expr::Column { row: 0, column }),
        prop_oneof![Just(0), Just(1), Just(-1), Just(i32::MAX)].prop_map(constant),
        Just(constant(None)),
        any::<bool>().prop_map(|truth| boolean(Some(truth))),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let casts = prop_oneof![Just(SqlType::SmallInt), Just(SqlType::Integer), Just(SqlType::BigInt)];
        prop_oneof![
            4 => (prop::sample::select(&OPERATORS[..]), inner.clone(), inner.clone())
                .prop_map(|(operator, left, right)| binary(operator, left, right)),
            1 => (boxed(), boxed()).prop_map(|(left, right)| Expr::And(left, right)),
            1 => (boxed(), boxed()).prop_map(|(left, right)| Expr::Or(left, right)),
            1 => boxed().prop_map(Expr::Not),
            1 => boxed().prop_map(Expr::IsNull),
            1 => (boxed(), any::<bool>()).prop_map(|(operand, is_negation)| {
                let operator = if is_negation { UnaryOperator::Negate } else { UnaryOperator::BitNot };
                Expr::Unary { operator, operand }
            }),
            1 => (boxed(), casts).prop_map(|(operand, to)| Expr::Cast { operand, to, explicit: true }),
            1 => (inner.clone(), inner.clone(), boxed())
                .prop_map(|(when, then, otherwise)| Expr::Case { branches: vec![(when, then)], otherwise }),
            1 => (3..6_u16, boxed())
                .prop_map(|(array, index)| Expr::Element { array: Box::new(Expr::Register(array)), index }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// What is computed as a scalar equals what is computed from values whose operands were computed as such.
    /// So it holds for every expression.
    #[test]
    fn scalars_are_what_values_are(
        expr in any_expression(),
        integers in prop::collection::vec(prop_oneof![Just(0), Just(1), Just(2), Just(i32::MIN), any::<i32>()], 4),
        short in any::<i16>(),
        has_null in any::<bool>(),
    ) {
        let array = Value::array(ArrayElement::Integer, vec![Value::Integer(integers[2]), Value::Null]);
        let long = if has_null { Value::Null } else { Value::BigInt(integers[3].into()) };
        let registers =
            [Value::Integer(integers[0]), long.clone(), Value::Boolean(has_null), array, Value::Null];
        let types = [SqlType::Integer, SqlType::BigInt, SqlType::SmallInt, SqlType::Text];
        let row = [Value::Integer(integers[1]), long, Value::SmallInt(short), Value::text("1")];
        let layout = RowLayout::new(&types);
        let mut buffer = RowBuffer::default();
        layout.encode(&row, &mut buffer.bytes);
        let (environment, layouts) = (environment(), [Some(Arc::new(layout))]);
        let context = Context {
            registers: &registers,
            rows: &[buffer],
            rows_in_place: &[],
            layouts: &layouts,
            environment: &environment,
        };
        if let Some(scalar) = super::scalar(&expr, &context) {
            prop_assert_eq!(super::general(&expr, &context).unwrap(), scalar.value());
        }
    }
}
