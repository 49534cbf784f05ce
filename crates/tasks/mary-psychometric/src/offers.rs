//! What the family offers beyond its tasks: how a model grows, from two quick tasks and the windows of
//! development over its checkpoints.

use mary_contract::{Development, Exhibits, RunSummary, Text, text};

use crate::trajectories::{Part, trajectories};
use crate::{Psychometric, windows};

impl Development for Psychometric {
    fn probes(&self) -> Vec<Text> {
        vec![
            text("psychometric/grammar-small"),
            text("psychometric/numbers"),
        ]
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        windows::exhibits(runs)
    }

    fn off_trend(&self, runs: &[RunSummary]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for trajectory in trajectories(runs) {
            if trajectory.ability.part != Part::Score {
                continue;
            }
            let title = trajectory.ability.title();
            for milestone in trajectory.milestones {
                if let Some(doubt) = milestone.doubt {
                    found.push((milestone.model, format!("{title}: {doubt}")));
                }
            }
        }
        found
    }
}
