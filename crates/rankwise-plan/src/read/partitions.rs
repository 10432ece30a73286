//! The mesh, and the named partitions of the ranks.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::{Group, GroupError, Mesh, MeshError, Partition, PartitionError};

use crate::error::{Fault, PlanError};
use crate::file::{self, Color, Over, Spanned, Whole};
use crate::names;
use crate::read::group::Ranks;
use crate::read::spot::Spot;
use crate::words::WORLD;

/// Every partition that the plan names, mesh axes included.
#[derive(Debug)]
pub(super) struct Partitions {
    named: BTreeMap<String, Groups>,
    whole: Groups,
}

/// A partition, and the least and greatest number of ranks of its groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) partition: Partition,
    pub(super) smallest: GroupSize,
    pub(super) largest: GroupSize,
}

impl From<Partition> for Groups {
    fn from(partition: Partition) -> Self {
        let sizes = partition.groups().iter().map(Group::size);
        let smallest = sizes.clone().min().unwrap_or(GroupSize::ONE);
        let largest = sizes.max().unwrap_or(GroupSize::ONE);
        Self { partition, smallest, largest }
    }
}

impl Partitions {
    pub(super) fn read(
        plan: &Spot,
        file: &file::PlanFile,
        ranks: &Ranks,
    ) -> Result<Self, PlanError> {
        let mut named = BTreeMap::new();
        let mesh = match plan.given("mesh", file.mesh.as_ref()) {
            Some((spot, written)) => Some(mesh(&spot, written, ranks, &mut named)?),
            None => None,
        };
        let groups = plan.key("groups", plan.span);
        for (name, group) in file.groups.iter() {
            let key = groups.key(&name.value, name.span);
            key.name(&name.value)?;
            let spot = groups.key(&name.value, group.span);
            let partition = partition(&spot, &group.value, ranks, mesh.as_ref())?;
            insert(&key, &name.value, partition, &mut named)?;
        }
        Ok(Self { named, whole: Partition::whole(ranks.world).into() })
    }

    /// The partitions by name.
    pub(super) fn into_named(self) -> BTreeMap<String, Partition> {
        self.named.into_iter().map(|(name, groups)| (name, groups.partition)).collect()
    }

    /// The names a plan may use, the world's included.
    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.named.keys().map(String::as_str).chain([WORLD])
    }

    /// The partition of that name: `None` for the world.
    pub(super) fn get(&self, spot: &Spot, name: &str) -> Result<Option<&Groups>, PlanError> {
        if name == WORLD {
            return Ok(None);
        }
        self.named.get(name).map(Some).ok_or_else(|| spot.unknown(name, self.names()))
    }

    /// The groups of a step, and their name if they have one.
    pub(super) fn over(
        &self,
        spot: &Spot,
        over: Option<&Over>,
        ranks: &Ranks,
    ) -> Result<(Groups, Option<String>), PlanError> {
        match over {
            None => Ok((self.whole.clone(), None)),
            Some(Over::Name(name)) => Ok(match self.get(spot, name)? {
                Some(groups) => (groups.clone(), Some(name.clone())),
                None => (self.whole.clone(), None),
            }),
            Some(Over::Lists(written)) => Ok((lists(spot, written, ranks)?.into(), None)),
        }
    }
}

fn insert(
    spot: &Spot,
    name: &str,
    partition: Partition,
    named: &mut BTreeMap<String, Groups>,
) -> Result<(), PlanError> {
    let taken = if name == WORLD { Some("all the ranks") } else { None };
    let taken = taken.or_else(|| named.contains_key(name).then_some("an axis of the mesh"));
    if let Some(taken) = taken {
        let found = format!("the group {name:?}");
        let expected = format!("another name: {name} is {taken}");
        return Err(spot.error(Fault::Contradiction, found, expected));
    }
    named.insert(name.to_string(), partition.into());
    Ok(())
}

