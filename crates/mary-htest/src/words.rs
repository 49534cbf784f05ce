//! Our own word lists. Every list is a plain pool: which word lands in an item never depends on the
//! item's label, except where the word *is* the rule.
//!
//! Nouns that begin with a vowel letter also begin with a vowel sound, and the others with neither
//! (no "hour", no "unicorn"), so that the start-vowel rule is the same to the eye and to the ear.

/// Nouns that begin with a vowel, lower case.
pub const VOWEL_NOUNS: &[&str] = &[
    "acorn", "actor", "admiral", "agent", "album", "almond", "amber", "anchor", "ankle", "antler",
    "anvil", "apron", "archer", "armchair", "arrow", "ashtray", "atlas", "attic", "author", "avocado",
    "axle", "easel", "echo", "editor", "eggplant", "elbow", "elder", "ember", "emperor", "envelope",
    "eraser", "errand", "escort", "estate", "exit", "icicle", "idol", "image", "inkwell", "inlet",
    "inspector", "instrument", "invoice", "iris", "iron", "island", "item", "ivory", "oak", "oasis",
    "oatmeal", "object", "ocean", "officer", "ointment", "onion", "orbit", "orchard", "organ",
    "ornament", "ostrich", "otter", "outpost", "oven", "overcoat", "oyster", "ulcer", "uncle",
    "underpass", "upland", "usher", "utensil",
];

/// Nouns that begin with a consonant, lower case.
pub const CONSONANT_NOUNS: &[&str] = &[
    "badger", "baker", "bandage", "banjo", "barrel", "beacon", "beaver", "blanket", "bottle",
    "bracelet", "bridge", "bucket", "button", "cabin", "camel", "candle", "canyon", "captain",
    "carpet", "castle", "cellar", "chimney", "cobbler", "comet", "copper", "cottage", "cradle",
    "crayon", "curtain", "daisy", "dentist", "desert", "diamond", "doctor", "donkey", "dragon",
    "farmer", "feather", "ferry", "fiddle", "finger", "fountain", "galaxy", "garden", "ginger",
    "glacier", "goblet", "gravel", "hammer", "harbor", "helmet", "hornet", "jacket", "jeweler",
    "jungle", "kettle", "kitten", "ladder", "lantern", "lemon", "lizard", "lobster", "magnet",
    "marble", "meadow", "mirror", "monkey", "napkin", "needle", "noodle", "paddle", "parrot",
    "pebble", "pencil", "pepper", "pillow", "planet", "plumber", "pocket", "rabbit", "raisin",
    "ribbon", "rocket", "saddle", "sailor", "salmon", "shovel", "singer", "spider", "tailor",
    "temple", "tiger", "timber", "tractor", "tunnel", "turtle", "valley", "velvet", "village",
    "wagon", "walnut", "whistle", "window", "zebra",
];

/// Verbs, third person, all taking no object.
pub const VERBS: &[&str] = &[
    "argues", "bakes", "balances", "blinks", "blushes", "bounces", "bows", "breathes", "bubbles",
    "camps", "chatters", "climbs", "coughs", "crawls", "digs", "dives", "drifts", "drums", "fades",
    "fishes", "floats", "flutters", "gallops", "gardens", "giggles", "glides", "grumbles", "hides",
    "hikes", "hops", "hums", "juggles", "kneels", "knits", "lands", "laughs", "lingers", "marches",
    "melts", "mutters", "naps", "nods", "paces", "pauses", "peers", "plays", "ponders", "rattles",
    "rests", "rows", "sails", "shivers", "sighs", "skates", "sketches", "slides", "smiles",
    "sneezes", "spins", "stumbles", "swims", "trembles", "turns", "waits", "wanders", "waves",
    "whispers", "whistles", "winks", "works", "yawns", "yells",
];

