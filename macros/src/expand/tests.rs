//! The expansion, token by token. That it compiles and runs is for `macros/tests/ui.rs` and
//! `tests/it/macros/attributes.rs` of liten; what only tokens can show is here: where spans point, and
//! what is left of an item with mistakes.

use proc_macro2::{TokenStream, TokenTree};

use super::expand;
use crate::Entry;

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("source in a test is Rust")
}

fn main(args: &str, item: &str) -> TokenStream {
    expand(Entry::Main, tokens(args), tokens(item))
}

fn test(args: &str, item: &str) -> TokenStream {
    expand(Entry::Test, tokens(args), tokens(item))
}

/// The text without white space, which depends on how the tokens came to be.
fn text(stream: &TokenStream) -> String {
    stream.to_string().split_whitespace().collect()
}

#[track_caller]
fn assert_same(left: TokenStream, right: &str) {
    assert_eq!(text(&left), text(&tokens(right)));
}

/// How many mistakes are reported.
fn errors(expansion: TokenStream) -> usize {
    words(expansion).iter().filter(|(word, _, _)| word == "compile_error").count()
}

/// Every word and literal at any depth, with the line and column where its span begins.
fn words(stream: TokenStream) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for token in stream {
        match token {
            TokenTree::Group(group) => found.extend(words(group.stream())),
            TokenTree::Punct(_) => {}
            word => {
                let start = word.span().start();
                found.push((word.to_string(), start.line, start.column));
            }
        }
    }
    found
}

