//! The chapter of people in a report, in a real Chromium at the width of a desk and of a telephone: axe finds
//! nothing, nothing is wider than the window. Two studies, one of them with judges who never differ.

use mary_contract::{Outcome, Sample};
use mary_report::html::{BuiltChapter, ReportOptions, report};
use mary_store::RunFolder;
use mary_study::simulate::{Behaviour, Simulation, by_data};
use mary_study::{Session, Study, analysis::PeopleStatistics, exhibits};

use crate::browser::fits;
use crate::chromium;
use crate::fixture;

/// A study of simulated people, closed: its samples and its summary.
fn closed(
    folder: &std::path::Path,
    name: &str,
    behaviour: Behaviour,
) -> (Vec<Sample>, mary_contract::RunSummary) {
    let frozen = fixture::frozen("htest/rhyme", 12, &[], Some(4), false);
    let mut settings = fixture::settings(6, 12);
    settings.name = name.into();
    Study::create(&folder.join(name), &settings, &frozen).unwrap();
    let (session, _thread) = Session::open(&folder.join(name)).unwrap();
    let simulation = Simulation {
        behaviour,
        seconds: 3.0,
        seed: 5,
    };
    let keys = session.study.keys().unwrap();
    assert_eq!(by_data(&session, &keys, &simulation, 6).unwrap(), 6);
    let runs = folder.join("runs");
    let (path, summary, _) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    let run = RunFolder::open(&path).unwrap();
    (
        run.samples().unwrap().map(Result::unwrap).collect(),
        summary,
    )
}

/// Everybody says the same of every item.
fn unanimous(keys: &mary_study::freeze::Keys) -> Behaviour {
    let said = |k: &mary_study::freeze::KeyedItem| {
        let task = keys.tasks[k.task].id.clone();
        ((task, k.item.id.clone()), "A".to_owned())
    };
    Behaviour::AsModel(keys.items.iter().map(said).collect())
}

#[test]
fn the_chapter_of_people_reads_well_at_both_widths() {
    let dir = tempfile::tempdir().unwrap();
    let ability = Behaviour::Ability {
        mean: 1.0,
        sd_people: 0.7,
        sd_items: 0.7,
    };
    let (mut samples, first) = closed(dir.path(), "able", ability);
    let frozen = fixture::frozen("htest/rhyme", 12, &[], Some(4), false);
    let (same, second) = closed(dir.path(), "same", unanimous(&frozen.keys));
    // Who always answers alike agrees fully, and not beyond chance: neither 0 nor 1 is said of that.
    let found = PeopleStatistics::from_samples(&same.iter().collect::<Vec<_>>());
    assert!(
        same.iter()
            .all(|s| matches!(s.judgement.outcome, Outcome::Scored(_)))
    );
    assert_eq!((found.alpha, found.fleiss), (None, None));
    let agreement = found.agreement.unwrap();
    assert_eq!((agreement.alpha, agreement.items), (None, 12));
    assert_eq!(agreement.observed.unwrap().value, 1.0);
    let words = found.to_string();
    assert!(
        words.contains("α undefined (every answer is the same"),
        "{words}"
    );
    assert!(words.contains("agreement        100.00 % ["), "{words}");
    let row = &second.rows[0];
    assert!(row.measure("krippendorff_alpha").is_none());
    assert_eq!(row.measure("agreement").unwrap().value, 1.0);

    let tagged: Vec<(String, Sample)> = [(&first, &samples), (&second, &same)]
        .into_iter()
        .flat_map(|(run, all)| all.iter().map(|s| (run.manifest.id.clone(), s.clone())))
        .collect();
    samples.extend(same);
    let shown = exhibits::of_people(&samples);
    let cells = &shown.tables[0].rows[1];
    let column = |name: &str| shown.tables[0].head.iter().position(|h| h == name).unwrap();
    assert_eq!(cells[column("alpha")], "undefined");
    assert_eq!(cells[column("kappa")], "undefined");
    assert!(cells[column("agreement")].starts_with("100.0 ["));
    let chapter = BuiltChapter::new("people", "People", shown);
    let path = dir.path().join("report.html");
    let mut file = std::fs::File::create(&path).unwrap();
    report(
        &[first, second],
        &[chapter],
        &mut tagged.into_iter(),
        &ReportOptions::default(),
        &mut file,
    )
    .unwrap();

    let Some(mut browser) = chromium::start() else {
        return;
    };
    for (width, phone) in [(1300, false), (400, true)] {
        browser.size(width, 900, phone);
        browser.open_file(&path);
        browser.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
        browser.eval("document.querySelectorAll('figure[data-figure]').forEach((f) => f.scrollIntoView({behavior: 'instant'}))");
        for figure in ["people-learning", "people-times", "people-each"] {
            browser.eval(&format!(
                "document.querySelector('#fig-{figure}').scrollIntoView({{behavior: 'instant'}})"
            ));
            browser.until(&format!(
                "document.querySelector('#fig-{figure}[data-drawn], #fig-{figure} [data-drawn]') !== null"
            ));
        }
        let at = format!("people's chapter at {width} px");
        // Of the page what is serious, of the chapter what is minor too.
        let serious = browser.axe();
        assert!(serious.is_empty(), "{at}: {serious:#?}");
        let all = browser.eval(
            "axe.run('#family-people', {resultTypes: ['violations']}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ')))",
        );
        assert_eq!(all, serde_json::json!([]), "{at}");
        let unique = browser.eval(
            "axe.run(document, {runOnly: ['landmark-unique']}).then((r) => r.violations.map((v) => v.nodes.map((n) => n.html).join(' ')))",
        );
        assert_eq!(unique, serde_json::json!([]), "{at}");
        fits(&mut browser, &at);
        browser
            .eval("document.querySelector('#family-people').scrollIntoView({behavior: 'instant'})");
        browser.picture(&format!("study-chapter-{width}px"), false);
    }
    browser.quiet("file://");
}
