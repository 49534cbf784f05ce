//! Every upstream dataset that a task reads.

mod files;

use serde::Serialize;

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A file of a repository at a commit, as it is.
    Raw {
        /// `owner/name` on GitHub.
        repository: &'static str,
        commit: &'static str,
        path: &'static str,
    },
    /// A file of a repository at a commit, kept here gzipped; hash and size are of the plain file.
    Gzipped {
        /// `owner/name` on GitHub.
        repository: &'static str,
        commit: &'static str,
        path: &'static str,
    },
    /// Made from upstream material (docs/data.md says how); published nowhere, so it comes from a
    /// mirror.
    Derived,
}

/// One file of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FileCard {
    /// Path within the dataset's folder.
    pub path: &'static str,
    pub bytes: u64,
    /// SHA-256 of its content, lower-case hex.
    pub sha256: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// A folder of many files, checked as one: `sha256` is that of the lines `<sha256>  <path>\n`,
/// sorted by path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FolderCard {
    /// Path within the dataset's folder, and within its repository.
    pub path: &'static str,
    pub files: usize,
    pub bytes: u64,
    pub sha256: &'static str,
    /// `owner/name` on GitHub.
    pub repository: &'static str,
    pub commit: &'static str,
}

/// A paper to cite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// As in a reference list, short.
    pub text: &'static str,
    /// DOI or arXiv id.
    pub link: &'static str,
}

/// One dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DatasetCard {
    /// Its name and the name of its folder.
    pub id: &'static str,
    pub title: &'static str,
    /// As far as upstream states one.
    pub licence: &'static str,
    /// Where to read about it.
    pub homepage: &'static str,
    pub citation: Citation,
    pub files: &'static [FileCard],
    /// Its folders of many files.
    pub folders: &'static [FolderCard],
    pub tasks: &'static [&'static str],
    /// What a user must know before fetching or using it.
    pub note: &'static str,
}

impl DatasetCard {
    /// Bytes of everything in it.
    pub fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|f| f.bytes);
        files.chain(self.folders.iter().map(|f| f.bytes)).sum()
    }

    /// Files in it.
    pub fn file_count(&self) -> usize {
        self.files.len() + self.folders.iter().map(|f| f.files).sum::<usize>()
    }

    /// Files that no upstream repository offers.
    pub fn derived(&self) -> impl Iterator<Item = &'static FileCard> {
        self.files.iter().filter(|f| f.source == Source::Derived)
    }

    /// Whether anything of it can be fetched.
    pub fn is_published(&self) -> bool {
        !self.folders.is_empty() || self.files.iter().any(|f| f.source != Source::Derived)
    }
}

pub fn catalogue() -> &'static [DatasetCard] {
    CATALOGUE
}

/// The dataset of this name.
pub fn card(id: &str) -> Option<&'static DatasetCard> {
    CATALOGUE.iter().find(|card| card.id == id)
}

