//! Rank programs on the mock.

mod blame;
mod calls;
mod hazards;
mod leaks;
mod mismatches;
mod order;
mod splits;
mod tasks;
mod watchdog;
