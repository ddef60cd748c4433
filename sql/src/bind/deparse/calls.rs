//! Printing of functions, and of constructs with a grammar of their own.

use hyades_types::definition::{ParameterMode, RoutineDefinition, RoutineKind, RoutineParameter};
use hyades_types::error::Result;
use hyades_types::function::lookup;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::{ArrayElement, SqlType};
use sqlparser::ast::{
    self, AccessExpr, DuplicateTreatment, Expr as Ast, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, ObjectName, Subscript, TrimWhereField,
};

use super::super::aggregate::{aggregate_kind, is_aggregate_name};
use super::super::aggregation::{AggregateKind, AggregateMode};
use super::super::array_expression::pattern_symbol;
use super::super::coerce::{Category, category};
use super::super::operator::{from_ast, shown_operands};
use super::super::routine_call::{Arguments, Given};
use super::super::row_syntax::row_items;
use super::super::{Bound, Class, Place};
use super::expressions::{Around, Shape, Shown};
use super::{Deparser, order_words, quoted};
use crate::statement::call_syntax::plain_argument;
use crate::statement::field_wildcard;
use crate::statement::kept_names::quoted_literal;
use crate::statement::names::{fold, parts};

/// How many blanks WHEN is indented from CASE.
const WHEN: i32 = 4;

impl Deparser<'_, '_> {
    pub(super) fn construct(&mut self, node: &Ast) -> Result<Shown> {
        match node {
            Ast::Function(call) => self.function(call),
            Ast::Case { operand, conditions, else_result, .. } => {
                self.case(node, operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::Like { negated, any: false, expr, pattern, escape_char: None } => {
                self.pattern(expr, if *negated { "!~~" } else { "~~" }, pattern)
            }
            Ast::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                self.pattern(expr, if *negated { "!~~*" } else { "~~*" }, pattern)
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let time = self.expression_as_written(timestamp, SqlType::TIMESTAMPTZ)?;
                let zone = self.expression_as_written(time_zone, SqlType::Text)?;
                let (time, zone) = (self.inside(time, Around::Cast), self.inside(zone, Around::Cast));
                Ok(Shown::simple(format!("({time} AT TIME ZONE {zone})")))
            }
            Ast::Collate { expr, .. } => {
                let inner = self.expression(expr)?;
                let inner = self.inside(inner, Around::Test);
                Ok(self.whole(format!("{inner} COLLATE \"C\""), Shape::Test))
            }
            Ast::Subquery(query) => {
                let text = self.nested(query, true, false)?;
                Ok(Shown { shape: Shape::Simple, ..Shown::simple(format!("({text})")) })
            }
            Ast::Exists { subquery, negated } => {
                let text = self.nested(subquery, true, false)?;
                Ok(self.negated(
                    Shown { shape: Shape::Test, ..Shown::simple(format!("(EXISTS ({text}))")) },
                    *negated,
                ))
            }
            Ast::InSubquery { expr, subquery, negated } => {
                let test = self.compared_with_query(expr, (BinaryOperator::Equal, "IN"), subquery)?;
                Ok(self.negated(test, *negated))
            }
            Ast::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, "ANY", right),
            Ast::AllOp { left, compare_op, right } => self.quantified(left, compare_op, "ALL", right),
            Ast::Array(array) => {
                let element = match self.bound(node)?.class {
                    Class::Typed(SqlType::Array(element)) => element.sql_type(),
                    _ => SqlType::Text,
                };
                let items = array.elem.iter().map(|item| Ok(self.expression_as(item, element)?.text));
                let items = items.collect::<Result<Vec<String>>>()?;
                Ok(Shown::simple(format!("ARRAY[{}]", items.join(", "))))
            }
            Ast::CompoundFieldAccess { root, access_chain } => self.element(root, access_chain),
            other => self.worded(other),
        }
    }

