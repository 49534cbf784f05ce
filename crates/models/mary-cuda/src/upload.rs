//! All threads copy into pinned buffers, and the GPU fetches from one while the next is being filled. A plain
//! copy from memory that is not pinned is done by one thread of the driver, page after page.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::ModelError;
use rayon::prelude::*;

use crate::device::{Device, Raw};
use crate::memory::Pinned;

/// Bytes of one buffer: long enough for the bus, short enough that the first copy starts at once.
const BUFFER: usize = 32 << 20;
/// Buffers: one is fetched, one filled, and one waits in case either is late.
const BUFFERS: usize = 3;
/// Bytes that one thread copies at a time.
const PIECE: usize = 1 << 20;

#[derive(Default)]
pub struct Uploader {
    ring: Mutex<Ring>,
}

#[derive(Default)]
struct Ring {
    buffers: Vec<Pinned>,
    next: usize,
    /// For copies that go beside what is computed.
    aside: Option<Aside>,
}

struct Aside {
    device: Arc<Device>,
    stream: Raw,
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.device.enter().is_ok() {
            // SAFETY: the stream came from the driver and is given back once; its copies are over before that.
            unsafe {
                (self.device.api.synchronize)(self.stream.0);
                (self.device.api.stream_destroy)(self.stream.0);
            }
        }
    }
}

impl Uploader {
    /// Copies bytes to a place on the GPU, in the order of what is launched. They may be freed when this
    /// returns; the copy itself may still be under way.
    pub fn send(&self, device: &Arc<Device>, bytes: &[u8], to: u64) -> Result<(), ModelError> {
        let mut ring = self.lock();
        ring.send((device, device.stream), bytes, to)
    }

    /// The same beside what is computed meanwhile: nothing may read it before [`Uploader::settle`].
    pub fn send_aside(
        &self,
        device: &Arc<Device>,
        bytes: &[u8],
        to: u64,
    ) -> Result<(), ModelError> {
        let mut ring = self.lock();
        let stream = match &ring.aside {
            Some(aside) => aside.stream,
            None => {
                let stream = device.another_stream()?;
                let device = Arc::clone(device);
                ring.aside.insert(Aside { device, stream }).stream
            }
        };
        ring.send((device, stream), bytes, to)
    }

    /// Waits for all copies that went aside.
    pub fn settle(&self) -> Result<(), ModelError> {
        let ring = self.lock();
        let Some(aside) = &ring.aside else {
            return Ok(());
        };
        aside.device.enter()?;
        // SAFETY: the stream lives as long as `aside`.
        let code = unsafe { (aside.device.api.synchronize)(aside.stream.0) };
        aside.device.check(code, "copying to the GPU")
    }

    pub fn release(&self) {
        *self.lock() = Ring::default();
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    fn send(
        &mut self,
        (device, stream): (&Arc<Device>, Raw),
        bytes: &[u8],
        to: u64,
    ) -> Result<(), ModelError> {
        let mut at = to;
        for part in bytes.chunks(BUFFER) {
            if self.buffers.len() < BUFFERS {
                let buffer = Pinned::new(device, BUFFER)?;
                self.buffers.push(buffer);
                self.next = self.buffers.len() - 1;
            }
            let next = self.next;
            self.next = (next + 1) % BUFFERS;
            if let Some(buffer) = self.buffers.get_mut(next) {
                send(buffer, part, at, stream)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }
}

/// Fills a buffer once its last copy is over, and starts the next. `bytes` fit.
fn send(buffer: &mut Pinned, bytes: &[u8], to: u64, stream: Raw) -> Result<(), ModelError> {
    let len = bytes.len().min(BUFFER);
    buffer.wait("copying to the GPU")?;
    let host = buffer.host();
    // SAFETY: the host side holds BUFFER bytes, nothing reads it now, and nobody else writes: `&mut`.
    let all = unsafe { std::slice::from_raw_parts_mut(host, len) };
    all.par_chunks_mut(PIECE)
        .zip(bytes.par_chunks(PIECE))
        .for_each(|(to, from)| to.copy_from_slice(from));
    let device = buffer.device();
    // SAFETY: `to` is memory the caller holds; the host side stays until the event has passed.
    let code = unsafe { (device.api.to_device)(to, host.cast(), len, stream.0) };
    device.check(code, "copying to the GPU")?;
    buffer.mark_on(stream)
}
