//! Communicators made of communicators.

use rankwise_comm::prelude::*;
use rankwise_mock::World;

use crate::watchdog::in_time;

#[test]
fn colours_keys_and_ties_follow_the_ordering_rule() {
    // Ranks 0 and 1 tie on key 5 and keep their order; rank 3 has the smaller key; rank 2
    // joins nothing.
    let by = [(Some(7), 5), (Some(7), 5), (None, 0), (Some(7), -1)];
    let joined = in_time(move || {
        World::of(4).run(|comm| {
            let (color, key) = by[usize::try_from(comm.rank().index()).expect("small")];
            let Some(part) = comm.split(color, key)?.wait()? else { return Ok(None) };
            let mut gathered = part.buffer::<u32>(3)?;
            let mut own = part.buffer::<u32>(1)?;
            part.stream().write(&mut own, &[comm.rank().index()])?;
            part.all_gather(&own, &mut gathered)?;
            Ok(Some((part.rank().index(), part.stream().read(&gathered)?)))
        })
    });
    let order = vec![3, 0, 1];
    assert_eq!(
        joined,
        [
            Ok::<_, Error>(Some((1, order.clone()))),
            Ok(Some((2, order.clone()))),
            Ok(None),
            Ok(Some((0, order))),
        ]
    );
}

#[test]
fn rows_and_columns_of_a_mesh_are_independent() {
    let sums = in_time(|| {
        World::of(4).run(|comm| {
            let own = comm.rank().index();
            let row = comm.split(Some(own / 2), 0)?.wait()?.expect("a row");
            let column = comm.split(Some(own % 2), 0)?.wait()?.expect("a column");
            let mut x = comm.buffer::<u32>(1)?;
            comm.stream().write(&mut x, &[1 << own])?;
            let before = comm.stream().fence()?;
            row.stream().wait_for(&before)?;
            row.all_reduce_in_place(Reduction::Sum, &mut x)?;
            column.stream().wait_for(&row.stream().fence()?)?;
            column.all_reduce_in_place(Reduction::Sum, &mut x)?;
            column.stream().read(&x)
        })
    });
    assert_eq!(sums, vec![Ok::<_, Error>(vec![0b1111]); 4]);
}

#[test]
fn a_split_that_a_rank_does_not_join_in_is_reported() {
    let ended = in_time(|| {
        World::of(3).run(|comm| {
            if comm.rank().index() == 1 {
                return Ok(());
            }
            comm.split(Some(0), 0)?.wait().map(drop)
        })
    });
    let error = ended[0].clone().expect_err("rank 1 never came");
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert!(error.to_string().contains("split"), "{error}");
    assert_eq!(ended[2], Err(error));
    assert_eq!(ended[1], Ok(()));
}
