//! Which layers each of several devices holds, and whether they have room there.

use std::fmt;
use std::ops::Range;

use mary_contract::ModelRef;

use crate::config::Architecture;
use crate::errors::{Result, bad_request};
use crate::memory::{self, Estimate};
use crate::options::{Device, Options};

pub(crate) struct Share {
    device: Device,
    pub layers: Range<usize>,
    bytes: u64,
}

impl Share {
    pub fn which(&self) -> String {
        match (self.layers.len(), self.layers.end) {
            (1, last) => format!("layer {last}"),
            (_, last) => format!("layers {} to {last}", self.layers.start + 1),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (which, bytes) = (self.which(), memory::readable(self.bytes));
        write!(f, "{which} on {} ({bytes})", self.device)
    }
}

/// As many layers for each device as for the next; one more for the first ones where they do not come out even, since
/// the last one also has the head.
pub(crate) fn divide(
    name: &ModelRef,
    of: &Architecture,
    options: &Options,
    estimate: &Estimate,
) -> Result<Vec<Share>> {
    let (devices, layers) = (&options.devices, of.layers);
    if let Some(what) = of.whole_only().filter(|_| devices.len() > 1) {
        let message = format!("{name} has {what}, and its layers are not divided over devices yet");
        return Err(bad_request(message).hint("name one device, or copies: --device cuda:0,cuda:1"));
    }
    if devices.len() > layers.max(1) {
        let message = format!("{name} has {layers} layers for {} devices", devices.len());
        return Err(bad_request(message).hint("name as many devices as it has layers, or fewer"));
    }
    if devices.len() > 1 && options.held.is_some() {
        let message = "blocks are fetched by one device, and these divide all of them";
        return Err(bad_request(message).hint("name one device, or drop `held`"));
    }
    let (each, more) = (layers / devices.len(), layers % devices.len());
    let mut end = 0;
    let share = |(i, device): (usize, &Device)| {
        let first = end;
        end += each + usize::from(i < more);
        let mut bytes = estimate.blocks * (end - first) as u64 / layers.max(1) as u64;
        if first == 0 || end == layers {
            bytes += estimate.weights - estimate.blocks;
        }
        Share {
            device: *device,
            layers: first..end,
            bytes,
        }
    };
    Ok(devices.iter().enumerate().map(share).collect())
}

/// Refuses shares that do not fit into what is free where they go; a device may be named several times.
pub(crate) fn fit(
    name: &ModelRef,
    shares: &[Share],
    free: impl Fn(Device) -> Option<u64>,
) -> Result<()> {
    for share in shares {
        let here = shares.iter().filter(|s| s.device == share.device);
        let needed = here.map(|s| s.bytes).sum();
        let what = format!("{name}: {}", told(shares));
        memory::compare(&what, needed, free(share.device))
            .map_err(|e| e.hint("divide it over more devices, or take a smaller type: --dtype"))?;
    }
    Ok(())
}

pub(crate) fn told(shares: &[Share]) -> String {
    let each: Vec<String> = shares.iter().map(Share::to_string).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_devices_take_what_is_left_over_and_both_ends_the_vocabulary() {
        let estimate = Estimate {
            weights: 1200,
            blocks: 1000,
            unpacked: 0,
        };
        let config = serde_json::json!({"model_type": "llama", "num_hidden_layers": 10});
        let of = Architecture::resolve(&config).unwrap();
        let settings = mary_contract::ModelSettings {
            device: Some("cpu+cpu+cpu".to_owned()),
            ..Default::default()
        };
        let (name, options) = ("hf/m".parse().unwrap(), Options::read(&settings).unwrap());
        let shares = divide(&name, &of, &options, &estimate).unwrap();
        let found: Vec<_> = shares.iter().map(|s| (s.layers.clone(), s.bytes)).collect();
        assert_eq!(found, [(0..4, 600), (4..7, 300), (7..10, 500)]);
        // All three are one processor.
        assert!(fit(&name, &shares, |_| Some(1400)).is_ok());
        let error = fit(&name, &shares, |_| Some(1399)).unwrap_err();
        assert!(error.message.contains("layers 5 to 7 on cpu"), "{error}");
    }
}
