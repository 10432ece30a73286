//! Sends and recvs in terms: first-in-first-out per ordered pair of ranks.
//!
//! A send never waits here, as if every message stood in a group of its own:
//! whether ungrouped sends can block each other is a question of streams.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;

use rankwise_model::{Layout, Operation, Rank};
use rankwise_topology::{Group, WorldRank};

use super::{At, Call, Instance, Machine, THE_WORLD, Turn, Who};
use crate::error::{Fault, PlanError};
use crate::plan::{Act, Direction, MessageStep};
use crate::vector::Vector;

/// A channel: sender, receiver.
type Pair = (WorldRank, WorldRank);

/// The messages that were sent and not yet received.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    letters: BTreeMap<Pair, VecDeque<Letter>>,
}

#[derive(Debug)]
struct Letter {
    vector: Arc<Vector>,
    /// What to say if nobody receives it.
    unanswered: PlanError,
}

impl Mailbox {
    fn has(&self, pair: Pair) -> bool {
        self.letters.get(&pair).is_some_and(|letters| !letters.is_empty())
    }

    /// At the end: fails with the first message that nobody received.
    pub(super) fn all_received(&self) -> Result<(), PlanError> {
        match self.letters.values().flatten().next() {
            Some(letter) => Err(letter.unanswered.clone()),
            None => Ok(()),
        }
    }
}

/// Both ends of a message, as ranks of the group and of the world.
pub(super) struct Ends<'a> {
    pub(super) group: &'a Group,
    pub(super) from: Rank,
    pub(super) to: Rank,
    pair: Pair,
}

impl Machine<'_> {
    pub(super) fn is_ready(&self, instance: &Instance<'_>) -> bool {
        match (&instance.at.step.act, &instance.who) {
            (Act::Message(message), Who::Rank(rank)) => {
                matches!(message.direction, Direction::Send)
                    || match ends(&instance.at, message, *rank) {
                        Ok(ends) => self.mail.has(ends.pair),
                        // Carried out at once, so that its error is told.
                        Err(_) => true,
                    }
            }
            _ => true,
        }
    }

    pub(super) fn message(
        &mut self,
        at: &At<'_>,
        message: &MessageStep,
        rank: WorldRank,
    ) -> Result<(), PlanError> {
        let ends = ends(at, message, rank)?;
        let (from, to) = ends.pair;
        self.turns.push(Turn::Message { rank, done: at.done() });
        match message.direction {
            Direction::Send => {
                let vector = self.read(at, rank, &message.buffer)?;
                check_count(at, message, &vector)?;
                let unanswered = at.error(
                    Fault::Contradiction,
                    None,
                    format!("a send from rank {from} to rank {to} that no recv answers"),
                    format!("a recv on rank {to} from rank {from}"),
                );
                let letters = self.mail.letters.entry(ends.pair).or_default();
                letters.push_back(Letter { vector, unanswered });
            }
            Direction::Recv => {
                let letter = self.mail.letters.get_mut(&ends.pair).and_then(VecDeque::pop_front);
                let Some(Letter { vector, .. }) = letter else { return Ok(()) };
                check_count(at, message, &vector)?;
                let operation = Operation::Message { from: ends.from, to: ends.to };
                let layout =
                    Layout::new(operation, ends.group.size(), vector.count()).map_err(|error| {
                        at.error(Fault::Overflow, None, error.to_string(), "ranks of the group")
                    })?;
                let call = Call { group: ends.group.clone(), layout, dtype: vector.dtype() };
                self.write(at, rank, &message.buffer, vector)?;
                self.record(at, call);
            }
        }
        Ok(())
    }

    /// What to say of a step that never becomes ready.
    pub(super) fn stuck(instance: &Instance<'_>) -> PlanError {
        let at = &instance.at;
        if let (Act::Message(message), Who::Rank(rank)) = (&at.step.act, &instance.who)
            && let Ok(Ends { pair: (from, to), .. }) = ends(at, message, *rank)
        {
            return at.error(
                Fault::Contradiction,
                None,
                format!("a recv on rank {to} from rank {from} that waits for ever"),
                format!(
                    "a send from rank {from} to rank {to} that does not itself wait for rank {to}"
                ),
            );
        }
        at.error(Fault::Contradiction, None, "a step that waits for ever", "ranks that come to it")
    }
}

pub(super) fn ends<'a>(
    at: &At<'_>,
    message: &'a MessageStep,
    rank: WorldRank,
) -> Result<Ends<'a>, PlanError> {
    let group = message.over_name.as_deref();
    let (members, own) = at.group_of(&message.over, group, rank)?;
    let Some(peer) = members.world_rank(message.peer) else {
        let found = format!("peer {}", message.peer);
        let group = group.unwrap_or(THE_WORLD);
        let expected = format!("a rank of its group of {} ({group})", members.size());
        return Err(at.error(Fault::UnknownName, None, found, expected));
    };
    Ok(match message.direction {
        Direction::Send => Ends { group: members, from: own, to: message.peer, pair: (rank, peer) },
        Direction::Recv => Ends { group: members, from: message.peer, to: own, pair: (peer, rank) },
    })
}

fn check_count(at: &At<'_>, message: &MessageStep, vector: &Vector) -> Result<(), PlanError> {
    match message.count {
        Some(stated) if stated != vector.count() => Err(at.error(
            Fault::Contradiction,
            None,
            format!("count {stated}"),
            format!("{}, the length of the message", vector.count()),
        )),
        _ => Ok(()),
    }
}
