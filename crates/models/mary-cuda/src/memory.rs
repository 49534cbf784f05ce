//! Memory on a GPU, and memory on both sides for copies that nobody waits for.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::ModelError;

use crate::device::{Device, NO_TIMING, OUT_OF_MEMORY, Raw};

pub struct Memory {
    device: Arc<Device>,
    at: u64,
    bytes: usize,
}

impl Device {
    pub fn alloc(self: &Arc<Self>, bytes: usize) -> Result<Memory, ModelError> {
        self.enter()?;
        let bytes = bytes.max(256);
        let what = format!("taking {} MB on {}", bytes.div_ceil(1_000_000), self.name);
        if self.used() + bytes as u64 > self.limit.load(Ordering::Relaxed) {
            self.check(OUT_OF_MEMORY, &what)?;
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
}

impl Memory {
    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.device.enter().is_ok() {
            // SAFETY: the address came from the driver and is given back once.
            unsafe { (self.device.api.free)(self.at) };
            let used = &self.device.used;
            used.fetch_sub(self.bytes as u64, Ordering::Relaxed);
        }
    }
}

/// Memory of this machine that the GPU reads and writes by itself, and the event after which it has.
pub(crate) struct Pinned {
    device: Arc<Device>,
    host: Raw,
    event: Raw,
}

impl Pinned {
    pub(crate) fn new(device: &Arc<Device>, bytes: usize) -> Result<Self, ModelError> {
        device.enter()?;
        let (mut host, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: places to write to.
        unsafe {
            let code = (device.api.host_alloc)(&mut host, bytes, 0);
            device.check(code, "taking memory for copies")?;
            let code = (device.api.event)(&mut event, NO_TIMING);
            if let Err(error) = device.check(code, "making an event") {
                (device.api.host_free)(host);
                return Err(error);
            }
        }
        Ok(Self {
            device: Arc::clone(device),
            host: Raw(host),
            event: Raw(event),
        })
    }

    pub(crate) fn host(&mut self) -> *mut u8 {
        self.host.0.cast()
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the GPU has come to the event.
    fn done(&self) -> bool {
        let device = &self.device;
        // SAFETY: the event lives as long as this.
        device.enter().is_ok() && unsafe { (device.api.event_query)(self.event.0) } == 0
    }

    pub(crate) fn mark(&self) -> Result<(), ModelError> {
        self.mark_on(self.device.stream)
    }

    /// The same after what one stream has been asked for.
    pub(crate) fn mark_on(&self, stream: Raw) -> Result<(), ModelError> {
        let device = &self.device;
        device.enter()?;
        // SAFETY: the event lives as long as this, the stream as long as the device or what sends on it.
        let code = unsafe { (device.api.event_record)(self.event.0, stream.0) };
        device.check(code, "marking an event")
    }

    /// Waits for the event; one that was never recorded is over.
    pub(crate) fn wait(&self, what: &str) -> Result<(), ModelError> {
        self.device.enter()?;
        // SAFETY: the event lives as long as this.
        let code = unsafe { (self.device.api.event_wait)(self.event.0) };
        self.device.check(code, what)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.device.enter().is_ok() {
            // SAFETY: both came from the driver and are given back once, after the copies are over.
            unsafe {
                (self.device.api.event_wait)(self.event.0);
                (self.device.api.event_destroy)(self.event.0);
                (self.device.api.host_free)(self.host.0);
            }
        }
    }
}

/// Memory on both sides. This side goes first when both are given back: its copies are over then.
pub struct Staged {
    pinned: Pinned,
    memory: Memory,
}

impl Staged {
    fn new(device: &Arc<Device>, bytes: usize) -> Result<Self, ModelError> {
        let memory = device.alloc(bytes)?;
        Ok(Self {
            pinned: Pinned::new(device, memory.bytes)?,
            memory,
        })
    }

    /// Sends numbers to the GPU without waiting.
    fn send(&mut self, x: &[i32]) -> Result<(), ModelError> {
        let host = self.pinned.host();
        let (device, to) = (self.pinned.device(), self.memory.at);
        device.enter()?;
        let bytes = size_of_val(x).min(self.memory.bytes);
        // SAFETY: the host side holds at least `bytes`, and nothing reads it now: see `Lender::take`.
        unsafe {
            std::ptr::copy_nonoverlapping(x.as_ptr().cast::<u8>(), host, bytes);
            let code = (device.api.to_device)(to, host.cast(), bytes, device.stream.0);
            device.check(code, "copying to the GPU")
        }
    }

    /// Asks for numbers from the GPU without waiting.
    pub fn ask(&mut self, len: usize) -> Result<(), ModelError> {
        let host = self.pinned.host().cast();
        let (device, from) = (self.pinned.device(), self.memory.at);
        device.enter()?;
        let bytes = (len * 4).min(self.memory.bytes);
        // SAFETY: the host side holds at least `bytes`.
        let code = unsafe { (device.api.to_host)(host, from, bytes, device.stream.0) };
        device.check(code, "copying from the GPU")?;
        self.pinned.mark()
    }

    pub fn answer(&mut self, len: usize) -> Result<Vec<f32>, ModelError> {
        self.pinned.wait("computing")?;
        let len = len.min(self.memory.bytes / 4);
        // SAFETY: the host side holds at least `len` numbers, and the copy is over.
        Ok(unsafe { std::slice::from_raw_parts(self.pinned.host().cast::<f32>(), len) }.to_vec())
    }
}

/// Lends staged memory; what comes back is lent again when the GPU is done with it.
#[derive(Default)]
pub struct Lender {
    back: Mutex<Vec<Staged>>,
}

pub struct Lent {
    home: Arc<Lender>,
    staged: Option<Staged>,
}

impl Lender {
    /// Staged memory of at least this size.
    pub fn take(self: &Arc<Self>, device: &Arc<Device>, bytes: usize) -> Result<Lent, ModelError> {
        let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |s: &Staged| s.memory.bytes >= bytes && s.memory.bytes <= 4 * bytes.max(1 << 16);
        let found = back.iter().position(|s| fits(s) && s.pinned.done());
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

    /// Sends numbers to the GPU without waiting.
    pub fn send(self: &Arc<Self>, device: &Arc<Device>, x: &[i32]) -> Result<Lent, ModelError> {
        let mut lent = self.take(device, size_of_val(x))?;
        if let Some(staged) = &mut lent.staged {
            staged.send(x)?;
        }
        Ok(lent)
    }
}

impl Lent {
    pub fn staged(&mut self) -> Option<&mut Staged> {
        self.staged.as_mut()
    }

    pub fn at(&self) -> u64 {
        self.staged.as_ref().map_or(0, |staged| staged.memory.at)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(staged) = self.staged.take()
            && staged.pinned.mark().is_ok()
        {
            let back = self.home.back.lock();
            back.unwrap_or_else(PoisonError::into_inner).push(staged);
        }
    }
}
