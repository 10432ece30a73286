//! Ranks that make their calls in any interleaving.

use std::sync::Arc;

use rankwise_model::{Dtype, GroupSize, Operation, Reduction};
use rankwise_program::{
    Collective, CommId, Drivers, Ending, Entry, InstanceId, Matcher, Point, Progress, Report, Seat,
    Signature, Site, StreamId, Tag, Wait,
};
use rankwise_topology::{Group, World, WorldRank};

/// A program by hand: the members of each communicator, and what each rank does.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) comms: Vec<Vec<u32>>,
    pub(crate) ranks: Vec<Vec<Act>>,
}

/// What a rank does next.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Enqueues one unit.
    Post { stream: usize, calls: Vec<Call> },
    /// A call in no stream, for which the host waits.
    Beside(Call),
    /// The host waits for all that is on a stream.
    Wait { stream: usize },
    /// A stream waits for all that is on another.
    StreamWait { stream: usize, on: usize },
    /// Leaves a communicator.
    Leave { comm: usize, how: Ending },
    /// Goes away. Without it a rank returns after its last act.
    End(Ending),
}

/// A call, by the number of its communicator.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) comm: usize,
    pub(crate) signature: Signature,
    pub(crate) tag: Option<&'static str>,
}

/// How a rank fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Finished,
    Told(Arc<Report>),
    Stuck,
}

/// Streams per rank.
pub(crate) const STREAMS: usize = 2;

pub(crate) fn world(ranks: usize) -> World {
    World::new(GroupSize::new(u32::try_from(ranks).unwrap()).unwrap())
}

pub(crate) fn all_reduce(count: u64) -> Signature {
    let sum = Operation::AllReduce { reduction: Reduction::Sum };
    Signature::collective(Collective::new(sum).unwrap(), Dtype::F32, count)
}

pub(crate) fn call(comm: usize, signature: Signature) -> Call {
    Call { comm, signature, tag: None }
}

/// A call of its own on the first stream.
pub(crate) fn post(comm: usize, signature: Signature) -> Act {
    Act::Post { stream: 0, calls: vec![call(comm, signature)] }
}

/// A call of its own on the first stream, for which the host waits.
pub(crate) fn posted_and_waited(comm: usize, signature: Signature) -> [Act; 2] {
    [post(comm, signature), Act::Wait { stream: 0 }]
}

struct RankState {
    next: usize,
    waits: Option<Wait>,
    fate: Option<Fate>,
    gone: bool,
    streams: [StreamId; STREAMS],
    calls: usize,
}

