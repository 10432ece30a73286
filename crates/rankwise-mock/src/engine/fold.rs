//! The fold of every rank's input, block by block.

use core::ops::Range;

use rankwise_model::reduction::{After, Before};
use rankwise_model::{
    Combine, Dtype, Element, ElementVisitor, GroupSize, Recipe, Reduction, Scalar,
};

use super::seat::Span;
use super::store::Stores;

/// How the contributions of a job become its values.
pub(super) struct Fold {
    dtype: Dtype,
    recipe: Recipe,
    ranks: GroupSize,
    /// What each rank's contribution is multiplied by first, by rank; empty for nothing.
    factors: Vec<Scalar>,
}

/// Running values of one block: small enough for the first cache, a multiple of any
/// vector.
#[repr(align(64))]
struct Block([u8; Block::BYTES]);

impl Block {
    const BYTES: usize = 4096;

    const fn new() -> Self {
        Self([0; Self::BYTES])
    }

    /// The block as elements.
    fn of<T: Element>(&mut self) -> &mut [T] {
        let elements = Self::BYTES.checked_div(size_of::<T>()).unwrap_or(0);
        // SAFETY: the bytes are initialised, exclusively borrowed, and as many as the
        // elements take; every bit pattern is a value of an `Element` (integers, floats
        // and transparent wrappers of their bits), none of which is aligned to more
        // than 64.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), elements) }
    }
}

impl Fold {
    /// `scalars` holds one per rank, of `dtype`, for a pre-multiplied sum.
    pub(super) fn new(
        reduction: Reduction,
        dtype: Dtype,
        ranks: GroupSize,
        scalars: Vec<Scalar>,
    ) -> Self {
        let recipe = reduction.recipe(dtype);
        let factors = match recipe.before {
            Before::AsIs => Vec::new(),
            Before::TimesOwnScalar => scalars,
            Before::TimesReciprocal => {
                // The step multiplies by T(1/n), so what it makes of 1 is T(1/n) itself.
                let factor = dtype.visit(Reciprocal(ranks));
                ranks.ranks().map(|_| factor).collect()
            }
        };
        Self { dtype, recipe, ranks, factors }
    }

