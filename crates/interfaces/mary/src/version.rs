//! What `mary --version` says: version, commit, features and the instructions of this processor.

/// The commit, where whoever built this said so: `tools/release.sh` does.
const COMMIT: Option<&str> = option_env!("MARY_COMMIT");

/// "0.1.0 (commit 1a2b3c4, cpu, AVX-512)".
pub fn long() -> &'static str {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let features = if cfg!(feature = "cuda") {
            "cpu and cuda"
        } else {
            "cpu"
        };
        let commit = COMMIT.map_or("built from source".to_owned(), |c| format!("commit {c}"));
        let instructions = mary_local::machine::instructions();
        format!(
            "{} ({commit}, {features}, {instructions})",
            env!("CARGO_PKG_VERSION")
        )
    });
    &TEXT
}
