//! Chinese questions, read back: every Chinese question is parsed by rules of its own into the facts it
//! states, the facts are written as the English question, and that must be the English twin word for word;
//! then the question is solved from what the Chinese said. A translation that dropped or changed a fact
//! would give another English question, or another answer.

use mary_contract::{NoData, Target, Task, TaskSettings};
use mary_embodied::fresh::{Colours, FRESH_COLOUR, FRESH_TASKS, FreshTask, Level};

use super::{between, colour, geometry, life, symbols};

/// `甲、乙、丙` as `a, b and c`.
fn list(text: &str, back: &dyn Fn(&str) -> String) -> String {
    let names: Vec<String> = text.split('、').map(|n| back(n.trim())).collect();
    match names.as_slice() {
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
        [] => panic!("an empty list"),
    }
}

fn same(text: &str) -> String {
    text.to_owned()
}

/// The text after a mark.
fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark)
        .unwrap_or_else(|| panic!("no `{mark}` in: {text}"))
        .1
}

/// The English of a Chinese phrase from a list.
fn of(pairs: &[(&str, &str)], text: &str) -> String {
    let found = pairs.iter().find(|(zh, _)| *zh == text);
    found
        .unwrap_or_else(|| panic!("not known: {text}"))
        .1
        .to_owned()
}

const DIRECTIONS: [(&str, &str); 8] = [
    ("上方", "up"),
    ("右上方", "up and to the right"),
    ("右方", "to the right"),
    ("右下方", "down and to the right"),
    ("下方", "down"),
    ("左下方", "down and to the left"),
    ("左方", "to the left"),
    ("左上方", "up and to the left"),
];

/// Turns and flips: `先把箭头顺时针旋转 45 度；再把箭头翻转，左右对调。`
fn moves(text: &str, thing_zh: &str, thing: &str) -> String {
    let steps: Vec<&str> = text.trim_end_matches('。').split('；').collect();
    let mut told = String::new();
    for (number, step) in steps.iter().enumerate() {
        let (start, mark) = match (number, steps.len()) {
            (0, 1) => ("Now ", "现在把"),
            (0, _) => ("First ", "先把"),
            _ => (", then ", "再把"),
        };
        let done = after(after(step, mark), thing_zh);
        let how = if done == "翻转，左右对调" {
            "flipped so that left and right change places".to_owned()
        } else if done == "翻转，上下对调" {
            "flipped so that top and bottom change places".to_owned()
        } else {
            let degrees = between(done, "旋转 ", " 度");
            let way = match done.split("旋转").next().unwrap() {
                "顺时针" => " clockwise",
                "逆时针" => " counterclockwise",
                "" => "",
                other => panic!("no way to turn: {other}"),
            };
            format!("rotated by {degrees} degrees{way}")
        };
        told.push_str(&format!("{start}the {thing} is {how}"));
    }
    format!("{told}.")
}

