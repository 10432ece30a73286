//! Reports as text: the first line says it all, the others say where to look.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use rankwise_model::Rank;
use rankwise_topology::WorldRank;

use super::{Absent, Call, Edge, Kind, Member, Report, Side, Why};
use crate::call::{Signature, Verb};
use crate::site::Site;

/// Places named for one side, before the rest is only counted.
const SHOWN_SITES: usize = 4;

/// What a split by a list of ranks is called.
const NEW_GROUP: &str = "new_group";

/// Members named one by one, before the rest is only counted.
const SHOWN_MEMBERS: usize = 16;

impl Kind {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::MissingRank => "missing rank",
            Self::UnmatchedMessage => "unmatched message",
            Self::Deadlock => "deadlock",
            Self::OrderDiffers => "order differs",
            Self::Hazard => "hazard",
            Self::Overlap => "overlap",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Display for Report {
    /// Several lines, without a line break at the end:
    ///
    /// ```text
    /// mismatch of count: all_reduce(sum), collective 0 of world (3 ranks), outlier rank 2
    ///   rank 0, 1: all_reduce(sum) of 4 × f32
    ///     at src/train.rs:7:5
    ///   rank 2: all_reduce(sum) of 5 × f32
    ///     at src/train.rs:9:5
    /// ```
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        for side in &self.sides {
            let called = Called { signature: &side.signature, creates: side.creates.as_deref() };
            write!(f, "\n  {}: {called}", OfMembers(&side.members))?;
            if let Some(tag) = &side.tag {
                write!(f, " (tag {tag})")?;
            }
            places(f, side)?;
        }
        for absent in self.absent.iter().take(SHOWN_MEMBERS) {
            write!(f, "\n  {absent}")?;
        }
        if let Some(more) = self.absent.len().checked_sub(SHOWN_MEMBERS).filter(|more| *more > 0) {
            write!(f, "\n  … and {more} more that have not called")?;
        }
        for edge in &self.waits {
            write!(f, "\n  {edge}")?;
        }
        if let Some(conflict) = &self.conflict {
            conflict.body(f)?;
        }
        for (rank, call) in &self.instead {
            write!(f, "\n  rank {rank} calls {call} instead, without its other side")?;
        }
        for divergence in &self.divergences {
            write!(f, "\n  {divergence}")?;
        }
        for (rank, calls) in &self.recent {
            let what = match calls.as_slice() {
                [] => continue,
                // The only call of a rank that has called stands above.
                [only] if !self.is_only_here(*rank, only) => continue,
                [_] => "call",
                _ => "calls",
            };
            write!(f, "\n  last {what} of rank {rank}:")?;
            for call in calls {
                write!(f, "\n    {call}")?;
            }
        }
        Ok(())
    }
}

impl Report {
    /// Whether a rank's only call stands nowhere else: the rank has not made the one that
    /// this is about, and waits in no other.
    fn is_only_here(&self, rank: WorldRank, only: &Call) -> bool {
        let waits = |why: &Why| matches!(why, Why::Blocked { call: Some(call) } if call == only);
        self.absent.iter().any(|absent| absent.member.world == rank && !waits(&absent.why))
    }

    fn headline(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if !self.aspects.is_empty() {
            write!(f, " of {}", self.aspects)?;
        }
        if !self.waits.is_empty() {
            return self.headline_of_waits(f);
        }
        f.write_str(": ")?;
        if let Some(conflict) = &self.conflict {
            return conflict.headline(f);
        }
        let mut verbs: Vec<Option<Verb>> = Vec::new();
        for side in &self.sides {
            // A group by list has no verb of its own.
            let verb = side.creates.is_none().then(|| side.signature.verb());
            if !verbs.contains(&verb) {
                verbs.push(verb);
            }
        }
        for (at, verb) in verbs.iter().enumerate() {
            if at > 0 {
                f.write_str(" against ")?;
            }
            match verb {
                Some(verb) => named(f, *verb)?,
                None => f.write_str(NEW_GROUP)?,
            }
        }
        if !verbs.is_empty() {
            f.write_str(", ")?;
        }
        if let Some(seq) = self.seq {
            write!(f, "{seq} of ")?;
        }
        write!(f, "{} ({} ranks)", self.communicator, self.ranks)?;
        if self.outliers.is_empty() {
            if self.sides.len() > 1 && self.kind == Kind::Mismatch {
                let sizes = || self.sides.iter().map(|side| side.members.len());
                let is_even = sizes().min() == sizes().max();
                f.write_str(if is_even {
                    ", no majority: an even split"
                } else {
                    ", no majority"
                })?;
            }
        } else {
            let plural = if self.outliers.len() > 1 { "outliers" } else { "outlier" };
            write!(f, ", {plural} rank {}", Ranks(&self.outliers))?;
        }
        if self.sides.len() <= 1 && !self.absent.is_empty() {
            let absent: Vec<_> = self.absent.iter().map(|absent| absent.member.world).collect();
            write!(f, ", without rank {}", Ranks(&absent))?;
        }
        Ok(())
    }

