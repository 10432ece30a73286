//! From a text to a validated [`Plan`].
//!
//! What contradicts itself, or names what is not there, is an error with its
//! place; what is merely missing (`op`, `meaning`, `devices`, a need) is kept
//! missing, and makes a verdict unknown later.
//!
//! Everything else is judged before any array is asked for.

mod arrays;
mod group;
mod inputs;
mod needs;
mod partitions;
mod place;
mod programs;
mod proposals;
mod spot;
mod steps;

pub use arrays::{ArrayError, ArrayRequest, Arrays, NoArrays};

use alloc::collections::BTreeSet;
use alloc::format;

use crate::error::{Fault, PlanError};
use crate::file::{Format, PlanFile};
use crate::plan::Plan;
use crate::words::FORMAT;
use group::Ranks;
use partitions::Partitions;
use spot::Spot;

/// What the rest of a plan may name.
struct Declared<'f> {
    ranks: Ranks,
    partitions: Partitions,
    inputs: BTreeSet<&'f str>,
    file: &'f PlanFile,
}

impl Plan {
    /// Reads and validates a plan, asking `arrays` for the values it keeps in files.
    ///
    /// ```
    /// use rankwise_plan::file::Format;
    /// use rankwise_plan::plan::Plan;
    /// use rankwise_plan::read::NoArrays;
    ///
    /// let text = r#"
    ///     format = 1
    ///     group.ranks = 2
    ///     input.x = { dtype = "i32", count = 4 }
    ///
    ///     [[proposal.whole.step]]
    ///     call = "all_reduce"
    ///     op = "sum"
    ///     send = "x"
    ///     recv = "y"
    /// "#;
    /// let plan = Plan::read(text, Format::Toml, &mut NoArrays)?;
    /// assert_eq!(plan.inputs["x"].counts.each(), Some(4));
    ///
    /// let error = Plan::read(&text.replace("sum", "add"), Format::Toml, &mut NoArrays).unwrap_err();
    /// assert_eq!(error.span.place(text).to_string(), "8:10");
    /// assert_eq!(
    ///     error.to_string(),
    ///     r#"proposal.whole.step[0].op: found "add", expected one of sum, prod, max, min, avg, premul"#,
    /// );
    /// # Ok::<(), rankwise_plan::error::PlanError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its place. Kinds and examples are in
    /// `docs/plan-format.md`.
    pub fn read(text: &str, format: Format, arrays: &mut dyn Arrays) -> Result<Self, PlanError> {
        Self::from_file(&PlanFile::read(text, format)?, text, arrays)
    }

    /// Validates a plan that was read from `text`, or made without one (then `text`
    /// is empty).
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn from_file(
        file: &PlanFile,
        text: &str,
        arrays: &mut dyn Arrays,
    ) -> Result<Self, PlanError> {
        let root = Spot::root();
        let (spot, format) =
            root.needed("format", file.format.as_ref(), &format!("format = {FORMAT}"))?;
        if format.get() != FORMAT {
            let found = format!("format {}", format.get());
            let expected = format!("format {FORMAT}, the only one that this version reads");
            return Err(spot.error(Fault::Value, found, expected));
        }
        let ranks = Ranks::read(&root, file)?;
        let partitions = Partitions::read(&root, file, &ranks)?;
        let names = file.input.iter().map(|(name, _)| name.value.as_str()).collect();
        let declared = Declared { ranks, partitions, inputs: names, file };
        let inputs = inputs::declarations(&root, &declared)?;
        let proposals = proposals::read(&root, &declared, text)?;
        let needs = needs::read(&root, &declared, text)?;
        let inputs = inputs::read(inputs, &declared.ranks, arrays)?;
        let Declared { ranks, partitions, .. } = declared;
        let plan = Self {
            world: ranks.size,
            map: ranks.map,
            partitions: partitions.into_named(),
            inputs,
            proposals,
            needs,
        };
        programs::one_for_each(&plan)?;
        Ok(plan)
    }
}
