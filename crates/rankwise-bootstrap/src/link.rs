//! One connection, as the host sees it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::frame::{Seal, WireError, read, sealed};
use crate::handshake::{Begun, Opening, Own, Side, Stop, begin};
use crate::message::{TO_HOST_LIMIT, ToHost};
use crate::roll::Conn;
use crate::secret::Secret;

/// How long one message may take to be written.
const WRITE: Duration = Duration::from_secs(10);

/// What the host asks of every connection.
pub(crate) struct Terms {
    pub(crate) rank: u32,
    pub(crate) secret: Option<Secret>,
    pub(crate) handshake: Duration,
}

/// What a connection has to say to the host's loop.
pub(crate) enum Event {
    /// A process came and said who it is.
    Came { conn: Conn, rank: u32, hello: ToHost, address: String, outward: mpsc::Sender<Arc<[u8]>> },
    /// It was none, or is turned away.
    Turned { conn: Conn, address: String, stop: Stop },
    /// A process that came sent a message.
    Said { conn: Conn, message: ToHost },
    /// A process that came closed its connection, or sent what is no message.
    Closed { conn: Conn },
}

/// Lives as long as the connection does.
pub(crate) async fn connection(
    conn: Conn,
    stream: TcpStream,
    from: SocketAddr,
    terms: Arc<Terms>,
    events: mpsc::Sender<Event>,
) {
    let address = from.to_string();
    tune(&stream);
    let (mut reader, mut writer) = stream.into_split();
    let greeted = timeout(terms.handshake, greet(&mut reader, &mut writer, &terms)).await;
    let (begun, hello) = match greeted.unwrap_or(Err(Stop::Stranger(WireError::Closed))) {
        Ok(greeted) => greeted,
        Err(stop) => {
            let _ = events.send(Event::Turned { conn, address, stop }).await;
            return;
        }
    };
    let Begun { opening: Opening { rank, .. }, reading, writing } = begun;
    // A welcome, the table, a barrier and the end may wait at once; not more.
    let (outward, queue) = mpsc::channel(8);
    let _ = events.send(Event::Came { conn, rank, hello, address, outward }).await;
    tokio::join!(listen(conn, reader, reading, &events), speak(writer, writing, queue));
}

async fn greet(
    reader: &mut OwnedReadHalf,
    writer: &mut OwnedWriteHalf,
    terms: &Terms,
) -> Result<(Begun, ToHost), Stop> {
    let nonce = nonce().map_err(Stop::Stranger)?;
    let opening = Opening::of(terms.rank);
    let own = Own { side: Side::Host, opening, nonce, secret: terms.secret.as_ref() };
    let mut begun = begin(reader, writer, own).await?;
    let broken = |error| Stop::Broken(begun.opening, error);
    let hello = read(reader, &mut begun.reading, TO_HOST_LIMIT).await;
    match hello.map_err(broken)? {
        hello @ ToHost::Hello { .. } => Ok((begun, hello)),
        _ => Err(broken(WireError::Message("no hello".to_owned()))),
    }
}

async fn listen(conn: Conn, mut from: OwnedReadHalf, mut seal: Seal, to: &mpsc::Sender<Event>) {
    loop {
        let event = match read(&mut from, &mut seal, TO_HOST_LIMIT).await {
            Ok(message) => Event::Said { conn, message },
            Err(_) => Event::Closed { conn },
        };
        let closed = matches!(event, Event::Closed { .. });
        // Nobody may be interested any more; then it is read until it ends, so that what
        // was written is not lost to a reset.
        let _ = to.send(event).await;
        if closed {
            return;
        }
    }
}

async fn speak(mut to: OwnedWriteHalf, mut seal: Seal, mut queue: mpsc::Receiver<Arc<[u8]>>) {
    while let Some(body) = queue.recv().await {
        if !matches!(timeout(WRITE, to.write_all(&sealed(&body, &mut seal))).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// A fresh random number.
pub(crate) fn nonce() -> Result<[u8; 32], WireError> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce)
        .map_err(|error| WireError::Message(format!("no random numbers: {error}")))?;
    Ok(nonce)
}

/// Small messages at once; and a machine that falls silent is noticed by the operating
/// system in about a minute, without asking a process that is busy. All of it is a
/// help, not a condition, so that refusals are passed over.
pub(crate) fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new();
    let keepalive = keepalive.with_time(Duration::from_secs(15));
    let keepalive = keepalive.with_interval(Duration::from_secs(5));
    let _ = socket.set_tcp_keepalive(&keepalive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_mins(1)));
}
