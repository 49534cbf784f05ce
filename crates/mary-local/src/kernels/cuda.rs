//! An NVIDIA card: the same calls as the processor answers, with packed rows, keys and values that
//! stay on the card, and log-probabilities that never write logits down.
//!
//! With 16-bit weights, rows that enter a product are 16-bit and sums are 32-bit (the residual stream
//! too). With 32-bit weights every number is split into three bfloat16s and six products are summed
//! on the matrix units, as exact as a 32-bit product and faster. A call that fails leaves its error to
//! [`Backend::check`]; calls after it do nothing.

mod blas;
mod driver;
mod plan;

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{ErrorKind, ModelError};

use super::{
    Alibi, AttentionCall, Backend, Groups, Heads, NormOf, Turns as Turned, Wanted, Weights,
};
use crate::config::{Activation, Norm, Rope};
use crate::load::Precision;
use crate::transformer::Batch;
use blas::{Blas, Places, Shape};
use driver::{Device, Lender, Lent, Memory};
pub use plan::{MAX_WIDTH, Plan, tiles};

/// A type of number on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// float32.
    #[default]
    Single,
    /// bfloat16.
    Bf16,
    /// float16.
    F16,
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Bf16 | Self::F16 => 2,
        }
    }

    /// Its letter in the names of kernels.
    fn letter(self) -> char {
        match self {
            Self::Single => 's',
            Self::Bf16 => 'b',
            Self::F16 => 'h',
        }
    }
}

/// How a card is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// Which card.
    pub number: usize,
    /// The type of weights.
    pub precision: Precision,
    /// Use cuBLASLt where it is found.
    pub blas: bool,
    /// Bytes that may be taken on the card, where the user limits it.
    pub memory: Option<u64>,
}

/// A card as a device.
pub struct Cuda {
    device: Arc<Device>,
    blas: Option<Blas>,
    /// The type of rows that enter a product.
    kind: Kind,
    lender: Arc<Lender>,
    fault: Mutex<Option<ModelError>>,
    scratch: Mutex<Scratch>,
    ropes: Mutex<Vec<(Vec<u32>, Arc<Angles>)>>,
    slopes: Mutex<Option<(Alibi, Arc<Memory>)>>,
}

/// Memory that calls use while they last; the lock is held until all that uses it is launched.
#[derive(Default)]
struct Scratch {
    /// Rows in another type.
    rows: Option<Memory>,
    /// What the head leaves of each tile, or a block of logits.
    parts: Option<Memory>,
    normalisers: Option<Memory>,
}

/// Sines and cosines of every position, on the card.
struct Angles {
    memory: Memory,
    positions: usize,
    half: usize,
}

/// Rows of numbers on the card.
#[derive(Default)]
pub struct Tensor {
    memory: Option<Memory>,
    kind: Kind,
}

impl Tensor {
    fn at(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::at)
    }
}

/// A linear layer on the card: rows of weights, in one part or three.
pub struct Linear {
    weights: Option<Memory>,
    outputs: usize,
    inputs: usize,
    parts: usize,
    bias: Option<Vector>,
    /// The bias in the type of the rows.
    short_bias: Option<Memory>,
}

/// Weights of a norm.
pub struct Vector {
    memory: Option<Memory>,
    len: usize,
}

impl Vector {
    fn at(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::at)
    }
}

/// Vectors of tokens or positions.
pub struct Table {
    memory: Option<Memory>,
    width: usize,
}

/// Keys and values of every layer.
pub struct Cache {
    memory: Option<Memory>,
    layers: usize,
    rows: usize,
    width: usize,
}

/// Where the sines and cosines of a batch lie.
pub struct Turns(Option<Arc<Angles>>);

/// Log-probabilities on their way.
pub struct Pending {
    lent: Option<Lent>,
    len: usize,
}

/// Arguments of a kernel, in order; each keeps its own type.
macro_rules! args {
    ($($x:expr),* $(,)?) => {
        &mut [$((&raw const $x).cast_mut().cast::<c_void>()),*]
    };
}

