//! Every interleaving of two workers and a logger: reserve, publish, ready (invariants 1 to 3), and the
//! ring's reuse.

use super::*;

fn buffer(capacity: usize) -> (Arc<LogBuffer>, LogBufferReader) {
    let shape = Shape { capacity, slots: 2, small_bytes: 8, large_bytes: 8, control_bytes: 0 };
    let (buffer, reader) = LogBuffer::with_shape(shape);
    buffer.move_ceiling(1 << 40);
    (buffer, reader)
}

fn append(buffer: &LogBuffer, hint: usize, mark: u8) -> bool {
    match buffer.reserve(hint, 8) {
        Ok(mut place) => {
            place.write(&[mark; 8]);
            place.publish();
            true
        }
        Err(_) => false,
    }
}

/// Takes what is ready and checks that every record is whole.
fn drain(reader: &mut LogBufferReader, seen: &mut Vec<u8>) {
    let length = (reader.ready().0 - reader.position().0) as usize;
    let mut bytes = vec![0; length];
    reader.take(&mut bytes);
    for record in bytes.chunks(8) {
        assert!(record[0] != 0 && record.iter().all(|byte| *byte == record[0]), "a torn record: {record:?}");
        seen.push(record[0]);
    }
}

#[test]
fn loom_the_logger_takes_only_filled_places() {
    loom::model(|| {
        let (buffer, mut reader) = buffer(64);
        let workers: Vec<_> = [1, 2]
            .into_iter()
            .map(|mark| {
                let buffer = Arc::clone(&buffer);
                loom::thread::spawn(move || assert!(append(&buffer, usize::from(mark), mark)))
            })
            .collect();
        let mut seen = Vec::new();
        drain(&mut reader, &mut seen);
        for worker in workers {
            worker.join().expect("the worker ends");
        }
        drain(&mut reader, &mut seen);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn loom_one_slot_for_two_workers() {
    loom::model(|| {
        let (buffer, mut reader) = buffer(64);
        let worker = loom::thread::spawn({
            let buffer = Arc::clone(&buffer);
            move || assert!(append(&buffer, 0, 1) && append(&buffer, 0, 2))
        });
        assert!(append(&buffer, 0, 3));
        let mut seen = Vec::new();
        drain(&mut reader, &mut seen);
        worker.join().expect("the worker ends");
        drain(&mut reader, &mut seen);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3]);
    });
}

#[test]
fn loom_room_is_reused_only_after_it_was_taken() {
    loom::model(|| {
        // Slack for two slots and one large record leaves one place of eight bytes.
        let (buffer, mut reader) = buffer(32);
        assert!(append(&buffer, 0, 1));
        let worker = loom::thread::spawn({
            let buffer = Arc::clone(&buffer);
            move || (2..6).filter(|mark| append(&buffer, 0, *mark)).count()
        });
        let mut seen = Vec::new();
        drain(&mut reader, &mut seen);
        drain(&mut reader, &mut seen);
        let appended = worker.join().expect("the worker ends");
        drain(&mut reader, &mut seen);
        assert_eq!(seen.len(), 1 + appended);
    });
}

#[test]
fn loom_a_ticket_for_room_always_fires() {
    loom::model(|| {
        let (buffer, mut reader) = buffer(32);
        assert!(append(&buffer, 0, 1));
        assert!(!append(&buffer, 0, 2), "the ring is full");
        let worker = loom::thread::spawn({
            let buffer = Arc::clone(&buffer);
            move || buffer.wait_for_room(8, || false)
        });
        drain(&mut reader, &mut Vec::new());
        let ticket = worker.join().expect("the worker ends");
        assert!(ticket.is_ready(), "the wake-up was lost");
    });
}
