//! Fully sharded: every rank keeps one shard of each layer's weights; they are gathered
//! for as long as the layer computes, and gradients are reduce-scattered.
//!
//! The two collectives move equal numbers of elements, and different things: the
//! all-gather moves *weights*, the reduce-scatter *gradients*. Weights that the ranks do
//! not divide are padded at the end ([`Padded`]); the padding goes round with them and
//! belongs to nobody.

use rankwise_account::{Division, ElemCount, Padded};
use rankwise_comm::prelude::*;

use crate::chain;

/// One rank's shards of a [chain].
pub struct Fsdp<'c, C: Communicator> {
    comm: &'c C,
    layers: Vec<Layer<C::Memory>>,
}

struct Layer<M> {
    /// The number of weights, without padding.
    width: usize,
    /// How they are divided.
    padded: Padded,
    /// This rank's block of the weights, padding included.
    shard: Buffer<f32, M>,
}

impl<'c, C: Communicator> Fsdp<'c, C> {
    /// Keeps this rank's shard of each layer.
    pub fn new(comm: &'c C, layers: &[Vec<f32>]) -> Result<Self, Error> {
        let shards = layers.iter().map(|weights| {
            let padded = divide(weights.len(), comm.ranks());
            let block = elements(padded.block());
            let own = comm.rank().index() as usize * block;
            let mut shard = comm.buffer(block)?;
            let filled = filled_up(weights, elements(padded.length()));
            comm.stream().write(&mut shard, &filled[own..own + block])?;
            Ok(Layer { width: weights.len(), padded, shard })
        });
        Ok(Self { comm, layers: shards.collect::<Result<_, Error>>()? })
    }

    /// One step on this rank's batch.
    pub fn step(&mut self, input: &[f32], target: &[f32], rate: f32) -> Result<(), Error> {
        let mut given = vec![input.to_vec()];
        for layer in 0..self.layers.len() {
            let weights = self.gather(layer)?;
            given.push(chain::forward(&weights, &given[layer]));
        } // the gathered weights are gone again

        let mut slope = chain::of_loss(&given[self.layers.len()], target);
        let mut gradients = Vec::new();
        for layer in (0..self.layers.len()).rev() {
            let weights = self.gather(layer)?;
            let (gradient, of_input) = chain::backward(&weights, &given[layer], &slope);
            gradients.push((layer, self.reduce_scatter(layer, &gradient)?));
            slope = of_input;
        }

        for (layer, gradient) in gradients {
            let shard = &mut self.layers[layer].shard;
            let mut weights = self.comm.stream().read(&*shard)?;
            chain::descend(&mut weights, &gradient.wait()?, rate);
            self.comm.stream().write(shard, &weights)?;
        }
        Ok(())
    }

    /// All weights of a layer, from everybody's shards.
    pub fn gather(&self, layer: usize) -> Result<Vec<f32>, Error> {
        let Layer { width, padded, shard } = &self.layers[layer];
        let mut whole = self.comm.buffer::<f32>(elements(padded.length()))?;
        self.comm.all_gather(shard, &mut whole)?;
        self.comm.stream().read(whole.slice(0..*width)?)
    }

    /// Enqueues the averaging of a layer's gradient, of which this rank gets its block.
    fn reduce_scatter(&self, layer: usize, gradient: &[f32]) -> Result<Pending<Vec<f32>>, Error> {
        let padded = self.layers[layer].padded;
        let filled = filled_up(gradient, elements(padded.length()));
        let mut whole = self.comm.buffer::<f32>(filled.len())?;
        let mut own = self.comm.buffer::<f32>(elements(padded.block()))?;
        self.comm.stream().write(&mut whole, &filled)?;
        self.comm.reduce_scatter(Reduction::Avg, &whole, &mut own)?;
        // Both buffers may go now: what is enqueued holds their memory.
        self.comm.stream().fetch(&own)
    }

    /// The weights of a layer that are this rank's own, as positions of the layer.
    pub fn owned(&self, layer: usize) -> core::ops::Range<u64> {
        // The rank is one of its own group, so that there is no other answer.
        self.layers[layer].padded.owned_by(self.comm.rank()).unwrap_or_default()
    }
}

fn divide(width: usize, ranks: GroupSize) -> Padded {
    let total = ElemCount::new(width as u64);
    Division::new(total, ranks).padded().expect("less than a block more than fits in memory")
}

fn elements(count: ElemCount) -> usize {
    usize::try_from(count.get()).expect("about as many as fit in memory")
}

/// The same elements with zeros behind them, which no sum notices.
fn filled_up(elements: &[f32], length: usize) -> Vec<f32> {
    let mut filled = elements.to_vec();
    filled.resize(length, 0.0);
    filled
}
