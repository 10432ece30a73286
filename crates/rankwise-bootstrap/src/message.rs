//! The messages, and how long each may be.

use serde::{Deserialize, Serialize};

use crate::hex;
use crate::member::{MEMBER_BYTES, Member};
use crate::report::Report;
use crate::secret::Tag;

/// The version of the protocol: raised when a message changes its meaning.
pub(crate) const PROTOCOL: u32 = 1;

/// The most bytes of a payload: many ids of 128 bytes, and no place for data.
pub(crate) const PAYLOAD_BYTES: u32 = 64 * 1024;
/// The most bytes of a barrier's name.
pub(crate) const NAME_BYTES: usize = 64;
/// The most bytes of a reason for giving up, and of a job's name.
pub(crate) const TEXT_BYTES: usize = 512;

/// The most bytes of a message before the secret is shown.
pub(crate) const GREETING_LIMIT: u32 = 512;
/// The most bytes of a message to the host.
pub(crate) const TO_HOST_LIMIT: u32 = 2 * MEMBER_BYTES;

/// The most bytes of a message to a rank of a world of that size: of the table, or of a
/// report, which may name every rank several times.
pub(crate) const fn to_rank_limit(ranks: u32) -> u32 {
    // A payload in hexadecimal, every member, and as much again for what a report says.
    let fixed = 4 * PAYLOAD_BYTES;
    fixed.saturating_add(ranks.saturating_mul(MEMBER_BYTES + 128))
}

/// The first message of either side.
#[derive(Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// Whether it has a secret.
    pub(crate) secret: bool,
    /// A fresh random number.
    #[serde(with = "hex")]
    pub(crate) nonce: [u8; 32],
}

/// The second, where both have a secret.
#[derive(Serialize, Deserialize)]
pub(crate) enum Proof {
    /// It knows the secret.
    Shown(#[serde(with = "hex")] Tag),
    /// The other side does not.
    Refused,
}

/// What a rank tells the host of the rendezvous.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToHost {
    /// Who it is; first, and once.
    Hello {
        /// The number of ranks that it was told.
        ranks: u32,
        /// Its job.
        job: Option<String>,
        /// Itself.
        member: Member,
    },
    /// It is at a barrier.
    Arrived {
        /// The barrier's name.
        barrier: String,
        /// Whether it ends the session.
        last: bool,
        /// How long it waits.
        within_ms: u64,
    },
    /// It gives up.
    GivesUp {
        /// Why.
        reason: String,
    },
}

/// What the host tells a rank.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToRank {
    /// It has come; the others have so much time left.
    Welcome {
        /// In milliseconds.
        within_ms: u64,
    },
    /// It belongs to another job than this.
    OtherJob {
        /// The host's job.
        job: Option<String>,
    },
    /// Everybody has come.
    Table {
        /// By rank.
        members: Vec<Member>,
        /// Whether a device may host several ranks.
        shared: bool,
        /// The host's payload.
        #[serde(with = "hex")]
        payload: Vec<u8>,
    },
    /// Everybody is at the barrier.
    Passed,
    /// It is over.
    Failed(Report),
}
