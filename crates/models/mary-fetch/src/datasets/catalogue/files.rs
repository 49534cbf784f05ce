//! Paths, hashes and sizes of the upstream files. Written by `tools/catalogue_files.py`; not by
//! hand.

use super::{FileCard, FolderCard, Source};

pub(super) const HTEST: &[FileCard] = &[
    FileCard {
        path: "challange_task_generated_with_seed_12062023/letter_geometry_test.jsonl",
        bytes: 16653,
        sha256: "f22b73d2cd6eeffbebc0bb14fab8cc7ff7b514696d11825bcfb33baa8e87b565",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "challange_task_generated_with_seed_12062023/letter_geometry_test.jsonl",
        },
    },
    FileCard {
        path: "data/challenge.csv",
        bytes: 10193,
        sha256: "af5fc3bbba97a4b42616a14fb25373cfd9724dab8a96435a185b5be0794da9b9",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "data/challenge.csv",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/end_ly_dev.jsonl",
        bytes: 5084,
        sha256: "b2a9563474074134ef74241175e1263b8d8617e6c1a1ec9a0fb02d58b30cabc9",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/end_ly_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/end_ly_test.jsonl",
        bytes: 20295,
        sha256: "71d37c2eed76beb07a1e2865061a1375307ddc26ab54cb87981ed4c42105272d",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/end_ly_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/end_punctuation_dev.jsonl",
        bytes: 4778,
        sha256: "49c9b84de9eddae84e273ca6bcfdb8b82ac0e60bc198c438aefd1a2adfe62bed",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/end_punctuation_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/end_punctuation_test.jsonl",
        bytes: 19289,
        sha256: "0a5959fb35816ddc7a0e975594973e44d40fb2fd661f9af457a317f77300298d",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/end_punctuation_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/hyphenated_word_dev.jsonl",
        bytes: 5400,
        sha256: "bb727fd2ded80a79818b577b2079b3573f7dc0590f43d3fe0fafd248aeef218b",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/hyphenated_word_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/hyphenated_word_test.jsonl",
        bytes: 21644,
        sha256: "aee1db3fec37f25eb1ca82b190f14345ec6850e529c71c05db6f70a863a6e349",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/hyphenated_word_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/palindrome_dev.jsonl",
        bytes: 3581,
        sha256: "88e55ce5320c0c7332b24d4cca6b23397e4f7f5b0908afbb27c4c0db9b0ce269",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/palindrome_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/palindrome_test.jsonl",
        bytes: 14343,
        sha256: "b556578d357dbaac6e97b508753f598545496a91579fc8e8a8b2c62864140007",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/palindrome_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/repeated_word_dev.jsonl",
        bytes: 4968,
        sha256: "84f5b548fb234aadbef0022669c2d5976201154ae1e126f26619726432ea0696",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/repeated_word_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/repeated_word_test.jsonl",
        bytes: 20019,
        sha256: "13089c718fa57bc695ecf865e3891abb89ccf8db5a9eb728ee26ad34c56bedaa",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/repeated_word_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/rhyme_dev.jsonl",
        bytes: 3854,
        sha256: "18d5d629b346c0e1bdd50fc807c2ffce517022c16ab49473c7122f42e8b39af7",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/rhyme_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/rhyme_test.jsonl",
        bytes: 15428,
        sha256: "4919f888d0527d86dd7892c599e343d331108cb5ba92132b2ef14e9ef2589ef7",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/rhyme_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/spelled_math_dev.jsonl",
        bytes: 4433,
        sha256: "155b4f5f748ee4303eb0f8c9c3e8a78a7614a34d472141b467920840b1ab56d5",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/spelled_math_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/spelled_math_test.jsonl",
        bytes: 17622,
        sha256: "d9546603fd84c02a13d7ab531975d588069724888b81fe5a3c30313931674124",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/spelled_math_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/spelled_number_dev.jsonl",
        bytes: 5241,
        sha256: "9858d999248d48d864039040e7e9ee315aef6f6fc2e81aecbf0139be23a05d8b",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/spelled_number_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/spelled_number_test.jsonl",
        bytes: 20580,
        sha256: "0db04f96baf8b59cf191664d4befeb978a368450cf81eeb2aae177c738a0df61",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/spelled_number_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/start_vowel_dev.jsonl",
        bytes: 5096,
        sha256: "0c41dfeff2f076521d7cf0ef142705986e6f571d40f7ca718a9d204d8be38461",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/start_vowel_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/start_vowel_test.jsonl",
        bytes: 21053,
        sha256: "9e95ffeff563857ddc00ea11be67592e4a230faafc37c3295517febbf4a4262d",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/start_vowel_test.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/uppercase_dev.jsonl",
        bytes: 5217,
        sha256: "a1f79b74abaaeb8910fe8cb9e02ec70a856df9ee0ade4cc906451e09f8e8fae4",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/uppercase_dev.jsonl",
        },
    },
    FileCard {
        path: "htest_generated_with_seed_12062023/uppercase_test.jsonl",
        bytes: 20985,
        sha256: "f743e4637d17b05885e64aed8f4fd2f6c8d82eee88594fd75ec33f0b66f204de",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "htest_generated_with_seed_12062023/uppercase_test.jsonl",
        },
    },
    FileCard {
        path: "train/end_ly_train.jsonl",
        bytes: 120767,
        sha256: "d0ec83f74ac07e44fd1b8a62cb1376d29126e51f99f2b83bbbc2bbf35a9b621d",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/end_ly_train.jsonl",
        },
    },
    FileCard {
        path: "train/end_punctuation_train.jsonl",
        bytes: 115861,
        sha256: "999d33f8906eb1c2f230f40fec6718a3c5fb61f3942cdd938bfa1f90681a1896",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/end_punctuation_train.jsonl",
        },
    },
    FileCard {
        path: "train/hyphenated_word_train.jsonl",
        bytes: 127106,
        sha256: "d4c3a146103fe25681a0aad167924310e6ee6b7b975c7c44e22dcccbdf1e86ef",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/hyphenated_word_train.jsonl",
        },
    },
    FileCard {
        path: "train/palindrome_train.jsonl",
        bytes: 59922,
        sha256: "b5e37d50f620946a2037eba40428f78e37c85181983cf94d127298d1dd2f7fe7",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/palindrome_train.jsonl",
        },
    },
    FileCard {
        path: "train/repeated_word_train.jsonl",
        bytes: 119911,
        sha256: "bb72ca673c8fb29a1436da987dc86f26a94695de10083c2922d2c87563055333",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/repeated_word_train.jsonl",
        },
    },
    FileCard {
        path: "train/rhyme_train.jsonl",
        bytes: 72683,
        sha256: "9d8a4d633332a30f0b769e2b0525473a28259860d787e812a6f24ec492445b3b",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/rhyme_train.jsonl",
        },
    },
    FileCard {
        path: "train/spelled_math_train.jsonl",
        bytes: 99213,
        sha256: "8d29eeff1c4e694ab4f5c3ba82c01120f1fd4e07946c9cf6c00cb4fd36d1a5d9",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/spelled_math_train.jsonl",
        },
    },
    FileCard {
        path: "train/spelled_number_train.jsonl",
        bytes: 123185,
        sha256: "980e6b9612639ef452b91a69283e00509a4a3c4aa0da5acbca2ebbf075aab928",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/spelled_number_train.jsonl",
        },
    },
    FileCard {
        path: "train/start_vowel_train.jsonl",
        bytes: 124875,
        sha256: "cfda878f6b0b77784e164ad4e8d090bb7f1ef5c71effa96186969f90f158f313",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/start_vowel_train.jsonl",
        },
    },
    FileCard {
        path: "train/uppercase_train.jsonl",
        bytes: 124580,
        sha256: "9671b5d980a7d0309dc2715301f6b47d4581535095b7144a6e6b9df14ac873db",
        source: Source::Raw {
            repository: "brucewlee/h-test",
            commit: "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae",
            path: "train/uppercase_train.jsonl",
        },
    },
];

