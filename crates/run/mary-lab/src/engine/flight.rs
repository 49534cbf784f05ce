//! Items on their way: what was asked for them, what has come back, what is still awaited.

use ahash::AHashMap;
use mary_contract::{
    Ask, ErrorKind, Exchange, Item, Key, ModelError, ModelRole, Reply, Request, Ticket,
};

/// An item some of whose questions are not answered yet.
#[derive(Debug)]
pub struct Pending {
    /// The item, its questions moved to `asked`.
    pub item: Item,
    pub trial: u32,
    pub asked: Vec<(Key, Ask)>,
    /// Answers at the same places.
    pub answers: Vec<Option<Result<Reply, ModelError>>>,
    /// Rough size of its questions in bytes.
    pub weight: usize,
}

impl Pending {
    /// Whether everything asked so far is answered.
    pub fn is_answered(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    /// Places of the questions to ask, without scores that an earlier place waits for (two conventions, one
    /// token).
    pub fn open_places(&self) -> impl Iterator<Item = usize> + '_ {
        let waits = |place: &usize| self.answers.get(*place).is_some_and(Option::is_none);
        (0..self.asked.len()).filter(waits).filter(move |&place| {
            !(0..place).any(|other| waits(&other) && self.alike(other, place))
        })
    }

    /// Takes an answer in, for its place and for all that ask the same.
    pub fn answer(&mut self, place: usize, answer: Result<Reply, ModelError>) {
        let waits = |at: usize| self.answers.get(at).is_some_and(Option::is_none);
        let same = |at: &usize| *at != place && waits(*at) && self.alike(place, *at);
        let others: Vec<usize> = (0..self.asked.len()).filter(same).collect();
        for at in others {
            if let Some(empty) = self.answers.get_mut(at) {
                *empty = Some(answer.clone());
            }
        }
        if let Some(empty) = self.answers.get_mut(place) {
            *empty = Some(answer);
        }
    }

    /// Whether two places ask the same participant for the same score.
    fn alike(&self, one: usize, other: usize) -> bool {
        let (Some((key, ask)), Some((same, again))) = (self.asked.get(one), self.asked.get(other))
        else {
            return false;
        };
        matches!(ask.request, Request::Score(_)) && key == same && ask.role == again.role
    }

    /// The first error, if any question failed.
    pub fn error(&self) -> Option<&ModelError> {
        self.answers.iter().flatten().find_map(|a| a.as_ref().err())
    }

    /// The replies, once everything is answered without error.
    pub fn replies(&self) -> Vec<Reply> {
        self.answers
            .iter()
            .flatten()
            .filter_map(|a| a.as_ref().ok())
            .cloned()
            .collect()
    }

    /// Questions with their answers, for the log.
    pub fn into_exchanges(self) -> (Item, Vec<Exchange>) {
        let pairs = self.asked.into_iter().zip(self.answers);
        let exchanges = pairs
            .filter_map(|((key, ask), reply)| reply.map(|reply| Exchange { key, ask, reply }))
            .collect();
        (self.item, exchanges)
    }
}

#[derive(Debug, Default)]
pub struct Flight {
    pending: AHashMap<u64, Pending>,
    /// Ticket → item and place of the question.
    tickets: AHashMap<Ticket, (u64, usize)>,
    next_item: u64,
    next_ticket: u64,
    weight: usize,
}

impl Flight {
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Rough bytes held by their questions.
    pub fn weight(&self) -> usize {
        self.weight
    }

    pub fn admit(&mut self, pending: Pending) -> u64 {
        let slot = self.next_item;
        self.next_item += 1;
        self.weight += pending.weight;
        self.pending.insert(slot, pending);
        slot
    }

    pub fn get_mut(&mut self, slot: u64) -> Option<&mut Pending> {
        self.pending.get_mut(&slot)
    }

    pub fn get(&self, slot: u64) -> Option<&Pending> {
        self.pending.get(&slot)
    }

    pub fn land(&mut self, slot: u64) -> Option<Pending> {
        let pending = self.pending.remove(&slot)?;
        self.weight = self.weight.saturating_sub(pending.weight);
        Some(pending)
    }

    /// Puts an item back where it was, with more questions.
    pub fn restore(&mut self, slot: u64, pending: Pending) {
        self.weight += pending.weight;
        self.pending.insert(slot, pending);
    }

    pub fn peek(&self, ticket: Ticket) -> Option<&Ask> {
        let (slot, place) = self.tickets.get(&ticket)?;
        self.pending
            .get(slot)?
            .asked
            .get(*place)
            .map(|(_, ask)| ask)
    }

    /// After an interruption: items whose answers wait for the judge, in the order in which they were taken
    /// in, their open questions answered with that error.
    pub fn unjudged(&mut self) -> Vec<u64> {
        let message = "interrupted before the judge read the answer";
        let mut slots = Vec::new();
        for (slot, pending) in self.pending.iter_mut() {
            let open: Vec<usize> = pending.open_places().collect();
            let judged = |at: &usize| {
                let asked = pending.asked.get(*at);
                asked.is_some_and(|(_, ask)| ask.role == ModelRole::Judge)
            };
            if open.iter().any(judged) {
                for place in open {
                    let error = ModelError::new(ErrorKind::Interrupted, message);
                    pending.answer(place, Err(error));
                }
                slots.push(*slot);
            }
        }
        slots.sort_unstable();
        slots
    }

    /// A ticket for a question of an item.
    pub fn ticket(&mut self, slot: u64, place: usize) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, (slot, place));
        ticket
    }

    /// Where an answer belongs; a ticket is good once.
    pub fn redeem(&mut self, ticket: Ticket) -> Option<(u64, usize)> {
        self.tickets.remove(&ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{
        Generate, Prompt, Response, Sampling, Score, Scored, Start, Target, TaskCard,
    };

    fn pending(requests: Vec<(&str, Request)>) -> Pending {
        let card = TaskCard::new("f/t", "t", "t");
        let asked = requests.into_iter().map(|(fingerprint, request)| {
            let key = Key::of(fingerprint, &card, 0, &request).unwrap();
            (key, Ask::subject(request))
        });
        let asked: Vec<(Key, Ask)> = asked.collect();
        Pending {
            item: Item::new("1", Target::Text(String::new()), vec![]),
            trial: 0,
            answers: asked.iter().map(|_| None).collect(),
            asked,
            weight: 0,
        }
    }

    #[test]
    fn the_same_score_is_asked_once_and_answers_every_place() {
        let score =
            |start: Start| Request::Score(Score::new(Prompt::plain(""), vec!["a".into()], start));
        let (same, other) = (score(Start::Always), score(Start::Never));
        let mut item = pending(vec![("m", same.clone()), ("m", same), ("m", other)]);
        assert_eq!(item.open_places().collect::<Vec<_>>(), [0, 2]);
        let scored = Scored {
            continuations: vec![],
        };
        item.answer(0, Ok(Reply::bare(Response::Scored(scored))));
        assert_eq!(item.open_places().collect::<Vec<_>>(), [2]);
        assert_eq!(item.replies().len(), 2);
    }

    #[test]
    fn words_are_asked_for_as_often_as_the_task_says() {
        let generate = Request::Generate(Generate::new(Prompt::plain("a"), Sampling::greedy(1)));
        let item = pending(vec![("m", generate.clone()), ("m", generate)]);
        assert_eq!(item.open_places().collect::<Vec<_>>(), [0, 1]);
    }
}
