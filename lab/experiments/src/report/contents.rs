//! What a report contains, as plain values. `papers::report` gathers it, `html` and `markdown` print it.

use super::run::Run;
use crate::findings::Section;

/// What one or several runs showed.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// What was run, when and where.
    pub runs: Vec<Run>,
    /// One for each experiment and scale.
    pub sections: Vec<Section>,
}
