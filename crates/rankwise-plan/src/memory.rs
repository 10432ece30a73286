//! What every rank holds at one moment: the buffers and their vectors.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::{World, WorldRank};

use crate::plan::{Attachment, Counts, Input, Plan};
use crate::term::{InputIdentity, Origin, Terms};
use crate::vector::{Content, Vector};

/// The buffers of every rank. A copy shares what is not written afterwards.
#[derive(Clone, Debug)]
pub struct Memory {
    world: World,
    buffers: Vec<Arc<Column>>,
    /// By name: the place in `buffers`.
    names: Arc<BTreeMap<Arc<str>, usize>>,
    /// The place of the buffer written last: many ranks write it in turn.
    last: usize,
}

/// One buffer, as each rank has it.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: Arc<str>,
    /// By rank.
    held: Vec<Option<Arc<Vector>>>,
}

impl Column {
    /// What `rank` holds, if it has this buffer.
    pub(crate) fn get(&self, rank: WorldRank) -> Option<&Arc<Vector>> {
        self.held.get(usize::try_from(rank.index()).ok()?)?.as_ref()
    }

    fn put(&mut self, rank: WorldRank, vector: Arc<Vector>) {
        let index = usize::try_from(rank.index()).ok();
        if let Some(held) = index.and_then(|index| self.held.get_mut(index)) {
            *held = Some(vector);
        }
    }
}

impl Memory {
    /// What the ranks of a plan hold before the first step: its inputs.
    pub fn of_inputs(plan: &Plan, terms: &mut Terms) -> Self {
        let world = World::new(plan.world);
        let origins = Origins::of(plan);
        let names = Arc::new(BTreeMap::new());
        let mut memory = Self { world, buffers: Vec::new(), names, last: usize::MAX };
        for input in plan.inputs.values() {
            let id = terms.input(&identity(input, &origins));
            for rank in world.ranks() {
                let atom = terms.atom(id, origins.of_contribution(input, rank));
                let held = Vector::of(input.dtype, input.counts.on(rank), Content::Term(atom));
                memory.put(rank, &input.name, Arc::new(held));
            }
        }
        memory
    }

    /// What `rank` holds in `buffer`, if it has one of that name.
    pub fn get(&self, rank: WorldRank, buffer: &str) -> Option<&Arc<Vector>> {
        self.column(buffer)?.get(rank)
    }

    /// Every buffer of `rank`, by name; none for a rank of another world.
    pub fn buffers(&self, rank: WorldRank) -> impl Iterator<Item = (&str, &Arc<Vector>)> {
        self.names
            .iter()
            .filter_map(move |(name, index)| Some((&**name, self.buffers.get(*index)?.get(rank)?)))
    }

    /// Where the buffer of that name is kept, if any rank has it.
    pub(crate) fn place(&self, buffer: &str) -> Option<usize> {
        self.names.get(buffer).copied()
    }

    /// What `rank` holds in the buffer kept there.
    pub(crate) fn at(&self, place: usize, rank: WorldRank) -> Option<&Arc<Vector>> {
        self.buffers.get(place)?.get(rank)
    }

    /// The buffer of that name, if any rank has it.
    pub(crate) fn column(&self, buffer: &str) -> Option<&Column> {
        self.buffers.get(*self.names.get(buffer)?).map(AsRef::as_ref)
    }

    /// Puts a vector into a buffer of `rank`, in place of what was there; its name,
    /// shared.
    pub(crate) fn put(&mut self, rank: WorldRank, buffer: &str, vector: Arc<Vector>) -> Arc<str> {
        if self.buffers.get(self.last).is_none_or(|last| &*last.name != buffer) {
            self.last = self.names.get(buffer).copied().unwrap_or_else(|| self.declared(buffer));
        }
        match self.buffers.get_mut(self.last) {
            Some(column) => {
                let column = Arc::make_mut(column);
                column.put(rank, vector);
                Arc::clone(&column.name)
            }
            // `last` is a place that has just been looked up or made.
            None => Arc::from(buffer),
        }
    }

    fn declared(&mut self, buffer: &str) -> usize {
        let (index, name) = (self.buffers.len(), Arc::<str>::from(buffer));
        let held = self.world.ranks().map(|_| None).collect();
        Arc::make_mut(&mut self.names).insert(Arc::clone(&name), index);
        self.buffers.push(Arc::new(Column { name, held }));
        index
    }
}

/// What makes an input of a plan what it is. Lengths of their own belong to what the
/// contributions do: a device keeps its own whatever its rank.
pub(crate) fn identity(input: &Input, origins: &Origins) -> InputIdentity {
    let counts = match &input.counts {
        Counts::Each(count) => Counts::Each(*count),
        Counts::ByRank(_) => {
            let of = |rank| (origins.of_contribution(input, rank), input.counts.on(rank));
            let mut by_origin: Vec<_> = ranks(origins.world).map(of).collect();
            by_origin.sort();
            Counts::ByRank(by_origin.into_iter().map(|(_, count)| count).collect())
        }
    };
    InputIdentity {
        name: input.name.clone(),
        dtype: input.dtype,
        counts,
        meaning: input.meaning.clone(),
    }
}

/// What each rank's contributions are attached to.
#[derive(Clone, Debug)]
pub struct Origins {
    world: GroupSize,
    /// By rank: its device, where it has that device to itself.
    devices: Vec<Option<Arc<str>>>,
}

impl Origins {
    /// The origins in a plan.
    pub fn of(plan: &Plan) -> Self {
        let alone = |rank: WorldRank| {
            let map = plan.map.as_ref()?;
            let device = map.device(rank)?;
            // Ranks that share a device contribute separately: only the rank tells
            // their contributions apart.
            (map.ranks_on(device).count() == 1).then(|| Arc::from(device.to_string()))
        };
        Self { world: plan.world, devices: ranks(plan.world).map(alone).collect() }
    }

    /// What the contribution of `rank` to `input` is attached to.
    pub fn of_contribution(&self, input: &Input, rank: WorldRank) -> Origin {
        let device = usize::try_from(rank.index()).ok().and_then(|index| self.devices.get(index));
        match (input.attached, device) {
            (Attachment::Device, Some(Some(device))) => Origin::Device(Arc::clone(device)),
            _ => Origin::Rank(rank),
        }
    }
}

/// The ranks of a world, in order.
pub(crate) fn ranks(world: GroupSize) -> impl Iterator<Item = WorldRank> {
    World::new(world).ranks()
}
