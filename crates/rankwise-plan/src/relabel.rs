//! The same devices under other rank numbers.
//!
//! What is attached to a device stays on it; what is attached to a rank follows the
//! rank. So layout and ownership move, a full sum does not, and a consumer that
//! names devices may read the wrong data where one that names ranks does not.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use rankwise_topology::{Device, MapError, Permutation, RankMap, WorldRank};

use crate::memory::ranks;
use crate::need::{Answer, NeedReport};
use crate::plan::{At, Attachment, Counts, ExprKind, Need, On, Plan};
use crate::term::Terms;
use crate::vector::{Content, Vector, side_by_side};

/// Why a plan cannot be relabelled so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelabelError {
    /// The plan states no devices.
    NoDevices,
    /// Not the same number of devices as ranks.
    Number {
        /// How many were given.
        found: usize,
        /// How many ranks there are.
        ranks: u32,
    },
    /// A device that the plan does not have, or not that often.
    Device {
        /// Its name.
        name: String,
        /// The plan's devices, in rank order.
        known: Vec<String>,
    },
    /// The devices make no map.
    Map(Box<MapError>),
}

impl fmt::Display for RelabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevices => f.write_str(
                "the plan states no devices, so that nothing is on one; add `devices` to [group]",
            ),
            Self::Number { found, ranks } => {
                write!(f, "{found} devices for {ranks} ranks; name one per rank, rank 0 first")
            }
            Self::Device { name, known } => {
                write!(f, "device `{name}` is not left to place; the plan has {}", known.join(", "))
            }
            Self::Map(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RelabelError {}

/// The plan with rank `r` on `devices[r]`: the same devices, in another order.
///
/// Fails unless `devices` is a rearrangement of the plan's own.
pub fn relabel(plan: &Plan, devices: &[&str]) -> Result<Plan, RelabelError> {
    permute(plan, &permutation(plan, devices)?)
}

/// The permutation that puts rank `r` on `devices[r]`: its image is the rank that has
/// this device now.
///
/// A device with several ranks is taken in the order of those. Fails unless `devices` is
/// a rearrangement of the plan's own.
pub fn permutation(plan: &Plan, devices: &[&str]) -> Result<Permutation, RelabelError> {
    let map = plan.map.as_ref().ok_or(RelabelError::NoDevices)?;
    let number = RelabelError::Number { found: devices.len(), ranks: plan.world.get() };
    if u32::try_from(devices.len()) != Ok(plan.world.get()) {
        return Err(number);
    }
    // By device, its ranks so far; the last is taken first, hence the reversal.
    let mut old_ranks: BTreeMap<String, Vec<WorldRank>> = BTreeMap::new();
    let old: Vec<WorldRank> = ranks(plan.world).collect();
    for rank in old.iter().rev() {
        old_ranks.entry(plan.device_of(*rank).unwrap_or_default()).or_default().push(*rank);
    }
    let known = || old.iter().filter_map(|rank| plan.device_of(*rank)).collect();
    let mut order: Vec<u32> = Vec::new();
    for name in devices {
        let unplaced = || RelabelError::Device { name: (*name).to_string(), known: known() };
        // Any spelling that the map knows: `node1/59:00.0` for `node1/0000:59:00.0`.
        let device = map.find(name).ok_or_else(unplaced)?.to_string();
        let rank = old_ranks.get_mut(&device).and_then(Vec::pop).ok_or_else(unplaced)?;
        order.push(rank.index());
    }
    Permutation::from_images(order).map_err(|_| number)
}

/// The plan with the device of rank σ(r) on rank `r`.
///
/// Fails where the plan states no devices, and where σ is not of one point per rank.
pub fn permute(plan: &Plan, permutation: &Permutation) -> Result<Plan, RelabelError> {
    let map = plan.map.as_ref().ok_or(RelabelError::NoDevices)?;
    let images = permutation.images();
    if u32::try_from(images.len()) != Ok(plan.world.get()) {
        return Err(RelabelError::Number { found: images.len(), ranks: plan.world.get() });
    }
    let devices: Vec<Device> =
        ranks(plan.world).filter_map(|rank| map.device(rank).cloned()).collect();
    let moved = |at: &u32| devices.get(usize::try_from(*at).ok()?).cloned();
    let placed = images.iter().filter_map(moved).collect();
    let mut relabelled = plan.clone();
    relabelled.map = Some(
        RankMap::new(placed, map.sharing()).map_err(|error| RelabelError::Map(Box::new(error)))?,
    );
    for input in relabelled.inputs.values_mut() {
        if input.attached != Attachment::Device {
            continue;
        }
        if let Some(values) = &input.values {
            let moved = |at: &u32| values.get(usize::try_from(*at).ok()?).cloned();
            input.values = Some(images.iter().filter_map(moved).collect());
        }
        if let Counts::ByRank(counts) = &input.counts {
            let moved = |at: &u32| counts.get(usize::try_from(*at).ok()?).copied();
            input.counts = Counts::ByRank(images.iter().filter_map(moved).collect());
        }
    }
    Ok(relabelled)
}

/// Whether two vectors hold the same: equal normal forms, run by run, and gaps in the
/// same places.
pub fn holds_the_same(terms: &Terms, one: &Vector, other: &Vector) -> bool {
    one.count() == other.count()
        && side_by_side(&[one, other]).all(|(_, contents)| match contents.as_slice() {
            [Content::Term(one), Content::Term(other)] => {
                let forms = terms.forms();
                forms.of(*one).is_some() && forms.of(*one) == forms.of(*other)
            }
            contents => contents.iter().all(|content| matches!(content, Content::Gap(_))),
        })
}

/// By what a need says where data is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Names {
    /// It names a device.
    pub devices: bool,
    /// It names a rank.
    pub ranks: bool,
    /// It depends on rank order: a gather or a shard.
    pub order: bool,
}

impl Names {
    /// What a need names.
    pub fn of(need: &Need) -> Self {
        let mut names = Self::default();
        match &need.on {
            On::Device(_) => names.devices = true,
            On::Rank(_) => names.ranks = true,
            On::EveryRank | On::Group(_) => {}
        }
        need.holds.each(&mut |expr| match &expr.kind {
            ExprKind::Input { at: Some(At::Device(_)), .. } => names.devices = true,
            ExprKind::Input { at: Some(At::Rank(_)), .. } => names.ranks = true,
            ExprKind::Gather(_) | ExprKind::Exchange(_) => names.order = true,
            ExprKind::Shard(_, block, _) => {
                names.order = true;
                names.ranks |= block.is_some();
            }
            _ => {}
        });
        names
    }
}

/// What a relabelling does to one need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Met before, not met after.
    Breaks,
    /// Met before and after.
    Survives,
    /// Not met before, met after.
    Mends,
    /// Not met before or after.
    StaysBroken,
    /// Not known before or after.
    Unknown,
}

impl Effect {
    /// What happened between two reports of the same need.
    pub const fn between(before: &NeedReport, after: &NeedReport) -> Self {
        match (before.answer, after.answer) {
            (Answer::Unknown, _) | (_, Answer::Unknown) => Self::Unknown,
            (Answer::Yes, Answer::Yes) => Self::Survives,
            (Answer::Yes, Answer::No) => Self::Breaks,
            (Answer::No, Answer::Yes) => Self::Mends,
            (Answer::No, Answer::No) => Self::StaysBroken,
        }
    }

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breaks => "breaks",
            Self::Survives => "survives",
            Self::Mends => "mends",
            Self::StaysBroken => "stays broken",
            Self::Unknown => "unknown",
        }
    }
}
