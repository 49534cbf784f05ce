//! Pictures from columns: a path beside the data, base64, a `data:` address, or what datasets save
//! (`{"bytes": …, "path": …}`).

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mary_contract::{Image, Part};
use serde_json::Value;

const LARGEST: u64 = 64 << 20;

const MOST: usize = 64;

/// The pictures of a value: one, or a list of them; none where there is nothing.
pub(crate) fn read(value: &minijinja::Value, data: &Path) -> Result<Vec<Part>, String> {
    let value =
        serde_json::to_value(value).map_err(|e| format!("a picture cannot be read: {e}"))?;
    let one = |value: &Value| picture(value, data).map(Part::Image);
    match &value {
        Value::Null => Ok(Vec::new()),
        Value::Array(several) if several.len() <= MOST => several.iter().map(one).collect(),
        Value::Array(_) => Err(format!("a row shows at most {MOST} pictures")),
        other => Ok(vec![one(other)?]),
    }
}

fn picture(value: &Value, data: &Path) -> Result<Image, String> {
    let expected = "expected a file's path, base64, a `data:` address, or {\"bytes\": …}";
    match value {
        Value::String(text) => picture_of(text, data),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            match (text("bytes"), text("path")) {
                (Some(bytes), _) => of_base64(bytes),
                (None, Some(path)) => of_file(path, data),
                _ => Err(format!(
                    "a picture has neither `bytes` nor `path`; {expected}"
                )),
            }
        }
        other => Err(format!("a picture is `{other}`; {expected}")),
    }
}

/// The picture that a text names, the text being a path beside the data, base64 or a `data:` address.
pub fn picture_of(text: &str, data: &Path) -> Result<Image, String> {
    let text = text.trim();
    if let Some(address) = text.strip_prefix("data:") {
        let encoded = address.split_once(";base64,").map(|(_, data)| data);
        return of_base64(encoded.ok_or("a `data:` address of a picture holds base64")?);
    }
    // A path is short and names a file; base64 is long.
    if text.len() < 4096 && !text.contains('\n') {
        let beside = data.parent().unwrap_or(Path::new("")).join(text);
        if beside.is_file() || text.contains('.') {
            return of_file(text, data);
        }
    }
    of_base64(text)
}

fn of_file(path: &str, data: &Path) -> Result<Image, String> {
    let file = data.parent().unwrap_or(Path::new("")).join(path);
    let said = |e: std::io::Error| format!("the picture {} cannot be read: {e}", file.display());
    let about = std::fs::metadata(&file).map_err(said)?;
    if !about.is_file() || about.len() > LARGEST {
        let (file, most) = (file.display(), LARGEST >> 20);
        return Err(format!(
            "the picture {file} is not a file of at most {most} MiB"
        ));
    }
    image(mary_platform::read_plain(&file, LARGEST).map_err(said)?)
}

fn of_base64(text: &str) -> Result<Image, String> {
    let bare: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(bare.as_bytes());
    image(bytes.map_err(|e| format!("a picture is neither a file nor base64: {e}"))?)
}

/// The kind of a picture by its first bytes.
fn image(data: Vec<u8>) -> Result<Image, String> {
    let begins = |with: &[u8]| data.starts_with(with);
    let media_type = if begins(b"\x89PNG\r\n\x1a\n") {
        "image/png"
    } else if begins(b"\xff\xd8\xff") {
        "image/jpeg"
    } else if begins(b"GIF8") {
        "image/gif"
    } else if begins(b"RIFF") && data.get(8..12) == Some(b"WEBP") {
        "image/webp"
    } else {
        return Err("a picture is none that is known; expected PNG, JPEG, GIF or WebP".into());
    };
    Ok(Image {
        media_type: media_type.into(),
        data,
    })
}
