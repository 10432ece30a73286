//! The `holds` expressions that templates need.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use rankwise_model::{Dtype, Reduction};

use crate::error::Span;
use crate::plan::{Expr, ExprKind};

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

/// One after the other.
pub(super) fn gather(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Gather(Box::new(inner)), over)
}

/// The reader's own block.
pub(super) fn shard(inner: Expr, over: Option<&str>) -> Expr {
    expr(ExprKind::Shard(Box::new(inner), None), over)
}

/// What rank 0 of each group of an axis has.
pub(super) fn of_root(inner: Expr, over: Option<&str>) -> Expr {
    let gathered = gather(inner, over);
    expr(ExprKind::Shard(Box::new(gathered), Some(0)), over)
}

pub(super) fn expr(kind: ExprKind, over: Option<&str>) -> Expr {
    Expr { kind, over: over.map(String::from), span: Span::default() }
}
