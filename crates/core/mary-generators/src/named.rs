//! Enums whose variants have a word each, for tags, settings and tables.

/// Declares an enum in which every variant stands with its word: `ALL` has the variants in this order, `name` says
/// the word.
///
/// ```
/// mary_generators::named! {
///     #[derive(Debug, Clone, Copy, PartialEq)]
///     pub enum Side { Left = "left", Right = "right-hand" }
/// }
/// assert_eq!(Side::ALL.map(Side::name), ["left", "right-hand"]);
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$outer:meta])* $vis:vis enum $enum:ident {
        $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$outer])*
        $vis enum $enum { $($(#[$inner])* $variant),+ }

        impl $enum {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}
