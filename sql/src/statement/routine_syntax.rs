//! CREATE and DROP for procedures and functions.
//!
//! sqlparser reads these too, but without the positions that errors in a body need, and with options that
//! PostgreSQL does not have.

use hyades_types::definition::{
    DeclaredParallel, DeclaredVolatility, ParameterMode, RoutineKind, RoutineTraits,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::lexer::{TokenKind, character_position, string_value};
use super::parsed::{CreateRoutine, DropRoutine, QualifiedName, Statement, WrittenParameter, WrittenReturns};
use super::standard_body;
use super::tokens::Tokens;

/// `CREATE ...`, if it creates a routine.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let or_replace = tokens.peek().is_word("or") && tokens.peek_at(1).is_word("replace");
    if or_replace {
        tokens.next();
        tokens.next();
    }
    let kind = if tokens.accept("procedure") {
        RoutineKind::Procedure
    } else if tokens.accept("function") {
        RoutineKind::Function
    } else {
        return Ok(None);
    };
    let name = tokens.qualified_name()?;
    let parameters = parameters(&mut tokens)?;
    let mut create = CreateRoutine {
        or_replace,
        kind,
        name,
        parameters,
        returns: WrittenReturns::Unsaid,
        language: String::new(),
        body: String::new(),
        body_offset: 0,
        is_strict: false,
        traits: RoutineTraits::default(),
        path: None,
        is_standard: false,
    };
    let mut has_body = false;
    while tokens.peek().kind != TokenKind::End && !tokens.peek().is_symbol(";") {
        let had_body = has_body;
        has_body |= option(&mut tokens, &mut create)?;
        if create.is_standard {
            if had_body {
                return Err(standard_body::invalid("duplicate function body specified"));
            }
            break;
        }
    }
    tokens.end()?;
    if create.is_standard && create.language.is_empty() {
        "sql".clone_into(&mut create.language);
    }
    if !has_body {
        let message = "no function body specified";
        return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message));
    }
    if create.language.is_empty() {
        return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, "no language specified"));
    }
    Ok(Some(Statement::CreateRoutine(Box::new(create))))
}

/// `DO`. The language may be on either side of the block.
pub(crate) fn anonymous_block(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::after(sql, "do")?;
    let mut block = CreateRoutine {
        or_replace: false,
        kind: RoutineKind::Procedure,
        name: QualifiedName::new(None, "inline_code_block".to_owned()),
        parameters: Vec::new(),
        returns: WrittenReturns::Unsaid,
        language: String::new(),
        body: String::new(),
        body_offset: 0,
        is_strict: false,
        traits: RoutineTraits::default(),
        path: None,
        is_standard: false,
    };
    let mut has_body = false;
    while tokens.peek().kind != TokenKind::End && !tokens.peek().is_symbol(";") {
        if tokens.accept("language") {
            block.language = language(&mut tokens)?;
        } else if std::mem::replace(&mut has_body, true) {
            let message = "conflicting or redundant options";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
        } else {
            body(&mut tokens, &mut block)?;
        }
    }
    if !has_body {
        return match block.language.is_empty() {
            true => tokens.error(),
            false => Err(Error::input(sqlstate::SYNTAX_ERROR, "no inline code specified")),
        };
    }
    tokens.end()?;
    if block.language.is_empty() {
        "plpgsql".clone_into(&mut block.language);
    }
    Ok(Statement::Do(Box::new(block)))
}

fn language(tokens: &mut Tokens<'_>) -> Result<String> {
    match tokens.peek().kind {
        TokenKind::String => Ok(tokens.string()?.to_ascii_lowercase()),
        _ => tokens.identifier(),
    }
}

