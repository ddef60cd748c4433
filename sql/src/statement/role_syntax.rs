//! Roles and rights: CREATE, ALTER and DROP ROLE, USER and GROUP, GRANT and REVOKE.
//!
//! Reference: PostgreSQL's gram.y (CreateRoleStmt, GrantStmt, GrantRoleStmt).

use hyades_types::access::Privileges;
use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;

use super::control::setting_change;
use super::lexer::{Token, TokenKind, character_position};
use super::parsed::{
    AccessCommand, Granted, GrantedOn, QualifiedName, RoleName, RoleOption, SettingsTarget, Statement,
    WrittenParameter,
};
use super::routine_syntax::signature_of;
use super::tokens::Tokens;

/// An error at the token that begins at this byte.
fn failed_at<T>(tokens: &Tokens<'_>, start: usize, state: SqlState, message: &str) -> Result<T> {
    Err(Error::input(state, message).with_position(character_position(tokens.sql, start)))
}

fn statement(command: AccessCommand<Vec<WrittenParameter>>) -> Statement {
    Statement::Access(Box::new(command))
}

/// The word after CREATE, ALTER and DROP. Returns whether it is USER, or `None` if it is not a role.
fn kind(tokens: &mut Tokens<'_>) -> Option<bool> {
    let word = tokens.peek().text.to_ascii_lowercase();
    // USER MAPPING is a different statement.
    let is_mapping = tokens.peek_at(1).is_word("mapping") && tokens.peek_at(2).is_word("for");
    let kind = match word.as_str() {
        "user" if !is_mapping => Some(true),
        "role" | "group" => Some(false),
        _ => None,
    };
    if kind.is_some() {
        tokens.next();
    }
    kind
}

/// A role, as statements name it.
pub(super) fn role(tokens: &mut Tokens<'_>) -> Result<RoleName> {
    let token = tokens.peek();
    let name = tokens.identifier()?;
    let is_word = token.kind == TokenKind::Word;
    Ok(match name.as_str() {
        "current_user" | "current_role" if is_word => RoleName::Current,
        "session_user" if is_word => RoleName::Session,
        // These two are so in quotes, too.
        "public" => RoleName::Public,
        "none" => {
            return failed_at(tokens, token.start, sqlstate::RESERVED_NAME, "role name \"none\" is reserved");
        }
        _ => RoleName::Named(name),
    })
}

fn roles(tokens: &mut Tokens<'_>) -> Result<Vec<RoleName>> {
    let mut roles = vec![role(tokens)?];
    while tokens.accept_symbol(",") {
        roles.push(role(tokens)?);
    }
    Ok(roles)
}

/// The name of a new role.
fn new_name(tokens: &mut Tokens<'_>) -> Result<String> {
    let token = tokens.peek();
    let role = role(tokens)?;
    name_of(tokens, token, role)
}

/// The name of a role, whose place is at this token, where no word may stand for one.
fn name_of(tokens: &Tokens<'_>, token: Token<'_>, role: RoleName) -> Result<String> {
    let message = match role {
        RoleName::Named(name) => return Ok(name),
        RoleName::Public => "role name \"public\" is reserved".to_owned(),
        RoleName::Current | RoleName::Session => {
            format!("{} cannot be used as a role name here", token.text.to_ascii_uppercase())
        }
    };
    failed_at(tokens, token.start, sqlstate::RESERVED_NAME, &message)
}

/// `CREATE ROLE name [WITH] options`.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let Some(is_user) = kind(&mut tokens) else { return Ok(None) };
    let name = new_name(&mut tokens)?;
    tokens.accept("with");
    let mut options = options(&mut tokens, true)?;
    if is_user && !options.iter().any(|option| matches!(option, RoleOption::Login(_))) {
        options.push(RoleOption::Login(true));
    }
    tokens.end()?;
    Ok(Some(statement(AccessCommand::CreateRole { name, options })))
}