    /// Folds bytes `bytes` of every input, block by block, and stores them from byte
    /// `at` of every target on.
    ///
    /// # Safety
    ///
    /// - `bytes` begins and ends at multiples of the element size and lies inside every
    ///   input, each of which starts at a multiple of it, is valid for reads and
    ///   initialised;
    /// - as many bytes from `at` on lie inside every target and are valid for writes;
    /// - no other thread touches any of these bytes, but to read the inputs;
    /// - where a target overlaps an input, byte `at + i` of it is byte
    ///   `bytes.start + i` of that input; targets do not overlap each other.
    pub(super) unsafe fn run(
        &self,
        inputs: &[Span],
        bytes: Range<usize>,
        targets: &[Span],
        at: usize,
        stores: Stores,
    ) {
        struct Run<'a>(&'a Fold, &'a [Span], Range<usize>, &'a [Span], usize, Stores);
        impl ElementVisitor for Run<'_> {
            type Output = ();
            fn visit<T: Element>(self) {
                let Self(fold, inputs, bytes, targets, at, stores) = self;
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2; the rest is handed on as promised.
                    return unsafe { fold.run_wide::<T>(inputs, bytes, targets, at, stores) };
                }
                // SAFETY: handed on as it was promised to `run`.
                unsafe { fold.run_as::<T>(inputs, bytes, targets, at, stores) }
            }
        }
        self.dtype.visit(Run(self, inputs, bytes, targets, at, stores));
    }

    /// The same loops, compiled for vectors twice as wide as every x86-64 has. No
    /// other arithmetic: nothing is fused, and each element keeps its order.
    ///
    /// # Safety
    ///
    /// As [`run_as`](Self::run_as).
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn run_wide<T: Element>(
        &self,
        inputs: &[Span],
        bytes: Range<usize>,
        targets: &[Span],
        at: usize,
        stores: Stores,
    ) {
        // SAFETY: handed on as promised.
        unsafe { self.run_as::<T>(inputs, bytes, targets, at, stores) }
    }

    /// # Safety
    ///
    /// As [`run`](Self::run), `T` being the element type.
    #[allow(clippy::inline_always, reason = "compiled anew for every width of vectors")]
    #[inline(always)]
    unsafe fn run_as<T: Element>(
        &self,
        inputs: &[Span],
        bytes: Range<usize>,
        targets: &[Span],
        at: usize,
        stores: Stores,
    ) {
        let (mut running, mut scratch) = (Block::new(), Block::new());
        let mut from = bytes.start;
        while from < bytes.end {
            let length = bytes.end.saturating_sub(from).min(Block::BYTES);
            let elements = length.checked_div(size_of::<T>()).unwrap_or(0);
            let block = |input: &Span| -> &[T] {
                // SAFETY: `from` begins an element inside the input, which starts aligned
                // and has `length` initialised bytes from there; any bits are a `T`. The
                // slice is dropped before anything is stored, and no other thread writes.
                unsafe {
                    let start = input.start().add(from).cast::<T>();
                    core::slice::from_raw_parts(start.as_ptr(), elements)
                }
            };
            let Some(running) = running.of::<T>().get_mut(..elements) else { return };
            let Some(scratch) = scratch.of::<T>().get_mut(..elements) else { return };
            self.fold_block(inputs.iter().map(block), running, scratch);

            let offset = at.wrapping_add(from.wrapping_sub(bytes.start));
            // SAFETY: `running` is plain initialised memory of `length` bytes.
            let folded =
                unsafe { core::slice::from_raw_parts(running.as_ptr().cast::<u8>(), length) };
            // SAFETY: the same bytes of every target are inside it, writable, and touched
            // by nobody else; `folded` is a local, disjoint from them.
            unsafe { stores.store(folded, targets, offset) };
            from = from.saturating_add(length);
        }
    }

    /// Leaves the fold of `blocks`, which come in rank order, in `running`.
    #[allow(clippy::inline_always, reason = "as its callers")]
    #[inline(always)]
    fn fold_block<'a, T: Element>(
        &self,
        mut blocks: impl Iterator<Item = &'a [T]>,
        running: &mut [T],
        scratch: &mut [T],
    ) {
        let how = self.recipe.combine;
        if self.factors.is_empty() {
            match (blocks.next(), blocks.next()) {
                (Some(first), Some(second)) => combine_into(running, how, first, second),
                (Some(only), None) => {
                    for (running, only) in running.iter_mut().zip(only) {
                        *running = only.canonical();
                    }
                }
                _ => {}
            }
            for next in blocks {
                combine(running, how, next);
            }
        } else {
            let mut factors = self.factors.iter().filter_map(|factor| factor.get::<T>());
            if let (Some(first), Some(factor)) = (blocks.next(), factors.next()) {
                multiply_into(running, first, factor);
            }
            for (next, factor) in blocks.zip(factors) {
                multiply_into(scratch, next, factor);
                combine(running, how, scratch);
            }
        }
        match self.recipe.after {
            After::AsIs => {}
            After::DivideTruncating => {
                for value in running {
                    *value = value.average_after(self.ranks);
                }
            }
        }
    }
}

/// The factor of an average, as a visitor.
struct Reciprocal(GroupSize);

impl ElementVisitor for Reciprocal {
    type Output = Scalar;
    fn visit<T: Element>(self) -> Scalar {
        Scalar::of(T::identity(Combine::Prod).average_before(self.0))
    }
}

/// `running = running ∘ next`. One plain loop per way of combining.
#[allow(clippy::inline_always, reason = "as its callers")]
#[inline(always)]
fn combine<T: Element>(running: &mut [T], how: Combine, next: &[T]) {
    macro_rules! each {
        ($how:expr) => {
            for (running, next) in running.iter_mut().zip(next) {
                *running = running.combine($how, *next);
            }
        };
    }
    match how {
        Combine::Sum => each!(Combine::Sum),
        Combine::Prod => each!(Combine::Prod),
        Combine::Max => each!(Combine::Max),
        Combine::Min => each!(Combine::Min),
    }
}

/// `running = first ∘ second`.
#[allow(clippy::inline_always, reason = "as its callers")]
#[inline(always)]
fn combine_into<T: Element>(running: &mut [T], how: Combine, first: &[T], second: &[T]) {
    macro_rules! each {
        ($how:expr) => {
            for (running, (first, second)) in running.iter_mut().zip(first.iter().zip(second)) {
                *running = first.combine($how, *second);
            }
        };
    }
    match how {
        Combine::Sum => each!(Combine::Sum),
        Combine::Prod => each!(Combine::Prod),
        Combine::Max => each!(Combine::Max),
        Combine::Min => each!(Combine::Min),
    }
}

/// `to = from · factor`.
#[allow(clippy::inline_always, reason = "as its callers")]
#[inline(always)]
fn multiply_into<T: Element>(to: &mut [T], from: &[T], factor: T) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.combine(Combine::Prod, factor);
    }
}
