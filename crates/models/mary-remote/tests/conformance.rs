//! Every wire format keeps the promises that every model makes, with and without faults.

use crate::room;

use mary_testkit::conformance::check;
use mary_testkit::faulty_server::{FaultyServer, Script};
use room::{open, settings};

#[test]
fn every_wire_format_keeps_the_promises_of_a_model() {
    for fault_rate in [0.0, 0.3] {
        for (model, path, args) in [
            ("openai/scripted", "/v1", vec![("logprobs", "none")]),
            ("anthropic/scripted", "/v1", vec![]),
            ("google/scripted", "/v1beta", vec![]),
            ("vllm/scripted", "/v1", vec![("bos", "<s>")]),
            ("compatible/scripted", "/v1", vec![]),
        ] {
            let server = FaultyServer::start(Script {
                fault_rate,
                ..Script::default()
            })
            .unwrap();
            let mut args = args;
            args.extend([("backoff_ms", "20"), ("timeout", "1")]);
            let opened = open(model, &settings(&server, path, &args));
            let broken = check(opened.as_ref());
            assert!(broken.is_empty(), "{model} at {fault_rate}: {broken:#?}");
        }
    }
}
