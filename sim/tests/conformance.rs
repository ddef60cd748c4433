//! Every protocol with every control and kind of logging, a little of each: `cargo xtask conformance` tries
//! more.

use hyades_engine::config::ControlKind;
use hyades_sim::conformance::{Extent, Verdict, cells};

#[test]
fn every_cell_is_green_or_refused_with_a_sentence() {
    let (mut green, mut refused) = (0, 0);
    for cell in cells().into_iter().filter(|cell| !cell.protocol.contains("64")) {
        // What does not depend on the control is tried under one.
        let stride = if cell.control == ControlKind::TwoPhaseLocking { 40 } else { 400 };
        match cell.judge(Extent { stride, histories: 2 }) {
            Verdict::Green(_) => green += 1,
            Verdict::Refused(sentence) => {
                assert!(sentence.contains("do not say in which order"), "{cell:?}: {sentence}");
                refused += 1;
            }
            Verdict::Wrong(wrong) => panic!("{cell:?}: {wrong}"),
        }
    }
    assert_eq!((green, refused), (3 * 33, 3 * 12));
}
