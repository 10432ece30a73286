//! The side that connects.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rankwise_topology::Sharing;
use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::error::Error;
use crate::frame::{Seal, WireError, body, read, sealed};
use crate::handshake::{Begun, Opening, Own, Side, Stop, begin};
use crate::host::millis;
use crate::link::{nonce, tune};
use crate::member::Member;
use crate::message::{ToHost, ToRank, to_rank_limit};
use crate::session::{Command, Reply};
use crate::settings::Rendezvous;
use crate::table::Table;

/// How long the host is waited for beyond the time that it has itself: it, not this
/// rank, is to say who is missing.
const GRACE: Duration = Duration::from_secs(10);
/// Between two tries to connect, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));
/// How long one try to connect may take.
const TRY: Duration = Duration::from_secs(5);

/// A connection to the host.
pub(crate) struct Link {
    settings: Rendezvous,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    reading: Seal,
    writing: Seal,
}

/// The host has accepted this rank, and all others.
pub(crate) struct Met {
    pub(crate) link: Link,
    pub(crate) table: Table,
    pub(crate) payload: Vec<u8>,
}

/// Connects, tries again until it works or the time is over, and waits for the table.
pub(crate) async fn meet(settings: &Rendezvous, me: Member) -> Result<Met, Error> {
    let until = Instant::now() + settings.within;
    let (mut link, left) = connect(settings, &me, until).await?;
    let left = left.saturating_add(GRACE);
    let due = timeout(left, link.read()).await.map_err(|_| link.silent(left))?;
    match due.map_err(|error| link.broke(&error))? {
        ToRank::Table { members, shared, payload } => {
            let sharing = if shared { Sharing::Shared } else { Sharing::Exclusive };
            let table = Table::new(members, sharing).map_err(|_| link.sent("a table at odds"))?;
            let mine = table.member(settings.rank) == Some(&me);
            if !mine || table.world() != settings.world {
                return Err(link.sent("another world's table"));
            }
            Ok(Met { link, table, payload })
        }
        ToRank::Failed(report) => Err(Error::Failed(Arc::new(report))),
        _ => Err(link.sent("neither a table nor a report")),
    }
}

/// What becomes of one try.
enum Tried {
    /// It may be another matter the next time.
    Again(String),
    Never(Error),
}

/// Tries until the host says welcome, and how much time the others have left.
async fn connect(
    settings: &Rendezvous,
    me: &Member,
    until: Instant,
) -> Result<(Link, Duration), Error> {
    let mut attempts = 0_u32;
    let mut pause = PAUSE.0;
    let mut last = String::from("none");
    loop {
        attempts = attempts.saturating_add(1);
        match timeout_at(until, attempt(settings, me)).await {
            Ok(Ok(welcomed)) => return Ok(welcomed),
            Ok(Err(Tried::Never(error))) => return Err(error),
            Ok(Err(Tried::Again(what))) => last = what,
            Err(_) if attempts == 1 => "no answer".clone_into(&mut last),
            Err(_) => {}
        }
        if Instant::now() + pause >= until {
            sleep_until(until).await;
            return Err(Error::Unreachable {
                rank: settings.rank.index(),
                address: settings.address.clone(),
                within: settings.within,
                attempts,
                last,
            });
        }
        sleep(pause).await;
        pause = PAUSE.1.min(pause.saturating_mul(2));
    }
}

async fn attempt(settings: &Rendezvous, me: &Member) -> Result<(Link, Duration), Tried> {
    let address = (settings.address.host(), settings.address.port());
    let places = lookup_host(address).await.map_err(|error| Tried::Again(error.to_string()))?;
    let mut failed = Tried::Again("the name has no address".to_owned());
    for at in places {
        match timeout(TRY, reach(at)).await {
            Ok(Ok(stream)) => {
                let greeted = timeout(settings.handshake, greet(settings, stream, me)).await;
                let slow = || Err(Tried::Again("what listens there does not answer".to_owned()));
                return greeted.unwrap_or_else(|_| slow());
            }
            Ok(Err(error)) => failed = Tried::Again(error.to_string()),
            Err(_) => failed = Tried::Again("no answer".to_owned()),
        }
    }
    Err(failed)
}

