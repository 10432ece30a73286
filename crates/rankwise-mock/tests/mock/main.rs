//! Rank programs on the mock.

mod attack;
mod blame;
mod calls;
mod elsewhere;
mod faults;
mod hazards;
mod hostile;
mod in_full;
mod leaks;
mod mismatches;
mod order;
mod quirks;
mod recording;
mod short;
mod splits;
mod strict;
mod tasks;
mod watchdog;
