//! Groups of permutations, by generators.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use crate::permutation::{Permutation, PermutationError};

/// Every permutation that generators and their products make.
///
/// It is kept as a chain of stabilisers (Schreier and Sims, in Knuth's form): each link
/// has a point, the orbit of that point under what leaves the points before it alone,
/// and for each point of the orbit one element that leads there. An element of the group
/// is then one choice per link, hence the order is the product of the orbits' lengths
/// and an element is a member if it sifts through.
///
/// ```
/// use rankwise_topology::{Permutation, PermutationGroup};
///
/// // Two nodes of two devices: exchange within the first, and the nodes.
/// let within = Permutation::from_images([1, 0, 2, 3])?;
/// let nodes = Permutation::from_images([2, 3, 0, 1])?;
/// let group = PermutationGroup::generated(4, [within, nodes])?;
/// assert_eq!(group.order(), Some(8)); // 2! · 2! · 2!
/// assert!(group.contains(&Permutation::from_images([3, 2, 0, 1])?));
/// assert!(!group.contains(&Permutation::from_images([0, 2, 1, 3])?));
/// # Ok::<(), rankwise_topology::PermutationError>(())
/// ```
///
/// Space and time grow with a power of the number of points: it is meant for hundreds,
/// not for a million.
///
/// Source: D. E. Knuth, "Efficient representation of perm groups", Combinatorica 11
/// (1991).
#[derive(Clone)]
pub struct PermutationGroup {
    points: u32,
    generators: Vec<Permutation>,
    links: Vec<Link>,
}

#[derive(Clone)]
struct Link {
    point: u32,
    /// These leave the points of all links before alone.
    generators: Vec<Permutation>,
    /// By point of the orbit, an element that takes `point` there.
    orbit: BTreeMap<u32, Permutation>,
}

impl PermutationGroup {
    /// The group that the generators make; of the identity alone if there are none.
    pub fn generated(
        points: u32,
        generators: impl IntoIterator<Item = Permutation>,
    ) -> Result<Self, PermutationError> {
        let mut group = Self { points, generators: Vec::new(), links: Vec::new() };
        for generator in generators {
            let generator = Permutation::identity(points).then(&generator)?;
            if !group.contains(&generator) {
                group.generators.push(generator.clone());
                group.add(0, &generator);
            }
        }
        Ok(group)
    }

    /// Those of the generators that were needed.
    pub fn generators(&self) -> &[Permutation] {
        &self.generators
    }

    /// How many permutations it has, as factors: their product. None for the identity
    /// alone.
    pub fn order_factors(&self) -> impl Iterator<Item = usize> + '_ {
        self.links.iter().map(|link| link.orbit.len())
    }

    /// How many permutations it has, if 128 bits count them (as they do those of 34
    /// points).
    pub fn order(&self) -> Option<u128> {
        self.order_factors()
            .try_fold(1_u128, |order, factor| order.checked_mul(u128::try_from(factor).ok()?))
    }

    /// Whether it has that permutation.
    pub fn contains(&self, permutation: &Permutation) -> bool {
        let points = usize::try_from(self.points);
        points == Ok(permutation.images().len()) && self.has(0, permutation)
    }

    /// Whether what leaves the points of the links before `from` alone has it.
    fn has(&self, from: usize, permutation: &Permutation) -> bool {
        let mut left = permutation.clone();
        for link in self.links.iter().skip(from) {
            let image = left.image(link.point).unwrap_or(link.point);
            let Some(there) = link.orbit.get(&image) else { return false };
            left = left.followed_by(&there.inverse());
        }
        left.is_identity()
    }

    /// Adds an element that leaves the points of the links before `at` alone.
    fn add(&mut self, at: usize, element: &Permutation) {
        if self.has(at, element) {
            return;
        }
        if at == self.links.len() {
            let Some(point) = element.first_moved() else { return };
            let orbit = BTreeMap::from([(point, Permutation::identity(self.points))]);
            self.links.push(Link { point, generators: Vec::new(), orbit });
        }
        let Some(link) = self.links.get_mut(at) else { return };
        link.generators.push(element.clone());
        let mut open: Vec<(Permutation, Permutation)> =
            link.orbit.values().map(|there| (there.clone(), element.clone())).collect();
        while let Some((there, generator)) = open.pop() {
            let beyond = there.followed_by(&generator);
            let Some(link) = self.links.get_mut(at) else { return };
            let image = beyond.image(link.point).unwrap_or(link.point);
            match link.orbit.get(&image) {
                // Back to a known point by two ways: their difference leaves it alone.
                Some(known) => {
                    let difference = beyond.followed_by(&known.inverse());
                    self.add(at.saturating_add(1), &difference);
                }
                None => {
                    link.orbit.insert(image, beyond.clone());
                    open.extend(link.generators.iter().map(|next| (beyond.clone(), next.clone())));
                }
            }
        }
    }
}

