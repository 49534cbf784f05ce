//! Attention on the GPU: which kernel takes which heads, and the tiles it works through.

use mary_contract::{ErrorKind, ModelError};
use mary_cuda::{NumberType, args};

use super::{ATTENTION, ATTENTION16, Done, Gpu, int};
use crate::net::Segment;
use crate::net::attention::Joint;

/// Where queries, keys and values lie in a joint row, as the kernels take it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heads {
    heads: i32,
    group: i32,
    width: i32,
    row: i32,
    q_step: i32,
    k_base: i32,
    k_step: i32,
    v_base: i32,
    v_step: i32,
}

impl Heads {
    pub(super) fn new(joint: Joint) -> Self {
        let group = joint.group();
        let step = |at: &dyn Fn(usize) -> usize, next: usize| {
            if next < joint.heads {
                int(at(next)) - int(at(0))
            } else {
                0
            }
        };
        Self {
            heads: int(joint.heads),
            group: int(group),
            width: int(joint.width),
            row: int(joint.row()),
            q_step: step(&|h| joint.query_at(h), 1),
            k_base: int(joint.key_at(0)),
            k_step: step(&|h| joint.key_at(h), group),
            v_base: int(joint.value_at(0)),
            v_step: step(&|h| joint.value_at(h), group),
        }
    }
}

/// The kernel for heads of a width: the width it is made for, and the rows of its tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    wide: usize,
    pub(super) rows: usize,
    kind: NumberType,
    units: bool,
}

impl Tiling {
    pub(super) fn new(head_width: usize, kind: NumberType) -> Done<Self> {
        let units = kind == NumberType::Bf16 && head_width.is_multiple_of(8) && head_width <= 128;
        let (wide, rows) = match head_width {
            0..=32 if units => (32, 64),
            33..=64 if units => (64, 64),
            65..=128 if units => (128, 64),
            0..=256 if kind == NumberType::Bf16 => (256, 16),
            0..=32 => (32, 64),
            33..=64 => (64, 64),
            65..=128 => (128, 32),
            129..=256 => (256, 16),
            _ => {
                let message = format!("heads of {head_width} numbers are wider than 256");
                return Err(ModelError::new(ErrorKind::BadModel, message)
                    .hint("this model trains on the processor: --device cpu"));
            }
        };
        Ok(Self {
            wide,
            rows,
            kind,
            units,
        })
    }

    /// Shared memory of so many tiles and what is computed from them.
    fn shared(self, tiles: usize) -> usize {
        match self.units {
            true => tiles * self.rows * (self.wide + 8) * 2 + 2 * self.rows * 4,
            false => 4 * (tiles * self.rows * (self.wide + 4) + self.rows * (self.rows + 4)),
        }
    }

