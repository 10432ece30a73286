//! Carrying a side's acts out again.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::definition::{Made, Op, Part, Sized};
use crate::format::{Act, Call, Local, Side, Source, Step, View};
use crate::list::{count, nth};
use crate::number::Number;
use crate::rejected::{No, Rejected, ensure};
use crate::term::{Change, Terms};
use crate::vector::{Content, Vector, side_by_side};
use crate::world::{owner, places, sound};

/// What every rank of a side is left with, by the names that buffers have outside.
pub(crate) struct Left<'a> {
    memory: Vec<BTreeMap<&'a str, Arc<Vector>>>,
}

impl Left<'_> {
    pub(crate) fn held(&self, rank: u32, buffer: &str) -> Option<&Arc<Vector>> {
        nth(&self.memory, rank)?.get(buffer)
    }
}

/// The inputs of a side by name: their numbers in [`Terms`].
pub(crate) type Inputs<'a> = BTreeMap<&'a str, usize>;

/// Carries out all acts of a side.
pub(crate) fn execute<'a>(
    side: &'a Side,
    index: usize,
    inputs: &Inputs<'a>,
    terms: &mut Terms,
) -> Result<Left<'a>, Rejected> {
    let place = format!("sides[{index}]");
    sound(side).map_err(|no| no.in_job(&*place))?;
    let memory = (0..side.ranks).map(|_| BTreeMap::new()).collect();
    let mut machine = Machine { side, terms, memory, mail: BTreeMap::new() };
    machine.fill(inputs).map_err(|no| no.in_job(&*place))?;
    for (number, step) in side.steps.iter().enumerate() {
        machine.step(step).map_err(|no| no.in_job(format!("{place}.steps[{number}]")))?;
    }
    machine.finish().map_err(|no| no.in_job(place))
}

/// Part of a buffer from a position on, or all of it.
type Span<'a> = (&'a str, Option<u64>);

/// A buffer in a rank's memory costs more than a run.
const BUFFER_WORK: u64 = 16;

const TOO_LONG: &str = "a length of 2^64 or more";

struct Machine<'a, 't> {
    side: &'a Side,
    terms: &'t mut Terms,
    memory: Vec<BTreeMap<&'a str, Arc<Vector>>>,
    /// Sent and not yet received, by sender and receiver.
    mail: BTreeMap<(u32, u32), VecDeque<Arc<Vector>>>,
}

