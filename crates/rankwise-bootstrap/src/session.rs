//! What a rank holds once all have met.

use std::sync::Arc;
use std::time::Duration;

use rankwise_topology::WorldRank;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::Error;
use crate::host::{self, LONGEST};
use crate::member::Member;
use crate::message::{NAME_BYTES, PAYLOAD_BYTES, TEXT_BYTES};
use crate::rank;
use crate::settings::Rendezvous;
use crate::table::Table;

/// The barrier that ends the rendezvous: all have the table.
pub(crate) const TABLE: &str = "table";
/// The barrier that ends the session.
const FINISH: &str = "finish";

/// All ranks have met: every one has the table and the payload, and stays connected.
///
/// While it lives, a rank whose process ends is noticed, and every other rank is told:
/// by [`failed`](Self::failed), and by the barrier that it is at or comes to. A task
/// that computes, or is stuck in another library, is not accused: only an ended
/// connection is, and a barrier that is not reached in time.
///
/// Dropping it without [`finish`](Self::finish) is, for the others, the same as a
/// process that ends. The connection is kept by a task of the runtime that it was made
/// on, which must go on running; where that is a nuisance, see [`crate::blocking`].
#[derive(Debug)]
pub struct Session {
    rank: WorldRank,
    table: Arc<Table>,
    payload: Arc<[u8]>,
    commands: mpsc::Sender<Command>,
    failure: watch::Receiver<Option<Error>>,
    /// Set while a barrier is waited for, and left set by one that was given up.
    at_barrier: bool,
}

pub(crate) type Reply = oneshot::Sender<Result<(), Error>>;

/// What a session asks of its task.
pub(crate) enum Command {
    Arrive { barrier: String, last: bool, within: Duration, reply: Reply },
    GiveUp { reason: String, reply: Reply },
}

impl Rendezvous {
    /// Hosts: listens, waits for the others, and gives them the payload.
    ///
    /// Only on the rank that hosts. The payload is whatever the others need to begin (an
    /// `ncclUniqueId` of 128 bytes, say); it is not looked into, and has at most 64 KiB.
    pub async fn host(&self, me: Member, payload: &[u8]) -> Result<Session, Error> {
        self.may_host(payload)?;
        let alone = self.world.size().get() == 1;
        let listener = if alone { None } else { Some(host::listen(self).await?) };
        self.host_by(listener, me, payload).await
    }

    /// The same with a listener that exists already, such as one on a port that the
    /// operating system chose.
    pub async fn host_on(
        &self,
        listener: TcpListener,
        me: Member,
        payload: &[u8],
    ) -> Result<Session, Error> {
        self.may_host(payload)?;
        self.host_by(Some(listener), me, payload).await
    }

    fn may_host(&self, payload: &[u8]) -> Result<(), Error> {
        if !self.is_host() {
            return Err(Error::setting(format!(
                "rank {} is to host, and this is rank {}: it connects",
                self.host, self.rank
            )));
        }
        if !u32::try_from(payload.len()).is_ok_and(|bytes| bytes <= PAYLOAD_BYTES) {
            return Err(Error::setting(format!(
                "a payload of {} bytes, at most {PAYLOAD_BYTES} are exchanged",
                payload.len()
            )));
        }
        Ok(())
    }

    async fn host_by(
        &self,
        listener: Option<TcpListener>,
        me: Member,
        payload: &[u8],
    ) -> Result<Session, Error> {
        let mut settings = self.clone();
        settings.within = self.within.min(LONGEST);
        let gathered = host::gather(&settings, listener, me, payload).await?;
        let (mut session, commands, failure) =
            Session::new(self.rank, gathered.table.clone(), payload.into());
        tokio::spawn(host::serve(gathered, self.rank.index(), commands, failure));
        session.arrive(TABLE, false, settings.within).await?;
        Ok(session)
    }

    /// Connects to the rank that hosts, and waits for the others.
    pub async fn connect(&self, me: Member) -> Result<Session, Error> {
        if self.is_host() {
            let rank = self.rank;
            return Err(Error::setting(format!("rank {rank} is to host: nobody else listens")));
        }
        let mut settings = self.clone();
        settings.within = self.within.min(LONGEST);
        let met = rank::meet(&settings, me).await?;
        let (mut session, commands, failure) =
            Session::new(self.rank, met.table, met.payload.into());
        tokio::spawn(rank::serve(met.link, commands, failure));
        session.arrive(TABLE, false, settings.within).await?;
        Ok(session)
    }
}

impl Session {
    fn new(
        rank: WorldRank,
        table: Table,
        payload: Arc<[u8]>,
    ) -> (Self, mpsc::Receiver<Command>, watch::Sender<Option<Error>>) {
        let (commands, receiver) = mpsc::channel(1);
        let (sender, failure) = watch::channel(None);
        let table = Arc::new(table);
        let session = Self { rank, table, payload, commands, failure, at_barrier: false };
        (session, receiver, sender)
    }

    /// This rank.
    pub const fn rank(&self) -> WorldRank {
        self.rank
    }

    /// Every rank with its host, process and device: the same on all ranks.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What the host gave.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Waits until every rank is at the barrier of that name.
    ///
    /// If they are not within that time, on the clock of whichever rank is the first to
    /// run out of it, every rank is told who was late. A barrier whose future was dropped
    /// leaves the session without further ones.
    pub async fn barrier(&mut self, name: &str, within: Duration) -> Result<(), Error> {
        if name.len() > NAME_BYTES {
            return Err(Error::setting(format!(
                "a barrier's name of {} bytes, at most {NAME_BYTES} are sent",
                name.len()
            )));
        }
        self.arrive(name, false, within).await
    }

    /// The last barrier: all ranks are done, and none misses another any more.
    pub async fn finish(mut self, within: Duration) -> Result<(), Error> {
        self.arrive(FINISH, true, within).await
    }

    /// Ends the session of all ranks, and tells them why; at most 512 bytes of it.
    ///
    /// Returns the error that all of them get.
    pub async fn give_up(self, reason: &str) -> Error {
        let mut end = reason.len().min(TEXT_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let reason = reason.get(..end).unwrap_or_default().to_owned();
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::GiveUp { reason, reply }).await.is_err() {
            return self.why();
        }
        match answer.await {
            Ok(Err(error)) => error,
            Ok(Ok(())) | Err(_) => self.why(),
        }
    }

    /// What has ended the session, if anything has.
    pub fn failure(&self) -> Option<Error> {
        self.failure.borrow().clone()
    }

    /// Waits until something ends the session: to be waited for beside work that would
    /// hang if a peer died. It may be dropped and called again.
    pub async fn failed(&self) -> Error {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(error) => error.clone().unwrap_or(Error::NoTask),
            Err(_) => self.why(),
        }
    }

    async fn arrive(&mut self, name: &str, last: bool, within: Duration) -> Result<(), Error> {
        if self.at_barrier {
            return Err(Error::Unfinished);
        }
        self.at_barrier = true;
        let (reply, answer) = oneshot::channel();
        let within = within.min(LONGEST);
        let command = Command::Arrive { barrier: name.to_owned(), last, within, reply };
        let asked = self.commands.send(command).await;
        let answer = match asked {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(self.why())),
            Err(_) => Err(self.why()),
        };
        self.at_barrier = false;
        answer
    }

    /// Why the task does not answer.
    fn why(&self) -> Error {
        self.failure().unwrap_or(Error::NoTask)
    }
}
