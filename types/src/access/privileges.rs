//! Sets of privileges, and the privileges of each kind of object.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use serde::{Deserialize, Serialize};

use super::{AccessItem, RoleId};

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Privileges(u16);

/// Their words and the letters that access lists have for them, in PostgreSQL's order.
const WORDS: [(&str, char); 12] = [
    ("INSERT", 'a'),
    ("SELECT", 'r'),
    ("UPDATE", 'w'),
    ("DELETE", 'd'),
    ("TRUNCATE", 'D'),
    ("REFERENCES", 'x'),
    ("TRIGGER", 't'),
    ("EXECUTE", 'X'),
    ("USAGE", 'U'),
    ("CREATE", 'C'),
    ("TEMPORARY", 'T'),
    ("CONNECT", 'c'),
];

impl Privileges {
    pub const NONE: Privileges = Privileges(0);
    pub const INSERT: Privileges = Privileges(1);
    pub const SELECT: Privileges = Privileges(1 << 1);
    pub const UPDATE: Privileges = Privileges(1 << 2);
    pub const DELETE: Privileges = Privileges(1 << 3);
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    pub const USAGE: Privileges = Privileges(1 << 8);
    pub const CREATE: Privileges = Privileges(1 << 9);
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// The privilege that a word of SQL names.
    pub fn named(word: &str) -> Option<Privileges> {
        if word.eq_ignore_ascii_case("temp") {
            return Some(Privileges::TEMPORARY);
        }
        let at = WORDS.iter().position(|(known, _)| known.eq_ignore_ascii_case(word))?;
        Some(Privileges(1 << at))
    }

    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, others: Privileges) -> bool {
        self & others == others
    }

    pub fn intersects(self, others: Privileges) -> bool {
        !(self & others).is_empty()
    }

    /// Each of them: its word and its letter.
    pub fn each(self) -> impl Iterator<Item = (Privileges, &'static str, char)> {
        let all = (0..).zip(WORDS).map(|(at, (word, letter))| (Privileges(1 << at), word, letter));
        all.filter(move |(one, ..)| self.intersects(*one))
    }
}

impl BitOr for Privileges {
    type Output = Privileges;

    fn bitor(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;

    fn bitand(self, others: Privileges) -> Privileges {
        Privileges(self.0 & others.0)
    }
}

impl Sub for Privileges {
    type Output = Privileges;

    fn sub(self, others: Privileges) -> Privileges {
        Privileges(self.0 & !others.0)
    }
}

/// The kinds of objects that differ in their rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// Tables and views.
    Relation,
    Sequence,
    Routine,
    Schema,
    Database,
    Type,
}

impl ObjectKind {
    /// All privileges that exist for such an object.
    pub fn all(self) -> Privileges {
        match self {
            ObjectKind::Relation => Privileges((1 << 7) - 1),
            ObjectKind::Sequence => Privileges::SELECT | Privileges::UPDATE | Privileges::USAGE,
            ObjectKind::Routine => Privileges::EXECUTE,
            ObjectKind::Schema => Privileges::USAGE | Privileges::CREATE,
            ObjectKind::Database => Privileges::CREATE | Privileges::TEMPORARY | Privileges::CONNECT,
            ObjectKind::Type => Privileges::USAGE,
        }
    }

    /// The privileges of all roles unless the access list was changed.
    fn of_everybody(self) -> Privileges {
        match self {
            ObjectKind::Relation | ObjectKind::Sequence | ObjectKind::Schema => Privileges::NONE,
            ObjectKind::Routine => Privileges::EXECUTE,
            ObjectKind::Database => Privileges::TEMPORARY | Privileges::CONNECT,
            ObjectKind::Type => Privileges::USAGE,
        }
    }

    /// The access list of an object whose rights were never changed.
    pub fn usual(self, owner: RoleId) -> Vec<AccessItem> {
        let item = |grantee, privileges| AccessItem {
            grantee,
            grantor: owner,
            privileges,
            grantable: Privileges::NONE,
        };
        let everybody = Some(self.of_everybody()).filter(|privileges| !privileges.is_empty());
        let everybody = everybody.map(|privileges| item(RoleId::PUBLIC, privileges));
        everybody.into_iter().chain([item(owner, self.all())]).collect()
    }

    /// PostgreSQL's word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Relation => "table",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Routine => "function",
            ObjectKind::Schema => "schema",
            ObjectKind::Database => "database",
            ObjectKind::Type => "type",
        }
    }
}

/// The letters of an access list, with a star after each grantable privilege.
pub(super) struct Letters(pub(super) Privileges, pub(super) Privileges);

impl fmt::Display for Letters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (one, _, letter) in self.0.each() {
            write!(f, "{letter}{}", if self.1.contains(one) { "*" } else { "" })?;
        }
        Ok(())
    }
}
