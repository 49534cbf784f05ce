//! Things as they look in life, once more: every answer by the other pipeline of colours, for each of the
//! three looks of a thing; and how far a much coarser description agrees, in which a thing looks like one
//! named colour or the middle of two. Also the Chinese names of the things, for reading questions back.

use std::collections::BTreeMap;

use mary_embodied::fresh::{Colours, FRESH_COLOUR, Level};

use super::{between, colour, english};

/// A thing in English, in Chinese, and the named colours it is nearest to, by eye.
#[rustfmt::skip]
const THINGS: &[(&str, &str, &str)] = &[
    ("fresh snow", "新雪", "ghostwhite"),
    ("a lump of coal", "一块煤", "black"),
    ("a ripe lemon", "成熟的柠檬", "gold"),
    ("a ripe tomato", "成熟的番茄", "firebrick red"),
    ("a raw carrot", "生胡萝卜", "darkorange chocolate"),
    ("a leaf of spinach", "一片菠菜叶", "darkgreen darkolivegreen"),
    ("a ripe banana", "成熟的香蕉", "gold khaki"),
    ("the flesh of a watermelon", "西瓜瓤", "indianred crimson"),
    ("the skin of an aubergine", "茄子的皮", "indigo black"),
    ("a floret of broccoli", "一朵西兰花", "darkolivegreen"),
    ("the flesh of a pumpkin", "南瓜肉", "orange goldenrod"),
    ("a beetroot cut open", "切开的甜菜根", "maroon mediumvioletred"),
    ("the plumage of a flamingo", "火烈鸟的羽毛", "lightcoral lightsalmon"),
    ("the fur of a polar bear", "北极熊的皮毛", "linen beige"),
    ("the feathers of a raven", "渡鸦的羽毛", "black"),
    ("a glass of milk", "一杯牛奶", "floralwhite"),
    ("an espresso", "一杯意式浓缩咖啡", "black saddlebrown"),
    ("cocoa powder", "可可末", "saddlebrown"),
    ("honey", "蜂蜜", "goldenrod darkgoldenrod"),
    ("a brick of fired clay", "烧制的粘土砖", "sienna firebrick"),
    ("dry sand on a beach", "海滩上的干沙", "wheat tan"),
    ("a wet asphalt road", "淋湿的沥青路面", "dimgray black"),
    ("a concrete wall", "混凝土墙", "darkgray"),
    ("a clear sky overhead at noon", "正午晴朗的天顶", "cornflowerblue steelblue"),
    ("a watered lawn", "浇过水的草坪", "forestgreen olivedrab"),
    ("the petals of a sunflower", "向日葵的花瓣", "gold orange"),
    ("a cornflower", "矢车菊", "royalblue slateblue"),
    ("fresh blood", "鲜血", "darkred"),
    ("a pine cone", "松果", "saddlebrown gray"),
    ("a cushion of moss", "一团苔藓", "olivedrab darkolivegreen"),
    ("ketchup", "番茄酱", "darkred firebrick"),
    ("rust on an old nail", "旧钉子上的铁锈", "sienna saddlebrown"),
    ("a steel spoon", "不锈钢勺", "silver"),
    ("boiled rice", "米饭", "floralwhite linen"),
    ("a ripe strawberry", "成熟的草莓", "crimson"),
    ("the neck of a peacock", "雄孔雀的脖子", "royalblue navy"),
    ("the water of a swimming pool", "泳池里的水", "mediumturquoise skyblue"),
    ("a boiled shrimp", "煮熟的虾", "salmon sandybrown"),
    ("the flesh of a kiwi fruit", "猕猴桃的果肉", "yellowgreen"),
    ("shelled peas", "剥好的豌豆", "yellowgreen olivedrab"),
    ("wet garden soil", "花园里的湿土", "saddlebrown black"),
    ("a cork from a bottle", "酒瓶的软木塞", "tan peru"),
    ("the crust of a loaf", "面包的外皮", "peru"),
    ("a cardboard box", "瓦楞纸箱", "tan peru"),
    ("new unwashed jeans", "没洗过的新牛仔裤", "midnightblue darkslategray"),
    ("a sheet of printer paper", "一张打印纸", "whitesmoke white"),
    ("a ripe raspberry", "成熟的覆盆子", "crimson"),
    ("a dried chilli", "干辣椒", "firebrick brown"),
    ("the wing cases of a ladybird", "瓢虫的鞘翅", "red firebrick"),
    ("grape juice", "葡萄汁", "purple maroon"),
];

/// The English name of a thing that is named in Chinese.
pub fn in_english(zh: &str) -> String {
    let found = THINGS.iter().find(|(_, name, _)| *name == zh);
    found
        .unwrap_or_else(|| panic!("no such thing: {zh}"))
        .0
        .to_owned()
}

