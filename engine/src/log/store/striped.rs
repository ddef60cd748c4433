//! A log whose blocks go to several directories in turn (RAID-0): while one device writes a block, the next
//! device gets the next block. One thread per stripe writes its blocks one after the other.
//!
//! A block is durable for the log once all blocks before it are. So results are collected in the order in
//! which the blocks were submitted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use hyades_types::error::{Error, Result, sqlstate};

use super::block_buffer::BlockBuffer;
use super::writer::BlockWriter;
use crate::log::buffer::LogBuffer;
use crate::log::set::{DurableBlock, LogStore};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::sync::JoinHandle;

/// What is sent to a stripe's thread and comes back.
struct Task {
    writer: BlockWriter,
    block: BlockBuffer,
    position: Lsn,
}

struct Written {
    writer: BlockWriter,
    block: BlockBuffer,
    outcome: Result<DurableBlock>,
}

struct Stripe {
    /// `None` while a block is under way.
    idle: Option<BlockWriter>,
    /// `None` at the end.
    tasks: Option<Sender<Task>>,
    written: Receiver<Written>,
    /// Whether there is a result in `written`. Stays set until the next block.
    is_written: Arc<AtomicBool>,
    thread: Option<JoinHandle>,
}

/// See the module documentation.
pub(crate) struct StripedLogStore {
    stripes: Vec<Stripe>,
    /// The stripe that gets the next block.
    turn: usize,
    /// The stripes whose blocks are under way, oldest first.
    under_way: VecDeque<usize>,
    spare: Vec<BlockBuffer>,
}

impl StripedLogStore {
    pub(crate) fn start(
        log: usize,
        writers: Vec<BlockWriter>,
        buffer: &Arc<LogBuffer>,
    ) -> Result<StripedLogStore> {
        let mut stripes = Vec::new();
        for (number, writer) in writers.into_iter().enumerate() {
            let (tasks, to_write) = channel();
            let (done, written) = channel();
            let buffer = Arc::clone(buffer);
            let is_written = Arc::new(AtomicBool::new(false));
            let signal = Arc::clone(&is_written);
            let run = move || write_blocks(&to_write, &done, &signal, &buffer);
            let thread = crate::sync::spawn(format!("log-{log}-stripe-{number}"), run)
                .map_err(|error| Error::io("could not start a thread for the log", &error))?;
            let (idle, tasks, thread) = (Some(writer), Some(tasks), Some(thread));
            stripes.push(Stripe { idle, tasks, written, is_written, thread });
        }
        Ok(StripedLogStore { stripes, turn: 0, under_way: VecDeque::new(), spare: Vec::new() })
    }

    /// The place in `under_way` of the block that becomes durable next, which is the oldest.
    fn next(&self) -> usize {
        if mutant::is_active(Mutant::StripesOutOfOrder) {
            return self.under_way.iter().position(|stripe| self.is_written(*stripe)).unwrap_or(0);
        }
        0
    }

    fn is_written(&self, stripe: usize) -> bool {
        self.stripes[stripe].is_written.load(Ordering::Acquire)
    }

    /// This one of the blocks under way has been written, or has failed.
    fn take_back(&mut self, place: usize, written: Written) -> Result<DurableBlock> {
        if let Some(stripe) = self.under_way.remove(place) {
            self.stripes[stripe].idle = Some(written.writer);
        }
        self.spare.push(written.block);
        written.outcome
    }
}

/// Makes the logger check for results, also when the thread has ended unexpectedly.
struct Notice<'a> {
    is_written: &'a AtomicBool,
    buffer: &'a LogBuffer,
}

impl Notice<'_> {
    fn give(&self) {
        self.is_written.store(true, Ordering::Release);
        self.buffer.ring();
    }
}

impl Drop for Notice<'_> {
    fn drop(&mut self) {
        self.give();
    }
}

fn write_blocks(tasks: &Receiver<Task>, done: &Sender<Written>, is_written: &AtomicBool, buffer: &LogBuffer) {
    let notice = Notice { is_written, buffer };
    for Task { mut writer, mut block, position } in tasks {
        let outcome = writer.write(&mut block, position);
        if done.send(Written { writer, block, outcome }).is_err() {
            return;
        }
        notice.give();
    }
}

fn thread_is_gone() -> Error {
    Error::fatal(sqlstate::INTERNAL_ERROR, "a thread that writes a part of a log has stopped unexpectedly")
}

impl LogStore for StripedLogStore {
    fn room(&mut self) -> Result<Option<usize>> {
        self.stripes[self.turn].idle.as_mut().map(BlockWriter::next_payload_bytes).transpose()
    }

    fn submit(&mut self, block: &mut BlockBuffer, position: Lsn) -> Result<()> {
        let mut next = self.spare.pop().unwrap_or_default();
        next.come_after(block);
        let block = std::mem::replace(block, next);
        let stripe = &mut self.stripes[self.turn];
        let (Some(writer), Some(tasks)) = (stripe.idle.take(), &stripe.tasks) else {
            return Err(Error::fatal(sqlstate::INTERNAL_ERROR, "a stripe of a log got two blocks at once"));
        };
        stripe.is_written.store(false, Ordering::Relaxed);
        tasks.send(Task { writer, block, position }).map_err(|_| thread_is_gone())?;
        self.under_way.push_back(self.turn);
        self.turn = (self.turn + 1) % self.stripes.len();
        Ok(())
    }

    fn has_durable(&self) -> bool {
        self.under_way.get(self.next()).is_some_and(|stripe| self.is_written(*stripe))
    }

    fn next_durable(&mut self) -> Result<Option<DurableBlock>> {
        let next = self.next();
        let Some(stripe) = self.under_way.get(next) else { return Ok(None) };
        match self.stripes[*stripe].written.try_recv() {
            Ok(written) => self.take_back(next, written).map(Some),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(thread_is_gone()),
        }
    }

    fn wait_for_durable(&mut self) -> Result<DurableBlock> {
        let oldest = self.under_way.front().ok_or_else(thread_is_gone)?;
        let written = self.stripes[*oldest].written.recv().map_err(|_| thread_is_gone())?;
        self.take_back(0, written)
    }

    fn close(&mut self) {
        for stripe in &mut self.stripes {
            if let Some(writer) = &mut stripe.idle {
                writer.close();
            }
        }
    }
}

impl Drop for StripedLogStore {
    fn drop(&mut self) {
        for stripe in &mut self.stripes {
            stripe.tasks = None;
        }
        for thread in self.stripes.iter_mut().filter_map(|stripe| stripe.thread.take()) {
            // A thread that panicked was noticed by the wait for its block.
            drop(thread.join());
        }
    }
}
