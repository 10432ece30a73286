//! Another index: what consumers would have to read instead.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::ops::Range;

use rankwise_topology::World;

use super::recheck::Bench;
use super::{Mend, Repair, Rewritten};
use crate::explore::demand::{devices, parts};
use crate::memory::ranks;
use crate::plan::{At, Expr, ExprKind, Need, Plan};

/// More ways to write one need than this are not tried.
const TRIED: usize = 4096;

/// Rewrites every broken need: first where it is read, then what is read.
pub(super) fn repair(bench: &mut Bench<'_>) -> Option<Repair> {
    let mut plan = bench.plan.clone();
    let (mut rewritten, mut text) = (Vec::new(), String::new());
    for index in bench.broken() {
        let need = bench.plan.needs.get(index)?;
        let new = elsewhere(bench, need).or_else(|| other(bench, need))?;
        let (from, to) = (written(need), written(&new));
        let _ = write!(text, "# need {index}, instead of {from}\n{to}\n");
        rewritten.push(Rewritten { need: index, from, to });
        *plan.needs.get_mut(index)? = new;
    }
    bench.recheck(Mend::Index(rewritten), plan, 0, text)
}

/// The keys of a need that may change.
fn written(need: &Need) -> String {
    let holds = &need.holds_text;
    let quoted = if holds.contains('\'') { format!("{holds:?}") } else { format!("'{holds}'") };
    match &need.positions {
        Some(Range { start, end }) => format!("positions = \"{start}..{end}\", holds = {quoted}"),
        None => format!("holds = {quoted}"),
    }
}

/// The same read at other positions of the buffer.
fn elsewhere(bench: &mut Bench<'_>, need: &Need) -> Option<Need> {
    let positions = need.positions.clone()?;
    let length = positions.end.checked_sub(positions.start).filter(|length| *length > 0)?;
    let rank = ranks(bench.plan.world).find(|rank| bench.plan.is_on(&need.on, *rank))?;
    let held = bench.proposal.held(&bench.evaluation.after, rank, &need.buffer)?.count();
    let mut tried = 0_usize;
    let mut start = 0_u64;
    while let Some(end) = start.checked_add(length).filter(|end| *end <= held && tried < TRIED) {
        let moved = Need { positions: Some(start..end), ..need.clone() };
        if bench.is_met(moved.clone()) {
            return Some(moved);
        }
        start = end;
        tried = tried.saturating_add(1);
    }
    None
}

/// Something else read at the same positions; a `concat` part by part.
fn other(bench: &mut Bench<'_>, need: &Need) -> Option<Need> {
    let mut found = Vec::new();
    for (positions, _, part) in parts(bench.plan, need) {
        let ways = core::iter::once(part.clone()).chain(variants(bench.plan, part));
        let met = ways.take(TRIED).find(|holds| {
            let part = Need { positions: positions.clone(), holds: holds.clone(), ..need.clone() };
            bench.is_met(part)
        });
        found.push(met?);
    }
    let holds = match &need.holds.kind {
        ExprKind::Concat(_) if found.len() > 1 => {
            Expr { kind: ExprKind::Concat(found), ..need.holds.clone() }
        }
        _ => found.into_iter().next()?,
    };
    let holds_text = holds.to_string();
    Some(Need { holds, holds_text, ..need.clone() })
}

/// The expression with one index in it changed: a block, the start of a slice, or whose
/// contribution it is.
fn variants(plan: &Plan, expr: &Expr) -> Vec<Expr> {
    let mut count = 0_usize;
    expr.each(&mut |_| count = count.saturating_add(1));
    let mut all = Vec::new();
    for at in 0..count {
        let mut index = 0_usize;
        let mut kinds = Vec::new();
        expr.each(&mut |inner| {
            if index == at {
                kinds = others(plan, &inner.kind);
            }
            index = index.saturating_add(1);
        });
        for kind in kinds {
            let mut changed = expr.clone();
            let mut index = 0_usize;
            changed.each_mut(&mut |inner| {
                if index == at {
                    inner.kind = kind.clone();
                }
                index = index.saturating_add(1);
            });
            all.push(changed);
        }
    }
    all
}

fn others(plan: &Plan, kind: &ExprKind) -> Vec<ExprKind> {
    let blocks = 0..plan.world.get();
    match kind {
        ExprKind::Shard(inner, _, sharding) => blocks
            .map(|block| ExprKind::Shard(inner.clone(), Some(block), sharding.clone()))
            .collect(),
        ExprKind::Slice(inner, positions) => {
            let length = positions.end.saturating_sub(positions.start);
            blocks
                .filter_map(|block| {
                    let start = length.checked_mul(u64::from(block))?;
                    Some(ExprKind::Slice(inner.clone(), start..start.checked_add(length)?))
                })
                .collect()
        }
        ExprKind::Input { name, at: Some(At::Device(_)) } => {
            let at = devices(plan).into_iter().map(At::Device);
            at.map(|at| ExprKind::Input { name: name.clone(), at: Some(at) }).collect()
        }
        ExprKind::Input { name, at: Some(At::Rank(_)) } => {
            let at = World::new(plan.world).ranks().map(At::Rank);
            at.map(|at| ExprKind::Input { name: name.clone(), at: Some(at) }).collect()
        }
        _ => Vec::new(),
    }
}
