//! The same for programs without an async runtime.
//!
//! A session keeps a thread of its own, on which its connection is looked after
//! whatever the program does.

use std::time::Duration;

use rankwise_topology::WorldRank;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;
use crate::member::Member;
use crate::settings::Rendezvous;
use crate::table::Table;

/// A [`crate::Session`] whose calls block.
///
/// To be dropped outside of async code: what ends with it may wait.
#[derive(Debug)]
pub struct Session {
    // Dropped first, so that its end is still carried out.
    session: crate::Session,
    runtime: Runtime,
}

/// Hosts: see [`Rendezvous::host`].
pub fn host(rendezvous: &Rendezvous, me: Member, payload: &[u8]) -> Result<Session, Error> {
    let runtime = runtime()?;
    let session = runtime.block_on(rendezvous.host(me, payload))?;
    Ok(Session { session, runtime })
}

/// Connects: see [`Rendezvous::connect`].
pub fn connect(rendezvous: &Rendezvous, me: Member) -> Result<Session, Error> {
    let runtime = runtime()?;
    let session = runtime.block_on(rendezvous.connect(me))?;
    Ok(Session { session, runtime })
}

fn runtime() -> Result<Runtime, Error> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).thread_name("rankwise-bootstrap").enable_all().build();
    runtime.map_err(|error| Error::setting(format!("no thread for the rendezvous: {error}")))
}

impl Session {
    /// This rank.
    pub const fn rank(&self) -> WorldRank {
        self.session.rank()
    }

    /// See [`crate::Session::table`].
    pub fn table(&self) -> &Table {
        self.session.table()
    }

    /// See [`crate::Session::payload`].
    pub fn payload(&self) -> &[u8] {
        self.session.payload()
    }

    /// See [`crate::Session::barrier`].
    pub fn barrier(&mut self, name: &str, within: Duration) -> Result<(), Error> {
        self.runtime.block_on(self.session.barrier(name, within))
    }

    /// See [`crate::Session::failure`].
    pub fn failure(&self) -> Option<Error> {
        self.session.failure()
    }

    /// See [`crate::Session::finish`].
    pub fn finish(self, within: Duration) -> Result<(), Error> {
        self.runtime.block_on(self.session.finish(within))
    }

    /// See [`crate::Session::give_up`].
    pub fn give_up(self, reason: &str) -> Error {
        self.runtime.block_on(self.session.give_up(reason))
    }
}
