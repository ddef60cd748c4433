//! The options of EXPLAIN.

use std::fmt;

/// FORMAT of EXPLAIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ExplainFormat {
    #[default]
    Text,
    Json,
    Xml,
    Yaml,
}

impl ExplainFormat {
    /// The format of this name.
    pub(crate) fn named(name: &str) -> Option<ExplainFormat> {
        let all = [ExplainFormat::Text, ExplainFormat::Json, ExplainFormat::Xml, ExplainFormat::Yaml];
        all.into_iter().find(|format| format.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            ExplainFormat::Text => "text",
            ExplainFormat::Json => "json",
            ExplainFormat::Xml => "xml",
            ExplainFormat::Yaml => "yaml",
        }
    }
}

/// The options of EXPLAIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExplainOptions {
    /// Whether the statement runs and its work is counted.
    pub(crate) is_analyze: bool,
    /// Whether the procedure is printed too.
    pub(crate) is_verbose: bool,
    pub(crate) format: ExplainFormat,
    /// Whether times of planning and execution are shown. If not given, they are with ANALYZE.
    pub(crate) has_times: Option<bool>,
}

/// The options as they are written.
impl fmt::Display for ExplainOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExplainOptions { is_analyze, is_verbose, format, has_times } = self;
        let format = format.name();
        write!(f, "analyze {is_analyze}, verbose {is_verbose}, format {format}")?;
        has_times.map_or(Ok(()), |has_times| write!(f, ", summary {has_times}"))
    }
}