/// The English question that states what a Chinese one states.
fn question(kind: &str, zh: &str) -> String {
    let kind_of_life = kind.strip_prefix("life-");
    match kind {
        "extreme" | "order" => {
            let names = list(between(zh, "关键字 ", "。"), &same);
            format!(
                "Take the CSS named colours {names}. {}",
                ask_of_four(after(zh, "。"))
            )
        }
        "life-extreme" | "life-order" => {
            let names = list(between(zh, "样子：", "。"), &life::in_english);
            format!(
                "Think of how these look in daylight: {names}. {}",
                ask_of_four(after(zh, "。"))
            )
        }
        "compared" => format!(
            "Compared with the CSS named colour {}, what is {} like in lightness and chroma?",
            between(zh, "关键字 ", " 相比"),
            between(zh, "相比，", " 的明度和彩度如何？")
        ),
        "life-compared" => {
            let named: Vec<&str> = zh.split(['“', '”']).collect();
            assert!(zh.ends_with("的明度和彩度如何？") && zh.contains("”相比，“"));
            format!(
                "As they look in daylight, and compared with {}: what is {} like in lightness and chroma?",
                life::in_english(named[1]),
                life::in_english(named[3])
            )
        }
        "hue" => format!(
            "Which of the CSS named colours {} has the hue nearest to that of {}?",
            list(between(zh, "关键字 ", " 中，"), &same),
            between(zh, "的色相与 ", " 最接近")
        ),
        "life-hue" => format!(
            "As they look in daylight, which of these has the hue nearest to that of {}: {}?",
            life::in_english(between(zh, "的色相与“", "”最接近")),
            list(between(zh, "最接近：", "？"), &life::in_english)
        ),
        "mixture" => format!(
            "Two CSS named colours, {}, are averaged in equal parts in a perceptual colour space. Which of \
             {} is nearest to the result?",
            list(between(zh, "两种 CSS 颜色关键字 ", " 在感知"), &same),
            list(between(zh, "等量平均。", " 中哪一种"), &same)
        ),
        "sector" => {
            assert!(zh.ends_with("结果的色相位于屏幕纯色红、黄、绿、蓝中的哪两种之间？"));
            format!(
                "Three CSS named colours, {}, are averaged in equal parts in a perceptual colour space. On \
                 the circle of hues, between which two of the pure screen colours red, yellow, green and \
                 blue does the hue of the result lie?",
                list(between(zh, "三种 CSS 颜色关键字 ", " 在感知"), &same)
            )
        }
        "fold-count" | "fold-where" => folded(zh),
        "pieces" => {
            let cuts = list(between(zh, "切透：", "。蛋糕"), &|cut| {
                format!(
                    "from {} to {}",
                    between(cut, "从 ", " 点到"),
                    between(cut, "点到 ", " 点")
                )
            });
            assert!(zh.ends_with("蛋糕一共被切成几块？"));
            format!(
                "A round cake is seen from above like the face of a clock, and cut right through along \
                 straight lines between hours on its edge: {cuts}. Into how many pieces does the cake fall?"
            )
        }
        "corners" => polygon(zh),
        "compare" => {
            let shapes = list(between(zh, "四个图形：", "。其中"), &shape);
            let ask = of(
                &[
                    ("面积最小", "has the smallest area"),
                    ("面积最大", "has the largest area"),
                    ("周长最短", "has the shortest outline"),
                    ("周长最长", "has the longest outline"),
                ],
                between(zh, "其中哪一个", "？"),
            );
            format!("Four shapes are cut from card: {shapes}. Which of them {ask}?")
        }
        "cube-net" => {
            assert!(zh.starts_with("用下面的展开图折成一个立方体；点表示那里没有纸。\n"));
            let (net, ask) = after(zh, "。\n").rsplit_once('\n').unwrap();
            format!(
                "A cube is folded from the net below; a dot means that there is no paper.\n{net}\nWhich \
                 number is on the face opposite the {}?",
                between(ask, "与数字 ", " 相对的面")
            )
        }
        "pile" => {
            assert!(zh.contains("3 列 3 行") && zh.contains("最后一行是前面"));
            let (plan, ask) = after(zh, "。\n").rsplit_once('\n').unwrap();
            let squares = "how many squares, each the size of a cube's face, does the silhouette of the pile \
                           cover?";
            let ask = match ask {
                "从正前方看，这堆立方体的轮廓盖住多少个正方形（每个与立方体的一个面一样大）？" =>
                {
                    format!("Seen straight from the front, {squares}")
                }
                "从正右方看，这堆立方体的轮廓盖住多少个正方形（每个与立方体的一个面一样大）？" =>
                {
                    format!("Seen straight from the right, {squares}")
                }
                "有多少个立方体上面压着别的立方体？" => {
                    "How many cubes have another cube on top of them?".to_owned()
                }
                other => panic!("{other}"),
            };
            format!(
                "Equal cubes are piled on a board of 3 columns and 3 rows. The plan below, seen from above, \
                 gives the height of the tower on each square; its last row is the front.\n{plan}\n{ask}"
            )
        }
        "board" => {
            let sentences: Vec<&str> = zh.split('。').collect();
            let size = between(sentences[0], "一块 ", " 列");
            assert!(sentences[0].contains(&format!("{size} 列 {size} 行的正方形板")));
            format!(
                "A stone is glued to a square board of {size} columns and {size} rows, in column {} from the \
                 left and row {} from the top. {} In which column and row, counted again from the left and \
                 from the top as you look at it, does the stone lie now?",
                between(sentences[0], "从左数第 ", " 列"),
                after(sentences[0], "从上数第 ").trim_end_matches(" 行"),
                moves(sentences[1], "板", "board")
            )
        }
        "heading" => {
            let sentences: Vec<&str> = zh.split('。').collect();
            assert_eq!(sentences[2], "它现在指向哪里？");
            format!(
                "An arrow drawn on a sheet points {}. {} Where does it point now?",
                of(&DIRECTIONS, after(sentences[0], "指向")),
                moves(sentences[1], "箭头", "arrow")
            )
        }
        "opening" => {
            let rest = after(zh, "”。");
            assert!(rest.ends_with("它现在向哪一边开口？"));
            format!(
                "Take the symbol \"{}\" as printed in a plain sans-serif type. {} To which side is it open \
                 now?",
                between(zh, "“", "”"),
                moves(rest.split('。').next().unwrap(), "符号", "symbol")
            )
        }
        "symmetry" | "size" => format!(
            "Take the symbols \"{}\" as printed in one size of a plain sans-serif type. {}",
            between(zh, "“", "”"),
            of(&OF_SYMBOLS, after(zh, "”。"))
        ),
        "regions" | "covered" | "cut" | "crossed" => format!(
            "Take the symbols \"{}\" as printed in a plain sans-serif type. {}",
            between(zh, "“", "”"),
            counted(after(zh, "”。"))
        ),
        other => panic!("no such kind: {other} {kind_of_life:?}"),
    }
}

