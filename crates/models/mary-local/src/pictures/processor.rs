//! Image processors, described by a checkpoint's `preprocessor_config.json`.

mod config;
mod tiles;

use crate::pictures::decode::bounded;
use crate::pictures::{Picture, VisionError, resize};
use config::Settings;

#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub width: usize,
    pub height: usize,
    /// All reds row after row, then all greens, then all blues.
    pub values: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    One,
    /// LLaVA 1.6: the whole picture, then tiles of it row by row.
    Tiles {
        /// The picture's own height and width.
        original: (usize, usize),
        /// Height and width of the area that was cut into tiles.
        area: (usize, usize),
    },
    /// Idefics3: tiles row by row, then the whole picture; or the whole picture alone, with no rows.
    Split {
        rows: usize,
        columns: usize,
    },
    /// Qwen2-VL: one view whose sides are multiples of patches.
    Native(Native),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Native {
    pub rows: usize,
    pub columns: usize,
    /// Side of a patch in pixels.
    pub patch: usize,
    /// Frames of a patch; a picture is shown in each of them.
    pub frames: usize,
    /// Patches that become one token, in each direction.
    pub merge: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    pub views: Vec<View>,
    pub layout: Layout,
}

impl View {
    /// Row by row, in each patch one colour after the other; pixels beyond the last whole patch are left out.
    pub fn patches(&self, side: usize) -> Vec<f32> {
        let side = side.max(1);
        let (rows, columns) = (self.height / side, self.width / side);
        let mut out = Vec::with_capacity(rows * columns * side * side * 3);
        for row in 0..rows {
            for column in 0..columns {
                self.patch(row, column, side, 1, &mut out);
            }
        }
        out
    }

    fn patch(&self, row: usize, column: usize, side: usize, frames: usize, out: &mut Vec<f32>) {
        let plane = self.width * self.height;
        for colour in 0..3 {
            for _ in 0..frames {
                for y in row * side..(row + 1) * side {
                    let at = colour * plane + y * self.width + column * side;
                    out.extend_from_slice(&self.values[at..at + side]);
                }
            }
        }
    }

    /// The patches of Qwen2-VL: those that become one token stand together.
    pub fn native(&self, grid: &Native) -> Vec<f32> {
        let size = 3 * grid.frames * grid.patch * grid.patch;
        let mut out = Vec::with_capacity(grid.rows * grid.columns * size);
        for (row, column) in grid.order() {
            self.patch(row, column, grid.patch, grid.frames, &mut out);
        }
        out
    }
}

impl Native {
    /// Row and column of every patch, in the order in which they are read.
    pub fn order(&self) -> Vec<(usize, usize)> {
        let merge = self.merge.max(1);
        let mut order = Vec::with_capacity(self.rows * self.columns);
        for top in (0..self.rows).step_by(merge) {
            for left in (0..self.columns).step_by(merge) {
                for row in top..(top + merge).min(self.rows) {
                    order.extend((left..(left + merge).min(self.columns)).map(|c| (row, c)));
                }
            }
        }
        order
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Processor {
    settings: Settings,
    cutting: Cutting,
}

#[derive(Debug, Clone, PartialEq)]
enum Cutting {
    Plain,
    /// Padded to a square of the mean colour first.
    Square,
    /// LLaVA 1.6: the best of these areas (height, width), cut into tiles.
    Tiles(Vec<(usize, usize)>),
    /// Idefics3: the longest edge, the side of a tile, and whether it is cut at all.
    Split {
        longest: usize,
        side: usize,
        cut: bool,
    },
    /// Qwen2-VL: sides of a patch and of a group, frames, fewest and most pixels.
    Native {
        patch: usize,
        merge: usize,
        frames: usize,
        fewest: usize,
        most: usize,
    },
}

type Resized = Result<Picture, VisionError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// The shorter side has this many pixels.
    Shortest(usize),
    Exact(usize, usize),
}

impl Processor {
    /// Reads a `preprocessor_config.json` (or the `image_processor` of a `processor_config.json`).
    pub fn read(config: &serde_json::Value) -> Result<Self, VisionError> {
        config::read(config)
    }

