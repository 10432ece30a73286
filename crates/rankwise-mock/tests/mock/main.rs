//! Rank programs on the mock.

mod blame;
mod calls;
mod hazards;
mod hostile;
mod leaks;
mod mismatches;
mod order;
mod short;
mod splits;
mod tasks;
mod watchdog;
