//! What is read of a machine, a process, a connection and an emulated network around an activity.

mod cpu_time;
mod machine;
mod tcp_info;
mod wire;

pub use cpu_time::CpuTime;
pub use machine::{ClockSteps, MachineCpu, ProcessorReadings, Shares};
pub use tcp_info::TcpInfo;
pub(crate) use wire::is_default;
pub use wire::{CaptureAccount, ElementAccount, SegmentUse, WireAccount};
