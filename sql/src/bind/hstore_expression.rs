//! Subscripts of an hstore: `pairs['key']`, also in assignments.
//!
//! Reference: PostgreSQL's `hstore_subs.c`.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::extension::ExtensionType;
use hyades_types::function::Function;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast::{AccessExpr, Subscript};

use super::coerce::Context;
use super::{Binder, Bound, Place};

/// The type hstore.
pub(super) const HSTORE: SqlType = SqlType::Extension(ExtensionType::Hstore);

impl Binder<'_> {
    /// `pairs['key']`
    pub(super) fn hstore_subscript(&mut self, pairs: Bound, chain: &[AccessExpr]) -> Result<Bound> {
        let place = pairs.place;
        let key = self.hstore_key(chain, place)?;
        let expr = Expr::Call { function: Function::HstoreGet, arguments: vec![pairs.expr, key] };
        Ok(Bound::typed(expr, SqlType::Text, place))
    }

    /// The pairs after `name['key'] = value`.
    pub(super) fn assigned_pair(
        &mut self,
        (pairs, name): (Expr, &str),
        chain: &[AccessExpr],
        value: Bound,
        place: Place,
    ) -> Result<Expr> {
        let key = self.hstore_key(chain, place)?;
        let from = value.type_name();
        let Some(value) = self.try_coerce(value, SqlType::Text, Context::Assignment)? else {
            let message = format!(
                "subscripted assignment to \"{name}\" requires type text but expression is of type {from}"
            );
            let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.");
            return Err(self.place(error, place));
        };
        let call = |function, arguments| Expr::Call { function, arguments };
        // NULL is no pairs.
        let none = Expr::Const(Value::array(ArrayElement::Text, Vec::new()));
        let pairs = Expr::Coalesce(vec![pairs, call(Function::HstoreOfArray, vec![none])]);
        let pair = call(Function::HstoreOfPair, vec![key, value]);
        Ok(call(Function::HstoreConcat, vec![pairs, pair]))
    }

    /// The only subscript.
    fn hstore_key(&mut self, chain: &[AccessExpr], place: Place) -> Result<Expr> {
        let [AccessExpr::Subscript(Subscript::Index { index })] = chain else {
            let message = "hstore allows only one subscript";
            return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
        };
        let index = self.expression(index)?;
        let place = index.place;
        match self.try_coerce(index, SqlType::Text, Context::Assignment)? {
            Some(key) => Ok(key),
            None => self.fail(sqlstate::DATATYPE_MISMATCH, "hstore subscript must have type text", place),
        }
    }
}
