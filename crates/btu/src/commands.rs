//! The commands that measure no study, a file or folder each.

pub(crate) mod agent;
pub(crate) mod archive;
pub(crate) mod doctor;
pub(crate) mod history;
pub(crate) mod imports;
pub(crate) mod iperf3;
pub(crate) mod kubernetes;
pub(crate) mod machine;
pub(crate) mod model;
pub(crate) mod model_check;
pub(crate) mod model_ui;
pub(crate) mod publish;
pub(crate) mod rank;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod sim;
pub(crate) mod watch;
