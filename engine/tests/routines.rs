//! Routines in the catalog, through the engine's public interface: created, replaced, dropped, rolled back,
//! recovered.

use hyades_engine::storage::catalog::NewId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db::{Engine, Flow, Interrupt, Worker, open};
use hyades_engine::procedure::compiled_routine::{CatalogView, RoutineCompiler};
use hyades_engine::procedure::ir::{Instruction, Procedure, Replayability};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::definition::{
    CatalogChange, ParameterMode, Returns, RoutineDefinition, RoutineId, RoutineKind, RoutineParameter,
    TableName,
};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::value::SqlType;

/// Compiles every source to an empty procedure, and counts.
#[derive(Default)]
struct Counter(AtomicUsize);

impl RoutineCompiler for Counter {
    fn compile(&self, routine: &RoutineDefinition, _catalog: &dyn CatalogView) -> Result<Procedure> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Procedure {
            name: routine.name.name.clone(),
            parameters: routine.identity(),
            registers: routine.parameters.len() as u16,
            rows: 0,
            cursors: 0,
            tables: Vec::new(),
            code: vec![Instruction::Return],
            output: Vec::new(),
            replay: Replayability::PURE,
            ..Procedure::default()
        })
    }
}

fn name(name: &str) -> TableName {
    TableName { schema: "public".to_owned(), name: name.to_owned() }
}

fn definition(of: &str, types: &[SqlType], body: &str) -> RoutineDefinition {
    let parameter = |sql_type: &SqlType| RoutineParameter {
        name: None,
        sql_type: *sql_type,
        mode: ParameterMode::In,
        default: None,
    };
    RoutineDefinition {
        name: name(of),
        kind: RoutineKind::Procedure,
        parameters: types.iter().map(parameter).collect(),
        returns: Returns::Nothing,
        language: "plpgsql".to_owned(),
        body: body.to_owned(),
        path: None,
        is_strict: false,
        traits: Default::default(),
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
    }
}

struct Setup {
    disk: Arc<SimulatedDisk>,
    compiler: Arc<Counter>,
}

impl Setup {
    fn new() -> Setup {
        Setup { disk: Arc::new(SimulatedDisk::new(1)), compiler: Arc::default() }
    }

    fn open(&self) -> Arc<dyn Engine> {
        let config = Config {
            protocol: ProtocolKind::Taurus,
            segment_bytes: 1 << 20,
            log_buffer_bytes: 1 << 16,
            disk: Arc::clone(&self.disk) as _,
            ..Config::new("/data")
        };
        open(config, Some(Arc::clone(&self.compiler) as _)).expect("the disk works")
    }
}

fn failure<T>(flow: Flow<T>) -> Error {
    match flow {
        Err(Interrupt::Failed(error)) => error,
        Err(Interrupt::Wait(_)) => panic!("no other transaction is open"),
        Ok(_) => panic!("it must fail"),
    }
}

fn done<T>(flow: Flow<T>) -> T {
    match flow {
        Ok(value) => value,
        Err(Interrupt::Failed(error)) => panic!("{error}"),
        Err(Interrupt::Wait(_)) => panic!("no other transaction is open"),
    }
}

fn create(worker: &mut dyn Worker, definition: &RoutineDefinition, replaces: Option<RoutineId>) -> RoutineId {
    let id = RoutineId(worker.new_id(NewId::Object));
    done(worker.change_catalog(CatalogChange::CreateRoutine {
        id,
        definition: definition.clone(),
        replaces,
    }));
    id
}

fn commit(worker: &mut dyn Worker) {
    done(worker.commit()).wait().expect("the disk works");
}

fn ids(worker: &dyn Worker, of: &str) -> Vec<RoutineId> {
    worker.routines_named(&name(of)).iter().map(|routine| routine.id).collect()
}

