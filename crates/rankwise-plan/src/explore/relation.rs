//! Relations: where devices may be, as tuples of ranks.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Extent;

/// The ranks on which some devices may be, together.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// The devices, by their ranks in the plan.
    variables: Vec<u32>,
    /// A rank for each, all different.
    rows: BTreeSet<Vec<u32>>,
    extent: Extent,
}

impl Relation {
    pub(crate) fn new(variables: Vec<u32>) -> Self {
        Self { variables, rows: BTreeSet::new(), extent: Extent::Exact }
    }

    /// The same rows for other devices.
    pub(crate) fn about(&self, variables: Vec<u32>) -> Self {
        Self { variables, ..self.clone() }
    }

    pub(crate) fn insert(&mut self, row: Vec<u32>) {
        self.rows.insert(row);
    }

    /// Says that there may be more rows than are known.
    pub(crate) fn cut_short(&mut self) {
        self.extent = Extent::AtLeast;
    }

    pub(crate) fn variables(&self) -> &[u32] {
        &self.variables
    }

    pub(crate) fn rows(&self) -> &BTreeSet<Vec<u32>> {
        &self.rows
    }

    /// The same without the rows that are not to be kept.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Vec<u32>) -> bool) {
        self.rows.retain(keep);
    }

    /// Whether the rows stay the same when every rank becomes its image.
    fn is_preserved(&self, image: &impl Fn(u32) -> u32) -> bool {
        let mut moved = Vec::new();
        self.rows.iter().all(|row| {
            moved.clear();
            moved.extend(row.iter().map(|at| image(*at)));
            self.rows.contains(&moved)
        })
    }

    /// Whether a row has every device that is fixed where it is.
    pub(crate) fn allows(&self, fixed: &BTreeMap<u32, u32>) -> bool {
        self.rows.iter().any(|row| self.agrees(row, fixed))
    }

    /// Whether that row has every device that is fixed where it is.
    pub(crate) fn agrees(&self, row: &[u32], fixed: &BTreeMap<u32, u32>) -> bool {
        self.variables
            .iter()
            .zip(row)
            .all(|(variable, at)| fixed.get(variable).is_none_or(|fixed| fixed == at))
    }

    /// One relation per device, if the rows are all that those allow.
    fn factored(&self) -> Option<Vec<Self>> {
        if self.variables.len() < 2 || self.extent != Extent::Exact {
            return None;
        }
        let columns: Vec<BTreeSet<u32>> = (0..self.variables.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column).copied()).collect())
            .collect();
        if ways(&columns)? != self.rows.len() {
            return None;
        }
        let one = |(variable, column): (&u32, &BTreeSet<u32>)| Self {
            variables: alloc::vec![*variable],
            rows: column.iter().map(|at| alloc::vec![*at]).collect(),
            extent: Extent::Exact,
        };
        Some(self.variables.iter().zip(&columns).map(one).collect())
    }

    /// Whether it allows every placement.
    fn is_trivial(&self, points: u32) -> bool {
        let all = (0..points)
            .rev()
            .zip(&self.variables)
            .try_fold(1_u64, |all, (left, _)| all.checked_mul(u64::from(left).saturating_add(1)));
        all.is_some() && all == u64::try_from(self.rows.len()).ok()
    }
}

/// In how many ways different ranks can be chosen, one from each column, where any two
/// columns are equal or disjoint, or where there are two.
fn ways(columns: &[BTreeSet<u32>]) -> Option<usize> {
    if let [one, other] = columns {
        let common = one.intersection(other).count();
        return one.len().checked_mul(other.len())?.checked_sub(common);
    }
    let mut taken: BTreeMap<&BTreeSet<u32>, usize> = BTreeMap::new();
    let mut all = 1_usize;
    for column in columns {
        if taken.keys().any(|other| *other != column && !other.is_disjoint(column)) {
            return None;
        }
        let before = taken.entry(column).or_insert(0);
        all = all.checked_mul(column.len().checked_sub(*before)?)?;
        *before = before.checked_add(1)?;
    }
    Some(all)
}

/// All relations that placements must satisfy.
#[derive(Clone, Debug)]
pub(crate) struct Relations {
    points: u32,
    relations: Vec<Relation>,
    /// One of each set of rows: what symmetries must preserve.
    shapes: Vec<Relation>,
}

impl Relations {
    /// The relations without those that ask nothing.
    pub(crate) fn of<'r>(points: u32, all: impl Iterator<Item = &'r Relation>) -> Self {
        let mut relations = Vec::new();
        for relation in all {
            let parts = relation.factored().unwrap_or_else(|| alloc::vec![relation.clone()]);
            relations.extend(parts.into_iter().filter(|part| !part.is_trivial(points)));
        }
        let mut seen = BTreeSet::new();
        relations.retain(|relation: &Relation| {
            seen.insert((relation.variables.clone(), relation.rows.clone()))
        });
        Self::from_relations(points, relations)
    }

    pub(crate) fn from_relations(points: u32, relations: Vec<Relation>) -> Self {
        let mut rows: BTreeSet<&BTreeSet<Vec<u32>>> = BTreeSet::new();
        let shapes =
            relations.iter().filter(|relation| rows.insert(&relation.rows)).cloned().collect();
        Self { points, relations, shapes }
    }

    pub(crate) fn points(&self) -> u32 {
        self.points
    }

    pub(crate) fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Whether every row is known.
    pub(crate) fn extent(&self) -> Extent {
        self.relations.iter().map(|relation| relation.extent).max().unwrap_or(Extent::Exact)
    }

    /// The devices that any relation is about, ascending.
    pub(crate) fn variables(&self) -> impl Iterator<Item = u32> + use<> {
        let variables: BTreeSet<u32> =
            self.relations.iter().flat_map(|relation| relation.variables.clone()).collect();
        variables.into_iter()
    }

    /// Whether no relation changes when every rank becomes its image.
    pub(crate) fn are_preserved(&self, image: &impl Fn(u32) -> u32) -> bool {
        self.shapes.iter().all(|shape| shape.is_preserved(image))
    }

    /// How often ranks of the classes meet in rows: by shape, columns and classes.
    pub(crate) fn meetings(&self, class: impl Fn(u32) -> usize) -> Meetings {
        let mut meetings = Meetings::new();
        for (shape, relation) in self.shapes.iter().enumerate() {
            for row in &relation.rows {
                for (column, at) in row.iter().enumerate() {
                    for (other_column, other) in row.iter().enumerate() {
                        let pair = (class(*at), class(*other));
                        let met = meetings.entry(pair).or_default();
                        let times = met.entry((shape, column, other_column)).or_insert(0);
                        *times = times.saturating_add(1);
                    }
                }
            }
        }
        meetings
    }

    /// How often a rank stands in each column of each shape.
    pub(crate) fn profile(&self) -> BTreeMap<u32, BTreeMap<(usize, usize), u64>> {
        let mut profiles: BTreeMap<u32, BTreeMap<(usize, usize), u64>> = BTreeMap::new();
        for (shape, relation) in self.shapes.iter().enumerate() {
            for row in &relation.rows {
                for (column, at) in row.iter().enumerate() {
                    let times = profiles.entry(*at).or_default().entry((shape, column));
                    let times = times.or_insert(0);
                    *times = times.saturating_add(1);
                }
            }
        }
        profiles
    }
}

/// By a pair of classes: by shape and two columns, the number of rows.
pub(crate) type Meetings = BTreeMap<(usize, usize), BTreeMap<(usize, usize, usize), u64>>;
