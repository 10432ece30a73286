//! A strict world: what nothing has been written to is poisoned.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};

use crate::watchdog::in_time;

#[test]
fn fresh_memory_is_poisoned() {
    let comm = World::of(1).strict().communicators().remove(0);
    let (x, y) = (comm.buffer::<f32>(2).unwrap(), comm.buffer::<i32>(2).unwrap());
    assert!(comm.stream().read(&x).unwrap().iter().all(|x| x.is_nan()));
    assert_eq!(comm.stream().read(&y), Ok(vec![-1, -1]));
}

#[test]
fn an_output_is_poisoned_until_its_call_is_done() {
    let comms = World::of(2).strict().communicators();
    let buffers = |at: usize| {
        let comm = &comms[at];
        let (mut x, mut y) = (comm.buffer::<i32>(1).unwrap(), comm.buffer::<i32>(2).unwrap());
        comm.stream().write(&mut x, &[7]).unwrap();
        comm.stream().write(&mut y, &[3, 3]).unwrap();
        comm.stream().fence().unwrap().wait().unwrap();
        (x, y)
    };
    let ((x0, mut y0), (x1, mut y1)) = (buffers(0), buffers(1));
    comms[0].all_gather(&x0, &mut y0).unwrap();
    // Rank 1 never agrees: the output keeps its poison, and the stream says why.
    comms[1].all_reduce(Reduction::Sum, &x1, y1.slice_mut(0..1).unwrap()).unwrap();
    assert!(comms[0].stream().read(&y0).is_err());

    let comms = World::of(2).strict().communicators();
    let gathered = in_time(move || {
        let mut gathered = Vec::new();
        let mut held: Vec<_> = comms
            .iter()
            .map(|comm| (comm.buffer::<i32>(1).unwrap(), comm.buffer::<i32>(2).unwrap()))
            .collect();
        for (comm, (x, y)) in comms.iter().zip(&mut held) {
            comm.stream().write(&mut *x, &[5]).unwrap();
            comm.all_gather(&*x, &mut *y).unwrap();
        }
        for (comm, (_, y)) in comms.iter().zip(&held) {
            gathered.push(comm.stream().read(y).unwrap());
        }
        gathered
    });
    assert_eq!(gathered, [vec![5, 5], vec![5, 5]]);
}

