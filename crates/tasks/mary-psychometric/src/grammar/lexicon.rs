//! The wide lexicon: everyday words with the features that the paradigms ask for. Plurals, pasts and
//! participles are written out, so that no rule can misspell one.

/// Grammatical gender of a person, where the word fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gender {
    /// `uncle`.
    Male,
    /// `aunt`.
    Female,
    /// `teacher`.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noun {
    pub one: &'static str,
    pub many: &'static str,
    /// Gender; `Open` for animals and things.
    pub gender: Gender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verb {
    /// `admire`.
    pub base: &'static str,
    /// `admires`.
    pub third: &'static str,
    /// `admired`.
    pub past: &'static str,
    /// `admired`; `broken`.
    pub participle: &'static str,
}

/// An irregular verb whose past and participle differ, with objects that suit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Irregular {
    pub verb: Verb,
    /// What the past would be if it were regular.
    pub regular: &'static str,
    /// Things this is done to (singular, plural).
    pub objects: &'static [(&'static str, &'static str)],
    /// The participle stands well before those nouns (`a broken cup`).
    pub attributive: bool,
}

const fn n(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many, gender: Gender::Open }
}
const fn m(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many, gender: Gender::Male }
}
const fn f(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many, gender: Gender::Female }
}
const fn v(base: &'static str, third: &'static str, past: &'static str) -> Verb {
    Verb { base, third, past, participle: past }
}

pub(crate) const PEOPLE: &[Noun] = &[
    n("teacher", "teachers"), n("nurse", "nurses"), n("doctor", "doctors"), n("baker", "bakers"),
    n("pilot", "pilots"), n("farmer", "farmers"), n("lawyer", "lawyers"), n("singer", "singers"),
    n("dancer", "dancers"), n("painter", "painters"), n("plumber", "plumbers"), n("librarian", "librarians"),
    n("gardener", "gardeners"), n("tailor", "tailors"), n("sailor", "sailors"), n("student", "students"),
    n("cook", "cooks"), n("driver", "drivers"), n("writer", "writers"), n("judge", "judges"),
    n("guard", "guards"), n("guest", "guests"), n("neighbor", "neighbors"), n("tourist", "tourists"),
    n("scientist", "scientists"), n("musician", "musicians"), n("reporter", "reporters"), n("carpenter", "carpenters"),
    n("dentist", "dentists"), n("mechanic", "mechanics"), n("banker", "bankers"), n("clerk", "clerks"),
    n("coach", "coaches"), n("witness", "witnesses"), n("actor", "actors"), n("engineer", "engineers"),
    n("customer", "customers"), n("manager", "managers"), n("editor", "editors"), n("surgeon", "surgeons"),
    m("uncle", "uncles"), m("father", "fathers"), m("brother", "brothers"), m("son", "sons"),
    m("king", "kings"), m("waiter", "waiters"), m("boy", "boys"), m("grandfather", "grandfathers"),
    m("husband", "husbands"), m("prince", "princes"), m("nephew", "nephews"), m("monk", "monks"),
    f("aunt", "aunts"), f("mother", "mothers"), f("sister", "sisters"), f("daughter", "daughters"),
    f("queen", "queens"), f("waitress", "waitresses"), f("girl", "girls"), f("grandmother", "grandmothers"),
    f("bride", "brides"), f("princess", "princesses"), f("niece", "nieces"), f("nun", "nuns"),
];

/// People and animals with irregular plurals.
pub(crate) const IRREGULAR_ANIMATE: &[Noun] = &[
    n("child", "children"), m("man", "men"), f("woman", "women"), n("person", "people"),
    m("fireman", "firemen"), f("policewoman", "policewomen"), m("salesman", "salesmen"), n("mouse", "mice"),
    n("goose", "geese"), n("wolf", "wolves"), n("thief", "thieves"), m("fisherman", "fishermen"),
    f("housewife", "housewives"), n("ox", "oxen"), m("gentleman", "gentlemen"), n("grandchild", "grandchildren"),
];

pub(crate) const IRREGULAR_THINGS: &[Noun] = &[
    n("knife", "knives"), n("shelf", "shelves"), n("leaf", "leaves"), n("loaf", "loaves"),
    n("tooth", "teeth"), n("scarf", "scarves"), n("hypothesis", "hypotheses"), n("cactus", "cacti"),
    n("crisis", "crises"), n("bookshelf", "bookshelves"), n("foot", "feet"),
];

