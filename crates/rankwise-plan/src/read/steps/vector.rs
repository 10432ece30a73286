//! Collectives with a count for each rank, as the calls that NCCL really offers.
//!
//! NCCL has no call of this kind. An all-gather with counts is a group of broadcasts, a
//! reduce-scatter one of reduces, and the others are groups of sends and recvs.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::{GroupSize, OperationKind, Rank};
use rankwise_topology::{Group, WorldRank};

use crate::error::{Fault, PlanError};
use crate::file::{self, Spanned, Whole};
use crate::limits;
use crate::plan::{
    Act, CollectiveStep, Counts, Direction, Divided, ElementType, Elsewhere, GroupStep, LocalAct,
    LocalStep, MessageStep, On, Operand, Step,
};
use crate::read::partitions::Groups;
use crate::read::spot::Spot;
use crate::read::steps::{StepReader, rank_in};
use crate::words;

/// What `counts` are.
const COUNTS: &str = "one count for each rank of the group";

/// A call of this kind, read, with the parts that it stands for.
struct Vectors<'s, 'r> {
    reader: &'r StepReader<'s>,
    kind: OperationKind,
    over: Groups,
    over_name: Option<String>,
    send: Operand,
    recv: Operand,
    opens: Vec<Step>,
    steps: Vec<Step>,
}

impl StepReader<'_> {
    pub(super) fn vector(
        &self,
        name: &'static str,
        kind: OperationKind,
    ) -> Result<GroupStep, PlanError> {
        let mut keys = Vec::from(["over", "send", "recv", "counts"]);
        if kind.reduces() {
            keys.extend(["op", "scalars"]);
        }
        if kind.is_rooted() {
            keys.push("root");
        }
        self.only(&keys)?;
        let (over, over_name) = self.over()?;
        let root = if kind.is_rooted() {
            let expected = "the root, as a rank of the group";
            let (spot, root) = self.spot.needed("root", self.step.root.as_ref(), expected)?;
            Some(rank_in(&spot, *root, &over, over_name.as_deref())?)
        } else {
            None
        };
        let (spot, counts) = self.spot.needed("counts", self.step.counts.as_ref(), COUNTS)?;
        let (send, recv) = (self.send()?, self.recv()?);
        if send.buffer == recv.buffer {
            let found = format!("send and recv are both of `{}`", send.buffer);
            let expected = format!("two buffers: {name} has no in-place form");
            return Err(self.spot.error(Fault::Contradiction, found, expected));
        }
        let (opens, steps) = (Vec::new(), Vec::new());
        let mut vectors = Vectors { reader: self, kind, over, over_name, send, recv, opens, steps };
        let divides = match (counts, kind) {
            (file::Counts::FromTo(rows), OperationKind::AllToAll) => {
                vectors.exchange(&spot, rows)?
            }
            (file::Counts::Of(counts), kind) if kind != OperationKind::AllToAll => {
                vectors.one_each(&spot, counts, root)?
            }
            (file::Counts::FromTo(_), _) => {
                return Err(spot.error(Fault::Contradiction, "lists of counts", COUNTS));
            }
            (file::Counts::Of(_), _) => {
                let expected = "one list for each rank: what it sends to each";
                return Err(spot.error(Fault::Contradiction, "one list of counts", expected));
            }
        };
        let Vectors { opens, steps, .. } = vectors;
        Ok(GroupStep { stands_for: Some(name), opens, divides, steps })
    }
}

