use super::*;

concept!(draws: smaller, wider_view; reads: reduced, framed_now);

fn smaller(s: &mut Setting, p: Pair) -> Option<Pair> {
    larger(s, p).map(Pair::reversed)
}

fn wider_view(s: &mut Setting, p: Pair) -> Option<Pair> {
    framed_part(s, p).map(Pair::reversed)
}

// Recognised by the cells alone, without the code that draws it.

fn reduced(look: &Look) -> bool {
    let (before, after) = filled(look);
    scaled(&look.output, &look.input, (after, before))
}

fn framed_now(look: &Look) -> bool {
    (1..10).any(|c| {
        look.has(c) >= 12 && look.had(c) > look.has(c) && view(&look.output, &look.input, c)
    })
}
