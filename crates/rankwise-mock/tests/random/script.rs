//! A random program of all ranks: the same steps for the mock and for the model.

use std::collections::BTreeMap;

use rankwise_model::{
    Dtype, Element, ElementVisitor, GroupSize, Layout, Operation, OperationKind, Rank, Reduction,
    Scalar,
};

use crate::dice::Dice;
use crate::spec::{Held, Place, Sides, Spec};

/// Buffers of each rank: all of one type, since a call has one.
pub(crate) const BUFFERS: usize = 5;
/// At most so many streams of each rank.
const MOST_STREAMS: usize = 3;
const MOST_RANKS: usize = 6;

pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) ranks: usize,
    pub(crate) streams: usize,
    pub(crate) strict: bool,
    pub(crate) dtype: Dtype,
    /// Elements of every buffer.
    pub(crate) len: usize,
    pub(crate) steps: Vec<Step>,
    /// What is left at the end, by rank and buffer.
    pub(crate) left: Vec<Vec<Held>>,
}

/// One thing that happens, on every rank that has a part in it.
pub(crate) enum Step {
    /// A host write.
    Write { to: Place, stream: usize, bits: Vec<u64> },
    /// A copy to the host, and what it brings.
    Fetch { from: Place, stream: usize, bits: Vec<Option<u64>> },
    /// What is enqueued on one stream of a rank comes after what is on the other.
    Follow { rank: usize, stream: usize, other: usize },
    /// A rank's host waits for a stream.
    Wait { rank: usize, stream: usize },
    /// A rank's host is slow.
    Pause { rank: usize, microseconds: u64 },
    /// One call, or the calls of a group.
    Calls { grouped: bool, calls: Vec<Call> },
    /// Communicators are made of one, by colour and key.
    Split { comm: usize, by: Vec<(Option<u32>, i32)> },
}

/// One call of all its members.
pub(crate) struct Call {
    pub(crate) comm: usize,
    pub(crate) layout: Layout,
    /// A message is made by two of the communicator's ranks.
    pub(crate) message: Option<(Rank, Rank)>,
    /// By member, in the order of the communicator; of a message the sender and the receiver.
    pub(crate) parts: Vec<Part>,
}

pub(crate) struct Part {
    pub(crate) rank: usize,
    pub(crate) stream: usize,
    pub(crate) sides: Sides,
    pub(crate) scalar: Option<Scalar>,
}

impl Script {
    pub(crate) fn random(seed: u64) -> Self {
        Writer::new(seed).write()
    }

    /// Counts what is in it.
    pub(crate) fn tally(&self, tally: &mut BTreeMap<String, u64>) {
        let mut count = |what: &str| *tally.entry(what.to_owned()).or_default() += 1;
        for step in &self.steps {
            match step {
                Step::Write { .. } => count("host writes"),
                Step::Fetch { .. } => count("host reads"),
                Step::Follow { .. } => count("streams that follow another"),
                Step::Wait { .. } => count("waits"),
                Step::Pause { .. } => count("pauses"),
                Step::Split { .. } => count("splits"),
                Step::Calls { grouped, calls } => {
                    if *grouped {
                        count("groups");
                    }
                    for call in calls {
                        count(call.layout.operation().kind().name());
                        if matches!(call.parts[0].sides, Sides::InPlace(_)) {
                            count("calls in place");
                        }
                    }
                }
            }
        }
    }
}

