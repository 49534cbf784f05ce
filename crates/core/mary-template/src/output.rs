//! Rendering into a buffer that takes so much and no more: a loop over a long text writes without end in
//! a few steps.

use std::io;

use minijinja::{Captured, Error, ErrorKind, Template, Value};

/// The text of a template, unless it is longer than `most` bytes.
pub fn render(template: &Template<'_, '_>, context: Value, most: usize) -> Result<String, Error> {
    render_captured(template, context, most).map(|(text, _)| text)
}

/// The same with the state in which the template ended, for values that it has set.
pub fn render_captured<'e>(
    template: &Template<'e, 'e>,
    context: Value,
    most: usize,
) -> Result<(String, Captured<'e>), Error> {
    let mut out = Limited {
        bytes: Vec::new(),
        most,
    };
    crate::bounded::begin();
    let captured = template.render_captured_to(context, &mut out)?;
    let text = String::from_utf8(out.bytes)
        .map_err(|_| Error::new(ErrorKind::WriteFailure, "it wrote broken text"))?;
    Ok((text, captured))
}

struct Limited {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > self.most {
            return Err(io::Error::other("the rendered text is endless"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
