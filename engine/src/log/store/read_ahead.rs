//! A window that moves along a file from its beginning to its end. While its content is checked and decoded,
//! a separate thread reads what comes next.
//!
//! The thread is started when a second whole part is requested where the first one ended, because short logs
//! need none. Without the thread, and when the window moves anywhere else, the window's owner reads.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::File;
use crate::sync::{Condvar, JoinHandle};

/// How much is read at once.
const PART_BYTES: usize = 2 << 20;
/// The number of parts that are kept after having been read ahead. The disk, and the processing of its bytes,
/// take longer for some parts than for others.
const MOST_READY: usize = 2;

/// Bytes of one file.
pub(super) struct Window {
    /// Room for what is kept when the window moves, followed by a part of the file.
    bytes: Vec<u8>,
    /// The part of it that is in the window.
    begin: usize,
    end: usize,
    /// Where in the file the window begins.
    offset: u64,
    /// For the next part, while there is no reader.
    spare: Vec<u8>,
    /// Room for what is kept, in bytes, which is the most that is viewed at once.
    room: usize,
    reader: Option<Reader>,
}

impl Window {
    /// An empty window, of which up to this many bytes are viewed at once.
    pub(super) fn new(room: usize) -> Window {
        let (bytes, spare) = (Vec::new(), Vec::new());
        Window { bytes, begin: 0, end: 0, offset: 0, spare, room, reader: None }
    }

    /// Forgets its content, because another file comes next.
    pub(super) fn clear(&mut self) {
        (self.begin, self.end) = (0, 0);
    }

    /// Up to `length` bytes of the file from `offset`, fewer at its end.
    pub(super) fn view(&mut self, file: &Arc<dyn File>, offset: u64, length: usize) -> io::Result<&[u8]> {
        if offset < self.offset || offset + length as u64 > self.end_offset() {
            self.move_to(file, offset)?;
        }
        Ok(self.seen(offset, length))
    }

    /// The part of these bytes that is in the window.
    pub(super) fn seen(&self, offset: u64, length: usize) -> &[u8] {
        let skipped = offset.checked_sub(self.offset).and_then(|skipped| usize::try_from(skipped).ok());
        let window = &self.bytes[self.begin..self.end];
        let rest = skipped.and_then(|skipped| window.get(skipped..)).unwrap_or(&[]);
        &rest[..length.min(rest.len())]
    }

    fn end_offset(&self) -> u64 {
        self.offset + (self.end - self.begin) as u64
    }

    /// Makes the window begin at `offset`, keeping the bytes it already has.
    fn move_to(&mut self, file: &Arc<dyn File>, offset: u64) -> io::Result<()> {
        let is_next = (self.offset..=self.end_offset()).contains(&offset);
        let kept = if is_next { (self.end_offset() - offset) as usize } else { 0 };
        let kept = if kept > self.room { 0 } else { kept };
        let from = offset + kept as u64;
        let goes_on = is_next && self.end - self.begin >= PART_BYTES;
        let (mut next, count) = self.part(file, from)?;
        let begin = self.room - kept;
        next[begin..self.room].copy_from_slice(&self.bytes[self.end - kept..self.end]);
        let last = std::mem::replace(&mut self.bytes, next);
        (self.begin, self.end, self.offset) = (begin, self.room + count, offset);
        let is_whole = count == PART_BYTES;
        if is_whole && goes_on && self.reader.is_none() {
            self.reader = Reader::start(self.room).ok();
        }
        match &self.reader {
            Some(reader) => reader.give_back(last),
            None => self.spare = last,
        }
        if is_whole && let Some(reader) = &self.reader {
            reader.go_on(file, from + count as u64);
        }
        Ok(())
    }

    /// A buffer with the part of the file that begins there, after the room for what is kept, and the length
    /// of that part.
    fn part(&mut self, file: &Arc<dyn File>, from: u64) -> io::Result<(Vec<u8>, usize)> {
        let mut buffer = match &self.reader {
            Some(reader) => match reader.take(file, from) {
                Some(Part { buffer, outcome, .. }) => return Ok((buffer, outcome?)),
                None => reader.buffer(),
            },
            None => std::mem::take(&mut self.spare),
        };
        buffer.resize(self.room + PART_BYTES, 0);
        let count = file.read_at(from, &mut buffer[self.room..])?;
        Ok((buffer, count))
    }
}

/// A place in a file.
#[derive(Clone)]
struct Place {
    file: Arc<dyn File>,
    offset: u64,
}