pub(crate) const ANIMALS: &[Noun] = &[
    n("horse", "horses"), n("cat", "cats"), n("dog", "dogs"), n("rabbit", "rabbits"), n("parrot", "parrots"),
    n("goat", "goats"), n("lizard", "lizards"), n("squirrel", "squirrels"), n("turtle", "turtles"), n("owl", "owls"),
    n("monkey", "monkeys"), n("bear", "bears"), n("fox", "foxes"), n("duck", "ducks"), n("pigeon", "pigeons"),
    n("tiger", "tigers"), n("donkey", "donkeys"), n("hamster", "hamsters"), n("otter", "otters"), n("crow", "crows"),
];

/// Things that can be moved, seen and bought.
pub(crate) const THINGS: &[Noun] = &[
    n("lamp", "lamps"), n("table", "tables"), n("chair", "chairs"), n("clock", "clocks"), n("mirror", "mirrors"),
    n("carpet", "carpets"), n("vase", "vases"), n("basket", "baskets"), n("bottle", "bottles"), n("blanket", "blankets"),
    n("pillow", "pillows"), n("curtain", "curtains"), n("ladder", "ladders"), n("hammer", "hammers"), n("bucket", "buckets"),
    n("kettle", "kettles"), n("teapot", "teapots"), n("bowl", "bowls"), n("plate", "plates"), n("spoon", "spoons"),
    n("guitar", "guitars"), n("piano", "pianos"), n("violin", "violins"), n("drum", "drums"), n("trumpet", "trumpets"),
    n("bicycle", "bicycles"), n("wagon", "wagons"), n("truck", "trucks"), n("boat", "boats"), n("helmet", "helmets"),
    n("jacket", "jackets"), n("sweater", "sweaters"), n("hat", "hats"), n("coat", "coats"), n("glove", "gloves"),
    n("necklace", "necklaces"), n("ring", "rings"), n("bracelet", "bracelets"), n("wallet", "wallets"), n("suitcase", "suitcases"),
    n("book", "books"), n("letter", "letters"), n("map", "maps"), n("poster", "posters"), n("painting", "paintings"),
    n("statue", "statues"), n("photograph", "photographs"), n("magazine", "magazines"), n("notebook", "notebooks"), n("pencil", "pencils"),
    n("camera", "cameras"), n("telephone", "telephones"), n("radio", "radios"), n("computer", "computers"), n("engine", "engines"),
    n("candle", "candles"), n("flag", "flags"), n("tent", "tents"), n("umbrella", "umbrellas"), n("kite", "kites"),
    n("cake", "cakes"), n("sandwich", "sandwiches"), n("apple", "apples"), n("melon", "melons"), n("onion", "onions"),
    n("rug", "rugs"), n("drawer", "drawers"), n("couch", "couches"), n("stool", "stools"), n("barrel", "barrels"),
];

/// Things of which nobody would say that they act.
pub(crate) const INERT: &[&str] = &[
    "lamp", "table", "chair", "carpet", "vase", "basket", "bottle", "blanket", "pillow", "curtain", "ladder", "hammer",
    "bucket", "kettle", "teapot", "bowl", "plate", "spoon", "helmet", "jacket", "sweater", "hat", "coat", "glove",
    "wallet", "suitcase", "candle", "tent", "umbrella", "cake", "sandwich", "melon", "onion", "rug", "drawer", "couch",
    "stool", "barrel",
];

/// Substances: no plural.
pub(crate) const MASS: &[&str] = &[
    "water", "sugar", "furniture", "bread", "rice", "flour", "luggage", "jewelry", "butter", "milk", "sand", "paper",
    "soup", "smoke", "dust", "snow", "salt", "honey", "equipment", "clothing", "traffic", "noise", "garbage", "mud",
];

pub(crate) const NAMES: &[(&str, Gender)] = &[
    ("Anna", Gender::Female), ("Maria", Gender::Female), ("Laura", Gender::Female), ("Emily", Gender::Female),
    ("Sarah", Gender::Female), ("Rachel", Gender::Female), ("Julia", Gender::Female), ("Hannah", Gender::Female),
    ("Alice", Gender::Female), ("Helen", Gender::Female), ("Diana", Gender::Female), ("Susan", Gender::Female),
    ("Nancy", Gender::Female), ("Karen", Gender::Female), ("Amanda", Gender::Female), ("Jessica", Gender::Female),
    ("Peter", Gender::Male), ("Daniel", Gender::Male), ("Thomas", Gender::Male), ("Robert", Gender::Male),
    ("Michael", Gender::Male), ("David", Gender::Male), ("James", Gender::Male), ("Steven", Gender::Male),
    ("Kevin", Gender::Male), ("Brian", Gender::Male), ("George", Gender::Male), ("Paul", Gender::Male),
    ("Andrew", Gender::Male), ("Edward", Gender::Male), ("Simon", Gender::Male), ("Martin", Gender::Male),
];

