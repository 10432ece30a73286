//! What becomes of a story, the slow and plain way: nothing here is shared with the
//! matcher, and everything is looked at again until nothing changes.

use std::collections::BTreeSet;

use rankwise_program::{Signature, Verb};

use super::driver::{Act, Call, STREAMS, Story};

/// What becomes of a story when nobody is ever told of a failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// Ranks that wait for ever.
    pub(crate) stuck: BTreeSet<usize>,
    /// How many instances are over.
    pub(crate) over: usize,
    /// The communicator of each instance that has begun and never ends.
    pub(crate) open: Vec<usize>,
}

/// Which instance a call belongs to: a communicator, who sends to whom if it is a
/// message, and a number.
type Key = (usize, Option<(u32, u32)>, usize);

struct Made {
    rank: usize,
    key: Key,
    signature: Signature,
    tag: Option<&'static str>,
    /// Stream and index of the item; `None` beside.
    item: Option<(usize, usize)>,
}

/// An item of a stream: a unit, or a wait for so many items of another.
enum Item {
    Unit(Vec<Key>),
    Wait { on: usize, items: usize },
}

pub(crate) fn simulate(story: &Story) -> End {
    let ranks = story.ranks.len();
    let mut next = vec![0; ranks];
    let mut gone = vec![false; ranks];
    let mut made: Vec<Made> = Vec::new();
    let mut streams: Vec<Vec<Vec<Item>>> =
        (0..ranks).map(|_| (0..STREAMS).map(|_| Vec::new()).collect()).collect();
    let mut over: BTreeSet<Key> = BTreeSet::new();
    loop {
        let mut changed = false;
        for rank in 0..ranks {
            while !gone[rank] {
                let Some(act) = story.ranks[rank].get(next[rank]) else { break };
                match act {
                    Act::Post { stream, calls } => {
                        let item = Some((*stream, streams[rank][*stream].len()));
                        let keys = calls
                            .iter()
                            .map(|call| make(story, &mut made, rank, call, item))
                            .collect();
                        streams[rank][*stream].push(Item::Unit(keys));
                    }
                    Act::Beside(call) => {
                        // Made when the host comes here first, waited for ever after.
                        let (comm, signature) = (call.comm, call.signature);
                        let mine = made.iter().filter(|one| one.rank == rank && one.item.is_none());
                        let before = story.ranks[rank][..next[rank]]
                            .iter()
                            .filter(|act| matches!(act, Act::Beside(_)))
                            .count();
                        let known = mine.clone().nth(before).map(|one| one.key);
                        let key = known.unwrap_or_else(|| make(story, &mut made, rank, call, None));
                        assert!(key.0 == comm, "{signature:?}");
                        if !over.contains(&key) {
                            break;
                        }
                    }
                    Act::Wait { stream } => {
                        let items = streams[rank][*stream].len();
                        if !items_over(&streams[rank], *stream, items, &over) {
                            break;
                        }
                    }
                    Act::StreamWait { stream, on } => {
                        let items = streams[rank][*on].len();
                        if items > 0 {
                            streams[rank][*stream].push(Item::Wait { on: *on, items });
                        }
                    }
                    Act::Leave { .. } => {}
                    Act::End(_) => gone[rank] = true,
                }
                next[rank] += 1;
                changed = true;
            }
        }
        let keys: BTreeSet<Key> = made.iter().map(|one| one.key).collect();
        for key in &keys {
            if !over.contains(key) && can_end(story, &made, &streams, &over, *key) {
                over.insert(*key);
                changed = true;
            }
        }
        if !changed {
            let stuck = (0..ranks)
                .filter(|rank| !gone[*rank] && next[*rank] < story.ranks[*rank].len())
                .collect();
            return End {
                stuck,
                over: over.len(),
                open: keys.difference(&over).map(|key| key.0).collect(),
            };
        }
    }
}

fn make(
    story: &Story,
    made: &mut Vec<Made>,
    rank: usize,
    call: &Call,
    item: Option<(usize, usize)>,
) -> Key {
    let own = position(story, call.comm, rank);
    let pair = match call.signature.verb() {
        Verb::Send { to } => Some((own, to.index())),
        Verb::Recv { from } => Some((from.index(), own)),
        _ => None,
    };
    let is_send = |signature: &Signature| matches!(signature.verb(), Verb::Send { .. });
    let number = made
        .iter()
        .filter(|one| {
            one.rank == rank
                && (one.key.0, one.key.1) == (call.comm, pair)
                && (pair.is_none() || is_send(&one.signature) == is_send(&call.signature))
        })
        .count();
    let key = (call.comm, pair, number);
    made.push(Made { rank, key, signature: call.signature, tag: call.tag, item });
    key
}

fn position(story: &Story, comm: usize, rank: usize) -> u32 {
    let found = story.comms[comm].iter().position(|member| *member as usize == rank);
    u32::try_from(found.unwrap()).unwrap()
}

/// Whether the first items of a stream are over.
fn items_over(streams: &[Vec<Item>], stream: usize, items: usize, over: &BTreeSet<Key>) -> bool {
    streams[stream][..items].iter().all(|item| match item {
        Item::Unit(keys) => keys.iter().all(|key| over.contains(key)),
        Item::Wait { on, items } => items_over(streams, *on, *items, over),
    })
}

fn can_end(
    story: &Story,
    made: &[Made],
    streams: &[Vec<Vec<Item>>],
    over: &BTreeSet<Key>,
    key: Key,
) -> bool {
    let calls: Vec<&Made> = made.iter().filter(|one| one.key == key).collect();
    let needed = if key.1.is_some() { 2 } else { story.comms[key.0].len() };
    let first = calls[0];
    calls.len() == needed
        && calls.iter().all(|one| match (first.signature.verb(), one.signature.verb()) {
            (Verb::Split { .. }, Verb::Split { .. }) => true,
            _ if key.1.is_some() => first.signature.payload() == one.signature.payload(),
            _ => first.signature == one.signature,
        })
        && calls.iter().all(|one| {
            calls
                .iter()
                .all(|other| one.tag.is_none() || other.tag.is_none() || one.tag == other.tag)
        })
        && calls.iter().all(|one| {
            one.item
                .is_none_or(|(stream, index)| items_over(&streams[one.rank], stream, index, over))
        })
}
