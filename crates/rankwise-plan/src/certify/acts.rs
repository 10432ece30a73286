//! The acts of a proposal as certificates write them, in the order in which they were
//! carried out.
//!
//! Few kinds are enough: a collective, the two sides of a message, and what a rank does
//! by itself: positions and constants are put one after the other (copy, slice,
//! concatenation, padding, sharding) or folded, and may be scaled or cast. The acts of a
//! group do not touch what others of it do, so that any order of them is the one. What
//! follows another time, in another group or on another rank, without anything between,
//! is written once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, GroupSize, RankLayout, Reduction, Scalar};
use rankwise_topology::{Partition, WorldRank};
use serde_json::{Value, json};

use super::{NoCertificate, put};
use crate::evaluate::{
    Call, Cut, Done, Evaluation, Piece, Tensor, Turn, factor, parse_scalars, scalars_of,
};
use crate::form::exact;
use crate::plan::{
    Act, CollectiveStep, Direction, Elsewhere, LocalAct, LocalStep, MessageStep, Operand, Plan,
    Proposal, Sharding,
};

/// All acts of one side.
pub(super) struct Acts {
    /// Groups of ranks, which the acts refer to by number.
    pub(super) partitions: Vec<Value>,
    pub(super) steps: Vec<Value>,
}

impl Acts {
    pub(super) fn of(
        plan: &Plan,
        proposal: &Proposal,
        evaluation: &Evaluation,
    ) -> Result<Self, NoCertificate> {
        let mut written = Written::default();
        for turn in &evaluation.turns {
            match turn {
                Turn::Collective { done, call } => {
                    let calls: Option<Vec<&CollectiveStep>> = done
                        .iter()
                        .map(|done| match proposal.act(*done) {
                            Some(Act::Collective(call)) => Some(call),
                            _ => None,
                        })
                        .collect();
                    let calls = calls.filter(|calls| !calls.is_empty()).ok_or_else(lost)?;
                    let members: Vec<u32> =
                        call.group.members().iter().map(|member| member.index()).collect();
                    let key = if done.len() == 1 { done.first().copied() } else { None };
                    written.add(key, collective(&calls, call)?, Some(members));
                }
                Turn::Message { rank, done } => {
                    let Some(Act::Message(sent)) = proposal.act(*done) else { return Err(lost()) };
                    written.add(None, message(plan, sent, *rank)?, None);
                }
                Turn::Local { rank, done, dtype, read } => {
                    let Some(Act::Local(act)) = proposal.act(*done) else { return Err(lost()) };
                    let made = Made { rank: *rank, dtype: *dtype, read: *read };
                    let ranks = alloc::vec![rank.index()];
                    written.add(Some(*done), local(act, made)?, Some(ranks));
                }
            }
        }
        Ok(written.finish())
    }
}

fn lost() -> NoCertificate {
    NoCertificate::not_expressed("an act of another proposal")
}

/// Acts written so far; the last is open to more groups.
#[derive(Default)]
struct Written {
    partitions: Vec<Value>,
    numbers: BTreeMap<Vec<Vec<u32>>, usize>,
    steps: Vec<Value>,
    open: Option<Open>,
}

struct Open {
    step: Option<Done>,
    act: Value,
    groups: Vec<Vec<u32>>,
}

impl Written {
    /// Adds an act, by a group of ranks, or by whom it says itself. What is done by
    /// disjoint groups at one step of the plan does not depend on their order.
    fn add(&mut self, step: Option<Done>, act: Value, group: Option<Vec<u32>>) {
        if let (Some(open), Some(group)) = (&mut self.open, &group)
            && step.is_some()
            && open.step == step
            && open.act == act
        {
            open.groups.push(group.clone());
            return;
        }
        self.close();
        self.open = Some(Open { step, act, groups: group.into_iter().collect() });
    }

    fn close(&mut self) {
        let Some(Open { mut act, groups, .. }) = self.open.take() else { return };
        if !groups.is_empty() {
            let collective = act.get("collective").is_some();
            // What ranks do each by itself is done by one list of them.
            let groups = if collective { groups } else { alloc::vec![groups.concat()] };
            let number = *self.numbers.entry(groups).or_insert_with_key(|groups| {
                self.partitions.push(json!(groups));
                self.partitions.len().saturating_sub(1)
            });
            let key = if collective { "over" } else { "on" };
            for (_, act) in act.as_object_mut().into_iter().flatten() {
                put(act, key, Some(number.into()));
            }
        }
        self.steps.push(act);
    }

    fn finish(mut self) -> Acts {
        self.close();
        Acts { partitions: self.partitions, steps: self.steps }
    }
}

