//! Field cases of arrays that a real run left: e01 and e12.

use std::fmt::Write as _;

use rankwise_plan::Plan;
use rankwise_plan::file::Format;
use rankwise_plan::judge::{Judgement, Law, Observed, judge};
use rankwise_plan::read::NoArrays;
use rankwise_plan::values::Values;
use rankwise_plan::wrong::Wrong;
use rankwise_topology::World;
use serde_json::Value;

fn case(id: &str, file: &str) -> Value {
    let path = format!("{}/cases/{id}/{file}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn floats(value: &Value) -> Vec<f32> {
    let numbers = value.as_array().unwrap().iter();
    #[allow(clippy::cast_possible_truncation)] // the files hold small whole numbers
    numbers.map(|number| number.as_f64().unwrap() as f32).collect()
}

fn whole_numbers(value: &Value) -> Vec<u32> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| u32::try_from(number.as_u64().unwrap()).unwrap()).collect()
}

/// Eight ranks with one collective from `x` to `y`.
fn plan(call: &str, inputs: &[Vec<f32>]) -> Plan {
    let mut text = String::from("format = 1\n[group]\nranks = 8\n");
    let count = inputs[0].len();
    write!(text, "[input.x]\ndtype = \"f32\"\ncount = {count}\n[input.x.on.rank]\n").unwrap();
    for (rank, input) in inputs.iter().enumerate() {
        writeln!(text, "{rank} = {input:?}").unwrap();
    }
    write!(text, "[[proposal.it.step]]\n{call}\nsend = \"x\"\nrecv = \"y\"\n").unwrap();
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn judged(plan: &Plan, outputs: &[Vec<f32>]) -> Judgement {
    let world = World::new(plan.world);
    let observed: Observed = world
        .ranks()
        .zip(outputs)
        .map(|(rank, output)| ((rank, "y".to_string()), Values::of(output)))
        .collect();
    judge(plan, plan.proposal("it").unwrap(), &observed).unwrap()
}

/// e01: the blocks of an all-gather come back in another order, the same on every
/// rank, so that neither a sum nor a comparison of ranks finds anything.
#[test]
fn e01_the_permutation_of_the_blocks_is_found() {
    let (observed, expected) = (
        case("e01-nvls-all-gather-permuted", "observed"),
        case("e01-nvls-all-gather-permuted", "expected"),
    );
    let inputs: Vec<Vec<f32>> = (0_u8..8).map(|rank| vec![f32::from(rank); 4]).collect();
    let plan = plan("call = \"all_gather\"", &inputs);
    let output = floats(&observed["output_on_every_rank"]);
    let sum: f32 = output.iter().sum();
    // Bits: both are the whole number 112, and no checksum sees the fault.
    let right = expected["sum_expected"].as_f64().unwrap();
    assert_eq!(f64::from(sum).to_bits(), right.to_bits());

    let judgement = judged(&plan, &vec![output; 8]);
    let blocks = whole_numbers(&expected["found_slots"]);
    assert_eq!(judgement.findings.len(), 8);
    for finding in &judgement.findings {
        let [Wrong::Permuted { block: 4, order }] = finding.law.wrongs() else {
            panic!("{finding:?}");
        };
        assert_eq!(order.as_slice(), blocks);
        assert_eq!(order.inverse().as_slice(), whole_numbers(&expected["inverse"]));
        // Slots 1 to 7 of four elements each are wrong, slot 1 is the first.
        assert_eq!(finding.wrong, 28);
        assert_eq!(finding.first_wrong.unwrap().0, 4);
    }
}

/// e12: the reduction is right and the block belongs to another rank; ranks 0 and 7
/// are right by chance.
#[test]
fn e12_the_owner_of_each_block_is_found() {
    let (observed, expected) = (
        case("e12-reduce-scatter-wrong-block", "observed"),
        case("e12-reduce-scatter-wrong-block", "expected"),
    );
    let input: Vec<f32> =
        observed["input_on_every_rank"].as_array().unwrap().iter().flat_map(floats).collect();
    let plan = plan("call = \"reduce_scatter\"\nop = \"avg\"", &vec![input; 8]);
    let outputs: Vec<Vec<f32>> =
        (0..8).map(|rank| floats(&observed["observed_output"][rank.to_string()])).collect();

    let judgement = judged(&plan, &outputs);
    let blocks = whole_numbers(&expected["observed_block_of_rank"]);
    assert_eq!(judgement.owners("y"), Some(blocks));
    let wrong: Vec<u32> = judgement
        .findings
        .iter()
        .filter(|finding| finding.law != Law::Right)
        .map(|finding| finding.rank.index())
        .collect();
    assert_eq!(wrong, whole_numbers(&expected["wrong_ranks"]));

    // The same run without the fault.
    let right: Vec<Vec<f32>> =
        (0..8).map(|rank| floats(&expected["expected"][rank.to_string()])).collect();
    let judgement = judged(&plan, &right);
    assert!(judgement.findings.iter().all(|finding| finding.law == Law::Right));
}