pub(crate) const PLACES: &[&str] = &[
    "in the kitchen", "in the garden", "in the attic", "in the basement", "in the hallway", "in the museum",
    "in the library", "in the barn", "in the office", "at the station", "at the market", "at the hotel",
    "at the airport", "at the theater", "near the river", "near the bridge", "behind the church", "behind the school",
    "under the bridge", "on the balcony", "on the porch", "in the backyard", "in the lobby", "next to the fountain",
];

/// Places where nearly anything may lie.
pub(crate) const OUTSIDE: &[&str] = &[
    "near the river", "near the bridge", "behind the church", "behind the school", "next to the fountain", "at the station",
    "at the market", "in the garden", "in the backyard", "on the porch", "behind the hotel", "near the gate",
    "behind the barn", "near the harbor", "next to the road", "in the parking lot",
];

/// When something happened, as phrases for the past.
pub(crate) const PAST_TIMES: &[&str] = &[
    "yesterday", "last week", "last night", "this morning", "on Monday", "last summer", "an hour ago", "on Friday",
    "two days ago", "last year", "on Sunday", "a month ago",
];

/// Colors and shapes of things, for plain description.
pub(crate) const LOOKS: &[&str] = &[
    "old", "new", "red", "green", "blue", "yellow", "heavy", "small", "large", "wooden", "broken", "expensive",
    "cheap", "dusty", "dirty", "clean", "shiny", "ugly", "beautiful", "round", "white", "black", "brown", "tiny",
];

/// Of those, the ones that never stand for a noun by themselves.
pub(crate) const PLAIN_LOOKS: &[&str] = &[
    "old", "new", "heavy", "small", "large", "wooden", "expensive", "cheap", "dusty", "dirty", "clean", "shiny",
    "ugly", "beautiful", "round", "tiny",
];

/// States of people and animals.
pub(crate) const STATES: &[&str] = &[
    "tired", "hungry", "angry", "happy", "sad", "nervous", "sleepy", "thirsty", "afraid", "calm", "busy", "lonely",
    "quiet", "confused", "bored", "excited", "sick", "safe", "ready", "late",
];

/// Verbs that need an object and take nearly any.
pub(crate) const TRANSITIVE: &[Verb] = &[
    v("admire", "admires", "admired"), v("describe", "describes", "described"), v("mention", "mentions", "mentioned"),
    v("examine", "examines", "examined"), v("discover", "discovers", "discovered"), v("avoid", "avoids", "avoided"),
    v("replace", "replaces", "replaced"), v("remove", "removes", "removed"), v("inspect", "inspects", "inspected"),
    v("locate", "locates", "located"), v("praise", "praises", "praised"), v("identify", "identifies", "identified"),
    v("borrow", "borrows", "borrowed"), v("acquire", "acquires", "acquired"), v("purchase", "purchases", "purchased"),
    v("conceal", "conceals", "concealed"), v("damage", "damages", "damaged"), v("ignore", "ignores", "ignored"),
    v("carry", "carries", "carried"), v("recognize", "recognizes", "recognized"), v("want", "wants", "wanted"),
    v("touch", "touches", "touched"), v("need", "needs", "needed"), v("like", "likes", "liked"),
];

/// Of those, the ones that are plainly bad without an object.
pub(crate) const STRICT: &[Verb] = &[
    v("describe", "describes", "described"), v("mention", "mentions", "mentioned"), v("discover", "discovers", "discovered"),
    v("avoid", "avoids", "avoided"), v("replace", "replaces", "replaced"), v("remove", "removes", "removed"),
    v("locate", "locates", "located"), v("identify", "identifies", "identified"), v("acquire", "acquires", "acquired"),
    v("conceal", "conceals", "concealed"), v("damage", "damages", "damaged"), v("abandon", "abandons", "abandoned"),
    v("admire", "admires", "admired"), v("praise", "praises", "praised"),
];

