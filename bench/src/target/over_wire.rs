//! A server at a URL: Hyades, or PostgreSQL, since both speak the same protocol. One call at a time on each
//! connection.

use anyhow::{Context, Result};
use hyades_engine::log::durable::Durability;
use postgres::types::{ToSql, Type};
use postgres::{Client, NoTls, SimpleQueryMessage, Statement};

use super::{Argument, Caller, Connection, Ended, fill_chunk, parse_number};
use crate::target::{Call, Parameter, Request};

pub struct WireConnection {
    client: Client,
}

impl WireConnection {
    /// # Errors
    /// The URL is invalid, or there is no server.
    pub fn new(url: &str) -> Result<WireConnection> {
        let client = Client::connect(url, NoTls).with_context(|| format!("could not connect to {url}"))?;
        Ok(WireConnection { client })
    }

    /// Turns the connection into the caller of a workload.
    ///
    /// # Errors
    /// Calls that the server does not accept.
    pub fn into_caller(mut self, calls: &'static [Call]) -> Result<WireCaller> {
        let mut prepare = |call: &Call| {
            let types: Vec<Type> = call.parameters.iter().map(|parameter| wire_type(*parameter)).collect();
            self.client.prepare_typed(call.sql, &types).with_context(|| call.sql.to_owned())
        };
        let prepared = calls.iter().map(&mut prepare).collect::<Result<Vec<_>>>()?;
        Ok(WireCaller { client: self.client, calls, prepared })
    }
}

fn wire_type(parameter: Parameter) -> Type {
    match parameter {
        Parameter::Integer => Type::INT4,
        Parameter::BigInt => Type::INT8,
        Parameter::Text => Type::TEXT,
        Parameter::Integers => Type::INT4_ARRAY,
        Parameter::SmallInts => Type::INT2_ARRAY,
    }
}

impl Connection for WireConnection {
    fn script(&mut self, sql: &str) -> Result<()> {
        Ok(self.client.batch_execute(sql)?)
    }

    fn copy(&mut self, table: &str, next: &mut dyn FnMut(&mut String) -> bool) -> Result<()> {
        use std::io::Write;
        let mut writer = self.client.copy_in(&format!("COPY {table} FROM STDIN"))?;
        let (mut chunk, mut goes_on) = (String::new(), true);
        while goes_on {
            goes_on = fill_chunk(&mut chunk, next);
            writer.write_all(chunk.as_bytes())?;
        }
        writer.finish().with_context(|| format!("COPY {table}"))?;
        Ok(())
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let mut rows = Vec::new();
        for message in self.client.simple_query(sql).with_context(|| sql.to_owned())? {
            if let SimpleQueryMessage::Row(row) = message {
                let numbers = (0..row.len()).map(|column| {
                    let text = row.get(column).with_context(|| format!("a null in the result of: {sql}"))?;
                    parse_number(text, sql)
                });
                rows.push(numbers.collect::<Result<Vec<i64>>>()?);
            }
        }
        Ok(rows)
    }
}

pub struct WireCaller {
    client: Client,
    calls: &'static [Call],
    prepared: Vec<Statement>,
}

/// The argument as a value of its parameter's type.
fn to_sql(argument: &Argument, parameter: Parameter) -> Box<dyn ToSql + Sync + '_> {
    match (argument, parameter) {
        (Argument::Null, Parameter::Integer) => Box::new(None::<i32>),
        (Argument::Null, Parameter::BigInt) => Box::new(None::<i64>),
        (Argument::Null, Parameter::Text) => Box::new(None::<&str>),
        (Argument::Null, Parameter::Integers) => Box::new(None::<Vec<i32>>),
        (Argument::Null, Parameter::SmallInts) => Box::new(None::<Vec<i16>>),
        (Argument::Integer(number), _) => Box::new(number),
        (Argument::BigInt(number), _) => Box::new(number),
        (Argument::Text(text), _) => Box::new(text.as_str()),
        (Argument::Integers(numbers), _) => Box::new(numbers),
        (Argument::SmallInts(numbers), _) => Box::new(numbers),
    }
}

impl Caller for WireCaller {
    fn call(&mut self, request: &Request) -> Result<Ended> {
        let parameters = self.calls[request.call].parameters;
        let arguments = request.arguments.iter().zip(parameters);
        let arguments: Vec<_> = arguments.map(|(argument, parameter)| to_sql(argument, *parameter)).collect();
        let arguments: Vec<&(dyn ToSql + Sync)> = arguments.iter().map(|argument| &**argument as _).collect();
        let mut retries = 0;
        loop {
            let error = match self.client.query(&self.prepared[request.call], &arguments) {
                Ok(_) => {
                    return Ok(Ended { durability: Durability::immediate(), retries, is_refused: false });
                }
                Err(error) => error,
            };
            let state = error.code().map_or("", |code| code.code());
            if self.calls[request.call].refusals.contains(&state) {
                return Ok(Ended { durability: Durability::immediate(), retries, is_refused: true });
            }
            if !matches!(state, "40001" | "40P01") {
                return Err(error).with_context(|| format!("{request:?}"));
            }
            retries += 1;
        }
    }
}
