//! What the three training steps leave, against one sample after the other.
//!
//! All numbers are small integers or fractions of a power of two, so that every sum and
//! average is exact in `f32` and in any order; gradients are multiples of three, so that
//! this holds for the average of three ranks too. The oracle works in `f64`, with a
//! formula of its own: in a chain of element-wise layers the gradient of one weight is
//! `(output − target) · input ·` all other weights of that position.

use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_examples::pipeline::Microbatch;
use rankwise_examples::{Backend, Ddp, Fsdp, RankProgram, Stage};
use rankwise_nccl::Nccl;

/// Weights per layer: two ranks pad it to six, three to six, and four to eight, which
/// leaves the last rank nothing of its own.
const WIDTH: usize = 5;

/// The mock, and NCCL's backend on stand-ins for `libcuda` and `libnccl`. A missing
/// stand-in fails the test: nothing is skipped.
#[allow(unsafe_code)]
fn backends() -> [Backend; 2] {
    static LOADED: OnceLock<Nccl> = OnceLock::new();
    let nccl = LOADED.get_or_init(|| {
        host_libcuda::load().unwrap_or_else(|missing| panic!("{missing}"));
        let file = host_libnccl::library_file().unwrap_or_else(|missing| panic!("{missing}"));
        // SAFETY: our own stand-in, whose initialisers are those of the standard library.
        unsafe { Nccl::load_at(&file) }.unwrap_or_else(|error| panic!("{error}"))
    });
    [Backend::Mock, Backend::Nccl(*nccl)]
}

/// Runs the program on every backend and returns what each rank left: they agree.
/// Whoever adds a backend adds it above, and it is tested with every step.
fn on_every_backend<P>(ranks: u32, program: &P) -> Vec<P::Output>
where
    P: RankProgram + Clone + Send + 'static,
    P::Output: PartialEq + core::fmt::Debug + 'static,
{
    let ranks = GroupSize::new(ranks).unwrap();
    let mut left = backends().into_iter().map(|backend| {
        let program = program.clone();
        in_time(move || backend.run(ranks, &program))
            .unwrap_or_else(|error| panic!("{backend}, {ranks} ranks: {error}"))
    });
    let first = left.next().expect("a backend");
    for other in left {
        assert_eq!(other, first);
    }
    first
}

/// A deadlock ends the test, not the test run.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || done.send(run()));
    ended.recv_timeout(Duration::from_secs(30)).expect("an end within half a minute, and no panic")
}

/// The layers of `f64` numbers as the program has them.
fn narrow(layers: &[Vec<f64>]) -> Vec<Vec<f32>> {
    let exact = |number: &f64| {
        #[allow(clippy::cast_possible_truncation)] // shown to be exact
        let narrow = *number as f32;
        assert_eq!(f64::from(narrow).to_bits(), number.to_bits(), "{number} is no f32");
        narrow
    };
    layers.iter().map(|layer| layer.iter().map(exact).collect()).collect()
}

/// Layers of ones and minus ones.
fn weights(layers: usize) -> Vec<Vec<f64>> {
    let sign = |at: usize| if at.is_multiple_of(3) { -1.0 } else { 1.0 };
    (0..layers).map(|layer| (0..WIDTH).map(|at| sign(layer + at)).collect()).collect()
}

/// Input and target of one rank in one step: an input of ±3, and a target that misses
/// what ones and minus ones make of it by a multiple of three.
fn sample(rank: usize, step: usize) -> (Vec<f64>, Vec<f64>) {
    let input = |at: usize| if (rank + step + at).is_multiple_of(2) { 3.0 } else { -3.0 };
    let target = |at: usize| if (rank + 2 * at + step) % 4 < 2 { 3.0 } else { -3.0 };
    ((0..WIDTH).map(input).collect(), (0..WIDTH).map(target).collect())
}

/// The gradient of one weight for one sample.
fn slope(layers: &[Vec<f64>], layer: usize, at: usize, sample: &(Vec<f64>, Vec<f64>)) -> f64 {
    let (input, target) = (sample.0[at], sample.1[at]);
    let output = input * layers.iter().map(|layer| layer[at]).product::<f64>();
    let others = layers.iter().enumerate().filter(|(other, _)| *other != layer);
    (output - target) * input * others.map(|(_, layer)| layer[at]).product::<f64>()
}

/// The weights after a step on these samples, whose gradients add up and are divided.
fn stepped(
    layers: &[Vec<f64>],
    samples: &[(Vec<f64>, Vec<f64>)],
    divisor: f64,
    rate: f64,
) -> Vec<Vec<f64>> {
    let mut next = layers.to_vec();
    for (layer, weights) in next.iter_mut().enumerate() {
        for (at, weight) in weights.iter_mut().enumerate() {
            let sum: f64 = samples.iter().map(|sample| slope(layers, layer, at, sample)).sum();
            *weight -= rate * (sum / divisor);
        }
    }
    next
}

