//! Sheets out, marks in: the same list and the same order of options as in the browser.

use mary_study::paper;
use mary_study::question::Answer;

use crate::fixture;

#[test]
fn marks_on_paper_come_back_as_people() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(3, 4));
    let files = paper::print(&session, 0..2, &dir.path().join("paper")).unwrap();
    let html = std::fs::read_to_string(&files[0]).unwrap();
    assert_eq!(html.matches("class=\"sheet\"").count(), 2);
    assert_eq!(html.matches("class=\"question\"").count(), 8);
    let key = std::fs::read_to_string(&files[1]).unwrap();
    assert_eq!(key.lines().count(), 9);
    // The first sheet is filled in by somebody who looked at the key, the second is left empty.
    let mut marks = String::from("sheet,question,mark,seconds\n");
    for line in key.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let mark = if cells[0] == "1" { cells[4] } else { "" };
        marks.push_str(&format!("{},{},{mark},2.5\n", cells[0], cells[1]));
    }
    let file = dir.path().join("marks.csv");
    std::fs::write(&file, &marks).unwrap();
    assert_eq!(paper::read(&session, &file).unwrap(), 1);
    let found = session.judged(&fixture::registry()).unwrap();
    assert_eq!(found.finished, 1);
    assert!(
        found
            .samples
            .iter()
            .all(|s| s.judgement.outcome == mary_contract::Outcome::Scored(1.0))
    );
    let one = &session.people().unwrap()[0];
    assert_eq!(one.person.place, 0);
    assert_eq!(one.answers[0].rt, Some(2_500.0));
    assert!(matches!(one.answers[0].answer, Answer::Choice(_)));
    // The same sheet again is refused, and so is nonsense; nothing is changed by either.
    assert!(paper::read(&session, &file).is_err());
    for wrong in [
        "sheet,question,mark\n2,1,Q\n",
        "a,b\n1,2\n",
        "sheet,question,mark\n0,1,A\n",
    ] {
        std::fs::write(&file, wrong).unwrap();
        assert!(paper::read(&session, &file).is_err(), "{wrong}");
    }
    assert_eq!(session.people().unwrap().len(), 1);
}
