//! The NVIDIA driver, found when a card is asked for: the few calls that are needed, one context and
//! one stream for each card, memory that frees itself, and kernels loaded when they are first used.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use mary_contract::{ErrorKind, ModelError};

/// Declares a library's calls and how they are found by name.
macro_rules! library {
    ($(#[$about:meta])* $name:ident { $($call:ident = $symbol:literal ($($kind:ty),* $(,)?);)* }) => {
        $(#[$about])*
        pub struct $name {
            _library: Library,
            $(pub $call: unsafe extern "C" fn($($kind),*) -> i32,)*
        }

        impl $name {
            /// Finds every call.
            pub fn load(library: Library) -> Result<Self, String> {
                // SAFETY: the symbols have these types in every version of the library that has
                // them under these names, and the library is kept as long as they are.
                unsafe {
                    Ok(Self {
                        $($call: *library
                            .get(concat!($symbol, "\0").as_bytes())
                            .map_err(|e| format!("{}: {e}", $symbol))?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}
pub(super) use library;

type Handle = *mut c_void;

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
        stream_destroy = "cuStreamDestroy_v2"(Handle);
        alloc = "cuMemAlloc_v2"(*mut u64, usize);
        free = "cuMemFree_v2"(u64);
        info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        host_alloc = "cuMemHostAlloc"(*mut Handle, usize, u32);
        host_free = "cuMemFreeHost"(Handle);
        to_device = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
        to_host = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, Handle);
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
        error_text = "cuGetErrorString"(i32, *mut *const c_char);
    }
}

const MAX_SHARED_MEMORY_OPTIN: i32 = 97;
const MULTIPROCESSORS: i32 = 16;
const CAPABILITY_MAJOR: i32 = 75;
const CAPABILITY_MINOR: i32 = 76;
const FUNCTION_DYNAMIC_SHARED: i32 = 8;
const OUT_OF_MEMORY: i32 = 2;

/// The parts of the kernels, as they are embedded.
const PARTS: &[(&str, &[u8])] = &[
    ("base", include_bytes!("ptx/base.ptx.gz")),
    ("attend_b", include_bytes!("ptx/attend_b.ptx.gz")),
    ("attend_h", include_bytes!("ptx/attend_h.ptx.gz")),
    ("product_b", include_bytes!("ptx/product_b.ptx.gz")),
    ("product_h", include_bytes!("ptx/product_h.ptx.gz")),
    (
        "product_b_lean",
        include_bytes!("ptx/product_b_lean.ptx.gz"),
    ),
    (
        "product_h_lean",
        include_bytes!("ptx/product_h_lean.ptx.gz"),
    ),
];

/// The text of one part; from the folder `MARY_CUDA_PTX` where someone works on the kernels.
pub(super) fn part(name: &str) -> Result<String, ModelError> {
    let broken = |why: String| ModelError::new(ErrorKind::Internal, why);
    if let Some(folder) = std::env::var_os("MARY_CUDA_PTX") {
        let path = std::path::Path::new(&folder).join(format!("{name}.ptx"));
        return std::fs::read_to_string(&path)
            .map_err(|e| broken(format!("{}: {e}", path.display())));
    }
    let Some((_, packed)) = PARTS.iter().find(|(n, _)| *n == name) else {
        return Err(broken(format!(
            "there is no part `{name}` of the CUDA kernels"
        )));
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(*packed)
        .read_to_string(&mut text)
        .map_err(|e| broken(format!("the CUDA kernels `{name}` do not unpack: {e}")))?;
    Ok(text)
}

/// A kernel or module, as the driver calls it.
#[derive(Clone, Copy)]
struct Raw(Handle);
// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Raw {}
// SAFETY: as above; every call that changes what they point to is made under a lock or by the driver.
unsafe impl Sync for Raw {}

/// A card: its context, its stream, its kernels.
pub struct Device {
    api: Api,
    number: i32,
    context: Raw,
    stream: Raw,
    modules: Mutex<HashMap<&'static str, Raw>>,
    kernels: Mutex<HashMap<String, Raw>>,
    /// Bytes this process may take; `u64::MAX` where nothing limits it.
    limit: AtomicU64,
    used: AtomicU64,
    /// What the card is called.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of shared memory a block may ask for.
    pub shared: usize,
}

fn unavailable(message: String) -> ModelError {
    ModelError::new(ErrorKind::BadRequest, message)
        .hint("a card needs an NVIDIA driver on this machine; --device cpu runs everywhere")
}

impl Device {
    /// Opens a card by its number.
    pub fn open(number: usize) -> Result<Arc<Self>, ModelError> {
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
            fail((api.count)(&mut count), "counting cards")?;
            if number >= usize::try_from(count).unwrap_or(0) {
                return Err(unavailable(format!(
                    "cuda:{number}: this machine has {count} card{}",
                    if count == 1 { "" } else { "s" }
                )));
            }
            let mut device = 0;
            fail(
                (api.device)(&mut device, number as i32),
                "choosing the card",
            )?;
            let mut text = [0 as c_char; 128];
            fail(
                (api.device_name)(text.as_mut_ptr(), 127, device),
                "naming the card",
            )?;
            let attribute = |what: i32| -> Result<i32, ModelError> {
                let mut value = 0;
                fail((api.attribute)(&mut value, what, device), "asking the card")?;
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
            fail((api.retain)(&mut context, device), "taking the card")?;
            fail((api.set_current)(context), "taking the card")?;
            let mut stream = std::ptr::null_mut();
            const NON_BLOCKING: u32 = 1;
            fail((api.stream)(&mut stream, NON_BLOCKING), "making a stream")?;
            Ok(Arc::new(Self {
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

    /// Limits the memory that is taken, whatever the card has.
    pub fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    fn check(&self, code: i32, what: &str) -> Result<(), ModelError> {
        fault(&self.api, code, what)
    }

    fn enter(&self) -> Result<(), ModelError> {
        // SAFETY: the context lives as long as the device.
        self.check(
            unsafe { (self.api.set_current)(self.context.0) },
            "taking the card",
        )
    }

    /// The stream, for libraries that launch on it.
    pub fn stream(&self) -> Handle {
        self.stream.0
    }

    /// Makes the card current for this thread.
    pub fn current(&self) -> Result<(), ModelError> {
        self.enter()
    }

    /// Bytes that can still be taken.
    pub fn free(&self) -> Option<u64> {
        self.enter().ok()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: two places to write to.
        self.check(unsafe { (self.api.info)(&mut free, &mut total) }, "memory")
            .ok()?;
        let left = self
            .limit
            .load(Ordering::Relaxed)
            .saturating_sub(self.used.load(Ordering::Relaxed));
        Some((free as u64).min(left))
    }

    /// Takes memory.
    pub fn alloc(self: &Arc<Self>, bytes: usize) -> Result<Memory, ModelError> {
        self.enter()?;
        let bytes = bytes.max(256);
        let what = format!("taking {} MB on {}", bytes.div_ceil(1_000_000), self.name);
        let used = self.used.load(Ordering::Relaxed) + bytes as u64;
        if used > self.limit.load(Ordering::Relaxed) {
            return self
                .check(OUT_OF_MEMORY, &what)
                .map(|()| unreachable_memory(self));
        }
        let mut at = 0;
        // SAFETY: a place to write the address to.
        self.check(unsafe { (self.api.alloc)(&mut at, bytes) }, &what)?;
        self.used.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(Memory {
            device: Arc::clone(self),
            at,
            bytes,
        })
    }

    /// Waits until everything asked for is done.
    pub fn wait(&self) -> Result<(), ModelError> {
        self.enter()?;
        // SAFETY: the stream lives as long as the device.
        self.check(
            unsafe { (self.api.synchronize)(self.stream.0) },
            "computing",
        )
    }

    /// Copies to the card and waits; for weights and checks.
    pub fn write<T: bytemuck::Pod>(&self, x: &[T], to: u64) -> Result<(), ModelError> {
        self.enter()?;
        let bytes = size_of_val(x);
        // SAFETY: the caller's memory holds `bytes` and stays until the wait is over.
        let code = unsafe { (self.api.to_device)(to, x.as_ptr().cast(), bytes, self.stream.0) };
        self.check(code, "copying to the card")?;
        self.wait()
    }

    /// Copies from the card and waits.
    pub fn read<T: bytemuck::Pod>(&self, from: u64, len: usize) -> Result<Vec<T>, ModelError> {
        self.enter()?;
        let mut out = vec![T::zeroed(); len];
        let bytes = size_of_val(out.as_slice());
        // SAFETY: `out` holds `bytes` and stays until the wait is over.
        let code =
            unsafe { (self.api.to_host)(out.as_mut_ptr().cast(), from, bytes, self.stream.0) };
        self.check(code, "copying from the card")?;
        self.wait()?;
        Ok(out)
    }

    fn kernel(&self, part_name: &'static str, name: &str) -> Result<Raw, ModelError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&kernel) = kernels.get(name) {
            return Ok(kernel);
        }
        let module = self.module_of(part_name)?;
        let mut kernel = std::ptr::null_mut();
        let symbol = CString::new(name)
            .map_err(|e| ModelError::new(ErrorKind::Internal, format!("{name}: {e}")))?;
        // SAFETY: module and name are valid; a place to write to.
        let code = unsafe { (self.api.function)(&mut kernel, module.0, symbol.as_ptr()) };
        self.check(code, &format!("finding the kernel {name}"))?;
        if name.starts_with("product_large") || name.starts_with("product_small") {
            // SAFETY: raises a limit of this kernel within what the card offers.
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
        let text = CString::new(part(part_name)?)
            .map_err(|e| ModelError::new(ErrorKind::Internal, format!("{part_name}: {e}")))?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends in a zero and the driver copies what it needs.
        let code = unsafe { (self.api.module)(&mut module, text.as_ptr().cast()) };
        self.check(
            code,
            &format!("compiling the kernels `{part_name}` for {}", self.name),
        )?;
        modules.insert(part_name, Raw(module));
        Ok(Raw(module))
    }

    /// Launches a kernel.
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
        let kernel = self.kernel(part_name, name)?;
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
        let modules = self
            .modules
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nothing uses the card any more: memory holds the device alive.
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

/// Never called with success: the code before it always is an error.
fn unreachable_memory(device: &Arc<Device>) -> Memory {
    Memory {
        device: Arc::clone(device),
        at: 0,
        bytes: 0,
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

/// Memory on a card.
pub struct Memory {
    device: Arc<Device>,
    at: u64,
    bytes: usize,
}

impl Memory {
    /// Its address on the card.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 && self.device.enter().is_ok() {
            // SAFETY: the address came from the driver and is given back once.
            unsafe { (self.device.api.free)(self.at) };
            self.device
                .used
                .fetch_sub(self.bytes as u64, Ordering::Relaxed);
        }
    }
}

/// Memory on both sides and the sign that a copy between them is over.
pub struct Staged {
    card: Memory,
    host: Raw,
    event: Raw,
}

impl Staged {
    fn new(device: &Arc<Device>, bytes: usize) -> Result<Self, ModelError> {
        let card = device.alloc(bytes)?;
        let (mut host, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        const NO_TIMING: u32 = 2;
        // SAFETY: places to write to.
        unsafe {
            let code = (device.api.host_alloc)(&mut host, card.bytes, 0);
            device.check(code, "taking memory for copies")?;
            let code = (device.api.event)(&mut event, NO_TIMING);
            device.check(code, "making an event")?;
        }
        Ok(Self {
            card,
            host: Raw(host),
            event: Raw(event),
        })
    }

    /// Its address on the card.
    pub fn at(&self) -> u64 {
        self.card.at
    }

    fn done(&self) -> bool {
        let device = &self.card.device;
        // SAFETY: the event lives as long as this.
        device.enter().is_ok() && unsafe { (device.api.event_query)(self.event.0) } == 0
    }

    fn mark(&self) -> Result<(), ModelError> {
        let device = &self.card.device;
        device.enter()?;
        // SAFETY: both live as long as this.
        let code = unsafe { (device.api.event_record)(self.event.0, device.stream.0) };
        device.check(code, "marking an event")
    }

    fn wait(&self) -> Result<(), ModelError> {
        let device = &self.card.device;
        device.enter()?;
        // SAFETY: the event lives as long as this.
        device.check(
            unsafe { (device.api.event_wait)(self.event.0) },
            "computing",
        )
    }

    /// Sends numbers to the card without waiting.
    fn send(&mut self, x: &[i32]) -> Result<(), ModelError> {
        let device = &self.card.device;
        device.enter()?;
        let bytes = size_of_val(x).min(self.card.bytes);
        // SAFETY: the host side holds at least `bytes`, and nothing reads it now: see `Desk::take`.
        unsafe {
            std::ptr::copy_nonoverlapping(x.as_ptr().cast::<u8>(), self.host.0.cast(), bytes);
            let code = (device.api.to_device)(self.card.at, self.host.0, bytes, device.stream.0);
            device.check(code, "copying to the card")
        }
    }

    /// Asks for numbers from the card without waiting.
    pub fn ask(&mut self, len: usize) -> Result<(), ModelError> {
        let device = &self.card.device;
        device.enter()?;
        let bytes = (len * 4).min(self.card.bytes);
        // SAFETY: the host side holds at least `bytes`.
        let code =
            unsafe { (device.api.to_host)(self.host.0, self.card.at, bytes, device.stream.0) };
        device.check(code, "copying from the card")?;
        self.mark()
    }

    /// Waits for what was asked for.
    pub fn answer(&self, len: usize) -> Result<Vec<f32>, ModelError> {
        self.wait()?;
        let len = len.min(self.card.bytes / 4);
        // SAFETY: the host side holds at least `len` numbers, and the copy is over.
        Ok(unsafe { std::slice::from_raw_parts(self.host.0.cast::<f32>(), len) }.to_vec())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let device = &self.card.device;
        if device.enter().is_ok() {
            // SAFETY: both came from the driver and are given back once, after the copies are over.
            unsafe {
                (device.api.event_wait)(self.event.0);
                (device.api.event_destroy)(self.event.0);
                (device.api.host_free)(self.host.0);
            }
        }
    }
}

/// Lends staged memory; what comes back is lent again when the card is done with it.
#[derive(Default)]
pub struct Lender {
    back: Mutex<Vec<Staged>>,
}

/// Staged memory that goes back by itself.
pub struct Lent {
    home: Arc<Lender>,
    staged: Option<Staged>,
}

impl Lender {
    /// Staged memory of at least this size.
    pub fn take(self: &Arc<Self>, device: &Arc<Device>, bytes: usize) -> Result<Lent, ModelError> {
        let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |s: &Staged| s.card.bytes >= bytes && s.card.bytes <= 4 * bytes.max(1 << 16);
        let found = back.iter().position(|s| fits(s) && s.done());
        let staged = match found {
            Some(i) => back.swap_remove(i),
            None => {
                if back.len() >= 16 {
                    back.remove(0);
                }
                drop(back);
                Staged::new(device, bytes.next_power_of_two().max(1 << 12))?
            }
        };
        Ok(Lent {
            home: Arc::clone(self),
            staged: Some(staged),
        })
    }

    /// Sends numbers to the card without waiting.
    pub fn send(self: &Arc<Self>, device: &Arc<Device>, x: &[i32]) -> Result<Lent, ModelError> {
        let mut lent = self.take(device, size_of_val(x))?;
        if let Some(staged) = &mut lent.staged {
            staged.send(x)?;
        }
        Ok(lent)
    }
}

impl Lent {
    /// The memory.
    pub fn staged(&mut self) -> Option<&mut Staged> {
        self.staged.as_mut()
    }

    /// Its address on the card.
    pub fn at(&self) -> u64 {
        self.staged.as_ref().map_or(0, Staged::at)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(staged) = self.staged.take()
            && staged.mark().is_ok()
        {
            let mut back = self
                .home
                .back
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            back.push(staged);
        }
    }
}