pub(super) const BLIMP: &[FileCard] = &[
    FileCard {
        path: "BLiMP.zip",
        bytes: 2354164,
        sha256: "172a1a714d72e72a89e8384dd531483f3d0f8a9aee3d33dccaf7992d8cecbb73",
        source: Source::Raw {
            repository: "alexwarstadt/blimp",
            commit: "3e56b06fcabca9b30822fc66435fca6b1aa40bb1",
            path: "BLiMP.zip",
        },
    },
    FileCard {
        path: "human_validation_summary.csv",
        bytes: 3057,
        sha256: "ea0e7c21de6b9df2fd8a94d0b175e84ea57627e4cbfa1fcba4ef8b3d0fba1b2d",
        source: Source::Raw {
            repository: "alexwarstadt/blimp",
            commit: "3e56b06fcabca9b30822fc66435fca6b1aa40bb1",
            path: "raw_results/summary/human_validation_summary.csv",
        },
    },
    FileCard {
        path: "models_summary.jsonl",
        bytes: 10064,
        sha256: "d54b1b361559eec9182f89930d5012af89d1a35d8e2ff435637b3166e2e3037a",
        source: Source::Raw {
            repository: "alexwarstadt/blimp",
            commit: "3e56b06fcabca9b30822fc66435fca6b1aa40bb1",
            path: "raw_results/summary/models_summary.jsonl",
        },
    },
];

