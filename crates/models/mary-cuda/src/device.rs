//! The NVIDIA driver, found when a GPU is asked for; kernels are loaded when they are first used.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use mary_contract::{ErrorKind, ModelError};

use crate::library::library;
use crate::parts::Parts;

pub(crate) type Handle = *mut c_void;

library! {
    /// Calls of `libcuda`.
    Api {
        init = "cuInit"(u32);
        count = "cuDeviceGetCount"(*mut i32);
        device = "cuDeviceGet"(*mut i32, i32);
        device_name = "cuDeviceGetName"(*mut c_char, i32, i32);
        attribute = "cuDeviceGetAttribute"(*mut i32, i32, i32);
        retain = "cuDevicePrimaryCtxRetain"(*mut Handle, i32);
        release = "cuDevicePrimaryCtxRelease_v2"(i32);
        set_current = "cuCtxSetCurrent"(Handle);
        stream = "cuStreamCreate"(*mut Handle, u32);
        synchronize = "cuStreamSynchronize"(Handle);
        wait_for = "cuStreamWaitEvent"(Handle, Handle, u32);
        stream_destroy = "cuStreamDestroy_v2"(Handle);
        alloc = "cuMemAlloc_v2"(*mut u64, usize);
        free = "cuMemFree_v2"(u64);
        info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        host_alloc = "cuMemHostAlloc"(*mut Handle, usize, u32);
        host_free = "cuMemFreeHost"(Handle);
        to_device = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
        to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, Handle);
        on_device = "cuMemcpyDtoDAsync_v2"(u64, u64, usize, Handle);
        to_another = "cuMemcpyPeerAsync"(u64, Handle, u64, Handle, usize, Handle);
        fill = "cuMemsetD8Async"(u64, u8, usize, Handle);
        module = "cuModuleLoadData"(*mut Handle, *const c_void);
        module_unload = "cuModuleUnload"(Handle);
        function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        function_set = "cuFuncSetAttribute"(Handle, i32, i32);
        launch = "cuLaunchKernel"(
            Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void,
        );
        event = "cuEventCreate"(*mut Handle, u32);
        event_record = "cuEventRecord"(Handle, Handle);
        event_query = "cuEventQuery"(Handle);
        event_wait = "cuEventSynchronize"(Handle);
        event_destroy = "cuEventDestroy_v2"(Handle);
        tensor_map = "cuTensorMapEncodeTiled"(
            *mut c_void, i32, u32, u64, *const u64, *const u64, *const u32, *const u32, i32, i32, i32, i32,
        );
        error_text = "cuGetErrorString"(i32, *mut *const c_char);
    }
}

const NON_BLOCKING: u32 = 1;
pub(crate) const NO_TIMING: u32 = 2;
const MAX_SHARED_MEMORY_OPTIN: i32 = 97;
const MULTIPROCESSORS: i32 = 16;
const CAPABILITY_MAJOR: i32 = 75;
const CAPABILITY_MINOR: i32 = 76;
const FUNCTION_DYNAMIC_SHARED: i32 = 8;
pub(crate) const OUT_OF_MEMORY: i32 = 2;

/// A kernel or module, as the driver calls it.
#[derive(Clone, Copy)]
pub(crate) struct Raw(pub(crate) Handle);
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Raw {}
// SAFETY: as above; every call that changes what they point to is made under a lock or by the driver.
unsafe impl Sync for Raw {}

pub struct Device {
    pub(crate) api: Api,
    parts: Parts,
    number: i32,
    context: Raw,
    pub(crate) stream: Raw,
    modules: Mutex<HashMap<&'static str, Raw>>,
    kernels: Mutex<HashMap<String, Raw>>,
    /// Bytes this process may take; `u64::MAX` where nothing limits it.
    pub(crate) limit: AtomicU64,
    pub(crate) used: AtomicU64,
    pub name: String,
    pub capability: (i32, i32),
    pub multiprocessors: usize,
    /// Bytes of shared memory a block may ask for.
    pub shared: usize,
}

fn unavailable(message: String) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
        .hint("a GPU needs an NVIDIA driver on this machine; --device cpu runs everywhere")
}