/// What is in each rank's buffer of i32 after a call on it, in a strict world or not.
fn left_in_place(
    world: World,
    held: [&'static [i32]; 3],
    call: impl Fn(&Comm, &mut Ints) -> Result<(), Error> + Send + Sync + 'static,
) -> Vec<Vec<i32>> {
    let left = in_time(move || {
        world.run(|comm| {
            let held = held[usize::try_from(comm.rank().index()).expect("small")];
            let mut x = comm.buffer::<i32>(held.len())?;
            comm.stream().write(&mut x, held)?;
            call(comm, &mut x)?;
            comm.stream().read(&x)
        })
    });
    left.into_iter().collect::<Result<_, Error>>().expect("no fault")
}

type Ints = Buffer<i32, <Comm as Communicator>::Memory>;

const SIX: [&[i32]; 3] =
    [&[1, 2, 3, 4, 5, 6], &[10, 20, 30, 40, 50, 60], &[100, 200, 300, 400, 500, 600]];
const TWO: [&[i32]; 3] = [&[1, 2], &[3, 4], &[5, 6]];

/// Clause IP-3: the result is the own block, and no other is promised.
#[test]
fn a_reduce_scatter_in_place_leaves_its_own_block_only() {
    let scatter = |comm: &Comm, x: &mut Ints| comm.reduce_scatter_in_place(Reduction::Sum, x);
    assert_eq!(
        left_in_place(World::of(3).strict(), SIX, scatter),
        [[111, 222, -1, -1, -1, -1], [-1, -1, 333, 444, -1, -1], [-1, -1, -1, -1, 555, 666]]
    );
    // The same blocks where nothing is poisoned.
    let usual = left_in_place(World::of(3), SIX, scatter);
    assert_eq!(
        [&usual[0][..2], &usual[1][2..4], &usual[2][4..]],
        [[111, 222], [333, 444], [555, 666]]
    );
    let grouped = |comm: &Comm, x: &mut Ints| {
        comm.group(|group| group.reduce_scatter_in_place(Reduction::Max, x))
    };
    assert_eq!(
        left_in_place(World::of(3).strict(), SIX, grouped),
        [[100, 200, -1, -1, -1, -1], [-1, -1, 300, 400, -1, -1], [-1, -1, -1, -1, 500, 600]]
    );
}

/// Clauses N-4 and RED-2: what a call in place does not write is lost, on every rank.
#[test]
fn rooted_calls_in_place_leave_what_they_write_and_nothing_else() {
    let root = |comm: &Comm| comm.ranks().rank(1).expect("three ranks");
    assert_eq!(
        left_in_place(World::of(3).strict(), TWO, move |comm, x| {
            comm.reduce_in_place(Reduction::Sum, root(comm), x)
        }),
        [[-1, -1], [9, 12], [-1, -1]]
    );
    let held: [&[i32]; 3] = [&[1, 2], &[0, 0, 3, 4, 0, 0], &[5, 6]];
    let gathered = left_in_place(World::of(3).strict(), held, move |comm, x| {
        comm.gather_in_place(root(comm), x)
    });
    assert_eq!(gathered, [vec![-1, -1], vec![1, 2, 3, 4, 5, 6], vec![-1, -1]]);
    let held: [&[i32]; 3] = [&[0, 0], &[1, 2, 3, 4, 5, 6], &[0, 0]];
    let scattered = left_in_place(World::of(3).strict(), held, move |comm, x| {
        comm.scatter_in_place(root(comm), x)
    });
    assert_eq!(scattered, [vec![1, 2], vec![-1, -1, 3, 4, -1, -1], vec![5, 6]]);
}

#[test]
fn calls_in_place_that_write_all_of_their_buffer_lose_nothing() {
    let root = |comm: &Comm| comm.ranks().rank(2).expect("three ranks");
    let strict = || World::of(3).strict();
    let reduced =
        left_in_place(strict(), TWO, |comm, x| comm.all_reduce_in_place(Reduction::Sum, x));
    assert_eq!(reduced, [[9, 12]; 3]);
    let cast = left_in_place(strict(), TWO, move |comm, x| comm.broadcast_in_place(root(comm), x));
    assert_eq!(cast, [[5, 6]; 3]);
    let held: [&[i32]; 3] = [&[1, 2, 0, 0, 0, 0], &[0, 0, 3, 4, 0, 0], &[0, 0, 0, 0, 5, 6]];
    let gathered = left_in_place(strict(), held, |comm, x| comm.all_gather_in_place(x));
    assert_eq!(gathered, [[1, 2, 3, 4, 5, 6]; 3]);
}

/// What is lost counts as written, in every world: to read it from another stream without a
/// fence is a hazard, and a read from the host waits for the call.
#[test]
fn what_a_call_in_place_loses_it_writes() {
    for world in [World::of(2), World::of(2).strict()] {
        let hazards = in_time(move || {
            world.run(|comm| {
                let own = usize::try_from(comm.rank().index()).expect("small");
                let (mut x, mut y) = (comm.buffer::<i32>(2)?, comm.buffer::<i32>(1)?);
                let other = comm.new_stream()?;
                other.wait_for(&comm.stream().fence()?)?;
                comm.reduce_scatter_in_place(Reduction::Sum, &mut x)?;
                let lost = x.slice(1 - own..2 - own)?;
                let hazard = comm.on(&other).all_reduce(Reduction::Sum, lost, &mut y).is_err();
                other.wait_for(&comm.stream().fence()?)?;
                comm.on(&other).all_reduce(Reduction::Sum, lost, &mut y)?;
                other.fence()?.wait()?;
                Ok::<_, Error>(hazard)
            })
        });
        assert_eq!(hazards, [Ok(true), Ok(true)]);
    }
}