    fn headline_of_waits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = Vec::new();
        for edge in &self.waits {
            if !names.contains(&&*edge.call.communicator) {
                names.push(&edge.call.communicator);
            }
        }
        f.write_str(": ")?;
        let cycle = self.cycle();
        match cycle.first() {
            Some(first) => {
                for rank in &cycle {
                    write!(f, "{rank} → ")?;
                }
                write!(f, "{first}")?;
            }
            None => f.write_str("ranks that wait for each other")?,
        }
        f.write_str(" on ")?;
        for (at, name) in names.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// The calls of one side, with the places they come from.
fn places(f: &mut Formatter<'_>, side: &Side) -> fmt::Result {
    if let [(site, _)] = side.sites.as_slice() {
        return write!(f, "\n    {}", Place(site));
    }
    for (site, ranks) in side.sites.iter().take(SHOWN_SITES) {
        write!(f, "\n    {} (rank {})", Place(site), Ranks(ranks))?;
    }
    match side.sites.len().checked_sub(SHOWN_SITES) {
        Some(more) if more > 0 => write!(f, "\n    … and {more} more places"),
        _ => Ok(()),
    }
}

/// A verb without what is each rank's own.
fn named(f: &mut Formatter<'_>, verb: Verb) -> fmt::Result {
    match verb {
        Verb::Split { .. } => f.write_str(verb.name()),
        verb => verb.fmt(f),
    }
}

/// A call without what is each rank's own.
struct Called<'a> {
    signature: &'a Signature,
    creates: Option<&'a [Rank]>,
}

impl Display for Called<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.signature.verb(), self.creates) {
            (_, Some(members)) => {
                let indices: Vec<u32> = members.iter().map(|member| member.index()).collect();
                write!(f, "{NEW_GROUP}({})", Runs(&indices))
            }
            (verb @ Verb::Split { .. }, None) => named(f, verb),
            _ => self.signature.fmt(f),
        }
    }
}

/// Members by their world ranks, and by the ranks of the communicator where they differ.
struct OfMembers<'a>(&'a [Member]);

impl Display for OfMembers<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut world: Vec<u32> = self.0.iter().map(|member| member.world.index()).collect();
        let mut own: Vec<u32> = self.0.iter().map(|member| member.rank.index()).collect();
        world.sort_unstable();
        own.sort_unstable();
        write!(f, "rank {}", Runs(&world))?;
        if self.0.iter().any(|member| member.world.index() != member.rank.index()) {
            write!(f, " (here {})", Runs(&own))?;
        }
        Ok(())
    }
}

/// World ranks as a list: `0, 1`, and `2 to 6` for a run of more than two.
pub(crate) struct Ranks<'a>(pub(crate) &'a [WorldRank]);

impl Display for Ranks<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let indices: Vec<u32> = self.0.iter().map(|rank| rank.index()).collect();
        Runs(&indices).fmt(f)
    }
}

/// Numbers as a list, runs of more than two drawn together.
struct Runs<'a>(&'a [u32]);

impl Display for Runs<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut comma = "";
        while let [start, ..] = rest {
            let run = (*start..=u32::MAX).zip(rest).take_while(|(one, other)| one == *other);
            let run = Some(run.count()).filter(|run| *run > 2).unwrap_or(1);
            let (shown, after) = rest.split_at(run.min(rest.len()));
            match shown {
                [first, .., last] => write!(f, "{comma}{first} to {last}")?,
                _ => write!(f, "{comma}{start}")?,
            }
            comma = ", ";
            rest = after;
        }
        Ok(())
    }
}

impl Display for Call {
    /// `all_reduce(sum) of 4 × f32 (tag loss), collective 3 of tp, at src/train.rs:7:5`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.creates {
            Some(_) => {
                let creates = self.creates.as_deref();
                Called { signature: &self.signature, creates }.fmt(f)?;
            }
            None => self.signature.fmt(f)?,
        }
        if let Some(tag) = &self.tag {
            write!(f, " (tag {tag})")?;
        }
        if self.signature.verb() != Verb::Local {
            write!(f, ", {} of {}", self.seq, self.communicator)?;
        }
        write!(f, ", {}", Place(&self.site))
    }
}

impl Call {
    /// Where it was made, with its preposition.
    pub(super) fn at(&self) -> impl Display {
        Place(&self.site)
    }
}

impl Display for Edge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} waits for {} in {}", self.rank, Ranks(&self.waits_for), self.call)
    }
}

impl Display for Absent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        OfMembers(&[self.member]).fmt(f)?;
        match &self.why {
            Why::Ended { how, words: Some(words) } => {
                // A panic's message may have lines of its own.
                let words = words.to_string();
                let mut lines = words.lines();
                write!(f, " {how}: {}", lines.next().unwrap_or_default())?;
                lines.try_for_each(|line| write!(f, "\n    {line}"))
            }
            Why::Ended { how, words: None } => write!(f, " {how}"),
            Why::Blocked { call: Some(call) } => write!(f, " waits in {call}"),
            Why::Blocked { call: None } => f.write_str(" waits for work of others"),
            Why::Computing => f.write_str(" is computing"),
        }
    }
}

/// A site with its preposition.
struct Place<'a>(&'a Site);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Site::Unknown => self.0.fmt(f),
            site => write!(f, "at {site}"),
        }
    }
}
