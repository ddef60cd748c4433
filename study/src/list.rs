//! All studies.

use crate::study::Study;
use crate::{graph, ours, taurus};

/// In the order in which they are listed and run.
pub fn all() -> impl Iterator<Item = &'static Study> {
    taurus::STUDIES.iter().chain(graph::STUDIES).chain(ours::STUDIES)
}