pub(super) const RAVEN: &[FileCard] = &[
    FileCard {
        path: "iraven_center_single.jsonl.gz",
        bytes: 538002,
        sha256: "456ccd879b4ec6133378c5bc09e20b58d06990074855d29f95bc4d852fd49226",
        source: Source::Derived,
    },
    FileCard {
        path: "iraven_center_single_subset500.json",
        bytes: 461585,
        sha256: "77aabf75d9ed28d30c23ac6c5e6e9e8a4a5fd689f11223da9676904fc87c8444",
        source: Source::Derived,
    },
    FileCard {
        path: "raven_center_single.jsonl.gz",
        bytes: 539596,
        sha256: "e85e965e7ee30240262e7f0727dc8366b28a86c715d21f2a27ca398f7772168a",
        source: Source::Derived,
    },
    FileCard {
        path: "raven_center_single_subset500.json",
        bytes: 461425,
        sha256: "8af3e60c374eb678f2aaaf50cc8c448df2238b52f4a3f601092d23d501c704b0",
        source: Source::Derived,
    },
    FileCard {
        path: "subset.json",
        bytes: 2941,
        sha256: "25a37f76c68ec4a62b8d640e612b9dbc37388836d9e7d58d0c5e1a1bed26bed5",
        source: Source::Raw {
            repository: "hxiaoyang/lm-raven",
            commit: "500e6f7077771240b0f374b5de3a9ae070d8af76",
            path: "subset.json",
        },
    },
];

pub(super) const ARC: &[FileCard] = &[];

pub(super) const ARC_FOLDERS: &[FolderCard] = &[
    FolderCard {
        path: "data/training",
        files: 400,
        bytes: 1436054,
        sha256: "51de32e07a6546aa4f4f91503b8dfd0e323bdba2de10e602d3bc9a0d8628ba41",
        repository: "fchollet/ARC-AGI",
        commit: "399030444e0ab0cc8b4e199870fb20b863846f34",
    },
    FolderCard {
        path: "data/evaluation",
        files: 400,
        bytes: 2345957,
        sha256: "3b22f7e488fbcc90b76dcfc535f33984d39959fedf55c213b15d59da3e9d4223",
        repository: "fchollet/ARC-AGI",
        commit: "399030444e0ab0cc8b4e199870fb20b863846f34",
    },
];

pub(super) const CONCEPT_ARC: &[FileCard] = &[];

pub(super) const CONCEPT_ARC_FOLDERS: &[FolderCard] = &[
    FolderCard {
        path: "corpus",
        files: 160,
        bytes: 427299,
        sha256: "85dd82b5e43aa75ee7ef26cd843538e4bcae297c04f00da37e327e1a8dc68209",
        repository: "victorvikram/ConceptARC",
        commit: "b22ef526b4656679816b7811e78f55cc24d736d7",
    },
    FolderCard {
        path: "MinimalTasks",
        files: 16,
        bytes: 28162,
        sha256: "4ffb225e49a7965f7fe8fad009aa38558f1f202e076d1b30eb1f4fad1ec98225",
        repository: "victorvikram/ConceptARC",
        commit: "b22ef526b4656679816b7811e78f55cc24d736d7",
    },
];

