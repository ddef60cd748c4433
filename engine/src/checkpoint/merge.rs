//! A base section and the changes to it, as the rows that they come to.

use std::collections::BTreeMap;

use hyades_types::error::Result;

use super::contents::KeyRange;
use super::part::{PartReader, SectionBytes};

/// The sections of a range, read and checked.
pub(crate) struct Sections(Vec<SectionBytes>);

impl Sections {
    pub(crate) fn read(reader: &PartReader, range: &KeyRange) -> Result<Sections> {
        range.sections.iter().map(|section| reader.read(section)).collect::<Result<_>>().map(Sections)
    }

    /// Hands each key with a row, and that, to `see`: those of the base in their order, then those that came
    /// later in theirs.
    pub(crate) fn for_each(&self, mut see: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let Some((base, changes)) = self.0.split_first() else { return Ok(()) };
        let mut changed: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        for change in changes {
            for entry in change.entries() {
                let (key, row) = entry?;
                changed.insert(key, row);
            }
        }
        for entry in base.entries() {
            let (key, row) = entry?;
            if let Some(row) = changed.remove(key).unwrap_or(row) {
                see(key, row)?;
            }
        }
        for (key, row) in changed {
            if let Some(row) = row {
                see(key, row)?;
            }
        }
        Ok(())
    }
}
