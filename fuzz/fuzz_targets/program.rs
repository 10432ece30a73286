//! Any text as rank programs: refused with a reason, or read; what was read is written
//! and read again as the same, and can be checked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rankwise_program::{Program, check};

fuzz_target!(|text: &str| {
    let program = match Program::from_json(text) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(Program::is_program(text));
    let written = program.to_json();
    let again = Program::from_json(&written).expect(&written);
    assert_eq!(written, again.to_json());

    // Larger worlds are no more interesting, only slower.
    if program.world.size().get() > 64 {
        return;
    }
    let findings = check(&program);
    for report in findings.reports.iter().map(|report| &**report).chain(&findings.order) {
        assert!(!report.to_string().is_empty());
    }
    for caveat in &findings.caveats {
        assert!(!caveat.to_string().is_empty());
    }
    assert!(findings.completed <= findings.completions.len() as u64);
    // The same is found of what was written.
    let second = check(&again);
    assert_eq!(findings.reports.len(), second.reports.len());
    assert_eq!(findings.order.len(), second.order.len());
});
