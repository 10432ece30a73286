//! Every plan of two steps: all operations between two buffers of up to three ranks,
//! with counts 1 and 2, sum, max and avg, all roots, in place and not.
//!
//! `x` has `c` elements and `y` has `n·c`, so that each operation can be the first one.
//! Every plan is judged three times. What it leaves is compared position by position:
//! over all plans, two positions have one form exactly where they hold one value, which
//! settles every pair of plans at once. Its needs are judged, each name included. And
//! its state is compared with that of the plan before it, and of the first plan that
//! leaves the same. What the oracle cannot carry out the checker refuses.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rankwise_oracle::decide::{Answer, Numbers};
use rankwise_oracle::expression::{Expression, Groups};
use rankwise_oracle::kind::Kind;
use rankwise_oracle::step::{Act, Collective, Fold, Step};
use rankwise_oracle::value::Value;
use rankwise_plan::evaluate::evaluate;
use rankwise_plan::form::PlacedForm;
use rankwise_plan::need::judge_needs;
use rankwise_plan::term::Terms;
use rankwise_plan::vector::Content;
use rankwise_topology::World;

use crate::case::{Case, Proposal};
use crate::judge::{Disagreement, Tally, Trial};
use crate::random_plans::{LISTED, set};

const FOLDS: [Fold; 3] = [Fold::Sum, Fold::Max, Fold::Avg];
const BUFFERS: [&str; 2] = ["x", "y"];

/// A part of the work: this many first steps, of plans of one size and type.
struct Part {
    n: usize,
    count: usize,
    kind: Kind,
    firsts: std::ops::Range<usize>,
}

/// How many first steps a part has.
const FIRSTS: usize = 20;

#[test]
#[allow(clippy::print_stdout)] // how many there are is what this test shows
fn verdicts_agree_on_every_plan_of_two_steps() {
    // All of it is for `cargo xtask oracle`; here, one count and two ranks.
    let whole = set("RANKWISE_ORACLE_WHOLE", 0) == 1;
    let (counts, most, kinds): (_, _, &[Kind]) = if whole {
        (1..=2, 3, &[Kind::I32, Kind::F32, Kind::U8])
    } else {
        (1..=1, 2, &[Kind::I32])
    };
    let mut parts = Vec::new();
    for kind in kinds {
        for (n, count) in (1..=most).flat_map(|n| counts.clone().map(move |count| (n, count))) {
            for start in (0..steps(n, count, *kind).len()).step_by(FIRSTS) {
                parts.push(Part { n, count, kind: *kind, firsts: start..start + FIRSTS });
            }
        }
    }
    let found = Mutex::new((Tally::default(), Vec::new()));
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut tally = Tally::default();
                    let verdict = part.judge(&mut tally);
                    let mut found = found.lock().unwrap();
                    found.0.add(&tally);
                    found.1.extend(verdict.err());
                    if found.1.len() >= LISTED {
                        return;
                    }
                }
            });
        }
    });
    let (tally, disagreements) = found.into_inner().unwrap();
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n\n"));
    let [plans, refused] = ["plans", "refused"].map(|what| tally.of(what));
    println!("{plans} plans of two steps, {refused} more refused by both: no disagreement");
    for (what, count) in &tally.counts {
        println!("  {what}: {count}");
    }
    assert_eq!(tally.of("not proven"), 0, "equal values of two forms");
    assert!(plans > 10_000 && refused > 1_000);
}

/// Every step there is between the two buffers.
fn steps(n: usize, count: usize, kind: Kind) -> Vec<Step> {
    let mut all = Vec::new();
    let both = BUFFERS.iter().flat_map(|send| BUFFERS.iter().map(move |recv| (*send, *recv)));
    for (send, recv) in both {
        for collective in Collective::ALL {
            let folds = if collective.folds() { FOLDS.map(Some).to_vec() } else { vec![None] };
            let roots =
                if collective.is_rooted() { (0..n).map(Some).collect() } else { vec![None] };
            for (fold, root) in
                folds.iter().flat_map(|fold| roots.iter().map(move |root| (*fold, *root)))
            {
                all.push(Step::collective(collective, fold, root, n, send, recv));
            }
        }
        let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to)));
        all.extend(pairs.filter(|(from, to)| from != to).map(|(from, to)| Step::Message {
            from,
            to,
            send: send.to_owned(),
            recv: recv.to_owned(),
        }));
        let by = if kind.is_float() { (1, 2) } else { (3, 1) };
        let other = if kind == Kind::I32 { Kind::I64 } else { Kind::I32 };
        let sent = || send.to_owned();
        let mut acts = vec![
            Act::Slice(sent(), 0..count),
            Act::Slice(sent(), 1..1 + count),
            Act::Concat(vec![sent(), sent()]),
            Act::Scale(sent(), by),
            Act::Cast(sent(), other),
        ];
        acts.extend(FOLDS.map(|fold| Act::Fold(fold, vec![sent(), recv.to_owned()])));
        if send != recv {
            acts.push(Act::Copy(sent()));
            acts.push(Act::Concat(vec![sent(), recv.to_owned()]));
            let alone =
                |on| Step::Local { on: Some(on), act: Act::Copy(sent()), recv: recv.into() };
            all.extend((0..n).map(alone));
        }
        all.extend(acts.into_iter().map(|act| Step::Local { on: None, act, recv: recv.into() }));
    }
    all
}

/// What the checker calls a value, and the value of what it calls so.
#[derive(Default)]
struct Names {
    terms: Terms,
    forms: HashMap<Value, PlacedForm>,
    values: HashMap<PlacedForm, Value>,
}

