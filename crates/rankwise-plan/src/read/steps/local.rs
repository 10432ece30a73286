//! Local acts.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_account::Uneven;
use rankwise_model::{Dtype, Reduction, Scalar};

use crate::error::{Fault, PlanError};
use crate::holds;
use crate::names;
use crate::plan::{ElementType, LocalAct, LocalStep, Operand, Sharding, Wants};
use crate::read::spot::Spot;
use crate::read::steps::StepReader;
use crate::words::OwnCall;

/// The longest numerator or denominator of a factor; exact arithmetic grows with it.
const FACTOR_CHARACTERS: usize = 64;

impl StepReader<'_> {
    pub(super) fn local(&self, call: OwnCall) -> Result<LocalStep, PlanError> {
        let keys: &[&str] = match call {
            OwnCall::Slice => &["on", "send", "recv", "positions"],
            OwnCall::Fold => &["on", "send", "recv", "op"],
            OwnCall::Scale => &["on", "send", "recv", "by"],
            OwnCall::Cast => &["on", "send", "recv", "dtype"],
            OwnCall::Alloc => &["on", "recv", "dtype", "count"],
            OwnCall::Fill => &["on", "recv", "value", "dtype", "count"],
            OwnCall::Pad => &["on", "send", "recv", "count", "value"],
            OwnCall::Shard => &["on", "over", "send", "recv", "shape", "dim", "uneven", "value"],
            OwnCall::Unshard => &["on", "over", "send", "recv", "shape", "dim", "uneven"],
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
                LocalAct::Cast { from: self.send()?, to: self.dtype("the new element type")? }
            }
            OwnCall::Alloc => {
                let dtype = self.dtype("the element type")?;
                self.whole_recv()?;
                LocalAct::Alloc { dtype: ElementType::Is(dtype), count: self.elements(dtype)? }
            }
            OwnCall::Fill => {
                let dtype = self.dtype("the element type")?;
                let value = self.value("the constant")?;
                let (spot, value) = value;
                Scalar::parse(dtype, &value).map_err(|error| {
                    let expected = format!("an element of {dtype}; this is {error}");
                    spot.error(Fault::Value, names::shortened(&value), expected)
                })?;
                LocalAct::Fill { value, dtype, count: self.elements(dtype)? }
            }
            OwnCall::Pad => LocalAct::Pad {
                from: self.send()?,
                count: self.count("how many elements it has with the padding")?.1,
                value: self.value("what the padding holds")?.1,
            },
            OwnCall::Shard | OwnCall::Unshard => {
                let sharding = self.sharding(call)?;
                let ((over, over_name), from) = (self.over()?, self.send()?);
                let over = over.partition;
                if call == OwnCall::Shard {
                    LocalAct::Shard { from, sharding, over, over_name }
                } else {
                    LocalAct::Unshard { from, sharding, over, over_name }
                }
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

    fn dtype(&self, expected: &str) -> Result<Dtype, PlanError> {
        let (spot, dtype) = self.spot.needed("dtype", self.step.dtype.as_ref(), expected)?;
        names::dtype(dtype)
            .map_err(|expected| spot.error(Fault::Value, names::quoted(dtype), expected))
    }

    fn count(&self, expected: &str) -> Result<(Spot, u64), PlanError> {
        let (spot, count) = self.spot.needed("count", self.step.count.as_ref(), expected)?;
        Ok((spot, count.get()))
    }

    /// How long a buffer of some type is, in elements.
    fn elements(&self, dtype: Dtype) -> Result<u64, PlanError> {
        let (spot, count) = self.count("how many elements it has")?;
        match count.checked_mul(dtype.bytes()) {
            Some(_) => Ok(count),
            None => {
                let found = format!("{count} elements of {} bytes", dtype.bytes());
                Err(spot.error(Fault::Overflow, found, "fewer than 2^64 bytes"))
            }
        }
    }

    /// That a buffer is made anew, and no part of one.
    fn whole_recv(&self) -> Result<(), PlanError> {
        match self.recv()? {
            Operand { positions: None, .. } => Ok(()),
            view => {
                let spot = self.spot.given("recv", self.step.recv.as_ref());
                let spot = spot.as_ref().map_or(self.spot, |(spot, _)| spot);
                let expected = format!("`{}`: {} makes a buffer anew", view.buffer, self.call);
                Err(spot.error(Fault::Contradiction, format!("positions, `{view}`"), expected))
            }
        }
    }

    /// A constant, as written; an element of what is not yet known.
    fn value(&self, expected: &str) -> Result<(Spot, String), PlanError> {
        let (spot, value) = self.spot.needed("value", self.step.value.as_ref(), expected)?;
        if value.0.parse::<f64>().is_err() {
            return Err(spot.error(Fault::Value, names::quoted(&value.0), "a number"));
        }
        Ok((spot, value.0.to_string()))
    }

    fn sharding(&self, call: OwnCall) -> Result<Sharding, PlanError> {
        let uneven = self.spot.given("uneven", self.step.uneven.as_ref());
        let uneven = uneven.map(|(spot, word)| {
            spot.word(word, &Uneven::ALL.map(|uneven| (uneven.name(), uneven)))
        });
        let shape = self.spot.given("shape", self.step.shape.as_ref());
        let shape: Option<Vec<u64>> =
            shape.map(|(_, axes)| axes.iter().map(|axis| axis.value.get()).collect());
        let dim = self.spot.given("dim", self.step.dim.as_ref());
        let value = self.step.value.is_some().then(|| self.value("what the padding holds"));
        let sharding = Sharding {
            dim: dim
                .as_ref()
                .map_or(0, |(_, dim)| usize::try_from(dim.get()).unwrap_or(usize::MAX)),
            shape,
            uneven: uneven.transpose()?,
            value: value.transpose()?.map(|(_, value)| value),
        };
        let wants = if call == OwnCall::Shard { Wants::Share } else { Wants::Whole };
        sharding
            .check(dim.is_some(), wants)
            .map_err(|(kind, found, expected)| self.spot.error(kind, found, expected))?;
        Ok(sharding)
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
