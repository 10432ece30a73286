//! Prints the JSON schema of plan files:
//! `cargo run -p rankwise-plan --example schema > docs/plan.schema.json`

use std::io::Write;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{:#}", rankwise_plan::schema::plan())
}
