//! Entries for fuzzers: they return for any input from a sender of files, either end of NFS or
//! HTTP, or a program of the system.

pub use crate::copy::{fuzz_head as http_head, fuzz_log as copy_log, fuzz_record as rcp_record};
pub use crate::nfs::{fuzz_answer as nfs_answer, fuzz_call as nfs_call};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let bytes = bytes.as_slice();
                super::http_head(bytes);
                super::nfs_answer(bytes);
                super::nfs_call(bytes);
                super::rcp_record(bytes);
                super::copy_log(bytes);
        }
    }
}
