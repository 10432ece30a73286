//! The job of a certificate: sides and needs.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;
use serde_json::{Value, json};

use super::acts::Acts;
use super::values::Values;
use super::{NoCertificate, put};
use crate::error::PlanError;
use crate::evaluate::Evaluation;
use crate::memory::ranks;
use crate::need::Expressions;
use crate::plan::{Attachment, Counts, Plan, Proposal};
use crate::term::Terms;
use crate::vector::Vector;

/// One proposal, and everything it starts from.
pub(super) fn side(
    plan: &Plan,
    proposal: &Proposal,
    evaluation: &Evaluation,
) -> Result<Value, NoCertificate> {
    // What is carried out again is an order that was; that there is one is not shown.
    if let [first, ..] = evaluation.reports() {
        let what = format!("programs whose calls do not go together: {first}");
        return Err(NoCertificate::not_expressed(what));
    }
    let inputs = plan.inputs.values().map(|input| {
        let attached = match input.attached {
            Attachment::Device => "device",
            Attachment::Rank => "rank",
        };
        let mut written = json!({
            "name": input.name,
            "dtype": input.dtype.name(),
            "counts": match &input.counts {
                Counts::Each(count) => Vec::from([count.to_string()]),
                Counts::ByRank(counts) => counts.iter().map(ToString::to_string).collect(),
            },
            "attached": attached,
        });
        put(&mut written, "meaning", input.meaning.as_deref().map(Value::from));
        written
    });
    let renamed = proposal.renames.iter();
    let renamed = renamed.map(|(own, public)| json!([own, public]));
    let acts = Acts::of(plan, proposal, evaluation)?;
    let mut side = json!({
        "ranks": plan.world.get(),
        "inputs": inputs.collect::<Vec<_>>(),
        "proposal": proposal.name,
        "renamed": renamed.collect::<Vec<_>>(),
        "partitions": acts.partitions,
        "steps": acts.steps,
    });
    let devices = plan.map.is_some().then(|| {
        let devices = ranks(plan.world).map(|rank| plan.device_of(rank).unwrap_or_default());
        devices.collect::<Vec<_>>().into()
    });
    put(&mut side, "devices", devices);
    Ok(side)
}

/// What each rank that a need names needs to find.
pub(super) struct Needed {
    pub(super) index: usize,
    pub(super) buffer: String,
    pub(super) positions: Option<Range<u64>>,
    holds: String,
    pub(super) vectors: Vec<(WorldRank, Arc<Vector>)>,
}

/// Works out what need number `index` needs.
pub(super) fn needed(plan: &Plan, index: usize, terms: &mut Terms) -> Result<Needed, PlanError> {
    let mut expressions = Expressions::new(plan);
    let mut vectors = Vec::new();
    // The caller's report has one for each need of the plan.
    let Some(need) = plan.needs.get(index) else {
        let (buffer, holds) = (String::new(), String::new());
        return Ok(Needed { index, buffer, positions: None, holds, vectors });
    };
    for rank in ranks(plan.world).filter(|rank| plan.is_on(&need.on, *rank)) {
        vectors.push((rank, expressions.vector(terms, index, &need.holds, rank)?));
    }
    let (buffer, positions) = (need.buffer.clone(), need.positions.clone());
    Ok(Needed { index, buffer, positions, holds: need.holds_text.clone(), vectors })
}

impl Needed {
    pub(super) fn of(&self, rank: WorldRank) -> Option<&Vector> {
        let mut vectors = self.vectors.iter();
        vectors.find(|(of, _)| *of == rank).map(|(_, vector)| vector.as_ref())
    }

    /// The need as certificates write it; ranks that need the same share it.
    pub(super) fn written(&self, values: &mut Values<'_>) -> Result<Value, NoCertificate> {
        let mut shared: Shared<'_> = Shared::default();
        for (rank, vector) in &self.vectors {
            shared.add(*rank, vector, values)?;
        }
        let of_ranks = shared.values.into_iter().map(|value| {
            let (ranks, vector) = (value.ranks, value.vector);
            json!({ "ranks": ranks, "dtype": vector.dtype().name(), "runs": value.runs })
        });
        let mut need = json!({
            "need": self.index,
            "buffer": self.buffer,
            "holds": self.holds,
            "values": of_ranks.collect::<Vec<_>>(),
        });
        let positions = self.positions.as_ref();
        let positions = positions.map(|at| json!([at.start.to_string(), at.end.to_string()]));
        put(&mut need, "positions", positions);
        Ok(need)
    }
}

/// Vectors of several ranks, those that are written alike once.
#[derive(Default)]
struct Shared<'v> {
    values: Vec<SharedValue<'v>>,
    /// By address: where it is in `values`.
    known: BTreeMap<usize, usize>,
    /// By first run and number of runs: where those are that may be alike.
    alike: BTreeMap<String, Vec<usize>>,
}

struct SharedValue<'v> {
    ranks: Vec<u32>,
    vector: &'v Vector,
    runs: Value,
}

impl<'v> Shared<'v> {
    fn add(
        &mut self,
        rank: WorldRank,
        vector: &'v Vector,
        values: &mut Values<'_>,
    ) -> Result<(), NoCertificate> {
        let address = core::ptr::from_ref(vector).addr();
        if let Some(known) = self.known.get(&address) {
            if let Some(value) = self.values.get_mut(*known) {
                value.ranks.push(rank.index());
            }
            return Ok(());
        }
        let runs = values.runs(vector)?;
        let first = runs.get(0).map(Value::to_string).unwrap_or_default();
        let alike = self.alike.entry(first).or_default();
        let same = alike.iter().copied().find(|index| {
            let value = self.values.get(*index);
            value.is_some_and(|value| value.runs == runs && value.vector.dtype() == vector.dtype())
        });
        let index = same.unwrap_or_else(|| {
            self.values.push(SharedValue { ranks: Vec::new(), vector, runs });
            let index = self.values.len().saturating_sub(1);
            alike.push(index);
            index
        });
        self.known.insert(address, index);
        if let Some(value) = self.values.get_mut(index) {
            value.ranks.push(rank.index());
        }
        Ok(())
    }
}
