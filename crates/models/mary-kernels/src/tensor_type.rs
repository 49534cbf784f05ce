//! How the numbers of a tensor are stored.

use std::fmt;

macro_rules! types {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $ggml:expr, $numbers:literal, $bytes:literal;)*) => {
        /// How the numbers of a tensor are stored. The quantised kinds are ggml's block formats, and five more for what
        /// the hub's own formats hold.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum TensorType {
            $($(#[$doc])* $kind,)*
        }

        /// In the order of the enum.
        const TYPES: &[(TensorType, &str, Option<u32>, usize, usize)] =
            &[$((TensorType::$kind, $name, $ggml, $numbers, $bytes)),*];
    };
}

// Each type with the name people know it by, its number among ggml's types, the numbers in one block and the bytes of one.
types! {
    F32, "F32", Some(0), 1, 4;
    F16, "F16", Some(1), 1, 2;
    BF16, "BF16", Some(30), 1, 2;
    F64, "F64", Some(28), 1, 8;
    I8, "I8", Some(24), 1, 1;
    U8, "U8", None, 1, 1;
    I16, "I16", Some(25), 1, 2;
    I32, "I32", Some(26), 1, 4;
    I64, "I64", Some(27), 1, 8;
    Q4_0, "Q4_0", Some(2), 32, 18;
    Q4_1, "Q4_1", Some(3), 32, 20;
    Q5_0, "Q5_0", Some(6), 32, 22;
    Q5_1, "Q5_1", Some(7), 32, 24;
    Q8_0, "Q8_0", Some(8), 32, 34;
    Q8_1, "Q8_1", Some(9), 32, 36;
    Q2K, "Q2_K", Some(10), 256, 84;
    Q3K, "Q3_K", Some(11), 256, 110;
    Q4K, "Q4_K", Some(12), 256, 144;
    Q5K, "Q5_K", Some(13), 256, 176;
    Q6K, "Q6_K", Some(14), 256, 210;
    Q8K, "Q8_K", Some(15), 256, 292;
    Iq1S, "IQ1_S", Some(19), 256, 50;
    Iq1M, "IQ1_M", Some(29), 256, 56;
    Iq2Xxs, "IQ2_XXS", Some(16), 256, 66;
    Iq2Xs, "IQ2_XS", Some(17), 256, 74;
    Iq2S, "IQ2_S", Some(22), 256, 82;
    Iq3Xxs, "IQ3_XXS", Some(18), 256, 98;
    Iq3S, "IQ3_S", Some(21), 256, 110;
    Iq4Nl, "IQ4_NL", Some(20), 32, 18;
    Iq4Xs, "IQ4_XS", Some(23), 256, 136;
    Mxfp4, "MXFP4", Some(39), 32, 17;
    Tq1, "TQ1_0", Some(34), 256, 54;
    Tq2, "TQ2_0", Some(35), 256, 66;
    /// Safetensors' FP8; its scale is another tensor.
    F8E4m3, "F8_E4M3", None, 1, 1;
    /// Thirty-two digits of four bits, their scale in 32 bits and their zero point (GPTQ, AWQ, compressed-tensors).
    Int4, "INT4", None, 32, 21;
    /// The same of eight bits.
    Int8, "INT8", None, 32, 37;
    /// Thirty-two places in the table of bitsandbytes' NF4, and their scale in 32 bits.
    Nf4, "NF4", None, 32, 20;
    /// Thirty-two numbers of FP8 and their scale in 32 bits.
    Fp8, "FP8", None, 32, 36;
    /// Thirty-two floats of four bits, and the scales of their halves in 32 bits, the second first.
    Nvfp4, "NVFP4", None, 32, 24;
}

impl TensorType {
    /// Numbers in one block; 1 for plain types.
    pub fn block_len(self) -> usize {
        TYPES[self as usize].3
    }

    /// Bytes of one block; of one number for plain types.
    pub fn block_bytes(self) -> usize {
        TYPES[self as usize].4
    }

    /// Whether the numbers are stored in blocks.
    pub fn is_quantised(self) -> bool {
        self.block_len() > 1
    }

    /// Bytes that this many numbers take; `None` when they do not fill whole blocks or the count
    /// overflows.
    pub fn bytes_for(self, numbers: usize) -> Option<usize> {
        let block = self.block_len();
        if !numbers.is_multiple_of(block) {
            return None;
        }
        (numbers / block).checked_mul(self.block_bytes())
    }

    pub fn name(self) -> &'static str {
        TYPES[self as usize].1
    }

    /// The type that has this number in GGUF files.
    pub fn from_ggml(number: u32) -> Option<Self> {
        let found = TYPES.iter().find(|row| row.2 == Some(number));
        found.map(|row| row.0)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_number() {
        for row in TYPES {
            let ggml = TYPES
                .iter()
                .filter(|other| row.2.is_some() && other.2 == row.2);
            assert!(ggml.count() <= 1, "{}", row.1);
        }
    }
}
