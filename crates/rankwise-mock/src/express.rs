//! The short way of a collective: no lock that ranks share, and nothing to allocate.
//!
//! Most calls meet peers that have come or are about to come, on streams that have nothing
//! else to do. Such a call takes a seat at the [`Table`] of its communicator; whoever
//! comes last compares all the seats and carries the call out. The hub and its matcher
//! learn nothing of it.
//!
//! They must learn of it as soon as somebody has to be told of it: when a rank goes to
//! sleep, ends, leaves, makes any other call, enqueues anything behind one that is under
//! way, or when calls contradict each other. Then the table is *closed*, and everything
//! under way there is handed to the matcher as if it had come the long way; all reports
//! are made from there. When no collective of the communicator is open any more, the table
//! opens again.
//!
//! # Who holds what
//!
//! A call of the short way holds the [`Desk`](desk::Desk) of its rank from its first check
//! until it is enqueued, and, if it is the last, until it is over. Closing holds the hub's
//! lock and then the desks of all members: so nobody is in the middle of a call. A desk
//! is never held while the hub's lock is asked for.

mod closing;
mod desk;
mod ring;
mod sync;
mod table;

use core::hint;
use std::sync::Arc;
use std::time::Instant;

use rankwise_comm::{Error, Post};
use rankwise_model::{Dtype, Layout};
use rankwise_program::{Seq, Signature, Tag, Verb};

pub(crate) use self::desk::Desks;
use self::desk::Posted;
use self::ring::Came;
pub(crate) use self::table::Table;
use self::table::{Bench, Called};
use crate::comm::Comm;
use crate::engine::{Job, Seat};
use crate::hub::{Hub, Rigor};
use crate::instance::Taken;
use crate::uses::{Use, What};

/// Which way a call has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is enqueued.
    Short,
    /// It is not: somebody has to be told of it.
    Long,
}

impl Hub {
    /// Enqueues a call the short way, if that is open to it.
    #[allow(unsafe_code)]
    pub(crate) fn post_short(self: &Arc<Self>, post: &Post<'_, Comm>) -> Result<Way, Error> {
        let (comm, stream, call) = (post.comm(), post.stream(), post.call());
        let Some((table, seat)) = comm.seat() else { return Ok(Way::Long) };
        if self.rigor == Rigor::Strict {
            return Ok(Way::Long);
        }
        let Verb::Collective(_) = call.signature().verb() else { return Ok(Way::Long) };
        let rank = comm.world_rank();
        if stream.rank() != rank || !Arc::ptr_eq(stream.hub(), self) {
            return Ok(Way::Long);
        }
        let Some(mut desk) = self.desks.lock(rank) else { return Ok(Way::Long) };
        let progress = stream.progress();
        let elsewhere =
            |table: &Arc<Table>| desk.under_way().is_some_and(|at| !Arc::ptr_eq(at, table));
        if !table.is_open() || self.desks.sleeps(rank) || !progress.is_plain() || elsewhere(table) {
            return Ok(Way::Long);
        }
        // Only now: a table may open at any moment, and has new numbers then.
        let number = table.next(seat);
        if !table.ring.has_room(number) {
            return Ok(Way::Long);
        }
        let ticket = progress.next();
        let site = call.site();
        let taken = Taken::of(post, stream.lane(), ticket)?;
        let what = What::Call(call.signature().verb().name(), site);
        let uses = || {
            let lane = stream.lane();
            let new = move |bytes, access| Use { lane, ticket, bytes, access, what };
            taken.sides().map(move |(block, bytes, access)| (block, new(bytes, access)))
        };
        let own = |earlier: &Use| earlier.lane == stream.lane();
        // What another stream has used is ordered by more than is known here.
        if uses().any(|(block, new)| block.uses().conflict(&new, own).is_some()) {
            return Ok(Way::Long);
        }
        for (block, new) in uses() {
            let is_over = |earlier: &Use| own(earlier) && progress.is_known(earlier.ticket);
            block.uses().note(new, own, is_over);
        }
        let kind = (*call.layout().layout(), call.dtype());
        let Ok(spans) = taken.seat() else { return Ok(Way::Long) };
        let called = Called {
            signature: *call.signature(),
            tag: call.tag().cloned(),
            seat: spans,
            progress: Arc::clone(progress),
            ticket,
        };
        let posted = Posted {
            comm: comm.id(),
            number,
            signature: called.signature,
            tag: called.tag.clone(),
            site,
            layout: kind.0,
            taken: Some(taken),
        };
        if let Some(recorder) = &self.recorder {
            let calls = [(posted.entry(), Seq::Collective(number))];
            recorder.enqueued(rank, Some(stream.name()), calls);
        }
        desk.note(table, (progress, ticket), posted);
        progress.enqueue();
        table.set_next(seat, number.saturating_add(1));
        // SAFETY: there is room, as was asked above. With the desk locked nobody else comes for
        // this rank, or closes the table; and the number is the next of its seat.
        if let Came::Last = unsafe { table.ring.come(number, seat, called) } {
            let ended = self.carry_out_short(table, number, seat, kind);
            drop(desk);
            if let Ended::Not = ended {
                self.close_table(table.comm);
            }
        }
        Ok(Way::Short)
    }