fn ask_of_four(zh: &str) -> String {
    if let Some(row) = zh.strip_prefix("把它们") {
        let way = of(
            &[
                ("从最暗到最亮", "from the darkest to the lightest"),
                (
                    "按彩度从最灰到最鲜艳",
                    "from the greyest to the most colourful (by chroma)",
                ),
            ],
            row.split("排成一列").next().unwrap(),
        );
        let place = of(
            &[
                ("第一", "first"),
                ("第二", "second"),
                ("第三", "third"),
                ("最后", "last"),
            ],
            between(row, "排在", "的是哪一种？"),
        );
        return format!("Put them in order {way}. Which of them comes {place}?");
    }
    of(
        &[
            ("其中哪一种最暗？", "Which of them is the darkest?"),
            ("其中哪一种最亮？", "Which of them is the lightest?"),
            (
                "其中哪一种最接近中性灰（彩度最低）？",
                "Which of them is the closest to a neutral grey (has the lowest chroma)?",
            ),
            (
                "其中哪一种最鲜艳（彩度最高）？",
                "Which of them is the most colourful (has the highest chroma)?",
            ),
        ],
        zh,
    )
}

fn folded(zh: &str) -> String {
    let sentences: Vec<&str> = zh.split('。').collect();
    let size = between(sentences[0], "一块 ", " 列");
    assert!(sentences[0].ends_with(&format!("{size} 列 {size} 行的棋盘")));
    assert_eq!(sentences[1], "列从左数，行从上数，棋盘不动");
    let mut text = format!(
        "A square sheet of paper covers a board of {size} columns and {size} rows. Columns are counted from \
         the left, rows from the top, and the board does not move."
    );
    let last = sentences.len() - 2;
    for (number, fold) in sentences[2..last].iter().enumerate() {
        let then = match (number, fold.chars().next().unwrap()) {
            (0, '先') => "First",
            (_, '再') => "Then",
            other => panic!("{other:?}"),
        };
        let along = between(fold, "沿", "之间的线");
        let (one, two) = along.split_once('与').unwrap();
        let (name, mark) = if one.ends_with('列') {
            ("columns", " 列")
        } else {
            ("rows", " 行")
        };
        let part = |zh: &str| {
            let name = [
                ("左", "left"),
                ("右", "right"),
                ("上", "upper"),
                ("下", "lower"),
            ];
            of(&name, zh)
        };
        text.push_str(&format!(
            " {then} the {} part is folded over onto the {} part, along the line between {name} {} and {}.",
            part(between(fold, "把", "边的部分折到")),
            part(between(fold, "折到", "边的部分上面")),
            between(one, "第 ", mark),
            between(two, "第 ", mark)
        ));
    }
    let hole = sentences[last];
    assert!(hole.ends_with("打一个孔，穿透所有纸层"));
    text.push_str(&format!(
        " Now a hole is punched through all layers over column {}, row {} of the board. {}",
        between(hole, "棋盘第 ", " 列"),
        between(hole, "列、第 ", " 行"),
        of(
            &[
                (
                    "展开后纸上一共有几个孔？",
                    "How many holes does the sheet have when it is unfolded?"
                ),
                (
                    "把纸展开，重新盖住棋盘后，下列哪个方格上也有孔？",
                    "When the sheet is unfolded and covers the board again, over which of these squares is \
                     there a hole as well?"
                ),
            ],
            sentences[last + 1]
        )
    ));
    text
}