impl Place {
    fn is(&self, file: &Arc<dyn File>, offset: u64) -> bool {
        Arc::ptr_eq(&self.file, file) && self.offset == offset
    }
}

/// A part of a file that has been read.
struct Part {
    from: Place,
    buffer: Vec<u8>,
    outcome: io::Result<usize>,
}

/// The state of the reader.
#[derive(Default)]
struct State {
    /// What it reads now or next. `None` after the end of a file or an error.
    next: Option<Place>,
    /// What it has read, in order. What it reads next follows.
    ready: VecDeque<Part>,
    /// Buffers for the next reads.
    free: Vec<Vec<u8>>,
    /// It must end, or has ended.
    is_over: bool,
}

impl State {
    /// Whether the next part begins there.
    fn has(&self, file: &Arc<dyn File>, from: u64) -> bool {
        let first = self.ready.front().map(|part| &part.from).or(self.next.as_ref());
        !self.is_over && first.is_some_and(|first| first.is(file, from))
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The state has changed.
    changed: Condvar,
}

/// The thread that reads ahead. Ends when this is dropped.
struct Reader {
    shared: Arc<Shared>,
    thread: Option<JoinHandle>,
}

impl Reader {
    /// It reads into buffers after this room.
    fn start(room: usize) -> io::Result<Reader> {
        let shared: Arc<Shared> = Arc::default();
        let serving = Arc::clone(&shared);
        let thread = crate::sync::spawn("hyades-ahead".to_owned(), move || serve(&serving, room))?;
        Ok(Reader { shared, thread: Some(thread) })
    }

    fn buffer(&self) -> Vec<u8> {
        self.shared.state.lock().free.pop().unwrap_or_default()
    }

    fn give_back(&self, buffer: Vec<u8>) {
        self.shared.state.lock().free.push(buffer);
    }

    /// Goes on reading there, unless it already does.
    fn go_on(&self, file: &Arc<dyn File>, offset: u64) {
        let mut state = self.shared.state.lock();
        if !state.has(file, offset) {
            let given_up = state.ready.drain(..).map(|part| part.buffer).collect::<Vec<_>>();
            state.free.extend(given_up);
            state.next = Some(Place { file: Arc::clone(file), offset });
            self.shared.changed.notify_all();
        }
    }

    /// The part that begins there, once it has been read. `None` if the reader reads elsewhere, or has
    /// stopped.
    fn take(&self, file: &Arc<dyn File>, from: u64) -> Option<Part> {
        let mut state = self.shared.state.lock();
        while state.has(file, from) {
            if let Some(part) = state.ready.pop_front() {
                self.shared.changed.notify_all();
                return Some(part);
            }
            self.shared.changed.wait(&mut state);
        }
        None
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.end();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, it has left the reading to the owner of the window.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }
}

/// Ends the waiting for a thread that has panicked.
struct EndsAtLast<'a>(&'a Shared);

impl Drop for EndsAtLast<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn serve(shared: &Shared, room: usize) {
    let _ends = EndsAtLast(shared);
    let mut state = shared.state.lock();
    while !state.is_over {
        let Some(from) = state.next.clone().filter(|_| state.ready.len() < MOST_READY) else {
            shared.changed.wait(&mut state);
            continue;
        };
        let mut buffer = state.free.pop().unwrap_or_default();
        drop(state);
        buffer.resize(room + PART_BYTES, 0);
        let outcome = from.file.read_at(from.offset, &mut buffer[room..]);
        state = shared.state.lock();
        if state.next.as_ref().is_some_and(|next| next.is(&from.file, from.offset)) {
            let is_whole = matches!(outcome, Ok(PART_BYTES));
            let following = Place { offset: from.offset + PART_BYTES as u64, ..from.clone() };
            state.next = is_whole.then_some(following);
            state.ready.push_back(Part { from, buffer, outcome });
            shared.changed.notify_all();
        } else {
            state.free.push(buffer);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::io;
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::{Rng, RngExt, SeedableRng};

    use super::{MOST_READY, PART_BYTES, Window};
    use crate::disk::File;

    const MOST_VIEWED: usize = 300_000;

    /// What happens to a reader of a certain byte.
    #[derive(Clone, Copy)]
    enum Fault {
        Error,
        /// Only in the thread that reads ahead.
        Panic,
    }

    struct Bytes {
        content: Vec<u8>,
        fault: Option<(u64, Fault)>,
    }

    impl File for Bytes {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let rest = self.content.get(offset as usize..).unwrap_or(&[]);
            let count = rest.len().min(buffer.len());
            let is_helper = std::thread::current().name() == Some("hyades-ahead");
            match self.fault {
                Some((at, fault)) if (offset..offset + count as u64).contains(&at) => match fault {
                    Fault::Error => return Err(io::ErrorKind::Other.into()),
                    Fault::Panic => assert!(!is_helper, "as the test wants it"),
                },
                _ => {}
            }
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }

        fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn write_durable(&self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.content.len() as u64)
        }
    }

