//! Who takes part in a template: how many ranks, as which mesh, on which devices.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_topology::Mesh;

use super::error::TemplateError;
use crate::file::{Group, List, Mesh as MeshTable, Spanned, Whole};
use crate::limits;

/// The ranks of a template.
///
/// ```
/// use rankwise_plan::template::{Ranks, TemplateError};
///
/// let eight = Ranks::flat(8).on_devices(["a", "b"]).unwrap_err();
/// assert_eq!(eight, TemplateError::Devices { devices: 2, ranks: 8 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    count: u64,
    axes: Vec<(String, u64)>,
    over: Option<String>,
    devices: Vec<String>,
}

impl Ranks {
    /// So many ranks, in one group.
    pub const fn flat(count: u64) -> Self {
        Self { count, axes: Vec::new(), over: None, devices: Vec::new() }
    }

    /// A mesh: axes with their sizes, the last varying fastest with the rank.
    pub fn mesh<Name: AsRef<str>>(
        axes: impl IntoIterator<Item = (Name, u32)>,
    ) -> Result<Self, TemplateError> {
        let mesh = Mesh::new(axes)?;
        let axis = |axis: &rankwise_topology::Axis| {
            (axis.name().to_string(), u64::from(axis.size().get()))
        };
        let axes: Vec<(String, u64)> = mesh.axes().iter().map(axis).collect();
        let count = u64::from(mesh.world().size().get());
        Ok(Self { count, axes, over: None, devices: Vec::new() })
    }

    /// The scheme runs along this axis, in each group of it, and not over all ranks.
    pub fn along(mut self, axis: &str) -> Result<Self, TemplateError> {
        self.axis(axis)?;
        self.over = Some(axis.to_string());
        Ok(self)
    }

    /// The device of each rank, rank 0 first.
    pub fn on_devices<Name: Into<String>>(
        mut self,
        devices: impl IntoIterator<Item = Name>,
    ) -> Result<Self, TemplateError> {
        self.devices = devices.into_iter().map(Into::into).collect();
        let devices = u64::try_from(self.devices.len()).unwrap_or(u64::MAX);
        if devices != self.count {
            return Err(TemplateError::Devices { devices, ranks: self.count });
        }
        Ok(self)
    }

    /// How many ranks there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many of them share one instance of the scheme.
    pub fn in_group(&self) -> u64 {
        let over = self.over.as_deref().and_then(|name| self.size_of(name));
        over.unwrap_or(self.count)
    }

    /// The axis that the scheme runs along, if it does not run over all ranks.
    pub fn over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    /// The size of an axis that must be there.
    pub(super) fn axis(&self, name: &str) -> Result<u64, TemplateError> {
        self.size_of(name).ok_or_else(|| {
            let expected = format!("an axis called {name}");
            TemplateError::Axis { found: self.described(), expected }
        })
    }

    /// `a mesh of replica and shard`, for errors.
    pub(super) fn described(&self) -> String {
        if self.axes.is_empty() {
            return format!("{} ranks without a mesh", self.count);
        }
        let names: Vec<&str> = self.axes.iter().map(|(name, _)| name.as_str()).collect();
        format!("a mesh of {}", names.join(" and "))
    }

    pub(super) fn axes(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|(name, _)| name.as_str())
    }

    /// Which rank of its group along the scheme's axis a rank is.
    pub(super) fn coordinate(&self, rank: u64) -> u64 {
        self.coordinate_along(self.over(), rank)
    }

    /// Which rank of its group along an axis a rank is, or of all ranks.
    pub(super) fn coordinate_along(&self, axis: Option<&str>, rank: u64) -> u64 {
        let size = axis.and_then(|axis| self.size_of(axis)).unwrap_or(self.count);
        let along = rank.checked_div(self.stride(axis)).unwrap_or(0);
        along.checked_rem(size).unwrap_or(0)
    }

    /// The ranks that share an instance of the scheme with one, in order.
    pub(super) fn group_of(&self, rank: u64) -> Vec<u64> {
        let stride = self.stride(self.over());
        let first = rank.saturating_sub(self.coordinate(rank).saturating_mul(stride));
        let member = |index: u64| first.saturating_add(index.saturating_mul(stride));
        (0..self.in_group()).map(member).collect()
    }

    /// How far apart neighbours along an axis are.
    fn stride(&self, along: Option<&str>) -> u64 {
        let Some(along) = along else { return 1 };
        let inner = self.axes.iter().rev().take_while(|(axis, _)| axis != along);
        inner.fold(1_u64, |stride, (_, size)| stride.saturating_mul(*size))
    }

    /// Refuses what no plan can be.
    pub(super) fn check(&self) -> Result<(), TemplateError> {
        match self.count {
            0 => Err(TemplateError::Zero { what: "ranks".to_string() }),
            ranks if ranks > limits::RANKS => Err(TemplateError::TooManyRanks { ranks }),
            _ => Ok(()),
        }
    }

    /// `[group]` of the plan.
    pub(super) fn group(&self) -> Group {
        let ranks = self.devices.is_empty().then(|| whole(self.count));
        let devices = (!self.devices.is_empty()).then(|| list(&self.devices));
        Group { devices, ranks, sharing: None }
    }

    /// `[mesh]` of the plan.
    pub(super) fn mesh_table(&self) -> Option<MeshTable> {
        if self.axes.is_empty() {
            return None;
        }
        let (names, sizes): (Vec<String>, Vec<u64>) = self.axes.iter().cloned().unzip();
        let shape = sizes.into_iter().map(whole).collect();
        Some(MeshTable { axes: Some(list(&names)), shape: Some(Spanned::nowhere(shape)) })
    }

    fn size_of(&self, name: &str) -> Option<u64> {
        self.axes.iter().find(|(axis, _)| axis == name).map(|(_, size)| *size)
    }
}

pub(super) fn whole(number: u64) -> Spanned<Whole> {
    Spanned::nowhere(Whole::new(number))
}

pub(super) fn list(names: &[String]) -> List<String> {
    Spanned::nowhere(names.iter().cloned().map(Spanned::nowhere).collect())
}
