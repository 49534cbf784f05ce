//! Typicality by prompting: the model is asked to rank the members, many times over, each time shown in
//! another order. A ranking that leaves a member out is discarded and counted, as in the paper.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, Estimate, Generated, Item, ItemSource, Items, Judgement, Measure, Metric,
    Needs, Reply, Request, Sample, Sampling, Scoring, SettingDefault, Task, TaskCard, TaskError,
    TaskSettings,
};
use mary_generators::{shuffle, stream};
use mary_platform::grouped;
use mary_stats::correlation::spearman_rho;
use mary_stats::intervals::{LEVEL, mean_t};

use super::{
    Category, ShownCategory, categories, exemplar_convention, exemplars, measure_of, shots,
};
use crate::cards::{card, conventions};
use crate::observed::mean;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/typicality-prompting"));

#[derive(Debug, Clone, Copy)]
pub struct Prompting;

/// The guidelines of Shah et al. 2024, Appendix B.3.1, byte for byte: published numbers rest on them.
const GUIDELINES: &str = include_str!("guidelines.txt");

/// The paper's prompt; exemplars (§3.3, whose wording it does not print) stand before the query as
/// sentences with the blank filled.
fn prompt(category: &str, exemplars: &[&str], options: &[String]) -> String {
    let lines = exemplars.iter().map(|e| format!("A {e} is a {category}\n"));
    let shown = match lines.collect::<String>() {
        none if none.is_empty() => none,
        lines => format!("\nExamples:\n\n{lines}"),
    };
    let options = options.join("\n");
    format!("{GUIDELINES}{shown}\nQuery:\n\nA ____ is a {category}\n\nOptions:\n\n{options}")
}

#[derive(Debug, Clone, Copy)]
struct PromptingSettings {
    runs: usize,
    temperature: f64,
    shots: usize,
    typical: bool,
}

fn read(settings: &TaskSettings) -> Result<PromptingSettings, TaskError> {
    settings.check(&CARD)?;
    Ok(PromptingSettings {
        runs: settings.number(&CARD, "runs", |n: usize| (1..=1000).contains(&n))?,
        temperature: settings.number(&CARD, "temperature", |t: f64| t.is_finite() && t >= 0.0)?,
        shots: shots(&CARD, settings)?,
        typical: settings.choose(&CARD, "exemplars", &[("drawn", false), ("typical", true)])?,
    })
}

fn item(
    settings: &TaskSettings,
    setup: PromptingSettings,
    category: &Category,
    run: usize,
) -> Result<Item, TaskError> {
    let first = exemplars(&CARD, category, settings.seed, setup.shots, setup.typical)?;
    let name_of = |i: &usize| category.members.get(*i).map(|m| m.name.as_str());
    let shown_first: Vec<&str> = first.iter().filter_map(name_of).collect();
    let mut members: Vec<_> = category.without(&first).collect();
    let name = format!("psychometric/typicality/run/{}/{run}", category.name);
    shuffle(&mut stream(settings.seed, &name), &mut members);
    let shown = ShownCategory::new(&category.name, members.into_iter());
    let longest: usize = shown.members.iter().map(|m| 8 + m.len()).sum();
    let words = prompt(&category.name, &shown_first, &shown.members);
    let sampling = Sampling::greedy(longest.clamp(64, 4096) as u32).at(setup.temperature);
    let ask = Ask::subject(Request::words(settings.form, words, sampling));
    let id = format!("{}/run-{:02}", category.name, run + 1);
    let mut item =
        Item::new(id, shown.target(), vec![ask]).in_stratum_of("category", category.name.clone());
    item.cluster = Some(category.name.clone());
    Ok(item)
}

