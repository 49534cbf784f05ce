//! The family: its tasks, its exhibits, PerceptualQA's training part as a fine-tuning set, and whether length,
//! frequency or age of words explains errors.

use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    DataSource, Exhibits, Family, FamilyError, ReleasedRun, RunSummary, Sample, SampleAnalysis,
    ShownAs, Table, Task, TaskError, TaskRun, TaskSettings, Text, TuningForm, TuningRequest,
    TuningSet, Twin, built_in, text,
};

use crate::perceptualqa::{self, CARD};
use crate::{Confounds, Embodied, Norms, Subtask, fresh, scenes, sensoryvec};

struct WithNorms {
    norms: Norms,
    gathered: Confounds,
}

impl SampleAnalysis for WithNorms {
    fn add(&mut self, run: &TaskRun, sample: &Sample) {
        self.gathered.add(run, sample, &self.norms);
    }

    fn tables(&self) -> Vec<Table> {
        self.gathered.tables()
    }
}

impl Family for Embodied {
    fn id(&self) -> &str {
        "embodied"
    }

    fn title(&self) -> &str {
        "Embodied knowledge: SensoryVec and PerceptualQA"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(&[
            &sensoryvec::SENSORY_VEC,
            &perceptualqa::PERCEPTUAL_QA,
            &fresh::FRESH_COLOUR,
            &fresh::FRESH_GEOMETRY,
            &fresh::FRESH_SYMBOLS,
            &scenes::SCENES,
        ])
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        crate::exhibits(runs)
    }

    fn tuning_sets(&self) -> Vec<Text> {
        vec![CARD.id.clone()]
    }

    fn tuning_set(
        &self,
        _name: &str,
        wanted: &TuningRequest,
        data: &dyn DataSource,
    ) -> Result<TuningSet, FamilyError> {
        if wanted.n.is_some() {
            return Err(FamilyError::Usage(
                "PerceptualQA's fine-tuning set is four fifths of every subtask; -n cannot change that\nhint: leave -n out".into(),
            ));
        }
        if let Some(value) = wanted.params.get("template") {
            return Err(FamilyError::Usage(format!(
                "--form decides the shape of the set; found template={value}\nhint: --form chat or --form instruction"
            )));
        }
        let template = match wanted.form {
            TuningForm::Chat => "tuning-chat",
            TuningForm::Instruction => "tuning-letter",
        };
        let mut settings = TaskSettings {
            seed: wanted.seed,
            params: wanted.params.clone(),
            ..TaskSettings::default()
        };
        let params = &mut settings.params;
        params.insert("template".to_owned(), template.to_owned());
        settings.check(&CARD)?;
        let items = crate::tuning_set(&settings, data)?;
        let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
        Ok(TuningSet {
            items: items.len(),
            text: match wanted.form {
                TuningForm::Chat => lines.join("\n") + "\n",
                TuningForm::Instruction => format!("[\n{}\n]\n", lines.join(",\n")),
            },
            hint: Some(format!(
                "`mary run --tasks {} --set split=test{} --seed {}` asks the rest",
                CARD.id,
                settings
                    .params
                    .get("source")
                    .map_or_else(String::new, |s| format!(" --set source={s}")),
                wanted.seed
            )),
        })
    }

    fn released_runs(
        &self,
        path: &Path,
        data: &dyn DataSource,
    ) -> Result<Option<Vec<ReleasedRun>>, TaskError> {
        crate::released_runs(path, data)
    }

    fn pair_tables(&self, runs: &[RunSummary], pairs: &[(String, String)]) -> Vec<Table> {
        crate::before_after(runs, pairs)
    }

    fn tag_order(&self, tag: &str) -> Vec<Text> {
        match tag {
            "subtask" => Subtask::ALL.iter().map(|s| text(s.name())).collect(),
            _ => Vec::new(),
        }
    }

    /// The fresh tasks ask the same items in words, as a picture and as both.
    fn twin(&self, run: &TaskRun) -> Option<Twin> {
        let tasks = crate::fresh::FRESH_TASKS;
        let card = tasks.iter().map(|t| t.card()).find(|c| c.id == run.id)?;
        let shown = match run.settings.param(card, "show") {
            "text" => ShownAs::Words,
            "picture" => ShownAs::Picture,
            "both" => ShownAs::Both,
            _ => return None,
        };
        Some(Twin {
            name: run.id.clone(),
            shown,
            apart: vec![text("show")],
        })
    }

    fn confounds(
        &self,
        data: &dyn DataSource,
    ) -> Result<Option<Box<dyn SampleAnalysis>>, TaskError> {
        Ok(Some(Box::new(WithNorms {
            norms: Norms::load(data)?,
            gathered: Confounds::default(),
        })))
    }
}
