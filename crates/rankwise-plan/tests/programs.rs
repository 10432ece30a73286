//! Proposals whose ranks have programs of their own: what meets, what completes, and
//! what is left where something does not.

use rankwise_plan::compare::{Summary, compare};
use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::Format;
use rankwise_plan::need::{NeedsAnswer, judge_needs};
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;
use rankwise_plan::term::Terms;
use rankwise_program::{Aspect, Kind};

const TWO: &str = r#"
format = 1
group.ranks = 2
input.x = { dtype = "f32", count = 4, meaning = "gradient" }
[[need]]
on = "every rank"
buffer = "y"
holds = "sum(x)"
"#;

fn plan(text: &str) -> Plan {
    Plan::read(text, Format::Toml, &mut NoArrays).unwrap()
}

fn evaluated(text: &str) -> (Plan, Evaluation, Terms) {
    let plan = plan(text);
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms).unwrap();
    (plan, evaluation, terms)
}

fn answer(text: &str) -> NeedsAnswer {
    let (plan, evaluation, mut terms) = evaluated(text);
    judge_needs(&plan, &plan.proposals[0], &evaluation, &mut terms).unwrap().answer()
}

/// What a rank holds in a buffer, run by run.
fn held(evaluation: &Evaluation, terms: &Terms, rank: u32, buffer: &str) -> Vec<String> {
    let world = rankwise_topology::World::new(rankwise_model::GroupSize::new(4).unwrap());
    let vector = evaluation.after.get(world.rank(rank).unwrap(), buffer).unwrap();
    vector.runs().map(|run| terms.show_run(&run)).collect()
}

/// A program of each of two ranks, from its steps.
fn programs(zero: &str, one: &str) -> String {
    format!(
        "{TWO}
[[proposal.p.program]]
on = {{ rank = 0 }}
step = [{zero}]
[[proposal.p.program]]
on = {{ rank = 1 }}
step = [{one}]
"
    )
}

const REDUCE: &str = r#"{ call = "all_reduce", op = "sum", send = "x", recv = "y", wait = true },"#;

#[test]
fn programs_that_do_the_same_are_the_same_as_steps() {
    let text = format!(
        "{}
[[proposal.steps.step]]
call = \"all_reduce\"
op = \"sum\"
send = \"x\"
recv = \"y\"
",
        programs(REDUCE, REDUCE)
    );
    let plan = plan(&text);
    let [programs, steps] = [&plan.proposals[0], &plan.proposals[1]];
    let comparison = compare((&plan, programs), (&plan, steps), &mut Terms::new()).unwrap();
    assert_eq!(comparison.summary(), Summary::SameState);
    assert_eq!(comparison.both_do(), Some(true));
    let findings = comparison.evaluations[0].findings.as_ref().unwrap();
    assert_eq!((findings.completed, findings.reports.len()), (1, 0));
    assert!(comparison.evaluations[1].findings.is_none());
}

#[test]
fn each_rank_may_name_its_buffers() {
    // Rank 1 calls its contribution g and its result h; then it is y.
    let one = r#"{ call = "copy", send = "x", recv = "g" },
        { call = "all_reduce", op = "sum", send = "g", recv = "h" },
        { call = "copy", send = "h", recv = "y" },"#;
    let (_, evaluation, terms) = evaluated(&programs(REDUCE, one));
    assert!(evaluation.reports().is_empty());
    for rank in 0..2 {
        let sum = held(&evaluation, &terms, rank, "y");
        assert_eq!(sum, ["x@rank0[0..4] + x@rank1[0..4]"]);
    }
    assert_eq!(answer(&programs(REDUCE, one)), NeedsAnswer::Satisfied);
}

#[test]
fn each_rank_brings_the_buffer_that_it_names() {
    // Rank 1 has x as well, and calls with the double of it.
    let one = r#"{ call = "scale", by = 2, send = "x", recv = "g" },
        { call = "all_reduce", op = "sum", send = "g", recv = "y" },"#;
    let (_, evaluation, terms) = evaluated(&programs(REDUCE, one));
    assert!(evaluation.reports().is_empty());
    assert_eq!(held(&evaluation, &terms, 0, "y"), ["x@rank0[0..4] + 2·x@rank1[0..4]"]);
}

