//! The language of `holds`: what a buffer must hold, as an expression.
//!
//! | form | the value, as its reader on one rank sees it |
//! |---|---|
//! | `x` | the reader's own input `x` |
//! | `x@A`, `x@rank1` | the input `x` of device A, of rank 1 of the world |
//! | `gather(E)` | E of every rank of the group, one after the other |
//! | `exchange(E)` | the reader's block of E of every rank, one after the other |
//! | `shard(E)`, `shard(E, 2)` | the reader's block of E, block 2 of E |
//! | `shard(E, shape = [4, 6], dim = 1)` | the same of a tensor along an axis |
//! | `shard(E, uneven = pad, value = 0)` | the same where the length does not divide |
//! | `pad(E, 8, 0)` | E and a constant behind it, 8 elements in all |
//! | `fill(0, f32, 8)` | a constant at every position |
//! | `sum(E)`, `prod(E)`, `max(E)`, `min(E)`, `avg(E)` | E of every rank of the group, folded |
//! | `premul(E, 0.5, 0.25)` | the sum of E, each rank's times its own scalar |
//! | `cast(E, bf16)` | E converted |
//! | `concat(E, F)` | E, then F |
//! | `E[0..4]` | positions 0, 1, 2, 3 of E |
//!
//! The group is the whole world unless `over NAME` follows. On a form that
//! involves no other rank (`cast`, `concat`, a slice), `over` goes to the nearest
//! form inside it that does and has none of its own; where there is no such form
//! it is an error. So `cast(sum(x), f32) over tp` is `cast(sum(x) over tp, f32)`.
//!
//! A name is bare if it starts with a letter or `_` and goes on with letters,
//! digits, `_`, `-` and `.`; any other is quoted, as in `x@"node1/cuda:0"`, with
//! `\"` and `\\` inside. After `@`, `rank` and digits are a rank; a device of such
//! a name is quoted.
//!
//! ```
//! use rankwise_plan::plan::Expr;
//!
//! let needed: Expr = "shard( sum(x) , 1)over tp".parse()?;
//! assert_eq!(needed.to_string(), "shard(sum(x), 1) over tp");
//! # Ok::<(), rankwise_plan::error::PlanError>(())
//! ```

mod cursor;
mod display;
mod parser;

pub(crate) use cursor::Origin;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use core::str::FromStr;

use crate::error::{Fault, PlanError, Span};
use crate::plan::Expr;
use cursor::Cursor;
use parser::Parser;

/// The word before a group.
const OVER: &str = "over";
/// The word before the digits of a rank.
const RANK: &str = "rank";
/// `gather(E)`.
const GATHER: &str = "gather";
/// `shard(E)`.
const SHARD: &str = "shard";
/// `cast(E, type)`.
const CAST: &str = "cast";
/// `concat(E, …)`.
const CONCAT: &str = "concat";
/// `exchange(E)`.
const EXCHANGE: &str = "exchange";
/// `pad(E, count, value)`.
const PAD: &str = "pad";
/// `fill(value, type, count)`.
const FILL: &str = "fill";
/// The named arguments of `shard`.
const SHAPE: &str = "shape";
const DIM: &str = "dim";
const UNEVEN: &str = "uneven";
const VALUE: &str = "value";

impl FromStr for Expr {
    type Err = PlanError;

    /// Reads an expression; spans are those in the text given.
    fn from_str(text: &str) -> Result<Self, PlanError> {
        parse(text, Origin::At(0)).map(|parsed| parsed.expr)
    }
}

/// An expression and every group that it names, in the order of the text.
pub(crate) struct Parsed {
    pub(crate) expr: Expr,
    pub(crate) groups: Vec<(String, Span)>,
}

/// Reads an expression that stands at `origin` of a plan.
pub(crate) fn parse(text: &str, origin: Origin) -> Result<Parsed, PlanError> {
    Parser::new(Cursor::new(text, origin)).whole()
}

/// Reads `a..b`, standing at `origin` of a plan.
pub(crate) fn positions(text: &str, origin: Origin) -> Result<Range<u64>, PlanError> {
    let mut cursor = Cursor::new(text, origin);
    let range = cursor.range()?;
    match cursor.peek() {
        None => Ok(range),
        Some(_) => Err(cursor.unexpected("the end, after the positions a..b")),
    }
}

/// Whether a name may stand unquoted.
fn is_bare(name: &str) -> bool {
    name != OVER
        && name.starts_with(starts_name)
        && name.chars().all(continues_name)
        && !name.contains("..")
        && !name.ends_with('.')
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The digits after `rank`, if the word is such a one.
fn rank_digits(word: &str) -> Option<&str> {
    let digits = word.strip_prefix(RANK)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

fn error(kind: Fault, span: Span, found: String, expected: &str) -> PlanError {
    PlanError { kind, span, path: String::new(), found, expected: String::from(expected) }
}
