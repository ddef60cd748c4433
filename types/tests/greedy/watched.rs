//! An allocator that knows what each thread holds, and parks a thread that takes too much.
#![allow(unsafe_code)] // An allocator cannot be written otherwise.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::memory::Counted;

pub(crate) type Flag = AtomicBool;

/// Counts for accounts, too.
pub(crate) struct Watched;

static COUNTED: Counted<System> = Counted(System);

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(isize::MAX) };
    static PARKED: RefCell<Option<Arc<Flag>>> = const { RefCell::new(None) };
}

/// From here on the peak is a new one. Returns what the thread holds.
pub(crate) fn begin() -> usize {
    PEAK.set(HELD.get());
    held()
}

pub(crate) fn held() -> usize {
    usize::try_from(HELD.get()).unwrap_or(0)
}

pub(crate) fn peak() -> usize {
    usize::try_from(PEAK.get()).unwrap_or(0)
}

/// This thread sets the flag and never returns once it holds more than this.
pub(crate) fn park_beyond(bytes: usize, flag: Arc<Flag>) {
    PARKED.set(Some(flag));
    MOST.set(HELD.get() + bytes.cast_signed());
}

fn change(bytes: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
        if held.get() > MOST.try_with(Cell::get).unwrap_or(isize::MAX) {
            park();
        }
    });
}

#[cold]
fn park() {
    let _ = MOST.try_with(|most| most.set(isize::MAX));
    let _ = PARKED.try_with(|flag| {
        if let Ok(flag) = flag.try_borrow()
            && let Some(flag) = &*flag
        {
            flag.store(true, Ordering::Release);
        }
    });
    loop {
        std::thread::park();
    }
}

// SAFETY: everything is passed on unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size().cast_signed());
        // SAFETY: as this function's contract.
        unsafe { COUNTED.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(-layout.size().cast_signed());
        // SAFETY: as this function's contract.
        unsafe { COUNTED.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old bytes are freed only after the new ones have been allocated.
        change(size.cast_signed());
        // SAFETY: as this function's contract.
        let moved = unsafe { COUNTED.realloc(pointer, layout, size) };
        change(-layout.size().cast_signed());
        moved
    }
}