const POLYGONS: [(&str, &str); 6] = [
    ("正方形", "square"),
    ("正五边形", "regular pentagon"),
    ("正六边形", "regular hexagon"),
    ("正七边形", "regular heptagon"),
    ("正八边形", "regular octagon"),
    ("正九边形", "regular nonagon"),
];

fn polygon(zh: &str) -> String {
    let shape = of(&POLYGONS, between(zh, "一张", "的纸"));
    let corners = between(zh, "依次为 ", "。");
    let (first, last) = corners.split_once(" 到 ").unwrap();
    let off = if zh.contains("各被一条短直线切掉") {
        format!(
            " Corners {} are cut off, each with a short straight cut.",
            list(between(zh, "。角 ", " 各被"), &same)
        )
    } else if zh.contains("被一条短直线切掉") {
        format!(
            " Corner {} is cut off with a short straight cut.",
            between(zh, "。角 ", " 被一条")
        )
    } else {
        String::new()
    };
    let now = if zh.contains("现在沿着") {
        assert!(off.is_empty());
        "Now"
    } else {
        assert!(zh.contains("然后沿着") && !off.is_empty());
        "Then"
    };
    let end = |text: &str| match text.strip_prefix("角 ") {
        Some(corner) => format!("corner {corner}"),
        None => format!("the middle of side {}", between(text, "边 ", " 的中点")),
    };
    let (from, to) = between(zh, "沿着从", "的直线把纸")
        .split_once('到')
        .unwrap();
    format!(
        "A {shape} of paper has the corners {first} to {last}, named clockwise.{off} {now} the paper is cut \
         in two along the straight line from {} to {}. How many corners does the part with corner {} have?",
        end(from),
        end(to),
        between(zh, "含角 ", " 的那一部分有几个角？")
    )
}

fn shape(zh: &str) -> String {
    let sizes: Vec<&str> = zh
        .split(' ')
        .filter(|w| w.chars().all(|c| c.is_ascii_digit()))
        .collect();
    let kind = zh.rsplit('的').next().unwrap();
    let size = |i: usize| sizes[i];
    match kind {
        "正方形" => format!("a square with sides of {} cm", size(0)),
        "长方形" => format!(
            "a rectangle with sides of {} cm and {} cm",
            size(0),
            size(1)
        ),
        "圆" => {
            assert!(zh.starts_with("直径"));
            format!("a circle with a diameter of {} cm", size(0))
        }
        "直角三角形" => {
            assert!(zh.starts_with("直角边"));
            format!(
                "a right triangle with legs of {} cm and {} cm",
                size(0),
                size(1)
            )
        }
        "等边三角形" => format!("an equilateral triangle with sides of {} cm", size(0)),
        "正六边形" => format!("a regular hexagon with sides of {} cm", size(0)),
        other => panic!("{other}"),
    }
}

