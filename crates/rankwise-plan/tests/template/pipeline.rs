//! Pipelines: which micro-batches are kept, and in which order messages may be written.

use rankwise_plan::evaluate::{Evaluation, evaluate};
use rankwise_plan::file::{Format, PlanFile};
use rankwise_plan::need::NeedsAnswer;
use rankwise_plan::template::{Draft, Kind, Messages, Order, Pipeline, Ranks};
use rankwise_plan::term::Terms;
use rankwise_program::Kind as ReportKind;

use super::{buffer, changed, judged, wrongs};

fn pipeline(stages: u64, micro_batches: u64, order: Order, messages: Messages) -> Draft {
    let new = Pipeline::new(Ranks::flat(stages), 100, 8, micro_batches);
    Pipeline { order, messages, ..new }.draft().unwrap()
}

fn evaluated(draft: &Draft) -> Evaluation {
    let plan = draft.plan().unwrap();
    evaluate(&plan, &plan.proposals[0], &mut Terms::new()).unwrap()
}

const ORDERS: [Order; 2] = [Order::ForwardsFirst, Order::OneAndOne];

/// Whatever the stages and micro-batches: every message meets its other side, in an order
/// that depends on nothing, and brings what is needed.
#[test]
fn programs_that_exchange_complete() {
    for stages in 2..=6 {
        for batches in 1..=8 {
            for order in ORDERS {
                let draft = pipeline(stages, batches, order, Messages::Exchanged);
                let case = format!("{stages} stages, {batches} micro-batches, {order:?}");
                let evaluation = evaluated(&draft);
                assert!(evaluation.reports().is_empty(), "{case}: {}", evaluation.reports()[0]);
                assert!(!evaluation.depends_on_resources(), "{case}");
                // Forward and back, over each of the boundaries between stages.
                let completed = evaluation.findings.as_ref().unwrap().completed;
                assert_eq!(completed, 2 * batches * (stages - 1), "{case}");
                let answer = judged(&draft.plan().unwrap()).answer();
                assert_eq!(answer, NeedsAnswer::Satisfied, "{case}");
            }
        }
    }
}

/// Receive, compute, send: with every forward first that is an order for all. With one
/// and one, the last two stages are the first to send to each other: the one before the
/// last its second output, and the last the gradient of the first.
#[test]
fn programs_that_take_turns_complete_only_with_every_forward_first() {
    for stages in 2..=6 {
        for batches in 1..=8 {
            let draft = pipeline(stages, batches, Order::ForwardsFirst, Messages::InTurn);
            assert!(evaluated(&draft).reports().is_empty());
            assert_eq!(judged(&draft.plan().unwrap()).answer(), NeedsAnswer::Satisfied);

            let draft = pipeline(stages, batches, Order::OneAndOne, Messages::InTurn);
            let evaluation = evaluated(&draft);
            if batches == 1 {
                assert!(evaluation.reports().is_empty());
                continue;
            }
            let [report] = evaluation.reports() else { panic!("{:?}", evaluation.reports()) };
            assert_eq!(report.kind, ReportKind::Deadlock);
            let waits: Vec<_> = report
                .waits
                .iter()
                .map(|edge| (edge.rank.index(), edge.waits_for[0].index(), edge.call.to_string()))
                .collect();
            let last = u32::try_from(stages).unwrap() - 1;
            let [(one, on_other, sent), (other, on_one, back)] = &waits[..] else {
                panic!("one edge per rank of the circle: {waits:?}")
            };
            assert_eq!([*one, *on_other], [last - 1, last]);
            assert_eq!([*other, *on_one], [last, last - 1]);
            // The second message forward, and the first back.
            assert!(sent.contains(&format!("message 1 from {} to {last}", last - 1)), "{sent}");
            assert!(back.contains(&format!("message 0 from {last} to {}", last - 1)), "{back}");
        }
    }
}

