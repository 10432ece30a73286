//! Who a process is, by what its launcher has put into the environment.
//!
//! A pure function over a map of variables, so that every launcher can be tried
//! without it:
//!
//! ```
//! use rankwise_bootstrap::environment::{Explicit, Identity, Launcher, Variables};
//!
//! let variables = Variables::from([
//!     ("SLURM_PROCID", "5"),
//!     ("SLURM_STEP_NUM_TASKS", "8"),
//!     ("SLURM_LOCALID", "1"),
//!     ("SLURM_STEP_NODELIST", "gpu[07-08]"),
//!     ("SLURM_JOB_ID", "4711"),
//! ].map(|(name, value)| (name.to_owned(), value.to_owned())));
//! let me = Identity::read(&variables, &Explicit::default())?;
//! assert_eq!(me.launcher, Some(Launcher::Slurm));
//! assert_eq!((me.rank.index(), me.world.size().get(), me.local_rank), (5, 8, Some(1)));
//! assert_eq!(me.address.unwrap().to_string(), "gpu07:24711");
//! # Ok::<(), rankwise_bootstrap::EnvironmentError>(())
//! ```

mod error;
mod hostlist;
mod launcher;

use std::collections::BTreeMap;
use std::fmt;

use rankwise_model::GroupSize;
use rankwise_topology::{World, WorldRank};

use crate::address::Address;

pub use error::EnvironmentError;
pub use launcher::Launcher;
use launcher::{ROWS, Row};

/// Variables by name.
pub type Variables = BTreeMap<String, String>;

/// Where the ranks meet, for any launcher: `host:port`.
pub const RENDEZVOUS: &str = "RANKWISE_RENDEZVOUS";

/// The first of the ports that are derived from Slurm's job id: 20000 and the last four
/// digits of the job, below the ports that Linux gives to outgoing connections.
const SLURM_PORTS: u16 = 20_000;

/// What is given by hand; it goes before every variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explicit {
    /// The launcher that counts, where two disagree.
    pub launcher: Option<Launcher>,
    /// The rank.
    pub rank: Option<u32>,
    /// The number of ranks.
    pub ranks: Option<GroupSize>,
    /// The position among the ranks of this host.
    pub local_rank: Option<u32>,
    /// Where the ranks meet.
    pub address: Option<Address>,
}

/// Who a process is.
///
/// Holding one tells you that rank and world fit together and that no launcher whose
/// word counts said otherwise. It does **not** tell you that the other ranks were told
/// the same: that is what the rendezvous finds out. Nor does it name a device:
/// `local_rank` counts processes of a host, and no ordinal follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whose variables count; `None` if no launcher's are set.
    pub launcher: Option<Launcher>,
    /// The rank.
    pub rank: WorldRank,
    /// All ranks.
    pub world: World,
    /// The position among the ranks of this host, from 0.
    pub local_rank: Option<u32>,
    /// The number of ranks on this host.
    pub local_ranks: Option<u32>,
    /// The number of this node in the job, from 0.
    pub node: Option<u32>,
    /// Where the ranks meet, if anything says so.
    pub address: Option<Address>,
    /// What tells this job, and this start of it, from others.
    pub job: Option<String>,
    /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
    pub visible_devices: Option<String>,
    /// Every variable that was looked at and is set, with its value.
    pub seen: Vec<(&'static str, String)>,
    /// What is worth knowing and no error.
    pub notes: Vec<Note>,
}

