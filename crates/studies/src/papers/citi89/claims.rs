//! The report's statements, compared with its model.

use super::{Case, Printed};
use crate::papers::Claim;

/// Every sentence that can be checked.
pub(super) fn all(printed: &Printed, cases: &[Case], crossing: u32) -> Vec<Claim> {
    let [light, heavy] = [&cases[0], &cases[1]];
    let background = printed.background.packets_per_second * printed.background.bits / printed.rate;
    let before = printed.aggregate(100.0, f64::from(crossing) - 1.0);
    vec![
        Claim::new(
            "figure 9",
            "the sender's packet has 11,520 bits in one field, 11,880 in another (scan)",
            "1460 bytes (text) are 11,680 bits; 11,520 or 11,880 give neither the traffic nor the mean packet",
            false,
        ),
        Claim::new(
            "figure 9",
            "utilization (data) 8.04 % (scan)",
            format!(
                "{:.2} %: 60 and 10 packets are {:.0} b/s; with collisions {:.2} %",
                light.utilization * 100.0,
                light.traffic_bits_per_second,
                light.utilization_with_collisions * 100.0
            ),
            false,
        ),
        Claim::new(
            "figure 10",
            "delay 17.118 ms (scan)",
            format!(
                "{:.3} ms with the delay of propagation that figure 9 gives",
                heavy.delay_seconds * 1e3
            ),
            false,
        ),
        Claim::new(
            "section 4",
            "87 % of the network in background traffic, 94 % in all",
            format!("{:.1} % and {:.1} %", background * 100.0, heavy.utilization * 100.0),
            true,
        ),
        Claim::new(
            "section 4",
            "at 1034 packets/s the network has just become the limit",
            format!(
                "at {crossing}: {before:.1} s one packet below, {:.1} s there, sender {:.1} s",
                heavy.aggregate_seconds, heavy.simple_seconds
            ),
            crossing == 1034,
        ),
        Claim::new(
            "section 4",
            "background packets of 1000 bytes on average",
            format!(
                "{:.0} bytes on the cable; with UDP, IP and Ethernet around them 1000 would be 1046",
                printed.background.bits / 8.0
            ),
            true,
        ),
    ]
}
