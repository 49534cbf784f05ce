//! Files that only their owner reads: a study's folder holds answers, keys and passwords.

use std::io;
use std::path::Path;

/// Makes a folder with everything in it readable by its owner alone. Links are left alone.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let only = |path: &Path, mode: u32| -> io::Result<()> {
            let now = std::fs::symlink_metadata(path)?.permissions();
            if now.mode() & 0o077 != 0 {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
            }
            Ok(())
        };
        only(path, 0o700)?;
        let mut folders = vec![path.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(&next)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                let done = if kind.is_dir() {
                    folders.push(entry.path());
                    only(&entry.path(), 0o700)
                } else if kind.is_file() {
                    only(&entry.path(), 0o600)
                } else {
                    Ok(())
                };
                match done {
                    // Another process may have moved it meanwhile: journals and half files come and go.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    done => done?,
                }
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

pub(crate) fn only_owner(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes an empty file that only its owner reads, where there is none yet. One that is there is not opened:
/// closing it would drop the locks that SQLite holds on it in this process.
pub(crate) fn file(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}