/// Something worth knowing about an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Two launchers disagree, and which counts is settled.
    Overruled {
        /// The one that counts, and its variable.
        by: (Launcher, &'static str),
        /// Its value.
        with: u32,
        /// The other and its variable.
        what: (Launcher, &'static str),
        /// Its value.
        value: u32,
    },
    /// torchrun's agent listens at `MASTER_PORT`, so the next port is used.
    AgentHoldsPort {
        /// `MASTER_PORT`.
        held: u16,
        /// The port that is used.
        used: u16,
    },
    /// Host and port were derived from Slurm's list of nodes and the job's id.
    FromSlurm {
        /// What came of it.
        address: Address,
    },
    /// Slurm's variables without a step: a batch script sees them too, as rank 0.
    NoStep,
}

/// What one launcher says.
struct Claim {
    row: &'static Row,
    rank: Option<Number>,
    ranks: Option<Number>,
    local_rank: Option<Number>,
}

type Number = (&'static str, u32);

/// The variables of this process that are text.
pub fn variables() -> Variables {
    let text = |word: std::ffi::OsString| word.into_string().ok();
    std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

impl Identity {
    /// Reads variables; what is given by hand goes first.
    pub fn read(variables: &Variables, explicit: &Explicit) -> Result<Self, EnvironmentError> {
        let mut reader = Reader { variables, seen: Vec::new() };
        let claims = reader.claims()?;
        let elected = elect(&claims, explicit);
        let mut notes = Vec::new();
        if let Some(elected) = elected {
            settle(elected, &claims, explicit, &mut notes)?;
        }
        let (rank_from, rank, ranks) = place(elected, &claims, explicit)?;
        let world = World::new(ranks);
        let rank = world.issue(rank).map_err(|_| EnvironmentError::OutOfRange {
            variable: rank_from,
            rank,
            ranks: ranks.get(),
        })?;
        let row = elected.map(|claim| claim.row);
        let mut number = |names: fn(&Row) -> &'static [&'static str]| {
            Ok(row.map(|row| reader.number(names(row))).transpose()?.flatten().map(|(_, n)| n))
        };
        let local_ranks = number(|row| row.local_ranks)?;
        let node = number(|row| row.node)?;
        let job = row.and_then(|row| reader.joined(row.job));
        if row.is_some_and(|row| row.launcher == Launcher::Slurm)
            && reader.get("SLURM_STEP_ID").is_none()
        {
            notes.push(Note::NoStep);
        }
        let address = reader.address(row, explicit, &mut notes)?;
        let visible_devices = reader.get("CUDA_VISIBLE_DEVICES");
        let local_rank = elected.and_then(|claim| claim.local_rank).map(|(_, rank)| rank);
        Ok(Self {
            launcher: row.map(|row| row.launcher),
            rank,
            world,
            local_rank: explicit.local_rank.or(local_rank),
            local_ranks,
            node,
            address,
            job,
            visible_devices,
            seen: reader.seen,
            notes,
        })
    }

    /// Reads the variables of this process.
    pub fn of_this_process(explicit: &Explicit) -> Result<Self, EnvironmentError> {
        Self::read(&variables(), explicit)
    }
}

/// The launcher that counts: the one named, else the innermost that says enough.
///
/// Where rank and number of ranks are both given, no launcher counts for them, but the
/// innermost still tells the rest.
fn elect<'a>(claims: &'a [Claim], explicit: &Explicit) -> Option<&'a Claim> {
    match explicit.launcher {
        Some(named) => claims.iter().find(|claim| claim.row.launcher == named),
        None => claims.iter().find(|claim| {
            (claim.rank.is_some() || explicit.rank.is_some())
                && (claim.ranks.is_some() || explicit.ranks.is_some())
        }),
    }
}

/// Compares every other claim with the one that counts.
fn settle(
    elected: &Claim,
    claims: &[Claim],
    explicit: &Explicit,
    notes: &mut Vec<Note>,
) -> Result<(), EnvironmentError> {
    for other in claims {
        let fields = [
            (elected.rank, other.rank, explicit.rank.is_some()),
            (elected.ranks, other.ranks, explicit.ranks.is_some()),
            (elected.local_rank, other.local_rank, explicit.local_rank.is_some()),
        ];
        for (ours, theirs, given) in fields {
            let (Some((our_name, ours)), Some((their_name, theirs))) = (ours, theirs) else {
                continue;
            };
            if ours == theirs || given {
                continue;
            }
            let (by, what) = ((elected.row.launcher, our_name), (other.row.launcher, their_name));
            let nested = by.0.may_run_within(what.0);
            if explicit.launcher.is_none() && !nested {
                return Err(EnvironmentError::Contradiction {
                    first: by,
                    first_value: ours,
                    second: what,
                    second_value: theirs,
                });
            }
            notes.push(Note::Overruled { by, with: ours, what, value: theirs });
        }
    }
    Ok(())
}

