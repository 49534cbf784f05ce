use super::*;

concept!(draws: larger, framed_part; reads: enlarged, only_the_framed);

// Recognised by the cells alone, without the code that draws it.

fn enlarged(look: &Look) -> bool {
    scaled(&look.input, &look.output, filled(look))
}

fn only_the_framed(look: &Look) -> bool {
    (1..10).any(|c| {
        look.had(c) >= 12 && look.has(c) > look.had(c) && view(&look.input, &look.output, c)
    })
}
