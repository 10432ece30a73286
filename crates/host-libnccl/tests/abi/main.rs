//! The C ABI, called as a program would, on the stand-in for the driver.

// Every call here is one into C.
#![allow(unsafe_code)]

mod machine;

mod arguments;
mod configs;
mod groups;
mod lives;
mod resize;
mod symbols;
mod waiting;
mod windows;
