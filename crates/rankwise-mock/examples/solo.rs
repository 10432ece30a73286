#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::print_stdout, unreachable_pub)]
//! x
use rankwise_comm::prelude::*;
use rankwise_mock::World;
use std::time::Instant;
fn main() -> Result<(), Error> {
    let only: u32 = std::env::args().nth(2).map_or(0, |a| a.parse().unwrap());
    for n in [1u32, 2, 8] {
        if only != 0 && only != n {
            continue;
        }
        let comms = World::of(n).communicators();
        let mut bufs = Vec::new();
        for c in &comms {
            bufs.push((c.buffer::<f32>(2)?, c.buffer::<f32>(2)?));
        }
        for round in 0..3 {
            let start = Instant::now();
            let calls = std::env::args().nth(1).map_or(100_000, |a| a.parse().unwrap()) / n;
            for _ in 0..calls {
                for (c, (x, y)) in comms.iter().zip(&mut bufs) {
                    c.all_reduce(Reduction::Sum, &*x, &mut *y)?;
                }
                for c in &comms {
                    c.stream().fence()?.wait()?;
                }
            }
            let ns = start.elapsed().as_nanos() as f64 / f64::from(calls) / f64::from(n);
            println!("n={n} round {round}: {ns:.0} ns per rank and call");
        }
    }
    Ok(())
}
