//! From processes to ranks: who am I, who are the others, and which device is each.
//!
//! A launcher (`torchrun`, `srun`, `mpirun`, or a shell loop) starts one process per
//! rank, on one machine or several. Before they can communicate they must agree on who
//! is who, and pass a few bytes around: for NCCL, its unique id. This crate does that,
//! and where it cannot be done it says on *every* process which rank is missing, late,
//! twice there or told something else.
//!
//! # The story
//!
//! 1. [`environment`] reads what the launcher said: rank, number of ranks, where to
//!    meet. Two launchers that contradict each other are named.
//! 2. [`Rendezvous`] says on what terms to meet: one rank listens, the others connect;
//!    perhaps only with a shared [`Secret`]; all within a time.
//! 3. Each process says what it is, a [`Member`]: host, process, device, version of the
//!    library.
//! 4. All get the same [`Table`], and the host's payload. A rank is never taken for an
//!    ordinal: [`Table::map`] is the map from ranks to devices, of
//!    [`rankwise_topology`].
//! 5. They stay connected in a [`Session`], through barriers, until all finish. If a
//!    process dies, the others are told.
//! 6. What goes wrong among the ranks is one [`Report`], equal on every survivor.
//!
//! # Example
//!
//! Two ranks, here as two tasks of one process, where they would be two processes:
//!
//! ```
//! use std::time::Duration;
//!
//! use rankwise_bootstrap::environment::{Explicit, Identity, Variables};
//! use rankwise_bootstrap::{BoundDevice, Error, Member, Rendezvous, Session};
//!
//! # const PORT: &str = "0";
//! // Each process reads its own environment: `Identity::of_this_process`.
//! fn environment(rank: &str) -> Variables {
//!     let variables = [("RANK", rank), ("WORLD_SIZE", "2"), ("LOCAL_RANK", rank)];
//!     let meet = [("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500")];
//!     variables.iter().chain(&meet).map(|(n, v)| (n.to_string(), v.to_string())).collect()
//! }
//!
//! async fn use_it(mut session: Session) -> Result<String, Error> {
//!     let minute = Duration::from_secs(60);
//!     // Here the payload would make a communicator.
//!     assert_eq!(session.payload(), b"what NCCL calls a unique id");
//!     session.barrier("communicator made", minute).await?;
//!     let table = session.table().to_string();
//!     session.finish(minute).await?;
//!     Ok(table)
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let [zero, one] = ["0", "1"].map(|rank| Identity::read(&environment(rank), &Explicit::default()));
//! let (zero, one) = (Rendezvous::of(&zero?)?, Rendezvous::of(&one?)?);
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let address = listener.local_addr()?.to_string().parse()?;
//! # let one = Rendezvous::new(one.rank(), one.world(), address)?;
//!
//! let device = |uuid| BoundDevice::ordinal(0).visible(uuid).uuid(uuid);
//! let [a, b] = [
//!     "GPU-aaaaaaaa-0000-0000-0000-000000000000",
//!     "GPU-bbbbbbbb-0000-0000-0000-000000000000",
//! ];
//! let host = async {
//!     let me = Member::new("node1", 4711)?.on(device(b)?)?.library("2.32.3")?;
//! #   let zero = zero.host_on(listener, me, b"what NCCL calls a unique id");
//! #   #[cfg(any())]
//!     let zero = zero.host(me, b"what NCCL calls a unique id");
//!     Ok::<_, Box<dyn std::error::Error>>(use_it(zero.await?).await?)
//! };
//! let other = async {
//!     let me = Member::new("node1", 4712)?.on(device(a)?)?.library("2.32.3")?;
//!     Ok(use_it(one.connect(me).await?).await?)
//! };
//! let (on_0, on_1) = tokio::try_join!(host, other)?;
//! assert_eq!(on_0, on_1);
//! assert!(on_0.contains("2 ranks, library 2.32.3, one on each device"));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Programs without a runtime use [`blocking`].
//!
//! # What it does not do
//!
//! Nothing is encrypted: see [`Secret`] for what a shared secret is worth. All ranks
//! connect to one, which is meant for thousands of them, not for data. It has been run
//! with processes on one machine; nothing here has been run on several, nor on a GPU.

#![forbid(unsafe_code)]

mod address;
mod agree;
pub mod blocking;
pub mod environment;
mod error;
mod frame;
mod handshake;
mod hex;
mod host;
mod link;
mod member;
mod message;
mod rank;
mod report;
mod roll;
mod secret;
mod session;
mod settings;
mod steps;
mod table;

pub use address::{Address, AddressError};
pub use environment::{EnvironmentError, Identity};
pub use error::Error;
pub use member::{BoundDevice, DeviceUuid, Member, MemberError};
pub use report::{Fault, Refusal, Refused, Report, Stage, Whence};
pub use secret::{Secret, ShortSecret};
pub use session::Session;
pub use settings::Rendezvous;
pub use table::Table;
