//! A COMMIT that is given up while it waits for room in the log, and what its transaction commits instead:
//! see `given_up`.

use std::time::Duration;

use hyades_sim::crash::{Scenario, within};
use hyades_sim::given_up::commit_instead;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn what_is_committed_instead_is_what_recovery_finds() {
    for scenario in [Scenario::serial(), Scenario::taurus(2)] {
        // Longer than what the log already contained, as long as the first, shorter, and of at most one
        // piece.
        for (first, second) in [(30, 40), (30, 30), (30, 13), (30, 1), (30, 0)] {
            let outcome = within(LIMIT, move || commit_instead(scenario, first, second));
            assert_eq!(outcome, Ok(()), "{first} rows, then {second}, {scenario:?}");
        }
    }
}
