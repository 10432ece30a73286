//! Carrying a side's acts out again.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::definition::{From, InPlace, Op, Sized};
use crate::format::{Attached, Call, Input, Message, Origin, Side, Source, Step, View, Whole};
use crate::limits::RANKS;
use crate::number::{Dtype, Number};
use crate::rejected::Rejected;
use crate::term::{NoTerm, Terms};
use crate::vector::{Content, Vector, side_by_side};

/// What every rank of a side is left with.
pub(crate) struct Left<'a> {
    side: &'a Side,
    /// By the name outside: its own.
    renamed: BTreeMap<&'a str, &'a str>,
    /// The own names of those.
    hidden: BTreeSet<&'a str>,
    memory: Vec<BTreeMap<&'a str, Arc<Vector>>>,
}

/// A buffer in a rank's memory costs more than a run.
const BUFFER_WORK: u64 = 16;

/// Why an act cannot be carried out.
enum Stuck {
    Rejected(Rejected),
    Why(String),
}

impl core::convert::From<NoTerm> for Stuck {
    fn from(no: NoTerm) -> Self {
        match no {
            NoTerm::Limit(rejected) => Self::Rejected(rejected),
            NoTerm::Why(why) => Self::Why(why.into()),
        }
    }
}

impl core::convert::From<Rejected> for Stuck {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl core::convert::From<String> for Stuck {
    fn from(why: String) -> Self {
        Self::Why(why)
    }
}

impl core::convert::From<&str> for Stuck {
    fn from(why: &str) -> Self {
        Self::Why(why.into())
    }
}

/// What makes the inputs of a side what they are: their numbers in `Terms`, by name.
pub(crate) type Inputs<'a> = BTreeMap<&'a str, usize>;

/// Carries out all acts of a side.
pub(crate) fn execute<'a>(
    side: &'a Side,
    index: usize,
    inputs: &Inputs<'a>,
    terms: &mut Terms,
) -> Result<Left<'a>, Rejected> {
    let place = |rest: &str| format!("sides[{index}].{rest}");
    world(side).map_err(|(at, why)| Rejected::job(place(at), why))?;
    let names = side.renamed.iter().map(|one| (one.public.as_str(), one.own.as_str()));
    let left = Left {
        side,
        renamed: names.clone().collect(),
        hidden: names.map(|(_, own)| own).collect(),
        memory: (0..side.ranks).map(|_| BTreeMap::new()).collect(),
    };
    let mut machine = Machine { left, terms, mail: BTreeMap::new() };
    let told = |at: String| {
        move |stuck| match stuck {
            Stuck::Rejected(rejected) => rejected,
            Stuck::Why(why) => Rejected::job(at, why),
        }
    };
    machine.fill(inputs).map_err(told(place("inputs")))?;
    for (number, step) in side.steps.iter().enumerate() {
        let at = place(&format!("steps[{number}]"));
        machine.step(step).map_err(told(at))?;
    }
    if machine.mail.values().any(|letters| !letters.is_empty()) {
        return Err(Rejected::job(place("steps"), "a message that nobody receives"));
    }
    Ok(machine.left)
}

/// Whether ranks, devices, inputs and groups are what they must be.
fn world(side: &Side) -> Result<(), (&'static str, String)> {
    if side.ranks == 0 || side.ranks > RANKS {
        return Err(("ranks", format!("{} ranks, where 1 to {RANKS} may be", side.ranks)));
    }
    let ranks = usize::try_from(side.ranks).unwrap_or(usize::MAX);
    if let Some(devices) = side.devices.as_ref().filter(|devices| devices.len() != ranks) {
        return Err(("devices", format!("{} devices for {ranks} ranks", devices.len())));
    }
    let mut names = BTreeSet::new();
    for input in &side.inputs {
        if !names.insert(&input.name) {
            return Err(("inputs", format!("`{}` twice", input.name)));
        }
        if ![1, ranks].contains(&input.counts.len()) {
            return Err(("inputs", format!("{} counts for {ranks} ranks", input.counts.len())));
        }
    }
    let names: BTreeSet<_> =
        side.renamed.iter().flat_map(|one| [(0, &one.own), (1, &one.public)]).collect();
    if names.len() != side.renamed.len().saturating_mul(2) {
        return Err(("renamed", "a buffer renamed twice, or two to one name".into()));
    }
    for groups in &side.partitions {
        let mut members = BTreeSet::new();
        let sound = groups.iter().all(|group| {
            !group.is_empty()
                && group.iter().all(|rank| *rank < side.ranks && members.insert(*rank))
        });
        if !sound {
            let why = "a group that is empty, a rank twice, or one that is not there";
            return Err(("partitions", why.into()));
        }
    }
    Ok(())
}

