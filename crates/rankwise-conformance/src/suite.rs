//! The suite: which cases, how long each may take, and what comes of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rankwise_comm::{Capabilities, Error};
use rankwise_model::{GroupSize, Rank};

use crate::blame::Quarrel;
use crate::block_on::block_on;
use crate::case::Case;
use crate::check::check_in;
use crate::crew::{Crew, Ended, Part, words};
use crate::defect::{Defect, Failure};
use crate::filter::Filter;
use crate::fixture::{Blame, ExpectedFailure, Fixture};
use crate::law::{Around, Law};
use crate::matrix::Matrix;
use crate::meeting::Meeting;
use crate::outcome::{Entry, Outcome, Verdict};
use crate::plan::Planner;

/// Everything that a backend is put through.
///
/// Cases run one after another, in an order that is always the same; the ranks are
/// launched once per group size, and anew after a case that went wrong.
pub struct Suite<F: Fixture> {
    fixture: F,
    matrix: Matrix,
    laws: Vec<Law>,
    quarrels: Vec<Quarrel>,
    filter: Filter,
    deadline: Duration,
    after_hang: AfterHang,
    most_bad: usize,
}

/// What a suite does when ranks hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AfterHang {
    /// It goes on with a new group; threads that do not come back are leaked.
    GoOn,
    /// It stops, and does not hold.
    Stop,
}

/// One thing that the ranks of a group are put through.
#[derive(Clone, Copy)]
enum Trial {
    Case(Case),
    Law(Law),
    Quarrel(Quarrel, Rank),
}

impl<F: Fixture> Suite<F> {
    /// The [full](Matrix::full) matrix, every law and every quarrel.
    pub fn full(fixture: F) -> Self {
        Self {
            fixture,
            matrix: Matrix::full(),
            laws: Law::ALL.to_vec(),
            quarrels: Quarrel::ALL.to_vec(),
            filter: Filter::new(""),
            deadline: Duration::from_secs(30),
            after_hang: AfterHang::GoOn,
            most_bad: 100,
        }
    }

    /// The [quick](Matrix::quick) matrix, every law and every quarrel.
    pub fn quick(fixture: F) -> Self {
        Self { matrix: Matrix::quick(), ..Self::full(fixture) }
    }

    /// This matrix. Laws and quarrels follow its group sizes.
    #[must_use]
    pub fn matrix(mut self, matrix: Matrix) -> Self {
        self.matrix = matrix;
        self
    }

    /// Only these laws.
    #[must_use]
    pub fn laws(mut self, laws: impl IntoIterator<Item = Law>) -> Self {
        self.laws = laws.into_iter().collect();
        self
    }

    /// Only cases, laws and quarrels whose names have these parts; see [`Filter`].
    #[must_use]
    pub fn matching(mut self, parts: impl Into<String>) -> Self {
        self.filter = Filter::new(parts);
        self
    }

    /// How long each case may take: 30 seconds if nothing else is said.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What to do when ranks hang: go on, if nothing else is said.
    #[must_use]
    pub const fn after_hang(mut self, after_hang: AfterHang) -> Self {
        self.after_hang = after_hang;
        self
    }

    /// After how many bad cases to stop: 100 if nothing else is said.
    #[must_use]
    pub const fn most_bad(mut self, cases: usize) -> Self {
        self.most_bad = cases;
        self
    }

    /// Runs everything.
    pub fn run(self) -> Outcome {
        let outcome = Outcome {
            backend: self.fixture.name(),
            entries: Vec::new(),
            floor: self.fixture.floor(),
            stopped: None,
        };
        let expected = self.fixture.expected_failures();
        let mut run = Run {
            suite: &self,
            outcome,
            expected,
            crew: None,
            planner: Planner::default(),
            bad: 0,
        };
        for ranks in self.matrix.group_sizes() {
            run.group(*ranks);
            if let Some(crew) = run.crew.take() {
                crew.dismiss();
            }
        }
        run.outcome
    }

