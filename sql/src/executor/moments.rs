//! Statistics: variances, standard deviations, covariances, correlation and regression.
//!
//! Floating-point numbers are summed in a way that large numbers close to each other do not cancel out
//! (Youngs and Cramer, "Some Results Relevant to Choice of Sum and Sum-of-Product Algorithms", Technometrics
//! 13, 1971): each number adds its contribution to the sum of the squared differences from the mean. Exact
//! numbers need no such care.
//!
//! Reference: PostgreSQL 15's `float8_accum`, `float8_regr_accum` and `numeric_stddev_internal`.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::numeric;
use hyades_types::value::{BigDecimal, Numeric, Value};

use crate::bind::aggregation::Statistic;

/// The sums over single numbers, or over pairs of them.
#[derive(Clone, Debug)]
pub(super) enum Moments {
    Float(FloatSums),
    Exact { count: i64, sum: BigDecimal, squares: BigDecimal, is_special: bool },
}

/// In pairs the first number is y, the second x. Single numbers are x.
#[derive(Clone, Debug, Default)]
pub(super) struct FloatSums {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

fn overflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

impl Moments {
    pub(super) fn exact() -> Moments {
        let zero = || numeric::finite::from_i64(0);
        Moments::Exact { count: 0, sum: zero(), squares: zero(), is_special: false }
    }

    pub(super) fn add(&mut self, arguments: &[Value]) -> Result<()> {
        match (self, arguments) {
            (Moments::Float(sums), [Value::Double(y), Value::Double(x)]) => sums.add(*y, *x),
            (Moments::Float(sums), [Value::Double(x)]) => sums.add_single(*x),
            (Moments::Exact { count, sum, squares, is_special }, [Value::Numeric(number)]) => {
                *count += 1;
                let Some(number) = number.finite() else {
                    *is_special = true;
                    return Ok(());
                };
                // Sums may exceed the range of a numeric.
                let square = numeric::finite::square(number)?;
                *sum += number;
                *squares += square;
                Ok(())
            }
            // A pair that contains a NULL does not count.
            _ => Ok(()),
        }
    }

    pub(super) fn result(&self, statistic: Statistic) -> Result<Value> {
        let (is_sample, is_root) = match statistic {
            Statistic::VariancePopulation => (false, false),
            Statistic::VarianceSample => (true, false),
            Statistic::DeviationPopulation => (false, true),
            Statistic::DeviationSample => (true, true),
            _ => (false, false),
        };
        match self {
            Moments::Float(sums) => Ok(sums.result(statistic)),
            Moments::Exact { count, .. } if *count <= i64::from(is_sample) => Ok(Value::Null),
            Moments::Exact { is_special: true, .. } => Ok(Value::numeric(Numeric::NaN)),
            Moments::Exact { count, sum, squares, .. } => {
                numeric::finite::deviation((*count, is_sample), sum, squares, is_root).map(Value::numeric)
            }
        }
    }
}

impl FloatSums {
    /// As in PostgreSQL, which rounds differently than for pairs.
    fn add_single(&mut self, x: f64) -> Result<()> {
        let before = (self.count, self.x);
        self.count += 1.0;
        self.x += x;
        if before.0 == 0.0 {
            self.xx = if x.is_finite() { 0.0 } else { f64::NAN };
            return Ok(());
        }
        let from_mean = x * self.count - self.x;
        self.xx += from_mean * from_mean / (self.count * before.0);
        if self.x.is_infinite() || self.xx.is_infinite() {
            if !before.1.is_infinite() && !x.is_infinite() {
                return Err(overflow());
            }
            self.xx = f64::NAN;
        }
        Ok(())
    }

    fn add(&mut self, y: f64, x: f64) -> Result<()> {
        let before = (self.count, self.x, self.y);
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.0 == 0.0 {
            // Infinities and NaN have no variance, even if there is only one value.
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
            return Ok(());
        }
        let (from_x, from_y) = (x * self.count - self.x, y * self.count - self.y);
        let scale = 1.0 / (self.count * before.0);
        self.xx += from_x * from_x * scale;
        self.yy += from_y * from_y * scale;
        self.xy += from_x * from_y * scale;
        let (was_x, was_y) =
            (before.1.is_infinite() || x.is_infinite(), before.2.is_infinite() || y.is_infinite());
        let is_over = ((self.x.is_infinite() || self.xx.is_infinite()) && !was_x)
            || ((self.y.is_infinite() || self.yy.is_infinite()) && !was_y)
            || (self.xy.is_infinite() && !was_x && !was_y);
        if is_over {
            return Err(overflow());
        }
        for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    fn result(&self, statistic: Statistic) -> Value {
        let count = self.count;
        if statistic == Statistic::Count {
            return Value::BigInt(count as i64);
        }
        let is_sample = matches!(
            statistic,
            Statistic::VarianceSample | Statistic::DeviationSample | Statistic::CovarianceSample
        );
        if count <= f64::from(u8::from(is_sample)) {
            return Value::Null;
        }
        let found = match statistic {
            Statistic::VariancePopulation => self.xx / count,
            Statistic::VarianceSample => self.xx / (count - 1.0),
            Statistic::DeviationPopulation => (self.xx / count).sqrt(),
            Statistic::DeviationSample => (self.xx / (count - 1.0)).sqrt(),
            Statistic::CovariancePopulation => self.xy / count,
            Statistic::CovarianceSample => self.xy / (count - 1.0),
            Statistic::Correlation if self.xx == 0.0 || self.yy == 0.0 => return Value::Null,
            Statistic::Correlation => self.xy / (self.xx * self.yy).sqrt(),
            Statistic::SumXx => self.xx,
            Statistic::SumYy => self.yy,
            Statistic::SumXy => self.xy,
            Statistic::AverageX => self.x / count,
            Statistic::AverageY => self.y / count,
            _ if self.xx == 0.0 => return Value::Null,
            Statistic::Determination if self.yy == 0.0 => 1.0,
            Statistic::Determination => (self.xy * self.xy) / (self.xx * self.yy),
            Statistic::Slope => self.xy / self.xx,
            Statistic::Intercept | Statistic::Count => (self.y - self.x * self.xy / self.xx) / count,
        };
        Value::Double(found)
    }
}
