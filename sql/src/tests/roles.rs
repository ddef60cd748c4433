//! Random statements about roles and rights in several sessions, each compared with a small model of
//! PostgreSQL's rules ([`model`]): no role gets more or less than the model says.
//!
//! Roles are renamed and dropped while sessions have them, names are used again for other roles, sessions
//! log in, take roles and leave them, and use what they prepared when they had other rights.
//!
//! ```text
//! HYADES_ROLE_STEPS=100000 cargo test -p hyades --lib roles_do_what_the_model_says
//! HYADES_ROLES_PSQL="-h /run/postgresql -d scratch" ...    # the same statements to a real PostgreSQL
//! ```
//! The database of PostgreSQL must be empty, and have the superuser hyades.

mod model;

use std::fmt::Write as _;
use std::sync::Arc;

use hyades_types::error::sqlstate;
use hyades_types::random::Random;

use self::model::{Attributes, FIRST_NAME, Model, Outcome, PRIVILEGES, RELATIONS, VIEW, Who};
use super::engine::{TestEngine, Trouble};
use super::sessions::{Hyades, Postgres, Sessions};
use crate::connection::Connection;
use crate::session::{Database, SessionOptions};

/// The roles that are created have these names.
const NAMES: [&str; 7] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus"];
const MOST_SESSIONS: usize = 6;
const SEEDS: u64 = 4;
const STEPS: usize = 1_500;
/// So many last statements are shown when one goes wrong.
const SHOWN: usize = 60;

struct Open {
    name: String,
    who: Who,
}

struct Fuzz<'a> {
    random: Random,
    model: Model,
    sessions: Vec<Open>,
    /// The number of sessions so far.
    count: usize,
    system: &'a mut dyn Sessions,
    is_postgresql: bool,
    trace: Vec<String>,
    /// How often the model allowed something, and how often it did not.
    allowed: usize,
    denied: usize,
}

