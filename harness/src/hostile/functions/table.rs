//! Reads which functions there are from the text of their table, and makes statements that call them.
//!
//! The table is the input of a macro: `"name" | "other" => (TYPE, TYPE) -> TYPE, ...;` in rows, which this
//! reads word by word. Arguments are expressions whose values are long, many, deep, or at the limits.

use std::path::Path;

use anyhow::{Context, Result, bail};
use rand::RngExt as _;
use rand::rngs::StdRng;

const FILES: [&str; 2] = ["types/src/function/function_table.rs", "types/src/function/catalog_functions.rs"];

/// How often the last argument of a variadic function is given.
const VARIADIC: usize = 3;

/// Functions that would end the attack and not the server, or wait for what never comes.
const LEFT_OUT: [&str; 8] = [
    "pg_cancel_backend",
    "pg_terminate_backend",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_sleep",
    "setval",
];

/// A function with the types of its arguments, as the table names them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
}

const TEXTS: [&str; 24] = [
    "repeat('a', 60000000)",
    "repeat('x', 1000000)",
    "repeat(',', 20000000)",
    "repeat('é', 20000000)",
    "repeat('''\\\"', 10000000)",
    "repeat(' ', 40000000)",
    "repeat('ab,', 10000000)",
    "repeat('9', 1000000)",
    "('0.' || repeat('9', 20000000))",
    "(repeat('9', 100000) || '.' || repeat('9', 100000))",
    "('9.' || repeat('9', 100000) || 'EEEE')",
    "repeat('%_a', 1000000)",
    "('\\x' || repeat('ab', 20000000))",
    "repeat('YYYY-Month-DAY HH24:MI:SS.US TZ ', 500000)",
    "repeat('%1$1000000s', 1000)",
    "repeat('%s%L', 5000000)",
    "'(a|aa)+$'",
    "'(a*)*\\1b'",
    "'(.)'",
    "(repeat('a?', 1000) || repeat('a', 1000))",
    "('[' || repeat('0,', 10000000) || '0]')",
    "('{' || repeat('1,', 10000000) || '1}')",
    "'day'",
    "'base64'",
];

const INTEGERS: [&str; 8] =
    ["2147483647", "1000000000", "100000000", "1000000", "0", "(-1)", "(-2147483648)", "32177"];

const NUMBERS: [&str; 10] = [
    "repeat('9', 131000)::numeric",
    "'1e131071'::numeric",
    "('0.' || repeat('9', 16383))::numeric",
    "(repeat('7', 131000) || '.' || repeat('3', 16383))::numeric",
    "32177::numeric",
    "5999.9::numeric",
    "'NaN'::numeric",
    "'Infinity'::numeric",
    "0.5::numeric",
    "('1.' || repeat('0', 16000) || '1')::numeric",
];

const TEXT_ARRAYS: [&str; 8] = [
    "array_fill('x'::text, array[2000000])",
    "array_fill(repeat('y', 1000000)::text, array[100])",
    "string_to_array(repeat('ab,', 1000000), ',')",
    "array_fill(null::text, array[2000000])",
    "array_fill('\"\\'::text, array[1000000])",
    "(select array_agg('key' || g) from generate_series(1, 200000) g)",
    "array_fill('0'::text, array[9000])",
    "array_fill('x'::text, array[1000, 1000])",
];

const DOCUMENTS: [&str; 8] = [
    "('[' || repeat('0,', 5000000) || '0]')",
    "('[' || repeat('{},', 3000000) || '{}]')",
    "('\"' || repeat('\\u00e9', 5000000) || '\"')",
    "(repeat('[', 9000) || repeat(']', 9000))",
    "(select '{' || string_agg('\"key' || g || '\": ' || g, ',') || '}' from generate_series(1, 200000) g)",
    "('[' || repeat('\"key1\",', 2000000) || 'null]')",
    "'\"key1\"'",
    "('[' || repeat('[0],', 200000) || '[1]]')",
];

impl Signature {
    /// A call, of whose result only whether it is NULL is sent.
    pub(super) fn statement(&self, random: &mut StdRng) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(|one| argument(one, random)).collect();
        let call = match (self.name.as_str(), arguments.as_slice()) {
            (symbol, [left, right]) if !symbol.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                format!("{left} {symbol} {right}")
            }
            ("overlaps", [a, b, c, d]) => format!("({a}, {b}) overlaps ({c}, {d})"),
            (name @ ("current_timestamp" | "current_date" | "localtime" | "localtimestamp"), []) => {
                name.to_owned()
            }
            (name, arguments) => format!("{name}({})", arguments.join(", ")),
        };
        format!("select ({call}) is null")
    }
}

