use super::super::matmul::tests::multipliers;
use super::super::packed;
use super::*;
use crate::batch::Batch;
use crate::config::{Activation, Norm, Rope};
use crate::kernels::{Backend, Extent, Heads, Rotary, Weights};

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

const HIDDEN: usize = 96;
/// Several groups of columns, the last one not whole; its second product walks two chunks of depth.
const WIDE: usize = 608;
const HEADS: Heads = Heads {
    heads: 3,
    kv_heads: 1,
    head_dim: 32,
};

struct Layers {
    norms: [NormOf<Vec<f32>>; 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    down: Linear,
}

fn layers(cpu: &Cpu, gated: bool, biased: bool) -> Layers {
    let linear = |outputs: usize, inputs: usize, seed: u64| {
        let data = numbers(outputs * inputs, seed);
        let weights = Weights::plain(data, outputs, inputs);
        cpu.prepare(vec![weights], biased.then(|| numbers(outputs, seed + 100)))
    };
    let norm = |seed: u64| NormOf {
        weight: numbers(HIDDEN, seed),
        bias: biased.then(|| numbers(HIDDEN, seed + 100)),
        how: Norm {
            rms: !biased,
            eps: 1e-5,
            unit_offset: false,
        },
    };
    Layers {
        norms: [norm(1), norm(2)],
        qkv: linear(HEADS.qkv_width(), HIDDEN, 3),
        out: linear(HIDDEN, HEADS.q_width(), 4),
        up: linear(if gated { 2 * WIDE } else { WIDE }, HIDDEN, 5),
        down: linear(HIDDEN, WIDE, 6),
    }
}

/// The stream, the queries, keys and values, and the cache, all as bits.
type Bits = Vec<Vec<u32>>;

struct Case {
    rows: usize,
    gated: bool,
    parallel: bool,
    turned: bool,
    norm: Option<Norm>,
}

impl Case {
    fn run(&self, cpu: &Cpu, of: &Layers, at_once: bool) -> Bits {
        let rows = self.rows;
        let mut batch = Batch::default();
        batch.push(&vec![1; rows], &[], 5);
        let (mut x, mut attended, mut qkv) = Default::default();
        // Inputs of a first token that tower over the others, before the norm and behind it.
        let with_towers = |n: usize, seed: u64| {
            let mut x = numbers(n, seed);
            (x[7], x[51], x[n - 3]) = (4_000.0, -3_000.0, 500.0);
            x
        };
        cpu.upload(&with_towers(rows * HIDDEN, 7), &mut x);
        cpu.upload(&with_towers(rows * HEADS.q_width(), 8), &mut attended);
        let mut cache = cpu.cache(1, rows + 9, HEADS.kv_width());
        let rope = Rope {
            frequencies: (1..=16u8).map(|i| f32::from(i).recip()).collect(),
            dim: HEADS.head_dim,
            amplitude: 1.0,
        };
        let rotary = self.turned.then(|| Rotary::new(&rope, &batch.positions));
        let of_heads = [numbers(HEADS.head_dim, 9), numbers(HEADS.head_dim, 10)];
        let norms = self.norm.map(|how| (&of_heads[0], &of_heads[1], how));
        let plan = &batch;
        if at_once {
            cpu.between(Between {
                rows,
                x: &mut x,
                ending: Some(Ending {
                    attended: &attended,
                    out: &of.out,
                    norm: &of.norms[0],
                    parallel: self.parallel,
                    up: &of.up,
                    shape: (WIDE, self.gated),
                    activation: Activation::Silu,
                    down: &of.down,
                }),
                beginning: Some(Beginning {
                    norm: &of.norms[1],
                    qkv: &of.qkv,
                    to: &mut qkv,
                    heads: &HEADS,
                    norms,
                    rotary: rotary.as_ref(),
                    cache: (&mut cache, 0),
                    plan: &plan,
                }),
            });
        } else {
            let all = Extent::reading(rows);
            let (mut normed, mut wide, mut narrow) = Default::default();
            if self.parallel {
                cpu.norm(&x, rows, &of.norms[0], &mut normed);
            }
            cpu.linear(&attended, all, &of.out, &mut x, true);
            if !self.parallel {
                cpu.norm(&x, rows, &of.norms[0], &mut normed);
            }
            cpu.linear(&normed, all, &of.up, &mut wide, false);
            let shape = (WIDE, self.gated);
            cpu.activate(&wide, rows, shape, Activation::Silu, &mut narrow);
            cpu.linear(&narrow, all, &of.down, &mut x, true);
            cpu.norm(&x, rows, &of.norms[1], &mut normed);
            cpu.linear(&normed, all, &of.qkv, &mut qkv, false);
            let place = (&mut cache, 0);
            cpu.place(&mut qkv, &HEADS, norms, rotary.as_ref(), place, &plan);
        }
        let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect();
        vec![
            bits(&cpu.download(&x, rows * HIDDEN)),
            bits(&cpu.download(&qkv, rows * HEADS.qkv_width())),
            bits(&cache.keys[0]),
            bits(&cache.values[0]),
        ]
    }
}

#[test]
fn rows_taken_through_at_once_have_the_bits_of_the_single_steps() {
    for how in multipliers() {
        rows_taken_through_at_once(&Cpu::new(how));
    }
}

fn rows_taken_through_at_once(cpu: &Cpu) {
    let rms = Norm {
        rms: true,
        eps: 1e-6,
        unit_offset: false,
    };
    for (gated, biased, parallel) in [
        (true, false, false),
        (false, true, true),
        (true, true, false),
        (false, false, false),
    ] {
        let of = layers(cpu, gated, biased);
        for (rows, threads) in [(200, 2), (301, 3), (613, 2)] {
            let case = Case {
                rows,
                gated,
                parallel,
                turned: rows != 301,
                norm: (rows == 613).then_some(rms),
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            let alone = case.run(cpu, &of, false);
            let at_once = pool.install(|| case.run(cpu, &of, true));
            let names = ["stream", "queries, keys and values", "keys", "values"];
            for ((a, b), name) in alone.iter().zip(&at_once).zip(names) {
                assert!(
                    a == b,
                    "{name} of {rows} rows: gated {gated}, biased {biased}"
                );
            }
        }
    }
}

#[test]
fn blocks_are_whole_panels_that_cover_all_rows_in_order() {
    for (rows, threads) in [
        (192, 2),
        (613, 2),
        (679, 2),
        (2048, 2),
        (2048, 5),
        (9000, 16),
    ] {
        let blocks: Vec<_> = divide(rows, threads, 8).collect();
        let ends = blocks.iter().map(|b| b.end).chain([0]);
        let mut starts: Vec<usize> = ends.collect();
        starts.rotate_right(1);
        assert!(blocks.iter().zip(&starts).all(|(b, &end)| b.start == end));
        assert_eq!(starts[0], 0);
        assert_eq!(blocks.last().unwrap().end, rows);
        let sizes = || blocks.iter().map(|b| b.len());
        assert!(blocks.iter().all(|b| b.start.is_multiple_of(PANEL)));
        assert!(sizes().max().unwrap() - sizes().min().unwrap() < 2 * PANEL);
        assert!(sizes().max().unwrap() <= packed::ROWS, "{rows} rows");
    }
}