impl Vectors<'_, '_> {
    /// Everything but the all-to-all: one count for each rank.
    fn one_each(
        &mut self,
        spot: &Spot,
        counts: &[Spanned<Whole>],
        root: Option<Rank>,
    ) -> Result<Option<Divided>, PlanError> {
        let size = self.size(spot, counts.len(), "counts")?;
        self.check_parts(spot, u64::from(size.get()).saturating_mul(4))?;
        let counts: Vec<u64> = counts.iter().map(|count| count.value.get()).collect();
        let (starts, total) = displacements(spot, counts.iter().copied())?;
        let ranks = || size.ranks().zip(counts.iter().copied().zip(starts.iter().copied()));
        let groups = self.over.partition.clone();
        let divided = match self.kind {
            OperationKind::AllGather => {
                self.open_for_all(total);
                for (rank, (count, start)) in ranks().filter(|(_, (count, _))| *count > 0) {
                    let recv = part(spot, &self.recv, start, count, total)?;
                    let send = self.send.clone();
                    self.collective(OperationKind::Broadcast, rank, send, recv, count)?;
                }
                None
            }
            OperationKind::ReduceScatter => {
                for (rank, (count, start)) in ranks() {
                    if count == 0 {
                        self.open_on(rank, 0, rank);
                        continue;
                    }
                    let send = part(spot, &self.send, start, count, total)?;
                    let recv = self.recv.clone();
                    self.collective(OperationKind::Reduce, rank, send, recv, count)?;
                }
                Some(total)
            }
            OperationKind::Gather => {
                let Some(root) = root else { return Ok(None) };
                self.open_on(root, total, root);
                for group in groups.groups() {
                    for (rank, (count, _)) in ranks().filter(|(_, (count, _))| *count > 0) {
                        self.send_to(group, rank, root, self.send.clone(), count);
                    }
                    for (rank, (count, start)) in ranks().filter(|(_, (count, _))| *count > 0) {
                        let recv = part(spot, &self.recv, start, count, total)?;
                        self.recv_from(group, root, rank, recv, count);
                    }
                }
                None
            }
            _ => {
                let Some(root) = root else { return Ok(None) };
                for (rank, _) in ranks().filter(|(_, (count, _))| *count == 0) {
                    self.open_on(rank, 0, root);
                }
                for group in groups.groups() {
                    for (rank, (count, start)) in ranks().filter(|(_, (count, _))| *count > 0) {
                        let send = part(spot, &self.send, start, count, total)?;
                        self.send_to(group, root, rank, send, count);
                    }
                    for (rank, (count, _)) in ranks().filter(|(_, (count, _))| *count > 0) {
                        self.recv_from(group, rank, root, self.recv.clone(), count);
                    }
                }
                Some(total)
            }
        };
        Ok(divided.and_then(|total| self.divided(Counts::Each(total))))
    }

    /// The all-to-all: row `r` is what rank `r` sends to each.
    fn exchange(
        &mut self,
        spot: &Spot,
        rows: &[Spanned<Vec<Spanned<Whole>>>],
    ) -> Result<Option<Divided>, PlanError> {
        let size = self.size(spot, rows.len(), "lists")?;
        let n = u64::from(size.get());
        self.check_parts(spot, n.saturating_mul(n).saturating_mul(2))?;
        for (spot, row) in spot.each(rows) {
            self.size(&spot, row.len(), "counts")?;
        }
        let count = |from: usize, to: usize| {
            let cell = rows.get(from).and_then(|row| row.value.get(to));
            cell.map_or(0, |count| count.value.get())
        };
        let groups = self.over.partition.clone();
        let indices = 0..rows.len();
        let mut sent: BTreeMap<WorldRank, u64> = BTreeMap::new();
        for group in groups.groups() {
            for (at, from) in size.ranks().enumerate() {
                let (starts, total) = displacements(spot, indices.clone().map(|to| count(at, to)))?;
                sent.extend(group.world_rank(from).map(|rank| (rank, total)));
                for (other, (to, start)) in size.ranks().zip(starts).enumerate() {
                    let count = count(at, other);
                    if count > 0 {
                        let send = part(spot, &self.send, start, count, total)?;
                        self.send_to(group, from, to, send, count);
                    }
                }
            }
            for (at, to) in size.ranks().enumerate() {
                let (starts, total) =
                    displacements(spot, indices.clone().map(|from| count(from, at)))?;
                if let Some(rank) = group.world_rank(to) {
                    self.open(rank, total, None);
                }
                for (other, (from, start)) in size.ranks().zip(starts).enumerate() {
                    let count = count(other, at);
                    if count > 0 {
                        let recv = part(spot, &self.recv, start, count, total)?;
                        self.recv_from(group, to, from, recv, count);
                    }
                }
            }
        }
        let world = self.over.partition.world().ranks();
        let by_rank = world.map(|rank| sent.get(&rank).copied().unwrap_or(0)).collect();
        Ok(self.divided(Counts::ByRank(by_rank)))
    }

    /// The size of every group, which is also the number of `entries`.
    fn size(&self, spot: &Spot, entries: usize, noun: &str) -> Result<GroupSize, PlanError> {
        let mut sizes = [self.over.smallest, self.over.largest].into_iter();
        match sizes.find(|size| u32::try_from(entries) != Ok(size.get())) {
            None => Ok(self.over.smallest),
            Some(size) => {
                let found = format!("{entries} {noun} for a group of {size}");
                Err(spot.error(Fault::Contradiction, found, "one for each rank of the group"))
            }
        }
    }

