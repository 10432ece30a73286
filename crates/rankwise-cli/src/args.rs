//! The command line, as types.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use clap::{ArgAction, ArgGroup, Parser, Subcommand, ValueEnum};

use crate::order::Order;
use crate::verbs::{Answers, Backend, Scheme};

/// Settles, before any hardware is touched, what a collective leaves on every rank.
///
/// Exit status: 0 yes, 1 no, 2 unusable input or usage, 3 unknown, 4 the run itself
/// failed. Figures are logical payloads per rank: not link bytes, not time, not
/// temporary buffers, not peak memory.
#[derive(Debug, Parser)]
#[command(name = "rankwise", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Args {
    /// What is asked.
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// How the answer is given.
    #[command(flatten)]
    pub(crate) form: Form,
}

/// How the answer is given.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Form {
    /// Answer with one JSON envelope: schema, tool, verdict, exit, data.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Never show progress (it is shown on a terminal only, after one second).
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

/// What is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show what every rank and device holds after each step.
    Explain {
        /// The plan, or one proposal of it.
        #[arg(value_name = "PLAN[#NAME]")]
        plan: PlanRef,
        /// Show every rank and every run of positions, however many.
        #[arg(long)]
        all: bool,
    },
    /// Say whether each consumer finds what it needs, or whether rank programs meet.
    Check {
        /// The plan, or one proposal of it; or a file of rank programs.
        #[arg(value_name = "FILE[#NAME]")]
        plan: PlanRef,
        /// Show every proposal, every need and every place where one is not met, however many.
        #[arg(long)]
        all: bool,
    },
    /// Say whether two proposals end in the same needed state.
    ///
    /// One file without a name compares all pairs of its proposals.
    Compare {
        /// The first proposal, or the plan whose proposals are compared.
        #[arg(value_name = "FILE[#NAME]")]
        first: PlanRef,
        /// The second proposal.
        #[arg(value_name = "FILE[#NAME]")]
        second: Option<PlanRef>,
        /// Show every pair, need, figure and place of a difference, however many.
        #[arg(long)]
        all: bool,
    },
    /// Write a verdict down so that somebody who trusts none of this can check it.
    ///
    /// Of one proposal: whether it satisfies its needs. Of two: whether they leave one
    /// state.
    Certify {
        /// The proposal, or the first of two.
        #[arg(value_name = "PLAN[#NAME]")]
        first: PlanRef,
        /// The second.
        #[arg(value_name = "PLAN[#NAME]")]
        second: Option<PlanRef>,
        /// Write it into a file.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check a certificate from first principles.
    Verify {
        /// The certificate.
        #[arg(value_name = "CERT")]
        certificate: PathBuf,
        /// The plan that it must be about; twice, for one that compares two plans.
        #[arg(long = "plan", value_name = "PLAN[#NAME]")]
        plans: Vec<PlanRef>,
    },
    /// Put the ranks on other devices and say what moves and what breaks.
    #[command(group(ArgGroup::new("new").args(["devices", "visible", "split", "axes"]).required(true)))]
    Relabel {
        /// The plan, or one proposal of it.
        #[arg(value_name = "PLAN[#NAME]")]
        plan: PlanRef,
        /// The new order.
        #[command(flatten)]
        order: Order,
        /// The numbers of `--visible` are physical indices: `CUDA_DEVICE_ORDER` is
        /// `PCI_BUS_ID`, or all devices of a host are equal.
        #[arg(long, requires = "visible")]
        physical: bool,
    },
    /// Say which permutations of the devices are harmless, and which break what.
    Explore {
        /// The plan, or one proposal of it.
        #[arg(value_name = "PLAN[#NAME]")]
        plan: PlanRef,
        /// Judge this order.
        #[command(flatten)]
        order: Option<Order>,
        /// The numbers of `--visible` are physical indices: `CUDA_DEVICE_ORDER` is
        /// `PCI_BUS_ID`, or all devices of a host are equal.
        #[arg(long, requires = "visible")]
        physical: bool,
    },
    /// Hold arrays that a real run left against the plan, and name what happened.
    Judge {
        /// The plan, or one proposal of it.
        #[arg(value_name = "PLAN[#NAME]")]
        plan: PlanRef,
        /// The folder with one array per buffer and rank (or device).
        #[arg(long, value_name = "DIR")]
        observed: PathBuf,
        /// Show every array, however many.
        #[arg(long)]
        all: bool,
    },
    /// Let ranks really do it, and hold what they are left with against the model.
    Run {
        /// The plan, or one proposal of it.
        #[arg(value_name = "PLAN[#NAME]")]
        plan: PlanRef,
        /// What the ranks run on.
        #[arg(long)]
        backend: Backend,
        /// Write every rank's buffers and the record into a new folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Tell of every call on standard error; twice, of local acts too.
        #[arg(short, long, action = ArgAction::Count)]
        verbose: u8,
    },
    /// List every reading of a bare figure such as "16 B" or "4 elements".
    Label {
        /// `[op] NUMBER UNIT [send|recv|in|out|count|size] [n=N] [TYPE]`, in any order.
        #[arg(required = true, value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Write the plan of a known scheme of parallel training.
    ///
    /// In TOML on standard output, or as JSON with --json. What it says may be changed, and
    /// checked like any other plan.
    #[command(after_help = Scheme::EXAMPLES)]
    Template {
        /// Which scheme.
        #[command(subcommand)]
        scheme: Scheme,
    },
    /// Print the JSON schema of plan files, or of what a verb prints with --json.
    Schema {
        /// The verb.
        #[arg(value_name = "VERB")]
        of: Option<Answers>,
    },
}

impl Verb {
    /// The name, as in the schema of the answer.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Certify { .. } => "certify",
            Self::Verify { .. } => "verify",
            Self::Explain { .. } => "explain",
            Self::Check { .. } => "check",
            Self::Compare { .. } => "compare",
            Self::Relabel { .. } => "relabel",
            Self::Explore { .. } => "explore",
            Self::Judge { .. } => "judge",
            Self::Run { .. } => "run",
            Self::Label { .. } => "label",
            Self::Template { .. } => "template",
            Self::Schema { .. } => "schema",
        }
    }
}