pub(super) const ROSCH_TYPICALITY: &[FileCard] = &[
    FileCard {
        path: "data/frequencies.csv",
        bytes: 13986,
        sha256: "1133453d5f49d592fa119788b2767c5076f93362632b6be9313006f8b1bd4466",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/frequencies.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-1.4b-deduped.csv",
        bytes: 19800,
        sha256: "18320491911ba91bc677025fab08bac1173ec1ec28f75494925fa503ddcc7e9c",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-1.4b-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-12b-deduped.csv",
        bytes: 20377,
        sha256: "4866dc3cdfd535bc827d4d8d3a01bdf348635c2964583c5e3a738ca7ea6b039e",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-12b-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-160m-deduped.csv",
        bytes: 18574,
        sha256: "2f989ba5fd2233329ef9ee173cb1a4245a186158c2c7b0c4980b6719e9adb964",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-160m-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-2.8b-deduped.csv",
        bytes: 19797,
        sha256: "aae124b0f08c38cf18899aac38610aecaed96dcddc019a6eee8e594a9c8b1ab2",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-2.8b-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-410m-deduped.csv",
        bytes: 19216,
        sha256: "4302a2e7c4b485ee07dc265373bd637c587a98f267ee157f351f6a20c4cdc9dc",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-410m-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-6.9b-deduped.csv",
        bytes: 19772,
        sha256: "982395a62243750f30f0362caff3aaad54a3d5cf0a0e44e566956b655cfc0038",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-6.9b-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/EleutherAI_pythia-70m-deduped.csv",
        bytes: 17360,
        sha256: "0ae37efa09ffb0f2541352d120420d9f4bfa2bd8b6241dec462686fb57af1466",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/EleutherAI_pythia-70m-deduped.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/allenai_OLMo-2-1124-7B.csv",
        bytes: 19846,
        sha256: "6f53a8b1835981c02afa042a529c3f3b6deb9441f1db211ad71bad7432c8e4f1",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/allenai_OLMo-2-1124-7B.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/distilbert_distilgpt2.csv",
        bytes: 18538,
        sha256: "fc126dc279ed137fca4d61116e119a4eec6d0fdaea9c4707e441f41dadeecc6a",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/distilbert_distilgpt2.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/facebook_opt-1.3b.csv",
        bytes: 19904,
        sha256: "e236dc9ad1b8e10d315a94b489b080ef8eebe23ec8769406f8dada365292bf90",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/facebook_opt-1.3b.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/facebook_opt-125m.csv",
        bytes: 19310,
        sha256: "8e92a3d13ad4793dd1c0f909f4510c84e166155e030af4cc205c6e7a16e26dfd",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/facebook_opt-125m.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/facebook_opt-2.7b.csv",
        bytes: 19878,
        sha256: "d4c7e1d76e12c4b126a9715efbdecaa7ecb6cfa1c5e027d828d2bd7644ef16a8",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/facebook_opt-2.7b.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/facebook_opt-350m.csv",
        bytes: 19301,
        sha256: "9db93957bb5febd7d169958d64cfba1588d9f2575d358a3d567b11aceff138ed",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/facebook_opt-350m.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/facebook_opt-6.7b.csv",
        bytes: 19926,
        sha256: "4b6d8af311c746b076103a731370e94539def947e4b8fe1854df58831eec8618",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/facebook_opt-6.7b.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/google_Gemma-2-2B.csv",
        bytes: 19856,
        sha256: "6a5181321357713e5ff9948cf215622c159e1df93835d76f7031f4a70b1af7a7",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/google_Gemma-2-2B.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/google_Gemma-2-9B.csv",
        bytes: 19847,
        sha256: "2c23523de47fd7e95f26b9578e180a5012ab0598b7e14232dcb7ab77fb306bb6",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/google_Gemma-2-9B.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/gpt2-large.csv",
        bytes: 19217,
        sha256: "2737cabf43b3210c97630e4c28c43a59ed80efa9ef3d08f8a50f91c05041ae54",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/gpt2-large.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/gpt2-medium.csv",
        bytes: 19180,
        sha256: "89080b4e75dad7f67ac7660057b648e00d09ff760e6b7fc2a245537d16292be2",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/gpt2-medium.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/gpt2-xl.csv",
        bytes: 19811,
        sha256: "4df0afbd67ffd447d1905059023f27a9422e68cf5e097c3db3af28f351fba929",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/gpt2-xl.csv",
        },
    },
    FileCard {
        path: "data/results/new-results/gpt2.csv",
        bytes: 19186,
        sha256: "e516cac097326d3777e040bd44b422013b0b6cb6354b417044e043c1b01a76ea",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/results/new-results/gpt2.csv",
        },
    },
    FileCard {
        path: "data/rosch1975/bird.txt",
        bytes: 399,
        sha256: "6b87a6776c6f7d7e5ebe009a3d23d273705ee8afe10ce98a931fddeac4596cd2",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/bird.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/clothing.txt",
        bytes: 395,
        sha256: "57bbc4214245bfdb65a7188702a8060aae657d653e57519aef07d13c3072e913",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/clothing.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/fruit.txt",
        bytes: 413,
        sha256: "87852a518d39e0a623833ebc0496cb36ee788c996fa4d54435b597dc865b3e2a",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/fruit.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/furniture.txt",
        bytes: 492,
        sha256: "24041a1ab71f7b2cb986953f9dad44c2bc001a6681c4c59ed687d6b559807643",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/furniture.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/rosch1975.csv",
        bytes: 24047,
        sha256: "67f0a1a9e11292aaf0e0683875572a02204f651f873e9526087e2c2de90d8986",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/rosch1975.csv",
        },
    },
    FileCard {
        path: "data/rosch1975/rosch1975_alternate.csv",
        bytes: 23608,
        sha256: "49b941fc3c7a1adbe7a1f7d4ea852dff974beb4159dfeb679cd6b28d1c7f24c6",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/rosch1975_alternate.csv",
        },
    },
    FileCard {
        path: "data/rosch1975/rosch1975_ratings.csv",
        bytes: 11719,
        sha256: "1d7eed77ed67b0cbc7320ba4f3d9cdbc12f0a91d6445f2c3c360c4cd0502b278",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/rosch1975_ratings.csv",
        },
    },
    FileCard {
        path: "data/rosch1975/sport.txt",
        bytes: 518,
        sha256: "9b6e9d4385eddae9d179fdc4d9fdc089a010f6a0e501ab67bcc30b492a6e96d3",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/sport.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/tool.txt",
        bytes: 445,
        sha256: "38d7eeb6b758f968b7fe6b4907b38acd0d5d067ddd0a2623989bc67edaf78cc9",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/tool.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/toy.txt",
        bytes: 483,
        sha256: "eb431e73798f4b7093948d2cd7e4dddc9cf04b69c2a76abf46efd9cf82587930",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/toy.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/vegetable.txt",
        bytes: 473,
        sha256: "b5d0e147dc4b8d5e67570f0768a5c946204f37c386ba007fe9f0e2342fc48201",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/vegetable.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/vehicle.txt",
        bytes: 363,
        sha256: "8fc086ec6f0376fef5034834df369d72615c6118b9664b11ac1da618b85bfe99",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/vehicle.txt",
        },
    },
    FileCard {
        path: "data/rosch1975/weapon.txt",
        bytes: 433,
        sha256: "69e3ad34145ec4a86c7bf8edcd26c38c2ff6f3da342a4a955340622f7267eb4c",
        source: Source::Raw {
            repository: "kanishkamisra/typicalityprobing",
            commit: "d7c523b2f914fa3f6d118d994f53c3c24be677b6",
            path: "data/rosch1975/weapon.txt",
        },
    },
];