/// Verbs that never take an object.
pub(crate) const INTRANSITIVE: &[Verb] = &[
    v("arrive", "arrives", "arrived"), v("vanish", "vanishes", "vanished"), v("laugh", "laughs", "laughed"),
    v("sneeze", "sneezes", "sneezed"), v("cough", "coughs", "coughed"), v("smile", "smiles", "smiled"),
    v("hesitate", "hesitates", "hesitated"), v("faint", "faints", "fainted"), v("yawn", "yawns", "yawned"),
    v("shiver", "shivers", "shivered"), v("giggle", "giggles", "giggled"), v("snore", "snores", "snored"),
    v("tremble", "trembles", "trembled"), v("disappear", "disappears", "disappeared"), v("stumble", "stumbles", "stumbled"),
    v("frown", "frowns", "frowned"), v("gossip", "gossips", "gossiped"), v("wander", "wanders", "wandered"),
    v("kneel", "kneels", "knelt"), v("sleep", "sleeps", "slept"), v("chuckle", "chuckles", "chuckled"),
    v("complain", "complains", "complained"), v("blush", "blushes", "blushed"), v("doze", "dozes", "dozed"),
];

/// What people do to people, and things never do.
pub(crate) const SOCIAL: &[Verb] = &[
    v("thank", "thanks", "thanked"), v("greet", "greets", "greeted"),
    v("visit", "visits", "visited"), v("interview", "interviews", "interviewed"), v("invite", "invites", "invited"),
    v("tease", "teases", "teased"), v("hug", "hugs", "hugged"), v("marry", "marries", "married"),
    v("insult", "insults", "insulted"), v("congratulate", "congratulates", "congratulated"), v("advise", "advises", "advised"),
    v("warn", "warns", "warned"), v("question", "questions", "questioned"), v("hire", "hires", "hired"),
    v("trust", "trusts", "trusted"), v("envy", "envies", "envied"), v("call", "calls", "called"),
];

/// Gerunds of some of those.
pub(crate) const GREETING: &[&str] = &[
    "thanking", "greeting", "visiting", "interviewing", "inviting", "teasing", "hugging", "insulting",
    "congratulating", "questioning", "hiring", "calling",
];

/// What one can do to oneself.
pub(crate) const REFLEXIVE: &[Verb] = &[
    v("admire", "admires", "admired"), v("blame", "blames", "blamed"), v("introduce", "introduces", "introduced"),
    v("embarrass", "embarrasses", "embarrassed"), v("surprise", "surprises", "surprised"), v("injure", "injures", "injured"),
    v("congratulate", "congratulates", "congratulated"), v("praise", "praises", "praised"), v("question", "questions", "questioned"),
    v("describe", "describes", "described"), v("defend", "defends", "defended"), v("distract", "distracts", "distracted"),
    v("criticize", "criticizes", "criticized"), v("hurt", "hurts", "hurt"), v("calm", "calms", "calmed"),
    v("impress", "impresses", "impressed"), v("scratch", "scratches", "scratched"), v("help", "helps", "helped"),
];

/// Verbs that take a whole sentence.
pub(crate) const SAYING: &[&str] = &["said", "believed", "thought", "claimed", "explained", "insisted", "knew"];

/// What may follow the subject of such a sentence.
pub(crate) const CLAUSES: &[&str] = &[
    "would arrive late", "had won the race", "would leave soon", "had lost the key", "could fix the engine",
    "should apologize", "would pay the bill", "had seen the thief", "was right", "had heard the noise",
    "would miss the train", "could speak Spanish", "had passed the exam", "was innocent",
];

/// Verbs that take a sentence or a question.
pub(crate) const KNOWING: &[&str] = &["knew", "remembered", "noticed", "discovered", "forgot", "learned", "realized", "revealed"];

