//! Field cases told as plans: what `check` says of the reported program, and of the same
//! program put right. Each plan lies beside its case's expected values.

use rankwise_plan::Plan;
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::need::{Answer, Evidence, NeedReport, judge_needs};
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_plan::wrong::Wrong;
use rankwise_program::{Aspect, Aspects, Caveat, Kind, Report};
use rankwise_topology::WorldRank;
use serde_json::Value;

fn text(id: &str, file: &str) -> String {
    let path = format!("{}/cases/{id}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn expected(id: &str) -> Value {
    serde_json::from_str(&text(id, "expected.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<u32> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| u32::try_from(number.as_u64().unwrap()).unwrap()).collect()
}

fn indices<'a>(ranks: impl IntoIterator<Item = &'a WorldRank>) -> Vec<u32> {
    ranks.into_iter().map(|rank| rank.index()).collect()
}

/// What becomes of one proposal of a case's plan.
struct Outcome {
    evaluation: Evaluation,
    needs: Vec<NeedReport>,
}

impl Outcome {
    fn of(id: &str, file: &str, proposal: &str) -> Self {
        Self::read(&text(id, file), proposal)
    }

    fn read(text: &str, proposal: &str) -> Self {
        let plan = Plan::read(text, Format::Toml, &mut NoArrays)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let proposal = plan.proposal(proposal).unwrap();
        let mut terms = Terms::new();
        let evaluation = evaluate(&plan, proposal, &mut terms).unwrap();
        let needs = judge_needs(&plan, proposal, &evaluation, &mut terms).unwrap().needs;
        Self { evaluation, needs }
    }

    fn answers(&self) -> Vec<Answer> {
        self.needs.iter().map(|need| need.answer).collect()
    }

    /// The one report of a proposal.
    fn only(&self) -> &Report {
        let [report] = self.evaluation.reports() else {
            panic!("{} reports, one expected", self.evaluation.reports().len())
        };
        report
    }

    fn completed(&self) -> u64 {
        self.evaluation.findings.as_ref().unwrap().completed
    }

    fn evidence(&self, need: usize) -> &Evidence {
        self.needs[need].evidence.as_ref().unwrap()
    }

    /// What is wrong with a need, in words.
    fn wrongs(&self, need: usize) -> Vec<String> {
        self.evidence(need).wrongs.iter().map(ToString::to_string).collect()
    }
}

/// That a proposal does its job: nothing is reported, and every need is met.
#[track_caller]
fn is_right(id: &str, file: &str, proposal: &str) {
    let outcome = Outcome::of(id, file, proposal);
    assert!(outcome.evaluation.reports().is_empty());
    assert!(outcome.answers().iter().all(|answer| *answer == Answer::Yes), "{:?}", outcome.needs);
}

#[test]
fn d01_the_plan_with_counts_off_by_two() {
    const ID: &str = "d01-count-off-by-two-no-hang";
    let outcome = Outcome::of(ID, "plan.toml", "off_by_two");
    let report = outcome.only();
    assert_eq!((report.kind, report.aspects), (Kind::Mismatch, Aspects::NONE.with(Aspect::Count)));
    assert_eq!(indices(&report.outliers), numbers(&expected(ID)["culprits"]));
    // Not even what all have in common may be counted on, until they agree.
    assert_eq!(outcome.answers(), [Answer::No]);
    assert_eq!(outcome.evidence(0).wrongs[0].name(), "never_ran");
    assert_eq!(u64::from(report.ranks.get()), 8);
    let common = outcome.evidence(0).positions.end;
    assert_eq!(common, expected(ID)["guaranteed_elements"].as_u64().unwrap());
    is_right(ID, "plan.toml", "agreed");
}

#[test]
fn d05_the_plan_of_the_mesh_whose_groups_wait_in_a_circle() {
    const ID: &str = "d05-two-dimensional-mesh-wait-cycle";
    let expected = expected(ID);
    for (proposal, file) in [("blocking", "blocking.json"), ("one_stream", "one_stream.json")] {
        let outcome = Outcome::of(ID, "plan.toml", proposal);
        let report = outcome.only();
        assert_eq!((report.kind, outcome.completed()), (Kind::Deadlock, 0));
        let mut cycle = indices(&report.cycle());
        cycle.extend(cycle.first().copied());
        assert_eq!(cycle, numbers(&expected[file]["cycle"]));
        let waits: Vec<_> = report
            .waits
            .iter()
            .map(|edge| (edge.rank.index(), &*edge.call.communicator, indices(&edge.waits_for)))
            .collect();
        assert_eq!(
            waits,
            [
                (0, "shard[0]", vec![1]),
                (1, "replica[1]", vec![3]),
                (3, "shard[1]", vec![2]),
                (2, "replica[0]", vec![0]),
            ]
        );
        assert_eq!(outcome.answers(), [Answer::No]);
        assert_eq!(outcome.evidence(0).wrongs[0].name(), "never_ran");
    }
    // Two streams: it ends, and it is not called fine.
    let outcome = Outcome::of(ID, "plan.toml", "two_streams");
    assert!(outcome.evaluation.reports().is_empty());
    assert_eq!((outcome.completed(), outcome.answers()), (4, vec![Answer::Yes]));
    assert!(outcome.evaluation.depends_on_resources());
}

#[test]
fn d06_the_plan_knows_the_metrics_apart_where_the_calls_do_not() {
    const ID: &str = "d06-same-shape-different-meaning";
    let outcome = Outcome::of(ID, "plan.toml", "other_order");
    // As calls they agree, and it is said what was not looked at.
    assert!(outcome.evaluation.reports().is_empty());
    let caveats = &outcome.evaluation.findings.as_ref().unwrap().caveats;
    assert!(matches!(caveats[..], [Caveat::TensorIdentityNotChecked { instances: 2, .. }]));
    // As values they are mixtures, of one's loss and the other's accuracy.
    assert_eq!(outcome.answers(), [Answer::No, Answer::No]);
    assert_eq!(outcome.evidence(0).found, "acc@rank1[0] + loss@rank0[0]");
    assert_eq!(outcome.evidence(1).found, "acc@rank0[0] + loss@rank1[0]");
    assert_eq!(outcome.wrongs(0), ["acc@rank1[0] is not needed here", "missing: loss@rank1[0]"]);
    // The same in numbers: 0.5 + 0.7 and 0.9 + 1.5, where 2.0 and 1.6 were meant.
    let case = expected(ID);
    let near = |value: &Value, sum: f64| (value.as_f64().unwrap() - sum).abs() < 1e-9;
    assert!(near(&case["what_each_rank_believes"]["0"]["loss"], 0.5 + 0.7));
    assert!(near(&case["what_each_rank_believes"]["0"]["acc"], 0.9 + 1.5));
    is_right(ID, "plan.toml", "one_order");
}

#[test]
fn d11_the_plan_reads_what_only_the_root_was_promised() {
    const ID: &str = "d11-reduce-then-branch";
    let case = expected(ID);
    for proposal in ["reduced", "in_place"] {
        let outcome = Outcome::of(ID, "plan.toml", proposal);
        assert_eq!(outcome.answers(), [Answer::No]);
        // Rank 0 has the sum, ranks 1, 2 and 3 have nothing that they may read.
        assert_eq!((outcome.needs[0].failing, outcome.needs[0].ranks), (3, 4));
        assert_eq!(outcome.evidence(0).rank.index(), 1);
        assert_eq!(case["after_reduce"]["1"], "undefined");
        let names: Vec<_> = outcome.evidence(0).wrongs.iter().map(Wrong::name).collect();
        assert_eq!(names, ["only_on_root"], "{proposal}");
    }
    is_right(ID, "plan.toml", "all_reduced");

    // And where it leads: the second calls do not meet.
    let outcome = Outcome::of(ID, "plan.toml", "branched");
    let report = outcome.only();
    assert_eq!((report.kind, outcome.completed()), (Kind::Mismatch, 1));
    assert_eq!(indices(&report.outliers), numbers(&case["program"]["culprits"]));
    assert_eq!(outcome.evidence(0).wrongs[0].name(), "only_on_root"); // the cause, upstream
}

#[test]
fn d19_the_plan_with_one_rank_in_bf16() {
    const ID: &str = "d19-bf16-meets-f32-silently";
    let outcome = Outcome::of(ID, "plan.toml", "one_in_bf16");
    let report = outcome.only();
    let aspects = Aspects::NONE.with(Aspect::ElementType);
    assert_eq!((report.kind, report.aspects), (Kind::Mismatch, aspects));
    assert_eq!(indices(&report.outliers), numbers(&expected(ID)["dtypes"]["bf16"]));
    assert_eq!((outcome.completed(), outcome.answers()), (0, vec![Answer::No]));
    // Cast back, the calls agree; that a tenth was rounded on the way is seen all the same.
    let outcome = Outcome::of(ID, "plan.toml", "cast_back");
    assert!(outcome.evaluation.reports().is_empty());
    assert_eq!(outcome.answers(), [Answer::No]);
    assert!(outcome.evidence(0).found.contains("cast(cast(tenth@rank0[0], bf16), f32)"));
    assert_eq!(outcome.wrongs(0), ["computed in bf16, needed in f32"]);
}

/// One proposal is right, the other has these things wrong with its first need.
#[track_caller]
fn right_and_wrong(id: &str, file: &str, right: &str, wrong: &str, sentences: &[&str]) -> Outcome {
    is_right(id, file, right);
    let outcome = Outcome::of(id, file, wrong);
    assert!(outcome.evaluation.reports().is_empty(), "as calls nothing is wrong");
    assert_eq!(outcome.answers()[0], Answer::No);
    assert_eq!(outcome.wrongs(0), sentences);
    outcome
}

/// The one permutation that explains a need, as the report lists it.
fn order(slots: &Value) -> String {
    let slots: Vec<_> = numbers(slots).iter().map(ToString::to_string).collect();
    slots.join(", ")
}

#[test]
fn e01_the_plan_whose_blocks_come_in_another_order() {
    const ID: &str = "e01-nvls-all-gather-permuted";
    let case = expected(ID);
    let found = order(&case["found_slots"]);
    let sentence = format!("permuted: blocks of 4 positions in another order: {found}");
    let wrong = "by_dense_order";
    let outcome = right_and_wrong(ID, "plan.toml", "by_rank", wrong, &[&sentence]);
    // Wrong on all, in the same way: comparing ranks with one another finds nothing.
    assert_eq!((outcome.needs[0].failing, outcome.needs[0].ranks), (8, 8));
    let first = u64::from(numbers(&case["wrong_slots"])[0]);
    assert_eq!(outcome.evidence(0).positions, 4 * first..4 * (first + 1));
    // Which device that is, by the variable of the report.
    let devices = numbers(&case["physical_gpu_of_rank"]);
    assert_eq!(outcome.evidence(0).device, Some(format!("d{}", devices[0])));
}

#[test]
fn e03_the_plan_of_a_list_that_is_sorted() {
    const ID: &str = "e03-new-group-sorts-its-ranks";
    let case = expected(ID);
    let gathered = order(&case["unsorted"]["all_gather_of_global_rank"]);
    let sentence = format!("permuted: blocks of 2 positions in another order: {gathered}");
    let outcome = right_and_wrong(ID, "plan.toml", "written", "sorted", &[&sentence]);
    assert_eq!(outcome.evidence(0).found, "x@d0[0..2]");
    assert_eq!(outcome.evidence(0).needed, "x@d3[0..2]");
    // A rank twice is an error and no set.
    let twice = text(ID, "plan.toml").replace("[3, 2, 1, 0]", "[0, 0, 1]");
    let error = Plan::read(&twice, Format::Toml, &mut NoArrays).unwrap_err().to_string();
    assert!(error.contains("groups.written"), "{error}");
}

#[test]
fn e05_the_plan_of_a_split_with_ties() {
    const ID: &str = "e05-split-ties-and-no-color";
    let case = &expected(ID)["first"];
    let sentence = "permuted: blocks of 1 position in another order: 2 and 3 exchanged";
    let outcome = right_and_wrong(ID, "first.toml", "stable", "unstable", &[sentence]);
    // Parent 0 is rank 2 of its group, and becomes 3; the other group is as it was.
    assert_eq!(case["new_rank"]["0"], 2);
    assert_eq!(case["wrong_unstable"]["0"], 3);
    assert_eq!(outcome.answers(), [Answer::No, Answer::Yes]);
}

#[test]
fn e05_the_plan_of_a_split_that_leaves_ranks_out() {
    const ID: &str = "e05-split-ties-and-no-color";
    let outcome = Outcome::of(ID, "second.toml", "split");
    assert_eq!(outcome.answers(), [Answer::Yes, Answer::Yes, Answer::No]);
    // Rank 2 has no communicator, and no buffer.
    let alone = numbers(&expected(ID)["second"]["no_communicator"]);
    assert_eq!(outcome.evidence(2).rank.index(), alone[0]);
    assert_eq!(outcome.evidence(2).wrongs[0].name(), "never_written");
    let called = &outcome.evaluation.steps[0].calls;
    assert!(called.iter().all(|call| call.group.members().iter().all(|rank| rank.index() != 6)));
}

#[test]
fn e06_the_plan_whose_root_is_read_in_two_ways() {
    const ID: &str = "e06-src-is-global-or-group";
    let case = &expected(ID)["strided"];
    is_right(ID, "plan.toml", "rank_of_the_group");
    let outcome = Outcome::of(ID, "plan.toml", "rank_of_the_world");
    assert_eq!(outcome.answers(), [Answer::Yes, Answer::No]);
    let silent = &case["group_[1,3]"];
    let sentence = format!(
        "the contribution of rank{} where that of rank{} is needed",
        silent["data_from_global"], silent["should_be_from_global"]
    );
    assert_eq!(outcome.wrongs(1), [sentence]);
    // A root that the group does not have is refused, with the size of the group.
    let outside = text(ID, "plan.toml").replace("root = 1", "root = 2");
    let error = Plan::read(&outside, Format::Toml, &mut NoArrays).unwrap_err().to_string();
    assert!(error.contains("root"), "{error}");
    assert!(error.contains('2'), "{error}");
}

#[test]
fn e08_the_plan_that_takes_an_ordinal_for_a_device() {
    const ID: &str = "e08-ordinal-minor-nvml-index";
    let case = expected(ID);
    let sentences = [
        "the contribution of g0 where that of g3 is needed",
        "in another buffer: `x` holds what is needed (an input, as it was at first)",
    ];
    let wrong = "ordinal_taken_for_the_device";
    let outcome = right_and_wrong(ID, "plan.toml", "by_rank", wrong, &sentences);
    assert_eq!(outcome.evidence(0).device, Some("g3".to_string()));
    // The devices of the plan are those of the variable, and device 0 is ordinal 4.
    let plan = Plan::read(&text(ID, "plan.toml"), Format::Toml, &mut NoArrays).unwrap();
    let world = rankwise_topology::World::new(plan.world);
    let on: Vec<_> = world.ranks().map(|rank| plan.device_of(rank).unwrap()).collect();
    let indices = numbers(&case["ordinal_to_index"]);
    assert_eq!(on, indices.iter().map(|index| format!("g{index}")).collect::<Vec<_>>());
    assert_eq!(
        case["naive_mistake"]["ordinal 0 read as NVML 0"],
        "reads the GPU that is ordinal 4"
    );
    assert_eq!(numbers(&case["index_to_ordinal"])[0], 4);
}

#[test]
fn e10_the_plan_of_the_compiled_step() {
    const ID: &str = "e10-mesh-axes-and-iota-groups";
    let case = expected(ID);
    is_right(ID, "plan.toml", "step");
    let outcome = Outcome::of(ID, "plan.toml", "step");
    for (step, name) in ["ar.0", "ar.1", "ar.2", "ag.0", "rs.0", "ag.1", "ar.3"].iter().enumerate()
    {
        let calls = &outcome.evaluation.steps[step].calls;
        let mut groups: Vec<_> = calls.iter().map(|call| indices(call.group.members())).collect();
        let lists = case[*name].get("groups").unwrap_or(&case[*name]);
        let mut wanted: Vec<_> = lists.as_array().unwrap().iter().map(numbers).collect();
        // Inside a group the order counts, that of the groups does not.
        groups.sort();
        wanted.sort();
        assert_eq!(groups, wanted, "{name}");
        if let Some(sizes) = case["sizes_bytes"].get(*name) {
            let (layout, dtype) = (calls[0].layout, calls[0].dtype);
            let at = layout.at(layout.ranks().first()).unwrap();
            assert_eq!(at.input_len() * dtype.bytes(), sizes["in"].as_u64().unwrap(), "{name}");
            assert_eq!(at.output_len() * dtype.bytes(), sizes["out"].as_u64().unwrap(), "{name}");
        }
    }
    // Read without its transpose, `columns` is another partition.
    let outcome = Outcome::of(ID, "plan.toml", "untransposed");
    assert_eq!(
        outcome.wrongs(0),
        ["over the wrong group: reduced over `untransposed` (ranks 0, 1), needed over `columns` \
          (ranks 0, 4)"]
    );
}

#[test]
fn e12_the_plan_whose_blocks_go_to_other_owners() {
    const ID: &str = "e12-reduce-scatter-wrong-block";
    let case = expected(ID);
    let owners = format!(
        "at the wrong owners: ranks 0, 1, 2, 3, 4, 5, 6, 7 hold what belongs on {}",
        order(&case["observed_block_of_rank"])
    );
    // Rank 1 has block 4, elements 8 and 9, and needs elements 2 and 3.
    let place = "out of place: the value of position 8 where 2 is needed";
    let outcome = right_and_wrong(ID, "plan.toml", "by_rank", "by_ordinal", &[&owners, place]);
    let wrong = numbers(&case["wrong_ranks"]);
    assert_eq!(outcome.needs[0].failing, u64::try_from(wrong.len()).unwrap());
    assert_eq!(outcome.evidence(0).rank.index(), wrong[0]);
}

/// Both needs of one proposal of g05: the columns, and the gradient of rank 2's.
#[track_caller]
fn columns(proposal: &str) -> Outcome {
    Outcome::of("g05-three-gpus", "plan.toml", proposal)
}

#[test]
fn g05_the_plans_of_4096_columns_over_three_ranks() {
    let case = &expected("g05-three-gpus")["cases"][0];
    assert_eq!((&case["n"], &case["world"]), (&Value::from(4096), &Value::from(3)));
    // Padded: the need of the shard says that its last two elements are zeros.
    let padded = columns("padded");
    assert_eq!(padded.answers(), [Answer::Yes, Answer::Yes]);
    // Uneven: the columns are whole, and rank 2 has none of the padding.
    let uneven = columns("uneven");
    assert_eq!(uneven.answers(), [Answer::Yes, Answer::No]);
    assert!(uneven.wrongs(1).contains(&"1365 elements long, needs 1366".to_string()));
    // 3 · 1365 = 4095: one column is lost.
    let truncating = columns("truncating");
    assert_eq!(truncating.answers(), [Answer::No, Answer::No]);
    assert!(truncating.wrongs(0).contains(&"4095 elements long, needs 4096".to_string()));
    assert_eq!(truncating.evidence(0).positions, 4095..4096);
    let counts = |outcome: &Outcome, step: usize| -> Vec<Value> {
        let calls = &outcome.evaluation.steps[step].calls;
        calls.iter().map(|call| Value::from(call.layout.count())).collect()
    };
    assert_eq!(counts(&truncating, 4), [case["truncating"]["shard"].clone()]);
    assert_eq!(counts(&padded, 2), [case["padded"]["shard"].clone()]);
    assert_eq!(counts(&padded, 5), [case["padded"]["shard"].clone()]);
    // A broadcast from each, and a reduce to each.
    for step in [2, 3] {
        assert_eq!(Value::from(counts(&uneven, step)), case["uneven"]);
    }
}

/// Every division of the report: padded and uneven shards come together again, and how
/// much of the padded ones is padding. Two elements over four ranks leave two ranks with
/// none, which is legal.
#[test]
fn g05_shards_of_every_division_come_together_again() {
    for case in expected("g05-three-gpus")["cases"].as_array().unwrap() {
        let (n, world, counts) = (&case["n"], &case["world"], &case["uneven"]);
        let text = format!(
            "format = 1\ngroup.ranks = {world}\ninput.w = {{ dtype = \"f32\", count = {n} }}\n\
             need = [{{ on = \"every rank\", buffer = \"y\", holds = \"w@rank0\" }}]\n\
             [proposal.padded]\n\
             step = [\n\
             {{ call = \"broadcast\", root = 0, send = \"w\", recv = \"w\" }},\n\
             {{ call = \"shard\", send = \"w\", recv = \"own\", uneven = \"pad\", value = 0 }},\n\
             {{ call = \"all_gather\", send = \"own\", recv = \"all\" }},\n\
             {{ call = \"slice\", send = \"all\", positions = \"0..{n}\", recv = \"y\" }},\n]\n\
             [proposal.uneven]\n\
             step = [\n\
             {{ call = \"broadcast\", root = 0, send = \"w\", recv = \"w\" }},\n\
             {{ call = \"shard\", send = \"w\", recv = \"own\", uneven = \"balanced\" }},\n\
             {{ call = \"all_gather_v\", counts = {counts}, send = \"own\", recv = \"y\" }},\n]\n"
        );
        for proposal in ["padded", "uneven"] {
            let outcome = Outcome::read(&text, proposal);
            assert_eq!(outcome.answers(), [Answer::Yes], "{proposal} {case}");
            let Some(padded) = case.get("padded").filter(|_| proposal == "padded") else {
                continue;
            };
            let call = &outcome.evaluation.steps[2].calls[0];
            let whole = call.layout.count() * u64::from(call.group.size().get());
            assert_eq!(Value::from(call.layout.count()), padded["shard"]);
            assert_eq!(whole - n.as_u64().unwrap(), padded["padding"].as_u64().unwrap());
        }
    }
}

#[test]
fn d14_the_plan_whose_outputs_are_one_buffer() {
    const ID: &str = "d14-aliased-output-list";
    is_right(ID, "plan.toml", "outputs");
    // Both into the same element: refused before anything is evaluated.
    let aliased = text(ID, "plan.toml").replace("t[1..2]", "t[0..1]");
    let error = refused(&aliased);
    assert!(error.contains("t[0..1]"), "{error}");
    // Ranges that share one element are no better.
    let x = "count = 2\n\n[[need]]";
    let longer = text(ID, "plan.toml")
        .replace("on.rank = { 0 = [10.0], 1 = [20.0] }\n\n[[need]]", x)
        .replace(
            "count = 2\n\n[[proposal.outputs.step]]\ncall = \"group\"",
            "count = 3\n\n[[proposal.outputs.step]]\ncall = \"group\"",
        )
        .replace("t[1..2]", "t[1..3]")
        .replace("t[0..1]", "t[0..2]");
    let error = refused(&longer);
    assert!(error.contains("t["), "{error}");
}

/// Why a plan cannot be carried out.
#[track_caller]
fn refused(text: &str) -> String {
    let plan = match Plan::read(text, Format::Toml, &mut NoArrays) {
        Ok(plan) => plan,
        Err(error) => return error.to_string(),
    };
    evaluate(&plan, &plan.proposals[0], &mut Terms::new()).unwrap_err().to_string()
}
