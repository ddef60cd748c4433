//! Function calls: overloads are chosen as PostgreSQL chooses them (documentation, section 10.3).

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::{Function as Computation, Signature, TypePattern, lookup};
use hyades_types::interval::MAXIMUM_PRECISION;
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, Function, FunctionArguments};

use super::aggregate::is_aggregate_name;
use super::bound::no_parameter_type;
use super::coerce::{Category, category, is_preferred};
use super::defaults::with_defaults;
use super::missing::is_missing;
use super::routine_call::{Arguments, Chosen};
use super::row_syntax::{with_rows, without_variadic};
use super::sequence_call::without_regclass;
use super::types::other_database;
use super::window_call::is_window_function;
use super::{Binder, Bound, Class, Place};
use crate::evaluation;
use crate::statement::cursor_syntax::is_current_of;
use crate::statement::names::{fold, parts};

/// How well an overload fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    exact: usize,
    /// How many arguments are converted to a preferred type.
    preferred: usize,
    /// Unknown arguments that would become text.
    strings: usize,
}

/// The argument pattern at a position. The last one repeats for a variadic function.
fn pattern(signature: &Signature, at: usize) -> TypePattern {
    signature.arguments[at.min(signature.arguments.len() - 1)]
}

fn has_arity(signature: &Signature, arguments: usize) -> bool {
    if signature.is_variadic {
        arguments >= signature.arguments.len()
    } else {
        arguments == signature.arguments.len()
    }
}

fn fit(binder: &Binder<'_>, signature: &Signature, arguments: &[Bound]) -> Option<Fit> {
    let mut fit = Fit { exact: 0, preferred: 0, strings: 0 };
    for (at, argument) in arguments.iter().enumerate() {
        let wanted = match pattern(signature, at) {
            TypePattern::Any | TypePattern::Common => continue,
            TypePattern::Exact(wanted) => wanted,
        };
        match argument.known_type() {
            // varchar is as good as text for functions, since no function is declared for it.
            Some(own)
                if own.is_same_base(wanted)
                    || (wanted == SqlType::Text && matches!(own, SqlType::Varchar(_))) =>
            {
                fit.exact += 1;
            }
            Some(own) if binder.converts(own, wanted) => fit.preferred += usize::from(is_preferred(wanted)),
            Some(_) => return None,
            None => {
                fit.preferred += usize::from(is_preferred(wanted));
                fit.strings += usize::from(category(wanted) == Category::String);
            }
        }
    }
    Some(fit)
}

