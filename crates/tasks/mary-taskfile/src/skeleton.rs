//! A task file to begin with: what `mary tasks new` writes. Each kind is a whole task that runs as it
//! is, with its data beside it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skeleton {
    /// Two texts, of which the first should be the more probable.
    Pairs,
    Choice,
    Answer,
    Number,
    /// Answers that another model reads.
    Judge,
    /// Vectors of two texts against a number.
    Vectors,
}

/// The task file and its data, a JSONL file of this name.
pub fn skeleton(kind: Skeleton, data: &str) -> (String, &'static str) {
    let (request, judge, rows) = parts(kind);
    // A name with a quote or a backslash must stay one string.
    let data = data.replace('\\', "\\\\").replace('"', "\\\"");
    let file = format!(
        "# A task of one's own. docs/own-tasks.md explains every line.\n\
         #   mary tasks check FILE    shows three items and looks for shortcuts\n\
         #   mary run -m MODEL -t FILE\n\n\
         title = \"What it is called in tables\"\n\
         about = \"What it measures and why.\"\n\n\
         [data]\n\
         path = \"{data}\"\n\
         id = \"id\"\n\
         # strata = \"kind\"     # --limit keeps their shares\n\
         # tags = [\"kind\"]     # results are broken down by these\n\n\
         [request]\n{request}\n\
         [judge]\n{judge}\n\
         # human = 0.95        # what people score, where known\n\n\
         [people]\n\
         wording = \"How a person would be asked.\"\n"
    );
    (file, rows)
}

fn parts(kind: Skeleton) -> (&'static str, &'static str, &'static str) {
    match kind {
        Skeleton::Pairs => (
            "kind = \"score\"\ngood = \"{{ good }}\"\nbad = \"{{ bad }}\"\n",
            "kind = \"choice\"\n",
            "{\"id\": \"1\", \"good\": \"The dog runs.\", \"bad\": \"The dog run.\"}\n\
             {\"id\": \"2\", \"good\": \"The birds sing.\", \"bad\": \"The birds sings.\"}\n\
             {\"id\": \"3\", \"good\": \"The child plays.\", \"bad\": \"The child play.\"}\n\
             {\"id\": \"4\", \"good\": \"The boys see it.\", \"bad\": \"The boys sees it.\"}\n",
        ),
        Skeleton::Choice => (
            "kind = \"score\"\nprompt = \"{{ question }}\"\nchoices = \"{{ options }}\"\n\
             normalisation = \"byte\"\n",
            "kind = \"choice\"\nanswer = \"{{ answer }}\"\n",
            "{\"id\": \"1\", \"question\": \"The opposite of hot is\", \"options\": [\"cold\", \"green\"], \"answer\": \"cold\"}\n\
             {\"id\": \"2\", \"question\": \"The opposite of big is\", \"options\": [\"red\", \"small\"], \"answer\": \"small\"}\n\
             {\"id\": \"3\", \"question\": \"The opposite of wet is\", \"options\": [\"tall\", \"dry\"], \"answer\": \"dry\"}\n\
             {\"id\": \"4\", \"question\": \"The opposite of full is\", \"options\": [\"empty\", \"blue\"], \"answer\": \"empty\"}\n",
        ),
        Skeleton::Answer => (
            "kind = \"generate\"\nprompt = \"Question: {{ question }}\\nAnswer:\"\nstop = [\"\\n\"]\nmax_tokens = 16\n",
            "kind = \"exact\"        # or contains; or regex, with a pattern\nanswer = \"{{ answer }}\"\n",
            "{\"id\": \"1\", \"question\": \"Which animal barks?\", \"answer\": [\"dog\", \"a dog\", \"the dog\"]}\n\
             {\"id\": \"2\", \"question\": \"Which animal says meow?\", \"answer\": [\"cat\", \"a cat\", \"the cat\"]}\n",
        ),
        Skeleton::Number => (
            "kind = \"generate\"\nprompt = \"{{ question }}\\nAnswer:\"\nstop = [\"\\n\"]\nmax_tokens = 16\n",
            "kind = \"number\"\nanswer = \"{{ answer }}\"\n# tolerance = 0.5\n",
            "{\"id\": \"1\", \"question\": \"What is 3 + 4?\", \"answer\": 7}\n\
             {\"id\": \"2\", \"question\": \"What is 12 - 5?\", \"answer\": 7}\n",
        ),
        Skeleton::Judge => (
            "kind = \"generate\"\nprompt = \"{{ question }}\"\nmax_tokens = 80\n",
            "kind = \"model\"        # mary run --judge MODEL\nanswer = \"{{ cause }}\"\nrubric = \"\"\"\n\
             Somebody was asked: {{ question }}\nand answered: {{ response }}\n\
             Does the answer name this cause: {{ reference }}?\nSay YES or NO.\"\"\"\n",
            "{\"id\": \"1\", \"question\": \"Why does ice float?\", \"cause\": \"it is less dense than water\"}\n\
             {\"id\": \"2\", \"question\": \"Why is it dark at night?\", \"cause\": \"the Earth turns\"}\n",
        ),
        Skeleton::Vectors => (
            "kind = \"observe\"\ntexts = [\"{{ first }}\", \"{{ second }}\"]\npool = \"mean\"\nlayers = \"all\"\n",
            "kind = \"correlation\"\nwith = \"{{ rating }}\"\n",
            "{\"id\": \"1\", \"first\": \"dog\", \"second\": \"cat\", \"rating\": 7.0}\n\
             {\"id\": \"2\", \"first\": \"dog\", \"second\": \"garden\", \"rating\": 2.0}\n\
             {\"id\": \"3\", \"first\": \"boy\", \"second\": \"girl\", \"rating\": 8.0}\n\
             {\"id\": \"4\", \"first\": \"house\", \"second\": \"ball\", \"rating\": 1.5}\n",
        ),
    }
}