/// Reads one option after the parameters. Returns true if it was the body.
fn option(tokens: &mut Tokens<'_>, create: &mut CreateRoutine) -> Result<bool> {
    let word = tokens.peek().text.to_ascii_lowercase();
    if tokens.peek().kind != TokenKind::Word {
        return tokens.error();
    }
    match word.as_str() {
        "returns" => {
            tokens.next();
            returns(tokens, create)?;
        }
        "language" => {
            tokens.next();
            create.language = language(tokens)?;
        }
        "as" => {
            tokens.next();
            body(tokens, create)?;
            return Ok(true);
        }
        // Their promises to PostgreSQL's planner change nothing here.
        "immutable" | "stable" | "volatile" | "leakproof" | "not" | "cost" | "rows" | "parallel" => {
            promise(tokens, &mut create.traits)?;
        }
        "strict" => {
            tokens.next();
            create.is_strict = true;
        }
        "called" => {
            for word in ["called", "on", "null", "input"] {
                tokens.expect(word)?;
            }
        }
        "external" | "security" => {
            tokens.accept("external");
            tokens.expect("security")?;
            if tokens.accept("definer") {
                return tokens.unsupported_before(Missing::SecurityDefiner, "SECURITY DEFINER is");
            }
            tokens.expect("invoker")?;
        }
        "set" if tokens.peek_at(1).is_word("search_path") => {
            tokens.next();
            tokens.next();
            create.path = Some(search_path(tokens)?);
        }
        "set" | "window" | "transform" | "support" => {
            return tokens.unsupported(
                Missing::RoutineSettings,
                &format!("{} for a routine is", word.to_ascii_uppercase()),
            );
        }
        "begin" | "return" => {
            create.body_offset = character_position(tokens.sql, tokens.peek().start) - 1;
            standard_body::read(tokens)?.clone_into(&mut create.body);
            create.is_standard = true;
            return Ok(true);
        }
        _ => return tokens.error(),
    }
    Ok(false)
}

fn promise(tokens: &mut Tokens<'_>, traits: &mut RoutineTraits) -> Result<()> {
    let word = tokens.next().text.to_ascii_lowercase();
    match word.as_str() {
        "immutable" => traits.volatility = DeclaredVolatility::Immutable,
        "stable" => traits.volatility = DeclaredVolatility::Stable,
        "volatile" => traits.volatility = DeclaredVolatility::Volatile,
        "leakproof" => traits.is_leakproof = true,
        "not" => {
            tokens.expect("leakproof")?;
            traits.is_leakproof = false;
        }
        "cost" => traits.cost = Some(positive(tokens, "COST")?),
        "rows" => traits.rows = Some(positive(tokens, "ROWS")?),
        _ => {
            let degree = tokens.identifier()?;
            traits.parallel = match degree.as_str() {
                "safe" => DeclaredParallel::Safe,
                "restricted" => DeclaredParallel::Restricted,
                "unsafe" => DeclaredParallel::Unsafe,
                _ => {
                    let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                    return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
                }
            };
        }
    }
    Ok(())
}

