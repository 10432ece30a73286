//! Permutations: points 0 … n−1 rearranged.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// A permutation of the points 0 … n−1: the image of each.
///
/// It says nothing of what the points are. A [`Relabelling`](crate::Relabelling) is one
/// of the ranks of a world; the devices of a plan, numbered by the ranks that they have,
/// are permuted by another.
///
/// ```
/// use rankwise_topology::Permutation;
///
/// let turn = Permutation::from_images([1, 2, 0, 3])?;
/// assert_eq!(turn.to_string(), "(0 1 2)");
/// assert_eq!(turn.inverse().to_string(), "(0 2 1)");
/// let exchange = Permutation::exchange(4, 2, 3)?;
/// assert_eq!(turn.then(&exchange)?.to_string(), "(0 1 3 2)"); // 1 → 2 → 3
/// # Ok::<(), rankwise_topology::PermutationError>(())
/// ```
///
/// A clone is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permutation {
    /// Every point once.
    images: Arc<[u32]>,
}

/// Why there is no such permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermutationError {
    /// A point is beyond the last.
    NoPoint {
        /// The point.
        point: u32,
        /// How many there are.
        points: usize,
    },
    /// A point is the image of two.
    Repeated {
        /// The point.
        point: u32,
    },
    /// Permutations of different numbers of points.
    Points {
        /// Those of the one.
        found: usize,
        /// Those of the other.
        expected: usize,
    },
}

impl fmt::Display for PermutationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPoint { point, points } => {
                write!(f, "permutation: point {point} of {points}, numbered from 0")
            }
            Self::Repeated { point } => {
                write!(f, "permutation: point {point} is the image of two, needs each once")
            }
            Self::Points { found, expected } => {
                write!(f, "permutation: {found} points, where the other has {expected}")
            }
        }
    }
}

impl core::error::Error for PermutationError {}

impl Permutation {
    /// The permutation that changes nothing.
    pub fn identity(points: u32) -> Self {
        Self { images: (0..points).collect() }
    }

    /// The permutation with these images: entry `i` is what point `i` becomes.
    pub fn from_images(images: impl IntoIterator<Item = u32>) -> Result<Self, PermutationError> {
        let images: Arc<[u32]> = images.into_iter().collect();
        let mut seen: Vec<bool> = images.iter().map(|_| false).collect();
        for &point in images.iter() {
            let no_point = PermutationError::NoPoint { point, points: images.len() };
            let seen = place(point).and_then(|at| seen.get_mut(at)).ok_or(no_point)?;
            if core::mem::replace(seen, true) {
                return Err(PermutationError::Repeated { point });
            }
        }
        Ok(Self { images })
    }

    /// The permutation that exchanges two points.
    pub fn exchange(points: u32, one: u32, other: u32) -> Result<Self, PermutationError> {
        if let Some(point) = [one, other].into_iter().find(|point| *point >= points) {
            let points = place(points).unwrap_or(usize::MAX);
            return Err(PermutationError::NoPoint { point, points });
        }
        let image = |point| match point {
            _ if point == one => other,
            _ if point == other => one,
            _ => point,
        };
        Ok(Self { images: (0..points).map(image).collect() })
    }

    /// The image of each point.
    pub fn images(&self) -> &[u32] {
        &self.images
    }

    /// What a point becomes; `None` where there is no such point.
    pub fn image(&self, point: u32) -> Option<u32> {
        self.images.get(place(point)?).copied()
    }