    /// Functions whose arguments have words between them.
    fn worded(&mut self, node: &Ast) -> Result<Shown> {
        match node {
            Ast::Extract { field, expr, .. } => {
                let field = field.to_string().to_ascii_lowercase();
                let from = self.expression(expr)?.text;
                Ok(Shown::simple(format!("EXTRACT({} FROM {from})", field.trim_matches('\''))))
            }
            Ast::Ceil { expr, .. } => self.call("ceil", &[expr]),
            Ast::Floor { expr, .. } => self.call("floor", &[expr]),
            Ast::Position { expr, r#in } => {
                let (part, whole) =
                    (self.expression_as(expr, SqlType::Text)?, self.expression_as(r#in, SqlType::Text)?);
                Ok(Shown::simple(format!("POSITION(({}) IN ({}))", part.text, whole.text)))
            }
            Ast::Substring { expr, substring_from, substring_for, special, shorthand } => self.substring(
                expr,
                substring_from.as_deref(),
                substring_for.as_deref(),
                *special,
                *shorthand,
            ),
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                let word = match trim_where {
                    Some(TrimWhereField::Leading) => "LEADING",
                    Some(TrimWhereField::Trailing) => "TRAILING",
                    Some(TrimWhereField::Both) | None => "BOTH",
                };
                let what = trim_what.as_deref().or(trim_characters.iter().flatten().next());
                let what = match what {
                    Some(what) => format!(" {}", self.expression_as(what, SqlType::Text)?.text),
                    None => String::new(),
                };
                let inner = self.expression_as(expr, SqlType::Text)?.text;
                Ok(Shown::simple(format!("TRIM({word}{what} FROM {inner})")))
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let inner = self.expression(expr)?.text;
                let what = self.expression(overlay_what)?.text;
                let from = self.expression(overlay_from)?.text;
                let count = match overlay_for {
                    Some(count) => format!(" FOR {}", self.expression(count)?.text),
                    None => String::new(),
                };
                Ok(Shown::simple(format!("OVERLAY({inner} PLACING {what} FROM {from}{count})")))
            }
            other => {
                let what = format!("{other} in a definition is");
                self.binder.unsupported(Missing::OtherForms, &what, Place::of_expr(other))
            }
        }
    }

    fn negated(&mut self, test: Shown, is_negated: bool) -> Shown {
        if !is_negated {
            return test;
        }
        let test = self.inside(test, Around::Not);
        self.whole(format!("NOT {test}"), Shape::Not)
    }

    fn element(&mut self, root: &Ast, chain: &[AccessExpr]) -> Result<Shown> {
        let mut idents = match root {
            Ast::Identifier(ident) => vec![ident.clone()],
            Ast::CompoundIdentifier(idents) => idents.clone(),
            _ => Vec::new(),
        };
        let mut rest = chain;
        while let [AccessExpr::Dot(Ast::Identifier(ident)), after @ ..] = rest
            && !idents.is_empty()
        {
            idents.push(ident.clone());
            rest = after;
        }
        let names: Vec<String> = idents.iter().map(fold).collect();
        let is_parameter = self.column(&names).is_none() && self.parameter(&names).is_some();
        let mut text = match (idents.as_slice(), root) {
            ([], Ast::Nested(inner))
                if ends_with_field(inner) || matches!(rest.first(), Some(AccessExpr::Dot(_))) =>
            {
                self.expression(inner)?.text
            }
            ([], _) => format!("({})", self.expression(root)?.text),
            ([_], _) => self.expression(root)?.text,
            _ => self.expression(&Ast::CompoundIdentifier(idents))?.text,
        };
        if is_parameter && matches!(rest.first(), Some(AccessExpr::Subscript(_))) {
            text = format!("({text})");
        }
        let mut is_field = matches!(root, Ast::Nested(inner) if ends_with_field(inner));
        for access in rest {
            text = match access {
                AccessExpr::Dot(Ast::Identifier(field)) if !field_wildcard::is_one(field) => {
                    let name = quoted(&fold(field));
                    if is_field { format!("{text}.{name}") } else { format!("({text}).{name}") }
                }
                AccessExpr::Subscript(Subscript::Index { index }) if rest.len() == 1 || is_field => {
                    let index = self.expression_as_written(index, SqlType::Integer)?.text;
                    format!("{text}[{index}]")
                }
                AccessExpr::Dot(_) => {
                    return self.binder.lacks(Missing::WholeRows, ".* of a row in a definition is");
                }
                AccessExpr::Subscript(_) => {
                    return self.binder.lacks(Missing::OtherForms, "slices in a definition are");
                }
            };
            is_field = matches!(access, AccessExpr::Dot(_));
        }
        Ok(Shown::simple(text))
    }

    fn substring(
        &mut self,
        inner: &Ast,
        from: Option<&Ast>,
        count: Option<&Ast>,
        is_call: bool,
        is_short: bool,
    ) -> Result<Shown> {
        if is_call || is_short {
            let name = if is_short { "substr" } else { "substring" };
            let arguments: Vec<&Ast> = [Some(inner), from, count].into_iter().flatten().collect();
            return self.call(name, &arguments);
        }
        let mut out = format!("SUBSTRING({}", self.expression_as_written(inner, SqlType::Text)?.text);
        for (part, word) in [(from, " FROM "), (count, " FOR ")] {
            if let Some(part) = part {
                out.push_str(word);
                out.push_str(&self.expression_as_written(part, SqlType::Integer)?.text);
            }
        }
        out.push(')');
        Ok(Shown::simple(out))
    }

    fn quantified(&mut self, left: &Ast, op: &ast::BinaryOperator, word: &str, right: &Ast) -> Result<Shown> {
        if let Some(symbol) = pattern_symbol(op) {
            return self.quantified_match(left, &format!("{symbol} {word}"), right);
        }
        let Some(operator) = from_ast(op) else {
            return self.binder.lacks(Missing::OtherForms, "this operator in a definition is");
        };
        let symbol = operator.symbol();
        if let Ast::Subquery(query) = right {
            return match (operator, word) {
                (BinaryOperator::Equal, "ANY") => self.compared_with_query(left, (operator, "IN"), query),
                _ => {
                    let words: &str = &format!("{symbol} {word}");
                    self.compared_with_query(left, (operator, words), query)
                }
            };
        }
        let element = self.bound(right)?.known_type().and_then(SqlType::element);
        let shown = match element {
            Some(element) => {
                let own = self.bound(left)?.known_type();
                let types = shown_operands(operator, own, Some(element.sql_type()));
                let to = types.map_or(element.sql_type(), |(to, _)| to);
                self.expression_as(left, to)?
            }
            None => self.expression(left)?,
        };
        let array = match (element, self.bound(left)?.known_type()) {
            (None, Some(own)) if own.element().is_none() => match ArrayElement::of(own) {
                Some(element) => self.expression_as(right, SqlType::Array(element))?,
                None => self.expression(right)?,
            },
            _ => self.expression(right)?,
        };
        let left = self.inside(shown, Around::Operator("", true));
        Ok(self.whole(format!("{left} {symbol} {word} ({})", array.text), Shape::Quantified))
    }

    fn quantified_match(&mut self, left: &Ast, words: &str, right: &Ast) -> Result<Shown> {
        let left = self.expression_as(left, SqlType::Text)?;
        if let Ast::Subquery(query) = right {
            let text = self.nested(query, true, false)?;
            let shown = Shown::simple(format!("({} {words} ({text}))", left.text));
            return Ok(Shown { shape: Shape::Test, ..shown });
        }
        let array = self.expression_as(right, SqlType::Array(ArrayElement::Text))?;
        let left = self.inside(left, Around::Operator("", true));
        Ok(self.whole(format!("{left} {words} ({})", array.text), Shape::Quantified))
    }

    pub(super) fn compared_with_query(
        &mut self,
        left: &Ast,
        (operator, word): (BinaryOperator, &str),
        query: &ast::Query,
    ) -> Result<Shown> {
        let columns = self.binder.types_of_nested(query)?;
        let shown = match row_items(left) {
            Some(items) => {
                let items = items.iter().zip(&columns);
                let items = items.map(|(item, column)| self.beside(item, operator, *column));
                format!("({})", items.collect::<Result<Vec<String>>>()?.join(", "))
            }
            None => self.beside(left, operator, columns.first().copied().unwrap_or(SqlType::Text))?,
        };
        let text = self.nested(query, true, false)?;
        Ok(Shown { shape: Shape::Test, ..Shown::simple(format!("({shown} {word} ({text}))")) })
    }

    /// The left side of a comparison with a value of this type.
    fn beside(&mut self, left: &Ast, operator: BinaryOperator, right: SqlType) -> Result<String> {
        let own = self.bound(left)?.known_type();
        Ok(match shown_operands(operator, own, Some(right)) {
            Some((to, _)) => self.expression_as(left, to)?.text,
            None => self.expression(left)?.text,
        })
    }

    fn case(
        &mut self,
        node: &Ast,
        operand: Option<&Ast>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Ast>,
    ) -> Result<Shown> {
        let to = self.bound(node)?.known_type().unwrap_or(SqlType::Text);
        let mut out = String::new();
        self.line(&mut out, "CASE", (0, WHEN), 0);
        if let Some(operand) = operand {
            out.push_str(&format!(" {}", self.expression(operand)?.text));
        }
        for when in conditions {
            self.line(&mut out, "WHEN ", (0, 0), 0);
            let condition = match operand {
                None => self.condition(&when.condition)?,
                Some(operand) => {
                    let own = self.bound(operand)?.known_type();
                    let other = self.bound(&when.condition)?.known_type();
                    match shown_operands(BinaryOperator::Equal, own, other) {
                        Some((_, to)) => self.expression_as(&when.condition, to)?,
                        None => self.expression(&when.condition)?,
                    }
                }
            };
            let result = self.expression_as(&when.result, to)?;
            out.push_str(&format!("{} THEN {}", condition.text, result.text));
        }
        self.line(&mut out, "ELSE ", (0, 0), 0);
        match otherwise {
            Some(otherwise) => {
                let shown = self.expression_as(otherwise, to)?.text;
                out.push_str(&shown);
            }
            None => out.push_str(&format!("NULL::{}", self.binder.spelled_type(to))),
        }
        self.line(&mut out, "END", (-WHEN, 0), 0);
        Ok(Shown::simple(out))
    }

    /// A call of a function of the catalogue.
    fn call(&mut self, name: &str, arguments: &[&Ast]) -> Result<Shown> {
        let bound = arguments.iter().map(|argument| self.bound(argument)).collect::<Result<Vec<Bound>>>()?;
        let types = self.binder.shown_arguments(name, &bound);
        let mut shown = Vec::with_capacity(arguments.len());
        let names_sequence = matches!(name, "nextval" | "currval" | "setval");
        for ((argument, to), bound) in arguments.iter().zip(types).zip(&bound) {
            let sequence = self.literal_name(argument).filter(|_| names_sequence && shown.is_empty());
            let text = match (to, &bound.class) {
                _ if let Some(sequence) = sequence => format!("{}::regclass", quoted_literal(&sequence)),
                (Some(to), _) => self.expression_as(argument, to)?.text,
                // A parameter of any type takes it without a type.
                (None, Class::Literal(literal)) => quoted_literal(literal),
                (None, _) => self.expression(argument)?.text,
            };
            shown.push(text);
        }
        let name = match name {
            "greatest" | "least" | "coalesce" | "nullif" | "grouping" => name.to_uppercase(),
            name => quoted(name),
        };
        Ok(Shown::simple(format!("{name}({})", shown.join(", "))))
    }

    /// The name in a literal, which may be converted to a `regclass`.
    fn literal_name(&mut self, node: &Ast) -> Option<String> {
        let written = match node {
            Ast::Cast { expr, data_type: ast::DataType::Regclass, .. } => expr,
            node => node,
        };
        match self.bound(written).ok()?.class {
            Class::Literal(name) => Some(name.as_str().to_owned()),
            _ => None,
        }
    }

    fn function(&mut self, call: &ast::Function) -> Result<Shown> {
        let idents: Vec<String> = parts(&call.name)?.into_iter().map(fold).collect();
        let is_system = idents.len() == 1 || idents.first().is_some_and(|schema| schema == "pg_catalog");
        let name = idents.last().cloned().unwrap_or_default();
        if let Some(over) = &call.over {
            let own = self.aggregate_name(&idents, call)?;
            return self.window_function(own.as_ref().unwrap_or(&name), call, over);
        }
        let arguments = match &call.args {
            FunctionArguments::None => {
                return Ok(Shown { is_word: true, ..Shown::simple(name.to_uppercase()) });
            }
            FunctionArguments::Subquery(query) => {
                let text = self.nested(query, true, false)?;
                return Ok(Shown::simple(format!("ARRAY({text})")));
            }
            FunctionArguments::List(list) => list,
        };
        if let Some(own) = self.aggregate_name(&idents, call)? {
            return self.aggregate(&own, call, arguments);
        }
        if is_system && is_aggregate_name(&name) {
            return self.aggregate(&name, call, arguments);
        }
        if is_system
            && matches!(name.as_str(), "current_timestamp" | "localtimestamp" | "localtime" | "current_time")
        {
            let precision = self.plain_arguments(&arguments.args)?;
            let precision = precision.first().map(|precision| self.expression(precision)).transpose()?;
            let precision = precision.map_or(String::new(), |precision| format!("({})", precision.text));
            return Ok(Shown::simple(format!("{}{precision}", name.to_uppercase())));
        }
        if let Some(items) = row_items(&Ast::Function(call.clone())) {
            let items = items.into_iter().map(|item| Ok(self.expression(item)?.text));
            return Ok(Shown::simple(format!("ROW({})", items.collect::<Result<Vec<String>>>()?.join(", "))));
        }
        let conversion = self.conversion(&idents, &arguments.args)?;
        if let Some((shown, true)) = conversion {
            return Ok(shown);
        }
        if !self.is_built_in(call)
            && let Some(shown) = self.routine(&idents, &arguments.args)?
        {
            return Ok(Shown::simple(shown));
        }
        if let Some((shown, false)) = conversion {
            return Ok(shown);
        }
        if let Some((argument, true)) = arguments.args.last().and_then(plain_argument) {
            return self.variadic_call(&name, &arguments.args, argument);
        }
        let arguments = self.plain_arguments(&arguments.args)?;
        self.call(&name, &arguments)
    }

    /// A call whose last argument stands after VARIADIC.
    fn variadic_call(&mut self, name: &str, arguments: &[FunctionArg], last: &Ast) -> Result<Shown> {
        let first = self.plain_arguments(&arguments[..arguments.len() - 1])?;
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in first {
            let is_known = self.bound(argument)?.known_type().is_some();
            shown.push(match is_known {
                true => self.expression(argument)?.text,
                false => self.expression_as(argument, SqlType::Text)?.text,
            });
        }
        shown.push(format!("VARIADIC {}", self.expression(last)?.text));
        Ok(Shown::simple(format!("{}({})", quoted(name), shown.join(", "))))
    }

    /// Whether the binder takes no routine for a call that has a value, though there may be one of the name.
    fn is_built_in(&mut self, call: &ast::Function) -> bool {
        self.binder.aggregate_mode = AggregateMode::Allowed;
        let (bound, meanings) = self.binder.noting(|binder| binder.call(call));
        bound.is_ok() && meanings.routine(call).is_none()
    }

    /// A call that is a conversion, as a cast or, where PostgreSQL has a function for it, as a call; and
    /// whether this conversion comes before the routines.
    fn conversion(&mut self, idents: &[String], arguments: &[FunctionArg]) -> Result<Option<(Shown, bool)>> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = arguments else { return Ok(None) };
        let Some(name) = idents.last().filter(|name| lookup(name).is_empty()) else { return Ok(None) };
        let bound = self.bound(argument)?;
        let Some(found) = self.binder.try_conversion(idents, std::slice::from_ref(&bound))? else {
            return Ok(None);
        };
        let is_function = |from: SqlType| {
            let is_string = |of| category(of) == Category::String;
            !matches!(found.to, SqlType::Enum(_)) && !is_string(from) && !is_string(found.to)
        };
        let shown = match bound.class {
            Class::Literal(literal) => self.constant(&literal, found.to)?,
            Class::Typed(from) if is_function(from) => self.call(name, &[argument])?,
            _ => self.cast(argument, found.to)?,
        };
        Ok(Some((shown, found.is_before_routines)))
    }

