//! Groups: their parts happen at once, so none may touch what another writes.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_topology::WorldRank;

use super::view::meet;
use super::{At, Machine};
use crate::error::{Fault, PlanError};
use crate::plan::{Act, Direction, Step};

/// What a part does with positions of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Reads,
    Writes,
}

/// What the parts of groups did: by group, rank and buffer.
#[derive(Debug, Default)]
pub(super) struct Touched<'a> {
    groups: BTreeMap<(usize, WorldRank, String), Vec<Touch<'a>>>,
}

#[derive(Clone, Debug)]
struct Touch<'a> {
    at: At<'a>,
    part: usize,
    positions: Range<u64>,
    how: How,
}

impl Machine<'_> {
    /// Notes what a part of a group touches; what is in no group is in order anyway.
    pub(super) fn touches(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        buffer: &str,
        positions: Range<u64>,
        how: How,
    ) -> Result<(), PlanError> {
        // Of programs, the units of their calls are checked.
        let Some(part) = at.part.filter(|_| self.proposal.programs.is_empty()) else {
            return Ok(());
        };
        let Some(step) = self.proposal.steps.get(at.index) else { return Ok(()) };
        let Act::Group(group) = &step.act else { return Ok(()) };
        let Some(step) = group.steps.get(part) else { return Ok(()) };
        if !self.terms.spend(1) {
            return Err(at.too_much_work());
        }
        let at = At { step, proposal: self.proposal, ..*at };
        let touch = Touch { at, part, positions, how };
        let key = (at.index, rank, String::from(buffer));
        self.touched.groups.entry(key).or_default().push(touch);
        Ok(())
    }
}

impl Touched<'_> {
    /// Fails with the first two parts of one group of which one writes what the other
    /// reads or writes.
    pub(super) fn are_apart(&mut self) -> Result<(), PlanError> {
        for ((_, rank, buffer), touches) in &mut self.groups {
            touches.sort_by_key(|touch| (touch.positions.start, touch.part));
            // Of what came before: what reaches furthest, of two parts at least, among
            // all touches and among the writes.
            let (mut all, mut writes) = (Furthest::default(), Furthest::default());
            for touch in touches.iter() {
                let before = match touch.how {
                    How::Writes => &all,
                    How::Reads => &writes,
                };
                if let Some(other) = before.of_another(touch) {
                    return Err(conflict(*rank, buffer, other, touch));
                }
                all.add(touch);
                if touch.how == How::Writes {
                    writes.add(touch);
                }
            }
        }
        Ok(())
    }
}

/// The two touches of different parts that reach furthest.
#[derive(Default)]
struct Furthest<'t, 'a>([Option<&'t Touch<'a>>; 2]);

impl<'t, 'a> Furthest<'t, 'a> {
    fn add(&mut self, touch: &'t Touch<'a>) {
        let reach = |touch: Option<&Touch<'_>>| touch.map_or(0, |touch| touch.positions.end);
        let [first, second] = self.0;
        if first.is_none_or(|first| first.part == touch.part) {
            if touch.positions.end >= reach(first) {
                self.0 = [Some(touch), second];
            }
        } else if touch.positions.end > reach(first) {
            self.0 = [Some(touch), first];
        } else if touch.positions.end >= reach(second) {
            self.0 = [first, Some(touch)];
        }
    }

    fn of_another(&self, touch: &Touch<'_>) -> Option<&'t Touch<'a>> {
        let others = self.0.into_iter().flatten().filter(|other| other.part != touch.part);
        others.into_iter().find(|other| meet(&other.positions, &touch.positions))
    }
}

fn conflict(rank: WorldRank, buffer: &str, one: &Touch<'_>, other: &Touch<'_>) -> PlanError {
    let (one, other) = if one.part <= other.part { (one, other) } else { (other, one) };
    let what = |touch: &Touch<'_>| {
        let verb = match touch.how {
            How::Reads => "reads",
            How::Writes => "writes",
        };
        let call = call(touch.at.step);
        let Range { start, end } = touch.positions;
        let where_ = if end == u64::MAX { String::new() } else { format!("[{start}..{end}]") };
        format!("step {} ({call}) {verb} `{buffer}{where_}`", touch.part)
    };
    other.at.error(
        Fault::Contradiction,
        None,
        format!("on rank {rank} {} and {}, in one group", what(one), what(other)),
        "positions apart: the steps of a group happen at once",
    )
}

fn call(step: &Step) -> &'static str {
    match &step.act {
        Act::Collective(call) => call.kind.name(),
        Act::Message(message) => match message.direction {
            Direction::Send => "send",
            Direction::Recv => "recv",
        },
        Act::Local(_) => "a local act",
        Act::Group(_) => "a group",
    }
}
