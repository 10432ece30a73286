//! What is in the buffers afterwards, by hand.

use rankwise_comm::prelude::*;
use rankwise_nccl::Comm;

use crate::machine::{comms, run};

/// Rank `r` contributes 1, 2, 3, 4 times 10 to the power of `r`.
fn mine(comm: &Comm) -> [i32; 4] {
    [1, 2, 3, 4].map(|x| x * 10_i32.pow(comm.rank().index()))
}

fn filled<T: Element>(comm: &Comm, elements: &[T]) -> Buffer<T, <Comm as Communicator>::Memory> {
    let mut buffer = comm.buffer::<T>(elements.len()).unwrap();
    comm.stream().write(&mut buffer, elements).unwrap();
    buffer
}

#[test]
fn every_rank_has_the_sum() {
    let wanted = [[1, 2, 3, 4], [11, 22, 33, 44], [111, 222, 333, 444], [1111, 2222, 3333, 4444]];
    for (ranks, wanted) in (1..=4).zip(wanted) {
        let sums = run(ranks, |comm| {
            let x = filled(&comm, &mine(&comm));
            let mut y = comm.buffer::<i32>(4).unwrap();
            comm.all_reduce(Reduction::Sum, &x, &mut y).unwrap();
            let mut z = x;
            comm.all_reduce_in_place(Reduction::Sum, &mut z).unwrap();
            (comm.stream().read(&y).unwrap(), comm.stream().read(&z).unwrap())
        });
        for (apart, in_place) in sums {
            assert_eq!(apart, wanted, "{ranks} ranks");
            assert_eq!(in_place, wanted, "{ranks} ranks, in place");
        }
    }
}

#[test]
fn the_mission_in_full() {
    let ends = run(2, |comm| {
        let (x, stream) = (filled(&comm, &mine(&comm)), comm.stream());
        let mut gathered = comm.buffer::<i32>(8).unwrap();
        comm.all_gather(&x, &mut gathered).unwrap();
        let mut shard = comm.buffer::<i32>(2).unwrap();
        comm.reduce_scatter(Reduction::Sum, &x, &mut shard).unwrap();
        let mut whole = comm.buffer::<i32>(4).unwrap();
        comm.all_gather(&shard, &mut whole).unwrap();
        [stream.read(&gathered), stream.read(&shard), stream.read(&whole)].map(Result::unwrap)
    });
    assert_eq!(
        ends,
        [
            [vec![1, 2, 3, 4, 10, 20, 30, 40], vec![11, 22], vec![11, 22, 33, 44]],
            [vec![1, 2, 3, 4, 10, 20, 30, 40], vec![33, 44], vec![11, 22, 33, 44]],
        ]
    );
}

#[test]
fn in_place_the_own_block_is_where_the_rank_says() {
    let ends = run(3, |comm| {
        let own = comm.rank().index();
        let mut blocks = vec![0; 6];
        blocks[2 * own as usize..][..2].copy_from_slice(&[own + 1, 10 * (own + 1)]);
        let mut gathered = filled(&comm, &blocks);
        comm.all_gather_in_place(&mut gathered).unwrap();
        let mut scattered = filled(&comm, &[1, 2, 3, 4, 5, 6].map(|x| x * (own + 1)));
        comm.reduce_scatter_in_place(Reduction::Sum, &mut scattered).unwrap();
        let shard = scattered.slice(2 * own as usize..2 * own as usize + 2).unwrap();
        (comm.stream().read(&gathered).unwrap(), comm.stream().read(shard).unwrap())
    });
    let gathered = vec![1, 10, 2, 20, 3, 30];
    // The sum of 1, 2 and 3 is 6.
    assert_eq!(ends[0], (gathered.clone(), vec![6, 12]));
    assert_eq!(ends[1], (gathered.clone(), vec![18, 24]));
    assert_eq!(ends[2], (gathered, vec![30, 36]));
}

#[test]
fn rooted_calls_serve_the_rank_that_is_named() {
    let ends = run(3, |comm| {
        let root = comm.ranks().rank(2).unwrap();
        let is_root = comm.rank() == root;
        let x = filled(&comm, &[comm.rank().index() + 7]);
        let mut everyone = comm.buffer::<u32>(1).unwrap();
        comm.broadcast(root, &x, &mut everyone).unwrap();
        let mut product = comm.buffer::<u32>(usize::from(is_root)).unwrap();
        comm.reduce(Reduction::Prod, root, &x, &mut product).unwrap();
        let mut gathered = comm.buffer::<u32>(if is_root { 3 } else { 0 }).unwrap();
        comm.gather(root, &x, &mut gathered).unwrap();
        let mut back = comm.buffer::<u32>(1).unwrap();
        comm.scatter(root, &gathered, &mut back).unwrap();
        [&everyone, &product, &gathered, &back].map(|b| comm.stream().read(b).unwrap())
    });
    assert_eq!(ends[0], [vec![9], vec![], vec![], vec![7]]);
    assert_eq!(ends[1], [vec![9], vec![], vec![], vec![8]]);
    assert_eq!(ends[2], [vec![9], vec![504], vec![7, 8, 9], vec![9]]);
}

