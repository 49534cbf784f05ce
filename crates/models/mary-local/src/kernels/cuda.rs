//! An NVIDIA GPU: the same calls as the processor answers, with packed rows, keys and values that
//! stay on the GPU, and log-probabilities that never write logits down.
//!
//! With 16-bit weights, rows that enter a product are 16-bit and sums are 32-bit (the residual stream
//! too). With 32-bit weights every number is split into three bfloat16s and six products are summed
//! on the matrix units, as exact as a 32-bit product and faster. A call that fails leaves its error to
//! [`Backend::check`]; calls after it do nothing.

mod attention;
mod backend;
mod bring;
mod head;
mod hopper;
mod plan;
mod products;
mod recurrent;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use mary_contract::ModelError;
use mary_cuda::{Blas, Device, Lender, Lent, Memory, NumberType, Parts, Uploader, args};

use super::Alibi;
use crate::errors::{Result, lock};
use crate::precision::Precision;
pub use plan::{MAX_WIDTH, Plan};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    pub number: usize,
    pub precision: Precision,
    pub blas: bool,
    /// Bytes that may be taken on the GPU, where the user limits it.
    pub memory: Option<u64>,
}

pub struct Cuda {
    device: Arc<Device>,
    blas: Option<Blas>,
    kind: NumberType,
    lender: Arc<Lender>,
    /// Weights on their way, while they load.
    uploader: Uploader,
    /// Whatever is brought now is fetched while other blocks compute.
    loaded: AtomicBool,
    fault: Mutex<Option<ModelError>>,
    scratch: Mutex<Scratch>,
    ropes: Mutex<Vec<(Vec<u32>, Arc<Angles>)>>,
    slopes: Mutex<Option<(Alibi, Arc<Memory>)>>,
}

/// Memory that calls use while they last; the lock is held until all that uses it is launched.
#[derive(Default)]
struct Scratch {
    rows: Option<Memory>,
    /// What the head leaves of each tile, or a block of logits.
    parts: Option<Memory>,
    normalisers: Option<Memory>,
}

struct Angles {
    memory: Memory,
    positions: usize,
    half: usize,
}

/// Where memory lies; nowhere where it could not be taken.
fn place_of(memory: &Option<Memory>) -> u64 {
    memory.as_ref().map_or(0, Memory::at)
}

#[derive(Default)]
pub struct Tensor {
    memory: Option<Memory>,
    kind: NumberType,
}

impl Tensor {
    fn at(&self) -> u64 {
        place_of(&self.memory)
    }

    fn letter(&self) -> char {
        self.kind.letter()
    }
}

/// A linear layer on the GPU: rows of weights, in one part or three bfloat16s.
pub struct Linear {
    weights: Option<Memory>,
    outputs: usize,
    inputs: usize,
    parts: usize,
    bias: Option<Vector>,
    /// The bias in the type of the rows.
    short_bias: Option<Memory>,
}

impl Linear {
    fn weights_at(&self) -> u64 {
        place_of(&self.weights)
    }

    /// Zero where it has none.
    fn bias_at(&self) -> u64 {
        self.bias.as_ref().map_or(0, Vector::at)
    }
}

pub struct Vector {
    memory: Option<Memory>,
    len: usize,
}

impl Vector {
    fn at(&self) -> u64 {
        place_of(&self.memory)
    }
}

/// Vectors of tokens or positions.
pub struct Table {
    memory: Option<Memory>,
    width: usize,
}

pub struct Cache {
    memory: Option<Memory>,
    layers: usize,
    rows: usize,
    width: usize,
    carried: recurrent::Carried,
}

pub struct Rotary {
    angles: Option<Arc<Angles>>,
    /// Which row of the angles each row of the batch takes, where that is not its position.
    places: Option<Lent>,
}

pub struct Pending {
    lent: Option<Lent>,
    len: usize,
}

/// The kernels, as they are embedded; `MARY_CUDA_PTX` may name a folder of others.
const PARTS: Parts = Parts(&[
    (BASE, include_bytes!("cuda/ptx/base.ptx.gz")),
    ("attend_s", include_bytes!("cuda/ptx/attend_s.ptx.gz")),
    ("attend_b", include_bytes!("cuda/ptx/attend_b.ptx.gz")),
    ("attend_h", include_bytes!("cuda/ptx/attend_h.ptx.gz")),
    ("last_s", include_bytes!("cuda/ptx/last_s.ptx.gz")),
    ("last_b", include_bytes!("cuda/ptx/last_b.ptx.gz")),
    ("last_h", include_bytes!("cuda/ptx/last_h.ptx.gz")),
    ("product_b", include_bytes!("cuda/ptx/product_b.ptx.gz")),
    ("product_h", include_bytes!("cuda/ptx/product_h.ptx.gz")),
    ("product_b_lean", LEAN_B),
    ("product_h_lean", LEAN_H),
    ("recurrent", include_bytes!("cuda/ptx/recurrent.ptx.gz")),
    ("hopper_b", include_bytes!("cuda/ptx/hopper_b.cubin.gz")),
    ("hopper_h", include_bytes!("cuda/ptx/hopper_h.cubin.gz")),
]);
/// For GPUs with less shared memory.
const LEAN_B: &[u8] = include_bytes!("cuda/ptx/product_b_lean.ptx.gz");
const LEAN_H: &[u8] = include_bytes!("cuda/ptx/product_h_lean.ptx.gz");
const BASE: &str = "base";

