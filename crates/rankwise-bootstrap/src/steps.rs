//! The barriers of a session, as the host counts them.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::report::{Fault, Stage};

/// Where the ranks are.
pub(crate) struct Steps {
    ranks: u32,
    /// The barrier that all have passed.
    passed: String,
    /// By rank, the barrier it has come to.
    arrived: BTreeMap<u32, Place>,
    /// When the first to run out of patience does, and how long it had.
    deadline: Option<(Instant, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    barrier: String,
    last: bool,
}

/// A barrier that all ranks have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// There may be more.
    More,
    /// The session is over.
    Last,
}

impl Steps {
    pub(crate) fn new(ranks: u32, passed: &str) -> Self {
        Self { ranks, passed: passed.to_owned(), arrived: BTreeMap::new(), deadline: None }
    }

    /// A rank has come to a barrier, and waits until then.
    pub(crate) fn arrive(
        &mut self,
        rank: u32,
        (barrier, last): (String, bool),
        (until, within_ms): (Instant, u64),
    ) -> Result<Option<Passed>, Fault> {
        if self.arrived.contains_key(&rank) {
            let what = format!("`{barrier}` while it was at another barrier");
            return Err(Fault::Broke { rank, what });
        }
        self.arrived.insert(rank, Place { barrier, last });
        if self.deadline.is_none_or(|(first, _)| until < first) {
            self.deadline = Some((until, within_ms));
        }
        if u32::try_from(self.arrived.len()) != Ok(self.ranks) {
            return Ok(None);
        }
        if let Some(parted) = self.parted() {
            return Err(parted);
        }
        self.deadline = None;
        let place = std::mem::take(&mut self.arrived).into_values().next();
        let Some(Place { barrier, last }) = place else { return Ok(None) };
        self.passed = barrier;
        Ok(Some(if last { Passed::Last } else { Passed::More }))
    }

    /// When the waiting ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline.map(|(until, _)| until)
    }

    /// What is wrong when it does.
    pub(crate) fn late(&self) -> Vec<Fault> {
        let absent = (0..self.ranks).filter(|rank| !self.arrived.contains_key(rank)).collect();
        let barrier = self.waiting_at().unwrap_or(&self.passed).to_owned();
        let within_ms = self.deadline.map_or(0, |(_, within_ms)| within_ms);
        let late = Fault::Late { ranks: absent, barrier, within_ms };
        std::iter::once(late).chain(self.parted()).collect()
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.waiting_at() {
            Some(barrier) => Stage::At(barrier.to_owned()),
            None => Stage::After(self.passed.clone()),
        }
    }

    /// The barrier of the lowest rank that has come to one.
    fn waiting_at(&self) -> Option<&str> {
        self.arrived.values().next().map(|place| place.barrier.as_str())
    }

    fn parted(&self) -> Option<Fault> {
        let mut barriers: BTreeMap<&Place, Vec<u32>> = BTreeMap::new();
        for (rank, place) in &self.arrived {
            barriers.entry(place).or_default().push(*rank);
        }
        let named = |place: &Place| {
            if place.last { format!("{} (the last)", place.barrier) } else { place.barrier.clone() }
        };
        let barriers: Vec<_> =
            barriers.into_iter().map(|(place, ranks)| (named(place), ranks)).collect();
        (barriers.len() > 1).then_some(Fault::Parted { barriers })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn come(steps: &mut Steps, rank: u32, barrier: &str) -> Result<Option<Passed>, Fault> {
        let until = Instant::now() + Duration::from_secs(60 - u64::from(rank));
        let last = barrier == "finish";
        steps.arrive(rank, (barrier.to_owned(), last), (until, 1000 * u64::from(60 - rank)))
    }

    #[test]
    fn a_barrier_is_passed_when_all_have_come() {
        let mut steps = Steps::new(3, "table");
        assert_eq!(steps.stage(), Stage::After("table".to_owned()));
        assert_eq!(come(&mut steps, 2, "warm"), Ok(None));
        assert_eq!(come(&mut steps, 0, "warm"), Ok(None));
        assert_eq!(steps.stage(), Stage::At("warm".to_owned()));
        assert_eq!(come(&mut steps, 1, "warm"), Ok(Some(Passed::More)));
        assert_eq!((steps.stage(), steps.deadline()), (Stage::After("warm".to_owned()), None));
        for rank in [1, 0] {
            assert_eq!(come(&mut steps, rank, "finish"), Ok(None));
        }
        assert_eq!(come(&mut steps, 2, "finish"), Ok(Some(Passed::Last)));
    }

    #[test]
    fn who_is_late_is_named_with_the_shortest_patience() {
        let mut steps = Steps::new(4, "table");
        come(&mut steps, 1, "warm").unwrap();
        come(&mut steps, 2, "warm").unwrap();
        let late = Fault::Late { ranks: vec![0, 3], barrier: "warm".to_owned(), within_ms: 58_000 };
        assert_eq!(steps.late(), [late]);
    }

    #[test]
    fn ranks_at_different_barriers_are_told_apart() {
        let mut steps = Steps::new(3, "table");
        come(&mut steps, 0, "a").unwrap();
        come(&mut steps, 1, "finish").unwrap();
        let parted = Fault::Parted {
            barriers: vec![("a".to_owned(), vec![0, 2]), ("finish (the last)".to_owned(), vec![1])],
        };
        assert_eq!(come(&mut steps, 2, "a"), Err(parted));
        let twice = come(&mut Steps::new(1, "x"), 0, "a");
        assert_eq!(twice, Ok(Some(Passed::More)));
    }

    #[test]
    fn a_rank_is_at_one_barrier_at_a_time() {
        let mut steps = Steps::new(2, "table");
        come(&mut steps, 1, "a").unwrap();
        assert!(matches!(come(&mut steps, 1, "b"), Err(Fault::Broke { rank: 1, .. })));
    }
}
