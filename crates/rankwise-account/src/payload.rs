//! Logical payloads: what a rank hands in and what it is promised back.

use core::fmt;

use rankwise_model::{Dtype, GroupSize, Layout, NotInGroup, Operation, Rank};

use crate::amount::{Amount, ByteCount, ElemCount, Overflow};

/// What the figures of this module do not say. Print it beside them.
pub const NOT_SAID: &str = "logical payload per rank: what the operation is defined on. \
It is not link bytes, not time, not temporary buffers, not peak memory.";

/// What one rank contributes to an operation and what it is left with.
///
/// A side that the rank does not have (the output of a non-root rank in a gather)
/// is zero. What the figures leave open is [`NOT_SAID`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Read by the operation on this rank.
    pub input: Amount,
    /// Promised to this rank.
    pub output: Amount,
}

/// Why there is no payload to state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadError {
    /// The rank is not in the operation's group.
    NotInGroup(NotInGroup),
    /// The bytes do not fit in 64 bits.
    Overflow(Overflow),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInGroup(error) => error.fmt(f),
            Self::Overflow(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PayloadError {}

/// The payload of one rank.
///
/// ```
/// use rankwise_account::payload;
/// use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};
///
/// let ranks = GroupSize::new(2).unwrap();
/// let operation = Operation::ReduceScatter { reduction: Reduction::Sum };
/// let layout = Layout::new(operation, ranks, 2)?; // recvcount 2
/// let at_1 = payload(&layout, Dtype::I32, ranks.rank(1).unwrap())?;
/// assert_eq!(at_1.input.to_string(), "4 elements i32, 16 B");
/// assert_eq!(at_1.output.to_string(), "2 elements i32, 8 B");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub fn payload(layout: &Layout, dtype: Dtype, rank: Rank) -> Result<Payload, PayloadError> {
    let at = layout.at(rank).map_err(PayloadError::NotInGroup)?;
    let amount =
        |elements| Amount::new(ElemCount::new(elements), dtype).map_err(PayloadError::Overflow);
    Ok(Payload { input: amount(at.input_len())?, output: amount(at.output_len())? })
}

/// What distinguishes a rank's payload from another's in the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Every rank alike.
    Everyone,
    /// The root.
    Root,
    /// The sender of a message.
    Sender,
    /// Its receiver.
    Receiver,
    /// A rank that sends the message to itself.
    SenderAndReceiver,
    /// Every rank that has none of the other roles.
    Others,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Everyone => "every rank",
            Self::Root => "root",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::SenderAndReceiver => "sender and receiver",
            Self::Others => "every other rank",
        })
    }
}

/// The payload of every rank in one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoleShare {
    /// The role.
    pub role: Role,
    /// A rank in it (the only one, for a root, sender or receiver).
    pub example: Rank,
    /// How many ranks are in it; never zero.
    pub holders: u32,
    /// What each of them hands in and gets.
    pub payload: Payload,
}

/// The payloads of a whole group, role by role: no loop over the ranks.
///
/// ```
/// use rankwise_account::{PerRole, Role};
/// use rankwise_model::{Dtype, GroupSize, Layout, Operation};
///
/// let ranks = GroupSize::new(1 << 20).unwrap();
/// let gather = Layout::new(Operation::Gather { root: ranks.first() }, ranks, 4)?;
/// let roles = PerRole::of(&gather, Dtype::I32)?;
/// let text: Vec<_> = roles
///     .iter()
///     .map(|share| format!("{} {}: {}", share.holders, share.role, share.payload.output.bytes()))
///     .collect();
/// assert_eq!(text, ["1 root: 16 MiB (16777216 B)", "1048575 every other rank: 0 B"]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerRole {
    shares: [Option<RoleShare>; 3],
}

