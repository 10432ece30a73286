//! The engine against the model's reference, bit for bit, on guarded memory.
#![allow(unsafe_code, reason = "the engine's one door is unsafe")]

mod arithmetic;
mod golden;
mod matrix;
mod memory;
mod refused;
mod sharing;
mod values;
