//! Reservation, publishing, refusal. Interleavings are checked by `loom_tests`.

use super::*;
use crate::log::record::{RecordBody, Records};

fn small_buffer() -> (Arc<LogBuffer>, LogBufferReader) {
    let shape = Shape { capacity: 256, slots: 2, small_bytes: 16, large_bytes: 64, control_bytes: 0 };
    let (buffer, reader) = LogBuffer::with_shape(shape);
    buffer.move_ceiling(1 << 40);
    (buffer, reader)
}

fn taken(reader: &mut LogBufferReader) -> Vec<u8> {
    let length = reader.ready().0 - reader.position().0;
    let mut bytes = vec![0; length as usize];
    reader.take(&mut bytes);
    bytes
}

#[test]
fn what_is_published_can_be_taken_in_order() {
    let (buffer, mut reader) = small_buffer();
    let mut first = buffer.reserve(0, 16).expect("room");
    let mut second = buffer.reserve(1, 8).expect("room");
    second.write(b"22222222");
    assert_eq!(second.publish(), Lsn(24));
    assert_eq!(reader.ready(), Lsn(0), "the first place is not filled");
    first.write(b"1111");
    first.write(b"11111111");
    first.publish();
    assert_eq!(taken(&mut reader), b"111111111111\x00\x00\x00\x0022222222");
}

/// The bell of the second record rings while the first is being filled, in vain.
#[test]
fn a_quiet_record_wakes_the_reader_for_those_after_it() {
    let (buffer, reader) = small_buffer();
    let quiet = buffer.reserve(0, 16).expect("room");
    let second = buffer.reserve(1, 16).expect("room");
    let (told, hears) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut reader = reader;
        while reader.ready() < Lsn(32) {
            told.send(reader.ready()).expect("the test waits");
            reader.sleep_unless(|| false);
        }
        told.send(reader.ready()).expect("the test waits");
    });
    let limit = Duration::from_secs(20);
    assert_eq!(hears.recv_timeout(limit), Ok(Lsn::ZERO));
    second.publish();
    // So that it sleeps again, having looked in vain. Without that the test passes, too, and shows nothing.
    std::thread::sleep(Duration::from_millis(20));
    quiet.publish_quietly();
    while hears.recv_timeout(limit).expect("the reader sleeps for ever") < Lsn(32) {}
    thread.join().expect("it ends");
}

#[test]
fn the_ring_wraps() {
    let (buffer, mut reader) = small_buffer();
    for round in 0..100_u8 {
        let mut place = buffer.reserve(round as usize, 40).expect("the reader keeps up");
        place.write(&[round; 40]);
        place.publish();
        assert_eq!(taken(&mut reader), [round; 40]);
    }
}

#[test]
fn a_forgotten_place_becomes_a_filler() {
    let (buffer, mut reader) = small_buffer();
    let mut place = buffer.reserve(0, 32).expect("room");
    place.write(b"half a record");
    drop(place);
    let bytes = taken(&mut reader);
    let mut records = Records::new(Lsn::ZERO, &bytes);
    assert_eq!(records.next().map(|record| record.map(|record| record.body)), Some(Ok(RecordBody::Filler)));
    assert!(records.next().is_none());
}

#[test]
fn a_panicking_worker_leaves_no_hole() {
    let (buffer, mut reader) = small_buffer();
    let worker = Arc::clone(&buffer);
    let outcome = std::thread::spawn(move || {
        let mut place = worker.reserve(0, 16).expect("room");
        place.write(&[0; 17]);
    });
    assert!(outcome.join().is_err());
    assert_eq!(taken(&mut reader).len(), 16);
}

#[test]
fn a_full_ring_refuses_and_the_ticket_fires_when_there_is_room() {
    let (buffer, mut reader) = small_buffer();
    let room = (256 - buffer.slack_bytes()) as u64;
    while let Ok(place) = buffer.reserve(0, 16) {
        place.publish();
    }
    assert_eq!(buffer.reserved().0, room / 16 * 16);
    assert_eq!(buffer.reserve(0, 16).map(drop), Err(Refusal::RingFull));
    let ticket = buffer.wait_for_room(16, || false);
    assert!(!ticket.is_ready());
    taken(&mut reader);
    assert!(ticket.is_ready());
    assert!(buffer.wait_for_room(16, || false).is_ready(), "there is room already");
    buffer.reserve(0, 16).expect("room").publish();
}

#[test]
fn the_ceiling_refuses_until_it_rises() {
    let shape = Shape { capacity: 256, slots: 2, small_bytes: 16, large_bytes: 64, control_bytes: 0 };
    let (buffer, _reader) = LogBuffer::with_shape(shape);
    assert_eq!(buffer.reserve(0, 16).map(drop), Err(Refusal::NoDiskSpace));
    buffer.move_ceiling((SPARE_SECTORS * SECTOR_BYTES + buffer.slack_bytes()) as i64);
    assert_eq!(buffer.reserve(0, 16).map(drop), Err(Refusal::NoDiskSpace), "not yet");
    let ticket = buffer.wait_for_room(16, || false);
    buffer.move_ceiling(16);
    assert!(ticket.is_ready());
    buffer.reserve(0, 16).expect("room").publish();
    assert!(buffer.wait_for_room(16, || true).is_ready());
    let ticket = buffer.wait_for_room(16, || false);
    buffer.close();
    assert!(ticket.is_ready());
}

#[test]
fn many_threads_fill_a_small_ring() {
    const THREADS: usize = 4;
    const RECORDS: u32 = 3000;
    let (buffer, mut reader) = LogBuffer::new(MIN_BUFFER_BYTES);
    buffer.move_ceiling(1 << 40);
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let buffer = Arc::clone(&buffer);
            std::thread::spawn(move || {
                for number in 0..RECORDS {
                    // Sizes on both sides of the small limit.
                    let length = 16 + 8 * ((number as usize * 7 + thread) % 40);
                    let mut place = loop {
                        match buffer.reserve(thread, length) {
                            Ok(place) => break place,
                            Err(_) => buffer.wait_for_room(length, || false).wait(),
                        }
                    };
                    place.write(&(length as u32).to_le_bytes());
                    place.write(&(thread as u32).to_le_bytes());
                    place.write(&number.to_le_bytes());
                    place.publish();
                }
            })
        })
        .collect();
    let mut next = [0; THREADS];
    while next != [RECORDS; THREADS] {
        let bytes = taken(&mut reader);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let word =
                |index: usize| u32::from_le_bytes(rest[4 * index..][..4].try_into().expect("four bytes"));
            let (length, thread, number) = (word(0) as usize, word(1) as usize, word(2));
            assert_eq!(number, next[thread], "thread {thread}'s records stay in order");
            next[thread] += 1;
            rest = &rest[length..];
        }
        std::thread::yield_now();
    }
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}
