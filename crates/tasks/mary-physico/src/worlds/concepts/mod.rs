//! The list of the concepts, in the order of the paper's Tables 6, 7 and 8. Each is two files of this
//! folder: `lever.json` says what it is (its names, definitions and aspects, and what it could be taken
//! for), `lever.rs` draws and recognises it. A new concept is such a pair and a line here.
//!
//! `rustfmt` does not look for modules in a macro's list: run it on these files by name
//! (`rustfmt --edition 2024 crates/tasks/mary-physico/src/worlds/concepts/*.rs`).

use std::sync::LazyLock;

use serde::Deserialize;

use super::readings::Reading;
use super::{Aspect, Concept, Draw, Set, Support, Turn, Words};

/// The code of a concept, and the file that says the rest.
pub(super) struct ConceptCode {
    id: &'static str,
    /// [`ConceptFile`] as JSON. Its texts are borrowed, so that none may hold an escape.
    data: &'static str,
    /// What draws each aspect, by the aspect's name.
    aspects: &'static [(&'static str, Draw)],
    readings: &'static [Reading],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConceptFile {
    name: &'static str,
    set: Set,
    associative: bool,
    aspects: Vec<AspectEntry>,
    #[serde(borrow)]
    names: Vec<&'static str>,
    #[serde(borrow)]
    giveaways: Vec<&'static str>,
    #[serde(borrow)]
    definitions: Vec<&'static str>,
    #[serde(borrow)]
    confusable: Vec<(&'static str, &'static str)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AspectEntry {
    id: &'static str,
    rule: &'static str,
    turn: Turn,
    #[serde(default)]
    support: Support,
    #[serde(default)]
    associative_only: bool,
}

impl ConceptCode {
    fn concept(&self) -> serde_json::Result<Concept> {
        let file: ConceptFile = serde_json::from_str(self.data)?;
        let aspect = |entry: AspectEntry| {
            let (_, make) = self.aspects.iter().find(|(id, _)| *id == entry.id)?;
            Some(Aspect {
                id: entry.id,
                rule: entry.rule,
                turn: entry.turn,
                support: entry.support,
                associative_only: entry.associative_only,
                make: *make,
            })
        };
        let aspects: Vec<Aspect> = file.aspects.into_iter().filter_map(aspect).collect();
        // Read once and kept for as long as the program runs: leaking loses nothing.
        Ok(Concept {
            id: self.id,
            name: file.name,
            set: file.set,
            associative: file.associative,
            aspects: aspects.leak(),
            words: Words {
                names: file.names.leak(),
                giveaways: file.giveaways.leak(),
                definitions: file.definitions.leak(),
            },
            readings: self.readings,
            confusable: file.confusable.leak(),
        })
    }
}

/// All concepts. A test reads every file, so that a slip is found there and not here.
pub(super) static CONCEPTS: LazyLock<Vec<&'static Concept>> = LazyLock::new(|| {
    let all = CODE.iter().filter_map(|code| code.concept().ok());
    all.map(|concept| &*Box::leak(Box::new(concept))).collect()
});

/// Makes each name a module and puts its `CONCEPT` into the list.
macro_rules! concepts {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        static CODE: &[&ConceptCode] = &[$(&$name::CONCEPT),*];
    };
}

concepts! {
    // Table 6: core, development.
    atmospheric_pressure,
    energy_conservation,
    elastic_force,
    friction,
    photoelectric_effect,
    heat_conduction,
    doppler_effect,
    electromagnetic_wave,
    melting,
    vaporization,
    fluid_pressure,
    thermal_expansion_and_contraction,
    brownian_motion,
    splashing,
    oscillation,
    relativity,
    lighting,
    lifting,
    force_composition,
    pulley,
    inclined_plane,
    bernoulli_effect,
    fictitious_force,
    siphon,
    resonance,
    // Table 7: core, test.
    reference_frame,
    gravity,
    reflection,
    refraction,
    light_imaging,
    communicating_vessels,
    cut,
    laser,
    surface_tension,
    r#move,
    buoyancy,
    acceleration,
    inertia,
    electricity,
    repulsive_force,
    wave,
    lever,
    optical_filters,
    compression,
    diffuse_reflection_of_light,
    wave_interference,
    diffusion,
    vortex,
    expansion,
    nuclear_fission,
    nuclear_fusion,
    diffraction_of_waves,
    // What Table 8 adds: associative only.
    mirror,
    zoom_in,
    magnet,
    explosion,
    rotation,
    water_ripples,
    long_exposure,
    wetting,
    zoom_out,
    projection,
    polarization_of_light,
    chemical_bond,
    squeeze,
    lumination,
    vacuum,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_names_exactly_the_aspects_that_are_drawn() {
        for code in CODE {
            let concept = code
                .concept()
                .unwrap_or_else(|e| panic!("{e}: {}", code.data));
            let written: Vec<&str> = concept.aspects.iter().map(|a| a.id).collect();
            let drawn: Vec<&str> = code.aspects.iter().map(|(id, _)| *id).collect();
            assert_eq!(written, drawn, "{}", concept.id);
            let file: serde_json::Value = serde_json::from_str(code.data).unwrap();
            let entries = file["aspects"].as_array().unwrap().len();
            assert_eq!(entries, drawn.len(), "{}", concept.id);
        }
        assert_eq!(CONCEPTS.len(), CODE.len());
    }
}