#[test]
fn a_routine_is_its_transactions_own_until_it_commits_and_survives_then() {
    let setup = Setup::new();
    let engine = setup.open();
    let (mut one, mut other) = (engine.worker(), engine.worker());
    one.begin();
    other.begin();
    let integer = definition("f", &[SqlType::Integer], "a");
    let id = create(&mut *one, &integer, None);
    assert_eq!((ids(&*one, "f"), ids(&*other, "f")), (vec![id], vec![]));
    drop(one.rollback());
    one.begin();
    assert_eq!(ids(&*one, "f"), []);
    let id = create(&mut *one, &integer, None);
    commit(&mut *one);
    assert_eq!(ids(&*other, "f"), [id]);
    drop(other.rollback());
    engine.shutdown().expect("the disk works");
    drop((engine, one, other));

    let engine = setup.open();
    let mut worker = engine.worker();
    worker.begin();
    assert_eq!(ids(&*worker, "f"), [id]);
    assert_eq!(worker.routine(id).expect("it is there").definition, integer);
    assert!(RoutineId(worker.new_id(NewId::Object)) > id, "ids are never used again");
}

#[test]
fn the_types_of_the_inputs_tell_routines_apart() {
    let engine = Setup::new().open();
    let mut worker = engine.worker();
    worker.begin();
    let number = create(&mut *worker, &definition("f", &[SqlType::Integer], "a"), None);
    let text = create(&mut *worker, &definition("f", &[SqlType::Varchar(Some(3))], "a"), None);
    assert_eq!(ids(&*worker, "f"), [number, text]);
    let same = definition("f", &[SqlType::Varchar(Some(7))], "a");
    let id = RoutineId(worker.new_id(NewId::Object));
    let again = CatalogChange::CreateRoutine { id, definition: same, replaces: None };
    let error = failure(worker.change_catalog(again));
    assert_eq!(error.sqlstate(), sqlstate::DUPLICATE_FUNCTION);
    assert_eq!(error.to_string(), "function \"f\" already exists with same argument types");
}

#[test]
fn a_replacement_is_a_new_routine_and_the_old_one_is_gone() {
    let setup = Setup::new();
    let engine = setup.open();
    let mut worker = engine.worker();
    worker.begin();
    let old = create(&mut *worker, &definition("f", &[], "a"), None);
    commit(&mut *worker);
    worker.begin();
    let routine = worker.routine(old).expect("it is there");
    let new = create(&mut *worker, &definition("f", &[], "b"), Some(old));
    assert_eq!((ids(&*worker, "f"), worker.routine(old).is_none()), (vec![new], true));
    assert!(!routine.is_dropped(), "others still call it");
    commit(&mut *worker);
    assert!(routine.is_dropped());
    worker.begin();
    let stale = CatalogChange::CreateRoutine {
        id: RoutineId(worker.new_id(NewId::Object)),
        definition: definition("f", &[], "c"),
        replaces: Some(old),
    };
    assert!(matches!(failure(worker.change_catalog(stale)), Error::Abort(Abort::StalePlan)));
    drop(worker.rollback());
    worker.begin();
    done(worker.change_catalog(CatalogChange::DropRoutine { id: new }));
    assert_eq!(ids(&*worker, "f"), []);
    let savepoint_before = worker.savepoint();
    let other = create(&mut *worker, &definition("g", &[], "d"), None);
    let created = worker.routine(other).expect("it is there");
    drop(worker.rollback_to(savepoint_before));
    assert!(worker.routine(other).is_none() && created.is_dropped());
    commit(&mut *worker);
    engine.shutdown().expect("the disk works");
    drop((engine, worker));
    assert!(setup.open().routines().is_empty());
}

#[test]
fn compiled_procedures_live_until_the_catalog_changes() {
    let setup = Setup::new();
    let engine = setup.open();
    let compiled = || setup.compiler.0.load(Ordering::Relaxed);
    let mut worker = engine.worker();
    worker.begin();
    let id = create(&mut *worker, &definition("f", &[], "a"), None);
    let routine = worker.routine(id).expect("it is there");
    worker.procedure(&routine).expect("it compiles");
    worker.procedure(&routine).expect("it compiles");
    assert_eq!(compiled(), 2, "a transaction with changes of its own keeps nothing");
    commit(&mut *worker);
    worker.begin();
    let first = worker.procedure(&routine).expect("it compiles");
    assert!(Arc::ptr_eq(&first, &worker.procedure(&routine).expect("it compiles")));
    assert_eq!(compiled(), 3);
    drop(worker.rollback());
    worker.begin();
    create(&mut *worker, &definition("g", &[], "a"), None);
    commit(&mut *worker);
    worker.begin();
    worker.procedure(&routine).expect("it compiles");
    assert_eq!(compiled(), 4);
}
