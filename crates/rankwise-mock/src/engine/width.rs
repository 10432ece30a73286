//! The same pass over memory, compiled for the vectors that the processor has.

/// Which vectors a pass may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Those that every processor of the target has.
    Baseline,
    /// 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 64 bytes: a cache line at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// A pass over memory: plain loops, which become vectors as wide as their caller allows.
///
/// No width changes a bit of the result: nothing is fused, and every element keeps its
/// order.
pub(super) trait Pass {
    /// Goes over the memory, once.
    ///
    /// An implementation is `#[inline(always)]`, or it is compiled for the baseline only.
    ///
    /// # Safety
    ///
    /// The processor has what `L` needs. The rest is for the implementation to say.
    unsafe fn go<L: Line>(self);
}

/// How a whole cache line is stored past the caches.
pub(super) trait Line {
    /// Stores `line` at `to`, past the caches if there is a way.
    ///
    /// # Safety
    ///
    /// `to` is a multiple of 64 and valid for writes of 64 bytes; the processor has the
    /// instructions. Only a [fence](super::store::Stores::fence) orders the store before
    /// a later release.
    unsafe fn stream(line: [u64; 8], to: *mut u8);
}

impl Width {
    /// The widest that this processor has.
    pub(super) fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    /// Every width that this processor has, the baseline first.
    #[cfg(test)]
    pub(super) fn each() -> impl Iterator<Item = Self> {
        let all = [
            Self::Baseline,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512,
        ];
        let widest = all.into_iter().position(|width| width == Self::widest());
        all.into_iter().take(widest.map_or(1, |widest| widest.saturating_add(1)))
    }

    /// Goes over memory with vectors of this width.
    ///
    /// # Safety
    ///
    /// The processor has this width, as those that [`widest`](Self::widest) has given
    /// before. The rest is what the pass asks for.
    pub(super) unsafe fn go(self, pass: impl Pass) {
        match self {
            // SAFETY: the baseline needs nothing; the rest is handed on.
            Self::Baseline => unsafe { pass.go::<Narrow>() },
            // SAFETY: the processor has this width, by the contract; the rest is handed on.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2(pass) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::avx512(pass) },
        }
    }
}

/// A line in what every processor of the target has.
struct Narrow;

impl Line for Narrow {
    #[inline]
    unsafe fn stream(line: [u64; 8], to: *mut u8) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: SSE2 is part of every x86-64; the rest is handed on.
        unsafe {
            x86::stream_by_16(line, to);
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        // SAFETY: 64 bytes at a multiple of 64 are valid for writes, by the contract.
        unsafe {
            to.cast::<[u64; 8]>().write(line);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_stream_si128, _mm256_stream_si256, _mm512_stream_si512,
    };
    use core::mem::transmute;

    use super::{Line, Pass};

    /// # Safety
    ///
    /// The processor has AVX2. The rest is what the pass asks for.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2(pass: impl Pass) {
        // SAFETY: `By32` needs AVX2, which the processor has; the rest is handed on.
        unsafe { pass.go::<By32>() }
    }

    /// # Safety
    ///
    /// The processor has these extensions. The rest is what the pass asks for.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn avx512(pass: impl Pass) {
        // SAFETY: `By64` needs AVX-512F, which the processor has; the rest is handed on.
        unsafe { pass.go::<By64>() }
    }

    /// # Safety
    ///
    /// As [`Line::stream`]; every x86-64 has the instructions.
    #[inline]
    pub(super) unsafe fn stream_by_16(line: [u64; 8], to: *mut u8) {
        // SAFETY: equal sizes, and any bits are a value of either.
        let parts: [__m128i; 4] = unsafe { transmute(line) };
        for (part, at) in parts.into_iter().zip([0, 16, 32, 48]) {
            // SAFETY: 16 bytes at a multiple of 16 within the 64 that are valid for writes.
            unsafe { _mm_stream_si128(to.add(at).cast(), part) };
        }
    }

    /// A line in two stores.
    struct By32;

    impl Line for By32 {
        #[inline]
        unsafe fn stream(line: [u64; 8], to: *mut u8) {
            // SAFETY: as the contract says, AVX2 included.
            unsafe { stream_by_32(line, to) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn stream_by_32(line: [u64; 8], to: *mut u8) {
        // SAFETY: equal sizes, and any bits are a value of either.
        let parts: [__m256i; 2] = unsafe { transmute(line) };
        for (part, at) in parts.into_iter().zip([0, 32]) {
            // SAFETY: 32 bytes at a multiple of 32 within the 64 that are valid for writes.
            unsafe { _mm256_stream_si256(to.add(at).cast(), part) };
        }
    }

    /// A line in one store, which never leaves half a line waiting for the rest.
    struct By64;

    impl Line for By64 {
        #[inline]
        unsafe fn stream(line: [u64; 8], to: *mut u8) {
            // SAFETY: as the contract says, AVX-512F included.
            unsafe { stream_by_64(line, to) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn stream_by_64(line: [u64; 8], to: *mut u8) {
        // SAFETY: equal sizes, and any bits are a value of either.
        let line: __m512i = unsafe { transmute(line) };
        // SAFETY: 64 bytes at a multiple of 64, valid for writes.
        unsafe { _mm512_stream_si512(to.cast(), line) };
    }
}
