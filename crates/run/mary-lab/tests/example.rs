//! The example program of `docs/library.md`: it runs, and it is short.

#[path = "../examples/own_task.rs"]
mod own_task;

#[test]
fn a_task_defined_in_code_is_run_on_the_built_in_model() {
    let folder = tempfile::tempdir().unwrap();
    let summary = own_task::run(folder.path()).unwrap();
    assert!(summary.complete);
    let row = &summary.rows[0];
    assert_eq!((row.task.as_str(), row.scored), ("mine/agreement", 6));
    // The built-in model was grown on sentences like these.
    assert!(row.score.as_ref().unwrap().value > 0.5, "{row:?}");
    // The same program finds the same folder and asks nothing again.
    let again = own_task::run(folder.path()).unwrap();
    assert_eq!(again, summary);
}

#[test]
fn the_example_stays_short() {
    let text = include_str!("../examples/own_task.rs");
    assert!(text.lines().count() < 80, "{}", text.lines().count());
}