struct Writer {
    dice: Dice,
    script: Script,
    spec: Spec,
    /// By communicator, its members in order.
    comms: Vec<Vec<usize>>,
    /// By rank and buffer, the stream that has last used it.
    last: Vec<Vec<usize>>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::seeded(seed);
        let ranks = 1 + dice.below(MOST_RANKS);
        let dtype = dice.pick(&Dtype::ALL);
        // Long enough to be shared among threads, now and then.
        let len = if dice.once_in(12) { 60 * 700 } else { 60 };
        // One stream alone is what most programs have.
        let streams = if dice.once_in(2) { 1 } else { 1 + dice.below(MOST_STREAMS) };
        let strict = dice.once_in(6);
        let held = Held { bits: vec![None; len] };
        let left = vec![vec![held; BUFFERS]; ranks];
        let script = Script {
            seed,
            ranks,
            streams,
            strict,
            dtype,
            len,
            steps: Vec::new(),
            left: Vec::new(),
        };
        let comms = vec![(0..ranks).collect()];
        let last = vec![vec![0; BUFFERS]; ranks];
        Self { dice, script, spec: Spec(left), comms, last }
    }

    fn write(mut self) -> Script {
        if self.dice.once_in(2) {
            // Then calls follow one another, with little between them.
            for (rank, buffer) in
                (0..self.script.ranks).flat_map(|r| (0..BUFFERS).map(move |b| (r, b)))
            {
                self.fill(&Place { rank, buffer, range: 0..self.script.len }, 0);
            }
        }
        let steps = 4 + self.dice.below(24);
        for _ in 0..steps {
            match self.dice.below(16) {
                0 if self.comms.len() < 5 => self.split(),
                1 => {
                    let (rank, stream) = (self.rank(), self.stream());
                    self.script.steps.push(Step::Wait { rank, stream });
                }
                2 => {
                    let (rank, microseconds) = (self.rank(), [1, 20, 150][self.dice.below(3)]);
                    self.script.steps.push(Step::Pause { rank, microseconds });
                }
                3 => self.fetch(),
                4 | 5 => self.group(),
                _ => {
                    let free: Vec<usize> = (0..BUFFERS).collect();
                    let call = self.collective(&free);
                    self.calls(false, vec![call]);
                }
            }
        }
        Script { left: self.spec.0, ..self.script }
    }

    fn rank(&mut self) -> usize {
        self.dice.below(self.script.ranks)
    }

    fn stream(&mut self) -> usize {
        self.dice.below(self.script.streams)
    }

    fn place(&mut self, rank: usize, buffer: usize, len: usize) -> Place {
        let start = self.dice.below(self.script.len - len + 1);
        Place { rank, buffer, range: start..start + len }
    }

    /// Lets a stream use a buffer after whatever has used it before.
    fn order(&mut self, rank: usize, buffer: usize, stream: usize) {
        let other = core::mem::replace(&mut self.last[rank][buffer], stream);
        if other != stream {
            self.script.steps.push(Step::Follow { rank, stream, other });
        }
    }

    /// Lets a place hold something.
    fn fill(&mut self, to: &Place, stream: usize) {
        if self.spec.known(to) {
            return;
        }
        let dtype = self.script.dtype;
        let bits = dtype.visit(Bits { dice: &mut self.dice, elements: to.range.len() });
        self.order(to.rank, to.buffer, stream);
        self.spec.write(to, &bits);
        self.script.steps.push(Step::Write { to: to.clone(), stream, bits });
    }

    fn fetch(&mut self) {
        let (rank, buffer) = (self.rank(), self.dice.below(BUFFERS));
        let len = 1 + self.dice.below(self.script.len);
        let (from, stream) = (self.place(rank, buffer, len), self.stream());
        self.order(rank, buffer, stream);
        let bits = self.spec.read(&from);
        self.script.steps.push(Step::Fetch { from, stream, bits });
    }

    fn split(&mut self) {
        let comm = self.dice.below(self.comms.len());
        let members = self.comms[comm].clone();
        let color = |dice: &mut Dice| match dice.below(4) {
            0 => None,
            color => Some(u32::from(color == 1)),
        };
        let by: Vec<(Option<u32>, i32)> = members
            .iter()
            .map(|_| {
                let key = i32::try_from(self.dice.below(3)).expect("small") - 1;
                (color(&mut self.dice), key)
            })
            .collect();
        // The rule of `ncclCommSplit`: by key, then by rank in the parent.
        for wanted in [0, 1] {
            let mut group: Vec<(i32, usize)> = by
                .iter()
                .zip(0..)
                .filter(|((color, _), _)| *color == Some(wanted))
                .map(|((_, key), place)| (*key, place))
                .collect();
            group.sort_unstable();
            if !group.is_empty() {
                self.comms.push(group.into_iter().map(|(_, place)| members[place]).collect());
            }
        }
        self.script.steps.push(Step::Split { comm, by });
    }

    /// Some messages, and perhaps a collective, with buffers of their own.
    fn group(&mut self) {
        let mut calls = Vec::new();
        let comm = self.dice.below(self.comms.len());
        let size = self.comms[comm].len();
        // A permutation: each sends once, and receives once.
        let to = self.dice.distinct(size, size);
        let count = self.dice.below(8);
        for (from, to) in to.into_iter().enumerate() {
            calls.push(self.message(comm, from, to, count));
        }
        if self.dice.once_in(2) {
            calls.push(self.collective(&[2, 3, 4]));
        }
        self.calls(true, calls);
    }

    fn message(&mut self, comm: usize, from: usize, to: usize, count: usize) -> Call {
        let pair = GroupSize::new(2).expect("not zero");
        let ranks = group_size(self.comms[comm].len());
        let rank = |place: usize, ranks: GroupSize| {
            ranks.rank(u32::try_from(place).expect("small")).expect("below the size")
        };
        let operation = Operation::Message { from: rank(0, pair), to: rank(1, pair) };
        let layout = Layout::new(operation, pair, u64::try_from(count).expect("small"));
        let message = Some((rank(from, ranks), rank(to, ranks)));
        let (sender, receiver) = (self.comms[comm][from], self.comms[comm][to]);
        let parts = vec![
            Part {
                rank: sender,
                stream: self.stream(),
                sides: Sides::Apart {
                    input: self.place(sender, 0, count),
                    output: self.place(sender, 1, 0),
                },
                scalar: None,
            },
            Part {
                rank: receiver,
                stream: self.stream(),
                sides: Sides::Apart {
                    input: self.place(receiver, 0, 0),
                    output: self.place(receiver, 1, count),
                },
                scalar: None,
            },
        ];
        Call { comm, layout: layout.expect("it fits"), message, parts }
    }

    /// A collective that uses these buffers only.
    fn collective(&mut self, free: &[usize]) -> Call {
        let comm = self.dice.below(self.comms.len());
        let members = self.comms[comm].clone();
        let ranks = group_size(members.len());
        let operation = self.operation(ranks);
        let most = self.script.len / members.len();
        let count = if self.dice.once_in(3) { most } else { self.dice.below(most.min(9) + 1) };
        let layout = Layout::new(operation, ranks, u64::try_from(count).expect("small"));
        let layout = layout.expect("it fits");
        let can_lie_in_place =
            layout.each().all(|at| !(at.has_input() && at.has_output()) || at.in_place().is_some());
        let in_place = can_lie_in_place && self.dice.once_in(3);
        let elements = |length: u64| usize::try_from(length).expect("small");
        let parts = layout
            .each()
            .zip(&members)
            .map(|(at, rank)| {
                let (one, other) = {
                    let picked = self.dice.distinct(2, free.len());
                    (free[picked[0]], free[picked[1]])
                };
                let (input, output) = (elements(at.input_len()), elements(at.output_len()));
                let sides = if in_place {
                    Sides::InPlace(self.place(*rank, one, input.max(output)))
                } else {
                    Sides::Apart {
                        input: self.place(*rank, one, input),
                        output: self.place(*rank, other, output),
                    }
                };
                let dtype = self.script.dtype;
                let scalar = (operation.reduction() == Some(Reduction::PreMulSum))
                    .then(|| dtype.visit(OneScalar(&mut self.dice)));
                Part { rank: *rank, stream: self.stream(), sides, scalar }
            })
            .collect();
        Call { comm, layout, message: None, parts }
    }

    fn operation(&mut self, ranks: GroupSize) -> Operation {
        let reduction = self.dice.pick(&Reduction::ALL);
        let root = self.dice.below(usize::try_from(ranks.get()).expect("small"));
        let root = ranks.rank(u32::try_from(root).expect("small")).expect("below the size");
        loop {
            return match self.dice.pick(&OperationKind::ALL) {
                OperationKind::AllReduce => Operation::AllReduce { reduction },
                OperationKind::Reduce => Operation::Reduce { reduction, root },
                OperationKind::Broadcast => Operation::Broadcast { root },
                OperationKind::AllGather => Operation::AllGather,
                OperationKind::ReduceScatter => Operation::ReduceScatter { reduction },
                OperationKind::AllToAll => Operation::AllToAll,
                OperationKind::Gather => Operation::Gather { root },
                OperationKind::Scatter => Operation::Scatter { root },
                // Messages are made in groups.
                _ => continue,
            };
        }
    }

    /// Orders and fills what the calls read, then makes them.
    fn calls(&mut self, grouped: bool, calls: Vec<Call>) {
        for part in calls.iter().flat_map(|call| &call.parts) {
            let reads = match &part.sides {
                Sides::Apart { input, .. } => input,
                Sides::InPlace(whole) => whole,
            };
            self.fill(&reads.clone(), part.stream);
        }
        for part in calls.iter().flat_map(|call| &call.parts) {
            for place in part.sides.touched() {
                self.order(place.rank, place.buffer, part.stream);
            }
        }
        let dtype = self.script.dtype;
        for call in &calls {
            let scalars: Vec<Scalar> = call.parts.iter().filter_map(|part| part.scalar).collect();
            let sides: Vec<Sides> = call.parts.iter().map(|part| part.sides.clone()).collect();
            self.spec.call(&call.layout, dtype, &scalars, &sides);
        }
        self.script.steps.push(Step::Calls { grouped, calls });
    }
}

fn group_size(members: usize) -> GroupSize {
    GroupSize::new(u32::try_from(members).expect("small")).expect("not empty")
}

struct Bits<'d> {
    dice: &'d mut Dice,
    elements: usize,
}

impl ElementVisitor for Bits<'_> {
    type Output = Vec<u64>;

    fn visit<T: Element>(self) -> Vec<u64> {
        self.dice.bits::<T>(self.elements)
    }
}

struct OneScalar<'d>(&'d mut Dice);

impl ElementVisitor for OneScalar<'_> {
    type Output = Scalar;

    fn visit<T: Element>(self) -> Scalar {
        self.0.scalar::<T>()
    }
}
