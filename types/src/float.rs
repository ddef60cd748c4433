//! Elementary functions of `double precision`, the same to the last bit on every machine.
//!
//! A logged call is run again when it is replayed, perhaps on another machine, and the results of the C
//! library depend on its version and on the processor. Here everything is made of additions, multiplications,
//! divisions and square roots, which IEEE 754 defines exactly, and which the compiler neither fuses nor
//! reorders.
//!
//! exp, ln, log10 and power compute with pairs of doubles (about 95 good bits), so results are correctly
//! rounded except for a few arguments in 10^12. They are also what PostgreSQL shows with a current C library,
//! except for about one argument in a thousand. The other functions are those of the crate `libm`: at most
//! one unit in the last place off.
//!
//! * exp(x): x = k ln 2 + r; Taylor series of r / 2^5, squared five times.
//! * ln(x): x = 2^k m; y from `libm`, and then ln(m) = y + ln(m exp(-y)), whose argument is next to 1.
//! * power: exp(y ln(x)). log10: ln(x) / ln(10).
//!
//! Reference: T. J. Dekker, "A floating-point technique for extending the available precision" (1971).

pub(crate) use libm::{acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, sin, sinh, tan, tanh};

/// A number as a sum: `high` is the sum rounded to the nearest double.
#[derive(Clone, Copy)]
struct Pair {
    high: f64,
    low: f64,
}

const LN_2: [f64; 3] = [
    // Ends in zeros, so that its product with the exponent of a double is exact.
    f64::from_bits(0x3fe6_2e42_fef0_0000),
    f64::from_bits(0x3dd4_73de_6af2_78ed),
    f64::from_bits(0xba59_ff03_4254_2fc3),
];
const INVERSE_LN_10: Pair =
    Pair { high: f64::from_bits(0x3fdb_cb7b_1526_e50e), low: f64::from_bits(0x3c69_5355_baaa_fad3) };
/// 1/n! for n = 2 to 5.
const INVERSE_FACTORIALS: [Pair; 4] = [
    Pair { high: 0.5, low: 0.0 },
    Pair { high: f64::from_bits(0x3fc5_5555_5555_5555), low: f64::from_bits(0x3c65_5555_5555_5555) },
    Pair { high: f64::from_bits(0x3fa5_5555_5555_5555), low: f64::from_bits(0x3c45_5555_5555_5555) },
    Pair { high: f64::from_bits(0x3f81_1111_1111_1111), low: f64::from_bits(0x3c01_1111_1111_1111) },
];
/// 1/n! for n = 6 to 12: for these terms one double is enough.
const SMALL_INVERSE_FACTORIALS: [f64; 7] = [
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
];
/// The series is taken at the argument over 2 to this.
const HALVINGS: u32 = 5;
/// Outside this range the result is not a normal number, and `libm` does the rounding.
const LEAST_EXPONENT: f64 = -708.0;
const MOST_EXPONENT: f64 = 709.0;

impl Pair {
    const fn of(high: f64) -> Pair {
        Pair { high, low: 0.0 }
    }

    /// The exact sum, if the first summand is the larger.
    fn of_ordered(high: f64, low: f64) -> Pair {
        let sum = high + low;
        Pair { high: sum, low: low - (sum - high) }
    }

    /// The exact sum.
    fn of_sum(a: f64, b: f64) -> Pair {
        let sum = a + b;
        let from_b = sum - a;
        Pair { high: sum, low: (a - (sum - from_b)) + (b - from_b) }
    }

    /// The exact product.
    fn of_product(a: f64, b: f64) -> Pair {
        // 2^27 + 1 splits into halves of 26 bits, whose products are exact.
        let halves = |number: f64| {
            let large = 134_217_729.0 * number;
            let high = large - (large - number);
            (high, number - high)
        };
        let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
        let product = a * b;
        let rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
        Pair { high: product, low: rest }
    }

    fn plus(self, other: Pair) -> Pair {
        let high = Pair::of_sum(self.high, other.high);
        let low = Pair::of_sum(self.low, other.low);
        let sum = Pair::of_ordered(high.high, high.low + low.high);
        Pair::of_ordered(sum.high, sum.low + low.low)
    }

    fn times(self, other: Pair) -> Pair {
        let product = Pair::of_product(self.high, other.high);
        Pair::of_ordered(product.high, product.low + (self.high * other.low + self.low * other.high))
    }