impl Left<'_> {
    /// What a rank holds in the buffer that is called so outside. A renamed buffer no
    /// longer answers to its own name.
    pub(crate) fn held(&self, rank: u32, public: &str) -> Option<&Arc<Vector>> {
        let own = match self.renamed.get(public) {
            Some(own) => own,
            None if self.hidden.contains(public) => return None,
            None => public,
        };
        self.memory.get(usize::try_from(rank).ok()?)?.get(own)
    }

    pub(crate) fn device(&self, rank: u32) -> Option<&String> {
        self.side.devices.as_ref()?.get(usize::try_from(rank).ok()?)
    }
}

/// How many ranks each device has.
fn ranks_on(side: &Side) -> BTreeMap<&str, u32> {
    let mut ranks_on: BTreeMap<&str, u32> = BTreeMap::new();
    for device in side.devices.iter().flatten() {
        let ranks = ranks_on.entry(device).or_default();
        *ranks = ranks.saturating_add(1);
    }
    ranks_on
}

/// How many elements of an input a rank has.
fn count(input: &Input, rank: u32) -> Option<u64> {
    match input.counts.as_slice() {
        [all] => Some(all.0),
        each => each.get(usize::try_from(rank).ok()?).map(|count| count.0),
    }
}

/// What a contribution of each rank belongs to.
fn owner(side: &Side, alone: &BTreeMap<&str, u32>, attached: Attached, rank: u32) -> Origin {
    let devices = side.devices.as_ref().filter(|_| attached == Attached::Device);
    let device = devices.zip(usize::try_from(rank).ok()).and_then(|(all, rank)| all.get(rank));
    match device.filter(|device| alone.get(device.as_str()) == Some(&1)) {
        Some(device) => Origin::Device(device.clone()),
        None => Origin::Rank(rank),
    }
}

struct Machine<'a, 't> {
    left: Left<'a>,
    terms: &'t mut Terms,
    /// Sent and not yet received, by sender and receiver.
    mail: BTreeMap<(u32, u32), VecDeque<Arc<Vector>>>,
}

