//! The bounds of a worker by its host's policy: the agent sends them to the worker with the order.

use btu_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::activity::Order;
use crate::peers::Peers;

/// Bounds of one worker; by default there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// The addresses that may call its listening ports.
    pub callers: Peers,
    /// None of its files becomes longer (setrlimit(2), `RLIMIT_FSIZE`).
    #[serde(rename = "file_bytes")]
    pub file: Option<Bytes>,
    /// Memory of its own (`RLIMIT_DATA`).
    #[serde(rename = "memory_bytes")]
    pub memory: Option<Bytes>,
    /// Files and sockets that it has open at a time (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
}

/// A worker's input: an order, and its bounds. A bare [`Order`] has no bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundedOrder {
    /// The order with the work.
    #[serde(flatten)]
    pub order: Order,
    /// The bounds.
    #[serde(default)]
    pub bounds: Bounds,
}

#[cfg(test)]
mod tests {
    use btu_units::Span;

    use super::*;
    use crate::activity::Activity;

    #[test]
    fn an_order_is_read_with_bounds_and_without() {
        let order = Order::new(u64::MAX, Span::from_seconds(5), Activity::Null);
        let bare = serde_json::to_string(&order).unwrap();
        let read: BoundedOrder = serde_json::from_str(&bare).unwrap();
        assert_eq!(read, BoundedOrder { order: order.clone(), bounds: Bounds::default() });
        let callers = Peers::within(vec!["192.0.2.0/24".parse().unwrap()]);
        let bounds = Bounds { callers, file: Some(Bytes::new(7)), ..Bounds::default() };
        let bounded = BoundedOrder { order, bounds };
        let written = serde_json::to_string(&bounded).unwrap();
        assert!(written.starts_with(&bare[..bare.len() - 1]), "{written}");
        assert_eq!(serde_json::from_str::<BoundedOrder>(&written).unwrap(), bounded);
    }
}
