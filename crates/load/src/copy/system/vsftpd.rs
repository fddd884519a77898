//! The system's vsftpd as a server of one file, to which btu's own FTP client comes.
//!
//! vsftpd has no other users than those of the system. Its anonymous ones need no account, and need
//! a password if its settings list the valid ones (`secure_email_list_enable`).

use btu_contract::activity::Token;
use btu_units::hexadecimal;

use super::ends::{MemoryFile, ServingProgram};
use super::{account, find};
use crate::LoadError;

/// The user that logs in.
pub(super) const USER: &str = "anonymous";

/// Settings, which are open as 3, with passwords and file as 4 and 5; see vsftpd.conf(5). The only directory is that
/// of its own open files.
const SETTINGS: &str = "\
    listen=NO\n\
    run_as_launching_user=YES\n\
    one_process_model=YES\n\
    seccomp_sandbox=NO\n\
    anonymous_enable=YES\n\
    local_enable=NO\n\
    secure_email_list_enable=YES\n\
    email_password_file=/proc/self/fd/4\n\
    anon_root=/proc/self/fd\n\
    anon_world_readable_only=NO\n\
    anon_upload_enable=YES\n\
    anon_other_write_enable=YES\n\
    write_enable=YES\n\
    connect_from_port_20=NO\n\
    xferlog_enable=YES\n\
    xferlog_std_format=NO\n\
    no_log_lock=YES\n\
    vsftpd_log_file=/proc/self/fd/6\n";

/// A vsftpd for connections on its standard input.
pub(super) fn service(token: &Token) -> Result<ServingProgram, LoadError> {
    let settings = MemoryFile::new(format!("{SETTINGS}ftp_username={}\n", account()?.name))?;
    let passwords = MemoryFile::new(format!("{}\n", hexadecimal(token)))?;
    let words = vec![find("vsftpd")?.into(), "/proc/self/fd/3".into()];
    // A line of a login that failed has the user's name in it, which may be any words.
    let let_in = |line: &str| line.contains("] OK LOGIN: ") && !line.contains("] FAIL LOGIN: ");
    Ok(ServingProgram { program: "vsftpd", words, let_in, held: Some([settings, passwords]) })
}