pub(super) const WEBB_DIGIT_MATRICES: &[FileCard] = &[
    FileCard {
        path: "UCLA_VAT/UCLA_VAT.xlsx",
        bytes: 14576,
        sha256: "535eac3bb3b62c124375699d298dfee4572f1444cf9eb739c26cd970f53adff1",
        source: Source::Raw {
            repository: "taylorwwebb/emergent_analogies_LLM",
            commit: "145e72b5be6b845dfdc69450075f88930e9a661f",
            path: "UCLA_VAT/UCLA_VAT.xlsx",
        },
    },
    FileCard {
        path: "digit_mat/README.md",
        bytes: 1363,
        sha256: "708534068a653857fa947f3ab1ac8030053802f1d16b7a9ea69863ebc1291472",
        source: Source::Raw {
            repository: "taylorwwebb/emergent_analogies_LLM",
            commit: "145e72b5be6b845dfdc69450075f88930e9a661f",
            path: "digit_mat/README.md",
        },
    },
    FileCard {
        path: "digit_mat/all_problems.json.gz",
        bytes: 85529,
        sha256: "a65bc8eafd3bf6bd9605b19bf8fd84fa457d577b4bebba89e905687e2ffa2c1e",
        source: Source::Derived,
    },
    FileCard {
        path: "digit_mat/all_problems_1thru5.json.gz",
        bytes: 162922,
        sha256: "290744f12652cb5262851211d899a33a85b9e227e27f15d51c4e7f8bb786f5ef",
        source: Source::Derived,
    },
    FileCard {
        path: "digit_mat/exp1_all_data.csv",
        bytes: 57668,
        sha256: "d4d9c30756aa8a414694f702e28bdefd968dae6604280b1e66eea5bf2a35088b",
        source: Source::Raw {
            repository: "taylorwwebb/emergent_analogies_LLM",
            commit: "145e72b5be6b845dfdc69450075f88930e9a661f",
            path: "digit_mat/exp1_all_data.csv",
        },
    },
    FileCard {
        path: "letter_string/all_prob.json.gz",
        bytes: 49939,
        sha256: "c996e43ff4b697f3a766f591f4b01942344ec666a349a0849f13d62410fb478e",
        source: Source::Derived,
    },
];

