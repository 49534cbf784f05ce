//! The one way to open a file that somebody else may have made: only a plain file, and whole only up to a
//! size.
//!
//! A folder from elsewhere can hold a FIFO, on which reading waits for ever, an endless device, or a link to
//! a file of the user's. Reading through a link to a plain file is allowed: the hub's cache consists of
//! links.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Largest file of settings, keys, prices or marks that is read.
pub const LARGEST_SETTINGS: u64 = 4 << 20;
/// Largest table, text or tensor file that is read whole.
pub const LARGEST_DATA: u64 = 4 << 30;

/// Makes opening a FIFO return instead of waiting for somebody to write.
#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
))]
const WITHOUT_WAITING: i32 = 0o4000;
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
const WITHOUT_WAITING: i32 = 0x4;

/// Opens a file for reading, unless it is a FIFO, a device, a socket or a folder.
pub fn open_plain(path: &Path) -> io::Result<File> {
    // Opening a device can have effects of its own, so the name is looked at first.
    plain(&fs::metadata(path)?)?;
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(any(
        all(
            any(target_os = "linux", target_os = "android"),
            not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
        ),
        target_vendor = "apple",
        target_os = "freebsd"
    ))]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    let file = options.open(path)?;
    // Something else may have taken the name in between.
    plain(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole file, unless it is no plain file or larger than `most` bytes.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let file = open_plain(path)?;
    let size = file.metadata()?.len();
    let too_large = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("expected a file of at most {most} bytes, found a larger one"),
        )
    };
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // It may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The same for text; what is no UTF-8 is an error of the file.
pub fn read_plain_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_plain(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected text in UTF-8"))
}

/// Opens a plain file to append, made where there is none; refuses a link or anything else.
pub fn append_plain(path: &Path) -> io::Result<File> {
    writable_place(path)?;
    fs::OpenOptions::new().create(true).append(true).open(path)
}

/// Makes a folder that nobody else can read or write in a shared place (`/tmp`); refuses somebody else's.
pub fn private_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        let found = fs::symlink_metadata(path)?;
        let us = fs::metadata("/proc/self").map(|m| m.uid());
        let foreign = us.is_ok_and(|us| us != found.uid());
        if !found.is_dir() || foreign {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "expected a folder of our own, found somebody else's",
            ));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(path)
}

/// Says whether a place may be written to: empty, or a plain file that is no link.
pub fn writable_place(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(found) if found.is_symlink() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "expected a plain file, found a link; it is not written through",
        )),
        Ok(found) => plain(&found),
    }
}

fn plain(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = if found.is_dir() {
        "a folder"
    } else {
        "a FIFO, socket or device"
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("expected a plain file, found {what}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_read_and_only_up_to_a_size() {
        let folder = std::env::temp_dir().join(format!("mary-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a");
        fs::write(&file, b"12345").unwrap();
        assert_eq!(read_plain(&file, 5).unwrap(), b"12345");
        assert!(
            read_plain(&file, 4)
                .unwrap_err()
                .to_string()
                .contains("at most 4")
        );
        assert!(
            open_plain(&folder)
                .unwrap_err()
                .to_string()
                .contains("a folder")
        );
        assert!(writable_place(&file).is_ok() && writable_place(&folder.join("new")).is_ok());
        #[cfg(unix)]
        {
            let zero = open_plain(Path::new("/dev/zero")).unwrap_err();
            assert!(zero.to_string().contains("device"), "{zero}");
            let fifo = folder.join("fifo");
            let made = std::process::Command::new("mkfifo").arg(&fifo).status();
            if made.is_ok_and(|m| m.success()) {
                // Opening it would wait for ever.
                assert!(open_plain(&fifo).is_err() && writable_place(&fifo).is_err());
            }
            let link = folder.join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            assert!(
                open_plain(&link).is_ok(),
                "reading through a link is the user's business"
            );
            let ours = folder.join("ours");
            private_folder(&ours).unwrap();
            private_folder(&ours).unwrap();
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&ours).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
            let elsewhere = folder.join("elsewhere");
            std::os::unix::fs::symlink(&ours, &elsewhere).unwrap();
            assert!(private_folder(&elsewhere).is_err());
            for refused in [writable_place(&link), append_plain(&link).map(drop)] {
                assert!(refused.unwrap_err().to_string().contains("link"));
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
