//! Hidden states on their way to a judge, compact and bit-exact in a log.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A vector of 32-bit floats; base64 of little-endian bytes in JSON, so that it comes back exactly
/// and takes a third of the room of decimal digits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vector(pub Vec<f32>);

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|x| x.to_le_bytes()).collect();
        s.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        let (chunks, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(D::Error::custom("a vector needs a multiple of four bytes"));
        }
        Ok(Self(
            chunks.iter().map(|c| f32::from_le_bytes(*c)).collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_bit_for_bit() {
        let v = Vector(vec![0.1, -f32::MIN_POSITIVE, 3.0e38]);
        let json = serde_json::to_string(&v).unwrap();
        assert_eq!(serde_json::from_str::<Vector>(&json).unwrap(), v);
    }

    #[test]
    fn a_torn_vector_is_refused() {
        let json = serde_json::to_string(&STANDARD.encode([1u8, 2, 3])).unwrap();
        assert!(serde_json::from_str::<Vector>(&json).is_err());
    }
}
