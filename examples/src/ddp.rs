//! Data parallel: every rank has all weights and a batch of its own; gradients are
//! averaged.
//!
//! Gradients become known from the last layer to the first. They are collected in
//! buckets of several layers, and a full bucket is all-reduced at once, on the
//! communicator's stream, while the compute stream goes on with the layers before it.
//! Two fences per bucket keep the streams apart: the all-reduce waits until the bucket
//! is full, and the optimiser until it is averaged.

use core::ops::Range;

use rankwise_comm::prelude::*;

use crate::chain;

/// One rank's replica of a [chain].
pub struct Ddp<'c, C: Communicator> {
    comm: &'c C,
    /// Where gradients are computed.
    compute: C::Stream,
    /// The weights of each layer, the same on every rank.
    layers: Vec<Vec<f32>>,
    /// In the order in which the backward pass fills them.
    buckets: Vec<Bucket<C::Memory>>,
}

/// The gradients of consecutive layers in one buffer, in the order of the layers.
struct Bucket<M> {
    layers: Range<usize>,
    gradients: Buffer<f32, M>,
}

impl<'c, C: Communicator> Ddp<'c, C> {
    /// A replica whose buckets are full once they hold `full` elements or more.
    pub fn new(comm: &'c C, layers: Vec<Vec<f32>>, full: usize) -> Result<Self, Error> {
        let mut buckets = Vec::new();
        let mut end = layers.len();
        let mut held = 0;
        for (layer, weights) in layers.iter().enumerate().rev() {
            held += weights.len();
            if held >= full || layer == 0 {
                let gradients = comm.buffer(held)?;
                buckets.push(Bucket { layers: layer..end, gradients });
                (end, held) = (layer, 0);
            }
        }
        Ok(Self { comm, compute: comm.new_stream()?, layers, buckets })
    }

    /// One step on this rank's batch.
    pub fn step(&mut self, input: &[f32], target: &[f32], rate: f32) -> Result<(), Error> {
        // What each layer was given, and at the end what the last one made of it.
        let mut given = vec![input.to_vec()];
        for (layer, weights) in self.layers.iter().enumerate() {
            given.push(chain::forward(weights, &given[layer]));
        }
        let mut slope = chain::of_loss(&given[self.layers.len()], target);

        let mut averaged = Vec::new();
        for bucket in &mut self.buckets {
            let mut end = bucket.gradients.len();
            for layer in bucket.layers.clone().rev() {
                let (gradient, of_input) =
                    chain::backward(&self.layers[layer], &given[layer], &slope);
                let start = end - gradient.len();
                self.compute.write(bucket.gradients.slice_mut(start..end)?, &gradient)?;
                (slope, end) = (of_input, start);
            }
            self.comm.stream().wait_for(&self.compute.fence()?)?;
            self.comm.all_reduce_in_place(Reduction::Avg, &mut bucket.gradients)?;
            averaged.push(self.comm.stream().fence()?);
        }

        for (bucket, averaged) in self.buckets.iter().zip(&averaged) {
            self.compute.wait_for(averaged)?;
            let gradients = self.compute.fetch(&bucket.gradients)?.wait()?;
            let mut rest = gradients.as_slice();
            for weights in &mut self.layers[bucket.layers.clone()] {
                let (own, after) = rest.split_at(weights.len());
                chain::descend(weights, own, rate);
                rest = after;
            }
        }
        Ok(())
    }

    /// The weights of each layer.
    pub fn layers(&self) -> &[Vec<f32>] {
        &self.layers
    }
}