    /// What it stands for counts as steps.
    fn check_parts(&self, spot: &Spot, parts: u64) -> Result<(), PlanError> {
        let groups = u64::try_from(self.over.partition.groups().len()).unwrap_or(u64::MAX);
        let parts = parts.saturating_mul(groups);
        if parts <= limits::STEPS {
            return Ok(());
        }
        let found = format!("{} that stands for up to {parts} steps", self.reader.call);
        Err(spot.error(Fault::Limit, found, format!("at most {}", limits::STEPS)))
    }

    /// That all of what is sent is divided, where the whole buffer is.
    fn divided(&self, counts: Counts) -> Option<Divided> {
        let whole = self.send.positions.is_none();
        whole.then(|| Divided { buffer: self.send.buffer.clone(), counts })
    }

    fn push(&mut self, act: Act) {
        self.steps.push(Step { act, span: self.reader.spot.span });
    }

    /// Makes `recv` anew on each member of each group.
    fn open_for_all(&mut self, count: u64) {
        let groups = self.over.partition.clone();
        for rank in groups.groups().iter().flat_map(Group::members) {
            self.open(*rank, count, None);
        }
    }

    /// Makes `recv` anew on one rank of each group, of the type that `like` sends.
    fn open_on(&mut self, rank: Rank, count: u64, like: Rank) {
        let groups = self.over.partition.clone();
        for group in groups.groups() {
            if let Some(own) = group.world_rank(rank) {
                self.open(own, count, group.world_rank(like));
            }
        }
    }

    fn open(&mut self, rank: WorldRank, count: u64, whose: Option<WorldRank>) {
        if self.recv.positions.is_some() {
            return;
        }
        let send = Operand::whole(self.send.buffer.clone());
        let act = LocalAct::Alloc { dtype: ElementType::Of(send, whose), count };
        let local = LocalStep { on: On::Rank(rank), act, recv: self.recv.clone() };
        self.opens.push(Step { act: Act::Local(local), span: self.reader.spot.span });
    }

    fn collective(
        &mut self,
        kind: OperationKind,
        root: Rank,
        send: Operand,
        recv: Operand,
        count: u64,
    ) -> Result<(), PlanError> {
        let reduction = self.reader.op(&words::reductions().collect::<Vec<_>>())?;
        let scalars = self.reader.scalars(reduction, &self.over)?;
        self.push(Act::Collective(CollectiveStep {
            kind,
            reduction,
            scalars,
            root: Some(root),
            over: self.over.partition.clone(),
            over_name: self.over_name.clone(),
            send,
            recv,
            elsewhere: Elsewhere::Untouched,
            count: Some(count),
            count_span: None,
        }));
        Ok(())
    }

    fn send_to(&mut self, group: &Group, from: Rank, to: Rank, send: Operand, count: u64) {
        self.message(group, Direction::Send, from, to, send, count);
    }

    fn recv_from(&mut self, group: &Group, to: Rank, from: Rank, recv: Operand, count: u64) {
        self.message(group, Direction::Recv, to, from, recv, count);
    }

    fn message(
        &mut self,
        group: &Group,
        direction: Direction,
        own: Rank,
        peer: Rank,
        buffer: Operand,
        count: u64,
    ) {
        let Some(rank) = group.world_rank(own) else { return };
        self.push(Act::Message(MessageStep {
            direction,
            on: On::Rank(rank),
            over: self.over.partition.clone(),
            over_name: self.over_name.clone(),
            peer,
            buffer,
            count: Some(count),
        }));
    }
}

/// Where each part starts, and the length of all together.
fn displacements(
    spot: &Spot,
    counts: impl Iterator<Item = u64>,
) -> Result<(Vec<u64>, u64), PlanError> {
    let (mut starts, mut end) = (Vec::new(), 0_u64);
    for count in counts {
        starts.push(end);
        end = end.checked_add(count).ok_or_else(|| {
            spot.error(Fault::Overflow, "counts past 64 bits", "a total below 2^64")
        })?;
    }
    Ok((starts, end))
}

/// One part of a buffer, or of the positions of one that are named.
fn part(
    spot: &Spot,
    of: &Operand,
    start: u64,
    count: u64,
    total: u64,
) -> Result<Operand, PlanError> {
    let base = match &of.positions {
        None => 0,
        Some(positions) if positions.end.saturating_sub(positions.start) == total => {
            positions.start
        }
        Some(positions) => {
            let found = format!("counts of {total} elements in all");
            let length = positions.end.saturating_sub(positions.start);
            return Err(spot.error(Fault::Contradiction, found, format!("{length}, as in `{of}`")));
        }
    };
    let start = base.saturating_add(start);
    Ok(Operand::view(of.buffer.clone(), start..start.saturating_add(count)))
}
