//! Other steps to the same end, or what ought to be one; the oracle says whether it is.

use rankwise_oracle::expression::Groups;
use rankwise_oracle::random::Random;
use rankwise_oracle::step::{Act, Collective, Fold, Step};
use rankwise_oracle::world::World;

/// The steps with one of them replaced by others, where that is possible.
pub(crate) fn rewritten(steps: &[Step], n: usize, left: &World, random: &mut Random) -> Vec<Step> {
    let start = random.below(steps.len());
    let order = (start..steps.len()).chain(0..start);
    for index in order {
        if let Some(others) = replaced(&steps[index], n, left, random) {
            let mut all = steps.to_vec();
            all.splice(index..=index, others);
            return all;
        }
    }
    steps.to_vec()
}

fn replaced(step: &Step, n: usize, left: &World, random: &mut Random) -> Option<Vec<Step>> {
    match step {
        Step::Collective { collective, fold, root, groups, send, recv } => {
            let call = |collective: Collective, from: &str, to: &str| Step::Collective {
                collective,
                fold: fold.filter(|_| collective.folds()),
                root: collective.is_rooted().then(|| root.unwrap_or(0)),
                groups: groups.clone(),
                send: from.to_owned(),
                recv: to.to_owned(),
            };
            let through = |first: Collective, second: Collective| {
                Some(vec![call(first, send, "u"), call(second, "u", recv)])
            };
            match collective {
                _ if send == recv => None,
                Collective::AllReduce if random.chance(50) => {
                    through(Collective::Reduce, Collective::Broadcast)
                }
                Collective::AllReduce => through(Collective::ReduceScatter, Collective::AllGather),
                Collective::AllGather => through(Collective::Gather, Collective::Broadcast),
                Collective::Broadcast => through(Collective::Scatter, Collective::AllGather),
                Collective::ReduceScatter if *groups == Groups::world(n).lists => {
                    by_blocks(n, *fold, left, send, recv, call(Collective::AllToAll, send, "u"))
                }
                Collective::Scatter if *groups == Groups::world(n).lists => {
                    let length = left.held(0, recv)?.positions.len();
                    let mut steps = vec![call(Collective::Broadcast, send, "u")];
                    steps.extend((0..n).map(|rank| Step::Local {
                        on: Some(rank),
                        act: Act::Slice("u".to_owned(), rank * length..(rank + 1) * length),
                        recv: recv.clone(),
                    }));
                    Some(steps)
                }
                _ => Some(vec![
                    call(*collective, send, "u"),
                    local(None, Act::Copy("u".into()), recv),
                ]),
            }
        }
        Step::Message { from, to, send, recv } => {
            let message =
                Step::Message { from: *from, to: *to, send: send.clone(), recv: "u".to_owned() };
            Some(vec![message, local(Some(*to), Act::Copy("u".into()), recv)])
        }
        Step::Local { on, act, recv } => Some(match act {
            Act::Copy(from) => vec![local(*on, Act::Concat(vec![from.clone()]), recv)],
            Act::Fold(fold, from) if from.len() > 1 => {
                let mut from = from.clone();
                from.rotate_left(1);
                vec![local(*on, Act::Fold(*fold, from), recv)]
            }
            Act::Scale(from, by) => vec![
                local(*on, Act::Scale(from.clone(), (-1, 1)), "u"),
                local(*on, Act::Scale("u".to_owned(), (-by.0, by.1)), recv),
            ],
            other => {
                vec![local(*on, other.clone(), "u"), local(*on, Act::Copy("u".into()), recv)]
            }
        }),
    }
}

/// A reduce-scatter as an all-to-all, whose blocks are then combined on each rank.
fn by_blocks(
    n: usize,
    fold: Option<Fold>,
    left: &World,
    send: &str,
    recv: &str,
    exchange: Step,
) -> Option<Vec<Step>> {
    let length = left.held(0, send)?.positions.len() / n;
    let names: Vec<String> = (0..n).map(|block| format!("u{block}")).collect();
    let mut steps = vec![exchange];
    steps.extend(names.iter().enumerate().map(|(block, name)| {
        let range = block * length..(block + 1) * length;
        local(None, Act::Slice("u".to_owned(), range), name)
    }));
    steps.push(local(None, Act::Fold(fold?, names), recv));
    Some(steps)
}

fn local(on: Option<usize>, act: Act, recv: &str) -> Step {
    Step::Local { on, act, recv: recv.to_owned() }
}
