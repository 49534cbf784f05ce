//! How typical each member of a category is, and where that is known from: people's ratings (Rosch
//! 1975), how many people name it (Castro et al. 2021's format), or how often our own small world
//! mentions it.

use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{DataSource, TaskError};
use mary_generators::small_world as world;
use serde::Deserialize;

use crate::tables;

pub const DATASET: &str = "rosch-typicality";
const RATINGS: &str = "data/rosch1975/rosch1975_ratings.csv";

#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: String,
    /// Larger is more typical; only the order counts.
    pub typicality: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Category {
    pub name: String,
    pub members: Vec<Member>,
}

impl Category {
    /// The members that do not stand at these places.
    pub(super) fn without(&self, places: &[usize]) -> impl Iterator<Item = &Member> {
        let members = self.members.iter().enumerate();
        members.filter(|(i, _)| !places.contains(i)).map(|(_, m)| m)
    }
}

/// The categories of the small world on which the built-in model was grown. These are no judgements
/// of people: the order says how often the corpus mentions each member, which is known exactly.
pub fn small_world() -> Vec<Category> {
    let member = |(rank, name): (usize, &&str)| Member {
        name: (*name).to_owned(),
        typicality: world::member_frequency(rank),
    };
    let categories = world::categories().map(|category| Category {
        name: category.name.to_owned(),
        members: category.members.iter().enumerate().map(member).collect(),
    });
    categories.collect()
}

#[derive(Deserialize)]
struct Rating {
    item: String,
    category: String,
    rating: f64,
}

/// Rosch's ratings, 1 the best example and 7 the worst, turned round.
pub fn rosch(data: &dyn DataSource) -> Result<Vec<Category>, TaskError> {
    let path = data.folder(DATASET)?.join(RATINGS);
    let mut reader = tables::open(&path, "a file of typicality norms")?;
    let rows = reader.deserialize().enumerate().map(|(index, row)| {
        let row: Rating = row.map_err(|e| tables::wrong(&path, index + 2, &e))?;
        Ok((index + 2, row.category, row.item, -row.rating))
    });
    let rows: Vec<_> = rows.collect::<Result<_, TaskError>>()?;
    collect(&path, rows)
}

/// What the three columns of a file of norms may be called, where the user does not say.
const COLUMNS: [(&str, &[&str]); 3] = [
    ("category", &["category", "category name", "category label"]),
    ("item", &["item", "exemplar", "response", "member"]),
    ("proportion", &["proportion", "potency", "overall", "total"]),
];

/// The paper's names for its 27 categories, and what Castro et al. 2021 call them.
static CASTRO: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("castro.txt").lines();
    lines.filter_map(|line| line.split_once(" = ")).collect()
});

/// A file with three columns: category, item, and the share of people who name the item when asked for
/// members of the category. `columns` names them (`CATEGORY,ITEM,SHARE`); empty, they are found by what
/// such files call them. In the file that Castro et al. publish a category may stand in its first row alone,
/// and a row without a share in that column (another age group's) is passed over; of its 70 categories the
/// paper's 27 are kept, under the paper's names.
pub fn proportions(path: &Path, columns: &str) -> Result<Vec<Category>, TaskError> {
    let mut reader = tables::open(path, "a file of typicality norms")?;
    let head = reader.headers().map_err(|e| tables::wrong(path, 1, &e))?;
    let places = places(head, columns).map_err(|message| tables::record(path, 1, message))?;
    let mut above = String::new();
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let line = index + 2;
        let record = record.map_err(|e| tables::wrong(path, line, &e))?;
        let [category, name, share] = places.map(|place| record.get(place).unwrap_or_default());
        if !category.is_empty() {
            category.clone_into(&mut above);
        }
        if share.is_empty() {
            continue;
        }
        let number = share.trim_end_matches('%').trim_end().parse::<f64>();
        let number = number.map_err(|_| {
            let message = format!("expected a share of people, found `{share}`");
            tables::record(path, line, message)
        })?;
        rows.push((line, above.clone(), name.to_owned(), number));
    }
    let wanted = |(line, category, name, share): (usize, String, String, f64)| {
        let mut known = CASTRO.iter();
        let known = known.find(|(_, label)| same_label(label, &category))?;
        Some((line, known.0.to_owned(), name, share))
    };
    let labelled = |label: &str| rows.iter().any(|row| same_label(label, &row.1));
    // Who calls "An article of clothing" so has their file; a plain file says "clothing".
    let theirs = CASTRO.iter().all(|(_, label)| labelled(label));
    match theirs {
        true => collect(path, rows.into_iter().filter_map(wanted)),
        false => collect(path, rows),
    }
}

fn same_label(label: &str, found: &str) -> bool {
    let bare = |text: &str| text.to_lowercase().replace(['\'', '’'], "");
    bare(label) == bare(found)
}

