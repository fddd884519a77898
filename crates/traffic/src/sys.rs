//! System calls behind safe faces; the only modules of this room that contain unsafe code.

pub(crate) mod batch;
pub(crate) mod completions;
pub(crate) mod memory;
pub(crate) mod nice;
pub(crate) mod option;
pub(crate) mod rights;
pub(crate) mod ring;
pub(crate) mod stream;
