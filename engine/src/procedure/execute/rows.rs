//! Reading and writing rows.

#![allow(unsafe_code)] // Rows are updated in place; see `storage::record`.

use super::values::spend_for_row;
use crate::procedure::access::{self, BoundLayout};
use crate::procedure::buffers::Scratch;
use crate::procedure::evaluate::evaluate;
use crate::procedure::frame::Frame;
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{
    Arbiter, CursorSlot, Direction, Expr, Given, IndexNumber, Instruction, Intent, Label, Procedure, RowSlot,
    ScanRange, Strength, TableIndex, TableReference,
};
use crate::storage::row::{RowCopy, RowPatch, overwrite};
use crate::txn::{Access, Chosen, Duplicate, Flow, Found, Insertion, Interrupt, NewRow, RowInPlace};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;

impl<'r, T: Access> Run<'r, T> {
    #[inline(never)]
    pub(crate) fn read_point(
        &mut self,
        reference: &TableReference,
        key: &[Expr],
        (row, intent): (RowSlot, Intent),
        absent: Label,
    ) -> Flow<Next> {
        let mut bytes = std::mem::take(&mut self.frame.scratch.key);
        let is_complete = access::build_key(key, &reference.key_layout, &self.context(), &mut bytes);
        let found = match is_complete {
            Ok(true) => self.read_key(reference, &bytes, intent, row),
            Ok(false) => Ok(false),
            Err(error) => Err(error.into()),
        };
        self.frame.scratch.key = bytes;
        Ok(if found? { Next::Following } else { Next::Label(absent) })
    }

