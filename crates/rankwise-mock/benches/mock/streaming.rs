//! A copy past the caches: how fast this machine moves bytes at all.

use std::time::Duration;

use crate::group::cores;
use crate::race::race;

/// Two runs of memory that no cache holds, of the same number of cache lines.
pub(crate) struct Streaming {
    from: Vec<Line>,
    to: Vec<Line>,
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; 8]);

impl Streaming {
    const LINES: usize = (64 << 20) / size_of::<Line>();

    pub(crate) fn new() -> Self {
        // Not zeroes: their pages might all be the same one.
        Self { from: vec![Line([1; 8]); Self::LINES], to: vec![Line([2; 8]); Self::LINES] }
    }

    /// Bytes read and written by one copy.
    pub(crate) fn traffic() -> u64 {
        2 * u64::try_from(Self::LINES * size_of::<Line>()).expect("less than memory")
    }

    /// Copies so many times, one thread per core.
    pub(crate) fn copy(&mut self, times: u32) -> Duration {
        let part = Self::LINES.div_ceil(cores());
        let parts = self.from.chunks(part).zip(self.to.chunks_mut(part));
        let workers = parts.map(|(from, to)| {
            move || {
                for _ in 0..times {
                    copy(from, to);
                }
            }
        });
        race(workers.collect())
    }
}

#[cfg(target_arch = "x86_64")]
fn copy(from: &[Line], to: &mut [Line]) {
    use std::arch::x86_64::{
        _mm_load_si128, _mm_sfence, _mm_stream_si128, _mm512_load_si512, _mm512_stream_si512,
    };

    #[target_feature(enable = "avx512f")]
    fn wide(from: &[Line], to: &mut [Line]) {
        for (from, to) in from.iter().zip(to) {
            // SAFETY: a line each, aligned, the one readable and the other exclusive.
            unsafe {
                _mm512_stream_si512(
                    (&raw mut to.0).cast(),
                    _mm512_load_si512((&raw const from.0).cast()),
                );
            }
        }
    }

    if is_x86_feature_detected!("avx512f") {
        // SAFETY: just detected.
        unsafe { wide(from, to) };
    } else {
        for (from, to) in from.iter().zip(to) {
            for (from, to) in from.0.as_chunks::<2>().0.iter().zip(to.0.as_chunks_mut::<2>().0) {
                // SAFETY: 16 bytes each of aligned lines; SSE2 is part of every x86-64.
                unsafe {
                    _mm_stream_si128(
                        (&raw mut *to).cast(),
                        _mm_load_si128((&raw const *from).cast()),
                    );
                }
            }
        }
    }
    // SAFETY: SSE is part of every x86-64. Streaming stores are ordered by nothing else.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn copy(from: &[Line], to: &mut [Line]) {
    to.copy_from_slice(from);
}
