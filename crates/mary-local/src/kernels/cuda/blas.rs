//! Products by cuBLASLt, where that library is found when a card is opened: beside the program, under
//! `MARY_CUDA_LIBS`, or where the system keeps it. Without it the program's own kernels multiply.

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

use super::Kind;
use super::driver::{Device, Memory, library};

type Handle = *mut c_void;

library! {
    /// Calls of `libcublasLt`.
    Api {
        create = "cublasLtCreate"(*mut Handle);
        destroy = "cublasLtDestroy"(Handle);
        matmul = "cublasLtMatmul"(
            Handle, Handle, *const c_void, u64, Handle, u64, Handle, *const c_void, u64, Handle,
            u64, Handle, *const Algorithm, u64, usize, Handle,
        );
        desc = "cublasLtMatmulDescCreate"(*mut Handle, i32, i32);
        desc_set = "cublasLtMatmulDescSetAttribute"(Handle, i32, *const c_void, usize);
        desc_destroy = "cublasLtMatmulDescDestroy"(Handle);
        layout = "cublasLtMatrixLayoutCreate"(*mut Handle, i32, u64, u64, i64);
        layout_destroy = "cublasLtMatrixLayoutDestroy"(Handle);
        preference = "cublasLtMatmulPreferenceCreate"(*mut Handle);
        preference_set = "cublasLtMatmulPreferenceSetAttribute"(Handle, i32, *const c_void, usize);
        preference_destroy = "cublasLtMatmulPreferenceDestroy"(Handle);
        heuristic = "cublasLtMatmulAlgoGetHeuristic"(
            Handle, Handle, Handle, Handle, Handle, Handle, Handle, i32, *mut Found, *mut i32,
        );
    }
}

/// How the library multiplies, as it writes it down.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Algorithm([u64; 8]);

/// What the library proposes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Found {
    algorithm: Algorithm,
    workspace: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

const COMPUTE_32F: i32 = 68;
const REAL_32F: i32 = 0;
const DESC_TRANSA: i32 = 3;
const DESC_EPILOGUE: i32 = 7;
const DESC_BIAS_POINTER: i32 = 8;
const DESC_BIAS_TYPE: i32 = 26;
const EPILOGUE_BIAS: i32 = 4;
const PREFERENCE_WORKSPACE: i32 = 1;
const TRANSPOSED: i32 = 1;
const WORKSPACE: usize = 32 << 20;

fn type_of(kind: Kind) -> i32 {
    match kind {
        Kind::Single => REAL_32F,
        Kind::Bf16 => 14,
        Kind::F16 => 2,
    }
}

/// One shape of product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of the input.
    pub rows: usize,
    /// Columns of the output.
    pub outputs: usize,
    /// Columns of the input.
    pub inputs: usize,
    /// Numbers from one row to the next, of input and weights.
    pub stride: usize,
    /// Type of input and weights.
    pub kind: Kind,
    /// Type of the output.
    pub out: Kind,
    /// Whether a bias is added.
    pub bias: bool,
    /// Whether the product is added to what is there.
    pub add: bool,
}

/// Addresses of one product.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// The input.
    pub x: u64,
    /// The weights.
    pub weights: u64,
    /// The bias, in the type of the output; 0 for none.
    pub bias: u64,
    /// The output.
    pub out: u64,
}

struct Recipe {
    desc: Handle,
    weights: Handle,
    x: Handle,
    out: Handle,
    algorithm: Algorithm,
}

/// The library on one card.
pub struct Blas {
    api: Api,
    handle: Handle,
    workspace: Memory,
    device: Arc<Device>,
    /// What is known of each shape; `None` where the library has nothing for it.
    recipes: Mutex<HashMap<Shape, Option<Recipe>>>,
}
// SAFETY: handles are used under the lock of `recipes` only.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

fn places() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = vec![];
    folders.extend(std::env::var_os("MARY_CUDA_LIBS").map(PathBuf::from));
    if let Ok(program) = std::env::current_exe()
        && let Some(folder) = program.parent()
    {
        folders.extend([folder.to_owned(), folder.join("lib")]);
    }
    let names = ["libcublasLt.so.13", "libcublasLt.so.12"];
    let mut all: Vec<PathBuf> = vec![];
    for folder in &folders {
        all.extend(names.iter().map(|n| folder.join(n)));
    }
    all.extend(names.iter().map(PathBuf::from));
    for folder in ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"] {
        all.extend(names.iter().map(|n| PathBuf::from(folder).join(n)));
    }
    all
}

impl Blas {
    /// The library, where it is found and works.
    pub fn find(device: &Arc<Device>) -> Option<Self> {
        device.current().ok()?;
        // SAFETY: loading the library runs its own initialisers only.
        let library = places()
            .iter()
            .find_map(|p| unsafe { Library::new(p) }.ok())?;
        let api = Api::load(library).ok()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a place to write to.
        if unsafe { (api.create)(&mut handle) } != 0 {
            return None;
        }
        Some(Self {
            workspace: device.alloc(WORKSPACE).ok()?,
            api,
            handle,
            device: Arc::clone(device),
            recipes: Mutex::default(),
        })
    }

