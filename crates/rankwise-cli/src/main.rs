//! The `rankwise` command: what a collective leaves on every rank, said before any
//! hardware is touched.
//!
//! Nothing here has a meaning of its own. A command line ([`args`]) asks a verb
//! ([`verbs`]); the verb hands files ([`arrays`], [`load`]) to the libraries and puts
//! what they say on a [`page`] or into an [`envelope`]; [`output`] writes it in one
//! piece, and [`exit`] says the answer once more as a status.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod args;
mod command;
mod verbs;

mod arrays;
mod load;

mod findings;
mod grounds;
mod held;
mod needs;
mod order;
mod payloads;
mod repairs;
mod steps;

mod envelope;
mod exit;
mod page;
mod report;
mod table;
mod unusable;

mod output;
mod progress;

fn main() -> std::process::ExitCode {
    command::run(std::env::args_os()).into()
}