impl fmt::Debug for PermutationGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PermutationGroup(")?;
        f.debug_list().entries(&self.generators).finish()?;
        write!(f, " of {})", self.points)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    fn group(points: u32, generators: &[&[u32]]) -> PermutationGroup {
        let generators = generators
            .iter()
            .map(|images| Permutation::from_images(images.iter().copied()).unwrap());
        PermutationGroup::generated(points, generators).unwrap()
    }

    #[test]
    fn orders_of_known_groups() {
        assert_eq!(group(5, &[]).order(), Some(1));
        assert_eq!(group(5, &[&[1, 2, 3, 4, 0]]).order(), Some(5)); // turns of a pentagon
        let pentagon: [&[u32]; 2] = [&[1, 2, 3, 4, 0], &[0, 4, 3, 2, 1]];
        assert_eq!(group(5, &pentagon).order(), Some(10)); // and its reflections
        assert_eq!(group(5, &[&[1, 0, 2, 3, 4], &[1, 2, 3, 4, 0]]).order(), Some(120));
        // Even permutations of five: generated by (0 1 2) and (0 1 2 3 4).
        assert_eq!(group(5, &[&[1, 2, 0, 3, 4], &[1, 2, 3, 4, 0]]).order(), Some(60));
    }

    #[test]
    fn the_mathieu_group_of_eleven_points_has_7920() {
        // (0 1 … 10) and (2 6 10 7)(3 9 4 5).
        let turn: Vec<u32> = (0..11).map(|at| (at + 1) % 11).collect();
        let other = [0, 1, 6, 9, 5, 3, 10, 2, 8, 4, 7];
        let mathieu = group(11, &[&turn, &other]);
        assert_eq!(mathieu.order(), Some(7920));
        assert!(!mathieu.contains(&Permutation::exchange(11, 0, 1).unwrap()));
    }

    #[test]
    fn forty_points_are_more_than_128_bits_count() {
        let turn: Vec<u32> = (0..40).map(|at| (at + 1) % 40).collect();
        let exchange = Permutation::exchange(40, 0, 1).unwrap();
        let all = group(40, &[exchange.images(), &turn]);
        assert_eq!(all.order(), None);
        let mut factors: Vec<usize> = all.order_factors().collect();
        factors.sort_unstable();
        assert_eq!(factors, (2..=40).collect::<Vec<_>>());
    }

    /// Every product of generators, found by trying all.
    fn closure(generators: &[Vec<u32>]) -> BTreeSet<Vec<u32>> {
        let points = generators[0].len();
        let identity: Vec<u32> = (0..u32::try_from(points).unwrap()).collect();
        let mut all = BTreeSet::from([identity.clone()]);
        let mut open = vec![identity];
        while let Some(element) = open.pop() {
            for generator in generators {
                let next: Vec<u32> = element.iter().map(|at| generator[*at as usize]).collect();
                if all.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_has_the_products_of_its_generators_and_no_more(
            generators in prop::collection::vec(
                Just((0..6).collect::<Vec<u32>>()).prop_shuffle(), 1..4),
            other in Just((0..6).collect::<Vec<u32>>()).prop_shuffle(),
        ) {
            let slices: Vec<&[u32]> = generators.iter().map(Vec::as_slice).collect();
            let group = group(6, &slices);
            let all = closure(&generators);
            prop_assert_eq!(group.order(), Some(all.len() as u128));
            for element in &all {
                prop_assert!(group.contains(&Permutation::from_images(element.clone()).unwrap()));
            }
            let found = group.contains(&Permutation::from_images(other.clone()).unwrap());
            prop_assert_eq!(found, all.contains(&other));
        }
    }
}
