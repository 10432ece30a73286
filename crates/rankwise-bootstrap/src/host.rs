//! The side that listens: one loop over what all connections and this rank say.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rankwise_topology::Sharing;
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::error::Error;
use crate::frame::body;
use crate::handshake::Stop;
use crate::link::{Event, Terms, connection};
use crate::member::Member;
use crate::message::{ToHost, ToRank};
use crate::report::{Fault, Whence};
use crate::roll::{Claim, Conn, Roll};
use crate::session::{Command, Reply};
use crate::settings::Rendezvous;
use crate::steps::{Passed, Steps};
use crate::table::Table;

/// How long the last word may take to reach the others.
const FAREWELL: Duration = Duration::from_secs(3);

/// The connections, whatever they are worth.
pub(crate) struct Links {
    /// Ends them all when it is dropped.
    tasks: JoinSet<()>,
    events: mpsc::Receiver<Event>,
    /// Where each that has come is written to.
    outward: BTreeMap<Conn, mpsc::Sender<Arc<[u8]>>>,
}

/// What gathering ends in, where it goes well.
pub(crate) struct Gathered {
    links: Links,
    roll: Roll,
    pub(crate) table: Table,
}

/// Listens where told: at the first of the addresses of that name that is this machine's.
pub(crate) async fn listen(settings: &Rendezvous) -> Result<TcpListener, Error> {
    let address = &settings.address;
    let listen =
        |address: String, error: &std::io::Error| Error::Listen { address, kind: error.kind() };
    let places: Vec<SocketAddr> = match settings.listen {
        Some(at) => vec![at],
        None => lookup_host((address.host(), address.port()))
            .await
            .map_err(|error| listen(address.to_string(), &error))?
            .collect(),
    };
    let mut refused = listen(address.to_string(), &std::io::ErrorKind::NotFound.into());
    for at in places {
        match TcpListener::bind(at).await {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = listen(at.to_string(), &error),
        }
    }
    Err(refused)
}

/// Waits for all ranks; whoever comes gets the table, or the report.
pub(crate) async fn gather(
    settings: &Rendezvous,
    listener: Option<TcpListener>,
    me: Member,
    payload: &[u8],
) -> Result<Gathered, Error> {
    let within_ms = millis(settings.within);
    let until = Instant::now() + settings.within;
    let (sender, events) = mpsc::channel(1024);
    let mut links = Links { tasks: JoinSet::new(), events, outward: BTreeMap::new() };
    let (world, sharing, rank) = (settings.world, settings.sharing, settings.rank.index());
    let mut roll = Roll::new(world, sharing, settings.job.clone(), rank, me);
    let terms =
        Arc::new(Terms { rank, secret: settings.secret.clone(), handshake: settings.handshake });
    let mut door = Door { next: 0, half_open: VecDeque::new(), most: settings.half_open };
    let ranks = usize::try_from(world.size().get()).unwrap_or(usize::MAX);
    let most = ranks.saturating_add(settings.half_open);
    while let Some(listener) = &listener
        && !roll.is_over()
    {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    let conn = door.number();
                    let task = connection(conn, stream, from, terms.clone(), sender.clone());
                    if door.admit(conn, links.tasks.spawn(task)) {
                        roll.turn_away("", &Stop::Stranger(crate::frame::WireError::Closed));
                    }
                }
                // Out of file descriptors, most likely: others will be closed.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(event) = links.events.recv() => match event {
                Event::Came { conn, rank, hello, address, outward } => {
                    let known = door.settle(conn);
                    let ToHost::Hello { ranks, job, member } = hello else { continue };
                    if !known || links.outward.len() >= most {
                        continue; // evicted meanwhile, or more than there can be
                    }
                    if !roll.admits(rank, job.as_deref(), &address) {
                        let job = settings.job.clone();
                        let _ = outward.try_send(body(&ToRank::OtherJob { job }).into());
                        continue;
                    }
                    let left = until.saturating_duration_since(Instant::now());
                    let welcome = ToRank::Welcome { within_ms: millis(left) };
                    let _ = outward.try_send(body(&welcome).into());
                    links.outward.insert(conn, outward);
                    roll.come(conn, Claim { rank, ranks, member, address });
                }
                Event::Turned { conn, address, stop } => {
                    // One that was evicted has been counted.
                    if door.settle(conn) {
                        roll.turn_away(&address, &stop);
                    }
                }
                // Whoever says something before the table is there breaks off as well.
                Event::Said { conn, .. } | Event::Closed { conn } => {
                    if links.outward.remove(&conn).is_some() {
                        roll.lose(conn);
                    }
                }
            },
            () = sleep_until(until) => break,
        }
    }
    drop(listener);
    door.close();
    match roll.close(within_ms) {
        Ok(table) => {
            let members = table.members().map(|(_, member)| member.clone()).collect();
            let shared = sharing == Sharing::Shared;
            links.say(&ToRank::Table { members, shared, payload: payload.to_vec() });
            Ok(Gathered { links, roll, table })
        }
        Err(report) => {
            links.say(&ToRank::Failed(report.clone()));
            links.farewell().await;
            Err(Error::Failed(Arc::new(report)))
        }
    }
}

