//! What a check finds in whole programs: who touches what, where sequences part, which
//! groups and messages do not meet.

mod alike;
mod buffers;
mod dice;
mod edits;
mod interleavings;
mod meeting;