    fn twice(self) -> Pair {
        Pair { high: 2.0 * self.high, low: 2.0 * self.low }
    }
}

/// exp(x) - 1 for x near 0 (not above 0.35), with a small relative error.
fn exp_less_one(x: Pair) -> Pair {
    let scale = 1.0 / f64::from(1_u32 << HALVINGS);
    let r = Pair { high: x.high * scale, low: x.low * scale };
    let small = SMALL_INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, next| sum * r.high + next);
    let sum = INVERSE_FACTORIALS.iter().rev().fold(Pair::of(small), |sum, next| sum.times(r).plus(*next));
    let mut result = r.plus(r.times(r).times(sum));
    for _ in 0..HALVINGS {
        result = result.twice().plus(result.times(result));
    }
    result
}

/// exp(x) as a number and a power of two.
fn exp_of(x: Pair) -> (Pair, i32) {
    let k = (x.high * std::f64::consts::LOG2_E).round_ties_even();
    let part = |place: usize| Pair::of_product(-k, LN_2[place]);
    let r = Pair::of_sum(x.high, -k * LN_2[0]).plus(Pair::of(x.low)).plus(part(1)).plus(part(2));
    (exp_less_one(r).plus(Pair::of(1.0)), k as i32)
}

/// The logarithm of a positive, finite number.
fn ln_of(x: f64) -> Pair {
    let (mut m, mut k) = libm::frexp(x);
    if m < std::f64::consts::FRAC_1_SQRT_2 {
        m *= 2.0;
        k -= 1;
    }
    let y = libm::log(m);
    let inverse = exp_less_one(Pair::of(-y));
    // m exp(-y) - 1, where m - 1 is exact.
    let rest = Pair::of(m - 1.0).plus(inverse.times(Pair::of(m)));
    let correction = rest.plus(Pair::of(-0.5 * rest.high * rest.high));
    let k = f64::from(k);
    let part = |place: usize| Pair::of_product(k, LN_2[place]);
    Pair::of(y).plus(correction).plus(part(2)).plus(part(1)).plus(Pair::of(k * LN_2[0]))
}

fn is_plain(x: f64) -> bool {
    x.is_finite() && x > 0.0
}

pub(crate) fn exp(x: f64) -> f64 {
    if !(LEAST_EXPONENT..MOST_EXPONENT).contains(&x) {
        return libm::exp(x);
    }
    let (result, k) = exp_of(Pair::of(x));
    libm::scalbn(result.high, k)
}

pub(crate) fn ln(x: f64) -> f64 {
    if is_plain(x) { ln_of(x).high } else { libm::log(x) }
}

pub(crate) fn log10(x: f64) -> f64 {
    if is_plain(x) { ln_of(x).times(INVERSE_LN_10).high } else { libm::log10(x) }
}

pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    let size = base.abs();
    if !is_plain(size) || !exponent.is_finite() || exponent == 0.0 {
        return libm::pow(base, exponent);
    }
    let is_whole = exponent.trunc() == exponent;
    if base < 0.0 && !is_whole {
        return f64::NAN;
    }
    let logarithm = ln_of(size);
    if !(LEAST_EXPONENT..MOST_EXPONENT).contains(&(logarithm.high * exponent)) {
        return libm::pow(base, exponent);
    }
    let (result, k) = exp_of(logarithm.times(Pair::of(exponent)));
    let is_odd = is_whole && exponent.abs() < 9_007_199_254_740_992.0 && exponent % 2.0 != 0.0;
    let result = libm::scalbn(result.high, k);
    if base < 0.0 && is_odd { -result } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Elementary = (&'static str, fn(f64) -> f64, fn(f64) -> f64, (f64, f64));

    /// Name, our function, the C library's, and the range of arguments.
    const FUNCTIONS: [Elementary; 13] = [
        ("exp", exp, f64::exp, (-745.0, 709.0)),
        ("exp", exp, f64::exp, (-2.0, 2.0)),
        ("ln", ln, f64::ln, (0.0, 1e6)),
        ("ln", ln, f64::ln, (0.5, 2.0)),
        ("log10", log10, f64::log10, (0.0, 1e6)),
        ("sin", sin, f64::sin, (-1e3, 1e3)),
        ("cos", cos, f64::cos, (-1e15, 1e15)),
        ("tan", tan, f64::tan, (-1e3, 1e3)),
        ("asin", asin, f64::asin, (-1.0, 1.0)),
        ("acos", acos, f64::acos, (-1.0, 1.0)),
        ("atan", atan, f64::atan, (-1e2, 1e2)),
        ("cbrt", cbrt, f64::cbrt, (-1e6, 1e6)),
        ("sqrt of exp", |x| exp(x).sqrt(), |x| x.exp().sqrt(), (-9.0, 9.0)),
    ];

    /// The number of doubles between two doubles.
    fn distance(left: f64, right: f64) -> u64 {
        let place = |number: f64| {
            let bits = number.to_bits().cast_signed();
            if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
        };
        place(left).abs_diff(place(right))
    }

    /// Numbers of [0, 1).
    fn fractions(seed: u64) -> impl Iterator<Item = f64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 9_007_199_254_740_992.0
        })
    }

    #[test]
    fn results_lie_next_to_those_of_the_c_library() {
        for (name, ours, theirs, (low, high)) in FUNCTIONS {
            let mut differing = 0;
            for fraction in fractions(1).take(5_000) {
                let x = low + (high - low) * fraction;
                let far = distance(ours(x), theirs(x));
                assert!(far <= 1, "{name}({x}) is {} and {}", ours(x), theirs(x));
                differing += far;
            }
            let most = if matches!(name, "exp" | "ln" | "cbrt") { 50 } else { 1_000 };
            assert!(differing < most, "{differing} of 5000 results of {name}");
        }
        let pairs: Vec<f64> = fractions(2).take(10_000).collect();
        for pair in pairs.chunks_exact(2) {
            let (x, y) = (50.0 * pair[0], 40.0 * pair[1] - 20.0);
            assert!(distance(power(x, y), x.powf(y)) <= 1, "{x} ^ {y}");
            assert!(distance(atan2(x - 25.0, y), (x - 25.0).atan2(y)) <= 1, "atan2({x} - 25, {y})");
        }
    }

    /// Rows written by logged calls contain these bits: they may never change, and are the same on every
    /// processor.
    #[test]
    fn results_never_change() {
        let mut sum = 0_u64;
        let mut add = |number: f64| {
            let bits = if number.is_nan() { 1 } else { number.to_bits() };
            sum = (sum ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
        };
        for (_, ours, _, (low, high)) in FUNCTIONS {
            for fraction in fractions(3).take(2_000) {
                add(ours(low + (high - low) * fraction));
            }
        }
        let pairs: Vec<f64> = fractions(4).take(4_000).collect();
        for pair in pairs.chunks_exact(2) {
            add(power(90.0 * pair[0], 80.0 * pair[1] - 40.0));
            add(atan2(pair[0] - 0.5, pair[1] - 0.5));
        }
        assert_eq!(sum, RECORDED, "docs/decisions/2026-11-22-the-same-results-everywhere.md says what to do");
    }

    const RECORDED: u64 = 7_035_784_496_975_760_543;

    #[test]
    fn what_is_exact_is_exact_and_what_is_special_is_kept() {
        for n in 0..=22_i32 {
            let ten_to_n = 10_f64.powi(n);
            assert_eq!(power(10.0, f64::from(n)), ten_to_n);
            assert_eq!(log10(ten_to_n), f64::from(n));
        }
        assert_eq!(exp(1.0), std::f64::consts::E);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(10.0), std::f64::consts::LN_10);
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(
            (power(-2.0, 3.0), power(-2.0, 4.0), power(2.0, 0.5)),
            (-8.0, 16.0, std::f64::consts::SQRT_2)
        );
        assert_eq!((power(2.0, 1023.0), power(2.0, -1074.0)), (2_f64.powi(1023), f64::from_bits(1)));
        assert_eq!((power(10.0, 400.0), power(-10.0, 401.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert_eq!((power(0.0, 2.0), power(7.0, 0.0), power(1.0, f64::NAN)), (0.0, 1.0, 1.0));
        assert!(power(-8.0, 0.5).is_nan() && power(f64::NAN, 2.0).is_nan() && ln(-1.0).is_nan());
        assert_eq!((exp(710.0), exp(-746.0), ln(0.0)), (f64::INFINITY, 0.0, f64::NEG_INFINITY));
        assert_eq!(
            (exp(f64::INFINITY), ln(f64::INFINITY), ln(f64::from_bits(1))),
            (f64::INFINITY, f64::INFINITY, -744.440_071_921_381_2)
        );
    }
}
