//! System calls behind safe interfaces. Only these modules of the crate contain unsafe code.

pub(crate) mod allocator;
pub(crate) mod batch;
pub(crate) mod completions;
pub(crate) mod discipline;
pub(crate) mod memory;
pub(crate) mod option;
pub(crate) mod quota;
pub(crate) mod rights;
pub(crate) mod ring;
pub(crate) mod stream;
