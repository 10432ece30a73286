//! Every figure of the mission: values, counts, bytes, and the relabelled case, as
//! numbers and as symbols.
//!
//! The numbers in here are the mission's own, written down by hand.

use rankwise_model::{GroupSize, Layout, Operation, Rank, Reduction, reference};
use rankwise_plan::Plan;
use rankwise_plan::compare::{State, Summary, compare};
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::need::Answer;
use rankwise_plan::numbers::Numbers;
use rankwise_plan::read::NoArrays;
use rankwise_plan::relabel::relabel;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;
use rankwise_topology::{World, WorldRank};

const A: [i32; 4] = [1, 2, 3, 4];
const B: [i32; 4] = [10, 20, 30, 40];

fn two() -> GroupSize {
    GroupSize::new(2).unwrap()
}

fn rank(index: u32) -> WorldRank {
    World::new(two()).rank(index).unwrap()
}

fn example(name: &str) -> Plan {
    let path = format!("{}/../examples/plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap()
}

/// One step of the mission's table, on numbers.
fn on_numbers(operation: Operation, count: u64, inputs: [&[i32]; 2]) -> [Vec<i32>; 2] {
    let layout = Layout::new(operation, two(), count).unwrap();
    let mut outputs: Vec<Vec<i32>> =
        layout.each().map(|at| vec![-1; usize::try_from(at.output_len()).unwrap()]).collect();
    let mut slices: Vec<&mut [i32]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    reference::evaluate(&layout, &[], &inputs, &mut slices).unwrap();
    outputs.try_into().unwrap()
}

const SUM: Reduction = Reduction::Sum;

#[test]
fn the_table_in_numbers() {
    let whole = on_numbers(Operation::AllReduce { reduction: SUM }, 4, [&A, &B]);
    assert_eq!(whole, [vec![11, 22, 33, 44], vec![11, 22, 33, 44]]);

    let gathered = on_numbers(Operation::AllGather, 4, [&A, &B]);
    assert_eq!(gathered[0], [1, 2, 3, 4, 10, 20, 30, 40]);
    assert_eq!(gathered[1], gathered[0]);

    let shards = on_numbers(Operation::ReduceScatter { reduction: SUM }, 2, [&A, &B]);
    assert_eq!(shards, [vec![11, 22], vec![33, 44]]);

    let again = on_numbers(Operation::AllGather, 2, [&shards[0], &shards[1]]);
    assert_eq!(again, whole);
}

/// What `buffer` holds on each rank: the text of its runs, and its values.
fn held(plan: &Plan, proposal: &str, buffer: &str) -> [(Vec<String>, Vec<String>); 2] {
    let mut terms = Terms::new();
    let evaluation = evaluate(plan, plan.proposal(proposal).unwrap(), &mut terms).unwrap();
    let numbers = Numbers::of(plan, &mut terms);
    [0, 1].map(|index| {
        let vector = evaluation.after.get(rank(index), buffer).unwrap();
        let runs = vector.runs().map(|run| terms.show_run(&run)).collect();
        let values = numbers.values(&terms, vector);
        (runs, values.into_iter().map(|value| value.unwrap().to_string()).collect())
    })
}

#[test]
fn the_table_in_symbols_and_values() {
    let plan = example("two-ranks");
    let sum = vec!["x@A[0..4] + x@B[0..4]".to_string()];
    let sum_values = ["11", "22", "33", "44"].map(String::from).to_vec();
    for proposal in ["whole", "sharded"] {
        let expected = (sum.clone(), sum_values.clone());
        assert_eq!(held(&plan, proposal, "y"), [expected.clone(), expected], "{proposal}");
    }

    let shards = held(&plan, "sharded", "s");
    assert_eq!(shards[0].0, ["x@A[0..2] + x@B[0..2]"]);
    assert_eq!(shards[0].1, ["11", "22"]);
    assert_eq!(shards[1].0, ["x@A[2..4] + x@B[2..4]"]);
    assert_eq!(shards[1].1, ["33", "44"]);

    for (runs, values) in held(&plan, "originals", "y") {
        assert_eq!(runs, ["x@A[0..4]", "x@B[0..4]"]);
        assert_eq!(values, ["1", "2", "3", "4", "10", "20", "30", "40"]);
    }
}

fn calls(evaluation: &Evaluation) -> Vec<Layout> {
    evaluation.steps.iter().flat_map(|step| &step.calls).map(|call| call.layout).collect()
}

#[test]
fn the_table_in_counts() {
    let plan = example("two-ranks");
    let layouts = |name: &str| {
        let proposal = plan.proposal(name).unwrap();
        calls(&evaluate(&plan, proposal, &mut Terms::new()).unwrap())
    };
    let first: Rank = two().first();
    let figures = |layout: &Layout| {
        let at = layout.at(first).unwrap();
        (layout.count(), at.input_len(), at.output_len())
    };
    // count argument, input elements, output elements of one rank
    let whole = layouts("whole");
    assert_eq!(whole.iter().map(figures).collect::<Vec<_>>(), [(4, 4, 4)]);
    let sharded = layouts("sharded");
    assert_eq!(sharded.iter().map(figures).collect::<Vec<_>>(), [(2, 4, 2), (2, 2, 4)]);
    let originals = layouts("originals");
    assert_eq!(originals.iter().map(figures).collect::<Vec<_>>(), [(4, 4, 8)]);
}

#[test]
fn shards_gathered_are_the_sum_and_originals_gathered_are_not() {
    let plan = example("two-ranks");
    let between = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|name| (&plan, plan.proposal(name).unwrap()));
        compare(one, other, &mut Terms::new()).unwrap()
    };
    let same = between("whole", "sharded");
    assert_eq!(same.state.state, State::Same);
    assert_eq!(same.summary(), Summary::SameState);
    assert_eq!(same.both_do(), Some(true));

    let other = between("whole", "originals");
    assert_eq!(other.state.state, State::Different);
    assert_eq!(other.summary(), Summary::OnlyFirst);
    assert_eq!(other.both_do(), Some(false));
    let report = &other.needs[1].needs[0];
    assert_eq!(report.answer, Answer::No);
    let evidence = report.evidence.as_ref().unwrap();
    let alone = Wrong::Unreduced { found: "x@A[0..4]".to_string() };
    assert_eq!(evidence.wrongs, [Wrong::Length { found: 8, needed: 4 }, alone]);
}

