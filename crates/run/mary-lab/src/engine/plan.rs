//! The order in which requests go out.
//!
//! Requests that begin alike stand together, so that a local model's token trie and a provider's prefix cache
//! find the shared beginning while it is warm. Only the backend's tokenizer can build the trie itself.

use mary_contract::{Part, Request};

/// What a request begins with, as one text. Pictures count as opaque marks: what follows two is not shared.
pub fn beginning(request: &Request) -> String {
    let prompt = match request {
        Request::Generate(generate) => &generate.prompt,
        Request::Score(score) => &score.prefix,
        Request::Observe(observe) => return observe.text.clone(),
    };
    let mut text = prompt.system.clone().unwrap_or_default();
    for part in prompt.turns.iter().flat_map(|turn| &turn.parts) {
        match part {
            Part::Text(words) => text.push_str(words),
            Part::Image(image) => {
                text.push('\u{1}');
                text.push_str(blake3::hash(&image.data).to_hex().as_str());
            }
        }
    }
    if let Request::Score(score) = request
        && text.is_empty()
    {
        // Without a prefix the sharing is among the continuations themselves (minimal pairs).
        text.push_str(score.continuations.first().map_or("", String::as_str));
    }
    text
}

/// Indices of the requests in the order they should be asked: by beginning, stable.
pub fn order(requests: &[&Request]) -> Vec<usize> {
    let beginnings: Vec<String> = requests.iter().map(|r| beginning(r)).collect();
    let mut indices: Vec<usize> = (0..requests.len()).collect();
    indices.sort_by(|&a, &b| beginnings[a].cmp(&beginnings[b]));
    indices
}

/// Roughly how much memory a request holds, for keeping windows bounded.
pub fn weight(request: &Request) -> usize {
    let prompt = match request {
        Request::Generate(generate) => &generate.prompt,
        Request::Score(score) => {
            let continuations: usize = score.continuations.iter().map(String::len).sum();
            return 64 + continuations + prompt_weight(&score.prefix);
        }
        Request::Observe(observe) => return 64 + observe.text.len(),
    };
    64 + prompt_weight(prompt)
}

/// What a request costs: the text read, and forty characters' worth for each token that may be written.
pub fn cost(request: &Request) -> u64 {
    let written = match request {
        Request::Generate(generate) => 40 * u64::from(generate.sampling.max_tokens),
        Request::Score(_) | Request::Observe(_) => 0,
    };
    weight(request) as u64 + written
}

fn prompt_weight(prompt: &mary_contract::Prompt) -> usize {
    let parts = prompt.turns.iter().flat_map(|turn| &turn.parts);
    let turns: usize = parts
        .map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Image(image) => image.data.len(),
        })
        .sum();
    turns + prompt.system.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_contract::{Prompt, Score, Start};

    fn score(prefix: &str) -> Request {
        Request::Score(Score::new(
            Prompt::plain(prefix),
            vec!["A".into()],
            Start::Model,
        ))
    }

    /// Bytes of beginnings that an order makes a reader of the previous request read again, and those it does
    /// not.
    fn shared_bytes(requests: &[&Request], order: &[usize]) -> (usize, usize) {
        let (mut shared, mut total) = (0, 0);
        let mut previous = String::new();
        for &i in order {
            let text = beginning(requests[i]);
            let common = previous
                .bytes()
                .zip(text.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            shared += common;
            total += text.len();
            previous = text;
        }
        (shared, total)
    }

    proptest::proptest! {
        #[test]
        fn every_request_is_asked_once_and_no_order_shares_more(
            texts in proptest::collection::vec("[ab]{0,6}", 1..12), swap in 0usize..12
        ) {
            let requests: Vec<Request> = texts.iter().map(|t| score(t)).collect();
            let refs: Vec<&Request> = requests.iter().collect();
            let order = order(&refs);
            let mut seen = order.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..requests.len()).collect::<Vec<_>>());
            let mut other = order.clone();
            other.rotate_left(swap % requests.len());
            other.reverse();
            assert!(shared_bytes(&refs, &order).0 >= shared_bytes(&refs, &other).0);
        }
    }
}
