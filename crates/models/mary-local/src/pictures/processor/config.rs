//! What a file leaves out is what the processor's class in transformers assumes.

use serde_json::Value;

use super::{Cutting, Processor, Size};
use crate::pictures::decode::MOST_PIXELS;
use crate::pictures::{Filter, VisionError};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub size: Option<Size>,
    pub crop: Option<(usize, usize)>,
    pub filter: Filter,
    pub rescale: f64,
    pub normalise: bool,
    pub mean: [f64; 3],
    pub deviation: [f64; 3],
}

const CLIP_MEAN: [f64; 3] = [0.48145466, 0.4578275, 0.40821073];
const CLIP_DEVIATION: [f64; 3] = [0.26862954, 0.26130258, 0.27577711];
const HALF: [f64; 3] = [0.5; 3];

/// Largest side that a description may ask for.
const MOST: usize = 1 << 14;

fn wrong(what: impl Into<String>) -> VisionError {
    VisionError::Config(what.into())
}

/// The class without what only says how it is implemented.
fn class(config: &Value) -> &str {
    let named = ["image_processor_type", "feature_extractor_type"];
    let name = named.iter().find_map(|k| config.get(k)?.as_str());
    let name = name.unwrap_or_default();
    let name = name.strip_suffix("Fast").unwrap_or(name);
    let name = name.strip_suffix("Pil").unwrap_or(name);
    let name = name.strip_suffix("ImageProcessor").unwrap_or(name);
    name.strip_suffix("FeatureExtractor").unwrap_or(name)
}

pub(super) fn read(config: &Value) -> Result<Processor, VisionError> {
    let class = class(config);
    let clip = (CLIP_MEAN, CLIP_DEVIATION);
    let half = (HALF, HALF);
    let (size, filter, (mean, deviation), cropped) = match class {
        "CLIP" | "Llava" | "LlavaNext" => (Some(Size::Shortest(224)), Filter::Bicubic, clip, true),
        "Siglip" => (Some(Size::Exact(224, 224)), Filter::Bicubic, half, false),
        "Gemma3" => (Some(Size::Exact(224, 224)), Filter::Bilinear, half, false),
        "Idefics3" | "SmolVLM" => (None, Filter::Lanczos, half, false),
        "Qwen2VL" => (None, Filter::Bicubic, clip, false),
        "" => return Err(wrong("no `image_processor_type` is named")),
        other => return Err(wrong(format!("the processor `{other}` is not known"))),
    };
    let fields = Fields(config);
    let plain = matches!(class, "CLIP" | "Llava" | "LlavaNext" | "Siglip" | "Gemma3");
    let size = match (plain, fields.flag("do_resize", true)) {
        (true, true) => fields.size("size")?.or(size),
        _ => None,
    };
    let crop = match fields.flag("do_center_crop", cropped) && plain {
        false => None,
        true => match fields.size("crop_size")? {
            Some(Size::Exact(height, width)) => Some((height, width)),
            Some(Size::Shortest(edge)) => Some((edge, edge)),
            None => Some((224, 224)),
        },
    };
    let settings = Settings {
        size,
        crop,
        filter: match fields.given("resample") {
            None => filter,
            Some(number) => number
                .as_u64()
                .and_then(Filter::numbered)
                .ok_or_else(|| wrong(format!("`resample` is {number}; 0 to 5 are filters")))?,
        },
        rescale: match fields.flag("do_rescale", true) {
            true => fields.number("rescale_factor").unwrap_or(1.0 / 255.0),
            false => 1.0,
        },
        normalise: fields.flag("do_normalize", true),
        mean: fields.triple("image_mean")?.unwrap_or(mean),
        deviation: fields.triple("image_std")?.unwrap_or(deviation),
    };
    if settings.deviation.contains(&0.0) {
        return Err(wrong("`image_std` holds a zero"));
    }
    let cutting = cutting(class, &fields, &settings)?;
    Ok(Processor { settings, cutting })
}

fn cutting(class: &str, fields: &Fields<'_>, settings: &Settings) -> Result<Cutting, VisionError> {
    Ok(match class {
        "Llava" if fields.flag("do_pad", false) => Cutting::Square,
        "Gemma3" if fields.flag("do_pan_and_scan", false) => {
            return Err(wrong(
                "`do_pan_and_scan` (several crops of long pictures) is not supported",
            ));
        }
        "LlavaNext" if settings.size.is_none() => {
            return Err(wrong("LLaVA-NeXT without `do_resize` is not known"));
        }
        "LlavaNext" => Cutting::Tiles(fields.areas("image_grid_pinpoints")?),
        "Idefics3" | "SmolVLM" if !fields.flag("do_resize", true) => {
            return Err(wrong("Idefics3 without `do_resize` is not known"));
        }
        "Idefics3" | "SmolVLM" => {
            let longest = |name: &str| fields.within(name, "longest_edge");
            Cutting::Split {
                longest: longest("size").unwrap_or(4 * 364),
                side: longest("max_image_size").unwrap_or(364),
                cut: fields.flag("do_image_splitting", true),
            }
        }
        "Qwen2VL" => {
            let own = |old: &str, new: &str, usual: usize| {
                let old = fields.count(old);
                old.or_else(|| fields.within("size", new)).unwrap_or(usual)
            };
            Cutting::Native {
                patch: fields.side("patch_size", 14)?,
                merge: fields.side("merge_size", 2)?,
                frames: fields.side("temporal_patch_size", 2)?,
                fewest: own("min_pixels", "shortest_edge", 56 * 56),
                most: own("max_pixels", "longest_edge", 28 * 28 * 1280).min(MOST_PIXELS),
            }
        }
        _ => Cutting::Plain,
    })
}