fn collective(calls: &[&CollectiveStep], made: &Call) -> Result<Value, NoCertificate> {
    let Call { group, layout, dtype } = made;
    // What one of them leaves open is open, whatever the others name.
    let open = calls.iter().find(|call| call.reduction.is_none());
    let first = open.or(calls.first()).ok_or_else(lost)?;
    let (mut send, mut recv) = (Vec::new(), Vec::new());
    for rank in layout.each() {
        let own = usize::try_from(rank.rank().index()).ok().and_then(|rank| calls.get(rank));
        let call = own.copied().filter(|_| calls.len() > 1).unwrap_or(first);
        let (sent, received) = views(call, &rank);
        send.push(sent);
        recv.push(received);
    }
    let mut act = json!({
        "call": layout.operation().kind().name(),
        "count": layout.count().to_string(),
        "send": shared(send),
        "recv": shared(recv),
    });
    put(&mut act, "op", op(first.reduction, calls, *dtype, group.size())?);
    put(&mut act, "root", first.root.map(|root| root.index().into()));
    Ok(json!({ "collective": act }))
}

/// The reduction of a call; a pre-multiplied sum with the scalar of each rank.
fn op(
    reduction: Option<Reduction>,
    calls: &[&CollectiveStep],
    dtype: Dtype,
    ranks: GroupSize,
) -> Result<Option<Value>, NoCertificate> {
    let Some(reduction) = reduction else { return Ok(None) };
    if reduction != Reduction::PreMulSum {
        return Ok(Some(reduction.name().into()));
    }
    let mut scalars = Vec::new();
    let parsed = parse_scalars(dtype, ranks, &scalars_of(calls));
    for scalar in parsed.map_err(|(found, _)| NoCertificate::not_expressed(found))? {
        let number = exact(scalar)
            .ok_or_else(|| NoCertificate::not_expressed("a scalar that is no number"))?;
        scalars.push(number.to_string());
    }
    Ok(Some(json!({ "premul": scalars })))
}

/// What a rank of a call reads and writes. In place is what has one view for both: where
/// the plan says so, or where it spells the parts out.
fn views(call: &CollectiveStep, rank: &RankLayout) -> (Option<Value>, Option<Value>) {
    let start = |operand: &Operand| operand.positions.as_ref().map_or(0, |at| at.start);
    let one_buffer = call.send.buffer == call.recv.buffer && !call.in_place();
    let base = rank.in_place().filter(|_| one_buffer).and_then(|relation| {
        let base = start(&call.send).checked_sub(relation.input.start)?;
        (start(&call.recv).checked_sub(relation.output.start) == Some(base)).then_some(base)
    });
    let spelled_out = base.map(|base| json!({ "from": [call.send.buffer, base.to_string()] }));
    let of = |operand| spelled_out.clone().unwrap_or_else(|| view(operand));
    let handed_in = rank.has_output() || call.elsewhere == Elsewhere::NotPromised;
    (rank.has_input().then(|| of(&call.send)), handed_in.then(|| of(&call.recv)))
}

/// Views of all ranks: one for all where they are alike.
fn shared(views: Vec<Option<Value>>) -> Value {
    // A rank that reads nothing does not mind what it would read.
    let mut given = views.iter().flatten();
    if let Some(first) = given.next()
        && given.all(|view| view == first)
    {
        return json!([first]);
    }
    views.into()
}

fn message(plan: &Plan, sent: &MessageStep, rank: WorldRank) -> Result<Value, NoCertificate> {
    let peer = sent.over.locate(rank).and_then(|(group, _)| group.world_rank(sent.peer));
    let lost = || NoCertificate::not_expressed("a message to nobody");
    let peer = peer.filter(|peer| peer.index() < plan.world.get()).ok_or_else(lost)?;
    let mut act = json!({ "rank": rank.index(), "peer": peer.index() });
    Ok(match sent.direction {
        Direction::Send => {
            put(&mut act, "from", Some(source(&sent.buffer)));
            json!({ "send": act })
        }
        Direction::Recv => {
            let positions = sent.buffer.positions.as_ref();
            let count = sent.count.or(positions.map(|at| at.end.saturating_sub(at.start)));
            put(&mut act, "count", count.map(|count| count.to_string().into()));
            put(&mut act, "to", Some(view(&sent.buffer)));
            json!({ "recv": act })
        }
    })
}

/// What is written, or what a call reads.
fn view(operand: &Operand) -> Value {
    match &operand.positions {
        None => json!({ "all": operand.buffer }),
        Some(positions) => json!({ "from": [operand.buffer, positions.start.to_string()] }),
    }
}

