//! Frames: a length, that many bytes of JSON, and a code where a secret is shared.
//!
//! JSON, because a rendezvous is small, rare and worth reading in a packet dump, and
//! because a field can be added without a new format. The length comes first and is
//! compared with a bound before anything is read, so that nobody makes us hold more.

use std::fmt;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::secret::{Secret, Tag};

/// Why no frame, or no message, could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireError {
    /// The connection ended, between two frames or within one.
    Closed,
    /// A frame longer than is allowed at this point.
    TooLong { found: u32, most: u32 },
    /// The code does not belong to the frame: altered, repeated or out of order.
    Seal,
    /// Not the message that is due.
    Message(String),
    /// The operating system's word.
    Io(io::ErrorKind),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::TooLong { found, most } => {
                write!(f, "a message of {found} bytes, at most {most} are allowed here")
            }
            Self::Seal => f.write_str("a message whose code does not fit the secret"),
            Self::Message(what) => write!(f, "no message of this protocol: {what}"),
            Self::Io(kind) => kind.fmt(f),
        }
    }
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Closed,
            kind => Self::Io(kind),
        }
    }
}

/// One direction of a connection: what its frames are sealed with, and how many went.
///
/// The number is part of the code, so that a frame cannot be repeated, dropped or moved.
#[derive(Debug, Default)]
pub(crate) struct Seal {
    key: Option<Secret>,
    frames: u64,
}

impl Seal {
    pub(crate) const fn keyed(key: Secret) -> Self {
        Self { key: Some(key), frames: 0 }
    }

    fn next(&mut self) -> [u8; 8] {
        let number = self.frames.to_be_bytes();
        self.frames = self.frames.wrapping_add(1);
        number
    }
}

/// The body of a message.
pub(crate) fn body(message: &impl Serialize) -> Vec<u8> {
    #[allow(clippy::expect_used)] // our messages have string keys and no failing parts
    serde_json::to_vec(message).expect("messages are written to memory")
}

/// The frame of a body.
pub(crate) fn sealed(body: &[u8], seal: &mut Seal) -> Vec<u8> {
    // Every message is bounded far below 32 bits where it is made.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    let number = seal.next();
    let code = seal.key.as_ref().map(|key| key.code(&[&number, body]));
    [length.as_slice(), body, code.as_ref().map_or(&[], Tag::as_slice)].concat()
}

/// Reads one message of at most `most` bytes.
pub(crate) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    seal: &mut Seal,
    most: u32,
) -> Result<T, WireError> {
    let found = from.read_u32().await?;
    if found > most {
        return Err(WireError::TooLong { found, most });
    }
    // Grows with what comes: a length alone reserves nothing.
    let mut body = Vec::new();
    from.take(u64::from(found)).read_to_end(&mut body).await?;
    if u32::try_from(body.len()) != Ok(found) {
        return Err(WireError::Closed);
    }
    let number = seal.next();
    if let Some(key) = &seal.key {
        let mut code: Tag = [0; 32];
        from.read_exact(&mut code).await?;
        if !key.verify(&[&number, &body], &code) {
            return Err(WireError::Seal);
        }
    }
    serde_json::from_slice(&body).map_err(|error| WireError::Message(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Seal {
        Seal::keyed(Secret::new(&[7; 32]).unwrap())
    }

    async fn get(bytes: &[u8], seal: &mut Seal) -> Result<String, WireError> {
        read(&mut &*bytes, seal, 100).await
    }

    #[tokio::test]
    async fn a_frame_is_its_length_and_its_json() {
        let frame = sealed(&body(&"abc"), &mut Seal::default());
        assert_eq!(frame, b"\0\0\0\x05\"abc\"");
        assert_eq!(get(&frame, &mut Seal::default()).await.unwrap(), "abc");
    }

    #[tokio::test]
    async fn what_is_cut_long_or_no_json_is_refused() {
        let seal = &mut Seal::default();
        assert_eq!(get(b"", seal).await, Err(WireError::Closed));
        assert_eq!(get(b"\0\0\0\x05\"ab", seal).await, Err(WireError::Closed));
        let long = WireError::TooLong { found: u32::MAX, most: 100 };
        assert_eq!(get(b"\xff\xff\xff\xff", seal).await, Err(long));
        assert!(matches!(get(b"\0\0\0\x02ab", seal).await, Err(WireError::Message(_))));
        // The first bytes of a request in HTTP are a length, and too long.
        assert!(matches!(get(b"GET / HTTP", seal).await, Err(WireError::TooLong { .. })));
    }

    #[tokio::test]
    async fn a_sealed_frame_can_be_neither_altered_nor_repeated() {
        let mut sending = key();
        let first = sealed(&body(&"one"), &mut sending);
        let second = sealed(&body(&"two"), &mut sending);
        let mut reading = key();
        assert_eq!(get(&first, &mut reading).await.unwrap(), "one");
        assert_eq!(get(&second, &mut reading).await.unwrap(), "two");

        let mut reading = key();
        assert_eq!(get(&second, &mut reading).await, Err(WireError::Seal)); // one was dropped
        let mut reading = key();
        assert_eq!(get(&first, &mut reading).await.unwrap(), "one");
        assert_eq!(get(&first, &mut reading).await, Err(WireError::Seal));
        let mut altered = first;
        altered[5] = b'O';
        assert_eq!(get(&altered, &mut key()).await, Err(WireError::Seal));
    }
}
