//! The modes of locks: which are compatible, and which cover which.

/// The strength of a lock. Two accesses conflict, and therefore order each other, unless their modes are
/// [compatible](LockMode::is_compatible).
///
/// ```text
/// resource  modes
/// table     KeyRead, IntentRead, IntentWrite of its rows; Read, NoKeyWrite, Write of all of them
/// gap       Read, IntentWrite
/// row       KeyRead, Read, NoKeyWrite, Write: PostgreSQL's FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE, FOR UPDATE
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum LockMode {
    /// Reads the key of the row, or its absence, and nothing else: a foreign key's check of its parent.
    KeyRead,
    IntentRead,
    IntentWrite,
    Read,
    /// Writes the row but not its key: there is a row before and a row after.
    NoKeyWrite,
    /// Anything, insert and delete included.
    Write,
}

impl LockMode {
    pub(crate) const COUNT: usize = 6;

    /// Gray's matrix of multi-granularity locking, without SIX, and table 13.3 of PostgreSQL's manual.
    ///
    /// ```text
    ///              KeyRead  IntentRead  IntentWrite  Read  NoKeyWrite  Write
    /// KeyRead                                                            x
    /// IntentRead                                               x         x
    /// IntentWrite                                     x        x         x
    /// Read                                   x                 x         x
    /// NoKeyWrite                x            x        x        x         x
    /// Write           x         x            x        x        x         x
    /// ```
    ///
    /// `sql/tests/sessions/lock_modes.own.sql` shows it on a table, `strengths.sql` beside it on a row.
    #[inline]
    pub(crate) fn is_compatible(self, other: LockMode) -> bool {
        self.is_compatible_with_all(1 << other as u8)
    }

    /// The same for several modes, one bit each.
    pub(crate) fn is_compatible_with_all(self, others: u8) -> bool {
        const CONFLICTS: [u8; LockMode::COUNT] =
            [0b10_0000, 0b11_0000, 0b11_1000, 0b11_0100, 0b11_1110, 0b11_1111];
        CONFLICTS[self as usize] & others == 0
    }

    /// The weakest mode at least as strong as both: each is stronger than those before it, except for
    /// IntentWrite and Read.
    #[must_use]
    #[inline]
    pub(crate) fn join(self, other: LockMode) -> LockMode {
        use LockMode::{IntentWrite, NoKeyWrite, Read};
        match (self, other) {
            (IntentWrite, Read) | (Read, IntentWrite) => NoKeyWrite,
            _ if (self as u8) < other as u8 => other,
            _ => self,
        }
    }

    /// Whether holding `self` makes asking for `other` redundant.
    #[inline]
    pub(crate) fn covers(self, other: LockMode) -> bool {
        const COVERED: [u8; LockMode::COUNT] =
            [0b00_0001, 0b00_0011, 0b00_0111, 0b00_1011, 0b01_1111, 0b11_1111];
        COVERED[self as usize] & (1 << other as u8) != 0
    }
}
