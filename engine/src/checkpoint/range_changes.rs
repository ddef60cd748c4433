//! What the logs have done to the rows of a range since the checkpoint, merged into the range while it is
//! loaded.
//!
//! For each key it is known what the row is now, or, if it was only patched, which pieces it has got. So the
//! changes are folded as they come, in the order of their transactions, and memory is taken once for each
//! key, however often its row has changed.

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::iter::Peekable;

use hyades_types::error::{Error, Result};

use crate::storage::row::{is_inside, overwrite};

/// See the module head.
#[derive(Debug, Default)]
pub(crate) struct RangeChanges(BTreeMap<Box<[u8]>, Change>);

#[derive(Debug, Default)]
struct Change {
    now: Now,
    /// Patches that the row has got since then, in their order.
    patches: Vec<Box<[u8]>>,
}

#[derive(Debug, Default)]
enum Now {
    #[default]
    Checkpointed,
    Row(Box<[u8]>),
    Gone,
}

/// The row of a key after everything.
pub(crate) enum Merged<'m> {
    /// As in the checkpoint.
    Same(&'m [u8]),
    Changed(&'m [u8]),
    Gone,
}

impl RangeChanges {
    pub(crate) fn put(&mut self, key: &[u8], row: Option<&[u8]>) {
        let now = row.map_or(Now::Gone, |row| Now::Row(row.into()));
        self.0.insert(key.into(), Change { now, patches: Vec::new() });
    }

    /// The row under this key has got the pieces of this patch.
    pub(crate) fn patch(&mut self, key: &[u8], patch: &[u8]) {
        match self.0.get_mut(key) {
            Some(change) => change.patches.push(patch.into()),
            None => {
                let change = Change { now: Now::Checkpointed, patches: vec![patch.into()] };
                self.0.insert(key.into(), change);
            }
        }
    }

    pub(crate) fn merging(self) -> Merging {
        Merging { changes: self.0.into_iter().peekable(), row: Vec::new() }
    }
}

/// Changes that are being merged into the rows of a range, in the order of their keys.
pub(crate) struct Merging {
    changes: Peekable<IntoIter<Box<[u8]>, Change>>,
    row: Vec<u8>,
}

impl Merging {
    /// Passes the rows of keys before this one, which the checkpoint does not have, and then what has become
    /// of this row, to `see`.
    ///
    /// # Errors
    /// A patch that fits no row, or those of `see`.
    pub(crate) fn pass(
        &mut self,
        key: &[u8],
        row: &[u8],
        mut see: impl FnMut(&[u8], Merged<'_>) -> Result<()>,
    ) -> Result<()> {
        self.pass_before(Some(key), &mut see)?;
        match self.changes.next_if(|(changed, _)| **changed == *key) {
            None => see(key, Merged::Same(row)),
            Some((_, change)) => see(key, self.after(change, Some(row))?),
        }
    }

    /// The same after the last row.
    pub(crate) fn finish(mut self, mut see: impl FnMut(&[u8], Merged<'_>) -> Result<()>) -> Result<()> {
        self.pass_before(None, &mut see)
    }

    fn pass_before(
        &mut self,
        key: Option<&[u8]>,
        see: &mut impl FnMut(&[u8], Merged<'_>) -> Result<()>,
    ) -> Result<()> {
        while let Some((changed, change)) =
            self.changes.next_if(|(changed, _)| key.is_none_or(|key| **changed < *key))
        {
            match self.after(change, None)? {
                Merged::Gone => {}
                merged => see(&changed, merged)?,
            }
        }
        Ok(())
    }

    fn after(&mut self, Change { now, patches }: Change, old: Option<&[u8]>) -> Result<Merged<'_>> {
        let row = match &now {
            Now::Checkpointed => old,
            Now::Row(row) => Some(&**row),
            Now::Gone => None,
        };
        let Some(row) = row else {
            return if patches.is_empty() { Ok(Merged::Gone) } else { Err(damaged("finds no row")) };
        };
        self.row.clear();
        self.row.extend_from_slice(row);
        for patch in &patches {
            if !is_inside(&self.row, patch) {
                return Err(damaged("does not fit the row"));
            }
            overwrite(&mut self.row, patch);
        }
        Ok(Merged::Changed(&self.row))
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a logged change of a row {what}"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Merged, RangeChanges};
    use crate::storage::row::RowPatch;

    type Rows = Vec<(Vec<u8>, Option<Vec<u8>>)>;

    fn merge(changes: RangeChanges, rows: &[(&[u8], &[u8])]) -> hyades_types::Result<Rows> {
        let (mut merging, mut merged) = (changes.merging(), Rows::new());
        let mut see = |key: &[u8], row: Merged<'_>| {
            let row = match row {
                Merged::Same(row) | Merged::Changed(row) => Some(row.to_vec()),
                Merged::Gone => None,
            };
            merged.push((key.to_vec(), row));
            Ok(())
        };
        rows.iter().try_for_each(|(key, row)| merging.pass(key, row, &mut see))?;
        merging.finish(&mut see)?;
        Ok(merged)
    }

    fn patch(offset: usize, bytes: &[u8]) -> Vec<u8> {
        let mut patch = RowPatch::default();
        patch.put(offset, bytes);
        patch.bytes().to_vec()
    }

    #[test]
    fn the_last_change_of_a_key_counts_and_patches_follow_each_other() {
        let mut changes = RangeChanges::default();
        changes.patch(b"b", &patch(0, b"X"));
        changes.patch(b"b", &patch(1, b"YZ"));
        changes.put(b"a", Some(b"first"));
        changes.put(b"a", None);
        changes.put(b"c", None);
        changes.put(b"c", Some(b"again"));
        changes.patch(b"c", &patch(4, b"!"));
        changes.put(b"d", None);
        changes.put(b"f", Some(b"last"));
        let merged = merge(changes, &[(b"b", b"old"), (b"d", b"gone"), (b"e", b"kept")]).expect("they fit");
        let row = |key: &[u8], row: Option<&[u8]>| (key.to_vec(), row.map(<[u8]>::to_vec));
        let expected = vec![
            row(b"b", Some(b"XYZ")),
            row(b"c", Some(b"agai!")),
            row(b"d", None),
            row(b"e", Some(b"kept")),
            row(b"f", Some(b"last")),
        ];
        assert_eq!(merged, expected);
    }

    #[test]
    fn a_patch_without_its_row_is_refused() {
        for (patch, rows) in [(patch(0, b"X"), &[][..]), (patch(2, b"XY"), &[(&b"b"[..], &b"old"[..])])] {
            let mut changes = RangeChanges::default();
            changes.patch(b"b", &patch);
            assert!(merge(changes, rows).is_err());
        }
    }
}
