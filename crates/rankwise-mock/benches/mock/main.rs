//! How fast the mock is through its trait, beside what is possible on this machine.
//!
//! `cargo xtask bench mock [OPTIONS]`, or `cargo bench -p rankwise-mock --bench mock --
//! [OPTIONS]`; `--help` lists the options. Without Cargo's `--bench`, as a test, it is a
//! run of a moment and its words are ignored.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

mod cell;
mod crowd;
mod goal;
mod group;
mod machine;
mod neighbour;
mod options;
mod outside;
mod race;
#[allow(unsafe_code, reason = "streaming stores")]
mod streaming;
mod table;

use std::process::ExitCode;

use options::{Options, Part};

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let benched = words.iter().any(|word| word == "--bench");
    words.retain(|word| word != "--bench");
    let options = match words.first().map(String::as_str) {
        Some(crowd::WORD) => return crowd::alone(&words[1..]),
        Some(neighbour::WORD) => neighbour::spin(),
        _ if benched => Options::read(&words),
        _ => Ok(Some(Options::smoke())),
    };
    match options {
        Ok(Some(options)) => run(&options),
        Ok(None) => println!("{}", options::HELP),
        Err(why) => {
            eprintln!("{why}\n\n{}", options::HELP);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(options: &Options) {
    println!("{}", machine::now());
    for part in &options.parts {
        println!();
        match part {
            Part::Cells => table::run(options),
            Part::Neighbour => neighbour::run(options),
            Part::Crowd => crowd::run(options),
        }
    }
    println!("\n{}", machine::now());
}
