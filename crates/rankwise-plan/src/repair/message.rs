//! Messages from the ranks that hold what others need.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use rankwise_model::Rank;
use rankwise_topology::{Partition, World, WorldRank};

use super::recheck::{Bench, Lack};
use super::{Mend, Repair};
use crate::error::Span;
use crate::plan::{Act, Direction, LocalAct, LocalStep, MessageStep, On, Operand, Step};

/// What one rank sends another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The buffer.
    pub buffer: String,
    /// Who has what the other needs.
    pub from: WorldRank,
    /// Who needs it.
    pub to: WorldRank,
}

/// Sends each lacking rank the buffer of a rank that holds what it needs.
pub(super) fn repair(bench: &mut Bench<'_>, lacks: &[Lack]) -> Option<Repair> {
    let mut moves = Vec::new();
    for lack in lacks {
        let from = bench.source(lack)?;
        moves.push(Move { buffer: lack.buffer.clone(), from, to: lack.rank });
    }
    let world = Partition::whole(World::new(bench.plan.world));
    let sources: BTreeSet<(&str, WorldRank)> =
        moves.iter().map(|one| (one.buffer.as_str(), one.from)).collect();
    let (mut steps, mut text) = (Vec::new(), String::new());
    let head = bench.step_head();
    let rank = |rank: WorldRank| bench.plan.world.rank(rank.index());
    for one in &moves {
        let peer = rank(one.to)?;
        steps.push(message(Direction::Send, one.from, peer, &one.buffer, &world));
        let _ = write!(
            text,
            "{head}call = \"send\"\non = {{ rank = {} }}\npeer = {peer}\nsend = {:?}\n\n",
            one.from, one.buffer
        );
    }
    let mut copies = Vec::new();
    for one in &moves {
        // What is sent away must not be overwritten before it has gone.
        let also_sends = sources.contains(&(one.buffer.as_str(), one.to));
        let into = if also_sends {
            bench.fresh(&format!("{}_new", one.buffer))
        } else {
            one.buffer.clone()
        };
        let peer = rank(one.from)?;
        steps.push(message(Direction::Recv, one.to, peer, &into, &world));
        let _ = write!(
            text,
            "{head}call = \"recv\"\non = {{ rank = {} }}\npeer = {peer}\nrecv = {into:?}\n\n",
            one.to
        );
        if also_sends {
            copies.push((one, into));
        }
    }
    for (one, from) in copies {
        let _ = write!(
            text,
            "{head}call = \"copy\"\non = {{ rank = {} }}\nsend = {from:?}\nrecv = {:?}\n\n",
            one.to, one.buffer
        );
        let act = LocalAct::Copy { from: Operand::whole(from) };
        let local =
            LocalStep { on: On::Rank(one.to), act, recv: Operand::whole(one.buffer.clone()) };
        steps.push(Step { act: Act::Local(local), span: Span::default() });
    }
    bench.with_steps(Mend::Messages(moves), &steps, text)
}

fn message(
    direction: Direction,
    on: WorldRank,
    peer: Rank,
    buffer: &str,
    world: &Partition,
) -> Step {
    let act = Act::Message(MessageStep {
        direction,
        on: On::Rank(on),
        over: world.clone(),
        over_name: None,
        peer,
        buffer: Operand::whole(buffer),
        count: None,
    });
    Step { act, span: Span::default() }
}