#[test]
fn relabelled_layout_and_ownership_move_and_the_sum_does_not() {
    let plan = example("relabelled");
    let sum = held(&plan, "whole", "sum");
    for (_, values) in sum {
        assert_eq!(values, ["11", "22", "33", "44"]);
    }
    for (runs, values) in held(&plan, "gathered", "all") {
        assert_eq!(runs, ["x@B[0..4]", "x@A[0..4]"]);
        assert_eq!(values, ["10", "20", "30", "40", "1", "2", "3", "4"]);
    }
    let shards = held(&plan, "sharded", "shard");
    assert_eq!(plan.device_of(rank(0)).unwrap(), "B");
    assert_eq!(shards[0].1, ["11", "22"]);
    assert_eq!(plan.device_of(rank(1)).unwrap(), "A");
    assert_eq!(shards[1].1, ["33", "44"]);
}

#[test]
fn relabelling_a_plan_is_the_relabelled_plan() {
    let relabelled = relabel(&example("two-ranks"), &["B", "A"]).unwrap();
    let [(_, on_b), (_, on_a)] = held(&relabelled, "sharded", "s");
    assert_eq!((on_b, on_a), (vec!["11".into(), "22".into()], vec!["33".into(), "44".into()]));
    let [(_, gathered), _] = held(&relabelled, "originals", "y");
    assert_eq!(gathered, ["10", "20", "30", "40", "1", "2", "3", "4"]);
}

#[test]
fn a_consumer_that_takes_a_to_own_the_first_shard_reads_the_wrong_data() {
    let plan = example("first-shard-on-a");
    let answers = |plan: &Plan| {
        let sharded = (plan, plan.proposal("sharded").unwrap());
        let needs = compare(sharded, sharded, &mut Terms::new()).unwrap().needs;
        needs[0].needs.iter().map(|need| need.answer).collect::<Vec<_>>()
    };
    assert_eq!(answers(&plan), [Answer::Yes, Answer::Yes, Answer::Yes]);
    let relabelled = relabel(&plan, &["B", "A"]).unwrap();
    // It names a device; it names a rank; it names neither.
    assert_eq!(answers(&relabelled), [Answer::No, Answer::Yes, Answer::Yes]);
}

#[test]
fn each_need_has_its_proposal() {
    let needed = |plan: &str, one: &str, other: &str| {
        let plan = example(plan);
        let [one, other] = [one, other].map(|name| (&plan, plan.proposal(name).unwrap()));
        compare(one, other, &mut Terms::new()).unwrap().summary()
    };
    // The assigned shard: stopping after reduce-scatter is enough.
    assert_eq!(needed("own-shard", "shard_only", "sum_then_cut"), Summary::SameState);
    // Each contribution apart: eight elements of the right kind, and of another.
    let both = needed("each-contribution", "gathered", "summed_twice_as_long");
    assert_eq!(both, Summary::OnlyFirst);
}
