//! Networks raised, taken down, refused and killed, as the superuser and as an ordinary user, with
//! the test program's processes.

mod killing;
mod raising;
mod refusing;
mod support;
