//! Trigonometric functions in degrees, hyperbolic functions, and the cotangent.
//!
//! Degrees that are multiples of 30 or 45 have exact results where these exist (`sind(30)` is 0.5): the
//! computed value is divided by the same function's value at a point where the result is known.
//!
//! Reference: PostgreSQL 15's `float.c` (`sind_q1`, `asind_q1` and their like).

use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::float;
use crate::value::Value;

use super::{Function, mismatch};

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let found = match arguments {
        [Value::Double(x)] => of_one(function, *x)?,
        [Value::Double(y), Value::Double(x)] if function == Function::ArcTangent2Degrees => {
            Some(float::atan2(*y, *x) / float::atan(1.0) * 45.0)
        }
        _ => None,
    };
    found.map(Value::Double).ok_or_else(|| mismatch(function, arguments))
}

fn of_one(function: Function, x: f64) -> Result<Option<f64>> {
    let is_of_angle = matches!(
        function,
        Function::SineDegrees
            | Function::CosineDegrees
            | Function::TangentDegrees
            | Function::CotangentDegrees
            | Function::Cotangent
    );
    let is_outside = match function {
        Function::ArcSineDegrees | Function::ArcCosineDegrees | Function::HyperbolicArcTangent => {
            x.abs() > 1.0
        }
        Function::HyperbolicArcCosine => x < 1.0,
        _ => is_of_angle && x.is_infinite(),
    };
    if is_outside {
        return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range"));
    }
    Ok(Some(match function {
        Function::HyperbolicSine => float::sinh(x),
        Function::HyperbolicCosine => float::cosh(x),
        Function::HyperbolicTangent => float::tanh(x),
        Function::HyperbolicArcSine => float::asinh(x),
        Function::HyperbolicArcCosine => float::acosh(x),
        Function::HyperbolicArcTangent => match x {
            1.0 => f64::INFINITY,
            -1.0 => f64::NEG_INFINITY,
            x => float::atanh(x),
        },
        Function::Cotangent => 1.0 / float::tan(x),
        Function::ArcSineDegrees if x >= 0.0 => arc_sine(x),
        Function::ArcSineDegrees => -arc_sine(-x),
        Function::ArcCosineDegrees if x >= 0.0 => arc_cosine(x),
        Function::ArcCosineDegrees => 90.0 + arc_sine(-x),
        Function::ArcTangentDegrees => float::atan(x) / float::atan(1.0) * 45.0,
        _ if is_of_angle => of_angle(function, x),
        _ => return Ok(None),
    }))
}

/// Computed in the first quadrant, then given the angle's sign.
fn of_angle(function: Function, degrees: f64) -> f64 {
    let mut x = degrees % 360.0;
    let (mut of_sine, mut of_cosine) = (1.0, 1.0);
    if x < 0.0 {
        (x, of_sine) = (-x, -of_sine);
    }
    if x > 180.0 {
        (x, of_sine) = (360.0 - x, -of_sine);
    }
    if x > 90.0 {
        (x, of_cosine) = (180.0 - x, -of_cosine);
    }
    // The last two functions have no negative zero.
    let unsigned = |number: f64| if number == 0.0 { 0.0 } else { number };
    match function {
        Function::SineDegrees => of_sine * sine(x),
        Function::CosineDegrees => of_cosine * cosine(x),
        Function::TangentDegrees => {
            unsigned(of_sine * of_cosine * (sine(x) / cosine(x) / (sine(45.0) / cosine(45.0))))
        }
        _ => unsigned(of_sine * of_cosine * (cosine(x) / sine(x) / (cosine(45.0) / sine(45.0)))),
    }
}

const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

fn small_sine(degrees: f64) -> f64 {
    float::sin(degrees * RADIANS_PER_DEGREE) / float::sin(30.0 * RADIANS_PER_DEGREE) / 2.0
}

fn small_cosine(degrees: f64) -> f64 {
    let missing = |degrees: f64| 1.0 - float::cos(degrees * RADIANS_PER_DEGREE);
    1.0 - missing(degrees) / missing(60.0) / 2.0
}

fn sine(degrees: f64) -> f64 {
    if degrees <= 30.0 { small_sine(degrees) } else { small_cosine(90.0 - degrees) }
}

fn cosine(degrees: f64) -> f64 {
    if degrees <= 60.0 { small_cosine(degrees) } else { small_sine(90.0 - degrees) }
}

fn arc_sine(x: f64) -> f64 {
    if x <= 0.5 {
        float::asin(x) / float::asin(0.5) * 30.0
    } else {
        90.0 - float::acos(x) / float::acos(0.5) * 60.0
    }
}

fn arc_cosine(x: f64) -> f64 {
    if x <= 0.5 {
        90.0 - float::asin(x) / float::asin(0.5) * 30.0
    } else {
        float::acos(x) / float::acos(0.5) * 60.0
    }
}
