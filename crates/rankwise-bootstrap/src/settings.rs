//! Where and how the ranks meet.

use std::net::SocketAddr;
use std::time::Duration;

use rankwise_topology::{Sharing, World, WorldRank};

use crate::address::Address;
use crate::environment::Identity;
use crate::error::Error;
use crate::message::TEXT_BYTES;
use crate::secret::Secret;

/// Where this rank meets the others, and on what terms.
///
/// One rank, rank 0 unless told otherwise, hosts: it listens, and the others connect to
/// it. All processes are to be given the same settings but for their rank.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    pub(crate) rank: WorldRank,
    pub(crate) world: World,
    pub(crate) address: Address,
    pub(crate) host: WorldRank,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) job: Option<String>,
    pub(crate) secret: Option<Secret>,
    pub(crate) sharing: Sharing,
    pub(crate) within: Duration,
    pub(crate) handshake: Duration,
    pub(crate) half_open: usize,
}

impl Rendezvous {
    /// The most ranks that one host takes: each is a connection.
    pub const MOST_RANKS: u32 = 1 << 16;

    /// That rank, meeting the others at that address.
    ///
    /// Without further word: rank 0 hosts and listens at that address and no other,
    /// there is no secret, each device hosts one rank, and all have five minutes.
    pub fn new(rank: WorldRank, world: World, address: Address) -> Result<Self, Error> {
        let ranks = world.size().get();
        if !world.contains(rank) {
            let what = format!("rank {rank} is not below {ranks}, the number of ranks");
            return Err(Error::setting(what));
        }
        if ranks > Self::MOST_RANKS {
            let most = Self::MOST_RANKS;
            return Err(Error::setting(format!("{ranks} ranks, one rendezvous takes {most}")));
        }
        let host = world.rank(0).unwrap_or(rank);
        Ok(Self {
            rank,
            world,
            address,
            host,
            listen: None,
            job: None,
            secret: None,
            sharing: Sharing::Exclusive,
            within: Duration::from_mins(5),
            handshake: Duration::from_secs(10),
            half_open: 256,
        })
    }

    /// As the environment says: [`Identity::address`] must be known.
    pub fn of(identity: &Identity) -> Result<Self, Error> {
        let unknown = || {
            Error::setting(format!(
                "rank {} was not told where the ranks meet: set {} to host:port of rank 0, or \
                 MASTER_ADDR and MASTER_PORT",
                identity.rank,
                crate::environment::RENDEZVOUS
            ))
        };
        let address = identity.address.clone().ok_or_else(unknown)?;
        let rendezvous = Self::new(identity.rank, identity.world, address)?;
        match &identity.job {
            Some(job) => rendezvous.job(job),
            None => Ok(rendezvous),
        }
    }

    /// Only processes that know the secret.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Only processes of that job: a name, no secret.
    pub fn job(mut self, job: &str) -> Result<Self, Error> {
        if job.len() > TEXT_BYTES || job.contains(|c: char| c.is_control()) {
            return Err(Error::setting(format!(
                "a job's name has at most {TEXT_BYTES} bytes and no control characters, this has \
                 {} bytes",
                job.len()
            )));
        }
        self.job = Some(job.to_owned());
        Ok(self)
    }

    /// All have come after that time, or those that have not are named.
    #[must_use]
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// That rank hosts, and gives the payload.
    pub fn hosted_by(mut self, host: WorldRank) -> Result<Self, Error> {
        if !self.world.contains(host) {
            let ranks = self.world.size().get();
            return Err(Error::setting(format!("rank {host} cannot host {ranks} ranks")));
        }
        self.host = host;
        Ok(self)
    }

    /// The host listens there, instead of at the address itself: where that is another
    /// machine's name for this one, or all interfaces are wished for (`0.0.0.0`).
    #[must_use]
    pub const fn listening_at(mut self, at: SocketAddr) -> Self {
        self.listen = Some(at);
        self
    }

    /// Whether several ranks may be on one device; the host's word counts.
    #[must_use]
    pub const fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// A connection has that time to say who it is.
    #[must_use]
    pub const fn handshake_within(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// So many connections at a time that have not said who they are: when there are
    /// more, the oldest is closed.
    #[must_use]
    pub const fn half_open(mut self, most: usize) -> Self {
        self.half_open = if most == 0 { 1 } else { most };
        self
    }

    /// Whether this rank hosts.
    pub fn is_host(&self) -> bool {
        self.rank == self.host
    }

    /// This rank.
    pub const fn rank(&self) -> WorldRank {
        self.rank
    }

    /// All ranks.
    pub const fn world(&self) -> World {
        self.world
    }
}