const LAYERS: usize = 3;
const STEPS: usize = 2;
const RATE: f32 = 0.125;

/// What data-parallel training leaves, however the weights are kept.
fn after_training(ranks: u32) -> Vec<Vec<f32>> {
    let mut layers = weights(LAYERS);
    for step in 0..STEPS {
        let samples: Vec<_> = (0..ranks as usize).map(|rank| sample(rank, step)).collect();
        layers = stepped(&layers, &samples, f64::from(ranks), f64::from(RATE));
    }
    assert_ne!(layers, weights(LAYERS));
    narrow(&layers)
}

/// The sample of this rank in this step, as the program has it.
fn own_sample<C: Communicator>(comm: &C, step: usize) -> [Vec<f32>; 2] {
    let (input, target) = sample(comm.rank().index() as usize, step);
    [input, target].map(|vector| narrow(&[vector]).remove(0))
}

#[derive(Clone)]
struct TrainDdp {
    bucket: usize,
}

impl RankProgram for TrainDdp {
    type Output = Vec<Vec<f32>>;

    fn run<C: Communicator>(&self, comm: &C) -> Result<Self::Output, Error> {
        let mut replica = Ddp::new(comm, narrow(&weights(LAYERS)), self.bucket)?;
        for step in 0..STEPS {
            let [input, target] = own_sample(comm, step);
            replica.step(&input, &target, RATE)?;
        }
        Ok(replica.layers().to_vec())
    }
}

#[test]
fn ddp_leaves_every_rank_the_same_weights() {
    for ranks in 1..=4 {
        let expected = after_training(ranks);
        // One bucket per layer, two and one, all in one.
        for bucket in [1, 8, 100] {
            for left in on_every_backend(ranks, &TrainDdp { bucket }) {
                assert_eq!(left, expected, "{ranks} ranks, buckets of {bucket}");
            }
        }
    }
}

#[derive(Clone)]
struct TrainFsdp;

impl RankProgram for TrainFsdp {
    type Output = (u64, Vec<Vec<f32>>);

    fn run<C: Communicator>(&self, comm: &C) -> Result<Self::Output, Error> {
        let mut sharded = Fsdp::new(comm, &narrow(&weights(LAYERS)))?;
        for step in 0..STEPS {
            let [input, target] = own_sample(comm, step);
            sharded.step(&input, &target, RATE)?;
        }
        let gathered = (0..LAYERS).map(|layer| sharded.gather(layer));
        Ok((sharded.owned(0).end, gathered.collect::<Result<_, _>>()?))
    }
}

#[test]
fn fsdp_leaves_in_shards_what_ddp_leaves_in_copies() {
    // Where the shard of each rank ends.
    let ends: [&[u64]; 4] = [&[5], &[3, 5], &[2, 4, 5], &[2, 4, 5, 5]];
    for (ranks, ends) in (1..).zip(ends) {
        let (owned, left): (Vec<_>, Vec<_>) =
            on_every_backend(ranks, &TrainFsdp).into_iter().unzip();
        assert_eq!(owned, ends);
        for left in left {
            assert_eq!(left, after_training(ranks), "{ranks} ranks");
        }
    }
}

#[derive(Clone)]
struct TrainPipeline {
    microbatches: usize,
}

impl RankProgram for TrainPipeline {
    type Output = Vec<f32>;

    fn run<C: Communicator>(&self, comm: &C) -> Result<Self::Output, Error> {
        let (rank, stages) = (comm.rank().index() as usize, comm.ranks().get() as usize);
        let mut stage = Stage::new(comm, narrow(&weights(stages)).swap_remove(rank));
        let batch: Vec<_> = (0..self.microbatches)
            .map(|at| {
                let (input, target) = sample(at, 0);
                let [input, target] = [input, target].map(|vector| narrow(&[vector]).remove(0));
                Microbatch { input, target }
            })
            .collect();
        stage.step(&batch, RATE)?;
        Ok(stage.weights().to_vec())
    }
}

#[test]
fn a_pipeline_leaves_each_stage_what_the_whole_chain_would_have() {
    for stages in 1..=4_u32 {
        // Fewer microbatches than stages, as many, and more.
        for microbatches in 1..=5 {
            let samples: Vec<_> = (0..microbatches).map(|at| sample(at, 0)).collect();
            let expected = stepped(&weights(stages as usize), &samples, 1.0, f64::from(RATE));
            let left = on_every_backend(stages, &TrainPipeline { microbatches });
            assert_eq!(left, narrow(&expected), "{stages} stages, {microbatches} microbatches");
        }
    }
}