/// What is read: all of an operand.
fn source(operand: &Operand) -> Value {
    match &operand.positions {
        None => json!({ "all": operand.buffer }),
        Some(positions) => part(operand, 0..positions.end.saturating_sub(positions.start)),
    }
}

/// Positions of an operand.
fn part(operand: &Operand, positions: Range<u64>) -> Value {
    let start = operand.positions.as_ref().map_or(0, |whole| whole.start);
    let at = start.saturating_add(positions.start).to_string();
    let count = positions.end.saturating_sub(positions.start).to_string();
    json!({ "part": [operand.buffer, at, count] })
}

/// So many positions of one value, or of which nothing is promised.
fn constant(dtype: Dtype, count: u64, value: Option<&str>) -> Result<Value, NoCertificate> {
    let mut written = Value::Null;
    if let Some(text) = value {
        let literal = Scalar::parse(dtype, text).ok();
        let number = literal.and_then(|literal| exact(literal.scalar)).ok_or_else(|| {
            NoCertificate::not_expressed(format!("the constant {text}, which is no number"))
        })?;
        written = number.to_string().into();
    }
    Ok(json!({ "fill": [dtype.name(), count.to_string(), written] }))
}

/// A local act as it was carried out.
#[derive(Clone, Copy)]
struct Made {
    rank: WorldRank,
    dtype: Dtype,
    read: u64,
}

fn local(step: &LocalStep, made: Made) -> Result<Value, NoCertificate> {
    let Made { rank, dtype, read } = made;
    let to = view(&step.recv);
    let all = |from: &[Operand]| -> Vec<Value> { from.iter().map(source).collect() };
    let cut = |sharding: &Sharding, over: &Partition| {
        let (group, own) = over.locate(rank)?;
        let cut = Cut::new(sharding, Tensor::new(sharding, read).ok()?, group.size()).ok()?;
        Some((cut, own))
    };
    let made =
        |act: Value, from: Vec<Value>| json!({ "local": { "act": act, "from": from, "to": to } });
    let joined = |from: Vec<Value>| made("join".into(), from);
    Ok(match &step.act {
        LocalAct::Copy { from } => joined(Vec::from([source(from)])),
        LocalAct::Slice { from, positions } => joined(Vec::from([part(from, positions.clone())])),
        LocalAct::Concat { from } => joined(all(from)),
        LocalAct::Fold { from, reduction } => {
            made(json!({ "fold": reduction.map(Reduction::name) }), all(from))
        }
        LocalAct::Scale { from, by } => {
            let by = factor(by).ok_or_else(|| {
                NoCertificate::not_expressed(format!("the factor {}/{}", by.0, by.1))
            })?;
            made(json!({ "scale": by.to_string() }), all(core::slice::from_ref(from)))
        }
        LocalAct::Cast { from, to: dtype } => {
            made(json!({ "cast": dtype.name() }), all(core::slice::from_ref(from)))
        }
        LocalAct::Alloc { count, .. } => joined(Vec::from([constant(dtype, *count, None)?])),
        LocalAct::Fill { value, count, .. } => {
            joined(Vec::from([constant(dtype, *count, Some(value))?]))
        }
        LocalAct::Pad { from, count, value } => {
            let more = count.saturating_sub(read);
            joined(Vec::from([source(from), constant(dtype, more, Some(value))?]))
        }
        LocalAct::Shard { from, sharding, over, .. } => {
            let (cut, own) = cut(sharding, over).ok_or_else(lost)?;
            let pieces = cut.share_pieces(own).filter_map(|piece| match piece {
                Piece::Held(positions) => {
                    (!positions.is_empty()).then(|| Ok(part(from, positions)))
                }
                Piece::Padding(count) => {
                    (count > 0).then(|| constant(dtype, count, sharding.value.as_deref()))
                }
            });
            let pieces: Vec<Value> = pieces.collect::<Result<_, _>>()?;
            let nothing = if pieces.is_empty() { Some(constant(dtype, 0, None)?) } else { None };
            joined(pieces.into_iter().chain(nothing).collect())
        }
        LocalAct::Unshard { from, sharding, over, .. } => {
            let (cut, _) = cut(sharding, over).ok_or_else(lost)?;
            let pieces: Vec<Value> =
                cut.whole_pieces().map(|positions| part(from, positions)).collect();
            let nothing = if pieces.is_empty() { Some(constant(dtype, 0, None)?) } else { None };
            joined(pieces.into_iter().chain(nothing).collect())
        }
    })
}
