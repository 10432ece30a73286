//! In what calls differ.

use core::fmt;

/// One respect in which calls differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Aspect {
    /// Which operation.
    Operation,
    /// The count argument.
    Count,
    /// The element type.
    ElementType,
    /// How values combine.
    Reduction,
    /// The root.
    Root,
    /// The order of calls.
    Order,
    /// Who belongs to the group.
    Group,
    /// The caller's name for what is moved.
    Tag,
    /// Who sends to whom.
    Edge,
}

impl Aspect {
    /// Every aspect.
    pub const ALL: [Self; 9] = [
        Self::Operation,
        Self::Count,
        Self::ElementType,
        Self::Reduction,
        Self::Root,
        Self::Order,
        Self::Group,
        Self::Tag,
        Self::Edge,
    ];

    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Count => "count",
            Self::ElementType => "element type",
            Self::Reduction => "reduction",
            Self::Root => "root",
            Self::Order => "order",
            Self::Group => "group",
            Self::Tag => "tag",
            Self::Edge => "edge",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of aspects.
///
/// ```
/// use rankwise_program::{Aspect, Aspects};
///
/// let two = Aspects::from_iter([Aspect::ElementType, Aspect::Count]);
/// assert!(two.contains(Aspect::Count) && !two.contains(Aspect::Root));
/// assert_eq!(two.to_string(), "count, element type");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aspects(u16);

impl Aspects {
    /// No aspect.
    pub const NONE: Self = Self(0);

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the aspect is in the set.
    pub const fn contains(self, aspect: Aspect) -> bool {
        self.0 & aspect.bit() != 0
    }

    /// The set with that aspect too.
    #[must_use]
    pub const fn with(self, aspect: Aspect) -> Self {
        Self(self.0 | aspect.bit())
    }

    /// The aspects of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The aspects, in the order of [`Aspect::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Aspect> {
        Aspect::ALL.into_iter().filter(move |aspect| self.contains(*aspect))
    }
}

impl FromIterator<Aspect> for Aspects {
    fn from_iter<I: IntoIterator<Item = Aspect>>(aspects: I) -> Self {
        aspects.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for Aspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, aspect) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            f.write_str(aspect.name())?;
        }
        Ok(())
    }
}
