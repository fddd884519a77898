//! The store as its users see it: complete runs, fault drills, and files of other versions.

mod archive;
mod drills;
mod files;
mod keep;
mod machines;
mod runs;
mod sample;
