//! What a configuration leaves out. Published files hold only what differs from the defaults of
//! transformers' own classes, so those defaults are part of the format; `tools/config_defaults.py`
//! reads them out of transformers.

use std::sync::OnceLock;

use serde_json::{Map, Value};

/// Type → `fields` (name → default) and `names` (other name → name).
fn table() -> &'static Value {
    static TABLE: OnceLock<Value> = OnceLock::new();
    TABLE.get_or_init(|| serde_json::from_str(include_str!("defaults.json")).unwrap_or_default())
}

fn part<'a>(kind: &str, part: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let found: Option<&Map<String, Value>> = table()
        .get("types")
        .and_then(|types| types.get(kind)?.get(part)?.as_object());
    found.into_iter().flatten()
}

/// The configuration with every field that transformers would assume. What the file says stays,
/// `null` included: it says that there is no such thing.
pub(super) fn filled(config: &Value, kind: &str) -> Value {
    let mut fields = config.as_object().cloned().unwrap_or_default();
    for (other, name) in part(kind, "names") {
        let Some(name) = name.as_str() else { continue };
        if let (Some(value), false) = (fields.get(other), fields.contains_key(name)) {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    for (name, default) in part(kind, "fields") {
        // Older files say under another name how positions are stretched.
        let said = name == "rope_parameters" && fields.contains_key("rope_scaling");
        if !said && !fields.contains_key(name) {
            fields.insert(name.clone(), default.clone());
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::super::Architecture;
    use super::*;
    use serde_json::json;

    struct Case {
        name: String,
        short: Value,
        full: Value,
    }

    fn cases() -> Vec<Case> {
        let text = include_str!("../../../tests/architecture/golden_configs.json");
        let file: Value = serde_json::from_str(text).unwrap();
        let case = |case: &Value| Case {
            name: case["name"].as_str().unwrap().to_owned(),
            short: case["short"].clone(),
            full: case["full"].clone(),
        };
        file["cases"].as_array().unwrap().iter().map(case).collect()
    }

    #[test]
    fn a_sparse_configuration_is_the_model_that_transformers_makes_of_it() {
        let cases = cases();
        assert!(cases.len() > 130, "{}", cases.len());
        let (mut wrong, mut opened) = (Vec::new(), 0);
        for case in &cases {
            let (short, full) = (
                Architecture::resolve(&case.short),
                Architecture::resolve(&case.full),
            );
            match (short, full) {
                (Ok(short), Ok(full)) if short == full => opened += 1,
                // transformers does not mind sizes that no model can have; both are refused for them.
                (Err(short), Err(full)) if short == full => {}
                (Ok(mut short), Ok(mut full)) => {
                    // Only what differs is worth reading.
                    (short.kinds, full.kinds) = match short.kinds == full.kinds {
                        true => (vec![], vec![]),
                        false => (short.kinds, full.kinds),
                    };
                    short.names = full.names.clone();
                    wrong.push(format!("{}:\n  {short:?}\n  {full:?}", case.name));
                }
                (short, full) => {
                    wrong.push(format!("{}: {:?} {:?}", case.name, short.err(), full.err()))
                }
            }
        }
        assert!(opened >= 150, "{opened}");
        assert!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }

    #[test]
    fn every_type_that_transformers_has_is_covered() {
        // Types of files that came before transformers took the family in, and wrappers.
        let without = [
            "RefinedWeb",
            "RefinedWebModel",
            "qwen",
            "llava_llama",
            "llava_mistral",
            "idefics3",
            "smolvlm",
            "invented",
            "ltgbert",
            "ltg_gpt_bert",
            "gpt_bert",
        ];
        for kind in Architecture::known() {
            let covered = part(kind, "fields").next().is_some()
                || without.contains(&kind)
                || cases().iter().any(|c| c.short["model_type"] == kind);
            assert!(
                covered,
                "{kind} has no defaults: run tools/config_defaults.py"
            );
        }
    }

    #[test]
    fn what_a_file_says_stays() {
        let given = json!({"model_type": "mistral", "sliding_window": null, "hidden_size": 64});
        let filled = filled(&given, "mistral");
        assert_eq!(filled["hidden_size"], 64);
        assert!(filled["sliding_window"].is_null());
        assert_eq!(filled["num_key_value_heads"], 8);
        let old = super::filled(&json!({"rotary_emb_base": 5}), "gpt_neox");
        assert_eq!(old["rope_theta"], 5);
    }

    /// Every shape, whole and sparse, and each of its fields turned into something it should not be:
    /// opened or refused in words, never a panic.
    #[test]
    fn strange_configurations_are_refused_in_words() {
        let junk = [
            json!(null),
            json!("x"),
            json!(-1),
            json!(0),
            json!(1.5),
            json!(true),
            json!([]),
            json!({}),
            json!([[1], "a"]),
        ];
        let (mut shapes, mut opened, mut refused) = (0, 0, 0);
        for case in cases() {
            for config in [&case.short, &case.full] {
                shapes += 1;
                let sound = Architecture::resolve(config);
                assert!(sound.is_ok() || sound.is_err_and(|e| e.message.contains("config.json")));
                let Some(fields) = config.as_object() else {
                    continue;
                };
                for (i, name) in fields.keys().enumerate() {
                    let mut strange = config.clone();
                    strange[name] = junk[(i + shapes) % junk.len()].clone();
                    match Architecture::resolve(&strange) {
                        Ok(_) => opened += 1,
                        Err(error) => {
                            assert!(!error.message.is_empty());
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(shapes >= 150, "{shapes}");
        assert!(opened > 1_000 && refused > 300, "{opened} {refused}");
    }
}