    /// The key under which a row is stored, and the row under such a key.
    #[inline(never)]
    pub(crate) fn stored_row(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::RowKey { row, into } => {
                let key = self.frame.rows[usize::from(*row)].key.as_slice().into();
                self.frame.registers[usize::from(*into)] = Value::Bytea(key);
                Ok(Next::Following)
            }
            Instruction::ReadKey { table, key, row, intent, absent } => {
                let is_found = match evaluate(key, &self.context())? {
                    Value::Bytea(key) => self.read_key(procedure.table(*table), &key, *intent, *row)?,
                    _ => false,
                };
                Ok(if is_found { Next::Following } else { Next::Label(*absent) })
            }
            _ => Ok(Next::Following),
        }
    }

    fn read_key(
        &mut self,
        reference: &TableReference,
        key: &[u8],
        intent: Intent,
        row: RowSlot,
    ) -> Flow<bool> {
        if !self.transaction.enter_for_key(&reference.table, reference.version, intent, key)? {
            return Ok(false);
        }
        let ahead = self.ahead.as_mut().and_then(|ahead| ahead.take(&reference.table, key));
        let buffer = &mut self.frame.rows[usize::from(row)];
        let copy = RowCopy { bytes: &mut buffer.bytes, leading: buffer.leading };
        let found = self.transaction.read_point(&reference.table, key, intent, ahead, copy, self.guard)?;
        if matches!(found, Found::Nothing) {
            return Ok(false);
        }
        buffer.key.clear();
        buffer.key.extend_from_slice(key);
        self.show(row, found);
        Ok(true)
    }

    fn show(&mut self, row: RowSlot, found: Found<'r>) {
        self.set_row(row, if let Found::InPlace(row) = found { Some(row) } else { None });
    }

    pub(crate) fn open_scan(
        &mut self,
        procedure: &Procedure,
        cursor: CursorSlot,
        table: TableIndex,
        range: &ScanRange,
        (direction, intent): (Direction, Intent),
    ) -> Flow<Next> {
        let reference = procedure.table(table);
        let is_open = self.transaction.enter(&reference.table, reference.version, intent)?;
        let slot = usize::from(cursor);
        let mut bounds = std::mem::take(&mut self.frame.cursors[slot].position.range);
        let context = self.context();
        let layout = match range.index {
            None => BoundLayout::Key(&reference.key_layout),
            Some(index) => {
                BoundLayout::Index(&reference.table.state(self.guard).indexes()[usize::from(index)])
            }
        };
        let is_possible = access::build_range(range, &layout, &context, &mut bounds)?;
        let cursor = &mut self.frame.cursors[slot];
        cursor.table = usize::from(table);
        cursor.position.open(range.index, bounds, (direction, intent));
        if !is_possible || !is_open {
            cursor.position.finish();
            return Ok(Next::Following);
        }
        self.transaction.open_scan(&reference.table, &mut cursor.position)?;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn next_row(
        &mut self,
        procedure: &Procedure,
        cursor: CursorSlot,
        row: RowSlot,
        end: Label,
    ) -> Flow<Next> {
        let Frame { cursors, rows, .. } = &mut *self.frame;
        let cursor = &mut cursors[usize::from(cursor)];
        let reference = &procedure.tables[cursor.table];
        let (position, buffer) = (&mut cursor.position, &mut rows[usize::from(row)]);
        let found = self.transaction.next_row(&reference.table, position, &mut buffer.bytes, self.guard)?;
        if matches!(found, Found::Nothing) {
            return Ok(Next::Label(end));
        }
        buffer.key.clear();
        buffer.key.extend_from_slice(position.row_key());
        self.show(row, found);
        Ok(Next::Following)
    }

    #[inline]
    pub(crate) fn lock_row(
        &mut self,
        reference: &TableReference,
        (row, intent): (RowSlot, Intent),
        cursor: Option<CursorSlot>,
        (changed, gone): (Label, Label),
    ) -> Flow<Next> {
        if let Some(cursor) = cursor {
            self.transaction.keep_row(&mut self.frame.cursors[usize::from(cursor)].position);
        }
        if !self.transaction.reads_at_snapshot() {
            return Ok(Next::Following);
        }
        self.lock_chosen(reference, (row, intent), (changed, gone))
    }

    #[inline(never)]
    pub(crate) fn lock_again(
        &mut self,
        reference: &TableReference,
        (row, intent): (RowSlot, Intent),
        (changed, gone): (Label, Label),
    ) -> Flow<Next> {
        if self.transaction.reads_at_snapshot() {
            return self.lock_chosen(reference, (row, intent), (changed, gone));
        }
        let buffer = &mut self.frame.rows[usize::from(row)];
        let (key, seen) = (buffer.key.clone(), std::mem::take(&mut buffer.bytes));
        let found = self.read_key(reference, &key, intent, row);
        let slot = usize::from(row);
        if !matches!(found, Ok(true)) {
            // The instruction runs again after the wait.
            self.frame.rows[slot].bytes = seen;
            return found.map(|_| Next::Label(gone));
        }
        let bytes = self.rows_in_place[slot].map_or(&*self.frame.rows[slot].bytes, |row| row.bytes);
        Ok(if bytes == seen { Next::Following } else { Next::Label(changed) })
    }

    fn lock_chosen(
        &mut self,
        reference: &TableReference,
        (row, intent): (RowSlot, Intent),
        (changed, gone): (Label, Label),
    ) -> Flow<Next> {
        if !self.transaction.enter(&reference.table, reference.version, intent.at_once())? {
            return Ok(Next::Label(gone));
        }
        let buffer = &self.frame.rows[usize::from(row)];
        let seen = self.rows_in_place[usize::from(row)].map_or(&*buffer.bytes, |row| row.bytes);
        Ok(match self.transaction.lock_row(&reference.table, &buffer.key, intent, seen, self.guard)? {
            Chosen::Unchanged(None) => Next::Following,
            Chosen::Unchanged(in_place) => {
                self.set_row(row, in_place);
                Next::Following
            }
            Chosen::Changed(newest) => {
                self.set_row(row, Some(newest));
                Next::Label(changed)
            }
            Chosen::Gone => Next::Label(gone),
        })
    }

    /// Makes a row without writing it, or refuses one.
    #[inline(never)]
    pub(crate) fn try_row(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::MakeRow { table, values, row, is_partial, .. } => {
                self.build_row(procedure.table(*table), values, *row, !is_partial)?;
                Ok(Next::Following)
            }
            Instruction::RefuseRow { table, row, constraint, is_stored, given } => {
                let (reference, slot) = (procedure.table(*table), usize::from(*row));
                self.settle(reference)?;
                let in_place = self.rows_in_place.get(slot).copied().flatten();
                let bytes = in_place.map_or(self.frame.rows[slot].bytes.as_slice(), |row| row.bytes);
                if *is_stored {
                    return Err(access::stored_violation(reference, constraint).into());
                }
                Err(access::check_violation(reference, (bytes, given), constraint, self.environment).into())
            }
            _ => Ok(Next::Following),
        }
    }

    #[inline(never)]
    pub(crate) fn insert(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        let (Instruction::Insert { table, values, row, .. }
        | Instruction::InsertBlind { table, values, row }) = instruction
        else {
            return Ok(Next::Following);
        };
        let is_blind = matches!(instruction, Instruction::InsertBlind { .. });
        let (reference, row) = (procedure.table(*table), *row);
        match self.insert_row(reference, values, row, (None, is_blind))? {
            Insertion::Done => Ok(Next::Following),
            Insertion::Duplicate(duplicate) => Err(self.duplicate_key(reference, row, duplicate)),
        }
    }

    /// What constraints with deferred checks need: whether they are deferred, and whether other rows have the
    /// same values in a unique index.
    #[inline(never)]
    pub(crate) fn later_check(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        if let Instruction::Defer { check, values, immediate } = instruction {
            return self.defer(check, values, *immediate);
        }
        let (Instruction::SkipUnlessTwin { table, row, index, .. }
        | Instruction::RefuseTwin { table, row, index }) = instruction
        else {
            return Ok(Next::Following);
        };
        let (reference, slot) = (procedure.table(*table), usize::from(*row));
        let in_place = self.rows_in_place.get(slot).copied().flatten();
        let buffer = &self.frame.rows[slot];
        let bytes = in_place.map_or(buffer.bytes.as_slice(), |row| row.bytes);
        let looked_at = NewRow::new(&buffer.key, bytes);
        if let Instruction::SkipUnlessTwin { alone, .. } = instruction {
            let may_have = self.transaction.may_have_twin(&reference.table, *index, looked_at);
            return Ok(if may_have { Next::Following } else { Next::Label(*alone) });
        }
        match self.transaction.find_twin(&reference.table, *index, looked_at)? {
            None => Ok(Next::Following),
            Some(duplicate) => {
                Err(access::duplicate_key(reference, duplicate, bytes, self.environment).into())
            }
        }
    }

    fn duplicate_key(&self, reference: &TableReference, row: RowSlot, duplicate: Duplicate) -> Interrupt {
        let row = &self.frame.rows[usize::from(row)];
        access::duplicate_key(reference, duplicate, &row.bytes, self.environment).into()
    }

    pub(crate) fn insert_or(
        &mut self,
        reference: &TableReference,
        (values, row): (&[Expr], RowSlot),
        arbiter: Arbiter,
        duplicate: Label,
    ) -> Flow<Next> {
        let first = if let Arbiter::Index(index) = arbiter { index } else { None };
        match self.insert_row(reference, values, row, (first, false))? {
            Insertion::Done => Ok(Next::Following),
            Insertion::Duplicate(found)
                if arbiter != Arbiter::Any && arbiter != Arbiter::Index(found.index) =>
            {
                Err(self.duplicate_key(reference, row, found))
            }
            Insertion::Duplicate(Duplicate { is_seen: true, .. }) => Ok(Next::Label(duplicate)),
            Insertion::Duplicate(_) => {
                let message = "could not serialize access due to concurrent update";
                Err(Error::input(sqlstate::SERIALIZATION_FAILURE, message).into())
            }
        }
    }

    /// Puts the row of these values into the row slot, unless it has been offered.
    fn build_row(
        &mut self,
        reference: &TableReference,
        values: &[Expr],
        row: RowSlot,
        checks_nulls: bool,
    ) -> Flow<()> {
        if self.frame.has_offered_row && self.frame.next == 0 {
            let length = self.frame.rows[usize::from(row)].bytes.len();
            self.set_row(row, None);
            return Ok(spend_for_row(length)?);
        }
        let mut bytes = std::mem::take(&mut self.frame.scratch.row);
        let built = access::build_row(values, reference, checks_nulls, &self.context(), &mut bytes);
        let buffer = &mut self.frame.rows[usize::from(row)];
        if matches!(built, Ok(None)) {
            std::mem::swap(&mut buffer.bytes, &mut bytes);
        }
        let length = buffer.bytes.len();
        self.frame.scratch.row = bytes;
        match built {
            Ok(None) => {
                self.set_row(row, None);
                Ok(spend_for_row(length)?)
            }
            refused => self.refuse_new(reference, refused),
        }
    }

    /// The new row in `scratch` has NULL in a column, or could not be made.
    #[cold]
    fn refuse_new(&mut self, reference: &TableReference, refused: Result<Option<usize>>) -> Flow<()> {
        self.settle(reference)?;
        let Some(column) = refused? else { return Ok(()) };
        let given = match self.frame.procedure.code.get(self.frame.next as usize) {
            Some(
                Instruction::MakeRow { given, .. }
                | Instruction::Insert { given, .. }
                | Instruction::InsertOr { given, .. },
            ) => given,
            _ => &Given::default(),
        };
        let mut values = Vec::new();
        reference.layout.values(&self.frame.scratch.row, &mut values);
        Err(access::null_violation(reference, column, (&values, given), self.environment).into())
    }

    /// An error in a new row is reported only if the table is what the procedure was compiled against. This
    /// waits for a transaction that is changing the table.
    #[cold]
    fn settle(&mut self, reference: &TableReference) -> Flow<()> {
        let intent = Intent::newest(Strength::Write);
        self.transaction.enter(&reference.table, reference.version, intent).map(drop)
    }

    fn insert_row(
        &mut self,
        reference: &TableReference,
        values: &[Expr],
        row: RowSlot,
        (arbiter, is_blind): (IndexNumber, bool),
    ) -> Flow<Insertion> {
        self.build_row(reference, values, row, !is_blind)?;
        let row = &mut self.frame.rows[usize::from(row)];
        access::insert(self.transaction, reference, row, (arbiter, is_blind))
    }

    #[inline(never)]
    pub(crate) fn update(
        &mut self,
        reference: &TableReference,
        set: &[(u16, Expr)],
        row: RowSlot,
    ) -> Flow<Next> {
        let mut scratch = std::mem::take(&mut self.frame.scratch);
        let result = self.update_row(reference, set, row, &mut scratch);
        self.frame.scratch = scratch;
        result.map(|()| Next::Following)
    }

    fn update_row(
        &mut self,
        reference: &TableReference,
        set: &[(u16, Expr)],
        row: RowSlot,
        scratch: &mut Scratch,
    ) -> Flow<()> {
        let slot = usize::from(row);
        let in_place = self.rows_in_place.get(slot).copied().flatten();
        if let Some(found) = in_place.filter(|found| found.is_current(self.guard))
            && access::patch_scalars(reference, found.bytes, set, self, &mut scratch.patch)
        {
            return self.patch_in_place(reference, row, found, &scratch.patch);
        }
        if T::PATCHES_COPIES
            && in_place.is_none()
            && access::patch_scalars(reference, &self.frame.rows[slot].bytes, set, self, &mut scratch.patch)
            && self.patch_copy(reference, slot, &scratch.patch)
        {
            return Ok(());
        }
        scratch.set.drain(..).for_each(|(_, value)| value.discard());
        let context = self.context();
        for (column, value) in set {
            scratch.set.push((*column, evaluate(value, &context)?));
        }
        let old = in_place.map_or(self.frame.rows[slot].bytes.as_slice(), |row| row.bytes);
        spend_for_row(old.len())?;
        access::check_set(reference, old, &scratch.set, self.environment)?;
        let keeps_length = reference.layout.patch(old, &scratch.set, &mut scratch.patch);
        let stays = keeps_length
            && !access::moves_row(reference, &scratch.set)
            && !access::moves_entries(reference, &scratch.set);
        match in_place {
            Some(found) if stays && found.is_current(self.guard) => {
                self.patch_in_place(reference, row, found, &scratch.patch)?;
            }
            None if T::PATCHES_COPIES && stays && self.patch_copy(reference, slot, &scratch.patch) => {}
            _ => {
                let in_place = in_place.map(|row| row.bytes);
                let buffer = &mut self.frame.rows[slot];
                let refused =
                    access::update(self.transaction, reference, scratch, keeps_length, in_place, buffer)?;
                if let Some(duplicate) = refused {
                    let row = &scratch.row;
                    return Err(access::duplicate_key(reference, duplicate, row, self.environment).into());
                }
                self.set_row(row, None);
            }
        }
        Ok(())
    }

    /// Updates a row that was copied when it was read, and its copy. False if that is not possible.
    fn patch_copy(&mut self, reference: &TableReference, slot: usize, patch: &RowPatch) -> bool {
        let buffer = &mut self.frame.rows[slot];
        let is_patched = self.transaction.patch_read(&reference.table, &buffer.key, patch.bytes());
        if is_patched {
            overwrite(&mut buffer.bytes, patch.bytes());
        }
        is_patched
    }

    fn patch_in_place(
        &mut self,
        reference: &TableReference,
        row: RowSlot,
        found: RowInPlace<'r>,
        patch: &RowPatch,
    ) -> Flow<()> {
        let record = found.record;
        self.set_row(row, None);
        self.keep_rows_at(found.bytes.as_ptr());
        let key = &self.frame.rows[usize::from(row)].key;
        let written = self.transaction.admit_write(&reference.table, key, Some(record))?;
        // SAFETY: no slot shows the row in place any more. Those of callers never do (`keep_rows`).
        unsafe { self.transaction.patch(written, record, patch.bytes(), self.guard) };
        self.set_row(row, RowInPlace::of(record, self.guard));
        Ok(())
    }

    pub(crate) fn delete(&mut self, reference: &TableReference, row: RowSlot) -> Flow<Next> {
        let key = &self.frame.rows[usize::from(row)].key;
        let deleted = self.transaction.admit_write(&reference.table, key, None)?;
        self.transaction.delete(deleted);
        Ok(Next::Following)
    }
}