/// `ALTER ROLE`.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    if tokens.peek().is_word("default") && tokens.peek_at(1).is_word("privileges") {
        return tokens.unsupported(Missing::DefaultPrivileges, "ALTER DEFAULT PRIVILEGES is");
    }
    let is_group = tokens.peek().is_word("group");
    if kind(&mut tokens).is_none() {
        return Ok(None);
    }
    if !is_group && tokens.accept("all") {
        return stored_settings(&mut tokens, None).map(Some);
    }
    let token = tokens.peek();
    let name = role(&mut tokens)?;
    if is_group && (tokens.peek().is_word("add") || tokens.peek().is_word("drop")) {
        let is_revoke = tokens.next().is_word("drop");
        tokens.expect("user")?;
        let members = roles(&mut tokens)?;
        tokens.end()?;
        let RoleName::Named(group) = name else {
            return tokens.unsupported(Missing::Dialects, "ALTER GROUP of this is");
        };
        let (roles, option, grantor) = (vec![group], false, None);
        return Ok(Some(statement(AccessCommand::GrantRoles { is_revoke, roles, members, option, grantor })));
    }
    if tokens.accept("rename") {
        name_of(&tokens, token, name.clone())?;
        tokens.expect("to")?;
        let to = new_name(&mut tokens)?;
        tokens.end()?;
        return Ok(Some(statement(AccessCommand::RenameRole { name, to })));
    }
    if ["set", "reset", "in"].iter().any(|word| tokens.peek().is_word(word)) {
        return stored_settings(&mut tokens, Some(name)).map(Some);
    }
    tokens.accept("with");
    let options = options(&mut tokens, false)?;
    tokens.end()?;
    Ok(Some(statement(AccessCommand::AlterRole { name, options })))
}

/// What follows the name in `ALTER ROLE name [IN DATABASE database] SET ...`.
fn stored_settings(tokens: &mut Tokens<'_>, role: Option<RoleName>) -> Result<Statement> {
    let database = match tokens.accept("in") {
        true => {
            tokens.expect("database")?;
            Some(tokens.identifier()?)
        }
        false => None,
    };
    let change = setting_change(tokens)?;
    tokens.end()?;
    let of = SettingsTarget { role, database, is_of_database: false };
    Ok(statement(AccessCommand::Settings { of, change }))
}