/// Connections that have not said who they are.
struct Door {
    next: Conn,
    half_open: VecDeque<(Conn, AbortHandle)>,
    most: usize,
}

impl Door {
    fn number(&mut self) -> Conn {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Lets one in; whether the oldest had to go for it. A rank says who it is at once,
    /// so the oldest is the least likely to be one.
    fn admit(&mut self, conn: Conn, task: AbortHandle) -> bool {
        self.half_open.push_back((conn, task));
        if self.half_open.len() <= self.most {
            return false;
        }
        let oldest = self.half_open.pop_front();
        oldest.inspect(|(_, task)| task.abort()).is_some()
    }

    /// One has said who it is, or went; whether it was still waited for.
    fn settle(&mut self, conn: Conn) -> bool {
        let before = self.half_open.len();
        self.half_open.retain(|(open, _)| *open != conn);
        self.half_open.len() < before
    }

    fn close(self) {
        for (_, task) in self.half_open {
            task.abort();
        }
    }
}

impl Links {
    /// Tells everyone who is connected.
    fn say(&mut self, message: &ToRank) {
        let body: Arc<[u8]> = body(message).into();
        // A rank that does not read while several messages wait for it is as good as gone,
        // and its connection will end.
        self.outward.retain(|_, outward| outward.try_send(body.clone()).is_ok());
    }

    /// Closes all connections once what was said is written and the others have left.
    ///
    /// Closing at once could lose the last word: a socket with unread input is reset.
    async fn farewell(mut self) {
        self.outward.clear();
        self.events.close();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Whoever is not done by then is cut off.
        let _ = timeout(FAREWELL, all).await;
    }
}

/// Serves the session: barriers, losses, and the end.
pub(crate) async fn serve(
    gathered: Gathered,
    host: u32,
    mut commands: mpsc::Receiver<Command>,
    failure: watch::Sender<Option<Error>>,
) {
    let Gathered { mut links, roll, table } = gathered;
    let ranks = roll.ranks();
    let mut steps = Steps::new(table.world().size().get(), "gathering");
    drop(table);
    let mut waiting: Option<Reply> = None;
    let ended = loop {
        let deadline = steps.deadline();
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let moved = tokio::select! {
            Some(event) = links.events.recv() => match event {
                Event::Said { conn, message } => match ranks.get(&conn) {
                    Some(rank) => said(&mut steps, *rank, message),
                    None => Ok(None),
                },
                Event::Closed { conn } => {
                    links.outward.remove(&conn);
                    match ranks.get(&conn) {
                        Some(rank) => Err(vec![lost(&roll, *rank)]),
                        None => Ok(None),
                    }
                }
                Event::Came { .. } | Event::Turned { .. } => Ok(None),
            },
            command = commands.recv() => match command {
                Some(Command::Arrive { barrier, last, within, reply }) => {
                    waiting = Some(reply);
                    arrive(&mut steps, host, barrier, last, millis(within))
                }
                Some(Command::GiveUp { reason, reply }) => {
                    waiting = Some(reply);
                    Err(vec![Fault::GaveUp { rank: host, reason }])
                }
                None => Err(vec![lost(&roll, host)]),
            },
            () = late => Err(steps.late()),
        };
        match moved {
            Ok(None) => {}
            Ok(Some(passed)) => {
                links.say(&ToRank::Passed);
                if passed == Passed::Last {
                    break Ok(());
                }
                if let Some(reply) = waiting.take() {
                    let _ = reply.send(Ok(()));
                }
            }
            Err(faults) => {
                let report = roll.report(steps.stage(), faults);
                links.say(&ToRank::Failed(report.clone()));
                break Err(Error::Failed(Arc::new(report)));
            }
        }
    };
    // First the others, then this rank, whose process may end on it.
    links.farewell().await;
    if let Err(error) = &ended {
        failure.send_replace(Some(error.clone()));
    }
    if let Some(reply) = waiting {
        let _ = reply.send(ended);
    }
}

type Moved = Result<Option<Passed>, Vec<Fault>>;

fn said(steps: &mut Steps, rank: u32, message: ToHost) -> Moved {
    match message {
        ToHost::Arrived { barrier, last, within_ms } => {
            arrive(steps, rank, barrier, last, within_ms)
        }
        ToHost::GivesUp { reason } => Err(vec![Fault::GaveUp { rank, reason }]),
        ToHost::Hello { .. } => Err(vec![Fault::Broke { rank, what: "a second hello".to_owned() }]),
    }
}

fn arrive(steps: &mut Steps, rank: u32, barrier: String, last: bool, within_ms: u64) -> Moved {
    // A rank may not make the others' clock overflow.
    let within_ms = within_ms.min(millis(LONGEST));
    let until = Instant::now() + Duration::from_millis(within_ms);
    steps.arrive(rank, (barrier, last), (until, within_ms)).map_err(|fault| vec![fault])
}

/// The longest that anything is waited for: a hundred days.
pub(crate) const LONGEST: Duration = Duration::from_hours(2400);

fn lost(roll: &Roll, rank: u32) -> Fault {
    let nobody = || Whence { host: String::new(), process: 0, address: String::new() };
    Fault::Lost { rank, process: roll.whence(rank).unwrap_or_else(nobody) }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
