//! The acts of a proposal as certificates write them, in the order in which they were
//! carried out.
//!
//! Few kinds are enough: a collective with views, the two sides of a message, and on one
//! rank *move* (positions put one after the other: copy, slice, concatenation), fold,
//! scale and cast. What follows another time, in another group or on another rank,
//! without anything between, is written once.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use rankwise_model::{RankLayout, Reduction};
use rankwise_topology::WorldRank;
use serde_json::{Value, json};

use super::{NoCertificate, put};
use crate::evaluate::{Call, Evaluation, Turn, factor, parse_scalars};
use crate::form::exact;
use crate::plan::{
    Act, CollectiveStep, Direction, LocalAct, LocalStep, MessageStep, Operand, Plan, Proposal,
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
                Turn::Collective { steps, call } => {
                    let calls: Option<Vec<&CollectiveStep>> = steps
                        .iter()
                        .map(|step| match proposal.steps.get(*step).map(|step| &step.act) {
                            Some(Act::Collective(call)) => Some(call),
                            _ => None,
                        })
                        .collect();
                    let calls = calls.filter(|calls| !calls.is_empty());
                    let calls = calls.ok_or_else(|| other(proposal, steps.first().copied()))?;
                    let members: Vec<u32> =
                        call.group.members().iter().map(|member| member.index()).collect();
                    let key = if steps.len() == 1 { steps.first().copied() } else { None };
                    written.add(key, collective(&calls, call)?, Some(members));
                }
                Turn::Alone { rank, step } => {
                    match proposal.steps.get(*step).map(|step| &step.act) {
                        Some(Act::Message(sent)) => {
                            written.add(None, message(plan, sent, *rank)?, None);
                        }
                        Some(Act::Local(act)) => {
                            let ranks = alloc::vec![rank.index()];
                            written.add(Some(*step), local(act)?, Some(ranks));
                        }
                        _ => return Err(other(proposal, Some(*step))),
                    }
                }
            }
        }
        Ok(written.finish())
    }
}

fn other(proposal: &Proposal, step: Option<usize>) -> NoCertificate {
    let act = step.and_then(|step| proposal.steps.get(step)).map(|step| &step.act);
    NoCertificate::not_expressed(match act {
        Some(Act::Group(group)) => match group.stands_for {
            Some(name) => format!("a group of calls, here {name}"),
            None => "a group of calls".to_string(),
        },
        _ => "a step of another kind than collective, message or local act".to_string(),
    })
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
    step: Option<usize>,
    act: Value,
    groups: Vec<Vec<u32>>,
}

impl Written {
    /// Adds an act, by a group of ranks, or by whom it says itself. What is done by
    /// disjoint groups at one step of the plan does not depend on their order.
    fn add(&mut self, step: Option<usize>, act: Value, group: Option<Vec<u32>>) {
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
    for operand in calls.iter().flat_map(|call| [&call.send, &call.recv]) {
        whole(operand)?;
    }
    let lost = || NoCertificate::not_expressed("a call of nobody");
    let first = calls.first().ok_or_else(lost)?;
    let mut scalars: Vec<Value> = Vec::new();
    if first.reduction == Some(Reduction::PreMulSum) {
        let texts = first.scalars.as_deref().unwrap_or_default();
        let parsed = parse_scalars(*dtype, group.size(), texts);
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
    let (send, recv) = (call.send.buffer.as_str(), call.recv.buffer.as_str());
    let relation = rank.in_place().filter(|_| call.in_place());
    let part = |at: &core::ops::Range<u64>, whole: u64| {
        let all = at.start == 0 && at.end == whole;
        (!all).then_some(at.start)
    };
    match relation {
        None => (rank.has_input().then_some((send, None)), Some((recv, None))),
        Some(relation) => {
            let sent = part(&relation.input, relation.buffer_len);
            let received = part(&relation.output, relation.buffer_len);
            (
                rank.has_input().then_some((send, sent)),
                Some((recv, received.filter(|_| rank.has_output()))),
            )
        }
    }
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
    let mut act = json!({
        "rank": rank.index(),
        "peer": peer.index(),
        "buffer": { "buffer": whole(&sent.buffer)? },
    });
    put(&mut act, "count", sent.count.map(|count| count.to_string().into()));
    Ok(match sent.direction {
        Direction::Send => json!({ "send": act }),
        Direction::Recv => json!({ "recv": act }),
    })
}

/// The name of a buffer that is read or written whole.
fn whole(operand: &Operand) -> Result<&str, NoCertificate> {
    match operand.positions {
        None => Ok(&operand.buffer),
        Some(_) => {
            Err(NoCertificate::not_expressed(format!("positions of a buffer, here {operand}")))
        }
    }
}

fn local(step: &LocalStep) -> Result<Value, NoCertificate> {
    let to = json!({ "buffer": whole(&step.recv)? });
    let all = |from: &[Operand]| -> Result<Vec<Value>, NoCertificate> {
        from.iter().map(|from| Ok(json!({ "buffer": whole(from)? }))).collect()
    };
    let one =
        |from: &Operand| -> Result<Value, NoCertificate> { Ok(json!({ "buffer": whole(from)? })) };
    Ok(match &step.act {
        LocalAct::Copy { from } => json!({ "move": { "from": [one(from)?], "to": to } }),
        LocalAct::Slice { from, positions } => {
            let count = positions.end.saturating_sub(positions.start).to_string();
            let at = positions.start.to_string();
            let part = json!({ "buffer": whole(from)?, "at": at, "count": count });
            json!({ "move": { "from": [part], "to": to } })
        }
        LocalAct::Concat { from } => json!({ "move": { "from": all(from)?, "to": to } }),
        LocalAct::Fold { from, reduction } => {
            let mut act = json!({ "from": all(from)?, "to": to });
            put(&mut act, "op", reduction.map(|reduction| reduction.name().into()));
            json!({ "fold": act })
        }
        LocalAct::Scale { from, by } => {
            let by = factor(by).ok_or_else(|| {
                NoCertificate::not_expressed(format!("the factor {}/{}", by.0, by.1))
            })?;
            json!({ "scale": { "by": by.to_string(), "from": one(from)?, "to": to } })
        }
        LocalAct::Cast { from, to: dtype } => {
            json!({ "cast": { "dtype": dtype.name(), "from": one(from)?, "to": to } })
        }
        act => {
            return Err(NoCertificate::not_expressed(format!("the local act {}", act.name())));
        }
    })
}
