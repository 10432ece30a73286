//! A stranger's rank program, tested without hardware: the mock as a fixture.

use std::time::Duration;

use a_strangers_crate::stencil::{smooth, totals};
use rankwise_comm::prelude::*;
use rankwise_mock::World;
use rstest::{fixture, rstest};

/// So many ranks, each a thread.
#[fixture]
fn world(#[default(3)] ranks: u32) -> World {
    World::of(ranks)
}

/// The same on one rank, for all cells at once.
fn smoothed(field: &[i64]) -> Vec<i64> {
    let at = |cell: usize| field.get(cell).copied().unwrap_or(0);
    let left = |cell: usize| cell.checked_sub(1).map_or(0, at);
    (0..field.len()).map(|cell| left(cell) + at(cell) + at(cell + 1)).collect()
}

#[rstest]
#[timeout(Duration::from_secs(30))]
fn strips_are_smoothed_as_the_whole_field_is(
    #[values(1, 2, 3, 8)] ranks: u32,
    #[values(1, 2, 5)] width: usize,
    #[with(ranks)] world: World,
) {
    let field: Vec<i64> = (0..ranks as usize * width).map(|cell| 1 << (3 * (cell % 20))).collect();
    let strips: Vec<&[i64]> = field.chunks(width).collect();
    let left = world.run(|comm| smooth(comm, strips[comm.rank().index() as usize]));
    let left = left.into_iter().collect::<Result<Vec<_>, Error>>().unwrap();
    assert_eq!(left.concat(), smoothed(&field));
}

#[rstest]
#[timeout(Duration::from_secs(30))]
#[case::a_column_of_ones(&[1], &[3])]
#[case::two_columns(&[1, -7], &[3, -21])]
#[case::nothing(&[], &[])]
fn every_rank_gets_the_totals(world: World, #[case] columns: &[i64], #[case] sums: &[i64]) {
    for left in world.run(|comm| totals(comm, columns)) {
        assert_eq!(left.unwrap(), sums);
    }
}

#[rstest]
#[timeout(Duration::from_secs(30))]
fn whoever_has_another_number_of_columns_is_named_with_the_line(
    #[values(0, 1, 2)] odd: u32,
    #[values(3, 4)] ranks: u32,
    #[with(ranks)] world: World,
) {
    let ended = world.run(|comm| {
        if comm.rank().index() == odd {
            totals(comm, &[1, 2, 3])
        } else {
            totals(comm, &[1, 2])
        }
    });
    let line = line!() - 5; // of the odd one

    let errors: Vec<Error> = ended.into_iter().map(Result::unwrap_err).collect();
    assert_eq!(errors.len(), ranks as usize);
    for error in &errors {
        assert_eq!(error, &errors[0], "one report, on every rank");
        assert_eq!(error.kind(), ErrorKind::Peer);
    }
    let report = errors[0].report().expect("a report on what the ranks did");
    let outliers: Vec<u32> = report.outliers.iter().map(|rank| rank.index()).collect();
    assert_eq!(outliers, [odd]);
    let (site, who) = &report.sides[1].sites[0];
    assert_eq!(who.len(), 1);
    assert!(site.to_string().starts_with(&format!("{}:{line}:", file!())), "{site}");
    assert!(report.to_string().contains("mismatch of count"), "{report}");
}

/// On two ranks nobody has a majority, and the report says both sides.
#[rstest]
#[timeout(Duration::from_secs(30))]
fn one_against_one_is_no_majority(#[with(2)] world: World) {
    let ended = world.run(|comm| totals(comm, &vec![1; 1 + comm.rank().index() as usize]));
    let error = ended[0].clone().unwrap_err();
    let report = error.report().expect("a report on what the ranks did");
    assert!(report.outliers.is_empty());
    assert_eq!(report.sides.len(), 2);
}
