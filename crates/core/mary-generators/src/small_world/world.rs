//! The small world: its people, animals, things, qualities and numbers.
//!
//! Word tables only. Everything here was written for this project; the order of a category's
//! members is our own and sets how often each is met (first is most frequent), so that a grown
//! model has a graded category to show.

/// A person's first name.
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) female: bool,
}

const fn she(name: &'static str) -> Name {
    Name { name, female: true }
}

const fn he(name: &'static str) -> Name {
    Name { name, female: false }
}

/// The people who live in the small world.
pub(super) const NAMES: &[Name] = &[
    she("Anna"), he("Tom"), she("Lucy"), he("Ben"), she("Nora"), he("Sam"), she("Rose"),
    he("Peter"), she("Emma"), he("Paul"), she("Clara"), he("Jack"), she("Ruth"), he("Adam"),
];

/// A count noun with both its forms.
pub(super) struct Noun {
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    /// Some(true) female, Some(false) male, None for nouns that leave it open.
    pub(super) female: Option<bool>,
}

const fn n(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many, female: None }
}

const fn g(one: &'static str, many: &'static str, female: bool) -> Noun {
    Noun { one, many, female: Some(female) }
}

pub(super) const PEOPLE: &[Noun] = &[
    g("girl", "girls", true), g("boy", "boys", false), g("woman", "women", true),
    g("man", "men", false), g("mother", "mothers", true), g("father", "fathers", false),
    g("sister", "sisters", true), g("brother", "brothers", false), g("queen", "queens", true),
    g("king", "kings", false), n("child", "children"), n("teacher", "teachers"),
    n("doctor", "doctors"), n("farmer", "farmers"), n("baker", "bakers"), n("friend", "friends"),
    n("student", "students"), n("singer", "singers"),
];

/// Animals that act in stories.
pub(super) const BEASTS: &[Noun] = &[
    n("dog", "dogs"), n("cat", "cats"), n("horse", "horses"), n("cow", "cows"), n("pig", "pigs"),
    n("sheep", "sheep"), n("goat", "goats"), n("mouse", "mice"), n("rabbit", "rabbits"),
    n("fox", "foxes"), n("wolf", "wolves"), n("bear", "bears"), n("lion", "lions"),
    n("duck", "ducks"), n("goose", "geese"), n("frog", "frogs"),
];

/// Things that can be held, moved, lost and found.
pub(super) const THINGS: &[Noun] = &[
    n("ball", "balls"), n("box", "boxes"), n("book", "books"), n("cup", "cups"),
    n("hat", "hats"), n("key", "keys"), n("lamp", "lamps"), n("chair", "chairs"),
    n("table", "tables"), n("knife", "knives"), n("leaf", "leaves"), n("stone", "stones"),
    n("bag", "bags"), n("coat", "coats"), n("shoe", "shoes"), n("letter", "letters"),
    n("picture", "pictures"), n("rope", "ropes"), n("bottle", "bottles"), n("plate", "plates"),
    n("bell", "bells"), n("basket", "baskets"), n("cart", "carts"), n("shelf", "shelves"),
];

pub(super) const FOODS: &[Noun] = &[
    n("apple", "apples"), n("pear", "pears"), n("plum", "plums"), n("egg", "eggs"),
    n("cake", "cakes"), n("carrot", "carrots"), n("potato", "potatoes"), n("berry", "berries"),
    n("cherry", "cherries"), n("loaf", "loaves"),
];

/// Where things happen, as the end of a sentence.
pub(super) const PLACES: &[&str] = &[
    "in the garden", "in the house", "near the river", "by the sea", "in the kitchen",
    "on the hill", "under the tree", "at the market", "in the field", "behind the barn",
    "at school", "in the forest",
];

/// A verb in the forms the grammar needs.
pub(super) struct Verb {
    pub(super) base: &'static str,
    pub(super) third: &'static str,
    pub(super) past: &'static str,
    pub(super) participle: &'static str,
    pub(super) ing: &'static str,
}

const fn v(
    base: &'static str,
    third: &'static str,
    past: &'static str,
    participle: &'static str,
    ing: &'static str,
) -> Verb {
    Verb { base, third, past, participle, ing }
}

/// Verbs that take no object.
pub(super) const ALONE: &[Verb] = &[
    v("sleep", "sleeps", "slept", "slept", "sleeping"),
    v("laugh", "laughs", "laughed", "laughed", "laughing"),
    v("cry", "cries", "cried", "cried", "crying"),
    v("smile", "smiles", "smiled", "smiled", "smiling"),
    v("arrive", "arrives", "arrived", "arrived", "arriving"),
    v("wait", "waits", "waited", "waited", "waiting"),
    v("sit", "sits", "sat", "sat", "sitting"),
    v("fall", "falls", "fell", "fallen", "falling"),
    v("swim", "swims", "swam", "swum", "swimming"),
    v("rest", "rests", "rested", "rested", "resting"),
    v("listen", "listens", "listened", "listened", "listening"),
    v("go", "goes", "went", "gone", "going"),
];

