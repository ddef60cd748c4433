//! The answer to EXPLAIN ANALYZE: the plan with the counts of its run.

use std::time::Duration;

use hyades_types::error::Result;
use hyades_types::value::Value;

use super::Output;
use crate::emit::run_plan::{Analysis, RunPlan};
use crate::explain::Times;
use crate::explain::counted::Counts;

/// Reports a run that has ended and returned `told` rows.
pub(super) fn tell_counts(
    run: &RunPlan,
    Analysis { options, planning }: Analysis,
    (registers, told): (&[Value], u64),
    execution: Duration,
    output: &mut dyn Output,
) -> Result<()> {
    let mut node = run.explain.clone().unwrap_or_default();
    node.measure(&Counts { counters: &run.counters, registers, told });
    if options.is_verbose {
        node = node.running(&run.procedure);
    }
    let times = options.has_times.unwrap_or(true).then_some(Times { planning, execution });
    let mut texts = node.texts(options.format, times).into_iter();
    texts.try_for_each(|text| output.row(&mut [Value::text(text)]))
}