    /// Carries out a call that all have come to. For the last to come, whose seat that is.
    #[allow(unsafe_code)]
    fn carry_out_short(
        &self,
        table: &Table,
        number: u64,
        seat: usize,
        kind: (Layout, Dtype),
    ) -> Ended {
        // Whoever has carried out the call before may be about to say so.
        while table.ring.over() != number {
            if table.is_at_odds() {
                return Ended::Not;
            }
            hint::spin_loop();
        }
        let job = table.bench(seat).and_then(|mut bench| {
            let Bench { seats, job } = &mut *bench;
            seats.clear();
            if !gather(table, number, seats) {
                return None;
            }
            // SAFETY: `Job::new` asks for spans that stay valid, and that nobody else touches,
            // until the job is done. They lie inside their blocks (`Taken::seat`), which the
            // desks of their ranks hold until the call is over, which is below, when the job
            // is done. On every rank the call is the next of its lane: the lane had nothing
            // to do but calls of this table (`Progress::is_plain`), which are over in the
            // order of their numbers. So whatever is ordered before it is over; whatever is
            // ordered after waits for its ticket; and `Uses` has let in nothing that is
            // unordered and touches the same bytes.
            let job = unsafe { next_job(job, kind, seats) }?;
            let since = self.recorder.as_ref().map(|_| Instant::now());
            self.jobs.work_off(job);
            if let Some((recorder, since)) = self.recorder.as_ref().zip(since) {
                recorder.moved(table.comm, Seq::Collective(number), since);
            }
            Some(())
        });
        if job.is_none() {
            table.set_at_odds();
            return Ended::Not;
        }
        // SAFETY: the last to come looks, before the call is finished.
        unsafe { table.ring.look(number, |called| called.progress.finish(called.ticket)) };
        table.ring.finish(number);
        Ended::Well
    }
}

/// The last job started anew, if it is of this kind and nobody looks at it any more; or a
/// new one, kept for the next.
///
/// # Safety
///
/// As [`Job::new`].
#[allow(unsafe_code)]
unsafe fn next_job<'j>(
    last: &'j mut Option<Arc<Job>>,
    kind: (Layout, Dtype),
    seats: &[Seat],
) -> Option<&'j Arc<Job>> {
    if let Some(job) = last.as_mut().and_then(Arc::get_mut).filter(|job| job.kind() == kind) {
        // SAFETY: handed on.
        unsafe { job.restart(seats) }.ok()?;
    } else {
        let (layout, dtype) = kind;
        // SAFETY: handed on.
        *last = Some(Arc::new(unsafe { Job::new(layout, dtype, seats) }.ok()?));
    }
    last.as_ref()
}

/// Where the bytes of a call lie; `false` if its seats do not agree.
#[allow(unsafe_code)]
fn gather(table: &Table, number: u64, seats: &mut Vec<Seat>) -> bool {
    let mut first: Option<(Signature, Option<Tag>)> = None;
    let mut agree = true;
    let look = |called: &Called| {
        seats.push(called.seat);
        match &mut first {
            None => first = Some((called.signature, called.tag.clone())),
            Some((signature, tag)) => {
                let named = tag.as_ref().zip(called.tag.as_ref());
                agree &= signature.agrees_with(&called.signature);
                agree &= named.is_none_or(|(one, other)| one == other);
                if tag.is_none() {
                    tag.clone_from(&called.tag);
                }
            }
        }
    };
    // SAFETY: the last to come calls this, before the call is finished.
    unsafe { table.ring.look(number, look) };
    agree
}

/// Whether a call has been carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Well,
    /// It contradicts itself, or one before it does: the matcher must say how.
    Not,
}