static CATALOGUE: &[DatasetCard] = &[
    DatasetCard {
        id: "htest",
        title: "H-TEST: ten tasks on the look and sound of words, and Letter Geometry",
        licence: "MIT",
        homepage: "https://github.com/brucewlee/h-test",
        citation: Citation {
            text: "Lee & Lim 2024, Language Models Don't Learn the Physical Manifestation of Language",
            link: "arXiv:2402.11349",
        },
        files: files::HTEST,
        folders: &[],
        tasks: &["htest/*"],
        note: "k-shot examples are the first lines of each *_dev file",
    },
    DatasetCard {
        id: "blimp",
        title: "BLiMP: 67 paradigms of 1,000 minimal pairs",
        licence: "CC BY 4.0, as the paper states; the repository has no licence file",
        homepage: "https://github.com/alexwarstadt/blimp",
        citation: Citation {
            text: "Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English",
            link: "doi:10.1162/tacl_a_00321",
        },
        files: files::BLIMP,
        folders: &[],
        tasks: &["psychometric/*"],
        note: "the pairs stay inside the original BLiMP.zip",
    },
    DatasetCard {
        id: "raven",
        title: "RAVEN and I-RAVEN centre-single matrices in symbolic form",
        licence: "MIT (the 500 ids); the matrices were made with GPL-3.0 generators",
        homepage: "https://github.com/hxiaoyang/lm-raven",
        citation: Citation {
            text: "Hu et al. 2023, In-Context Analogical Reasoning with Pre-Trained Language Models",
            link: "arXiv:2305.17626",
        },
        files: files::RAVEN,
        folders: &[],
        tasks: &["psychometric/*"],
        note: "only the list of ids is published; the matrices come from a mirror",
    },
    DatasetCard {
        id: "rosch-typicality",
        title: "Rosch's typicality norms, with scores of published models",
        licence: "MIT",
        homepage: "https://github.com/kanishkamisra/typicalityprobing",
        citation: Citation {
            text: "Misra, Ettinger & Rayz 2021, Do language models learn typicality judgments from text?",
            link: "arXiv:2105.02987",
        },
        files: files::ROSCH_TYPICALITY,
        folders: &[],
        tasks: &["psychometric/*"],
        note: "norms of Rosch 1975, doi:10.1037/0096-3445.104.3.192",
    },
    DatasetCard {
        id: "webb-digit-matrices",
        title: "Digit matrices, letter strings and verbal analogies",
        licence: "Apache-2.0",
        homepage: "https://github.com/taylorwwebb/emergent_analogies_LLM",
        citation: Citation {
            text: "Webb, Holyoak & Lu 2023, Emergent analogical reasoning in large language models",
            link: "doi:10.1038/s41562-023-01659-w",
        },
        files: files::WEBB_DIGIT_MATRICES,
        folders: &[],
        tasks: &["psychometric/*"],
        note: "the problems were converted from Python pickles to JSON and come from a mirror",
    },
    DatasetCard {
        id: "pythia-v0-blimp",
        title: "BLiMP accuracies of the Pythia v0 checkpoints, for reference",
        licence: "Apache-2.0",
        homepage: "https://github.com/EleutherAI/pythia",
        citation: Citation {
            text: "Biderman et al. 2023, Pythia: A Suite for Analyzing Large Language Models",
            link: "arXiv:2304.01373",
        },
        files: files::PYTHIA_V0_BLIMP,
        folders: &[],
        tasks: &["psychometric/*"],
        note: "collected from evals/pythia-v0 at commit a19eecb807ec2c79a39ebf18108816e6ffffc1d5; comes from a mirror",
    },
    DatasetCard {
        id: "arc",
        title: "ARC-AGI-1: 800 grid tasks",
        licence: "Apache-2.0",
        homepage: "https://github.com/fchollet/ARC-AGI",
        citation: Citation {
            text: "Chollet 2019, On the Measure of Intelligence",
            link: "arXiv:1911.01547",
        },
        files: files::ARC,
        folders: files::ARC_FOLDERS,
        tasks: &["physico/*"],
        note: "fetched as one archive of the repository",
    },
    DatasetCard {
        id: "concept-arc",
        title: "ConceptARC: grid tasks grouped by concept",
        licence: "MIT",
        homepage: "https://github.com/victorvikram/ConceptARC",
        citation: Citation {
            text: "Moskvichev, Odouard & Mitchell 2023, The ConceptARC Benchmark",
            link: "arXiv:2305.07141",
        },
        files: files::CONCEPT_ARC,
        folders: files::CONCEPT_ARC_FOLDERS,
        tasks: &["physico/*"],
        note: "fetched as one archive of the repository",
    },
    DatasetCard {
        id: "physico",
        title: "PhysiCo: physical concepts as grids",
        licence: "not stated",
        homepage: "https://physico-benchmark.github.io",
        citation: Citation {
            text: "Yu et al. 2025, The Stochastic Parrot on LLM's Shoulder",
            link: "arXiv:2502.08946",
        },
        files: &[],
        folders: &[],
        tasks: &["physico/*"],
        note: "yours to provide: the files of the Hugging Face dataset ShunchiZhang/PhysiCo, or meta_dataN.json of the OpenReview supplement LSB2mRJdgZ",
    },
    DatasetCard {
        id: "embodied",
        title: "SensoryVec and PerceptualQA, with human answers and model outputs",
        licence: "no licence file; academic and research use",
        homepage: "https://github.com/ererdewubudesi/embodied_knowledge_2025",
        citation: Citation {
            text: "Yang et al. 2025, embodied knowledge of language models (SensoryVec, PerceptualQA)",
            link: "https://github.com/ererdewubudesi/embodied_knowledge_2025",
        },
        files: files::EMBODIED,
        folders: &[],
        tasks: &["embodied/*"],
        note: "the archive of the authors' model outputs was packed here and comes from a mirror",
    },
    DatasetCard {
        id: "norms",
        title: "Age of acquisition and sensory modality of words",
        licence: "Kuperman et al. 2012: CC BY-NC-ND; the modality lists have no licence file",
        homepage: "https://github.com/bodowinter/sensory_linguistics",
        citation: Citation {
            text: "Kuperman et al. 2012; Lynott & Connell 2009, 2013; Strik Lievers 2015",
            link: "doi:10.3758/s13428-012-0210-4",
        },
        files: files::NORMS,
        folders: &[],
        tasks: &["embodied/*", "htest/*"],
        note: "two of the files have CR line ends, as upstream",
    },
    DatasetCard {
        id: "cmudict",
        title: "The CMU Pronouncing Dictionary",
        licence: "BSD-2-Clause",
        homepage: "https://github.com/cmusphinx/cmudict",
        citation: Citation {
            text: "Carnegie Mellon University, The CMU Pronouncing Dictionary",
            link: "https://github.com/cmusphinx/cmudict",
        },
        files: files::CMUDICT,
        folders: &[],
        tasks: &["htest/*"],
        note: "cmudict.dict is kept gzipped",
    },
    DatasetCard {
        id: "wordfreq",
        title: "Word frequencies, English and Chinese",
        licence: "CC BY-SA 4.0; credit Robyn Speer",
        homepage: "https://github.com/rspeer/wordfreq",
        citation: Citation {
            text: "Speer 2022, rspeer/wordfreq",
            link: "doi:10.5281/zenodo.7199437",
        },
        files: files::WORDFREQ,
        folders: &[],
        tasks: &["embodied/*"],
        note: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_complete_and_every_hash_is_one() {
        for card in catalogue() {
            for text in [card.title, card.licence, card.homepage, card.citation.text] {
                assert!(!text.is_empty(), "{}", card.id);
            }
            assert!(!card.tasks.is_empty(), "{}", card.id);
            let hashes = card.files.iter().map(|f| f.sha256);
            for hash in hashes.chain(card.folders.iter().map(|f| f.sha256)) {
                assert!(hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()));
            }
            for file in card.files {
                assert!(file.bytes > 0 && !file.path.contains(".."), "{}", file.path);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = catalogue().iter().map(|c| c.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), catalogue().len());
    }
}
