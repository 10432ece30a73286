//! Demands: satisfied needs, with the devices that they name as variables.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::{World, WorldRank};

use crate::error::Span;
use crate::memory::ranks;
use crate::plan::{Act, At, Expr, ExprKind, Need, On, Plan, Proposal};

/// The devices of a plan, by rank; empty if it states none.
pub(crate) fn devices(plan: &Plan) -> Vec<String> {
    ranks(plan.world).filter_map(|rank| plan.device_of(rank)).collect()
}

/// One need, or a part of one, wherever its devices are.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    /// The devices that it, or a step, names, by their ranks in the plan.
    pub(crate) named: Vec<u32>,
    pub(crate) pattern: Pattern,
}

/// A need with numbers in place of its devices: where two needs have one pattern, their
/// devices may be on the same ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    on: On,
    buffer: String,
    positions: Option<Range<u64>>,
    /// How long the whole buffer must be, for a part.
    pub(crate) length: Option<u64>,
    holds: Expr,
}

impl Demand {
    /// The demands of a need, in which `acting` are the ranks on devices that steps
    /// name.
    ///
    /// A `concat` is taken part by part, and a device with several ranks rank by rank.
    pub(crate) fn of(plan: &Plan, need: &Need, acting: &[u32]) -> Vec<Self> {
        let on: Vec<Option<u32>> = match &need.on {
            On::Device(name) => on_device(plan, name).into_iter().map(Some).collect(),
            _ => alloc::vec![None],
        };
        let mut demands = Vec::new();
        for (positions, length, holds) in parts(plan, need) {
            for reader in &on {
                let mut named = acting.to_vec();
                let mut number = |rank: u32| {
                    let at = named.iter().position(|known| *known == rank);
                    let at = at.unwrap_or_else(|| {
                        named.push(rank);
                        named.len().saturating_sub(1)
                    });
                    at.to_string()
                };
                let on = reader.map_or_else(|| need.on.clone(), |rank| On::Device(number(rank)));
                let mut holds = holds.clone();
                holds.each_mut(&mut |expr| {
                    expr.span = Span::default();
                    if let ExprKind::Input { at: Some(At::Device(name)), .. } = &mut expr.kind {
                        // One that carries several ranks is nobody's, so the need was
                        // never satisfied.
                        if let Some(rank) = on_device(plan, name).first() {
                            *name = number(*rank);
                        }
                    }
                });
                let (buffer, positions) = (need.buffer.clone(), positions.clone());
                let pattern = Pattern { on, buffer, positions, length, holds };
                demands.push(Self { named, pattern });
            }
        }
        demands
    }
}

impl Pattern {
    /// The need where the devices are on the ranks of `row`.
    pub(crate) fn on_ranks(&self, world: World, row: &[u32]) -> Need {
        let rank = |number: &str| {
            let at = number.parse::<usize>().ok()?;
            world.rank(*row.get(at)?)
        };
        let on = match &self.on {
            On::Device(number) => rank(number).map(On::Rank),
            _ => None,
        };
        let mut holds = self.holds.clone();
        holds.each_mut(&mut |expr| {
            if let ExprKind::Input { at: Some(at), .. } = &mut expr.kind
                && let At::Device(number) = at
                && let Some(rank) = rank(number)
            {
                *at = At::Rank(rank);
            }
        });
        Need {
            on: on.unwrap_or_else(|| self.on.clone()),
            buffer: self.buffer.clone(),
            positions: self.positions.clone(),
            holds,
            holds_text: String::new(),
            span: Span::default(),
        }
    }
}

/// The ranks on a device, ascending.
fn on_device(plan: &Plan, name: &str) -> Vec<u32> {
    let found = plan.map.as_ref().and_then(|map| Some((map, map.find(name)?)));
    let ranks = found.map(|(map, device)| map.ranks_on(device).map(WorldRank::index).collect());
    ranks.unwrap_or_default()
}

/// The ranks on devices that steps or programs name, ascending.
pub(crate) fn acting(plan: &Plan, proposal: &Proposal) -> Vec<u32> {
    let mut acting: Vec<u32> = Vec::new();
    let steps = proposal.steps.iter().flat_map(|step| step.act.each()).filter_map(Act::on);
    for on in steps.chain(proposal.programs.iter().map(|program| &program.on)) {
        if let On::Device(name) = on {
            acting.extend(on_device(plan, name));
        }
    }
    acting.sort_unstable();
    acting.dedup();
    acting
}

/// A need's positions, the length of its buffer where that is asked beside them, and
/// what they hold.
pub(crate) type Part<'n> = (Option<Range<u64>>, Option<u64>, &'n Expr);

/// The parts of a need that hold one after the other; the need itself where it cannot be
/// taken apart.
pub(crate) fn parts<'n>(plan: &Plan, need: &'n Need) -> Vec<Part<'n>> {
    let whole = || alloc::vec![(need.positions.clone(), None, &need.holds)];
    let ExprKind::Concat(parts) = &need.holds.kind else { return whole() };
    let mut at = need.positions.as_ref().map_or(0, |positions| positions.start);
    let mut taken = Vec::new();
    for part in parts {
        let Some(end) = length(plan, part).and_then(|length| at.checked_add(length)) else {
            return whole();
        };
        taken.push((at..end, part));
        at = end;
    }
    let length = need.positions.is_none().then_some(at);
    taken.into_iter().map(|(positions, part)| (Some(positions), length, part)).collect()
}

/// How many elements an expression has, where that is plain.
fn length(plan: &Plan, expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Input { name, .. } => plan.inputs.get(name).and_then(|input| input.counts.each()),
        ExprKind::Cast(inner, _) => length(plan, inner),
        ExprKind::Slice(_, positions) => positions.end.checked_sub(positions.start),
        ExprKind::Concat(parts) => {
            parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(length(plan, part)?))
        }
        _ => None,
    }
}
