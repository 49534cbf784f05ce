//! Arguments of `sweep`.

use clap::Args;

use super::run::RunArgs;

/// Arguments of `sweep`.
///
/// Tests every checkpoint of one or more models, says which are not what their name says, and shows
/// when in training each ability grows. The same command goes on where it was stopped.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Models: a hub id (hf/EleutherAI/pythia-70m), a folder of checkpoints (./out, with step0,
    /// step512 … in it), builtin/nano; several sizes may be named [default: builtin/nano]
    #[arg(value_name = "MODEL")]
    pub models: Vec<String>,
    /// Checkpoints: `all`, names (step0,step512; 512 means step512), or ranges (step1..step512)
    #[arg(long, value_delimiter = ',', default_value = "all")]
    pub revisions: Vec<String>,
    /// A table of the checkpoints there are: a line for each, its name and the tokens it had seen
    /// (ckpt_000, 3.5B) [default: the hub's branches and tags, or the names in the folder]
    #[arg(long, value_name = "FILE")]
    pub checkpoints: Option<std::path::PathBuf>,
    /// Tokens of one training step [default: known for Pythia, Amber and builtin/nano, else from the
    /// names (step1000-tokens4B) or from recipe.json beside the checkpoints; without it, curves are
    /// over steps]
    #[arg(long, value_name = "N")]
    pub tokens_per_step: Option<u64>,
    /// Room for checkpoints fetched from the hub; what is done is removed to stay within it
    #[arg(long, value_name = "SIZE", default_value = "40GB", value_parser = bytes)]
    pub disk_limit: u64,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `40GB`, `500MB`, `1.5TB`, or a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 40GB or 500MB");
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match lower[digits.len()..].trim() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "tb" | "t" => 1e12,
        _ => return Err(wrong()),
    };
    match digits.parse::<f64>() {
        Ok(n) if n.is_finite() && n >= 0.0 => Ok((n * unit) as u64),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(bytes("40GB"), Ok(40_000_000_000));
        assert_eq!(bytes("1.5 tb"), Ok(1_500_000_000_000));
        assert_eq!(bytes("123"), Ok(123));
        assert!(bytes("much").is_err() && bytes("-1GB").is_err() && bytes("4 apples").is_err());
    }
}
