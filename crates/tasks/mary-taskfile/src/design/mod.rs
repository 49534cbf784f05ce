//! Designs: items whose texts differ by condition, cut into regions, with predictions about the regions' surprisals. One
//! request scores the texts of all conditions; an item has a verdict for each prediction and effects in bits.

mod formula;
mod read;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    Ask, Citation, ContinuationScore, DataSource, Details, Estimate, InForce, Item, Items,
    Judgement, Measure, Needs, Param, Prompt, Reply, Request, Response, Sample, Score, Scoring,
    Start, StartError, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
};
use mary_stats::{LEVEL, intervals::mean_t};
use serde_json::{Value, json};

use crate::TaskFileError;
use crate::form::StartForm;
use crate::judge::{fault, not_finite};
use read::{Design, DesignItem};

/// A task with conditions, regions and predictions.
pub struct DesignTask {
    design: Arc<Design>,
    card: TaskCard,
}

impl DesignTask {
    /// Reads one of SyntaxGym's suites (JSON), or a task file with `[design]`; nothing where the file is something else.
    pub fn read(path: &Path) -> Result<Option<Self>, TaskFileError> {
        let Some(design) = read::read(path)? else {
            return Ok(None);
        };
        let (id, title) = (design.id.clone(), design.title.clone());
        let mut card = TaskCard::new(id, title, design.about.clone());
        let (text, link) = design.citation.clone();
        card.citation = Citation {
            text: text.into(),
            link: link.into(),
        };
        if design.start.is_none() {
            let about = "What stands before the first token: the tokenizer's own start token or else end of text (auto), or a begin-of-sequence token as in lm-evaluation-harness.";
            let start = Param::new("start", "auto", Start::VALUES, about);
            card.params = std::borrow::Cow::Owned(vec![start]);
        }
        card.content = Some(design.content.clone().into());
        Ok(Some(Self {
            design: Arc::new(design),
            card,
        }))
    }

    fn start(&self, settings: &TaskSettings) -> Result<Start, TaskError> {
        if let Some(StartForm(start)) = &self.design.start {
            return Ok(start.clone());
        }
        let name = settings.param(&self.card, "start");
        let wrong = |e: StartError| TaskError::Setting(format!("{}: start: {e}", self.card.id));
        name.parse().map_err(wrong)
    }
}

/// A text with the places of its regions: what is empty is left out, one blank stands between the others.
fn joined(regions: &[String]) -> (String, Vec<Range<usize>>) {
    let (mut text, mut places) = (String::new(), Vec::new());
    for region in regions {
        let region = region.trim();
        if !text.is_empty() && !region.is_empty() {
            text.push(' ');
        }
        places.push(text.len()..text.len() + region.len());
        text.push_str(region);
    }
    (text, places)
}

/// The surprisals of a text's regions in bits, token by token; none where a region's first token has no score. A token belongs
/// to the region that holds its first byte that is not white space.
fn regions(
    text: &str,
    places: &[Range<usize>],
    score: &ContinuationScore,
) -> Option<Vec<Option<Vec<f64>>>> {
    let told = &score.details.as_ref()?.places;
    if told.len() != score.logprobs.len() {
        return None;
    }
    let mut found: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); places.len()];
    for (&(start, end), logprob) in told.iter().zip(&score.logprobs) {
        let token = text.get(start as usize..end as usize)?;
        let first = start as usize + token.len() - token.trim_start().len();
        let last = places.iter().rposition(|place| !place.is_empty())?;
        let holds = |place: &Range<usize>| !place.is_empty() && first < place.end;
        let at = places.iter().position(holds).unwrap_or(last);
        if let Some(bits) = found.get_mut(at).and_then(Option::as_mut) {
            bits.push(-f64::from(*logprob) / std::f64::consts::LN_2);
        }
    }
    if score.first_unscored {
        let cut = places.iter().position(|place| !place.is_empty())?;
        *found.get_mut(cut)? = None;
    }
    Some(found)
}