/// Places and circumstances.
pub const PLACES: &[&str] = &[
    "above the clouds", "across the bridge", "after the storm", "against the wind", "along the canal",
    "among the reeds", "around the corner", "at the bakery", "at the border", "at the market",
    "before breakfast", "behind the barn", "below the deck", "beneath the stars", "beside the road",
    "between the hills", "beyond the gate", "by candlelight", "by the fence", "by the river",
    "down the stairs", "during the parade", "for a neighbor", "from the balcony", "in a tent",
    "in the attic", "in the cellar", "in the courtyard", "in the fog", "in the library",
    "in the rain", "in the shade", "inside the cave", "near the harbor", "near the window",
    "off the coast", "on a bench", "on the ferry", "on the meadow", "on the roof", "over the fence",
    "past the mill", "through the mud", "through the tunnel", "toward the exit", "under a tarp",
    "under the bed", "under the moon", "with a grin", "with both hands", "with great care",
    "with old friends", "without a coat", "without any noise",
];

/// Adverbs in -ly.
pub const LY_ADVERBS: &[&str] = &[
    "abruptly", "absently", "anxiously", "awkwardly", "bitterly", "boldly", "bravely", "briskly",
    "calmly", "casually", "cautiously", "cheerfully", "clumsily", "correctly", "curiously",
    "dearly", "deeply", "eagerly", "evenly", "faintly", "fiercely", "firmly", "fondly", "gently",
    "gladly", "gloomily", "greedily", "hastily", "honestly", "humbly", "idly", "jointly", "justly",
    "kindly", "lazily", "lightly", "loosely", "loudly", "madly", "merrily", "mildly", "neatly",
    "nervously", "noisily", "oddly", "openly", "patiently", "politely", "promptly", "proudly",
    "rapidly", "rarely", "roughly", "rudely", "sadly", "safely", "secretly", "sharply", "shyly",
    "silently", "sleepily", "smartly", "softly", "solemnly", "steeply", "sternly", "strictly",
    "suddenly", "sweetly", "swiftly", "tenderly", "tightly", "vaguely", "warmly", "weakly",
    "wearily", "wildly", "wisely",
];

/// Other words that end in "ly": the end-ly rule is about letters, not about adverbs.
pub const LY_OTHERS: &[&str] = &[
    "anomaly", "assembly", "belly", "bodily", "bully", "butterfly", "chilly", "curly", "deadly",
    "dragonfly", "family", "firefly", "friendly", "ghostly", "hilly", "holly", "homely", "housefly",
    "jelly", "lily", "lively", "lonely", "lovely", "monopoly", "rally", "reply", "silly", "supply",
    "ugly", "woolly",
];

/// Words that can close a sentence as well and do not end in "ly"; some hold an "ly" elsewhere,
/// some end in "y", some in "l".
pub const NOT_LY: &[&str] = &[
    "abroad", "afterwards", "again", "ahead", "alike", "alone", "aloud", "already", "always",
    "analysis", "apart", "apiece", "ashore", "aside", "asleep", "away", "backwards", "barefoot",
    "before", "brightness", "canary", "cloudy", "crystal", "downhill", "downstairs",
    "dusty", "elsewhere", "enough", "everywhere", "flyer", "foggy", "forever",
    "forwards", "friendship", "gallery", "headlong", "hence", "homewards", "honey", "however",
    "hungry", "indoors", "inland", "instead", "inwards", "journal", "later", "loyal", "lying",
    "lynx", "lyre", "lyrical", "maybe", "meanwhile", "merry", "midway", "muddy", "nearby", "never",
    "nowadays", "olympics", "onwards", "otherwise", "outdoors", "outside", "overhead", "overnight",
    "perhaps", "plywood", "polygon", "polymer", "rainy", "seldom", "shady", "sideways", "sometimes",
    "soon", "still", "stormy", "syllable", "thrice", "thus", "tired", "today", "together", "tomorrow",
    "tonight", "twice", "underground", "uphill", "upstairs", "well", "windy", "yesterday",
];

