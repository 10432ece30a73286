//! Why variables do not say who a process is.

use std::fmt;

use crate::address::AddressError;

use super::launcher::Launcher;

/// Why the environment does not say who this process is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// No launcher's variables are set, and nothing was given.
    Nothing,
    /// A launcher's variables are set in part.
    Incomplete {
        /// Whose.
        launcher: Launcher,
        /// One that is set, or was given.
        found: &'static str,
        /// One that is needed with it.
        missing: &'static str,
    },
    /// A variable that should hold a number and does not.
    NotANumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// A rank beyond the number of ranks.
    OutOfRange {
        /// Where the rank is from.
        variable: &'static str,
        /// The rank.
        rank: u32,
        /// The number of ranks, which the rank must be below.
        ranks: u32,
    },
    /// Two launchers say different things.
    Contradiction {
        /// One and the variable it sets.
        first: (Launcher, &'static str),
        /// Its value.
        first_value: u32,
        /// The other and its variable.
        second: (Launcher, &'static str),
        /// Its value.
        second_value: u32,
    },
    /// An address that is none.
    Address {
        /// The variable.
        variable: &'static str,
        /// The address.
        error: AddressError,
    },
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str(
                "nothing says which rank this process is: start it by torchrun, srun, mpirun or \
                 mpiexec, or give the rank and the number of ranks (RANK and WORLD_SIZE)",
            ),
            Self::Incomplete { launcher: Launcher::Pmix, found, .. } => write!(
                f,
                "{found} is set, and PMIx tells the number of ranks only through its library: \
                 give it"
            ),
            Self::Incomplete { launcher, found, missing } => {
                write!(f, "{launcher}: {found} is set and {missing} is not: give both")
            }
            Self::NotANumber { variable, value } => write!(
                f,
                "{variable} is `{}`, and should be a number below 2^32",
                value.escape_debug()
            ),
            Self::OutOfRange { variable, rank, ranks } => {
                write!(f, "{variable} is rank {rank} of {ranks} ranks: it must be below {ranks}")
            }
            Self::Contradiction { first, first_value, second, second_value } => write!(
                f,
                "{} ({}) says {first_value} and {} ({}) says {second_value}: say which launcher \
                 counts, or give rank and number of ranks",
                first.1, first.0, second.1, second.0
            ),
            Self::Address { variable, error } => write!(f, "{variable}: {error}"),
        }
    }
}

impl std::error::Error for EnvironmentError {}