fn chosen(among: &[&str], random: &mut StdRng) -> String {
    among[random.random_range(0..among.len())].to_owned()
}

/// An expression of a type of the table.
fn argument(name: &str, random: &mut StdRng) -> String {
    let integer = |random: &mut StdRng| chosen(&INTEGERS, random);
    match name {
        "TEXT" | "CHAR" => chosen(&TEXTS, random),
        "ANY" | "COMMON" => format!("{}::text", chosen(&TEXTS, random)),
        "INT4" => integer(random),
        "INT2" => format!("{}::int2", chosen(&["32767", "0", "1"], random)),
        "INT8" => format!("{}::int8", integer(random)),
        "FLOAT4" => "3e38::float4".to_owned(),
        "FLOAT8" => {
            chosen(&["1e308::float8", "0.5::float8", "'-Infinity'::float8", "1e-300::float8"], random)
        }
        "NUMERIC" => chosen(&NUMBERS, random),
        "BOOL" => chosen(&["true", "false"], random),
        "BYTEA" => {
            format!("{}::bytea", chosen(&["repeat('a', 60000000)", "repeat('\\000', 20000000)"], random))
        }
        "DATE" => chosen(&["'infinity'::date", "'4713-01-01 BC'::date", "'5874897-12-31'::date"], random),
        "TIME" => "'24:00'::time".to_owned(),
        "TIMESTAMP" => chosen(&["'infinity'::timestamp", "'294276-12-31'::timestamp"], random),
        "TIMESTAMPTZ" => chosen(&["'-infinity'::timestamptz", "'4713-01-01 BC'::timestamptz"], random),
        "INTERVAL" => chosen(&["'178000000 years'::interval", "'-1 microsecond'::interval"], random),
        "UUID" => "gen_random_uuid()".to_owned(),
        "TEXTS" => chosen(&TEXT_ARRAYS, random),
        "JSON" => format!("{}::json", chosen(&DOCUMENTS, random)),
        "JSONB" => format!("{}::jsonb", chosen(&DOCUMENTS, random)),
        "REGCLASS" => "'pg_class'::regclass".to_owned(),
        "OID" => "1259::oid".to_owned(),
        _ => "'r'".to_owned(),
    }
}

/// A number that depends on name and types.
pub(super) fn digest(signature: &Signature) -> u32 {
    let words = signature.arguments.iter().chain([&signature.name]);
    let bytes = words.flat_map(|word| word.bytes().chain([0]));
    bytes.fold(2_166_136_261, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(16_777_619))
}

/// All signatures, in the order of the table.
pub(super) fn read(root: &Path) -> Result<Vec<Signature>> {
    let mut all = Vec::new();
    for file in FILES {
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        read_table(&code, &mut all).with_context(|| format!("in {file}"))?;
    }
    all.retain(|signature| !LEFT_OUT.contains(&signature.name.as_str()));
    if all.is_empty() {
        bail!("no function was found");
    }
    Ok(all)
}

/// Names and signatures end with a semicolon outside of parentheses.
fn read_table(code: &str, all: &mut Vec<Signature>) -> Result<()> {
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("=>") {
        // The names are the quoted words just before the arrow.
        let start = before.rfind(['{', '}', ';']).map_or(0, |at| at + 1);
        let names: Vec<&str> = before[start..].split('"').skip(1).step_by(2).collect();
        let end = end_of_overloads(after).context("a list of signatures has no end")?;
        if !names.is_empty() && after[..end].contains("->") {
            for overload in after[..end].split("->") {
                let Some((_, arguments)) = overload.rsplit_once('(') else { continue };
                let Some((arguments, _)) = arguments.split_once(')') else { continue };
                let (listed, is_variadic) = match arguments.split_once(';') {
                    Some((listed, _)) => (listed, true),
                    None => (arguments, false),
                };
                let mut types: Vec<String> = listed
                    .split(',')
                    .map(|one| one.trim().to_owned())
                    .filter(|one| !one.is_empty())
                    .collect();
                if let (true, Some(last)) = (is_variadic, types.last().cloned()) {
                    types.extend(std::iter::repeat_n(last, VARIADIC));
                }
                for name in &names {
                    all.push(Signature { name: (*name).to_owned(), arguments: types.clone() });
                }
            }
            rest = &after[end..];
        } else {
            rest = after;
        }
    }
    Ok(())
}

fn end_of_overloads(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ';' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}
