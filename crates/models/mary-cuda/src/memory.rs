//! Memory on a GPU, and memory on both sides for copies that nobody waits for.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::ModelError;

use crate::device::{Device, Raw};

pub struct Memory {
    device: Arc<Device>,
    at: u64,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(device: Arc<Device>, at: u64, bytes: usize) -> Self {
        Self { device, at, bytes }
    }

    /// Its address on the GPU.
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
            self.device
                .used
                .fetch_sub(self.bytes as u64, Ordering::Relaxed);
        }
    }
}

/// Memory on both sides and the sign that a copy between them is over.
pub struct Staged {
    memory: Memory,
    host: Raw,
    event: Raw,
}

impl Staged {
    fn new(device: &Arc<Device>, bytes: usize) -> Result<Self, ModelError> {
        let memory = device.alloc(bytes)?;
        let (mut host, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        const NO_TIMING: u32 = 2;
        // SAFETY: places to write to.
        unsafe {
            let code = (device.api.host_alloc)(&mut host, memory.bytes, 0);
            device.check(code, "taking memory for copies")?;
            let code = (device.api.event)(&mut event, NO_TIMING);
            device.check(code, "making an event")?;
        }
        Ok(Self {
            memory,
            host: Raw(host),
            event: Raw(event),
        })
    }

    /// Its address on the GPU.
    pub fn at(&self) -> u64 {
        self.memory.at
    }

    fn done(&self) -> bool {
        let device = &self.memory.device;
        // SAFETY: the event lives as long as this.
        device.enter().is_ok() && unsafe { (device.api.event_query)(self.event.0) } == 0
    }

    fn mark(&self) -> Result<(), ModelError> {
        let device = &self.memory.device;
        device.enter()?;
        // SAFETY: both live as long as this.
        let code = unsafe { (device.api.event_record)(self.event.0, device.stream.0) };
        device.check(code, "marking an event")
    }

    fn wait(&self) -> Result<(), ModelError> {
        let device = &self.memory.device;
        device.enter()?;
        // SAFETY: the event lives as long as this.
        device.check(
            unsafe { (device.api.event_wait)(self.event.0) },
            "computing",
        )
    }

    /// Sends numbers to the GPU without waiting.
    fn send(&mut self, x: &[i32]) -> Result<(), ModelError> {
        let device = &self.memory.device;
        device.enter()?;
        let bytes = size_of_val(x).min(self.memory.bytes);
        // SAFETY: the host side holds at least `bytes`, and nothing reads it now: see `Lender::take`.
        unsafe {
            std::ptr::copy_nonoverlapping(x.as_ptr().cast::<u8>(), self.host.0.cast(), bytes);
            let code = (device.api.to_device)(self.memory.at, self.host.0, bytes, device.stream.0);
            device.check(code, "copying to the GPU")
        }
    }

    /// Asks for numbers from the GPU without waiting.
    pub fn ask(&mut self, len: usize) -> Result<(), ModelError> {
        let device = &self.memory.device;
        device.enter()?;
        let bytes = (len * 4).min(self.memory.bytes);
        // SAFETY: the host side holds at least `bytes`.
        let code =
            unsafe { (device.api.to_host)(self.host.0, self.memory.at, bytes, device.stream.0) };
        device.check(code, "copying from the GPU")?;
        self.mark()
    }

    /// Waits for what was asked for.
    pub fn answer(&self, len: usize) -> Result<Vec<f32>, ModelError> {
        self.wait()?;
        let len = len.min(self.memory.bytes / 4);
        // SAFETY: the host side holds at least `len` numbers, and the copy is over.
        Ok(unsafe { std::slice::from_raw_parts(self.host.0.cast::<f32>(), len) }.to_vec())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let device = &self.memory.device;
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

/// Lends staged memory; what comes back is lent again when the GPU is done with it.
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
        let fits = |s: &Staged| s.memory.bytes >= bytes && s.memory.bytes <= 4 * bytes.max(1 << 16);
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

    /// Its address on the GPU.
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
