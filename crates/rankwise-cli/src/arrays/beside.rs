//! The array files that a plan names, found beside the plan.

use std::path::{Path, PathBuf};

use rankwise_plan::read::{ArrayError, ArrayRequest, Arrays};
use rankwise_plan::values::Values;

use super::read;

/// Reads what a plan asks for; a relative name is relative to the plan's own folder.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    folder: PathBuf,
    notes: Vec<String>,
}

impl Beside {
    /// The arrays beside the file `plan`.
    pub(crate) fn of(plan: &Path) -> Self {
        let folder = plan.parent().unwrap_or_else(|| Path::new("")).to_owned();
        Self { folder, notes: Vec::new() }
    }

    /// What had to be converted, file by file.
    pub(crate) fn into_notes(self) -> Vec<String> {
        self.notes
    }
}

impl Arrays for Beside {
    fn array(&mut self, request: &ArrayRequest<'_>) -> Result<Values, ArrayError> {
        let file = request.file;
        let array = read(&self.folder.join(file), request.tensor).map_err(|fault| ArrayError {
            found: format!("{file}: {}", fault.found()),
            expected: fault.expected(),
        })?;
        self.notes.extend(array.notes.iter().map(|note| format!("{file}: {note}")));
        Ok(array.values)
    }
}
