//! Meshes: a world laid out along named axes.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;

use rankwise_model::GroupSize;

use crate::world::{World, WorldRank};

/// A world as a box with named axes, row-major: the last axis varies fastest.
///
/// ```
/// use rankwise_topology::Mesh;
///
/// // Two replicas of four shards: ranks 0 to 3 are replica 0.
/// let mesh = Mesh::new([("dp", 2), ("tp", 4)])?;
/// let rank_6 = mesh.world().rank(6).unwrap();
/// assert_eq!(mesh.coordinates(rank_6).unwrap(), [1, 2]);
/// assert_eq!(mesh.rank_at(&[1, 2])?, rank_6);
/// # Ok::<(), rankwise_topology::MeshError>(())
/// ```
///
/// The product of the sizes is the size of the world. Which devices are close
/// to each other is not said: that is up to the rank map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mesh {
    world: World,
    axes: Arc<[Axis]>,
}

/// One axis of a [`Mesh`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    name: Arc<str>,
    size: GroupSize,
    /// The step in world rank between neighbours on this axis.
    stride: NonZeroU32,
}

impl Axis {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of ranks along the axis.
    pub const fn size(&self) -> GroupSize {
        self.size
    }

    /// How far along the axis that world rank lies.
    fn coordinate(&self, rank: WorldRank) -> u32 {
        // A size is never zero, so there is always a remainder.
        (rank.index() / self.stride).checked_rem(self.size.get()).unwrap_or(0)
    }
}

/// Why axes make no mesh, or coordinates no rank of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshError {
    /// There is no axis.
    NoAxes,
    /// An axis has no name.
    Unnamed {
        /// Which axis, from 0.
        axis: u32,
    },
    /// An axis has size zero.
    ZeroSize {
        /// The axis.
        axis: Arc<str>,
    },
    /// Two axes have one name.
    Repeated {
        /// The name.
        axis: Arc<str>,
    },
    /// The sizes multiply to more ranks than 32 bits count.
    Overflow {
        /// The axis at which the product, taken from the last axis, grew too large.
        axis: Arc<str>,
        /// Its size.
        size: GroupSize,
        /// The product of the sizes after it.
        rest: GroupSize,
    },
    /// There are more or fewer coordinates than axes.
    Coordinates {
        /// How many coordinates were given.
        found: usize,
        /// How many axes the mesh has.
        axes: usize,
    },
    /// A coordinate lies beyond the end of its axis.
    OffAxis {
        /// The axis.
        axis: Arc<str>,
        /// The coordinate.
        coordinate: u32,
        /// The axis's size.
        size: GroupSize,
    },
}

impl fmt::Display for MeshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAxes => f.write_str("a mesh needs at least one axis"),
            Self::Unnamed { axis } => write!(f, "axis {axis} of the mesh has no name"),
            Self::ZeroSize { axis } => write!(f, "mesh axis `{axis}` has size 0, needs at least 1"),
            Self::Repeated { axis } => write!(f, "mesh axis `{axis}` is named twice"),
            Self::Overflow { axis, size, rest } => {
                write!(f, "mesh axis `{axis}`: {size} × {rest} ranks does not fit in 32 bits")
            }
            Self::Coordinates { found, axes } => {
                write!(f, "{found} coordinates for a mesh of {axes} axes")
            }
            Self::OffAxis { axis, coordinate, size } => {
                let last = size.get().saturating_sub(1);
                write!(f, "mesh axis `{axis}` has no coordinate {coordinate} (0 to {last})")
            }
        }
    }
}

impl core::error::Error for MeshError {}

impl Mesh {
    /// The mesh of these axes, slowest first.
    pub fn new<Name: AsRef<str>>(
        axes: impl IntoIterator<Item = (Name, u32)>,
    ) -> Result<Self, MeshError> {
        let mut seen = BTreeSet::new();
        let mut sized = Vec::new();
        for (index, (name, size)) in (0..=u32::MAX).zip(axes) {
            let name: Arc<str> = Arc::from(name.as_ref());
            if name.is_empty() {
                return Err(MeshError::Unnamed { axis: index });
            }
            let Some(size) = GroupSize::new(size) else {
                return Err(MeshError::ZeroSize { axis: name });
            };
            if !seen.insert(Arc::clone(&name)) {
                return Err(MeshError::Repeated { axis: name });
            }
            sized.push((name, size));
        }
        if sized.is_empty() {
            return Err(MeshError::NoAxes);
        }

        let mut stride = NonZeroU32::MIN;
        let mut axes = Vec::with_capacity(sized.len());
        for (name, size) in sized.into_iter().rev() {
            let beyond = NonZeroU32::new(size.get()).and_then(|size| stride.checked_mul(size));
            let Some(beyond) = beyond else {
                let rest = GroupSize::new(stride.get()).unwrap_or(GroupSize::ONE);
                return Err(MeshError::Overflow { axis: name, size, rest });
            };
            axes.push(Axis { name, size, stride });
            stride = beyond;
        }
        axes.reverse();
        let ranks = GroupSize::new(stride.get()).unwrap_or(GroupSize::ONE);
        Ok(Self { world: World::new(ranks), axes: axes.into() })
    }

