//! What the table is held against. Nothing fails for missing a goal.

use rankwise_model::Dtype;

use crate::cell::{Cell, Op};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// The ideal's time over the mock's.
    OfIdeal(f64),
    /// The least traffic over the ideal's time, over that of the streaming copy.
    OfCopy(f64),
    /// Microseconds per call.
    Within(f64),
    /// The time of the fastest peer over the mock's.
    OfPeer(f64),
}

const KI: u64 = 1 << 10;
const MI: u64 = 1 << 20;

impl Goal {
    pub(crate) fn of(cell: Cell) -> Vec<Self> {
        let Cell { ranks, bytes, calls, .. } = cell;
        let mut goals = Vec::new();
        // A group of another size is held against the goal of the next smaller one.
        let by_ranks = |two, four, eight| match ranks {
            ..=3 => two,
            4..=7 => four,
            _ => eight,
        };
        if bytes >= 16 * MI {
            goals.extend([Self::OfIdeal(0.95), Self::OfCopy(0.85)]);
        } else if bytes >= MI {
            goals.push(Self::OfIdeal(by_ranks(0.9, 0.7, 0.7)));
        } else if bytes >= 64 * KI {
            goals.push(match ranks {
                ..=3 => Self::OfIdeal(0.65),
                _ => Self::Within(by_ranks(15.0, 15.0, 30.0)),
            });
        } else if bytes <= KI && calls == 1 {
            goals.push(Self::Within(by_ranks(0.5, 8.0, 20.0)));
        } else if bytes <= KI {
            goals.push(Self::Within(by_ranks(0.2, 1.0, 2.0)));
        }
        goals.extend(against_peers(cell).map(Self::OfPeer));
        goals
    }

    /// The goal and, if it was measured, whether it is met.
    pub(crate) fn verdict(self, of: impl Fn(Self) -> Option<f64>) -> Option<String> {
        let (text, met): (_, fn(f64, f64) -> bool) = match self {
            Self::OfIdeal(least) => (format!("ideal >= {least}"), |found, goal| found >= goal),
            Self::OfCopy(least) => (format!("copy >= {least}"), |found, goal| found >= goal),
            Self::OfPeer(least) => (format!("peer >= {least}"), |found, goal| found >= goal),
            Self::Within(most) => (format!("<= {most} us"), |found, goal| found <= goal),
        };
        let (Self::OfIdeal(goal) | Self::OfCopy(goal) | Self::OfPeer(goal) | Self::Within(goal)) =
            self;
        let met = met(of(self)?, goal);
        Some(format!("{text}: {}", if met { "met" } else { "NOT met" }))
    }
}

fn against_peers(cell: Cell) -> Option<f64> {
    let Cell { ranks, op, dtype, bytes, calls } = cell;
    match (op, dtype) {
        (Op::AllReduce, Dtype::Bf16) if calls == 1 => Some(5.0),
        (_, Dtype::F32) if bytes == 8 && calls > 1 => (ranks > 2).then_some(5.0),
        (_, Dtype::F32) if bytes == 8 => Some(0.8),
        (Op::AllReduce, Dtype::F32) if bytes >= 64 * KI => {
            let hard = bytes == 16 * MI || (ranks == 4 && bytes == MI);
            Some(if hard { 1.5 } else { 2.5 })
        }
        (Op::ReduceScatter, Dtype::F32) if bytes >= 64 * KI => Some(2.0),
        (Op::AllGather, Dtype::F32) if bytes >= 16 * MI => Some(1.2),
        (Op::AllGather, Dtype::F32) if bytes >= 64 * KI => Some(1.5),
        _ => None,
    }
}
