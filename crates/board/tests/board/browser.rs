//! The pages in a real browser, without any script.
