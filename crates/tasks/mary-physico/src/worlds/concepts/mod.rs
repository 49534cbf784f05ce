//! The list of the concepts, in the order of the paper's Tables 6, 7 and 8. Each is two files of this
//! folder: `lever.json` says what it is (its names, definitions and aspects, what its readings ask, and
//! what it could be taken for), `lever.rs` draws and recognises it. A new concept is such a pair and a
//! line here.
//!
//! `rustfmt` does not look for modules in a macro's list: run it on these files by name
//! (`rustfmt --edition 2024 crates/tasks/mary-physico/src/worlds/concepts/*.rs`).

use std::sync::LazyLock;

use mary_platform::given;

// What the concepts' files are written in, besides what they use themselves.
use super::draw::{disc, extent, line, quarter, ring, room, shifted, square_ring};
use super::readings::look::{Answer, Look, Move, Part, edge_or};
use super::readings::part::{area, bounds, connected, outside, skin};
use super::readings::shared::{
    alike, apart, became, beside, distinct, every, exactly, exists, filled, heights, humps,
    in_column, in_row, ordered, poles, profile, rests, scaled, sizes, surface, those, view,
};
use super::scenery::{
    bar, block, crest, curve, flame, foot, framed_part, larger, puddle, sun, vessel, walls,
};
use super::{Concept, Draw, Setting};
use crate::grid::{Grid, Pair, Place, around};

/// The code of a concept, and the file that says the rest. A function `crushed_can` draws the aspect
/// `crushed-can`; readings have their names from their functions as well.
pub(super) struct ConceptCode {
    /// [`Concept`] as JSON. Its texts are borrowed, so that none may hold an escape.
    pub(super) data: &'static str,
    pub(super) functions: &'static ConceptFunctions,
}

pub(super) struct ConceptFunctions {
    pub(super) draws: &'static [(&'static str, Draw)],
    pub(super) reads: &'static [ReadingFunctions],
}

pub(super) struct ReadingFunctions {
    pub(super) name: &'static str,
    pub(super) fits: fn(&Look) -> bool,
    /// Asked before `fits` where down matters; see [`Reading::may`].
    pub(super) may: Option<fn(&Look) -> bool>,
}

impl ConceptCode {
    pub(super) fn concept(&self) -> serde_json::Result<Concept> {
        let mut concept: Concept = serde_json::from_str(self.data)?;
        let is = |function: &str, id: &str| function.replace('_', "-") == id;
        concept.aspects.retain_mut(|aspect| {
            let mut draws = self.functions.draws.iter();
            let found = draws.find(|(name, _)| is(name, aspect.id));
            found.map(|(_, make)| aspect.make = *make).is_some()
        });
        let id = concept.id;
        concept.readings.retain_mut(|reading| {
            reading.concept = id;
            let mut reads = self.functions.reads.iter();
            let found = reads.find(|f| is(f.name, reading.id));
            found
                .map(|f| (reading.may, reading.fits) = (f.may, f.fits))
                .is_some()
        });
        Ok(concept)
    }
}

/// All concepts. A test reads every file, so that a slip is found there and not here.
pub(super) static CONCEPTS: LazyLock<Vec<&'static Concept>> = LazyLock::new(|| {
    let all = CODE.iter().filter_map(|code| code.concept().ok());
    all.map(|concept| &*Box::leak(Box::new(concept))).collect()
});

/// The functions of a concept: those that draw its aspects, and those that recognise it, each with a
/// question that may come first.
macro_rules! concept {
    (draws: $($draw:ident),+; reads: $($read:ident $(if $may:ident)?),+ $(;)?) => {
        pub(super) static FUNCTIONS: ConceptFunctions = ConceptFunctions {
            draws: &[$((stringify!($draw), $draw)),+],
            reads: &[$(concept!(@reading $read $($may)?)),+],
        };
    };
    (@reading $read:ident) => {
        ReadingFunctions { name: stringify!($read), fits: |look| $read(look).yes(), may: None }
    };
    (@reading $read:ident $may:ident) => {
        ReadingFunctions { name: stringify!($read), fits: |look| $read(look).yes(), may: Some($may) }
    };
}

/// Makes each name a module and puts its functions and its file into the list.
macro_rules! concepts {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        static CODE: &[ConceptCode] = &[$(ConceptCode {
            data: include_str!(concat!(stringify!($name), ".json")),
            functions: &$name::FUNCTIONS,
        }),*];
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
    moving,
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
    fn every_file_is_read_and_names_exactly_what_is_drawn_and_asked() {
        for code in CODE {
            let concept = code
                .concept()
                .unwrap_or_else(|e| panic!("{e}: {}", code.data));
            let file: serde_json::Value = serde_json::from_str(code.data).unwrap();
            let written = |list: &str| -> Vec<String> {
                let entries = file[list].as_array().unwrap().iter();
                entries
                    .map(|e| e["id"].as_str().unwrap().replace('-', "_"))
                    .collect()
            };
            let draws: Vec<&str> = code.functions.draws.iter().map(|f| f.0).collect();
            let reads: Vec<&str> = code.functions.reads.iter().map(|f| f.name).collect();
            assert_eq!(written("aspects"), draws, "{}", concept.id);
            assert_eq!(written("readings"), reads, "{}", concept.id);
            assert_eq!(concept.aspects.len(), draws.len());
            assert_eq!(concept.readings.len(), reads.len());
        }
        assert_eq!(CONCEPTS.len(), CODE.len());
    }

    /// Otherwise a mistake in what draws would be one in what recognises, and no test would see it.
    #[test]
    fn what_recognises_a_concept_calls_nothing_that_draws_it() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/worlds/concepts");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let mark = "\n// Recognised by the cells alone";
            if path.extension().is_none_or(|e| e != "rs") || path.ends_with("mod.rs") {
                continue;
            }
            let (draws, reads) = text.split_once(mark).unwrap();
            for line in draws.lines() {
                let Some(rest) = line.strip_prefix("fn ") else {
                    continue;
                };
                let name = &rest[..rest.find(['(', '<']).unwrap()];
                let call = format!("{name}(");
                let calls = reads.match_indices(&call).any(|(at, _)| {
                    let before = reads[..at].chars().next_back().unwrap();
                    !(before.is_alphanumeric() || "_.".contains(before))
                });
                let own = reads.contains(&format!("let {name} = |"));
                assert!(!calls || own, "{}: {name}", path.display());
            }
            files += 1;
        }
        assert_eq!(files, CODE.len());
    }
}