const OF_SYMBOLS: [(&str, &str); 8] = [
    (
        "其中哪一个左右对调后看起来不变？",
        "Which of them looks the same when left and right change places?",
    ),
    (
        "其中哪一个上下对调后看起来不变？",
        "Which of them looks the same when top and bottom change places?",
    ),
    (
        "其中哪一个旋转 180 度后看起来不变？",
        "Which of them looks the same when it is rotated by 180 degrees?",
    ),
    (
        "其中哪一个无论左右对调、上下对调还是旋转 180 度，看起来都会变？",
        "Which of them looks different after each of these: left and right change places; top and bottom \
         change places; it is rotated by 180 degrees?",
    ),
    ("其中哪一个最宽？", "Which of them is the widest?"),
    ("其中哪一个最窄？", "Which of them is the narrowest?"),
    (
        "其中哪一个从最低点到最高点的距离最大？",
        "Which of them is the tallest from its lowest to its highest point?",
    ),
    (
        "其中哪一个从最低点到最高点的距离最小？",
        "Which of them is the least tall from its lowest to its highest point?",
    ),
];

fn line(zh: &str) -> String {
    let far = |text: &str| {
        of(
            &[
                ("四分之一", "a quarter of the way"),
                ("三分之一", "a third of the way"),
                ("一半", "halfway"),
                ("三分之二", "two thirds of the way"),
                ("四分之三", "three quarters of the way"),
            ],
            text,
        )
    };
    match zh.strip_suffix("处的一条水平线") {
        Some(level) => format!("a horizontal line {} down", far(after(level, "从上往下"))),
        None => format!(
            "a vertical line {} from its left edge to its right edge",
            far(between(zh, "从左往右", "处的一条竖直线"))
        ),
    }
}

fn counted(zh: &str) -> String {
    if zh == "它们一共有多少个完全被笔画围住的区域？" {
        return "How many separate areas wholly enclosed by ink do they have together?".into();
    }
    if zh.contains("被遮住") {
        let cover = between(zh, "每个符号的", "被遮住，不计在内。");
        let (side, share) = cover.split_once('边').unwrap();
        let side = of(
            &[
                ("上", "upper"),
                ("下", "lower"),
                ("左", "left"),
                ("右", "right"),
            ],
            side,
        );
        let share = of(
            &[
                ("四分之一", "quarter"),
                ("三分之一", "third"),
                ("一半", "half"),
            ],
            share,
        );
        assert!(zh.ends_with("看得见的部分一共有多少个完全被笔画围住的区域？"));
        return format!(
            "The {side} {share} of each of them is covered and does not count. How many separate areas wholly \
             enclosed by ink do the visible parts have together?"
        );
    }
    if zh.contains("拉开") {
        assert!(zh.ends_with("一共有多少个互不相连的小块？"));
        return format!(
            "Each is cut in two along {}, and the parts are pulled apart. How many separate pieces are there in \
             all?",
            line(between(zh, "都沿", "切成两份"))
        );
    }
    assert!(zh.ends_with("这些线一共穿过笔画多少次？"));
    format!(
        "A thin straight line is drawn through each of them: {}. How many times do these lines run across a \
         stroke in all?",
        line(between(zh, "各画一条细直线：", "。"))
    )
}

