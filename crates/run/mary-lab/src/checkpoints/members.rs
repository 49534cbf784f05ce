//! Which checkpoints a sweep is about, in the order of training.

use std::path::{Path, PathBuf};

use crate::RunError;
use mary_contract::training::step_of;
use mary_contract::{CheckpointName, ModelError, ModelRef};
use mary_weights::series::{self, Listed};

/// One checkpoint of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// As it is run: `hf/EleutherAI/pythia-70m@step512`, `hf/./out/step512`.
    pub model: ModelRef,
    /// The model without its step.
    pub size: String,
    /// `step512`.
    pub revision: String,
    /// Training step, if the name says one.
    pub step: Option<u64>,
    /// Tokens seen by then, where known.
    pub tokens: Option<u64>,
    /// Fetched from the hub (and so removed again when room is short).
    pub hub: bool,
}

/// Where a size's checkpoints lie.
enum Kind {
    Builtin,
    Folder(PathBuf),
    Hub,
}

/// A mistake in what was asked for, with what to do about it.
fn unclear(message: impl Into<String>) -> RunError {
    RunError::Specification(message.into())
}

/// Every checkpoint meant, size by size. A `table` replaces the hub's list and the names in a folder.
pub fn members(
    models: &[String],
    revisions: &[String],
    per_step: Option<u64>,
    table: Option<&[Listed]>,
) -> Result<Vec<Member>, RunError> {
    listed_by(&series::on_hub, models, revisions, per_step, table)
}

/// As the hub, or whoever stands in for it, lists them.
fn listed_by(
    hub: &dyn Fn(&str) -> Result<Vec<String>, ModelError>,
    models: &[String],
    revisions: &[String],
    per_step: Option<u64>,
    table: Option<&[Listed]>,
) -> Result<Vec<Member>, RunError> {
    let mut all: Vec<Member> = Vec::new();
    for given in models {
        let (model, kind) = kind_of(given)?;
        let chosen = match table {
            Some(table) => from_table(&model, table, revisions)?,
            None => choose(&model, &known(&model, &kind, hub)?, revisions, &kind)?,
        };
        let size = model.to_string();
        let per_step = per_step.or_else(|| match &kind {
            Kind::Folder(folder) => recipe_tokens(folder),
            _ => None,
        });
        for revision in chosen {
            let named = CheckpointName::read(&revision);
            let step = named.map(|n| n.step);
            let said = table.and_then(|t| t.iter().find(|l| l.name == revision)?.tokens);
            let tokens = said.or_else(|| match per_step.zip(step) {
                Some((tokens, step)) => tokens.checked_mul(step),
                None => named.and_then(|n| n.tokens_of(&size)),
            });
            let mut model = model.clone();
            match &kind {
                Kind::Folder(_) => {
                    model.name = format!("{}/{revision}", model.name.trim_end_matches('/'));
                }
                _ => model.revision = Some(revision.clone()),
            }
            let member = Member {
                model,
                size: size.clone(),
                tokens,
                step,
                revision,
                hub: matches!(kind, Kind::Hub),
            };
            if all.iter().all(|m| m.model != member.model) {
                all.push(member);
            }
        }
    }
    Ok(all)
}

fn kind_of(given: &str) -> Result<(ModelRef, Kind), RunError> {
    // A bare path of a folder is what people type first.
    let text = if Path::new(given).is_dir() {
        format!("hf/{given}")
    } else {
        given.to_owned()
    };
    let model: ModelRef = text.parse().map_err(|e: mary_contract::ModelRefError| {
        unclear(format!(
            "{e}\nhint: a sweep takes a hub id, a folder of checkpoints, or builtin/nano"
        ))
    })?;
    if let Some(revision) = &model.revision {
        return Err(unclear(format!(
            "`{given}` names one checkpoint; a sweep is over many\nhint: mary sweep {}/{} --revisions {revision},…",
            model.provider, model.name
        )));
    }
    match model.provider.as_str() {
        "builtin" => Ok((model, Kind::Builtin)),
        "hf" => {
            let folder = PathBuf::from(&model.name);
            if folder.is_dir() {
                Ok((model, Kind::Folder(folder)))
            } else if model.name.starts_with(['/', '.', '~']) {
                Err(unclear(format!("{}: no such folder", model.name)))
            } else {
                Ok((model, Kind::Hub))
            }
        }
        other => Err(unclear(format!(
            "`{given}`: a sweep needs checkpoints on the hub, in a folder, or built in; `{other}` models have none"
        ))),
    }
}