#[test]
fn one_rank_in_place_and_one_not() {
    let one = r#"{ call = "all_reduce", op = "sum", send = "x", recv = "x" },
        { call = "copy", send = "x", recv = "y" },"#;
    assert_eq!(answer(&programs(REDUCE, one)), NeedsAnswer::Satisfied);
}

/// NCCL takes each rank's scalar from that rank's own operator: 1 from rank 0, 4 from
/// rank 1, though each believes something else of the other.
#[test]
fn a_ranks_scalar_is_the_one_that_it_states_itself() {
    let call = |scalars: &str| {
        format!(
            r#"{{ call = "all_reduce", op = "premul", scalars = {scalars}, send = "x", recv = "y" }},"#
        )
    };
    let (_, evaluation, terms) = evaluated(&programs(&call("[1, 2]"), &call("[3, 4]")));
    for rank in 0..2 {
        assert_eq!(held(&evaluation, &terms, rank, "y"), ["x@rank0[0..4] + 4·x@rank1[0..4]"]);
    }
}

/// A reduction that one rank leaves open is open, whichever rank it is.
#[test]
fn one_rank_that_names_no_reduction_is_enough() {
    let open = r#"{ call = "all_reduce", send = "x", recv = "y", wait = true },"#;
    assert_eq!(answer(&programs(REDUCE, open)), NeedsAnswer::Unknown);
    assert_eq!(answer(&programs(open, REDUCE)), NeedsAnswer::Unknown);
}

#[test]
fn a_message_takes_its_size_from_the_other_side() {
    // Reduced to rank 0 and handed over: the recv states no count.
    let zero = r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "y" },
        { call = "send", peer = 1, send = "y", wait = true },"#;
    let one = r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "z" },
        { call = "recv", peer = 0, recv = "y", wait = true },"#;
    let text = programs(zero, one);
    let (_, evaluation, _) = evaluated(&text);
    assert!(evaluation.reports().is_empty(), "{}", evaluation.reports()[0]);
    assert_eq!(answer(&text), NeedsAnswer::Satisfied);
}

#[test]
fn a_deadlock_leaves_gaps_and_says_why() {
    // Each sends first and waits for it.
    let steps = |peer: u32| {
        format!(
            r#"{{ call = "send", peer = {peer}, send = "x", wait = true }},
               {{ call = "recv", peer = {peer}, recv = "other", wait = true }},
               {{ call = "fold", op = "sum", send = ["x", "other"], recv = "y" }},"#
        )
    };
    let text = programs(&steps(1), &steps(0));
    let (_, evaluation, terms) = evaluated(&text);
    let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
    assert_eq!(report.kind, Kind::Deadlock);
    assert_eq!(report.cycle().len(), 2);
    assert_eq!(
        held(&evaluation, &terms, 0, "y"),
        ["(nothing: step 2 never completes, see the reports)"]
    );
    assert_eq!(answer(&text), NeedsAnswer::NotSatisfied);
    // With a stream for each direction it ends, though the orders differ.
    let apart = |peer: u32| {
        format!(
            r#"{{ call = "send", peer = {peer}, send = "x", stream = "out" }},
               {{ call = "recv", peer = {peer}, recv = "other", stream = "in" }},
               {{ call = "wait", stream = "in" }},
               {{ call = "fold", op = "sum", send = ["x", "other"], recv = "y" }},"#
        )
    };
    let text = programs(&apart(1), &apart(0));
    let (_, evaluation, _) = evaluated(&text);
    assert!(evaluation.reports().is_empty());
    assert!(evaluation.depends_on_resources());
    assert_eq!(answer(&text), NeedsAnswer::Satisfied);
}

