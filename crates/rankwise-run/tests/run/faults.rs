//! What is wrong, and where the record says that it is.

use rankwise_plan::limits::TERM_DEPTH;
use rankwise_run::record::{BufferVerdict, NeedVerdict, Verdict};
use rankwise_run::{Fill, Job, RunError, run};

use crate::toy::{Wrong, world};
use crate::{job, outcome, plan};

const SUM: &str = r#"
    format = 1
    group.devices = ["A", "B"]
    input.x = { dtype = "i32", count = 4, meaning = "m", on.rank = { 0 = [1, 2, 3, 4], 1 = [10, 20, 30, 40] } }
    proposal.p.step = [{ call = "all_reduce", op = "sum", send = "x", recv = "y" }]
    need = [
        { on = "every rank", buffer = "y", holds = "sum(x)" },
        { on = { rank = 1 }, buffer = "y", positions = "0..2", holds = "sum(x)[0..2]" },
        { on = { rank = 0 }, buffer = "y", holds = "sum(x)" },
    ]
"#;

/// Byte 8 is the lowest of position 2: 33 becomes 32.
#[test]
fn one_flipped_bit_is_named_with_rank_buffer_and_position() {
    let wrong = Wrong { flipped: Some((1, "world", 0, 8)), ..Wrong::default() };
    let record = outcome(SUM, &wrong).record;
    assert_eq!(record.verdict, Verdict::Differs);
    let differing: Vec<_> =
        record.buffers.iter().filter(|buffer| buffer.verdict == BufferVerdict::Differs).collect();
    let [buffer] = differing.as_slice() else { panic!("{differing:#?}") };
    assert_eq!((buffer.rank, buffer.device.as_deref()), (1, Some("B")));
    assert_eq!((buffer.buffer.as_str(), buffer.wrong.0), ("y", 1));
    let first = buffer.first_difference.as_ref().unwrap();
    assert_eq!(first.position.0, 2);
    assert_eq!((first.found.value.as_str(), first.found.bits.as_str()), ("32", "0x00000020"));
    assert_eq!((first.expected.value.as_str(), first.expected.bits.as_str()), ("33", "0x00000021"));
    // Position 2 is not among those that the second need is about.
    let answers: Vec<_> = record.needs.iter().map(|need| need.answer).collect();
    assert_eq!(answers, [NeedVerdict::NotMet, NeedVerdict::Met, NeedVerdict::Met]);
    let on: Vec<_> = record.needs.iter().map(|need| need.on.as_str()).collect();
    assert_eq!(on, ["every rank", "rank 1", "rank 0"]);
    assert_eq!(record.needs[1].positions.map(|at| at.map(|at| at.0)), Some([0, 2]));
    assert_eq!(
        record.needs[0].why.as_deref(),
        Some("rank 1 holds 32 at position 2 of y, expected 33")
    );
}

/// Byte 0 of the 32-bit float 33.0 (0x42040000) is its lowest: one unit in the last place.
#[test]
fn a_backend_of_another_fold_order_is_judged_within_the_bound() {
    let text = r#"
        format = 1
        group.ranks = 3
        input.x = { dtype = "f32", count = 1, meaning = "m", on.rank = { 0 = [1], 1 = [2], 2 = [30] } }
        proposal.p.step = [{ call = "all_reduce", op = "sum", send = "x", recv = "y" }]
    "#;
    let flipped = Some((1, "world", 0, 0));
    let off = Wrong { flipped, unspecified: true, ..Wrong::default() };
    let record = outcome(text, &off).record;
    assert_eq!(record.verdict, Verdict::Right, "{record:#?}");
    let y = record.buffers.iter().find(|buffer| buffer.buffer == "y" && buffer.rank == 1).unwrap();
    assert_eq!(y.sense.as_deref(), Some("within a stated bound"));
    assert_eq!((y.wrong.0, y.first_difference.as_ref()), (0, None));

    // The same bit from a backend that says its bits are the model's.
    let record = outcome(text, &Wrong { flipped, ..Wrong::default() }).record;
    assert_eq!(record.verdict, Verdict::Differs);
    let y = record.buffers.iter().find(|buffer| buffer.verdict == BufferVerdict::Differs).unwrap();
    assert_eq!(y.sense.as_deref(), Some("bits given the fold order"));
    assert_eq!(y.law.as_deref(), Some("within the bound of another fold order"));

    // Byte 3 holds the exponent: no order explains that.
    let off = Wrong { flipped: Some((1, "world", 0, 3)), unspecified: true, ..Wrong::default() };
    let record = outcome(text, &off).record;
    assert_eq!(record.verdict, Verdict::Differs);
    let y = record.buffers.iter().find(|buffer| buffer.verdict == BufferVerdict::Differs).unwrap();
    assert_eq!((y.rank, y.wrong.0), (1, 1));
}