pub(super) const EMBODIED: &[FileCard] = &[
    FileCard {
        path: "PerceptualQA/predictions.tar.gz",
        bytes: 3089394,
        sha256: "45f7057ae329ac9b62b8e67d6d443598153fc735c483929e2ae341b1e3e07fd2",
        source: Source::Derived,
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answer1_en.json",
        bytes: 132691,
        sha256: "84efb9a5e7dc70dd93c5551f8a824e139898b603b3013e119c40708071ac9846",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answer1_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answer1_zh.json",
        bytes: 121501,
        sha256: "39a83d592aa7a052f4d1ad48c590697eec922cd2a499a66eaff9be373eea5afc",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answer1_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answer2_en.json",
        bytes: 132691,
        sha256: "c415527f0429c115bc9632334d992a90f0174bce4787dc7423f9ef276a4304be",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answer2_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answer2_zh.json",
        bytes: 121501,
        sha256: "6c70743fdf93434d262757abaa6aaa3e6f0b2501d8fcc5332f0381c704a0ff2f",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answer2_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answerA_en.json",
        bytes: 120291,
        sha256: "43af38ca305e4a3921e0e25153dc8711d2edb729c426c2639278fed15b2b9282",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answerA_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/non-visual/questions400_with_answerA_zh.json",
        bytes: 109101,
        sha256: "178e382b420de5269049fb9b406429e9219bcd66a45dc9b7fcb0935e47833668",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/non-visual/questions400_with_answerA_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answer1_en.json",
        bytes: 400670,
        sha256: "94a76bd86dfc09b8056dfa9b89da9dbf7f2218df97d9602d13ebd85dcb8bba83",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answer1_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answer1_zh.json",
        bytes: 358385,
        sha256: "36b3ca7dcaf90d00197d3c19d2cdef1f0d5c6accc13cae7c38a5cc300b7b24ac",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answer1_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answer2_en.json",
        bytes: 400670,
        sha256: "fa320290062cf10561c8ac7b4e70b3af6ea0a7c986769b7351f0810b0b60292e",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answer2_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answer2_zh.json",
        bytes: 358385,
        sha256: "9b7f34db33050997f3d7d53a1e26d7386baeaacf3c6485794a2c837fde2e9c39",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answer2_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answerA_en.json",
        bytes: 369670,
        sha256: "9611fd4f60eef4aff8fe4f68911f3bdb595d5b88f2f1e4ac55c8d1157c945b9f",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answerA_en.json",
        },
    },
    FileCard {
        path: "PerceptualQA/dataset/visual/questions_with_answerA_zh.json",
        bytes: 327385,
        sha256: "dc542fbde72dc6a175a2100c1fa108ec5d38ba62498bde06b4b214a02f1cf6fd",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/dataset/visual/questions_with_answerA_zh.json",
        },
    },
    FileCard {
        path: "PerceptualQA/human_questions1400_with_answer1_sampled350/combined1.json",
        bytes: 29294,
        sha256: "42fdb33f05faf7b809bb9425cb3489526ee58b99801dbdb941632650180c0d29",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/human_questions1400_with_answer1_sampled350/combined1.json",
        },
    },
    FileCard {
        path: "PerceptualQA/human_questions1400_with_answer1_sampled350/combined2.json",
        bytes: 29294,
        sha256: "3c36a3dce92533021e61dc8ad450912c17485e5488ad73261cf7b62de768832c",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "PerceptualQA/human_questions1400_with_answer1_sampled350/combined2.json",
        },
    },
    FileCard {
        path: "SensoryVec/SensoryVec_Dataset_with_Predictions.csv",
        bytes: 186622,
        sha256: "13f2a1caf7337a7423172ea115027ed4d8048ef84f6e1bc56ff8ca3f4a372cec",
        source: Source::Raw {
            repository: "ererdewubudesi/embodied_knowledge_2025",
            commit: "050b0604f1d7b316734c2ad91b5d8b63645adbdd",
            path: "SensoryVec/SensoryVec_Dataset_with_Predictions.csv",
        },
    },
];

