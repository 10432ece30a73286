//! The acts of a proposal as certificates write them, in the order in which they were
//! carried out.
//!
//! Few kinds are enough: a collective with views, the two sides of a message, and on one
//! rank *move* (positions and constants put one after the other: copy, slice,
//! concatenation, padding, sharding), fold, scale and cast. The acts of a group do not
//! touch what others of it do, so that any order of them is the one. What follows another time, in another group or on another rank,
//! without anything between, is written once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, RankLayout, Reduction, Scalar};
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
    let mut scalars: Vec<Value> = Vec::new();
    if first.reduction == Some(Reduction::PreMulSum) {
        let parsed = parse_scalars(*dtype, group.size(), &scalars_of(calls));
        for scalar in parsed.map_err(|(found, _)| NoCertificate::not_expressed(found))? {
            let number = exact(scalar)
                .ok_or_else(|| NoCertificate::not_expressed("a scalar that is no number"))?;
            scalars.push(number.to_string().into());
        }
    }
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
    put(&mut act, "op", first.reduction.map(|reduction| reduction.name().into()));
    put(&mut act, "root", first.root.map(|root| root.index().into()));
    put(&mut act, "scalars", (!scalars.is_empty()).then(|| scalars.into()));
    Ok(json!({ "collective": act }))
}

/// What one rank reads and writes: a buffer, and where in it, if not all of it.
type View<'a> = Option<(&'a str, Option<u64>)>;

/// What a rank of a call reads and writes; in place, as the layout says.
fn views<'a>(call: &'a CollectiveStep, rank: &RankLayout) -> (View<'a>, View<'a>) {
    let relation = rank.in_place().filter(|_| call.in_place());
    let part = |operand: &Operand, at: Option<&Range<u64>>, whole: u64| {
        let within = at.filter(|at| at.start > 0 || at.end != whole).map(|at| at.start);
        match &operand.positions {
            None => within,
            Some(positions) => Some(positions.start.saturating_add(within.unwrap_or(0))),
        }
    };
    let (input, output, length) = match &relation {
        None => (None, None, 0),
        Some(at) => (Some(&at.input), Some(&at.output), at.buffer_len),
    };
    let output = output.filter(|_| rank.has_output());
    let sent = (call.send.buffer.as_str(), part(&call.send, input, length));
    let received = (call.recv.buffer.as_str(), part(&call.recv, output, length));
    let handed_in = rank.has_output() || call.elsewhere == Elsewhere::NotPromised;
    (rank.has_input().then_some(sent), handed_in.then_some(received))
}

/// Views of all ranks: one for all where they are alike or step evenly.
fn shared(views: Vec<View<'_>>) -> Value {
    let written = |buffer: &str, at: Option<u64>, by: Option<u64>| {
        let mut view = json!({ "buffer": buffer });
        put(&mut view, "at", at.map(|at| at.to_string().into()));
        put(&mut view, "by", by.map(|by| by.to_string().into()));
        view
    };
    // A rank that reads nothing does not mind what it would read.
    let mut given = views.iter().flatten();
    if let Some(first) = given.next()
        && given.all(|view| view == first)
    {
        return json!([written(first.0, first.1, None)]);
    }
    if let (Some(Some((buffer, Some(0)))), Some(Some((_, Some(by))))) =
        (views.first(), views.get(1))
    {
        let even =
            (0_u64..).zip(&views).all(|(rank, view)| *view == Some((buffer, by.checked_mul(rank))));
        if even {
            return json!([written(buffer, Some(0), Some(*by))]);
        }
    }
    let each = views.into_iter();
    each.map(|view| view.map_or(Value::Null, |(buffer, at)| written(buffer, at, None))).collect()
}

fn message(plan: &Plan, sent: &MessageStep, rank: WorldRank) -> Result<Value, NoCertificate> {
    let peer = sent.over.locate(rank).and_then(|(group, _)| group.world_rank(sent.peer));
    let lost = || NoCertificate::not_expressed("a message to nobody");
    let peer = peer.filter(|peer| peer.index() < plan.world.get()).ok_or_else(lost)?;
    let positions = sent.buffer.positions.as_ref();
    let count = sent.count.or(positions.map(|at| at.end.saturating_sub(at.start)));
    let mut act = json!({
        "rank": rank.index(),
        "peer": peer.index(),
        "buffer": target(&sent.buffer),
    });
    put(&mut act, "count", count.map(|count| count.to_string().into()));
    Ok(match sent.direction {
        Direction::Send => json!({ "send": act }),
        Direction::Recv => json!({ "recv": act }),
    })
}

