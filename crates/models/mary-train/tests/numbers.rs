//! Numbers of a golden model's tensors, made from their names as `tools/golden_gradients.py` makes them.

fn crc32(text: &str) -> u32 {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Numbers of a tensor, as `numbers` of the script makes them; `turned` ones are read as they lie in the
/// checkpoint, where rows are inputs.
pub fn numbers(name: &str, dims: &[usize], turned: bool) -> Vec<f32> {
    let seed = u64::from(crc32(name));
    let norm = name.to_lowercase().contains("norm") || name.contains(".ln_");
    let at = |place: usize| {
        let mut x = (place as u64 * 2_654_435_761 + seed) & 0xffff_ffff;
        x = ((x ^ (x >> 15)) * 2_246_822_519) & 0xffff_ffff;
        x = ((x ^ (x >> 13)) * 3_266_489_917) & 0xffff_ffff;
        let part = (x >> 8) as f64 / f64::from(1 << 24) - 0.5;
        match dims.len() {
            2 => part as f32,
            _ => (part * 0.5 + if norm { 1.0 } else { 0.0 }) as f32,
        }
    };
    let count: usize = dims.iter().product();
    match (turned, dims) {
        (true, [outputs, inputs]) => (0..count)
            .map(|i| at(i % inputs * outputs + i / inputs))
            .collect(),
        _ => (0..count).map(at).collect(),
    }
}