impl<'a> Machine<'a, '_> {
    /// What every rank has to begin with.
    fn fill(&mut self, inputs: &Inputs<'a>) -> Result<(), No> {
        let places = places(self.side);
        for input in &self.side.inputs {
            let id = *inputs.get(input.name.as_str()).ok_or("an input that is not there")?;
            for rank in 0..self.side.ranks {
                let of = owner(self.side, &places, input.attached, rank);
                let count = match input.counts.as_slice() {
                    [all] => all,
                    each => nth(each, rank).ok_or("a rank without a count")?,
                };
                let atom = self.terms.declare(id, of, count.0)?;
                let held = Vector::of(input.dtype, count.0, Content::Term(atom));
                self.put(rank, &input.name, Arc::new(held))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &'a Step) -> Result<(), No> {
        match step {
            Step::Collective(call) => {
                for group in self.groups(call.over)? {
                    self.collective(call, group)?;
                }
            }
            Step::Send(send) => {
                let vector = self.source(send.rank, &send.from)?;
                self.mail.entry((send.rank, send.peer)).or_default().push_back(vector);
            }
            Step::Recv(recv) => {
                let letters = self.mail.get_mut(&(recv.peer, recv.rank));
                let letter = letters.and_then(VecDeque::pop_front);
                let letter = letter.ok_or("a message that nobody has sent")?;
                let (found, count) = (letter.count(), recv.count.map(|count| count.0));
                let fits = count.is_none_or(|count| count == found);
                ensure!(fits, "a message of {found} elements, where {count:?} are received");
                self.write(recv.rank, span(&recv.to), None, letter)?;
            }
            Step::Local(local) => {
                for rank in self.groups(local.on)?.iter().flatten() {
                    let vector = self.local(*rank, local)?;
                    self.write(*rank, span(&local.to), None, vector)?;
                }
            }
        }
        Ok(())
    }

    /// Whether all is said, and what the buffers are called outside. A renamed buffer
    /// no longer answers to its own name.
    fn finish(mut self) -> Result<Left<'a>, No> {
        let unread = self.mail.values().any(|letters| !letters.is_empty());
        ensure!(!unread, "a message that nobody receives");
        for memory in &mut self.memory {
            self.terms.spend(count(&self.side.renamed))?;
            let renamed = self.side.renamed.iter();
            let taken: Vec<_> =
                renamed.map(|(own, public)| (public, memory.remove(own.as_str()))).collect();
            for (public, vector) in taken {
                memory.remove(public.as_str());
                memory.extend(vector.map(|vector| (public.as_str(), vector)));
            }
        }
        Ok(Left { memory: self.memory })
    }

    fn groups(&self, index: u32) -> Result<&'a [Vec<u32>], No> {
        let groups = nth(&self.side.partitions, index);
        groups.map(Vec::as_slice).ok_or_else(|| format!("no partition {index}").into())
    }

    /// What a rank makes by itself.
    fn local(&mut self, rank: u32, local: &'a Local) -> Result<Arc<Vector>, No> {
        let parts = local.from.iter().map(|source| self.source(rank, source));
        let parts: Vec<Arc<Vector>> = parts.collect::<Result<_, No>>()?;
        if let Act::Fold(op) = &local.act {
            return self.combined(op.as_ref(), &parts);
        }
        let joined = match parts.as_slice() {
            [one] => Arc::clone(one),
            parts => Arc::new(self.joined(parts, None)?),
        };
        let (dtype, change) = match &local.act {
            Act::Scale(by) => (joined.dtype, Change::Times(self.terms.number(by)?)),
            Act::Cast(to) => (*to, Change::Cast(*to)),
            Act::Join | Act::Fold(_) => return Ok(joined),
        };
        let mut changed = Vector::empty(dtype);
        for (count, contents) in side_by_side(&[&joined]) {
            self.terms.spend(1)?;
            for content in contents {
                let content = match content {
                    Content::Term(placed) => {
                        Content::Term(self.terms.change(placed, change.clone())?)
                    }
                    other => other,
                };
                changed.push(count, content).ok_or(TOO_LONG)?;
            }
        }
        Ok(Arc::new(changed))
    }

    /// A call in one group: all read before any writes.
    fn collective(&mut self, call: &'a Call, group: &[u32]) -> Result<(), No> {
        let ranks = count(group);
        self.terms.spend(ranks)?;
        let root = call.root.map(u64::from);
        let sound = root.is_some() == call.call.is_rooted() && root.is_none_or(|root| root < ranks);
        ensure!(sound, "a root that the call does not have, or none in its group");
        let sized =
            Sized::new(call.call, ranks, root.unwrap_or(0), call.count.0).ok_or(TOO_LONG)?;
        let combines = sized.made == Made::Combined;
        ensure!(combines || call.op.is_none(), "a reduction in a call that combines nothing");

        let mut writes = Vec::with_capacity(group.len());
        let mut inputs = Vec::with_capacity(group.len());
        for (r, rank) in (0..).zip(group) {
            let spans = self.spans(call, &sized, r, ranks, *rank)?;
            if let Some((from, length)) = spans.reads.zip(sized.input(r)) {
                inputs.push(self.read(*rank, from, length)?);
            }
            writes.push((spans.writes, spans.scratch.filter(|_| combines)));
        }
        let dtype = inputs.first().ok_or("nobody who reads anything")?.dtype;
        let handed_in =
            if combines { Vec::from([self.combined(call.op.as_ref(), &inputs)?]) } else { inputs };
        let part = |r| Some((sized.start(r), sized.count));
        let same = match sized.part {
            Part::Whole => Some(Arc::new(self.joined(&handed_in, part(0))?)),
            Part::OwnBlock => None,
        };
        let nothing = Arc::new(Vector::of(dtype, sized.output(), Content::Nothing));
        for ((r, rank), (to, scratch)) in (0..).zip(group).zip(writes) {
            let Some(to) = to else { continue };
            let output = match &same {
                _ if !sized.promises(r) => Arc::clone(&nothing),
                Some(output) => Arc::clone(output),
                None => Arc::new(self.joined(&handed_in, part(r))?),
            };
            self.write(*rank, to, scratch, output)?;
        }
        Ok(())
    }

    /// Where rank `r` of a group reads and writes.
    fn spans(
        &self,
        call: &'a Call,
        sized: &Sized,
        r: u64,
        ranks: u64,
        rank: u32,
    ) -> Result<Spans<'a>, No> {
        let (sends, receives) = (view(&call.send, r, ranks)?, view(&call.recv, r, ranks)?);
        let sends = sends.filter(|_| sized.input(r).is_some());
        ensure!(sends.is_some() || sized.input(r).is_none(), "no buffer where one is read");
        ensure!(receives.is_some() || !sized.promises(r), "no buffer where one is written");
        let (reads, writes) = (sends.map(span), receives.map(span));
        let apart = Ok(Spans { reads, writes, scratch: None });
        let both = reads.zip(writes).zip(sized.input(r)).filter(|_| sized.promises(r));
        let Some((((name, read), (other, written)), input)) = both else { return apart };
        if name != other {
            return apart;
        }
        let (base, output) = (read.unwrap_or(0), sized.output());
        if sends != receives {
            let to = written.unwrap_or(0);
            let end = base.saturating_add(input).min(to.saturating_add(output));
            ensure!(base.max(to) >= end, "`{name}` is read and written with an overlap");
            return apart;
        }
        let (input_at, output_at) = sized.in_place(r).ok_or("a call that is never in place")?;
        let held = self.buffer(rank, name)?.count();
        let fits = read.is_some() || held == input.max(output);
        ensure!(fits, "`{name}` of {held} elements on rank {rank}, in place");
        let later = |by| Ok::<_, No>(Some((name, Some(base.checked_add(by).ok_or(TOO_LONG)?))));
        let scratch = Some((base, input));
        Ok(Spans { reads: later(input_at)?, writes: later(output_at)?, scratch })
    }

    /// Vectors combined position by position.
    fn combined(&mut self, op: Option<&Op>, parts: &[Arc<Vector>]) -> Result<Arc<Vector>, No> {
        let first = parts.first().ok_or("nothing to combine")?;
        let alike =
            parts.iter().all(|part| (part.count(), part.dtype) == (first.count(), first.dtype));
        ensure!(alike, "parts of several lengths or element types");
        let mut scalars: Vec<Number> = Vec::new();
        if let Some(Op::Premul(texts)) = op {
            ensure!(texts.len() == parts.len(), "{} scalars for {}", texts.len(), parts.len());
            for text in texts {
                scalars.push(self.terms.number(text)?);
            }
        }
        let parts: Vec<&Vector> = parts.iter().map(AsRef::as_ref).collect();
        let mut combined = Vector::empty(first.dtype);
        for (positions, contents) in side_by_side(&parts) {
            self.terms.spend(count(&contents))?;
            let content = self.terms.reduced(op, &scalars, &contents)?;
            combined.push(positions, content).ok_or(TOO_LONG)?;
        }
        Ok(Arc::new(combined))
    }

    /// Vectors one after the other: all of each, or so many positions from a start on.
    fn joined(&self, parts: &[Arc<Vector>], part: Option<(u64, u64)>) -> Result<Vector, No> {
        let dtype = parts.first().ok_or("nothing to move")?.dtype;
        let mut joined = Vector::empty(dtype);
        for from in parts {
            ensure!(from.dtype == dtype, "parts of several element types");
            let (start, count) = part.unwrap_or((0, from.count()));
            joined.append(from, start, count).ok_or("a part that is not there, or too long")?;
        }
        self.terms.spend(joined.runs())?;
        Ok(joined)
    }

    fn source(&mut self, rank: u32, source: &'a Source) -> Result<Arc<Vector>, No> {
        match source {
            Source::All(name) => self.buffer(rank, name),
            Source::Part(name, at, count) => self.read(rank, (name, Some(at.0)), count.0),
            Source::Fill(dtype, count, value) => {
                let content = match value {
                    None => Content::Nothing,
                    Some(text) => {
                        let value = self.terms.number(text)?;
                        Content::Term(self.terms.constant(*dtype, value)?)
                    }
                };
                Ok(Arc::new(Vector::of(*dtype, count.0, content)))
            }
        }
    }

    fn buffer(&self, rank: u32, name: &str) -> Result<Arc<Vector>, No> {
        let buffer = nth(&self.memory, rank).and_then(|memory| memory.get(name)).cloned();
        buffer.ok_or_else(|| format!("rank {rank} has no buffer `{name}`").into())
    }

    fn read(&self, rank: u32, (name, at): Span<'_>, length: u64) -> Result<Arc<Vector>, No> {
        let buffer = self.buffer(rank, name)?;
        let (start, held) = (at.unwrap_or(0), buffer.count());
        if start == 0 && length == held {
            return Ok(buffer);
        }
        let part = buffer.part(start, length).filter(|_| at.is_some());
        let part = part.ok_or_else(|| {
            format!("{length} elements from {start} on, of `{name}` of {held} on rank {rank}")
        })?;
        self.terms.spend(part.runs())?;
        Ok(Arc::new(part))
    }

    /// Writes a vector, and before it nothing where a reduction had its scratch.
    fn write(
        &mut self,
        rank: u32,
        (name, at): Span<'a>,
        scratch: Option<(u64, u64)>,
        vector: Arc<Vector>,
    ) -> Result<(), No> {
        let Some(at) = at else { return self.put(rank, name, vector) };
        let buffer = self.buffer(rank, name)?;
        let (dtype, held) = (buffer.dtype, buffer.count());
        ensure!(dtype == vector.dtype, "another element type in part of `{name}`");
        if at == 0 && vector.count() == held {
            return self.put(rank, name, vector);
        }
        let whole = match scratch {
            None => buffer.with(at, &vector),
            Some((from, count)) => buffer
                .with(from, &Vector::of(dtype, count, Content::Nothing))
                .and_then(|lost| lost.with(at, &vector)),
        };
        let whole = whole.ok_or_else(|| {
            format!("{} elements from {at} on, in `{name}` of {held}", vector.count())
        })?;
        self.terms.spend(whole.runs())?;
        self.put(rank, name, Arc::new(whole))
    }

    fn put(&mut self, rank: u32, name: &'a str, vector: Arc<Vector>) -> Result<(), No> {
        self.terms.spend(1)?;
        let memory = usize::try_from(rank).ok().and_then(|rank| self.memory.get_mut(rank));
        let memory = memory.ok_or_else(|| format!("rank {rank}, which is not there"))?;
        if memory.insert(name, vector).is_none() {
            self.terms.spend(BUFFER_WORK)?;
        }
        Ok(())
    }
}

/// What a rank of a group reads and writes, once what is in place is spelled out.
struct Spans<'a> {
    reads: Option<Span<'a>>,
    writes: Option<Span<'a>>,
    /// What is read in place: a reduction may use it as scratch, so that nothing is
    /// promised of it afterwards.
    scratch: Option<(u64, u64)>,
}

fn span(view: &View) -> Span<'_> {
    match view {
        View::All(name) => (name, None),
        View::From(name, at) => (name, Some(at.0)),
    }
}

/// What rank `r` of a group reads or writes: its own view, or that of all.
fn view(views: &[Option<View>], r: u64, ranks: u64) -> Result<Option<&View>, No> {
    let (given, own) = (count(views), nth(views, r));
    match (views, own) {
        ([all], _) => Ok(all.as_ref()),
        (_, Some(own)) if given == ranks => Ok(own.as_ref()),
        _ => Err(format!("{given} views for {ranks} ranks").into()),
    }
}
