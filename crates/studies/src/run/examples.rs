//! The library of experiments to start from.

/// An example of an experiment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// The name of the example.
    pub name: &'static str,
    /// The text of the experiment file.
    pub text: &'static str,
    /// The programs that it needs in addition to a shell; none where it has btu's own activities
    /// only.
    pub programs: &'static [&'static str],
}

macro_rules! example {
    ($name:literal $(, $program:literal)*) => {
        Example { name: $name, text: include_str!(concat!("examples/", $name, ".toml")), programs: &[$($program),*] }
    };
}

/// All of them: those without requirements first.
pub const EXAMPLES: [Example; 11] = [
    example!("queue"),
    example!("rate-and-distance"),
    example!("busy-host"),
    example!("message-size"),
    example!("loss"),
    example!("transports"),
    example!("download-and-copy"),
    example!("curl", "curl", "python3"),
    example!("scp", "scp", "ssh-keygen", "/usr/sbin/sshd"),
    example!("redis", "redis-server", "redis-benchmark"),
    example!("iperf3", "iperf3"),
];

impl Example {
    /// The question that it answers: its `about`.
    pub fn question(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("about = \""));
        line.map_or("", |line| line.trim_end_matches('"'))
    }
}
