//! A value on every rank, as the `holds` language writes it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, Reduction};
use rankwise_topology::WorldRank;

use super::Sharding;
use crate::error::Span;

/// A value on every rank, written in the `holds` language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The partition it is taken over; the whole world if not said.
    pub over: Option<String>,
    /// Where in the plan it stands.
    pub span: Span,
}

/// The forms of an [`Expr`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// `x`, `x@A`, `x@rank1`: an input, the reader's own or that of one origin.
    Input {
        /// Its name.
        name: String,
        /// Whose, if not the reader's own.
        at: Option<At>,
    },
    /// `gather(E)`: the values of E on each rank, one after the other.
    Gather(Box<Expr>),
    /// `exchange(E)`: the reader's block of E on each rank, one after the other.
    Exchange(Box<Expr>),
    /// `shard(E)`, `shard(E, k)`: the reader's share of E, or that of rank `k`.
    Shard(Box<Expr>, Option<u32>, Sharding),
    /// `pad(E, count, value)`: E and a constant behind it, up to a length.
    Pad(Box<Expr>, u64, String),
    /// `fill(value, type, count)`: a constant at every position.
    Fill(String, Dtype, u64),
    /// `sum(E)`, `prod(E)`, `max(E)`, `min(E)`, `avg(E)`: folded over the ranks.
    Reduce(Reduction, Box<Expr>),
    /// `premul(E, k0, k1, …)`: the sum, each rank's value times its own scalar.
    PreMul(Box<Expr>, Vec<String>),
    /// `cast(E, type)`.
    Cast(Box<Expr>, Dtype),
    /// `concat(E, …)`.
    Concat(Vec<Expr>),
    /// `E[a..b]`.
    Slice(Box<Expr>, Range<u64>),
}

/// Whose input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// `x@A`: the one on this device.
    Device(String),
    /// `x@rank1`: the one of this rank in the world.
    Rank(WorldRank),
}

impl Expr {
    /// Visits this expression and all that it is made of.
    pub fn each(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match &self.kind {
            ExprKind::Input { .. } | ExprKind::Fill(..) => {}
            ExprKind::Gather(inner)
            | ExprKind::Exchange(inner)
            | ExprKind::Pad(inner, ..)
            | ExprKind::Shard(inner, ..)
            | ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => inner.each(visit),
            ExprKind::Concat(parts) => parts.iter().for_each(|part| part.each(visit)),
        }
    }

    /// Visits this expression and all that it is made of, to change them.
    pub(crate) fn each_mut(&mut self, visit: &mut impl FnMut(&mut Self)) {
        visit(self);
        match &mut self.kind {
            ExprKind::Input { .. } | ExprKind::Fill(..) => {}
            ExprKind::Gather(inner)
            | ExprKind::Exchange(inner)
            | ExprKind::Pad(inner, ..)
            | ExprKind::Shard(inner, ..)
            | ExprKind::Reduce(_, inner)
            | ExprKind::PreMul(inner, _)
            | ExprKind::Cast(inner, _)
            | ExprKind::Slice(inner, _) => inner.each_mut(visit),
            ExprKind::Concat(parts) => parts.iter_mut().for_each(|part| part.each_mut(visit)),
        }
    }
}