fn option(kind: &str, zh: &str) -> String {
    match kind {
        "life-extreme" | "life-order" | "life-hue" => life::in_english(zh),
        "compared" | "life-compared" => {
            let part = |text: &str| {
                of(
                    &[
                        ("更亮", "lighter"),
                        ("更暗", "darker"),
                        ("更鲜艳", "more colourful"),
                        ("更灰", "greyer"),
                    ],
                    text,
                )
            };
            let (one, two) = zh.split_once("而且").unwrap();
            format!("{} and {}", part(one), part(two))
        }
        "sector" => {
            let pure = [
                ("红", "red"),
                ("黄", "yellow"),
                ("绿", "green"),
                ("蓝", "blue"),
            ];
            let (one, two) = zh.trim_end_matches("之间").split_once('与').unwrap();
            format!("between {} and {}", of(&pure, one), of(&pure, two))
        }
        "fold-where" | "board" => format!(
            "column {}, row {}",
            between(zh, "第 ", " 列"),
            between(zh, "，第 ", " 行")
        ),
        "compare" => {
            let name = shape(&format!("边长 1 厘米和 1 厘米的{zh}").replace(
                "边长",
                match zh {
                    "圆" => "直径",
                    "直角三角形" => "直角边",
                    _ => "边长",
                },
            ));
            let name = name.split(" with").next().unwrap();
            format!(
                "the {}",
                name.trim_start_matches("an ").trim_start_matches("a ")
            )
        }
        "heading" | "opening" => of(&DIRECTIONS, zh),
        _ => same(zh),
    }
}

fn solver(task: &FreshTask) -> super::Solver {
    match task.card().id.as_ref() {
        "embodied/fresh-colour" => |kind, words, options| match kind.strip_prefix("life-") {
            Some(kind) => life::solve(kind, words, options),
            None => colour::solve(kind, words, options),
        },
        "embodied/fresh-geometry" => geometry::solve,
        _ => symbols::solve,
    }
}

#[test]
fn chinese_questions_are_read_back_to_the_english_ones_and_solved() {
    for task in FRESH_TASKS {
        let solve = solver(task);
        let mut n = 0;
        for seed in 500..502 {
            for item in task.drawn(seed, 1000, Level::Any, Colours::Both).unwrap() {
                let zh = &item.posed.words.zh;
                let back = question(item.kind, zh);
                assert_eq!(back, item.posed.words.en, "{zh}");
                let options: Vec<String> = item
                    .options
                    .iter()
                    .map(|o| option(item.kind, &o.zh))
                    .collect();
                assert_eq!(options, super::english(&item.options), "{zh}");
                assert_eq!(solve(item.kind, &back, &options), item.correct, "{zh}");
                for said in [&item.posed.seen, &item.posed.caption] {
                    assert!(
                        said.zh.contains('图') || said.zh.contains("色块"),
                        "{}",
                        said.zh
                    );
                }
                n += 1;
            }
        }
        eprintln!(
            "{}: {n} Chinese questions read back and solved",
            task.card().id
        );
    }
}

/// No English is left in a Chinese question but the keywords of the colour standard and the letters that
/// name things.
#[test]
fn a_chinese_question_is_in_chinese() {
    for item in FRESH_COLOUR
        .drawn(7, 200, Level::Any, Colours::Life)
        .unwrap()
    {
        let all = item
            .options
            .iter()
            .map(|o| &o.zh)
            .chain([&item.posed.words.zh]);
        for text in all {
            assert!(!text.chars().any(|c| c.is_ascii_alphabetic()), "{text}");
        }
    }
}

#[test]
fn the_task_asks_in_chinese_under_the_same_ids() {
    for task in FRESH_TASKS {
        let items = |language: &str| {
            let params = [("language", language), ("n", "36")];
            let settings = TaskSettings {
                seed: 4,
                params: params.map(|(k, v)| (k.into(), v.into())).into(),
                ..TaskSettings::default()
            };
            let items = task.items(&settings, &NoData).unwrap();
            items.collect::<Result<Vec<_>, _>>().unwrap()
        };
        for (en, zh) in items("en").iter().zip(items("zh")) {
            assert_eq!(en.id, zh.id);
            let (
                Target::Choice { correct: a, .. },
                Target::Choice {
                    correct: b,
                    question,
                    ..
                },
            ) = (&en.target, &zh.target)
            else {
                panic!("choices")
            };
            assert_eq!(a, b);
            assert!(
                question
                    .chars()
                    .any(|c| ('\u{4e00}'..'\u{9fff}').contains(&c))
            );
        }
    }
}