    /// Multiplies; false where the library has nothing for this shape.
    pub fn multiply(&self, shape: Shape, places: Places) -> bool {
        if self.device.current().is_err() {
            return false;
        }
        let mut recipes = self.recipes.lock().unwrap_or_else(PoisonError::into_inner);
        let recipe = recipes.entry(shape).or_insert_with(|| self.recipe(shape));
        let Some(recipe) = recipe else { return false };
        let alpha = 1.0f32;
        let beta = if shape.add { 1.0f32 } else { 0.0 };
        // SAFETY: all handles live in the recipe; addresses belong to memory the caller holds, of
        // the sizes the shape says.
        unsafe {
            if shape.bias {
                let place: *const u64 = &places.bias;
                if (self.api.desc_set)(recipe.desc, DESC_BIAS_POINTER, place.cast(), 8) != 0 {
                    return false;
                }
            }
            (self.api.matmul)(
                self.handle,
                recipe.desc,
                (&raw const alpha).cast(),
                places.weights,
                recipe.weights,
                places.x,
                recipe.x,
                (&raw const beta).cast(),
                places.out,
                recipe.out,
                places.out,
                recipe.out,
                &recipe.algorithm,
                self.workspace.at(),
                self.workspace.bytes(),
                self.device.stream(),
            ) == 0
        }
    }

    /// Rows of ours are columns of theirs: out (outputs × rows) = weightsᵀ · x.
    fn recipe(&self, s: Shape) -> Option<Recipe> {
        let api = &self.api;
        let (mut desc, mut weights, mut x, mut out, mut wish) = (
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
        let (m, n, k) = (s.outputs as u64, s.rows as u64, s.inputs as u64);
        let stride = s.stride as i64;
        let mut found = Found {
            algorithm: Algorithm([0; 8]),
            workspace: 0,
            state: 0,
            waves: 0.0,
            reserved: [0; 4],
        };
        let mut count = 0;
        // SAFETY: every handle is made before it is used; attributes have the sizes their names say.
        let good = unsafe {
            (api.desc)(&mut desc, COMPUTE_32F, REAL_32F) == 0
                && {
                    let place: *const i32 = &TRANSPOSED;
                    (api.desc_set)(desc, DESC_TRANSA, place.cast(), 4) == 0
                }
                // Any address of a bias will do while a way of multiplying is looked for.
                && {
                    let place = self.workspace.at();
                    let place: *const u64 = &place;
                    !s.bias || (api.desc_set)(desc, DESC_BIAS_POINTER, place.cast(), 8) == 0
                }
                && (!s.bias
                    || [
                        (DESC_EPILOGUE, EPILOGUE_BIAS),
                        (DESC_BIAS_TYPE, type_of(s.out)),
                    ]
                    .iter()
                    .all(|(what, value)| {
                        let place: *const i32 = value;
                        (api.desc_set)(desc, *what, place.cast(), 4) == 0
                    }))
                && (api.layout)(&mut weights, type_of(s.kind), k, m, stride) == 0
                && (api.layout)(&mut x, type_of(s.kind), k, n, stride) == 0
                && (api.layout)(&mut out, type_of(s.out), m, n, m as i64) == 0
                && (api.preference)(&mut wish) == 0
                && {
                    let place: *const usize = &WORKSPACE;
                    (api.preference_set)(wish, PREFERENCE_WORKSPACE, place.cast(), 8) == 0
                }
                && (api.heuristic)(
                    self.handle,
                    desc,
                    weights,
                    x,
                    out,
                    out,
                    wish,
                    1,
                    &mut found,
                    &mut count,
                ) == 0
                && count > 0
        };
        // SAFETY: made above, used no more.
        unsafe {
            if !wish.is_null() {
                (api.preference_destroy)(wish);
            }
        }
        let recipe = Recipe {
            desc,
            weights,
            x,
            out,
            algorithm: found.algorithm,
        };
        if good {
            return Some(recipe);
        }
        self.forget(&recipe);
        None
    }

    fn forget(&self, recipe: &Recipe) {
        // SAFETY: each was made by the library and is given back once.
        unsafe {
            if !recipe.desc.is_null() {
                (self.api.desc_destroy)(recipe.desc);
            }
            for layout in [recipe.weights, recipe.x, recipe.out] {
                if !layout.is_null() {
                    (self.api.layout_destroy)(layout);
                }
            }
        }
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let recipes =
            std::mem::take(&mut *self.recipes.lock().unwrap_or_else(PoisonError::into_inner));
        for recipe in recipes.values().flatten() {
            self.forget(recipe);
        }
        // SAFETY: nothing uses the handle any more.
        unsafe { (self.api.destroy)(self.handle) };
    }
}
