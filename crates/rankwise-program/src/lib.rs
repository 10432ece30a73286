//! Rank programs: what each rank calls, how calls match, who waits for whom.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;

mod blame;
pub mod call;
pub mod communicator;
pub mod ending;
mod history;
pub mod instance;
pub mod matcher;
pub mod participant;
pub mod refused;
pub mod report;
pub mod seq;
pub mod site;
pub mod status;
pub mod stream;

pub use call::{Collective, Payload, Signature, Tag, Verb};
pub use communicator::CommId;
pub use ending::Ending;
pub use instance::{InstanceId, Seat, Standing};
pub use matcher::{Entry, Matcher, Progress, Verdict};
pub use participant::{Drivers, Wait};
pub use refused::Refused;
pub use report::{Absent, Aspect, Aspects, Call, Edge, Kind, Member, Report, Side, Why};
pub use seq::Seq;
pub use site::Site;
pub use status::{Activity, RankStatus};
pub use stream::{Point, StreamId};
