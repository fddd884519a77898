//! The place of files: a server, this host's own disk, or a share.

use btu_contract::activity::{FilesPlace, Token};

use super::TIMEOUT;
use crate::LoadError;
use crate::files::{LocalFiles, RemoteFiles, ShareFiles};
use crate::nfs::NfsClient;

/// Files, by their place.
#[derive(Debug)]
pub(super) enum Placed {
    Remote(RemoteFiles),
    Local(LocalFiles),
    Share(ShareFiles),
}

/// Files at a place, for the client of this number.
pub(super) fn files_at(
    place: &FilesPlace,
    token: &Token,
    client: u32,
) -> Result<Placed, LoadError> {
    Ok(match place {
        FilesPlace::Server(server) => {
            Placed::Remote(RemoteFiles::new(NfsClient::connect(*server, token, client, TIMEOUT)?))
        }
        FilesPlace::Own { directory, room, service } => {
            Placed::Local(LocalFiles::new(directory, *room, *service)?)
        }
        FilesPlace::Share { directory } => Placed::Share(ShareFiles::new(directory)?),
    })
}
