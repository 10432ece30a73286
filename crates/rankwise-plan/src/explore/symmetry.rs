//! The permutations of ranks that change no relation.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use num_bigint::BigUint;
use rankwise_topology::{Permutation, PermutationGroup};

use super::relation::{Meetings, Relations};
use super::{Counted, Extent, Symmetry, factorial};

/// Images tried past which the search for symmetries of classes ends.
const TRIED: u64 = 1 << 17;

/// More classes than this are not permuted: the chain of stabilisers would be large.
const CLASSES: usize = 256;

/// The automorphism group of the relations.
pub(super) fn of(relations: &Relations) -> Symmetry {
    let classes = classes(relations);
    let (quotient, exhausted) = Search::new(relations, &classes).run();
    let points = relations.points();

    let within = classes.iter().map(|class| factorial(class.len()));
    let mut number: BigUint = within.product();
    let images = |images: Vec<u32>| Permutation::from_images(images).ok();
    let group = PermutationGroup::generated(
        u32::try_from(classes.len()).unwrap_or(0),
        quotient.iter().filter_map(|generator| images(generator.clone())),
    );
    if let Ok(group) = &group {
        number = group.order_factors().fold(number, |number, factor| number * factor);
    }
    let known = exhausted == Extent::Exact && relations.extent() == Extent::Exact;

    let mut generators = Vec::new();
    for class in classes.iter().filter(|class| class.len() > 1) {
        generators.extend(whole_class(points, class));
    }
    for generator in group.iter().flat_map(PermutationGroup::generators) {
        generators.extend(lifted(points, &classes, generator));
    }
    let extent = if known { Extent::Exact } else { Extent::AtLeast };
    let classes = classes.into_iter().filter(|class| class.len() > 1).collect();
    Symmetry { generators, order: Counted { number, extent }, classes }
}

/// The classes of ranks any two of which can be exchanged, by their first members.
///
/// That they can is transitive: (i k) = (i j)(j k)(i j).
fn classes(relations: &Relations) -> Vec<Vec<u32>> {
    let profiles = relations.profile();
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for rank in 0..relations.points() {
        let known = classes.iter().position(|class| {
            class.first().is_some_and(|first| {
                profiles.get(first) == profiles.get(&rank)
                    && relations.are_preserved(&|at| match at {
                        _ if at == *first => rank,
                        _ if at == rank => *first,
                        _ => at,
                    })
            })
        });
        match known.and_then(|at| classes.get_mut(at)) {
            Some(class) => class.push(rank),
            None => classes.push(alloc::vec![rank]),
        }
    }
    classes
}

/// An exchange and a turn, which make every permutation of a class.
fn whole_class(points: u32, class: &[u32]) -> Vec<Permutation> {
    let mut made = Vec::new();
    if let [first, second, ..] = class {
        made.extend(Permutation::exchange(points, *first, *second));
    }
    if class.len() > 2 {
        let next: BTreeMap<u32, u32> =
            class.iter().copied().zip(class.iter().skip(1).chain(class.first()).copied()).collect();
        let images = (0..points).map(|at| next.get(&at).copied().unwrap_or(at));
        made.extend(Permutation::from_images(images));
    }
    made
}

/// A permutation of classes as one of their members, in order.
fn lifted(points: u32, classes: &[Vec<u32>], generator: &Permutation) -> Option<Permutation> {
    let mut images: Vec<u32> = (0..points).collect();
    for (class, to) in classes.iter().zip(generator.images()) {
        let to = classes.get(usize::try_from(*to).ok()?)?;
        for (from, to) in class.iter().zip(to) {
            *images.get_mut(usize::try_from(*from).ok()?)? = *to;
        }
    }
    Permutation::from_images(images).ok()
}

/// A search for permutations of classes that change no relation.
struct Search<'a> {
    relations: &'a Relations,
    classes: &'a [Vec<u32>],
    /// By rank, its class and its place there.
    places: Vec<(usize, usize)>,
    meetings: Meetings,
    tried: u64,
}