#[repr(C)]
#[derive(Clone, Copy)]
struct HeadShape {
    heads: i32,
    kv_heads: i32,
    head_dim: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Weighing {
    scale: f32,
    cap: f32,
    alibi_scale: f32,
    causal: i32,
    window: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Product {
    m: i32,
    n: i32,
    k: i32,
    passes: i32,
    lda: i32,
    ldb: i32,
    cap: f32,
}

/// Which kernel multiplies, and the tile it takes.
#[derive(Clone, Copy)]
struct Tiling {
    name: &'static str,
    rows: usize,
    columns: usize,
    threads: usize,
    shared: usize,
}

const BASE: &str = "base";
/// Logits kept at once where they are written down at all: what stays in the card's cache.
const LOGITS: usize = 13 << 20;
/// The parts of a row and of the weights that each pass multiplies, least products first; the first
/// parts are the greatest. `kernels.cu` has the same list.
const PASSES: [(usize, usize); 6] = [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)];

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

impl Cuda {
    /// Opens a card.
    pub fn new(choices: Choices) -> Result<Self, ModelError> {
        let device = Device::open(choices.number)?;
        if let Some(bytes) = choices.memory {
            device.limit(bytes);
        }
        let blas = choices.blas.then(|| Blas::find(&device)).flatten();
        Ok(Self {
            blas,
            kind: match choices.precision {
                Precision::Single => Kind::Single,
                Precision::Bf16 => Kind::Bf16,
                Precision::F16 => Kind::F16,
            },
            device,
            lender: Arc::default(),
            fault: Mutex::default(),
            scratch: Mutex::default(),
            ropes: Mutex::default(),
            slopes: Mutex::default(),
        })
    }

    /// The card and how it multiplies, in words.
    pub fn describe(&self) -> String {
        let how = match (self.kind, &self.blas) {
            (Kind::Single, Some(_)) => "three bfloat16 parts, cuBLASLt",
            (Kind::Single, None) => "three bfloat16 parts, own kernels",
            (_, Some(_)) => "cuBLASLt, own kernels for the rest",
            (_, None) => "own kernels",
        };
        let (major, minor) = self.device.capability;
        format!(
            "{}, compute capability {major}.{minor}, {how}",
            self.device.name
        )
    }

    /// Waits until everything asked for is done.
    pub fn wait(&self) -> Result<(), ModelError> {
        self.device.wait()
    }

