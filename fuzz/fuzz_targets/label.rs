//! Any text as a label: refused or read, and every reading can be asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_account::Label;

fuzz_target!(|text: &str| {
    if let Ok(label) = Label::parse(text) {
        for reading in label.readings() {
            assert!(!format!("{reading:?}").is_empty());
        }
    }
});
