//! Plans that are right: what they say arrives.

use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;

const TWO_RANKS: &str = include_str!("../../../examples/plans/two-ranks.toml");

#[test]
fn two_ranks_arrive_whole() {
    let plan = Plan::read(TWO_RANKS, Format::Toml, &mut NoArrays).unwrap();
    println!("{plan:#?}");
}