/// Bytes that GPU `number` can still give, where there is such a GPU.
pub fn free(number: usize) -> Option<u64> {
    Device::open(number, PARTS).ok()?.free()
}

pub fn gpu(number: usize) -> Result<(String, Option<u64>)> {
    let device = Device::open(number, PARTS)?;
    Ok((device.name.clone(), device.free()))
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

impl Cuda {
    pub fn new(choices: Choices) -> Result<Self> {
        let device = Device::open(choices.number, PARTS)?;
        if let Some(bytes) = choices.memory {
            device.limit(bytes);
        }
        let blas = choices.blas.then(|| Blas::find(&device)).flatten();
        Ok(Self {
            blas,
            kind: match choices.precision {
                Precision::Single => NumberType::Single,
                Precision::Bf16 => NumberType::Bf16,
                Precision::F16 => NumberType::F16,
            },
            device,
            lender: Arc::default(),
            uploader: Uploader::default(),
            loaded: AtomicBool::new(false),
            fault: Mutex::default(),
            scratch: Mutex::default(),
            ropes: Mutex::default(),
            slopes: Mutex::default(),
        })
    }

    pub fn describe(&self) -> String {
        let how = match (self.kind, &self.blas) {
            (NumberType::Single, Some(_)) => "rows in three bfloat16 parts, cuBLASLt",
            (NumberType::Single, None) => "rows in three bfloat16 parts, own kernels",
            (_, Some(_)) => "cuBLASLt, own kernels for the rest",
            (_, None) => "own kernels",
        };
        let (name, (major, minor)) = (&self.device.name, self.device.capability);
        format!("{name}, compute capability {major}.{minor}, {how}")
    }

    /// Keeps the first error; what follows does nothing until it is taken.
    fn keep<T>(&self, result: Result<T>) -> Option<T> {
        let keep = |error| {
            lock(&self.fault).get_or_insert(error);
        };
        result.map_err(keep).ok()
    }

    fn broken(&self) -> bool {
        lock(&self.fault).is_some()
    }

    fn launch(
        &self,
        name: (&'static str, &str),
        grid: (usize, usize),
        (block, shared): (usize, usize),
        words: &mut [*mut c_void],
    ) {
        if !self.broken() {
            self.keep(self.device.launch(name, grid, block, shared, words));
        }
    }

    fn base(&self, name: &str, grid: (usize, usize), block: usize, words: &mut [*mut c_void]) {
        self.launch((BASE, name), grid, (block, 0), words);
    }

    fn sent(&self, x: &[f32]) -> Option<Memory> {
        let memory = self.keep(self.device.alloc(x.len() * 4))?;
        self.keep(self.device.write(x, memory.at()));
        Some(memory)
    }

    /// What a kernel left in memory that was lent, once it has come back; nothing after a fault.
    fn fetched(&self, mut out: Lent, len: usize) -> Option<Vec<f32>> {
        if self.broken() {
            return None;
        }
        let staged = out.staged()?;
        self.keep(staged.ask(len).and_then(|()| staged.answer(len)))
    }

    /// Numbers on the GPU, in 32 bits; NaN after a fault.
    fn brought_back(&self, from: u64, kind: NumberType, len: usize) -> Vec<f32> {
        let mut scratch = self.lock();
        let mut at = from;
        if kind != NumberType::Single {
            at = self.grow(&mut scratch.rows, len * 4);
            let words = args![from, at, len as u64];
            let name = format!("cast_{}s", kind.letter());
            self.base(&name, (len.div_ceil(256), 1), 256, words);
        }
        let read = match self.broken() {
            true => None,
            false => self.keep(self.device.read(at, len)),
        };
        read.unwrap_or_else(|| vec![f32::NAN; len])
    }

    /// Room for numbers; what was there is lost when it grows.
    fn room(&self, tensor: &mut Tensor, len: usize, kind: NumberType) -> u64 {
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
                place_of(place)
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Scratch> {
        lock(&self.scratch)
    }

    fn send(&self, x: &[i32]) -> Option<Lent> {
        if self.broken() {
            return None;
        }
        self.keep(self.lender.send(&self.device, x))
    }
}
