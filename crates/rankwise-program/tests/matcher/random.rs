//! Random small programs: against the plain simulation, and in many interleavings.

use std::collections::BTreeSet;
use std::sync::Arc;

use rankwise_model::{Dtype, GroupSize};
use rankwise_program::{Kind, Report, Seq, Signature, Verb};

use super::driver::{Act, Call, Dice, Fate, STREAMS, Story, all_reduce, run};
use super::naive::{End, simulate};

/// Where messages go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Messages {
    /// On the communicators of the collectives.
    Among,
    /// Each pair of ranks has a communicator for them.
    Apart,
}

/// What everybody would do if nobody erred, and then some errors.
fn story(dice: &mut Dice, messages: Messages) -> Story {
    let ranks = 2 + dice.below(2);
    let everyone: Vec<u32> = (0..3).take(ranks).collect();
    let mut comms = vec![everyone.clone()];
    match dice.below(3) {
        0 => {}
        1 => comms.push(everyone.clone()),
        _ => comms.push(everyone[dice.below(2)..].iter().rev().copied().collect()),
    }
    let with_collectives = comms.len();
    let mut acts: Vec<Vec<Act>> = vec![Vec::new(); ranks];
    for _ in 0..=dice.below(3) {
        let mut comm = dice.below(with_collectives);
        let kind = dice.below(5);
        if kind > 2 && messages == Messages::Apart {
            let mut pair = vec![everyone[dice.below(ranks)], everyone[dice.below(ranks)]];
            pair.dedup();
            comm = comms
                .iter()
                .skip(with_collectives)
                .position(|known| *known == pair)
                .map_or(comms.len(), |at| at + with_collectives);
            if comm == comms.len() {
                comms.push(pair);
            }
        }
        let members = &comms[comm];
        let size = GroupSize::new(u32::try_from(members.len()).unwrap()).unwrap();
        let rank_of = |at: usize| size.rank(u32::try_from(at).unwrap()).unwrap();
        let calls: Vec<(usize, Signature)> = match kind {
            0 | 1 => (0..members.len()).map(|at| (at, all_reduce(1))).collect(),
            2 if dice.once_in(2) => {
                (0..members.len()).map(|at| (at, Signature::barrier())).collect()
            }
            2 => (0..members.len()).map(|at| (at, Signature::split(Some(0), 0))).collect(),
            _ => {
                let (from, to) = match messages {
                    Messages::Among => (dice.below(members.len()), dice.below(members.len())),
                    Messages::Apart => (0, members.len() - 1),
                };
                vec![
                    (from, Signature::send(rank_of(to), Dtype::F32, 1)),
                    (to, Signature::recv(rank_of(from), Dtype::F32, 1)),
                ]
            }
        };
        for (at, mut signature) in calls {
            let rank = members[at] as usize;
            if dice.once_in(12) {
                continue;
            }
            if dice.once_in(12) {
                signature = match signature.verb() {
                    Verb::Send { to } => Signature::send(to, Dtype::F32, 2),
                    Verb::Recv { from } if messages == Messages::Apart => {
                        Signature::recv(from, Dtype::F32, 2)
                    }
                    _ => all_reduce(2),
                };
            }
            let tag = dice.once_in(6).then(|| ["a", "b"][dice.below(2)]);
            let call = Call { comm, signature, tag };
            let stream = usize::from(dice.once_in(4));
            if matches!(signature.verb(), Verb::Split { .. }) {
                acts[rank].push(Act::Beside(call));
                continue;
            }
            match acts[rank].last_mut() {
                Some(Act::Post { calls, .. }) if dice.once_in(4) => calls.push(call),
                _ => acts[rank].push(Act::Post { stream, calls: vec![call] }),
            }
            if dice.once_in(2) {
                acts[rank].push(Act::Wait { stream: dice.below(STREAMS) });
            }
            if dice.once_in(8) {
                acts[rank].push(Act::StreamWait { stream: 1 - stream, on: stream });
            }
        }
    }
    for acts in &mut acts {
        if acts.len() > 1 && dice.once_in(5) {
            let at = dice.below(acts.len() - 1);
            acts.swap(at, at + 1);
        }
    }
    Story { comms, ranks: acts }
}

