//! The decoders against well-formed messages, every truncation of them, and arbitrary bytes.

use hyades::session::{CopyColumns, ResultColumn, TransactionStatus};
use hyades::types::error::SqlState;
use hyades::{Error, SqlType, Value, sqlstate};
use hyades_types::text::TextForm;
use hyades_types::value::ArrayElement;
use proptest::prelude::*;

use super::backend;
use super::frontend::{Format, Frame, Message, SMALL_MESSAGE_LIMIT_BYTES, Target, decode, frame};
use super::startup::{Packet, packet};
use super::types::{Declared, declared};

const LIMIT_BYTES: usize = 1 << 20;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// One well-formed message of each kind.
fn specimens() -> Vec<Vec<u8>> {
    vec![
        message(b'Q', b"select 1\0"),
        message(b'P', b"name\0select $1\0\0\x02\0\0\0\x17\0\0\0\0"),
        message(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xFF\xFF\xFF\xFF\0\x01\0\0"),
        message(b'D', b"Sname\0"),
        message(b'D', b"P\0"),
        message(b'E', b"p\0\0\0\0\x05"),
        message(b'C', b"Sname\0"),
        message(b'S', b""),
        message(b'H', b""),
        message(b'd', b"1\t2\n"),
        message(b'c', b""),
        message(b'f', b"no more\0"),
        message(b'p', b"SCRAM-SHA-256\0\0\0\0\x03abc"),
        message(b'F', b"\0\0\0\x01\0\0\0\0\0\0"),
        message(b'X', b""),
    ]
}

fn whole(bytes: &[u8]) -> Frame<'_> {
    frame(bytes, LIMIT_BYTES).unwrap().unwrap()
}

#[test]
fn a_bind_is_read() {
    let bytes = specimens().swap_remove(2);
    let Message::Bind(bind) = decode(whole(&bytes)).unwrap() else { panic!("not a Bind") };
    assert_eq!((bind.portal, bind.statement), ("p", "s"));
    assert_eq!(bind.parameter_formats.of(1), Format::Binary);
    let parameters: Vec<_> = bind.parameters.iter().collect();
    assert_eq!(parameters, [Some(&[0, 0, 0, 7][..]), None]);
    assert_eq!(bind.result_formats.iter().collect::<Vec<_>>(), [Format::Text]);
}

#[test]
fn every_kind_is_read_and_no_truncation_passes_or_panics() {
    for bytes in specimens() {
        let cut = whole(&bytes);
        assert_eq!(cut.size_bytes(), bytes.len());
        decode(cut).unwrap();
        for length in 0..bytes.len() {
            assert_eq!(frame(&bytes[..length], LIMIT_BYTES), Ok(None), "{:?}", &bytes[..length]);
        }
        let opaque = matches!(cut.kind, b'd' | b'p' | b'F');
        for length in 0..cut.body.len() {
            let truncated = message(cut.kind, &cut.body[..length]);
            let decoded = decode(whole(&truncated));
            assert!(opaque || decoded.is_err(), "{decoded:?} from {truncated:?}");
        }
        let extended = message(cut.kind, &[cut.body, b"\0"].concat());
        let closed = !opaque && cut.kind != b'X';
        assert_eq!(decode(whole(&extended)).is_err(), closed, "{extended:?}");
    }
}

#[test]
fn hostile_lengths_are_refused_before_their_body_arrives() {
    for length in [0, 3, LIMIT_BYTES as u32 + 1, u32::MAX, i32::MAX as u32] {
        let mut bytes = vec![b'Q'];
        bytes.extend_from_slice(&length.to_be_bytes());
        assert!(frame(&bytes, LIMIT_BYTES).is_err(), "{length}");
    }
    let sync = [b'S', 0, 0, 0x40, 0];
    assert!(frame(&sync, LIMIT_BYTES).is_err(), "above {SMALL_MESSAGE_LIMIT_BYTES}");
    assert!(frame(&[0x16, 3, 1, 0], LIMIT_BYTES).is_err(), "an unknown kind needs no length");
    let many_parameters = message(b'B', b"\0\0\0\0\xFF\xFF");
    assert!(decode(whole(&many_parameters)).is_err());
    let negative = message(b'B', b"\0\0\0\0\0\x01\xFF\xFF\xFF\xFE\0\0");
    assert!(decode(whole(&negative)).is_err());
}

