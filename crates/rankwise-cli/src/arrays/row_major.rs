//! From Fortran order to row-major order.

/// Reorders elements of `width` bytes whose *first* axis runs fastest so that the last
/// one does. `bytes` holds exactly the elements of `shape`.
pub(crate) fn from_fortran(bytes: Vec<u8>, shape: &[u64], width: usize) -> Vec<u8> {
    // One axis (or none, or nothing) reads the same either way.
    if shape.iter().filter(|axis| **axis != 1).count() < 2 || bytes.is_empty() {
        return bytes;
    }
    let axes: Vec<usize> =
        shape.iter().map(|axis| usize::try_from(*axis).unwrap_or(usize::MAX)).collect();
    // Where the next element along each axis is, in elements; no product here exceeds
    // the number of elements, which fits.
    let mut stride = 1_usize;
    let strides: Vec<usize> = axes
        .iter()
        .map(|axis| {
            let own = stride;
            stride = stride.saturating_mul(*axis);
            own
        })
        .collect();

    let mut ordered = Vec::with_capacity(bytes.len());
    let mut index = vec![0_usize; axes.len()];
    let mut at = 0_usize;
    while let Some(element) = bytes.get(at * width..(at + 1) * width) {
        ordered.extend_from_slice(element);
        // The last axis counts fastest; one that is full starts again.
        let mut axis = axes.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return ordered };
            axis = next;
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < axes[axis] {
                break;
            }
            at -= strides[axis] * axes[axis];
            index[axis] = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_transposed() {
        // [[1, 2, 3], [4, 5, 6]], columns first.
        let fortran = vec![1, 4, 2, 5, 3, 6];
        assert_eq!(from_fortran(fortran, &[2, 3], 1), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn three_axes_and_wide_elements() {
        // a[i][j][k] = 100 i + 10 j + k, shape (2, 2, 2), first axis fastest.
        let fortran: Vec<u8> =
            [0_u16, 100, 10, 110, 1, 101, 11, 111].iter().flat_map(|x| x.to_le_bytes()).collect();
        let expected: Vec<u8> =
            [0_u16, 1, 10, 11, 100, 101, 110, 111].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(from_fortran(fortran, &[2, 2, 2], 2), expected);
    }

    #[test]
    fn a_vector_and_an_empty_array_stay_as_they_are() {
        assert_eq!(from_fortran(vec![1, 2, 3], &[3], 1), [1, 2, 3]);
        assert_eq!(from_fortran(vec![1, 2, 3], &[1, 3, 1], 1), [1, 2, 3]);
        assert_eq!(from_fortran(vec![], &[0, u64::MAX], 4), [0_u8; 0]);
    }
}
