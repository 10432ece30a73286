//! Any text as a label: refused or read, and every reading can be asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_account::Label;
use rankwise_account::label::Side;

fuzz_target!(|text: &str| {
    let label = match Label::parse(text) {
        Ok(label) => label,
        Err(error) => {
            assert!(error.at <= text.len() && text.is_char_boundary(error.at), "{error:?}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    // A label shows itself as a text that reads back as the same label.
    let shown = label.to_string();
    let again = Label::parse(&shown).expect(&shown);
    assert_eq!(shown, again.to_string());

    let readings: Vec<_> = label.readings().collect();
    for reading in &readings {
        // A figure is there for every possible reading, unless a part is missing.
        let figures = [
            reading.count(),
            reading.input_elements(),
            reading.input_bytes(),
            reading.output_elements(),
            reading.output_bytes(),
        ];
        for figure in figures {
            match figure {
                Ok(figure) => assert!(!figure.to_string().is_empty()),
                Err(impossible) => assert!(!impossible.to_string().is_empty()),
            }
        }
        for other in &readings {
            for side in [Side::Input, Side::Output] {
                let there = reading.factor(other, side);
                let back = other.factor(reading, side);
                assert_eq!(there.exponent(), -back.exponent(), "{shown}");
            }
        }
    }
    match label.settle() {
        Ok(settled) => assert!(readings.iter().any(|reading| {
            reading.operation() == settled.operation() && reading.possible().is_ok()
        })),
        Err(unsettled) => assert!(!unsettled.to_string().is_empty()),
    }
});