/// Hyphenated expressions that say what something is like.
pub const HYPHENATED: &[&str] = &[
    "after-dinner", "all-night", "back-to-back", "bare-bones", "bird-watching", "bite-size",
    "brand-new", "broken-down", "by-the-book", "candle-lit", "clear-cut", "cold-blooded",
    "come-and-go", "cross-country", "day-to-day", "deep-rooted", "door-to-door", "down-to-earth",
    "duty-free", "empty-handed", "ever-changing", "eye-catching", "face-to-face", "far-off",
    "fast-moving", "fifty-fifty", "first-rate", "fool-proof", "four-wheeled", "free-range",
    "full-time", "good-natured", "half-empty", "hand-made", "hard-working", "head-on",
    "heart-warming", "high-pitched", "hit-or-miss", "home-grown", "ice-cold", "ill-tempered",
    "jaw-dropping", "know-it-all", "large-scale", "last-minute", "left-handed", "life-size",
    "light-hearted", "long-lost", "low-key", "made-up", "man-to-man", "mind-boggling",
    "narrow-minded", "never-ending", "next-door", "off-season", "old-fashioned", "one-sided",
    "open-ended", "out-of-tune", "over-the-top", "pitch-black", "quick-witted", "razor-sharp",
    "ready-made", "right-handed", "rock-solid", "second-hand", "self-taught", "short-lived",
    "side-by-side", "slow-cooked", "soft-spoken", "step-by-step", "sugar-coated", "sun-dried",
    "sure-footed", "thick-skinned", "time-honored", "top-heavy", "two-faced", "user-friendly",
    "wait-and-see", "waist-deep", "warm-hearted", "wide-eyed", "wind-blown", "word-for-word",
    "world-famous", "worn-out", "year-round",
];

/// Words that say what something is like, of every length that the hyphenated expressions have.
pub const ADJECTIVES: &[&str] = &[
    "abundant", "accomplished", "adventurous", "affectionate", "ancient", "authoritative",
    "awkward", "breathtaking", "cantankerous", "comfortable", "compassionate", "contradictory",
    "controversial", "conventional", "cooperative", "crooked", "curious", "delicate",
    "disagreeable", "disappointed", "distant", "distinguished", "elegant", "enormous",
    "entertaining", "enthusiastic", "expensive", "experimental", "extraordinary", "extravagant",
    "faithful", "familiar", "fearless", "feathery", "fragile", "gigantic", "glorious", "graceful",
    "grateful", "handsome", "harmless", "horrible", "imaginary", "immense", "impatient",
    "important", "impressive", "incredible", "independent", "inexpensive", "innocent",
    "inquisitive", "intellectual", "intelligent", "intermediate", "intimidating", "invisible",
    "jealous", "knowledgeable", "legendary", "luminous", "magical", "magnificent", "massive",
    "medieval", "melancholy", "mischievous", "multicolored", "mysterious", "nervous", "obedient",
    "obnoxious", "ordinary", "original", "outrageous", "overwhelming", "passionate", "patient",
    "peculiar", "pleasant", "polished", "powerful", "precious", "preposterous", "priceless",
    "professional", "prosperous", "quarrelsome", "rectangular", "remarkable", "respectable",
    "restless", "ridiculous", "romantic", "scarlet", "shallow", "slippery", "solitary",
    "sophisticated", "spectacular", "splendid", "spotless", "spotted", "stubborn", "suspicious",
    "temperamental", "thoughtful", "transparent", "tremendous", "triangular", "troublesome",
    "unbelievable", "uncomfortable", "understanding", "unforgettable", "unfortunate",
    "unimpressive", "unmistakable", "unpredictable", "unusual", "valuable", "velvety", "victorious",
    "wealthy", "weathered", "wholehearted", "wonderful",
];

/// Things of which there can be many.
pub const PLURALS: &[&str] = &[
    "accordions", "acorns", "anchors", "apples", "badges", "baskets", "beetles", "bells",
    "biscuits", "blankets", "blueberries", "bottles", "buckets", "butterflies", "buttons", "cakes",
    "candles", "carpets", "caterpillars", "chairs", "clocks", "coins", "cookies", "cups",
    "dictionaries", "doors", "drums", "engines", "feathers", "flags", "forks", "gates", "geese",
    "gloves", "grasshoppers", "hammers", "hats", "helmets", "jackets", "jars", "kettles", "keys",
    "kites", "ladders", "lamps", "lanterns", "lemons", "letters", "magnets", "maps", "marbles",
    "microscopes", "mirrors", "motorcycles", "muffins", "nails", "needles", "newspapers", "onions",
    "paddles", "pancakes", "parachutes", "pears", "pebbles", "pencils", "photographs", "pillows",
    "pineapples", "plates", "potatoes", "puzzles", "ribbons", "rings", "sandwiches", "scarves",
    "screwdrivers", "shells", "shoes", "snowflakes", "spoons", "stamps", "statues", "strawberries",
    "suitcases", "sunglasses", "tables", "telescopes", "thermometers", "tickets", "toothbrushes",
    "towels", "trumpets", "typewriters", "umbrellas", "vases", "wagons", "watches", "wheelbarrows",
    "wheels", "whistles",
];