    /// The world that is laid out.
    pub const fn world(&self) -> World {
        self.world
    }

    /// The axes, slowest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Where a rank lies: one coordinate per axis.
    ///
    /// `None` if the rank is of a larger world.
    pub fn coordinates(&self, rank: WorldRank) -> Option<Vec<u32>> {
        let inside = self.world.contains(rank);
        inside.then(|| self.axes.iter().map(|axis| axis.coordinate(rank)).collect())
    }

    /// The rank at these coordinates, one per axis.
    pub fn rank_at(&self, coordinates: &[u32]) -> Result<WorldRank, MeshError> {
        let wrong_number =
            MeshError::Coordinates { found: coordinates.len(), axes: self.axes.len() };
        if coordinates.len() != self.axes.len() {
            return Err(wrong_number);
        }
        let mut index = 0_u32;
        for (axis, &coordinate) in self.axes.iter().zip(coordinates) {
            if coordinate >= axis.size.get() {
                let Axis { name, size, .. } = axis.clone();
                return Err(MeshError::OffAxis { axis: name, coordinate, size });
            }
            // Coordinates below their sizes stay below the world's size.
            index = index.saturating_add(coordinate.saturating_mul(axis.stride.get()));
        }
        self.world.rank(index).ok_or(wrong_number)
    }

    /// The distance in world rank from the corner of the box to each of its
    /// points, as these axes vary, the last of them fastest.
    pub(crate) fn offsets<'a>(axes: impl IntoIterator<Item = &'a Axis>) -> Vec<u32> {
        let mut offsets = Vec::from([0_u32]);
        for axis in axes.into_iter().filter(|axis| axis.size > GroupSize::ONE) {
            // Every sum is a rank of the world, so nothing saturates.
            let step = |along: u32| along.saturating_mul(axis.stride.get());
            offsets = offsets
                .iter()
                .flat_map(|&corner| {
                    (0..axis.size.get()).map(move |along| corner.saturating_add(step(along)))
                })
                .collect();
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use rstest::rstest;

    use super::*;

    #[test]
    fn the_last_axis_is_fastest() {
        let mesh = Mesh::new([("pp", 2), ("dp", 3), ("tp", 4)]).unwrap();
        assert_eq!(mesh.world().size().get(), 24);
        let at = |coordinates: [u32; 3]| mesh.rank_at(&coordinates).unwrap().index();
        assert_eq!((at([0, 0, 1]), at([0, 1, 0]), at([1, 0, 0]), at([1, 2, 3])), (1, 4, 12, 23));
        let rank_17 = mesh.world().rank(17).unwrap();
        assert_eq!(mesh.coordinates(rank_17).unwrap(), [1, 1, 1]);
    }

    #[rstest]
    #[case(&[], "a mesh needs at least one axis")]
    #[case(&[("tp", 2), ("", 2)], "axis 1 of the mesh has no name")]
    #[case(&[("tp", 0)], "mesh axis `tp` has size 0, needs at least 1")]
    #[case(&[("tp", 2), ("dp", 2), ("tp", 4)], "mesh axis `tp` is named twice")]
    #[case(
        &[("dp", 65_536), ("tp", 65_536)],
        "mesh axis `dp`: 65536 × 65536 ranks does not fit in 32 bits"
    )]
    fn bad_axes_are_named(#[case] axes: &[(&str, u32)], #[case] text: &str) {
        assert_eq!(Mesh::new(axes.iter().copied()).unwrap_err().to_string(), text);
    }

    #[test]
    fn coordinates_off_the_mesh_are_errors() {
        let mesh = Mesh::new([("dp", 2), ("tp", 4)]).unwrap();
        let text = |coordinates: &[u32]| mesh.rank_at(coordinates).unwrap_err().to_string();
        assert_eq!(text(&[1]), "1 coordinates for a mesh of 2 axes");
        assert_eq!(text(&[0, 4]), "mesh axis `tp` has no coordinate 4 (0 to 3)");
        let larger = World::new(GroupSize::new(9).unwrap());
        assert_eq!(mesh.coordinates(larger.rank(8).unwrap()), None);
    }

    #[test]
    fn axes_of_one_rank_change_nothing() {
        let mesh = Mesh::new([("a", 1), ("tp", 2), ("b", 1)]).unwrap();
        assert_eq!(mesh.coordinates(mesh.world().rank(1).unwrap()).unwrap(), [0, 1, 0]);
    }
}
