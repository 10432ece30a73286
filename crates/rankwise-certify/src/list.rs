//! Lists by numbers of 32 or 64 bits, whatever the machine's own are.

/// How long a list is.
pub(crate) fn count<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

/// One element, if it is there.
pub(crate) fn nth<T>(list: &[T], index: impl TryInto<usize>) -> Option<&T> {
    list.get(index.try_into().ok()?)
}
