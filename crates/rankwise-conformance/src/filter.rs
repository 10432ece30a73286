//! Which cases are meant.

use core::fmt;

/// Names of cases, by parts of them.
///
/// A filter is written as a name with parts left out: its parts must be parts of the
/// name, in the same order. The empty filter means every case.
///
/// ```
/// use rankwise_conformance::Filter;
///
/// let name = "all_reduce/sum/f32/n=4/count=17/in place";
/// assert!(Filter::new("all_reduce/f32/in place").matches(name));
/// assert!(Filter::new("").matches(name));
/// assert!(!Filter::new("f32/all_reduce").matches(name)); // another order
/// assert!(!Filter::new("count=1").matches(name)); // whole parts only
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter(String);

impl Filter {
    /// The filter with those parts, separated by `/`.
    pub fn new(parts: impl Into<String>) -> Self {
        Self(parts.into())
    }

    /// Whether the case of that name is meant.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = name.split('/');
        let mut wanted = self.0.split('/').filter(|part| !part.is_empty());
        wanted.all(|wanted| parts.any(|part| part == wanted))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.0.is_empty() { "every case" } else { &self.0 })
    }
}
