//! What `score`, `observe` and `ask` share: their input and their estimate.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use mary_lab::PreparedRun;

use crate::exit::{Status, UsageError, missing_error, usage_error};
use crate::settings::Place;

/// The file of texts; what comes on standard input is kept in the cache folder, named by its content, so
/// that it can be read more than once and the same input continues the same run.
pub fn input(place: &Place, file: &Path) -> anyhow::Result<PathBuf> {
    if file != Path::new("-") {
        if !file.exists() {
            return missing_error(format!(
                "{}: there is no such file\nhint: texts come as lines (.txt) or as rows of .csv, .tsv, .jsonl \
                 or .parquet; `-` reads lines from standard input",
                file.display()
            ));
        }
        return Ok(file.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return usage_error("nothing came on standard input");
    }
    let folder = place.cache.join("input");
    std::fs::create_dir_all(&folder)?;
    let name = blake3::hash(&bytes).to_hex();
    let path = folder.join(format!("stdin-{}.txt", &name.as_str()[..16]));
    mary_platform::replace_file(&path, &bytes)?;
    Ok(path)
}

/// Says what would be asked, and asks nothing.
pub fn dry_run(prepared: &PreparedRun<'_>) -> anyhow::Result<Status> {
    let dry = prepared.estimate()?;
    super::print(&format!("{}\n", dry.to_string().trim_end()))?;
    super::tell("nothing was asked");
    Ok(Status::Done)
}

/// Says how many texts have no answer, and why the first of them has none: a table says it in its last column
/// only, and without the hint.
pub fn tell_failures(run: &mary_lab::Run<'_>, failed: usize) -> anyhow::Result<()> {
    for sample in run.folder().samples()? {
        let sample = sample?;
        let mut errors = sample
            .exchanges
            .iter()
            .filter_map(|e| e.reply.as_ref().err());
        if let Some(error) = errors.next_back() {
            let hint = error.hint.iter().map(|h| format!("\nhint: {h}"));
            super::tell(&format!(
                "warning: {failed} have no score; the first of them (`{}`): {error}{}",
                sample.id.item,
                hint.collect::<String>()
            ));
            break;
        }
    }
    Ok(())
}

/// Two columns, where they are named.
pub fn pair(columns: &[String]) -> Result<Option<(String, String)>, UsageError> {
    match columns {
        [] => Ok(None),
        [left, right] => Ok(Some((left.clone(), right.clone()))),
        _ => Err(UsageError::new(
            "--pair takes two columns with a comma between: --pair good,bad",
        )),
    }
}

/// Two marks, where they are named.
pub fn marks(given: Option<&str>) -> Result<Option<(String, String)>, UsageError> {
    let Some(given) = given else {
        return Ok(None);
    };
    match given.split_once(' ') {
        Some((open, close)) => Ok(Some((open.to_owned(), close.to_owned()))),
        None => Err(UsageError::new(format!(
            "--marks takes two marks with a space between, for example '[[ ]]', not `{given}`"
        ))),
    }
}
