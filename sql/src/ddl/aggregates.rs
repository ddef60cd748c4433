//! CREATE AGGREGATE.
//!
//! Reference: PostgreSQL's DefineAggregate and AggregateCreate.

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::definition::{
    AggregateDefinition, AggregateSteps, DeclaredParallel, ParameterMode, Returns, RoutineDefinition,
    RoutineKind, RoutineParameter, RoutineTraits, SupportFunction, TableName,
};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use crate::bind::coerce::is_implicit;
use crate::bind::polymorphic::{check_results, polymorphic_hint};
use crate::bind::routine_call::{Arguments, value_type};
use crate::bind::support_call::BUILT_IN;
use crate::bind::{Bound, Place};
use crate::emit::{Compiler, unsupported};
use crate::statement::CreateAggregate;
use crate::statement::aggregate_syntax::function_name;
use crate::statement::call_syntax::VARIADIC;
use crate::system::builtins;

/// Options that only concern parallel work and estimates, or say what is so anyway.
const WITHOUT_EFFECT: [&str; 7] = [
    "combinefunc",
    "serialfunc",
    "deserialfunc",
    "sspace",
    "msspace",
    "finalfunc_modify",
    "mfinalfunc_modify",
];

/// The names of the options that give a state and its functions.
struct Words {
    transition: &'static str,
    state: &'static str,
    initial: &'static str,
    last: &'static str,
    takes_arguments: &'static str,
}

const PLAIN: Words = Words {
    transition: "sfunc",
    state: "stype",
    initial: "initcond",
    last: "finalfunc",
    takes_arguments: "finalfunc_extra",
};

const MOVING: Words = Words {
    transition: "msfunc",
    state: "mstype",
    initial: "minitcond",
    last: "mfinalfunc",
    takes_arguments: "mfinalfunc_extra",
};

/// The types of the arguments, and whether the last one is the array of VARIADIC.
struct Inputs {
    types: Vec<SqlType>,
    is_variadic: bool,
}

/// The options of a statement.
struct Options<'a>(&'a [(String, Option<String>)]);

impl<'a> Options<'a> {
    /// The value of an option, also under its name of before PostgreSQL 8.2.
    fn given(&self, name: &str) -> Option<&'a str> {
        let is_it = |own: &str| own == name || own.strip_suffix('1') == Some(name);
        let found = self.0.iter().rev().find(|(own, _)| is_it(own));
        found.map(|(_, value)| value.as_deref().unwrap_or("true"))
    }

    fn is_set(&self, name: &str) -> bool {
        self.given(name).is_some_and(|value| matches!(value, "true" | "on" | "1"))
    }

    /// Refuses what is unknown.
    fn check(&self) -> Result<()> {
        const KNOWN: [&str; 17] = [
            "sfunc",
            "sfunc1",
            "stype",
            "stype1",
            "initcond",
            "initcond1",
            "finalfunc",
            "finalfunc_extra",
            "msfunc",
            "mstype",
            "minitcond",
            "mfinalfunc",
            "mfinalfunc_extra",
            "minvfunc",
            "sortop",
            "basetype",
            "parallel",
        ];
        for (name, _) in self.0 {
            if name == "hypothetical" {
                return unsupported(Missing::Aggregates, "hypothetical-set aggregates of users are");
            }
            if !KNOWN.contains(&name.as_str()) && !WITHOUT_EFFECT.contains(&name.as_str()) {
                let message = format!("aggregate attribute \"{name}\" not recognized");
                return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
            }
        }
        Ok(())
    }
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message))
}

fn is_same(one: SqlType, other: SqlType) -> bool {
    one.without_modifier() == other.without_modifier()
}