/// The mesh; a partition is named for each of its axes.
fn mesh(
    spot: &Spot,
    mesh: &file::Mesh,
    ranks: &Ranks,
    named: &mut BTreeMap<String, Groups>,
) -> Result<Mesh, PlanError> {
    let (axes_spot, axes) = spot.needed("axes", mesh.axes.as_ref(), "the names of the axes")?;
    let (shape_spot, shape) =
        spot.needed("shape", mesh.shape.as_ref(), "the ranks along each axis")?;
    if axes.len() != shape.len() {
        let found = format!("{} for {} axes", names::counted(shape.len(), "length"), axes.len());
        return Err(shape_spot.error(Fault::Contradiction, found, "one length for each axis"));
    }
    let mut sized = Vec::new();
    for ((axis_spot, axis), (spot, length)) in axes_spot.each(axes).zip(shape_spot.each(shape)) {
        axis_spot.name(axis)?;
        let length = u32::try_from(length.get()).ok().filter(|length| *length > 0);
        let expected = format!("the ranks along axis {axis}, at least 1");
        let found = || spot.error(Fault::Value, "no length of an axis", expected);
        sized.push((axis.as_str(), length.ok_or_else(found)?));
    }
    let mesh = Mesh::new(sized).map_err(|error| match &error {
        MeshError::Overflow { .. } => {
            shape_spot.error(Fault::Overflow, error.to_string(), "a mesh of the group's ranks")
        }
        _ => axes_spot.error(Fault::Contradiction, error.to_string(), "each axis once"),
    })?;
    if mesh.world() != ranks.world {
        let found = format!("a mesh of {} ranks", mesh.world());
        let expected = format!("a shape whose product is the {} ranks of the group", ranks.world);
        return Err(shape_spot.error(Fault::Contradiction, found, expected));
    }
    for (spot, axis) in axes_spot.each(axes) {
        insert(&spot, axis, along(&mesh, &[(spot.clone(), axis)], &spot)?, named)?;
    }
    Ok(mesh)
}

fn along(mesh: &Mesh, axes: &[(Spot, &String)], whole: &Spot) -> Result<Partition, PlanError> {
    let known = mesh.axes().iter().map(rankwise_topology::Axis::name);
    for (spot, axis) in axes {
        if !known.clone().any(|name| name == *axis) {
            return Err(spot.unknown(axis, known));
        }
    }
    let axes: Vec<&str> = axes.iter().map(|(_, axis)| axis.as_str()).collect();
    Partition::along(mesh, &axes)
        .map_err(|error| whole.error(Fault::Contradiction, error.to_string(), "each axis once"))
}

/// The partition that one entry of `[groups]` describes.
fn partition(
    spot: &Spot,
    group: &file::NamedGroups,
    ranks: &Ranks,
    mesh: Option<&Mesh>,
) -> Result<Partition, PlanError> {
    let ways = [
        ("ranks", group.ranks.as_ref().map(|field| field.span)),
        ("lists", group.lists.as_ref().map(|field| field.span)),
        ("axis", group.axis.as_ref().map(|field| field.span)),
        ("axes", group.axes.as_ref().map(|field| field.span)),
        ("colors", group.colors.as_ref().map(|field| field.span)),
    ];
    let mut given = ways.into_iter().filter_map(|(name, span)| Some((name, span?)));
    let expected = "exactly one of ranks, lists, axis, axes, colors";
    let Some((way, _)) = given.next() else {
        return Err(spot.error(Fault::Missing, "none of them", expected));
    };
    if let Some((other, span)) = given.next() {
        let found = format!("both {way} and {other}");
        return Err(spot.key(other, span).error(Fault::Contradiction, found, expected));
    }
    if let (Some((spot, _)), None) = (spot.given("keys", group.keys.as_ref()), &group.colors) {
        let found = format!("keys beside {way}");
        return Err(spot.error(Fault::Contradiction, found, "keys only beside colors"));
    }
    if let Some((spot, members)) = spot.given("ranks", group.ranks.as_ref()) {
        return from_lists(&spot, &[(spot.clone(), members.as_slice())], ranks);
    }
    if let Some((spot, written)) = spot.given("lists", group.lists.as_ref()) {
        return lists(&spot, written, ranks);
    }
    let axes =
        match (spot.given("axis", group.axis.as_ref()), spot.given("axes", group.axes.as_ref())) {
            (Some((spot, axis)), _) => Some((spot.clone(), Vec::from([(spot, axis)]))),
            (None, Some((spot, axes))) => Some((spot.clone(), spot.each(axes).collect())),
            (None, None) => None,
        };
    if let Some((spot, axes)) = axes {
        let Some(mesh) = mesh else {
            let expected = "a [mesh] that has such axes";
            return Err(spot.error(Fault::UnknownName, "an axis without a mesh", expected));
        };
        return along(mesh, &axes, &spot);
    }
    split(spot, group, ranks)
}

