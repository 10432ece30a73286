//! The same devices, the same contributions, exchanged ranks.
//!
//! Rank order decides who owns what and what lies where; a rank is no device. After the
//! exchange device A is rank 1: gathered contributions stand in another order, and A owns
//! the *second* shard, so a consumer that took it for granted that A has the first reads
//! the wrong data. The sum is what it was.
//!
//! Prints the three results before and after.

#![allow(clippy::print_stdout)] // an example prints

use std::error::Error as AnyError;

use rankwise_comm::prelude::*;
use rankwise_mock::World;
use rankwise_topology::{Device, RankMap, Relabelling, Sharing};

/// What a device contributes, whichever rank it is.
fn contribution(device: &Device) -> [i32; 4] {
    if device.to_string() == "A" { [1, 2, 3, 4] } else { [10, 20, 30, 40] }
}

/// What a rank holds: gathered, its shard of the sum, the sum.
fn results<C: Communicator>(comm: &C, mine: [i32; 4]) -> Result<[Vec<i32>; 3], Error> {
    let (mut x, mut gathered) = (comm.buffer(4)?, comm.buffer(8)?);
    let (mut shard, mut sum) = (comm.buffer(2)?, comm.buffer(4)?);
    let stream = comm.stream();
    stream.write(&mut x, &mine)?;
    comm.all_gather(&x, &mut gathered)?;
    comm.reduce_scatter(Reduction::Sum, &x, &mut shard)?;
    comm.all_reduce(Reduction::Sum, &x, &mut sum)?;
    Ok([stream.read(&gathered)?, stream.read(&shard)?, stream.read(&sum)?])
}

fn show(map: &RankMap) -> Result<(), Error> {
    let devices: Vec<&Device> = map.world().ranks().filter_map(|rank| map.device(rank)).collect();
    let held = World::new(map.world().size())
        .run(|comm| results(comm, contribution(devices[comm.rank().index() as usize])));
    for (rank, (device, held)) in devices.iter().zip(held).enumerate() {
        let [gathered, shard, sum] = held?;
        println!("rank {rank} on {device} contributes {:?}", contribution(device));
        println!("  all_gather          {gathered:?}");
        println!("  reduce_scatter(sum) {shard:?}");
        println!("  all_reduce(sum)     {sum:?}");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn AnyError>> {
    let devices = vec![Device::named("A")?, Device::named("B")?];
    let before = RankMap::new(devices, Sharing::Exclusive)?;
    show(&before)?;

    let exchange = Relabelling::from_list(before.world(), [1, 0])?;
    println!("ranks exchanged: {exchange}");
    show(&exchange.apply_map(&before)?)?;
    Ok(())
}