impl Fuzz<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.number() % bound as u64).expect("it is small")
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Runs a statement in a session.
    fn say(&mut self, session: &str, sql: &str) -> String {
        let answer = self.system.run(session, &format!("{sql};")).unwrap_or_else(|| "it waits".to_owned());
        self.trace.push(format!("{session}: {sql}\n    {}", answer.trim_end()));
        answer
    }

    /// Ends the test if an answer is not the one that the model expects.
    fn expect(&mut self, is_right: bool, expected: &str) {
        let from = self.trace.len().saturating_sub(SHOWN);
        assert!(is_right, "{}\nexpected: {expected}", self.trace[from..].join("\n"));
    }

    /// Runs a statement whose outcome the model knows.
    fn step(&mut self, session: &str, sql: &str, expected: Outcome) {
        let answer = self.say(session, sql);
        match expected {
            Ok(()) => self.allowed += 1,
            Err(_) => self.denied += 1,
        }
        let failed = answer.strip_prefix("ERROR ").and_then(|error| error.split(':').next());
        // A role that is gone may not even look into the schema.
        let open = self.sessions.iter().find(|open| open.name == session);
        let is_lost = open.is_some_and(|open| self.model.name(open.who.current()).is_none());
        let is_hidden = is_lost && expected.is_err() && failed == Some("42P01");
        self.expect(is_hidden || failed == expected.err(), &format!("{expected:?}"));
    }

    fn log_in(&mut self, name: &str) {
        let Some(role) = self.model.may_log_in(name) else {
            let gets_in = self.system.may_log_in(name);
            self.trace.push(format!("{name} logs in"));
            self.expect(gets_in.is_none_or(|gets_in| !gets_in), "not let in");
            return;
        };
        if self.sessions.len() == MOST_SESSIONS {
            let at = self.below(MOST_SESSIONS);
            let left = self.sessions.remove(at);
            self.system.close(&left.name);
        }
        self.count += 1;
        let session = format!("{name}@{}", self.count);
        for (number, relation) in RELATIONS.iter().enumerate() {
            self.step(&session, &format!("prepare look{number} as select count(*) from {relation}"), Ok(()));
        }
        self.sessions.push(Open { name: session, who: Who { session: role, chosen: None } });
    }

    fn attributes(&mut self) -> (Attributes, String) {
        let mut attributes = Attributes::default();
        let mut text = String::new();
        let mut some = |fuzz: &mut Self, percent, word: &str| {
            let value = fuzz.chance(percent).then(|| fuzz.chance(60));
            if let Some(is_on) = value {
                write!(text, " {}{word}", if is_on { "" } else { "no" }).expect("writing to a string");
            }
            value
        };
        attributes.superuser = some(self, 6, "superuser");
        attributes.creates_roles = some(self, 30, "createrole");
        attributes.inherits = some(self, 25, "inherit");
        attributes.logs_in = some(self, 60, "login");
        (attributes, text)
    }

    /// A name that may be that of a role.
    fn name(&mut self) -> &'static str {
        self.pick(&NAMES)
    }

    /// A statement about roles.
    fn change_roles(&mut self, at: usize) {
        let (session, who) = (self.sessions[at].name.clone(), self.sessions[at].who);
        let (by, name) = (who.current(), self.name());
        let (sql, outcome) = match self.below(9) {
            0 | 1 => {
                let (attributes, mut text) = self.attributes();
                let group = if self.chance(30) { Some(self.name()) } else { None };
                let group = group.filter(|group| *group != name);
                if let Some(group) = group {
                    write!(text, " in role {group}").expect("writing to a string");
                }
                (format!("create role {name}{text}"), self.model.create(by, name, attributes, group))
            }
            2 => {
                let (attributes, text) = self.attributes();
                if text.is_empty() {
                    return;
                }
                (format!("alter role {name}{text}"), self.model.alter(by, name, attributes))
            }
            3 => (format!("alter role {name} password null"), self.model.change_password(by, name)),
            4 => {
                let to = self.name();
                (format!("alter role {name} rename to {to}"), self.model.rename(who, name, to))
            }
            5 => (format!("drop role {name}"), self.model.drop_role(who, name)),
            6 | 7 => {
                let group = if self.chance(8) { FIRST_NAME } else { self.name() };
                let is_admin = self.chance(30);
                let option = if is_admin { " with admin option" } else { "" };
                (format!("grant {group} to {name}{option}"), self.model.grant_role(by, group, name, is_admin))
            }
            _ => {
                let (group, only_admin) = (self.name(), self.chance(30));
                let option = if only_admin { "admin option for " } else { "" };
                (
                    format!("revoke {option}{group} from {name}"),
                    self.model.revoke_role(by, group, name, only_admin),
                )
            }
        };
        self.step(&session, &sql, outcome);
    }

    /// SET ROLE, also in a transaction that is rolled back.
    fn take_role(&mut self, at: usize) {
        let (session, who) = (self.sessions[at].name.clone(), self.sessions[at].who);
        if self.chance(25) {
            self.step(&session, "reset role", Ok(()));
            self.sessions[at].who.chosen = None;
            return;
        }
        let name = if self.chance(10) { FIRST_NAME } else { self.name() };
        let role = self.model.set_role(who.session, name);
        let is_undone = self.chance(30);
        if is_undone {
            self.step(&session, "begin", Ok(()));
        }
        self.step(&session, &format!("set role {name}"), role.map(drop));
        if is_undone {
            self.step(&session, "rollback", Ok(()));
        } else if let Ok(role) = role {
            self.sessions[at].who.chosen = Some(role);
        }
    }

    fn change_rights(&mut self, at: usize) {
        let (session, by) = (self.sessions[at].name.clone(), self.sessions[at].who.current());
        let relation = self.below(RELATIONS.len());
        if self.chance(20) {
            let to = self.name();
            let word = if relation == VIEW { "view" } else { "table" };
            let outcome = self.model.change_owner(by, relation, to);
            self.step(&session, &format!("alter {word} {} owner to {to}", RELATIONS[relation]), outcome);
            return;
        }
        let privilege = self.pick(&PRIVILEGES);
        let grantee = if self.chance(10) { None } else { Some(self.name()) };
        let is_revoke = self.chance(40);
        if is_revoke && self.is_postgresql && !self.model.owns(by, relation) {
            // It revokes rights on the columns, too, and may find none that the role has.
            return;
        }
        let words = if is_revoke { ("revoke", "from") } else { ("grant", "to") };
        let sql = format!(
            "{} {privilege} on {} {} {}",
            words.0,
            RELATIONS[relation],
            words.1,
            grantee.unwrap_or("public")
        );
        let outcome = self.model.change_rights(by, (relation, privilege), grantee, is_revoke);
        self.step(&session, &sql, outcome);
    }

    /// A statement that needs a right.
    fn use_rights(&mut self, at: usize) {
        let (session, by) = (self.sessions[at].name.clone(), self.sessions[at].who.current());
        let relation = self.below(RELATIONS.len());
        let privilege = if relation == VIEW { "select" } else { self.pick(&PRIVILEGES) };
        if relation == VIEW && self.model.is_superuser(by) {
            // PostgreSQL checks the rights of the view's owner, Hyades does not for superusers.
            return;
        }
        let name = RELATIONS[relation];
        let sql = match privilege {
            "select" if self.chance(50) => format!("execute look{relation}"),
            "select" => format!("select count(*) from {name}"),
            "insert" => format!("insert into {name} values (1)"),
            "update" => format!("update {name} set id = 2"),
            "delete" => format!("delete from {name}"),
            _ => format!("truncate {name}"),
        };
        let outcome = self.model.access(by, relation, privilege);
        self.step(&session, &sql, outcome);
    }

    /// The session shows the names that its roles have now.
    fn show(&mut self, at: usize) {
        let (session, who) = (self.sessions[at].name.clone(), self.sessions[at].who);
        let names = (self.model.name(who.current()), self.model.name(who.session));
        if let (Some(current), Some(own)) = names {
            let expected = format!("{current}|{own}\n");
            let answer = self.say(&session, "select current_user, session_user");
            self.expect(answer == expected, &expected);
        }
    }

    /// A role of the session was dropped.
    fn has_lost_role(&self, at: usize) -> bool {
        let who = self.sessions[at].who;
        self.model.name(who.session).is_none() || self.model.name(who.current()).is_none()
    }

    fn next(&mut self) {
        if self.sessions.is_empty() || self.chance(4) {
            let name = if self.chance(15) { FIRST_NAME } else { self.name() };
            return self.log_in(name);
        }
        let at = self.below(self.sessions.len());
        if self.has_lost_role(at) && self.is_postgresql {
            // In PostgreSQL it may do what PUBLIC may do.
            return self.take_role(at);
        }
        match self.below(20) {
            0..=5 => self.change_roles(at),
            6..=8 => self.take_role(at),
            9..=12 => self.change_rights(at),
            13..=17 => self.use_rights(at),
            _ => self.show(at),
        }
    }

    /// Compares all rights of all roles.
    fn compare(&mut self) {
        let mut calls = Vec::new();
        let mut expected = Vec::new();
        for name in self.model.names() {
            let Some(id) = self.model.find(&name) else { continue };
            for (number, relation) in RELATIONS.iter().enumerate() {
                for privilege in PRIVILEGES {
                    calls.push(format!("has_table_privilege('{name}', '{relation}', '{privilege}')"));
                    expected.push(if self.model.holds(id, number, privilege) { "t" } else { "f" });
                }
            }
        }
        let answer = self.say("judge", &format!("select {}", calls.join(", ")));
        let expected = expected.join("|");
        self.expect(answer.trim_end() == expected, &expected);
    }
}

