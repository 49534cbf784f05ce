//! Products by cuBLASLt, where that library is found when a GPU is opened: beside the program, under
//! `MARY_CUDA_LIBS`, or where the system keeps it. Without it the program's own kernels multiply.

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

use crate::NumberType;
use crate::device::{Device, Handle};
use crate::library::library;
use crate::memory::Memory;

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
            Handle, Handle, Handle, Handle, Handle, Handle, Handle, i32, *mut Heuristic, *mut i32,
        );
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Algorithm([u64; 8]);

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Heuristic {
    algorithm: Algorithm,
    workspace: usize,
    state: i32,
    waves: f32,
    reserved: [i32; 4],
}

const COMPUTE_32F: i32 = 68;
const REAL_32F: i32 = 0;
const DESC_TRANSA: i32 = 3;
const DESC_TRANSB: i32 = 4;
const DESC_EPILOGUE: i32 = 7;
const DESC_BIAS_POINTER: i32 = 8;
const DESC_BIAS_TYPE: i32 = 26;
const EPILOGUE_BIAS: i32 = 4;
const PREFERENCE_WORKSPACE: i32 = 1;
/// Alignments of the two factors, of what is added and of what is written.
const PREFERENCE_ALIGNMENTS: [i32; 4] = [5, 6, 7, 8];
const TRANSPOSED: i32 = 1;
const WORKSPACE: usize = 32 << 20;
/// Bytes the library takes addresses to be multiples of where it is told nothing.
const ALIGNED: u32 = 256;

fn type_of(kind: NumberType) -> i32 {
    match kind {
        NumberType::Single => REAL_32F,
        NumberType::Bf16 => 14,
        NumberType::F16 => 2,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Factor {
    /// Numbers from one row in memory to the next.
    pub step: usize,
    /// Rows in memory are columns of the factor.
    pub transposed: bool,
}

impl Factor {
    pub fn rows(step: usize) -> Self {
        Self {
            step,
            transposed: false,
        }
    }

    /// Rows that are the factor's columns, as weights (outputs × inputs) are for their inputs.
    pub fn transposed(step: usize) -> Self {
        Self {
            step,
            transposed: true,
        }
    }
}

/// One shape of product: `out (rows × columns) = left (rows × inner) · right (inner × columns)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    pub rows: usize,
    pub columns: usize,
    pub inner: usize,
    pub left: Factor,
    pub right: Factor,
    /// Numbers from one row of the output to the next.
    pub step: usize,
    pub kind: NumberType,
    pub out: NumberType,
    /// Whether a bias is added to every row.
    pub bias: bool,
    /// Whether the product is added to what is there.
    pub add: bool,
    /// What all addresses are multiples of, in bytes; 256 where memory begins with each matrix.
    pub aligned: u32,
}

/// Addresses of one product.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub left: u64,
    pub right: u64,
    /// The bias, in the type of the output; 0 for none.
    pub bias: u64,
    /// What the product is added to, where it is added: the output itself, or a matrix that lies like it.
    pub from: u64,
    pub out: u64,
    /// What the product is multiplied by.
    pub scale: f32,
}

struct Recipe {
    desc: Handle,
    right: Handle,
    left: Handle,
    out: Handle,
    algorithm: Algorithm,
}

/// The library on one GPU.
pub struct Blas {
    api: Api,
    handle: Handle,
    workspace: Memory,
    device: Arc<Device>,
    /// What is known of each shape; `None` where the library has nothing for it.
    recipes: Mutex<HashMap<Product, Option<Recipe>>>,
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
    // The empty one stands for wherever the system looks.
    let system = ["", "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"];
    folders.extend(system.map(PathBuf::from));
    let names = ["libcublasLt.so.13", "libcublasLt.so.12"];
    let both = |folder: &PathBuf| names.map(|name| folder.join(name));
    folders.iter().flat_map(both).collect()
}

