//! The matcher against programs whose end is known.

mod arbitrary;
mod driver;
mod every_fault;
mod lasting;
mod naive;
mod programs;
mod random;
mod stories;
