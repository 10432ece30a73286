//! Whatever text is read, nothing panics; what is written reads back.

use proptest::prelude::*;
use rankwise_model::{Dtype, GroupSize, Reduction};
use rankwise_plan::error::{PlanError, Span};
use rankwise_plan::file::Format;
use rankwise_plan::plan::{At, Expr, ExprKind, Plan, Sharding, Uneven};
use rankwise_plan::read::NoArrays;
use rankwise_topology::World;

const TWO_RANKS: &str = include_str!("../../../examples/plans/two-ranks.toml");

/// An error points into its text and can be told.
fn check_place(error: &PlanError, text: &str) {
    assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?}");
    assert!(!error.span.place(text).to_string().is_empty());
    assert!(!error.to_string().is_empty());
}

fn check_any_text(text: &str) {
    for format in [Format::Toml, Format::Json] {
        if let Err(error) = Plan::read(text, format, &mut NoArrays) {
            check_place(&error, text);
        }
    }
    if let Err(error) = text.parse::<Expr>() {
        check_place(&error, text);
    }
}

/// Words of the format and its languages, in no sensible order.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "format",
        "group",
        "groups",
        "mesh",
        "input",
        "proposal",
        "need",
        "step",
        "devices",
        "ranks",
        "x",
        "y",
        "A",
        "0",
        "1",
        "-1",
        "18446744073709551616",
        "1e999",
        "nan",
        "0x1f",
        "= ",
        ".",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "\"\"\"",
        ":",
        "\n",
        " ",
        "\\",
        "\\u0000",
        "#",
        "true",
        "null",
        "2026-12-02",
        "\"i32\"",
        "\"sum(x)\"",
        "sum(",
        "gather(",
        "shard(",
        "concat(",
        "cast(",
        "premul(",
        "exchange(",
        "pad(",
        "fill(",
        "shape = [",
        "dim = ",
        "uneven = ",
        "value = ",
        "\"all_gather_v\"",
        "\"group\"",
        "\"shard\"",
        "\"y[0..2]\"",
        ")",
        "[0..4]",
        "..",
        "over",
        "@",
        "rank1",
        "é",
        "\u{1F980}",
        "call",
        "on",
        "holds",
        "buffer",
        "count",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

/// A right plan with one stretch replaced.
fn damaged() -> impl Strategy<Value = String> {
    (0..TWO_RANKS.len(), 0..12_usize, soup()).prop_map(|(start, length, words)| {
        let end = (start + length).min(TWO_RANKS.len());
        let boundary = |at: usize| (0..=at).rev().find(|at| TWO_RANKS.is_char_boundary(*at));
        let (start, end) = (boundary(start).unwrap(), boundary(end).unwrap());
        format!("{}{words}{}", &TWO_RANKS[..start], &TWO_RANKS[end..])
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_.-]{0,6}", "\\PC{1,8}", Just("over".into()), Just("rank1".into())]
}

fn number() -> impl Strategy<Value = String> {
    "-?[0-9]{1,3}(\\.[0-9]{1,3})?"
}

/// How a tensor is divided, said completely.
fn sharding() -> impl Strategy<Value = Sharding> {
    let shape = (prop::collection::vec(any::<u64>(), 1..4), any::<prop::sample::Index>())
        .prop_map(|(shape, dim)| (dim.index(shape.len()), Some(shape)));
    let shape = prop_oneof![Just((0, None)), shape];
    let uneven = prop_oneof![
        Just((None, None)),
        Just((Some(Uneven::Chunk), None)),
        Just((Some(Uneven::Balanced), None)),
        number().prop_map(|value| (Some(Uneven::Pad), Some(value))),
    ];
    (shape, uneven).prop_map(|((dim, shape), (uneven, value))| Sharding {
        shape,
        dim,
        uneven,
        value,
    })
}

fn expr() -> impl Strategy<Value = Expr> {
    let made = |kind| Expr { kind, over: None, span: Span::default() };
    let rank = |index| World::new(GroupSize::new(u32::MAX).unwrap()).rank(index).unwrap();
    let at = prop_oneof![
        name().prop_map(At::Device),
        (0..u32::MAX).prop_map(move |index| At::Rank(rank(index))),
    ];
    let input = (name(), prop::option::of(at))
        .prop_map(move |(name, at)| made(ExprKind::Input { name, at }));
    let fill = (number(), prop::sample::select(Dtype::ALL.to_vec()), any::<u64>())
        .prop_map(move |(value, dtype, count)| made(ExprKind::Fill(value, dtype, count)));
    prop_oneof![4 => input, 1 => fill].prop_recursive(5, 24, 3, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let over = prop::option::of(name());
        let plain: Vec<Reduction> =
            Reduction::ALL.into_iter().filter(|op| *op != Reduction::PreMulSum).collect();
        let grouped = prop_oneof![
            boxed.clone().prop_map(ExprKind::Gather),
            boxed.clone().prop_map(ExprKind::Exchange),
            (boxed.clone(), any::<Option<u32>>(), sharding())
                .prop_map(|(e, k, sharding)| ExprKind::Shard(e, k, sharding)),
            (prop::sample::select(plain), boxed.clone())
                .prop_map(|(op, e)| ExprKind::Reduce(op, e)),
            (boxed.clone(), prop::collection::vec(number(), 1..3))
                .prop_map(|(e, scalars)| ExprKind::PreMul(e, scalars)),
        ];
        let alone = prop_oneof![
            (boxed.clone(), prop::sample::select(Dtype::ALL.to_vec()))
                .prop_map(|(e, dtype)| ExprKind::Cast(e, dtype)),
            prop::collection::vec(inner, 1..3).prop_map(ExprKind::Concat),
            (boxed.clone(), any::<u64>(), number())
                .prop_map(|(e, count, value)| ExprKind::Pad(e, count, value)),
            (boxed, any::<u64>(), any::<u64>())
                .prop_map(|(e, a, b)| ExprKind::Slice(e, a.min(b)..a.max(b))),
        ];
        prop_oneof![
            (grouped, over).prop_map(|(kind, over)| Expr { kind, over, span: Span::default() }),
            alone.prop_map(made),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        check_any_text(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_any_text(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_mix_of_words_panics(text in soup()) {
        check_any_text(&text);
    }

    #[test]
    fn no_damaged_plan_panics(text in damaged()) {
        check_any_text(&text);
    }

    #[test]
    fn no_expression_in_a_plan_panics(words in soup()) {
        let text = TWO_RANKS.replace("sum(x)", &words.replace(['\n', '"'], " "));
        check_any_text(&text);
    }

    #[test]
    fn an_expression_reads_back(expr in expr()) {
        let text = expr.to_string();
        let read: Expr = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        prop_assert_eq!(read.without_spans(), expr, "{}", text);
    }
}
