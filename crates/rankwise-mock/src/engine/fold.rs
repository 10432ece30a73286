//! The fold of every rank's input.

use core::marker::PhantomData;
use core::ops::Range;

use rankwise_model::reduction::{After, Before};
use rankwise_model::{
    Combine, Dtype, Element, ElementVisitor, GroupSize, Recipe, Reduction, Scalar,
};

use super::copy::read;
use super::format::{Bf16, E4m3, E5m2, F16};
use super::lane::{Lane, Narrow, Plain};
use super::seat::Span;
use super::store::Stores;
use super::sweep::{Group, Sweep};
use super::width::{Line, Pass, Width};

/// How the contributions of a job become its values.
pub(super) struct Fold {
    lane: InLane,
    recipe: Recipe,
    ranks: GroupSize,
    /// What each rank's contribution is multiplied by first, by rank; empty for nothing.
    factors: Vec<Scalar>,
}

impl Fold {
    /// `None` for an element type that has no [`Lane`].
    pub(super) fn new(reduction: Reduction, dtype: Dtype, ranks: GroupSize) -> Option<Self> {
        let recipe = reduction.recipe(dtype);
        let factors = match recipe.before {
            // Own scalars are another each time.
            Before::AsIs | Before::TimesOwnScalar => Vec::new(),
            Before::TimesReciprocal => {
                // The step multiplies by T(1/n), so what it makes of 1 is T(1/n) itself.
                let factor = dtype.visit(Reciprocal(ranks));
                ranks.ranks().map(|_| factor).collect()
            }
        };
        Some(Self { lane: lane_of(dtype)?, recipe, ranks, factors })
    }

    /// What each rank's contribution is multiplied by, for a pre-multiplied sum: a scalar of
    /// the element type for each.
    pub(super) fn multiply_by(&mut self, scalars: impl Iterator<Item = Scalar>) {
        if let Before::TimesOwnScalar = self.recipe.before {
            self.factors.clear();
            self.factors.extend(scalars);
        }
    }

    /// Folds bytes `bytes` of every input and stores them from byte `at` of every target
    /// on.
    ///
    /// # Safety
    ///
    /// - `bytes` begins and ends at multiples of the element size and lies inside every
    ///   input, each of which starts at a multiple of it, is valid for reads and
    ///   initialised;
    /// - as many bytes from `at` on lie inside every target and are valid for writes;
    /// - no other thread touches any of these bytes, but to read the inputs;
    /// - where a target overlaps an input, byte `at + i` of it is byte
    ///   `bytes.start + i` of that input; targets do not overlap each other;
    /// - the processor has `width`, as those that [`Width::widest`] has given before.
    pub(super) unsafe fn run(
        &self,
        inputs: &[Span],
        bytes: Range<usize>,
        targets: &[Span],
        at: usize,
        stores: Stores,
        width: Width,
    ) {
        let length = bytes.end.saturating_sub(bytes.start);
        let sweep = Sweep { targets, at, length, stores };
        // SAFETY: the lane is that of the element type; all else is handed on.
        unsafe { (self.lane)(Work { fold: self, inputs, start: bytes.start, sweep }, width) };
    }
}

/// A whole fold in one element type.
///
/// Safety: that of [`Fold::run`], for elements of this type.
type InLane = unsafe fn(Work<'_>, Width);

/// The fold in an element type; `None` for one that the model has learnt since.
fn lane_of(dtype: Dtype) -> Option<InLane> {
    /// # Safety
    ///
    /// As [`InLane`].
    unsafe fn go<A: Lane, const PARTS: usize, const WORDS: usize>(work: Work<'_>, width: Width) {
        // SAFETY: handed on.
        unsafe { width.go(Folding::<A, PARTS, WORDS>(work, PhantomData)) }
    }
    // Four vectors of 64 bytes in the middle of a step, whatever the type.
    Some(match dtype {
        Dtype::I8 => go::<Plain<i8>, 1, 256>,
        Dtype::U8 => go::<Plain<u8>, 1, 256>,
        Dtype::I32 => go::<Plain<i32>, 1, 64>,
        Dtype::U32 => go::<Plain<u32>, 1, 64>,
        Dtype::I64 => go::<Plain<i64>, 1, 32>,
        Dtype::U64 => go::<Plain<u64>, 1, 32>,
        Dtype::F16 => go::<Narrow<F16>, 2, 32>,
        Dtype::Bf16 => go::<Narrow<Bf16>, 2, 32>,
        Dtype::F32 => go::<Plain<f32>, 1, 64>,
        Dtype::F64 => go::<Plain<f64>, 1, 32>,
        Dtype::F8E4M3 => go::<Narrow<E4m3>, 4, 16>,
        Dtype::F8E5M2 => go::<Narrow<E5m2>, 4, 16>,
        _ => return None,
    })
}

/// A run of bytes to fold. It asks for what [`Fold::run`] does.
#[derive(Clone, Copy)]
struct Work<'a> {
    fold: &'a Fold,
    inputs: &'a [Span],
    start: usize,
    sweep: Sweep<'a>,
}

