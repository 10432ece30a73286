//! Ranks that contradict each other, for backends that promise to name who is to blame.

use core::fmt;

use rankwise_comm::{Calls, Capabilities, Communicator, Error, ErrorKind, Stream};
use rankwise_model::{Dtype, GroupSize, OperationKind, Rank, Reduction};
use rankwise_program::{Aspect, Kind};

use crate::defect::Defect;

/// What one rank does otherwise than all others, who all-reduce four 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Quarrel {
    /// It all-gathers.
    Operation,
    /// It takes the maximum instead of the sum.
    Reduction,
    /// It has unsigned integers.
    ElementType,
    /// It has five elements.
    Count,
    /// It has no elements.
    NoCount,
    /// It broadcasts from another root (and the others broadcast too).
    Root,
    /// It leaves without a call.
    Left,
}

impl Quarrel {
    /// Every quarrel.
    pub const ALL: [Self; 7] = [
        Self::Operation,
        Self::Reduction,
        Self::ElementType,
        Self::Count,
        Self::NoCount,
        Self::Root,
        Self::Left,
    ];

    /// What it is called in the names of cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Reduction => "reduction",
            Self::ElementType => "element type",
            Self::Count => "count",
            Self::NoCount => "no count",
            Self::Root => "root",
            Self::Left => "left",
        }
    }

    /// The kind of the report, and the aspect that it must name.
    const fn reported(self) -> (Kind, Option<Aspect>) {
        match self {
            Self::Operation => (Kind::Mismatch, Some(Aspect::Operation)),
            Self::Reduction => (Kind::Mismatch, Some(Aspect::Reduction)),
            Self::ElementType => (Kind::Mismatch, Some(Aspect::ElementType)),
            Self::Count | Self::NoCount => (Kind::Mismatch, Some(Aspect::Count)),
            Self::Root => (Kind::Mismatch, Some(Aspect::Root)),
            Self::Left => (Kind::MissingRank, None),
        }
    }

    pub(crate) fn skipped_for(self, capabilities: &Capabilities) -> Option<String> {
        let needed: &[(OperationKind, Option<Reduction>, Dtype)] = match self {
            Self::Root => &[(OperationKind::Broadcast, None, Dtype::I32)],
            Self::Operation => &[
                (OperationKind::AllReduce, Some(Reduction::Sum), Dtype::I32),
                (OperationKind::AllGather, None, Dtype::I32),
            ],
            Self::Reduction => &[
                (OperationKind::AllReduce, Some(Reduction::Sum), Dtype::I32),
                (OperationKind::AllReduce, Some(Reduction::Max), Dtype::I32),
            ],
            Self::ElementType => &[
                (OperationKind::AllReduce, Some(Reduction::Sum), Dtype::I32),
                (OperationKind::AllReduce, Some(Reduction::Sum), Dtype::U32),
            ],
            _ => &[(OperationKind::AllReduce, Some(Reduction::Sum), Dtype::I32)],
        };
        let missing = needed
            .iter()
            .find(|(kind, reduction, dtype)| !capabilities.supports(*kind, *reduction, *dtype));
        missing.map(|(kind, _, dtype)| {
            format!("{} does not declare {kind} over {dtype}", capabilities.backend())
        })
    }

    /// What one rank does, and the error that it gets; `None` for one that left.
    pub(crate) fn pick<C: Communicator>(
        self,
        comm: C,
        culprit: Rank,
    ) -> Result<Option<Error>, Defect> {
        let odd = comm.rank() == culprit;
        if odd && self == Self::Left {
            drop(comm);
            return Ok(None);
        }
        match self.call(&comm, odd) {
            Ok(()) => {
                Err(Defect::new("ranks that contradict each other were told that all went well"))
            }
            Err(error) => Ok(Some(error)),
        }
    }

    fn call<C: Communicator>(self, comm: &C, odd: bool) -> Result<(), Error> {
        let ranks = usize::try_from(comm.ranks().get()).unwrap_or(usize::MAX);
        let (dtype, input, output) = match self {
            Self::Operation if odd => (Dtype::I32, 4, 4 * ranks),
            Self::ElementType if odd => (Dtype::U32, 4, 4),
            Self::Count if odd => (Dtype::I32, 5, 5),
            Self::NoCount if odd => (Dtype::I32, 0, 0),
            _ => (Dtype::I32, 4, 4),
        };
        let mut x = comm.dyn_buffer(dtype, input)?;
        let mut y = comm.dyn_buffer(dtype, output)?;
        comm.stream().write_bytes(x.view_mut(), &vec![1; input * 4])?;
        let first = comm.ranks().first();
        let second = comm.ranks().ranks().nth(1).unwrap_or(first);
        match self {
            Self::Operation if odd => comm.all_gather(&x, &mut y)?,
            Self::Reduction if odd => comm.all_reduce(Reduction::Max, &x, &mut y)?,
            Self::Root => comm.broadcast(if odd { second } else { first }, &x, &mut y)?,
            _ => comm.all_reduce(Reduction::Sum, &x, &mut y)?,
        }
        comm.stream().fence()?.wait()
    }

    /// Whether the ranks' errors are what a backend that names the culprit must say.
    pub(crate) fn judge(
        self,
        ranks: GroupSize,
        culprit: Rank,
        errors: &[(Rank, Error)],
    ) -> Result<(), Defect> {
        let Some((one, first)) = errors.first() else {
            return Err(Defect::new("no rank got an error"));
        };
        if let Some((other, second)) = errors.iter().find(|(_, error)| error != first) {
            return Err(Defect::new(format!(
                "ranks {one} and {other} got different errors: {first}; and: {second}"
            )));
        }
        let wrong =
            |words: String| Err(Defect { error: Some(first.clone()), ..Defect::new(words) });
        let (kind, aspect) = self.reported();
        let Some(report) = first.report().filter(|_| first.kind() == ErrorKind::Peer) else {
            return wrong(format!("the error is no report on peers: {first}"));
        };
        if report.kind != kind {
            return wrong(format!("the report is {:?}, expected {kind:?}: {first}", report.kind));
        }
        if let Some(aspect) = aspect
            && !report.aspects.contains(aspect)
        {
            return wrong(format!("the report does not name {aspect:?}: {first}"));
        }
        // The first communicator's ranks are the world's.
        let named: Vec<u32> = if self == Self::Left {
            report.absent.iter().map(|absent| absent.member.rank.index()).collect()
        } else {
            report.outliers.iter().map(|rank| rank.index()).collect()
        };
        let majority = ranks.get() > 2 || self == Self::Left;
        let expected: Vec<u32> = if majority { vec![culprit.index()] } else { Vec::new() };
        if named == expected {
            return Ok(());
        }
        wrong(format!("the report names ranks {named:?}, expected {expected:?}: {first}"))
    }
}

impl fmt::Display for Quarrel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
