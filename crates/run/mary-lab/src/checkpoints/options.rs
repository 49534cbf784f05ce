//! From what a person says to a sweep.

use std::path::PathBuf;

use mary_weights::series;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::checkpoints::{Sweep, members};
use crate::options::BUILTIN;
use crate::{DEFAULT_MODEL, Laboratory, LeftOut, RunError, RunOptions, fit_to_models};

/// Room for checkpoints from the hub where nothing is said.
const DISK_LIMIT: u64 = 40_000_000_000;

/// Which checkpoints are swept and what each is asked, before names are looked up.
///
/// ```
/// use mary_lab::{Laboratory, RunOptions, builtin::Builtin, checkpoints::SweepOptions, families};
///
/// let lab = Laboratory::new("runs").tasks(families::registry()).providers([Box::new(Builtin) as _]);
/// let options = SweepOptions {
///     revisions: vec!["step64..step256".into()],
///     run: RunOptions { tasks: vec!["htest/rhyme".into()], ..RunOptions::default() },
///     ..SweepOptions::default()
/// };
/// let (sweep, _) = options.specify(&lab)?;
/// let steps: Vec<_> = sweep.members.iter().map(|m| m.revision.as_str()).collect();
/// assert_eq!(steps, ["step64", "step128", "step256"]);
/// # Ok::<(), mary_lab::RunError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepOptions {
    /// Models with checkpoints: a hub id, a folder of checkpoints, or (the default) `builtin/nano`.
    pub models: Vec<String>,
    /// `all` (the default), names (`step512`, or 512 for short), or ranges (`step1..step512`).
    pub revisions: Vec<String>,
    /// A table of the checkpoints there are, in place of the hub's list or the names in the folder.
    pub checkpoints: Option<PathBuf>,
    /// Tokens of one training step, where neither family nor names tell.
    pub tokens_per_step: Option<u64>,
    /// Bytes of checkpoints fetched from the hub that may lie on the disk; 40 GB where nothing is said.
    #[serde(deserialize_with = "bytes")]
    pub disk_limit: Option<u64>,
    /// What every checkpoint is asked. Its models do not count where some are named above.
    pub run: RunOptions,
}

impl SweepOptions {
    /// The sweep that is meant, and the tasks of groups that cannot run and are not in it. Without tasks it
    /// asks the starter selection of the families that follow development.
    pub fn specify<'lab>(
        &self,
        lab: &'lab Laboratory,
    ) -> Result<(Sweep<'lab>, Vec<LeftOut>), RunError> {
        let named = self.models.iter().chain(&self.run.models);
        let mut models: Vec<String> = named.filter(|m| !m.trim().is_empty()).cloned().collect();
        if models.is_empty() {
            models.push(DEFAULT_MODEL.to_owned());
        }
        let table = self.checkpoints.as_deref();
        let table = table.map(series::read_table).transpose()?;
        let all = ["all".to_owned()];
        let revisions = match self.revisions.as_slice() {
            [] => &all,
            some => some,
        };
        let members = members(&models, revisions, self.tokens_per_step, table.as_deref())?;
        let (mut spec, left) = self.run.specify(lab)?;
        let builtin = |m: &String| m.split('/').next() == Some(BUILTIN);
        fit_to_models(lab.registry(), &mut spec.tasks, models.iter().all(builtin));
        if self.run.tasks.is_empty() {
            let grows = |id: &str| {
                let family = lab
                    .registry()
                    .family(id.split('/').next().unwrap_or_default());
                family.is_some_and(|family| family.development().is_some())
            };
            spec.tasks.retain(|choice| grows(&choice.id));
            for choice in &mut spec.tasks {
                choice.settings.shots = self.run.shots;
            }
        }
        let sweep = Sweep {
            lab,
            spec,
            members,
            disk_limit: self.disk_limit.unwrap_or(DISK_LIMIT),
            shard: None,
        };
        Ok((sweep, left))
    }
}

/// Reads `40GB`, `500MB`, `1.5TB`, or a number of bytes.
///
/// ```
/// assert_eq!(mary_lab::checkpoints::read_bytes("1.5 TB"), Ok(1_500_000_000_000));
/// assert!(mary_lab::checkpoints::read_bytes("4 apples").is_err());
/// ```
pub fn read_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 40GB or 500MB");
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match lower[digits.len()..].trim() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "tb" | "t" => 1e12,
        _ => return Err(wrong()),
    };
    match digits.parse::<f64>() {
        Ok(n) if n.is_finite() && n >= 0.0 => Ok((n * unit) as u64),
        _ => Err(wrong()),
    }
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let said = match serde_json::Value::deserialize(from)? {
        serde_json::Value::String(text) => text,
        number => number.to_string(),
    };
    read_bytes(&said).map(Some).map_err(D::Error::custom)
}