/// The statements before and after a run.
const SETUP: [&str; 5] = [
    "create table t0 (id int)",
    "create table t1 (id int)",
    "create table t2 (id int)",
    "create view w0 as select id from t0",
    "grant create on schema public to public",
];

fn fuzz(seed: u64, steps: usize, system: &mut dyn Sessions, is_postgresql: bool) {
    let mut fuzz = Fuzz {
        random: Random::seeded(seed),
        model: Model::new(),
        sessions: Vec::new(),
        count: 0,
        system,
        is_postgresql,
        trace: vec![format!("seed {seed}")],
        allowed: 0,
        denied: 0,
    };
    for sql in SETUP {
        fuzz.step("judge", sql, Ok(()));
    }
    fuzz.log_in(FIRST_NAME);
    for number in 0..steps {
        fuzz.next();
        if number % 500 == 499 {
            fuzz.compare();
        }
        // Otherwise every role would soon have all rights.
        if number % 200 == 199 {
            for name in NAMES {
                if fuzz.model.find(name).is_some() {
                    let attributes = Attributes { superuser: Some(false), ..Attributes::default() };
                    let outcome = fuzz.model.alter(model::FIRST, name, attributes);
                    fuzz.step("judge", &format!("alter role {name} nosuperuser"), outcome);
                }
            }
        }
        fuzz.trace.drain(..fuzz.trace.len().saturating_sub(SHOWN));
    }
    fuzz.compare();
    assert!(fuzz.allowed > steps / 8 && fuzz.denied > steps / 8, "{} {}", fuzz.allowed, fuzz.denied);
    for session in std::mem::take(&mut fuzz.sessions) {
        fuzz.system.close(&session.name);
    }
    fuzz.step("judge", "drop view w0", Ok(()));
    fuzz.step("judge", "drop table t0, t1, t2", Ok(()));
    for name in NAMES {
        fuzz.say("judge", &format!("drop role if exists {name}"));
    }
}

