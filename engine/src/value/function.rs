//! Scalar functions.
/// A scalar function, chosen by the compiler from name and argument types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Now,
}
