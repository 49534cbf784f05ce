//! The laboratory of a command: every provider of models, the tasks, and the user's places.

use mary_contract::Provider;
use mary_lab::Laboratory;
use mary_lab::builtin::Builtin;
use mary_remote::Ledger;

use crate::settings::Place;
use crate::words::words;

/// The laboratory of a command. One account of money for all remote models of a command, so that
/// `--budget` holds over all of them.
pub fn laboratory(place: &Place) -> Laboratory {
    laboratory_with(place, |providers| providers, words())
}

/// The same for somebody who looks on while answers are written.
pub fn laboratory_watched(place: &Place) -> Laboratory {
    let mut providers = local_providers();
    providers.extend(mary_remote::watched_providers(&Ledger::new()));
    with(place, providers, words())
}

/// The same with other providers, made of the usual ones, and with other words in manifests.
pub fn laboratory_with(
    place: &Place,
    arranged: impl FnOnce(Vec<Box<dyn Provider>>) -> Vec<Box<dyn Provider>>,
    words: Vec<String>,
) -> Laboratory {
    with(place, arranged(providers()), words)
}

fn with(place: &Place, providers: Vec<Box<dyn Provider>>, words: Vec<String>) -> Laboratory {
    Laboratory::new(place.runs.clone())
        .tasks(place.registry.clone())
        .providers(providers)
        .data(place.local_data())
        .answers(place.answers())
        .surveys(place.surveys())
        .command(words)
}

/// All providers, local ones first.
pub fn providers() -> Vec<Box<dyn Provider>> {
    let mut providers = local_providers();
    providers.extend(mary_remote::providers());
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