impl Task for Prompting {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        super::item_source(&CARD, settings)
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::GENERATE
    }

    fn default_for(&self, settings: &TaskSettings, builtin: bool) -> SettingDefault {
        super::for_model(&CARD, settings, builtin)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = read(settings)?;
        let categories = categories(&CARD, settings, data)?;
        let settings = settings.clone();
        Ok(Box::new(categories.into_iter().flat_map(move |category| {
            let settings = settings.clone();
            (0..setup.runs).map(move |run| item(&settings, setup, &category, run))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let judged = || -> Result<Judgement, String> {
            let shown = ShownCategory::read(item)?;
            let only = answers.first().filter(|_| answers.len() == 1);
            let answer = only.and_then(|reply| reply.answer.as_generated());
            Ok(judge_words(
                &shown,
                answer.ok_or("expected one answer in words")?,
            ))
        };
        judged().unwrap_or_else(Judgement::fault)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        by_runs(samples)
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::RankCorrelation)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = read(settings) else {
            return BTreeMap::new();
        };
        let place = "before the query, left out of the options";
        let shown = exemplar_convention(setup.shots, setup.typical, place);
        let computed = [
            ("exemplars", shown),
            ("runs", setup.runs.to_string()),
            ("temperature", setup.temperature.to_string()),
        ];
        conventions(&CARD, settings, &computed)
    }
}

/// The places at which a ranking names each option, or how many it names when it is incomplete. An
/// option counts where its line first stands; lines that are no option are passed over.
pub fn read_ranking(text: &str, options: &[String]) -> Result<Vec<usize>, usize> {
    let fold = |s: &str| s.trim().to_lowercase();
    let mut places: Vec<Option<usize>> = vec![None; options.len()];
    let mut next = 0;
    for line in text.lines() {
        let said = fold(bare(line));
        let found = options.iter().position(|o| fold(o) == said);
        let place = found.and_then(|i| places.get_mut(i));
        if let Some(place) = place.filter(|p| p.is_none()) {
            *place = Some(next);
            next += 1;
        }
    }
    let complete: Option<Vec<usize>> = places.into_iter().collect();
    complete.ok_or(next)
}

/// A line without its number, bullet, emphasis and closing mark.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && digits.starts_with(['.', ')', ':']);
    let line = if numbered { &digits[1..] } else { line };
    line.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '*' | '-' | '•' | '"' | '`' | '.' | ',' | ';')
    })
}

fn judge_words(shown: &ShownCategory, answer: &Generated) -> Judgement {
    if let Some(reason) = answer.withheld() {
        return Judgement::unscored(reason);
    }
    match read_ranking(&answer.text, &shown.members) {
        Err(named) => Judgement::unscored(answer.unread())
            .read_as(format!("{named} of {} members", shown.members.len()))
            .measured("complete", 0.0),
        Ok(places) => {
            let said: Vec<f64> = places.iter().map(|p| -(*p as f64)).collect();
            match spearman_rho(&shown.typicality, &said) {
                Ok(rho) => Judgement::scored(rho).measured("complete", 1.0),
                Err(error) => Judgement::fault(error.to_string()),
            }
        }
    }
}

/// Tables 8 to 10: mean, least, greatest and standard deviation over the runs of each category; and
/// the mean of the categories' means (Table 6's last line).
fn by_runs(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let mut runs = grouped(samples.filter_map(|mut sample| {
        let category = sample.item.tags.remove("category")?;
        Some((category, sample.judgement.score()?))
    }));
    let mut measures = Vec::new();
    let mut means = Vec::new();
    for (category, values) in &mut runs {
        // Verdicts come in any order; sums must not depend on it.
        values.sort_by(f64::total_cmp);
        let name = measure_of(category);
        let plain = |value: f64| Estimate::new(value, (value, value), values.len(), "none");
        let Some(average) = mean(values.iter().copied()) else {
            continue;
        };
        means.push(average);
        let estimate = over(values).unwrap_or_else(|| plain(average));
        measures.push(Measure::new(name.clone(), estimate));
        let spread = mean(values.iter().map(|v| (v - average).powi(2))).unwrap_or(0.0);
        let n = values.len() as f64;
        let deviation = (spread * n / (n - 1.0).max(1.0)).sqrt();
        for (what, value) in [
            ("min", values.first().copied()),
            ("max", values.last().copied()),
            ("sd", Some(deviation)),
        ] {
            measures.extend(value.map(|v| Measure::new(format!("{name}.{what}"), plain(v))));
        }
    }
    measures.extend(over(&means).map(|estimate| Measure::new("mean_of_categories", estimate)));
    measures
}

fn over(values: &[f64]) -> Option<Estimate> {
    let i = mean_t(values, LEVEL).ok()?;
    Some(Estimate::new(i.value, (i.low, i.high), i.n, i.method))
}