#[test]
fn roles_do_what_the_model_says() {
    let steps = std::env::var("HYADES_ROLE_STEPS").ok().and_then(|steps| steps.parse().ok());
    let arguments = std::env::var("HYADES_ROLES_PSQL").ok();
    for seed in 1..=SEEDS {
        match &arguments {
            Some(arguments) => {
                let mut postgres = Postgres::new(&format!("{arguments} -U {FIRST_NAME}"));
                fuzz(seed, steps.unwrap_or(STEPS), &mut postgres, true);
            }
            None => fuzz(seed, steps.unwrap_or(STEPS), &mut Hyades::new(), false),
        }
    }
}

fn database() -> Database {
    Database::with_engine(Arc::new(TestEngine::with(Trouble::None)))
}

/// What happens to a name between the handshake and the session changes nothing.
#[test]
fn a_session_is_that_of_the_role_that_was_let_in() {
    let database = database();
    let mut boss = database.connect().expect("a connection");
    let mut run = |sql: &str| boss.execute(sql, &[]).expect("it is done");
    run("create role ada login");
    let login = database.login("ada").expect("the role");
    assert!(!login.is_superuser && database.has_had_roles());
    let session = || {
        let (user, role) = ("ada".to_owned(), Some(login.role));
        database.session(SessionOptions { user, role, ..SessionOptions::default() })
    };
    run("alter role ada rename to bob");
    run("create role ada superuser login");
    assert_eq!(session().expect("the role bob").setting("is_superuser").as_deref(), Some("off"));
    run("drop role ada, bob");
    let error = session().err().expect("the role is gone");
    assert_eq!(error.sqlstate(), sqlstate::INVALID_AUTHORIZATION);
    assert!(database.login("ada").is_none() && database.login("bob").is_none());
    assert!(database.has_had_roles());
}