impl Blas {
    pub fn find(device: &Arc<Device>) -> Option<Self> {
        device.enter().ok()?;
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
    pub fn multiply(&self, product: Product, places: Places) -> bool {
        if self.device.enter().is_err() {
            return false;
        }
        let mut recipes = self.recipes.lock().unwrap_or_else(PoisonError::into_inner);
        let recipe = recipes
            .entry(product)
            .or_insert_with(|| self.recipe(product));
        let Some(recipe) = recipe else { return false };
        let alpha = places.scale;
        let beta = if product.add { 1.0f32 } else { 0.0 };
        // SAFETY: all handles live in the recipe; addresses belong to memory the caller holds, of
        // the sizes the shape says.
        unsafe {
            if product.bias {
                let place: *const u64 = &places.bias;
                if (self.api.desc_set)(recipe.desc, DESC_BIAS_POINTER, place.cast(), 8) != 0 {
                    return false;
                }
            }
            (self.api.matmul)(
                self.handle,
                recipe.desc,
                (&raw const alpha).cast(),
                places.right,
                recipe.right,
                places.left,
                recipe.left,
                (&raw const beta).cast(),
                places.from,
                recipe.out,
                places.out,
                recipe.out,
                &recipe.algorithm,
                self.workspace.at(),
                self.workspace.bytes(),
                self.device.stream.0,
            ) == 0
        }
    }

    fn describe(&self, p: &Product, desc: Handle) -> bool {
        let set = |what: i32, value: i32| {
            let place: *const i32 = &value;
            // SAFETY: these attributes are whole numbers of four bytes.
            unsafe { (self.api.desc_set)(desc, what, place.cast(), 4) == 0 }
        };
        let turned = (!p.right.transposed || set(DESC_TRANSA, TRANSPOSED))
            && (!p.left.transposed || set(DESC_TRANSB, TRANSPOSED));
        if !p.bias {
            return turned;
        }
        // Any address of a bias will do while a way of multiplying is looked for.
        let place = self.workspace.at();
        let place: *const u64 = &place;
        // SAFETY: the address of a bias has eight bytes.
        let bias = unsafe { (self.api.desc_set)(desc, DESC_BIAS_POINTER, place.cast(), 8) == 0 };
        turned && bias && set(DESC_EPILOGUE, EPILOGUE_BIAS) && set(DESC_BIAS_TYPE, type_of(p.out))
    }

    fn set_preferences(&self, p: &Product, wish: Handle) -> bool {
        let room: *const usize = &WORKSPACE;
        // SAFETY: the workspace's size has eight bytes, an alignment four.
        unsafe {
            (self.api.preference_set)(wish, PREFERENCE_WORKSPACE, room.cast(), 8) == 0
                && (p.aligned >= ALIGNED
                    || PREFERENCE_ALIGNMENTS.iter().all(|what| {
                        let place: *const u32 = &p.aligned;
                        (self.api.preference_set)(wish, *what, place.cast(), 4) == 0
                    }))
        }
    }

    /// Rows of ours are columns of theirs: outᵀ (columns × rows) = rightᵀ · leftᵀ.
    fn recipe(&self, p: Product) -> Option<Recipe> {
        let api = &self.api;
        let null = std::ptr::null_mut;
        let (mut desc, mut right, mut left, mut out, mut wish) =
            (null(), null(), null(), null(), null());
        let (m, n, k) = (p.columns as u64, p.rows as u64, p.inner as u64);
        let turn = |factor: Factor, rows: u64, columns: u64| match factor.transposed {
            true => (columns, rows),
            false => (rows, columns),
        };
        let (right_rows, right_columns) = turn(p.right, m, k);
        let (left_rows, left_columns) = turn(p.left, k, n);
        let mut found = Heuristic {
            algorithm: Algorithm([0; 8]),
            workspace: 0,
            state: 0,
            waves: 0.0,
            reserved: [0; 4],
        };
        let mut count = 0;
        let kind = type_of(p.kind);
        let layout = |place: &mut Handle, kind: i32, rows: u64, columns: u64, step: usize| {
            // SAFETY: a place to write to.
            unsafe { (api.layout)(place, kind, rows, columns, step as i64) == 0 }
        };
        // SAFETY: every handle is made before it is used; attributes have the sizes their names say.
        let good = unsafe {
            (api.desc)(&mut desc, COMPUTE_32F, REAL_32F) == 0
                && self.describe(&p, desc)
                && layout(&mut right, kind, right_rows, right_columns, p.right.step)
                && layout(&mut left, kind, left_rows, left_columns, p.left.step)
                && layout(&mut out, type_of(p.out), m, n, p.step)
                && (api.preference)(&mut wish) == 0
                && self.set_preferences(&p, wish)
                && (api.heuristic)(
                    self.handle,
                    desc,
                    right,
                    left,
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
            right,
            left,
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
            for layout in [recipe.right, recipe.left, recipe.out] {
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
