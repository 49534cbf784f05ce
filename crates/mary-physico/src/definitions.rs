//! What each concept is called and how it is defined: the low level of the assessment.
//!
//! The definitions are ours, in school physics. The concept's own names stand as `[PHENOMENON]` and
//! whatever would give it away without understanding (a discoverer, an instrument named after it) as
//! `[MASK]`, as in Yu et al. 2025, §3.2.1. `names` are the words that mask a concept wherever a model
//! writes about it: a star at the end stands for any ending, so that inflections are covered.

/// One concept in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// As the paper prints it, and as it stands among the options.
    pub concept: &'static str,
    /// Words and phrases that name it; `gravit*` is every word that begins so.
    pub names: &'static [&'static str],
    /// Words and phrases that give it away without naming it, masked apart.
    pub giveaways: &'static [&'static str],
    /// Two or more definitions, masked.
    pub definitions: &'static [&'static str],
}

/// The entry of a concept.
pub fn entry(concept: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|e| e.concept == concept)
}

/// Every concept, in the order of the paper's Tables 6, 7 and 8.
pub static ENTRIES: &[Entry] = &[
    // Table 6: core, development.
    Entry {
        concept: "atmospheric pressure",
        names: &["atmospher*", "pressur*", "barometric"],
        giveaways: &[
            "barometer*",
            "Torricelli*",
            "Guericke*",
            "Magdeburg*",
            "pascal*",
        ],
        definitions: &[
            "The weight of the air above us bears on every face of a body from all sides. This [PHENOMENON] comes to about ten newtons on each square centimetre at sea level and becomes less with height.",
            "A full glass covered with a card stays full when it is turned upside down, and two hollow half-spheres pumped empty, those of [MASK], cannot be pulled apart by horses: both are due to [PHENOMENON].",
        ],
    },
    Entry {
        concept: "energy conservation",
        names: &["energ*", "conserv*", "first law of thermodynamics"],
        giveaways: &["Joule*", "Helmholtz*", "Mayer"],
        definitions: &[
            "In a closed system the total capacity to do work stays the same. It can go from one form into another, from height into speed and from speed into warmth, but none is made and none is lost: that is [PHENOMENON].",
            "By [PHENOMENON], a pendulum without losses rises on the far side exactly as high as where it was let go, and a falling stone gains in speed what it gives up in height.",
        ],
    },
    Entry {
        concept: "elastic force",
        names: &["elastic*", "forc*", "spring constant", "restoring"],
        giveaways: &["Hooke*"],
        definitions: &[
            "[PHENOMENON] is the pull or push with which a stretched or shortened spring tries to regain its natural length. Up to a limit it is proportional to the change of length.",
            "A bent ruler or a drawn rubber band pushes back by [PHENOMENON], which is gone as soon as the body has its first shape again; the law for it bears the name of [MASK].",
        ],
    },
    Entry {
        concept: "friction",
        names: &["friction*", "traction"],
        giveaways: &["Coulomb*", "Amontons"],
        definitions: &[
            "[PHENOMENON] acts between two bodies in contact and opposes their sliding past each other. It depends on how rough they are and on how hard they are pressed together.",
            "Because of [PHENOMENON], a crate that slides over a floor comes to rest, brakes stop a wheel, and hands rubbed together get warm.",
        ],
    },
    Entry {
        concept: "photoelectric effect",
        names: &["photoelectr*", "photo-electr*", "photoemission", "effect*"],
        giveaways: &["Einstein*", "Hertz", "photon*"],
        definitions: &[
            "When rays of high enough frequency fall on a metal, electrons leave it at once; below a threshold none leave, however bright the rays are. This is [PHENOMENON], explained by [MASK] with packets of a fixed size.",
            "In [PHENOMENON], the speed of the freed electrons depends on the colour that falls on the plate and not on its brightness, which only sets how many are freed.",
        ],
    },
    Entry {
        concept: "heat conduction",
        names: &["heat*", "conduct*"],
        giveaways: &["Fourier*"],
        definitions: &[
            "[PHENOMENON] carries warmth through a body from its hot end to its cold end without any matter going along: faster particles pass their jostling on to their neighbours.",
            "The handle of a metal spoon in hot tea gets hot by [PHENOMENON]. Copper is good at it, wood and wool are bad at it.",
        ],
    },
    Entry {
        concept: "doppler effect",
        names: &["doppler*", "effect*", "redshift*", "blueshift*"],
        giveaways: &["Christian", "Buys Ballot", "radar"],
        definitions: &[
            "[PHENOMENON] is the change of the frequency that an observer receives when source and observer come nearer to or go away from each other: higher on approach, lower on departure.",
            "The siren of an ambulance drops in pitch as it passes by, and the lines of galaxies that fly away from us are shifted to the red: both show [PHENOMENON].",
        ],
    },
    Entry {
        concept: "electromagnetic wave",
        names: &["electromagnet*", "wave*", "radiation", "EM"],
        giveaways: &["Maxwell*", "Hertz", "radio", "photon*"],
        definitions: &[
            "[PHENOMENON] consists of an electric and a magnetic field that swing at right angles to each other and to the direction of travel. It needs no medium and covers about 300,000 kilometres in a second.",
            "What a broadcasting mast sends out, what a remote control sends out and X-rays are all [PHENOMENON], predicted by [MASK]. They differ only in the distance from crest to crest.",
        ],
    },
    Entry {
        concept: "melting",
        names: &["melt*", "molten", "fusion", "thaw*", "liquef*"],
        giveaways: &["latent heat"],
        definitions: &[
            "[PHENOMENON] is the change of a solid into a liquid when it takes up warmth. For a pure substance the temperature does not rise until all of the solid has changed.",
            "By [PHENOMENON], an ice cube in a warm room loses its shape and becomes a puddle, and solder under a hot iron begins to flow.",
        ],
    },
    Entry {
        concept: "vaporization",
        names: &["vapor*", "vapour*", "evaporat*", "boil*"],
        giveaways: &["latent heat", "steam"],
        definitions: &[
            "[PHENOMENON] is the change of a liquid into a gas. It takes up warmth, and happens quietly from the top at any temperature or in bubbles throughout at one fixed temperature.",
            "Laundry dries and a puddle disappears in the sun by [PHENOMENON]; a kettle at 100 degrees shows the violent form of it.",
        ],
    },
    Entry {
        concept: "fluid pressure",
        names: &["fluid*", "pressur*", "hydrostatic*"],
        giveaways: &["Pascal*", "hydraulic*"],
        definitions: &[
            "Every point within a liquid at rest is pressed equally from all directions, and the more strongly the deeper it lies, whatever the shape of the tank: this is [PHENOMENON].",
            "[PHENOMENON] makes a jet from a lower hole of a full can leave faster than one from a higher hole, and makes a diver's ears ache with depth.",
        ],
    },
    Entry {
        concept: "thermal expansion and contraction",
        names: &["therm*", "expan*", "contract*", "shrink*"],
        giveaways: &["bimetal*"],
        definitions: &[
            "Most bodies take up more room when they are warmed and less when they are cooled. This change of length or volume with temperature, the mass staying the same, is [PHENOMENON].",
            "Gaps between the rails of a track, the rising column of a [MASK], and a ball that passes through a ring when cold but not when hot all show [PHENOMENON].",
        ],
    },
    Entry {
        concept: "Brownian motion",
        names: &["Brown*", "motion*", "random walk*"],
        giveaways: &["Einstein*", "Perrin*", "Robert"],
        definitions: &[
            "[PHENOMENON] is the endless irregular jittering of tiny grains that hang in a liquid or a gas, caused by unequal knocks from the unseen molecules around them.",
            "Specks from pollen, watched in a drop under a microscope by the botanist [MASK], wander in zigzag paths that never settle. This [PHENOMENON] became evidence for atoms.",
        ],
    },
    Entry {
        concept: "splashing",
        names: &["splash*", "spatter*"],
        giveaways: &[],
        definitions: &[
            "[PHENOMENON] happens when a body hits a liquid fast: a crown of droplets is thrown up and out and falls back in arcs.",
            "A boy who jumps into a pool sends drops flying to all sides; in this [PHENOMENON] their number and height grow with the speed of the impact.",
        ],
    },
    Entry {
        concept: "oscillation",
        names: &["oscillat*", "vibrat*", "periodic motion"],
        giveaways: &["pendulum*", "harmonic"],
        definitions: &[
            "[PHENOMENON] is a to-and-fro change that repeats itself about a point of rest; its period is the time of one full cycle.",
            "A child on a playground swing left to itself and a mass hung on a spring carry out [PHENOMENON]: they pass the point of rest at the greatest speed and turn round at two ends.",
        ],
    },
    Entry {
        concept: "relativity",
        names: &[
            "relativ*",
            "time dilation",
            "length contraction",
            "spacetime",
        ],
        giveaways: &["Einstein*", "Lorentz*"],
        definitions: &[
            "According to [PHENOMENON], by [MASK], time and length depend on who measures them: fast clocks tick slowly and fast rods are short, while a ray in empty space has the same speed for everybody.",
            "[PHENOMENON] also says that mass bends space and time, so that starlight is turned aside as it passes the sun and clocks run slower near a heavy body.",
        ],
    },
    Entry {
        concept: "lighting",
        names: &["light*", "illuminat*", "lit"],
        giveaways: &["bulb*"],
        definitions: &[
            "[PHENOMENON] is what a lamp does to a dark room: rays leave the source in straight lines, make bright whatever they reach, and leave shadows behind whatever stands in their way.",
            "With [PHENOMENON] of a street, a wall near the lamp is brighter than one far from it, because the same rays spread over an area that grows with the square of the distance.",
        ],
    },
    Entry {
        concept: "lifting",
        names: &["lift*", "hoist*", "raising", "raise*"],
        giveaways: &["crane*"],
        definitions: &[
            "[PHENOMENON] brings a body to a greater height by an upward pull or push that is no less than its weight; the work done is weight times height.",
            "A [MASK] with a container and a porter who takes a box from the floor to a shelf are both engaged in [PHENOMENON]: the load ends higher than it began.",
        ],
    },
    Entry {
        concept: "force composition",
        names: &["forc*", "compos*", "resultant*", "vector addition"],
        giveaways: &["parallelogram*"],
        definitions: &[
            "Two pushes that act on one point can be replaced by a single one that does the same: the diagonal of the [MASK] that they span. This is [PHENOMENON].",
            "By [PHENOMENON], a barge towed by two ropes at an angle goes along neither rope but in a direction between them, and two equal and opposite pulls cancel.",
        ],
    },
    Entry {
        concept: "pulley",
        names: &["pulley*", "block and tackle", "sheave*"],
        giveaways: &["Archimedes"],
        definitions: &[
            "[PHENOMENON] is a wheel with a groove for a rope. Fixed to a beam it only reverses the direction of a pull; hung on the rope with the load, it halves the pull while twice the rope has to be drawn in.",
            "At a well, one draws a rope downward and the bucket comes up on the other side of a wheel: the wheel is [PHENOMENON]. Several of them in one tackle make heavy loads easy.",
        ],
    },
    Entry {
        concept: "inclined plane",
        names: &["inclin*", "plane*", "ramp*", "slope*", "slant*"],
        giveaways: &["Galileo*"],
        definitions: &[
            "[PHENOMENON] is one of the simple machines: a flat board set at an angle to the ground, along which a load is brought up with a smaller push over a longer way.",
            "Barrels are rolled onto a cart over a tilted board, and a screw is the same thing wound round a rod: both make use of [PHENOMENON].",
        ],
    },
    Entry {
        concept: "Bernoulli effect",
        names: &["Bernoulli*", "effect*", "Venturi*"],
        giveaways: &["Daniel"],
        definitions: &[
            "Where a stream flows faster, it bears less on its sides: this [PHENOMENON] makes the narrow part of a pipe suck and keeps a ball hovering in a jet of air.",
            "[PHENOMENON] draws two sheets of paper together when someone blows between them, and lowers the push on the upper side of a wing, over which the air flows faster.",
        ],
    },
    Entry {
        concept: "fictitious force",
        names: &[
            "fictitious*",
            "forc*",
            "centrifug*",
            "Coriolis*",
            "pseudo*",
            "inertial",
        ],
        giveaways: &["d'Alembert*"],
        definitions: &[
            "[PHENOMENON] seems to act on bodies seen from a system that speeds up or turns. No other body exerts it, and for an observer at rest outside it does not exist.",
            "Passengers feel pressed outward in a bend and backward when the bus starts. Seen from the bus this is [PHENOMENON]; seen from the road, their bodies only go on as before.",
        ],
    },
    Entry {
        concept: "siphon",
        names: &["siphon*", "syphon*"],
        giveaways: &[],
        definitions: &[
            "[PHENOMENON] is a bent tube that carries a liquid over an edge higher than its level and down to a lower one without a pump, once the tube has been filled.",
            "An aquarium is emptied with [PHENOMENON]: a hose leads up over the rim and ends lower outside; the flow stops when air gets in or when both levels are equal.",
        ],
    },
    Entry {
        concept: "resonance",
        names: &["reson*", "natural frequency"],
        giveaways: &["Tacoma"],
        definitions: &[
            "[PHENOMENON] is the growth of a swing to a large extent when something that can swing is driven in step with its own rhythm.",
            "A wine glass may break when a singer hits its own note, and a tuning fork wakes its twin across the room: both are cases of [PHENOMENON].",
        ],
    },
    // Table 7: core, test.
    Entry {
        concept: "reference frame",
        names: &["referenc*", "frame*", "coordinate system*"],
        giveaways: &["Galileo*", "Galilean"],
        definitions: &[
            "[PHENOMENON] is the body or the set of axes, taken as fixed, against which place and speed are described. The same event gets other numbers when another one is chosen.",
            "A passenger sits still as seen from the train and goes by at 100 kilometres an hour as seen from the platform: whether something is at rest depends on [PHENOMENON].",
        ],
    },
    Entry {
        concept: "gravity",
        names: &["gravit*"],
        giveaways: &["Newton*", "Einstein*", "Cavendish*"],
        definitions: &[
            "[PHENOMENON] draws all bodies that have mass towards each other, the more the greater the masses and the less the farther apart they are.",
            "An apple that drops from a tree and the moon on its path round the earth obey the same [PHENOMENON], as [MASK] saw.",
        ],
    },
    Entry {
        concept: "reflection",
        names: &["reflect*"],
        giveaways: &["mirror*", "echo*"],
        definitions: &[
            "[PHENOMENON] is the turning back of a ray at a boundary; the angles to the perpendicular are equal before and after.",
            "A shout that comes back from a cliff, a billiard ball that leaves the cushion at the angle at which it came, and the sun glinting on a pond are cases of [PHENOMENON].",
        ],
    },
    Entry {
        concept: "refraction",
        names: &["refract*"],
        giveaways: &["Snell*", "lens*", "prism*"],
        definitions: &[
            "[PHENOMENON] is the bending of a ray when it passes at an angle from one transparent substance into another in which its speed is different.",
            "A straw in a glass of lemonade looks broken and a pool looks shallower than it is because of [PHENOMENON], whose law bears the name of [MASK].",
        ],
    },
    Entry {
        concept: "light imaging",
        names: &["light*", "imag*"],
        giveaways: &["pinhole*", "camera*", "lens*"],
        definitions: &[
            "In [PHENOMENON], rays from every point of an object pass a small hole and fall on one spot each of a screen, so that a likeness of the object appears there upside down.",
            "The eye relies on [PHENOMENON], and so does a dark box with a tiny hole, the [MASK]: the farther the back wall is from the hole, the larger the inverted likeness on it.",
        ],
    },
    Entry {
        concept: "communicating vessels",
        names: &["communicat*", "vessel*", "connected container*"],
        giveaways: &["Pascal*"],
        definitions: &[
            "[PHENOMENON] are containers open at the top and joined below. Whatever their shapes, a liquid at rest in them stands at the same height in all.",
            "The spout of a teapot has to reach as high as its lid, and builders use a filled hose to find points of equal height: both rest on the law of [PHENOMENON].",
        ],
    },
    Entry {
        concept: "cut",
        names: &["cut*", "slic*", "sever*"],
        giveaways: &["knife", "knives", "scissors", "saw"],
        definitions: &[
            "[PHENOMENON] divides one body into separate pieces along a line, by a thin edge that presses on a very small area.",
            "What [MASK] do to a sheet of paper is [PHENOMENON]: nothing is added or lost, and the pieces fit together along one line.",
        ],
    },
    Entry {
        concept: "laser",
        names: &["laser*"],
        giveaways: &["stimulated emission", "Maiman"],
        definitions: &[
            "[PHENOMENON] sends out a thin straight beam of a single colour, all of it in step, made by [MASK] between two facing end plates.",
            "The pointer of a lecturer, the reader of a compact disc and the scanner of a till use [PHENOMENON], whose beam hardly widens over a great distance.",
        ],
    },
    Entry {
        concept: "surface tension",
        names: &["surfac*", "tension*"],
        giveaways: &["water strider*", "meniscus"],
        definitions: &[
            "[PHENOMENON] makes the skin of a liquid behave like a stretched sheet that becomes as small as it can, because molecules at the top are pulled inward by their neighbours.",
            "Drops are round, a needle can rest on a pond and insects can walk on it because of [PHENOMENON]; soap makes it weaker.",
        ],
    },
    Entry {
        concept: "move",
        names: &["mov*", "motion*", "displac*", "translat*"],
        giveaways: &[],
        definitions: &[
            "To [PHENOMENON] is to change place as time goes on, while size and shape stay the same.",
            "A tram between two stops and a chess rook between two squares [PHENOMENON]: all their points go the same way by the same amount.",
        ],
    },
    Entry {
        concept: "buoyancy",
        names: &["buoyan*", "float*", "upthrust"],
        giveaways: &["Archimedes*", "Eureka"],
        definitions: &[
            "[PHENOMENON] is the upward push of a liquid or gas on a body in it, equal to the weight of the liquid or gas that the body takes the place of, as [MASK] found in his bath.",
            "Because of [PHENOMENON], wood comes to the top of a pond and stays there, iron does so only when it is shaped as a ship, and a balloon full of helium goes up.",
        ],
    },
    Entry {
        concept: "acceleration",
        names: &["accelerat*", "decelerat*"],
        giveaways: &["Newton*", "Galileo*"],
        definitions: &[
            "[PHENOMENON] is the rate at which velocity changes with time, in size or in direction; its unit is the metre per second per second.",
            "A car that leaves a crossing covers more ground in each second than in the one before: it shows [PHENOMENON].",
        ],
    },
    Entry {
        concept: "inertia",
        names: &["inertia*"],
        giveaways: &["Newton*", "Galileo*", "first law of motion"],
        definitions: &[
            "[PHENOMENON] is the tendency of a body to stay at rest or to go on straight at the same speed while nothing acts on it. It is the greater, the greater the mass.",
            "When a tablecloth is snatched away, the plates stay where they are because of [PHENOMENON]; the law that says so is the first of the three by [MASK].",
        ],
    },
    Entry {
        concept: "electricity",
        names: &["electr*", "current*"],
        giveaways: &["Franklin*", "Volta*", "Ohm*", "Faraday*"],
        definitions: &[
            "[PHENOMENON] is the presence and flow of charge: in a closed circuit it goes through the wire from one pole of the battery to the other and makes a bulb glow.",
            "A rubbed comb picks up bits of paper and a switch makes a motor run: both come from [PHENOMENON], which is measured in amperes and volts.",
        ],
    },
    Entry {
        concept: "repulsive force",
        names: &["repuls*", "repel*", "forc*"],
        giveaways: &["Coulomb*"],
        definitions: &[
            "[PHENOMENON] drives two bodies apart along the line between them, as it does with two like charges or two like poles.",
            "Two balloons that were both rubbed with wool hang away from each other on their threads because of [PHENOMENON], which becomes weaker as they part.",
        ],
    },
    Entry {
        concept: "wave",
        names: &["wave*", "undulat*"],
        giveaways: &["wavelength*"],
        definitions: &[
            "[PHENOMENON] is a disturbance that travels through a medium without carrying the medium along; it has crests and troughs that follow one another at a fixed distance.",
            "A rope shaken at one end shows [PHENOMENON]: each bit of it only goes up and down, while the hump runs to the other end.",
        ],
    },
    Entry {
        concept: "lever",
        names: &["lever*"],
        giveaways: &["Archimedes*", "fulcrum*", "seesaw*"],
        definitions: &[
            "[PHENOMENON] is a rigid bar that can turn about a pivot. It is in balance when push times arm is the same on both sides.",
            "With a crowbar, a small push on the far arm holds a heavy load on the near one. Such is [PHENOMENON], and [MASK] wanted to shift the earth with one.",
        ],
    },
    Entry {
        concept: "optical filters",
        names: &["optic*", "filter*"],
        giveaways: &["polariz*"],
        definitions: &[
            "[PHENOMENON] let some colours pass and hold the others back, so that what comes out has only a part of the colours that went in.",
            "Behind red glass a green leaf looks black. [PHENOMENON] of coloured glass or gelatine in front of a lamp choose which part of the rainbow gets through.",
        ],
    },
    Entry {
        concept: "compression",
        names: &["compress*", "squeez*"],
        giveaways: &["piston*"],
        definitions: &[
            "[PHENOMENON] makes a body smaller by pushing on it from outside, so that the same amount of matter fills less room and is denser.",
            "Air in a bicycle pump whose outlet is held shut takes less room when the handle is pushed in; the amount of air stays the same. This is [PHENOMENON].",
        ],
    },
    Entry {
        concept: "diffuse reflection of light",
        names: &["diffus*", "reflect*", "light*", "scatter*"],
        giveaways: &["Lambert*", "matte"],
        definitions: &[
            "When parallel rays meet a rough wall, each goes back by the law of equal angles at its own bit of wall, so that together they leave in all directions: this is [PHENOMENON].",
            "Because of [PHENOMENON], a sheet of writing paper looks equally bright from every side and has no glare, while a polished plate has.",
        ],
    },
    Entry {
        concept: "wave interference",
        names: &["wave*", "interfer*", "superpos*"],
        giveaways: &["Young*", "double slit", "double-slit"],
        definitions: &[
            "Where two trains of crests and troughs meet, they add up: crest on crest gives double height, crest on trough gives nothing. This is [PHENOMENON].",
            "The coloured bands of a soap film and the bright and dark stripes behind two narrow slits, first shown by [MASK], come from [PHENOMENON].",
        ],
    },
    Entry {
        concept: "diffusion",
        names: &["diffus*"],
        giveaways: &["Fick*"],
        definitions: &[
            "[PHENOMENON] is the spreading of a substance from where there is much of it to where there is little, by the random jostling of its particles alone, until it is even everywhere.",
            "Perfume from an open bottle fills a still room, and a drop of ink colours a whole glass that nobody stirs: this is [PHENOMENON].",
        ],
    },
    Entry {
        concept: "vortex",
        names: &["vortex*", "vortic*", "whirl*", "swirl*"],
        giveaways: &["tornado*", "eddy", "eddies"],
        definitions: &[
            "[PHENOMENON] is a region of a liquid or gas that turns about an axis, faster towards the middle, and takes along in circles whatever drifts in it.",
            "A bath that runs empty through its drain and the curls behind an oar show [PHENOMENON].",
        ],
    },
    Entry {
        concept: "expansion",
        names: &["expan*", "dilat*"],
        giveaways: &[],
        definitions: &[
            "[PHENOMENON] is the growth of a body or a gas into a larger volume, while the amount of matter is the same and the density falls.",
            "When the piston of a cylinder is drawn out, the gas within follows and fills all of the new room; this is [PHENOMENON], and it cools the gas.",
        ],
    },
    Entry {
        concept: "nuclear fission",
        names: &["nucle*", "fission*", "split*"],
        giveaways: &["uranium", "plutonium", "Meitner", "Hahn", "reactor*"],
        definitions: &[
            "In [PHENOMENON] the core of a heavy atom takes up a neutron and breaks into two smaller cores, setting free two or three neutrons, which can do the same to others.",
            "Power stations that run on [MASK] make use of [PHENOMENON]: a heavy core breaks in two, and the neutrons that come out keep the chain going.",
        ],
    },
    Entry {
        concept: "nuclear fusion",
        names: &["nucle*", "fusion*", "fuse*", "fusing"],
        giveaways: &["tokamak*", "thermonuclear"],
        definitions: &[
            "In [PHENOMENON] two small cores of atoms come so close that they join into one bigger core, whose mass is a little less than that of the two.",
            "The sun shines by [PHENOMENON]: at millions of degrees, cores of [MASK] join to form helium.",
        ],
    },
    Entry {
        concept: "diffraction of waves",
        names: &["diffract*", "wave*"],
        giveaways: &["Huygens*", "Fresnel*"],
        definitions: &[
            "[PHENOMENON] is the spreading of a train of crests behind a gap or round an edge, into the region where straight rays would leave a shadow; it is strongest when the gap is about as wide as two crests are apart.",
            "Someone behind a corner is heard but not seen, and swell that comes through a narrow harbour mouth fans out in half circles: both are [PHENOMENON].",
        ],
    },
    // Table 8: further concepts of the associative set.
    Entry {
        concept: "mirror",
        names: &["mirror*", "looking glass"],
        giveaways: &["reflect*"],
        definitions: &[
            "[PHENOMENON] is a smooth polished plate that shows everything before it at the same distance behind it, with near and far exchanged.",
            "[PHENOMENON] hangs above the basin in a bathroom: whoever raises the right hand sees a figure raise the hand on the same side, as far behind the glass as he stands before it.",
        ],
    },
    Entry {
        concept: "zoom in",
        names: &["zoom*", "magnif*", "enlarg*"],
        giveaways: &["telephoto"],
        definitions: &[
            "To [PHENOMENON] is to let a part of the scene fill the whole view: what is seen gets larger in the same proportions, and less of the surroundings is shown.",
            "A photographer who turns the ring of the objective to pick a single face out of a crowd is about to [PHENOMENON]; a reader of a digital map does so by spreading two fingers.",
        ],
    },
    Entry {
        concept: "magnet",
        names: &["magnet*"],
        giveaways: &["compass*", "lodestone*"],
        definitions: &[
            "[PHENOMENON] has a north and a south pole and draws iron to itself from a distance. Of two of them, unlike poles draw together and like poles drive apart.",
            "[PHENOMENON] holds notes on the door of a refrigerator, and a small one on a pivot, the [MASK], points north.",
        ],
    },
    Entry {
        concept: "explosion",
        names: &["explo*", "detonat*", "blast*", "burst*"],
        giveaways: &["bomb*", "dynamite"],
        definitions: &[
            "[PHENOMENON] is a very fast release of hot gas that drives matter outward to all sides from one point, with a bang.",
            "Fireworks at their highest point show [PHENOMENON]: within a fraction of a second the pieces fly apart from the centre in every direction.",
        ],
    },
    Entry {
        concept: "rotation",
        names: &["rotat*", "spin*", "revolv*", "revolution*"],
        giveaways: &[],
        definitions: &[
            "[PHENOMENON] is turning about an axis or a point: every part keeps its distance from the axis, and all of them sweep the same angle in the same time.",
            "The hands of a clock, a wheel on its axle and the earth once a day carry out [PHENOMENON].",
        ],
    },
    Entry {
        concept: "water ripples",
        names: &["water*", "rippl*"],
        giveaways: &["wave*"],
        definitions: &[
            "[PHENOMENON] are the rings that run outward on a pond from where a pebble fell in, each growing wider while its height falls.",
            "Rain on a still lake makes [PHENOMENON]: round each drop circles with one centre run out at the same speed in all directions and cross one another unharmed.",
        ],
    },
    Entry {
        concept: "long exposure",
        names: &["long*", "expos*"],
        giveaways: &["shutter*"],
        definitions: &[
            "[PHENOMENON] means that a camera goes on taking in rays for seconds or minutes, so that whatever changes place leaves its whole trail in one picture.",
            "In a photograph taken with [PHENOMENON], the lamps of cars at night become unbroken lines and the stars draw arcs, while buildings stay sharp.",
        ],
    },
    Entry {
        concept: "wetting",
        names: &["wet*", "moist*"],
        giveaways: &["hydrophil*", "contact angle"],
        definitions: &[
            "[PHENOMENON] is the spreading of a liquid over a solid that it touches, because it clings to the solid more than to itself.",
            "A drop runs out flat on clean glass but stands as a bead on a waxed bonnet: on the glass there is [PHENOMENON], on the wax there is none.",
        ],
    },
    Entry {
        concept: "zoom out",
        names: &["zoom*", "reduc*"],
        giveaways: &["wide-angle"],
        definitions: &[
            "To [PHENOMENON] is to take in a wider view: everything seen gets smaller in the same proportions, and more of the surroundings comes into the picture.",
            "A reader of a digital map pinches two fingers together to [PHENOMENON], and sees the whole country instead of one street.",
        ],
    },
    Entry {
        concept: "projection",
        names: &["project*"],
        giveaways: &["shadow*", "slide*"],
        definitions: &[
            "[PHENOMENON] throws the outline of a body along straight rays onto a wall or floor, so that a solid thing is shown as a flat one.",
            "A hand held before a lamp leaves its outline on the wall, and an architect draws a house as seen straight from above: both are [PHENOMENON].",
        ],
    },
    Entry {
        concept: "polarization of light",
        names: &["polari*", "light*"],
        giveaways: &["Malus*", "Brewster*"],
        definitions: &[
            "[PHENOMENON] means that the swinging of the transverse field in a beam is kept to one direction across the beam, for example by a sheet that lets only that direction pass.",
            "Two pieces of the same grey film let a beam through when their axes agree and stop it when they are crossed; this [PHENOMENON] is used in sunglasses against glare.",
        ],
    },
    Entry {
        concept: "chemical bond",
        names: &["chemic*", "bond*", "covalen*", "ionic"],
        giveaways: &["Pauling*", "Lewis"],
        definitions: &[
            "[PHENOMENON] holds atoms together in a molecule or crystal, by electrons that they share or that one of them has given to the other.",
            "Two atoms of hydrogen and one of oxygen stay together as one molecule through [PHENOMENON]; it takes work to undo it.",
        ],
    },
    Entry {
        concept: "squeeze",
        names: &["squeez*", "squash*", "compress*"],
        giveaways: &[],
        definitions: &[
            "To [PHENOMENON] a soft thing is to press it from two sides, so that it gets narrower there and gives way in the other directions.",
            "Toothpaste leaves its tube, and juice leaves an orange, when a hand begins to [PHENOMENON] them from both sides.",
        ],
    },
    Entry {
        concept: "lumination",
        names: &["lumin*", "illumin*", "light*", "glow*"],
        giveaways: &["bulb*"],
        definitions: &[
            "[PHENOMENON] is the giving off of brightness by a body itself, which can then be seen in the dark without any other source.",
            "A hot filament, a firefly and the sun are seen by their own [PHENOMENON]: they send out rays and make bright what is near them.",
        ],
    },
    Entry {
        concept: "vacuum",
        names: &["vacuum*", "vacua"],
        giveaways: &["Torricelli*", "Guericke*"],
        definitions: &[
            "[PHENOMENON] is a space from which all matter, even air, has been taken out, so that sound cannot pass through it and a feather falls in it as fast as a stone.",
            "Pumping a bell jar empty makes [PHENOMENON]: an alarm clock within falls silent, and whatever is outside presses to get in.",
        ],
    },
];
