//! CREATE and DROP EXTENSION, as written.

/// CREATE EXTENSION.
#[derive(Clone, Debug)]
pub(crate) struct CreateExtension {
    pub(crate) name: String,
    pub(crate) if_not_exists: bool,
    pub(crate) schema: Option<String>,
    pub(crate) version: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum ExtensionCommand {
    Create(CreateExtension),
    Drop { names: Vec<String>, if_exists: bool, cascades: bool },
}
