//! Large amounts of bytes on their way to a GPU: all threads copy into pinned buffers, and the GPU fetches
//! from one while the next is being filled. A plain copy from memory that is not pinned is done by one
//! thread of the driver, page after page.

use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::ModelError;
use rayon::prelude::*;

use crate::device::{Device, Raw};

/// Bytes of one buffer: long enough for the bus, short enough that the first copy starts at once.
const BUFFER: usize = 32 << 20;
/// Buffers: one is fetched, one filled, and one waits in case either is late.
const BUFFERS: usize = 3;
/// Bytes that one thread copies at a time.
const PIECE: usize = 1 << 20;

/// Sends bytes to a GPU through pinned buffers, which it takes when they are first needed.
#[derive(Default)]
pub struct Uploader {
    ring: Mutex<Ring>,
}

#[derive(Default)]
struct Ring {
    buffers: Vec<Pinned>,
    next: usize,
}

/// A buffer that the GPU reads by itself, and the event after which it has.
struct Pinned {
    device: Arc<Device>,
    host: Raw,
    event: Raw,
}

impl Uploader {
    /// Copies bytes to a place on the GPU, in the order of what is launched. They may be freed when this
    /// returns; the copy itself may still be under way.
    pub fn send(&self, device: &Arc<Device>, bytes: &[u8], to: u64) -> Result<(), ModelError> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = to;
        for part in bytes.chunks(BUFFER) {
            if ring.buffers.len() < BUFFERS {
                let buffer = Pinned::new(device)?;
                ring.buffers.push(buffer);
                ring.next = ring.buffers.len() - 1;
            }
            let next = ring.next;
            ring.next = (next + 1) % BUFFERS;
            if let Some(buffer) = ring.buffers.get_mut(next) {
                buffer.send(part, at)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Gives the buffers back, once the GPU has read them.
    pub fn release(&self) {
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = Ring::default();
    }
}

impl Pinned {
    fn new(device: &Arc<Device>) -> Result<Self, ModelError> {
        device.enter()?;
        let (mut host, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        const NO_TIMING: u32 = 2;
        // SAFETY: places to write to.
        unsafe {
            let code = (device.api.host_alloc)(&mut host, BUFFER, 0);
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

    /// Fills the buffer once its last copy is over, and starts the next. `bytes` fit.
    fn send(&mut self, bytes: &[u8], to: u64) -> Result<(), ModelError> {
        let device = &self.device;
        device.enter()?;
        let len = bytes.len().min(BUFFER);
        // SAFETY: the event lives as long as this; one that was never recorded is over.
        let code = unsafe { (device.api.event_wait)(self.event.0) };
        device.check(code, "copying to the GPU")?;
        // SAFETY: the host side holds BUFFER bytes, nothing reads it now, and nobody else writes: `&mut`.
        let host = unsafe { std::slice::from_raw_parts_mut(self.host.0.cast::<u8>(), len) };
        host.par_chunks_mut(PIECE)
            .zip(bytes.par_chunks(PIECE))
            .for_each(|(to, from)| to.copy_from_slice(from));
        // SAFETY: `to` is memory the caller holds; the host side stays until the event has passed.
        unsafe {
            let code = (device.api.to_device)(to, self.host.0, len, device.stream.0);
            device.check(code, "copying to the GPU")?;
            let code = (device.api.event_record)(self.event.0, device.stream.0);
            device.check(code, "marking an event")
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.device.enter().is_ok() {
            // SAFETY: both came from the driver and are given back once, after the copy is over.
            unsafe {
                (self.device.api.event_wait)(self.event.0);
                (self.device.api.event_destroy)(self.event.0);
                (self.device.api.host_free)(self.host.0);
            }
        }
    }
}
