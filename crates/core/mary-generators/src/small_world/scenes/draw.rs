//! Drawing a scene: dots of red, green and blue at any size, each the mean of a few points in it, so that
//! edges are smooth and a small picture is what a large one becomes when it is made small.

use super::{Content, GRID, Scene, Thing};

/// Points of a dot, in each direction.
const POINTS: usize = 3;

const INKS: [[f32; 3]; 4] = [
    [220.0, 40.0, 40.0],
    [40.0, 160.0, 60.0],
    [50.0, 80.0, 215.0],
    [235.0, 200.0, 40.0],
];

/// Share of a cell that its ink leaves free on each side.
const GAP: f32 = 0.06;

impl Thing {
    fn holds(&self, x: f32, y: f32) -> bool {
        let (dx, dy) = (
            (x - self.centre.0) / self.radius,
            (y - self.centre.1) / self.radius,
        );
        let (across, along) = (dx.abs(), dy.abs());
        match self.shape {
            0 => dx * dx + dy * dy < 1.0,
            1 => across < 0.85 && along < 0.85,
            2 => dy < 0.9 && 2.0 * across < dy + 1.0,
            _ => across < 1.0 && along < 1.0 && (across < 0.33 || along < 0.33),
        }
    }

    fn ink(&self) -> [f32; 3] {
        let mut ink = INKS[self.colour % 4];
        ink.iter_mut().zip(self.tint).for_each(|(x, t)| *x += t);
        ink
    }
}

impl Scene {
    /// The colour at a point, both parts of the picture's side.
    fn at(&self, x: f32, y: f32) -> [f32; 3] {
        let paper = [self.paper; 3];
        match &self.content {
            Content::Things(things) => things
                .iter()
                .find(|thing| thing.holds(x, y))
                .map_or(paper, Thing::ink),
            Content::Grid { cells, .. } => {
                let (across, down) = (x * GRID as f32, y * GRID as f32);
                let free = |part: f32| !(GAP..=1.0 - GAP).contains(&part);
                let place = (down as usize).min(GRID - 1) * GRID + (across as usize).min(GRID - 1);
                match cells[place] {
                    Some(colour) if !free(across.fract()) && !free(down.fract()) => {
                        INKS[colour % 4]
                    }
                    _ => paper,
                }
            }
        }
    }

    /// The picture, `size` dots wide and high: red, green and blue of each dot, row by row.
    pub fn rgb(&self, size: usize) -> Vec<u8> {
        let step = 1.0 / (size.max(1) * POINTS) as f32;
        let mut out = Vec::with_capacity(size * size * 3);
        for (row, column) in (0..size * size).map(|i| (i / size, i % size)) {
            let mut sum = [0.0f32; 3];
            for (down, across) in (0..POINTS * POINTS).map(|i| (i / POINTS, i % POINTS)) {
                let x = ((column * POINTS + across) as f32 + 0.5) * step;
                let y = ((row * POINTS + down) as f32 + 0.5) * step;
                let ink = self.at(x, y);
                sum.iter_mut().zip(ink).for_each(|(s, i)| *s += i);
            }
            let mean = sum.map(|s| s / (POINTS * POINTS) as f32);
            out.extend(mean.map(|m| m.round().clamp(0.0, 255.0) as u8));
        }
        out
    }

    /// The same paper with nothing on it.
    #[must_use]
    pub fn blank(&self) -> Self {
        Self {
            content: Content::Things(Vec::new()),
            paper: self.paper,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::small_world::scenes::{COLOURS, QuestionKind, exam};

    /// Read off the dots alone, by a rule that knows nothing of what drew them.
    #[test]
    fn colour_and_place_of_a_lone_shape_can_be_read_off_its_dots() {
        let mut seen = 0;
        for posed in exam(7, 20) {
            let lone =
                posed.question.kind == QuestionKind::Count && posed.question.right() == "one";
            if !lone {
                continue;
            }
            let rgb = posed.scene.rgb(48);
            let dots = rgb.chunks_exact(3).enumerate().filter(|(_, dot)| {
                let (low, high) = (dot.iter().min(), dot.iter().max());
                high.zip(low).is_some_and(|(high, low)| high - low > 60)
            });
            let (mut count, mut x, mut y, mut sum) = (0, 0, 0, [0u32; 3]);
            for (place, dot) in dots {
                (count, x, y) = (count + 1, x + place % 48, y + place / 48);
                sum.iter_mut()
                    .zip(dot)
                    .for_each(|(s, d)| *s += u32::from(*d));
            }
            assert!((60..450).contains(&count), "{count} dots");
            let place = usize::from(x / count > 24) + 2 * usize::from(y / count > 24);
            let [red, green, blue] = sum;
            let colour = match (red > green, green > blue, red > 2 * green) {
                (true, _, true) => "red",
                (true, true, false) => "yellow",
                (false, true, _) => "green",
                _ => "blue",
            };
            let layout = posed.scene.layout();
            let said: Vec<usize> = layout.split(' ').filter_map(|n| n.parse().ok()).collect();
            assert_eq!((place, colour), (said[0], COLOURS[said[1]]), "{layout}");
            seen += 1;
        }
        assert!(seen >= 8, "{seen}");
    }

    #[test]
    fn a_blank_picture_is_one_colour_and_a_small_one_is_a_large_one_made_small() {
        let scene = &exam(1, 1)[0].scene;
        let blank = scene.blank().rgb(20);
        assert!(blank.chunks_exact(3).all(|dot| dot == &blank[..3]));
        let (small, large) = (scene.rgb(24), scene.rgb(96));
        let mut furthest = 0;
        for (y, x) in (0..24 * 24).map(|i| (i / 24, i % 24)) {
            for colour in 0..3 {
                let dots = (0..16).map(|i| (y * 4 + i / 4, x * 4 + i % 4));
                let sum: u32 = dots
                    .map(|(y, x)| u32::from(large[(y * 96 + x) * 3 + colour]))
                    .sum();
                let own = i64::from(small[(y * 24 + x) * 3 + colour]);
                furthest = furthest.max((i64::from(sum / 16) - own).abs());
            }
        }
        assert!(furthest < 60, "only edges differ, and little: {furthest}");
    }
}