pub(crate) const IRREGULAR_VERBS: &[Irregular] = &[
    irregular(["break", "breaks", "broke", "broken", "breaked"], &[("cup", "cups"), ("window", "windows"), ("plate", "plates"), ("mirror", "mirrors")], true),
    irregular(["write", "writes", "wrote", "written", "writed"], &[("letter", "letters"), ("poem", "poems"), ("story", "stories"), ("report", "reports")], false),
    irregular(["eat", "eats", "ate", "eaten", "eated"], &[("apple", "apples"), ("sandwich", "sandwiches"), ("cookie", "cookies"), ("melon", "melons")], false),
    irregular(["take", "takes", "took", "taken", "taked"], &[("key", "keys"), ("book", "books"), ("ticket", "tickets"), ("photograph", "photographs")], false),
    irregular(["give away", "gives away", "gave away", "given away", "gived away"], &[("coat", "coats"), ("ring", "rings"), ("toy", "toys"), ("bicycle", "bicycles")], false),
    irregular(["hide", "hides", "hid", "hidden", "hided"], &[("coin", "coins"), ("key", "keys"), ("present", "presents"), ("map", "maps")], true),
    irregular(["steal", "steals", "stole", "stolen", "stealed"], &[("wallet", "wallets"), ("necklace", "necklaces"), ("car", "cars"), ("painting", "paintings")], true),
    irregular(["draw", "draws", "drew", "drawn", "drawed"], &[("map", "maps"), ("horse", "horses"), ("circle", "circles"), ("house", "houses")], false),
    irregular(["wear", "wears", "wore", "worn", "weared"], &[("hat", "hats"), ("sweater", "sweaters"), ("scarf", "scarves"), ("uniform", "uniforms")], false),
    irregular(["tear", "tears", "tore", "torn", "teared"], &[("curtain", "curtains"), ("shirt", "shirts"), ("poster", "posters"), ("page", "pages")], true),
    irregular(["drive", "drives", "drove", "driven", "drived"], &[("truck", "trucks"), ("bus", "buses"), ("tractor", "tractors"), ("taxi", "taxis")], false),
    irregular(["ride", "rides", "rode", "ridden", "rided"], &[("horse", "horses"), ("bicycle", "bicycles"), ("donkey", "donkeys"), ("camel", "camels")], false),
    irregular(["throw", "throws", "threw", "thrown", "throwed"], &[("ball", "balls"), ("stone", "stones"), ("stick", "sticks"), ("pillow", "pillows")], false),
    irregular(["choose", "chooses", "chose", "chosen", "choosed"], &[("color", "colors"), ("dress", "dresses"), ("topic", "topics"), ("song", "songs")], false),
    irregular(["forget", "forgets", "forgot", "forgotten", "forgetted"], &[("name", "names"), ("password", "passwords"), ("umbrella", "umbrellas"), ("story", "stories")], false),
    irregular(["bite", "bites", "bit", "bitten", "bited"], &[("apple", "apples"), ("pencil", "pencils"), ("cookie", "cookies"), ("peach", "peaches")], false),
    irregular(["sing", "sings", "sang", "sung", "singed"], &[("song", "songs"), ("hymn", "hymns"), ("ballad", "ballads"), ("carol", "carols")], false),
    irregular(["drink", "drinks", "drank", "drunk", "drinked"], &[("coffee", "coffees"), ("soda", "sodas"), ("milkshake", "milkshakes"), ("tea", "teas")], false),
    irregular(["begin", "begins", "began", "begun", "beginned"], &[("lesson", "lessons"), ("letter", "letters"), ("meeting", "meetings"), ("project", "projects")], false),
    irregular(["see", "sees", "saw", "seen", "seed"], &[("movie", "movies"), ("rainbow", "rainbows"), ("parade", "parades"), ("statue", "statues")], false),
    irregular(["shake", "shakes", "shook", "shaken", "shaked"], &[("bottle", "bottles"), ("tree", "trees"), ("blanket", "blankets"), ("box", "boxes")], false),
    irregular(["freeze", "freezes", "froze", "frozen", "freezed"], &[("pizza", "pizzas"), ("fish", "fish"), ("soup", "soups"), ("berry", "berries")], true),
    irregular(["grow", "grows", "grew", "grown", "growed"], &[("tomato", "tomatoes"), ("rose", "roses"), ("pumpkin", "pumpkins"), ("carrot", "carrots")], false),
    irregular(["blow up", "blows up", "blew up", "blown up", "blowed up"], &[("balloon", "balloons"), ("bridge", "bridges"), ("photograph", "photographs"), ("tire", "tires")], false),
];

const fn irregular(
    [base, third, past, participle, regular]: [&'static str; 5],
    objects: &'static [(&'static str, &'static str)],
    attributive: bool,
) -> Irregular {
    Irregular { verb: Verb { base, third, past, participle }, regular, objects, attributive }
}

pub(crate) const COUNTS: &[&str] = &["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// How many content words the lexicon holds (each counted once, in its first form).
#[cfg(test)]
pub(crate) fn content_words() -> std::collections::BTreeSet<&'static str> {
    let nouns = [PEOPLE, IRREGULAR_ANIMATE, IRREGULAR_THINGS, ANIMALS, THINGS];
    let verbs = [TRANSITIVE, INTRANSITIVE, SOCIAL, REFLEXIVE];
    nouns
        .iter()
        .flat_map(|list| list.iter().map(|n| n.one))
        .chain(verbs.iter().flat_map(|list| list.iter().map(|v| v.base)))
        .chain(IRREGULAR_VERBS.iter().map(|i| i.verb.base))
        .chain(IRREGULAR_VERBS.iter().flat_map(|i| i.objects.iter().map(|o| o.0)))
        .chain(MASS.iter().copied())
        .chain(NAMES.iter().map(|n| n.0))
        .chain(LOOKS.iter().copied())
        .chain(STATES.iter().copied())
        .collect()
}