struct Fields<'a>(&'a Value);

impl Fields<'_> {
    /// What a field says, unless that is nothing.
    fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|v| !v.is_null())
    }

    fn flag(&self, name: &str, usual: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(usual)
    }

    fn number(&self, name: &str) -> Option<f64> {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.filter(|x| x.is_finite())
    }

    fn count(&self, name: &str) -> Option<usize> {
        count(self.0.get(name)?)
    }

    fn within(&self, name: &str, inner: &str) -> Option<usize> {
        count(self.0.get(name)?.get(inner)?).map(|n| n.clamp(1, MOST_PIXELS))
    }

    fn side(&self, name: &str, usual: usize) -> Result<usize, VisionError> {
        match self.count(name).unwrap_or(usual) {
            n @ 1..=256 => Ok(n),
            n => Err(wrong(format!("`{name}` is {n}; 1 to 256 make sense"))),
        }
    }

    /// `224`, `{"shortest_edge": 224}` or `{"height": 224, "width": 224}`.
    fn size(&self, name: &str) -> Result<Option<Size>, VisionError> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let side = |name: &str| value.get(name).and_then(count);
        let size = match (count(value), side("shortest_edge"), side("longest_edge")) {
            (Some(edge), _, _) => Some(Size::Shortest(edge)),
            (None, Some(edge), None) => Some(Size::Shortest(edge)),
            (None, None, None) => side("height")
                .zip(side("width"))
                .map(|(height, width)| Size::Exact(height, width)),
            _ => None,
        };
        let sound = |n: usize| (1..=MOST).contains(&n);
        match size {
            Some(Size::Shortest(n)) if sound(n) => Ok(size),
            Some(Size::Exact(a, b)) if sound(a) && sound(b) => Ok(size),
            _ => Err(wrong(format!(
                "`{name}` is {value}, which is not understood"
            ))),
        }
    }

    fn triple(&self, name: &str) -> Result<Option<[f64; 3]>, VisionError> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let all: Option<Vec<f64>> = value
            .as_array()
            .and_then(|all| all.iter().map(Value::as_f64).collect());
        let all = all.and_then(|all| <[f64; 3]>::try_from(all).ok());
        match all.filter(|all| all.iter().all(|x| x.is_finite())) {
            None => Err(wrong(format!("`{name}` is {value}, not three numbers"))),
            three => Ok(three),
        }
    }

    fn areas(&self, name: &str) -> Result<Vec<(usize, usize)>, VisionError> {
        let Some(value) = self.given(name) else {
            let usual = [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];
            return Ok(usual.into());
        };
        let area = |pair: &Value| -> Option<(usize, usize)> {
            let (height, width) = (count(pair.get(0)?)?, count(pair.get(1)?)?);
            let sound = |n: usize| (1..=MOST).contains(&n);
            (sound(height) && sound(width)).then_some((height, width))
        };
        let all: Option<Vec<_>> = value
            .as_array()
            .and_then(|all| all.iter().map(area).collect());
        let message = || format!("`{name}` is {value}, not a list of heights and widths");
        let some = all.filter(|all| (1..=1024).contains(&all.len()));
        some.ok_or_else(|| wrong(message()))
    }
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| usize::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_processor_and_odd_sizes_are_refused_by_name() {
        let error = read(&json!({"image_processor_type": "SamImageProcessor"})).unwrap_err();
        assert!(error.to_string().contains("`Sam`"), "{error}");
        assert!(read(&json!({})).is_err());
        let odd = json!({"image_processor_type": "CLIPImageProcessor", "size": {"tallest": 3}});
        assert!(read(&odd).unwrap_err().to_string().contains("tallest"));
        let zero = json!({"image_processor_type": "SiglipImageProcessor", "image_std": [1, 0, 1]});
        assert!(read(&zero).unwrap_err().to_string().contains("zero"));
    }

    #[test]
    fn old_files_name_an_extractor_and_a_single_number() {
        let old =
            json!({"feature_extractor_type": "CLIPFeatureExtractor", "size": 28, "crop_size": 14});
        let processor = read(&old).unwrap();
        assert_eq!(processor.settings.size, Some(Size::Shortest(28)));
        assert_eq!(processor.settings.crop, Some((14, 14)));
    }
}
