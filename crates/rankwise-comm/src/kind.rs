//! The element type of a buffer: a Rust type, or a tag known at run time.

use rankwise_model::{Dtype, Element};

mod sealed {
    pub trait Sealed {}
    impl<T: rankwise_model::Element> Sealed for T {}
    impl Sealed for super::Dyn {}
}

/// What a buffer is a buffer *of*: an [`Element`] such as `f32`, or [`Dyn`].
///
/// One set of types and methods serves typed programs, where mixing `f32` and `i32`
/// does not compile, and interpreters, where it is an [`Error`](crate::Error).
///
/// ```compile_fail,E0271
/// use rankwise_comm::prelude::*;
///
/// fn mixed<C: Communicator>(comm: &C, x: &Buffer<f32, C::Memory>, y: &mut Buffer<i32, C::Memory>) {
///     comm.all_reduce(Reduction::Sum, x, y); // f32 into i32
/// }
/// ```
pub trait Kind: sealed::Sealed + 'static {
    /// What a buffer must carry to know its type: nothing, or the type itself.
    type Tag: Copy + Send + Sync + 'static;

    /// The element type.
    fn dtype(tag: Self::Tag) -> Dtype;

    /// The tag for an element type, if a buffer of this kind can hold it.
    fn tag(dtype: Dtype) -> Option<Self::Tag>;
}

impl<T: Element> Kind for T {
    type Tag = ();

    fn dtype((): ()) -> Dtype {
        T::DTYPE
    }

    fn tag(dtype: Dtype) -> Option<()> {
        (dtype == T::DTYPE).then_some(())
    }
}

/// The kind of a buffer whose element type is known at run time only.
#[derive(Clone, Copy, Debug)]
pub enum Dyn {}

impl Kind for Dyn {
    type Tag = Dtype;

    fn dtype(tag: Dtype) -> Dtype {
        tag
    }

    fn tag(dtype: Dtype) -> Option<Dtype> {
        Some(dtype)
    }
}
