//! How two sides begin: versions, then the secret, if there is one.
//!
//! Each side first sends sixteen bytes of a form that no version will change: the name
//! of the protocol, its version, and a rank. So a host can name a rank whose messages it
//! cannot read, and can tell a rank from a stranger before it reads any length.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::frame::{Seal, WireError, body, read, sealed};
use crate::message::{GREETING_LIMIT, Greeting, PROTOCOL, Proof};
use crate::report::Refusal;
use crate::secret::Secret;

const MAGIC: &[u8; 8] = b"rankwise";

/// The first bytes of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) protocol: u32,
    pub(crate) rank: u32,
}

/// Why two sides do not get beyond the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The other side speaks another protocol altogether, or ended before it spoke.
    Stranger(WireError),
    /// The other side speaks another version.
    Protocol(Opening),
    /// The other side is turned away, or turns us away.
    Secret(Opening, Refusal),
    /// It said who it is, and then stopped.
    Broken(Opening, WireError),
}

/// What follows frames in either direction.
#[derive(Debug)]
pub(crate) struct Begun {
    /// The other side's opening.
    pub(crate) opening: Opening,
    pub(crate) reading: Seal,
    pub(crate) writing: Seal,
}

/// Which side this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Host,
    Rank,
}

/// What this side brings along.
pub(crate) struct Own<'a> {
    pub(crate) side: Side,
    pub(crate) opening: Opening,
    pub(crate) nonce: [u8; 32],
    pub(crate) secret: Option<&'a Secret>,
}

impl Opening {
    pub(crate) const fn of(rank: u32) -> Self {
        Self { protocol: PROTOCOL, rank }
    }

    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let parts = MAGIC.iter().copied().chain(self.protocol.to_be_bytes());
        for (slot, byte) in bytes.iter_mut().zip(parts.chain(self.rank.to_be_bytes())) {
            *slot = byte;
        }
        bytes
    }

    async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Self, WireError> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic).await?;
        if &magic != MAGIC {
            return Err(WireError::Message("it does not begin as one".to_owned()));
        }
        Ok(Self { protocol: from.read_u32().await?, rank: from.read_u32().await? })
    }
}

/// Begins with the other side, whichever it is.
pub(crate) async fn begin(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    own: Own<'_>,
) -> Result<Begun, Stop> {
    let stranger = |error: std::io::Error| Stop::Stranger(error.into());
    // A rank speaks first: a host says nothing to whoever says nothing.
    if own.side == Side::Rank {
        writer.write_all(&own.opening.bytes()).await.map_err(stranger)?;
    }
    let opening = Opening::read(reader).await.map_err(Stop::Stranger)?;
    if own.side == Side::Host {
        writer.write_all(&own.opening.bytes()).await.map_err(stranger)?;
    }
    if opening.protocol != own.opening.protocol {
        return Err(Stop::Protocol(opening));
    }
    prove(reader, writer, &own, opening).await.map_err(|stop| match stop {
        Ok(refusal) => Stop::Secret(opening, refusal),
        Err(error) => Stop::Broken(opening, error),
    })
}

/// Greetings and proofs.
async fn prove(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    own: &Own<'_>,
    opening: Opening,
) -> Result<Begun, Result<Refusal, WireError>> {
    let broken = |error: WireError| Err(error);
    let mut plain = (Seal::default(), Seal::default());
    let greeting = Greeting { secret: own.secret.is_some(), nonce: own.nonce };
    send(writer, &greeting, &mut plain.0).await.map_err(broken)?;
    let theirs: Greeting = read(reader, &mut plain.1, GREETING_LIMIT).await.map_err(broken)?;
    let secret = match (own.secret, theirs.secret, own.side) {
        (Some(secret), true, _) => secret,
        (None, false, _) => {
            return Ok(Begun { opening, reading: Seal::default(), writing: Seal::default() });
        }
        // Said as the host sees it.
        (Some(_), false, Side::Host) | (None, true, Side::Rank) => {
            return Err(Ok(Refusal::NoSecret));
        }
        (None, true, Side::Host) | (Some(_), false, Side::Rank) => {
            return Err(Ok(Refusal::SecretUnasked));
        }
    };
    // Both sides' first words, the rank's first, so that neither can be given another's.
    let [host, rank] = match own.side {
        Side::Host => [(own.opening, own.nonce), (opening, theirs.nonce)],
        Side::Rank => [(opening, theirs.nonce), (own.opening, own.nonce)],
    };
    let said = [rank.0.bytes().as_slice(), &rank.1, &host.0.bytes(), &host.1].concat();
    let by_rank: &[&[u8]] = &[b"proof of a rank.", &said];
    let by_host: &[&[u8]] = &[b"proof of a host.", &said];
    let (ours, others) =
        if own.side == Side::Rank { (by_rank, by_host) } else { (by_host, by_rank) };
    // The rank shows first: a host gives no code to a stranger.
    let shown = Proof::Shown(secret.code(ours));
    if own.side == Side::Rank {
        send(writer, &shown, &mut plain.0).await.map_err(broken)?;
    }
    let proof: Proof = read(reader, &mut plain.1, GREETING_LIMIT).await.map_err(broken)?;
    let knows = matches!(proof, Proof::Shown(tag) if secret.verify(others, &tag));
    if own.side == Side::Host {
        let answer = if knows { shown } else { Proof::Refused };
        send(writer, &answer, &mut plain.0).await.map_err(broken)?;
    }
    if !knows {
        return Err(Ok(Refusal::WrongSecret));
    }
    let to_host = Seal::keyed(secret.derive(&[b"frames to host..", &said]));
    let to_rank = Seal::keyed(secret.derive(&[b"frames to rank..", &said]));
    Ok(match own.side {
        Side::Host => Begun { opening, reading: to_host, writing: to_rank },
        Side::Rank => Begun { opening, reading: to_rank, writing: to_host },
    })
}

async fn send(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &impl serde::Serialize,
    seal: &mut Seal,
) -> Result<(), WireError> {
    Ok(writer.write_all(&sealed(&body(message), seal)).await?)
}

#[cfg(test)]
mod tests;
