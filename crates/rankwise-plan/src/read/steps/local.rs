//! Local acts: copy, slice, concat, fold, scale, cast.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::Reduction;

use crate::error::{Fault, PlanError};
use crate::file::Buffers;
use crate::holds;
use crate::plan::{LocalAct, LocalStep};
use crate::read::steps::StepReader;
use crate::words::OwnCall;
use crate::{limits, names};

/// The longest numerator or denominator of a factor; exact arithmetic grows with it.
const FACTOR_CHARACTERS: usize = 64;

impl StepReader<'_> {
    pub(super) fn local(&self, call: OwnCall) -> Result<LocalStep, PlanError> {
        let keys: &[&str] = match call {
            OwnCall::Slice => &["on", "send", "recv", "positions"],
            OwnCall::Fold => &["on", "send", "recv", "op"],
            OwnCall::Scale => &["on", "send", "recv", "by"],
            OwnCall::Cast => &["on", "send", "recv", "dtype"],
            _ => &["on", "send", "recv"],
        };
        self.only(keys)?;
        let act = match call {
            OwnCall::Slice => self.slice()?,
            OwnCall::Concat => LocalAct::Concat { from: self.several()? },
            OwnCall::Fold => {
                // A pre-multiplied sum has a scalar per rank, and no rank is involved.
                let plain = Reduction::ALL.into_iter().filter(|op| *op != Reduction::PreMulSum);
                let plain: Vec<&str> = plain.map(Reduction::name).collect();
                LocalAct::Fold { from: self.several()?, reduction: self.op(&plain)? }
            }
            OwnCall::Scale => LocalAct::Scale { from: self.send()?, by: self.factor()? },
            OwnCall::Cast => {
                let (spot, dtype) =
                    self.spot.needed("dtype", self.step.dtype.as_ref(), "the new element type")?;
                let wrong = |expected| spot.error(Fault::Value, names::quoted(dtype), expected);
                LocalAct::Cast { from: self.send()?, to: names::dtype(dtype).map_err(wrong)? }
            }
            _ => LocalAct::Copy { from: self.send()? },
        };
        Ok(LocalStep { on: self.on()?, act, recv: self.recv()? })
    }

    fn slice(&self) -> Result<LocalAct, PlanError> {
        const EXPECTED: &str = "the positions that are kept, a..b";
        let (spot, written) =
            self.spot.needed("positions", self.step.positions.as_ref(), EXPECTED)?;
        let positions = holds::positions(written, spot.origin(self.text, written))
            .map_err(|error| spot.within(error))?;
        Ok(LocalAct::Slice { from: self.send()?, positions })
    }

    /// The buffers that are read, in order.
    fn several(&self) -> Result<Vec<String>, PlanError> {
        let (spot, send) =
            self.spot.needed("send", self.step.send.as_ref(), "the buffers that are read")?;
        let written = match send {
            Buffers::One(name) => return Ok(Vec::from([spot.name(name)?.to_string()])),
            Buffers::Several(written) => written,
        };
        if written.is_empty() {
            return Err(spot.error(Fault::Value, "no buffers", "at least one"));
        }
        if u64::try_from(written.len()).map_or(true, |buffers| buffers > limits::ARGUMENTS) {
            let expected = format!("at most {}", limits::ARGUMENTS);
            return Err(spot.error(Fault::Limit, format!("{} buffers", written.len()), expected));
        }
        spot.each(written).map(|(spot, name)| spot.name(name).map(String::from)).collect()
    }

    /// A decimal number, or two with a `/` between them.
    fn factor(&self) -> Result<(String, String), PlanError> {
        const EXPECTED: &str = "a decimal number such as 0.125, or a fraction such as \"1/8\"";
        let (spot, by) = self.spot.needed("by", self.step.by.as_ref(), EXPECTED)?;
        let (over, under) = by.0.split_once('/').unwrap_or((&by.0, "1"));
        let (over, under) = (over.trim(), under.trim());
        if let Some(long) = [over, under].into_iter().find(|side| side.len() > FACTOR_CHARACTERS) {
            let found = format!("a number of {} characters", long.len());
            return Err(spot.error(Fault::Limit, found, format!("at most {FACTOR_CHARACTERS}")));
        }
        if !is_decimal(over) || !is_decimal(under) {
            return Err(spot.error(Fault::Value, names::quoted(&by.0), EXPECTED));
        }
        if !under.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
            return Err(spot.error(Fault::Value, "a division by 0", EXPECTED));
        }
        Ok((over.to_string(), under.to_string()))
    }
}

/// Digits, with a sign and a fraction perhaps; no exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction)
}