    /// Everything for groups of one size, in order.
    fn trials(&self, ranks: GroupSize) -> impl Iterator<Item = Trial> + '_ {
        let quarrels = self.quarrels.iter().flat_map(move |quarrel| {
            ranks.ranks().map(move |culprit| Trial::Quarrel(*quarrel, culprit))
        });
        let cases = self.matrix.cases_of(ranks).map(Trial::Case);
        cases.chain(self.laws.iter().copied().map(Trial::Law)).chain(quarrels)
    }

    fn around(&self, ranks: GroupSize) -> Around {
        let within = self.deadline / 2;
        let meeting = Meeting::new(ranks.get(), within);
        Around { meeting, patience: within.min(Duration::from_secs(5)) }
    }
}

/// A suite on its way.
struct Run<'s, F: Fixture> {
    suite: &'s Suite<F>,
    outcome: Outcome,
    expected: Vec<ExpectedFailure>,
    crew: Option<Crew<F::Comm>>,
    planner: Planner,
    bad: usize,
}

impl Trial {
    fn name(&self, ranks: GroupSize) -> String {
        match self {
            Self::Case(case) => case.to_string(),
            Self::Law(law) => format!("law/{law}/n={ranks}"),
            Self::Quarrel(quarrel, culprit) => format!("blame/{quarrel}/n={ranks}/rank={culprit}"),
        }
    }

    /// Whether the communicators are gone afterwards.
    const fn is_an_ending(&self) -> bool {
        match self {
            Self::Case(_) => false,
            Self::Law(law) => law.is_an_ending(),
            Self::Quarrel(..) => true,
        }
    }

    fn skipped_for(
        &self,
        ranks: GroupSize,
        capabilities: &Capabilities,
        blame: &Blame,
    ) -> Option<String> {
        match self {
            Self::Case(case) => {
                let (kind, reduction) = (case.pattern.kind(), case.pattern.reduction());
                let declared = capabilities.supports(kind, reduction, case.dtype);
                (!declared).then(|| {
                    let what = reduction
                        .map_or(kind.to_string(), |reduction| format!("{kind} with {reduction}"));
                    let backend = capabilities.backend();
                    format!("{backend} does not declare {what} over {}", case.dtype)
                })
            }
            Self::Law(law) => law.skipped_for(ranks, capabilities),
            Self::Quarrel(quarrel, _) => match blame {
                Blame::NotPromised(reason) => Some(reason.clone()),
                Blame::Promised if ranks.get() < 2 => Some("it needs 2 ranks".to_owned()),
                Blame::Promised => quarrel.skipped_for(capabilities),
            },
        }
    }
}

