//! The checker against an oracle that shares no code with it.

mod case;
mod draw;
mod judge;
mod naming;
mod rewrite;

mod exhaustive;
mod random_plans;
mod remap;
