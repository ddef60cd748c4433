//! The items of FROM, and the names they make visible. (`join` joins them.)

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::access::Privileges;
use hyades_types::definition::{Returns, RoutineDefinition, RoutineKind, TableName};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, BigDecimal, SqlType, Value};
use sqlparser::ast::{
    Expr as Ast, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableAlias, TableAliasColumnDef,
    TableFactor, TableFunctionArgs,
};
use sqlparser::tokenizer::Span;

use super::aggregate::is_aggregate_name;
use super::aggregation::IN_FUNCTION;
use super::row_syntax::{EXPAND_ARRAY, names_expanded_array};
use super::rows_from::{CallInFrom, RECORDS_OF, typed_columns, written_call};
use super::scope::{Relation, RelationKind, Scope, Visibility};
use super::set_call::SET_FUNCTIONS;
use super::tree::{
    Branch, DerivedTable, Item, JoinGroup, QueryBody, RoutineSource, Series, Source, Subquery, SubqueryKind,
};
use super::{Binder, Bound, Place};
use crate::evaluation;
use crate::statement::names::{fold, name_in_catalog, parts};
use crate::statement::query::select_of;
use crate::system::object_id;
use crate::system::relation::{self, SEQUENCE_COLUMNS, SystemRelation};

impl Binder<'_> {
    /// An item of FROM, or a join in parentheses.
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Result<JoinGroup> {
        if let TableFactor::NestedJoin { table_with_joins, alias } = factor {
            return self.nested_join(table_with_joins, alias.as_ref());
        }
        if let TableFactor::Table { name, alias, args: None, sample: None, .. } = factor
            && let Some(group) = self.view_group(name, alias.as_ref())?
        {
            return Ok(group);
        }
        self.item(factor).map(JoinGroup::of)
    }

    fn item(&mut self, factor: &TableFactor) -> Result<Item> {
        match factor {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                self.table_item(name, alias.as_ref())
            }
            TableFactor::Table {
                name,
                alias,
                args: Some(TableFunctionArgs { args, .. }),
                with_ordinality,
                ..
            }
            | TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                let (alias, with_ordinality) = (alias.as_ref(), *with_ordinality);
                self.function_item(CallInFrom { name, arguments: args, alias, with_ordinality })
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                self.derived_item(subquery, alias.as_ref(), *lateral)
            }
            TableFactor::UNNEST { array_exprs, alias, with_offset: false, with_ordinality, .. } => {
                let place = array_exprs.first().map_or(Place::Unknown, Place::of_expr);
                self.refuse_types(alias.as_ref())?;
                let arrays = self.without_aggregates(IN_FUNCTION, |binder| {
                    let arrays = array_exprs.iter().map(|array| binder.expression(array));
                    arrays.collect::<Result<Vec<Bound>>>()
                })?;
                let arrays = arrays.into_iter().map(|array| ("", array)).collect();
                self.elements_item("unnest", arrays, alias.as_ref(), ordinality(*with_ordinality), place)
            }
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                self.lacks(Missing::TableSample, "TABLESAMPLE is")
            }
            _ => self.lacks(Missing::OtherForms, "this item of FROM is"),
        }
    }

    /// Refuses columns with types after a function that has columns of its own.
    fn refuse_types(&self, alias: Option<&TableAlias>) -> Result<()> {
        let Some((first, _)) = typed_columns(alias).first().copied() else { return Ok(()) };
        let message = "a column definition list is only allowed for functions returning \"record\"";
        self.fail(sqlstate::SYNTAX_ERROR, message, Place::at(first.span.start))
    }

    /// Makes a relation visible, and returns its number.
    pub(super) fn add_relation(
        &mut self,
        mut relation: Relation,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<usize> {
        if let Some(alias) = alias {
            let renamed = alias.columns.len();
            if renamed > relation.columns.len() {
                let message = format!(
                    "table \"{}\" has {} columns available but {renamed} columns specified",
                    relation.name,
                    relation.columns.len()
                );
                return self.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, place);
            }
            for (column, alias) in relation.columns.iter_mut().zip(&alias.columns) {
                column.0 = fold(&alias.name);
            }
        }
        let is_taken = |known: &Relation| known.name == relation.name && known.can_be_named();
        if self.scope.relations.iter().any(is_taken) {
            let message = format!("table name \"{}\" specified more than once", relation.name);
            return self.fail(sqlstate::DUPLICATE_ALIAS, message, Place::Unknown);
        }
        self.scope.add(relation);
        Ok(self.scope.relations.len() - 1)
    }

    fn table_item(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Item> {
        if let [single] = parts(name)?.as_slice()
            && let Some(item) = self.common_item(&fold(single), alias, Place::of(name))?
        {
            return Ok(item);
        }
        if let Some(item) = self.system_item(name, alias)? {
            return Ok(item);
        }
        let (full, place) = self.table_name(name)?;
        let table = match self.context.tables.table(&full) {
            Some(table) => table,
            None => match self.sequence_item(full, alias, place)? {
                Some(item) => return Ok(item),
                // Neither exists: this reports the error.
                None => self.table(name)?,
            },
        };
        self.need_on_table(&table, Privileges::SELECT);
        self.tables_read.push(table.id());
        let row = self.new_row()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let relation = Relation::table(&table, alias_name, row);
        let own_name = table.definition().name.name.clone();
        let label =
            if relation.name == own_name { own_name } else { format!("{own_name} {}", relation.name) };
        let relation = self.add_relation(relation, alias, place)?;
        let computed = self.computed_for_indexes(&table, row)?;
        let old_snapshot = self.context.tables.old_snapshot();
        Ok(Item::new(Source::Table { table, row, computed, old_snapshot }, label, relation))
    }

    /// Whether a name without a schema refers to a temporary table. Those come before the relations of the
    /// catalog.
    fn is_temporary(&self, name: &ObjectName) -> Result<bool> {
        if self.context.path.temporary().is_none() {
            return Ok(false);
        }
        let (name, _) = self.table_name(name)?;
        Ok(Some(name.schema.as_str()) == self.context.path.temporary()
            && self.context.tables.table(&name).is_some())
    }

    /// The relation of the catalog that a name refers to, if any.
    pub(super) fn system_relation(&self, name: &ObjectName) -> Result<Option<&'static SystemRelation>> {
        if self.is_temporary(name)? {
            return Ok(None);
        }
        Ok(match parts(name)?.as_slice() {
            [name] => relation::find("pg_catalog", &fold(name)),
            [schema, name] => relation::find(&fold(schema), &fold(name)),
            [database, schema, name] if fold(database) == self.context.database => {
                relation::find(&fold(schema), &fold(name))
            }
            _ => None,
        })
    }

    /// A relation of the catalog, if this is the name of one: its rows are kept like those of a query.
    fn system_item(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Option<Item>> {
        let Some(relation) = self.system_relation(name)? else { return Ok(None) };
        self.need_catalog(relation.oid, relation.name);
        self.relation_of_catalog(relation, alias, Place::of(name)).map(Some)
    }

    fn relation_of_catalog(
        &mut self,
        relation: &SystemRelation,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        let (own_name, columns) = (relation.name.to_owned(), relation.columns.clone());
        self.catalog_rows(relation.oid, own_name, columns, alias, place)
    }

    /// A sequence in the place of a table: its one row holds the state of the sequence.
    fn sequence_item(
        &mut self,
        full: TableName,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Option<Item>> {
        let Some(sequence) = self.context.tables.sequence(&full) else { return Ok(None) };
        self.need_sequence(sequence.id, &full.name);
        let columns = SEQUENCE_COLUMNS.map(|(name, sql_type)| (name.to_owned(), sql_type)).to_vec();
        let oid = object_id::of_sequence(sequence.id);
        self.catalog_rows(oid, full.name, columns, alias, place).map(Some)
    }

    /// The rows that the catalog keeps under a number.
    fn catalog_rows(
        &mut self,
        oid: u32,
        own_name: String,
        columns: Vec<(String, SqlType)>,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        let branch = Branch { body: QueryBody::System(oid), scope: Scope::default() };
        let kind = SubqueryKind::Rows;
        let query = self.add_subquery(Subquery {
            branch,
            kind,
            is_independent: true,
            sees_changes: false,
            outer: Vec::new(),
        });
        let registers = columns.iter().map(|_| self.new_register()).collect::<Result<Vec<Register>>>()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let label = match &alias_name {
            Some(alias) => format!("{own_name} {alias}"),
            None => own_name.clone(),
        };
        let shown = Relation {
            name: alias_name.unwrap_or(own_name),
            columns,
            kind: RelationKind::System(registers.clone(), oid),
            visibility: Visibility::Everywhere,
        };
        let shown = self.add_relation(shown, alias, place)?;
        let derived = DerivedTable { query, registers, outer: Vec::new(), recursion: None };
        Ok(Item::new(Source::Query(derived), label, shown))
    }

    pub(super) fn series_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<Item> {
        let place = Place::of(name);
        let shown = match name_in_catalog(name) {
            Some(shown) if shown == "generate_series" => shown,
            _ => return self.routine_item(name, arguments, alias),
        };
        let mut bound = Vec::new();
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
                return Err(self.no_function(&shown, "*", place));
            };
            bound.push(self.expression(argument)?);
        }
        let types: Vec<&str> = bound.iter().map(Bound::type_name).collect();
        let types = types.join(", ");
        let Some((sql_type, step_type)) = self.series_types(&bound) else {
            return Err(self.no_function(&shown, &types, place));
        };
        let wanted = [sql_type, sql_type, step_type];
        let values = bound.into_iter().zip(wanted).map(|(item, wanted)| self.coerce(item, wanted));
        let mut values = values.collect::<Result<Vec<_>>>()?;
        if matches!(sql_type, SqlType::Numeric(_)) {
            for (value, what) in values.iter_mut().zip(["start value", "stop value", "step size"]) {
                let arguments =
                    vec![Expr::Const(Value::text(what)), std::mem::replace(value, Expr::Const(Value::Null))];
                *value =
                    evaluation::fold_if_constant(Expr::Call { function: Function::SeriesNumber, arguments });
            }
        }
        let step = if values.len() == 3 { values.pop() } else { None };
        let (Some(stop), Some(start)) = (values.pop(), values.pop()) else {
            return Err(self.no_function(&shown, &types, place));
        };
        let one = match sql_type {
            SqlType::Integer => Value::Integer(1),
            SqlType::Numeric(_) => Value::numeric(BigDecimal::from(1)),
            _ => Value::BigInt(1),
        };
        let current = self.new_register()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let own_name = alias_name.unwrap_or_else(|| "generate_series".to_owned());
        let relation = Relation {
            name: own_name.clone(),
            // An alias of the function also names its only column.
            columns: vec![(own_name.clone(), sql_type)],
            kind: RelationKind::Registers(vec![current]),
            visibility: Visibility::Everywhere,
        };
        let relation = self.add_relation(relation, alias, place)?;
        let step = step.unwrap_or(Expr::Const(one));
        let series = Series { start, stop, step, sql_type, current, arrays: Vec::new() };
        Ok(Item::new(Source::Series(series), own_name, relation))
    }

    /// The types of a series and of its step. None if no series takes such arguments.
    fn series_types(&self, arguments: &[Bound]) -> Option<(SqlType, SqlType)> {
        let common = |arguments: &[Bound]| self.common_type(arguments, "series").ok();
        let (ends, step) = arguments.split_at_checked(2)?;
        match (common(ends)?, step) {
            (SqlType::Timestamp(_), [_]) => return Some((SqlType::TIMESTAMP, SqlType::INTERVAL)),
            (SqlType::Date | SqlType::TimestampTz(_), [_]) => {
                return Some((SqlType::TIMESTAMPTZ, SqlType::INTERVAL));
            }
            (_, [] | [_]) => {}
            _ => return None,
        }
        match common(arguments)? {
            SqlType::SmallInt | SqlType::Integer => Some((SqlType::Integer, SqlType::Integer)),
            SqlType::BigInt => Some((SqlType::BigInt, SqlType::BigInt)),
            SqlType::Numeric(_) => Some((SqlType::Numeric(None), SqlType::Numeric(None))),
            SqlType::Text if arguments.iter().all(|item| item.known_type().is_none()) => {
                Some((SqlType::Integer, SqlType::Integer))
            }
            _ => None,
        }
    }

    /// Set-returning functions of the catalogue, except `generate_series`.
    pub(super) fn set_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        with_ordinality: bool,
    ) -> Result<Option<Item>> {
        let (place, own) = (Place::of(name), name_in_catalog(name));
        if names_expanded_array(name) {
            return self.expanded_item(arguments, alias, place).map(Some);
        }
        let Some(shown) = own.as_deref() else { return Ok(None) };
        let ordinality = ordinality(with_ordinality);
        if let (Some(relation), [], false) = (relation::find_function(shown), arguments, with_ordinality) {
            return self.relation_of_catalog(relation, alias, place).map(Some);
        }
        let is_known = matches!(
            shown,
            "unnest"
                | "generate_subscripts"
                | "pg_listening_channels"
                | "pg_options_to_table"
                | "pg_partition_ancestors"
                | "regexp_split_to_table"
                | "string_to_table"
                | RECORDS_OF
        );
        if shown == "regexp_matches" && !with_ordinality {
            return self.matches_item(arguments, alias, place).map(Some);
        }
        let is_of_json = shown.starts_with("json") && SET_FUNCTIONS.contains(&shown);
        if !is_known && !is_of_json {
            return Ok(None);
        }
        let arguments = self.arguments_with_defaults(arguments, shown, place)?;
        if !arguments.names.is_empty() {
            return Err(self.no_function(shown, "*", place));
        }
        self.set_of((shown, arguments.bound), alias, ordinality, place).map(Some)
    }

    /// A call of one of these functions.
    fn set_of(
        &mut self,
        (shown, bound): (&str, Vec<Bound>),
        alias: Option<&TableAlias>,
        ordinality: Option<(&str, SqlType)>,
        place: Place,
    ) -> Result<Item> {
        match (shown, bound.as_slice()) {
            ("unnest", [_, ..]) => {
                let arrays = bound.into_iter().map(|array| ("", array)).collect();
                self.elements_item(shown, arrays, alias, ordinality, place)
            }
            (RECORDS_OF, _) => {
                let array = self.record_array(bound, place)?;
                self.elements_item("record", vec![("record", array)], alias, ordinality, place)
            }
            ("generate_subscripts", [array, dimension]) if ordinality.is_none() => {
                self.subscripts_item(array.clone(), dimension.clone(), alias, place)
            }
            ("regexp_split_to_table" | "string_to_table" | "pg_listening_channels", _) => {
                let (array, _) = self.set_as_array(shown, bound, place)?;
                self.elements_item(shown, vec![("", array)], alias, ordinality, place)
            }
            ("json_populate_recordset" | "jsonb_populate_recordset", _) => {
                let (array, _) = self.set_as_array(shown, bound, place)?;
                self.elements_item(shown, vec![("", array)], alias, ordinality, place)
            }
            _ if shown.starts_with("json") => {
                let Some(arrays) = self.json_set(shown, &bound, place)? else {
                    return Err(self.no_function_of(shown, &bound, place));
                };
                self.elements_item(shown, arrays, alias, ordinality, place)
            }
            ("pg_options_to_table", [options]) => {
                let arrays = self.option_arrays(options, place)?;
                self.elements_item(shown, arrays, alias, ordinality, place)
            }
            // There are no partitions, so no relation has ancestors.
            ("pg_partition_ancestors", [relation]) => {
                self.coerce(relation.clone(), SqlType::System(SystemType::RegClass))?;
                let element = ArrayElement::System(SystemType::RegClass);
                let none = Expr::Const(Value::array(element, Vec::new()));
                let none = Bound::typed(none, SqlType::Array(element), place);
                self.elements_item("relid", vec![("", none)], alias, ordinality, place)
            }
            _ => Err(self.no_function_of(shown, &bound, place)),
        }
    }

    /// The columns of `pg_options_to_table`.
    fn option_arrays(&mut self, options: &Bound, place: Place) -> Result<Vec<(&'static str, Bound)>> {
        let texts = SqlType::Array(ArrayElement::Text);
        let options = self.coerce(options.clone(), texts)?;
        let part = |function| {
            let call = Expr::Call { function, arguments: vec![options.clone()] };
            Bound::typed(call, texts, place)
        };
        Ok(vec![("option_name", part(Function::OptionNames)), ("option_value", part(Function::OptionValues))])
    }

    /// `regexp_matches(...)`: a query of its own, because its rows are arrays.
    fn matches_item(
        &mut self,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        let name = match place {
            Place::At(start) => Ident::with_span(Span::new(start, start), "regexp_matches"),
            _ => Ident::new("regexp_matches"),
        };
        let call = Ast::Function(written_call(name.into(), arguments.to_vec()));
        let mut alias = alias.cloned().unwrap_or_else(|| TableAlias {
            explicit: true,
            name: Ident::new("regexp_matches"),
            columns: Vec::new(),
            at: None,
        });
        if alias.columns.is_empty() {
            alias.columns = vec![TableAliasColumnDef { name: alias.name.clone(), data_type: None }];
        }
        self.derived_item(&select_of(call)?, Some(&alias), true)
    }

    /// `generate_subscripts(array, 1)`: the subscripts of a vector count from 0.
    fn subscripts_item(
        &mut self,
        array: Bound,
        dimension: Bound,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        if array.known_type().and_then(SqlType::element).is_none() {
            return Err(self.no_function_of("generate_subscripts", &[array, dimension], place));
        }
        let is_vector = matches!(array.known_type(), Some(SqlType::System(_)));
        let dimension = self.coerce(dimension, SqlType::Integer)?;
        let register = self.new_register()?;
        // NULL for an array without elements, or for another dimension: then there are no subscripts. A
        // vector counts from 0.
        let bound = |function: Function| {
            let arguments = vec![Expr::Register(register), dimension.clone()];
            let bound = Expr::Call { function, arguments };
            if !is_vector {
                return bound;
            }
            Expr::Binary {
                operator: BinaryOperator::Subtract,
                left: Box::new(bound),
                right: Box::new(Expr::Const(Value::Integer(1))),
            }
        };
        let series = Series {
            start: bound(Function::ArrayLower),
            stop: bound(Function::ArrayUpper),
            step: Expr::Const(Value::Integer(1)),
            sql_type: SqlType::Integer,
            current: self.new_register()?,
            arrays: vec![(register, array.expr)],
        };
        let own_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let name = own_name.unwrap_or_else(|| "generate_subscripts".to_owned());
        let relation = Relation {
            name: name.clone(),
            columns: vec![(name.clone(), SqlType::Integer)],
            kind: RelationKind::Registers(vec![series.current]),
            visibility: Visibility::Everywhere,
        };
        let relation = self.add_relation(relation, alias, place)?;
        Ok(Item::new(Source::Series(series), name, relation))
    }

    /// `information_schema._pg_expandarray(array)`
    fn expanded_item(
        &mut self,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<Item> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] = arguments else {
            return Err(self.no_function(EXPAND_ARRAY, "*", place));
        };
        let array = self.expression(array)?;
        let number = Some(("n", SqlType::Integer));
        self.elements_item(EXPAND_ARRAY, vec![("x", array)], alias, number, place)
    }

    /// The elements of several arrays side by side: a series that counts the elements of the longest. Columns
    /// without a name of their own are named after the function. `ordinality` is the column of that number, a
    /// `bigint` or an `integer`.
    fn elements_item(
        &mut self,
        function: &str,
        bound: Vec<(&str, Bound)>,
        alias: Option<&TableAlias>,
        ordinality: Option<(&str, SqlType)>,
        place: Place,
    ) -> Result<Item> {
        let own_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let name = own_name.unwrap_or_else(|| function.to_owned());
        // An alias of the function also names its only column.
        let column = if bound.len() == 1 { name.clone() } else { function.to_owned() };
        let width = bound.len();
        let (mut registers, mut columns, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        for (given, array) in bound {
            let Some(element) = array.known_type().and_then(SqlType::element) else {
                return Err(self.no_function_of(function, &[array], place));
            };
            let register = self.new_register()?;
            registers.push(register);
            let column = if given.is_empty() { column.clone() } else { given.to_owned() };
            columns.push((column, element.sql_type()));
            // Elements are taken in order, whatever the dimensions are.
            let flat = Expr::Call { function: Function::ArrayFlat, arguments: vec![array.expr] };
            arrays.push((register, flat));
        }
        let current = self.new_register()?;
        columns.extend(ordinality.map(|(name, sql_type)| (name.to_owned(), sql_type)));
        let kind = RelationKind::Elements(registers, current);
        let visibility = Visibility::Everywhere;
        let mut relation = Relation { name: name.clone(), columns, kind, visibility };
        if width == 1 {
            relation = relation.with_fields();
        }
        let relation = self.add_relation(relation, alias, place)?;
        Ok(Item::new(Source::Series(Self::counting(arrays, current)), name, relation))
    }

    /// Counts the elements of the longest array.
    pub(super) fn counting(arrays: Vec<(Register, Expr)>, current: Register) -> Series {
        let one = Expr::Const(Value::Integer(1));
        let lengths = arrays.iter().map(|(register, _)| Expr::Call {
            function: Function::Cardinality,
            arguments: vec![Expr::Register(*register)],
        });
        // NULL is an array without elements here.
        let stop = Expr::Call { function: Function::Greatest, arguments: lengths.collect() };
        Series { start: one.clone(), stop, step: one, sql_type: SqlType::Integer, current, arrays }
    }

    /// A function that returns one value: a query of one row.
    fn value_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        own_name: String,
        alias: Option<&TableAlias>,
    ) -> Result<Item> {
        if is_aggregate_name(&own_name) {
            return self.aggregate_in_from(Place::of(name));
        }
        let call = Ast::Function(written_call(name.clone(), arguments.to_vec()));
        let (query, mut columns, outer) = self.lateral_rows_of(&select_of(call)?)?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let own_name = alias_name.unwrap_or(own_name);
        // An alias of the function also names its only column.
        for column in &mut columns {
            column.0.clone_from(&own_name);
        }
        let (mut derived, relation) = self.derived_relation(query, columns, own_name.clone())?;
        derived.outer = outer;
        self.add_derived((derived, relation.with_fields()), alias, own_name)
    }

    fn aggregate_in_from<T>(&self, place: Place) -> Result<T> {
        let message = "aggregate functions are not allowed in functions in FROM";
        self.fail(sqlstate::GROUPING_ERROR, message, place)
    }

    /// A call of a routine.
    fn routine_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<Item> {
        let place = Place::of(name);
        let parts: Vec<String> = parts(name)?.into_iter().map(fold).collect();
        let shown = parts.join(".");
        let written = arguments;
        let arguments = self.written_arguments(arguments, &shown, place)?;
        let own = parts.last().cloned().unwrap_or_default();
        let chosen = self.choose_routine(&parts, &arguments, RoutineKind::Function, place)?;
        let Some(chosen) = chosen else {
            return self.value_item(name, written, own, alias);
        };
        let definition = self.current_definition(chosen.definition()).into_owned();
        if definition.kind == RoutineKind::Aggregate {
            return self.aggregate_in_from(place);
        }
        if definition.returns == Returns::Trigger {
            let message = format!("function \"{own}\" in FROM has unsupported return type trigger");
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, place);
        }
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let own_name = alias_name.unwrap_or(own);
        let columns = row_of(&definition, &own_name);
        let arguments = self.routine_arguments(&chosen, &arguments, false)?;
        let callee = self.callee(&chosen)?;
        let registers = columns.iter().map(|_| self.new_register()).collect::<Result<Vec<Register>>>()?;
        let kind = match self.type_of_rows(&definition) {
            Some(row_type) if definition.returns.is_set() => RelationKind::Typed(registers.clone(), row_type),
            _ => RelationKind::Registers(registers.clone()),
        };
        let mut relation =
            Relation { name: own_name.clone(), columns, kind, visibility: Visibility::Everywhere };
        if let Returns::Value(_) | Returns::SetOf(_) = definition.returns {
            relation = relation.with_fields();
        }
        let relation = self.add_relation(relation, alias, place)?;
        let (is_set, is_strict) = (definition.returns.is_set(), definition.is_strict);
        let source = RoutineSource { callee, arguments, registers, is_set, is_strict };
        Ok(Item::new(Source::Routine(source), own_name, relation))
    }
}

/// The column of WITH ORDINALITY.
fn ordinality(is_wanted: bool) -> Option<(&'static str, SqlType)> {
    is_wanted.then_some(("ordinality", SqlType::BigInt))
}

/// The columns that a function returns, as a relation of this name.
fn row_of(definition: &RoutineDefinition, name: &str) -> Vec<(String, SqlType)> {
    let outputs = || definition.parameters.iter().filter(|parameter| parameter.mode.is_output());
    let single = |sql_type: SqlType| {
        let named = outputs().next().and_then(|parameter| parameter.name.clone());
        vec![(named.unwrap_or_else(|| name.to_owned()), sql_type)]
    };
    match &definition.returns {
        Returns::Nothing | Returns::Trigger => single(SqlType::Text),
        Returns::Value(sql_type) | Returns::SetOf(sql_type) => single(*sql_type),
        Returns::Table(columns) | Returns::SetOfRow(columns) => columns.clone(),
        Returns::Record | Returns::SetOfRecord => outputs()
            .enumerate()
            .map(|(at, parameter)| {
                let name = parameter.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
                (name, parameter.sql_type)
            })
            .collect(),
    }
}
