//! What a step reads and writes: buffers, whole or some positions of them.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::error::{Fault, PlanError};
use crate::file::Buffers;
use crate::holds::{self, Origin};
use crate::limits;
use crate::names;
use crate::plan::Operand;
use crate::read::spot::Spot;
use crate::read::steps::StepReader;

impl StepReader<'_> {
    /// The one thing that is read.
    pub(super) fn send(&self) -> Result<Operand, PlanError> {
        let (spot, send) =
            self.spot.needed("send", self.step.send.as_ref(), "the buffer that is read")?;
        match send {
            Buffers::One(name) => self.operand(&spot, name),
            Buffers::Several(names) => {
                let found = format!("{} buffers", names.len());
                Err(spot.error(Fault::Contradiction, found, format!("one for {}", self.call)))
            }
        }
    }

    /// What is read, in order.
    pub(super) fn several(&self) -> Result<Vec<Operand>, PlanError> {
        let (spot, send) =
            self.spot.needed("send", self.step.send.as_ref(), "the buffers that are read")?;
        let written = match send {
            Buffers::One(name) => return Ok(Vec::from([self.operand(&spot, name)?])),
            Buffers::Several(written) => written,
        };
        if written.is_empty() {
            return Err(spot.error(Fault::Value, "no buffers", "at least one"));
        }
        if u64::try_from(written.len()).map_or(true, |buffers| buffers > limits::ARGUMENTS) {
            let expected = format!("at most {}", limits::ARGUMENTS);
            return Err(spot.error(Fault::Limit, format!("{} buffers", written.len()), expected));
        }
        spot.each(written).map(|(spot, name)| self.operand(&spot, name)).collect()
    }

    /// What is written.
    pub(super) fn recv(&self) -> Result<Operand, PlanError> {
        const EXPECTED: &str = "the buffer that is written, the same as send for in place";
        let (spot, recv) = self.spot.needed("recv", self.step.recv.as_ref(), EXPECTED)?;
        self.operand(&spot, recv)
    }

    /// `y`, or `y[2..4]`. A bracket without `..` belongs to the name.
    fn operand(&self, spot: &Spot, written: &str) -> Result<Operand, PlanError> {
        let Some((name, inside)) = names::as_view(written) else {
            return spot.name(written).map(Operand::whole);
        };
        spot.name(name)?;
        let origin = match spot.origin(self.text, written) {
            Origin::At(start) => Origin::At(start.saturating_add(name.len()).saturating_add(1)),
            within @ Origin::Within(_) => within,
        };
        let positions = holds::positions(inside, origin).map_err(|error| spot.within(error))?;
        if positions.is_empty() {
            let found = format!("{}..{}", positions.start, positions.end);
            return Err(spot.error(Fault::Value, found, "at least one position"));
        }
        Ok(Operand { buffer: name.to_string(), positions: Some(positions) })
    }
}
