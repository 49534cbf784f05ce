//! One model whose layers are divided over several devices: whatever it is asked, it answers as on one, to the last bit;
//! the card and a dry run say which layers are where; what cannot be divided is refused.

use mary_contract::{Model, ModelSettings, Provider};
use mary_local::LocalModel;
use mary_local::provider::HF;
use mary_weights::Checkpoint;

use crate::alike::{CARRYING, answers};
use crate::intervene::{CLEAN, ask, into_itself};
use crate::parity::{FAMILIES, golden};
use crate::serving::{open_over, score};

#[test]
fn divided_layers_give_the_same_bits_in_every_family() {
    for name in FAMILIES.iter().filter(|name| !CARRYING.contains(name)) {
        let all = |device: &str| {
            let model = open_over(Some(device), (2, name), None, &[]);
            let mut seen = answers(&model);
            if model.intervener().is_some() {
                let requests = into_itself(&model, &score(CLEAN, &[" is", " sings and falls"]));
                seen.push(format!("{:?}", ask(&model, requests)));
            }
            (seen, model.architecture().layers)
        };
        let (whole, layers) = all("cpu");
        let every = vec!["cpu"; layers].join("+");
        for device in ["cpu+cpu", &every] {
            let found = all(device).0;
            for (i, (whole, found)) in whole.iter().zip(&found).enumerate() {
                assert!(whole == found, "{name} on {device}, answer {i}");
            }
            assert_eq!(whole.len(), found.len());
        }
        // Batches that end within texts.
        let rows = &[("rows", "7")];
        let small = open_over(Some("cpu+cpu"), (2, name), None, rows);
        assert!(whole.starts_with(&answers(&small)), "{name}");
    }
}

fn settings(device: &str, args: &[(&str, &str)]) -> ModelSettings {
    let owned = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    ModelSettings {
        device: Some(device.to_owned()),
        args: args.iter().map(owned).collect(),
        ..ModelSettings::default()
    }
}

#[test]
fn the_card_and_a_dry_run_say_which_layers_are_where() {
    let model = format!("hf/{}", golden("llama").display()).parse().unwrap();
    let divided = settings("cpu + cpu", &[]);
    let card = HF.open(&model, &divided).unwrap().card().clone();
    let device = &card.conventions["device"];
    let parts: Vec<&str> = device.split("; ").collect();
    assert_eq!(parts.len(), 2, "{device}");
    assert!(parts[0].starts_with("layer 1: cpu, ") && parts[1].starts_with("layer 2: "));
    assert_eq!(
        card.fingerprint,
        HF.fingerprint(&model, &settings("cpu", &[])).unwrap()
    );
    let outlook = HF.outlook(&model, &divided).unwrap();
    assert!(outlook.contains("layer 1 on cpu (") && outlook.contains("layer 2 on cpu"));
    assert_eq!(HF.outlook(&model, &settings("cpu", &[])), None);
}

#[test]
fn what_cannot_be_divided_is_refused_with_what_was_expected() {
    let refused = |name: &str, device: &str, args: &[(&str, &str)]| {
        let checkpoint = Checkpoint::open(&golden(name)).unwrap();
        let model = "hf/divided".parse().unwrap();
        let opened = LocalModel::from_checkpoint(model, checkpoint, &settings(device, args));
        let error = opened.err().expect("refused");
        format!("{error} {}", error.hint.clone().unwrap_or_default())
    };
    let cases = [
        (
            "llama",
            "cpu+cpu+cpu+cpu+cpu+cpu+cpu",
            &[][..],
            "layers for 7 devices",
        ),
        ("llama", "cpu+cpu", &[("held", "1")], "drop `held`"),
        ("mamba", "cpu+cpu", &[], "carry a state"),
        ("llama", "cpu+", &[], "is not a device"),
        ("llama", "cpu+tpu", &[], "divides the layers"),
        #[cfg(feature = "cuda")]
        ("llama", "cpu+cuda:0", &[], "mixes the processor with GPUs"),
    ];
    for (name, device, args, expected) in cases {
        let said = refused(name, device, args);
        assert!(said.contains(expected), "{name} on {device}: {said}");
    }
}
