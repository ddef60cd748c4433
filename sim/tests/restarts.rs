//! Restarts that let transactions in before the database is completely restored: which ones wait, what they
//! find, what survives a crash in the middle, and the effects of damage that is found in the background
//! (`hyades_sim::restarts`, `hyades_sim::wanted_first`).

use std::time::Duration;

use hyades_sim::crash::{Calls, Scenario, within};
use hyades_sim::restarts::{
    Held, a_damaged_checkpoint_is_replaced_by_the_one_before, changes_follow_those_of_the_logs,
    damage_before_a_digest_is_refused_the_next_time, damage_closes_what_it_concerns,
    damage_in_both_checkpoints_closes_what_it_concerns, digests_leave_nothing_out,
    interrupted_starts_do_not_fill_the_disk, wait_for_what_they_touch, what_cannot_be_replayed_is_refused,
    work_in_the_middle,
};
use hyades_sim::wanted_first::{
    a_key_opens_before_its_table, a_key_opens_whatever_has_been_loaded, parts_of_the_logs_are_enough,
    what_is_wanted_comes_first,
};

const LIMIT: Duration = Duration::from_secs(60);

fn try_all(
    what: &str,
    scenarios: &[Scenario],
    test: impl Fn(Scenario, u64) -> Result<(), String> + Copy + Send + 'static,
) {
    for scenario in scenarios.iter().copied() {
        for seed in 1..6 {
            if let Err(error) = within(LIMIT, move || test(scenario, seed)) {
                panic!("{what}, {scenario:?}, seed {seed}: {error}");
            }
        }
    }
}

#[test]
fn transactions_wait_for_what_they_touch() {
    let scenarios = [
        Scenario::serial(),
        Scenario::taurus(1).with(Calls::Commands),
        Scenario::taurus(2).with(Calls::Mixed),
        Scenario::taurus(4),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(2),
    ];
    for held in [Held::Load, Held::Replay] {
        try_all("held", &scenarios, move |scenario, seed| wait_for_what_they_touch(scenario, seed, held));
    }
}

#[test]
fn the_logs_are_replayed_first_for_what_is_wanted() {
    let calls = Scenario::taurus(3).with(Calls::Data);
    let scenarios = [Scenario::serial(), Scenario::striped(2), Scenario::taurus(2), calls];
    try_all("wanted", &scenarios, what_is_wanted_comes_first);
}

#[test]
fn little_of_the_logs_is_read_for_what_they_change_little() {
    let scenarios = [
        Scenario::serial(),
        Scenario::taurus(2),
        Scenario::taurus(3),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(2),
    ];
    try_all("parts", &scenarios, parts_of_the_logs_are_enough);
}

#[test]
fn a_key_that_is_wanted_opens_before_its_table() {
    let scenarios = [
        Scenario::serial(),
        Scenario::taurus(2),
        Scenario::taurus(3),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(2),
    ];
    try_all("key", &scenarios, a_key_opens_before_its_table);
}

#[test]
fn a_key_opens_whatever_has_been_loaded_of_its_table() {
    let scenarios = [
        Scenario::serial(),
        Scenario::taurus(2),
        Scenario::taurus(3),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(2),
    ];
    try_all("key", &scenarios, a_key_opens_whatever_has_been_loaded);
}

#[test]
fn what_is_done_in_the_middle_of_a_restart_survives_the_next_crash() {
    let of_data = [Scenario::silor(2), Scenario::plover(2)].map(|scenario| scenario.with(Calls::Data));
    let scenarios = [
        Scenario::serial(),
        Scenario::taurus(2),
        Scenario::taurus(3).with(Calls::Data),
        of_data[0],
        of_data[1],
        Scenario::taurus_graph(3).with(Calls::Data),
    ];
    try_all("work", &scenarios, work_in_the_middle);
}

#[test]
fn damage_that_is_found_behind_closes_what_it_concerns() {
    let scenarios = [Scenario::serial(), Scenario::taurus(2), Scenario::taurus(2).with(Calls::Mixed)];
    try_all("damage", &scenarios, damage_closes_what_it_concerns);
}

#[test]
fn damage_that_both_checkpoints_have_closes_what_it_concerns_at_each_start() {
    let scenarios = [Scenario::serial(), Scenario::taurus(2), Scenario::taurus(2).with(Calls::Mixed)];
    try_all("both", &scenarios, damage_in_both_checkpoints_closes_what_it_concerns);
}

#[test]
fn a_complete_restart_begins_with_the_checkpoint_before_a_damaged_one() {
    let scenarios = [Scenario::serial(), Scenario::taurus(2).with(Calls::Mixed)];
    try_all("before", &scenarios, a_damaged_checkpoint_is_replaced_by_the_one_before);
}

#[test]
fn the_catalog_can_be_changed_where_the_logs_have_changed_it() {
    let scenarios = [Scenario::serial(), Scenario::taurus(2).with(Calls::Mixed)];
    try_all("changes", &scenarios, changes_follow_those_of_the_logs);
}

#[test]
fn calls_that_cannot_be_replayed_are_refused_before_transactions_are_admitted() {
    let scenarios = [Scenario::taurus(1).with(Calls::Commands), Scenario::taurus(2).with(Calls::Mixed)];
    try_all("refused", &scenarios, what_cannot_be_replayed_is_refused);
}

#[test]
fn starts_that_are_never_complete_give_space_back() {
    try_all("space", &[Scenario::serial(), Scenario::taurus(2)], interrupted_starts_do_not_fill_the_disk);
}

#[test]
fn damage_that_a_digest_has_hidden_once_is_refused() {
    try_all("damage", &[Scenario::taurus(2)], |_, seed| {
        damage_before_a_digest_is_refused_the_next_time(seed)
    });
}

#[test]
fn digests_of_the_logs_leave_nothing_out() {
    try_all("digests", &[Scenario::taurus(2)], |_, seed| digests_leave_nothing_out(seed));
}