/// `FILE` or `FILE#NAME`: a plan file, and the proposal in it that is meant.
///
/// The last `#` separates them, so a file whose name has a `#` is written with one
/// more at its end: `a#b.toml#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanRef {
    /// The file.
    pub(crate) file: PathBuf,
    /// The proposal; all of them if not said.
    pub(crate) proposal: Option<String>,
}

impl PlanRef {
    fn parse(text: &OsStr) -> Self {
        // A path that is not UTF-8 cannot carry a proposal's name, which is.
        let split = text.to_str().and_then(|text| text.rsplit_once('#'));
        match split {
            Some((file, name)) => {
                Self { file: file.into(), proposal: (!name.is_empty()).then(|| name.to_owned()) }
            }
            None => Self { file: text.into(), proposal: None },
        }
    }
}

impl From<OsString> for PlanRef {
    fn from(text: OsString) -> Self {
        Self::parse(&text)
    }
}

impl fmt::Display for PlanRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.display().fmt(f)?;
        match &self.proposal {
            Some(name) => write!(f, "#{name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_last_hash_separates_file_and_proposal() {
        let split = |text: &str| {
            let PlanRef { file, proposal } = PlanRef::parse(text.as_ref());
            (file.to_str().unwrap().to_owned(), proposal)
        };
        assert_eq!(split("a.toml"), ("a.toml".into(), None));
        assert_eq!(split("a.toml#sharded"), ("a.toml".into(), Some("sharded".into())));
        assert_eq!(split("a#b.toml#"), ("a#b.toml".into(), None));
        assert_eq!(split("a#b.toml#c"), ("a#b.toml".into(), Some("c".into())));
    }

    #[test]
    fn the_form_may_stand_before_or_after_the_verb() {
        for line in
            [["rankwise", "--json", "label", "16", "B"], ["rankwise", "label", "16", "B", "--json"]]
        {
            assert!(Args::try_parse_from(line).unwrap().form.json);
        }
    }

    #[test]
    fn devices_are_separated_by_commas() {
        let args =
            Args::try_parse_from(["rankwise", "relabel", "p.toml", "--devices", "B,A"]).unwrap();
        let Verb::Relabel { order, .. } = args.verb else { panic!("{args:?}") };
        assert_eq!(order.devices.unwrap(), ["B", "A"]);
    }
}