impl<'a> Search<'a> {
    fn new(relations: &'a Relations, classes: &'a [Vec<u32>]) -> Self {
        let mut places: Vec<(usize, usize)> = (0..relations.points()).map(|_| (0, 0)).collect();
        for (class, members) in classes.iter().enumerate() {
            for (place, rank) in members.iter().enumerate() {
                let entry = usize::try_from(*rank).ok().and_then(|rank| places.get_mut(rank));
                if let Some(entry) = entry {
                    *entry = (class, place);
                }
            }
        }
        let class_of = |rank: u32| {
            let place = usize::try_from(rank).ok().and_then(|rank| places.get(rank));
            place.map_or(0, |(class, _)| *class)
        };
        let meetings = relations.meetings(class_of);
        Self { relations, classes, places, meetings, tried: 0 }
    }

    /// Generators of all of them, and whether the search came to its end.
    ///
    /// From the last class to the first: what leaves the classes before alone, and where
    /// it can take this one beyond the orbit that is known.
    fn run(mut self) -> (Vec<Vec<u32>>, Extent) {
        let count = self.classes.len();
        let mut generators: Vec<Vec<u32>> = Vec::new();
        if count > CLASSES {
            return (generators, Extent::AtLeast);
        }
        let points = u32::try_from(count).unwrap_or(0);
        for first in (0..points).rev() {
            for to in first.saturating_add(1)..points {
                if orbit(&generators, first).contains(&to) {
                    continue;
                }
                let mut images: Vec<u32> = (0..first).collect();
                if !self.fits(&images, to) {
                    continue;
                }
                images.push(to);
                match self.complete(&mut images) {
                    Some(true) => generators.push(images),
                    Some(false) => {}
                    None => return (generators, Extent::AtLeast),
                }
            }
        }
        (generators, Extent::Exact)
    }

    /// Completes the images of the first classes to a symmetry; `None` if the search
    /// has become too long.
    fn complete(&mut self, images: &mut Vec<u32>) -> Option<bool> {
        let count = self.classes.len();
        if images.len() == count {
            return Some(self.is_symmetry(images));
        }
        for to in 0..u32::try_from(count).unwrap_or(0) {
            self.tried = self.tried.saturating_add(1);
            if self.tried > TRIED {
                return None;
            }
            if !self.fits(images, to) {
                continue;
            }
            images.push(to);
            if self.complete(images)? {
                return Some(true);
            }
            images.pop();
        }
        Some(false)
    }

    /// Whether the next class may become `to`: of one size, and meeting the images of
    /// the classes before as often as it meets them.
    fn fits(&self, images: &[u32], to: u32) -> bool {
        let from = images.len();
        let Ok(target) = usize::try_from(to) else { return false };
        let size = |class: usize| self.classes.get(class).map(Vec::len);
        if images.contains(&to) || size(from) != size(target) {
            return false;
        }
        let met = |one: usize, other: usize| self.meetings.get(&(one, other));
        met(from, from) == met(target, target)
            && images.iter().enumerate().all(|(before, image)| {
                usize::try_from(*image).is_ok_and(|image| {
                    met(before, from) == met(image, target)
                        && met(from, before) == met(target, image)
                })
            })
    }

    fn is_symmetry(&self, images: &[u32]) -> bool {
        self.relations.are_preserved(&|rank| {
            let image = || {
                let (class, place) = *self.places.get(usize::try_from(rank).ok()?)?;
                let to = usize::try_from(*images.get(class)?).ok()?;
                self.classes.get(to)?.get(place).copied()
            };
            image().unwrap_or(rank)
        })
    }
}

/// Where the generators take a point.
fn orbit(generators: &[Vec<u32>], point: u32) -> Vec<u32> {
    let mut orbit = alloc::vec![point];
    let mut at = 0_usize;
    while let Some(point) = orbit.get(at).copied() {
        for generator in generators {
            let image = usize::try_from(point).ok().and_then(|at| generator.get(at));
            if let Some(image) = image.filter(|image| !orbit.contains(image)) {
                orbit.push(*image);
            }
        }
        at = at.saturating_add(1);
    }
    orbit
}
