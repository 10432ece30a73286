//! Random legal programs: every rank calls the same, in the same order.

use rankwise_model::{Dtype, OperationKind, Reduction, Scalar};

/// Elements in each buffer.
pub(crate) const LEN: usize = 24;
/// Buffers of each rank.
pub(crate) const BUFFERS: usize = 4;

/// A small generator of random numbers (splitmix64), so that a seed is a program.
pub(crate) struct Random(u64);

/// A program for all ranks.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ranks: usize,
    pub(crate) dtype: Dtype,
    /// Groups by world rank, in group order; the first is the whole world, in order.
    pub(crate) groups: Vec<Vec<usize>>,
    /// Initial values: by rank, buffer and position.
    pub(crate) initial: Vec<Vec<Vec<Scalar>>>,
    /// Each rank's factor in a pre-multiplied sum.
    pub(crate) factors: Vec<Scalar>,
    pub(crate) steps: Vec<Step>,
}

/// One step of all members of a group.
#[derive(Debug)]
pub(crate) enum Step {
    Collective {
        group: usize,
        kind: OperationKind,
        reduction: Reduction,
        root: usize,
        count: usize,
        send: Part,
        /// The same place as `send` means in place, with the one buffer starting there.
        recv: Part,
        stream: Stream,
    },
    /// Messages of one group call: from, to, count, by position in the group. Each is sent
    /// from the start of `send`, and received at its own place in `recv`.
    Messages { group: usize, pairs: Vec<(usize, usize, usize)>, send: usize, recv: usize },
}

/// Where a side starts: buffer and element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) buffer: usize,
    pub(crate) start: usize,
}

/// Which of its streams a rank uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Own,
    Other,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Any bit pattern for integers; for floats a modest value, so that sums stay finite
    /// and rounding happens.
    fn value(&mut self, dtype: Dtype) -> Scalar {
        if dtype.is_float() {
            let tenths = i32::try_from(self.below(2001)).unwrap() - 1000;
            Scalar::parse(dtype, &format!("{}", f64::from(tenths) / 64.0)).unwrap().scalar
        } else {
            Scalar::from_bits(dtype, self.next())
        }
    }

    fn permutation(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..len).collect();
        for last in (1..len).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

impl Program {
    pub(crate) fn random(random: &mut Random) -> Self {
        let ranks = 1 + random.below(4);
        let dtype = random.pick(&Dtype::ALL);
        let mut groups = vec![(0..ranks).collect::<Vec<_>>()];
        for _ in 0..random.below(3) {
            let mut members = random.permutation(ranks);
            members.truncate(1 + random.below(ranks));
            groups.push(members);
        }
        let initial = (0..ranks)
            .map(|_| {
                let buffer = |random: &mut Random| (0..LEN).map(|_| random.value(dtype)).collect();
                (0..BUFFERS).map(|_| buffer(random)).collect()
            })
            .collect();
        let factors = (0..ranks).map(|_| random.value(dtype)).collect();
        let steps = (0..=random.below(6)).map(|_| Step::random(random, &groups)).collect();
        Self { ranks, dtype, groups, initial, factors, steps }
    }
}

impl Step {
    fn random(random: &mut Random, groups: &[Vec<usize>]) -> Self {
        let group = random.below(groups.len());
        let n = groups[group].len();
        let kind = random.pick(&OperationKind::ALL);
        let send = random.below(BUFFERS);
        let other = (send + 1 + random.below(BUFFERS - 1)) % BUFFERS;
        if kind == OperationKind::Message {
            let mut pairs = Vec::new();
            for _ in 0..=random.below(4) {
                pairs.push((random.below(n), random.below(n), random.below(5)));
            }
            return Self::Messages { group, pairs, send, recv: other };
        }
        let count = random.below(LEN / n + 1);
        let longest = count * n;
        let start = random.below(LEN - longest + 1);
        let send = Part { buffer: send, start };
        let in_place = kind != OperationKind::AllToAll && random.below(3) == 0;
        let recv = if in_place {
            send
        } else {
            Part { buffer: other, start: random.below(LEN - longest + 1) }
        };
        Self::Collective {
            group,
            kind,
            reduction: random.pick(&Reduction::ALL),
            root: random.below(n),
            count,
            send,
            recv,
            stream: random.pick(&[Stream::Own, Stream::Own, Stream::Other]),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Collective { kind, .. } => kind.name(),
            Self::Messages { .. } => "messages",
        }
    }
}
