//! Reading and writing vectors at any address. The intrinsics for that copy memory, and a development build
//! checks before every copy that the two places do not overlap, which takes longer than a product.

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Loose<T: Copy>(T);

/// What stands at an address.
///
/// # Safety
/// There is a value, and any bytes would be one.
#[inline(always)]
pub unsafe fn get<T: Copy, P>(at: *const P) -> T {
    // SAFETY: the caller vouches for it.
    unsafe { (*at.cast::<Loose<T>>()).0 }
}

/// Puts a value at an address.
///
/// # Safety
/// There is room, and nobody else uses it.
#[inline(always)]
pub unsafe fn set<T: Copy, P>(at: *mut P, x: T) {
    // SAFETY: the caller vouches for it.
    unsafe { (*at.cast::<Loose<T>>()).0 = x };
}
