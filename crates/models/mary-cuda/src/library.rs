//! How a library's calls are declared and found by name.

macro_rules! library {
    ($(#[$about:meta])* $name:ident { $($call:ident = $symbol:literal ($($kind:ty),* $(,)?);)* }) => {
        $(#[$about])*
        pub(crate) struct $name {
            _library: libloading::Library,
            $(pub(crate) $call: unsafe extern "C" fn($($kind),*) -> i32,)*
        }

        impl $name {
            pub(crate) fn load(library: libloading::Library) -> Result<Self, String> {
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
pub(crate) use library;
