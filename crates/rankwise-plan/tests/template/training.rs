//! Data parallelism, sharded or not: needs, wrong variants, holdings, comparisons.

use rankwise_model::Dtype;
use rankwise_plan::compare::{Summary, compare};
use rankwise_plan::file::{Format, PlanFile, Step};
use rankwise_plan::need::NeedsAnswer;
use rankwise_plan::template::{
    Average, Ddp, Draft, Extent, Fsdp, Hsdp, Kind, Optimizer, Ranks, Rule, Stage, TemplateError,
    Training, Types, Zero,
};
use rankwise_plan::term::Terms;

use super::{axis, buffer, bytes, changed, find, is, judged, word, wrongs};

pub(super) fn mixed(ranks: Ranks, layers: &[u64]) -> Training {
    Training::new(ranks, layers)
}

pub(super) fn sgd(ranks: Ranks, layers: &[u64]) -> Training {
    let f32 = Dtype::F32;
    let types = Types { param: f32, grad: f32, reduce: f32 };
    Training { types, optimizer: Optimizer::new(Rule::Sgd, f32), ..mixed(ranks, layers) }
}

/// Every template of training, by one training.
pub(super) fn all(training: &Training) -> Vec<Draft> {
    let zero = |stage| Zero { stage, training: training.clone() }.draft().unwrap();
    vec![
        Ddp { training: training.clone() }.draft().unwrap(),
        zero(Stage::Optimizer),
        zero(Stage::Gradients),
        zero(Stage::Parameters),
        Fsdp { training: training.clone() }.draft().unwrap(),
    ]
}

pub(super) fn hybrid(training: &Training) -> Draft {
    let ranks = Ranks::mesh([("replica", 2), ("shard", 2)]).unwrap();
    Hsdp { training: Training { ranks, ..training.clone() } }.draft().unwrap()
}

#[test]
fn every_plan_meets_its_needs_in_every_choice_of_types_rule_and_average() {
    let (f32, bf16) = (Dtype::F32, Dtype::Bf16);
    let mut plans = 0;
    for (param, grad, reduce) in [(f32, f32, f32), (bf16, bf16, bf16), (bf16, bf16, f32)] {
        for rule in Rule::ALL {
            for (average, layers) in [
                (Average::InTheCall, [8, 12]),
                (Average::DividedBefore, [8, 12]),
                (Average::DividedAfter, [8, 12]),
                (Average::InTheCall, [10, 1]),
                (Average::DividedBefore, [10, 1]),
                (Average::DividedAfter, [10, 1]),
            ] {
                let training = Training {
                    types: Types { param, grad, reduce },
                    optimizer: Optimizer::new(rule, param),
                    average,
                    ..mixed(Ranks::flat(4), &layers)
                };
                let mut drafts = all(&training);
                drafts.push(hybrid(&training));
                for draft in drafts {
                    let report = judged(&draft.plan().unwrap());
                    let answer = report.answer();
                    assert_eq!(answer, NeedsAnswer::Satisfied, "{}\n{report:?}", draft.to_toml());
                    plans += 1;
                }
            }
        }
    }
    assert_eq!(plans, 3 * 2 * 6 * 6);
}

#[test]
fn the_text_reads_back_to_the_same_plan() {
    let training = mixed(Ranks::mesh([("dp", 2), ("tp", 2)]).unwrap().along("dp").unwrap(), &[8]);
    for draft in all(&training) {
        let file = draft.file();
        assert_eq!(PlanFile::read(&draft.to_toml(), Format::Toml).unwrap(), file);
        assert_eq!(PlanFile::read(&draft.to_json(), Format::Json).unwrap(), file);
    }
}

