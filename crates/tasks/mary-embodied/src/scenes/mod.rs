//! `embodied/scenes`: easy questions about small pictures, for finding out whether a model sees at all.
//!
//! Colours, shapes, places, counts and lines in a grid, drawn from a seed; `mary grow --eyes` learns from
//! other pictures of the same kind. The same questions are asked with their own picture, with a blank one, with
//! another question's or with none: who does not look is right one time in four in each of them.

mod judge;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use mary_contract::{
    Ask, DataSource, ForPeople, Generate, Image, Item, Items, Judgement, Needs, PromptForm, Reply,
    Request, Sampling, Score, Scoring, Start, Target, Task, TaskCard, TaskError, TaskSettings,
    Ties,
};
use mary_generators::small_world::scenes::{KINDS, Posed, Scene, exam};
use mary_generators::{Packing, Picture};

use crate::cards::{FILE, card};
use crate::choice::with_picture;

/// Questions of a block, in which every answer is right equally often.
const BLOCK: usize = 16;

const LONGEST: u32 = 32;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("embodied/scenes"));

#[derive(Debug)]
pub struct Scenes;

pub static SCENES: Scenes = Scenes;

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum ShownPicture {
        Own = "own",
        Blank = "blank",
        Other = "other",
        None = "none",
    }
}

#[derive(Debug, Clone, Copy)]
struct Setup {
    shown: ShownPicture,
    written: bool,
    size: usize,
    n: usize,
    seed: u64,
    form: PromptForm,
}

impl Setup {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        let whole = BLOCK * KINDS.len();
        Ok(Self {
            shown: settings.choose(&CARD, "picture", &ShownPicture::ALL.map(|s| (s.name(), s)))?,
            written: settings.choose(&CARD, "mode", &[("score", false), ("generate", true)])?,
            size: settings.number(&CARD, "size", |n| (24..=1024).contains(&n))?,
            n: settings.number(&CARD, "n", |n: usize| n > 0 && n.is_multiple_of(whole))?,
            seed: settings.seed,
            form: settings.form,
        })
    }

    fn picture(&self, all: &[Posed], posed: &Posed) -> Result<Option<Image>, TaskError> {
        let scene: Scene = match self.shown {
            ShownPicture::None => return Ok(None),
            ShownPicture::Own => posed.scene.clone(),
            ShownPicture::Blank => posed.scene.blank(),
            ShownPicture::Other => match all.get(posed.other) {
                Some(other) => other.scene.clone(),
                None => return Err(TaskError::Generator("no other picture".into())),
            },
        };
        let (rgb, size) = (scene.rgb(self.size), self.size as u32);
        let picture = Picture::from_fn(size, size, |x, y| {
            let at = (y as usize * self.size + x as usize) * 3;
            [0, 1, 2].map(|colour| rgb.get(at + colour).copied().unwrap_or_default())
        });
        let data = picture
            .png(Packing::Filtered)
            .map_err(|e| TaskError::Generator(format!("a picture could not be written: {e}")))?;
        Ok(Some(Image {
            media_type: "image/png".into(),
            data,
        }))
    }

    fn item(&self, number: usize, all: &[Posed]) -> Result<Item, TaskError> {
        let Some(posed) = all.get(number) else {
            return Err(TaskError::Generator(format!("no question {number}")));
        };
        let question = &posed.question;
        let picture = self.picture(all, posed)?;
        let words = match self.form {
            PromptForm::Plain => question.prompt(),
            PromptForm::Chat => format!("{} Answer with these words alone.", question.text),
        };
        let prompt = with_picture(self.form, words, picture.as_ref());
        let before = match self.form {
            PromptForm::Plain => " ",
            PromptForm::Chat => "",
        };
        let answers = question.kind.answers();
        let ask = Ask::subject(match self.written {
            true => Request::Generate(Generate::new(prompt, Sampling::greedy(LONGEST))),
            false => Request::Score(Score::new(
                prompt,
                answers.map(|a| format!("{before}{a}")).to_vec(),
                Start::Model,
            )),
        });
        let target = Target::Choice {
            question: question.text.clone(),
            options: answers.map(str::to_owned).to_vec(),
            correct: question.answer,
        };
        let kind = question.kind.name();
        Ok(
            Item::new(format!("{}-{number:04}", self.seed), target, vec![ask])
                .in_stratum_of("kind", kind)
                .tagged("picture", self.shown.name()),
        )
    }
}

impl Task for Scenes {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told("Choose the right answer."))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let Ok(setup) = Setup::read(settings) else {
            return Needs::default();
        };
        Needs {
            score: !setup.written,
            generate: setup.written,
            images: setup.shown != ShownPicture::None,
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = Setup::read(settings)?;
        let all = Arc::new(exam(setup.seed, setup.n / BLOCK));
        Ok(Box::new(
            (0..setup.n).map(move |number| setup.item(number, &all)),
        ))
    }

    fn judge(&self, _settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge::judge(item, answers)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match Setup::read(settings) {
            Ok(setup) if !setup.written => Scoring::share(Ties::Shared),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = Setup::read(settings) else {
            return BTreeMap::new();
        };
        let computed = [
            ("longest", LONGEST.to_string()),
            ("n", setup.n.to_string()),
            ("size", setup.size.to_string()),
        ];
        FILE.conventions(&CARD, settings, &computed)
    }
}