#[test]
fn blocks_are_exchanged() {
    let ends = run(2, |comm| {
        let own = 10 * comm.rank().index();
        let x = filled(&comm, &[own, own + 1]);
        let mut y = comm.buffer::<u32>(2).unwrap();
        comm.all_to_all(&x, &mut y).unwrap();
        comm.stream().read(&y).unwrap()
    });
    assert_eq!(ends, [[0, 10], [1, 11]]);
}

#[test]
fn a_ring_of_messages_needs_a_group() {
    let ends = run(4, |comm| {
        let (own, ranks) = (comm.rank().index(), comm.ranks());
        let at = |rank: u32| ranks.rank(rank % 4).unwrap();
        let x = filled(&comm, &[own, own * own]);
        let mut y = comm.buffer::<u32>(2).unwrap();
        comm.group(|group| {
            group.send(at(own + 1), &x)?;
            group.recv(at(own + 3), &mut y)
        })
        .unwrap();
        comm.stream().read(&y).unwrap()
    });
    assert_eq!(ends, [[3, 9], [0, 0], [1, 1], [2, 4]]);
}

#[test]
fn a_message_to_oneself_needs_both_sides_in_one_group() {
    let ends = run(1, |comm| {
        let own = comm.rank();
        let x = filled(&comm, &[5_i64]);
        let alone = comm.send(own, &x).unwrap_err();
        let mut y = comm.buffer::<i64>(1).unwrap();
        comm.group(|group| {
            group.send(own, &x)?;
            group.recv(own, &mut y)
        })
        .unwrap();
        (alone.to_string(), comm.stream().read(&y).unwrap())
    });
    assert!(ends[0].0.contains("without a matching recv"), "{}", ends[0].0);
    assert_eq!(ends[0].1, [5]);
}

#[test]
fn colours_and_keys_make_new_ranks() {
    let ends = run(4, |comm| {
        let own = comm.rank().index();
        // Even and odd, in reverse; rank 3 stays out.
        let color = (own != 3).then_some(own % 2);
        let part = comm.split(color, -(own.cast_signed())).unwrap().wait().unwrap();
        let part = part?;
        let x = filled(&part, &[own]);
        let mut y = part.buffer::<u32>(part.ranks().get() as usize).unwrap();
        part.all_gather(&x, &mut y).unwrap();
        Some((part.rank().index(), part.stream().read(&y).unwrap(), part.name().to_owned()))
    });
    let name = "world/split 0".to_owned();
    assert_eq!(ends[0], Some((1, vec![2, 0], name.clone())));
    assert_eq!(ends[1], Some((0, vec![1], name.clone())));
    assert_eq!(ends[2], Some((0, vec![2, 0], name)));
    assert_eq!(ends[3], None);
}

#[test]
fn a_scalar_of_each_rank_goes_before_the_sum() {
    let ends = run(3, |comm| {
        let own = comm.rank().index();
        let mut x = filled(&comm, &[1.0_f32, 4.0]);
        comm.all_reduce_in_place(premul([1.0_f32, 10.0, 100.0][own as usize]), &mut x).unwrap();
        let mut mean = filled(&comm, &[i64::from(own) * 3, -1]);
        comm.all_reduce_in_place(Reduction::Avg, &mut mean).unwrap();
        (comm.stream().read(&x).unwrap(), comm.stream().read(&mean).unwrap())
    });
    for end in ends {
        assert_eq!(end, (vec![111.0, 444.0], vec![3, -1]));
    }
}

#[test]
fn one_thread_drives_all_ranks_of_a_group() {
    let comms = comms(3);
    let inputs: Vec<_> =
        comms.iter().map(|comm| filled(comm, &[comm.rank().index() + 1])).collect();
    let mut outputs: Vec<_> = comms.iter().map(|comm| comm.buffer::<u32>(1).unwrap()).collect();
    comms[0]
        .group(|group| {
            for ((comm, input), output) in comms.iter().zip(&inputs).zip(&mut outputs) {
                group.on(comm, comm.stream()).all_reduce(Reduction::Sum, input, output)?;
            }
            Ok(())
        })
        .unwrap();
    for (comm, output) in comms.iter().zip(&outputs) {
        assert_eq!(comm.stream().read(output).unwrap(), [6]);
    }
}

#[test]
fn splits_by_one_thread_do_not_wait_for_each_other() {
    let comms = comms(2);
    let pending: Vec<_> = comms.iter().map(|comm| comm.split(Some(0), 0).unwrap()).collect();
    let parts: Vec<_> = pending.into_iter().map(|it| it.wait().unwrap().unwrap()).collect();
    assert_eq!(parts.iter().map(|part| part.rank().index()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_buffer_of_no_elements_can_be_passed() {
    let ends = run(2, |comm| {
        let x = comm.buffer::<f64>(0).unwrap();
        let mut y = comm.buffer::<f64>(0).unwrap();
        comm.all_gather(&x, &mut y).unwrap();
        comm.stream().write(&mut y, &[]).unwrap();
        comm.stream().read(&y).unwrap()
    });
    assert_eq!(ends, [[0.0; 0], [0.0; 0]]);
}