#[test]
fn bad_targets_formats_and_text_have_their_own_errors() {
    let state = |kind, body: &[u8]| decode(whole(&message(kind, body))).unwrap_err().sqlstate();
    assert_eq!(state(b'D', b"Xname\0"), sqlstate::PROTOCOL_VIOLATION);
    assert_eq!(state(b'B', b"\0\0\0\x01\0\x02\0\0\0\0"), sqlstate::INVALID_PARAMETER_VALUE);
    assert_eq!(state(b'Q', b"sel\xC3\x28\0"), sqlstate::CHARACTER_NOT_IN_REPERTOIRE);
}

fn startup_packet(code: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
    bytes.extend_from_slice(&code.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn startup_parameters_and_options_are_read() {
    let body = b"user\0ada\0options\0-c a=1 --b-c=x\\ y -d 3 -cz=2\0_pq_.x\x001\0TimeZone\0UTC\0\0";
    let bytes = startup_packet(196_610, body);
    let (Packet::Startup(startup), size) = packet(&bytes).unwrap().unwrap() else { panic!("not a startup") };
    assert_eq!(size, bytes.len());
    assert_eq!((startup.minor_version, startup.user.as_str(), startup.database.as_str()), (2, "ada", "ada"));
    let parameters: Vec<_> = startup.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(parameters, [("a", "1"), ("b_c", "x y"), ("z", "2"), ("TimeZone", "UTC")]);
    assert_eq!(startup.protocol_options, ["_pq_.x"]);
}

#[test]
fn requests_and_bad_startup_packets() {
    assert_eq!(packet(&startup_packet(80_877_103, b"")).unwrap().unwrap().0, Packet::SslRequest);
    assert_eq!(packet(&startup_packet(80_877_104, b"")).unwrap().unwrap().0, Packet::GssEncryptionRequest);
    let cancel = startup_packet(80_877_102, &[0, 0, 0, 9, 1, 2, 3, 4]);
    let expected = Packet::Cancel { process_id: 9, secret: vec![1, 2, 3, 4] };
    assert_eq!(packet(&cancel).unwrap().unwrap().0, expected);
    for length in 0..cancel.len() {
        assert_eq!(packet(&cancel[..length]), Ok(None));
    }
    let bad: [(Vec<u8>, SqlState); 7] = [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), sqlstate::PROTOCOL_VIOLATION),
        (vec![0, 0, 0, 7], sqlstate::PROTOCOL_VIOLATION),
        (vec![0, 0, 0x27, 0x11], sqlstate::PROTOCOL_VIOLATION),
        (startup_packet(131_072, b"\0"), sqlstate::FEATURE_NOT_SUPPORTED),
        (startup_packet(196_608, b"user\0ada\0"), sqlstate::PROTOCOL_VIOLATION),
        (startup_packet(196_608, b"database\0x\0\0"), sqlstate::INVALID_AUTHORIZATION),
        (startup_packet(80_877_102, b"\0\0\0"), sqlstate::PROTOCOL_VIOLATION),
    ];
    for (bytes, state) in bad {
        assert_eq!(packet(&bytes).unwrap_err().state, state, "{bytes:?}");
    }
}

/// Splits what the server wrote into (kind, body).
fn answers(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut answers = Vec::new();
    while let [kind, rest @ ..] = bytes {
        let (length, rest) = rest.split_first_chunk::<4>().unwrap();
        let (body, rest) = rest.split_at(u32::from_be_bytes(*length) as usize - 4);
        answers.push((*kind, body.to_vec()));
        bytes = rest;
    }
    answers
}

#[test]
fn every_answer_is_one_whole_message() {
    let mut out = Vec::new();
    backend::authentication_ok(&mut out);
    backend::authentication_sasl(&mut out, &["SCRAM-SHA-256"]);
    backend::backend_key_data(&mut out, 7, [1, 2, 3, 4]);
    backend::negotiate_protocol_version(&mut out, 196_608, &["_pq_.x".to_owned()]);
    backend::parameter_status(&mut out, "TimeZone", "UTC");
    backend::parse_complete(&mut out);
    backend::bind_complete(&mut out);
    backend::close_complete(&mut out);
    backend::no_data(&mut out);
    backend::portal_suspended(&mut out);
    backend::empty_query_response(&mut out);
    backend::copy_in_response(&mut out, CopyColumns { count: 2, is_binary: false });
    backend::copy_out_response(&mut out, CopyColumns { count: 2, is_binary: true });
    backend::copy_data(&mut out, b"1\t2\n");
    backend::copy_done(&mut out);
    backend::command_complete(&mut out, "SELECT 1\0hidden");
    backend::ready_for_query(&mut out, TransactionStatus::Failed);
    let kinds: Vec<u8> = answers(&out).iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, b"RRKvS123nsIGHdcCZ");
    let all = answers(&out);
    assert_eq!(all[11].1, [0, 0, 2, 0, 0, 0, 0]);
    assert_eq!(all[12].1, [1, 0, 2, 0, 1, 0, 1]);
    assert_eq!(all[15].1, b"SELECT 1\0");
    assert_eq!(all[16].1, b"E");
}

