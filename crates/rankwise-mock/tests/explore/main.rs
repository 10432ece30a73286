//! Rank programs in every order in which their ranks can reach their calls.

#[path = "../mock/watchdog.rs"]
mod watchdog;

mod blame;
mod bugs;
mod counts;
mod limits;
mod random;
mod replay;
mod tasks;