/// Groups by list; what is wrong is told at the very rank.
fn from_lists(
    spot: &Spot,
    written: &[(Spot, &[Spanned<Whole>])],
    ranks: &Ranks,
) -> Result<Partition, PlanError> {
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for (spot, list) in written {
        let indices = spot.each(list).map(|(spot, index)| Ok(ranks.rank(&spot, *index)?.index()));
        lists.push(indices.collect::<Result<_, _>>()?);
    }
    Partition::from_lists(ranks.world, lists.iter().cloned()).map_err(|error| {
        let place = match &error {
            PartitionError::List { list, error: GroupError::Repeated { second, .. } } => {
                inside(written, *list, usize::try_from(*second).ok())
            }
            PartitionError::List { list, .. } => inside(written, *list, None),
            PartitionError::Overlap { rank, second, .. } => {
                let list = usize::try_from(*second).ok().and_then(|list| lists.get(list));
                let at = list.and_then(|list| list.iter().position(|at| *at == rank.index()));
                inside(written, *second, at)
            }
            _ => None,
        };
        let spot = place.unwrap_or_else(|| spot.clone());
        spot.error(Fault::Contradiction, error.to_string(), "disjoint groups, each rank once")
    })
}

/// The spot of one list, or of one rank in it.
fn inside(written: &[(Spot, &[Spanned<Whole>])], list: u32, at: Option<usize>) -> Option<Spot> {
    let (spot, ranks) = written.get(usize::try_from(list).ok()?)?;
    match at {
        None => Some(spot.clone()),
        Some(at) => spot.each(ranks).nth(at).map(|(spot, _)| spot),
    }
}

fn lists(
    spot: &Spot,
    written: &[Spanned<Vec<Spanned<Whole>>>],
    ranks: &Ranks,
) -> Result<Partition, PlanError> {
    let lists: Vec<_> = spot.each(written).map(|(spot, list)| (spot, list.as_slice())).collect();
    from_lists(spot, &lists, ranks)
}

/// A split by colors and keys, as `ncclCommSplit` does it.
fn split(spot: &Spot, group: &file::NamedGroups, ranks: &Ranks) -> Result<Partition, PlanError> {
    let (colors_spot, written) =
        spot.needed("colors", group.colors.as_ref(), "each rank's color")?;
    per_rank(&colors_spot, written.len(), ranks)?;
    let colors = written.iter().map(|color| match color.value {
        Color::None => None,
        Color::Of(color) => Some(color),
    });
    let mut keys = alloc::vec![0; written.len()];
    if let Some((spot, written)) = spot.given("keys", group.keys.as_ref()) {
        per_rank(&spot, written.len(), ranks)?;
        for ((spot, written), key) in spot.each(written).zip(&mut keys) {
            *key = written.0.parse().map_err(|_| {
                let expected = "an integer from -2147483648 to 2147483647";
                spot.error(Fault::Value, names::shortened(&written.0), expected)
            })?;
        }
    }
    let colors_and_keys: Vec<(Option<i32>, i32)> = colors.zip(keys).collect();
    Partition::split(ranks.world, &colors_and_keys).map_err(|error| {
        colors_spot.error(Fault::Contradiction, error.to_string(), "a color for each rank")
    })
}

fn per_rank(spot: &Spot, found: usize, ranks: &Ranks) -> Result<(), PlanError> {
    if u32::try_from(found) == Ok(ranks.size.get()) {
        return Ok(());
    }
    let found = format!("{} for {} ranks", names::counted(found, "value"), ranks.size);
    Err(spot.error(Fault::Contradiction, found, "one for each rank, rank 0 first"))
}
