//! A naive simulation: every rank's buffers as plain lists of numbers.
//!
//! Each operation is written out by its formula in the table of the design, position
//! by position, without pieces, runs or terms.

use std::collections::BTreeMap;

use crate::numbers::{Fold, Kind, Random, Value};

/// A position: a number, or nothing that is promised.
pub(crate) type Position = Option<Value>;

/// By rank: its buffers by name.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) kind: Kind,
    pub(crate) ranks: Vec<BTreeMap<String, Vec<Position>>>,
    /// Buffers in which a truncating division took place somewhere: dividing again is
    /// where numbers agree and terms, rightly, claim nothing.
    pub(crate) divided: Vec<String>,
}

/// A collective over lists of ranks, in rank order.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) fold: Option<Fold>,
    pub(crate) root: Option<usize>,
    pub(crate) groups: Vec<Vec<usize>>,
    pub(crate) send: String,
    pub(crate) recv: String,
}

impl World {
    /// `n` ranks with an input `x` and an input `g` of `count` elements each.
    pub(crate) fn new(kind: Kind, n: usize, count: usize, random: &mut Random) -> Self {
        let mut draw = || (0..count).map(|_| Some(kind.draw(random))).collect::<Vec<_>>();
        let ranks = (0..n)
            .map(|_| BTreeMap::from([("x".to_string(), draw()), ("g".to_string(), draw())]))
            .collect();
        Self { kind, ranks, divided: Vec::new() }
    }

    /// How many elements `buffer` has, if every rank has equally many.
    pub(crate) fn length(&self, buffer: &str) -> Option<usize> {
        let mut lengths = self.ranks.iter().map(|rank| rank.get(buffer).map(Vec::len));
        let first = lengths.next()??;
        lengths.all(|length| length == Some(first)).then_some(first)
    }

    fn fold(&self, fold: Fold, positions: &[Position]) -> Position {
        let values: Option<Vec<Value>> = positions.iter().copied().collect();
        values.map(|values| self.kind.fold(fold, &values))
    }

    /// Carries a collective out; `None` if it cannot be.
    pub(crate) fn collective(&mut self, call: &Call) -> Option<()> {
        let before = self.ranks.clone();
        let in_place = call.send == call.recv;
        for group in &call.groups {
            let n = group.len();
            let buffer = |q: usize| before[group[q]].get(&call.send);
            let held = buffer(0)?.len();
            if (0..n).any(|q| buffer(q).map(Vec::len) != Some(held)) {
                return None;
            }
            // c, the count argument, and what each rank puts in.
            let blocks = match call.name {
                "reduce_scatter" | "all_to_all" | "scatter" => n,
                "all_gather" if in_place => n,
                _ => 1,
            };
            if held % blocks != 0 {
                return None;
            }
            let c = held / blocks;
            let input = |q: usize, p: usize| {
                let start = if call.name == "all_gather" && in_place { q * c } else { 0 };
                buffer(q).unwrap()[start + p]
            };
            let all = |p: usize| (0..n).map(|q| input(q, p)).collect::<Vec<_>>();
            let root = call.root.unwrap_or(0);
            for (r, rank) in group.iter().enumerate() {
                let output: Vec<Position> = match call.name {
                    "all_reduce" => {
                        (0..c).map(|p| self.fold(call.fold.unwrap(), &all(p))).collect()
                    }
                    "reduce" if r == root => {
                        (0..c).map(|p| self.fold(call.fold.unwrap(), &all(p))).collect()
                    }
                    "reduce" => vec![None; c],
                    "broadcast" => (0..c).map(|p| input(root, p)).collect(),
                    "all_gather" => (0..n * c).map(|p| input(p / c, p % c)).collect(),
                    "reduce_scatter" => {
                        (0..c).map(|p| self.fold(call.fold.unwrap(), &all(r * c + p))).collect()
                    }
                    "all_to_all" => (0..n * c).map(|p| input(p / c, r * c + p % c)).collect(),
                    "gather" if r == root => (0..n * c).map(|p| input(p / c, p % c)).collect(),
                    "gather" => vec![None; n * c],
                    "scatter" => (0..c).map(|p| input(root, r * c + p)).collect(),
                    other => panic!("{other}"),
                };
                let buffer = if in_place && call.name == "reduce_scatter" {
                    let mut whole = vec![None; n * c];
                    whole[r * c..(r + 1) * c].copy_from_slice(&output);
                    whole
                } else {
                    output
                };
                self.ranks[*rank].insert(call.recv.clone(), buffer);
            }
        }
        let divides = call.fold == Some(Fold::Avg) || self.divided.contains(&call.send);
        if divides && self.kind != Kind::Real {
            self.divided.push(call.recv.clone());
        }
        Some(())
    }

    /// Writes `recv` on every rank from what `make` reads of that rank's buffers.
    pub(crate) fn local(
        &mut self,
        recv: &str,
        make: impl Fn(&Self, &BTreeMap<String, Vec<Position>>) -> Option<Vec<Position>>,
    ) -> Option<()> {
        for rank in 0..self.ranks.len() {
            let made = make(self, &self.ranks[rank])?;
            self.ranks[rank].insert(recv.to_string(), made);
        }
        Some(())
    }

    /// Combines two buffers of one rank position by position.
    pub(crate) fn combined(
        &self,
        fold: Fold,
        one: &[Position],
        other: &[Position],
    ) -> Vec<Position> {
        one.iter().zip(other).map(|(one, other)| self.fold(fold, &[*one, *other])).collect()
    }

    /// The fold of a buffer over all ranks.
    pub(crate) fn folded(&self, fold: Fold, buffer: &str) -> Vec<Position> {
        let length = self.ranks[0][buffer].len();
        let all = |p: usize| self.ranks.iter().map(|rank| rank[buffer][p]).collect::<Vec<_>>();
        (0..length).map(|p| self.fold(fold, &all(p))).collect()
    }
}
