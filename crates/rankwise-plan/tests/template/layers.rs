//! Tensor, sequence, expert and pipeline parallelism.

use rankwise_model::Dtype;
use rankwise_plan::file::{Format, PlanFile};
use rankwise_plan::need::NeedsAnswer;
use rankwise_plan::template::{
    Draft, ExpertParallel, LinearPair, Optimizer, Pipeline, Ranks, Rule, SequenceParallel,
    TemplateError, TensorParallel,
};

use super::{buffer, bytes, changed, find, judged, word, wrongs};

fn pair(ranks: Ranks) -> LinearPair {
    LinearPair::new(ranks, 4, 8, 16)
}

fn tensor(ranks: Ranks) -> Draft {
    TensorParallel { pair: pair(ranks) }.draft().unwrap()
}

fn sequence(ranks: Ranks) -> Draft {
    SequenceParallel { pair: pair(ranks) }.draft().unwrap()
}

fn experts(ranks: Ranks) -> Draft {
    ExpertParallel::new(ranks, 4, 3, 8, 100).draft().unwrap()
}

fn pipeline(ranks: Ranks) -> Draft {
    Pipeline::new(ranks, 100, 8, 4).draft().unwrap()
}

const SCHEMES: [fn(Ranks) -> Draft; 4] = [tensor, sequence, experts, pipeline];

#[test]
fn every_plan_meets_its_needs_on_flat_ranks_and_along_an_axis() {
    for scheme in SCHEMES {
        for axis in [None, Some("outer"), Some("inner")] {
            let ranks = match axis {
                None => Ranks::flat(2),
                Some(axis) => {
                    Ranks::mesh([("outer", 2), ("inner", 2)]).unwrap().along(axis).unwrap()
                }
            };
            let draft = scheme(ranks);
            let report = judged(&draft.plan().unwrap());
            assert_eq!(report.answer(), NeedsAnswer::Satisfied, "{}", draft.to_toml());
            assert_eq!(PlanFile::read(&draft.to_toml(), Format::Toml).unwrap(), draft.file());
            draft.holdings().unwrap();
        }
    }
}

#[test]
fn a_known_update_and_a_master_copy_are_steps_of_the_plan() {
    let optimizer = Optimizer::new(Rule::Sgd, Dtype::Bf16);
    let draft = TensorParallel { pair: LinearPair { optimizer, ..pair(Ranks::flat(2)) } };
    let mut file = draft.draft().unwrap().file();
    let steps = file.proposal.0.pop().unwrap().1.value.step;
    let calls: Vec<String> =
        steps.iter().map(|step| step.value.call.as_ref().unwrap().value.clone()).collect();
    let update = ["cast", "scale", "fold", "cast"];
    assert_eq!(calls[..4], ["cast", "cast", "all_reduce", "all_reduce"]);
    assert_eq!(calls[4..], [update, update].concat());
}

#[test]
fn a_partial_output_is_no_output() {
    let forgotten = changed(&tensor(Ranks::flat(2)), |steps| {
        let step = find(steps, "all_reduce", "y");
        step.call = Some(word("copy"));
        step.op = None;
    });
    assert_eq!(wrongs(&forgotten), ("y".into(), vec!["unreduced"]));
    let other = changed(&tensor(Ranks::flat(2)), |steps| {
        find(steps, "all_reduce", "dx").op = Some(word("max"));
    });
    assert_eq!(wrongs(&other), ("dx".into(), vec!["other_reduction"]));
}

#[test]
fn tokens_that_were_not_gathered_or_not_scattered_are_named() {
    let forgotten = changed(&sequence(Ranks::flat(2)), |steps| {
        find(steps, "all_gather", "x_backward").call = Some(word("copy"));
    });
    let (buffer, names) = wrongs(&forgotten);
    assert_eq!((buffer.as_str(), names[0]), ("x_backward", "length"));
    let whole = changed(&sequence(Ranks::flat(2)), |steps| {
        find(steps, "reduce_scatter", "y_shard").call = Some(word("all_reduce"));
    });
    let (buffer, names) = wrongs(&whole);
    assert_eq!((buffer.as_str(), names[0]), ("y_shard", "length"));
}

#[test]
fn tokens_are_not_the_outputs_of_their_experts() {
    let wrong = changed(&experts(Ranks::flat(2)), |steps| {
        find(steps, "all_to_all", "combined").send = Some(buffer("tokens"));
    });
    assert_eq!(wrongs(&wrong), ("combined".into(), vec!["other_input"]));
    let gathered = changed(&experts(Ranks::flat(2)), |steps| {
        find(steps, "all_to_all", "dispatched").call = Some(word("all_gather"));
    });
    assert_eq!(wrongs(&gathered).1[0], "length");
}

/// `A` and `B` of 8 × 16 over 2 ranks: 64 elements each. 2 bytes of parameters and of
/// gradients, 12 of optimizer.
#[test]
fn a_rank_holds_its_columns_and_rows() {
    let draft = tensor(Ranks::flat(2));
    // x and y of 4 × 8, and 4 × 8 of the 4 × 16 between.
    let forward = "forward: g sums the partial outputs";
    assert_eq!(bytes(&draft, forward), [256, 0, 1536, 3 * 32 * 2]);
    let backward = "backward: f sums the partial gradients of the input";
    assert_eq!(bytes(&draft, backward), [256, 256, 1536, 32 * 2]);
    // Of the input's tokens half, of what is between 32, of the output's tokens half.
    let forward = "forward: partial outputs reduce-scattered, gathered tokens let go";
    assert_eq!(bytes(&sequence(Ranks::flat(2)), forward), [256, 0, 1536, (16 + 32 + 16) * 2]);
}

/// Four experts of 100 parameters over 2 ranks; 4 × 3 × 8 elements of tokens.
#[test]
fn a_rank_holds_its_experts() {
    let draft = experts(Ranks::flat(2));
    let done = "optimizer: each rank updates its experts";
    assert_eq!(bytes(&draft, done), [400, 400, 2400, 0]);
    let combined = "forward: outputs combined where the tokens came from";
    assert_eq!(bytes(&draft, combined), [400, 0, 2400, 2 * 96 * 2]);
}

#[test]
fn sizes_that_do_not_divide_are_refused() {
    let refused = |inner| {
        let pair = LinearPair { inner, ..pair(Ranks::flat(3)) };
        TensorParallel { pair }.draft().unwrap_err()
    };
    let what = "inner".to_string();
    assert_eq!(refused(16), TemplateError::Indivisible { what, elements: 16, ranks: 3 });
    let error = ExpertParallel::new(Ranks::flat(3), 4, 3, 8, 100).draft().unwrap_err();
    let what = "experts".to_string();
    assert_eq!(error, TemplateError::Indivisible { what, elements: 4, ranks: 3 });
    let error = Pipeline::new(Ranks::flat(1), 1, 1, 1).draft().unwrap_err();
    assert_eq!(error, TemplateError::TooFew { what: "stages", found: 1, needed: 2 });
    let error = Pipeline::new(Ranks::flat(1000), 1, 1, 1000).draft().unwrap_err();
    assert_eq!(error, TemplateError::TooManySteps { steps: 4_000_000 });
    let error = LinearPair::new(Ranks::flat(2), 1 << 40, 1 << 40, 2);
    let error = TensorParallel { pair: error }.draft().unwrap_err();
    let what = "tokens times hidden".to_string();
    assert_eq!(error, TemplateError::Overflow { what, factors: [1 << 40, 1 << 40] });
}
