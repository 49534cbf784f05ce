//! The laboratory of a command: every provider of models, the tasks, and the user's places.

use mary_contract::{ModelRef, Provider};
use mary_fetch::datasets::LocalData;
use mary_lab::Laboratory;
use mary_lab::builtin::Builtin;
use mary_remote::Ledger;

use crate::exit::UsageError;
use crate::matching;
use crate::own;
use crate::settings::Place;

/// The laboratory of a command. One account of money for all remote models of a command, so that
/// `--budget` holds over all of them.
pub fn laboratory(place: &Place) -> Laboratory {
    laboratory_with(place, |providers| providers, own::words())
}

/// The same for somebody who looks on while answers are written.
pub fn laboratory_watched(place: &Place) -> Laboratory {
    let spending = Ledger::new();
    let mut providers = local_providers();
    providers.extend(mary_remote::watched_providers(&spending));
    with(place, providers, spending, own::words())
}

/// The same with other providers, made of the usual ones, and with other words in manifests.
pub fn laboratory_with(
    place: &Place,
    arranged: impl FnOnce(Vec<Box<dyn Provider>>) -> Vec<Box<dyn Provider>>,
    words: Vec<String>,
) -> Laboratory {
    let spending = Ledger::new();
    let providers = arranged(providers(&spending));
    with(place, providers, spending, words)
}

fn with(
    place: &Place,
    providers: Vec<Box<dyn Provider>>,
    spending: Ledger,
    words: Vec<String>,
) -> Laboratory {
    Laboratory::new(place.runs.clone())
        .tasks(place.registry.clone())
        .providers(providers)
        .data(LocalData::new(place.data.clone(), place.datasets()))
        .answers(place.answers())
        .spending(spending)
        .command(words)
}

/// All providers, local ones first.
pub fn providers(spending: &Ledger) -> Vec<Box<dyn Provider>> {
    let mut providers = local_providers();
    providers.extend(mary_remote::providers_with(spending));
    providers
}

fn local_providers() -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(Builtin)];
    providers.push(Box::new(mary_local::provider::HF));
    providers.push(Box::new(mary_local::provider::GGUF));
    providers.push(Box::new(mary_local::vectors::VectorsProvider));
    providers.push(Box::new(mary_pymodel::PythonFiles::new()));
    providers
}

/// The provider of a model; one that is not known comes with the nearest that is.
pub fn provider<'a>(lab: &'a Laboratory, model: &ModelRef) -> Result<&'a dyn Provider, UsageError> {
    lab.provider(model).map_err(|_| {
        let names: Vec<&str> = lab.all_providers().map(|p| p.name()).collect();
        let given = model.to_string();
        let hint = match std::path::Path::new(&given) {
            // `models/x.gguf` is a path that looks like a provider's model.
            path if path.exists() => {
                let kind = if path.is_file() { "gguf" } else { "hf" };
                format!("hint: a file or folder is named with its kind: {kind}/{given}")
            }
            _ => matching::suggestion(&model.provider, names, "mary models"),
        };
        UsageError::new(format!(
            "no provider is called `{}`\n{hint}",
            model.provider
        ))
    })
}