fn positive(tokens: &mut Tokens<'_>, what: &str) -> Result<f32> {
    let is_negative = tokens.accept_symbol("-");
    let Ok(number) = tokens.peek().text.parse::<f32>() else { return tokens.error() };
    tokens.next();
    if is_negative || number <= 0.0 {
        let message = format!("{what} must be positive");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(number)
}

/// The schemas in SET search_path.
fn search_path(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    if !tokens.accept("to") {
        tokens.expect_symbol("=")?;
    }
    let mut schemas = Vec::new();
    loop {
        let schema = match tokens.peek().kind {
            TokenKind::String => tokens.string()?,
            _ => tokens.identifier()?,
        };
        schemas.extend(Some(schema).filter(|schema| !schema.is_empty()));
        if !tokens.accept_symbol(",") {
            return Ok(schemas);
        }
    }
}

/// The text of a body.
fn body(tokens: &mut Tokens<'_>, create: &mut CreateRoutine) -> Result<()> {
    let token = tokens.peek();
    if token.kind != TokenKind::String {
        return tokens.error();
    }
    create.body = string_value(token.text);
    let opening = if token.text.starts_with('$') {
        token.text[1..].find('$').map_or(0, |end| end + 2)
    } else {
        token.text.find('\'').map_or(0, |quote| quote + 1)
    };
    create.body_offset = character_position(tokens.sql, token.start + opening) - 1;
    tokens.next();
    if tokens.peek().is_symbol(",") {
        return tokens.unsupported(Missing::Languages, "functions in C are");
    }
    Ok(())
}

fn returns(tokens: &mut Tokens<'_>, create: &mut CreateRoutine) -> Result<()> {
    let position = character_position(tokens.sql, tokens.peek().start);
    if tokens.peek().is_word("null") && tokens.peek_at(1).is_word("on") {
        for word in ["null", "on", "null", "input"] {
            tokens.expect(word)?;
        }
        create.is_strict = true;
        return Ok(());
    }
    if create.kind == RoutineKind::Procedure {
        return Err(super::lexer::syntax_error(tokens.sql, &tokens.peek()));
    }
    if tokens.accept("table") {
        create.returns = WrittenReturns::Table(parameters(tokens)?);
        return Ok(());
    }
    let is_set = tokens.accept("setof");
    let name = type_name(tokens)?;
    create.returns = WrittenReturns::Type { name, is_set, position };
    Ok(())
}

/// Words that continue a type's name.
const TYPE_WORDS: [&str; 8] = ["precision", "varying", "with", "without", "time", "zone", "large", "array"];

/// The text of a type's name.
fn type_name(tokens: &mut Tokens<'_>) -> Result<String> {
    let start = tokens.peek().start;
    if !matches!(tokens.peek().kind, TokenKind::Word | TokenKind::QuotedIdentifier) {
        return tokens.error();
    }
    let mut end = tokens.next().end();
    loop {
        let token = tokens.peek();
        let continues = match token.kind {
            TokenKind::Word => TYPE_WORDS.iter().any(|word| token.is_word(word)),
            TokenKind::Symbol => matches!(token.text, "(" | "[" | "." | "%"),
            _ => false,
        };
        if !continues {
            return Ok(tokens.sql[start..end].to_owned());
        }
        tokens.next();
        end = token.end();
        match token.text {
            "(" | "[" => {
                let closing = if token.text == "(" { ")" } else { "]" };
                while !tokens.peek().is_symbol(closing) {
                    if tokens.peek().kind == TokenKind::End {
                        return tokens.error();
                    }
                    tokens.next();
                }
                end = tokens.next().end();
            }
            "." | "%" => end = tokens.next().end(),
            _ => {}
        }
    }
}

/// Whether the two words together begin a type of several words.
fn is_type_of_words(first: &str, second: &str) -> bool {
    matches!(
        (first.to_ascii_lowercase().as_str(), second.to_ascii_lowercase().as_str()),
        ("double", "precision")
            | ("character" | "char" | "bit", "varying")
            | ("timestamp" | "time", "with" | "without")
            | ("national", "character" | "char")
    )
}

/// `(mode name type DEFAULT expression, ...)`.
fn parameters(tokens: &mut Tokens<'_>) -> Result<Vec<WrittenParameter>> {
    tokens.expect_symbol("(")?;
    let mut parameters = Vec::new();
    if tokens.accept_symbol(")") {
        return Ok(parameters);
    }
    loop {
        parameters.push(parameter(tokens)?);
        if tokens.accept_symbol(")") {
            return Ok(parameters);
        }
        tokens.expect_symbol(",")?;
    }
}

fn parameter(tokens: &mut Tokens<'_>) -> Result<WrittenParameter> {
    let position = character_position(tokens.sql, tokens.peek().start);
    let mode = mode(tokens)?;
    let (first, second) = (tokens.peek(), tokens.peek_at(1));
    let is_named = matches!(second.kind, TokenKind::Word | TokenKind::QuotedIdentifier)
        && !is_type_of_words(first.text, second.text)
        && !second.is_word("default")
        && !second.is_word("array");
    let name = if is_named { Some(tokens.identifier()?) } else { None };
    // PostgreSQL also allows `name mode type`.
    let mode = match mode {
        Some(mode) => mode,
        None if name.is_some() => self::mode(tokens)?.unwrap_or_default(),
        None => ParameterMode::In,
    };
    let type_name = type_name(tokens)?;
    let default = if tokens.accept("default") || tokens.accept_symbol("=") || tokens.accept_symbol(":=") {
        Some(default(tokens)?)
    } else {
        None
    };
    Ok(WrittenParameter { name, mode, type_name, default, position })
}

/// A type, in the form of a parameter without a name.
pub(super) fn unnamed_type(tokens: &mut Tokens<'_>) -> Result<WrittenParameter> {
    let position = character_position(tokens.sql, tokens.peek().start);
    let type_name = type_name(tokens)?;
    Ok(WrittenParameter { name: None, mode: ParameterMode::In, type_name, default: None, position })
}

fn mode(tokens: &mut Tokens<'_>) -> Result<Option<ParameterMode>> {
    // A word with nothing more after it is a type.
    let is_mode = !matches!(tokens.peek_at(1).text, "," | ")");
    if !is_mode {
        return Ok(None);
    }
    if tokens.accept("in") {
        return Ok(Some(if tokens.accept("out") { ParameterMode::InOut } else { ParameterMode::In }));
    }
    if tokens.accept("out") {
        return Ok(Some(ParameterMode::Out));
    }
    if tokens.accept("inout") {
        return Ok(Some(ParameterMode::InOut));
    }
    if tokens.accept("variadic") {
        return Ok(Some(ParameterMode::Variadic));
    }
    Ok(None)
}

/// The text of a default, up to the comma or parenthesis after it.
fn default(tokens: &mut Tokens<'_>) -> Result<String> {
    let start = tokens.peek().start;
    let mut end = start;
    let mut open = 0usize;
    loop {
        let token = tokens.peek();
        match token.text {
            _ if token.kind == TokenKind::End => return tokens.error(),
            "," | ")" if open == 0 && token.kind == TokenKind::Symbol => break,
            "(" | "[" if token.kind == TokenKind::Symbol => open += 1,
            ")" | "]" if token.kind == TokenKind::Symbol => open = open.saturating_sub(1),
            _ => {}
        }
        end = tokens.next().end();
    }
    if end == start {
        return tokens.error();
    }
    Ok(tokens.sql[start..end].to_owned())
}

/// The arguments that distinguish a routine of this kind from others of its name, if they are given.
pub(super) fn signature_of(
    kind: Option<RoutineKind>,
    tokens: &mut Tokens<'_>,
) -> Result<Option<Vec<WrittenParameter>>> {
    match kind {
        Some(RoutineKind::Aggregate) => aggregate_signature(tokens).map(Some),
        _ if tokens.peek().is_symbol("(") => parameters(tokens).map(Some),
        _ => Ok(None),
    }
}

/// `(*)`, or parameters.
pub(super) fn aggregate_signature(tokens: &mut Tokens<'_>) -> Result<Vec<WrittenParameter>> {
    if tokens.peek_at(1).is_symbol("*") {
        tokens.expect_symbol("(")?;
        tokens.next();
        tokens.expect_symbol(")")?;
        return Ok(Vec::new());
    }
    if tokens.peek_at(1).is_symbol(")") {
        tokens.next();
        return tokens.error();
    }
    if tokens.peek_at(1).is_word("order") && tokens.peek_at(2).is_word("by") {
        return tokens.unsupported(Missing::Aggregates, "ordered-set aggregates of users are");
    }
    parameters(tokens)
}

/// `DROP ...`, if it drops routines.
pub(crate) fn drop_routine(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    let kind = if tokens.accept("procedure") {
        Some(RoutineKind::Procedure)
    } else if tokens.accept("function") {
        Some(RoutineKind::Function)
    } else if tokens.accept("aggregate") {
        Some(RoutineKind::Aggregate)
    } else if tokens.accept("routine") {
        None
    } else {
        return Ok(None);
    };
    let if_exists = tokens.if_exists()?;
    let mut names = Vec::new();
    loop {
        let name = tokens.qualified_name()?;
        let arguments = signature_of(kind, &mut tokens)?;
        names.push((name, arguments));
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropRoutine(DropRoutine { kind, if_exists, names, cascades })))
}