#[test]
fn what_never_completes_does_not_leave_what_was_there_before() {
    let zero = format!(r#"{{ call = "copy", send = "x", recv = "y" }}, {REDUCE}"#);
    let (_, evaluation, terms) = evaluated(&programs(&zero, ""));
    assert_eq!(evaluation.reports()[0].kind, Kind::MissingRank);
    assert_eq!(
        held(&evaluation, &terms, 0, "y"),
        ["(nothing: step 1 never completes, see the reports)"]
    );
}

#[test]
fn what_is_not_promised_is_as_long_as_what_the_root_holds() {
    // Rank 1 is not the root, but its y goes into the sum: of four elements on both.
    let steps = r#"{ call = "reduce", op = "sum", root = 0, send = "x", recv = "y" },
        { call = "all_reduce", op = "sum", send = "y", recv = "z" },"#;
    let (_, evaluation, terms) = evaluated(&programs(steps, steps));
    assert!(evaluation.reports().is_empty(), "{}", evaluation.reports()[0]);
    for rank in 0..2 {
        assert_eq!(
            held(&evaluation, &terms, rank, "z"),
            ["(not promised: step 1 read what nothing promises)"]
        );
    }
}

#[test]
fn what_is_made_of_a_message_that_never_comes_is_a_report_and_no_error() {
    // How long w is, nobody says; so y is as long as nobody knows.
    let zero = r#"{ call = "recv", peer = 1, recv = "w" },
        { call = "copy", send = "w", recv = "y" },"#;
    let (_, evaluation, _) = evaluated(&programs(zero, ""));
    let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
    assert_eq!(report.kind, Kind::UnmatchedMessage);
}

#[test]
fn a_count_that_differs_is_a_report_and_no_refusal() {
    let one = r#"{ call = "slice", send = "x", positions = "0..2", recv = "half" },
        { call = "all_reduce", op = "sum", send = "half", recv = "y", wait = true },"#;
    let (_, evaluation, terms) = evaluated(&programs(REDUCE, one));
    let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
    assert_eq!(report.kind, Kind::Mismatch);
    assert!(report.aspects.contains(Aspect::Count));
    assert_eq!(
        held(&evaluation, &terms, 1, "y"),
        ["(nothing: step 2 never completes, see the reports)"]
    );
}

#[test]
fn a_stream_that_reads_too_early_is_a_hazard() {
    let steps = |fence: &str| {
        format!(
            r#"{{ call = "all_reduce", op = "sum", send = "x", recv = "z", stream = "comm" }},
               {fence}
               {{ call = "copy", send = "z", recv = "y" }},"#
        )
    };
    let early = programs(&steps(""), &steps(""));
    let (_, evaluation, _) = evaluated(&early);
    let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
    assert_eq!(report.kind, Kind::Hazard);
    let conflict = report.conflict.as_ref().unwrap();
    assert_eq!((&*conflict.shared.buffer, conflict.ranks.len()), ("z", 2));
    let fence = r#"{ call = "fence", after = "comm" },"#;
    let fenced = programs(&steps(fence), &steps(fence));
    assert!(evaluated(&fenced).1.reports().is_empty());
    assert_eq!(answer(&fenced), NeedsAnswer::Satisfied);
}

#[test]
fn what_a_collective_reads_may_not_change_meanwhile() {
    let steps = r#"{ call = "copy", send = "x", recv = "v", stream = "main" },
        { call = "fence", stream = "comm", after = "main" },
        { call = "all_reduce", op = "sum", send = "v", recv = "y", stream = "comm" },
        { call = "copy", send = "x", recv = "v", stream = "main" },"#;
    let (_, evaluation, _) = evaluated(&programs(steps, steps));
    let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
    assert_eq!(report.kind, Kind::Hazard);
    assert_eq!(&*report.conflict.as_ref().unwrap().shared.buffer, "v");
}

#[test]
fn buffers_that_do_not_fit_for_lack_of_order_are_a_report() {
    // z is 8 long, then 4; what reads it on another stream may meet either.
    let steps = r#"{ call = "all_gather", send = "x", recv = "z", stream = "comm" },
        { call = "slice", send = "z", positions = "0..8", recv = "w", stream = "main" },
        { call = "copy", send = "x", recv = "z", stream = "main" },
        { call = "slice", send = "z", positions = "0..4", recv = "y", stream = "main" },"#;
    let (_, evaluation, _) = evaluated(&programs(steps, steps));
    assert!(!evaluation.reports().is_empty());
    assert!(evaluation.reports().iter().all(|report| report.kind == Kind::Hazard));
}

#[test]
fn a_faulty_proposal_does_no_job() {
    // y is right on both ranks, and then rank 1 calls once more, alone.
    let more = format!(r#"{REDUCE} {{ call = "all_gather", send = "x", recv = "w" }},"#);
    let text = format!(
        "{}
[[proposal.steps.step]]
call = \"all_reduce\"
op = \"sum\"
send = \"x\"
recv = \"y\"
",
        programs(REDUCE, &more)
    );
    assert_eq!(answer(&text), NeedsAnswer::Satisfied);
    let plan = plan(&text);
    let [programs, steps] = [&plan.proposals[0], &plan.proposals[1]];
    let comparison = compare((&plan, programs), (&plan, steps), &mut Terms::new()).unwrap();
    let [report] = comparison.evaluations[0].reports() else { panic!("one report") };
    assert_eq!(report.kind, Kind::MissingRank);
    assert_eq!(comparison.summary(), Summary::OnlySecond);
    assert_eq!(comparison.both_do(), Some(false));
}

#[test]
fn groups_have_the_names_of_their_partitions() {
    let text = r#"
format = 1
group.ranks = 4
mesh = { axes = ["dp", "tp"], shape = [2, 2] }
input.x = { dtype = "f32", count = 4 }
[[proposal.p.program]]
on = "every rank"
[[proposal.p.program.step]]
call = "all_gather"
over = "tp"
send = "x"
recv = "y"
[[proposal.p.program.step]]
call = "broadcast"
root = 1
over = "dp"
send = "y"
recv = "z"
"#;
    let (_, evaluation, terms) = evaluated(text);
    assert!(evaluation.reports().is_empty());
    let findings = evaluation.findings.as_ref().unwrap();
    assert_eq!(findings.completed, 4);
    // Rank 1 is in dp[1] with rank 3, whose y is gathered from ranks 2 and 3.
    assert_eq!(held(&evaluation, &terms, 1, "z"), ["x@rank2[0..4]", "x@rank3[0..4]"]);
    let skipped = text.replacen("on = \"every rank\"", "on = { group = \"tp\" }", 1);
    assert!(evaluated(&skipped).1.reports().is_empty(), "tp covers all ranks");
    let one = text.replacen("on = \"every rank\"", "on = { rank = 2 }", 1);
    let reports = evaluated(&one).1;
    assert_eq!(&*reports.reports()[0].communicator, "tp[1]");
}

/// The error of a plan of two ranks with these lines behind.
fn refused(lines: &str) -> String {
    let text = format!("{TWO}{lines}");
    Plan::read(&text, Format::Toml, &mut NoArrays).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    assert_eq!(
        refused("[[proposal.p.program]]\nstep = []"),
        "proposal.p.program[0].on: found no key on, expected whose program it is"
    );
    assert_eq!(
        refused(
            "[[proposal.p.program]]\non = \"every rank\"\n[[proposal.p.program]]\non = { rank = 1 }"
        ),
        "proposal.p.program[1].on: found a second program of rank 1, besides program[0], \
         expected one for each rank"
    );
    assert_eq!(
        refused(
            "[[proposal.p.step]]\ncall = \"copy\"\nsend = \"x\"\nrecv = \"y\"\n\
             [[proposal.p.program]]\non = { rank = 1 }"
        ),
        "proposal.p.program[0]: found program besides step, expected either step, which all \
         ranks do, or program, of which each has one"
    );
    let step = |keys: &str| {
        refused(&format!("[[proposal.p.program]]\non = {{ rank = 1 }}\nstep = [{{ {keys} }}]"))
    };
    assert_eq!(
        step(r#"call = "copy", send = "x", recv = "y", on = { rank = 0 }"#),
        "proposal.p.program[0].step[0].on: found on, expected no on: the program says whose \
         steps they are"
    );
    assert_eq!(
        step(r#"call = "wait", send = "x""#),
        "proposal.p.program[0].step[0].send: found send, expected no send: wait takes stream"
    );
    assert_eq!(
        step(r#"call = "fence", stream = "s""#),
        "proposal.p.program[0].step[0].after: found no key after, expected the other stream"
    );
    // Streams are for programs.
    let together =
        refused("[[proposal.p.step]]\ncall = \"copy\"\nsend = \"x\"\nrecv = \"y\"\nstream = \"s\"");
    assert!(together.starts_with("proposal.p.step[0].stream: found stream, "), "{together}");
}

#[test]
fn a_buffer_that_is_not_there_is_an_error_at_its_step() {
    let plan = plan(&programs(REDUCE, r#"{ call = "copy", send = "w", recv = "y" },"#));
    let error = evaluate(&plan, &plan.proposals[0], &mut Terms::new()).unwrap_err();
    assert_eq!(error.path, "proposal.p.program[1].step[0]");
    assert_eq!(error.found, "buffer `w`, which rank 1 does not have at this step");
}
