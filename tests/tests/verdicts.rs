//! Verdicts by name: what is wrong with a proposal, in which sense two are equal, and
//! what keeps a verdict open. Each answer was worked out by hand.

use rankwise_plan::Plan;
use rankwise_plan::compare::{Comparison, Difference, State, Summary, Unsettled, compare};
use rankwise_plan::file::Format;
use rankwise_plan::need::Answer;
use rankwise_plan::read::NoArrays;
use rankwise_plan::sense::Sense;
use rankwise_plan::term::Terms;
use rankwise_plan::vector::Gap;
use rankwise_plan::wrong::Wrong;

/// A plan of `n` ranks on devices D0, D1, …, with inputs `g` and `p` of 4 elements.
fn plan(n: u32, dtype: &str, proposals: &str, holds: &str) -> Plan {
    let devices: Vec<String> = (0..n).map(|rank| format!("\"D{rank}\"")).collect();
    let text = format!(
        "format = 1\n\
         group.devices = [{}]\n\
         input.g = {{ dtype = \"{dtype}\", count = 4, meaning = \"gradient\" }}\n\
         input.p = {{ dtype = \"{dtype}\", count = 4, meaning = \"parameter\" }}\n\
         {proposals}\n\
         need = [{{ on = \"every rank\", buffer = \"y\", holds = \"{holds}\" }}]\n",
        devices.join(", ")
    );
    read(&text)
}

fn read(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn steps(name: &str, steps: &[&str]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("{{ {step} }}")).collect();
    format!("proposal.{name}.step = [{}]\n", steps.join(", "))
}

fn between(plan: &Plan, one: &str, other: &str) -> Comparison {
    let [one, other] = [one, other].map(|name| (plan, plan.proposal(name).unwrap()));
    compare(one, other, &mut Terms::new()).unwrap()
}

/// What is said of the only need where it is first not met: found, and what is wrong.
fn wrong(n: u32, dtype: &str, proposal: &[&str], holds: &str) -> (String, Vec<Wrong>) {
    let plan = plan(n, dtype, &steps("it", proposal), holds);
    let comparison = between(&plan, "it", "it");
    let report = &comparison.needs[0].needs[0];
    assert_eq!(report.answer, Answer::No, "{report:?}");
    let evidence = report.evidence.clone().unwrap();
    (evidence.found, evidence.wrongs)
}

fn met(n: u32, dtype: &str, proposal: &[&str], holds: &str) -> Option<Sense> {
    let plan = plan(n, dtype, &steps("it", proposal), holds);
    let report = between(&plan, "it", "it").needs[0].needs[0].clone();
    assert_eq!(report.answer, Answer::Yes, "{report:?}");
    report.sense
}

const SUM: &str = r#"call = "all_reduce", op = "sum", send = "g", recv = "t""#;
const SCATTERED: &str = r#"call = "reduce_scatter", op = "sum", send = "g", recv = "s""#;

#[test]
fn the_block_of_another_owner() {
    let sent = r#"call = "broadcast", root = 1, send = "s", recv = "y""#;
    let (found, wrongs) = wrong(2, "i32", &[SCATTERED, sent], "sum(g)[0..2]");
    assert_eq!(found, "g@D0[2..4] + g@D1[2..4]");
    let own = Wrong::OtherBuffer { buffer: "s".into(), written_by: Some(0) };
    assert_eq!(wrongs, [Wrong::OutOfPlace { found: 2, needed: 0 }, own]);
}

#[test]
fn the_contribution_of_another_rank() {
    let sent = r#"call = "broadcast", root = 1, send = "g", recv = "y""#;
    let (_, wrongs) = wrong(3, "i32", &[sent], "g@D2");
    assert_eq!(wrongs, [Wrong::OtherOrigin { found: "D1".into(), needed: "D2".into() }]);
}

