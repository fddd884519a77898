//! `btu hosts doctor`: checks what works on this host.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use btu_contract::doctor::Health;
use btu_control::doctor::{judge, look};
use btu_report::doctor_text;

use crate::cli::{Common, Doctor};
use crate::files;
use crate::stored;
use crate::terminal::{print, print_json, text_options};

/// This machine lacks an essential feature.
const UNABLE: u8 = 3;

/// Checks this host and prints the findings.
pub(crate) fn run(doctor: &Doctor, common: &Common) -> anyhow::Result<ExitCode> {
    if let Some(named) = &doctor.scratch {
        files::is_directory("--scratch", named)?;
    }
    let findings = judge(&look(&std::env::current_exe()?, &existing(&scratch(doctor, common))));
    if common.json {
        print_json(&findings)?;
    } else {
        print(&doctor_text(&findings, &text_options()))?;
    }
    let fatal =
        findings.iter().any(|finding| finding.essential && finding.health == Health::Missing);
    Ok(if fatal { ExitCode::from(UNABLE) } else { ExitCode::SUCCESS })
}

fn scratch(doctor: &Doctor, common: &Common) -> PathBuf {
    let next_to_data = || stored::directory(common.data.as_deref()).ok();
    doctor.scratch.clone().or_else(next_to_data).unwrap_or_else(std::env::temp_dir)
}

/// The directory, or the one in which it would be made.
fn existing(directory: &Path) -> PathBuf {
    directory.ancestors().find(|path| path.exists()).unwrap_or(directory).to_owned()
}