impl Binder<'_> {
    /// There is no such function, or it is not implemented yet.
    pub(crate) fn no_function_of(&self, name: &str, arguments: &[Bound], place: Place) -> Error {
        let types: Vec<&str> = arguments.iter().map(Bound::type_name).collect();
        let plain = name.strip_prefix("pg_catalog.").unwrap_or(name);
        if is_missing(plain) && self.candidates(&[plain.to_owned()]).is_empty() {
            return self.place(refused(Missing::Functions, &format!("function {plain} is")), place);
        }
        self.no_function(name, &types.join(", "), place)
    }

    pub(crate) fn no_function(&self, name: &str, arguments: &str, place: Place) -> Error {
        let error =
            Error::input(sqlstate::UNDEFINED_FUNCTION, format!("function {name}({arguments}) does not exist"))
                .with_hint(
                    "No function matches the given name and argument types. You might need to add explicit type casts.",
                );
        self.place(error, place)
    }

    /// A call as it is written: an aggregate, a function of the session, or one of the catalogue.
    pub(crate) fn call(&mut self, call: &Function) -> Result<Bound> {
        if let Some(call) = with_rows(call) {
            return self.call(&call);
        }
        let mut idents = parts(&call.name)?;
        let place = idents.first().map_or(Place::Unknown, |ident| Place::at(ident.span.start));
        if let [database, _, _] = idents.as_slice() {
            if fold(database) != self.context.database {
                let name = idents.iter().map(|ident| fold(ident)).collect::<Vec<String>>().join(".");
                return Err(self.place(other_database(&name), place));
            }
            idents.remove(0);
        }
        let name = match idents.as_slice() {
            [name] if is_current_of(&name.value) => {
                return self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \"of\"", place);
            }
            [name] => fold(name),
            [schema, name] if fold(schema) == "pg_catalog" => fold(name),
            [schema, name] => return self.qualified_call([fold(schema), fold(name)], call, place),
            _ => {
                let shown = call.name.to_string().to_ascii_lowercase();
                return Err(self.no_function(&shown, "...", place));
            }
        };
        if is_aggregate_name(&name)
            && let Some(call) = without_variadic(call)
        {
            return self.call(&call);
        }
        if let (FunctionArguments::Subquery(query), "array") = (&call.args, name.as_str()) {
            return self.array_subquery(query, place);
        }
        if let Some(over) = &call.over {
            return self.window_call(&name, call, over, place);
        }
        if is_window_function(&name) && !is_aggregate_name(&name) {
            return self.needs_window(&name, place);
        }
        if let Some(set) = self.try_set_call(call, place)? {
            return Ok(set);
        }
        if let Some(aggregate) = self.try_user_aggregate(std::slice::from_ref(&name), call, place)? {
            return Ok(aggregate);
        }
        if let Some(aggregate) = self.try_aggregate(&name, call, place)? {
            return Ok(aggregate);
        }
        let plain = without_regclass(&name, &call.args);
        let arguments = self.arguments(plain.as_ref().unwrap_or(&call.args), &name, place)?;
        self.plain_call(name, arguments, place)
    }

    /// A call of what is in a schema other than `pg_catalog`.
    fn qualified_call(&mut self, parts: [String; 2], call: &Function, place: Place) -> Result<Bound> {
        let full = parts.join(".");
        if let Some(over) = &call.over {
            return match self.means_aggregate(&parts, call) {
                true => self.window_call(&full, call, over, place),
                false => self.no_window_function(&full, place),
            };
        }
        // The information schema's own, whose schema all roles may use.
        if !lookup(&full).is_empty() {
            let arguments = self.arguments(&call.args, &full, place)?;
            return self.call_of(&full, arguments.bound, place);
        }
        self.check_schema(&parts[0], place)?;
        if let Some(aggregate) = self.try_user_aggregate(&parts, call, place)? {
            return Ok(aggregate);
        }
        let arguments = self.arguments(&call.args, &full, place)?;
        match self.routine_or_conversion(&parts, &arguments, place)? {
            Some(bound) => Ok(bound),
            None => Err(self.no_function(&full, &arguments.shown(), place)),
        }
    }

    /// A call of a function that is not qualified, with the arguments as they are written.
    fn plain_call(&mut self, name: String, arguments: Arguments, place: Place) -> Result<Bound> {
        if arguments.is_variadic() {
            if lookup(&name).is_empty()
                && let Some(bound) = self.try_routine(std::slice::from_ref(&name), &arguments, place)?
            {
                return Ok(bound);
            }
            return self.variadic_call(&name, arguments.bound, place);
        }
        let arguments = with_defaults(&name, arguments, place);
        if arguments.names.is_empty() {
            return self.call_of(&name, arguments.bound, place);
        }
        // Other functions of the catalogue have no parameter names.
        match self.try_routine(std::slice::from_ref(&name), &arguments, place)? {
            Some(bound) => Ok(bound),
            None => Err(self.no_function(&name, &arguments.shown(), place)),
        }
    }

    /// A call of a user's routine, or a conversion (`conversion_call`).
    fn routine_or_conversion(
        &mut self,
        idents: &[String],
        arguments: &Arguments,
        place: Place,
    ) -> Result<Option<Bound>> {
        let unnamed = if arguments.names.is_empty() { arguments.bound.as_slice() } else { &[] };
        let conversion = self.try_conversion(idents, unnamed)?;
        match conversion {
            Some(conversion) if conversion.is_before_routines => Ok(Some(conversion.bound)),
            conversion => {
                let routine = self.try_routine(idents, arguments, place)?;
                Ok(routine.or(conversion.map(|conversion| conversion.bound)))
            }
        }
    }

    fn arguments(&mut self, arguments: &FunctionArguments, name: &str, place: Place) -> Result<Arguments> {
        match arguments {
            FunctionArguments::None => Ok(Arguments::default()),
            FunctionArguments::Subquery(_) => {
                self.unsupported(Missing::OtherForms, "a subquery as an argument is", place)
            }
            FunctionArguments::List(list) => self.written_arguments(&list.args, name, place),
        }
    }

    /// A call with bound arguments.
    pub(crate) fn call_of(&mut self, name: &str, arguments: Vec<Bound>, place: Place) -> Result<Bound> {
        if let Some(bound) = self.try_session_call(name, &arguments, place)? {
            return Ok(bound);
        }
        if let Some(bound) = self.try_sequence_call(name, &arguments, place)? {
            return Ok(bound);
        }
        if let [argument] = arguments.as_slice()
            && let Some(bound) = self.try_clock(name, argument, place)?
        {
            return Ok(bound);
        }
        if let Some(bound) = self.try_array_call(name, &arguments, place)? {
            return Ok(bound);
        }
        if let Some(bound) = self.try_enum_call(name, &arguments, place)? {
            return Ok(bound);
        }
        if let Some(bound) = self.try_populate(name, &arguments, place)? {
            return Ok(bound);
        }
        if let Some(bound) = self.try_json_call(name, &arguments, place)? {
            return Ok(bound);
        }
        if lookup(name).is_empty() || self.is_extended(name, &arguments) {
            let arguments = Arguments { bound: arguments.clone(), names: Vec::new() };
            if let Some(bound) = self.routine_or_conversion(&[name.to_owned()], &arguments, place)? {
                return Ok(bound);
            }
            // `field(row)` is `(row).field`.
            if let [row] = arguments.bound.as_slice()
                && let Some(SqlType::Composite(row_type)) = row.known_type()
                && row_type.field(name).is_some()
            {
                return self.field_of_value(row, &ast::Ident::with_quote('"', name));
            }
        }
        if name == "coalesce" && !arguments.is_empty() {
            return self.coalesce(arguments, place);
        }
        if name == "nullif"
            && let [left, right] = arguments.as_slice()
        {
            return self.null_if(left.clone(), right.clone(), place);
        }
        let shown: Vec<&str> = arguments.iter().map(Bound::type_name).collect();
        let shown = shown.join(", ");
        let signature = self.choose(name, &arguments, &shown, place)?;
        self.apply(signature, name, arguments, place)
    }

    /// Whether an extension has functions of this name, which may be meant because an argument is of a type
    /// that an extension has brought.
    fn is_extended(&self, name: &str, arguments: &[Bound]) -> bool {
        let is_own = |argument: &Bound| argument.known_type().and_then(SqlType::extension_type).is_some();
        let is_member = |candidate: &Chosen| candidate.definition().traits.extension.is_some();
        arguments.iter().any(is_own) && self.candidates(&[name.to_owned()]).iter().any(is_member)
    }

    /// An operator that is listed under its symbol among the functions.
    pub(super) fn operator_of(&mut self, symbol: &str, sides: [Bound; 2], place: Place) -> Result<Bound> {
        let shown = format!("{} {symbol} {}", sides[0].type_name(), sides[1].type_name());
        let signature = match self.choose(symbol, &sides, "", place) {
            Ok(signature) => signature,
            Err(error) if error.sqlstate() == sqlstate::AMBIGUOUS_FUNCTION => {
                return Err(self.ambiguous_operator(&shown, place));
            }
            Err(_) => return Err(self.no_operator(&shown, place)),
        };
        let start = sides[0].place;
        self.apply(signature, symbol, sides.into(), start)
    }

    /// A call of this overload.
    fn apply(
        &mut self,
        signature: &Signature,
        name: &str,
        arguments: Vec<Bound>,
        place: Place,
    ) -> Result<Bound> {
        let common = self.common_argument(signature, &arguments, name)?;
        let mut coerced = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.into_iter().enumerate() {
            let expr = match pattern(signature, at) {
                TypePattern::Exact(wanted) => self.coerce(argument, wanted)?,
                TypePattern::Common => self.coerce(argument, common)?,
                TypePattern::Any => match argument.class {
                    // The function itself produces text forms. A literal without a type is text.
                    Class::Typed(_) => argument.expr,
                    Class::Parameter(number) => return Err(no_parameter_type(number)),
                    _ => self.coerce(argument, SqlType::Text)?,
                },
            };
            coerced.push(expr);
        }
        let result = match signature.result {
            TypePattern::Exact(result) => result,
            TypePattern::Common | TypePattern::Any => common,
        };
        let function = match (signature.function, result) {
            (Computation::Greatest, SqlType::Char(_)) => Computation::GreatestOfChar,
            (Computation::Least, SqlType::Char(_)) => Computation::LeastOfChar,
            (function, _) => function,
        };
        let expr = Expr::Call { function, arguments: coerced };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), result, place))
    }

    /// `current_timestamp(3)` and the like.
    fn try_clock(&mut self, name: &str, argument: &Bound, place: Place) -> Result<Option<Bound>> {
        let precision = match argument.expr {
            Expr::Const(Value::Integer(precision)) => u8::try_from(precision).ok(),
            _ => None,
        };
        let precision = precision.map(|precision| precision.min(MAXIMUM_PRECISION));
        let to = match name {
            "localtime" => SqlType::Time(precision),
            "current_time" => SqlType::TimeTz(precision),
            "localtimestamp" => SqlType::Timestamp(precision),
            "current_timestamp" => SqlType::TimestampTz(precision),
            _ => return Ok(None),
        };
        let clock = self.call_of(name, Vec::new(), place)?;
        self.coerce_explicitly(clock, to, place).map(Some)
    }

    /// The types to which a function of the catalogue converts its arguments.
    pub(super) fn shown_arguments(&self, name: &str, arguments: &[Bound]) -> Vec<Option<SqlType>> {
        let as_they_are = |bound: &Bound| match bound.class {
            Class::Typed(_) => None,
            _ => Some(SqlType::Text),
        };
        let natural = || arguments.iter().map(as_they_are).collect();
        if matches!(name, "coalesce" | "nullif") {
            let common = self.common_type(arguments, name).ok();
            return arguments.iter().map(|_| common).collect();
        }
        if lookup(name).is_empty() {
            return natural();
        }
        let Ok(signature) = self.choose(name, arguments, "", Place::Unknown) else { return natural() };
        let common = self.common_argument(signature, arguments, name).ok();
        let wanted = (0..arguments.len()).map(|at| match pattern(signature, at) {
            TypePattern::Exact(wanted) => Some(wanted),
            TypePattern::Common => common,
            TypePattern::Any => None,
        });
        wanted.collect()
    }

    fn common_argument(&self, signature: &Signature, arguments: &[Bound], name: &str) -> Result<SqlType> {
        let marked = arguments
            .iter()
            .enumerate()
            .filter(|(at, _)| pattern(signature, *at) == TypePattern::Common)
            .map(|(_, argument)| argument);
        if signature.arguments.contains(&TypePattern::Common) {
            return self.common_type(marked, &name.to_ascii_uppercase());
        }
        Ok(SqlType::Text)
    }

    /// The best overload.
    fn choose(
        &self,
        name: &str,
        arguments: &[Bound],
        shown: &str,
        place: Place,
    ) -> Result<&'static Signature> {
        let mut best: Option<(&'static Signature, Fit)> = None;
        let mut is_tied = false;
        for signature in lookup(name).iter().filter(|signature| has_arity(signature, arguments.len())) {
            let Some(fit) = fit(self, signature, arguments) else { continue };
            let rank = |fit: Fit| (fit.exact, fit.strings, fit.preferred);
            match best {
                Some((_, known)) if rank(fit) < rank(known) => {}
                Some((_, known)) if rank(fit) == rank(known) => is_tied = true,
                _ => {
                    best = Some((signature, fit));
                    is_tied = false;
                }
            }
        }
        let has_unknown = arguments.iter().any(|argument| !matches!(argument.class, Class::Typed(_)));
        match best {
            Some((signature, _)) if !is_tied || !has_unknown => Ok(signature),
            Some(_) => {
                let error = Error::input(
                    sqlstate::AMBIGUOUS_FUNCTION,
                    format!("function {name}({shown}) is not unique"),
                )
                .with_hint(
                    "Could not choose a best candidate function. You might need to add explicit type casts.",
                );
                Err(self.place(error, place))
            }
            None => Err(self.no_function_of(name, arguments, place)),
        }
    }
}