/// "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", figure 1:
/// 2Ψ parameters, 2Ψ gradients and KΨ of optimizer with K = 12, by stage.
#[test]
fn ranks_hold_what_the_paper_says_of_each_stage() {
    let training = mixed(Ranks::flat(4), &[1000, 2000]);
    let [ddp, zero1, zero2, zero3, fsdp] = &all(&training)[..] else { panic!() };
    let averaged = "backward of layer 0: its gradient is averaged";
    let scattered = "gradient of layer 0 reduce-scattered";
    // Ψ = 3000, N = 4: 16Ψ = 48000, 4Ψ + 12Ψ/4 = 21000, 2Ψ + 14Ψ/4 = 16500, 16Ψ/4 = 12000.
    assert_eq!(bytes(ddp, averaged), [6000, 6000, 36000, 0]);
    assert_eq!(bytes(zero1, averaged), [6000, 6000, 9000, 0]);
    assert_eq!(bytes(zero2, scattered), [6000, 1500, 9000, 0]);
    assert_eq!(bytes(zero3, scattered), [1500, 1500, 9000, 0]);
    // The shard is the master copy: 4 + 4 + 8 bytes of 750 elements, the same in all.
    assert_eq!(bytes(fsdp, scattered), [3000, 3000, 6000, 0]);
    // Gathered for forward: 1000 elements of bf16 beside the shards.
    let forward = "forward of layer 0: its parameters are gathered";
    assert_eq!(bytes(fsdp, forward), [3000 + 2000, 0, 6000, 0]);
    assert_eq!(bytes(fsdp, "forward of layer 0 done: they are let go"), [3000, 0, 6000, 0]);
    // While layer 0's gradient is whole: its parameters too, and layer 1's shard.
    let whole = "backward of layer 0 done: its gradient is there";
    assert_eq!(bytes(fsdp, whole), [3000 + 2000, 2000 + 500 * 4, 6000, 0]);
    for draft in [ddp, zero1, zero2, zero3, fsdp] {
        let last = draft.holdings().unwrap().moments.pop().unwrap();
        assert!(!last.held[0].1.kinds.contains_key(&Kind::Gradients), "{last:?}");
    }
}

#[test]
fn a_gathered_layer_is_full_beside_the_shards_of_the_others() {
    let fsdp = Fsdp { training: mixed(Ranks::flat(4), &[8, 12]) }.draft().unwrap();
    let extent = |title: &str, kind| {
        let holdings = fsdp.holdings().unwrap();
        let moment = holdings.moments.iter().find(|moment| moment.title == title).unwrap();
        moment.held[0].1.kinds.get(&kind).map(|amount| amount.extent)
    };
    let gathered = "forward of layer 1: its parameters are gathered";
    let partly = Extent::Partly { full: 1, shard: 1, layers: 2 };
    assert_eq!(extent(gathered, Kind::Parameters), Some(partly));
    assert_eq!(extent(gathered, Kind::Optimizer), Some(Extent::Shard));
    assert_eq!(extent(gathered, Kind::Gradients), None);
}

/// Without a master copy, and moments in bf16: 2 + 2 + 2·2 bytes of everything.
#[test]
fn the_optimizer_counts_with_its_types_and_moments() {
    let optimizer = Optimizer { rule: Rule::Adam, state: Dtype::Bf16, master: None };
    let training = Training { optimizer, ..mixed(Ranks::flat(4), &[1000]) };
    let ddp = Ddp { training: training.clone() }.draft().unwrap();
    let averaged = "backward of layer 0: its gradient is averaged";
    assert_eq!(bytes(&ddp, averaged), [2000, 2000, 4000, 0]);
    // A view of the own block is not held beside what it is a part of.
    let zero1 = Zero { stage: Stage::Optimizer, training }.draft().unwrap();
    assert_eq!(bytes(&zero1, averaged), [2000, 2000, 1000, 0]);
}

#[test]
fn a_sum_where_the_average_is_needed_is_named() {
    for draft in all(&sgd(Ranks::flat(4), &[8])) {
        let wrong = changed(&draft, |steps| {
            let reduces = |step: &&mut Step| step.op.is_some();
            steps.iter_mut().find(reduces).unwrap().op = Some(word("sum"));
        });
        let (buffer, names) = wrongs(&wrong);
        assert!(buffer.starts_with("grad0"), "{}: {buffer}", draft.name());
        assert_eq!(names, ["not_averaged"], "{}", draft.name());
    }
}

