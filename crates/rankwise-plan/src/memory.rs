//! What every rank holds at one moment: the buffers and their vectors.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use rankwise_model::GroupSize;
use rankwise_topology::{World, WorldRank};

use crate::plan::{Attachment, Counts, Input, Plan};
use crate::term::{InputIdentity, Origin, Terms};
use crate::vector::{Content, Vector};

/// The buffers of every rank.
#[derive(Clone, Debug)]
pub struct Memory {
    ranks: Vec<BTreeMap<String, Arc<Vector>>>,
}

impl Memory {
    /// What the ranks of a plan hold before the first step: its inputs.
    pub fn of_inputs(plan: &Plan, terms: &mut Terms) -> Self {
        let world = World::new(plan.world);
        let origins = Origins::of(plan);
        let mut ranks: Vec<_> = world.ranks().map(|_| BTreeMap::new()).collect();
        for input in plan.inputs.values() {
            let id = terms.input(&identity(input, &origins));
            for (rank, buffers) in world.ranks().zip(&mut ranks) {
                let atom = terms.atom(id, origins.of_contribution(input, rank));
                let held = Vector::of(input.dtype, input.counts.on(rank), Content::Term(atom));
                buffers.insert(input.name.clone(), Arc::new(held));
            }
        }
        Self { ranks }
    }

    /// What `rank` holds in `buffer`, if it has one of that name.
    pub fn get(&self, rank: WorldRank, buffer: &str) -> Option<&Arc<Vector>> {
        self.buffers(rank)?.get(buffer)
    }

    /// Every buffer of `rank`, by name; `None` for a rank of another world.
    pub fn buffers(&self, rank: WorldRank) -> Option<&BTreeMap<String, Arc<Vector>>> {
        self.ranks.get(usize::try_from(rank.index()).ok()?)
    }

    /// Puts a vector into a buffer of `rank`, in place of what was there.
    pub(crate) fn put(&mut self, rank: WorldRank, buffer: &str, vector: Arc<Vector>) {
        let index = usize::try_from(rank.index()).ok();
        if let Some(buffers) = index.and_then(|index| self.ranks.get_mut(index)) {
            buffers.insert(buffer.to_string(), vector);
        }
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