impl Design {
    fn item(&self, item: &DesignItem, start: &Start) -> Result<Item, TaskError> {
        let texts: Vec<String> = item.conditions.iter().map(|(_, r)| joined(r).0).collect();
        if texts.iter().any(String::is_empty) {
            let (id, item) = (&self.id, &item.id);
            let why = format!("{id}: item `{item}` has a condition without words");
            return Err(TaskError::Setting(why));
        }
        let conditions = item.conditions.iter();
        let conditions = conditions.map(|(name, regions)| (name.clone(), json!(regions)));
        let conditions: serde_json::Map<String, Value> = conditions.collect();
        let ask = Ask::subject(Request::Score(Score {
            prefix: Prompt::plain(""),
            continuations: texts,
            start: start.clone(),
            details: Details {
                places: true,
                ..Details::default()
            },
        }));
        let target = Target::Data(json!({ "conditions": conditions }));
        Ok(Item::new(item.id.clone(), target, vec![ask]))
    }

    /// Bits of each region (from 1; 0 is the whole text) in each condition of an item.
    fn bits(
        &self,
        item: &DesignItem,
        scores: &[ContinuationScore],
    ) -> Option<BTreeMap<(String, usize), f64>> {
        let mut bits = BTreeMap::new();
        for ((name, parts), score) in item.conditions.iter().zip(scores) {
            let (text, places) = joined(parts);
            let mut whole = Some(0.0);
            for (at, tokens) in regions(&text, &places, score)?.into_iter().enumerate() {
                let value = tokens.map(|tokens| self.metric.of(tokens));
                whole = whole.zip(value).map(|(sum, x)| sum + x);
                bits.extend(value.map(|x| ((name.clone(), at + 1), x)));
            }
            bits.extend(whole.map(|x| ((name.clone(), 0), x)));
        }
        Some(bits)
    }

    fn judge(&self, id: &str, answers: &[Reply]) -> Result<Judgement, Box<Judgement>> {
        let item = self.items.iter().find(|item| item.id == id);
        let item = item.ok_or_else(|| fault("there is no such item in the design"))?;
        let scores = match answers.first().map(|r| &r.answer) {
            Some(Response::Scored(scored))
                if scored.continuations.len() == item.conditions.len() =>
            {
                &scored.continuations
            }
            _ => return Err(fault("expected log-probabilities of each condition's text")),
        };
        let unknown = |why: &str| Ok(Judgement::not_applicable(why));
        let Some(bits) = self.bits(item, scores) else {
            return unknown("the model does not tell where its tokens lie");
        };
        if bits.values().any(|x| !x.is_finite()) {
            return Err(not_finite("a surprisal is not a number"));
        }
        let of = |number: usize, name: &str| bits.get(&(name.to_owned(), number)).copied();
        let verdict = |formula: &formula::Formula| formula.holds(&of).map(f64::from);
        let mut verdicts = Vec::new();
        for (name, formula) in &self.predictions {
            let Some(value) = verdict(formula) else {
                return unknown("a region that a prediction names has no score");
            };
            verdicts.push((name, value));
        }
        let score = verdicts.first().map_or(0.0, |(_, value)| *value);
        let mut judgement = Judgement::scored(score);
        if verdicts.len() > 1 {
            for (name, value) in &verdicts {
                judgement = judgement.measured(name, *value);
            }
        }
        let effects: serde_json::Map<String, Value> = self
            .named_effects()
            .into_iter()
            .filter_map(|(name, formula, weight)| {
                Some((name, json!(formula.number(&of)? * weight)))
            })
            .collect();
        let shown = self.shown();
        let means: serde_json::Map<String, Value> = shown
            .iter()
            .filter_map(|region| {
                let mean = of(region.number, &region.condition)?;
                Some((region.to_string(), json!(mean)))
            })
            .collect();
        judgement.notes = json!({ "effects": effects, "bits": means });
        Ok(judgement)
    }

