//! The needs, and the names in what they hold.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use rankwise_model::Scalar;

use crate::error::{Fault, PlanError};
use crate::file;
use crate::holds::{self, Parsed};
use crate::names;
use crate::plan::{At, Expr, ExprKind, Need};
use crate::read::spot::Spot;
use crate::read::{Declared, place};
use crate::words::WORLD;

/// The needs, in the order of the file.
pub(super) fn read(
    plan: &Spot,
    declared: &Declared<'_>,
    text: &str,
) -> Result<Vec<Need>, PlanError> {
    let all = plan.key("need", plan.span);
    all.each(&declared.file.need).map(|(spot, need)| one(&spot, need, declared, text)).collect()
}

fn one(
    spot: &Spot,
    need: &file::Need,
    declared: &Declared<'_>,
    text: &str,
) -> Result<Need, PlanError> {
    let (on_spot, on) =
        spot.needed("on", need.on.as_ref(), "who needs it: \"every rank\" or a table")?;
    let on = place::on(&on_spot, on, declared)?;
    let (buffer_spot, buffer) = spot.needed("buffer", need.buffer.as_ref(), "in which buffer")?;
    buffer_spot.name(buffer)?;
    let positions = match spot.given("positions", need.positions.as_ref()) {
        None => None,
        Some((spot, written)) => {
            let range = holds::positions(written, spot.origin(text, written));
            let range = range.map_err(|error| spot.within(error))?;
            if range.is_empty() {
                let found = format!("{}..{}", range.start, range.end);
                return Err(spot.error(Fault::Value, found, "at least one position"));
            }
            Some(range)
        }
    };
    let (holds_spot, written) =
        spot.needed("holds", need.holds.as_ref(), "what it must hold: sum(x)")?;
    let parsed = holds::parse(written, holds_spot.origin(text, written));
    let Parsed { expr: mut holds, groups } = parsed.map_err(|error| holds_spot.within(error))?;
    for (name, span) in &groups {
        declared.partitions.get(&holds_spot.moved(*span), name)?;
    }
    Names { spot: &holds_spot, declared }.check(&mut holds)?;
    Ok(Need {
        on,
        buffer: buffer.clone(),
        positions,
        holds,
        holds_text: written.clone(),
        span: spot.span,
    })
}

/// Looks up every name of an expression.
struct Names<'n> {
    spot: &'n Spot,
    declared: &'n Declared<'n>,
}

impl Names<'_> {
    /// Also drops `over world`, which is what no `over` means, and gives devices
    /// the name that the map shows.
    fn check(&self, expr: &mut Expr) -> Result<(), PlanError> {
        let spot = self.spot.moved(expr.span);
        let Declared { ranks, partitions, inputs, .. } = self.declared;
        let mut smallest = ranks.size;
        if let Some(name) = &expr.over {
            match partitions.get(&spot, name)? {
                Some(groups) => smallest = groups.smallest,
                None => expr.over = None,
            }
        }
        match &mut expr.kind {
            ExprKind::Input { name, at } => {
                if !inputs.contains(name.as_str()) {
                    return Err(spot.unknown(name, inputs.iter().copied()));
                }
                match at {
                    Some(At::Device(device)) => *device = ranks.device(&spot, device)?.to_string(),
                    Some(At::Rank(rank)) => {
                        ranks.rank(&spot, file::Whole::new(rank.index().into()))?;
                    }
                    None => {}
                }
                Ok(())
            }
            ExprKind::Shard(inner, block, _) => {
                if let Some(block) = block.filter(|block| *block >= smallest.get()) {
                    let group = expr.over.as_deref().unwrap_or(WORLD);
                    let last = smallest.get().saturating_sub(1);
                    let expected = format!("a rank of every group of {group}: 0 to {last}");
                    return Err(spot.error(Fault::UnknownName, format!("block {block}"), expected));
                }
                self.check(inner)
            }
            ExprKind::Fill(value, dtype, _) => match Scalar::parse(*dtype, value) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let expected = format!("an element of {dtype}; this is {error}");
                    Err(spot.error(Fault::Value, names::shortened(value), expected))
                }
            },
            ExprKind::Gather(inner)
            | ExprKind::Exchange(inner)
            | ExprKind::Pad(inner, ..)
            | ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => self.check(inner),
            ExprKind::Concat(parts) => parts.iter_mut().try_for_each(|part| self.check(part)),
        }
    }
}
