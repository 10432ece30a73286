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

use rankwise_topology::{Device, MapError, RankMap, WorldRank};

use crate::memory::ranks;
use crate::need::{Answer, NeedReport};
use crate::plan::{At, Attachment, Expr, ExprKind, Need, On, Plan};
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
    let map = plan.map.as_ref().ok_or(RelabelError::NoDevices)?;
    if u32::try_from(devices.len()) != Ok(plan.world.get()) {
        return Err(RelabelError::Number { found: devices.len(), ranks: plan.world.get() });
    }
    // By device, its ranks so far; the last is taken first, hence the reversal.
    let mut old_ranks: BTreeMap<String, Vec<WorldRank>> = BTreeMap::new();
    let old: Vec<WorldRank> = ranks(plan.world).collect();
    for rank in old.iter().rev() {
        old_ranks.entry(plan.device_of(*rank).unwrap_or_default()).or_default().push(*rank);
    }
    let known = || old.iter().filter_map(|rank| plan.device_of(*rank)).collect();
    let mut order: Vec<WorldRank> = Vec::new();
    let mut placed: Vec<Device> = Vec::new();
    for name in devices {
        let unplaced = || RelabelError::Device { name: (*name).to_string(), known: known() };
        // Any spelling that the map knows: `node1/59:00.0` for `node1/0000:59:00.0`.
        let device = map.find(name).ok_or_else(unplaced)?.to_string();
        let rank = old_ranks.get_mut(&device).and_then(Vec::pop).ok_or_else(unplaced)?;
        placed.push(map.device(rank).cloned().ok_or_else(unplaced)?);
        order.push(rank);
    }
    let mut relabelled = plan.clone();
    relabelled.map = Some(
        RankMap::new(placed, map.sharing()).map_err(|error| RelabelError::Map(Box::new(error)))?,
    );
    for input in relabelled.inputs.values_mut() {
        if input.attached == Attachment::Device
            && let Some(values) = &input.values
        {
            let moved = order
                .iter()
                .filter_map(|rank| values.get(usize::try_from(rank.index()).ok()?).cloned());
            input.values = Some(moved.collect());
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
        names.add(&need.holds);
        names
    }

    fn add(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Input { at: Some(At::Device(_)), .. } => self.devices = true,
            ExprKind::Input { at: Some(At::Rank(_)), .. } => self.ranks = true,
            ExprKind::Input { at: None, .. } => {}
            ExprKind::Gather(inner) => {
                self.order = true;
                self.add(inner);
            }
            ExprKind::Shard(inner, block) => {
                self.order = true;
                self.ranks |= block.is_some();
                self.add(inner);
            }
            ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => self.add(inner),
            ExprKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
        }
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