/// Verbs an animate subject does to a thing.
pub(super) const HANDLE: &[Verb] = &[
    v("take", "takes", "took", "taken", "taking"),
    v("find", "finds", "found", "found", "finding"),
    v("hide", "hides", "hid", "hidden", "hiding"),
    v("carry", "carries", "carried", "carried", "carrying"),
    v("push", "pushes", "pushed", "pushed", "pushing"),
    v("buy", "buys", "bought", "bought", "buying"),
    v("break", "breaks", "broke", "broken", "breaking"),
    v("wash", "washes", "washed", "washed", "washing"),
    v("drop", "drops", "dropped", "dropped", "dropping"),
    v("steal", "steals", "stole", "stolen", "stealing"),
    v("choose", "chooses", "chose", "chosen", "choosing"),
    v("hold", "holds", "held", "held", "holding"),
];

/// Verbs an animate subject does to a person or an animal.
pub(super) const MEET: &[Verb] = &[
    v("see", "sees", "saw", "seen", "seeing"),
    v("help", "helps", "helped", "helped", "helping"),
    v("like", "likes", "liked", "liked", "liking"),
    v("know", "knows", "knew", "known", "knowing"),
    v("follow", "follows", "followed", "followed", "following"),
    v("call", "calls", "called", "called", "calling"),
    v("hear", "hears", "heard", "heard", "hearing"),
    v("visit", "visits", "visited", "visited", "visiting"),
    v("teach", "teaches", "taught", "taught", "teaching"),
    v("forget", "forgets", "forgot", "forgotten", "forgetting"),
];

/// Verbs that turn back on their subject easily.
pub(super) const SELF: &[Verb] = &[
    v("see", "sees", "saw", "seen", "seeing"),
    v("hurt", "hurts", "hurt", "hurt", "hurting"),
    v("wash", "washes", "washed", "washed", "washing"),
    v("help", "helps", "helped", "helped", "helping"),
    v("teach", "teaches", "taught", "taught", "teaching"),
    v("draw", "draws", "drew", "drawn", "drawing"),
    v("hide", "hides", "hid", "hidden", "hiding"),
    v("trust", "trusts", "trusted", "trusted", "trusting"),
];

/// Adjectives that go with any count noun.
pub(super) const PLAIN: &[&str] = &[
    "big", "small", "old", "new", "red", "green", "blue", "white", "black", "brown", "clean",
    "dirty", "good", "bad",
];

/// A category, the article of its name and its members, the most typical first.
pub(super) struct Category {
    pub(super) name: &'static str,
    pub(super) plural: &'static str,
    pub(super) members: &'static [&'static str],
}

/// The categories of the small world.
pub(super) const CATEGORIES: &[Category] = &[
    Category { name: "bird", plural: "birds", members: &[
        "robin", "sparrow", "pigeon", "crow", "swallow", "gull", "hawk", "owl", "parrot", "duck",
        "goose", "turkey", "penguin", "ostrich",
    ] },
    Category { name: "fruit", plural: "fruits", members: &[
        "apple", "orange", "banana", "pear", "cherry", "peach", "plum", "grape", "melon", "lemon",
        "fig", "date", "olive", "tomato",
    ] },
    Category { name: "vegetable", plural: "vegetables", members: &[
        "carrot", "potato", "onion", "bean", "cabbage", "pea", "turnip", "radish", "pepper",
        "leek", "mushroom", "pumpkin",
    ] },
    Category { name: "animal", plural: "animals", members: &[
        "dog", "cat", "horse", "cow", "pig", "lion", "bear", "rabbit", "fox", "mouse", "goat",
        "wolf", "frog", "snake", "whale", "bat",
    ] },
    Category { name: "tool", plural: "tools", members: &[
        "hammer", "saw", "drill", "wrench", "axe", "shovel", "rake", "file", "knife", "ladder",
        "rope", "needle",
    ] },
    Category { name: "vehicle", plural: "vehicles", members: &[
        "car", "bus", "truck", "train", "van", "bicycle", "boat", "ship", "plane", "cart", "sled",
        "raft",
    ] },
    Category { name: "toy", plural: "toys", members: &[
        "doll", "ball", "kite", "block", "puzzle", "drum", "top", "puppet", "swing", "balloon",
    ] },
    Category { name: "sport", plural: "sports", members: &[
        "football", "tennis", "hockey", "swimming", "running", "golf", "boxing", "skating",
        "rowing", "chess",
    ] },
    Category { name: "weapon", plural: "weapons", members: &[
        "gun", "sword", "bow", "spear", "arrow", "club", "whip", "knife", "stone", "stick",
    ] },
    Category { name: "colour", plural: "colours", members: &[
        "red", "blue", "green", "yellow", "black", "white", "brown", "orange", "pink", "grey",
    ] },
    Category { name: "piece of furniture", plural: "pieces of furniture", members: &[
        "chair", "table", "bed", "sofa", "desk", "shelf", "bench", "stool", "lamp", "rug",
        "mirror", "clock",
    ] },
    Category { name: "piece of clothing", plural: "pieces of clothing", members: &[
        "shirt", "coat", "dress", "skirt", "jacket", "sock", "hat", "shoe", "scarf", "glove",
        "belt", "ring",
    ] },
    Category { name: "insect", plural: "insects", members: &[
        "fly", "ant", "bee", "wasp", "moth", "beetle", "flea", "cricket",
    ] },
];

