//! One step: a collective, one side of a message, or a local act.

mod group;
mod local;
mod operand;
mod vector;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::{OperationKind, Rank, Reduction};

use crate::error::{Fault, PlanError};
use crate::file::{self, Whole};
use crate::names;
use crate::plan::{Act, CollectiveStep, Direction, Elsewhere, MessageStep, On, Step};
use crate::read::partitions::Groups;
use crate::read::spot::Spot;
use crate::read::{Declared, place};
use crate::words::{self, OwnCall};

/// Reads one step of `[[proposal.NAME.step]]`.
pub(super) fn read(
    spot: &Spot,
    step: &file::Step,
    declared: &Declared<'_>,
    text: &str,
    scope: Scope,
) -> Result<Step, PlanError> {
    let (call_spot, call) = spot.needed("call", step.call.as_ref(), "what the step does")?;
    let reader = StepReader { spot, step, call, declared, text, scope };
    let collective = words::collectives().find(|kind| kind.name() == call);
    let own = OwnCall::ALL.into_iter().find(|(name, _)| name == call);
    let act = match (collective, own) {
        (Some(kind), _) => Act::Collective(reader.collective(kind)?),
        (None, Some((_, OwnCall::Send))) => Act::Message(reader.message(Direction::Send)?),
        (None, Some((_, OwnCall::Recv))) => Act::Message(reader.message(Direction::Recv)?),
        (None, Some((_, OwnCall::Group))) => Act::Group(reader.group()?),
        (None, Some((name, OwnCall::Vector(kind)))) => Act::Group(reader.vector(name, kind)?),
        (None, Some((_, call))) => Act::Local(reader.local(call)?),
        (None, None) => {
            let expected = match call.parse::<OperationKind>() {
                Ok(kind) if kind != OperationKind::Message => {
                    format!("{kind}, which is its name here")
                }
                _ => names::one_of(call, words::calls()),
            };
            return Err(call_spot.error(Fault::Value, names::quoted(call), expected));
        }
    };
    Ok(Step { act, span: spot.span })
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Among the steps that all ranks do in their order.
    Together,
    /// In the program of some ranks.
    Program,
    /// In a group within such a program.
    Part,
}

/// The step being read.
struct StepReader<'s> {
    spot: &'s Spot,
    step: &'s file::Step,
    call: &'s str,
    declared: &'s Declared<'s>,
    text: &'s str,
    scope: Scope,
}

impl StepReader<'_> {
    fn collective(&self, kind: OperationKind) -> Result<CollectiveStep, PlanError> {
        let mut keys = Vec::from(["over", "send", "recv", "count"]);
        if kind.reduces() {
            keys.extend(["op", "scalars"]);
        }
        if kind.is_rooted() {
            keys.push("root");
        }
        self.only(&keys)?;
        let (over, over_name) = self.over()?;
        let reduction = self.op(&words::reductions().collect::<Vec<_>>())?;
        let root = if kind.is_rooted() {
            let (spot, root) = self.spot.needed(
                "root",
                self.step.root.as_ref(),
                "the root, as a rank of the group",
            )?;
            Some(rank_in(&spot, *root, &over, over_name.as_deref())?)
        } else {
            None
        };
        let count = self.spot.given("count", self.step.count.as_ref());
        Ok(CollectiveStep {
            kind,
            reduction,
            scalars: self.scalars(reduction, &over)?,
            root,
            over: over.partition,
            over_name,
            send: self.send()?,
            recv: self.recv()?,
            elsewhere: Elsewhere::NotPromised,
            count: count.as_ref().map(|(_, count)| count.get()),
            count_span: count.map(|(spot, _)| spot.span),
        })
    }

    fn message(&self, direction: Direction) -> Result<MessageStep, PlanError> {
        let buffer = match direction {
            Direction::Send => {
                self.only(&["peer", "over", "on", "send", "count"])?;
                self.send()?
            }
            Direction::Recv => {
                self.only(&["peer", "over", "on", "recv", "count"])?;
                self.recv()?
            }
        };
        let (over, over_name) = self.over()?;
        let (spot, peer) = self.spot.needed(
            "peer",
            self.step.peer.as_ref(),
            "the other side, as a rank of the group",
        )?;
        let peer = rank_in(&spot, *peer, &over, over_name.as_deref())?;
        Ok(MessageStep {
            direction,
            on: self.on()?,
            over: over.partition,
            over_name,
            peer,
            buffer,
            count: self.step.count.map(|count| count.value.get()),
        })
    }

    fn only(&self, allowed: &[&str]) -> Result<(), PlanError> {
        only(self.spot, self.step, self.call, allowed, self.scope)
    }

    fn op(&self, known: &[&str]) -> Result<Option<Reduction>, PlanError> {
        let Some((spot, op)) = self.spot.given("op", self.step.op.as_ref()) else {
            return Ok(None);
        };
        let reduction = op.parse().ok().filter(|_| known.contains(&op.as_str()));
        let wrong = || {
            let expected = names::one_of(op, known.iter().copied());
            spot.error(Fault::Value, names::quoted(op), expected)
        };
        reduction.map(Some).ok_or_else(wrong)
    }

    /// One scalar for each rank of a group: so all groups are of one size.
    fn scalars(
        &self,
        reduction: Option<Reduction>,
        over: &Groups,
    ) -> Result<Option<Vec<String>>, PlanError> {
        let Some((spot, written)) = self.spot.given("scalars", self.step.scalars.as_ref()) else {
            return Ok(None);
        };
        if reduction != Some(Reduction::PreMulSum) {
            let op = reduction.map_or("no op", Reduction::name);
            let expected = format!("scalars only with op = {:?}", Reduction::PreMulSum.name());
            return Err(spot.error(Fault::Contradiction, format!("scalars with {op}"), expected));
        }
        let mut scalars = Vec::new();
        for (spot, scalar) in spot.each(written) {
            if scalar.0.parse::<f64>().is_err() {
                return Err(spot.error(Fault::Value, names::quoted(&scalar.0), "a number"));
            }
            scalars.push(scalar.0.to_string());
        }
        let mut sizes = [over.smallest, over.largest].into_iter();
        if let Some(size) = sizes.find(|size| u32::try_from(scalars.len()) != Ok(size.get())) {
            let found =
                format!("{} for a group of {size}", names::counted(scalars.len(), "scalar"));
            return Err(spot.error(Fault::Contradiction, found, "one for each rank of the group"));
        }
        Ok(Some(scalars))
    }

    fn over(&self) -> Result<(Groups, Option<String>), PlanError> {
        let given = self.spot.given("over", self.step.over.as_ref());
        let (spot, over) = given.unzip();
        let spot = spot.as_ref().unwrap_or(self.spot);
        self.declared.partitions.over(spot, over, &self.declared.ranks)
    }

    fn on(&self) -> Result<On, PlanError> {
        match self.spot.given("on", self.step.on.as_ref()) {
            Some((spot, on)) => place::on(&spot, on, self.declared),
            None => Ok(On::EveryRank),
        }
    }
}

