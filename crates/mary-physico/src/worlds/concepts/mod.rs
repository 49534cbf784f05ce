//! The list of the concepts, in the order of the paper's Tables 6, 7 and 8. Each is one file of this
//! folder that holds how the concept is drawn, said and recognised and what it could be taken for; a new
//! concept is such a file and a line here.
//!
//! `rustfmt` does not look for modules in a macro's list: run it on these files by name
//! (`rustfmt --edition 2024 crates/mary-physico/src/worlds/concepts/*.rs`).

use super::Concept;

/// Makes each name a module and puts its `CONCEPT` into the list.
macro_rules! concepts {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// All concepts.
        pub(super) static CONCEPTS: &[&Concept] = &[$(&$name::CONCEPT),*];
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