impl<'a> Machine<'a, '_> {
    fn fill(&mut self, inputs: &Inputs<'a>) -> Result<(), Stuck> {
        let side = self.left.side;
        let ranks_on = ranks_on(side);
        for input in &side.inputs {
            let id = *inputs.get(input.name.as_str()).ok_or("an input that is not there")?;
            for rank in 0..side.ranks {
                let of = owner(side, &ranks_on, input.attached, rank);
                let atom = self.terms.atom(id, of)?;
                let count = count(input, rank).ok_or("a rank without a count")?;
                self.terms.declare(atom, count)?;
                let held = Vector::of(input.dtype, count, Content::Term(atom));
                self.put(rank, &input.name, Arc::new(held))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &'a Step) -> Result<(), Stuck> {
        match step {
            Step::Collective(call) => {
                for group in self.groups(call.over)? {
                    self.collective(call, group)?;
                }
                Ok(())
            }
            Step::Send(message) => {
                let Message { rank, peer, count, buffer } = message;
                let vector = match count {
                    Some(count) => self.read_view(*rank, buffer, 0, count.0)?,
                    None if buffer.at.is_none() => self.buffer(*rank, &buffer.buffer)?,
                    None => return Err("part of a buffer, without a count".into()),
                };
                self.peer(message)?;
                let letters = self.mail.entry((*rank, *peer)).or_default();
                letters.push_back(vector);
                Ok(())
            }
            Step::Recv(message) => {
                self.peer(message)?;
                let letters = self.mail.get_mut(&(message.peer, message.rank));
                let letter = letters.and_then(VecDeque::pop_front);
                let vector = letter.ok_or("a message that nobody has sent")?;
                if let Some(count) = message.count.filter(|count| count.0 != vector.count()) {
                    let found = vector.count();
                    return Err(format!(
                        "a message of {found} elements where {count} are received"
                    )
                    .into());
                }
                self.write(message.rank, &message.buffer, 0, vector)
            }
            Step::Move(act) => self.local(act.on, &act.to, |this, rank| {
                let mut whole: Option<Vector> = None;
                for source in &act.from {
                    let part = this.source(rank, source)?;
                    let so_far = whole.get_or_insert_with(|| Vector::empty(part.dtype));
                    if so_far.dtype != part.dtype {
                        return Err("parts of several element types".into());
                    }
                    this.terms.spend(part.runs())?;
                    so_far.append(&part, 0, part.count()).ok_or("a length of 2^64 or more")?;
                }
                Ok(Arc::new(whole.ok_or("nothing to move")?))
            }),
            Step::Fold(act) => self.local(act.on, &act.to, |this, rank| {
                if act.op == Some(Op::Premul) {
                    return Err("a local fold with a scalar per rank".into());
                }
                let mut parts = Vec::new();
                for source in &act.from {
                    parts.push(this.source(rank, source)?);
                }
                this.folded(act.op, &[], &parts).map(Arc::new)
            }),
            Step::Scale(act) => {
                let by = self.terms.number(&act.by)?;
                self.local(act.on, &act.to, |this, rank| {
                    let vector = this.source(rank, &act.from)?;
                    let dtype = vector.dtype;
                    this.changed(&vector, dtype, |terms, placed| terms.times(placed, by.clone()))
                })
            }
            Step::Cast(act) => self.local(act.on, &act.to, |this, rank| {
                let vector = this.source(rank, &act.from)?;
                this.changed(&vector, act.dtype, |terms, placed| terms.cast(placed, act.dtype))
            }),
        }
    }

    fn groups(&self, over: u32) -> Result<&'a [Vec<u32>], Stuck> {
        let groups =
            usize::try_from(over).ok().and_then(|over| self.left.side.partitions.get(over));
        groups.map(Vec::as_slice).ok_or(Stuck::Why(format!("partition {over}, which is not there")))
    }

    fn peer(&self, message: &Message) -> Result<(), Stuck> {
        same_for_all(&message.buffer)?;
        if message.peer >= self.left.side.ranks {
            return Err(format!("peer {}, which is not there", message.peer).into());
        }
        Ok(())
    }

    /// The same act on every rank of a partition.
    fn local(
        &mut self,
        on: u32,
        to: &'a View,
        mut act: impl FnMut(&mut Self, u32) -> Result<Arc<Vector>, Stuck>,
    ) -> Result<(), Stuck> {
        same_for_all(to)?;
        for rank in self.groups(on)?.iter().flatten() {
            let vector = act(self, *rank)?;
            self.write(*rank, to, 0, vector)?;
        }
        Ok(())
    }

    fn collective(&mut self, call: &'a Call, group: &[u32]) -> Result<(), Stuck> {
        let ranks = u64::try_from(group.len()).unwrap_or(u64::MAX);
        let kind = call.call;
        if call.op.is_some() && !kind.reduces() {
            return Err("a reduction in a call that combines nothing".into());
        }
        let root = call.root.map(u64::from);
        if root.is_some() != kind.is_rooted() || root.is_some_and(|root| root >= ranks) {
            return Err("a root that the call does not have, or none in its group".into());
        }
        let expected = if call.op == Some(Op::Premul) { group.len() } else { 0 };
        if call.scalars.len() != expected {
            return Err(format!("{} scalars where {expected} must be", call.scalars.len()).into());
        }
        let scalars: Result<Vec<Number>, NoTerm> =
            call.scalars.iter().map(|text| self.terms.number(text)).collect();
        let scalars = scalars?;
        let sized = kind.sized(ranks, root.unwrap_or(0), call.count.0);
        let sized = sized.ok_or("lengths of 2^64 or more")?;
        self.terms.spend(ranks)?;

        let mut inputs: Vec<Option<Arc<Vector>>> = Vec::with_capacity(group.len());
        for (r, rank) in (0..).zip(group) {
            inputs.push(match sized.input(r) {
                None => None,
                Some(length) => {
                    let view = view(&call.send, r, ranks)?.ok_or("no buffer where one is read")?;
                    Some(self.read_view(*rank, view, r, length)?)
                }
            });
        }
        let dtype = inputs.iter().flatten().next().map(|vector| vector.dtype);
        let dtype = dtype.ok_or("nobody who reads anything")?;
        if inputs.iter().flatten().any(|vector| vector.dtype != dtype) {
            return Err("inputs of several element types".into());
        }
        let folded = if kind.reduces() {
            let inputs: Vec<Arc<Vector>> = inputs.iter().flatten().cloned().collect();
            Some(self.folded(call.op, &scalars, &inputs)?)
        } else {
            None
        };
        let mut shared: Option<Arc<Vector>> = None;
        for (r, rank) in (0..).zip(group) {
            let receives = view(&call.recv, r, ranks)?;
            if !sized.promises(r) {
                if let Some(view) = receives {
                    let nothing = Vector::of(dtype, sized.output(), Content::Nothing);
                    self.write(*rank, view, r, Arc::new(nothing))?;
                }
                continue;
            }
            let view_of = receives.ok_or("no buffer where one is written")?;
            let output = match shared.take().filter(|_| sized.is_shared()) {
                Some(output) => output,
                None => {
                    let mut output = Vector::empty(dtype);
                    for block in sized.blocks(r).iter().flatten() {
                        let from = match block.from {
                            From::Everyone => folded.as_ref(),
                            From::One(q) => {
                                let input = usize::try_from(q).ok().and_then(|q| inputs.get(q));
                                input.and_then(Option::as_deref)
                            }
                        };
                        from.and_then(|from| output.append(from, block.start, block.length))
                            .ok_or("a block that no input has")?;
                    }
                    self.terms.spend(output.runs())?;
                    Arc::new(output)
                }
            };
            shared = Some(Arc::clone(&output));
            let sends = sized.input(r).and(view(&call.send, r, ranks)?);
            if let Some(sends) = sends {
                self.overlap(&sized, r, *rank, sends, view_of, kind.reduces())?;
            }
            self.write(*rank, view_of, r, output)?;
        }
        Ok(())
    }

    /// Refuses an overlap of input and output other than the call's own; a reduction
    /// may use what it reads as scratch, so that nothing is promised of it afterwards.
    fn overlap(
        &mut self,
        sized: &Sized,
        r: u64,
        rank: u32,
        sends: &View,
        receives: &'a View,
        reduces: bool,
    ) -> Result<(), Stuck> {
        if sends.buffer != receives.buffer {
            return Ok(());
        }
        let (input, output) = (sized.input(r).unwrap_or(0), sized.output());
        let (read, written) = (start(sends, r)?, start(receives, r)?);
        let apart = read.saturating_add(input) <= written || written.saturating_add(output) <= read;
        if apart || input == 0 || output == 0 {
            return Ok(());
        }
        let allowed = match sized.in_place(r) {
            InPlace::OutputAfter(by) => read.checked_add(by) == Some(written),
            InPlace::InputAfter(by) => written.checked_add(by) == Some(read),
            InPlace::Never => false,
        };
        if !allowed {
            return Err(format!("`{}` is read and written with an overlap", sends.buffer).into());
        }
        let buffer = self.buffer(rank, &receives.buffer)?;
        if reduces && receives.at.is_some() {
            let scratch = Vector::of(buffer.dtype, input, Content::Nothing);
            let lost = buffer.with(read, &scratch).ok_or("a part that the buffer does not have")?;
            self.put(rank, &receives.buffer, Arc::new(lost))?;
        }
        Ok(())
    }

    fn folded(
        &mut self,
        op: Option<Op>,
        scalars: &[Number],
        parts: &[Arc<Vector>],
    ) -> Result<Vector, Stuck> {
        let first = parts.first().ok_or("nothing to combine")?;
        if parts.iter().any(|part| (part.count(), part.dtype) != (first.count(), first.dtype)) {
            return Err("parts of several lengths or element types".into());
        }
        let parts: Vec<&Vector> = parts.iter().map(AsRef::as_ref).collect();
        let mut folded = Vector::empty(first.dtype);
        for (count, contents) in side_by_side(&parts) {
            self.terms.spend(u64::try_from(contents.len()).unwrap_or(u64::MAX))?;
            let content = self.terms.reduced(op, scalars, &contents)?;
            folded.push(count, content).ok_or("a length of 2^64 or more")?;
        }
        Ok(folded)
    }

    /// Every term of a vector changed.
    fn changed(
        &mut self,
        vector: &Vector,
        dtype: Dtype,
        mut change: impl FnMut(&mut Terms, crate::term::Placed) -> Result<crate::term::Placed, NoTerm>,
    ) -> Result<Arc<Vector>, Stuck> {
        let mut changed = Vector::empty(dtype);
        for (count, contents) in side_by_side(&[vector]) {
            self.terms.spend(1)?;
            let content = match contents.first() {
                Some(Content::Term(placed)) => Content::Term(change(self.terms, *placed)?),
                Some(other) => *other,
                None => Content::Nothing,
            };
            changed.push(count, content).ok_or("a length of 2^64 or more")?;
        }
        Ok(Arc::new(changed))
    }

    fn source(&mut self, rank: u32, source: &'a Source) -> Result<Arc<Vector>, Stuck> {
        match source {
            Source { buffer: Some(buffer), at, count, dtype: None, value: None } => {
                let vector = self.buffer(rank, buffer)?;
                match (at, count) {
                    (None, None) => Ok(vector),
                    (Some(at), Some(count)) => self.part(&vector, at.0, count.0),
                    _ => Err("`at` without `count`, or the other way round".into()),
                }
            }
            Source { buffer: None, at: None, count: Some(count), dtype: Some(dtype), value } => {
                let content = match value {
                    None => Content::Nothing,
                    Some(text) => {
                        let value = self.terms.number(text)?;
                        Content::Term(self.terms.constant(*dtype, value)?)
                    }
                };
                Ok(Arc::new(Vector::of(*dtype, count.0, content)))
            }
            _ => Err("a source that is neither part of a buffer nor a constant".into()),
        }
    }

    fn part(&mut self, vector: &Vector, at: u64, count: u64) -> Result<Arc<Vector>, Stuck> {
        let mut part = Vector::empty(vector.dtype);
        part.append(vector, at, count).ok_or_else(|| {
            let held = vector.count();
            format!("{count} positions from {at} on, of a buffer of {held}")
        })?;
        self.terms.spend(part.runs())?;
        Ok(Arc::new(part))
    }

    fn buffer(&self, rank: u32, name: &str) -> Result<Arc<Vector>, Stuck> {
        let memory = usize::try_from(rank).ok().and_then(|rank| self.left.memory.get(rank));
        let buffer = memory.and_then(|memory| memory.get(name)).cloned();
        buffer.ok_or_else(|| format!("rank {rank} has no buffer `{name}`").into())
    }

    fn read_view(
        &mut self,
        rank: u32,
        view: &View,
        r: u64,
        length: u64,
    ) -> Result<Arc<Vector>, Stuck> {
        let buffer = self.buffer(rank, &view.buffer)?;
        let at = start(view, r)?;
        if view.at.is_some() {
            return self.part(&buffer, at, length);
        }
        if buffer.count() != length {
            let (name, held) = (&view.buffer, buffer.count());
            return Err(
                format!("`{name}` has {held} elements on rank {rank}, needs {length}").into()
            );
        }
        Ok(buffer)
    }

    fn write(
        &mut self,
        rank: u32,
        view: &'a View,
        r: u64,
        vector: Arc<Vector>,
    ) -> Result<(), Stuck> {
        let at = start(view, r)?;
        if view.at.is_none() {
            return self.put(rank, &view.buffer, vector);
        }
        let buffer = self.buffer(rank, &view.buffer)?;
        if buffer.dtype != vector.dtype {
            return Err(format!("another element type in part of `{}`", view.buffer).into());
        }
        let whole = buffer.with(at, &vector).ok_or_else(|| {
            let (held, count, name) = (buffer.count(), vector.count(), &view.buffer);
            format!("{count} positions from {at} on, in `{name}` of {held}")
        })?;
        self.terms.spend(whole.runs())?;
        self.put(rank, &view.buffer, Arc::new(whole))
    }

    fn put(&mut self, rank: u32, name: &'a str, vector: Arc<Vector>) -> Result<(), Stuck> {
        self.terms.spend(1)?;
        let memory = usize::try_from(rank).ok().and_then(|rank| self.left.memory.get_mut(rank));
        let memory = memory.ok_or_else(|| format!("rank {rank}, which is not there"))?;
        if memory.insert(name, vector).is_none() {
            self.terms.spend(BUFFER_WORK)?;
        }
        Ok(())
    }
}

/// What rank `r` of a group reads or writes: its own view, or that of all.
fn view(views: &[Option<View>], r: u64, ranks: u64) -> Result<Option<&View>, Stuck> {
    let own = usize::try_from(r).ok().and_then(|r| views.get(r));
    match (views, own) {
        ([all], _) => Ok(all.as_ref()),
        (views, Some(own)) if u64::try_from(views.len()) == Ok(ranks) => Ok(own.as_ref()),
        _ => Err(format!("{} views for {ranks} ranks", views.len()).into()),
    }
}

/// Refuses a view that depends on the rank in a group where there is none.
fn same_for_all(view: &View) -> Result<(), Stuck> {
    if view.by.is_some() { Err("`by`, where no group takes part".into()) } else { Ok(()) }
}

/// Where a view starts on rank `r`.
fn start(view: &View, r: u64) -> Result<u64, Stuck> {
    let by = view.by.map_or(0, |Whole(by)| by);
    if view.by.is_some() && view.at.is_none() {
        return Err("`by` without `at`".into());
    }
    let offset =
        by.checked_mul(r).and_then(|offset| offset.checked_add(view.at.map_or(0, |at| at.0)));
    offset.ok_or("a position of 2^64 or more".into())
}
