//! Which visual attribute a triple is about: colour, shape, size and others. The paper names them and its files hold
//! no labels: these are ours (`attributes.txt`), for the released triples and for our own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::MaterialSource;

/// The attributes, in the order of tables.
pub const ATTRIBUTES: [&str; 5] = ["colour", "shape", "size", "space", "other"];

/// Said wherever they are shown.
pub const LABELLED: &str = "labels are ours";

type Places = BTreeMap<(&'static str, usize), &'static str>;

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    let lines = include_str!("attributes.txt").lines();
    let entries = lines.filter(|line| !line.starts_with('#'));
    let mut places = Places::new();
    for line in entries {
        let mut fields = line.split(" | ");
        let (Some(set), Some(attribute), Some(numbers)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let numbers = numbers.split(' ').filter_map(|n| n.parse::<usize>().ok());
        places.extend(numbers.map(|number| ((set, number), attribute)));
    }
    places
});

/// The attribute of the triple at this place of a set (from 0); nothing where it is of another sense.
pub fn attribute(source: MaterialSource, place: usize) -> Option<&'static str> {
    let set = match source {
        MaterialSource::Fresh => "fresh",
        MaterialSource::Published => "published",
    };
    PLACES.get(&(set, place + 1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, Sense, own};

    #[test]
    fn every_visual_triple_of_ours_and_no_other_has_an_attribute() {
        for language in [Language::En, Language::Zh] {
            for (place, triple) in own::triples(language).iter().enumerate() {
                let found = attribute(MaterialSource::Fresh, place);
                assert_eq!(found.is_some(), triple.sense == Sense::Visual, "{triple:?}");
                assert!(found.is_none_or(|name| ATTRIBUTES.contains(&name)));
            }
        }
    }
}