impl<F: Fixture> Run<'_, F> {
    fn group(&mut self, ranks: GroupSize) {
        let blame = self.suite.fixture.blame();
        let most = self.suite.fixture.most_ranks().filter(|most| ranks > *most);
        for trial in self.suite.trials(ranks) {
            let name = trial.name(ranks);
            if self.outcome.stopped.is_some() {
                return;
            }
            if !self.suite.filter.matches(&name) {
                continue;
            }
            if let Some(most) = most {
                let reason = format!("{} has {most} ranks here", self.outcome.backend);
                self.outcome.entries.push(Entry { name, verdict: Verdict::Skipped { reason } });
                continue;
            }
            let verdict = match self.crew(ranks) {
                Err(words) => Verdict::Failed(Failure { rank: None, defect: Defect::new(words) }),
                Ok(crew) => {
                    let capabilities = crew.capabilities().clone();
                    match trial.skipped_for(ranks, &capabilities, &blame) {
                        Some(reason) => Verdict::Skipped { reason },
                        None => self.expected_or_not(trial, ranks, &name, &capabilities),
                    }
                }
            };
            self.note(Entry { name, verdict });
        }
    }

    /// The crew for groups of this size, launched if there is none.
    fn crew(&mut self, ranks: GroupSize) -> Result<&mut Crew<F::Comm>, String> {
        let crew = match self.crew.take() {
            Some(crew) => crew,
            None => {
                let launch = || self.suite.fixture.launch(ranks);
                catch_unwind(AssertUnwindSafe(launch))
                    .unwrap_or_else(|panic| Err(format!("panicked: {}", words(&*panic))))
                    .and_then(|comms| Crew::seat(ranks, comms))
                    .map_err(|words| format!("launching {ranks} ranks: {words}"))?
            }
        };
        Ok(self.crew.insert(crew))
    }

    fn note(&mut self, entry: Entry) {
        if entry.verdict.is_bad() {
            self.bad += 1;
            let hung = matches!(entry.verdict, Verdict::Hung { .. });
            if hung && self.suite.after_hang == AfterHang::Stop {
                self.outcome.stopped = Some(format!("{} hung", entry.name));
            } else if self.bad >= self.suite.most_bad {
                self.outcome.stopped = Some(format!("{} cases were bad", self.bad));
            }
        }
        self.outcome.entries.push(entry);
    }

    /// Runs a trial, and looks the verdict up in what is known to fail.
    fn expected_or_not(
        &mut self,
        trial: Trial,
        ranks: GroupSize,
        name: &str,
        capabilities: &Capabilities,
    ) -> Verdict {
        let verdict = self.run(trial, ranks, capabilities);
        let concerns = |known: &&ExpectedFailure| known.concerns(capabilities.backend(), name);
        let Some(known) = self.expected.iter().find(concerns) else { return verdict };
        let because = known.because.clone();
        match verdict {
            Verdict::Passed => Verdict::UnexpectedlyPassed { because },
            Verdict::Failed(failure) if failure.defect.words.contains(&known.message) => {
                Verdict::ExpectedFailure { failure, because }
            }
            other => other,
        }
    }

    fn run(&mut self, trial: Trial, ranks: GroupSize, capabilities: &Capabilities) -> Verdict {
        let errors: Arc<Mutex<Vec<(Rank, Error)>>> = Arc::default();
        let part: Part<F::Comm> = match trial {
            Trial::Case(case) => match self.planner.plan(case, capabilities.fold_order()) {
                Ok(plan) => Arc::new(move |seat| {
                    let (comm, work) = seat.parts()?;
                    block_on(check_in(comm, &plan, work))
                }),
                Err(error) => {
                    let defect = Defect::new(error.to_string());
                    return Verdict::Failed(Failure { rank: None, defect });
                }
            },
            Trial::Law(law) => {
                let around = self.suite.around(ranks);
                Arc::new(move |seat| law.hold(seat, &around))
            }
            Trial::Quarrel(quarrel, culprit) => {
                let errors = Arc::clone(&errors);
                Arc::new(move |seat| {
                    let (rank, found) = (seat.rank(), quarrel.pick(seat.take()?, culprit)?);
                    if let Some(error) = found {
                        errors.lock().unwrap_or_else(PoisonError::into_inner).push((rank, error));
                    }
                    Ok(())
                })
            }
        };
        let deadline = self.suite.deadline;
        let Some(mut crew) = self.crew.take() else {
            let defect = Defect::new("no ranks were launched");
            return Verdict::Failed(Failure { rank: None, defect });
        };
        match crew.run(&part, deadline) {
            Ended::Well => {
                if trial.is_an_ending() {
                    crew.dismiss();
                } else {
                    self.crew = Some(crew);
                }
            }
            Ended::Badly(failure) => {
                crew.dismiss();
                return Verdict::Failed(failure);
            }
            Ended::Hung { waiting, leaked } => {
                crew.dismiss();
                return Verdict::Hung { waiting, waited: deadline, leaked };
            }
        }
        let Trial::Quarrel(quarrel, culprit) = trial else { return Verdict::Passed };
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner).clone();
        errors.sort_by_key(|(rank, _)| *rank);
        match quarrel.judge(ranks, culprit, &errors) {
            Ok(()) => Verdict::Passed,
            Err(defect) => Verdict::Failed(Failure { rank: None, defect }),
        }
    }
}
