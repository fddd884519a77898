//! The findings of `btu hosts doctor`, as text.

use btu_contract::doctor::{Finding, Health};

use crate::head::TextOptions;
use crate::paint::Paint;
use crate::sheet::{columns, wrap};

/// Findings as users read them: a line each, and below each problem its impact and its fix.
pub fn doctor_text(findings: &[Finding], options: &TextOptions) -> String {
    let topics = findings.iter().map(|finding| columns(&finding.topic)).max().unwrap_or_default();
    let healths = columns(Health::Missing.name());
    let indent = topics + healths + 4;
    let mut lines: Vec<String> =
        findings.iter().flat_map(|finding| lines(finding, topics, indent, options)).collect();
    let of = |health| findings.iter().filter(|finding| finding.health == health).count();
    let (good, limited, missing) = (of(Health::Ok), of(Health::Limited), of(Health::Missing));
    lines.push(String::new());
    lines.push(format!("{good} as they should be, {limited} limited, {missing} missing"));
    lines.join("\n") + "\n"
}

fn lines(finding: &Finding, topics: usize, indent: usize, options: &TextOptions) -> Vec<String> {
    let paint = Paint(options.colour);
    let width = options.columns().max(indent + 30);
    let blanks = " ".repeat(indent);
    let hang = |text: &str| wrap(text, width - indent, 0);
    let health = format!("{:7}", finding.health.name());
    let health =
        if finding.health == Health::Ok { paint.quiet(&health) } else { paint.warning(&health) };
    let mut seen = hang(&finding.observed).into_iter();
    let mut lines =
        vec![format!("{:topics$}  {health}  {}", finding.topic, seen.next().unwrap_or_default())];
    lines.extend(seen.map(|line| format!("{blanks}{line}")));
    if finding.health != Health::Ok {
        lines.extend(
            hang(&finding.impact).iter().map(|line| format!("{blanks}{}", paint.quiet(line))),
        );
        // A command is never wrapped, because users copy it.
        lines.extend(finding.fix.iter().map(|fix| format!("{blanks}try: {fix}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(topic: &str, health: Health, seen: &str) -> Finding {
        let (impact, fix) = (
            "networks cannot be started without them".to_owned(),
            Some("modprobe veth".to_owned()),
        );
        Finding {
            topic: topic.to_owned(),
            health,
            essential: false,
            observed: seen.to_owned(),
            impact,
            fix,
        }
    }

    #[test]
    fn what_is_wrong_says_why_and_what_to_do() {
        let findings = [
            finding("clock", Health::Ok, "tsc"),
            finding(
                "kernel netem",
                Health::Missing,
                "this kernel has no netem: no such file or directory; install another",
            ),
        ];
        let text = doctor_text(&findings, &TextOptions { colour: false, width: 80 });
        assert_eq!(
            text,
            "\
clock         ok       tsc
kernel netem  missing  this kernel has no netem: no such file or directory;
                       install another
                       networks cannot be started without them
                       try: modprobe veth

1 as they should be, 0 limited, 1 missing
"
        );
    }
}
