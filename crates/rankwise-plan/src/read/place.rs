//! Who: every rank, a rank, a device, a group.

use alloc::format;
use alloc::string::ToString;

use crate::error::{Fault, PlanError};
use crate::file::Place;
use crate::names;
use crate::plan::On;
use crate::read::Declared;
use crate::read::spot::Spot;

/// Which ranks `place` means; each name in it must exist.
pub(super) fn on(spot: &Spot, place: &Place, plan: &Declared) -> Result<On, PlanError> {
    const EXPECTED: &str = "one of rank, device and group";
    let table = match place {
        Place::Word(word) if word == Place::EVERY_RANK => return Ok(On::EveryRank),
        Place::Word(word) => {
            let expected = format!("{:?} or a table with {EXPECTED}", Place::EVERY_RANK);
            return Err(spot.error(Fault::Value, names::quoted(word), expected));
        }
        Place::Table(table) => table,
    };
    let rank = spot.given("rank", table.rank.as_ref());
    let device = spot.given("device", table.device.as_ref());
    let group = spot.given("group", table.group.as_ref());
    match (rank, device, group) {
        (Some((spot, rank)), None, None) => Ok(On::Rank(plan.ranks.rank(&spot, *rank)?)),
        (None, Some((spot, device)), None) => {
            Ok(On::Device(plan.ranks.device(&spot, device)?.to_string()))
        }
        (None, None, Some((spot, group))) => Ok(match plan.partitions.get(&spot, group)? {
            Some(_) => On::Group(group.clone()),
            None => On::EveryRank,
        }),
        (None, None, None) => {
            Err(spot.error(Fault::Missing, "none of them", format!("exactly {EXPECTED}")))
        }
        _ => {
            Err(spot.error(Fault::Contradiction, "several of them", format!("exactly {EXPECTED}")))
        }
    }
}
