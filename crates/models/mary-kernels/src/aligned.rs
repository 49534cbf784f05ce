//! Memory for numbers that kernels stream through: aligned to huge pages, and asking for them.
//!
//! On a virtual machine a miss in the address cache costs more than a miss in the second-level
//! cache, and packed weights are hundreds of megabytes.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

const HUGE: usize = 2 << 20;

pub struct Aligned<T: bytemuck::Pod> {
    at: *mut T,
    len: usize,
    origin: Origin,
}

enum Origin {
    Allocator(Layout),
    #[cfg(target_os = "linux")]
    Pages {
        at: *mut u8,
        bytes: usize,
    },
}

// SAFETY: the buffer owns its memory and hands out borrows like a boxed slice.
unsafe impl<T: bytemuck::Pod + Send> Send for Aligned<T> {}
// SAFETY: as above.
unsafe impl<T: bytemuck::Pod + Sync> Sync for Aligned<T> {}

impl<T: bytemuck::Pod> Aligned<T> {
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>()).max(64);
        #[cfg(target_os = "linux")]
        if bytes >= HUGE
            && let Some((at, origin)) = pages::map(bytes)
        {
            return Self {
                at: at.cast(),
                len,
                origin,
            };
        }
        let align = if bytes >= HUGE { 4096 } else { 64 };
        let Ok(layout) = Layout::from_size_align(bytes, align) else {
            // Longer than any address space: the allocator could not serve it either.
            handle_alloc_error(Layout::new::<T>())
        };
        // SAFETY: the layout has a size of at least 64 bytes.
        let at = unsafe { alloc_zeroed(layout) };
        if at.is_null() {
            handle_alloc_error(layout);
        }
        Self {
            at: at.cast(),
            len,
            origin: Origin::Allocator(layout),
        }
    }

    /// Makes the buffer at least this long; what it held is lost when it grows.
    pub fn reserve(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeroed(len.max(self.len + self.len / 2));
        }
    }
}

impl<T: bytemuck::Pod> Default for Aligned<T> {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl<T: bytemuck::Pod> Drop for Aligned<T> {
    fn drop(&mut self) {
        match self.origin {
            // SAFETY: allocated with this layout in `zeroed`.
            Origin::Allocator(layout) => unsafe { dealloc(self.at.cast(), layout) },
            #[cfg(target_os = "linux")]
            Origin::Pages { at, bytes } => pages::unmap(at, bytes),
        }
    }
}

impl<T: bytemuck::Pod> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` numbers were allocated and zeroed, and zero is a valid `Pod`.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }
}

impl<T: bytemuck::Pod> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.len) }
    }
}

/// Pages straight from the kernel: zero until touched, so that the threads that fill them also
/// take the page faults, and few of those because the pages are huge.
#[cfg(target_os = "linux")]
mod pages {
    use super::{HUGE, Origin};

    unsafe extern "C" {
        fn mmap(at: *mut u8, len: usize, prot: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
        fn munmap(at: *mut u8, len: usize) -> i32;
        fn madvise(at: *mut u8, len: usize, advice: i32) -> i32;
    }

    pub(super) fn map(bytes: usize) -> Option<(*mut u8, Origin)> {
        const READ_WRITE: i32 = 3;
        const PRIVATE_ANONYMOUS: i32 = 0x22;
        const HUGE_PAGES: i32 = 14;
        let whole = bytes.checked_add(2 * HUGE)?;
        // SAFETY: asks for new memory anywhere.
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                whole,
                READ_WRITE,
                PRIVATE_ANONYMOUS,
                -1,
                0,
            )
        };
        if at.is_null() || at.addr() == usize::MAX {
            return None;
        }
        let skip = at.addr().next_multiple_of(HUGE) - at.addr();
        // SAFETY: `skip` is less than the room added above.
        let first = unsafe { at.add(skip) };
        // SAFETY: advice about memory just mapped; whether it is taken does not matter.
        let _ = unsafe { madvise(first, bytes.next_multiple_of(HUGE), HUGE_PAGES) };
        Some((first, Origin::Pages { at, bytes: whole }))
    }

    pub(super) fn unmap(at: *mut u8, bytes: usize) {
        // SAFETY: mapped in `map` with this length; the owner is going away.
        let _ = unsafe { munmap(at, bytes) };
    }
}
