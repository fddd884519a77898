//! The place of the run, and the commands that show more of it.

use btu_studies::rate::Cause;

use super::RateText;

pub(super) fn lines(page: &RateText) -> Vec<String> {
    let run = page.run;
    let mut commands = vec![
        (format!("btu show {}", run.id), "this again, from what is stored"),
        (format!("btu show {} --json", run.id), "the same as data, with every interval"),
    ];
    let unfinished =
        page.verdict.warnings.iter().any(|warning| matches!(warning.cause, Cause::NotMeasured(_)));
    if unfinished {
        commands.push((format!("btu rate --resume {}", run.id), "measure what is missing"));
    }
    commands.push(("btu runs".to_owned(), "all runs"));
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let commands = commands
        .into_iter()
        .map(|(command, what)| format!("  {command:width$}  {}", page.paint.quiet(what)));
    std::iter::once(format!("Run {} is stored in {}", run.id, run.database))
        .chain(commands)
        .collect()
}
