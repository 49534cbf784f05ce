//! What the family offers beyond its tasks: PerceptualQA's training part as a fine-tuning set, and the
//! authors' released answers as runs.

use mary_contract::{
    DataSource, FamilyError, TaskSettings, Text, TuningForm, TuningRequest, TuningSet,
};

use crate::perceptualqa::CARD;

pub(crate) fn tuning_sets() -> Vec<Text> {
    vec![CARD.id.clone()]
}

/// PerceptualQA's training part, or the part that `split` names, in one of the paper's two shapes.
pub(crate) fn tuning_set(
    wanted: &TuningRequest,
    data: &dyn DataSource,
) -> Result<TuningSet, FamilyError> {
    let template = match wanted.form {
        TuningForm::Chat => "tuning-chat",
        TuningForm::Instruction => "tuning-letter",
    };
    let mut settings = TaskSettings {
        seed: wanted.seed,
        params: wanted.params.clone(),
        ..TaskSettings::default()
    };
    settings
        .params
        .insert("template".to_owned(), template.to_owned());
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
            "`mary run --tasks {} --set split=test --seed {}` asks the rest",
            CARD.id, wanted.seed
        )),
    })
}