#[test]
fn no_role_takes_the_name_of_a_superuser() {
    let database = database();
    let mut boss = database.connect().expect("a connection");
    boss.execute("create role taken login", &[]).expect("a role");
    let taken = database.name_superusers(["root", "taken"].map(str::to_owned));
    assert_eq!(taken, ["taken"]);
    let is_superuser = |name: &str| database.login(name).map(|login| login.is_superuser);
    assert_eq!(
        ["hyades", "root", "taken", "other"].map(is_superuser),
        [Some(true), Some(true), Some(false), None]
    );
    for sql in ["create role root", "alter role taken rename to root", "create role hyades"] {
        let error = boss.execute(sql, &[]).expect_err("the name is taken");
        assert_eq!(error.sqlstate(), sqlstate::DUPLICATE_OBJECT, "{sql}");
    }
    // It does not become the superuser's when the role goes.
    boss.execute("drop role taken", &[]).expect("it is done");
    assert_eq!(is_superuser("taken"), None);
}

#[test]
fn sessions_begin_with_the_settings_that_are_stored_for_them() {
    let database = database();
    let mut boss = database.connect().expect("a connection");
    let mut run = |sql: &str| boss.execute(sql, &[]).map(drop);
    for sql in [
        "create role ada login",
        "create role eve login",
        "create role owner",
        "grant owner to ada",
        "create database other",
        "alter role all set lock_timeout = 1",
        "alter database hyades set lock_timeout = 2",
        "alter database hyades set my.place = 'here'",
        "alter role ada set lock_timeout = 3",
        "alter role ada in database other set lock_timeout = 4",
        "alter role ada set temp_file_limit = '1GB'",
        "alter role ada set role = owner",
        "alter role eve set role = owner",
    ] {
        run(sql).expect(sql);
    }
    let session = |user: &str, in_database: &str, parameters: &[(&str, &str)]| {
        let (user, in_database) = (user.to_owned(), in_database.to_owned());
        let role = database.login(&user).map(|login| login.role);
        let given = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let parameters = parameters.iter().map(given).collect();
        let options =
            SessionOptions { user, role, database: in_database, parameters, ..SessionOptions::default() };
        Connection::of(database.session(options).expect("a session"))
    };
    let of = |session: &mut Connection, name: &str| session.session().setting(name).unwrap_or_default();
    for (user, place, parameters, expected) in [
        ("eve", "other", &[][..], "1ms"),
        ("eve", "hyades", &[], "2ms"),
        ("ada", "hyades", &[], "3ms"),
        ("ada", "other", &[], "4ms"),
        ("ada", "other", &[("lock_timeout", "5")], "5ms"),
    ] {
        let mut session = session(user, place, parameters);
        assert_eq!(of(&mut session, "lock_timeout"), expected, "{user} {place} {parameters:?}");
    }
    // What only a superuser may set was allowed when it was stored. A role is taken if it may be.
    let mut own = session("ada", "hyades", &[]);
    assert_eq!(
        ["temp_file_limit", "my.place", "role"].map(|name| of(&mut own, name)),
        ["1GB", "here", "owner"]
    );
    assert_eq!(of(&mut session("eve", "hyades", &[]), "role"), "none");
    // RESET leads back to it, and what is stored later is for later sessions.
    run("alter role ada set lock_timeout = 9").expect("set");
    own.execute("set lock_timeout = 7", &[]).expect("set");
    own.execute("reset lock_timeout", &[]).expect("reset");
    assert_eq!(of(&mut own, "lock_timeout"), "3ms");
    drop(own);
    run("drop database other").expect("dropped");
    run("drop role eve").expect("dropped");
    let left = database.connect().expect("a connection").query(
        "select count(*) from pg_db_role_setting s where setrole <> 0 and setrole not in (select oid from pg_roles)
           or setdatabase <> 0 and setdatabase not in (select oid from pg_database)",
        &[],
    );
    assert_eq!(format!("{:?}", left.expect("an answer")), "[[BigInt(0)]]");
}
