//! The `holds` language, form by form.

use rankwise_model::{Dtype, Reduction};
use rankwise_plan::error::Span;
use rankwise_plan::plan::{At, Expr, ExprKind, Sharding};
use rstest::rstest;

fn read(text: &str) -> Expr {
    text.parse::<Expr>().unwrap().without_spans()
}

fn made(kind: ExprKind) -> Expr {
    Expr { kind, over: None, span: Span::default() }
}

fn boxed(kind: ExprKind) -> Box<Expr> {
    Box::new(made(kind))
}

fn input(name: &str) -> ExprKind {
    ExprKind::Input { name: name.into(), at: None }
}

fn over(expr: Expr, group: &str) -> Expr {
    Expr { over: Some(group.into()), ..expr }
}

#[test]
fn every_form() {
    assert_eq!(read("x"), made(input("x")));
    assert_eq!(read(" sum "), made(input("sum"))); // a form only before a parenthesis
    let at = |at| made(ExprKind::Input { name: "x".into(), at: Some(at) });
    assert_eq!(read("x@A"), at(At::Device("A".into())));
    assert_eq!(read("x @ \"rank1\""), at(At::Device("rank1".into())));
    assert_eq!(read("x@\"a \\\"b\\\\\""), at(At::Device("a \"b\\".into())));
    assert!(matches!(
        read("x@rank12").kind,
        ExprKind::Input { at: Some(At::Rank(rank)), .. } if rank.index() == 12
    ));
    assert_eq!(read("gather(x)"), made(ExprKind::Gather(boxed(input("x")))));
    assert_eq!(
        read("shard(x)"),
        made(ExprKind::Shard(boxed(input("x")), None, Sharding::default()))
    );
    assert_eq!(
        read("shard(x,3)"),
        made(ExprKind::Shard(boxed(input("x")), Some(3), Sharding::default()))
    );
    for reduction in
        [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min, Reduction::Avg]
    {
        let text = format!("{reduction}(x)");
        assert_eq!(read(&text), made(ExprKind::Reduce(reduction, boxed(input("x")))));
    }
    assert_eq!(
        read("premul(x, 0.5, -2e3)"),
        made(ExprKind::PreMul(boxed(input("x")), vec!["0.5".into(), "-2e3".into()]))
    );
    assert_eq!(read("cast(x, bf16)"), made(ExprKind::Cast(boxed(input("x")), Dtype::Bf16)));
    assert_eq!(
        read("concat(layer.0-grad, y)"),
        made(ExprKind::Concat(vec![made(input("layer.0-grad")), made(input("y"))]))
    );
    assert_eq!(read("x[1..3]"), made(ExprKind::Slice(boxed(input("x")), 1..3)));
    assert_eq!(
        read("x[0..4][1..2]"),
        made(ExprKind::Slice(boxed(ExprKind::Slice(boxed(input("x")), 0..4)), 1..2))
    );
}

/// `over` belongs to the form before it, or to the nearest inside that can take it.
#[rstest]
#[case("sum(x) over tp", "sum(x) over tp")]
#[case("shard(sum(x) over tp)", "shard(sum(x) over tp)")]
#[case("shard(sum(x)) over tp", "shard(sum(x)) over tp")]
#[case("shard(sum(x) over tp) over dp", "shard(sum(x) over tp) over dp")]
#[case("sum(x) over tp[0..2]", "sum(x) over tp[0..2]")]
#[case("sum(x)[0..2] over tp", "sum(x) over tp[0..2]")]
#[case("cast(sum(x), f32) over tp", "cast(sum(x) over tp, f32)")]
#[case("concat(sum(x), y, max(x)) over tp", "concat(sum(x) over tp, y, max(x) over tp)")]
#[case("concat(sum(x) over dp, max(x)) over tp", "concat(sum(x) over dp, max(x) over tp)")]
#[case("gather(x) over \"over\"", "gather(x) over \"over\"")]
fn over_goes_to_the_form_that_takes_it(#[case] written: &str, #[case] shown: &str) {
    assert_eq!(read(written).to_string(), shown);
    assert_eq!(read(shown), read(written));
}

#[test]
fn over_is_of_the_whole_fold() {
    let sum = made(ExprKind::Reduce(Reduction::Sum, boxed(input("x"))));
    assert_eq!(read("sum(x) over tp"), over(sum, "tp"));
}

#[rstest]
#[case("x over tp", "1:8", "`over tp` where nothing takes it")]
#[case("sum(x) over tp over dp", "1:21", "`over dp` where nothing takes it")]
#[case("cast(sum(x) over tp, f32) over dp", "1:32", "`over dp` where nothing takes it")]
#[case("over", "1:1", "\"over\"")]
#[case("x@", "1:3", "the end")]
#[case("x@rank4294967295", "1:3", "rank4294967295")]
#[case("x..y", "1:2", "\"..y\"")]
#[case("sum()", "1:5", "\")\"")]
#[case("sum(x, y)", "1:6", "\", y)\"")]
#[case("\"sum\"(x)", "1:6", "\"(x)\"")]
#[case("premul(x)", "1:9", "\")\"")]
#[case("premul(x, two)", "1:11", "\"two\"")]
#[case("shard(x, -1)", "1:10", "\"-1)\"")]
#[case("x@\"a\\n\"", "1:5", "a backslash")]
#[case("x\n  [3..1]", "2:4", "3..1")]
fn what_is_no_expression(#[case] text: &str, #[case] place: &str, #[case] found: &str) {
    let error = text.parse::<Expr>().unwrap_err();
    assert_eq!(error.span.place(text).to_string(), place);
    assert_eq!(error.found, found);
}