/// What is written.
fn target(operand: &Operand) -> Value {
    let mut view = json!({ "buffer": operand.buffer });
    let start = operand.positions.as_ref().map(|positions| positions.start.to_string().into());
    put(&mut view, "at", start);
    view
}

/// What is read: all of an operand.
fn source(operand: &Operand) -> Value {
    match &operand.positions {
        None => json!({ "buffer": operand.buffer }),
        Some(positions) => part(operand, 0..positions.end.saturating_sub(positions.start)),
    }
}

/// Positions of an operand.
fn part(operand: &Operand, positions: Range<u64>) -> Value {
    let start = operand.positions.as_ref().map_or(0, |whole| whole.start);
    let at = start.saturating_add(positions.start).to_string();
    let count = positions.end.saturating_sub(positions.start).to_string();
    json!({ "buffer": operand.buffer, "at": at, "count": count })
}

/// So many positions of one value, or of which nothing is promised.
fn constant(dtype: Dtype, count: u64, value: Option<&str>) -> Result<Value, NoCertificate> {
    let mut source = json!({ "dtype": dtype.name(), "count": count.to_string() });
    if let Some(text) = value {
        let literal = Scalar::parse(dtype, text).ok();
        let number = literal.and_then(|literal| exact(literal.scalar)).ok_or_else(|| {
            NoCertificate::not_expressed(format!("the constant {text}, which is no number"))
        })?;
        put(&mut source, "value", Some(number.to_string().into()));
    }
    Ok(source)
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
    let to = target(&step.recv);
    let all = |from: &[Operand]| -> Vec<Value> { from.iter().map(source).collect() };
    let cut = |sharding: &Sharding, over: &Partition| {
        let (group, own) = over.locate(rank)?;
        let cut = Cut::new(sharding, Tensor::new(sharding, read).ok()?, group.size()).ok()?;
        Some((cut, own))
    };
    let moved = |from: Vec<Value>| json!({ "move": { "from": from, "to": to } });
    Ok(match &step.act {
        LocalAct::Copy { from } => moved(Vec::from([source(from)])),
        LocalAct::Slice { from, positions } => moved(Vec::from([part(from, positions.clone())])),
        LocalAct::Concat { from } => moved(all(from)),
        LocalAct::Fold { from, reduction } => {
            let mut act = json!({ "from": all(from), "to": to });
            put(&mut act, "op", reduction.map(|reduction| reduction.name().into()));
            json!({ "fold": act })
        }
        LocalAct::Scale { from, by } => {
            let by = factor(by).ok_or_else(|| {
                NoCertificate::not_expressed(format!("the factor {}/{}", by.0, by.1))
            })?;
            json!({ "scale": { "by": by.to_string(), "from": source(from), "to": to } })
        }
        LocalAct::Cast { from, to: dtype } => {
            json!({ "cast": { "dtype": dtype.name(), "from": source(from), "to": to } })
        }
        LocalAct::Alloc { count, .. } => moved(Vec::from([constant(dtype, *count, None)?])),
        LocalAct::Fill { value, count, .. } => {
            moved(Vec::from([constant(dtype, *count, Some(value))?]))
        }
        LocalAct::Pad { from, count, value } => {
            let more = count.saturating_sub(read);
            moved(Vec::from([source(from), constant(dtype, more, Some(value))?]))
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
            moved(pieces.into_iter().chain(nothing).collect())
        }
        LocalAct::Unshard { from, sharding, over, .. } => {
            let (cut, _) = cut(sharding, over).ok_or_else(lost)?;
            let pieces: Vec<Value> =
                cut.whole_pieces().map(|positions| part(from, positions)).collect();
            let nothing = if pieces.is_empty() { Some(constant(dtype, 0, None)?) } else { None };
            moved(pieces.into_iter().chain(nothing).collect())
        }
    })
}
