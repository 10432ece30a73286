//! Somebody else who spins on a core.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rankwise_model::Dtype;

use crate::cell::{Cell, Op, Size};
use crate::group::Group;
use crate::options::Options;
use crate::race::{each, repetitions};
use crate::table::Spread;

/// What this program is told so that it spins.
pub(crate) const WORD: &str = "--spin";

/// Never longer than this, whoever forgets to end it.
const AT_MOST: Duration = Duration::from_mins(2);

/// A process that does nothing, as fast as it can.
struct Neighbour(Child);

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn spin() -> ! {
    let begun = Instant::now();
    while begun.elapsed() < AT_MOST {
        for _ in 0..1000 {
            std::hint::spin_loop();
        }
    }
    std::process::exit(0)
}

pub(crate) fn run(options: &Options) {
    println!("With another process that spins on a core, n = 2, all_reduce f32, us per call:");
    for (bytes, goal) in [(64 << 10, 15.0), (1 << 20, 100.0)] {
        let (op, dtype) = (Op::AllReduce, Dtype::F32);
        let mut group = Group::new(Cell { ranks: 2, op, dtype, bytes, calls: 1 });
        let waits = repetitions(options.sample, &mut |waits| group.through_trait(waits));
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            alone.push(each(group.through_trait(waits), waits));
            let neighbour = Command::new(std::env::current_exe().expect("this program has a path"))
                .arg(WORD)
                .stdin(Stdio::null())
                .spawn();
            let _neighbour = Neighbour(neighbour.expect("this program starts again"));
            // Twice: the first is over before the neighbour has begun.
            group.through_trait(waits);
            beside.push(each(group.through_trait(waits), waits));
        }
        let (alone, beside) = (Spread::of(alone), Spread::of(beside));
        let met = if beside.median <= goal { "met" } else { "NOT met" };
        println!("{:>8}: {beside}, without it {alone}  <= {goal} us: {met}", Size(bytes));
    }
}
