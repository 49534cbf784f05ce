//! The gradient of every layer kind against finite differences.

use mary_train::net::{
    Activation, AdapterLayout, Family, Gradients, Layout, Net, Packed, Parameters, Segment, Shape,
    Workspace,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn llama() -> Shape {
    Shape {
        family: Family::Llama,
        kv_heads: 2,
        inner: 20,
        rotary: 4,
        parallel_residual: false,
        activation: Activation::GatedSilu,
        tied: false,
        ..Shape::neox(23, 16, 2, 4, 16)
    }
}

/// Two segments, with some targets left out and one counted half.
fn packed(shape: &Shape) -> Packed {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut token = || rng.random_range(0..shape.vocabulary as u32);
    let tokens: Vec<u32> = (0..15).map(|_| token()).collect();
    let targets = (0..15)
        .map(|i| (token(), [1.0, 0.0, 0.5, 1.0][i % 4]))
        .collect();
    let segments = vec![
        Segment {
            start: 0,
            length: 9,
        },
        Segment {
            start: 9,
            length: 6,
        },
    ];
    Packed {
        tokens,
        targets,
        segments,
    }
}

fn weights(layout: &Layout) -> Vec<f32> {
    let mut values = random(layout.total, 3);
    for entry in &layout.entries {
        let around = if entry.name.contains("norm") && entry.name.ends_with("weight") {
            1.0
        } else {
            0.0
        };
        for x in &mut values[entry.place.clone()] {
            *x = around + *x * if entry.dims.len() == 2 { 0.5 } else { 0.3 };
        }
    }
    values
}

/// The derivative of the loss along a direction, by central differences.
fn derivative(loss: &mut dyn FnMut(&[f32]) -> f64, at: &[f32], direction: &[f32]) -> f64 {
    let step = 4e-3;
    let moved = |sign: f32| -> Vec<f32> {
        at.iter()
            .zip(direction)
            .map(|(x, d)| x + sign * step * d)
            .collect()
    };
    (loss(&moved(1.0)) - loss(&moved(-1.0))) / (2.0 * f64::from(step))
}

/// Checks one tensor: along its own gradient, and along a random direction.
fn check(
    name: &str,
    place: std::ops::Range<usize>,
    at: &[f32],
    gradient: &[f32],
    loss: &mut dyn FnMut(&[f32]) -> f64,
) {
    let own = &gradient[place.clone()];
    let norm = own
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum::<f64>()
        .sqrt();
    assert!(norm > 1e-4, "{name} gets no gradient");
    for (kind, along) in [("own", own.to_vec()), ("random", random(place.len(), 5))] {
        let length = along
            .iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt();
        let mut direction = vec![0.0; at.len()];
        for (d, x) in direction[place.clone()].iter_mut().zip(&along) {
            *d = (f64::from(*x) / length) as f32;
        }
        let want = derivative(loss, at, &direction);
        let got: f64 = gradient
            .iter()
            .zip(&direction)
            .map(|(g, d)| f64::from(*g) * f64::from(*d))
            .sum();
        let error = (got - want).abs();
        assert!(
            error < 5e-3 * want.abs() + 2e-3 * norm + 1e-3,
            "{name} along {kind}: {got} by hand, {want} by differences"
        );
    }
}

fn base_gradient(shape: Shape) {
    let net = Net::new(shape.clone()).expect("a net");
    let packed = packed(&shape);
    let base = weights(&net.layout);
    let mut ws = Workspace::default();
    let mut gradient = vec![0.0; base.len()];
    let p = Parameters {
        base: &base,
        stored: None,
        transposed: None,
        frozen: None,
        adapter: None,
    };
    let mut g = Gradients {
        base: Some(&mut gradient),
        adapter: None,
    };
    net.loss_and_gradient(&p, &packed, 1.0, &mut g, &mut ws)
        .expect("runs");
    let mut loss = |values: &[f32]| {
        let p = Parameters {
            base: values,
            stored: None,
            transposed: None,
            frozen: None,
            adapter: None,
        };
        net.loss_and_gradient(&p, &packed, 1.0, &mut Gradients::default(), &mut ws)
            .expect("runs")
    };
    for entry in &net.layout.entries {
        check(
            &entry.name,
            entry.place.clone(),
            &base,
            &gradient,
            &mut loss,
        );
    }
}

#[test]
fn gpt_neox_with_parallel_residual() {
    base_gradient(Shape::neox(23, 16, 2, 2, 16));
}

#[test]
fn gpt_neox_one_after_the_other_with_its_own_output_matrix_and_tanh() {
    base_gradient(Shape {
        parallel_residual: false,
        tied: false,
        activation: Activation::GeluTanh,
        ..Shape::neox(23, 16, 2, 2, 16)
    });
}

#[test]
fn llama_with_shared_keys_and_gates() {
    base_gradient(llama());
}

#[test]
fn a_segment_longer_than_a_block_of_query_rows() {
    let shape = Shape::neox(23, 16, 1, 2, 200);
    let net = Net::new(shape.clone()).expect("a net");
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let window: Vec<u32> = (0..151).map(|_| rng.random_range(0..23)).collect();
    let packed = Packed::from_window(&window);
    let base = weights(&net.layout);
    let mut ws = Workspace::default();
    let mut gradient = vec![0.0; base.len()];
    let p = Parameters {
        base: &base,
        stored: None,
        transposed: None,
        frozen: None,
        adapter: None,
    };
    let mut g = Gradients {
        base: Some(&mut gradient),
        adapter: None,
    };
    net.loss_and_gradient(&p, &packed, 0.1, &mut g, &mut ws)
        .expect("runs");
    let mut loss = |values: &[f32]| {
        let p = Parameters {
            base: values,
            stored: None,
            transposed: None,
            frozen: None,
            adapter: None,
        };
        0.1 * net
            .loss_and_gradient(&p, &packed, 0.1, &mut Gradients::default(), &mut ws)
            .expect("runs")
    };
    let qkv = net
        .layout
        .entries
        .iter()
        .find(|e| e.name.ends_with("query_key_value.weight"))
        .expect("qkv");
    check(&qkv.name, qkv.place.clone(), &base, &gradient, &mut loss);
}

fn adapter_gradient(shape: Shape, targets: &[&str], dropout: f32) {
    let net = Net::new(shape.clone()).expect("a net");
    let packed = packed(&shape);
    let base = weights(&net.layout);
    let targets: Vec<String> = targets.iter().map(|t| (*t).to_owned()).collect();
    let table = AdapterLayout::new(&net.layout, 3, 6.0, dropout, &targets).expect("an adapter");
    let values: Vec<f32> = random(table.total, 4).iter().map(|x| x * 0.3).collect();
    let mut ws = Workspace::default();
    let mut gradient = vec![0.0; table.total];
    let p = Parameters {
        base: &base,
        stored: None,
        transposed: None,
        frozen: None,
        adapter: Some((&table, &values, Some(77))),
    };
    let mut g = Gradients {
        base: None,
        adapter: Some(&mut gradient),
    };
    net.loss_and_gradient(&p, &packed, 1.0, &mut g, &mut ws)
        .expect("runs");
    let mut loss = |values: &[f32]| {
        let p = Parameters {
            base: &base,
            stored: None,
            transposed: None,
            frozen: None,
            adapter: Some((&table, values, Some(77))),
        };
        net.loss_and_gradient(&p, &packed, 1.0, &mut Gradients::default(), &mut ws)
            .expect("runs")
    };
    // Pieces small enough to hold every A and B of every site apart.
    for (index, start) in (0..table.total).step_by(24).enumerate() {
        let place = start..(start + 24).min(table.total);
        let norm: f32 = gradient[place.clone()].iter().map(|x| x * x).sum();
        if norm.sqrt() > 1e-2 {
            check(
                &format!("adapter piece {index}"),
                place,
                &values,
                &gradient,
                &mut loss,
            );
        }
    }
}

#[test]
fn adapters_on_every_matrix_of_both_families() {
    adapter_gradient(
        Shape::neox(23, 16, 2, 2, 16),
        &["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"],
        0.0,
    );
    adapter_gradient(
        llama(),
        &[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ],
        0.0,
    );
}

#[test]
fn adapters_with_dropout() {
    adapter_gradient(llama(), &["q_proj", "v_proj", "down_proj"], 0.3);
}
