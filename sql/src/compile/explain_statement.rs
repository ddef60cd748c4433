//! EXPLAIN: the statement is compiled to be described, or to be run and described.

use std::time::{Duration, Instant};

use hyades_types::error::{Error, Result};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::action::{Action, Plan};
use super::compile_for;
use crate::answer::{Response, ResultColumn};
use crate::ddl::command::SchemaCommand;
use crate::emit::run_plan::{Analysis, RunPlan};
use crate::emit::{Compiler, Purpose, shifted, unsupported};
use crate::explain::PlanNode;
use crate::statement::ExplainOptions;
use crate::statement::tokens::Tokens;

impl Compiler<'_> {
    /// EXPLAIN of the statement in `body`.
    pub(crate) fn explain(&mut self, options: ExplainOptions, body: &str, body_offset: u32) -> Result<Plan> {
        let declared = self.binder.parameter_types.clone();
        let purpose = if options.is_analyze { Purpose::Analyze } else { Purpose::Explain };
        let start = Instant::now();
        let plan = compile_for(body, self.binder.context, &declared, &mut Vec::new(), purpose)
            .and_then(|plan| if is_explained(&plan.action) { Ok(plan) } else { Err(unexplained(body)) })
            .map_err(|error| shifted(error, body_offset))?;
        let planning = start.elapsed();
        let (command, is_read_only) =
            if options.is_analyze { (plan.command, plan.is_read_only) } else { ("EXPLAIN", true) };
        let column = ResultColumn { name: "QUERY PLAN".to_owned(), sql_type: SqlType::Text, source: None };
        Ok(Plan {
            action: explained_action(plan.action, options, planning)?,
            parameters: plan.parameters,
            response: Response::Rows(vec![column]),
            command,
            is_read_only,
        })
    }
}

/// Whether EXPLAIN describes such statements.
fn is_explained(action: &Action) -> bool {
    matches!(
        action,
        Action::Run(_)
            | Action::Declare(_)
            | Action::Execute { .. }
            | Action::Call(_)
            | Action::Schema(SchemaCommand::CreateAs { .. } | SchemaCommand::Refresh(_))
    )
}

/// The syntax error for a statement that is none of those: CREATE, but not of a table from a query.
fn unexplained(body: &str) -> Error {
    let at = |tokens: &mut Tokens<'_>| {
        tokens.expect("create")?;
        tokens.persistence();
        tokens.expect("table")?;
        tokens.if_not_exists()?;
        tokens.qualified_name()?;
        if tokens.accept_symbol("(") && !tokens.peek().is_word("like") {
            tokens.identifier()?;
        }
        tokens.error::<()>()
    };
    let outcome = Tokens::new(body).and_then(|mut tokens| at(&mut tokens));
    outcome.err().unwrap_or_else(|| Error::corrupt("a statement that cannot be explained"))
}

/// The action that EXPLAIN runs instead of this one.
fn explained_action(action: Action, options: ExplainOptions, planning: Duration) -> Result<Action> {
    let ExplainOptions { is_analyze, is_verbose, format, .. } = options;
    let mut rights = Vec::new();
    action.for_each_right(&mut |needed| {
        rights.push(needed.clone());
        Ok(())
    })?;
    let described = |node: PlanNode| Action::Explain(node.texts(format, None), rights);
    let analysis = is_analyze.then_some(Analysis { options, planning });
    Ok(match action {
        Action::Schema(SchemaCommand::Refresh(_)) => {
            described(PlanNode::new("Utility statements have no plan structure".to_owned()))
        }
        Action::Execute { name, arguments } => Action::ExplainExecute { name, arguments, options },
        Action::Declare(declare) if is_analyze => Action::Run(Box::new(RunPlan { analysis, ..declare.run })),
        Action::Run(run) if is_analyze => Action::Run(Box::new(RunPlan { analysis, ..*run })),
        Action::Schema(SchemaCommand::CreateAs {
            definition,
            if_not_exists,
            query: Some(query),
            on_commit,
            ..
        }) => {
            let query = Some(query);
            Action::Schema(SchemaCommand::CreateAs { definition, if_not_exists, query, on_commit, analysis })
        }
        _ if is_analyze => return unsupported(Missing::Explain, "EXPLAIN ANALYZE of this statement is"),
        Action::Declare(declare) => described(node_of(declare.run, is_verbose)),
        Action::Run(run) => described(node_of(*run, is_verbose)),
        Action::Call(call) => {
            let draws = call.arguments.iter().any(|argument| argument.looks_at().sequences);
            Action::ExplainCall { routine: call.routine, draws, is_verbose, format }
        }
        other => other,
    })
}

fn node_of(run: RunPlan, is_verbose: bool) -> PlanNode {
    let node = run.explain.unwrap_or_default();
    if is_verbose { node.running(&run.procedure) } else { node }
}
