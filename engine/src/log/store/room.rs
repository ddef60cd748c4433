//! How far a log's buffer may be filled: only so far that each of its stripes could take everything that is
//! not written yet. How much of it each stripe gets is not known before the blocks are cut.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::log::buffer::LogBuffer;

/// See the module documentation.
pub(crate) struct Room {
    buffer: Arc<LogBuffer>,
    state: Mutex<State>,
}

struct State {
    /// Prepared bytes in each stripe that no block has taken.
    free: Vec<i64>,
    /// Bytes of the stream that have gone into blocks.
    written: i64,
    /// The ceiling of the buffer, before what the buffer itself reserves.
    ceiling: i64,
}

impl Room {
    pub(crate) fn new(buffer: &Arc<LogBuffer>, stripes: usize) -> Room {
        let state = State { free: vec![0; stripes], written: 0, ceiling: 0 };
        Room { buffer: Arc::clone(buffer), state: Mutex::new(state) }
    }

    pub(crate) fn buffer(&self) -> &Arc<LogBuffer> {
        &self.buffer
    }

    /// This many bytes have been prepared.
    pub(crate) fn add(&self, stripe: usize, bytes: u64) {
        self.update(|state| state.free[stripe] += bytes as i64);
    }

    /// A block with this payload takes this many prepared bytes.
    pub(crate) fn take(&self, stripe: usize, payload_bytes: usize, block_bytes: u64) {
        self.update(|state| {
            state.free[stripe] -= block_bytes as i64;
            state.written += payload_bytes as i64;
        });
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        change(&mut state);
        let ceiling = state.written + state.free.iter().min().copied().unwrap_or(0);
        let moved = ceiling - state.ceiling;
        state.ceiling = ceiling;
        drop(state);
        if moved != 0 {
            self.buffer.move_ceiling(moved);
        }
    }
}
