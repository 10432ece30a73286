//! The backend's real code on the stand-ins for libcuda and libnccl, without a GPU.

mod machine;

mod ends;
mod failures;
mod leaks;
mod loading;
mod streams;
mod values;
