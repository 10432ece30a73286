//! The infinities of e5m2, which no step and no conversion into fp8 keeps (AR-4, AR-12):
//! what is the same but for them is not claimed to be the same.

use rankwise_plan::need::NeedsAnswer;

use super::{SATISFIED, answer, text};

fn of(dtype: &str, need: &str, steps: &[&str]) -> (NeedsAnswer, Option<String>) {
    let input = format!("input.x = {{ dtype = {dtype:?}, count = 4 }}");
    let need = format!("[[need]]\non = \"every rank\"\nbuffer = \"y\"\nholds = {need:?}\n");
    answer(&format!("{}{need}", text(2, &input, steps)))
}

/// Infinity is 57344 when it comes back; e4m3 has none, and f16 keeps its own in f32.
#[test]
fn e5m2_does_not_come_back_from_a_wider_type() {
    for (dtype, wide) in [("f8e5m2", "f16"), ("f8e5m2", "bf16"), ("f8e5m2", "f32")] {
        assert_eq!(there_and_back(dtype, wide).0, NeedsAnswer::Unknown, "{dtype} {wide}");
    }
    for (dtype, wide) in [("f8e4m3", "f16"), ("f8e4m3", "f64"), ("f16", "f32"), ("f32", "f64")] {
        assert_eq!(there_and_back(dtype, wide), SATISFIED, "{dtype} {wide}");
    }
}

fn there_and_back(dtype: &str, wide: &str) -> (NeedsAnswer, Option<String>) {
    let there = format!("call = \"cast\", dtype = {wide:?}, send = \"x\", recv = \"a\"");
    let back = format!("call = \"cast\", dtype = {dtype:?}, send = \"a\", recv = \"y\"");
    of(dtype, "x", &[&there, &back])
}

/// max(∞, ∞) is 57344 in e5m2, and ∞ in f16.
#[test]
fn the_greatest_of_an_infinity_and_itself() {
    let itself = [r#"call = "fold", op = "max", send = ["x", "x"], recv = "y""#];
    assert_eq!(of("f8e5m2", "x", &itself).0, NeedsAnswer::Unknown);
    assert_eq!(of("f8e4m3", "x", &itself), SATISFIED);
    assert_eq!(of("f16", "x", &itself), SATISFIED);
}

/// What left a step is finite, and a repeated maximum changes nothing more.
#[test]
fn what_left_a_step_is_finite() {
    let twice = [
        r#"call = "all_reduce", op = "max", send = "x", recv = "a""#,
        r#"call = "all_reduce", op = "max", send = "a", recv = "y""#,
    ];
    assert_eq!(of("f8e5m2", "max(x)", &twice), SATISFIED);
    let summed = [
        r#"call = "all_reduce", op = "sum", send = "x", recv = "a""#,
        r#"call = "fold", op = "max", send = ["a", "a"], recv = "y""#,
    ];
    assert_eq!(of("f8e5m2", "sum(x)", &summed), SATISFIED);
    // One rank takes no step.
    let alone = [r#"call = "all_reduce", op = "max", over = [[0], [1]], send = "x", recv = "y""#];
    assert_eq!(of("f8e5m2", "x", &alone), SATISFIED);
}

/// Widened, folded and narrowed: 36 and 60, which e5m2 does not have, tell nothing apart.
#[test]
fn an_input_that_tells_two_terms_apart_is_of_its_type() {
    let wide = [
        r#"call = "cast", dtype = "f16", send = "x", recv = "a""#,
        r#"call = "all_reduce", op = "max", send = "a", recv = "b""#,
        r#"call = "cast", dtype = "f8e5m2", send = "b", recv = "y""#,
    ];
    assert_eq!(of("f8e5m2", "max(x)", &wide).0, NeedsAnswer::Unknown);
}
