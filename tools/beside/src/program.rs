//! A program of some library, and its run in this process.

use std::any::Any;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use crate::ending::{Ending, How};

/// What a rank does: the values that its calls left, or what the library said.
pub(crate) type Member = Box<dyn FnOnce(&dyn Fn()) -> Result<Vec<Vec<f32>>, String> + Send>;

/// One for each rank. Each calls what it is given once, where it is ready for its first call.
pub(crate) type Program = Vec<Member>;

/// In which order the ranks come to their first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Up,
    Down,
}

impl Order {
    pub(crate) const ALL: [Self; 2] = [Self::Up, Self::Down];

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Up => "rank 0 first",
            Self::Down => "rank 0 last",
        }
    }

    /// How long a rank waits before its first call.
    fn delay(self, rank: usize, ranks: usize) -> Duration {
        let place = match self {
            Self::Up => rank,
            Self::Down => ranks - 1 - rank,
        };
        Duration::from_millis(100) * u32::try_from(place).unwrap_or(u32::MAX)
    }
}

/// Runs every rank in a thread of its own and prints a line as each ends. Does not return
/// before all have.
pub(crate) fn run(program: Program, order: Order) {
    let begun = Instant::now();
    let ranks = program.len();
    thread::scope(|scope| {
        for (rank, member) in program.into_iter().enumerate() {
            scope.spawn(move || {
                let ready = || thread::sleep(order.delay(rank, ranks));
                let ended = catch_unwind(AssertUnwindSafe(|| member(&ready)));
                let (how, text) = match ended {
                    Ok(Ok(values)) => (How::Done, values_as_text(&values)),
                    Ok(Err(said)) => (How::Error, said),
                    Err(payload) => (How::Panic, message(&*payload)),
                };
                let text = text.lines().next().unwrap_or_default().to_owned();
                let ending = Ending { rank, how, seconds: begun.elapsed().as_secs(), text };
                // Whoever reads has gone only if the deadline has passed.
                let _ = writeln!(std::io::stdout().lock(), "{}", ending.to_line());
            });
        }
    });
}

fn values_as_text(values: &[Vec<f32>]) -> String {
    match values {
        [] => "no call".to_owned(),
        _ => values.iter().map(|values| format!("{values:?}")).collect::<Vec<_>>().join(", "),
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no words".to_owned())
}
