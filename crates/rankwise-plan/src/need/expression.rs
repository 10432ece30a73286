//! The `holds` language, evaluated to the vector that a reader needs.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, GroupSize, Rank, Reduction, Scalar};
use rankwise_topology::{Group, Partition, World, WorldRank};

use crate::error::{Fault, PlanError};
use crate::evaluate::{Cut, Folds, Tensor, parse_scalars};
use crate::limits::PIECES;
use crate::memory::{Origins, identity, ranks};
use crate::plan::{At, Expr, ExprKind, Input, Plan, Sharding};
use crate::term::{Constant, InputId, Terms};
use crate::vector::{Content, Family, Gap, Vector, side_by_side};

/// Evaluates expressions for one plan; what does not depend on the reader is kept.
pub(crate) struct Expressions<'a> {
    plan: &'a Plan,
    origins: Origins,
    world: Partition,
    /// The input that was asked for last, by its expression: of many ranks in turn.
    last: Option<(usize, &'a Input, InputId)>,
    /// What the members of a group hold in closed form, by expression and first member.
    families: BTreeMap<(usize, WorldRank), Option<Family>>,
    /// By expression and the first member of its group.
    known: BTreeMap<(usize, WorldRank), Arc<Vector>>,
    need: usize,
}

impl<'a> Expressions<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        let world = Partition::whole(World::new(plan.world));
        let (last, families) = (None, BTreeMap::new());
        Self {
            plan,
            origins: Origins::of(plan),
            world,
            last,
            families,
            known: BTreeMap::new(),
            need: 0,
        }
    }

    /// What `expr`, of need number `need`, stands for where `reader` reads it.
    pub(crate) fn vector(
        &mut self,
        terms: &mut Terms,
        need: usize,
        expr: &Expr,
        reader: WorldRank,
    ) -> Result<Arc<Vector>, PlanError> {
        self.need = need;
        self.value(terms, expr, reader)
    }

    fn value(
        &mut self,
        terms: &mut Terms,
        expr: &Expr,
        reader: WorldRank,
    ) -> Result<Arc<Vector>, PlanError> {
        match &expr.kind {
            ExprKind::Input { name, at } => self.input(terms, expr, name, at.as_ref(), reader),
            ExprKind::Gather(inner) => {
                self.once_per_group(terms, expr, reader, |this, terms, group| {
                    let mut parts = Vec::new();
                    for member in group.members() {
                        parts.push(this.value(terms, inner, *member)?);
                    }
                    let closed = Family::of(parts.iter().map(AsRef::as_ref)).and_then(|family| {
                        family.in_turn(0..parts.first().map_or(0, |part| part.count()))
                    });
                    if let Some(gathered) = closed {
                        return Ok(gathered);
                    }
                    let mut gathered: Option<Vector> = None;
                    for part in parts {
                        let whole = gathered.get_or_insert_with(|| Vector::empty(part.dtype()));
                        this.check_sum(expr, whole, &part)?;
                        whole.extend(&part);
                    }
                    Ok(gathered.unwrap_or(Vector::empty(Dtype::U8)))
                })
            }
            ExprKind::Exchange(inner) => {
                let (group, own) = self.group(expr, reader)?;
                if let Some(exchanged) = self.exchanged(terms, expr, inner, &group, own)? {
                    return Ok(Arc::new(exchanged));
                }
                let mut whole: Option<Vector> = None;
                for member in group.members() {
                    let part = self.value(terms, inner, *member)?;
                    let cut = self.cut(expr, &Sharding::default(), &part, group.size())?;
                    let block = self.share(terms, expr, &cut, &part, own, None)?;
                    let so_far = whole.get_or_insert_with(|| Vector::empty(part.dtype()));
                    self.check_sum(expr, so_far, &block)?;
                    so_far.extend(&block);
                }
                Ok(Arc::new(whole.unwrap_or(Vector::empty(Dtype::U8))))
            }
            ExprKind::Pad(inner, count, value) => {
                let vector = self.value(terms, inner, reader)?;
                let more = count.checked_sub(vector.count()).ok_or_else(|| {
                    let found = format!("{} elements", vector.count());
                    let expected = format!("at most {count}, the padded length");
                    self.error(expr, Fault::Contradiction, found, expected)
                })?;
                let padding = self.constant(terms, expr, value, vector.dtype())?;
                let mut padded = Vector::clone(&vector);
                padded.push(more, padding);
                Ok(Arc::new(padded))
            }
            ExprKind::Fill(value, dtype, count) => {
                let constant = self.constant(terms, expr, value, *dtype)?;
                Ok(Arc::new(Vector::of(*dtype, *count, constant)))
            }
            ExprKind::Shard(inner, block, sharding) => {
                let (group, own) = self.group(expr, reader)?;
                let of = match block {
                    None => own,
                    Some(block) => group.size().rank(*block).ok_or_else(|| {
                        let expected = format!("a rank of its group of {}", group.size());
                        self.error(expr, Fault::UnknownName, format!("shard {block}"), expected)
                    })?,
                };
                let whole = self.value(terms, inner, reader)?;
                let cut = self.cut(expr, sharding, &whole, group.size())?;
                self.share(terms, expr, &cut, &whole, of, sharding.value.as_deref()).map(Arc::new)
            }
            ExprKind::Reduce(reduction, inner) => {
                self.fold(terms, expr, reader, *reduction, inner, &[])
            }
            ExprKind::PreMul(inner, scalars) => {
                self.fold(terms, expr, reader, Reduction::PreMulSum, inner, scalars)
            }
            ExprKind::Cast(inner, to) => {
                let vector = self.value(terms, inner, reader)?;
                Ok(Arc::new(vector.map(*to, |placed| terms.cast(placed, *to))))
            }
            ExprKind::Concat(parts) => {
                let mut whole: Option<Vector> = None;
                for part in parts {
                    let part = self.value(terms, part, reader)?;
                    let so_far = whole.get_or_insert_with(|| Vector::empty(part.dtype()));
                    self.check_sum(expr, so_far, &part)?;
                    so_far.extend(&part);
                }
                Ok(Arc::new(whole.unwrap_or(Vector::empty(Dtype::U8))))
            }
            ExprKind::Slice(inner, positions) => {
                let vector = self.value(terms, inner, reader)?;
                self.slice(expr, &vector, positions.clone())
            }
        }
    }

    fn input(
        &mut self,
        terms: &mut Terms,
        expr: &Expr,
        name: &str,
        at: Option<&At>,
        reader: WorldRank,
    ) -> Result<Arc<Vector>, PlanError> {
        let key = core::ptr::from_ref(expr).addr();
        let (input, id) = match self.last {
            Some((last, input, id)) if last == key => (input, id),
            _ => {
                let input = self.plan.inputs.get(name).ok_or_else(|| {
                    let names: Vec<&str> = self.plan.inputs.keys().map(String::as_str).collect();
                    let expected = format!("an input: {}", names.join(", "));
                    self.error(expr, Fault::UnknownName, format!("`{name}`"), expected)
                })?;
                let id = terms.input(&identity(input, &self.origins));
                self.last = Some((key, input, id));
                (input, id)
            }
        };
        let rank = match at {
            None => reader,
            Some(At::Rank(rank)) => *rank,
            Some(At::Device(device)) => self.only_rank_on(expr, device)?,
        };
        let atom = terms.atom(id, self.origins.of_contribution(input, rank));
        Ok(Arc::new(Vector::of(input.dtype, input.counts.on(rank), Content::Term(atom))))
    }

    /// Block `own` of what every member of a group has, in turn, where that has a closed
    /// form.
    fn exchanged(
        &mut self,
        terms: &mut Terms,
        expr: &Expr,
        inner: &Expr,
        group: &Group,
        own: Rank,
    ) -> Result<Option<Vector>, PlanError> {
        let Some(first) = group.members().first() else { return Ok(None) };
        let key = (core::ptr::from_ref(expr).addr(), *first);
        if !self.families.contains_key(&key) {
            let mut parts = Vec::new();
            for member in group.members() {
                parts.push(self.value(terms, inner, *member)?);
            }
            let family = Family::of(parts.iter().map(AsRef::as_ref));
            self.families.insert(key, family);
        }
        let Some(Some(family)) = self.families.get(&key) else { return Ok(None) };
        let ranks = u64::from(group.size().get());
        let block = family.count().checked_div(ranks).unwrap_or(0);
        // A length that does not divide is refused where it is cut.
        if block.checked_mul(ranks) != Some(family.count()) {
            return Ok(None);
        }
        let start = block.saturating_mul(u64::from(own.index()));
        Ok(family.in_turn(start..start.saturating_add(block)))
    }

    fn only_rank_on(&self, expr: &Expr, device: &str) -> Result<WorldRank, PlanError> {
        let mut on = ranks(self.plan.world)
            .filter(|rank| self.plan.device_of(*rank).is_some_and(|name| name == device));
        match (on.next(), on.next()) {
            (Some(rank), None) => Ok(rank),
            (None, _) => {
                let expected = "a device of [group]";
                Err(self.error(expr, Fault::UnknownName, format!("device `{device}`"), expected))
            }
            (Some(first), Some(second)) => Err(self.error(
                expr,
                Fault::Contradiction,
                format!("`@{device}`, where ranks {first} and {second} both are"),
                format!("one contribution, as `@rank{first}`"),
            )),
        }
    }

    /// A value that every reader of a group shares, computed once.
    fn once_per_group(
        &mut self,
        terms: &mut Terms,
        expr: &Expr,
        reader: WorldRank,
        compute: impl FnOnce(&mut Self, &mut Terms, &Group) -> Result<Vector, PlanError>,
    ) -> Result<Arc<Vector>, PlanError> {
        let (group, _) = self.group(expr, reader)?;
        let first = group.members().first().copied().unwrap_or(reader);
        let key = (core::ptr::from_ref(expr).addr(), first);
        if let Some(vector) = self.known.get(&key) {
            return Ok(Arc::clone(vector));
        }
        let vector = Arc::new(compute(self, terms, &group)?);
        self.known.insert(key, Arc::clone(&vector));
        Ok(vector)
    }

    fn fold(
        &mut self,
        terms: &mut Terms,
        expr: &Expr,
        reader: WorldRank,
        reduction: Reduction,
        inner: &Expr,
        scalars: &[String],
    ) -> Result<Arc<Vector>, PlanError> {
        self.once_per_group(terms, expr, reader, |this, terms, group| {
            let mut parts: Vec<Arc<Vector>> = Vec::new();
            for member in group.members() {
                parts.push(this.value(terms, inner, *member)?);
            }
            let (dtype, count) =
                parts.first().map_or((Dtype::U8, 0), |part| (part.dtype(), part.count()));
            for part in &parts {
                if (part.dtype(), part.count()) != (dtype, count) {
                    return Err(this.error(
                        expr,
                        Fault::Contradiction,
                        format!("{} elements of {} to combine", part.count(), part.dtype()),
                        format!("{count} of {dtype}, as on the first rank of the group"),
                    ));
                }
            }
            let scalars = match reduction {
                Reduction::PreMulSum => parse_scalars(dtype, group.size(), scalars)
                    .map_err(|(found, expected)| this.error(expr, Fault::Value, found, expected))?,
                _ => Vec::new(),
            };
            let mut folds = Folds { terms, scalars: &scalars, ranks: group.size() };
            let parts: Vec<&Vector> = parts.iter().map(AsRef::as_ref).collect();
            let mut folded = Vector::empty(dtype);
            for (positions, contents) in side_by_side(&parts) {
                // Inputs hold no gaps, so neither place nor step is ever read.
                let content = folds.fold(Some(reduction), dtype, 0, 0, &contents);
                folded.push(positions.end.saturating_sub(positions.start), content);
            }
            Ok(folded)
        })
    }

    fn cut(
        &self,
        expr: &Expr,
        sharding: &Sharding,
        whole: &Vector,
        ranks: GroupSize,
    ) -> Result<Cut, PlanError> {
        Tensor::new(sharding, whole.count())
            .and_then(|tensor| Cut::new(sharding, tensor, ranks))
            .map_err(|(kind, found, expected)| self.error(expr, kind, found, expected))
    }

    fn share(
        &self,
        terms: &mut Terms,
        expr: &Expr,
        cut: &Cut,
        whole: &Vector,
        of: Rank,
        value: Option<&str>,
    ) -> Result<Vector, PlanError> {
        let padding = match value {
            Some(value) => self.constant(terms, expr, value, whole.dtype())?,
            // Nothing is padded without a value.
            None => Content::Gap(Gap::Unwritten { step: 0 }),
        };
        let share = cut.share(terms, whole, of, padding);
        let share =
            share.map_err(|(kind, found, expected)| self.error(expr, kind, found, expected))?;
        share.ok_or_else(|| {
            let found = format!("more than {PIECES} runs and parts of folds");
            self.error(expr, Fault::Limit, found, format!("at most {PIECES}"))
        })
    }

    fn constant(
        &self,
        terms: &mut Terms,
        expr: &Expr,
        value: &str,
        dtype: Dtype,
    ) -> Result<Content, PlanError> {
        let literal = Scalar::parse(dtype, value).map_err(|error| {
            let expected = format!("an element of {dtype}; this is {error}");
            self.error(expr, Fault::Value, format!("the value `{value}`"), expected)
        })?;
        Ok(Content::Term(terms.constant(literal.scalar, Constant::Filled)))
    }

    fn slice(
        &self,
        expr: &Expr,
        vector: &Arc<Vector>,
        positions: Range<u64>,
    ) -> Result<Arc<Vector>, PlanError> {
        if positions == (0..vector.count()) {
            return Ok(Arc::clone(vector));
        }
        vector.slice(positions.clone()).map(Arc::new).ok_or_else(|| {
            let found = format!("positions {}..{}", positions.start, positions.end);
            let expected = format!("positions within 0..{}", vector.count());
            self.error(expr, Fault::Contradiction, found, expected)
        })
    }

    fn check_sum(&self, expr: &Expr, whole: &Vector, part: &Vector) -> Result<(), PlanError> {
        if whole.dtype() != part.dtype() {
            let found = format!("{} after {}", part.dtype(), whole.dtype());
            return Err(self.error(expr, Fault::Contradiction, found, "parts of one element type"));
        }
        match whole.count().checked_add(part.count()) {
            Some(_) => Ok(()),
            None => {
                let found = format!("{} + {} elements", whole.count(), part.count());
                Err(self.error(expr, Fault::Overflow, found, "a length below 2^64"))
            }
        }
    }

    /// The group over which `expr` is taken where `reader` reads it.
    fn group(&self, expr: &Expr, reader: WorldRank) -> Result<(Group, Rank), PlanError> {
        let partition = match &expr.over {
            None => &self.world,
            Some(name) => self.plan.partitions.get(name).ok_or_else(|| {
                let found = format!("group `{name}`");
                self.error(expr, Fault::UnknownName, found, "a name under [groups]")
            })?,
        };
        partition.locate(reader).map(|(group, rank)| (group.clone(), rank)).ok_or_else(|| {
            let name = expr.over.as_deref().unwrap_or("the world");
            let found = format!("`over {name}` on rank {reader}, which is in no group of it");
            self.error(expr, Fault::Contradiction, found, "a need on members of the group only")
        })
    }

    fn error(
        &self,
        expr: &Expr,
        kind: Fault,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> PlanError {
        PlanError {
            kind,
            span: expr.span,
            path: format!("need[{}].holds", self.need),
            found: found.into(),
            expected: expected.into(),
        }
    }
}
