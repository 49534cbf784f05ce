//! The file around a report: everything inside it, or style and scripts beside it for pages that share them.

use std::io::{self, Read as _, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::escape::{self, html};

const CSS: &str = concat!(
    include_str!("../style/base.css"),
    include_str!("report.css")
);
/// plotly.js as its makers publish it, with the charts on two axes only (package `plotly.js-cartesian-dist-min`, MIT),
/// packed with gzip. All that exist are 4.7 MB instead of 1.3, in the program and in every report.
const PLOTLY: &[u8] = include_bytes!("../../assets/plotly-cartesian-3.0.1.min.js.gz");
const SCRIPT: &str = include_str!("report.js");

/// Style, plotting script and the script of reports, for pages that lie together and share them.
pub fn shared_files() -> io::Result<[(&'static str, String); 3]> {
    let style = format!("{CSS}{}", include_str!("../atlas/atlas.css"));
    let (plotly, script) = (("plotly.js", plotly()?), ("report.js", SCRIPT.to_owned()));
    Ok([("style.css", style), plotly, script])
}

fn plotly() -> io::Result<String> {
    let mut plotly = String::new();
    flate2::read::GzDecoder::new(PLOTLY).read_to_string(&mut plotly)?;
    Ok(plotly)
}

pub(super) fn write_page(
    out: &mut dyn Write,
    title: &str,
    body: &str,
    data: &Value,
    shared: Option<&str>,
) -> io::Result<usize> {
    let hash = |script: &str| STANDARD.encode(Sha256::digest(script.as_bytes()));
    // Pages that share files may lie on a disk, which is no origin of its own.
    let (styles, scripts, style, plotly, script) = match shared {
        Some(up) => (
            "'self' file: ",
            "'self' file:".to_owned(),
            format!("<link rel=\"stylesheet\" href=\"{up}style.css\">"),
            format!("<script src=\"{up}plotly.js\"></script>"),
            format!("<script src=\"{up}report.js\"></script>"),
        ),
        None => {
            let plotly = plotly()?;
            (
                "",
                format!("'sha256-{}' 'sha256-{}'", hash(&plotly), hash(SCRIPT)),
                format!("<style>{CSS}</style>"),
                format!("<script>{plotly}</script>"),
                format!("<script>{SCRIPT}</script>"),
            )
        }
    };
    let policy = format!(
        "default-src 'none'; img-src data: blob:; style-src {styles}'unsafe-inline'; script-src {scripts}; base-uri 'none'; form-action 'none'"
    );
    let data = escape::script_json(&data.to_string());
    let parts = [
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"",
        &policy,
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
        &html(title),
        "</title>\n",
        &style,
        "</head>\n<body>",
        body,
        "\n<script type=\"application/json\" id=\"data\">",
        &data,
        "</script>\n",
        &plotly,
        "\n",
        &script,
        "\n</body></html>\n",
    ];
    let mut bytes = 0;
    for part in parts {
        out.write_all(part.as_bytes())?;
        bytes += part.len();
    }
    out.flush()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_script_is_the_one_its_makers_published() {
        let mut script = Vec::new();
        flate2::read::GzDecoder::new(PLOTLY)
            .read_to_end(&mut script)
            .unwrap();
        let hash: String = Sha256::digest(&script)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(
            hash,
            "27c5203ecba052de6447603696f39558f5d1961839ba7ab153639f66d3d0d569"
        );
    }
}