/// Divided by the ranks, and then averaged: a quarter of the average.
#[test]
fn dividing_twice_is_named() {
    let training = Training { average: Average::DividedBefore, ..mixed(Ranks::flat(4), &[8]) };
    let ddp = Ddp { training }.draft().unwrap();
    let wrong = changed(&ddp, |steps| find(steps, "all_reduce", "grad0").op = Some(word("avg")));
    assert_eq!(wrongs(&wrong), ("grad0".into(), vec!["divided_twice"]));
}

#[test]
fn a_forgotten_gather_of_updated_parameters_is_named() {
    for stage in [Stage::Optimizer, Stage::Gradients] {
        let draft = Zero { stage, training: mixed(Ranks::flat(4), &[8]) }.draft().unwrap();
        let wrong = changed(&draft, |steps| {
            let step = find(steps, "all_gather", "param0_next");
            step.call = Some(word("copy"));
        });
        assert_eq!(wrongs(&wrong).1[0], "length");
    }
}

#[test]
fn a_gathered_gradient_is_no_gathered_parameter() {
    for draft in &all(&mixed(Ranks::flat(4), &[8, 8]))[3..] {
        // Equal counts, other values: layer 1's gradient shard is there by then.
        let wrong = changed(draft, |steps| {
            find(steps, "all_gather", "param0_backward").send = Some(buffer("grad1_shard"));
            if draft.name() == "fsdp" {
                let cast = Step {
                    call: Some(word("cast")),
                    send: Some(buffer("grad1_shard")),
                    recv: Some(word("wrong")),
                    dtype: Some(word("bf16")),
                    ..Step::default()
                };
                let at = steps.iter().position(|step| is(step, "all_gather", "param0_backward"));
                steps.insert(at.unwrap(), cast);
                find(steps, "all_gather", "param0_backward").send = Some(buffer("wrong"));
            }
        });
        assert_eq!(wrongs(&wrong), ("param0_backward".into(), vec!["other_input", "other_buffer"]));
    }
}

#[test]
fn the_wrong_axis_of_a_mesh_is_named() {
    let ranks = Ranks::mesh([("dp", 2), ("tp", 2)]).unwrap().along("dp").unwrap();
    let ddp = Ddp { training: mixed(ranks, &[8]) }.draft().unwrap();
    let wrong = changed(&ddp, |steps| find(steps, "all_reduce", "grad0").over = Some(axis("tp")));
    // Rank 0 averages with rank 1, and should with rank 2.
    assert_eq!(wrongs(&wrong), ("grad0".into(), vec!["sub_group"]));

    let hsdp = hybrid(&sgd(Ranks::flat(4), &[8]));
    let forgotten =
        changed(&hsdp, |steps| steps.retain(|step| !is(step, "all_reduce", "grad0_shard")));
    assert_eq!(wrongs(&forgotten).1, ["sub_group"]);
    // Along the shards again, where it should be across the replicas: two blocks of one
    // replica are mixed, and the other replica is left out.
    let again = changed(&hsdp, |steps| {
        find(steps, "all_reduce", "grad0_shard").over = Some(axis("shard"));
    });
    assert_eq!(wrongs(&again).1, ["extra", "extra", "missing", "missing"]);
    // Replicas that nobody made equal.
    let unequal =
        changed(&hsdp, |steps| steps.retain(|step| !is(step, "broadcast", "param0_shard")));
    assert_eq!(wrongs(&unequal), ("param0_shard".into(), vec!["other_origin"]));
}

/// Over two shards, whatever the replicas: 16Ψ/2 of Ψ = 3000, the shard being the master
/// copy: 4 + 4 + 8 bytes of 1500 elements.
#[test]
fn replicas_divide_nothing() {
    let hsdp = hybrid(&mixed(Ranks::flat(4), &[1000, 2000]));
    let scattered = "gradient of layer 0 reduce-scattered";
    assert_eq!(bytes(&hsdp, scattered), [6000, 6000, 12000, 0]);
    let forward = "forward of layer 1: its parameters are gathered";
    assert_eq!(bytes(&hsdp, forward), [6000 + 2 * 2000, 0, 12000, 0]);
}

