//! A condition in the middle of what may come to nothing.

/// Goes on only where this holds, as `?` goes on only where there is something.
///
/// ```
/// let half = |n: u32| {
///     mary_platform::given(n % 2 == 0)?;
///     Some(n / 2)
/// };
/// assert_eq!((half(4), half(5)), (Some(2), None));
/// ```
pub fn given(holds: bool) -> Option<()> {
    holds.then_some(())
}
