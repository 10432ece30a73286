//! A program for each rank of a pipeline: which of its messages comes first.

use alloc::vec::Vec;

use super::{Messages, Pipeline, Work};
use crate::file::Step;
use crate::plan::Direction;
use crate::template::draft::one_side;

/// A message as one side of it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    direction: Direction,
    /// The stage of the other side.
    peer: u64,
    /// The micro-batch that is handed over, on its way forward or back.
    what: Work,
}

impl Pipeline {
    /// The messages of a rank, in the order of its own program.
    pub(super) fn program(&self, rank: u64) -> Vec<Step> {
        let stage = self.ranks.coordinate(rank);
        let mut sides = self.in_turn(stage);
        if self.messages == Messages::Exchanged && stage % 2 == 1 {
            self.receive_first(stage, &mut sides);
        }
        let over = self.ranks.over();
        sides.iter().map(|side| one_side(side.direction, side.peer, over, &side.buffer())).collect()
    }

    /// Each work's input is received right before it, and what comes of it sent right
    /// after.
    fn in_turn(&self, stage: u64) -> Vec<Side> {
        let before = stage.checked_sub(1);
        let behind = Some(stage.saturating_add(1)).filter(|next| *next < self.ranks.in_group());
        let both = |what| {
            let (from, to) = match what {
                Work::Forward(_) => (before, behind),
                Work::Backward(_) => (behind, before),
            };
            let side = |direction| move |peer| Side { direction, peer, what };
            from.map(side(Direction::Recv)).into_iter().chain(to.map(side(Direction::Send)))
        };
        self.work_of(stage).into_iter().flat_map(both).collect()
    }

    /// Where this stage and another are about to send to each other, this one receives
    /// first.
    fn receive_first(&self, stage: u64, sides: &mut [Side]) {
        let neighbours = [stage.checked_sub(1), stage.checked_add(1)];
        let theirs = neighbours.map(|peer| peer.map_or_else(Vec::new, |peer| self.in_turn(peer)));
        let mut index: usize = 0;
        while let Some([send, recv]) = sides.get_mut(index..index.saturating_add(2)) {
            let crossing = [recv.seen_by(stage), send.seen_by(stage)];
            let meets = send.direction == Direction::Send
                && recv.direction == Direction::Recv
                && send.peer == recv.peer
                && theirs.iter().any(|theirs| theirs.windows(2).any(|pair| pair == crossing));
            if meets {
                core::mem::swap(send, recv);
            }
            index = index.saturating_add(if meets { 2 } else { 1 });
        }
    }
}

impl Side {
    /// The other side of it, whose peer is `stage`.
    const fn seen_by(self, stage: u64) -> Self {
        let direction = match self.direction {
            Direction::Send => Direction::Recv,
            Direction::Recv => Direction::Send,
        };
        Self { direction, peer: stage, what: self.what }
    }

    fn buffer(self) -> alloc::string::String {
        let [sent, received] = self.what.handed();
        match self.direction {
            Direction::Send => sent,
            Direction::Recv => received,
        }
    }
}
