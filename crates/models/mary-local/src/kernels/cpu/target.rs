//! Where products go: memory that several threads write to, each its own part.

#[derive(Clone, Copy)]
pub struct Shared<T = f32>(pub *mut T);

// SAFETY: whoever writes through it takes care that no two threads write the same place.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn pointer(self) -> *mut T {
        self.0
    }

    /// The place `n` numbers further on.
    ///
    /// # Safety
    /// It lies inside the same memory.
    pub unsafe fn offset(self, n: usize) -> Self {
        // SAFETY: the caller vouches for it.
        Self(unsafe { self.0.add(n) })
    }
}

#[derive(Clone, Copy)]
pub struct Target {
    /// Row 0, column 0.
    pub at: Shared,
    /// Numbers from one row to the next.
    pub stride: usize,
    pub add: bool,
}