pub(super) const NORMS: &[FileCard] = &[
    FileCard {
        path: "AoA_ratings_Kuperman_et_al_BRM.tsv",
        bytes: 1144855,
        sha256: "4bbc514907a5229303a05c5374351c345d6aa5f1cfd19f948c04c2fb76358b24",
        source: Source::Raw {
            repository: "dem1995/things-acquisition-age",
            commit: "32d32ab0e5fce087b0b8f23bcb78a950590fd509",
            path: "AoA_ratings_Kuperman_et_al_BRM.tsv",
        },
    },
    FileCard {
        path: "modality_lynott_connell_2009.csv",
        bytes: 37587,
        sha256: "322a1a23fb9c0b87d874f2d370d8383cfe5bfc62377d6f940b3ab4f735555744",
        source: Source::Raw {
            repository: "bodowinter/sensory_linguistics",
            commit: "ac2f8550ad6ae754fbe96940be7d6c1d5088320d",
            path: "raw-data/modality_lynott_connell_2009.csv",
        },
    },
    FileCard {
        path: "modality_lynott_connell_2013.csv",
        bytes: 31264,
        sha256: "d4af25dfb49388cadb067eb125a240b6db2eb7eb63ac5e0437d70614ed55ae4b",
        source: Source::Raw {
            repository: "bodowinter/sensory_linguistics",
            commit: "ac2f8550ad6ae754fbe96940be7d6c1d5088320d",
            path: "raw-data/modality_lynott_connell_2013.csv",
        },
    },
    FileCard {
        path: "modality_strik_lievers_2015.csv",
        bytes: 11938,
        sha256: "f391603f9fa5c96092de314780455306ce388b5fcda964480dc52b23afc2d62c",
        source: Source::Raw {
            repository: "bodowinter/sensory_linguistics",
            commit: "ac2f8550ad6ae754fbe96940be7d6c1d5088320d",
            path: "raw-data/modality_strik_lievers_2015.csv",
        },
    },
];

