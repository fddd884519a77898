//! What the background stations of Press (1988) do: when each transaction begins, and what is told about them. Pure: time
//! comes in as an argument.

mod background;
mod normal;
mod spread;
mod transactions;

pub use background::{Background, Schedule};
pub use normal::{NormalPauses, mean_pause_seconds, polar};
pub use spread::Spread;
pub use transactions::Transactions;