/// Everything posts before anything fails, so that nobody's program is cut short before
/// it stands still by itself: then the matcher must say what the plain simulation says.
#[test]
fn what_completes_and_who_is_stuck_is_what_a_plain_simulation_says() {
    let mut dice = Dice::new(1);
    let (mut clean, mut faulty) = (0, 0);
    for round in 0..40_000 {
        let story = story(&mut dice, Messages::Among);
        let expected = simulate(&story);
        let driver = run_quietly(&story);
        let told: BTreeSet<usize> =
            (0..story.ranks.len()).filter(|rank| driver.fates[*rank] != Fate::Finished).collect();
        assert_eq!(told, expected.stuck, "round {round}: {story:#?}");
        assert_eq!(driver.completed, expected.over, "round {round}: {story:#?}");
        let is_clean = expected.open.is_empty();
        assert_eq!(driver.reports.is_empty(), is_clean, "round {round}: {story:#?}");
        assert_eq!(driver.stuck, 0, "round {round}: {story:#?}");
        if is_clean { clean += 1 } else { faulty += 1 }
    }
    assert!(clean > 5_000 && faulty > 5_000, "{clean} clean, {faulty} faulty");
}

struct Quiet {
    fates: Vec<Fate>,
    completed: usize,
    reports: Vec<Arc<Report>>,
    stuck: usize,
}

/// Nobody is told of anything before nothing moves.
fn run_quietly(story: &Story) -> Quiet {
    let mut driver = super::driver::Driver::new(story);
    loop {
        let movable = driver.movable();
        let runnable = driver.runnable();
        for rank in &movable {
            driver.step(*rank);
        }
        for instance in &runnable {
            driver.complete(*instance);
        }
        if movable.is_empty() && runnable.is_empty() && !driver.ask() {
            let fates = driver.fates();
            let stuck = fates.iter().filter(|fate| **fate == Fate::Stuck).count();
            let completed = driver.completed;
            let reports = driver.reports;
            return Quiet { fates, completed, reports, stuck };
        }
    }
}

/// Whether a report is on everything in its communicators that never ends: then nothing
/// else in there could have been found first.
fn is_alone(report: &Report, end: &End) -> bool {
    let calls: BTreeSet<(&str, Seq)> = match report.kind {
        Kind::Deadlock => {
            report.waits.iter().map(|edge| (&*edge.call.communicator, edge.call.seq)).collect()
        }
        _ => BTreeSet::from([(&*report.communicator, report.seq.unwrap())]),
    };
    let concerned = |comm: &usize| calls.iter().any(|(name, _)| *name == format!("c{comm}"));
    end.open.iter().filter(|comm| concerned(comm)).count() == calls.len()
}

/// A single cause gives one report, the same to the letter. Of several that are
/// independent, one hides what its communicator or its ranks would have done after it,
/// and which comes first is up to the interleaving; but something is found.
#[test]
fn reports_do_not_depend_on_the_interleaving() {
    let mut dice = Dice::new(2);
    let (mut clean, mut one, mut several) = (0, 0, 0);
    for round in 0..4_000 {
        let story = story(&mut dice, Messages::Apart);
        let all = run_quietly(&story).reports;
        let is_single = all.len() == 1 && is_alone(&all[0], &simulate(&story));
        for _ in 0..12 {
            let driver = run(&story, |ways| dice.below(ways));
            assert!(!driver.fates().contains(&Fate::Stuck), "round {round}: {story:#?}");
            let found = &driver.reports;
            assert_eq!(found.is_empty(), all.is_empty(), "round {round}: {story:#?}");
            assert!(!is_single || *found == all, "round {round}: {story:#?}\n{found:#?}\n{all:#?}");
        }
        match all.len() {
            0 => clean += 1,
            _ if is_single => one += 1,
            _ => several += 1,
        }
    }
    assert!(clean > 1_000 && one > 1_000, "{clean} clean, {one} single, {several} several");
}