/// The three looks of a thing, read from the generator's table.
fn looks(name: &str) -> Vec<[u8; 3]> {
    let line = include_str!("../../src/fresh/colour/things.txt")
        .lines()
        .find(|l| l.split(" | ").next() == Some(name))
        .unwrap_or_else(|| panic!("no such thing: {name}"));
    let hex = line.rsplit(" | ").next().unwrap().split(' ');
    hex.map(|h| {
        let value = |i: usize| u8::from_str_radix(&h[i..i + 2], 16).unwrap();
        [value(0), value(2), value(4)]
    })
    .collect()
}

/// The things of a list `a, b and c`; names have no comma and no "and" of their own.
fn list(text: &str) -> Vec<&str> {
    super::names(text)
}

/// The answer when each thing looks as `look` says, in one space (0 OKLab, 1 CIELAB).
fn solve_with(
    kind: &str,
    words: &str,
    options: &[String],
    look: &dyn Fn(&str) -> [f64; 3],
) -> usize {
    let best = |value: &dyn Fn(&str) -> f64| -> usize {
        (0..options.len())
            .min_by(|a, b| value(&options[*a]).total_cmp(&value(&options[*b])))
            .unwrap()
    };
    let light = |name: &str| look(name)[0];
    let chroma = |name: &str| colour::chroma(look(name));
    match kind {
        "extreme" => {
            let offered = list(between(words, "daylight: ", ". "));
            assert!(options.iter().all(|o| offered.contains(&o.as_str())));
            if words.contains("darkest") {
                best(&|o| light(o))
            } else if words.contains("lightest") {
                best(&|o| -light(o))
            } else if words.contains("lowest chroma") {
                best(&|o| chroma(o))
            } else {
                assert!(words.contains("highest chroma"));
                best(&|o| -chroma(o))
            }
        }
        "order" => {
            let mut row = list(between(words, "daylight: ", ". "));
            let by_light = words.contains("darkest");
            let value = |n: &str| if by_light { light(n) } else { chroma(n) };
            row.sort_by(|a, b| value(a).total_cmp(&value(b)));
            let places = ["first", "second", "third", "last"];
            let wanted = between(words, "comes ", "?");
            let place = places.iter().position(|p| *p == wanted).unwrap();
            options.iter().position(|o| o == row[place]).unwrap()
        }
        "compared" => {
            let (a, b) = (
                between(words, "compared with ", ": what"),
                between(words, "what is ", " like"),
            );
            let lighter = if light(b) > light(a) {
                "lighter"
            } else {
                "darker"
            };
            let stronger = if chroma(b) > chroma(a) {
                "more colourful"
            } else {
                "greyer"
            };
            let answer = format!("{lighter} and {stronger}");
            options.iter().position(|o| *o == answer).unwrap()
        }
        "hue" => {
            let given = colour::hue(look(between(words, "that of ", ": ")));
            best(&|o| {
                let gap = (colour::hue(look(o)) - given).abs();
                gap.min(360.0 - gap)
            })
        }
        other => panic!("no such kind: {other}"),
    }
}

/// The answer that every look of every thing gives in both spaces.
pub fn solve(kind: &str, words: &str, options: &[String]) -> usize {
    let mut found = None;
    for which in 0..3 {
        for space in 0..2 {
            let look = |name: &str| colour::in_space(space, looks(name)[which]);
            let answer = solve_with(kind, words, options, &look);
            assert_eq!(*found.get_or_insert(answer), answer, "{words}");
        }
    }
    found.unwrap()
}

#[test]
fn things_are_rederived_by_another_pipeline_and_agree_with_a_coarse_description() {
    let mut agree: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut n = 0;
    for seed in 500..503 {
        for item in FRESH_COLOUR
            .drawn(seed, 1000, Level::Any, Colours::Life)
            .unwrap()
        {
            let kind = item.kind.strip_prefix("life-").unwrap();
            let (words, options) = (&item.posed.words.en, english(&item.options));
            assert_eq!(solve(kind, words, &options), item.correct, "{words}");
            let coarse = |name: &str| {
                let found = THINGS.iter().find(|(en, ..)| *en == name).unwrap();
                let near: Vec<[f64; 3]> = found.2.split(' ').map(colour::named).collect();
                std::array::from_fn(|i| near.iter().map(|c| c[i]).sum::<f64>() / near.len() as f64)
            };
            let counts = agree.entry(item.kind).or_default();
            counts.1 += 1;
            counts.0 += usize::from(solve_with(kind, words, &options, &coarse) == item.correct);
            n += 1;
        }
    }
    let (same, all) = agree.values().fold((0, 0), |s, c| (s.0 + c.0, s.1 + c.1));
    eprintln!(
        "{n} questions about things: derived otherwise 0; a coarse description agrees: {agree:?}"
    );
    assert!(same * 10 >= all * 9, "{same} of {all}");
}