impl PerRole {
    /// The roles of `layout` and their payloads.
    pub fn of(layout: &Layout, dtype: Dtype) -> Result<Self, Overflow> {
        let ranks = layout.ranks();
        let named = match (layout.operation(), layout.operation().root()) {
            (Operation::Message { from, to }, _) if from == to => {
                [Some((Role::SenderAndReceiver, from)), None]
            }
            (Operation::Message { from, to }, _) => {
                [Some((Role::Sender, from)), Some((Role::Receiver, to))]
            }
            (_, Some(root)) => [Some((Role::Root, root)), None],
            (_, None) => [None, None],
        };
        let share = |role, example, holders| match payload(layout, dtype, example) {
            Ok(payload) => Ok(Some(RoleShare { role, example, holders, payload })),
            // The rank comes from the group itself; only overflow is left.
            Err(PayloadError::NotInGroup(_)) => Ok(None),
            Err(PayloadError::Overflow(overflow)) => Err(overflow),
        };
        let [first, second] = named;
        let rest = match (first, unnamed(ranks, named)) {
            (_, None) => None,
            (None, Some((example, holders))) => Some((Role::Everyone, example, holders)),
            (Some(_), Some((example, holders))) => Some((Role::Others, example, holders)),
        };
        let one = |named: Option<(Role, Rank)>| match named {
            Some((role, rank)) => share(role, rank, 1),
            None => Ok(None),
        };
        let rest = match rest {
            Some((role, example, holders)) => share(role, example, holders)?,
            None => None,
        };
        Ok(Self { shares: [one(first)?, one(second)?, rest] })
    }

    /// The roles, the named ranks first. At least one, at most three.
    pub fn iter(&self) -> impl Iterator<Item = RoleShare> + use<> {
        self.shares.into_iter().flatten()
    }

    /// The inputs of all ranks together. Not a number of bytes on any link.
    pub fn total_input(&self) -> Result<ByteCount, Overflow> {
        self.total(|payload| payload.input.bytes())
    }

    /// The outputs of all ranks together. Not a number of bytes on any link.
    pub fn total_output(&self) -> Result<ByteCount, Overflow> {
        self.total(|payload| payload.output.bytes())
    }

    fn total(&self, side: impl Fn(&Payload) -> ByteCount) -> Result<ByteCount, Overflow> {
        self.iter().try_fold(ByteCount::ZERO, |sum, share| {
            sum.plus(side(&share.payload).on_each_of(u64::from(share.holders))?)
        })
    }
}