/// Ranks under way.
pub(crate) struct Driver<'a> {
    story: &'a Story,
    pub(crate) matcher: Matcher,
    pub(crate) world: World,
    comms: Vec<CommId>,
    ranks: Vec<RankState>,
    pub(crate) reports: Vec<Arc<Report>>,
    pub(crate) completed: usize,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(story: &'a Story) -> Self {
        let world = world(story.ranks.len());
        let mut matcher = Matcher::new(world);
        let comms = story.comms.iter().enumerate().map(|(at, members)| {
            let group = Group::new(world, members.iter().copied()).unwrap();
            matcher.add_communicator(format!("c{at}"), &group)
        });
        let comms = comms.collect();
        let ranks = world.ranks().map(|rank| RankState {
            next: 0,
            waits: None,
            fate: None,
            gone: false,
            streams: [matcher.add_stream(rank, "s0"), matcher.add_stream(rank, "s1")],
            calls: 0,
        });
        let ranks = ranks.collect();
        Self { story, matcher, world, comms, ranks, reports: Vec::new(), completed: 0 }
    }

    fn rank(&self, at: usize) -> WorldRank {
        self.world.rank(u32::try_from(at).unwrap()).unwrap()
    }

    /// Ranks that can do something.
    pub(crate) fn movable(&self) -> Vec<usize> {
        let can_move = |at: &usize| {
            let rank = &self.ranks[*at];
            !rank.gone
                && rank.waits.is_none_or(|wait| self.matcher.progress(wait) != Progress::Pending)
        };
        (0..self.ranks.len()).filter(can_move).collect()
    }

    /// Lets a rank do one thing.
    pub(crate) fn step(&mut self, at: usize) {
        let rank = self.rank(at);
        if self.ranks[at].fate.is_some() {
            // Told of a failure: it returns.
            return self.go(at, Ending::Returned);
        }
        if let Some(wait) = self.ranks[at].waits.take() {
            match self.matcher.progress(wait) {
                Progress::Done => self.matcher.resume(rank),
                Progress::Failed(report) => return self.told(at, report),
                Progress::Pending => panic!("rank {at} is moved and waits"),
            }
        }
        let Some(act) = self.story.ranks[at].get(self.ranks[at].next) else {
            self.ranks[at].fate = Some(Fate::Finished);
            return self.go(at, Ending::Returned);
        };
        self.ranks[at].next += 1;
        match act {
            Act::Post { stream, calls } => {
                let entries: Vec<Entry> = calls.iter().map(|call| self.entry(at, call)).collect();
                let stream = self.ranks[at].streams[*stream];
                let mut seats: Vec<Seat> = Vec::new();
                if let Err(refused) = self.matcher.post(rank, stream, &entries, &mut seats) {
                    self.refused(at, refused);
                }
            }
            Act::Beside(call) => {
                let entry = self.entry(at, call);
                match self.matcher.post_beside(rank, entry) {
                    Ok(seat) => self.block(at, Wait::Instance(seat.instance)),
                    Err(refused) => self.refused(at, refused),
                }
            }
            Act::Wait { stream } => {
                if let Some(point) = self.matcher.last_point(self.ranks[at].streams[*stream]) {
                    self.block(at, Wait::Point(point));
                }
            }
            Act::StreamWait { stream, on } => {
                let [stream, on] = [stream, on].map(|stream| self.ranks[at].streams[*stream]);
                if let Some(point) = self.matcher.last_point(on) {
                    let _: Point = self.matcher.stream_wait(stream, point).unwrap();
                }
            }
            Act::Leave { comm, how } => self.matcher.leave(self.comms[*comm], rank, *how),
            Act::End(how) => {
                self.ranks[at].fate = Some(Fate::Finished);
                self.go(at, *how);
            }
        }
    }

    fn entry(&mut self, at: usize, call: &Call) -> Entry {
        let number = self.ranks[at].calls;
        self.ranks[at].calls += 1;
        Entry {
            comm: self.comms[call.comm],
            signature: call.signature,
            site: Site::Text(format!("rank {at}, call {number}").into()),
            tag: call.tag.map(Tag::new),
        }
    }

    fn block(&mut self, at: usize, wait: Wait) {
        self.matcher.block(self.rank(at), wait);
        self.ranks[at].waits = Some(wait);
    }

    fn refused(&mut self, at: usize, refused: rankwise_program::Refused) {
        match refused {
            rankwise_program::Refused::Failed(report) => self.told(at, report),
            other => panic!("rank {at}: {other}"),
        }
    }

    fn told(&mut self, at: usize, report: Arc<Report>) {
        self.ranks[at].fate = Some(Fate::Told(report));
    }

    fn go(&mut self, at: usize, how: Ending) {
        self.ranks[at].gone = true;
        self.matcher.end(self.rank(at), how);
    }

    pub(crate) fn runnable(&mut self) -> Vec<InstanceId> {
        self.matcher.runnable()
    }

    pub(crate) fn complete(&mut self, instance: InstanceId) {
        self.matcher.completed(instance);
        self.completed += 1;
    }

    /// Asks what has been found. Whether anything was.
    pub(crate) fn ask(&mut self) -> bool {
        let verdicts = self.matcher.take_verdicts();
        for verdict in &verdicts {
            if !self.reports.contains(&verdict.report) {
                self.reports.push(verdict.report.clone());
            }
            for (rank, wait) in &verdict.victims {
                // What a victim is told is what it would find by asking.
                let progress = self.matcher.progress(*wait);
                assert_eq!(progress, Progress::Failed(verdict.report.clone()), "rank {rank}");
            }
        }
        !verdicts.is_empty()
    }

    /// That a search finds nothing which was not suspected, and nobody to be told.
    pub(crate) fn searches_in_vain(&mut self) {
        for rank in self.world.ranks() {
            self.matcher.set_drivers(rank, Drivers::One);
        }
        for verdict in self.matcher.take_verdicts() {
            assert!(verdict.victims.is_empty(), "{}", verdict.report);
            assert!(self.reports.contains(&verdict.report), "{}", verdict.report);
        }
    }

    /// Who is told what, and who waits for ever.
    pub(crate) fn fates(&self) -> Vec<Fate> {
        self.ranks.iter().map(|rank| rank.fate.clone().unwrap_or(Fate::Stuck)).collect()
    }
}

/// Runs a story to its end: what is next is chosen among as many as are told.
pub(crate) fn run(story: &Story, mut choose: impl FnMut(usize) -> usize) -> Driver<'_> {
    let mut driver = Driver::new(story);
    loop {
        let movable = driver.movable();
        let runnable = driver.runnable();
        let ways = movable.len() + runnable.len();
        if ways == 0 {
            if driver.ask() {
                continue;
            }
            driver.searches_in_vain();
            return driver;
        }
        let chosen = choose(ways);
        match movable.get(chosen) {
            Some(rank) => driver.step(*rank),
            None => driver.complete(runnable[chosen - movable.len()]),
        }
        driver.ask();
    }
}

/// Runs a story in every interleaving, up to `limit` of them.
pub(crate) fn run_all(story: &Story, limit: usize, mut each: impl FnMut(&Driver<'_>)) -> usize {
    // The choices of the run before, and among how many each was.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for runs in 1..=limit {
        let mut at = 0;
        let driver = run(story, |ways| {
            if at == path.len() {
                path.push((0, ways));
            }
            assert_eq!(path[at].1, ways, "the same choices lead to the same state");
            at += 1;
            path[at - 1].0
        });
        each(&driver);
        while path.last().is_some_and(|(chosen, ways)| chosen + 1 == *ways) {
            path.pop();
        }
        match path.last_mut() {
            Some((chosen, _)) => *chosen += 1,
            None => return runs,
        }
    }
    limit
}

/// A small generator: the same numbers every time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % u64::try_from(limit).unwrap()).unwrap()
    }

    /// Whether something happens that does so once in `of` times.
    pub(crate) fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}
