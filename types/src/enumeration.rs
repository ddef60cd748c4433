//! Enum types: a list of labels in the order that their creator chose.
//!
//! A type is a handle to its definition, which is never changed and never freed: [`EnumType`] is copied like
//! any other type, and a value knows its label without asking a catalog. ALTER TYPE makes another definition
//! with the same number. Equal definitions are stored once in the process, so the memory that is leaked is
//! bounded by the types that are created.
//!
//! A label is identified by its *position*, a number that never changes: rows and keys hold positions, which
//! are in the order of the labels. Positions are far apart, and a label that is inserted between two others
//! gets the middle. PostgreSQL uses floating-point numbers in the same way and renumbers when there is no
//! room (AddEnumLabel in pg_enum.c).

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result, sqlstate};
use crate::identifier::{PUBLIC, quoted_identifier};

/// The maximum length of a label, as of any name.
const LONGEST_LABEL: usize = 63;
/// The distance between the positions of labels that are created one after the other.
const STRIDE: u64 = 1 << 32;
/// The first label's position: there is as much room before it as after it.
const FIRST: u64 = 1 << 63;

/// An enum type, as its values know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnumDefinition {
    /// `pg_type.oid`
    pub id: u32,
    /// `pg_type.oid` of the type of its arrays.
    pub array_id: u32,
    pub schema: String,
    pub name: String,
    pub labels: EnumLabels,
    /// As of the type's definition.
    pub version: u64,
    #[serde(default)]
    pub previous: u64,
}

/// The labels of an enum, in order; their positions ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnumLabels(Vec<EnumLabel>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnumLabel {
    pub position: u64,
    pub label: String,
}

/// Where ALTER TYPE ... ADD VALUE puts a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelPlace {
    Last,
    Before(String),
    After(String),
}

/// An enum type. Two are equal if they have the same number.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Interned);

/// A definition with the names that are derived from it.
struct Interned {
    definition: EnumDefinition,
    shown: String,
    shown_array: String,
    array_name: String,
    is_void: AtomicBool,
}

/// A value of an enum type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue {
    pub enum_type: EnumType,
    pub position: u64,
}

static INTERNED: LazyLock<Mutex<HashMap<EnumDefinition, EnumType>>> = LazyLock::new(Mutex::default);

impl EnumLabels {
    /// Checks and numbers the labels of a new type. 22023 for one that is too long, 42710 for a duplicate.
    pub fn numbered(labels: &[String]) -> Result<EnumLabels> {
        let mut numbered: Vec<EnumLabel> = Vec::with_capacity(labels.len());
        let mut position = FIRST;
        for label in labels {
            check_label(label)?;
            if numbered.iter().any(|other| other.label == *label) {
                let message = format!("enum label \"{label}\" used more than once");
                return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
            }
            numbered.push(EnumLabel { position, label: label.clone() });
            position += STRIDE;
        }
        Ok(EnumLabels(numbered))
    }