#[test]
fn replicas_are_equal_because_they_are_made_so() {
    let ddp = Ddp { training: mixed(Ranks::flat(2), &[8]) }.draft().unwrap();
    let wrong = changed(&ddp, |steps| {
        steps.retain(|step| !is(step, "broadcast", "param0"));
    });
    assert_eq!(wrongs(&wrong), ("param0".into(), vec!["other_origin"]));
}

fn compared(one: &Draft, other: &Draft) -> Summary {
    let plans = [one, other].map(|draft| draft.plan().unwrap());
    let [left, right] = &plans;
    compare((left, &left.proposals[0]), (right, &right.proposals[0]), &mut Terms::new())
        .unwrap()
        .summary()
}

/// With an update whose arithmetic is known, the parameters that are left are terms
/// over gradients and parameters, and the same ones.
#[test]
fn ddp_zero1_and_zero2_leave_the_same_parameters() {
    // With padding too: it is left out of what is gathered.
    for layers in [[8, 12], [10, 1]] {
        let training = sgd(Ranks::flat(4), &layers);
        let [ddp, zero1, zero2, zero3, fsdp] = &all(&training)[..] else { panic!() };
        for [one, other] in [[ddp, zero1], [ddp, zero2], [zero1, zero2], [zero3, fsdp]] {
            assert_eq!(compared(one, other), Summary::SameState, "{} {}", one.name(), other.name());
        }
        // Whole parameters and shards of them are not the same state.
        assert_ne!(compared(ddp, fsdp), Summary::SameState);
    }
}

/// In mixed precision as well: a master copy in f32 that is rounded afterwards.
#[test]
fn a_master_copy_makes_no_difference_between_ddp_and_zero() {
    let optimizer = Optimizer::new(Rule::Sgd, Dtype::Bf16);
    let training = Training { optimizer, ..mixed(Ranks::flat(2), &[8]) };
    let [ddp, zero1, ..] = &all(&training)[..] else { panic!() };
    assert_eq!(compared(ddp, zero1), Summary::SameState);
}

#[test]
fn what_makes_no_plan_is_refused_with_both_numbers() {
    let refused = |training: Training| Fsdp { training }.draft().unwrap_err();
    let what = "layer 1".to_string();
    let most = TemplateError::Overflow { what, factors: [u64::MAX, 4] };
    assert_eq!(refused(mixed(Ranks::flat(4), &[8, u64::MAX])), most);
    assert_eq!(refused(mixed(Ranks::flat(4), &[])), TemplateError::NoLayers);
    let zero = TemplateError::Zero { what: "layer 0".into() };
    assert_eq!(refused(mixed(Ranks::flat(4), &[0])), zero);
    let zero = TemplateError::Zero { what: "ranks".into() };
    assert_eq!(refused(mixed(Ranks::flat(0), &[4])), zero);
    let many = TemplateError::TooManyRanks { ranks: 1 << 21 };
    assert_eq!(refused(mixed(Ranks::flat(1 << 21), &[4])), many);
    let mut integers = mixed(Ranks::flat(4), &[4]);
    integers.types.grad = Dtype::I32;
    let error = TemplateError::NotFloat { what: "gradients", dtype: Dtype::I32 };
    assert_eq!(refused(integers), error);
    let error = Hsdp { training: mixed(Ranks::flat(4), &[4]) }.draft().unwrap_err();
    assert_eq!(error.to_string(), "found 4 ranks without a mesh, expected an axis called replica");
    let mesh = Ranks::mesh([("replica", 2), ("tp", 2)]).unwrap();
    let error = Hsdp { training: mixed(mesh, &[4]) }.draft().unwrap_err();
    assert_eq!(
        error.to_string(),
        "found a mesh of replica and tp, expected a mesh of replica and shard and nothing else"
    );
}
