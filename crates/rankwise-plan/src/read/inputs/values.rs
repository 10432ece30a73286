//! The contributions of an input: of one type and one length, or an error.

use alloc::format;
use alloc::vec::Vec;

use rankwise_model::{Dtype, GroupSize, Scalar};

use crate::error::{Fault, PlanError};
use crate::file::{Literal, Spanned};
use crate::names;
use crate::plan::Counts;
use crate::read::arrays::{ArrayRequest, Arrays, blocks};
use crate::read::spot::Spot;
use crate::values::Values;
use crate::words::Slicing;

/// The contributions read so far, in rank order.
pub(super) struct Contributions {
    dtype: Dtype,
    /// As stated, or as the first contribution has it.
    counts: Option<Counts>,
    values: Option<Vec<Values>>,
    rounded: u64,
}

impl Contributions {
    pub(super) fn new(dtype: Dtype, counts: Option<Counts>) -> Self {
        Self { dtype, counts, values: None, rounded: 0 }
    }

    /// The lengths, the values if there are any, and how many literals were
    /// rounded.
    pub(super) fn finish(self) -> (Counts, Option<Vec<Values>>, u64) {
        (self.counts.unwrap_or(Counts::Each(0)), self.values, self.rounded)
    }

    /// The length of the next contribution, if it is known.
    fn next_count(&self) -> Option<u64> {
        match self.counts.as_ref()? {
            Counts::Each(count) => Some(*count),
            Counts::ByRank(counts) => counts.get(self.values.as_ref().map_or(0, Vec::len)).copied(),
        }
    }

    fn push(&mut self, values: Values) {
        self.values.get_or_insert_default().push(values);
    }

    /// Every contribution has its stated length, or that of the first.
    fn check(&mut self, spot: &Spot, kind: Fault, found: u64) -> Result<(), PlanError> {
        self.counts.get_or_insert(Counts::Each(found));
        let count = self.next_count().unwrap_or(found);
        if count == found {
            return Ok(());
        }
        let expected = format!("{count} elements");
        Err(spot.error(kind, format!("{found} elements"), expected))
    }

    pub(super) fn literals(
        &mut self,
        lists: &[(Spot, &[Spanned<Literal>])],
    ) -> Result<(), PlanError> {
        for (spot, list) in lists {
            let found = u64::try_from(list.len()).unwrap_or(u64::MAX);
            self.check(spot, Fault::Contradiction, found)?;
            let mut scalars = Vec::with_capacity(list.len());
            for (index, literal) in list.iter().enumerate() {
                let read = Scalar::parse(self.dtype, &literal.value.0).map_err(|error| {
                    let expected = format!("an element of {}; this is {error}", self.dtype);
                    spot.index(index, literal.span).error(
                        Fault::Value,
                        names::shortened(&literal.value.0),
                        expected,
                    )
                })?;
                self.rounded = self.rounded.saturating_add(u64::from(read.rounded));
                scalars.push(read.scalar);
            }
            let values = Values::from_scalars(self.dtype, scalars);
            self.push(values.ok_or_else(|| {
                spot.error(Fault::Value, "elements of several types", self.dtype.name())
            })?);
        }
        Ok(())
    }

    pub(super) fn files(
        &mut self,
        files: &[(Spot, &str)],
        arrays: &mut dyn Arrays,
    ) -> Result<(), PlanError> {
        for (spot, file) in files {
            let values = self.array(spot, file, self.next_count(), arrays)?;
            self.check(spot, Fault::Array, values.count())?;
            self.push(values);
        }
        Ok(())
    }

    pub(super) fn file(
        &mut self,
        spot: &Spot,
        file: &str,
        slicing: Slicing,
        ranks: GroupSize,
        arrays: &mut dyn Arrays,
    ) -> Result<(), PlanError> {
        let ranks = u64::from(ranks.get());
        let parts = match slicing {
            Slicing::Blocks => ranks,
            Slicing::Whole => 1,
        };
        if let (Slicing::Blocks, Some(Counts::ByRank(counts))) = (slicing, &self.counts) {
            let found = format!("blocks of {} ranks with counts of their own", counts.len());
            return Err(spot.error(Fault::Contradiction, found, "one count for all, or `files`"));
        }
        let total = self.next_count().map(|count| {
            count.checked_mul(parts).ok_or_else(|| {
                let found = format!("{parts} blocks of {count} elements");
                spot.error(Fault::Overflow, found, "fewer than 2^64 elements")
            })
        });
        let total = total.transpose()?;
        let values = self.array(spot, file, total, arrays)?;
        let found = values.count();
        if let Some(total) = total.filter(|total| *total != found) {
            let of = self.next_count().unwrap_or(0);
            let expected = format!("{total} elements: {parts} × {of}");
            return Err(spot.error(Fault::Array, format!("{found} elements"), expected));
        }
        let blocks = blocks(&values, parts).ok_or_else(|| {
            let expected = format!("a number of elements that {parts} divides");
            spot.error(Fault::Array, format!("{found} elements"), expected)
        })?;
        for block in blocks.iter().cycle().take(usize::try_from(ranks).unwrap_or(usize::MAX)) {
            self.check(spot, Fault::Array, block.count())?;
            self.push(block.clone());
        }
        Ok(())
    }

    /// One array of the right type.
    fn array(
        &self,
        spot: &Spot,
        written: &str,
        count: Option<u64>,
        arrays: &mut dyn Arrays,
    ) -> Result<Values, PlanError> {
        let request = ArrayRequest::new(spot.name(written)?, self.dtype, count);
        let values = arrays
            .array(&request)
            .map_err(|error| spot.error(Fault::Array, error.found, error.expected))?;
        if values.dtype() != self.dtype {
            let expected = format!("elements of {}", self.dtype);
            return Err(spot.error(
                Fault::Array,
                format!("elements of {}", values.dtype()),
                expected,
            ));
        }
        Ok(values)
    }
}
