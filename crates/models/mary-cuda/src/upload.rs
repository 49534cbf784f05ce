//! All threads copy into pinned buffers, and the GPU fetches from one while the next is being filled. A plain
//! copy from memory that is not pinned is done by one thread of the driver, page after page.

use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::ModelError;
use rayon::prelude::*;

use crate::device::Device;
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
}

impl Uploader {
    /// Copies bytes to a place on the GPU, in the order of what is launched. They may be freed when this
    /// returns; the copy itself may still be under way.
    pub fn send(&self, device: &Arc<Device>, bytes: &[u8], to: u64) -> Result<(), ModelError> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = to;
        for part in bytes.chunks(BUFFER) {
            if ring.buffers.len() < BUFFERS {
                let buffer = Pinned::new(device, BUFFER)?;
                ring.buffers.push(buffer);
                ring.next = ring.buffers.len() - 1;
            }
            let next = ring.next;
            ring.next = (next + 1) % BUFFERS;
            if let Some(buffer) = ring.buffers.get_mut(next) {
                send(buffer, part, at)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    pub fn release(&self) {
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = Ring::default();
    }
}

/// Fills a buffer once its last copy is over, and starts the next. `bytes` fit.
fn send(buffer: &mut Pinned, bytes: &[u8], to: u64) -> Result<(), ModelError> {
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
    let code = unsafe { (device.api.to_device)(to, host.cast(), len, device.stream.0) };
    device.check(code, "copying to the GPU")?;
    buffer.mark()
}