/// The lowest rank that has no named role, and how many there are; `None` if none.
fn unnamed(ranks: GroupSize, named: [Option<(Role, Rank)>; 2]) -> Option<(Rank, u32)> {
    let is_named = |rank| named.into_iter().flatten().any(|(_, other)| other == rank);
    let count = u32::try_from(named.into_iter().flatten().count()).unwrap_or(u32::MAX);
    // At most two ranks are named, so one of the first three is not.
    let example = ranks.ranks().take(3).find(|rank| !is_named(*rank))?;
    Some((example, ranks.get().saturating_sub(count)))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use rankwise_model::Reduction;
    use rstest::rstest;

    use super::*;

    const SUM: Reduction = Reduction::Sum;

    /// The mission's four steps over two ranks of `i32`: count argument, then
    /// elements and bytes in, elements and bytes out, the same on both ranks.
    #[rstest]
    #[case(Operation::AllReduce { reduction: SUM }, 4, (4, 16), (4, 16))]
    #[case(Operation::AllGather, 4, (4, 16), (8, 32))]
    #[case(Operation::ReduceScatter { reduction: SUM }, 2, (4, 16), (2, 8))]
    #[case(Operation::AllGather, 2, (2, 8), (4, 16))]
    fn payloads_of_the_mission(
        #[case] operation: Operation,
        #[case] count: u64,
        #[case] input: (u64, u64),
        #[case] output: (u64, u64),
    ) {
        let ranks = GroupSize::new(2).unwrap();
        let layout = Layout::new(operation, ranks, count).unwrap();
        for rank in ranks.ranks() {
            let found = payload(&layout, Dtype::I32, rank).unwrap();
            let both = |side: Amount| (side.elements().get(), side.bytes().get());
            assert_eq!((both(found.input), both(found.output)), (input, output));
        }
        let [everyone] = PerRole::of(&layout, Dtype::I32).unwrap().iter().collect::<Vec<_>>()[..]
        else {
            panic!("more than one role")
        };
        assert_eq!((everyone.role, everyone.holders), (Role::Everyone, 2));
    }

    /// Role, holders, bytes in, bytes out; four ranks, count 3 of f64, root 2.
    #[test]
    fn roles_of_rooted_calls_and_messages() {
        use Role::{Others, Receiver, Root, Sender, SenderAndReceiver};

        let ranks = GroupSize::new(4).unwrap();
        let (root, other) = (ranks.rank(2).unwrap(), ranks.rank(0).unwrap());
        let of = |operation| {
            let layout = Layout::new(operation, ranks, 3).unwrap();
            let shares = PerRole::of(&layout, Dtype::F64).unwrap();
            let row = |share: RoleShare| {
                let Payload { input, output } = share.payload;
                (share.role, share.holders, input.bytes().get(), output.bytes().get())
            };
            shares.iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(
            of(Operation::Reduce { reduction: SUM, root }),
            [(Root, 1, 24, 24), (Others, 3, 24, 0)]
        );
        assert_eq!(of(Operation::Broadcast { root }), [(Root, 1, 24, 24), (Others, 3, 0, 24)]);
        assert_eq!(of(Operation::Gather { root }), [(Root, 1, 24, 96), (Others, 3, 24, 0)]);
        assert_eq!(of(Operation::Scatter { root }), [(Root, 1, 96, 24), (Others, 3, 0, 24)]);
        assert_eq!(
            of(Operation::Message { from: root, to: other }),
            [(Sender, 1, 24, 0), (Receiver, 1, 0, 24), (Others, 2, 0, 0)]
        );
        assert_eq!(
            of(Operation::Message { from: root, to: root }),
            [(SenderAndReceiver, 1, 24, 24), (Others, 3, 0, 0)]
        );
    }

    #[test]
    fn a_group_of_one_has_no_others() {
        let root = GroupSize::ONE.first();
        let layout = Layout::new(Operation::Gather { root }, GroupSize::ONE, 3).unwrap();
        let roles: Vec<_> =
            PerRole::of(&layout, Dtype::I8).unwrap().iter().map(|share| share.role).collect();
        assert_eq!(roles, [Role::Root]);
    }

    #[test]
    fn totals_add_up_the_roles_and_may_overflow() {
        let ranks = GroupSize::new(4).unwrap();
        let gather = Layout::new(Operation::Gather { root: ranks.first() }, ranks, 3).unwrap();
        let roles = PerRole::of(&gather, Dtype::F64).unwrap();
        assert_eq!(roles.total_input(), Ok(ByteCount::new(96))); // 4 × 24
        assert_eq!(roles.total_output(), Ok(ByteCount::new(96))); // the root's
        let wide = Layout::new(Operation::AllReduce { reduction: SUM }, ranks, 1 << 60).unwrap();
        let roles = PerRole::of(&wide, Dtype::F64).unwrap(); // 2^63 B each
        assert!(roles.total_input().is_err());
    }

    #[test]
    fn errors_are_the_caller_s_rank_or_an_overflow() {
        let (two, three) = (GroupSize::new(2).unwrap(), GroupSize::new(3).unwrap());
        let layout = Layout::new(Operation::AllGather, two, 1 << 61).unwrap();
        let outside = three.rank(2).unwrap();
        assert!(matches!(
            payload(&layout, Dtype::I8, outside),
            Err(PayloadError::NotInGroup(NotInGroup { rank, ranks })) if rank == outside && ranks == two
        ));
        let error = payload(&layout, Dtype::F32, two.first()).unwrap_err();
        let elements = ElemCount::new(1 << 62);
        assert_eq!(error, PayloadError::Overflow(Overflow::Bytes { elements, dtype: Dtype::F32 }));
        assert!(PerRole::of(&layout, Dtype::F32).is_err());
    }
}
