//! The infinities and NaN. Numbers beyond the table taken from PostgreSQL are tested in `finite`.

use super::*;

fn number(text: &str) -> Numeric {
    parse(text).unwrap()
}

fn shown(number: &Numeric) -> String {
    let mut out = Vec::new();
    write(number, &mut out);
    String::from_utf8(out).unwrap()
}

type Binary = fn(&Numeric, &Numeric) -> Result<Numeric>;

/// The result of a function for every pair, or the error's SQLSTATE.
fn table(compute: Binary, texts: &[&str]) -> Vec<String> {
    texts
        .iter()
        .map(|left| {
            let cell = |right: &&str| match compute(&number(left), &number(right)) {
                Ok(number) => shown(&number),
                Err(error) => error.sqlstate().0.to_owned(),
            };
            texts.iter().map(cell).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// As PostgreSQL 15 computes it.
#[test]
fn special_operands() {
    let texts = ["0", "-2", "Inf", "-Inf", "NaN"];
    assert_eq!(
        table(add, &texts)[2..],
        [
            "Infinity Infinity Infinity NaN NaN",
            "-Infinity -Infinity NaN -Infinity NaN",
            "NaN NaN NaN NaN NaN"
        ]
    );
    assert_eq!(table(subtract, &texts)[2], "Infinity Infinity NaN Infinity NaN");
    assert_eq!(table(multiply, &texts)[3], "NaN Infinity -Infinity Infinity NaN");
    assert_eq!(
        table(divide, &texts)[1..],
        [
            "22012 1.00000000000000000000 0 0 NaN",
            "22012 -Infinity NaN NaN NaN",
            "22012 Infinity NaN NaN NaN",
            "NaN NaN NaN NaN NaN"
        ]
    );
    assert_eq!(
        table(modulo, &texts)[1..4],
        ["22012 0 -2 -2 NaN", "22012 NaN NaN NaN NaN", "22012 NaN NaN NaN NaN"]
    );
}

#[test]
fn special_powers() {
    let texts = ["0", "1", "-1", "0.5", "3", "-2", "Inf", "-Inf", "NaN"];
    let cells = table(power, &texts);
    assert!(cells[0].ends_with("0 2201F NaN"), "{}", cells[0]);
    assert!(cells[1].ends_with("1 1 1"), "{}", cells[1]);
    assert!(cells[2].ends_with("1 1 NaN"), "{}", cells[2]);
    assert!(cells[3].ends_with("0 Infinity NaN"), "{}", cells[3]);
    assert_eq!(cells[6], "1 Infinity 0 Infinity Infinity 0 Infinity 0 NaN");
    assert_eq!(cells[7], "1 -Infinity 0 2201F -Infinity 0 Infinity 0 NaN");
    assert_eq!(cells[8], "1 NaN NaN NaN NaN NaN NaN NaN NaN");
}

#[test]
fn special_logarithms() {
    let texts = ["0", "-1", "2", "Inf", "-Inf", "NaN"];
    let cells = table(logarithm_of_base, &texts);
    assert_eq!(cells[3], "2201E 2201E 0 NaN 2201E NaN");
    assert!(cells[2].ends_with("Infinity 2201E NaN"), "{}", cells[2]);
}

#[test]
fn order_and_conversions() {
    let sorted = ["-Infinity", "-5", "0", "7.5", "Infinity", "NaN"];
    for (left, text) in sorted.iter().enumerate() {
        assert_eq!(shown(&number(text)), *text);
        for (right, other) in sorted.iter().enumerate() {
            assert_eq!(compare(&number(text), &number(other)), left.cmp(&right));
        }
    }
    assert_eq!(from_f64(f64::NEG_INFINITY).unwrap(), MinusInfinity);
    assert!(to_f32(&NaN).is_nan());
    assert_eq!(to_i64(&Infinity), None);
    assert!(parse("-nan").is_err() && parse("infinity!").is_err());
    assert_eq!(apply_modifier(&NaN, 5, 2).unwrap(), NaN);
    assert_eq!(apply_modifier(&Infinity, 5, 2).unwrap_err().sqlstate().0, "22003");
}
