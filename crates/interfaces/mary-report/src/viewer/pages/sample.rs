//! One sample, alone or beside another model's. Written piece by piece: an answer may have many megabytes.

use std::fmt::{self, Write};

use mary_contract::{Sample, SampleId};

use super::super::query::{ListQuery, encode, plain_address};
use super::super::{Around, RunEntry};
use super::{Choice, END, Labels, PER_PAGE, begin, run_link, select};
use crate::{
    OutcomeClass,
    escape::{foreign, html},
    number::count,
    sample::{self, Story},
};

/// Characters of one text that a page shows; all of it is a click away, as plain text. A browser makes
/// an element of every invisible character.
const SHOWN: usize = 1 << 20;

#[derive(Debug)]
pub(in crate::viewer) struct SamplePage {
    pub entry: RunEntry,
    pub one: Sample,
    /// Another model, with its sample of the same item where it has one.
    pub beside: Option<(String, Option<Sample>)>,
    pub list: ListQuery,
    pub around: Around,
    pub verdicts: Vec<(String, OutcomeClass)>,
}

pub(in crate::viewer) fn write(out: &mut dyn Write, page: &SamplePage) -> fmt::Result {
    let SamplePage {
        entry, one, beside, ..
    } = page;
    let run = &entry.manifest.id;
    let labels = Labels::from_manifest(&entry.manifest);
    let mut pictures =
        |image: &mary_contract::Image| format!("src=\"{}\"", crate::html::data_url(image));
    let id = &one.id;
    let place = page.around.place.unwrap_or(0);
    let trail = [
        run_link(entry),
        ("Samples".into(), page.list.address(run, place / PER_PAGE)),
        (
            format!("{}, {}", labels.get(&id.model), id.task),
            ListQuery::beside(id).address(run, 0),
        ),
    ];
    out.write_str(&begin(&format!("Item {}", id.item), &trail, None))?;
    let other = beside.as_ref().map(|(m, _)| m.as_str());
    out.write_str(&neighbours(page, other))?;
    out.write_str(&comparer(page, other, &labels))?;
    let tags: Vec<_> = one
        .item
        .tags
        .iter()
        .map(|(k, v)| tag_link(run, id, k, v))
        .collect();
    write!(
        out,
        "<p class=\"small\">{} {}</p><div class=\"story{}\"><section aria-labelledby=\"q\"><h2 id=\"q\">Question</h2>",
        foreign(&id.task),
        tags.join(" "),
        if beside.is_some() { " both" } else { "" },
    )?;
    let whole = plain_address(run, id);
    let story = Story {
        characters: SHOWN,
        tokens: SHOWN,
        whole: Some(&whole),
    };
    sample::question(out, one, story, &mut pictures)?;
    write!(
        out,
        "</section><section aria-labelledby=\"a1\"><h2 id=\"a1\">{}</h2>",
        foreign(labels.get(&id.model))
    )?;
    sample::answer(out, one, story, &mut pictures)?;
    out.write_str("</section>")?;
    if let Some((model, twin)) = beside {
        write!(
            out,
            "<section aria-labelledby=\"a2\"><h2 id=\"a2\">{}</h2>",
            foreign(labels.get(model))
        )?;
        match twin {
            Some(twin) => {
                let whole = plain_address(run, &twin.id);
                let story = Story {
                    whole: Some(&whole),
                    ..story
                };
                sample::answer(out, twin, story, &mut pictures)?;
            }
            None => {
                out.write_str("<p class=\"none\">This model has no sample of this item.</p>")?;
            }
        }
        out.write_str("</section>")?;
    }
    out.write_str("</div>")?;
    out.write_str(END)
}

/// The samples before and after, in the list this one was opened from.
fn neighbours(page: &SamplePage, other: Option<&str>) -> String {
    let run = &page.entry.manifest.id;
    let Around {
        place,
        total,
        before,
        after,
    } = &page.around;
    let link = |id: &Option<SampleId>, text: &str, rel: &str| match id {
        Some(id) => format!(
            "<a rel=\"{rel}\" href=\"{}\">{text}</a>",
            html(&page.list.sample_address(run, id, other))
        ),
        None => format!("<span class=\"none\">{text}</span>"),
    };
    let here = match place {
        Some(place) => format!("{} of {}", count(place + 1), count(*total)),
        None => format!("not among the {} of the list", count(*total)),
    };
    format!(
        "<nav class=\"pager\" aria-label=\"Samples before and after\">{}<span>{here}</span>{}</nav>",
        link(before, "Previous sample", "prev"),
        link(after, "Next sample", "next"),
    )
}

fn tag_link(run: &str, id: &SampleId, name: &str, value: &str) -> String {
    let tag = format!("{name}={value}");
    format!(
        "<a class=\"tag\" href=\"/run/{}/samples?task={}&amp;tag={}\">{}</a>",
        encode(run),
        encode(&id.task),
        encode(&tag),
        foreign(&tag)
    )
}

fn comparer(page: &SamplePage, other: Option<&str>, labels: &Labels) -> String {
    let id = &page.one.id;
    let others: Vec<Choice> = page
        .verdicts
        .iter()
        .filter(|(model, _)| *model != id.model)
        .map(|(model, class)| Choice {
            value: model,
            text: labels.get(model),
            more: class.words().into(),
        })
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<form class=\"filters\" method=\"get\" action=\"/run/{}/sample\">",
        encode(&page.entry.manifest.id)
    );
    let list = page.list.query();
    for (name, value) in [
        ("model", id.model.as_str()),
        ("task", &id.task),
        ("item", &id.item),
        ("trial", &id.trial.to_string()),
        ("in", list.trim_end_matches('&')),
    ] {
        out += &format!(
            "<input type=\"hidden\" name=\"{name}\" value=\"{}\">",
            html(value)
        );
    }
    out += &select("other", "Compare with", "no other model", &others, other);
    out += "<button type=\"submit\">Show</button></form>";
    out
}