    pub(super) fn plain_arguments<'n>(&self, arguments: &'n [FunctionArg]) -> Result<Vec<&'n Ast>> {
        let plain: Option<Vec<&Ast>> = arguments
            .iter()
            .map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
                _ => None,
            })
            .collect();
        match plain {
            Some(plain) => Ok(plain),
            None => self.binder.lacks(Missing::NamedArguments, "arguments by name in a definition are"),
        }
    }

    /// A call of a routine, with the conversions of its arguments.
    fn routine(&mut self, idents: &[String], arguments: &[FunctionArg]) -> Result<Option<String>> {
        let shown = idents.join(".");
        let written = self.binder.written_arguments(arguments, &shown, Place::Unknown)?;
        let chosen = self.binder.choose_routine(idents, &written, RoutineKind::Function, Place::Unknown)?;
        let Some(chosen) = chosen else { return Ok(None) };
        let definition = chosen.definition().clone();
        let parts = self.routine_arguments(&definition, &written, arguments)?;
        let key = (definition.name.clone(), definition.identity());
        if !self.uses.routines.contains(&key) {
            self.uses.routines.push(key);
        }
        let (schema, name) = (quoted(&definition.name.schema), quoted(&definition.name.name));
        Ok(Some(format!("{schema}.{name}({})", parts.join(", "))))
    }

    /// The full name of the aggregate of a user that a call means, if it means one.
    fn aggregate_name(&mut self, idents: &[String], call: &ast::Function) -> Result<Option<String>> {
        let FunctionArguments::List(list) = &call.args else { return Ok(None) };
        if !self.binder.means_aggregate(idents, call) {
            return Ok(None);
        }
        let (chosen, ..) = self.binder.user_aggregate(idents, list, Place::Unknown)?;
        let definition = chosen.definition();
        let key = (definition.name.clone(), definition.identity());
        let name = format!("{}.{}", quoted(&definition.name.schema), quoted(&definition.name.name));
        if !self.uses.routines.contains(&key) {
            self.uses.routines.push(key);
        }
        Ok(Some(name))
    }

    /// The arguments of a call of this routine.
    fn routine_arguments(
        &mut self,
        definition: &RoutineDefinition,
        written: &Arguments,
        arguments: &[FunctionArg],
    ) -> Result<Vec<String>> {
        let plain: Option<Vec<(&Ast, bool)>> = arguments.iter().map(plain_argument).collect();
        let Some(plain) = plain else {
            return self.binder.lacks(Missing::NamedArguments, "arguments by name in a definition are");
        };
        let parameters: Vec<&RoutineParameter> = definition.inputs().collect();
        let arranged = written.arranged(&parameters).unwrap_or_default();
        let mut parts = Vec::with_capacity(plain.len());
        for (given, parameter) in arranged.into_iter().zip(parameters) {
            let wanted = given.wanted(parameter.sql_type.without_modifier());
            match given {
                Given::Nothing => {}
                Given::One(at) => {
                    let text = self.expression_as(plain[at].0, wanted)?.text;
                    let word = if parameter.mode == ParameterMode::Variadic { "VARIADIC " } else { "" };
                    parts.push(format!("{word}{text}"));
                }
                Given::Elements(range) => {
                    let items = range.map(|at| Ok(self.expression_as(plain[at].0, wanted)?.text));
                    let items = items.collect::<Result<Vec<String>>>()?;
                    parts.push(format!("VARIADIC ARRAY[{}]", items.join(", ")));
                }
            }
        }
        Ok(parts)
    }

    /// A function in FROM.
    pub(super) fn called_in_from(&mut self, name: &ObjectName, arguments: &[FunctionArg]) -> Result<String> {
        let idents: Vec<String> = parts(name)?.into_iter().map(fold).collect();
        if let Some(shown) = self.routine(&idents, arguments)? {
            return Ok(shown);
        }
        let own = idents.last().cloned().unwrap_or_default();
        let plain = self.plain_arguments(arguments)?;
        let bound = plain.iter().map(|argument| self.bound(argument)).collect::<Result<Vec<Bound>>>()?;
        // The arguments of a series get a common type.
        let common = match own.as_str() {
            "generate_series" if bound.iter().all(|one| one.known_type().is_none_or(SqlType::is_integer)) => {
                let common = self.binder.common_type(&bound, "series")?;
                Some(if common == SqlType::BigInt { common } else { SqlType::Integer })
            }
            // A literal is read as the type of the only argument.
            name if name.starts_with("jsonb_") && bound.len() == 1 => Some(SqlType::Jsonb),
            name if name.starts_with("json_") && bound.len() == 1 => Some(SqlType::Json),
            "generate_series" => {
                let common = self.binder.common_type(&bound, "series").ok();
                common.filter(|common| matches!(common, SqlType::Numeric(_))).map(SqlType::without_modifier)
            }
            _ => None,
        };
        let first = bound.first().and_then(Bound::known_type);
        let is_of_times = matches!(first, Some(SqlType::Timestamp(_) | SqlType::TimestampTz(_)));
        let shown = plain.into_iter().enumerate().map(|(at, argument)| match (common, first) {
            (Some(common), _) => Ok(self.expression_as(argument, common)?.text),
            (None, Some(first)) if is_of_times && own == "generate_series" => {
                let to = if at == 2 { SqlType::INTERVAL } else { first.without_modifier() };
                Ok(self.expression_as(argument, to)?.text)
            }
            (None, _) => Ok(self.expression(argument)?.text),
        });
        Ok(format!("{}({})", quoted(&own), shown.collect::<Result<Vec<String>>>()?.join(", ")))
    }

    pub(super) fn aggregate(
        &mut self,
        name: &str,
        call: &ast::Function,
        list: &ast::FunctionArgumentList,
    ) -> Result<Shown> {
        let distinct =
            if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) { "DISTINCT " } else { "" };
        let is_star = matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        let mut shown = Vec::new();
        if is_star {
            shown.push("*".to_owned());
        } else if is_hypothetical(name) {
            shown = self.hypothetical_row(&self.plain_arguments(&list.args)?, &call.within_group)?;
        } else if !call.within_group.is_empty() {
            for argument in self.plain_arguments(&list.args)? {
                shown.push(self.fraction(argument)?);
            }
        } else {
            for argument in self.plain_arguments(&list.args)? {
                let own = self.bound(argument)?.known_type();
                let as_text = matches!(name, "min" | "max" | "string_agg")
                    && matches!(own, None | Some(SqlType::Varchar(_)));
                let text = match as_text {
                    true => self.expression_as(argument, SqlType::Text)?.text,
                    false => self.expression(argument)?.text,
                };
                shown.push(text);
            }
        }
        let mut out = format!("{name}({distinct}{}", shown.join(", "));
        for clause in &list.clauses {
            let FunctionArgumentClause::OrderBy(keys) = clause else { continue };
            let mut order = Vec::with_capacity(keys.len());
            for key in keys {
                let text = self.sort_key(&key.expr, None, false)?;
                let words = order_words(key.options.asc == Some(false), key.options.nulls_first);
                order.push(format!("{text}{words}"));
            }
            out.push_str(&format!(" ORDER BY {}", order.join(", ")));
        }
        out.push(')');
        if !call.within_group.is_empty() {
            let mut keys = Vec::with_capacity(call.within_group.len());
            for (at, key) in call.within_group.iter().enumerate() {
                let value = self.plain_arguments(&list.args)?.get(at).copied();
                let value = value.filter(|_| is_hypothetical(name));
                keys.push(self.group_key(name, key, value)?);
            }
            out.push_str(&format!(" WITHIN GROUP (ORDER BY {})", keys.join(", ")));
        }
        if let Some(filter) = &call.filter {
            let filter = self.condition(filter)?;
            out.push_str(&format!(" FILTER (WHERE {})", filter.text));
        }
        Ok(Shown::simple(out))
    }

    /// The direct arguments of rank and the like, in the types of the keys.
    fn hypothetical_row(&mut self, values: &[&Ast], keys: &[ast::OrderByExpr]) -> Result<Vec<String>> {
        let mut shown = Vec::with_capacity(values.len());
        for (value, key) in values.iter().zip(keys) {
            let bound = [self.bound(&key.expr)?, self.bound(value)?];
            let common = self.binder.common_type(&bound, "WITHIN GROUP")?;
            shown.push(self.expression_as(value, common)?.text);
        }
        Ok(shown)
    }

    /// The fraction of an aggregate WITHIN GROUP, or an array of them.
    fn fraction(&mut self, argument: &Ast) -> Result<String> {
        let is_array = self.bound(argument)?.known_type().and_then(SqlType::element).is_some();
        let to = match is_array {
            true => SqlType::Array(ArrayElement::DoublePrecision),
            false => SqlType::DoublePrecision,
        };
        Ok(self.expression_as(argument, to)?.text)
    }

    /// The key by which an aggregate WITHIN GROUP sorts, and the value in its place in the hypothetical row.
    fn group_key(&mut self, name: &str, key: &ast::OrderByExpr, value: Option<&Ast>) -> Result<String> {
        let bound = self.bound(&key.expr)?;
        let own = bound.known_type().unwrap_or(SqlType::Text);
        let wanted = match value {
            Some(value) => {
                let value = self.bound(value)?;
                self.binder.common_type(&[bound, value], "WITHIN GROUP")?
            }
            None if name == "percentile_cont" && own.is_numeric() => SqlType::DoublePrecision,
            None => own,
        };
        let text = match own.is_same_base(wanted) {
            false => format!("({})", self.expression_as(&key.expr, wanted)?.text),
            true => self.sort_key(&key.expr, None, false)?,
        };
        let words = order_words(key.options.asc == Some(false), key.options.nulls_first);
        Ok(format!("{text}{words}"))
    }
}

/// Whether it is rank or the like, which takes a row that its direct arguments make.
fn is_hypothetical(name: &str) -> bool {
    matches!(aggregate_kind(name), Some(AggregateKind::OrderedSet(set)) if set.is_hypothetical())
}

/// Whether the expression is a field of a row.
fn ends_with_field(expr: &Ast) -> bool {
    match expr {
        Ast::Nested(inner) => ends_with_field(inner),
        Ast::CompoundFieldAccess { access_chain, .. } => {
            matches!(access_chain.last(), Some(AccessExpr::Dot(_)))
        }
        _ => false,
    }
}