#[test]
fn a_panic_ends_the_run_and_is_named() {
    let wrong = Wrong { panics: Some(1), ..Wrong::default() };
    let record = outcome(SUM, &wrong).record;
    assert_eq!(record.verdict, Verdict::Failed);
    let panic = record.ranks[1].error.unwrap() as usize;
    assert_eq!(record.errors[panic].ranks, [1]);
    assert_eq!(record.errors[panic].kind, "internal");
    assert!(record.errors[panic].text.contains("told to panic"), "{record:#?}");
    // Its peer was in a call that cannot complete.
    let waits = record.ranks[0].error;
    let waited = waits.unwrap() as usize;
    assert_eq!(
        (record.errors[waited].kind.as_str(), &record.errors[waited].ranks),
        ("peer", &vec![0])
    );
    assert_eq!(record.steps[0].calls[0].ranks[0].error, waits);
    // Of ranks without an end nothing is known.
    assert!(record.buffers.is_empty());
    assert_eq!(record.needs[0].answer, NeedVerdict::Unknown);
}

#[test]
fn a_reduction_without_a_name_cannot_be_run() {
    let plan = plan(
        r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 4, meaning = "m" }
        proposal.p.step = [
            { call = "all_gather", send = "x", recv = "y" },
            { call = "all_reduce", send = "x", recv = "z" },
        ]
        proposal.q.step = [{ call = "fold", send = ["x", "x"], recv = "z" }]
        "#,
    );
    let refused = |name: &str| {
        let proposal = plan.proposal(name).unwrap();
        Job::new(&plan, proposal, Fill::Pattern { seed: 0 }).unwrap_err()
    };
    assert_eq!(refused("p"), RunError::Unnamed { step: 1, call: "all_reduce".into() });
    assert_eq!(refused("q").to_string(), "step 0: fold without a reduction; name it with `op`");
}

#[test]
fn a_plan_that_contradicts_itself_is_refused_with_its_place() {
    let plan = plan(
        r#"
        format = 1
        group.ranks = 2
        input.x = { dtype = "i32", count = 3, meaning = "m" }
        proposal.p.step = [{ call = "reduce_scatter", op = "sum", send = "x", recv = "y" }]
        "#,
    );
    let error = Job::new(&plan, &plan.proposals[0], Fill::Pattern { seed: 0 }).unwrap_err();
    let RunError::Plan(error) = error else { panic!("{error}") };
    assert_eq!(error.path, "proposal.p.step[0]");
}

#[test]
fn limits_are_named_before_anything_is_allocated() {
    let text = |ranks: &str, count: &str| {
        format!(
            r#"
            format = 1
            group.ranks = {ranks}
            input.x = {{ dtype = "i32", count = {count}, meaning = "m" }}
            proposal.p.step = [{{ call = "all_reduce", op = "sum", send = "x", recv = "y" }}]
            "#
        )
    };
    let refused = |ranks, count| {
        let plan = plan(&text(ranks, count));
        Job::new(&plan, &plan.proposals[0], Fill::Pattern { seed: 0 }).unwrap_err().to_string()
    };
    assert_eq!(refused("4097", "1"), "found 4097 ranks, at most 4096 can be run");
    assert_eq!(
        refused("2", "16777217"),
        "found 67108868 elements in all buffers, at most 67108864 can be run"
    );
    assert_eq!(
        refused("4096", "\"4611686018427387903\""),
        "found 18446744073709551615 elements in all buffers, at most 67108864 can be run"
    );
}

#[test]
fn another_number_of_communicators_is_refused_on_every_rank() {
    let plan = plan(SUM);
    for found in [1, 3] {
        let record = run(&job(&plan, "p"), world(found, &Wrong::default())).record;
        assert_eq!(record.verdict, Verdict::Failed);
        assert_eq!(record.errors.len(), 1);
        assert_eq!(record.errors[0].text, format!("found {found} ranks, the plan has 2"));
        assert_eq!(record.errors[0].ranks, [0, 1]);
        assert_eq!(record.backend, None);
    }
}

#[test]
fn communicators_out_of_order_are_refused() {
    let plan = plan(SUM);
    let mut comms = world(2, &Wrong::default());
    comms.reverse();
    let record = run(&job(&plan, "p"), comms).record;
    assert_eq!(record.verdict, Verdict::Failed);
    let texts: Vec<_> = record.errors.iter().map(|error| error.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "the communicator of rank 1 was given to rank 0",
            "the communicator of rank 0 was given to rank 1"
        ]
    );
}

/// As deep as plans may be: the arithmetic of a local act is no deeper than its step.
#[test]
fn a_long_chain_of_local_acts_is_run() {
    let steps = vec![r#"{ call = "scale", send = "x", by = 1, recv = "x" }"#; TERM_DEPTH as usize];
    let text = format!(
        r#"
        format = 1
        group.ranks = 1
        input.x = {{ dtype = "i32", count = 2, meaning = "m" }}
        proposal.p.step = [{}]
        "#,
        steps.join(", ")
    );
    assert_eq!(outcome(&text, &Wrong::default()).record.verdict, Verdict::Right);
}