    fn content(seed: u64, bytes: usize) -> Vec<u8> {
        let mut content = vec![0; bytes];
        StdRng::seed_from_u64(seed).fill_bytes(&mut content);
        content
    }

    fn file(seed: u64, parts: f64, fault: Option<(u64, Fault)>) -> Arc<Bytes> {
        Arc::new(Bytes { content: content(seed, (parts * PART_BYTES as f64) as usize), fault })
    }

    /// Views everything from the beginning on, in steps as for blocks. Returns where it fails, if it does.
    fn look_through(window: &mut Window, file: &Arc<Bytes>, seed: u64) -> Result<(), u64> {
        let (mut random, mut offset) = (StdRng::seed_from_u64(seed), 0);
        let seen_by: Arc<dyn File> = Arc::<Bytes>::clone(file);
        while offset < file.content.len() {
            let length = random.random_range(1..=MOST_VIEWED);
            let end = (offset + length).min(file.content.len());
            let seen = window.view(&seen_by, offset as u64, length).map_err(|_| offset as u64)?;
            assert!(*seen == file.content[offset..end], "at {offset}");
            offset = end;
        }
        Ok(())
    }

    #[test]
    fn what_is_read_ahead_is_what_stands_there() {
        let mut window = Window::new(MOST_VIEWED);
        for (seed, parts) in [0.1, 1.0, 4.0, 5.3, 3.0].into_iter().enumerate() {
            let file = file(seed as u64, parts, None);
            window.clear();
            assert_eq!(look_through(&mut window, &file, seed as u64), Ok(()));
            // Short files need no thread.
            assert_eq!(window.reader.is_some(), seed > 1, "{parts} parts");
        }
    }

    #[test]
    fn buffers_are_used_again() {
        let file = file(3, 40.0, None);
        let mut window = Window::new(MOST_VIEWED);
        for seed in 0..5 {
            window.clear();
            assert_eq!(look_through(&mut window, &file, seed), Ok(()));
        }
        let reader = window.reader.as_ref().expect("it was long enough");
        assert!(reader.shared.state.lock().free.len() <= MOST_READY + 2);
    }

    #[test]
    fn a_look_at_any_place_sees_its_content() {
        let file = file(7, 6.5, None);
        let (mut window, mut random) = (Window::new(MOST_VIEWED), StdRng::seed_from_u64(8));
        let seen_by: Arc<dyn File> = Arc::<Bytes>::clone(&file);
        let mut offset = 0;
        for step in 0..2000 {
            // Mostly forwards, sometimes to any place.
            offset = match step % 37 {
                0 => random.random_range(0..file.content.len()),
                _ => offset + random.random_range(0..MOST_VIEWED),
            };
            offset = if offset > file.content.len() { 0 } else { offset };
            let length = random.random_range(1..=MOST_VIEWED);
            let end = (offset + length).min(file.content.len());
            let seen = window.view(&seen_by, offset as u64, length).expect("no fault");
            assert!(*seen == file.content[offset..end], "step {step}, at {offset}");
        }
        assert!(window.reader.is_some());
    }

    #[test]
    fn an_error_is_reported_at_its_place() {
        let at = 3 * PART_BYTES as u64 + 5;
        let file = file(9, 5.0, Some((at, Fault::Error)));
        let mut window = Window::new(MOST_VIEWED);
        let failed_at = look_through(&mut window, &file, 9).expect_err("it cannot be read");
        // Not before what could be read had been seen.
        assert!((at - 5 - MOST_VIEWED as u64..=at).contains(&failed_at), "{failed_at}");
        assert!(look_through(&mut window, &file, 10).is_err());
    }

    #[test]
    fn without_the_thread_readers_read_for_themselves() {
        let file = file(11, 6.0, Some((3 * PART_BYTES as u64 + 5, Fault::Panic)));
        let mut window = Window::new(MOST_VIEWED);
        assert_eq!(look_through(&mut window, &file, 11), Ok(()));
        assert_eq!(look_through(&mut window, &file, 12), Ok(()));
    }
}
