//! The list makes sense, and a small study is measured, shown, and not measured again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hyades::ProtocolKind::{Serial, TaurusGraph};
use hyades_bench::device::DeviceKind;
use hyades_study::list;
use hyades_study::results::Results;
use hyades_study::run::{Options, run};
use hyades_study::study::{Evidence, Figure, Group, Load, Size, Study, command, data, every_durable, ratio};

#[test]
fn claims_are_about_what_is_measured() {
    let mut names = BTreeSet::new();
    for study in list::all() {
        assert!(names.insert(study.name), "{} twice", study.name);
        for size in [Size::Full, Size::Quick] {
            let groups = (study.groups)(size);
            let keys: BTreeSet<String> = groups.iter().map(|group| group.key(size)).collect();
            assert_eq!(keys.len(), groups.len(), "{}: two groups with one key", study.name);
            for claim in study.claims {
                let group = groups.iter().find(|group| group.at == claim.at);
                let group = group.unwrap_or_else(|| panic!("{}: {claim:?} is about no group", study.name));
                let has = |name: &str| group.variants.iter().any(|variant| variant.name() == name);
                assert!(has(claim.of) && claim.over.is_none_or(has), "{}: {claim:?}", study.name);
            }
        }
    }
}

/// The model is compared with groups that other studies show, so that they are measured once.
#[test]
fn the_model_is_compared_with_what_others_measure() {
    let keys = |name: &str| -> Vec<String> {
        let study = list::all().find(|study| study.name == name).expect("it is listed");
        (study.groups)(Size::Full).iter().map(|group| group.key(Size::Full)).collect()
    };
    let simulated = keys("taurus-5-simulated");
    let others = [keys("taurus-5"), keys("taurus-11"), keys("taurus-9")].concat();
    let shared = simulated.iter().filter(|key| others.contains(key)).count();
    assert_eq!((simulated.len(), shared), (7, 4), "all but the calibration");
    let kinds = list::all().filter(|study| study.evidence == Evidence::Simulated);
    assert_eq!(kinds.count(), 1);
}

/// docs/protocols.md has a place for the table of all protocols.
#[test]
fn the_document_shows_every_protocol() {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let path = Path::new(&root).join("../docs/protocols.md");
    let text = fs::read_to_string(path).expect("readable");
    let (_, rest) = text.split_once("<!-- begin: hyades study protocols -->").expect("it begins");
    let (table, _) = rest.split_once("<!-- end: hyades study protocols -->").expect("it ends");
    for variant in every_durable() {
        assert!(table.contains(&format!("| `{}` |", variant.name())), "{}: {table}", variant.name());
    }
}

fn groups(_: Size) -> Vec<Group> {
    let load = Load::Ycsb { rows: 1000, accesses: 2, theta: 0.0 };
    let of = |at: &str, logs| Group {
        at: at.to_owned(),
        load,
        device: DeviceKind::Ram,
        logs,
        workers: 1,
        variants: vec![data(Serial), command(TaurusGraph)],
        orders: true,
    };
    vec![of("1", 1), of("2", 2)]
}

static SMALL: Study = Study {
    name: "small",
    title: "A <small> one",
    source: "none",
    evidence: Evidence::Measured,
    note: "For a test.",
    axis: "logs",
    figures: &[Figure::Rate, Figure::DependencyBytes, Figure::ByNames],
    claims: &[ratio(Figure::Rate, "2", ("taurus_graph:command", "serial:data"), 3.5, "nowhere")],
    groups,
};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_study_is_measured_shown_and_not_measured_again() {
    let folder = Folder(std::env::temp_dir().join(format!("hyades-study-{}", std::process::id())));
    let document = folder.0.join("document.md");
    fs::create_dir_all(&folder.0).expect("created");
    let marks = ["<!-- begin: hyades study small -->", "<!-- end: hyades study small -->"];
    fs::write(&document, format!("before\n{}\nold\n{}\nafter\n", marks[0], marks[1])).expect("written");
    let options = Options { folder: folder.0.clone(), size: Size::Quick, document: Some(document.clone()) };
    let mut said = Vec::new();
    run(&[&SMALL], &options, &mut said).expect("it is measured");
    let said = String::from_utf8(said).expect("text");
    assert!(said.contains("[1/2] small, 1\n") && said.contains("[2/2] small, 2, about "), "{said}");

    let results = Results::open(&folder.0).expect("there");
    for group in groups(Size::Quick) {
        let outcome = results.find(&group.key(Size::Quick)).expect("measured");
        let rates = outcome.values("taurus_graph:command", Figure::Rate).expect("measured");
        assert!(rates.len() == 3 && rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
        assert!(outcome.values("taurus_graph:command", Figure::ByNames).is_some());
        assert!(outcome.values("serial:data", Figure::ByNames).is_none(), "its records name nothing");
    }
    let page = fs::read_to_string(folder.0.join("small.html")).expect("written");
    assert!(page.contains("A &lt;small&gt; one") && page.contains("<td class=n>3.50<td class=n>"), "{page}");
    assert!(page.matches("<svg").count() == 3 && page.contains("polyline"), "a curve for each figure");
    let index = fs::read_to_string(folder.0.join("index.html")).expect("written");
    assert!(index.contains("small.html") && index.contains("2 of 2"), "{index}");
    let text = fs::read_to_string(&document).expect("there");
    assert!(text.starts_with("before\n") && text.ends_with("after\n") && !text.contains("old"), "{text}");
    assert!(text.contains("| `taurus_graph:command` | "), "{text}");

    // Half a line, as after a kill, and nothing to do.
    let file = folder.0.join("results.jsonl");
    let known = fs::read_to_string(&file).expect("there");
    fs::write(&file, format!("{known}{{\"key\": \"half")).expect("written");
    let mut said = Vec::new();
    run(&[&SMALL], &options, &mut said).expect("nothing is measured");
    assert!(!String::from_utf8_lossy(&said).contains("small,"), "it was there");
    // What is missing is measured: one line is gone.
    let first = known.lines().find(|line| !line.is_empty()).expect("a line");
    fs::write(&file, format!("{first}\n{{\"key\": \"half")).expect("written");
    let mut said = Vec::new();
    run(&[&SMALL], &options, &mut said).expect("one is measured");
    assert_eq!(String::from_utf8_lossy(&said).matches("[1/1] small, ").count(), 1);
    let results = Results::open(&folder.0).expect("there");
    assert!(groups(Size::Quick).iter().all(|group| results.find(&group.key(Size::Quick)).is_some()));
}
