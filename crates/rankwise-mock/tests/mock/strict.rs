//! A strict world: what nothing has been written to is poisoned.

use rankwise_comm::prelude::*;
use rankwise_mock::World;

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
