//! Text as part of an address.

/// Percent-encodes everything but letters, digits and `-._~`.
///
/// ```
/// assert_eq!(mary_platform::percent_encoded("a/b c~é"), "a%2Fb%20c~%C3%A9");
/// ```
pub fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
