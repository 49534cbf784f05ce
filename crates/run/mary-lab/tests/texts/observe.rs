//! Vectors of a file in every form, and the similarity of two columns.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::{Layers, Task};
use mary_lab::Silent;
use mary_lab::texts::observe::{
    ArrayForm, ObserveOptions, ObserveTask, PoolOf, observations, similarities, similarity_head,
    write,
};
use mary_lab::texts::table::Cell;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::texts::common::{self, file, number};

const NANO: &str = "builtin/nano";

#[test]
fn arrays_of_every_form_hold_the_same_numbers() {
    let (_folder, path) = file(
        "t.csv",
        "id,text\na,The dog sleeps.\nb,A cat.\nc,A bird sings.\n",
    );
    let options = ObserveOptions {
        layers: Layers::These(vec![0, -1]),
        ..ObserveOptions::default()
    };
    let task = Arc::new(ObserveTask::open(&path, options).unwrap());
    let runs = tempfile::tempdir().unwrap();
    let lab = common::lab(runs.path(), task.clone());
    let spec = common::spec(&[NANO], &task.card().id);
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
    let mut want: Vec<f32> = vec![];
    let mut layers = vec![];
    observations(&task, run.folder(), NANO, &mut |_, found| {
        for layer in &found.unwrap()[0][0].layers {
            layers.push(layer.layer);
            want.extend(&layer.vector.0);
        }
        Ok(())
    })
    .unwrap();
    let width = want.len() / 6;
    assert_eq!(layers[0], 0);
    let floats = |bytes: &[u8]| -> Vec<f32> {
        let (chunks, rest) = bytes.as_chunks::<4>();
        assert!(rest.is_empty());
        chunks.iter().map(|c| f32::from_le_bytes(*c)).collect()
    };

    let npy = runs.path().join("v.npy");
    let files = write(&task, run.folder(), ArrayForm::Npy, &npy).unwrap();
    assert_eq!(files.len(), 2);
    let bytes = std::fs::read(&npy).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..128]).contains(&format!("(3, 2, {width})")));
    assert_eq!(floats(&bytes[128..]), want);
    let beside = std::fs::read_to_string(&files[1]).unwrap();
    assert!(beside.contains(r#""ids":["a","b","c"]"#), "{beside}");

    let tensors = runs.path().join("v.safetensors");
    write(&task, run.folder(), ArrayForm::Safetensors, &tensors).unwrap();
    let bytes = std::fs::read(&tensors).unwrap();
    let head = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + head]).unwrap();
    assert_eq!(
        header["builtin/nano:text:mean"]["shape"],
        serde_json::json!([3, 2, width])
    );
    assert_eq!(floats(&bytes[8 + head..]), want);

    let rows = runs.path().join("v.parquet");
    write(&task, run.folder(), ArrayForm::Parquet, &rows).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&rows).unwrap()).unwrap();
    let found: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|r| r.unwrap())
        .collect();
    assert_eq!(found.len(), 6);
    let second = found[1].to_string();
    assert!(
        second.starts_with(
            "{model: \"builtin/nano\", id: \"a\", column: \"text\", pool: \"mean\", layer:"
        ),
        "{second}"
    );
}

#[test]
fn columns_are_compared_by_their_regions() {
    let rows = concat!(
        "{\"left\": \"The [[dog]] sleeps.\", \"right\": \"The [[dog]] sleeps.\"}\n",
        "{\"left\": \"The [[dog]] sleeps.\", \"right\": \"A [[stone]] falls.\"}\n",
    );
    let (_folder, path) = file("p.jsonl", rows);
    let options = ObserveOptions {
        pair: Some(("left".into(), "right".into())),
        marks: Some(("[[".into(), "]]".into())),
        pools: vec![PoolOf::Region, PoolOf::Mean],
        ..ObserveOptions::default()
    };
    let task = Arc::new(ObserveTask::open(&path, options).unwrap());
    let runs = tempfile::tempdir().unwrap();
    let lab = common::lab(runs.path(), task.clone());
    let spec = common::spec(&[NANO], &task.card().id);
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
    let head = similarity_head(&task);
    let at = head.iter().position(|(name, _)| name == "cosine").unwrap();
    let mut cosines = vec![];
    let without = similarities(&task, run.folder(), &mut |cells: Vec<Cell>| {
        assert_eq!(cells.len(), head.len());
        cosines.push(number(&cells[at]));
        Ok(())
    })
    .unwrap();
    assert_eq!((without, cosines.len()), (0, 4));
    assert!(cosines[0] > 0.9999 && cosines[1] > 0.9999, "{cosines:?}");
    assert!(cosines[2] < 0.9999, "{cosines:?}");
}