pub(super) const CMUDICT: &[FileCard] = &[
    FileCard {
        path: "LICENSE",
        bytes: 1754,
        sha256: "bd4ce8e44170a5f9f481310ca85c51de3c4f851a65e679b40e603b143bd3542a",
        source: Source::Raw {
            repository: "cmusphinx/cmudict",
            commit: "0f8072f814306c5ee4fbf992ed853601b12c01f9",
            path: "LICENSE",
        },
    },
    FileCard {
        path: "cmudict.dict.gz",
        bytes: 3618488,
        sha256: "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22",
        source: Source::Gzipped {
            repository: "cmusphinx/cmudict",
            commit: "0f8072f814306c5ee4fbf992ed853601b12c01f9",
            path: "cmudict.dict",
        },
    },
    FileCard {
        path: "cmudict.phones",
        bytes: 382,
        sha256: "ffb588a5e55684723582c7256e1d2f9fadb130011392d9e59237c76e34c2cfd6",
        source: Source::Raw {
            repository: "cmusphinx/cmudict",
            commit: "0f8072f814306c5ee4fbf992ed853601b12c01f9",
            path: "cmudict.phones",
        },
    },
    FileCard {
        path: "cmudict.symbols",
        bytes: 281,
        sha256: "408ccaae803641c6d7b626b6299949320c2dbca96b2220fd3fb17887b023b027",
        source: Source::Raw {
            repository: "cmusphinx/cmudict",
            commit: "0f8072f814306c5ee4fbf992ed853601b12c01f9",
            path: "cmudict.symbols",
        },
    },
    FileCard {
        path: "cmudict.vp",
        bytes: 1747,
        sha256: "bd36f578d80e4ecdd64b1c872904585fb40076e9042fe77c3bb71512404e601f",
        source: Source::Raw {
            repository: "cmusphinx/cmudict",
            commit: "0f8072f814306c5ee4fbf992ed853601b12c01f9",
            path: "cmudict.vp",
        },
    },
];

pub(super) const WORDFREQ: &[FileCard] = &[
    FileCard {
        path: "NOTICE.md",
        bytes: 2891,
        sha256: "d9b104dafe63886af55e7cea7484824e32e12d4e1f57f319923dd643b36d6b15",
        source: Source::Raw {
            repository: "rspeer/wordfreq",
            commit: "912caf64b657478d1dff1138efdc078947d54bb1",
            path: "NOTICE.md",
        },
    },
    FileCard {
        path: "large_en.msgpack.gz",
        bytes: 1494836,
        sha256: "dffae8066b78dce0a6667cf5f58e567054f902674667090a7ac8a8a44628b05c",
        source: Source::Raw {
            repository: "rspeer/wordfreq",
            commit: "912caf64b657478d1dff1138efdc078947d54bb1",
            path: "wordfreq/data/large_en.msgpack.gz",
        },
    },
    FileCard {
        path: "large_zh.msgpack.gz",
        bytes: 1773909,
        sha256: "e079d7aaff1cfb92874850cb3ffbc7b611af939d9d671c1cbda932d968467cdd",
        source: Source::Raw {
            repository: "rspeer/wordfreq",
            commit: "912caf64b657478d1dff1138efdc078947d54bb1",
            path: "wordfreq/data/large_zh.msgpack.gz",
        },
    },
    FileCard {
        path: "small_en.msgpack.gz",
        bytes: 124892,
        sha256: "f94a80cba6a3857b260d0666b5432bb7ea9b85315574dee9c306e87f61298247",
        source: Source::Raw {
            repository: "rspeer/wordfreq",
            commit: "912caf64b657478d1dff1138efdc078947d54bb1",
            path: "wordfreq/data/small_en.msgpack.gz",
        },
    },
    FileCard {
        path: "small_zh.msgpack.gz",
        bytes: 179188,
        sha256: "441ce2e01370185606f0e3c5da47f64887981758b0f65ae511c0a5927b1ab359",
        source: Source::Raw {
            repository: "rspeer/wordfreq",
            commit: "912caf64b657478d1dff1138efdc078947d54bb1",
            path: "wordfreq/data/small_zh.msgpack.gz",
        },
    },
];

pub(super) const PYTHIA_V0_BLIMP: &[FileCard] = &[
    FileCard {
        path: "blimp_acc_by_model_step.csv",
        bytes: 104694,
        sha256: "369c0d92ec22eefa0fb682502b5ad73b9a721564d8ed8a62b24bdf5309d7c289",
        source: Source::Derived,
    },
    FileCard {
        path: "evals_pythia-v0_zero-shot.tar.xz",
        bytes: 386732,
        sha256: "ca9f6b7b69aff9bbce6b1b269d1538afeca6c8f5c22b38d825ca68d54bc45111",
        source: Source::Derived,
    },
];