/// Folding as a pass, in groups of so many words of so many parts.
struct Folding<'a, L, const PARTS: usize, const WORDS: usize>(Work<'a>, PhantomData<L>);

impl<A: Lane, const PARTS: usize, const WORDS: usize> Pass for Folding<'_, A, PARTS, WORDS> {
    #[inline(always)]
    unsafe fn go<L: Line>(self) {
        let Self(work, _) = self;
        macro_rules! go {
            ($way:ident) => {
                // SAFETY: the contract of `Fold::run` is that of the sweep. The lane's words
                // are numbers, and a group of them is whole elements long.
                unsafe {
                    let how = PhantomData::<(A, $way)>;
                    work.sweep.go::<L, [A::Word; WORDS]>(&Steps::<_, PARTS, WORDS>(work, how));
                }
            };
        }
        // One loop for each way, none of which asks which it is.
        match (work.fold.recipe.combine, work.fold.factors.is_empty()) {
            (Combine::Sum, true) => go!(Sum),
            (Combine::Sum, false) => go!(ScaledSum),
            (Combine::Prod, _) => go!(Prod),
            (Combine::Max, _) => go!(Max),
            (Combine::Min, _) => go!(Min),
        }
    }
}

/// A way of folding, known when the loop is compiled.
trait Way {
    const HOW: Combine;
    /// Whether each contribution is multiplied first.
    const SCALED: bool;
}

macro_rules! ways {
    ($($name:ident $how:ident $scaled:literal;)*) => {$(
        struct $name;
        impl Way for $name {
            const HOW: Combine = Combine::$how;
            const SCALED: bool = $scaled;
        }
    )*};
}

ways! {
    Sum Sum false;
    ScaledSum Sum true;
    Prod Prod false;
    Max Max false;
    Min Min false;
}

/// What becomes of a group.
struct Steps<'a, How, const PARTS: usize, const WORDS: usize>(Work<'a>, PhantomData<How>);

impl<A: Lane, W: Way, const PARTS: usize, const WORDS: usize> Group<[A::Word; WORDS]>
    for Steps<'_, (A, W), PARTS, WORDS>
{
    #[inline(always)]
    #[allow(clippy::indexing_slicing, clippy::needless_range_loop, reason = "constant bounds")]
    unsafe fn at(&self, from: usize, length: usize) -> [A::Word; WORDS] {
        let Self(Work { fold, inputs, start, .. }, _) = self;
        let words = |input: &Span| {
            // SAFETY: inside the bytes of `Fold::run`, which lie in every input, may be
            // read and are not written meanwhile; any bits are a word.
            unsafe {
                let start = input.start().add(*start).add(from).as_ptr();
                read(start, length, [A::ZERO; WORDS])
            }
        };
        let factor = |rank: usize| {
            let factor = fold.factors.get(rank).filter(|_| W::SCALED);
            factor.map_or(A::NOTHING, |factor| A::factor(*factor))
        };
        let scaled = |value, factor| {
            if W::SCALED { A::combine(Combine::Prod, value, factor) } else { value }
        };

        let mut running = [[A::NOTHING; WORDS]; PARTS];
        let Some((first, rest)) = inputs.split_first() else { return [A::ZERO; WORDS] };
        let (first, factor_of_first) = (words(first), factor(0));
        for part in 0..PARTS {
            for word in 0..WORDS {
                running[part][word] = scaled(A::widen(first[word], part), factor_of_first);
            }
        }
        for (next, rank) in rest.iter().zip(1..) {
            let (next, factor) = (words(next), factor(rank));
            for part in 0..PARTS {
                for word in 0..WORDS {
                    let next = scaled(A::widen(next[word], part), factor);
                    running[part][word] = A::combine(W::HOW, running[part][word], next);
                }
            }
        }
        let mut folded = [A::ZERO; WORDS];
        for word in 0..WORDS {
            folded[word] = A::narrow(running[0][word], 0);
            for part in 1..PARTS {
                folded[word] = A::merge(folded[word], A::narrow(running[part][word], part));
            }
        }
        if fold.recipe.after == After::DivideTruncating {
            for word in &mut folded {
                *word = A::average_after(*word, fold.ranks);
            }
        }
        folded
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
