//! Pipeline parallel: each rank has one layer; activations travel from rank to rank, and
//! gradients travel back.
//!
//! The batch is cut into microbatches, so that the stages work at the same time: in tick
//! `t`, stage `s` works on microbatch `t − s`. At the end of a tick each stage hands on
//! what it made and takes what the stage before it made, as one group: one after the
//! other, a stage that sends first would wait for one that sends first as well.

use core::mem;

use rankwise_comm::prelude::*;

use crate::chain;

/// One rank's layer of a [chain] that has as many layers as ranks.
pub struct Stage<'c, C: Communicator> {
    comm: &'c C,
    weights: Vec<f32>,
}

/// What goes in, on the first stage, and what should come out, on the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Microbatch {
    /// The input of the first layer.
    pub input: Vec<f32>,
    /// What the last layer should make of it.
    pub target: Vec<f32>,
}

/// Which way things travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

impl<'c, C: Communicator> Stage<'c, C> {
    /// The stage that has these weights.
    pub const fn new(comm: &'c C, weights: Vec<f32>) -> Self {
        Self { comm, weights }
    }

    /// The weights.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// One step; the gradients of all microbatches add up.
    pub fn step(&mut self, batch: &[Microbatch], rate: f32) -> Result<(), Error> {
        let (mut given, mut made) = (Vec::new(), Vec::new());
        self.sweep(Way::Forward, batch.len(), |at, received| {
            let input = received.unwrap_or_else(|| batch[at].input.clone());
            let output = chain::forward(&self.weights, &input);
            given.push(input);
            made.push(output.clone());
            output
        })?;

        let mut sum = vec![0.0; self.weights.len()];
        self.sweep(Way::Backward, batch.len(), |at, received| {
            let slope = received.unwrap_or_else(|| chain::of_loss(&made[at], &batch[at].target));
            let (gradient, of_input) = chain::backward(&self.weights, &given[at], &slope);
            sum = sum.iter().zip(&gradient).map(|(sum, slope)| sum + slope).collect();
            of_input
        })?;

        chain::descend(&mut self.weights, &sum, rate);
        Ok(())
    }

    /// Lets all microbatches pass all stages. `work` gets the number of the microbatch and
    /// what the stage before made of it, if there is one.
    fn sweep(
        &self,
        way: Way,
        microbatches: usize,
        mut work: impl FnMut(usize, Option<Vec<f32>>) -> Vec<f32>,
    ) -> Result<(), Error> {
        let (rank, ranks) = (self.comm.rank().index(), self.comm.ranks());
        let stages = ranks.get();
        let (before, after) = (rank.checked_sub(1), rank + 1);
        let (place, before, after) = match way {
            Way::Forward => (rank, before, Some(after)),
            Way::Backward => (stages - 1 - rank, Some(after), before),
        };
        let [before, after] = [before, after].map(|index| index.and_then(|at| ranks.rank(at)));

        // The microbatch that the stage at `place` works on in that tick.
        let at = |tick: usize, place: u32| {
            tick.checked_sub(place as usize).filter(|at| *at < microbatches)
        };
        let mut received = None;
        for tick in 0..microbatches + stages as usize - 1 {
            let made = at(tick, place).map(|at| work(at, mem::take(&mut received)));
            let coming = before.filter(|_| at(tick, place - 1).is_some());
            received = self.exchange(made.zip(after).as_ref(), coming)?;
        }
        Ok(())
    }

    /// Sends to one stage and receives from another, at the same time.
    fn exchange(
        &self,
        sent: Option<&(Vec<f32>, Rank)>,
        coming: Option<Rank>,
    ) -> Result<Option<Vec<f32>>, Error> {
        let width = self.weights.len();
        let mut outgoing = self.comm.buffer::<f32>(width)?;
        let mut incoming = self.comm.buffer::<f32>(width)?;
        if let Some((elements, _)) = sent {
            self.comm.stream().write(&mut outgoing, elements)?;
        }
        self.comm.group(|group| {
            if let Some((_, to)) = sent {
                group.send(*to, &outgoing)?;
            }
            if let Some(from) = coming {
                group.recv(from, &mut incoming)?;
            }
            Ok(())
        })?;
        coming.map(|_| self.comm.stream().read(&incoming)).transpose()
    }
}
