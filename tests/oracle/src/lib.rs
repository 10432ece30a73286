//! An oracle for small plans: what they leave, element by element, from the formulas.
//!
//! It judges the checker, so it shares nothing with it: no piece, no matching, no
//! term, no name. It has no dependency at all, and writes the formulas of the
//! collectives out once more, position by position.
//!
//! # How it decides
//!
//! A [`World`](world::World) holds, for every rank, buffer and position, a [`Value`](value::Value) of one
//! [`Values`](value::Values): an expression over *contributions*, brought into a normal form of
//! its own (sums with their coefficients, products as multisets, maxima and minima as
//! sets). Two values of one normal form are the same, because each law applied holds
//! for every input of the type. Where normal forms differ, **numbers** decide
//! ([`decide`](mod@decide)): both values are computed exactly, for inputs made for just this pair.
//!
//! - *Different* rests on an input for which the two values differ: that is a proof.
//! - *Same* rests on none of the inputs telling them apart. For what is decided without
//!   looking inside, that is one too:
//!   sums of contributions differ in some coefficient, and the input that is one there
//!   and zero elsewhere shows it;
//!   a maximum of contributions that another lacks shows in the input in which that
//!   contribution alone is the largest. Both kinds of input are made for every
//!   contribution that occurs.
//!   For nested folds, divisions and conversions it is as strong as some sixty random
//!   inputs of four kinds are: a maximum of up to a dozen sums has each of them on
//!   top in some of the inputs, and a division or a conversion that rounds does so in
//!   about half.
//!
//! So an error of the oracle could only be *same* for *different*, which would show as a
//! disagreement, never as a silent agreement.
//!
//! Floats are real numbers here; a conversion rounds to the precision of its type, so
//! that a value that went through bf16 is told from one that did not. Integers wrap.
//!
//! ```
//! use rankwise_oracle::decide::{Answer, Numbers};
//! use rankwise_oracle::kind::Kind;
//! use rankwise_oracle::step::{Collective, Fold, Step};
//! use rankwise_oracle::value::Values;
//! use rankwise_oracle::world::World;
//!
//! let mut values = Values::new();
//! let mut world = World::new(2, &[("x", Kind::I32, 2)], &mut values);
//! let twice = Step::collective(Collective::AllReduce, Some(Fold::Sum), None, 2, "x", "y");
//! world.take(&twice, &mut values).unwrap();
//! let again = Step::collective(Collective::AllReduce, Some(Fold::Sum), None, 2, "y", "z");
//! world.take(&again, &mut values).unwrap();
//! let at = |buffer: &str| world.held(1, buffer).unwrap().positions[0].unwrap();
//! assert_eq!(values.compare(at("y"), at("z"), &mut Numbers::new(0)), Answer::Different);
//! ```

#![forbid(unsafe_code)]

pub mod kind;
pub mod ratio;
pub mod value;

pub mod decide;
pub mod parts;
pub mod random;

pub mod expression;
pub mod step;
pub mod world;