#[test]
fn programs_read_back_and_leave_what_the_steps_leave() {
    for ranks in [
        Ranks::flat(3),
        Ranks::mesh([("pp", 3), ("dp", 2)]).unwrap().along("pp").unwrap(),
        Ranks::mesh([("dp", 2), ("pp", 3)]).unwrap().along("pp").unwrap(),
    ] {
        let programs = usize::try_from(ranks.count()).unwrap();
        let new = Pipeline::new(ranks, 100, 8, 4);
        let draft = Pipeline { messages: Messages::Exchanged, ..new.clone() }.draft().unwrap();
        let file = draft.file();
        let proposal = &file.proposal.0[0].1.value;
        assert_eq!((proposal.step.len(), proposal.program.len()), (0, programs));
        assert_eq!(PlanFile::read(&draft.to_toml(), Format::Toml).unwrap(), file);
        assert_eq!(PlanFile::read(&draft.to_json(), Format::Json).unwrap(), file);
        assert_eq!(judged(&draft.plan().unwrap()).answer(), NeedsAnswer::Satisfied);
        assert_eq!(draft.holdings().unwrap(), new.draft().unwrap().holdings().unwrap());
    }
}

/// The programs still meet, and two micro-batches have changed places.
#[test]
fn programs_that_hand_on_another_micro_batch_are_named() {
    let mut file = pipeline(3, 4, Order::ForwardsFirst, Messages::InTurn).file();
    for step in &mut file.proposal.0[0].1.value.program[0].value.step {
        let sent = &mut step.value.send;
        let [first, second] = ["act0", "act1"].map(|name| Some(buffer(name)));
        if *sent == first {
            *sent = second;
        } else if *sent == second {
            *sent = first;
        }
    }
    let (buffer, names) = wrongs(&file);
    assert_eq!((buffer.as_str(), names[0]), ("in0", "other_input"));
}

/// Messages are matched in order: two that change places change what is received.
#[test]
fn another_micro_batch_is_another_value() {
    let wrong = changed(&pipeline(3, 4, Order::OneAndOne, Messages::Listed), |steps| {
        let of = |name: &str| {
            let sent = |step: &rankwise_plan::file::Step| step.send == Some(buffer(name));
            steps.iter().position(sent).unwrap()
        };
        let [first, second] = [of("act0"), of("act1")];
        steps[first].send = Some(buffer("act1"));
        steps[second].send = Some(buffer("act0"));
    });
    let (buffer, names) = wrongs(&wrong);
    assert_eq!((buffer.as_str(), names[0]), ("in0", "other_input"));
}

/// The most that a stage keeps of outputs, in micro-batches.
fn most_kept(order: Order, stage: u32) -> u64 {
    let draft = Pipeline { order, ..Pipeline::new(Ranks::flat(4), 100, 1, 6) }.draft().unwrap();
    let moments = draft.holdings().unwrap().moments;
    let ticks = moments.iter().filter(|moment| moment.title.starts_with("tick"));
    let of_stage = ticks.map(|moment| {
        let mine =
            moment.held.iter().find(|(ranks, _)| ranks.iter().any(|rank| rank.index() == stage));
        mine.unwrap().1.kinds.get(&Kind::Activations).map_or(0, |amount| amount.bytes / 2)
    });
    of_stage.max().unwrap()
}

/// Stage 0 keeps only what it handed on, and the gradient that it is about to use: six
/// and one with every forward first, and with one of each in turn no more than there
/// are stages, and one.
#[test]
fn one_forward_and_one_backward_in_turn_keep_fewer_micro_batches() {
    assert_eq!(most_kept(Order::ForwardsFirst, 0), 6 + 1);
    assert_eq!(most_kept(Order::OneAndOne, 0), 4 + 1);
    // The last stage keeps what it got and what it made of it: of all six, or of one, and
    // the next has come already.
    assert_eq!(most_kept(Order::ForwardsFirst, 3), 6 + 6);
    assert_eq!(most_kept(Order::OneAndOne, 3), 1 + 1 + 1);
}
