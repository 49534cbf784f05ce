//! The small world as hashes: the corpus, what is held out, lessons and exams of a seed stay as they are, since
//! models were grown from them.

use mary_generators::small_world::{Corpus, HeldOut, categories, numbers, scenes, stable_hash};

/// Documents, held-out items, lessons and exams of two seeds.
const WORLDS: [[u64; 4]; 2] = [
    [
        13_766_424_225_902_517_826,
        4_551_646_835_910_011_753,
        4_560_755_336_594_238_295,
        1_523_716_418_931_500_739,
    ],
    [
        15_109_051_237_422_374_174,
        14_656_050_436_435_608_752,
        17_259_671_403_603_656_642,
        878_645_125_602_535_944,
    ],
];

fn world(seed: u64) -> [u64; 4] {
    let corpus = Corpus::new(seed);
    let text: String = (0..3000).map(|n| corpus.document(n) + "\n").collect();
    let held_out = format!("{:?}", HeldOut::new(seed, 20));
    let lessons: String = (0..300)
        .map(|n| format!("{:?}", scenes::lesson(seed, n)))
        .collect();
    let exam = scenes::exam(seed, 20);
    let pictures: Vec<Vec<u8>> = exam.iter().map(|p| p.scene.rgb(24)).collect();
    let asked: Vec<_> = exam
        .iter()
        .map(|p| (&p.question, p.block, p.other))
        .collect();
    let exam = format!("{asked:?} {pictures:?}");
    [text, held_out, lessons, exam].map(|part| stable_hash(&part))
}

#[test]
fn a_seed_gives_the_same_world() {
    assert_eq!([0, 41].map(world), WORLDS);
    let named: Vec<&str> = (0..=100).map(numbers::word).collect();
    let known = format!("{:?} {named:?}", categories().collect::<Vec<_>>());
    assert_eq!(stable_hash(&known), 11_955_643_804_009_557_398);
}