fn known(
    model: &ModelRef,
    kind: &Kind,
    hub: &dyn Fn(&str) -> Result<Vec<String>, ModelError>,
) -> Result<Vec<String>, RunError> {
    Ok(match kind {
        Kind::Builtin => crate::builtin::revisions().collect(),
        Kind::Folder(folder) => {
            let entries = std::fs::read_dir(folder)
                .map_err(|e| unclear(format!("{}: {e}", folder.display())))?;
            let mut names: Vec<String> = entries
                .flatten()
                .filter(|e| e.path().is_dir())
                .filter_map(|e| e.file_name().into_string().ok())
                .filter(|name| step_of(name).is_some())
                .collect();
            names.sort_by_key(|name| (step_of(name), name.clone()));
            if names.is_empty() {
                return Err(unclear(format!(
                    "{}: no checkpoints: expected folders called step0, step512 …, checkpoint-500, ckpt_000, iter_1000 or \
                     the like; --checkpoints names others",
                    folder.display()
                )));
            }
            names
        }
        Kind::Hub => hub(&model.name)?,
    })
}

/// The checkpoints of a table, in its order: all, or those that are named.
fn from_table(
    model: &ModelRef,
    table: &[Listed],
    wanted: &[String],
) -> Result<Vec<String>, RunError> {
    let names = || table.iter().map(|listed| listed.name.clone());
    let wanted: Vec<&str> = wanted.iter().map(|w| w.trim()).collect();
    if wanted.contains(&"all") {
        return Ok(names().collect());
    }
    if let Some(other) = wanted.iter().find(|w| names().all(|n| n != **w)) {
        return Err(unclear(format!(
            "{model}: the table names no checkpoint `{other}`\nhint: it names {}",
            names().collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(names().filter(|n| wanted.contains(&n.as_str())).collect())
}

fn choose(
    model: &ModelRef,
    known: &[String],
    wanted: &[String],
    kind: &Kind,
) -> Result<Vec<String>, RunError> {
    // A bare number is the checkpoint of this step, whatever its family calls it.
    let full = |name: &str| match name.parse::<u64>() {
        Ok(step) => {
            let of_family = known.iter().find(|k| step_of(k) == Some(step));
            of_family.cloned().unwrap_or_else(|| format!("step{step}"))
        }
        Err(_) => name.to_owned(),
    };
    let mut chosen: Vec<String> = Vec::new();
    for name in wanted.iter().map(|w| w.trim()).filter(|w| !w.is_empty()) {
        if name == "all" || name.contains("..") {
            if known.is_empty() {
                return Err(unclear(format!(
                    "the checkpoints of {model} are not known here\nhint: name them: --revisions step1000,step2000,… or --checkpoints FILE"
                )));
            }
            let (from, to) = match name.split_once("..") {
                Some((from, to)) => (bound(name, &full(from))?, bound(name, &full(to))?),
                None => (None, None),
            };
            let inside = |revision: &&String| {
                let step = step_of(revision);
                from.is_none_or(|from| step >= Some(from)) && to.is_none_or(|to| step <= Some(to))
            };
            chosen.extend(known.iter().filter(inside).cloned());
        } else {
            let name = full(name);
            // On the hub, a commit or a branch of any name can be meant.
            let free = matches!(kind, Kind::Hub) && step_of(&name).is_none();
            if !known.is_empty() && !known.contains(&name) && !free {
                return Err(unclear(format!(
                    "{model} has no checkpoint `{name}`\nhint: there are {}",
                    known.join(", ")
                )));
            }
            chosen.push(name);
        }
    }
    if chosen.is_empty() {
        return Err(unclear(format!("no checkpoint of {model} is named")));
    }
    chosen.sort_by_key(|name| (step_of(name), name.clone()));
    chosen.dedup();
    Ok(chosen)
}

/// One end of a range: the step that its name holds; nothing where it is left open.
fn bound(range: &str, end: &str) -> Result<Option<u64>, RunError> {
    match step_of(end) {
        None if !end.is_empty() => Err(unclear(format!(
            "`{range}`: `{end}` names no step\nhint: for example step1000..step5000, ..step5000 or step1000.."
        ))),
        step => Ok(step),
    }
}

/// Tokens of a step as `mary grow` wrote them beside its checkpoints.
fn recipe_tokens(folder: &Path) -> Option<u64> {
    let bytes = mary_platform::read_plain(&folder.join("recipe.json"), 16 << 20).ok()?;
    let recipe: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    recipe.get("tokens_per_step")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(model: &str, wanted: &[&str]) -> Vec<String> {
        let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        let hub = |id: &str| Ok(series::published(id));
        let found = listed_by(&hub, &[model.to_owned()], &wanted, None, None).unwrap();
        found.into_iter().map(|m| m.revision).collect()
    }

    #[test]
    fn all_of_pythia_is_its_published_schedule() {
        let all = revisions("hf/EleutherAI/pythia-70m", &["all"]);
        assert_eq!(all.len(), 154);
        assert_eq!(all[..4], ["step0", "step1", "step2", "step4"]);
        assert_eq!(all[153], "step143000");
    }

    #[test]
    fn names_numbers_and_ranges_are_put_in_the_order_of_training() {
        let found = revisions("builtin/nano", &["1000", "step0", "step64..step256"]);
        assert_eq!(found, ["step0", "step64", "step128", "step256", "step1000"]);
    }

    #[test]
    fn tokens_come_from_the_family_or_the_recipe() {
        let found = members(&["builtin/nano".into()], &["step512".into()], None, None).unwrap();
        assert_eq!(found[0].tokens, Some(512 * 8192));
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("step2")).unwrap();
        std::fs::write(
            folder.path().join("recipe.json"),
            r#"{"tokens_per_step": 100}"#,
        )
        .unwrap();
        let path = folder.path().display().to_string();
        let found = members(std::slice::from_ref(&path), &["all".into()], None, None).unwrap();
        assert_eq!(
            (found[0].tokens, found[0].model.name.clone()),
            (Some(200), format!("{path}/step2"))
        );
    }

    #[test]
    fn any_family_and_any_table_can_be_swept() {
        let amber = revisions("hf/LLM360/Amber", &["0..2", "main"]);
        assert_eq!(amber, ["main", "ckpt_000", "ckpt_001", "ckpt_002"]);
        let hub = |_: &str| Ok(vec!["step16-tokens131K".to_owned()]);
        let found = listed_by(&hub, &["hf/me/olmo".into()], &["16".into()], None, None).unwrap();
        assert_eq!(found[0].revision, "step16-tokens131K");
        assert_eq!(found[0].tokens, Some(131_000));
        let table = [("late", Some(9)), ("early", None)].map(|(name, tokens)| Listed {
            name: name.into(),
            tokens,
        });
        let ask = |wanted: &str| {
            let models = ["hf/me/mine".to_owned()];
            listed_by(&hub, &models, &[wanted.to_owned()], None, Some(&table))
        };
        let all = ask("all").unwrap();
        assert_eq!(all[0].model.revision.as_deref(), Some("late"));
        assert_eq!((all[0].tokens, all[1].tokens), (Some(9), None));
        assert_eq!(ask("early").unwrap().len(), 1);
        assert!(
            ask("other")
                .unwrap_err()
                .to_string()
                .contains("late, early")
        );
    }

    #[test]
    fn what_cannot_be_swept_is_refused_with_a_hint() {
        let refuse = |model: &str, wanted: &str| {
            let hub = |_: &str| Ok(vec!["step1".to_owned()]);
            let hub: &dyn Fn(&str) -> _ = match wanted {
                "all" => &|_: &str| Ok(Vec::new()),
                _ => &hub,
            };
            listed_by(hub, &[model.to_owned()], &[wanted.to_owned()], None, None)
                .unwrap_err()
                .to_string()
        };
        assert!(refuse("openai/gpt-4o", "all").contains("have none"));
        assert!(refuse("hf/someone/model", "all").contains("name them"));
        assert!(refuse("builtin/nano", "step3").contains("there are step0"));
        assert!(refuse("builtin/nano@step0", "all").contains("a sweep is over many"));
    }
}
