//! Network files as users write them: read, refused with a sentence, and the library that comes
//! with btu.

mod errors;
mod handbook;
mod library;
mod mangled;
mod parameters;
mod reading;
