//! Which device holds which rank, and which ranks make a group.
//!
//! A rank is a logical number. Nothing in it says which GPU stands behind it,
//! so this crate never infers one from the other: the map from ranks to devices
//! is a value of its own, made explicitly and carried along with every claim
//! about where data is.
//!
//! # The story
//!
//! 1. [`World`] issues [`WorldRank`]s: the participants of the whole job.
//! 2. [`Device`] is what is known of a device's identity, and
//!    [`Device::sameness`] says whether two records speak of one device, of
//!    two, or cannot be told apart.
//! 3. [`RankMap`] puts every rank of a world on a device.
//! 4. [`Group`] is an ordered list of world ranks. It turns a position in the
//!    group (`rankwise_model::Rank`, which a root and a block number are) into a
//!    rank of the world and back.
//! 5. [`Partition`] is a set of disjoint groups: by list, along the axes of a
//!    [`Mesh`], or by split colour and key.
//! 6. [`Relabelling`] renumbers a world; the devices stay where they are. It is a
//!    [`Permutation`] of ranks, and what several of them make together is a
//!    [`PermutationGroup`]. Splits, mesh axes and `CUDA_VISIBLE_DEVICES` lead to one:
//!    [`reorder`].
//!
//! Rank in a group, rank in the world and device are three types, because each
//! confusion of two of them is a bug that real programs have had.
//!
//! # Example
//!
//! Device A is rank 0 and device B rank 1; then the ranks are exchanged. B now
//! owns the first shard of a reduce-scatter, though no data has moved:
//!
//! ```
//! use rankwise_topology::{Device, RankMap, Relabelling, Sharing};
//!
//! let [a, b] = [Device::named("A")?, Device::named("B")?];
//! let before = RankMap::new(vec![a, b], Sharing::Exclusive)?;
//! let exchanged = Relabelling::from_list(before.world(), [1, 0])?;
//! let after = exchanged.apply_map(&before)?;
//!
//! let rank_0 = before.world().rank(0).unwrap();
//! assert_eq!(before.device(rank_0).unwrap().to_string(), "A");
//! assert_eq!(after.device(rank_0).unwrap().to_string(), "B");
//! assert_eq!(exchanged.to_string(), "(0 1)");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The whole story with worked numbers is `docs/topology.md` in the repository.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;

pub mod device;
pub mod group;
pub mod mesh;
pub mod partition;
pub mod permutation;
pub mod permutation_group;
pub mod rank_map;
pub mod relabelling;
pub mod reorder;
pub mod world;

pub use device::{
    Device, DeviceError, DeviceOrder, Gpu, Host, Identity, Label, Ordinal, PciBusId, Sameness,
    Unresolved, Uuid, Visible, VisibleDevices,
};
pub use group::{Group, GroupError};
pub use mesh::{Axis, Mesh, MeshError};
pub use partition::{Partition, PartitionError};
pub use permutation::{Permutation, PermutationError};
pub use permutation_group::PermutationGroup;
pub use rank_map::{MapError, Ownership, RankMap, Sharing};
pub use relabelling::{Relabelling, RelabellingError};
pub use reorder::ReorderError;
pub use world::{NotInWorld, World, WorldRank};
