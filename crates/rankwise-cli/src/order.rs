//! Another order of a plan's devices, however it is given.

use rankwise_plan::plan::Plan;
use rankwise_plan::relabel::permutation;
use rankwise_topology::{
    DeviceOrder, Mesh, Partition, Permutation, ReorderError, Unresolved, World, reorder,
};

use crate::unusable::Unusable;

/// The order to judge: one of these.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "order", multiple = false)]
pub(crate) struct Order {
    /// The devices in the new rank order: the first becomes rank 0.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(crate) devices: Option<Vec<String>>,
    /// A value of `CUDA_VISIBLE_DEVICES` on every host: ranks take ordinals in rank order.
    #[arg(long, value_name = "LIST")]
    pub(crate) visible: Option<String>,
    /// A split, as of `ncclCommSplit`: `colors=0,0,1,1` and, if wanted, `keys=1,0,0,1`.
    #[arg(long, value_name = "colors=… [keys=…]", num_args = 1..=2)]
    pub(crate) split: Option<Vec<String>>,
    /// Mesh axes in another order: `node,gpu->gpu,node` (or `node=2,gpu=4->gpu,node`).
    #[arg(long, value_name = "OLD->NEW")]
    pub(crate) axes: Option<String>,
}

/// Why there is no such order.
#[derive(Debug)]
pub(crate) enum NoOrder {
    /// It cannot be told.
    Unknown(String),
    /// It makes no sense.
    Unusable(Box<Unusable>),
}

impl Order {
    /// The permutation that leads to the order, if one is asked for: rank r is then on
    /// the device of rank σ(r).
    pub(crate) fn permutation(
        &self,
        plan: &Plan,
        numbers: DeviceOrder,
    ) -> Result<Option<Permutation>, NoOrder> {
        if let Some(devices) = &self.devices {
            let order: Vec<&str> = devices.iter().map(String::as_str).collect();
            return permutation(plan, &order).map(Some).map_err(|error| {
                let found = format!("--devices {}", devices.join(","));
                NoOrder::Unusable(Unusable::usage(found, error.to_string()))
            });
        }
        if let Some(value) = &self.visible {
            let Some(map) = &plan.map else { return Ok(None) };
            let made = reorder::by_visible(map, value, numbers);
            return made.map(Some).map_err(|error| no_order("--visible", value, &error));
        }
        if let Some(words) = &self.split {
            let text = words.join(" ");
            let entries = entries(words, plan)
                .map_err(|expected| usage(format!("--split {text}"), expected))?;
            let made = reorder::by_split(World::new(plan.world), &entries);
            return made.map(Some).map_err(|error| no_order("--split", &text, &error));
        }
        let Some(text) = &self.axes else { return Ok(None) };
        let (mesh, order) =
            axes(text, plan).map_err(|expected| usage(format!("--axes {text}"), expected))?;
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        let made = reorder::by_axes(&mesh, &order);
        made.map(Some).map_err(|error| no_order("--axes", text, &error))
    }
}

/// A permutation of a plan's devices in cycles of their names; `A as rank 2` where A
/// carries several.
pub(crate) fn cycles(plan: &Plan, permutation: &Permutation) -> String {
    permutation.named(|place| place_name(plan, place)).to_string()
}

/// The device that a rank of the plan is on.
pub(crate) fn place_name(plan: &Plan, place: u32) -> String {
    let Some(rank) = World::new(plan.world).rank(place) else { return place.to_string() };
    let several = plan.map.as_ref().is_some_and(|map| {
        map.device(rank).is_some_and(|device| map.ranks_on(device).nth(1).is_some())
    });
    match plan.device_of(rank) {
        Some(device) if several => format!("{device} as rank {place}"),
        Some(device) => device,
        None => place.to_string(),
    }
}

fn usage(found: String, expected: impl Into<String>) -> NoOrder {
    NoOrder::Unusable(Unusable::usage(found, expected))
}

/// Why there is no such order: not known, or refused with what would do.
fn no_order(flag: &str, text: &str, error: &ReorderError) -> NoOrder {
    let why = format!("{flag} {text}: {error}");
    match error {
        ReorderError::Unresolved(Unresolved::Order { .. }) => {
            NoOrder::Unknown(format!("{why}; say so with --physical"))
        }
        ReorderError::Unresolved(_) => NoOrder::Unknown(why),
        _ => usage(
            why,
            match flag {
                "--visible" => "a device for each rank of the host",
                "--split" => "a colour for each rank, and a key if wanted",
                _ => "each axis of the mesh once",
            },
        ),
    }
}

/// Colour and key of every rank.
fn entries(words: &[String], plan: &Plan) -> Result<Vec<(Option<i32>, i32)>, String> {
    let form = || "colors=0,0,1,1 and, if wanted, keys=1,0,0,1".to_owned();
    let (mut colors, mut keys) = (None, None);
    for word in words {
        match word.split_once('=').ok_or_else(form)? {
            ("colors" | "colours", list) if colors.is_none() => colors = Some(list),
            ("keys", list) if keys.is_none() => keys = Some(list),
            _ => return Err(form()),
        }
    }
    let number = |text: &str| text.trim().parse::<i32>().map_err(|_| form());
    let colour = |text: &str| match text.trim() {
        "none" | "-1" => Ok(None),
        text => number(text).map(Some),
    };
    let colors: Vec<Option<i32>> =
        colors.ok_or_else(form)?.split(',').map(colour).collect::<Result<_, _>>()?;
    let keys: Vec<i32> = match keys {
        Some(keys) => keys.split(',').map(number).collect::<Result<_, _>>()?,
        None => vec![0; colors.len()],
    };
    if keys.len() != colors.len() {
        let ranks = plan.world;
        return Err(format!(
            "as many keys as colours, {ranks} each: {} keys for {} colours",
            keys.len(),
            colors.len()
        ));
    }
    Ok(colors.into_iter().zip(keys).collect())
}

/// The mesh as it is, and its axes in their new order.
fn axes(text: &str, plan: &Plan) -> Result<(Mesh, Vec<String>), String> {
    let form = || "the axes as they are and in their new order: node,gpu->gpu,node".to_owned();
    let (old, new) = text.split_once("->").ok_or_else(form)?;
    let mut sized: Vec<(&str, u32)> = Vec::new();
    for axis in old.split(',').map(str::trim) {
        let (name, size) = match axis.split_once('=') {
            Some((name, size)) => (name, size.parse().map_err(|_| form())?),
            None => {
                let groups = plan.partitions.get(axis).map(Partition::groups);
                let size = groups.and_then(|groups| groups.first()).map(|group| group.size().get());
                let known = || format!("axis `{axis}` with its size, as in {axis}=2");
                (axis, size.ok_or_else(known)?)
            }
        };
        sized.push((name, size));
    }
    let mesh = Mesh::new(sized).map_err(|error| error.to_string())?;
    if mesh.world() != World::new(plan.world) {
        return Err(format!("axes of {} ranks, not of {}", plan.world, mesh.world()));
    }
    let new: Vec<String> = new.split(',').map(|name| name.trim().to_owned()).collect();
    Ok((mesh, new))
}
