//! Where the time of a copy went.

use btu_contract::record::Report;
use serde::Serialize;

use super::plan::Ends;
use crate::breakdown::{ConnectionShares, LimitedBy, largest};

/// A part that takes this share of the time is the largest, whatever is not known of others.
const CERTAIN: f64 = 0.5;

/// Shares of the time of a copy, from the command's start until the file is durable. Each is measured by itself: both ends
/// work at once, and a call that reads a file may run on a processor. Only the connection's sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CopyBreakdown {
    /// In calls that read the source; `None` where another program makes them.
    pub source_file: Option<f64>,
    /// In calls that write the copy and make it durable.
    pub destination_file: Option<f64>,
    /// On a processor, all of the sender's program.
    pub sender_processor: f64,
    /// On a processor, all of the receiver's program.
    pub receiver_processor: f64,
    /// What the sender's connection did; `None` where it cannot be seen, or for less than 100 ms.
    pub connection: Option<ConnectionShares>,
}

impl CopyBreakdown {
    /// Of one copy; `None` on one host.
    pub(super) fn of(ends: &Ends<'_>) -> Option<Self> {
        let [sending, receiving] = ends.reports?;
        let whole = ends.marks.durable.seconds();
        let share = |seconds: f64| (seconds / whole).min(1.0);
        let on_processor = |report: &Report| share(report.cpu.used().seconds());
        let in_calls = |end: &super::FileEnd| end.file_calls.map(|spent| share(spent.seconds()));
        (whole > 0.0).then(|| Self {
            source_file: in_calls(ends.sent),
            destination_file: in_calls(ends.received),
            sender_processor: on_processor(sending),
            receiver_processor: on_processor(receiving),
            connection: ends
                .sent
                .tcp
                .and_then(|tcp| ConnectionShares::of(&tcp, ends.marks.durable)),
        })
    }

    /// What limits the copy, and its share of the time: the largest part, unless one that is not known could be larger.
    pub fn limit(&self) -> Option<(LimitedBy, f64)> {
        let known = largest([
            (LimitedBy::SenderProcessor, self.sender_processor),
            (LimitedBy::ReceiverProcessor, self.receiver_processor),
            (LimitedBy::SourceFile, self.source_file.unwrap_or_default()),
            (LimitedBy::DestinationFile, self.destination_file.unwrap_or_default()),
        ]);
        let all_are_known = self.source_file.is_some() && self.destination_file.is_some();
        let found = match self.connection {
            Some(connection) if all_are_known => largest([known, self.unexplained(connection)]),
            _ => known,
        };
        let is_known = self.connection.is_some() && all_are_known;
        (is_known || found.1 >= CERTAIN).then_some(found)
    }

    /// The largest part of the connection. While the sender reads its file there is nothing to send, and while the
    /// receiver writes the window may be shut: what the ends explain is not the connection's.
    fn unexplained(&self, connection: ConnectionShares) -> (LimitedBy, f64) {
        let beyond = |share: f64, file: Option<f64>, processor: f64| {
            (share - file.unwrap_or_default().max(processor)).max(0.0)
        };
        let ConnectionShares { nothing_to_send, receiver_window, .. } = connection;
        largest(
            ConnectionShares {
                nothing_to_send: beyond(nothing_to_send, self.source_file, self.sender_processor),
                receiver_window: beyond(
                    receiver_window,
                    self.destination_file,
                    self.receiver_processor,
                ),
                ..connection
            }
            .parts(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(files: [Option<f64>; 2], connection: Option<[f64; 4]>) -> CopyBreakdown {
        let [source_file, destination_file] = files;
        CopyBreakdown {
            source_file,
            destination_file,
            sender_processor: 0.1,
            receiver_processor: 0.2,
            connection: connection.map(|[nothing_to_send, receiver_window, send_buffer, path]| {
                ConnectionShares {
                    nothing_to_send,
                    receiver_window,
                    send_buffer,
                    path,
                    path_parts: None,
                }
            }),
        }
    }

    #[test]
    fn the_largest_part_limits() {
        let found = |files, connection| copy(files, connection).limit();
        let files = [Some(0.7), Some(0.1)];
        assert_eq!(
            found(files, Some([0.99, 0.0, 0.0, 0.01])),
            Some((LimitedBy::SourceFile, 0.7)),
            "the disk, and not that there was nothing to send"
        );
        assert_eq!(
            found([Some(0.25), Some(0.1)], Some([0.875, 0.0, 0.0, 0.125])),
            Some((LimitedBy::NothingToSend, 0.625)),
            "what the disk does not explain"
        );
        let files = [Some(0.1), Some(0.6)];
        assert_eq!(
            found(files, Some([0.5, 0.4, 0.0, 0.1])),
            Some((LimitedBy::DestinationFile, 0.6))
        );
        let files = [Some(0.02), Some(0.05)];
        assert_eq!(found(files, Some([0.02, 0.0, 0.0, 0.98])), Some((LimitedBy::Path, 0.98)));
    }

    #[test]
    fn what_could_be_smaller_than_an_unknown_part_is_not_named() {
        assert_eq!(copy([Some(0.4), None], None).limit(), None);
        assert_eq!(copy([Some(0.6), None], None).limit(), Some((LimitedBy::SourceFile, 0.6)));
    }
}
