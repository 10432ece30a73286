//! What libraries of collectives say when the ranks of a program do not agree.
//!
//! Without words it runs every situation with every library that it was built with, each
//! in a process of its own, and prints a table. `cargo xtask beside` builds and starts it.

mod ending;
mod parent;
mod program;
mod situation;

#[cfg(feature = "burn-collective")]
mod with_burn;
#[cfg(feature = "numr")]
mod with_numr;
mod with_rankwise;

use std::env;
use std::process::ExitCode;

use program::{Order, Program};
use situation::Situation;

/// A library, and its program for a situation, or what it lacks for one.
struct Library {
    name: &'static str,
    program: fn(Situation) -> Result<Program, &'static str>,
}

const LIBRARIES: &[Library] = &[
    Library { name: "rankwise-mock", program: with_rankwise::program },
    #[cfg(feature = "numr")]
    Library { name: "numr 0.14", program: with_numr::program },
    #[cfg(feature = "burn-collective")]
    Library { name: "burn-collective 0.21", program: with_burn::program },
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [library, situation, order] = words.as_slice() else {
        parent::print_table(LIBRARIES);
        return ExitCode::SUCCESS;
    };
    let library = LIBRARIES.iter().find(|known| known.name == library);
    let situation = Situation::ALL.into_iter().find(|known| known.words() == situation);
    let order = Order::ALL.into_iter().find(|known| known.words() == order);
    let (Some(library), Some(situation), Some(order)) = (library, situation, order) else {
        eprintln!("takes no words of yours");
        return ExitCode::from(2);
    };
    if let Ok(program) = (library.program)(situation) {
        program::run(program, order);
    }
    ExitCode::SUCCESS
}