    /// Keeps the first error; what follows does nothing until it is taken.
    fn keep<T>(&self, result: Result<T, ModelError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(error);
                None
            }
        }
    }

    fn broken(&self) -> bool {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn launch(
        &self,
        name: (&'static str, &str),
        grid: (usize, usize),
        block: usize,
        words: &mut [*mut c_void],
    ) {
        if !self.broken() {
            self.keep(self.device.launch(name, grid, block, 0, words));
        }
    }

    /// Room for numbers; what was there is lost when it grows.
    fn room(&self, tensor: &mut Tensor, len: usize, kind: Kind) -> u64 {
        let bytes = len * kind.bytes();
        tensor.kind = kind;
        self.grow(&mut tensor.memory, bytes)
    }

    fn grow(&self, place: &mut Option<Memory>, bytes: usize) -> u64 {
        match place {
            Some(memory) if memory.bytes() >= bytes => memory.at(),
            _ => {
                *place = None;
                *place = self.keep(self.device.alloc(bytes));
                place.as_ref().map_or(0, Memory::at)
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, x: &[i32]) -> Option<Lent> {
        if self.broken() {
            return None;
        }
        self.keep(self.lender.send(&self.device, x))
    }

    /// Brings weights onto the card in the type of the rows, split where that is float32.
    fn bring(&self, data: &[f32], width: usize, to: u64, parts: usize) {
        let mut scratch = self.lock();
        let step = ((16 << 20) / width.max(1)).max(1) * width.max(1);
        for (i, chunk) in data.chunks(step).enumerate() {
            let from = self.grow(&mut scratch.rows, chunk.len() * 4);
            if self.broken() || self.keep(self.device.write(chunk, from)).is_none() {
                return;
            }
            let (len, width) = (chunk.len() as u64, int(width));
            let grid = (chunk.len().div_ceil(256), 1);
            if parts == 3 {
                let to = to + (i * step * 3 * 2) as u64;
                self.launch((BASE, "split"), grid, 256, args![from, to, width, len]);
            } else {
                let name = format!("cast_s{}", self.kind.letter());
                let to = to + (i * step * self.kind.bytes()) as u64;
                self.launch((BASE, &name), grid, 256, args![from, to, len]);
            }
        }
    }

    /// The rows in the form a product takes them: as they are, rounded, or split in three.
    fn operand(&self, scratch: &mut Scratch, x: &Tensor, len: usize, layer: &Linear) -> u64 {
        let count = len as u64;
        let from = x.at();
        let grid = (len.div_ceil(256), 1);
        if layer.parts == 3 {
            let to = self.grow(&mut scratch.rows, len * 6);
            let width = int(layer.inputs);
            self.launch((BASE, "split"), grid, 256, args![from, to, width, count]);
            return to;
        }
        if x.kind == self.kind {
            return from;
        }
        let to = self.grow(&mut scratch.rows, len * self.kind.bytes());
        let name = format!("cast_{}{}", x.kind.letter(), self.kind.letter());
        self.launch((BASE, &name), grid, 256, args![from, to, count]);
        to
    }

    fn product_kind(&self) -> Kind {
        if self.kind == Kind::Single {
            Kind::Bf16
        } else {
            self.kind
        }
    }

    fn tiling(&self, rows: usize, columns: usize) -> Tiling {
        let large = rows.div_ceil(128) * columns.div_ceil(256);
        let lean = self.device.shared < 4 * 48 * 1024;
        if rows > 64 && large * 4 >= self.device.multiprocessors * 3 {
            Tiling {
                name: "product_large",
                rows: 128,
                columns: 256,
                threads: 256,
                shared: if lean { 2 } else { 4 } * 48 * 1024,
            }
        } else {
            Tiling {
                name: "product_small",
                rows: 64,
                columns: 64,
                threads: 128,
                shared: 3 * 16 * 1024,
            }
        }
    }

    fn product_part(&self) -> &'static str {
        let lean = self.device.shared < 4 * 48 * 1024;
        match (self.product_kind(), lean) {
            (Kind::F16, false) => "product_h",
            (Kind::F16, true) => "product_h_lean",
            (_, false) => "product_b",
            (_, true) => "product_b_lean",
        }
    }

    fn shape(&self, rows: usize, layer: &Linear, cap: f32) -> Product {
        Product {
            m: int(rows),
            n: int(layer.outputs),
            k: int(layer.inputs),
            passes: if layer.parts == 3 { 6 } else { 1 },
            lda: int(layer.inputs * layer.parts),
            ldb: int(layer.inputs * layer.parts),
            cap,
        }
    }

    /// Whether the library takes products of this layer.
    fn library_takes(&self, layer: &Linear) -> bool {
        self.blas.is_some() && layer.inputs.is_multiple_of(8) && layer.outputs.is_multiple_of(8)
    }

    /// Multiplies with the library; false where it is not there or has nothing for the first pass.
    fn by_library(
        &self,
        x: u64,
        rows: usize,
        layer: &Linear,
        (out, kind): (u64, Kind),
        add: bool,
    ) -> bool {
        let Some(blas) = self.blas.as_ref().filter(|_| self.library_takes(layer)) else {
            return false;
        };
        let weights = layer.weights.as_ref().map_or(0, Memory::at);
        let bias = match kind {
            Kind::Single => layer.bias.as_ref().map_or(0, Vector::at),
            _ => layer.short_bias.as_ref().map_or(0, Memory::at),
        };
        let passes = if layer.parts == 3 {
            &PASSES[..]
        } else {
            &PASSES[5..]
        };
        for (i, &(of_x, of_weights)) in passes.iter().enumerate() {
            let last = i + 1 == passes.len();
            let shape = Shape {
                rows,
                outputs: layer.outputs,
                inputs: layer.inputs,
                stride: layer.inputs * layer.parts,
                kind: self.product_kind(),
                out: kind,
                bias: layer.bias.is_some() && last,
                add: add || i > 0,
            };
            let part = |n: usize| (n * layer.inputs * 2) as u64;
            let places = Places {
                x: x + part(of_x),
                weights: weights + part(of_weights),
                bias,
                out,
            };
            if !blas.multiply(shape, places) {
                if i > 0 {
                    let message = "cuBLASLt stopped in the middle of a product".to_owned();
                    self.keep::<()>(Err(ModelError::new(ErrorKind::Internal, message)
                        .hint("--model-arg matmul=own does without it")));
                }
                return i > 0;
            }
        }
        true
    }

    /// `out = x · Wᵀ + b` or `out += …`, with the rows as the product takes them.
    fn multiply(&self, x: u64, rows: usize, layer: &Linear, out: (u64, Kind), add: bool) {
        if self.broken() || rows == 0 {
            return;
        }
        let weights = layer.weights.as_ref().map_or(0, Memory::at);
        let bias = layer.bias.as_ref().map_or(0, Vector::at);
        let (to, out_kind) = out;
        if self.by_library(x, rows, layer, out, add) {
            return;
        }
        let shape = self.shape(rows, layer, 0.0);
        let (from, into) = (self.product_kind().letter(), out_kind.letter());
        if !layer.inputs.is_multiple_of(8) {
            let grid = ((rows * layer.outputs).div_ceil(256), 1);
            let name = format!("product_plain_{from}{into}");
            let add = i32::from(add);
            self.launch(
                (BASE, &name),
                grid,
                256,
                args![x, weights, bias, to, shape, add],
            );
            return;
        }
        let tiling = self.tiling(rows, layer.outputs);
        let what = if add { "add" } else { "store" };
        let name = format!("{}_{from}_{what}_{into}", tiling.name);
        let grid = rows.div_ceil(tiling.rows) * layer.outputs.div_ceil(tiling.columns);
        let words = args![x, weights, bias, to, shape];
        let part = self.product_part();
        let launched = self.device.launch(
            (part, &name),
            (grid, 1),
            tiling.threads,
            tiling.shared,
            words,
        );
        self.keep(launched);
    }

    /// The logarithm of the sum of exponentials of each row's logits.
    fn normalisers(
        &self,
        scratch: &mut Scratch,
        x: &Tensor,
        rows: usize,
        head: &Linear,
        cap: f32,
    ) -> u64 {
        let out = self.grow(&mut scratch.normalisers, rows * 4);
        let operand = self.operand(scratch, x, rows * head.inputs, head);
        let count = int(rows);
        let weights = head.weights.as_ref().map_or(0, Memory::at);
        let bias = head.bias.as_ref().map_or(0, Vector::at);
        if head.inputs.is_multiple_of(8) && !self.library_takes(head) {
            let tiling = self.tiling(rows, head.outputs);
            let tiles = head.outputs.div_ceil(tiling.columns);
            let parts = self.grow(&mut scratch.parts, rows * tiles * 8);
            let shape = self.shape(rows, head, cap);
            let name = format!(
                "{}_{}_exponentials",
                tiling.name,
                self.product_kind().letter()
            );
            let words = args![operand, weights, bias, parts, shape];
            if self.broken() {
                return out;
            }
            let grid = (rows.div_ceil(tiling.rows) * tiles, 1);
            let launched = self.device.launch(
                (self.product_part(), &name),
                grid,
                tiling.threads,
                tiling.shared,
                words,
            );
            self.keep(launched);
            let tiles = int(tiles);
            let words = args![parts, tiles, count, out];
            self.launch((BASE, "normalise"), (rows.div_ceil(8), 1), 256, words);
            return out;
        }
        // Blocks of logits that lie in memory, so few that they stay in the card's cache.
        let step = LOGITS / head.outputs.max(1);
        let step = (step / 128 * 128).max(128);
        let width = int(head.outputs);
        for first in (0..rows).step_by(step) {
            let rows = step.min(rows - first);
            let logits = self.grow(&mut scratch.parts, rows * head.outputs * 4);
            let each = self.product_kind().bytes() * head.inputs * head.parts;
            let from = operand + (first * each) as u64;
            self.multiply(from, rows, head, (logits, Kind::Single), false);
            let to = out + (first * 4) as u64;
            let words = args![logits, width, cap, to];
            self.launch((BASE, "normalise_logits"), (rows, 1), 512, words);
        }
        out
    }

    fn angles(&self, rope: &Rope, most: usize) -> Option<Arc<Angles>> {
        let key: Vec<u32> = rope
            .frequencies
            .iter()
            .chain([&rope.amplitude])
            .map(|x| x.to_bits())
            .collect();
        let mut ropes = self.ropes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ropes
            .iter()
            .position(|(k, a)| *k == key && a.positions >= most);
        if let Some(i) = known {
            return ropes.get(i).map(|(_, a)| Arc::clone(a));
        }
        let positions = most.next_power_of_two().max(1024);
        let half = rope.frequencies.len();
        let places: Vec<usize> = (0..positions).collect();
        let turned = Turned::new(rope, &places);
        let mut numbers = Vec::with_capacity(positions * 2 * half);
        for place in places {
            let (cos, sin) = turned.at(place);
            numbers.extend_from_slice(cos);
            numbers.extend_from_slice(sin);
        }
        let memory = self.keep(self.device.alloc(numbers.len() * 4))?;
        self.keep(self.device.write(&numbers, memory.at()))?;
        let angles = Arc::new(Angles {
            memory,
            positions,
            half,
        });
        ropes.retain(|(k, _)| *k != key);
        ropes.push((key, Arc::clone(&angles)));
        Some(angles)
    }

    fn slopes(&self, alibi: &Alibi) -> Option<Arc<Memory>> {
        let mut slopes = self.slopes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, memory)) = &*slopes
            && known == alibi
        {
            return Some(Arc::clone(memory));
        }
        let memory = Arc::new(self.keep(self.device.alloc(alibi.slopes.len() * 4))?);
        self.keep(self.device.write(&alibi.slopes, memory.at()))?;
        *slopes = Some((alibi.clone(), Arc::clone(&memory)));
        Some(memory)
    }
}

