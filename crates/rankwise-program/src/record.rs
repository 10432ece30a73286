//! The trace record: one call of one rank, flat, as one line of a file.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::Rank;
use rankwise_topology::{Group, WorldRank};
use serde::{Deserialize, Serialize};

use crate::matcher::Entry;
use crate::seq::Seq;

/// The version of the record's form.
pub const VERSION: u32 = 1;

/// One call of one rank, with everything needed to match it again elsewhere.
///
/// Flat, and named in words that other tools can read; as JSON it is one line. Numbers
/// that may need 64 bits are text there, since many readers keep only 53.
///
/// ```
/// use rankwise_model::{Dtype, GroupSize, Operation};
/// use rankwise_program::{Collective, Entry, Matcher, Record, Signature, Site};
/// use rankwise_topology::{Group, World};
///
/// let world = World::new(GroupSize::new(2).unwrap());
/// let group = Group::whole(world);
/// let mut matcher = Matcher::new(world);
/// let comm = matcher.add_communicator("tp", &group);
/// let gather = Collective::new(Operation::AllGather).unwrap();
/// let signature = Signature::collective(gather, Dtype::F32, 4);
/// let entry = Entry { comm, signature, site: Site::Text("train.py:7".into()), tag: None };
///
/// let rank = world.rank(1).unwrap();
/// let seat = matcher.post_beside(rank, entry.clone())?;
/// let record = Record::of(rank, &entry, "tp", &group, seat.seq).unwrap();
/// assert_eq!(
///     record.to_line(),
///     r#"{"version":1,"rank":1,"communicator":"tp","members":[0,1],"own":1,"seq":"0","#
///         .to_owned()
///         + r#""op":"all_gather","count":"4","counts":"contribution","dtype":"f32","#
///         + r#""site":"train.py:7"}"#
/// );
/// assert_eq!(Record::from_line(&record.to_line())?, record);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Record {
    /// The version of this form: [`VERSION`].
    pub version: u32,
    /// Who calls, in the world.
    pub rank: u32,
    /// The name of the communicator.
    pub communicator: String,
    /// Its members' world ranks, in rank order.
    pub members: Vec<u32>,
    /// Who calls, in the communicator.
    pub own: u32,
    /// The number of the call: of a collective among the communicator's, of a send or
    /// recv among those to or from that peer.
    #[serde(with = "text")]
    pub seq: u64,
    /// The name of the operation; `send` and `recv` are the sides of a message.
    pub op: String,
    /// The count argument, in elements.
    #[serde(default, with = "optional_text", skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What that count counts: `whole`, `contribution`, `shard`, `block` or `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
    /// The element type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// The reduction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction: Option<String>,
    /// The root, a rank of the communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<u32>,
    /// The other side of a message, a rank of the communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// The name of the stream; absent for a call beside all streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Which of the rank's units the call belongs to; absent for a call of its own.
    #[serde(default, with = "optional_text", skip_serializing_if = "Option::is_none")]
    pub unit: Option<u64>,
    /// The caller's name for what it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Where the call was made.
    pub site: String,
}

impl Record {
    /// The record of a call that has its number; `None` if the rank is no member of the
    /// group. Stream and unit are left to be filled in.
    pub fn of(
        rank: WorldRank,
        entry: &Entry,
        communicator: &str,
        group: &Group,
        seq: Seq,
    ) -> Option<Self> {
        let verb = entry.signature.verb();
        let payload = entry.signature.payload();
        Some(Self {
            version: VERSION,
            rank: rank.index(),
            communicator: communicator.to_string(),
            members: group.members().iter().map(|member| member.index()).collect(),
            own: group.rank_of(rank)?.index(),
            seq: match seq {
                Seq::Collective(number) | Seq::Message { number, .. } => number,
            },
            op: verb.name().to_string(),
            count: payload.map(|payload| payload.count),
            counts: verb.kind().map(|kind| kind.row().count.name().to_string()),
            dtype: payload.map(|payload| payload.dtype.name().to_string()),
            reduction: verb.reduction().map(|reduction| reduction.name().to_string()),
            root: verb.root().map(Rank::index),
            peer: verb.peer().map(Rank::index),
            stream: None,
            unit: None,
            tag: entry.tag.as_ref().map(|tag| tag.as_str().to_string()),
            site: entry.site.to_string(),
        })
    }

    /// The record as one line of JSON, without a line break.
    pub fn to_line(&self) -> String {
        // Text, numbers and lists of them: nothing that has no JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line of JSON. Another version is an error that gives both.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let record: Self = serde_json::from_str(line)?;
        if record.version == VERSION {
            return Ok(record);
        }
        Err(serde::de::Error::custom(format_args!(
            "a record of version {}, and this reads version {VERSION}",
            record.version
        )))
    }
}

/// A 64-bit number as text.
mod text {
    use alloc::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    // The signature that serde asks for.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(|_| {
            D::Error::custom(format_args!("{text:?} where a number below 2^64 is expected"))
        })
    }
}

/// A 64-bit number as text, if there is one.
mod optional_text {
    use alloc::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    // The signature that serde asks for.
    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(number: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => to.collect_str(number),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let Some(text) = Option::<Cow<'de, str>>::deserialize(from)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            D::Error::custom(format_args!("{text:?} where a number below 2^64 is expected"))
        })
    }
}
