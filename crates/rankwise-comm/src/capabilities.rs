//! What a backend declares that it does.

use core::fmt;
use std::borrow::Cow;

use rankwise_model::{Dtype, OperationKind, Reduction};

/// A set of element types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DtypeSet(u64);

impl DtypeSet {
    /// No type.
    pub const NONE: Self = Self(0);

    /// Every type that this version of the model knows.
    pub fn all() -> Self {
        Dtype::ALL.into_iter().collect()
    }

    /// With one more.
    #[must_use]
    pub const fn with(self, dtype: Dtype) -> Self {
        Self(self.0 | Self::bit(dtype))
    }

    /// Without one.
    #[must_use]
    pub const fn without(self, dtype: Dtype) -> Self {
        Self(self.0 & !Self::bit(dtype))
    }

    /// Whether it is among them.
    pub const fn contains(self, dtype: Dtype) -> bool {
        self.0 & Self::bit(dtype) != 0
    }

    const fn bit(dtype: Dtype) -> u64 {
        // A fieldless enum of fewer than 64 variants.
        1_u64.wrapping_shl(dtype as u32)
    }
}

impl FromIterator<Dtype> for DtypeSet {
    fn from_iter<I: IntoIterator<Item = Dtype>>(dtypes: I) -> Self {
        dtypes.into_iter().fold(Self::NONE, Self::with)
    }
}

/// In which order a backend folds the contributions of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldOrder {
    /// Rank 0, 1, …: results are bitwise those of the model.
    Rank,
    /// Any, and it may differ between calls, sizes and positions.
    Unspecified,
}

/// What a backend does, as data: known at run time, since a library's version is.
///
/// A declaration is a claim; the conformance suite compares it with what happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    backend: Cow<'static, str>,
    rows: Vec<(OperationKind, DtypeSet)>,
    reductions: Vec<(Reduction, DtypeSet)>,
    fold_order: FoldOrder,
    splits: bool,
    poisons_groups: bool,
}

impl Capabilities {
    /// A backend that does nothing yet; `backend` is its name with its version.
    pub fn none(backend: impl Into<Cow<'static, str>>, fold_order: FoldOrder) -> Self {
        let backend = backend.into();
        let (rows, reductions) = (Vec::new(), Vec::new());
        Self { backend, rows, reductions, fold_order, splits: false, poisons_groups: false }
    }

    /// A backend that does everything of this version of the model.
    pub fn everything(backend: impl Into<Cow<'static, str>>, fold_order: FoldOrder) -> Self {
        let all = Self::none(backend, fold_order).with_splits();
        let all =
            OperationKind::ALL.into_iter().fold(all, |all, kind| all.with(kind, DtypeSet::all()));
        Reduction::ALL
            .into_iter()
            .fold(all, |all, reduction| all.with_reduction(reduction, DtypeSet::all()))
    }

    /// Declares an operation for those types; replaces what was declared of it.
    #[must_use]
    pub fn with(mut self, operation: OperationKind, dtypes: DtypeSet) -> Self {
        self.rows.retain(|(kind, _)| *kind != operation);
        self.rows.push((operation, dtypes));
        self
    }

    /// Declares a reduction over those types; replaces what was declared of it.
    #[must_use]
    pub fn with_reduction(mut self, reduction: Reduction, dtypes: DtypeSet) -> Self {
        self.reductions.retain(|(declared, _)| *declared != reduction);
        self.reductions.push((reduction, dtypes));
        self
    }

    /// Declares that communicators can be split.
    #[must_use]
    pub const fn with_splits(mut self) -> Self {
        self.splits = true;
        self
    }

    /// Declares that one wrong call in a group makes the group fail, even where the rank
    /// program goes on.
    #[must_use]
    pub const fn with_poisoned_groups(mut self) -> Self {
        self.poisons_groups = true;
        self
    }

    /// The backend's name, with its version where it has one.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// In which order it folds.
    pub const fn fold_order(&self) -> FoldOrder {
        self.fold_order
    }

    /// Whether communicators can be split.
    pub const fn splits(&self) -> bool {
        self.splits
    }

    /// Whether one wrong call in a [group](crate::Group) makes the whole group fail, even
    /// where the rank program goes on.
    pub const fn poisons_groups(&self) -> bool {
        self.poisons_groups
    }

    /// Whether it does this operation, with this reduction if it combines, for this type.
    #[inline]
    pub fn supports(
        &self,
        operation: OperationKind,
        reduction: Option<Reduction>,
        dtype: Dtype,
    ) -> bool {
        fn among<K: PartialEq>(rows: &[(K, DtypeSet)], key: &K, dtype: Dtype) -> bool {
            rows.iter().any(|(row, dtypes)| row == key && dtypes.contains(dtype))
        }
        among(&self.rows, &operation, dtype)
            && reduction.is_none_or(|reduction| among(&self.reductions, &reduction, dtype))
    }
}

impl fmt::Display for FoldOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rank => "rank order",
            Self::Unspecified => "unspecified order",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set = DtypeSet::NONE.with(Dtype::F32).with(Dtype::I8).without(Dtype::I8);
        assert!(set.contains(Dtype::F32));
        assert!(!set.contains(Dtype::I8));
        assert!(Dtype::ALL.into_iter().all(|dtype| DtypeSet::all().contains(dtype)));
    }

    #[test]
    fn an_operation_and_its_reduction_must_both_be_declared() {
        let some = Capabilities::none("some", FoldOrder::Unspecified)
            .with(OperationKind::AllReduce, DtypeSet::all())
            .with_reduction(Reduction::Sum, DtypeSet::all().without(Dtype::F8E4M3));
        let all_reduce =
            |reduction, dtype| some.supports(OperationKind::AllReduce, Some(reduction), dtype);
        assert!(all_reduce(Reduction::Sum, Dtype::F32));
        assert!(!all_reduce(Reduction::Sum, Dtype::F8E4M3));
        assert!(!all_reduce(Reduction::Max, Dtype::F32));
        assert!(!some.supports(OperationKind::AllGather, None, Dtype::F32));
    }
}
