//! A page of samples with what narrows and orders them above.

use super::super::{Facets, Lines, Order, RunEntry, SampleRow, query::ListQuery, query::encode};
use super::{Choice, Labels, PER_PAGE, run_link, select, shell};
use crate::{
    escape::{foreign, html},
    number::count,
};

pub(in crate::viewer) fn page(
    entry: &RunEntry,
    asked: &ListQuery,
    facets: &Facets,
    found: &Lines,
) -> String {
    let id = &entry.manifest.id;
    let labels = Labels::from_manifest(&entry.manifest);
    let mut out = filters(id, asked, facets, &labels);
    let pages = found.total.div_ceil(PER_PAGE).max(1);
    out += &format!(
        "<p id=\"count\" role=\"status\">{} {}{}.</p>",
        count(found.total),
        match found.total {
            1 => "sample matches",
            _ => "samples match",
        },
        if asked.filter.text.is_some() {
            "; the search looks at items, tags and the beginnings of questions and answers"
        } else {
            ""
        }
    );
    out += "<ol class=\"lines\">";
    for line in &found.lines {
        out += &list_line(id, asked, line, &labels);
    }
    out += "</ol>";
    let link = |page: usize, text: &str, rel: &str| {
        format!(
            "<a rel=\"{rel}\" href=\"{}\">{text}</a>",
            html(&asked.address(id, page))
        )
    };
    out += "<nav class=\"pager\" aria-label=\"Pages\">";
    if asked.page > 0 {
        out += &link(asked.page - 1, "Previous", "prev");
    }
    out += &format!(
        "<span>page {} of {}</span>",
        count(asked.page.saturating_add(1)),
        count(pages)
    );
    if asked.page + 1 < pages {
        out += &link(asked.page + 1, "Next", "next");
        out += &link(pages - 1, "Last", "last");
    }
    out += "</nav>";
    let here = (String::from("Samples"), asked.address(id, 0));
    shell("Samples", &[run_link(entry), here], Some(entry), &out)
}

fn filters(id: &str, asked: &ListQuery, facets: &Facets, labels: &Labels) -> String {
    let f = &asked.filter;
    let mut out = format!(
        "<form class=\"filters\" method=\"get\" action=\"/run/{}/samples\" role=\"search\" aria-label=\"Filter samples\">",
        encode(id)
    );
    let models = choices(&facets.models, Some(labels));
    let tasks = choices(&facets.tasks, None);
    out += &select("model", "Model", "all", &models, f.model.as_deref());
    out += &select("task", "Task", "all", &tasks, f.task.as_deref());
    out += &format!(
        "<label class=\"wide\">Search <input type=\"search\" name=\"q\" value=\"{}\" placeholder=\"words, an item, a tag\"></label>",
        html(f.text.as_deref().unwrap_or_default())
    );
    let orders: Vec<Choice> = Order::ALL
        .into_iter()
        .map(|(_, value, text)| Choice {
            value,
            text,
            more: String::new(),
        })
        .collect();
    out += &select("order", "Order", "", &orders, Some(f.order.name()));
    out += "<fieldset><legend>Outcome</legend><div class=\"chips\">";
    for (class, n) in &facets.outcomes {
        out += &format!(
            "<label><input type=\"checkbox\" name=\"outcome\" value=\"{0}\"{3}><span class=\"badge {0}\">{1}</span> <span class=\"small\">{2}</span></label>",
            class.name(),
            class.words(),
            count(*n),
            checked(f.outcomes.contains(class))
        );
    }
    out += "</div></fieldset>";
    out += "<fieldset class=\"bounds\"><legend>Margin</legend>";
    for (name, label, bound) in [("from", "from", f.margin_from), ("to", "to", f.margin_to)] {
        out += &format!(
            "<label>{label} <input type=\"number\" step=\"any\" name=\"{name}\" value=\"{}\"></label>",
            bound.map(|b| b.to_string()).unwrap_or_default()
        );
    }
    out += "</fieldset>";
    if facets.models.len() > 1 {
        let (a, b) = f
            .flipped
            .as_ref()
            .map_or((None, None), |(a, b)| (Some(a.as_str()), Some(b.as_str())));
        out += "<fieldset class=\"flip\"><legend>Flipped between two models</legend>";
        out += &select("a", "one", "–", &models, a);
        out += &select("b", "the other", "–", &models, b);
        out += "</fieldset>";
        out += &format!(
            "<label><input type=\"checkbox\" name=\"disagreed\" value=\"1\"{}> models disagree</label>",
            checked(f.disagreed)
        );
    }
    if let Some(tag) = &f.tag {
        out += &format!(
            "<label><input type=\"checkbox\" name=\"tag\" value=\"{}\" checked> {}</label>",
            html(tag),
            foreign(tag)
        );
    }
    out += "<button type=\"submit\">Show</button></form>";
    out
}

fn checked(yes: bool) -> &'static str {
    if yes { " checked" } else { "" }
}

fn choices<'a>(counted: &'a [(String, usize)], labels: Option<&'a Labels>) -> Vec<Choice<'a>> {
    counted
        .iter()
        .map(|(value, n)| Choice {
            value,
            text: labels.map_or(value.as_str(), |labels| labels.get(value)),
            more: count(*n),
        })
        .collect()
}

fn list_line(run: &str, asked: &ListQuery, line: &SampleRow, labels: &Labels) -> String {
    let other = asked.filter.flipped.as_ref().map(|(_, b)| b.as_str());
    let trial = match line.id.trial {
        0 => String::new(),
        n => format!(", trial {}", n + 1),
    };
    let flipped = line.other.map(|class| format!(" → {}", class.badge()));
    let flipped = flipped.unwrap_or_default();
    let margin = line.margin.map(|margin| format!(", margin {margin:.3}"));
    let margin = margin.unwrap_or_default();
    let shown = match line.question.as_str() {
        "" => &line.id.item,
        question => question,
    };
    format!(
        "<li><span class=\"cls\">{}{flipped}</span><a class=\"line\" dir=\"auto\" href=\"{}\">{}</a><span class=\"ans\" dir=\"auto\">{}</span><span class=\"who\">{}, {}, {}{trial}{margin}</span></li>",
        line.class.badge(),
        html(&asked.sample_address(run, &line.id, other)),
        foreign(shown),
        foreign(&line.answer),
        foreign(labels.get(&line.id.model)),
        foreign(&line.id.task),
        foreign(&line.id.item),
    )
}