impl Backend for Cuda {
    type Tensor = Tensor;
    type Linear = Linear;
    type Vector = Vector;
    type Table = Table;
    type Cache = Cache;
    type Plan<'a> = Plan;
    type Turns = Turns;
    type Pending = Pending;

    fn check(&self) -> Result<(), ModelError> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take().map_or(Ok(()), Err)
    }

    fn free_memory(&self) -> Option<u64> {
        self.device.free()
    }

    fn best_rows(&self) -> usize {
        16_384
    }

    fn ahead(&self) -> usize {
        1
    }

    fn cache_number(&self) -> usize {
        self.kind.bytes()
    }

    fn prepare(&self, parts: Vec<Weights>, bias: Option<Vec<f32>>) -> Linear {
        let size = |w: &Weights| match w {
            Weights::Plain {
                outputs, inputs, ..
            } => (*outputs, *inputs),
            Weights::Blocks { blocks, .. } => (blocks.outputs(), blocks.inputs()),
        };
        let outputs = parts.iter().map(|w| size(w).0).sum::<usize>();
        let inputs = parts.first().map_or(0, |w| size(w).1);
        let split = if self.kind == Kind::Single { 3 } else { 1 };
        let weights = self.keep(self.device.alloc(outputs * inputs * split * 2));
        let mut to = weights.as_ref().map_or(0, Memory::at);
        for part in parts {
            let rows = size(&part).0;
            match part {
                Weights::Plain { data, .. } => self.bring(&data, inputs, to, split),
                Weights::Blocks { blocks, .. } => {
                    self.bring(&blocks.unpack(0, rows), inputs, to, split);
                }
            }
            to += (rows * inputs * split * 2) as u64;
        }
        let short_bias = match &bias {
            Some(bias) if self.kind != Kind::Single => {
                let memory = self.keep(self.device.alloc(bias.len() * 2));
                self.bring(bias, 1, memory.as_ref().map_or(0, Memory::at), 1);
                memory
            }
            _ => None,
        };
        Linear {
            weights,
            outputs,
            inputs,
            parts: split,
            bias: bias.map(|b| self.vector(b)),
            short_bias,
        }
    }

    fn vector(&self, x: Vec<f32>) -> Vector {
        let memory = self.keep(self.device.alloc(x.len() * 4));
        if let Some(memory) = &memory {
            self.keep(self.device.write(&x, memory.at()));
        }
        Vector {
            memory,
            len: x.len(),
        }
    }

    fn table(&self, data: Vec<f32>, width: usize) -> Table {
        let memory = self.keep(self.device.alloc(data.len() * self.kind.bytes()));
        if let Some(memory) = &memory {
            if self.kind == Kind::Single {
                self.keep(self.device.write(&data, memory.at()));
            } else {
                self.bring(&data, width, memory.at(), 1);
            }
        }
        Table { memory, width }
    }

    fn cache(&self, layers: usize, rows: usize, width: usize) -> Cache {
        let bytes = 2 * layers * rows * width * self.kind.bytes();
        Cache {
            memory: self.keep(self.device.alloc(bytes)),
            layers,
            rows,
            width,
        }
    }

    fn move_rows(&self, cache: &mut Cache, moves: &[(usize, usize)]) {
        let moved = moves.iter().filter(|(from, to)| from != to);
        let list: Vec<i32> = moved.flat_map(|&(a, b)| [int(a), int(b)]).collect();
        if list.is_empty() {
            return;
        }
        let Some(lent) = self.send(&list) else { return };
        let bytes = int(cache.width * self.kind.bytes());
        let plane = (cache.rows * cache.width * self.kind.bytes()) as u64;
        let (base, places, count) = (
            cache.memory.as_ref().map_or(0, Memory::at),
            lent.at(),
            int(list.len() / 2),
        );
        let grid = ((bytes as usize / 2).div_ceil(128), 2 * cache.layers);
        let words = args![base, plane, bytes, places, count];
        self.launch((BASE, "move_rows"), grid, 128, words);
    }

    fn plan(&self, batch: &Batch, heads: &Heads) -> Plan {
        let numbers = plan::Numbers::new(batch, heads.group());
        Plan::new(&numbers, self.send(&numbers.all))
    }

    fn turns(&self, rope: &Rope, positions: &[usize]) -> Turns {
        let most = positions.iter().max().map_or(0, |p| p + 1);
        Turns(self.angles(rope, most))
    }

    fn upload(&self, x: &[f32], to: &mut Tensor) {
        let at = self.room(to, x.len(), Kind::Single);
        if !self.broken() {
            self.keep(self.device.write(x, at));
        }
    }

    fn download(&self, x: &Tensor, len: usize) -> Vec<f32> {
        let mut scratch = self.lock();
        let mut at = x.at();
        if x.kind != Kind::Single {
            let to = self.grow(&mut scratch.rows, len * 4);
            let (name, count) = (format!("cast_{}s", x.kind.letter()), len as u64);
            self.launch(
                (BASE, &name),
                (len.div_ceil(256), 1),
                256,
                args![at, to, count],
            );
            at = to;
        }
        if self.broken() {
            return vec![f32::NAN; len];
        }
        let read = self.keep(self.device.read(at, len));
        read.unwrap_or_else(|| vec![f32::NAN; len])
    }

    fn embed(&self, plan: &Plan, table: &Table, scale: f32, to: &mut Tensor) {
        let out = self.room(to, plan.rows * table.width, Kind::Single);
        let (from, tokens, width) = (
            table.memory.as_ref().map_or(0, Memory::at),
            plan.tokens(),
            int(table.width),
        );
        let name = format!("embed_{}", self.kind.letter());
        let words = args![from, tokens, width, scale, out];
        self.launch((BASE, &name), (plan.rows, 1), 128, words);
    }

    fn add_positions(&self, plan: &Plan, table: &Table, offset: usize, x: &mut Tensor) {
        let (from, places, width, offset, out) = (
            table.memory.as_ref().map_or(0, Memory::at),
            plan.positions(),
            int(table.width),
            int(offset),
            x.at(),
        );
        let name = format!("add_positions_{}{}", self.kind.letter(), x.kind.letter());
        let words = args![from, places, width, offset, out];
        self.launch((BASE, &name), (plan.rows, 1), 128, words);
    }

    fn norm(&self, x: &Tensor, rows: usize, by: &NormOf<Vector>, to: &mut Tensor) {
        let width = by.weight.len;
        let out = self.room(to, rows * width, self.kind);
        let (from, weight, bias) = (
            x.at(),
            by.weight.at(),
            by.bias.as_ref().map_or(0, Vector::at),
        );
        let (width, rms, eps) = (int(width), i32::from(by.how.rms), by.how.eps);
        let name = format!("norm_{}{}", x.kind.letter(), self.kind.letter());
        let words = args![from, weight, bias, width, rms, eps, out];
        self.launch((BASE, &name), (rows, 1), 128, words);
    }

    fn linear(&self, x: &Tensor, rows: usize, layer: &Linear, to: &mut Tensor, add: bool) {
        let mut scratch = self.lock();
        let operand = self.operand(&mut scratch, x, rows * layer.inputs, layer);
        let out = if add {
            to.at()
        } else {
            self.room(to, rows * layer.outputs, self.kind)
        };
        self.multiply(operand, rows, layer, (out, to.kind), add);
    }

    fn logits(&self, x: &Tensor, rows: usize, head: &Linear, to: &mut Tensor) {
        let mut scratch = self.lock();
        let operand = self.operand(&mut scratch, x, rows * head.inputs, head);
        let out = self.room(to, rows * head.outputs, Kind::Single);
        self.multiply(operand, rows, head, (out, Kind::Single), false);
    }

    fn activate(
        &self,
        x: &Tensor,
        rows: usize,
        (width, gated): (usize, bool),
        kind: Activation,
        to: &mut Tensor,
    ) {
        let out = self.room(to, rows * width, self.kind);
        let len = (rows * width) as u64;
        let grid = (rows * width).div_ceil(2048);
        let (from, width, gated) = (x.at(), int(width), i32::from(gated));
        let kind = match kind {
            Activation::Gelu => 0i32,
            Activation::GeluTanh => 1,
            Activation::QuickGelu => 2,
            Activation::Silu => 3,
            Activation::Relu => 4,
        };
        let name = format!("activate_{}", self.kind.letter());
        let words = args![from, out, width, gated, kind, len];
        self.launch((BASE, &name), (grid, 1), 256, words);
    }

    fn add(&self, x: &mut Tensor, y: &Tensor, len: usize) {
        let (to, from, count) = (x.at(), y.at(), len as u64);
        let name = format!("add_{}{}", y.kind.letter(), x.kind.letter());
        self.launch(
            (BASE, &name),
            (len.div_ceil(256), 1),
            256,
            args![to, from, count],
        );
    }

    fn place(
        &self,
        qkv: &mut Tensor,
        heads: &Heads,
        norms: Option<(&Vector, &Vector, Norm)>,
        turns: Option<&Turns>,
        cache: (&mut Cache, usize),
        plan: &Plan,
    ) {
        let (cache, layer) = cache;
        let (keys, values) = planes(cache, layer, self.kind);
        let shape = HeadShape {
            heads: int(heads.heads),
            kv_heads: int(heads.kv_heads),
            head_dim: int(heads.head_dim),
        };
        let (q, k, rms, eps) = norms.map_or((0u64, 0u64, 0i32, 0.0f32), |(q, k, how)| {
            (q.at(), k.at(), i32::from(how.rms), how.eps)
        });
        let angles = turns.and_then(|t| t.0.as_ref());
        let (turned, half) = angles.map_or((0u64, 0i32), |a| (a.memory.at(), int(a.half)));
        let (at, places, slots) = (qkv.at(), plan.positions(), plan.slots());
        let name = format!("place_{}", self.kind.letter());
        let words = args![
            at, shape, q, k, rms, eps, turned, half, places, keys, values, slots
        ];
        self.launch((BASE, &name), (plan.rows, 1), 256, words);
    }

    fn attend(&self, qkv: &Tensor, plan: &Plan, call: &AttentionCall<'_, Cache>, to: &mut Tensor) {
        let heads = call.heads;
        if heads.head_dim > MAX_WIDTH {
            let message = format!("heads of {} are wider than {MAX_WIDTH}", heads.head_dim);
            self.keep::<()>(Err(ModelError::new(ErrorKind::BadModel, message)
                .hint("this model runs on the processor: --device cpu")));
            return;
        }
        let out = self.room(to, plan.rows * heads.q_width(), self.kind);
        let (keys, values) = planes(call.cache, call.layer, self.kind);
        let shape = HeadShape {
            heads: int(heads.heads),
            kv_heads: int(heads.kv_heads),
            head_dim: int(heads.head_dim),
        };
        let settings = &call.settings;
        let weighing = Weighing {
            scale: settings.scale,
            cap: settings.soft_cap.unwrap_or(0.0),
            alibi_scale: settings.alibi.map_or(0.0, |a| a.scale),
            causal: i32::from(settings.causal),
            window: int(settings.window.unwrap_or(0)),
        };
        let slopes = settings.alibi.and_then(|a| self.slopes(a));
        let slopes = slopes.as_ref().map_or(0, |m| m.at());
        let (at, tiles, stretches) = (qkv.at(), plan.tiles(), plan.stretches());
        let letter = self.kind.letter();
        let words = args![
            at, shape, keys, values, tiles, stretches, weighing, slopes, out
        ];
        let grid = (plan.tile_count, heads.kv_heads);
        let units = matches!(heads.head_dim, 32 | 64 | 80 | 96 | 128 | 256);
        match self.kind {
            Kind::Bf16 | Kind::F16 if units => {
                let part = if letter == 'b' {
                    "attend_b"
                } else {
                    "attend_h"
                };
                let threads = if plan.most_keys > 128 { 128 } else { 32 };
                let name = format!("attend_{letter}{}", heads.head_dim);
                self.launch((part, &name), grid, threads, words);
            }
            _ => self.launch((BASE, &format!("attend_{letter}")), grid, 512, words),
        }
    }

    fn gather(&self, x: &Tensor, width: usize, rows: &[usize], to: &mut Tensor) {
        let list: Vec<i32> = rows.iter().map(|&r| int(r)).collect();
        let out = self.room(to, rows.len() * width, x.kind);
        let Some(lent) = self.send(&list) else { return };
        let (from, bytes, places) = (x.at(), int(width * x.kind.bytes()), lent.at());
        let words = args![from, bytes, places, out];
        self.launch((BASE, "gather"), (rows.len(), 1), 128, words);
    }

    fn pool(&self, x: &Tensor, width: usize, groups: &Groups) -> Vec<f32> {
        let len = groups.len() * width;
        let mut list: Vec<i32> = groups.starts().iter().map(|&s| int(s)).collect();
        let first = list.len() as u64 * 4;
        list.extend(groups.rows().iter().map(|&r| int(r)));
        let nothing = vec![f32::NAN; len];
        let Some(lent) = self.send(&list) else {
            return nothing;
        };
        let Some(mut out) = self.keep(self.lender.take(&self.device, len * 4)) else {
            return nothing;
        };
        let (from, starts, to) = (x.at(), lent.at(), out.at());
        let (rows, count) = (starts + first, int(width));
        let name = format!("pool_{}", x.kind.letter());
        let words = args![from, count, starts, rows, to];
        self.launch(
            (BASE, &name),
            (groups.len(), width.div_ceil(128)),
            128,
            words,
        );
        if self.broken() {
            return nothing;
        }
        let asked = out
            .staged()
            .map(|s| s.ask(len).and_then(|()| s.answer(len)));
        asked.and_then(|a| self.keep(a)).unwrap_or(nothing)
    }

    fn log_probs(
        &self,
        x: &Tensor,
        rows: usize,
        head: &Linear,
        cap: Option<f32>,
        wanted: &[Wanted],
    ) -> Pending {
        let nothing = Pending {
            lent: None,
            len: wanted.len(),
        };
        if wanted.is_empty() || rows == 0 {
            return nothing;
        }
        let list: Vec<i32> = wanted
            .iter()
            .flat_map(|w| [w.row.cast_signed(), w.token.cast_signed()])
            .collect();
        let Some(asked) = self.send(&list) else {
            return nothing;
        };
        let Some(mut out) = self.keep(self.lender.take(&self.device, wanted.len() * 4)) else {
            return nothing;
        };
        let mut scratch = self.lock();
        let cap = cap.unwrap_or(0.0);
        let normalisers = self.normalisers(&mut scratch, x, rows, head, cap);
        let (from, places, to) = (x.at(), asked.at(), out.at());
        let weights = head.weights.as_ref().map_or(0, Memory::at);
        let bias = head.bias.as_ref().map_or(0, Vector::at);
        let (count, width, parts) = (int(wanted.len()), int(head.inputs), int(head.parts));
        let name = format!("pick_{}", self.kind.letter());
        let words = args![
            from,
            weights,
            bias,
            normalisers,
            places,
            count,
            width,
            parts,
            cap,
            to
        ];
        self.launch((BASE, &name), (wanted.len().div_ceil(8), 1), 256, words);
        if !self.broken()
            && let Some(staged) = out.staged()
        {
            self.keep(staged.ask(wanted.len()));
        }
        Pending {
            lent: Some(out),
            len: wanted.len(),
        }
    }

    fn collect(&self, mut pending: Pending) -> Vec<f32> {
        let len = pending.len;
        let nothing = || vec![f32::NAN; len];
        if self.broken() {
            return nothing();
        }
        let answer = pending
            .lent
            .as_mut()
            .and_then(Lent::staged)
            .map(|s| s.answer(len));
        answer.and_then(|a| self.keep(a)).unwrap_or_else(nothing)
    }

    fn greatest(&self, logits: &Tensor, rows: usize, width: usize) -> Option<Vec<Option<u32>>> {
        let mut out = self.keep(self.lender.take(&self.device, rows * 4))?;
        let (from, count, to) = (logits.at(), int(width), out.at());
        self.launch((BASE, "greatest"), (rows, 1), 512, args![from, count, to]);
        if self.broken() {
            return None;
        }
        let asked = out
            .staged()
            .map(|s| s.ask(rows).and_then(|()| s.answer(rows)));
        let answer = asked.and_then(|a| self.keep(a))?;
        let token = |x: f32| u32::try_from(x.to_bits().cast_signed()).ok();
        Some(answer.into_iter().map(token).collect())
    }
}

/// Where the keys and the values of a layer lie.
fn planes(cache: &Cache, layer: usize, kind: Kind) -> (u64, u64) {
    let base = cache.memory.as_ref().map_or(0, Memory::at);
    let plane = (cache.rows * cache.width * kind.bytes()) as u64;
    let layer = layer as u64;
    (
        base + layer * plane,
        base + (cache.layers as u64 + layer) * plane,
    )
}

#[cfg(test)]
mod tests {
    use super::driver::part;

    /// The embedded kernels were compiled from the source that is there.
    #[test]
    fn kernels_come_from_their_source() {
        let source = include_bytes!("cuda/kernels.cu");
        // FNV-1a, as tools/compile_cuda_kernels.py computes it.
        let fold = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        let hash = format!("{:016x}", source.iter().fold(0xcbf2_9ce4_8422_2325, fold));
        for name in [
            "base",
            "attend_b",
            "attend_h",
            "product_b",
            "product_h_lean",
        ] {
            let text = part(name).expect("the part unpacks");
            let first = text.lines().next().unwrap_or_default();
            assert!(
                first.ends_with(&hash),
                "{name}: {first}; run tools/compile_cuda_kernels.py"
            );
        }
    }
}
