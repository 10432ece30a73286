//! Recording: every call of a world, with its times.

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rankwise_program::{CommId, Entry, Record, Seq};
use rankwise_topology::{Group, WorldRank};
use serde_json::{Value, json};

/// Records the calls of a world.
///
/// A handle: clones record into one place. What has been recorded so far can be looked at
/// any time, also while the world runs and after it has failed. A world that begins with
/// it begins anew.
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::{Recorder, World};
///
/// let recorder = Recorder::new();
/// World::of(2).recorded_by(&recorder).run(|comm| {
///     let mut x = comm.buffer::<f32>(4)?;
///     comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
///     comm.stream().fence()?.wait()
/// });
/// let recording = recorder.recording();
/// let records = recording.records();
/// assert_eq!(records.len(), 2);
/// assert_eq!((records[1].rank, records[1].op.as_str()), (1, "all_reduce"));
/// assert_eq!(recording.to_lines().lines().count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Mutex<Tape>>);

#[derive(Debug)]
struct Tape {
    start: Instant,
    comms: HashMap<CommId, (Arc<str>, Group)>,
    calls: Vec<Call>,
    /// By rank, how many units it has enqueued.
    units: HashMap<WorldRank, u64>,
    moved: HashMap<(CommId, Seq), Span>,
}

/// One call, as it was enqueued.
#[derive(Clone, Debug)]
struct Call {
    rank: WorldRank,
    entry: Entry,
    seq: Seq,
    stream: Option<Arc<str>>,
    unit: Option<u64>,
    /// Nanoseconds since the start.
    at: u64,
}

/// When data was moved, in nanoseconds since the start.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
}

impl Recorder {
    /// A recorder that has recorded nothing.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Tape::new())))
    }

    /// What has been recorded so far.
    pub fn recording(&self) -> Recording {
        let tape = self.tape();
        let mut calls: Vec<Recorded> =
            tape.calls.iter().filter_map(|call| tape.show(call)).collect();
        // By rank; of a rank in the order of its program.
        calls.sort_by_key(|call| call.record.rank);
        Recording { calls }
    }

    pub(crate) fn begin(&self) {
        *self.tape() = Tape::new();
    }

    pub(crate) fn add_communicator(&self, comm: CommId, name: &Arc<str>, group: &Group) {
        self.tape().comms.insert(comm, (Arc::clone(name), group.clone()));
    }

    /// Notes calls that a rank has just enqueued together; without a stream if they are
    /// beside all.
    pub(crate) fn enqueued(
        &self,
        rank: WorldRank,
        stream: Option<&Arc<str>>,
        calls: impl IntoIterator<Item = (Entry, Seq), IntoIter: ExactSizeIterator>,
    ) {
        let (mut tape, calls) = (self.tape(), calls.into_iter());
        let at = tape.now();
        let unit = (calls.len() > 1).then(|| {
            let units = tape.units.entry(rank).or_default();
            core::mem::replace(units, units.saturating_add(1))
        });
        for (entry, seq) in calls {
            tape.calls.push(Call { rank, entry, seq, stream: stream.cloned(), unit, at });
        }
    }

    /// Notes that the data of a call has been moved since that time.
    pub(crate) fn moved(&self, comm: CommId, seq: Seq, since: Instant) {
        let mut tape = self.tape();
        let (from, to) = (tape.at(since), tape.now());
        tape.moved.insert((comm, seq), Span { from, to });
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Tape {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            comms: HashMap::new(),
            calls: Vec::new(),
            units: HashMap::new(),
            moved: HashMap::new(),
        }
    }

    fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    fn at(&self, time: Instant) -> u64 {
        let nanoseconds = time.saturating_duration_since(self.start).as_nanos();
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }

    fn show(&self, call: &Call) -> Option<Recorded> {
        let (name, group) = self.comms.get(&call.entry.comm)?;
        let mut record = Record::of(call.rank, &call.entry, name, group, call.seq)?;
        record.stream = call.stream.as_deref().map(str::to_owned);
        record.unit = call.unit;
        let moved = self.moved.get(&(call.entry.comm, call.seq)).copied();
        let what = call.entry.signature.to_string();
        Some(Recorded { record, what, enqueued: call.at, moved })
    }
}

/// The calls of a world: those of rank 0 in the order of its program, then those of rank 1,
/// and so on.
#[derive(Clone, Debug)]
pub struct Recording {
    calls: Vec<Recorded>,
}

#[derive(Clone, Debug)]
struct Recorded {
    record: Record,
    what: String,
    enqueued: u64,
    /// `None` if its data was never moved.
    moved: Option<Span>,
}

impl Recording {
    /// Every call, without its times.
    pub fn records(&self) -> Vec<Record> {
        self.calls.iter().map(|call| call.record.clone()).collect()
    }

    /// Every call as a line of JSON; [`Record::from_line`] reads it.
    pub fn to_lines(&self) -> String {
        self.calls.iter().map(|call| call.record.to_line() + "\n").collect()
    }

    /// The whole as a trace for Perfetto or `chrome://tracing`: a process for each rank, a
    /// row for each of its streams.
    ///
    /// A bar is the time in which the call's data was moved on the *host*, by whichever rank
    /// came last; a mark is a call whose data was never moved. Neither is a time of a GPU.
    /// Times are microseconds, as the trace event format has them.
    pub fn to_chrome_trace(&self) -> String {
        let mut rows: Vec<(u32, &str)> = self.calls.iter().map(Recorded::row).collect();
        rows.sort_unstable();
        rows.dedup();
        let row_of = |call: &Recorded| rows.binary_search(&call.row()).unwrap_or_default();
        let mut events: Vec<Value> = Vec::new();
        for (row, (rank, stream)) in rows.iter().enumerate() {
            let named = |what: &str, name: String| json!({ "ph": "M", "name": what, "pid": rank, "tid": row, "args": { "name": name } });
            events.push(named("process_name", format!("rank {rank}")));
            events.push(named("thread_name", (*stream).to_owned()));
        }
        for call in &self.calls {
            let Recorded { record, what, enqueued, moved } = call;
            let mut event = json!({
                "name": what,
                "pid": record.rank,
                "tid": row_of(call),
                "args": {
                    "communicator": record.communicator,
                    "seq": record.seq.to_string(),
                    "site": record.site,
                    "enqueued": Microseconds(*enqueued).to_string(),
                },
            });
            let (from, more) = match moved {
                Some(Span { from, to }) => (*from, ("dur", number(to.saturating_sub(*from)), "X")),
                None => (*enqueued, ("s", "t".into(), "i")),
            };
            if let Some(fields) = event.as_object_mut() {
                fields.insert("ts".to_owned(), number(from));
                fields.insert("ph".to_owned(), more.2.into());
                fields.insert(more.0.to_owned(), more.1);
                if let Some(tag) = &record.tag {
                    fields.insert("cat".to_owned(), tag.clone().into());
                }
            }
            events.push(event);
        }
        json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
    }
}

impl Recorded {
    /// The rank, and its stream.
    fn row(&self) -> (u32, &str) {
        (self.record.rank, self.record.stream.as_deref().unwrap_or("beside the streams"))
    }
}

/// Nanoseconds as a number of microseconds.
#[allow(clippy::cast_precision_loss)] // 2^53 ns are a hundred days
fn number(nanoseconds: u64) -> Value {
    (nanoseconds as f64 / 1e3).into()
}

struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} µs", self.0.div_euclid(1000), self.0.rem_euclid(1000))
    }
}
