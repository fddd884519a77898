//! Identifies runs of one machine.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The traits that distinguish machines, from a run's stored environment.
///
/// Two runs are of one machine when all traits are equal: processor, number of processors, memory,
/// whether a hypervisor runs it, the firmware's product name, and the host's own identity if it was
/// recorded. A machine with another processor or more memory is another machine; one with a new
/// kernel is not. Names of hosts do not count: containers get a new one each time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Traits {
    /// The model name of the processor; absent when it is not known.
    pub processor: Option<String>,
    /// How many take part.
    pub cpus: usize,
    /// Memory that the kernel manages.
    pub memory_bytes: Option<u64>,
    /// Whether a hypervisor runs it.
    pub virtual_machine: bool,
    /// Vendor and product, if the firmware has them.
    pub product: Option<String>,
    /// [`host_digest`], where it was recorded.
    pub host: Option<String>,
}

/// The kernel's own memory differs between versions by some megabytes, so memory is compared in
/// these steps.
const MEMORY_STEP_BYTES: u64 = 512 << 20;

/// A machine's name for programs: `m` and eight hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineKey(String);

impl MachineKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MachineKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Traits {
    /// The machine's key: equal traits give equal keys in all versions.
    pub fn key(&self) -> MachineKey {
        let steps =
            self.memory_bytes.map(|bytes| (bytes + MEMORY_STEP_BYTES / 2) / MEMORY_STEP_BYTES);
        let text = [
            self.processor.clone(),
            Some(self.cpus.to_string()),
            steps.map(|steps| steps.to_string()),
            Some(self.virtual_machine.to_string()),
            self.product.clone(),
            self.host.clone(),
        ];
        // An unknown field differs from an empty one, and fields are separated.
        let text: Vec<String> = text
            .into_iter()
            .map(|field| field.map_or_else(|| "-".to_owned(), |field| format!("={field}")))
            .collect();
        MachineKey(format!("m{:08x}", digest(&text.join("\n")) >> 32))
    }
}

/// A host's identity from its `/etc/machine-id`, which must not be shown directly (machine-id(5)):
/// 16 hexadecimal digits of a SHA-256 with a prefix of this program's own.
pub fn host_digest(machine_id: &str) -> String {
    format!("{:016x}", digest(&format!("btu host {}", machine_id.trim())))
}

/// The first 64 bits of the SHA-256 of `text`.
fn digest(text: &str) -> u64 {
    let all = Sha256::digest(text);
    u64::from_be_bytes(std::array::from_fn(|index| all[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits() -> Traits {
        Traits {
            processor: Some("AMD EPYC".to_owned()),
            cpus: 2,
            memory_bytes: Some(25_276_514_304),
            virtual_machine: true,
            product: None,
            host: None,
        }
    }

    #[test]
    fn the_key_stays_what_it_is() {
        assert_eq!(traits().key().as_str(), "mf0ae38c7", "stored prices hang on it");
    }

    #[test]
    fn a_kernel_that_keeps_some_megabytes_changes_nothing() {
        let other = Traits { memory_bytes: Some(25_276_514_304 - (30 << 20)), ..traits() };
        assert_eq!(other.key(), traits().key());
    }

    #[test]
    fn every_trait_tells_machines_apart() {
        let others = [
            Traits { processor: None, ..traits() },
            Traits { cpus: 4, ..traits() },
            Traits { memory_bytes: Some(50 << 30), ..traits() },
            Traits { virtual_machine: false, ..traits() },
            Traits { product: Some(String::new()), ..traits() },
            Traits { host: Some(host_digest("0123456789abcdef0123456789abcdef")), ..traits() },
        ];
        let keys: std::collections::BTreeSet<MachineKey> =
            others.iter().chain([&traits()]).map(Traits::key).collect();
        assert_eq!(keys.len(), 7);
    }

    #[test]
    fn the_hosts_identity_does_not_show() {
        let id = "0123456789abcdef0123456789abcdef";
        let digest = host_digest(id);
        assert_eq!(digest.len(), 16);
        assert!(!id.contains(&digest[..6]));
        assert_eq!(digest, host_digest(&format!("{id}\n")));
    }
}