/// Where the rank is from, the rank, and the number of ranks.
fn place(
    elected: Option<&Claim>,
    claims: &[Claim],
    explicit: &Explicit,
) -> Result<(&'static str, u32, GroupSize), EnvironmentError> {
    // Where nobody says enough, whoever says something is named.
    let claim = elected.or_else(|| match explicit.launcher {
        Some(_) => None,
        None => claims.first(),
    });
    let given = |rank| ("the given rank", rank);
    let rank = explicit.rank.map(given).or(claim.and_then(|claim| claim.rank));
    let ranks = match explicit.ranks {
        Some(ranks) => Some(("the given number of ranks", ranks)),
        None => match claim.and_then(|claim| claim.ranks) {
            Some((variable, 0)) => {
                return Err(EnvironmentError::NotANumber { variable, value: "0".to_owned() });
            }
            Some((variable, ranks)) => GroupSize::new(ranks).map(|ranks| (variable, ranks)),
            None => None,
        },
    };
    let launcher = claim.map(|claim| claim.row.launcher).or(explicit.launcher);
    let launcher = launcher.unwrap_or(Launcher::ByHand);
    let first = |names: fn(&Row) -> &'static [&'static str], otherwise| {
        claim.and_then(|claim| names(claim.row).first().copied()).unwrap_or(otherwise)
    };
    match (rank, ranks) {
        (Some((from, rank)), Some((_, ranks))) => Ok((from, rank, ranks)),
        (Some((found, _)), None) => Err(EnvironmentError::Incomplete {
            launcher,
            found,
            missing: first(|row| row.ranks, "WORLD_SIZE"),
        }),
        (None, Some((found, _))) => Err(EnvironmentError::Incomplete {
            launcher,
            found,
            missing: first(|row| row.rank, "RANK"),
        }),
        (None, None) => Err(EnvironmentError::Nothing),
    }
}

/// Reads variables and remembers which were set.
struct Reader<'a> {
    variables: &'a Variables,
    seen: Vec<(&'static str, String)>,
}