/// Numbers with their spelling, all without a hyphen.
pub const NUMBERS: &[(u32, &str)] = &[
    (2, "two"), (3, "three"), (4, "four"), (5, "five"), (6, "six"), (7, "seven"), (8, "eight"),
    (9, "nine"), (10, "ten"), (11, "eleven"), (12, "twelve"), (13, "thirteen"), (14, "fourteen"),
    (15, "fifteen"), (16, "sixteen"), (17, "seventeen"), (18, "eighteen"), (19, "nineteen"),
    (20, "twenty"), (30, "thirty"), (40, "forty"), (50, "fifty"), (60, "sixty"), (70, "seventy"),
    (80, "eighty"), (90, "ninety"),
];

/// Verbs that take an object, third person.
pub const TRANSITIVE: &[&str] = &[
    "accumulates", "admires", "appreciates", "arranges", "borrows", "brings", "buries", "carries",
    "catches", "cleans", "collects", "counts", "covers", "decorates", "delivers", "demolishes",
    "discovers", "distributes", "draws", "drops", "duplicates", "empties", "encounters",
    "exchanges", "finds", "fixes", "follows", "forgets", "gathers", "grabs", "hides", "holds",
    "inspects", "interrupts", "investigates", "juggles", "keeps", "kicks", "knows", "lends",
    "lifts", "loses", "manufactures", "measures", "memorizes", "mends", "moves", "names", "offers",
    "opens", "orders", "overlooks", "packs", "polishes", "pulls", "purchases", "pushes",
    "rearranges", "receives", "recognizes", "remembers", "repairs", "returns", "saves", "sells",
    "sends", "shakes", "shows", "sorts", "steals", "stores", "straightens", "stretches",
    "surrenders", "throws", "touches", "trades", "transports", "unpacks", "wants", "washes",
    "watches", "weighs", "wraps",
];

/// Quantities a calculation can begin with.
pub const QUANTITIES: &[&str] = &[
    "acceleration", "area", "average", "balance", "base", "bonus", "capacity", "chord",
    "circumference", "coefficient", "concentration", "conductivity", "correlation", "count",
    "denominator", "depth", "determinant", "deviation", "diameter", "difference", "displacement",
    "distance", "eigenvalue", "elevation", "fraction", "frequency", "height",
    "hypotenuse", "inheritance", "interest", "intersection", "inverse", "investment", "length",
    "logarithm", "mass", "maximum", "mean", "measurement", "median", "minimum", "modulus",
    "momentum", "numerator", "output", "percentage", "perimeter", "polynomial", "population",
    "price", "probability", "quantity", "quotient", "radius", "range", "rate", "ratio", "remainder",
    "resistance", "result", "score", "slope", "speed", "surface", "tangent",
    "temperature", "thickness", "total", "variance", "velocity", "volume",
    "wavelength", "weight", "width",
];

/// Operators: spelled out in one word and as a symbol of one character.
pub const OPERATORS: &[(&str, &str)] = &[
    ("plus", "+"), ("minus", "-"), ("times", "*"), ("over", "/"), ("equals", "="), ("mod", "%"),
];

/// Ways to end a calculation.
pub const REMARKS: &[&str] = &[
    "again", "at dawn", "at the start", "by design", "by the book", "each day", "each time we ask",
    "for a while", "for now", "for the bridge", "for the first test", "from here on", "if needed",
    "in all cases", "in general", "in the end", "in the last row", "in the long run", "in the notes",
    "in the table", "in this case", "indeed", "near the edge", "of course", "on average",
    "on demand", "on paper", "on the first page", "on the left", "on the map", "on the right",
    "once more", "so far", "so they say", "some of the time", "that day", "there",
    "this week", "this year", "to be exact", "to begin with", "today", "tomorrow", "under load",
    "until later", "when in doubt", "with care", "with luck", "without doubt",
];
