//! Values from files: whoever reads them, what a plan accepts of them.

use std::collections::BTreeMap;

use rankwise_model::Dtype;
use rankwise_plan::error::{Fault, PlanError};
use rankwise_plan::file::Format;
use rankwise_plan::plan::{Counts, Plan};
use rankwise_plan::read::{ArrayError, ArrayRequest, Arrays};
use rankwise_plan::values::Values;

/// Arrays in memory, under the names a plan asks for, and what was asked.
#[derive(Default)]
struct Folder {
    arrays: BTreeMap<&'static str, Values>,
    asked: Vec<String>,
}

impl Arrays for Folder {
    fn array(&mut self, request: &ArrayRequest<'_>) -> Result<Values, ArrayError> {
        self.asked.push(format!(
            "{} {:?} {} {:?}",
            request.file, request.tensor, request.dtype, request.count
        ));
        self.arrays.get(request.file).cloned().ok_or_else(|| ArrayError {
            found: "no such file".into(),
            expected: "one that can be read".into(),
        })
    }
}

fn folder(arrays: impl IntoIterator<Item = (&'static str, Values)>) -> Folder {
    Folder { arrays: arrays.into_iter().collect(), asked: Vec::new() }
}

fn read(input: &str, folder: &mut Folder) -> Result<Plan, PlanError> {
    let text = format!("format = 1\ngroup.devices = [\"A\", \"B\"]\n[input.x]\n{input}\n");
    Plan::read(&text, Format::Toml, folder)
}

fn refused(input: &str, folder: &mut Folder) -> String {
    let error = read(input, folder).unwrap_err();
    assert_eq!(error.kind, Fault::Array);
    error.to_string()
}

fn integers(plan: &Plan) -> Vec<Vec<i128>> {
    let values = plan.inputs["x"].values.as_ref().unwrap();
    values.iter().map(|of| of.iter().map(|value| value.to_integer().unwrap()).collect()).collect()
}

#[test]
fn one_file_per_device_in_rank_order() {
    let mut folder =
        folder([("a.npy", Values::of(&[1_i32, 2])), ("b.safetensors", Values::of(&[10_i32, 20]))]);
    let input = r#"
        dtype = "i32"
        files.device = { B = "b.safetensors#layer.0", A = "a.npy" }
    "#;
    let plan = read(input, &mut folder).unwrap();
    assert_eq!(integers(&plan), [[1, 2], [10, 20]]);
    assert_eq!(plan.inputs["x"].counts, Counts::Each(2));
    let asked = ["a.npy None i32 None", "b.safetensors Some(\"layer.0\") i32 Some(2)"];
    assert_eq!(folder.asked, asked);
}

#[test]
fn one_file_in_blocks_or_whole() {
    let file = || folder([("x.npy", Values::of(&[1_i32, 2, 3, 4]))]);
    let blocks = "dtype = \"i32\"\nfile = \"x.npy\"\nslice = \"blocks\"";
    assert_eq!(integers(&read(blocks, &mut file()).unwrap()), [[1, 2], [3, 4]]);
    let whole = "dtype = \"i32\"\nfile = \"x.npy\"\nslice = \"whole\"\ncount = 4";
    assert_eq!(integers(&read(whole, &mut file()).unwrap()), [[1, 2, 3, 4], [1, 2, 3, 4]]);

    let mut stated = file();
    read(&format!("{blocks}\ncount = 2"), &mut stated).unwrap();
    assert_eq!(stated.asked, ["x.npy None i32 Some(4)"]);
}

#[test]
fn an_empty_file_is_two_empty_blocks() {
    let mut folder = folder([("x.npy", Values::of::<i32>(&[]))]);
    let plan = read("dtype = \"i32\"\nfile = \"x.npy\"\nslice = \"blocks\"", &mut folder).unwrap();
    assert_eq!((plan.inputs["x"].counts.each(), integers(&plan)), (Some(0), vec![vec![], vec![]]));
}

#[test]
fn arrays_that_do_not_fit_are_refused_with_both_numbers() {
    let mut files = folder([
        ("two.npy", Values::of(&[1_i32, 2])),
        ("three.npy", Values::of(&[1_i32, 2, 3])),
        ("float.npy", Values::of(&[1_f32, 2.0])),
    ]);
    assert_eq!(
        refused("dtype = \"i32\"\nfiles.rank = { 0 = \"two.npy\", 1 = \"three.npy\" }", &mut files),
        "input.x.files.rank.1: found 3 elements, expected 2 elements"
    );
    assert_eq!(
        refused("dtype = \"i32\"\nfile = \"float.npy\"\nslice = \"whole\"", &mut files),
        "input.x.file: found elements of f32, expected elements of i32"
    );
    assert_eq!(
        refused("dtype = \"i32\"\nfile = \"three.npy\"\nslice = \"blocks\"", &mut files),
        "input.x.file: found 3 elements, expected a number of elements that 2 divides"
    );
    assert_eq!(
        refused("dtype = \"i32\"\nfile = \"two.npy\"\nslice = \"blocks\"\ncount = 2", &mut files),
        "input.x.file: found 2 elements, expected 4 elements: 2 × 2"
    );
    assert_eq!(
        refused("dtype = \"i32\"\nfile = \"gone.npy\"\nslice = \"whole\"", &mut files),
        "input.x.file: found no such file, expected one that can be read"
    );
}

#[test]
fn no_file_is_asked_for_before_the_rest_is_right() {
    let mut folder = folder([("x.npy", Values::of(&[1_i32, 2]))]);
    let input = "dtype = \"i32\"\nfile = \"x.npy\"\nslice = \"whole\"\n[[need]]\non = \"nobody\"";
    assert_eq!(read(input, &mut folder).unwrap_err().path, "need[0].on");
    assert!(folder.asked.is_empty());
}

#[test]
fn every_type_is_cut_at_its_own_width() {
    for dtype in Dtype::ALL {
        let width = usize::try_from(dtype.bytes()).unwrap();
        let bytes: Vec<u8> = (0..=255).take(4 * width).collect();
        let values = Values::from_le_bytes(dtype, bytes.clone()).unwrap();
        let mut folder = folder([("x.npy", values)]);
        let input = format!("dtype = \"{dtype}\"\nfile = \"x.npy\"\nslice = \"blocks\"");
        let plan = read(&input, &mut folder).unwrap();
        let cut: Vec<&[u8]> =
            plan.inputs["x"].values.as_ref().unwrap().iter().map(Values::as_le_bytes).collect();
        assert_eq!(cut, bytes.chunks(2 * width).collect::<Vec<_>>());
    }
}