impl Part {
    fn judge(&self, tally: &mut Tally) -> Result<(), Disagreement> {
        let all = steps(self.n, self.count, self.kind);
        let inputs = vec![("x", self.kind, self.count), ("y", self.kind, self.n * self.count)];
        let mut case = Case::new(self.n, false, inputs, Vec::new());
        needs(&mut case);
        let mut names = Names::default();
        for first in &all[self.firsts.start..self.firsts.end.min(all.len())] {
            case.proposals.clear();
            for second in &all {
                let steps = vec![first.clone(), second.clone()];
                match case.run(steps.clone()) {
                    Ok(mut proposal) => {
                        proposal.outputs = Some(BUFFERS.map(String::from).to_vec());
                        case.proposals.push(proposal);
                    }
                    Err(_) => {
                        is_refused(&case, steps)?;
                        tally.count("refused");
                    }
                }
            }
            if !case.proposals.is_empty() {
                names.judge(&case, tally)?;
            }
        }
        Ok(())
    }
}

/// Whether the checker refuses what the oracle cannot carry out.
fn is_refused(case: &Case, steps: Vec<Step>) -> Result<(), Disagreement> {
    let mut alone = Case::new(case.n, false, case.inputs.clone(), Vec::new());
    let (left, before) = (alone.start.clone(), Vec::new());
    alone.proposals = vec![Proposal { steps, outputs: None, left, before }];
    match Trial::new(&alone, 0) {
        Ok(trial) if !trial.refuses(0) => Err(format!("not refused:\n{}", alone.text())),
        _ => Ok(()),
    }
}

/// What is needed of both buffers.
fn needs(case: &mut Case) {
    let everybody: Vec<usize> = (0..case.n).collect();
    let own = |name: &str| Box::new(Expression::Own(name.to_owned()));
    let world = || Groups::world(case.n);
    let fold = |fold, name| Expression::Fold(fold, own(name), world());
    let mut all: Vec<Expression> = FOLDS.iter().map(|of| fold(*of, "x")).collect();
    all.push(Expression::Gather(own("x"), world()));
    all.push(Expression::Shard(Box::new(fold(Fold::Sum, "y")), world()));
    all.push(Expression::Of("x".to_owned(), case.n - 1));
    for buffer in BUFFERS {
        for holds in &all {
            case.need(everybody.clone(), buffer, None, holds.clone());
        }
    }
}

impl Names {
    /// The proposals of a case, each by itself and beside two others.
    fn judge(&mut self, case: &Case, tally: &mut Tally) -> Result<(), Disagreement> {
        let mut trial = Trial::new(case, 0)?;
        // Of pairs only the states are compared.
        let mut pairs = Trial::new(case, 0)?;
        pairs.plan.needs.clear();
        let mut firsts: HashMap<Vec<Option<Value>>, usize> = HashMap::new();
        for (index, proposal) in case.proposals.iter().enumerate() {
            tally.count("plans");
            let evaluation =
                evaluate(&trial.plan, &trial.plan.proposals[index], &mut self.terms)
                    .map_err(|error| format!("p{index}\n{}\n{error:?}", case.text_of(&[index])))?;
            let plan = &trial.plan;
            let reports =
                judge_needs(plan, &plan.proposals[index], &evaluation, &mut self.terms)
                    .map_err(|error| format!("p{index}\n{}\n{error:?}", case.text_of(&[index])))?;
            trial.needs(index, &reports, tally)?;
            let world = World::new(trial.plan.world);
            let mut all = Vec::new();
            for (own, rank) in world.ranks().enumerate() {
                for buffer in BUFFERS {
                    let held = proposal.left.held(own, buffer).map(|buffer| &buffer.positions);
                    let held = held.map_or(&[][..], Vec::as_slice);
                    let vector = evaluation.after.get(rank, buffer);
                    let mut contents = Vec::new();
                    for run in vector.iter().flat_map(|vector| vector.within(0..vector.count())) {
                        contents.extend((0..run.count()).map(|by| run.content.shifted(by)));
                    }
                    let agrees = contents.len() == held.len()
                        && contents.iter().zip(held).all(|(content, value)| {
                            self.agrees(case, *content, *value, &mut trial.numbers, tally)
                        });
                    if !agrees {
                        return Err(format!(
                            "p{index} leaves otherwise in {buffer} on rank {rank}\n{}\n{vector:?}",
                            case.text_of(&[index])
                        ));
                    }
                    all.push(None);
                    all.extend(held.iter().copied());
                }
            }
            let first = *firsts.entry(all).or_insert(index);
            pairs.pair([index, index.saturating_sub(1)], tally)?;
            if first + 1 < index {
                pairs.pair([index, first], tally)?;
            }
        }
        Ok(())
    }

    /// Whether a position holds a value: it has that value's form and no other's.
    fn agrees(
        &mut self,
        case: &Case,
        content: Content,
        value: Option<Value>,
        numbers: &mut Numbers,
        tally: &mut Tally,
    ) -> bool {
        let (placed, value) = match (content, value) {
            (Content::Gap(_), None) => return true,
            (Content::Term(placed), Some(value)) => (placed, value),
            _ => return false,
        };
        let Some(form) = self.terms.forms().of(placed) else { return false };
        let known = *self.forms.entry(value).or_insert(form);
        if known != form {
            tally.count("not proven");
        }
        let other = *self.values.entry(form).or_insert(value);
        other == value || case.values.compare(other, value, numbers) == Answer::Same
    }
}
