//! `mary steer`: a direction from contrasts, added while texts are scored, beside random directions.

use std::path::PathBuf;

use clap::Args;
use mary_contract::Vector;
use mary_lab::inside::of_steering;
use mary_lab::inside::steer::{Directions, Steered, choices, contrasts, learn, steer};
use mary_weights::{ControlVector, control_vector_file, read_control_vector};

use super::inside::InsideArgs;
use super::instruments;
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct SteerArgs {
    /// Texts (.csv, .tsv, .jsonl or .parquet) with the columns text, good and bad (two continuations)
    pub file: PathBuf,
    #[command(flatten)]
    pub common: InsideArgs,
    /// Table with the columns positive and negative: the direction is the difference of their means
    #[arg(long, value_name = "FILE", required_unless_present = "vector")]
    pub contrast: Option<PathBuf>,
    /// Control vector (.gguf) with the directions, instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["contrast", "layers"])]
    pub vector: Option<PathBuf>,
    /// Layers whose stream is steered, 0 being the embedding, 1 what the first block leaves [default: the middle one]
    #[arg(long, value_name = "LAYERS", value_delimiter = ',')]
    pub layers: Vec<usize>,
    /// Column with words of the text whose last token is steered [default: every token]
    #[arg(long, value_name = "COLUMN")]
    pub region: Option<String>,
    /// What directions are multiplied by
    #[arg(
        long,
        value_name = "FACTORS",
        value_delimiter = ',',
        default_value = "-2,-1,1,2",
        allow_hyphen_values = true
    )]
    pub factors: Vec<f32>,
    /// Random directions beside each, at least 20
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub random: usize,
    /// Write the directions of one model as a control vector (.gguf)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub save: Option<PathBuf>,
}

impl Command for SteerArgs {
    const NAME: &str = "steer";
    const ABOUT: &str = "Add a direction inside a model and see what it then prefers";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        if self.save.is_some() && self.common.models.model.len() > 1 {
            return usage_error("--save writes the directions of one model; name one");
        }
        if self.save.is_some() && self.layers.contains(&0) {
            return usage_error(
                "a control vector is added after blocks, not to the embedding: --save goes with layers from 1 on",
            );
        }
        let file = instruments::input(place, &self.file)?;
        let texts = choices(&file, &self.common.joint, self.region.as_deref())?;
        let sides = self.contrast.as_deref().map(contrasts).transpose()?;
        let mut found: Vec<Steered> = Vec::new();
        self.common.each(place, &mut |name, subject, _| {
            let directions = match (&sides, &self.vector) {
                (Some(sides), _) => {
                    let middle = vec![subject.layers.div_ceil(2)];
                    let layers = if self.layers.is_empty() {
                        &middle
                    } else {
                        &self.layers
                    };
                    learn(subject, sides, layers)?
                }
                (None, Some(path)) => {
                    // A file counts the blocks after which its directions are added.
                    let read = read_control_vector(path)?.into_iter();
                    read.map(|(block, vector)| (block + 1, Vector(vector)))
                        .collect()
                }
                (None, None) => Directions::new(),
            };
            if let Some(path) = &self.save {
                let blocks = directions.iter();
                let blocks: ControlVector = blocks.map(|(l, v)| (l - 1, v.0.clone())).collect();
                mary_platform::replace_file(path, &control_vector_file(&blocks, name))?;
                tell!("vector: {}", path.display());
            }
            let how = (self.factors.as_slice(), self.random, self.common.seed);
            found.push(steer(name, subject, &texts, &directions, how)?);
            Ok(())
        })?;
        self.common
            .show(place, ("steer", "Steering"), &found, of_steering(&found))
    }
}
