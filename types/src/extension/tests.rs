//! What a value is does not depend on the form in which it came.

use super::*;
use crate::generators;
use crate::value::{SqlType, Value};
use proptest::prelude::*;

fn value(own: ExtensionType, text: &str) -> ExtensionValue {
    own.parse(text).expect(text)
}

fn shown(value: &ExtensionValue) -> String {
    let mut out = Vec::new();
    let Ok(()) = value.write(&mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn numbers_and_names_are_found() {
    for own in ExtensionType::all() {
        assert_eq!(ALL[own as usize].0, own);
        assert_eq!(ExtensionType::from_oid(own.oid()), Some(own));
        assert_eq!(ExtensionType::named(own.name()), Some(own));
        assert_eq!(SqlType::from_oid(own.array_oid(), -1).and_then(SqlType::extension_type), Some(own));
    }
}

#[test]
fn pairs_are_sorted_and_distinct() {
    let own = value(ExtensionType::Hstore, r#"bb => x, a=>"NULL", c=>null,a=>2, "q\"\\"=>'"#);
    assert_eq!(shown(&own), r#""a"=>"NULL", "c"=>NULL, "bb"=>"x", "q\"\\"=>"'""#);
    for wrong in ["a", "a=", "a=>", "=>b", "a=b", "a=>b c=>d", "\"a", "a=>\"b"] {
        assert!(ExtensionType::Hstore.parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn bytes_that_are_no_content_are_refused() {
    let own = value(ExtensionType::Hstore, "a=>1, b=>NULL, cc=>\"\"");
    assert_eq!(ExtensionType::Hstore.from_content(own.content()).as_ref(), Some(&own));
    for cut in 0..own.content().len() {
        assert!(!ExtensionType::Hstore.is_content(&own.content()[..cut]), "cut at {cut}");
    }
    assert!(!ExtensionType::Citext.is_content(&[0xff]));
}

fn any_of_any_type() -> impl Strategy<Value = Value> {
    let types: Vec<ExtensionType> = ExtensionType::all().collect();
    prop::sample::select(types).prop_flat_map(|own| generators::any_value(SqlType::Extension(own)))
}

proptest! {
    #[test]
    fn all_forms_are_read_back(any in any_of_any_type()) {
        let Value::Extension(one) = any else { return Ok(()) };
        let own = one.extension_type();
        prop_assert_eq!(&own.parse(&shown(&one)).expect("text"), &one);
        let mut bytes = Vec::new();
        one.write_binary(&mut bytes);
        prop_assert_eq!(&own.read_binary(&bytes, |bytes| Ok(std::str::from_utf8(bytes).expect("text"))).expect("binary"), &one);
        prop_assert_eq!(own.from_content(one.content()), Some(one));
    }
}