impl Reader<'_> {
    /// The value of a variable; an empty one is one that is not set.
    fn get(&mut self, name: &'static str) -> Option<String> {
        let value = self.variables.get(name)?.clone();
        if value.is_empty() && name != "CUDA_VISIBLE_DEVICES" {
            return None;
        }
        if self.seen.iter().all(|(seen, _)| *seen != name) {
            self.seen.push((name, value.clone()));
        }
        Some(value)
    }

    fn number(&mut self, names: &[&'static str]) -> Result<Option<Number>, EnvironmentError> {
        for variable in names.iter().copied() {
            if let Some(value) = self.get(variable) {
                let number = value.trim().parse();
                return match number {
                    Ok(number) => Ok(Some((variable, number))),
                    Err(_) => Err(EnvironmentError::NotANumber { variable, value }),
                };
            }
        }
        Ok(None)
    }

    fn joined(&mut self, names: &[&'static str]) -> Option<String> {
        let values: Vec<_> = names.iter().filter_map(|name| self.get(name)).collect();
        (!values.is_empty()).then(|| values.join("."))
    }

    /// What each launcher says, the innermost first; none that says nothing.
    fn claims(&mut self) -> Result<Vec<Claim>, EnvironmentError> {
        let mut claims = Vec::new();
        for row in ROWS {
            let wanted = row.only_with.is_none_or(|mark| self.get(mark).is_some())
                && row.only_without.is_none_or(|mark| self.get(mark).is_none());
            if !wanted {
                continue;
            }
            let rank = self.number(row.rank)?;
            let ranks = self.number(row.ranks)?;
            let local_rank = self.number(row.local_rank)?;
            if rank.is_some() || ranks.is_some() {
                claims.push(Claim { row, rank, ranks, local_rank });
            }
        }
        Ok(claims)
    }

    fn address(
        &mut self,
        row: Option<&Row>,
        explicit: &Explicit,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Address>, EnvironmentError> {
        if explicit.address.is_some() {
            return Ok(explicit.address.clone());
        }
        if let Some(text) = self.get(RENDEZVOUS) {
            let wrong = |error| EnvironmentError::Address { variable: RENDEZVOUS, error };
            return text.parse().map(Some).map_err(wrong);
        }
        if let Some(host) = self.get("MASTER_ADDR") {
            return self.master(&host, row, notes).map(Some);
        }
        if row.is_some_and(|row| row.launcher == Launcher::Slurm)
            && let Some(address) = self.slurm()
        {
            notes.push(Note::FromSlurm { address: address.clone() });
            return Ok(Some(address));
        }
        Ok(None)
    }

    /// `MASTER_ADDR` and `MASTER_PORT`, as torch defines them for `env://`.
    fn master(
        &mut self,
        host: &str,
        row: Option<&Row>,
        notes: &mut Vec<Note>,
    ) -> Result<Address, EnvironmentError> {
        let Some((variable, port)) = self.number(&["MASTER_PORT"])? else {
            return Err(EnvironmentError::Incomplete {
                launcher: row.map_or(Launcher::ByHand, |row| row.launcher),
                found: "MASTER_ADDR",
                missing: "MASTER_PORT",
            });
        };
        let not_a_port =
            || EnvironmentError::NotANumber { variable, value: format!("{port}, no port") };
        let mut port = u16::try_from(port).map_err(|_| not_a_port())?;
        // torch: TORCHELASTIC_USE_AGENT_STORE=True says that the agent keeps a store at
        // that port, to which workers connect (torch/distributed/rendezvous.py).
        if self.get("TORCHELASTIC_USE_AGENT_STORE").as_deref() == Some("True") {
            let used = port.checked_add(1).ok_or_else(not_a_port)?;
            notes.push(Note::AgentHoldsPort { held: port, used });
            port = used;
        }
        let wrong = |error| EnvironmentError::Address { variable: "MASTER_ADDR", error };
        Address::new(host.trim_matches(['[', ']']), port).map_err(wrong)
    }

    /// Slurm names no port and no host: the step's first node, where task 0 is, and a
    /// port that follows from the job.
    fn slurm(&mut self) -> Option<Address> {
        let nodes = self.get("SLURM_STEP_NODELIST").or_else(|| self.get("SLURM_JOB_NODELIST"))?;
        let job: u64 = self.get("SLURM_JOB_ID")?.trim().parse().ok()?;
        let offset = u16::try_from(job % 10_000).ok()?;
        Address::new(&hostlist::first(&nodes)?, SLURM_PORTS.checked_add(offset)?).ok()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overruled { by, with, what, value } => {
                write!(f, "{}={with} ({}) counts, not {}={value} ({})", by.1, by.0, what.1, what.0)
            }
            Self::AgentHoldsPort { held, used } => write!(
                f,
                "torchrun's agent listens at MASTER_PORT {held}, so the ranks meet at {used}"
            ),
            Self::FromSlurm { address } => write!(
                f,
                "the ranks meet at {address}: the step's first node, and a port from the job's \
                 id; {RENDEZVOUS} says otherwise"
            ),
            Self::NoStep => f.write_str(
                "SLURM_STEP_ID is not set: if this is a batch script, start the ranks by srun",
            ),
        }
    }
}

impl fmt::Display for Identity {
    /// One line, then a line for each note.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.world.size().get())?;
        if let Some(local) = self.local_rank {
            write!(f, ", local rank {local}")?;
        }
        if let Some(node) = self.node {
            write!(f, ", node {node}")?;
        }
        match &self.launcher {
            Some(launcher) => write!(f, ", by {launcher}")?,
            None => f.write_str(", as given")?,
        }
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
