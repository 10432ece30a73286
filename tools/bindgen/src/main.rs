//! Writes the declarations of `nccl-sys` from NCCL's header.
//!
//! `rankwise-bindgen NCCL_INCLUDE STAND_INS OUT` reads `nccl.h` in the first folder
//! and the few C and CUDA headers that it includes in the second, and writes
//! `types.rs`, `linked.rs` and `dynamic.rs`, unformatted, to the third. Nothing of
//! the machine's own headers is read, so the output is the same everywhere.
//!
//! It needs a libclang; `LIBCLANG_PATH` is the folder of one. `cargo xtask bindgen`
//! fetches both the header and a libclang, runs this, and formats what it wrote.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bindgen::{Builder, CodegenConfig, EnumVariation, Formatter, RustEdition, RustTarget, builder};

/// One generated file: what the generator adds to the options that all share.
struct Part {
    file: &'static str,
    /// The first lines, before anything else.
    opening: &'static [&'static str],
    options: fn(Builder) -> Builder,
}

const PARTS: [Part; 3] = [
    Part {
        file: "types.rs",
        opening: &["//! The types and constants of `nccl.h`, written by `cargo xtask bindgen`."],
        options: |builder| builder.with_codegen_config(CodegenConfig::TYPES | CodegenConfig::VARS),
    },
    Part {
        file: "linked.rs",
        opening: &[
            "//! The functions of `nccl.h`, linked; written by `cargo xtask bindgen`.",
            "use super::types::*;",
        ],
        options: |builder| builder.with_codegen_config(CodegenConfig::FUNCTIONS),
    },
    Part {
        file: "dynamic.rs",
        opening: &[
            "//! The functions of `nccl.h`, loaded; written by `cargo xtask bindgen`.",
            "use super::types::*;",
        ],
        options: |builder| {
            builder
                .with_codegen_config(CodegenConfig::FUNCTIONS)
                .dynamic_library_name("Nccl")
                // An older library lacks some functions; the others still work.
                .dynamic_link_require_all(false)
        },
    },
];

/// The options that all parts share.
fn shared(nccl_include: &Path, stand_ins: &Path) -> Builder {
    let include = |folder: &Path| format!("-I{}", folder.display());
    builder()
        .header(nccl_include.join("nccl.h").display().to_string())
        .clang_args(["-nostdinc", "--target=x86_64-unknown-linux-gnu"])
        .clang_args([include(stand_ins), include(nccl_include)])
        .use_core()
        .rust_target(RustTarget::stable(85, 0).unwrap_or_else(|_| RustTarget::default()))
        .rust_edition(RustEdition::Edition2024)
        // A newer library returns codes that this header has not heard of, and
        // `ncclRedOpCreatePreMulSum` makes operators that none has: in a Rust enum
        // they would be undefined behaviour.
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .prepend_enum_name(false)
        .allowlist_item("nccl.*|NCCL_.*|cudaStream_t|cudaEvent_t")
        // The profiling twins; and a macro for a braced list, of which only the
        // last number would be seen.
        .blocklist_item("pnccl.*|NCCL_.*INITIALIZER")
        // `NCCL_CONFIG_UNDEF_INT` is an expression.
        .clang_macro_fallback()
        .wrap_unsafe_ops(true)
        .layout_tests(true)
        .merge_extern_blocks(true)
        .sort_semantically(true)
        .disable_header_comment()
        .formatter(Formatter::None)
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [nccl_include, stand_ins, out] = arguments.as_slice() else {
        eprintln!("usage: rankwise-bindgen NCCL_INCLUDE STAND_INS OUT");
        return ExitCode::from(2);
    };
    for part in PARTS {
        let start = shared(nccl_include, stand_ins);
        let start = part.opening.iter().fold(start, |builder, line| builder.raw_line(*line));
        let written = (part.options)(start).generate().map_err(|error| error.to_string()).and_then(
            |bindings| {
                bindings.write_to_file(out.join(part.file)).map_err(|error| error.to_string())
            },
        );
        if let Err(error) = written {
            eprintln!("{}: {error}", part.file);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