async fn reach(at: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(at).await?;
    // On one machine, a port from which connections also go out can be met by itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(std::io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

async fn greet(
    settings: &Rendezvous,
    stream: TcpStream,
    me: &Member,
) -> Result<(Link, Duration), Tried> {
    tune(&stream);
    let rank = settings.rank.index();
    let address = || settings.address.clone();
    let again = |error: WireError| Tried::Again(error.to_string());
    let nonce = nonce().map_err(again)?;
    let secret = settings.secret.as_ref();
    let own = Own { side: Side::Rank, opening: Opening::of(rank), nonce, secret };
    let (mut reader, mut writer) = stream.into_split();
    let begun = begin(&mut reader, &mut writer, own).await.map_err(|stop| match stop {
        Stop::Stranger(error) | Stop::Broken(_, error) => {
            Tried::Again(format!("what listens there: {error}"))
        }
        Stop::Protocol(Opening { protocol: found, .. }) => {
            let needed = crate::message::PROTOCOL;
            Tried::Never(Error::Protocol { rank, found, needed })
        }
        Stop::Secret(_, why) => Tried::Never(Error::Secret { rank, address: address(), why }),
    })?;
    let Begun { opening, reading, writing } = begun;
    let mut link = Link { settings: settings.clone(), reader, writer, reading, writing };
    let host = settings.host.index();
    if opening.rank != host {
        let what = format!(
            "rank {} hosts the rendezvous at {}, and rank {rank} was told that rank {host} does",
            opening.rank, settings.address
        );
        return Err(Tried::Never(Error::setting(what)));
    }
    let ranks = settings.world.size().get();
    let hello = ToHost::Hello { ranks, job: settings.job.clone(), member: me.clone() };
    link.write(&hello).await.map_err(again)?;
    match link.read().await.map_err(again)? {
        ToRank::Welcome { within_ms } => Ok((link, Duration::from_millis(within_ms))),
        ToRank::OtherJob { job: found } => Err(Tried::Never(Error::Job {
            rank,
            address: address(),
            found,
            needed: settings.job.clone(),
        })),
        _ => Err(Tried::Never(link.sent("no welcome"))),
    }
}

impl Link {
    async fn read(&mut self) -> Result<ToRank, WireError> {
        let most = to_rank_limit(self.settings.world.size().get());
        read(&mut self.reader, &mut self.reading, most).await
    }

    async fn write(&mut self, message: &ToHost) -> Result<(), WireError> {
        Ok(self.writer.write_all(&sealed(&body(message), &mut self.writing)).await?)
    }

    fn silent(&self, within: Duration) -> Error {
        silent(&self.settings, within)
    }

    fn sent(&self, what: &str) -> Error {
        Error::HostBroke { host: self.settings.host.index(), what: what.to_owned() }
    }

    fn broke(&self, error: &WireError) -> Error {
        broke(&self.settings, error)
    }
}

fn silent(settings: &Rendezvous, within: Duration) -> Error {
    let (host, address) = (settings.host.index(), settings.address.clone());
    Error::HostSilent { host, address, within }
}

fn broke(settings: &Rendezvous, error: &WireError) -> Error {
    let (host, address) = (settings.host.index(), settings.address.clone());
    match error {
        WireError::Closed => Error::HostLost { host, address },
        other => Error::HostBroke { host, what: other.to_string() },
    }
}

/// Serves the session: asks the host for barriers, and hears what it says.
pub(crate) async fn serve(
    link: Link,
    mut commands: mpsc::Receiver<Command>,
    failure: watch::Sender<Option<Error>>,
) {
    let Link { settings, mut reader, mut writer, mut reading, mut writing } = link;
    let most = to_rank_limit(settings.world.size().get());
    let (sender, mut heard) = mpsc::channel(8);
    // A task of its own, since a read that is given up half-way loses what it read.
    let mut ears = JoinSet::new();
    ears.spawn(async move {
        loop {
            let message = read(&mut reader, &mut reading, most).await;
            let over = message.is_err();
            if sender.send(message).await.is_err() || over {
                return;
            }
        }
    });
    let mut waiting: Option<(Reply, bool)> = None;
    let mut patience: Option<(Instant, Duration)> = None;
    let ended = loop {
        let silence = async {
            match patience {
                Some((until, _)) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What was said before the connection ended is heard first.
            message = heard.recv() => match message.unwrap_or(Err(WireError::Closed)) {
                Ok(ToRank::Passed) => {
                    patience = None;
                    let Some((reply, last)) = waiting.take() else {
                        let host = settings.host.index();
                        break Err(Error::HostBroke { host, what: "a barrier's end".to_owned() });
                    };
                    if last {
                        let _ = reply.send(Ok(()));
                        break Ok(());
                    }
                    let _ = reply.send(Ok(()));
                }
                Ok(ToRank::Failed(report)) => break Err(Error::Failed(Arc::new(report))),
                Ok(_) => {
                    let host = settings.host.index();
                    break Err(Error::HostBroke { host, what: "what was not due".to_owned() });
                }
                Err(error) => break Err(broke(&settings, &error)),
            },
            command = commands.recv() => {
                let (message, wait, reply, last) = match command {
                    Some(Command::Arrive { barrier, last, within, reply }) => {
                        let within_ms = millis(within);
                        (ToHost::Arrived { barrier, last, within_ms }, within, reply, last)
                    }
                    Some(Command::GiveUp { reason, reply }) => {
                        (ToHost::GivesUp { reason }, Duration::ZERO, reply, false)
                    }
                    // The session was dropped: so is the connection.
                    None => break Ok(()),
                };
                let wait = wait.saturating_add(GRACE);
                waiting = Some((reply, last));
                patience = Some((Instant::now() + wait, wait));
                let frame = sealed(&body(&message), &mut writing);
                // A failure shows on the reading side, with what the host said last.
                let _ = timeout(GRACE, writer.write_all(&frame)).await;
            }
            () = silence => {
                let wait = patience.map_or(GRACE, |(_, wait)| wait);
                break Err(silent(&settings, wait));
            }
        }
    };
    if let Err(error) = ended {
        failure.send_replace(Some(error.clone()));
        if let Some((reply, _)) = waiting {
            let _ = reply.send(Err(error));
        }
    }
}
