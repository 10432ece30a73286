//! The faults of one library.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::{FaultError, Faults, Struck};

/// The environment variable that asks for faults.
pub const VARIABLE: &str = "RANKWISE_HOST_FAULTS";

/// The environment has not been read yet.
const UNREAD: u8 = 0;
/// No faults: what every call looks at, and mostly all of it.
const CALM: u8 = 1;
const SOME: u8 = 2;

/// The variable cannot be read: nothing works until it is corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub FaultError);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VARIABLE}: {}", self.0)
    }
}

impl std::error::Error for Refused {}

/// Where the calls of one library ask what happens to them.
#[derive(Debug)]
pub struct Station {
    known: &'static [&'static str],
    /// Tells the user once that the variable cannot be read.
    say: fn(&Refused),
    state: AtomicU8,
    faults: Mutex<Option<Result<Arc<Faults>, Refused>>>,
}

impl Station {
    /// That of a library with these symbols.
    pub const fn new(known: &'static [&'static str], say: fn(&Refused)) -> Self {
        Self { known, say, state: AtomicU8::new(UNREAD), faults: Mutex::new(None) }
    }

    /// The faults that are asked for, if any.
    ///
    /// # Errors
    ///
    /// [`Refused`], if the variable cannot be read.
    pub fn faults(&self) -> Result<Option<Arc<Faults>>, Refused> {
        if self.state.load(Ordering::Acquire) == CALM {
            return Ok(None);
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let text = std::env::var_os(VARIABLE).unwrap_or_default();
            let read = Faults::parse(&text.to_string_lossy(), self.known).map(Arc::new);
            let read = read.map_err(Refused);
            if let Err(refused) = &read {
                (self.say)(refused);
            }
            read
        };
        let faults = faults.get_or_insert_with(read).clone()?;
        self.state.store(if faults.is_empty() { CALM } else { SOME }, Ordering::Release);
        Ok(Some(faults).filter(|faults| !faults.is_empty()))
    }

    /// Puts other faults in their place and starts counting anew.
    ///
    /// # Errors
    ///
    /// [`FaultError`], and then nothing has changed.
    pub fn replace(&self, text: &str) -> Result<(), FaultError> {
        let new = Arc::new(Faults::parse(text, self.known)?);
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.store(if new.is_empty() { CALM } else { SOME }, Ordering::Release);
        *faults = Some(Ok(new));
        Ok(())
    }

    /// Counts a call of a symbol and holds it up for as long as is asked for.
    ///
    /// # Errors
    ///
    /// [`Refused`], if the variable cannot be read.
    pub fn strike(&self, symbol: &str) -> Result<Struck, Refused> {
        let Some(faults) = self.faults()? else { return Ok(Struck::default()) };
        let struck = faults.strike(symbol);
        if !struck.delay.is_zero() {
            thread::sleep(struck.delay);
        }
        Ok(struck)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_can_be_replaced_and_taken_back() {
        let station = Station::new(&["ncclSend"], |refused| panic!("{refused}"));
        assert_eq!(station.strike("ncclSend"), Ok(Struck::default()));
        station.replace("fail ncclSend 1 99").unwrap();
        assert!(station.replace("nonsense").is_err());
        assert_eq!(station.strike("ncclSend").unwrap().answer, Some(99));
        station.replace("").unwrap();
        assert_eq!(station.strike("ncclSend"), Ok(Struck::default()));
    }
}
