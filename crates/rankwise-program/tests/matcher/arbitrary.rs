//! Anything may be said to a matcher, in any order and about anything.

use proptest::prelude::*;
use rankwise_model::{Dtype, GroupSize, Rank};
use rankwise_program::{
    CommId, Drivers, Ending, Entry, InstanceId, Matcher, Point, Program, Signature, Site, StreamId,
    Tag, Verdict, Wait, check,
};
use rankwise_topology::{Group, World, WorldRank};

use super::driver::all_reduce;
use super::programs::EVERYTHING;

/// One thing said, with numbers that are taken modulo what there is, and a little more.
#[derive(Clone, Debug)]
struct Word {
    what: u8,
    numbers: [u8; 4],
}

struct Talk {
    matcher: Matcher,
    /// Ranks of a larger world are strangers here.
    ranks: Vec<WorldRank>,
    comms: Vec<CommId>,
    streams: Vec<StreamId>,
    points: Vec<Point>,
    instances: Vec<InstanceId>,
}

fn pick<T: Copy>(from: &[T], number: u8) -> T {
    from[usize::from(number) % from.len()]
}

impl Talk {
    fn new() -> Self {
        let world = World::new(GroupSize::new(3).unwrap());
        let larger = World::new(GroupSize::new(5).unwrap());
        let mut matcher = Matcher::new(world);
        // Ids of a matcher that has more.
        let mut other = Matcher::new(larger);
        let mut comms = vec![
            matcher.add_communicator("all", &Group::whole(world)),
            matcher.add_communicator("two", &Group::new(world, [2, 0]).unwrap()),
            matcher.add_communicator("strangers", &Group::new(larger, [4, 1]).unwrap()),
        ];
        for _ in 0..4 {
            comms.push(other.add_communicator("other", &Group::whole(larger)));
        }
        let ranks: Vec<_> = larger.ranks().collect();
        let mut streams: Vec<_> = ranks.iter().map(|rank| matcher.add_stream(*rank, "s")).collect();
        streams.extend((0..8).map(|_| other.add_stream(ranks[0], "t")).last());
        let points = vec![
            Point { stream: streams[0], index: 0 },
            Point { stream: streams[1], index: u64::MAX },
            Point { stream: streams[5], index: 3 },
        ];
        let entry =
            Entry { comm: comms[3], signature: all_reduce(1), site: Site::Unknown, tag: None };
        let instances = vec![other.post_beside(ranks[4], entry).unwrap().instance];
        Self { matcher, ranks, comms, streams, points, instances }
    }

    fn entry(&self, one: u8, other: u8) -> Entry {
        let peer: Rank = GroupSize::new(4).unwrap().rank(u32::from(one % 4)).unwrap();
        let signature = match other % 7 {
            0 => all_reduce(1),
            1 => all_reduce(2),
            2 => Signature::barrier(),
            3 => Signature::split(Some(0), 0),
            4 => Signature::send(peer, Dtype::F32, 1),
            _ => Signature::recv(peer, Dtype::F32, 1),
        };
        let tag = other.is_multiple_of(3).then(|| Tag::new(["a", "b"][usize::from(one % 2)]));
        Entry { comm: pick(&self.comms, one / 4), signature, site: Site::Unknown, tag }
    }

    fn wait(&self, one: u8, other: u8) -> Wait {
        match one % 2 {
            0 => Wait::Point(pick(&self.points, other)),
            _ => Wait::Instance(pick(&self.instances, other)),
        }
    }

    fn say(&mut self, word: &Word) {
        let [one, two, three, four] = word.numbers;
        let rank = pick(&self.ranks, one);
        let mut seats = Vec::new();
        match word.what % 16 {
            0..=4 => {
                let entries = [self.entry(two, three), self.entry(three, four)];
                let entries = &entries[..=usize::from(two.is_multiple_of(5))];
                // Mostly the rank's own stream.
                let stream = self.streams[self.ranks.iter().position(|r| *r == rank).unwrap()];
                let stream = if four > 240 { pick(&self.streams, four) } else { stream };
                if let Ok(point) = self.matcher.post(rank, stream, entries, &mut seats) {
                    self.points.push(point);
                }
                self.instances.extend(seats.iter().map(|seat| seat.instance));
            }
            5 => {
                if let Ok(seat) = self.matcher.post_beside(rank, self.entry(two, three)) {
                    self.instances.push(seat.instance);
                }
            }
            6 => {
                let on = pick(&self.points, three);
                if let Ok(point) = self.matcher.stream_wait(pick(&self.streams, two), on) {
                    self.points.push(point);
                }
            }
            7 | 8 => self.matcher.block(rank, self.wait(two, three)),
            9 => self.matcher.resume(rank),
            10 if one > 200 => self.matcher.withdraw(pick(&self.instances, two), rank),
            10 => self.matcher.completed(pick(&self.instances, two)),
            11 => {
                for instance in self.matcher.runnable() {
                    self.matcher.completed(instance);
                }
            }
            12 if two < 64 => self.matcher.end(rank, Ending::Panicked),
            12 if two < 128 => self.matcher.leave(pick(&self.comms, three), rank, Ending::Closed),
            13 => {
                let drivers = if two.is_multiple_of(2) { Drivers::Many } else { Drivers::One };
                self.matcher.set_drivers(rank, drivers);
                self.matcher.resume_from(rank, self.wait(two, three));
            }
            14 => {
                let _ = self.matcher.give_up(rank).to_string();
                let _ = self.matcher.status().iter().map(ToString::to_string).count();
                let _ = self.matcher.progress(self.wait(two, three));
            }
            _ => {
                for Verdict { report, victims, .. } in self.matcher.take_verdicts() {
                    let _ = report.to_string();
                    assert!(victims.iter().all(|(rank, _)| self.ranks.contains(rank)));
                }
                let again = self.matcher.take_verdicts();
                assert!(again.is_empty(), "nothing has happened since: {again:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_text_makes_the_reader_panic(at in 0..EVERYTHING.len(), cut in 0..40_usize, put in ".{0,6}") {
        let end = (at + cut).min(EVERYTHING.len());
        let text = [&EVERYTHING[..at], &put, &EVERYTHING[end..]].concat();
        match Program::from_json(&text) {
            Ok(program) => {
                let _ = check(&program);
                prop_assert_eq!(Program::from_json(&program.to_json()), Ok(program));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn nothing_that_is_said_makes_it_panic(
        words in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 0..120),
    ) {
        let mut talk = Talk::new();
        for (what, numbers) in words {
            talk.say(&Word { what, numbers });
        }
        talk.say(&Word { what: 15, numbers: [0; 4] });
    }
}