fn places(head: &csv::StringRecord, columns: &str) -> Result<[usize; 3], String> {
    let named: Vec<&str> = columns.split(',').map(str::trim).collect();
    let find = |which: usize| {
        let (what, usual) = COLUMNS[which];
        let asked = named.get(which).copied().filter(|name| !name.is_empty());
        let fits = |column: &str| match asked {
            Some(name) => column.eq_ignore_ascii_case(name),
            None => usual.iter().any(|name| column.eq_ignore_ascii_case(name)),
        };
        head.iter().position(fits).ok_or_else(|| {
            let found: Vec<&str> = head.iter().collect();
            format!(
                "expected a column `{}`, found: {}\nhint: --set norms_columns=CATEGORY,ITEM,SHARE says what the \
                 columns are called",
                asked.unwrap_or(what),
                found.join(", ")
            )
        })
    };
    Ok([find(0)?, find(1)?, find(2)?])
}

fn collect(
    path: &Path,
    rows: impl IntoIterator<Item = (usize, String, String, f64)>,
) -> Result<Vec<Category>, TaskError> {
    let mut categories: Vec<Category> = Vec::new();
    for (line, category, name, typicality) in rows {
        let record_error = |message: String| tables::record(path, line, message);
        if !typicality.is_finite() || name.is_empty() || category.is_empty() {
            let message = "expected a category, an item and a finite number";
            return Err(record_error(message.into()));
        }
        let known = categories.iter().position(|c| c.name == category);
        let at = known.unwrap_or_else(|| {
            let (name, members) = (category.clone(), vec![]);
            categories.push(Category { name, members });
            categories.len() - 1
        });
        let found = &mut categories[at];
        if found.members.iter().any(|m| m.name == name) {
            let message = format!("`{name}` stands twice in `{category}`");
            return Err(record_error(message));
        }
        found.members.push(Member { name, typicality });
    }
    if let Some(small) = categories.iter().find(|c| c.members.len() < 4) {
        let (name, members) = (&small.name, small.members.len());
        let message =
            format!("category `{name}` has {members} members; a rank correlation needs at least 4");
        return Err(tables::record(path, 1, message));
    }
    if categories.is_empty() {
        return Err(tables::record(path, 1, "no category found"));
    }
    Ok(categories)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn a_file_of_proportions_is_read_with_its_quirks() {
        let file = file(
            "\u{feff}category,item,proportion\nbird,robin,0.9\nbird, owl ,0.5\nbird,\"bird, big\",0.1\n\
             bird,emu,0.05\n",
        );
        let found = proportions(file.path(), "").unwrap();
        assert_eq!(found.len(), 1);
        let names: Vec<&str> = found[0].members.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["robin", "owl", "bird, big", "emu"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |text: &str| proportions(file(text).path(), "").unwrap_err().to_string();
        let error = wrong("category,item,proportion\nbird,robin,0.9\nbird,robin,0.8\n");
        assert!(error.contains(":3: `robin` stands twice"), "{error}");
        let error = wrong("category,item,proportion\nbird,robin,many\n");
        assert!(error.contains(":2:"), "{error}");
        let error = wrong("category,item,proportion\nbird,robin,0.9\n");
        assert!(error.contains("needs at least 4"), "{error}");
    }

    /// A table in the form of the one that Castro et al. publish, in words of ours.
    fn published(categories: &[&str]) -> String {
        let mut text = "Category,Response,Overall,Younger,Older\n".to_owned();
        for category in categories {
            for (n, word) in ["one", "two", "three", "four"].iter().enumerate() {
                let shown = if n == 0 { *category } else { "" };
                text.push_str(&format!("{shown},{word},0.{},0.5,\n", 9 - n));
            }
            text.push_str(",five,,0.06,\n");
        }
        text
    }

    #[test]
    fn of_the_published_table_the_papers_categories_are_kept_under_its_names() {
        let mut labels: Vec<&str> = CASTRO.iter().map(|(_, label)| *label).collect();
        labels.extend(["A chemical element", "A part of speech"]);
        let found = proportions(file(&published(&labels)).path(), "").unwrap();
        let names: Vec<&str> = found.iter().map(|c| c.name.as_str()).collect();
        let printed = &crate::published::published().table_6;
        let of_paper = printed.iter().map(|c| c.category.as_str());
        let of_paper: Vec<&str> = of_paper.filter(|name| *name != "Average").collect();
        assert_eq!(names, of_paper);
        // Rows of one age group alone are passed over, and a category stands in its first row only.
        assert!(found.iter().all(|c| c.members.len() == 4), "{found:?}");
        assert_eq!(found[0].members[1].typicality, 0.8);
        let younger = "category,response,younger";
        let found = proportions(file(&published(&labels)).path(), younger).unwrap();
        assert_eq!(found[0].members.len(), 5);
    }

    #[test]
    fn a_file_whose_columns_are_called_otherwise_names_those_it_has() {
        let text = published(&["A bird"]).replace("Response", "Word");
        let error = proportions(file(&text).path(), "").unwrap_err().to_string();
        assert!(error.contains("Category, Word, Overall"), "{error}");
        assert!(error.contains("norms_columns="), "{error}");
        let found = proportions(file(&text).path(), "Category,Word,Overall").unwrap();
        assert_eq!(found[0].name, "A bird");
    }

    #[test]
    fn the_small_world_has_graded_categories() {
        let found = small_world();
        assert!(found.len() >= 10);
        for category in &found {
            assert!(category.members.len() >= 8, "{}", category.name);
            assert!(
                category
                    .members
                    .windows(2)
                    .all(|w| w[0].typicality > w[1].typicality)
            );
        }
    }
}
