//! The built-in checkpoints, unpacked when they are asked for. Half-precision weights hardly compress, differences from
//! the next checkpoint do a little: `tools/pack_nano.py` makes these files and says how.

use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;

macro_rules! checkpoints {
    ($($step:literal),*) => {
        &[$(($step, include_bytes!(concat!("../../assets/nano/step", $step, ".packed")))),*]
    };
}

const LAST_STEP: &str = "10000";
/// As it is, since almost every run opens it.
static LAST: &[u8] = include_bytes!("../../assets/nano/step10000.safetensors");
/// Training step and differences from the checkpoint before it in this list, latest first. A `static`: a constant would
/// be embedded wherever it is used.
static EARLIER: &[(&str, &[u8])] = checkpoints!(
    "7000", "5000", "3000", "2000", "1000", "512", "256", "128", "64", "16", "0"
);
static UNPACKED: [OnceLock<Vec<u8>>; EARLIER.len()] = [const { OnceLock::new() }; EARLIER.len()];

/// Training steps, earliest first.
pub(super) fn steps() -> impl Iterator<Item = &'static str> {
    EARLIER.iter().map(|e| e.0).rev().chain([LAST_STEP])
}

/// The safetensors file of a step, of the last one where none is named.
pub(super) fn weights(step: Option<&str>) -> Option<&'static [u8]> {
    match step {
        None | Some(LAST_STEP) => Some(LAST),
        Some(step) => Some(earlier(EARLIER.iter().position(|e| e.0 == step)?)),
    }
}

fn earlier(place: usize) -> &'static [u8] {
    UNPACKED[place].get_or_init(|| {
        let later = place.checked_sub(1).map_or(LAST, earlier);
        unpack(EARLIER[place].1, later)
    })
}

/// Bits as an integer that grows with the half-precision number they stand for.
fn ordered(bits: u16) -> u16 {
    if bits >> 15 == 1 {
        !bits
    } else {
        bits | 0x8000
    }
}

/// Empty where the packed file is broken, which the test below excludes.
fn unpack(packed: &[u8], later: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(later.len());
    if ZlibDecoder::new(packed).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let (low, high) = bytes.split_at(bytes.len() / 2);
    let later: Vec<u16> = later
        .as_chunks()
        .0
        .iter()
        .map(|b| u16::from_le_bytes(*b))
        .collect();
    let mut places: Vec<usize> = (0..later.len()).collect();
    places.sort_by_key(|&i| later[i] >> 10 & 31);
    let mut words = vec![0_u16; later.len()];
    for ((place, low), high) in places.into_iter().zip(low).zip(high) {
        let folded = u16::from_le_bytes([*low, *high]);
        let difference = (folded >> 1) ^ (folded & 1).wrapping_neg();
        let bits = ordered(later[place]).wrapping_add(difference);
        words[place] = if bits >> 15 == 1 {
            bits & 0x7fff
        } else {
            !bits
        };
    }
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that `mary grow` wrote. Whatever changes one bit changes what the built-in model is.
    #[test]
    fn checkpoints_are_unpacked_to_the_bit() {
        let hashes = [
            (
                "0",
                "4ca1318fbeae9df0b74b6a2df651b79888cfa3dbc5d29efad5d3c86a0ae51d3e",
            ),
            (
                "16",
                "c08da3e7719141ad48cc0e8d16a0783475ac624aa6445bb3e711d4449432b55a",
            ),
            (
                "64",
                "3e55eac8121fb065938ed9902f72877dc655d35e480146c2da7bada9eedcae26",
            ),
            (
                "128",
                "0134e6ca0eb46cb5cb25b5a7b25c55e0c17616cc92ec4b46025918f91f4fe591",
            ),
            (
                "256",
                "ef556043a5bc6c4a3f9c2660b94c1bb1d5c6e519b0d8d6a6fd83dc78842d9362",
            ),
            (
                "512",
                "eae6f64057186e2365261636b1b13e2875cc7a37788b47f5e4dfa8e636661a31",
            ),
            (
                "1000",
                "1f61d524e5f337e10aa5a2ba054cc4a6be54c846ce54816f0fdfc088fa6ff7a5",
            ),
            (
                "2000",
                "6199a9c708e58a18b24763ae40b84755f77334907feaf1650d51bcc92288a229",
            ),
            (
                "3000",
                "0cfa2d2129d0c353d15ca1200f7c85747f45ce0215eb891a8337306e2b211faf",
            ),
            (
                "5000",
                "8b2aa2eedcd202ad93934186286b539757f3776e200d2504f3b60bba155c1569",
            ),
            (
                "7000",
                "2e36dee226ee8c5f9a4b4858cb79cf49cef249c3f857c782175ead5b8d46d619",
            ),
            (
                "10000",
                "4aa7526ba9bc222c88e9427d70750b4a27cd8bc893fe60013359229beae60d38",
            ),
        ];
        let found: Vec<_> = steps()
            .map(|s| {
                (
                    s,
                    blake3::hash(weights(Some(s)).unwrap()).to_hex().to_string(),
                )
            })
            .collect();
        assert_eq!(found, hashes.map(|(step, hash)| (step, hash.to_owned())));
        assert_eq!(weights(Some("3")), None);
    }
}
