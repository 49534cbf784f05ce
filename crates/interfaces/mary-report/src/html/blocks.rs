//! Figures and tables as blocks of the page, each with its tools.

use mary_contract::Table;

use crate::{
    escape::{self, html},
    text,
};

/// Said below a table of which the window shows only the left part, until its end is seen.
pub(super) const GOES_ON: &str =
    "<p class=\"goes-on\" aria-hidden=\"true\">continues to the right →</p>";

pub(super) fn figure_block(id: &str, title: &str, caption: &str, controls: &str) -> String {
    let (id, title) = (html(id), html(title));
    let (spoken, caption) = (html(&escape::unquoted(caption)), escape::prose(caption));
    format!(
        "<figure class=\"plot\" id=\"fig-{id}\" data-figure=\"{id}\"><h3>{title}</h3>{controls}\
         <div class=\"canvas\" role=\"img\" aria-label=\"{title}. {spoken} The data follow as a table.\"></div>\
         <figcaption>{caption}</figcaption>\
         <div class=\"tools\" role=\"group\" aria-label=\"Tools for {title}\"><button type=\"button\" data-do=\"reset\">Reset view</button><button type=\"button\" data-do=\"svg\">SVG</button><button type=\"button\" data-do=\"png\">PNG</button><button type=\"button\" data-do=\"csv\">CSV</button></div>\
         <details class=\"fallback\"><summary>Data as a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Data of {title}\"></div>{GOES_ON}</details></figure>"
    )
}

pub(super) fn table_tools(id: &str) -> String {
    format!(
        "<div class=\"tools\" role=\"group\" aria-label=\"Copy this table\" data-table=\"{}\"><button type=\"button\" data-copy=\"markdown\">Copy Markdown</button><button type=\"button\" data-copy=\"latex\">Copy LaTeX</button><button type=\"button\" data-copy=\"csv\">Copy CSV</button><span role=\"status\"></span></div>",
        html(id)
    )
}

/// A table on a page without script: every row is seen, and there are no tools. `links` are rows' heads as HTML.
pub(crate) fn plain_table(table: &Table, links: &[String]) -> String {
    let rows = rows_block(table, &[], false, links);
    let caption = escape::prose(&table.caption);
    format!("{rows}<p class=\"caption\">{caption}</p></div>")
}

/// Heading and rows, with published ones behind a switch where they fold; the block stays open.
fn rows_block(table: &Table, rest: &[usize], folds: bool, links: &[String]) -> String {
    let mut out = format!(
        "<div class=\"exhibit\" id=\"tab-{}\"><h3>{}</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{1}\"><table class=\"plain\"><thead><tr>",
        html(&table.id),
        html(&table.title)
    );
    let class = |c| {
        if text::numeric_column(table, c) {
            " class=\"num\""
        } else {
            ""
        }
    };
    let classes: Vec<&str> = (0..table.head.len()).map(class).collect();
    for (class, head) in classes.iter().zip(&table.head) {
        let head = escape::foreign(head);
        out += &format!("<th scope=\"col\"{class}>{head}</th>");
    }
    out += "</tr></thead><tbody>";
    for (r, row) in table.rows.iter().enumerate() {
        let published = table.published.contains(&r);
        out += match (published, folds) {
            (true, true) => "<tr class=\"published folded\">",
            (true, false) => "<tr class=\"published\">",
            (false, _) if rest.contains(&r) => "<tr class=\"rest\">",
            (false, _) => "<tr>",
        };
        for (c, cell) in row.iter().enumerate() {
            let mut text = escape::foreign(cell);
            if let Some(basis) = cell.basis() {
                // A narrow column breaks between the two, never within one.
                let words = html(&basis.words()).replacen(" · ", " ·</span> <span>", 1);
                text += &format!("<span class=\"ci\"><span>{words}</span></span>");
            }
            if c == 0 {
                let text = links.get(r).unwrap_or(&text);
                out += &format!("<th scope=\"row\">{text}");
                if published {
                    out += " <span class=\"badge published\">published</span>";
                }
                out += "</th>";
            } else {
                let class = classes.get(c).copied().unwrap_or_default();
                out += &format!("<td{class}>{text}</td>");
            }
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

/// A table with its tools; the rows of `rest` are behind a switch of the page.
pub(super) fn table_block(table: &Table, rest: &[usize]) -> String {
    // Published rows step back behind our own: a switch at the top of the page shows them. Where there
    // are no others, they are what the table is for.
    let folded = folded_rows(table);
    let mut out = rows_block(table, rest, folded > 0, &[]);
    out += GOES_ON;
    if folded > 0 {
        let rows = if folded == 1 { "row is" } else { "rows are" };
        out += &format!(
            "<p class=\"folded-note\"><label for=\"show-published\">{folded} published {rows} not shown: show them</label></p>"
        );
    }
    if !rest.is_empty() {
        out += &format!(
            "<p class=\"rest-note\"><label for=\"show-rest\">{} more rows are not shown: show them</label></p>",
            rest.len()
        );
    }
    out += &format!("<p class=\"caption\">{}</p>", escape::prose(&table.caption));
    out += &table_tools(&table.id);
    out += "</div>";
    out
}

pub(super) fn folded_rows(table: &Table) -> usize {
    match table.published.len() < table.rows.len() {
        true => table.published.len(),
        false => 0,
    }
}
