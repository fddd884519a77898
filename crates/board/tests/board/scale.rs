//! Ten thousand runs.
