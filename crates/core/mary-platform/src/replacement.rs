//! Files that are either the old version or the new one: written beside their place and moved there when
//! whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file under way. Dropped without [`Replacement::commit`], it leaves its place as it was.
pub struct Replacement {
    file: Option<BufWriter<File>>,
    beside: PathBuf,
    place: PathBuf,
}

impl Replacement {
    /// Begins a file that will stand at `place`.
    pub fn begin(place: &Path) -> io::Result<Self> {
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        // In the same folder, so that the move is one step; by process and count, so that two do not meet.
        let (process, count) = (std::process::id(), BEGUN.fetch_add(1, Ordering::Relaxed));
        let beside = place.with_file_name(format!(".{name}.{process}.{count}.part"));
        // What a killed process of this number left goes. Made anew, so that no link put there is written
        // through.
        match fs::remove_file(&beside) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let file = File::options().write(true).create_new(true).open(&beside)?;
        Ok(Self {
            file: Some(BufWriter::new(file)),
            beside,
            place: place.to_owned(),
        })
    }

    /// Puts it in its place, once it is on the disk.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let moved = file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.beside, &self.place));
        if moved.is_err() {
            // The half file is of no use to anybody; the error that matters is the first one.
            let _ = fs::remove_file(&self.beside);
        }
        moved
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.beside);
        }
    }
}

pub fn replace_file(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(place)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Moves a file that grew beside its place (a continued download) to where it belongs, once it is on the
/// disk.
pub fn move_into_place(whole: &Path, place: &Path) -> io::Result<()> {
    crate::writable_place(whole)?;
    File::options().append(true).open(whole)?.sync_all()?;
    fs::rename(whole, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_old_one_until_the_new_one_is_whole() {
        let folder = std::env::temp_dir().join(format!("mary-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = folder.join("a.json");
        replace_file(&place, b"old").unwrap();
        let mut half = Replacement::begin(&place).unwrap();
        half.write_all(b"ne").unwrap();
        half.flush().unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"old");
        drop(half);
        assert_eq!(fs::read(&place).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left");
        replace_file(&place, b"new").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"new");
        assert!(replace_file(&folder.join("none/b"), b"x").is_err());
        let grown = folder.join("a.incomplete");
        fs::write(&grown, b"grown").unwrap();
        move_into_place(&grown, &place).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"grown");
        assert!(!grown.exists() && move_into_place(&grown, &place).is_err());
        #[cfg(unix)]
        {
            // A link in the place is replaced, not followed, and so is one that waits beside it.
            let theirs = folder.join("theirs");
            fs::write(&theirs, b"theirs").unwrap();
            fs::remove_file(&place).unwrap();
            std::os::unix::fs::symlink(&theirs, &place).unwrap();
            for ahead in 0..64 {
                let name = format!(".a.json.{}.{ahead}.part", std::process::id());
                std::os::unix::fs::symlink(&theirs, folder.join(name)).unwrap();
            }
            replace_file(&place, b"ours").unwrap();
            assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
            assert!(fs::symlink_metadata(&place).unwrap().is_file());
        }
        // A folder in the way is an error, and the half file goes.
        assert!(replace_file(&folder, b"x").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