#[test]
fn a_rooted_call_promises_nothing_elsewhere() {
    let reduced = r#"call = "reduce", op = "sum", root = 0, send = "g", recv = "y""#;
    let plan = plan(2, "i32", &steps("it", &[reduced]), "sum(g)");
    let report = between(&plan, "it", "it").needs[0].needs[0].clone();
    assert_eq!((report.answer, report.ranks, report.failing), (Answer::No, 2, 1));
    let evidence = report.evidence.unwrap();
    assert_eq!(evidence.rank.index(), 1);
    // Rank 0 needs the sum itself: it is at no wrong owner.
    let [wrong] = &evidence.wrongs[..] else { panic!("{evidence:?}") };
    assert_eq!(*wrong, Wrong::NotPromised { gap: Gap::OnRootOnly { step: 0 } });
    assert_eq!(wrong.name(), "only_on_root");
}

#[test]
fn a_buffer_that_no_step_wrote() {
    let (_, wrongs) = wrong(2, "i32", &[SUM], "sum(g)");
    let other = Wrong::OtherBuffer { buffer: "t".into(), written_by: Some(0) };
    assert_eq!(wrongs, [Wrong::NeverWritten, other]);
}

#[test]
fn multiplicities_of_integers_live_modulo_their_width() {
    let step = |send: &str, recv: &str| {
        format!(r#"call = "all_reduce", op = "sum", send = "{send}", recv = "{recv}""#)
    };
    // The first sum counts each contribution once, each further one four times as often.
    let four = [step("g", "a"), step("a", "b"), step("b", "c"), step("c", "y")];
    let four: Vec<&str> = four.iter().map(String::as_str).collect();
    let (found, _) = wrong(4, "u8", &four, "g");
    assert!(found.starts_with("64·g@D0[0..4] + 64·g@D1[0..4]"), "{found}");
    // 4^4 = 256 is 0 modulo 2^8, and 256 modulo 2^32.
    let five = [step("g", "a"), step("a", "b"), step("b", "c"), step("c", "d"), step("d", "y")];
    let five: Vec<&str> = five.iter().map(String::as_str).collect();
    let (found, _) = wrong(4, "u8", &five, "sum(g)");
    assert_eq!(found, "0");
    let (found, _) = wrong(4, "u32", &five, "g");
    assert!(found.starts_with("256·g@D0[0..4]"), "{found}");
}

#[test]
fn an_integer_average_merges_with_nothing() {
    let twice = [
        r#"call = "all_reduce", op = "avg", over = [[0, 1], [2, 3]], send = "g", recv = "t""#,
        r#"call = "all_reduce", op = "avg", over = [[0, 2], [1, 3]], send = "t", recv = "y""#,
    ];
    let (found, _) = wrong(4, "i32", &twice, "avg(g)");
    let inner =
        |pair: [u32; 2]| format!("div_trunc(g@D{}[0..4] + g@D{}[0..4], 2)", pair[0], pair[1]);
    assert_eq!(found, format!("div_trunc({} + {}, 2)", inner([0, 1]), inner([2, 3])));
    // Over the reals it is the flat average; in floats that is all that is claimed.
    assert_eq!(met(4, "f64", &twice, "avg(g)"), Some(Sense::WithinBound));
    let thirds = [
        r#"call = "all_reduce", op = "avg", over = [[0, 1, 2], [3, 4, 5]], send = "g", recv = "t""#,
        r#"call = "all_reduce", op = "avg", over = [[0, 3], [1, 4], [2, 5]], send = "t", recv = "y""#,
    ];
    assert_eq!(met(6, "f64", &thirds, "avg(g)"), Some(Sense::OverTheReals));
}

#[test]
fn a_sum_taken_in_another_type_is_another_sum() {
    let narrow = [
        r#"call = "cast", dtype = "bf16", send = "g", recv = "n""#,
        r#"call = "all_reduce", op = "sum", send = "n", recv = "m""#,
        r#"call = "cast", dtype = "f32", send = "m", recv = "y""#,
    ];
    let (_, wrongs) = wrong(2, "f32", &narrow, "sum(g)");
    assert!(matches!(wrongs[..], [Wrong::ElementType { .. }]), "{wrongs:?}");
}

#[test]
fn senses_from_exact_to_the_reals() {
    let summed = [r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#];
    assert_eq!(met(4, "i32", &summed, "sum(g)"), Some(Sense::Exact));
    assert_eq!(met(2, "f32", &summed, "sum(g)"), Some(Sense::Unique));
    assert_eq!(met(4, "f32", &summed, "sum(g)"), Some(Sense::BitsGivenFoldOrder));
    let largest = [r#"call = "all_reduce", op = "max", send = "g", recv = "y""#];
    assert_eq!(met(4, "f32", &largest, "max(g)"), Some(Sense::Unique));
    let gathered = [r#"call = "all_gather", send = "g", recv = "y""#];
    assert_eq!(met(4, "bf16", &gathered, "gather(g)"), Some(Sense::Exact));
    let averaged = [r#"call = "all_reduce", op = "avg", send = "g", recv = "y""#];
    assert_eq!(met(3, "f32", &averaged, "avg(g)"), Some(Sense::WithinBound));
    // Another order of the same sum.
    let pairwise = [
        r#"call = "all_reduce", op = "sum", over = [[0, 1], [2, 3]], send = "g", recv = "t""#,
        r#"call = "all_reduce", op = "sum", over = [[0, 2], [1, 3]], send = "t", recv = "y""#,
    ];
    assert_eq!(met(4, "f32", &pairwise, "sum(g)"), Some(Sense::WithinBound));
}

#[test]
fn an_unnamed_reduction_leaves_the_verdict_open_by_name() {
    let unnamed = r#"call = "all_reduce", send = "g", recv = "y""#;
    let named = r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#;
    let proposals = steps("unnamed", &[unnamed]) + &steps("named", &[named]);
    let plan = plan(2, "i32", &proposals, "sum(g)");
    let comparison = between(&plan, "unnamed", "named");
    assert_eq!(comparison.state.state, State::Unknown);
    assert_eq!(comparison.summary(), Summary::Unknown);
    assert_eq!(comparison.both_do(), None);
    assert!(!comparison.speed_is_comparable());
    let reduction = Unsettled::Reduction { proposal: "unnamed".into(), step: 0 };
    assert!(comparison.unsettled.contains(&reduction), "{:?}", comparison.unsettled);
    let need = &comparison.needs[0].needs[0];
    assert_eq!(need.answer, Answer::Unknown);
    assert_eq!(need.evidence.as_ref().unwrap().wrongs, [Wrong::UnnamedReduction]);
}

/// The same job in a file of its own.
fn file(header: &str, meaning: &str) -> Plan {
    let meaning =
        if meaning.is_empty() { String::new() } else { format!(", meaning = \"{meaning}\"") };
    let step = r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#;
    let need = r#"need = [{ on = "every rank", buffer = "y", holds = "sum(g)" }]"#;
    read(&format!(
        "format = 1\n{header}\ninput.g = {{ dtype = \"i32\", count = 4{meaning} }}\n{}\n{need}\n",
        steps("it", &[step])
    ))
}

fn across(one: &Plan, other: &Plan) -> Comparison {
    compare((one, &one.proposals[0]), (other, &other.proposals[0]), &mut Terms::new()).unwrap()
}

#[test]
fn inputs_of_two_files_match_by_meaning_or_the_state_is_unknown() {
    let devices = r#"group.devices = ["A", "B"]"#;
    let [same, again] = [(); 2].map(|()| file(devices, "gradient"));
    assert_eq!(across(&same, &again).state.state, State::Same);
    assert!(across(&same, &again).speed_is_comparable());

    for other in [file(devices, "parameter"), file(devices, "")] {
        let comparison = across(&same, &other);
        assert_eq!(comparison.state.state, State::Unknown);
        assert!(comparison.state.because[0].contains("input `g`"), "{:?}", comparison.state);
        // Both still do what their own file needs.
        assert_eq!(comparison.both_do(), Some(true));
        assert!(!comparison.speed_is_comparable());
    }
}

#[test]
fn other_places_are_another_state_while_needs_are_still_judged() {
    let here = file(r#"group.devices = ["A", "B"]"#, "gradient");
    let there = file(r#"group.devices = ["A", "C"]"#, "gradient");
    let comparison = across(&here, &there);
    assert_eq!(comparison.state.state, State::Different);
    assert_eq!(comparison.summary(), Summary::BothSatisfy);

    let nowhere = file("group.ranks = 2", "gradient");
    let comparison = across(&here, &nowhere);
    assert_eq!(comparison.state.state, State::Unknown);
    assert!(comparison.unsettled.contains(&Unsettled::Devices { side: 1 }));
}

#[test]
fn without_devices_more_ranks_are_other_places() {
    let [two, three] =
        ["group.ranks = 2", "group.ranks = 3"].map(|header| file(header, "gradient"));
    let comparison = across(&two, &three);
    assert_eq!(comparison.state.state, State::Different);
    let [first, second] = ["2 ranks", "3 ranks"].map(String::from);
    assert_eq!(comparison.state.evidence, Some(Difference::Places { first, second }));
    assert_eq!(across(&two, &two).state.state, State::Same);
}

/// Columns of a matrix, as each rank cuts them out: every other element of one input.
#[test]
fn columns_of_one_ranks_matrix_are_not_those_of_anothers() {
    let columns = |name: &str, root: u32| {
        format!(
            "proposal.{name} = {{ outputs = [\"y\"], step = [\
             {{ call = \"broadcast\", root = {root}, send = \"g\", recv = \"all\" }}, \
             {{ call = \"shard\", send = \"all\", recv = \"y\", shape = [8, 2], dim = 1 }}] }}\n"
        )
    };
    let plan = read(&format!(
        "format = 1\ngroup.ranks = 2\n\
         input.g = {{ dtype = \"i32\", count = 16, meaning = \"gradient\" }}\n{}{}{}",
        columns("zero", 0),
        columns("again", 0),
        columns("one", 1)
    ));
    assert_eq!(between(&plan, "zero", "again").state.state, State::Same);
    assert_eq!(between(&plan, "zero", "one").state.state, State::Different);
}

#[test]
fn without_a_need_only_equal_states_decide() {
    let step = |op: &str| format!(r#"call = "all_reduce", op = "{op}", send = "g", recv = "y""#);
    let text = |other: &str| {
        format!(
            "format = 1\ngroup.devices = [\"A\", \"B\"]\n\
             input.g = {{ dtype = \"i32\", count = 4, meaning = \"gradient\" }}\n{}{}",
            steps("a", &[&step("sum")]),
            steps("b", &[&step(other)])
        )
    };
    let same = between(&read(&text("sum")), "a", "b");
    assert_eq!((same.both_do(), same.summary()), (Some(true), Summary::SameState));
    let different = between(&read(&text("max")), "a", "b");
    assert_eq!((different.both_do(), different.summary()), (None, Summary::DifferentNoNeeds));
}

/// Of two buffers with a common beginning, only one has what comes behind it.
#[test]
fn what_only_the_longer_of_two_buffers_holds_is_that_ones() {
    let text = format!(
        "format = 1\ngroup.ranks = 2\n\
         input.g = {{ dtype = \"i32\", count = 4, meaning = \"gradient\" }}\n{}{}",
        steps("long", &[r#"call = "copy", send = "g", recv = "y""#]),
        steps("short", &[r#"call = "copy", send = "g[0..3]", recv = "y""#])
    );
    let plan = read(&text);
    let texts = |one: &str, other: &str| match between(&plan, one, other).state.evidence {
        Some(Difference::Values { positions, first, second, .. }) => (positions, first, second),
        other => panic!("{other:?}"),
    };
    let [held, nothing] = ["g@rank0[3]", "nothing"].map(String::from);
    assert_eq!(texts("long", "short"), (3..4, held.clone(), nothing.clone()));
    assert_eq!(texts("short", "long"), (3..4, nothing, held));
}

#[test]
fn absorption_is_not_taken_for_a_difference() {
    // min(g, max(g, …)) is g for integers, which no law here says; and nothing
    // claims that it differs either.
    let absorbed = [
        r#"call = "all_reduce", op = "max", send = "g", recv = "t""#,
        r#"call = "fold", op = "min", send = ["g", "t"], recv = "y""#,
    ];
    let plan = plan(2, "i32", &steps("it", &absorbed), "g");
    let report = between(&plan, "it", "it").needs[0].needs[0].clone();
    assert_eq!(report.answer, Answer::Unknown);
    assert_eq!(report.evidence.unwrap().wrongs, [Wrong::NotProven]);
}

#[test]
fn a_message_arrives_and_a_missing_half_is_said() {
    let send = r#"call = "send", on = { rank = 0 }, peer = 1, send = "g""#;
    let recv = r#"call = "recv", on = { rank = 1 }, peer = 0, recv = "y""#;
    let copy = r#"call = "copy", on = { rank = 0 }, send = "g", recv = "y""#;
    // The order in the file is each rank's own: a recv may stand before its send.
    for order in [[send, recv, copy], [recv, send, copy]] {
        assert_eq!(met(2, "i32", &order, "g@D0"), Some(Sense::Exact));
    }
    let half = plan(2, "i32", &steps("it", &[send]), "g@D0");
    let it = (&half, &half.proposals[0]);
    let error = compare(it, it, &mut Terms::new()).unwrap_err().error;
    assert!(error.found.contains("no recv answers"), "{error}");
    let half = plan(2, "i32", &steps("it", &[recv]), "g@D0");
    let it = (&half, &half.proposals[0]);
    let error = compare(it, it, &mut Terms::new()).unwrap_err().error;
    assert!(error.found.contains("waits for ever"), "{error}");
}

#[test]
fn limits_are_named_when_they_are_hit() {
    let again = r#"call = "all_reduce", op = "max", send = "y", recv = "y""#;
    let first = r#"call = "copy", send = "g", recv = "y""#;
    let deep: Vec<&str> = core::iter::once(first).chain([again; 513]).collect();
    let refused = |text: &str| {
        let plan = read(text);
        let it = (&plan, &plan.proposals[0]);
        let error = compare(it, it, &mut Terms::new()).unwrap_err().error;
        (error.path, error.found, error.expected)
    };
    let header = "format = 1\ngroup.ranks = 2\ninput.g = { dtype = \"f32\", count = 1 }\n";
    let (path, found, expected) = refused(&(header.to_string() + &steps("it", &deep)));
    assert_eq!(path, "proposal.it.step[513]");
    assert_eq!(found, "a value of `y` that is 513 operations deep");
    assert_eq!(expected, "at most 512 operations on one value");

    let header = header.replace("ranks = 2", "ranks = 1048576");
    let (path, found, _) = refused(&(header + &steps("it", &[first; 65])));
    assert_eq!((path.as_str(), found.as_str()), ("proposal.it", "65 steps on 1048576 ranks"));
}

#[test]
fn conversions_are_not_guessed_at() {
    // A lossless round trip is the value itself.
    let round_trip = [
        r#"call = "cast", dtype = "f64", send = "g", recv = "w""#,
        r#"call = "cast", dtype = "f32", send = "w", recv = "y""#,
    ];
    assert_eq!(met(2, "f32", &round_trip, "g"), Some(Sense::Exact));
    // Rounding is monotone: no input tells these apart, and nothing proves them equal.
    let of_the_largest = [
        r#"call = "all_reduce", op = "max", send = "g", recv = "m""#,
        r#"call = "cast", dtype = "bf16", send = "m", recv = "y""#,
    ];
    let plan = plan(2, "f32", &steps("it", &of_the_largest), "max(cast(g, bf16))");
    let report = between(&plan, "it", "it").needs[0].needs[0].clone();
    assert_eq!(report.answer, Answer::Unknown, "{report:?}");
}

#[test]
fn scaling_forth_and_back_is_not_exact() {
    let scaled = [
        r#"call = "scale", by = "1/1024", send = "g", recv = "t""#,
        r#"call = "scale", by = "1024", send = "t", recv = "y""#,
    ];
    assert_eq!(met(2, "f16", &scaled, "g"), Some(Sense::OverTheReals));
}

#[test]
fn high_powers_do_not_saturate() {
    // x^(2^64) and x^(2^64 + 1): for odd x the first is 1 and the second x.
    let square = r#"call = "fold", op = "prod", send = ["y", "y"], recv = "y""#;
    let copy = r#"call = "copy", send = "g", recv = "y""#;
    let once_more = r#"call = "fold", op = "prod", send = ["y", "g"], recv = "y""#;
    let powers: Vec<&str> = core::iter::once(copy).chain([square; 64]).collect();
    let more: Vec<&str> = powers.iter().copied().chain([once_more]).collect();
    let plan = plan(1, "i32", &(steps("a", &powers) + &steps("b", &more)), "g");
    assert_ne!(between(&plan, "a", "b").state.state, State::Same);
}

#[test]
fn a_need_does_not_fold_shards_of_different_lengths() {
    let text = format!(
        "format = 1\ngroup.ranks = 3\ngroups.g = {{ lists = [[0, 1], [2]] }}\n\
         input.x = {{ dtype = \"i32\", count = 4 }}\n{}\
         need = [{{ on = {{ rank = 0 }}, buffer = \"y\", holds = \"sum(shard(x) over g)\" }}]\n",
        steps("it", &[r#"call = "all_reduce", op = "sum", send = "x", recv = "y""#])
    );
    let plan = read(&text);
    let it = (&plan, &plan.proposals[0]);
    let error = compare(it, it, &mut Terms::new()).unwrap_err().error;
    assert_eq!(error.found, "4 elements of i32 to combine");
    assert_eq!(error.expected, "2 of i32, as on the first rank of the group");
}

#[test]
fn a_renamed_buffer_no_longer_answers_to_its_old_name() {
    let named = |buffer: &str| {
        let plan = read(&format!(
            "format = 1\ngroup.ranks = 2\ninput.g = {{ dtype = \"i32\", count = 4 }}\n{}\
             proposal.it.as = {{ y = \"out\" }}\n\
             need = [{{ on = \"every rank\", buffer = \"{buffer}\", holds = \"sum(g)\" }}]\n",
            steps("it", &[r#"call = "all_reduce", op = "sum", send = "g", recv = "y""#])
        ));
        between(&plan, "it", "it").needs[0].needs[0].answer
    };
    assert_eq!((named("out"), named("y")), (Answer::Yes, Answer::No));
}

#[test]
fn a_scatter_in_place_leaves_the_roots_other_blocks() {
    let scattered = r#"call = "scatter", root = 0, send = "g", recv = "g""#;
    let text = format!(
        "format = 1\ngroup.ranks = 2\ninput.g = {{ dtype = \"i32\", count = 4 }}\n{}\
         need = [{{ on = {{ rank = 0 }}, buffer = \"g\", holds = \"g\" }}]\n",
        steps("it", &[scattered])
    );
    assert_eq!(between(&read(&text), "it", "it").needs[0].needs[0].answer, Answer::Yes);
}

#[test]
fn an_all_to_all_of_many_ranks_is_a_run_for_each_of_them() {
    // 8192 blocks on each of 8192 ranks are far past the limit of runs, one by one.
    let text = format!(
        "format = 1\ngroup.ranks = 8192\ninput.g = {{ dtype = \"u8\", count = 8192 }}\n{}",
        steps("it", &[r#"call = "all_to_all", send = "g", recv = "y""#])
    );
    let comparison = between(&read(&text), "it", "it");
    assert_eq!(comparison.summary(), Summary::SameState);
}

#[test]
fn blocks_past_the_limit_of_runs_are_refused() {
    // 2^25 blocks of one element, from two buffers in turn.
    let mut list = vec![r#"call = "concat", send = ["g", "h"], recv = "y0""#.to_owned()];
    for step in 0..24 {
        let next = step + 1;
        list.push(format!(r#"call = "concat", send = ["y{step}", "y{step}"], recv = "y{next}""#));
    }
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let text = format!(
        "format = 1\ngroup.ranks = 2\ninput.g = {{ dtype = \"u8\", count = 1 }}\n\
         input.h = {{ dtype = \"u8\", count = 1 }}\n{}",
        steps("it", &list)
    );
    let plan = read(&text);
    let it = (&plan, &plan.proposals[0]);
    let Err(failed) = compare(it, it, &mut Terms::new()) else { panic!("no limit was met") };
    assert_eq!(failed.error.found, "more than 16777216 runs and parts of folds up to this step");
}
