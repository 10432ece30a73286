//! The `holds` expressions that templates need.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use rankwise_model::{Dtype, GroupSize, Reduction};
use rankwise_topology::World;

use crate::error::Span;
use crate::plan::{At, Expr, ExprKind, Sharding};

/// The reader's own input.
pub(super) fn input(name: &str) -> Expr {
    expr(ExprKind::Input { name: name.to_string(), at: None }, None)
}

/// Converted, if it is of another type.
pub(super) fn cast(inner: Expr, from: Dtype, to: Dtype) -> Expr {
    if from == to { inner } else { expr(ExprKind::Cast(Box::new(inner), to), None) }
}

/// The average over the ranks of an axis.
pub(super) fn average(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Reduce(Reduction::Avg, Box::new(inner)), over)
}

/// The sum over the ranks of an axis.
pub(super) fn sum(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Reduce(Reduction::Sum, Box::new(inner)), over)
}

/// The input of one rank of the world; no plan has more ranks than 32 bits count.
pub(super) fn of_rank(name: &str, rank: u64) -> Option<Expr> {
    let index = u32::try_from(rank).ok()?;
    let world = World::new(GroupSize::new(index.checked_add(1)?)?);
    let at = Some(At::Rank(world.rank(index)?));
    Some(expr(ExprKind::Input { name: name.to_string(), at }, None))
}

/// One after the other.
pub(super) fn gather(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Gather(Box::new(inner)), over)
}

/// The reader's own block, cut like this.
pub(super) fn shard(inner: Expr, over: Option<&str>, sharding: Sharding) -> Expr {
    expr(ExprKind::Shard(Box::new(inner), None, sharding), over)
}

/// The reader's block of what every rank has.
pub(super) fn exchange(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Exchange(Box::new(inner)), over)
}

/// The first so many positions.
pub(super) fn first(inner: Expr, count: u64) -> Expr {
    expr(ExprKind::Slice(Box::new(inner), 0..count), None)
}

/// What rank 0 of each group of an axis has.
pub(super) fn of_root(inner: Expr, over: Option<&str>) -> Expr {
    let gathered = gather(inner, over);
    expr(ExprKind::Shard(Box::new(gathered), Some(0), Sharding::default()), over)
}

pub(super) fn expr(kind: ExprKind, over: Option<&str>) -> Expr {
    Expr { kind, over: over.map(String::from), span: Span::default() }
}