#[test]
fn main_builds_a_runtime_and_blocks_on_the_body() {
    assert_same(
        main("", "async fn main() { serve().await }"),
        "fn main() {
            return ({
                #[cfg(not(target_family = \"wasm\"))]
                {
                    ::liten::runtime::Builder::new_multi_thread()
                        .build()
                        .expect(\"the liten runtime could not be built\")
                }
                #[cfg(target_family = \"wasm\")]
                {
                    ::liten::runtime::Builder::new_current_thread()
                        .build_local()
                        .expect(\"the liten runtime could not be built\")
                }
            })
            .block_on(async move { if false { return; }; serve().await });
        }",
    );
}

/// That the compiler then says it: `.ci/wasi`.
#[test]
fn threads_that_are_asked_for_are_an_error_on_wasm() {
    let both = "flavor = \"multi_thread\", worker_threads = 2";
    for (expansion, option) in [
        (main("worker_threads = 2", "async fn main() {}"), "worker_threads"),
        (main("flavor = \"multi_thread\"", "async fn main() {}"), "flavor"),
        (main(both, "async fn main() {}"), "worker_threads"),
        (test(both, "async fn case() {}"), "worker_threads"),
    ] {
        let text = text(&expansion);
        let (before, message) = text.split_once("::core::compile_error").expect("there is one");
        assert_eq!(before, "#[cfg(target_family=\"wasm\")]");
        assert!(message.contains(&format!("`{option}`asksforthreads")), "{text}");
    }
    for args in ["", "flavor = \"current_thread\"", "name = \"n\", start_paused = true"] {
        assert_eq!(errors(main(args, "async fn main() {}")), 0, "{args}");
    }
}

#[test]
fn on_wasm_what_is_not_about_threads_reaches_the_builder_too() {
    let expansion = text(&main("name = \"n\", start_paused = true", "async fn main() {}"));
    let settings = ".thread_name(\"n\").start_paused(true)";
    for call in ["new_multi_thread()", "new_current_thread()"] {
        assert!(expansion.contains(&format!("{call}{settings}.build")), "{expansion}");
    }
}

#[test]
fn a_clock_that_stands_still_is_asked_of_the_builder() {
    for (value, call) in [("true", ".start_paused(true)"), ("false", ".start_paused(false)")] {
        let expansion = text(&main(&format!("start_paused = {value}"), "async fn main() {}"));
        assert!(expansion.contains(&format!("new_multi_thread(){call}.build()")), "{expansion}");
    }
    let mistake = test("start_paused = 1", "async fn case() {}");
    assert!(!text(&mistake).contains(".start_paused("));
    assert_eq!(errors(mistake), 1);
}

#[test]
fn test_is_a_test_on_one_thread() {
    assert_same(
        test("", "#[should_panic] async fn answers() -> Result<(), u8> { Ok(()) }"),
        "#[::core::prelude::v1::test]
        #[should_panic]
        fn answers() -> Result<(), u8> {
            return ::liten::runtime::Builder::new_current_thread()
                .build_local()
                .expect(\"the liten runtime could not be built\")
                .block_on(async move {
                    if false {
                        return ::core::option::Option::None::<Result<(), u8> >
                            .expect(\"unreachable\");
                    };
                    Ok(())
                });
        }",
    );
}

#[test]
fn options_reach_the_builder() {
    let expansion = main(
        "name = \"web\", crate = \"my::liten\", worker_threads = 4, flavor = \"multi_thread\",",
        "async fn main() {}",
    );
    let built = "my::liten::runtime::Builder::new_multi_thread()
        .worker_threads(4usize)
        .thread_name(\"web\")
        .build()
        .expect(\"the liten runtime could not be built\")";
    let expansion = text(&expansion);
    assert!(expansion.contains(&text(&tokens(built))), "{expansion}");
}

#[test]
fn the_rest_of_the_function_stays() {
    let expansion = main(
        "flavor = \"current_thread\"",
        "/// Says.
        #[inline]
        pub(in crate::a) async unsafe extern \"C\" fn f<'a, T: Copy, const N: usize>(mut a: &'a T)
            -> !
        where T: Send
        {
            #![allow(unused)]
            loop {}
        }",
    );
    assert_same(
        expansion,
        "/// Says.
        #[inline]
        pub(in crate::a) unsafe extern \"C\" fn f<'a, T: Copy, const N: usize>(mut a: &'a T) -> !
        where T: Send
        {
            #![allow(unused)]
            ::liten::runtime::Builder::new_current_thread()
                .build_local()
                .expect(\"the liten runtime could not be built\")
                .block_on(async move { loop {} })
        }",
    );
}

/// With a span of ours on any of these, the compiler would show the attribute in place of the wrong
/// expression.
#[test]
fn messages_about_the_body_point_into_the_body() {
    let source = "async fn main()
        -> Result<(), Wrong>
        {
            first;
            second(third)
        }";
    let found = words(main("", source));
    for (word, line, column) in [
        ("async", 1, 0),
        ("main", 1, 9),
        ("first", 4, 12),
        ("second", 5, 12),
        ("third", 5, 19),
        // The first thing after `if false` is the reason that a wrong type is shown: the return
        // type.
        ("return", 2, 11),
    ] {
        let wanted = (word.to_owned(), line, column);
        assert!(found.contains(&wanted), "{wanted:?} is not among {found:?}");
    }
}

/// An empty or unfinished body is reported as a whole, so its braces have to be those of the user.
#[test]
fn both_blocks_have_the_braces_of_the_body() {
    fn braces(stream: TokenStream, found: &mut Vec<(usize, usize)>) {
        for token in stream {
            if let TokenTree::Group(group) = token {
                let span = group.span();
                if span.start().line == 2 {
                    found.push((span.start().column, span.end().line));
                }
                braces(group.stream(), found);
            }
        }
    }
    let mut found = Vec::new();
    braces(main("", "async fn main() -> impl Sized\n{ one;\n two; }"), &mut found);
    assert_eq!(found, [(0, 3), (0, 3)]);
}

#[test]
fn a_type_that_cannot_be_written_inside_is_not() {
    for output in ["!", "impl Send", "Result<impl Send, ()>", "(u8, [impl Send; 2])"] {
        let expansion = main("", &format!("async fn f() -> {output} {{ body }}"));
        assert!(!expansion.to_string().contains("Option"), "{output}: {expansion}");
    }
}

#[test]
fn values_out_of_a_macro_variable_have_no_visible_brackets() {
    let value = proc_macro2::Group::new(proc_macro2::Delimiter::None, tokens("\"current_thread\""));
    let args = quote::quote!(flavor = #value);
    let expansion = expand(Entry::Main, args, tokens("async fn f() {}"));
    assert!(expansion.to_string().contains("build_local"), "{expansion}");
}

#[test]
fn an_item_with_mistakes_is_still_there() {
    let expansion = main(
        "flavor = 1, worker_threads = 0, nonsense, name = \"kept\"",
        "const async fn main(a: u8, (b, c): (u8, u8)) { body(a, b, c) }",
    );
    let text = text(&expansion);
    assert_eq!(errors(expansion), 5, "{text}");
    for part in
        ["fnmain()", "leta:u8=", "let(b,c):(u8,u8)=", "body(a,b,c)", "thread_name(\"kept\")"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("constfn"), "{text}");
}

#[test]
fn what_is_not_an_async_function_stays_as_it_is() {
    for item in ["struct S;", "fn main() { body }", "async fn method(&self);"] {
        let expansion = main("", item);
        assert!(text(&expansion).ends_with(&text(&tokens(item))), "{expansion}");
        assert_eq!(errors(expansion), 1, "{item}");
    }
}

/// A second `#[liten::test]` meets what the first has made. One error, and not about a missing
/// `async`.
#[test]
fn two_test_attributes_are_one_mistake() {
    let first = test("", "async fn answers() {}");
    let second = expand(Entry::Test, TokenStream::new(), first);
    assert!(second.to_string().contains("second test attribute"), "{second}");
    assert_eq!(errors(second), 1);

    for attribute in ["test", "core::prelude::v1::test", "::std::prelude::rust_2024::test"] {
        let expansion = test("", &format!("#[{attribute}] async fn answers() {{}}"));
        let attributes = words(expansion.clone()).iter().filter(|it| it.0 == "test").count();
        assert_eq!((attributes, errors(expansion)), (1, 1), "{attribute}");
    }
    for attribute in ["other::test", "test_case", "tests", "core::test::prelude::test"] {
        let expansion = test("", &format!("#[{attribute}] async fn answers() {{}}"));
        assert_eq!(errors(expansion), 0, "{attribute}");
    }
}