/// A quality of the senses: two words for it, two for its opposite, and things that have it.
pub(super) struct Quality {
    pub(super) sense: &'static str,
    pub(super) words: [&'static str; 2],
    pub(super) opposites: [&'static str; 2],
    pub(super) have: &'static [&'static str],
    pub(super) lack: &'static [&'static str],
}

/// The qualities, each with its sense.
pub(super) const QUALITIES: &[Quality] = &[
    Quality { sense: "look", words: ["bright", "shining"], opposites: ["dark", "dim"],
        have: &["sun", "star", "fire", "lamp"], lack: &["night", "cave", "shadow", "cellar"] },
    Quality { sense: "sound", words: ["loud", "noisy"], opposites: ["quiet", "silent"],
        have: &["drum", "storm", "bell", "horn"], lack: &["mouse", "snow", "library", "feather"] },
    Quality { sense: "feel", words: ["rough", "coarse"], opposites: ["smooth", "even"],
        have: &["bark", "sand", "rope", "brick"], lack: &["glass", "silk", "mirror", "egg"] },
    Quality { sense: "feel", words: ["hot", "burning"], opposites: ["cold", "freezing"],
        have: &["fire", "soup", "oven", "desert"], lack: &["ice", "snow", "winter", "frost"] },
    Quality { sense: "feel", words: ["soft", "fluffy"], opposites: ["hard", "stiff"],
        have: &["pillow", "wool", "feather", "kitten"], lack: &["stone", "bone", "brick", "iron"] },
    Quality { sense: "feel", words: ["wet", "damp"], opposites: ["dry", "parched"],
        have: &["rain", "river", "sponge", "towel"], lack: &["desert", "sand", "dust", "bone"] },
    Quality { sense: "taste", words: ["sweet", "sugary"], opposites: ["sour", "bitter"],
        have: &["honey", "cake", "cherry", "sugar"], lack: &["lemon", "vinegar", "coffee", "pill"] },
    Quality { sense: "feel", words: ["heavy", "weighty"], opposites: ["light", "airy"],
        have: &["stone", "iron", "elephant", "truck"], lack: &["feather", "leaf", "balloon", "paper"] },
    Quality { sense: "look", words: ["big", "huge"], opposites: ["small", "tiny"],
        have: &["whale", "mountain", "ship", "tower"], lack: &["ant", "seed", "flea", "pea"] },
    Quality { sense: "move", words: ["fast", "quick"], opposites: ["slow", "sluggish"],
        have: &["arrow", "hawk", "train", "horse"], lack: &["snail", "worm", "cart", "cloud"] },
    Quality { sense: "feel", words: ["sharp", "pointed"], opposites: ["blunt", "dull"],
        have: &["needle", "thorn", "knife", "sword"], lack: &["spoon", "ball", "pillow", "log"] },
    Quality { sense: "smell", words: ["fresh", "clean"], opposites: ["rotten", "foul"],
        have: &["soap", "grass", "bread", "rose"], lack: &["mud", "swamp", "rubbish", "smoke"] },
    Quality { sense: "look", words: ["tall", "high"], opposites: ["short", "low"],
        have: &["tower", "tree", "mountain", "giraffe"], lack: &["stool", "grass", "bush", "mouse"] },
    Quality { sense: "look", words: ["full", "crowded"], opposites: ["empty", "bare"],
        have: &["market", "basket", "bus", "barn"], lack: &["desert", "pocket", "hole", "drum"] },
];

/// Number words from zero to twenty.
pub(super) const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
];