#[test]
fn an_error_carries_its_fields() {
    let error =
        Error::input(sqlstate::UNIQUE_VIOLATION, "m").with_detail("d").with_position(3).with_table("s", "t");
    let mut out = Vec::new();
    backend::error_response(&mut out, backend::Severity::Error, &error, 10);
    assert_eq!(answers(&out), [(b'E', b"SERROR\0VERROR\0C23505\0Mm\0Dd\0P13\0ss\0tt\0\0".to_vec())]);
}

#[test]
fn columns_are_described_with_their_types() {
    let column = |sql_type, source| ResultColumn { name: "c".to_owned(), sql_type, source };
    let mut out = Vec::new();
    let columns = [column(SqlType::Varchar(Some(10)), Some((16_384, 2)))];
    backend::row_description(&mut out, &columns, |_| Format::Binary);
    let body = [
        &[0, 1, b'c', 0][..],
        &16_384_u32.to_be_bytes(),
        &[0, 2],
        &1043_u32.to_be_bytes(),
        &(-1_i16).to_be_bytes(),
        &14_i32.to_be_bytes(),
        &[0, 1],
    ];
    assert_eq!(answers(&out), [(b'T', body.concat())]);
}

#[test]
fn declared_types_are_known_inferred_or_refused() {
    assert_eq!(declared(0), Declared::Inferred);
    assert_eq!(declared(23), Declared::Type(SqlType::Integer));
    assert_eq!(declared(1043), Declared::Type(SqlType::Varchar(None)));
    assert_eq!(declared(1007), Declared::Type(SqlType::Array(ArrayElement::Integer)));
    // The type `point`.
    assert_eq!(declared(600), Declared::Unsupported);
}

#[test]
fn a_row_is_written_with_its_nulls() {
    let column = ResultColumn { name: "c".to_owned(), sql_type: SqlType::Integer, source: None };
    let values = [Value::Integer(-5), Value::Null, Value::Integer(1)];
    let mut out = Vec::new();
    let format = |index| if index == 2 { Format::Binary } else { Format::Text };
    let columns = [column.clone(), column.clone(), column];
    let zone = jiff::tz::TimeZone::UTC;
    let form = TextForm::from(&zone);
    backend::data_row(&mut out, &values, &columns, format, form);
    let body = b"\0\x03\0\0\0\x02-5\xFF\xFF\xFF\xFF\0\0\0\x04\0\0\0\x01";
    assert_eq!(answers(&out), [(b'D', body.to_vec())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = packet(&bytes);
        if let Ok(Some(cut)) = frame(&bytes, LIMIT_BYTES) {
            let _ = decode(cut);
        }
    }

    #[test]
    fn arbitrary_bodies_never_panic(
        kind in prop::sample::select(b"QPBDECSHdcfpFX".to_vec()),
        body in prop::collection::vec(prop_oneof![Just(0_u8), Just(255), Just(1), any::<u8>()], 0..64),
    ) {
        let bytes = message(kind, &body);
        if let Ok(Message::Bind(bind)) = decode(whole(&bytes)) {
            prop_assert_eq!(bind.parameters.iter().count(), bind.parameters.len());
            for index in 0..bind.parameters.len() {
                let _ = (bind.parameter_formats.of(index), bind.result_formats.of(index));
            }
        }
        let _ = packet(&startup_packet(196_608, &body));
    }

    #[test]
    fn mutated_messages_never_panic(which in 0_usize..15, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = specimens().swap_remove(which);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(Some(cut)) = frame(&bytes, LIMIT_BYTES)
            && let Ok(Message::Describe { target, .. }) = decode(cut)
        {
            prop_assert!(matches!(target, Target::Statement | Target::Portal));
        }
    }
}
