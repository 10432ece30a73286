//! The roll: who has come, who has not, and what is wrong with those who did.
//!
//! No connection and no clock here, so that each case is a plain test.

use std::collections::BTreeMap;

use rankwise_topology::{Sharing, World, WorldRank};

use crate::handshake::{Opening, Stop};
use crate::member::Member;
use crate::report::{Fault, Refusal, Refused, Report, Stage, Whence};
use crate::table::Table;

/// The most processes that are listed for one rank.
const CLAIMANTS: usize = 4;

/// Which connection it is, in the order in which they came.
pub(crate) type Conn = u64;

pub(crate) struct Roll {
    world: World,
    sharing: Sharing,
    job: Option<String>,
    /// By rank, who came first.
    seats: BTreeMap<u32, Seat>,
    faults: Vec<Fault>,
    /// By rank, everyone who claims it, where they are several.
    claims: BTreeMap<u32, Vec<Whence>>,
    /// Processes that came and said who they are, right or wrong.
    came: u32,
    refused: Vec<Refused>,
    strangers: u32,
}

struct Seat {
    /// `None` for the host itself.
    conn: Option<Conn>,
    member: Member,
    whence: Whence,
}

/// What a process says when it comes.
pub(crate) struct Claim {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) member: Member,
    pub(crate) address: String,
}

impl Roll {
    /// The host has come.
    pub(crate) fn new(
        world: World,
        sharing: Sharing,
        job: Option<String>,
        host: u32,
        me: Member,
    ) -> Self {
        let whence = whence(&me, "-");
        let seats = BTreeMap::from([(host, Seat { conn: None, member: me, whence })]);
        Self {
            world,
            sharing,
            job,
            seats,
            faults: Vec::new(),
            claims: BTreeMap::new(),
            came: 1,
            refused: Vec::new(),
            strangers: 0,
        }
    }

    /// Whether a process of that job belongs here; if not it is noted.
    pub(crate) fn admits(&mut self, rank: u32, job: Option<&str>, address: &str) -> bool {
        let ours = self.job.as_deref() == job;
        if !ours {
            self.refuse(rank, address, Refusal::OtherJob);
        }
        ours
    }

    /// A process has come.
    pub(crate) fn come(&mut self, conn: Conn, claim: Claim) {
        self.came = self.came.saturating_add(1);
        let Claim { rank, ranks, member, address } = claim;
        let whence = whence(&member, &address);
        let needed = self.world.size().get();
        if ranks != needed {
            self.faults.push(Fault::WorldSize { rank, found: ranks, needed });
        }
        if rank >= needed {
            self.faults.push(Fault::NoSuchRank { rank, process: whence });
        } else if let Some(seat) = self.seats.get(&rank) {
            let claims = self.claims.entry(rank).or_insert_with(|| vec![seat.whence.clone()]);
            if claims.len() < CLAIMANTS {
                claims.push(whence);
            }
        } else {
            self.seats.insert(rank, Seat { conn: Some(conn), member, whence });
        }
    }

    /// A process that had come is gone.
    pub(crate) fn lose(&mut self, conn: Conn) {
        let seats = self.seats.iter().find(|(_, seat)| seat.conn == Some(conn));
        if let Some((rank, seat)) = seats {
            self.faults.push(Fault::Lost { rank: *rank, process: seat.whence.clone() });
        }
    }

    /// A connection was turned away.
    pub(crate) fn turn_away(&mut self, address: &str, stop: &Stop) {
        match stop {
            Stop::Stranger(_) => self.strangers = self.strangers.saturating_add(1),
            Stop::Protocol(Opening { rank, protocol }) => {
                self.refuse(*rank, address, Refusal::OtherProtocol { found: *protocol });
            }
            Stop::Secret(opening, why) => self.refuse(opening.rank, address, *why),
            Stop::Broken(opening, _) => self.refuse(opening.rank, address, Refusal::Broken),
        }
    }

    fn refuse(&mut self, rank: u32, address: &str, why: Refusal) {
        if self.refused.len() < Report::REFUSED {
            self.refused.push(Refused { rank, address: address.to_owned(), why });
        } else {
            self.strangers = self.strangers.saturating_add(1);
        }
    }

    /// Whether as many have come as there are ranks: then nobody is waited for.
    pub(crate) fn is_over(&self) -> bool {
        self.came >= self.world.size().get()
    }

    /// Which rank each connection is.
    pub(crate) fn ranks(&self) -> BTreeMap<Conn, u32> {
        self.seats.iter().filter_map(|(rank, seat)| Some((seat.conn?, *rank))).collect()
    }

    /// Who a rank is.
    pub(crate) fn whence(&self, rank: u32) -> Option<Whence> {
        self.seats.get(&rank).map(|seat| seat.whence.clone())
    }

    /// The table, or the report of everything that is wrong.
    pub(crate) fn close(&self, within_ms: u64) -> Result<Table, Report> {
        let mut faults = Vec::new();
        let absent = self.world.ranks().map(WorldRank::index);
        let absent: Vec<u32> = absent.filter(|rank| !self.seats.contains_key(rank)).collect();
        if !absent.is_empty() {
            faults.push(Fault::Missing { ranks: absent, within_ms });
        }
        faults.extend(
            self.claims.iter().map(|(rank, processes)| Fault::Twice {
                rank: *rank,
                processes: processes.clone(),
            }),
        );
        faults.extend(self.faults.iter().cloned());
        if faults.is_empty() {
            let members = self.seats.values().map(|seat| seat.member.clone()).collect();
            match Table::new(members, self.sharing) {
                Ok(table) => return Ok(table),
                Err(disagreed) => faults = disagreed,
            }
        }
        Err(self.report(Stage::Gathering, faults))
    }

    /// The report of these faults.
    pub(crate) fn report(&self, stage: Stage, mut faults: Vec<Fault>) -> Report {
        let more = faults.len().saturating_sub(Report::FAULTS);
        faults.truncate(Report::FAULTS);
        let mut refused = self.refused.clone();
        // In an order that does not depend on which connection was faster.
        refused.sort_by(|one, other| (one.rank, &one.address).cmp(&(other.rank, &other.address)));
        Report {
            ranks: self.world.size().get(),
            stage,
            faults,
            more: u32::try_from(more).unwrap_or(u32::MAX),
            refused,
            strangers: self.strangers,
        }
    }
}

fn whence(member: &Member, address: &str) -> Whence {
    Whence {
        host: member.host().to_string(),
        process: member.process(),
        address: address.to_owned(),
    }
}

#[cfg(test)]
mod tests;