    pub fn prepare(&self, picture: &Picture) -> Result<Prepared, VisionError> {
        let one = |view| Prepared {
            views: vec![view],
            layout: Layout::One,
        };
        match &self.cutting {
            Cutting::Plain => self.plain(picture).map(one),
            Cutting::Square => {
                let side = picture.width().max(picture.height());
                bounded(side, side)?;
                let (left, top) = ((side - picture.width()) / 2, (side - picture.height()) / 2);
                let colour = self.settings.mean.map(|m| (m * 255.0) as u8);
                let place = (-(left as isize), -(top as isize));
                let square = picture.window_on(place, (side, side), colour);
                self.plain(&square).map(one)
            }
            Cutting::Tiles(areas) => tiles::any_resolution(self, picture, areas),
            &Cutting::Split { longest, side, cut } => {
                tiles::split(self, picture, (longest, side, cut))
            }
            &Cutting::Native {
                patch,
                merge,
                frames,
                fewest,
                most,
            } => {
                let factor = patch * merge;
                let (height, width) = tiles::smart(picture, factor, fewest, most)?;
                let resized = self.resized(picture, height, width)?;
                Ok(Prepared {
                    views: vec![self.numbers(&resized)],
                    layout: Layout::Native(Native {
                        rows: height / patch,
                        columns: width / patch,
                        patch,
                        frames,
                        merge,
                    }),
                })
            }
        }
    }

    fn plain(&self, picture: &Picture) -> Result<View, VisionError> {
        let s = &self.settings;
        let mut now = match s.size {
            None => picture.clone(),
            Some(Size::Exact(height, width)) => self.resized(picture, height, width)?,
            Some(Size::Shortest(edge)) => {
                let (height, width) = (picture.height(), picture.width());
                let (short, long) = (height.min(width), height.max(width));
                let long = (edge as f64 * long as f64 / short as f64) as usize;
                match width <= height {
                    true => self.resized(picture, long, edge)?,
                    false => self.resized(picture, edge, long)?,
                }
            }
        };
        if let Some((height, width)) = s.crop {
            now = crop(&now, height, width);
        }
        Ok(self.numbers(&now))
    }

    fn resized(&self, picture: &Picture, height: usize, width: usize) -> Resized {
        bounded(width, height)?;
        // The first pass leaves the new width and the old height.
        bounded(width, picture.height())?;
        Ok(resize(picture, width, height, self.settings.filter))
    }

    /// Bytes as the numbers that a tower reads.
    fn numbers(&self, picture: &Picture) -> View {
        let s = &self.settings;
        let mut values = Vec::with_capacity(picture.rgb().len());
        for colour in 0..3 {
            // A byte has 256 values: each is computed once.
            let table: Vec<f32> = (0..=255u8)
                .map(|byte| {
                    let scaled = (f64::from(byte) * s.rescale) as f32;
                    match s.normalise {
                        true => (scaled - s.mean[colour] as f32) / s.deviation[colour] as f32,
                        false => scaled,
                    }
                })
                .collect();
            let parts = picture.rgb().iter().skip(colour).step_by(3);
            values.extend(parts.map(|&byte| table[usize::from(byte)]));
        }
        View {
            width: picture.width(),
            height: picture.height(),
            values,
        }
    }
}

/// On black where the picture is smaller. Places are rounded as transformers rounds them in each case.
fn crop(picture: &Picture, height: usize, width: usize) -> Picture {
    let begin = |have: usize, want: usize| {
        let (have, want) = (have as isize, want as isize);
        let begin = (have - want).div_euclid(2);
        let pad = (have.max(want) - have + 1).div_euclid(2);
        (begin, pad)
    };
    let (top, pad_y) = begin(picture.height(), height);
    let (left, pad_x) = begin(picture.width(), width);
    if top >= 0 && left >= 0 {
        return picture.window(left, top, width, height);
    }
    // The picture stands `pad` from the edge of an enlarged one, whose window begins at `begin + pad`.
    let start = |begin: isize, pad: isize| (begin + pad).max(0) - pad;
    picture.window(start(left, pad_x), start(top, pad_y), width, height)
}