impl Compiler<'_> {
    pub(crate) fn create_aggregate(&mut self, create: &CreateAggregate) -> Result<CatalogStatement> {
        let options = Options(&create.options);
        options.check()?;
        let name = self.created_name(&create.name, None)?;
        let parameters = self.parameters_of_aggregate(create, &options)?;
        let types = parameters.iter().map(|parameter| parameter.sql_type).collect();
        let is_variadic = parameters.iter().any(|parameter| parameter.mode == ParameterMode::Variadic);
        let inputs = Inputs { types, is_variadic };
        let (steps, result) = self.steps(&options, &PLAIN, &inputs)?;
        let moving = self.moving_steps(&options, &inputs, result)?;
        let sort_operator = options.given("sortop").map(str::to_owned);
        if sort_operator.is_some() && inputs.types.len() != 1 {
            return invalid("aggregate sortop can only be specified for single-argument aggregates");
        }
        let traits = RoutineTraits { parallel: parallel(&options)?, ..RoutineTraits::default() };
        let definition = RoutineDefinition {
            name,
            kind: RoutineKind::Aggregate,
            parameters,
            returns: Returns::Value(result),
            language: "internal".to_owned(),
            body: String::new(),
            is_strict: false,
            path: None,
            traits,
            uses: None,
            aggregate: Some(Box::new(AggregateDefinition { steps, moving, sort_operator })),
            cast: None,
            declared: None,
        };
        check_results(&definition)?;
        let definition = Box::new(definition);
        let command =
            SchemaCommand::CreateRoutine { definition, body_offset: 0, or_replace: create.or_replace };
        Ok(CatalogStatement::new("CREATE AGGREGATE", command))
    }

    fn parameters_of_aggregate(
        &mut self,
        create: &CreateAggregate,
        options: &Options<'_>,
    ) -> Result<Vec<RoutineParameter>> {
        let parameters = match (&create.parameters, options.given("basetype")) {
            (None, None) => return invalid("aggregate input type must be specified"),
            (Some(_), Some(_)) => {
                return invalid("basetype is redundant with aggregate input type specification");
            }
            (None, Some(base)) if base.eq_ignore_ascii_case("any") => Vec::new(),
            (None, Some(base)) => {
                let sql_type = self.written_type(base)?;
                vec![RoutineParameter { name: None, sql_type, mode: ParameterMode::In, default: None }]
            }
            (Some(written), None) => self.written_parameters(written)?,
        };
        let mut is_variadic = false;
        for parameter in &parameters {
            if parameter.mode.is_output() {
                return invalid("aggregates cannot have output arguments");
            }
            if parameter.default.is_some() {
                return invalid("aggregates cannot have default values for arguments");
            }
            super::routine_definition::check_variadic(parameter, is_variadic, RoutineKind::Aggregate)?;
            is_variadic |= parameter.mode == ParameterMode::Variadic;
        }
        Ok(parameters)
    }

    /// The state and its functions, and the type of the result.
    fn steps(
        &mut self,
        options: &Options<'_>,
        words: &Words,
        inputs: &Inputs,
    ) -> Result<(AggregateSteps, SqlType)> {
        let Some(state) = options.given(words.state) else {
            return invalid(&format!("aggregate {} must be specified", words.state));
        };
        let Some(transition) = options.given(words.transition) else {
            return invalid(&format!("aggregate {} must be specified", words.transition));
        };
        let state = self.state_type(state, inputs)?;
        let mut arguments = vec![state];
        arguments.extend(&inputs.types);
        let (transition, returned) = self.support_function(transition, &arguments, inputs.is_variadic)?;
        if !is_same(returned, state) {
            return Err(wrong_result("transition", &transition, state));
        }
        let initial = options.given(words.initial).map(str::to_owned);
        let begins_with_input = transition.is_strict && initial.is_none();
        if begins_with_input && inputs.types.first().is_none_or(|first| !is_same(*first, state)) {
            return invalid(
                "must not omit initial value when transition function is strict and transition type is not \
                 compatible with input type",
            );
        }
        let last_takes_arguments = options.is_set(words.takes_arguments);
        let (last, result) = match options.given(words.last) {
            None => (None, state),
            Some(last) => {
                let given = if last_takes_arguments { &arguments[..] } else { &arguments[..1] };
                let is_variadic = inputs.is_variadic && last_takes_arguments;
                let (last, result) = self.support_function(last, given, is_variadic)?;
                (Some(last), result)
            }
        };
        Ok((AggregateSteps { state, transition, initial, last, last_takes_arguments }, result))
    }

    fn moving_steps(
        &mut self,
        options: &Options<'_>,
        inputs: &Inputs,
        result: SqlType,
    ) -> Result<Option<Box<(AggregateSteps, SupportFunction)>>> {
        if options.given("mstype").is_none() {
            for word in ["msfunc", "minvfunc", "mfinalfunc", "minitcond"] {
                if options.given(word).is_some() {
                    return invalid(&format!("aggregate {word} must not be specified without mstype"));
                }
            }
            return Ok(None);
        }
        for word in ["msfunc", "minvfunc"] {
            if options.given(word).is_none() {
                return invalid(&format!("aggregate {word} must be specified when mstype is specified"));
            }
        }
        let (steps, moving_result) = self.steps(options, &MOVING, inputs)?;
        let mut arguments = vec![steps.state];
        arguments.extend(&inputs.types);
        let inverse = options.given("minvfunc").unwrap_or_default();
        let (inverse, returned) = self.support_function(inverse, &arguments, inputs.is_variadic)?;
        if !is_same(returned, steps.state) {
            return Err(wrong_result("inverse transition", &inverse, steps.state));
        }
        if inverse.is_strict != steps.transition.is_strict {
            return invalid("strictness of aggregate's forward and inverse transition functions must match");
        }
        if !is_same(moving_result, result) {
            let message = format!(
                "moving-aggregate implementation returns type {}, but plain implementation returns type {}",
                moving_result.base_name(),
                result.base_name()
            );
            return invalid(&message);
        }
        Ok(Some(Box::new((steps, inverse))))
    }

    fn state_type(&mut self, text: &str, inputs: &Inputs) -> Result<SqlType> {
        if text.eq_ignore_ascii_case("internal") {
            return unsupported(Missing::Aggregates, "aggregates with a state of type internal are");
        }
        let state = self.written_type(text)?;
        let Some(kind) = state.polymorphic() else { return Ok(state) };
        let mut known = inputs.types.iter().filter_map(|input| input.polymorphic());
        if known.any(|input| input.is_compatible() == kind.is_compatible()) {
            return Ok(state);
        }
        let message = "cannot determine transition data type";
        Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message).with_detail(polymorphic_hint(kind)))
    }

    /// The function of this name that takes these arguments, and the type of its result.
    fn support_function(
        &mut self,
        text: &str,
        types: &[SqlType],
        is_variadic: bool,
    ) -> Result<(SupportFunction, SqlType)> {
        let name = function_name(text)?;
        if name.schema.as_deref().is_none_or(|schema| schema == BUILT_IN)
            && let Some(found) = self.built_in_function(&name.name, types)?
        {
            return Ok(found);
        }
        let bound = types.iter().map(|one| Bound::typed(Expr::Register(0), *one, Place::Unknown));
        let names = if is_variadic { vec![VARIADIC.to_owned()] } else { Vec::new() };
        let arguments = Arguments { bound: bound.collect(), names };
        let parts: Vec<String> = name.schema.iter().chain([&name.name]).cloned().collect();
        let function = RoutineKind::Function;
        let chosen = self.binder.choose_routine(&parts, &arguments, function, Place::Unknown)?;
        let chosen = chosen.as_ref().filter(|chosen| chosen.definition().kind == function);
        let found =
            chosen.and_then(|chosen| Some((chosen, chosen.stored()?.1, value_type(chosen.definition())?)));
        let Some((chosen, stored, result)) = found else {
            let message = format!("function {}({}) does not exist", name.shown(), arguments.shown());
            return Err(Error::input(sqlstate::UNDEFINED_FUNCTION, message));
        };
        let definition = &stored.definition;
        if !chosen.definition().input_types().iter().zip(types).all(|(own, given)| is_same(*own, *given)) {
            let signature = definition.signature();
            let message = format!("function {signature} requires run-time type coercion");
            return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message));
        }
        let (types, is_strict) = (definition.identity(), definition.is_strict);
        Ok((SupportFunction { name: definition.name.clone(), types, is_strict, is_variadic }, result))
    }

    fn built_in_function(
        &mut self,
        name: &str,
        types: &[SqlType],
    ) -> Result<Option<(SupportFunction, SqlType)>> {
        let fits = |own: u32, given: SqlType| {
            let is_array = matches!(given, SqlType::Array(_));
            let Some(declared) = SqlType::from_oid(own, -1) else { return false };
            match (declared.polymorphic(), given.polymorphic()) {
                (Some(own), Some(given)) => {
                    own.is_compatible() == given.is_compatible() && own.is_array() == given.is_array()
                }
                (Some(own), None) => is_array || !own.is_array(),
                (None, _) => own == given.oid() || is_implicit(given, declared),
            }
        };
        let all_fit = |own: &[u32]| {
            own.len() == types.len() && own.iter().zip(types).all(|(own, given)| fits(*own, *given))
        };
        let is_exact = |own: &[u32]| own.iter().copied().eq(types.iter().map(|one| one.oid()));
        let exact = builtins::callable(name).find(|own| is_exact(own.types));
        let Some(found) = exact.or_else(|| builtins::callable(name).find(|own| all_fit(own.types))) else {
            return Ok(None);
        };
        let declared = found.types.iter().zip(types);
        let declared = declared.map(|(own, given)| SqlType::from_oid(*own, -1).unwrap_or(*given)).collect();
        let name = TableName { schema: BUILT_IN.to_owned(), name: name.to_owned() };
        let function =
            SupportFunction { name, types: declared, is_strict: found.is_strict, is_variadic: false };
        if types.iter().any(|one| one.is_polymorphic()) {
            let result = SqlType::from_oid(found.result, -1).filter(|result| !result.is_polymorphic());
            return Ok(Some((function, result.unwrap_or(types[0]))));
        }
        let registers: Vec<(Register, SqlType)> = types.iter().map(|one| (0, *one)).collect();
        let bound = self.binder.support_call(&function, &registers)?;
        let result = bound.known_type().unwrap_or(SqlType::Text).without_modifier();
        // An expression that computes the same may have another type of the same values.
        let returned = if is_implicit(result, types[0]) { types[0] } else { result };
        Ok(Some((function, returned)))
    }
}

fn wrong_result(what: &str, function: &SupportFunction, state: SqlType) -> Error {
    let name = &function.name.name;
    let message = format!("return type of {what} function {name} is not {}", state.base_name());
    Error::input(sqlstate::DATATYPE_MISMATCH, message)
}

fn parallel(options: &Options<'_>) -> Result<DeclaredParallel> {
    Ok(match options.given("parallel") {
        None => DeclaredParallel::Unsafe,
        Some("safe") => DeclaredParallel::Safe,
        Some("restricted") => DeclaredParallel::Restricted,
        Some("unsafe") => DeclaredParallel::Unsafe,
        Some(_) => {
            let state: SqlState = sqlstate::SYNTAX_ERROR;
            let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
            return Err(Error::input(state, message));
        }
    })
}
