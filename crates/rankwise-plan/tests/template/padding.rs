//! Layers that the ranks do not divide: who holds the padding, what it is, and that
//! nothing of the layer is lost or moved.

use rankwise_plan::evaluate::evaluate;
use rankwise_plan::file::{List, Literal, PlanFile, Spanned, Whole};
use rankwise_plan::template::{Draft, Extent, Fsdp, Kind, Ranks, Stage, Training, Zero};
use rankwise_plan::term::Terms;
use rankwise_topology::World;

use super::training::{all, hybrid, mixed, sgd};
use super::{bytes, changed, find, is, wrongs};

/// What each rank holds in a buffer at last, run by run.
fn held(draft: &Draft, buffer: &str) -> Vec<Vec<String>> {
    let plan = draft.plan().unwrap();
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms).unwrap();
    let ranks = World::new(plan.world).ranks();
    let shown = |rank| {
        let vector = evaluation.after.get(rank, buffer).unwrap();
        vector.runs().map(|run| terms.show_run(&run)).collect()
    };
    ranks.map(shown).collect()
}

fn fsdp(ranks: Ranks, layers: &[u64]) -> Draft {
    Fsdp { training: sgd(ranks, layers) }.draft().unwrap()
}

/// Five elements over three ranks: 2, 2 and 1, and one zero on rank 2.
#[test]
fn the_last_rank_holds_zeros_behind_its_part() {
    let draft = fsdp(Ranks::flat(3), &[5]);
    let parameters = |rank: u32, count: u64| format!("param0_shard@rank{rank}[0..{count}]");
    let one = |rank: u32| format!("param0_shard@rank{rank}[0]");
    assert_eq!(
        held(&draft, "param0_shard_padded"),
        [vec![parameters(0, 2)], vec![parameters(1, 2)], vec![one(2), "0 (padding)".into()]]
    );
    // Gathered, the zero is at the end.
    let gathered = vec![parameters(0, 2), parameters(1, 2), one(2), "0 (padding)".into()];
    assert_eq!(held(&draft, "param0_forward"), vec![gathered; 3]);
    // Of the gradient each rank has its part of the average, the last one element.
    let average = |at: &str| {
        let of = |rank: u32| format!("1/3·grad0@rank{rank}[{at}]");
        [of(0), of(1), of(2)].join(" + ")
    };
    assert_eq!(
        held(&draft, "grad0_shard"),
        [vec![average("0..2")], vec![average("2..4")], vec![average("4"), "0 (padding)".into()]]
    );
}

/// One element over four ranks: three of them have nothing but padding.
#[test]
fn a_rank_may_hold_padding_alone() {
    let draft = fsdp(Ranks::flat(4), &[1]);
    let of_all = held(&draft, "param0_shard_padded");
    assert_eq!(
        of_all,
        [["param0_shard@rank0[0]"], ["0 (padding)"], ["0 (padding)"], ["0 (padding)"]]
    );
    let about = draft.about().lines().last().unwrap();
    let told =
        "Layer 0 has 1 element: 1 on each of 4 ranks, with 3 zeros of padding on ranks 1 to 3.";
    assert_eq!(about, told);
    // A shard is as long as the layer, and is a shard all the same.
    for moment in draft.holdings().unwrap().moments {
        for (ranks, held) in &moment.held {
            let Some(parameters) = held.kinds.get(&Kind::Parameters) else { continue };
            let gathered = moment.title.ends_with("gathered") || moment.title.ends_with("is there");
            let extent = if gathered { Extent::Full } else { Extent::Shard };
            assert_eq!(parameters.extent, extent, "{} {ranks:?}", moment.title);
        }
    }
    let divides = fsdp(Ranks::flat(4), &[8]);
    assert!(!divides.to_toml().contains("pad"), "{}", divides.to_toml());
}

/// Three elements over two ranks, 2 and 1, along either axis of a mesh.
#[test]
fn who_is_last_depends_on_the_axis() {
    for (axis, counts) in [("outer", [2, 2, 1, 1]), ("inner", [2, 1, 2, 1])] {
        let mesh = Ranks::mesh([("outer", 2), ("inner", 2)]).unwrap();
        let file = fsdp(mesh.along(axis).unwrap(), &[3]).file();
        let (_, input) = &file.input.0[0];
        let written: &List<Whole> = input.value.counts.as_ref().unwrap();
        let written: Vec<u64> = written.value.iter().map(|count| count.value.get()).collect();
        assert_eq!(written, counts, "{axis}");
        assert_eq!(input.value.count, None);
    }
}

/// Ψ = 10 + 1 + 8 = 19 over 4 ranks: shards of 3, 1 and 2, so 6 elements in all; the
/// figures of the paper with 6 for Ψ/4.
#[test]
fn padding_counts_as_held() {
    let training = mixed(Ranks::flat(4), &[10, 1, 8]);
    let [ddp, zero1, zero2, zero3, fsdp] = &all(&training)[..] else { panic!() };
    let averaged = "backward of layer 0: its gradient is averaged";
    let scattered = "gradient of layer 0 reduce-scattered";
    assert_eq!(bytes(ddp, averaged), [2 * 19, 2 * 19, 12 * 19, 0]);
    assert_eq!(bytes(zero1, averaged), [2 * 19, 2 * 19, 12 * 6, 0]);
    assert_eq!(bytes(zero2, scattered), [2 * 19, 2 * 6, 12 * 6, 0]);
    assert_eq!(bytes(zero3, scattered), [2 * 6, 2 * 6, 12 * 6, 0]);
    assert_eq!(bytes(fsdp, scattered), [4 * 6, 4 * 6, 8 * 6, 0]);
    // Gathered with its padding: 12 elements of bf16.
    let forward = "forward of layer 0: its parameters are gathered";
    assert_eq!(bytes(fsdp, forward), [4 * 6 + 2 * 12, 0, 8 * 6, 0]);
    // Over two ranks: 5, 1 and 4.
    assert_eq!(bytes(&hybrid(&training), scattered), [4 * 10, 4 * 10, 8 * 10, 0]);
}

#[test]
fn padding_of_another_value_is_not_the_padding() {
    let wrong = changed(&fsdp(Ranks::flat(4), &[10]), |steps| {
        find(steps, "pad", "grad0_padded").value = Some(Spanned::nowhere(Literal("1".into())));
    });
    // The average of four ones is on rank 3, where the average of four zeros is needed.
    let (buffer, names) = wrongs(&wrong);
    assert_eq!((buffer.as_str(), names.as_slice()), ("grad0_shard", ["other_constant"].as_slice()));
}

#[test]
fn padding_that_is_left_in_makes_parameters_too_long() {
    for stage in [Stage::Optimizer, Stage::Gradients] {
        let training: Training = mixed(Ranks::flat(4), &[10]);
        let draft = Zero { stage, training }.draft().unwrap();
        let wrong: PlanFile = changed(&draft, |steps| {
            let at = steps.iter().position(|step| is(step, "slice", "param0_next")).unwrap();
            steps.remove(at);
            find(steps, "all_gather", "param0_next_padded").recv = Some(super::word("param0_next"));
        });
        let (buffer, names) = wrongs(&wrong);
        assert_eq!((buffer.as_str(), names[0]), ("param0_next", "length"));
    }
}
