//! What a server counts, as text of `OpenMetrics`.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The numbers of this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// By the first digit of the status; 0: the caller was gone before.
    requests: [AtomicU64; 6],
    microseconds: AtomicU64,
    taken_uploads: AtomicU64,
    refused_uploads: AtomicU64,
    pub(crate) connections: Gauge,
    pub(crate) programs: Gauge,
}

pub(crate) static METRICS: Metrics = Metrics {
    requests: [const { AtomicU64::new(0) }; 6],
    microseconds: AtomicU64::new(0),
    taken_uploads: AtomicU64::new(0),
    refused_uploads: AtomicU64::new(0),
    connections: Gauge(AtomicI64::new(0)),
    programs: Gauge(AtomicI64::new(0)),
};

/// How many there are at present.
#[derive(Debug)]
pub(crate) struct Gauge(AtomicI64);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(&'static Gauge);

impl Gauge {
    pub(crate) fn one(&'static self) -> Counted {
        self.0.fetch_add(1, Relaxed);
        Counted(self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    pub(crate) fn count(&self, is_upload: bool, status: u16, took: Duration) {
        self.requests[usize::from(status / 100).min(5)].fetch_add(1, Relaxed);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Relaxed);
        if is_upload {
            let uploads = if status == 201 { &self.taken_uploads } else { &self.refused_uploads };
            uploads.fetch_add(1, Relaxed);
        }
    }

    /// All of them, with the connections to the database, and the runs in it if it answers.
    pub(crate) fn text(&self, connections: usize, runs: Option<i64>) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, values: &[(&str, String)]| {
            let name = format!("btu_board_{name}");
            let _ = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {help}");
            let total = if kind == "counter" { "_total" } else { "" };
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{total}{labels} {value}");
            }
        };
        let counted = |counter: &AtomicU64| counter.load(Relaxed).to_string();
        let classes = (0..).zip(&self.requests).map(|(class, counter)| {
            let name = if class == 0 { "gone".to_owned() } else { format!("{class}xx") };
            (format!("{{status=\"{name}\"}}"), counted(counter))
        });
        let classes: Vec<(String, String)> = classes.collect();
        let classes: Vec<_> =
            classes.iter().map(|(name, number)| (name.as_str(), number.clone())).collect();
        family("requests", "counter", "Requests by the class of their status.", &classes);
        let seconds = self.microseconds.load(Relaxed) as f64 / 1e6;
        let help = "Time from the head of each request to the end of its answer.";
        family("request_seconds", "counter", help, &[("", seconds.to_string())]);
        let uploads = [
            ("{result=\"taken\"}", counted(&self.taken_uploads)),
            ("{result=\"refused\"}", counted(&self.refused_uploads)),
        ];
        family("uploads", "counter", "Publications that came.", &uploads);
        for (name, help, gauge) in [
            ("connections", "Connections of callers.", &self.connections),
            ("programs", "Programs that compute.", &self.programs),
        ] {
            family(name, "gauge", help, &[("", gauge.0.load(Relaxed).to_string())]);
        }
        let help = "Connections to the database, in use or not.";
        family("database_connections", "gauge", help, &[("", connections.to_string())]);
        let runs: Vec<_> = runs.iter().map(|runs| ("", runs.to_string())).collect();
        family("runs", "gauge", "Runs that are not deleted, if the database answers.", &runs);
        text + "# EOF\n"
    }
}
