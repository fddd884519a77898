//! Network files as users write them: valid ones, invalid ones with their messages, and btu's
//! library.

mod errors;
mod handbook;
mod library;
mod mangled;
mod parameters;
mod reading;
