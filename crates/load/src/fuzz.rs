//! Entries for fuzzers: they return for any input from an FTP server, a client of the egress proxy,
//! a sender of files, either end of NFS or HTTP, or a program of the system.

pub use crate::copy::{fuzz_head as http_head, fuzz_log as copy_log, fuzz_record as rcp_record};
pub use crate::ftp::{fuzz_egress_proxy as ftp_egress_proxy, fuzz_reply as ftp_reply};
pub use crate::nfs::{fuzz_answer as nfs_answer, fuzz_call as nfs_call};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "22[79] \\PC{0,40}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                super::http_head(bytes);
                super::ftp_egress_proxy(bytes);
                super::ftp_reply(bytes);
                super::nfs_answer(bytes);
                super::nfs_call(bytes);
                super::rcp_record(bytes);
                super::copy_log(bytes);
            }
        }
    }
}