/// Refuses every key that means nothing with a call.
pub(super) fn only(
    at: &Spot,
    step: &file::Step,
    call: &str,
    allowed: &[&str],
    scope: Scope,
) -> Result<(), PlanError> {
    let given = [
        ("op", step.op.as_ref().map(|field| field.span)),
        ("scalars", step.scalars.as_ref().map(|field| field.span)),
        ("root", step.root.as_ref().map(|field| field.span)),
        ("peer", step.peer.as_ref().map(|field| field.span)),
        ("over", step.over.as_ref().map(|field| field.span)),
        ("on", step.on.as_ref().map(|field| field.span)),
        ("send", step.send.as_ref().map(|field| field.span)),
        ("recv", step.recv.as_ref().map(|field| field.span)),
        ("count", step.count.as_ref().map(|field| field.span)),
        ("positions", step.positions.as_ref().map(|field| field.span)),
        ("by", step.by.as_ref().map(|field| field.span)),
        ("dtype", step.dtype.as_ref().map(|field| field.span)),
        ("counts", step.counts.as_ref().map(|field| field.span)),
        ("value", step.value.as_ref().map(|field| field.span)),
        ("shape", step.shape.as_ref().map(|field| field.span)),
        ("dim", step.dim.as_ref().map(|field| field.span)),
        ("uneven", step.uneven.as_ref().map(|field| field.span)),
        ("step", step.step.first().map(|field| field.span)),
        ("stream", step.stream.as_ref().map(|field| field.span)),
        ("wait", step.wait.as_ref().map(|field| field.span)),
        ("after", step.after.as_ref().map(|field| field.span)),
    ];
    for (key, span) in given {
        match (scope, key) {
            (Scope::Program, "stream" | "wait") => continue,
            (Scope::Program | Scope::Part, "on") => {
                if let Some(span) = span {
                    let expected = "no on: the program says whose steps they are";
                    let spot = at.key(key, span);
                    return Err(spot.error(Fault::Contradiction, key, expected));
                }
            }
            _ => {}
        }
        if let Some(span) = span.filter(|_| !allowed.contains(&key)) {
            let expected = format!("no {key}: {} takes {}", call, allowed.join(", "));
            return Err(at.key(key, span).error(Fault::Contradiction, key, expected));
        }
    }
    Ok(())
}

/// A rank that every group of the step has.
fn rank_in(
    spot: &Spot,
    index: Whole,
    over: &Groups,
    over_name: Option<&str>,
) -> Result<Rank, PlanError> {
    let smallest = over.smallest;
    let rank = u32::try_from(index.get()).ok().and_then(|index| smallest.rank(index));
    rank.ok_or_else(|| {
        let last = smallest.get().saturating_sub(1);
        let expected = match over_name {
            Some(name) => format!("a rank of every group of {name}: 0 to {last}"),
            None => format!("a rank of every group of the step: 0 to {last}"),
        };
        spot.error(Fault::UnknownName, format!("rank {}", index.get()), expected)
    })
}