    /// Each comparison of each prediction as a difference, then the file's own effects and the crossing of its factors.
    fn named_effects(&self) -> Vec<(String, formula::Formula, f64)> {
        let predictions = self.predictions.iter();
        let claimed = predictions.flat_map(|(_, claim)| claim.effects());
        let mut found: Vec<(String, formula::Formula, f64)> = Vec::new();
        for formula in claimed {
            let name = formula.to_string();
            if found.iter().all(|(known, ..)| *known != name) {
                found.push((name, formula, 1.0));
            }
        }
        let own = self.effects.iter();
        found.extend(own.map(|e| (e.name.clone(), e.formula.clone(), e.weight)));
        found
    }

    /// The regions whose means by condition are shown: those that formulas name, in every condition.
    fn shown(&self) -> Vec<formula::Region> {
        let named = self.named_effects();
        let claims = self.predictions.iter().map(|(_, formula)| formula);
        let all = claims.chain(named.iter().map(|(_, formula, _)| formula));
        let regions = all.flat_map(formula::Formula::regions);
        let named = regions.map(|region| (region.number, region.name.clone()));
        let mut regions: Vec<(usize, String)> = named.collect();
        regions.sort();
        regions.dedup_by_key(|(number, _)| *number);
        let conditions = self.items.first().map_or(&[][..], |item| &item.conditions);
        let mut found = Vec::new();
        for (number, name) in regions {
            found.extend(conditions.iter().map(|(condition, _)| formula::Region {
                number,
                name: name.clone(),
                condition: condition.clone(),
            }));
        }
        found
    }
}

impl Task for DesignTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let (design, start) = (Arc::clone(&self.design), self.start(settings)?);
        let count = design.items.len();
        Ok(Box::new((0..count).filter_map(move |at| {
            Some(design.item(design.items.get(at)?, &start))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let verdict = self.design.judge(&item.id, answers);
        verdict.unwrap_or_else(|refused| *refused)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        // Trials of one item are the same numbers again.
        for sample in samples.filter(|s| s.id.trial == 0) {
            for part in ["effects", "bits"] {
                let told = sample.judgement.notes.get(part).and_then(Value::as_object);
                for (name, value) in told.into_iter().flatten() {
                    let all = values.entry(name.clone()).or_default();
                    all.extend(value.as_f64());
                }
            }
        }
        let effects = self.design.named_effects().into_iter();
        let means = self.design.shown().into_iter().map(|r| r.to_string());
        let named = effects.map(|(name, ..)| name).chain(means);
        let measures = named.filter_map(|name| {
            let mean = mean_t(values.get(&name)?, LEVEL).ok()?;
            let estimate = Estimate::new(mean.value, (mean.low, mean.high), mean.n, mean.method);
            Some(Measure::new(format!("{name}, bits"), estimate))
        });
        measures.collect()
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&self.card);
        // Nothing here is drawn.
        asked.remove("seed");
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::share(Ties::Impossible)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let mut said = BTreeMap::new();
        let mut say = |name: &str, text: String| said.insert(name.to_owned(), text);
        let design = &self.design;
        for (name, formula) in &design.predictions {
            say(name, formula.to_string());
        }
        let first = design.predictions.first().map_or("", |(name, _)| name);
        let rule = "holds; what is equal is neither greater nor smaller, and `=` holds within 0.001 bits and a relative 0.00001, as in SyntaxGym";
        let how = format!("share of items for which `{first}` {rule}");
        say("score", how);
        let metric = format!("{:?}", design.metric).to_lowercase();
        let rule = "of the surprisals of a region's tokens, in bits; a token belongs to the region of its first letter";
        say("regions", format!("{metric} {rule}"));
        let over = "over items, Student's t for effects and means";
        say("intervals", over.into());
        let factors = design.factors.iter();
        let factor = |f: &read::Factor| format!("{} ({})", f.name, f.levels.join(", "));
        let crossed: Vec<String> = factors.map(factor).collect();
        if !crossed.is_empty() {
            say("factors", crossed.join(" × "));
        }
        if let Ok(start) = self.start(settings) {
            say("start", start.stated());
        }
        said
    }
}
