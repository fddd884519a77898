//! Placeholder while the house is raised.
