//! Any text as a plan, by hand and by machine: refused with a place, or read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_plan::file::Format;
use rankwise_plan::plan::Plan;
use rankwise_plan::read::NoArrays;

fuzz_target!(|text: &str| {
    for format in [Format::Toml, Format::Json] {
        if let Err(error) = Plan::read(text, format, &mut NoArrays) {
            assert!(error.span.start <= error.span.end, "{error:?}");
            assert!(error.span.end <= text.len(), "{error:?}");
            let _ = error.span.place(text).to_string();
            assert!(!error.to_string().is_empty());
        }
    }
});