    /// The way back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut inverse: Vec<u32> = self.images.to_vec();
        for (point, image) in (0..).zip(self.images.iter()) {
            if let Some(entry) = place(*image).and_then(|at| inverse.get_mut(at)) {
                *entry = point;
            }
        }
        Self { images: inverse.into() }
    }

    /// This permutation, then another of the same points.
    pub fn then(&self, next: &Self) -> Result<Self, PermutationError> {
        let (found, expected) = (next.images.len(), self.images.len());
        if found != expected {
            return Err(PermutationError::Points { found, expected });
        }
        Ok(self.followed_by(next))
    }

    /// [`then`](Self::then), for two that are known to be of the same points.
    pub(crate) fn followed_by(&self, next: &Self) -> Self {
        Self { images: self.images.iter().filter_map(|point| next.image(*point)).collect() }
    }

    /// Whether every point is its own image.
    pub fn is_identity(&self) -> bool {
        self.first_moved().is_none()
    }

    /// The lowest point that is not its own image.
    pub fn first_moved(&self) -> Option<u32> {
        self.moved().next()
    }

    /// The points that are not their own images, ascending.
    pub fn moved(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(self.images.iter()).filter(|(point, image)| point != *image).map(|(at, _)| at)
    }

    /// The cycles of two or more points, each from its lowest, in the order of those.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        let mut shown: Vec<bool> = self.images.iter().map(|_| false).collect();
        let mut cycles = Vec::new();
        for start in self.moved() {
            let mut cycle = Vec::new();
            let mut point = start;
            while let Some(seen) = place(point).and_then(|at| shown.get_mut(at))
                && !*seen
            {
                *seen = true;
                cycle.push(point);
                point = self.image(point).unwrap_or(point);
            }
            if !cycle.is_empty() {
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// The cycles with other names for the points: `(A B)`.
    pub fn named<N: fmt::Display>(&self, name: impl Fn(u32) -> N) -> impl fmt::Display {
        Named { cycles: self.cycles(), name }
    }
}

struct Named<F> {
    cycles: Vec<Vec<u32>>,
    name: F,
}

impl<N: fmt::Display, F: Fn(u32) -> N> fmt::Display for Named<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cycles.is_empty() {
            return f.write_str("()");
        }
        for cycle in &self.cycles {
            for (index, point) in cycle.iter().enumerate() {
                let before = if index == 0 { "(" } else { " " };
                write!(f, "{before}{}", (self.name)(*point))?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Display for Permutation {
    /// In cycles, each from its lowest point: `(0 1 2)` takes 0 to 1, 1 to 2 and 2 to
    /// 0. Points that stay are left out; the identity is `()`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.named(|point| point).fmt(f)
    }
}

impl fmt::Debug for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permutation({self} of {})", self.images.len())
    }
}

/// Where a point stands in a list by point.
pub(crate) fn place(point: u32) -> Option<usize> {
    usize::try_from(point).ok()
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn cycles_start_at_their_lowest_point() {
        let both = Permutation::from_images([3, 4, 2, 1, 0]).unwrap();
        assert_eq!(both.cycles(), [vec![0, 3, 1, 4]]);
        let two = Permutation::from_images([2, 3, 0, 1]).unwrap();
        assert_eq!(two.to_string(), "(0 2)(1 3)");
        assert_eq!(
            two.named(|point| ["A", "B", "C", "D"][point as usize]).to_string(),
            "(A C)(B D)"
        );
        assert_eq!(Permutation::identity(3).to_string(), "()");
        assert_eq!(Permutation::identity(0).to_string(), "()");
    }

    #[test]
    fn the_receiver_comes_first() {
        let [a, b] = [[1, 0, 2], [0, 2, 1]].map(|images| Permutation::from_images(images).unwrap());
        assert_eq!(a.then(&b).unwrap().images(), [2, 0, 1]); // 0 → 1 → 2
        assert_eq!(b.then(&a).unwrap().images(), [1, 2, 0]); // 0 → 0 → 1
        assert_eq!(a.then(&b).unwrap().inverse(), b.then(&a).unwrap());
    }

    #[test]
    fn what_is_no_permutation_says_why() {
        let text = |images: &[u32]| {
            Permutation::from_images(images.iter().copied()).unwrap_err().to_string()
        };
        assert_eq!(text(&[0, 2]), "permutation: point 2 of 2, numbered from 0");
        assert_eq!(text(&[1, 1]), "permutation: point 1 is the image of two, needs each once");
        let error = Permutation::exchange(3, 0, 3).unwrap_err();
        assert_eq!(error, PermutationError::NoPoint { point: 3, points: 3 });
        let error = Permutation::identity(2).then(&Permutation::identity(3)).unwrap_err();
        assert_eq!(error.to_string(), "permutation: 3 points, where the other has 2");
    }
}
