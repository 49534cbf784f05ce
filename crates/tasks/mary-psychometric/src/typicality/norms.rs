//! How typical each member of a category is, and where that is known from: people's ratings (Rosch
//! 1975), how many people name it (Castro et al. 2021's format), or how often our own small world
//! mentions it.

use std::path::Path;

use mary_contract::{DataSource, TaskError};
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

/// The categories of the small world on which the built-in model was grown. These are no judgements
/// of people: the order says how often the corpus mentions each member, which is known exactly.
pub fn small_world() -> Vec<Category> {
    mary_generators::small_world::categories()
        .map(|category| Category {
            name: category.name.to_owned(),
            members: category
                .members
                .iter()
                .enumerate()
                .map(|(rank, member)| Member {
                    name: (*member).to_owned(),
                    typicality: mary_generators::small_world::member_frequency(rank),
                })
                .collect(),
        })
        .collect()
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
    read(&path, |r: Rating| (r.category, r.item, -r.rating))
}

#[derive(Deserialize)]
struct Proportion {
    category: String,
    item: String,
    proportion: f64,
}

/// A file with the columns `category,item,proportion`: the share of people who name the item when
/// asked for members of the category.
pub fn proportions(path: &Path) -> Result<Vec<Category>, TaskError> {
    read(path, |r: Proportion| (r.category, r.item, r.proportion))
}

fn read<R: for<'de> Deserialize<'de>>(
    path: &Path,
    parts: impl Fn(R) -> (String, String, f64),
) -> Result<Vec<Category>, TaskError> {
    let mut reader = tables::open(path, "a file of typicality norms")?;
    let mut categories: Vec<Category> = Vec::new();
    for (index, record) in reader.deserialize().enumerate() {
        let record_error = |message: String| tables::record(path, index + 2, message);
        let (category, name, typicality) =
            parts(record.map_err(|e| tables::wrong(path, index + 2, &e))?);
        if !typicality.is_finite() || name.is_empty() || category.is_empty() {
            return Err(record_error(
                "expected a category, an item and a finite number".into(),
            ));
        }
        let known = categories.iter().position(|c| c.name == category);
        let at = known.unwrap_or_else(|| {
            categories.push(Category {
                name: category.clone(),
                members: vec![],
            });
            categories.len() - 1
        });
        let found = &mut categories[at];
        if found.members.iter().any(|m| m.name == name) {
            return Err(record_error(format!(
                "`{name}` stands twice in `{category}`"
            )));
        }
        found.members.push(Member { name, typicality });
    }
    if let Some(small) = categories.iter().find(|c| c.members.len() < 4) {
        let message = format!(
            "category `{}` has {} members; a rank correlation needs at least 4",
            small.name,
            small.members.len()
        );
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
        let found = proportions(file.path()).unwrap();
        assert_eq!(found.len(), 1);
        let names: Vec<&str> = found[0].members.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["robin", "owl", "bird, big", "emu"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |text: &str| proportions(file(text).path()).unwrap_err().to_string();
        let error = wrong("category,item,proportion\nbird,robin,0.9\nbird,robin,0.8\n");
        assert!(error.contains(":3: `robin` stands twice"), "{error}");
        let error = wrong("category,item,proportion\nbird,robin,many\n");
        assert!(error.contains(":2:"), "{error}");
        let error = wrong("category,item,proportion\nbird,robin,0.9\n");
        assert!(error.contains("needs at least 4"), "{error}");
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
