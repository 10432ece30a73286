//! The meaning of a collective, before any hardware.
//!
//! A collective is a function from one input per rank to one output per rank.
//! This crate says what that function is and nothing else: it allocates
//! nothing, performs no I/O, and has never heard of a GPU, a stream or a device.
//!
//! # The story
//!
//! 1. [`GroupSize`] issues [`Rank`]s: positions in one group, in data order.
//! 2. [`Dtype`] names an element type and [`Element`] is its arithmetic.
//! 3. [`Reduction`] names how contributions combine; its [`Recipe`] says what
//!    happens before, at and after each combining step.
//! 4. [`Operation`] is one communication as the whole group sees it, and
//!    [`Row`] is its line in the one table that defines them all.
//! 5. [`Layout`] is an operation at a size: lengths, pieces and the in-place
//!    relation on every rank, checked for overflow and for the root once.
//! 6. [`fold()`] carries a recipe out over any value [`Domain`]; the
//!    [`reference`](mod@reference) does so over numbers, bit for bit.
//!
//! # Example
//!
//! Two ranks, four elements each, added up and handed out in shards:
//!
//! ```
//! use rankwise_model::{GroupSize, Layout, Operation, Reduction, reference};
//!
//! let ranks = GroupSize::new(2).unwrap();
//! let sum = Operation::ReduceScatter { reduction: Reduction::Sum };
//! let layout = Layout::new(sum, ranks, 2)?; // 2 is the count argument: one shard
//!
//! let (a, b) = ([1, 2, 3, 4], [10, 20, 30, 40]);
//! let (mut on_0, mut on_1) = ([0; 2], [0; 2]);
//! reference::evaluate(&layout, &[], &[&a, &b], &mut [&mut on_0, &mut on_1])?;
//!
//! assert_eq!(on_0, [11, 22]);
//! assert_eq!(on_1, [33, 44]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! The contract, clause by clause with worked integers and sources, is
//! `docs/semantics.md` in the repository.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

pub mod dtype;
pub mod element;
pub mod fold;
pub mod layout;
pub mod operation;
pub mod rank;
pub mod reduction;
pub mod reference;
pub mod scalar;
mod spelling;

pub use dtype::{Dtype, DtypeClass, ElementVisitor};
pub use element::Element;
pub use fold::{Domain, fold};
pub use layout::{InPlace, Layout, LayoutError, NotInGroup, Piece, RankLayout, Source};
pub use operation::{CountMeaning, Extent, Operation, OperationKind, Row};
pub use rank::{GroupSize, Rank};
pub use reduction::{Combine, Recipe, Reduction};
pub use scalar::{Literal, Scalar};
