//! Writes the client and the server of the service in `src/main.rs`.

use tonic_build::manual::{Builder, Method, MethodBuilder, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> MethodBuilder {
    let builder = Method::builder().name(name).route_name(route);
    builder.input_type(input).output_type(output).codec_path("tonic_prost::ProstCodec")
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let count = method("count", "Count", "crate::Text", "crate::Total");
    let split = method("split", "Split", "crate::Recital", "crate::Text");
    let tally = method("tally", "Tally", "crate::Text", "crate::Total");
    let words = Service::builder()
        .package("words")
        .name("Words")
        .method(count.build())
        .method(split.server_streaming().build())
        .method(tally.client_streaming().server_streaming().build())
        .build();
    Builder::new().compile(&[words]);
}