/// `DROP ROLE [IF EXISTS] a, b`.
pub(super) fn drop(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if tokens.peek().is_word("owned") {
        return tokens.unsupported(Missing::OwnedObjects, "DROP OWNED is");
    }
    if kind(&mut tokens).is_none() {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let names = roles(&mut tokens)?;
    tokens.end()?;
    Ok(Some(statement(AccessCommand::DropRoles { names, if_exists })))
}

fn options(tokens: &mut Tokens<'_>, is_new: bool) -> Result<Vec<RoleOption>> {
    let mut options: Vec<RoleOption> = Vec::new();
    while tokens.peek().kind == TokenKind::Word {
        let start = tokens.peek().start;
        let option = option(tokens, is_new)?;
        let same = |known: &RoleOption| std::mem::discriminant(known) == std::mem::discriminant(&option);
        if options.iter().any(same) {
            let message = "conflicting or redundant options";
            return failed_at(tokens, start, sqlstate::SYNTAX_ERROR, message);
        }
        options.push(option);
    }
    Ok(options)
}

fn option(tokens: &mut Tokens<'_>, is_new: bool) -> Result<RoleOption> {
    let word = tokens.peek().text.to_ascii_lowercase();
    let (is_on, plain) = match word.strip_prefix("no") {
        Some(rest) => (false, rest),
        None => (true, word.as_str()),
    };
    let flag = match plain {
        "superuser" => Some(RoleOption::Superuser(is_on)),
        "createdb" => Some(RoleOption::CreateDatabases(is_on)),
        "createrole" => Some(RoleOption::CreateRoles(is_on)),
        "inherit" => Some(RoleOption::Inherit(is_on)),
        "login" => Some(RoleOption::Login(is_on)),
        "replication" => Some(RoleOption::Replication(is_on)),
        "bypassrls" => Some(RoleOption::BypassRowSecurity(is_on)),
        _ => None,
    };
    if let Some(flag) = flag {
        tokens.next();
        return Ok(flag);
    }
    match word.as_str() {
        "connection" => {
            tokens.next();
            tokens.expect("limit")?;
            let sign = if tokens.accept_symbol("-") { -1 } else { 1 };
            let Ok(limit) = tokens.peek().text.parse::<i32>() else { return tokens.error() };
            tokens.next();
            Ok(RoleOption::ConnectionLimit(sign * limit))
        }
        "encrypted" | "password" => {
            tokens.accept("encrypted");
            tokens.expect("password")?;
            let password = if tokens.accept("null") { None } else { Some(tokens.string()?) };
            Ok(RoleOption::Password(password))
        }
        "valid" => {
            tokens.next();
            tokens.expect("until")?;
            tokens.string().map(RoleOption::ValidUntil)
        }
        "in" if is_new => {
            tokens.next();
            if !tokens.accept("group") {
                tokens.expect("role")?;
            }
            roles(tokens).map(RoleOption::In)
        }
        "role" | "user" if is_new => {
            tokens.next();
            roles(tokens).map(RoleOption::Members)
        }
        "admin" if is_new => {
            tokens.next();
            roles(tokens).map(RoleOption::Admins)
        }
        "sysid" if is_new => {
            tokens.next();
            tokens.next();
            Ok(RoleOption::Number)
        }
        _ => {
            let message = format!("unrecognized role option \"{word}\"");
            failed_at(tokens, tokens.peek().start, sqlstate::SYNTAX_ERROR, &message)
        }
    }
}

/// GRANT and REVOKE, of rights and of memberships.
pub(super) fn grant(sql: &str, is_revoke: bool) -> Result<Statement> {
    let mut tokens = Tokens::after(sql, if is_revoke { "revoke" } else { "grant" })?;
    let mut option = false;
    if is_revoke {
        for word in ["grant", "admin"] {
            if tokens.peek().is_word(word) && tokens.peek_at(1).is_word("option") {
                tokens.next();
                tokens.next();
                tokens.expect("for")?;
                option = true;
            }
        }
    }
    let mut words = Vec::new();
    loop {
        let is_privilege =
            ["all", "select", "references", "create"].iter().any(|word| tokens.peek().is_word(word));
        words.push(if is_privilege { tokens.label()? } else { tokens.identifier()? });
        if tokens.peek().is_symbol("(") {
            return tokens.unsupported(Missing::ColumnRights, "rights on columns are");
        }
        if words.len() == 1 && words[0] == "all" {
            tokens.accept("privileges");
        }
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    if !tokens.accept("on") {
        return grant_roles(tokens, words, (is_revoke, option));
    }
    let on = granted_on(&mut tokens)?;
    tokens.expect(if is_revoke { "from" } else { "to" })?;
    tokens.accept("group");
    let grantees = roles(&mut tokens)?;
    if !is_revoke && tokens.accept("with") {
        tokens.expect("grant")?;
        tokens.expect("option")?;
        option = true;
    }
    let grantor = granted_by(&mut tokens)?;
    let cascades = is_revoke && tokens.drop_behavior();
    tokens.end()?;
    let privileges = if words == ["all"] { None } else { Some(words) };
    Ok(statement(AccessCommand::Grant(Granted {
        is_revoke,
        privileges,
        on,
        grantees,
        option,
        cascades,
        grantor,
    })))
}

fn granted_by(tokens: &mut Tokens<'_>) -> Result<Option<RoleName>> {
    if !tokens.accept("granted") {
        return Ok(None);
    }
    tokens.expect("by")?;
    role(tokens).map(Some)
}

fn grant_roles(
    mut tokens: Tokens<'_>,
    roles_granted: Vec<String>,
    (is_revoke, mut option): (bool, bool),
) -> Result<Statement> {
    tokens.expect(if is_revoke { "from" } else { "to" })?;
    let members = roles(&mut tokens)?;
    if !is_revoke && tokens.accept("with") {
        tokens.expect("admin")?;
        tokens.expect("option")?;
        option = true;
    }
    let grantor = granted_by(&mut tokens)?;
    if is_revoke {
        // Nothing depends on a membership.
        tokens.drop_behavior();
    }
    tokens.end()?;
    let roles = roles_granted;
    Ok(statement(AccessCommand::GrantRoles { is_revoke, roles, members, option, grantor }))
}

fn names(tokens: &mut Tokens<'_>) -> Result<Vec<QualifiedName>> {
    let names = tokens.qualified_names()?;
    Ok(names)
}

fn plain_names(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    let mut names = vec![tokens.identifier()?];
    while tokens.accept_symbol(",") {
        names.push(tokens.identifier()?);
    }
    Ok(names)
}

fn granted_on(tokens: &mut Tokens<'_>) -> Result<GrantedOn<Vec<WrittenParameter>>> {
    const MISSING: [&str; 6] = ["foreign", "language", "large", "parameter", "tablespace", "column"];
    // A table may have this name.
    let is_word = matches!(tokens.peek_at(1).kind, TokenKind::Word | TokenKind::QuotedIdentifier)
        && !tokens.peek_at(1).is_word("to")
        && !tokens.peek_at(1).is_word("from");
    let word = if is_word { tokens.peek().text.to_ascii_lowercase() } else { String::new() };
    if MISSING.contains(&word.as_str()) {
        return tokens
            .unsupported(Missing::AbsentRights, &format!("GRANT on {} is", word.to_ascii_uppercase()));
    }
    let routine = |kind| (kind, true);
    let (routine, is_routine) = match word.as_str() {
        "function" => routine(Some(RoutineKind::Function)),
        "procedure" => routine(Some(RoutineKind::Procedure)),
        "routine" => routine(None),
        _ => (None, false),
    };
    if is_routine {
        tokens.next();
        let mut routines = Vec::new();
        loop {
            let name = tokens.qualified_name()?;
            routines.push((name, signature_of(routine, tokens)?));
            if !tokens.accept_symbol(",") {
                return Ok(GrantedOn::Routines(routine, routines));
            }
        }
    }
    match word.as_str() {
        "table" => {
            tokens.next();
            names(tokens).map(GrantedOn::Tables)
        }
        "sequence" => {
            tokens.next();
            names(tokens).map(GrantedOn::Sequences)
        }
        "schema" => {
            tokens.next();
            plain_names(tokens).map(GrantedOn::Schemas)
        }
        "database" => {
            tokens.next();
            plain_names(tokens).map(GrantedOn::Databases)
        }
        "type" | "domain" => {
            tokens.next();
            names(tokens).map(GrantedOn::Types)
        }
        "all" => {
            tokens.next();
            let what = tokens.identifier()?;
            tokens.expect("in")?;
            tokens.expect("schema")?;
            let schemas = plain_names(tokens)?;
            Ok(match what.as_str() {
                "tables" => GrantedOn::AllTables(schemas),
                "sequences" => GrantedOn::AllSequences(schemas),
                "functions" => GrantedOn::AllRoutines(Some(RoutineKind::Function), schemas),
                "procedures" => GrantedOn::AllRoutines(Some(RoutineKind::Procedure), schemas),
                "routines" => GrantedOn::AllRoutines(None, schemas),
                _ => return tokens.error(),
            })
        }
        _ => names(tokens).map(GrantedOn::Tables),
    }
}

/// The privileges that words name.
pub(crate) fn privileges(words: &[String]) -> Result<Privileges> {
    let named = |word: &String| {
        Privileges::named(word).ok_or_else(|| {
            Error::input(sqlstate::SYNTAX_ERROR, format!("unrecognized privilege type \"{word}\""))
        })
    };
    words.iter().try_fold(Privileges::NONE, |all, word| Ok(all | named(word)?))
}