    /// The kernel for a part of the work, and the threads of its blocks.
    fn kernel(self, what: &str) -> ((&'static str, String), usize) {
        let wide = self.wide;
        match (self.units, self.kind) {
            (true, _) => {
                let name = what.replace("attend", "attend_units");
                ((ATTENTION16, format!("{name}_{wide}")), 128)
            }
            (false, NumberType::Single) => ((ATTENTION, format!("{what}_{wide}")), 256),
            (false, _) => ((ATTENTION, format!("{what}_b_{wide}")), 256),
        }
    }

    /// A kernel that has no tiles.
    fn plain(self, what: &str) -> String {
        match self.kind {
            NumberType::Single => what.to_owned(),
            _ => format!("{what}_b"),
        }
    }

    /// The tiles of all segments (segment's start and length, first row of the tile), the longest
    /// work first.
    pub(super) fn tiles(self, segments: &[Segment]) -> Vec<i32> {
        let mut all: Vec<(usize, usize, usize)> = Vec::new();
        for segment in segments {
            let firsts = (0..segment.length).step_by(self.rows);
            all.extend(firsts.map(|first| (segment.start, segment.length, first)));
        }
        all.sort_by_key(|&(start, _, first)| (std::cmp::Reverse(first), start));
        all.iter()
            .flat_map(|&(start, length, first)| [int(start), int(length), int(first)])
            .collect()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Attention {
    pub(super) heads: Heads,
    pub(super) tiling: Tiling,
    pub(super) tiles: u64,
    pub(super) tile_count: usize,
    pub(super) tokens: usize,
}

impl Attention {
    fn scale(&self) -> f32 {
        1.0 / (self.heads.width as f32).sqrt()
    }
}

impl Gpu {
    /// Turns queries and keys by their positions; `back` turns the other way.
    pub(super) fn rotate(
        &self,
        qkv: u64,
        a: &Attention,
        positions: u64,
        (angles, half): (u64, usize),
        back: bool,
    ) -> Done {
        if half == 0 {
            return Ok(());
        }
        let (heads, half, back) = (a.heads, int(half), i32::from(back));
        let words = args![qkv, positions, angles, heads, half, back];
        let name = a.tiling.plain("rotate");
        self.device
            .launch((ATTENTION, &name), (a.tokens, 1), 128, 0, words)
    }

    /// Attention over rotated joint rows; keeps the log-sums of every head and row.
    pub(super) fn attend(&self, qkv: u64, a: &Attention, out: u64, log_sums: u64) -> Done {
        let (heads, tiles, tokens, scale) = (a.heads, a.tiles, int(a.tokens), a.scale());
        let words = args![qkv, heads, tiles, tokens, scale, out, log_sums];
        let ((part, name), threads) = a.tiling.kernel("attend");
        let grid = (a.tile_count, heads.heads as usize);
        self.device
            .launch((part, &name), grid, threads, a.tiling.shared(3), words)
    }

    /// Gradients of the joint rows, still rotated. `kept` are the forward pass's output and log-sums.
    pub(super) fn attend_back(
        &self,
        qkv: u64,
        a: &Attention,
        (out, log_sums): (u64, u64),
        dout: u64,
        (dots, dqkv): (u64, u64),
    ) -> Done {
        let (heads, tiles, tokens, scale) = (a.heads, a.tiles, int(a.tokens), a.scale());
        let pairs = a.tokens * heads.heads as usize;
        let words = args![out, dout, heads, tokens, dots];
        let grid = (pairs.div_ceil(8), 1);
        let name = a.tiling.plain("attend_dots");
        self.device
            .launch((ATTENTION, &name), grid, 256, 0, words)?;
        let key_heads = heads.heads / heads.group;
        for (half, count) in [("q", heads.heads), ("kv", key_heads)] {
            let ((part, name), threads) = a.tiling.kernel(&format!("attend_back_{half}"));
            let words = args![qkv, heads, tiles, tokens, scale, dout, log_sums, dots, dqkv];
            let grid = (a.tile_count, count as usize);
            self.device
                .launch((part, &name), grid, threads, a.tiling.shared(4), words)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_lie_where_the_joint_row_has_them() {
        let joint = Joint {
            heads: 4,
            kv_heads: 4,
            width: 16,
            grouped: true,
        };
        let heads = Heads::new(joint);
        for h in 0..4 {
            assert_eq!(int(joint.query_at(h)), int(h) * heads.q_step);
            assert_eq!(int(joint.key_at(h)), heads.k_base + int(h) * heads.k_step);
            assert_eq!(int(joint.value_at(h)), heads.v_base + int(h) * heads.v_step);
        }
    }

    #[test]
    fn tiles_cover_every_row_of_every_segment_once() {
        let segments = [
            Segment {
                start: 0,
                length: 130,
            },
            Segment {
                start: 130,
                length: 64,
            },
            Segment {
                start: 194,
                length: 1,
            },
        ];
        let tiling = Tiling::new(64, NumberType::Bf16).expect("a width");
        let mut seen = vec![0; 195];
        for tile in tiling.tiles(&segments).chunks(3) {
            let (start, length, first) = (tile[0], tile[1], tile[2]);
            for row in first..length.min(first + int(tiling.rows)) {
                seen[(start + row) as usize] += 1;
            }
        }
        assert!(seen.iter().all(|n| *n == 1));
        assert!(Tiling::new(300, NumberType::Single).is_err());
    }
}
