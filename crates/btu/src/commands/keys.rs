//! `btu hosts keys`: the private authority, and the identities it issues.

use std::path::{Path, PathBuf};

use btu_control::trust::{Authority, Card, Choice, Identity, Issued, Role, day, default_directory};
use btu_report::{KeyRow, KeyState, keys_text};
use btu_testbed::note;
use btu_units::shell_word;
use serde::Serialize;

use crate::cli::{Common, Issue, Keys, KeysCommand, Revoke};
use crate::start::preflight;
use crate::terminal::{print, print_json, text_options};

/// Makes the authority, issues, revokes, lists and shows.
pub(crate) fn run(keys: &Keys, common: &Common) -> anyhow::Result<()> {
    if let (KeysCommand::Init, Some(directory)) = (&keys.command, &keys.keys) {
        preflight::new_directory("--keys (BTU_KEYS)", directory)?;
    }
    let directory =
        keys.keys.clone().map_or_else(|| default_directory(|name| std::env::var_os(name)), Ok)?;
    match &keys.command {
        KeysCommand::Init => init(&directory, common),
        KeysCommand::Issue(issue) => self::issue(&directory, issue, common),
        KeysCommand::Revoke(revoke) => self::revoke(&directory, revoke, common),
        KeysCommand::List => list(&directory, common),
        KeysCommand::Show { file } => show(file, common),
    }
}

/// The output of `btu hosts keys init --json`.
#[derive(Serialize)]
struct Made<'a> {
    authority: String,
    directory: &'a Path,
    revoked_list: PathBuf,
}

fn init(directory: &Path, common: &Common) -> anyhow::Result<()> {
    let authority = Authority::create(directory)?;
    let made = Made { authority: authority.name(), directory, revoked_list: authority.list_path() };
    if common.json {
        return print_json(&made);
    }
    let directory = directory.display();
    print(&format!(
        "Made {} in {directory}.\n\n\
         Keep {directory}/authority.key to yourself: who has it can give orders to every host of yours.\n\n\
         Next:\n  btu hosts keys issue desk --role controller     an identity for yourself\n  \
         btu hosts keys issue alpha --role agent         one for each host",
        made.authority
    ))
}

/// The output of `btu hosts keys issue --json`.
#[derive(Serialize)]
struct IssuedTo<'a> {
    #[serde(flatten)]
    card: &'a Card,
    authority: String,
    file: &'a Path,
}

fn issue(directory: &Path, issue: &Issue, common: &Common) -> anyhow::Result<()> {
    let (name, role) = (&issue.name, Role::from(issue.role));
    let mut authority = Authority::open(directory)?;
    let older = authority
        .issued()
        .iter()
        .filter(|old| is_live(old) && old.card.name == *name && old.card.role == role);
    let older = older.map(|old| still_valid(&old.card)).collect::<String>();
    let file = issue.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.{role}.pem")));
    let identity = authority.issue(name, role, issue.days, &file)?;
    if common.json {
        return print_json(&IssuedTo {
            card: identity.card(),
            authority: authority.name(),
            file: &file,
        });
    }
    print(&format!(
        "Issued {}, valid until {}: {role} {name}. It holds a private key; only you can read it.\n\n{}{older}",
        file.display(),
        identity.card().last_day(),
        next(role, name, &file)
    ))
}

fn still_valid(Card { name, serial, .. }: &Card) -> String {
    let (name, serial) = (shell_word(name), shell_word(serial));
    format!(
        "\n\nAn older one is still valid; when it is no longer used: btu hosts keys revoke {name} --serial {serial}"
    )
}

/// Advice about a new identity.
fn next(role: Role, name: &str, file: &Path) -> String {
    let (file, name) = (shell_word(&file.to_string_lossy()), shell_word(name));
    match role {
        Role::Agent => format!(
            "Next, with the host's own name and user:\n  scp -p {file} {name}:btu.pem && rm {file}\n  \
             ssh {name} btu hosts agent --identity btu.pem"
        ),
        Role::Controller => {
            format!(
                "Next:\n  btu hosts check FILE --identity {file}     are the hosts there, and what can they do?"
            )
        }
    }
}

/// The output of `btu hosts keys revoke --json`.
#[derive(Serialize)]
struct Taken {
    revoked: Vec<Issued>,
    revoked_list: PathBuf,
    list_number: u64,
}

fn revoke(directory: &Path, revoke: &Revoke, common: &Common) -> anyhow::Result<()> {
    let mut authority = Authority::open(directory)?;
    let choice = Choice {
        name: revoke.name.clone(),
        role: revoke.role.map(Role::from),
        serial: revoke.serial.clone(),
    };
    let revoked = authority.revoke(&choice)?;
    let said = Taken {
        revoked,
        revoked_list: authority.list_path(),
        list_number: authority.list_number(),
    };
    if common.json {
        return print_json(&said);
    }
    let lines = said.revoked.iter().map(|issued| {
        let Card { name, role, serial, .. } = &issued.card;
        format!("Revoked {role} {name}, serial number {serial}.\n")
    });
    let list = said.revoked_list.display();
    print(&format!(
        "{}\nIt is refused from when the others have list {}:\n  scp {list} HOST:revoked.crl     to every host, for its \
         agent's --revoked",
        lines.collect::<String>(),
        said.list_number
    ))
}

fn list(directory: &Path, common: &Common) -> anyhow::Result<()> {
    let issued = Authority::list(directory)?;
    if common.json {
        return print_json(&issued);
    }
    if issued.is_empty() {
        return print("Nothing was issued yet: btu hosts keys issue NAME --role agent|controller");
    }
    let rows = issued.iter().map(row).collect::<Vec<_>>();
    print(&keys_text(&rows, &text_options()))
}

fn row(issued: &Issued) -> KeyRow {
    let card = &issued.card;
    let state = match (issued.revoked_at_unix_s, card.days_left()) {
        (Some(at), _) => KeyState::Revoked(day(at)),
        (None, ..0) => KeyState::Lapsed,
        (None, days) => KeyState::Valid { days, ends_soon: card.warning().is_some() },
    };
    KeyRow {
        name: card.name.clone(),
        role: card.role.to_string(),
        last_day: card.last_day(),
        state,
        serial: card.serial.clone(),
    }
}

fn is_live(issued: &Issued) -> bool {
    issued.revoked_at_unix_s.is_none() && issued.card.days_left() >= 0
}

/// The output of `btu hosts keys show --json`.
#[derive(Serialize)]
struct ShownCard<'a> {
    #[serde(flatten)]
    card: &'a Card,
    authority: String,
    days_left: i64,
}

fn show(file: &Path, common: &Common) -> anyhow::Result<()> {
    let identity = Identity::load_lapsed(file)?;
    let card = identity.card();
    if common.json {
        return print_json(&ShownCard {
            card,
            authority: identity.authority(),
            days_left: card.days_left(),
        });
    }
    let Card { name, role, serial, .. } = card;
    let authority = identity.authority();
    print(&format!(
        "name           {name}\nrole           {role}\nauthority      {authority}\nvalid until    {}\nserial number  {serial}",
        card.last_day()
    ))?;
    if let Some(warning) = card.warning() {
        note!("btu: {warning}");
    }
    Ok(())
}