impl Device {
    pub fn open(number: usize, parts: Parts) -> Result<Arc<Self>, ModelError> {
        let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];
        // SAFETY: loading the driver runs its own initialisers only.
        let library = names.iter().find_map(|n| unsafe { Library::new(n) }.ok());
        let Some(library) = library else {
            return Err(unavailable(format!(
                "cuda:{number}: no NVIDIA driver was found (looked for {})",
                names.join(", ")
            )));
        };
        let api = Api::load(library)
            .map_err(|e| unavailable(format!("cuda:{number}: the driver is too old: {e}")))?;
        let fail = |code: i32, what: &str| fault(&api, code, what);
        // SAFETY: plain calls with places to write to that outlive them.
        unsafe {
            fail((api.init)(0), "starting the driver")?;
            let mut count = 0;
            fail((api.count)(&mut count), "counting GPUs")?;
            if number >= usize::try_from(count).unwrap_or(0) {
                return Err(unavailable(format!(
                    "cuda:{number}: this machine has {count} GPU{}",
                    if count == 1 { "" } else { "s" }
                )));
            }
            let mut device = 0;
            fail((api.device)(&mut device, number as i32), "choosing the GPU")?;
            let mut text = [0 as c_char; 128];
            let code = (api.device_name)(text.as_mut_ptr(), 127, device);
            fail(code, "naming the GPU")?;
            let attribute = |what: i32| -> Result<i32, ModelError> {
                let mut value = 0;
                fail((api.attribute)(&mut value, what, device), "asking the GPU")?;
                Ok(value)
            };
            let capability = (attribute(CAPABILITY_MAJOR)?, attribute(CAPABILITY_MINOR)?);
            let name = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
            if capability.0 < 8 {
                return Err(unavailable(format!(
                    "cuda:{number}: {name} has compute capability {}.{}; 8.0 is needed",
                    capability.0, capability.1
                )));
            }
            let multiprocessors = attribute(MULTIPROCESSORS)?.max(1) as usize;
            let shared = attribute(MAX_SHARED_MEMORY_OPTIN)?.max(0) as usize;
            let mut context = std::ptr::null_mut();
            fail((api.retain)(&mut context, device), "taking the GPU")?;
            fail((api.set_current)(context), "taking the GPU")?;
            let mut stream = std::ptr::null_mut();
            fail((api.stream)(&mut stream, NON_BLOCKING), "making a stream")?;
            Ok(Arc::new(Self {
                parts,
                number: device,
                context: Raw(context),
                stream: Raw(stream),
                modules: Mutex::default(),
                kernels: Mutex::default(),
                limit: AtomicU64::new(u64::MAX),
                used: AtomicU64::new(0),
                name,
                capability,
                multiprocessors,
                shared,
                api,
            }))
        }
    }

    pub fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn check(&self, code: i32, what: &str) -> Result<(), ModelError> {
        fault(&self.api, code, what)
    }

    pub fn enter(&self) -> Result<(), ModelError> {
        // SAFETY: the context lives as long as the device.
        let code = unsafe { (self.api.set_current)(self.context.0) };
        self.check(code, "taking the GPU")
    }

    /// A stream beside the device's own; the caller gives it back.
    pub(crate) fn another_stream(&self) -> Result<Raw, ModelError> {
        self.enter()?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: a place to write to.
        let code = unsafe { (self.api.stream)(&mut stream, NON_BLOCKING) };
        self.check(code, "making a stream")?;
        Ok(Raw(stream))
    }

    /// Bytes that can still be taken.
    pub fn free(&self) -> Option<u64> {
        self.enter().ok()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: two places to write to.
        self.check(unsafe { (self.api.info)(&mut free, &mut total) }, "memory")
            .ok()?;
        let limit = self.limit.load(Ordering::Relaxed);
        Some((free as u64).min(limit.saturating_sub(self.used())))
    }

    /// Waits until everything asked for is done.
    pub fn wait(&self) -> Result<(), ModelError> {
        self.enter()?;
        // SAFETY: the stream lives as long as the device.
        let code = unsafe { (self.api.synchronize)(self.stream.0) };
        self.check(code, "computing")
    }

    /// Copies to the GPU and waits; for weights and checks.
    pub fn write<T: bytemuck::Pod>(&self, x: &[T], to: u64) -> Result<(), ModelError> {
        self.enter()?;
        let bytes = size_of_val(x);
        // SAFETY: the caller's memory holds `bytes` and stays until the wait is over.
        let code = unsafe { (self.api.to_device)(to, x.as_ptr().cast(), bytes, self.stream.0) };
        self.check(code, "copying to the GPU")?;
        self.wait()
    }

    pub fn read<T: bytemuck::Pod>(&self, from: u64, len: usize) -> Result<Vec<T>, ModelError> {
        self.enter()?;
        let mut out = vec![T::zeroed(); len];
        let bytes = size_of_val(out.as_slice());
        // SAFETY: `out` holds `bytes` and stays until the wait is over.
        let code =
            unsafe { (self.api.to_host)(out.as_mut_ptr().cast(), from, bytes, self.stream.0) };
        self.check(code, "copying from the GPU")?;
        self.wait()?;
        Ok(out)
    }

    /// Copies within the GPU, in the order of what is launched.
    pub fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), ModelError> {
        self.enter()?;
        // SAFETY: both places belong to memory the caller holds.
        let code = unsafe { (self.api.on_device)(to, from, bytes, self.stream.0) };
        self.check(code, "copying on the GPU")
    }

    /// Copies to memory of another GPU, or to another's of the same, without waiting: after what this one was asked for,
    /// and before what either is asked for next.
    pub fn hand_over(
        &self,
        from: u64,
        other: &Self,
        to: u64,
        bytes: usize,
    ) -> Result<(), ModelError> {
        self.comes_before(other)?;
        let (here, there, stream) = (self.context.0, other.context.0, other.stream.0);
        // SAFETY: both places belong to memory the caller holds.
        let code = unsafe { (other.api.to_another)(to, there, from, here, bytes, stream) };
        other.check(code, "copying to another GPU")?;
        other.comes_before(self)
    }

    /// What the other is asked for from now on waits for what this one was asked for.
    fn comes_before(&self, other: &Self) -> Result<(), ModelError> {
        self.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: a place to write to; an event that is given back is kept by the driver until it has passed.
        unsafe {
            let code = (self.api.event)(&mut event, NO_TIMING);
            self.check(code, "making an event")?;
            let code = (self.api.event_record)(event, self.stream.0);
            let recorded = self.check(code, "marking an event").and(other.enter());
            let waits = recorded.and_then(|()| {
                let code = (other.api.wait_for)(other.stream.0, event, 0);
                other.check(code, "waiting for another GPU")
            });
            (self.api.event_destroy)(event);
            waits
        }
    }

    pub fn zero(&self, at: u64, bytes: usize) -> Result<(), ModelError> {
        self.enter()?;
        // SAFETY: the place belongs to memory the caller holds.
        let code = unsafe { (self.api.fill)(at, 0, bytes, self.stream.0) };
        self.check(code, "clearing memory")
    }

    fn kernel(&self, part: &'static str, name: &str, shared: usize) -> Result<Raw, ModelError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&kernel) = kernels.get(name) {
            return Ok(kernel);
        }
        let module = self.module_of(part)?;
        let mut kernel = std::ptr::null_mut();
        let symbol = CString::new(name)
            .map_err(|e| ModelError::new(ErrorKind::Internal, format!("{name}: {e}")))?;
        // SAFETY: module and name are valid; a place to write to.
        let code = unsafe { (self.api.function)(&mut kernel, module.0, symbol.as_ptr()) };
        self.check(code, &format!("finding the kernel {name}"))?;
        if shared > 0 {
            // SAFETY: raises a limit of this kernel within what the GPU offers; kernels that ask for
            // memory at launch have none of their own.
            let code = unsafe {
                (self.api.function_set)(kernel, FUNCTION_DYNAMIC_SHARED, self.shared as i32)
            };
            self.check(code, "asking for shared memory")?;
        }
        kernels.insert(name.to_owned(), Raw(kernel));
        Ok(Raw(kernel))
    }

    fn module_of(&self, part_name: &'static str) -> Result<Raw, ModelError> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&module) = modules.get(part_name) {
            return Ok(module);
        }
        let content = self.parts.module(part_name)?;
        let mut module = std::ptr::null_mut();
        // SAFETY: text ends in a zero, machine code knows its length, and the driver copies what it needs.
        let code = unsafe { (self.api.module)(&mut module, content.as_ptr().cast()) };
        let what = format!("compiling the kernels `{part_name}` for {}", self.name);
        self.check(code, &what)?;
        modules.insert(part_name, Raw(module));
        Ok(Raw(module))
    }

    pub fn launch(
        &self,
        (part_name, name): (&'static str, &str),
        grid: (usize, usize),
        block: usize,
        shared: usize,
        words: &mut [*mut c_void],
    ) -> Result<(), ModelError> {
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        self.enter()?;
        let kernel = self.kernel(part_name, name, shared)?;
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        // SAFETY: `words` points to arguments of the types the kernel has; see `args!`.
        let code = unsafe {
            (self.api.launch)(
                kernel.0,
                size(grid.0),
                size(grid.1),
                1,
                size(block),
                1,
                1,
                size(shared),
                self.stream.0,
                words.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check(code, name)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        let modules = self.modules.get_mut();
        let modules = modules.unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nothing uses the GPU any more: memory holds the device alive.
        unsafe {
            (self.api.synchronize)(self.stream.0);
            for module in modules.values() {
                (self.api.module_unload)(module.0);
            }
            (self.api.stream_destroy)(self.stream.0);
            (self.api.release)(self.number);
        }
    }
}

fn fault(api: &Api, code: i32, what: &str) -> Result<(), ModelError> {
    if code == 0 {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: the driver gives a text that lives for ever, or leaves the place alone.
    let why = unsafe {
        (api.error_text)(code, &mut text);
        if text.is_null() {
            format!("error {code}")
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    };
    let kind = match code {
        OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        _ => ErrorKind::Internal,
    };
    Err(ModelError::new(kind, format!("{what}: {why}")))
}
