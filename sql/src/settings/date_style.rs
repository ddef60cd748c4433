//! `DateStyle` and `IntervalStyle`: the forms of dates and intervals.
//!
//! DateStyle is a list of words in any order. What it does not mention stays as it is.
//!
//! Reference: `check_datestyle` of PostgreSQL 15's variable.c.

use hyades_types::text::{DateForm, DateOrder, DateStyles, IntervalForm};

const FORMS: [(&str, DateForm); 4] = [
    ("ISO", DateForm::Iso),
    ("SQL", DateForm::Sql),
    ("German", DateForm::German),
    ("Postgres", DateForm::Postgres),
];
const ORDERS: [(&str, DateOrder); 3] =
    [("MDY", DateOrder::Mdy), ("DMY", DateOrder::Dmy), ("YMD", DateOrder::Ymd)];

enum Meaning {
    Form(DateForm),
    Order(DateOrder),
    /// What RESET restores.
    Default,
}

fn meaning(word: &str) -> Option<Meaning> {
    if let Some((_, form)) = FORMS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Some(Meaning::Form(*form));
    }
    Some(match word {
        _ if word.starts_with("postgres") => Meaning::Form(DateForm::Postgres),
        "ymd" => Meaning::Order(DateOrder::Ymd),
        "dmy" => Meaning::Order(DateOrder::Dmy),
        _ if word.starts_with("euro") => Meaning::Order(DateOrder::Dmy),
        "mdy" | "us" => Meaning::Order(DateOrder::Mdy),
        _ if word.starts_with("noneuro") => Meaning::Order(DateOrder::Mdy),
        "default" => Meaning::Default,
        _ => return None,
    })
}

/// The styles after SET, or what is wrong with the value. Those of intervals are unchanged.
pub(super) fn read(value: &str, current: DateStyles, initial: DateStyles) -> Result<DateStyles, String> {
    let (mut form, mut order) = (None, None);
    let mut is_contradictory = false;
    let words: Vec<String> = match value.trim() {
        "" => Vec::new(),
        words => words.split(',').map(|word| word.trim().to_ascii_lowercase()).collect(),
    };
    let mut implied = current.order;
    for word in words {
        let word = word.trim_matches('"');
        if word.is_empty() || word.contains(char::is_whitespace) {
            return Err("List syntax is invalid.".to_owned());
        }
        match meaning(word) {
            Some(Meaning::Form(new)) => {
                is_contradictory |= form.is_some_and(|form| form != new);
                form = Some(new);
                // This form has an order of its own.
                if new == DateForm::German {
                    implied = DateOrder::Dmy;
                }
            }
            Some(Meaning::Order(new)) => {
                is_contradictory |= order.is_some_and(|order| order != new);
                order = Some(new);
            }
            Some(Meaning::Default) => {
                form = form.or(Some(initial.form));
                order = order.or(Some(initial.order));
            }
            None => return Err(format!("Unrecognized key word: \"{word}\".")),
        }
    }
    if is_contradictory {
        return Err("Conflicting \"datestyle\" specifications.".to_owned());
    }
    Ok(DateStyles { form: form.unwrap_or(current.form), order: order.unwrap_or(implied), ..current })
}

/// `ISO, MDY`
pub(super) fn shown(styles: DateStyles) -> String {
    let form = FORMS.iter().find(|(_, form)| *form == styles.form).map_or("ISO", |(name, _)| name);
    let order = ORDERS.iter().find(|(_, order)| *order == styles.order).map_or("MDY", |(name, _)| name);
    format!("{form}, {order}")
}

/// The meaning of the two settings in the form in which they are shown.
pub(super) fn of_shown(date: &str, interval: &str) -> DateStyles {
    let (form, order) = date.split_once(", ").unwrap_or((date, ""));
    DateStyles {
        form: FORMS.iter().find(|(name, _)| *name == form).map_or(DateForm::Iso, |(_, form)| *form),
        order: ORDERS.iter().find(|(name, _)| *name == order).map_or(DateOrder::Mdy, |(_, order)| *order),
        interval: match interval {
            "postgres_verbose" => IntervalForm::Verbose,
            "sql_standard" => IntervalForm::SqlStandard,
            "iso_8601" => IntervalForm::Iso,
            _ => IntervalForm::Postgres,
        },
    }
}