    /// Adds a label. 42710 if it exists already, 22023 if its neighbour does not.
    pub fn add(&mut self, label: &str, place: &LabelPlace) -> Result<()> {
        check_label(label)?;
        if self.has(label) {
            let message = format!("enum label \"{label}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        let at = match place {
            LabelPlace::Last => self.0.len(),
            LabelPlace::Before(neighbour) => self.index_of(neighbour)?,
            LabelPlace::After(neighbour) => self.index_of(neighbour)? + 1,
        };
        let before = at.checked_sub(1).map(|before| self.0[before].position);
        let after = self.0.get(at).map(|after| after.position);
        let position = match (before, after) {
            (None, None) => Some(FIRST),
            (Some(before), None) => before.checked_add(STRIDE),
            (None, Some(after)) => after.checked_sub(STRIDE),
            (Some(before), Some(after)) => {
                Some(before + (after - before) / 2).filter(|middle| *middle != before)
            }
        };
        let Some(position) = position else {
            let message = "there is no room for another label at this place";
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        };
        self.0.insert(at, EnumLabel { position, label: label.to_owned() });
        Ok(())
    }

    /// Renames a label. 22023 if it does not exist, 42710 if the new one does.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        check_label(to)?;
        let at = self.index_of(from)?;
        if self.has(to) {
            let message = format!("enum label \"{to}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        to.clone_into(&mut self.0[at].label);
        Ok(())
    }

    /// Whether they ascend. Labels are searched by their positions.
    pub fn are_in_order(&self) -> bool {
        self.0.is_sorted_by(|one, other| one.position < other.position)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, EnumLabel> {
        self.0.iter()
    }

    pub fn has(&self, label: &str) -> bool {
        self.0.iter().any(|other| other.label == label)
    }

    fn index_of(&self, label: &str) -> Result<usize> {
        self.0.iter().position(|other| other.label == label).ok_or_else(|| {
            let message = format!("\"{label}\" is not an existing enum label");
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    }
}

/// The name of a type as `format_type` shows it.
pub fn shown_type(schema: &str, name: &str) -> String {
    let name = quoted_identifier(name);
    if schema == PUBLIC { name.to_string() } else { format!("{}.{name}", quoted_identifier(schema)) }
}

fn check_label(label: &str) -> Result<()> {
    if label.len() <= LONGEST_LABEL {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    Err(Error::input(sqlstate::INVALID_NAME, message)
        .with_detail(format!("Labels must be {LONGEST_LABEL} bytes or less.")))
}

impl EnumType {
    /// The type of this definition.
    pub fn new(definition: EnumDefinition) -> EnumType {
        let mut interned = INTERNED.lock();
        if let Some(known) = interned.get(&definition) {
            return *known;
        }
        let shown = shown_type(&definition.schema, &definition.name);
        let kept = Interned {
            shown_array: format!("{shown}[]"),
            shown,
            array_name: format!("_{}", definition.name),
            is_void: AtomicBool::new(false),
            definition: definition.clone(),
        };
        let enum_type = EnumType(Box::leak(Box::new(kept)));
        interned.insert(definition, enum_type);
        enum_type
    }

    /// The definition was rolled back: its values must no longer be stored.
    pub fn mark_void(self) {
        self.0.is_void.store(true, Ordering::Release);
    }

    pub fn is_void(self) -> bool {
        self.0.is_void.load(Ordering::Acquire)
    }

    pub fn definition(self) -> &'static EnumDefinition {
        &self.0.definition
    }

    fn labels(self) -> &'static [EnumLabel] {
        &self.definition().labels.0
    }

    /// The name as `format_type` shows it.
    pub fn shown(self) -> &'static str {
        &self.0.shown
    }

    /// The array type as it is shown, its `pg_type.typname`, and its oid.
    pub fn array_names(self) -> (&'static str, &'static str, u32) {
        (&self.0.shown_array, &self.0.array_name, self.0.definition.array_id)
    }

    /// The value with this label. 22P02 if there is no such label.
    pub fn parse(self, text: &str) -> Result<EnumValue> {
        let found = self.labels().iter().find(|label| label.label == text);
        let position = found.map(|label| label.position).ok_or_else(|| {
            let message = format!("invalid input value for enum {}: \"{text}\"", self.shown());
            Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message)
        })?;
        Ok(EnumValue { enum_type: self, position })
    }

    /// All values, in order.
    pub fn values(self) -> impl DoubleEndedIterator<Item = EnumValue> {
        self.labels().iter().map(move |label| EnumValue { enum_type: self, position: label.position })
    }
}

impl EnumValue {
    /// Empty if the type has no label at this position, which never happens for values.
    pub fn label(self) -> &'static str {
        self.place().map_or("", |at| self.enum_type.labels()[at].label.as_str())
    }

    /// Whether the type has a label at this position.
    pub fn is_valid(self) -> bool {
        self.place().is_some()
    }

    fn place(self) -> Option<usize> {
        self.enum_type.labels().binary_search_by_key(&self.position, |label| label.position).ok()
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &EnumType) -> bool {
        self.definition().id == other.definition().id
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition().id.hash(state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl Serialize for EnumType {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.definition().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EnumType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<EnumType, D::Error> {
        EnumDefinition::deserialize(deserializer).map(EnumType::new)
    }
}

#[cfg(test)]
mod tests {
    //! Labels keep their positions whatever comes between them.

    use super::*;

    fn labels(labels: &[&str]) -> EnumLabels {
        let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
        EnumLabels::numbered(&labels).expect("distinct labels")
    }

    fn type_of(labels: &EnumLabels) -> EnumType {
        EnumType::new(EnumDefinition {
            id: 16_400,
            array_id: 16_401,
            schema: "public".to_owned(),
            name: "mood".to_owned(),
            labels: labels.clone(),
            version: 0,
            previous: 0,
        })
    }

    fn shown(labels: &EnumLabels) -> Vec<&str> {
        labels.iter().map(|label| label.label.as_str()).collect()
    }

    #[test]
    fn labels_come_where_they_are_wanted_and_the_others_stay() {
        let mut mood = labels(&["sad", "happy"]);
        let before = type_of(&mood).parse("happy").expect("a label");
        mood.add("ok", &LabelPlace::Before("happy".to_owned())).expect("room");
        mood.add("awful", &LabelPlace::Before("sad".to_owned())).expect("room");
        mood.add("fine", &LabelPlace::After("ok".to_owned())).expect("room");
        mood.add("ecstatic", &LabelPlace::Last).expect("room");
        assert_eq!(shown(&mood), ["awful", "sad", "ok", "fine", "happy", "ecstatic"]);
        assert!(mood.are_in_order());
        mood.rename("happy", "glad").expect("a label");
        let after = type_of(&mood).parse("glad").expect("a label");
        assert_eq!((before, before.label(), after.label()), (after, "happy", "glad"));
    }

    #[test]
    fn a_place_without_room_is_refused_and_nothing_is_changed() {
        let mut mood = labels(&["a", "b"]);
        let mut added = 0;
        while mood.add(&format!("n{added}"), &LabelPlace::After("a".to_owned())).is_ok() {
            added += 1;
        }
        assert_eq!((added, mood.iter().count()), (32, 34));
        mood.add("last", &LabelPlace::Last).expect("there is room at the end");
    }

    #[test]
    fn equal_definitions_are_kept_once() {
        let (one, other) = (type_of(&labels(&["a"])), type_of(&labels(&["a"])));
        assert!(std::ptr::eq(one.0, other.0));
    }
}
