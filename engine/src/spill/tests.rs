//! Tapes, values that only spill files hold, and full disks.

use hyades_types::definition::{TableName, TypeDefinition, TypeKind};
use hyades_types::enumeration::EnumLabels;
use hyades_types::value::{ArrayElement, Dimension};

use super::*;

fn work(file_bytes: Option<u64>) -> WorkMemory {
    WorkMemory { bytes: 1, file_bytes, directory: None }
}

fn code(error: &Error) -> &'static str {
    error.sqlstate().0
}

#[test]
fn tapes_written_by_turns_are_read_one_by_one() {
    let mut file = SpillFile::create(&work(None)).unwrap();
    let mut tapes: Vec<Tape> = (0..7).map(|_| Tape::default()).collect();
    let row = |at: i64| vec![Value::BigInt(at), Value::text("x".repeat(at as usize % 300)), Value::Null];
    for at in 0..5000 {
        file.push(&mut tapes[at as usize % 7], &row(at)).unwrap();
    }
    for (number, tape) in tapes.into_iter().enumerate() {
        let mut reader = file.read(tape).unwrap();
        for at in (number as i64..5000).step_by(7) {
            assert_eq!(reader.next(&file).unwrap(), Some(row(at)));
        }
        assert_eq!(reader.next(&file).unwrap(), None);
        assert_eq!(reader.next(&file).unwrap(), None);
    }
}

#[test]
fn values_that_no_argument_can_be_come_back() {
    let labels = EnumLabels::numbered(&["low".to_owned(), "high".to_owned()]).unwrap();
    let name = TableName { schema: "public".to_owned(), name: "spilled_level".to_owned() };
    let definition = TypeDefinition::new((70_001, 70_002), &name, TypeKind::Enum { labels });
    let level = definition.enum_type().unwrap();
    let low = Value::Enum(level.parse("low").unwrap());
    let high = Value::Enum(level.parse("high").unwrap());
    let shape = [Dimension { lower: -1, length: 2 }, Dimension { lower: 5, length: 1 }];
    let row = vec![
        high.clone(),
        Value::Oid(7),
        Value::array(ArrayElement::Enum(level), vec![low.clone(), Value::Null, high.clone()]),
        Value::shaped_array(ArrayElement::Enum(level), &shape, vec![low, high]),
        Value::array(ArrayElement::Enum(level), Vec::new()),
    ];
    let mut file = SpillFile::create(&work(None)).unwrap();
    let mut tape = Tape::default();
    file.push(&mut tape, &row).unwrap();
    file.push(&mut tape, &[]).unwrap();
    let mut reader = file.read(tape).unwrap();
    assert_eq!(reader.next(&file).unwrap(), Some(row));
    assert_eq!(reader.next(&file).unwrap(), Some(Vec::new()));
}

#[test]
fn a_file_that_must_not_grow_is_an_error_of_the_statement() {
    let text = Value::text("x".repeat(1000));
    let fill = |mut file: SpillFile| {
        let mut tape = Tape::default();
        (0..1000).find_map(|_| file.push(&mut tape, std::slice::from_ref(&text)).err()).unwrap()
    };
    let error = fill(SpillFile::create(&work(Some(100 << 10))).unwrap());
    assert_eq!(code(&error), "53400");
    assert!(error.to_string().contains("temporary file size exceeds temp_file_limit (100kB)"), "{error}");
    let Error::Input(input) = &error else { panic!("{error}") };
    assert!(input.is_uncatchable, "a replay could not repeat it");
    // A device that is always full.
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let mut file = SpillFile::new(full, &work(None));
    file.look_at = u64::MAX;
    assert_eq!(code(&fill(file)), "53100");
    let nowhere =
        WorkMemory { directory: Some(std::path::Path::new("/nowhere/at/all").into()), ..work(None) };
    assert_eq!(code(&SpillFile::create(&nowhere).err().unwrap()), "58030");
}

#[test]
fn the_last_of_a_disk_is_left_for_the_logs() {
    assert!(!is_too_full(1000, 50));
    assert!(is_too_full(1000, 49));
    assert!(!is_too_full(1 << 44, 1 << 30));
    assert!(is_too_full(1 << 44, (1 << 30) - 1));
}
