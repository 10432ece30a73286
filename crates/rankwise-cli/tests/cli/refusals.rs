//! Input that cannot be used: status 2, the place, what was found and expected, and
//! nothing on standard output.

use std::path::Path;

use rstest::rstest;
use serde::Deserialize;

use super::{Ran, npy, npy_i32, rankwise, root};

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

/// One wrong plan of the plan crate's, and what is said of it.
#[derive(Deserialize)]
struct Case {
    file: String,
    fault: String,
    place: String,
    path: String,
    found: String,
    expected: String,
}

#[test]
fn every_wrong_plan_is_refused_at_its_place() {
    let folder = root().join("crates/rankwise-plan/tests");
    let cases = std::fs::read_to_string(folder.join("bad_inputs.toml")).unwrap();
    let Cases { case: cases } = toml::from_str(&cases).unwrap();
    let mut seen = 0;
    for case in &cases {
        if case.fault == "array" {
            continue; // there without a reader of files; here see below
        }
        let file = folder.join("bad_inputs").join(&case.file);
        let ran = rankwise(["check".as_ref(), file.as_os_str()]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", case.file);
        let path = if case.path.is_empty() { String::new() } else { format!("{}: ", case.path) };
        let said = format!(
            "{}:{}: {path}found {}, expected {}\n",
            file.display(),
            case.place,
            case.found,
            case.expected
        );
        assert!(ran.stderr.starts_with(&said), "{}: {said}{}", case.file, ran.stderr);

        let ran = rankwise(["explain".as_ref(), file.as_os_str(), "--json".as_ref()]);
        let envelope = ran.envelope("explain");
        assert_eq!((ran.status, envelope["verdict"].as_str()), (2, Some("unusable")));
        let error = &envelope["data"]["error"];
        assert_eq!(format!("{}:{}", error["line"], error["column"]), case.place, "{}", case.file);
        let text = |key: &str| error[key].as_str().unwrap().to_owned();
        assert_eq!(
            [text("fault"), text("path"), text("found"), text("expected")],
            [&case.fault, &case.path, &case.found, &case.expected].map(Clone::clone),
        );
        seen += 1;
    }
    assert!(seen >= 100, "{seen} cases");
}

/// A folder with a plan of one input whose array is `array`.
fn with_array(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = name.split('#').next().unwrap();
    std::fs::write(folder.path().join(file), bytes).unwrap();
    let plan = format!(
        "format = 1\ngroup.ranks = 2\n[input.x]\ndtype = \"i32\"\ncount = 4\n\
         file = \"{name}\"\nslice = \"whole\"\n\
         [[proposal.p.step]]\ncall = \"all_gather\"\nsend = \"x\"\nrecv = \"y\"\n"
    );
    std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
    folder
}

fn check(folder: &Path) -> Ran {
    rankwise(["check".as_ref(), folder.join("plan.toml").as_os_str(), "--json".as_ref()])
}

#[track_caller]
fn refused(ran: &Ran, verb: &str) -> serde_json::Value {
    let envelope = ran.envelope(verb);
    assert_eq!((ran.status, envelope["verdict"].as_str()), (2, Some("unusable")));
    envelope["data"]["error"].clone()
}

#[test]
fn a_right_array_is_read() {
    let ran = check(with_array("x.npy", &npy_i32(&[1, 2, 3, 4])).path());
    assert_eq!(ran.status, 3, "{ran:?}"); // no need is stated
}

#[rstest]
#[case("x.npy", npy_i32(&[1, 2, 3]), "3 elements", "4")]
#[case("x.npy", npy("<f4", 4, &[0; 16]), "f32", "i32")]
#[case("x.npy", npy("<i2", 4, &[0; 8]), "x.npy: element type \"<i2\" (NCCL has no 16-bit integers)", "one of i8, u8, i32")]
#[case("x.npy", npy("<i4", 4, &[0; 15]), "x.npy: 15 bytes", "the 16 bytes that its header calls for")]
#[case("x.npy", npy("<i4", 4, &[0; 17]), "x.npy: 17 bytes", "the 16 bytes that its header calls for")]
#[case("x.npy", b"hello".to_vec(), "x.npy: no NumPy signature", "the bytes 93 4E 55 4D 50 59")]
#[case("x.npy#w", npy_i32(&[1, 2, 3, 4]), "x.npy: a tensor's name after an .npy file", "no name")]
#[case("x.npz", b"PK".to_vec(), "x.npz: a name that ends otherwise", "a name that ends in .npy or .safetensors")]
#[case("x.safetensors", tensors("I32", 16), "1", "")]
#[case("x.safetensors#v", tensors("I32", 16), "x.safetensors: no tensor \"v\"", "one of \"w\"")]
#[case(
    "x.safetensors#w",
    tensors("I16", 8),
    "x.safetensors: element type I16 (NCCL has no 16-bit integers)",
    "one of i8, u8, i32"
)]
#[case("x.safetensors#w", vec![1, 2, 3], "x.safetensors: 3 bytes", "the 8 bytes that its header calls for")]
fn arrays_that_do_not_fit_are_refused_with_both_sides(
    #[case] name: &str,
    #[case] bytes: Vec<u8>,
    #[case] found: &str,
    #[case] expected: &str,
) {
    let folder = with_array(name, &bytes);
    let ran = check(folder.path());
    if expected.is_empty() {
        assert_eq!(ran.status, 3, "{ran:?}"); // the only tensor need not be named
        return;
    }
    let error = refused(&ran, "check");
    assert_eq!(error["fault"], "array");
    assert_eq!((error["line"].as_u64(), error["column"].as_u64()), (Some(6), Some(8)));
    assert_eq!(error["path"], "input.x.file");
    let said = |key: &str| error[key].as_str().unwrap().to_owned();
    assert!(said("found").contains(found), "{error}");
    assert!(said("expected").contains(expected), "{error}");
}

/// A file with the one tensor `w` of four elements.
fn tensors(dtype: &str, bytes: usize) -> Vec<u8> {
    let header = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[4],"data_offsets":[0,{bytes}]}}}}"#);
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(vec![0; bytes]);
    file
}

#[test]
fn an_array_that_is_not_there_is_named() {
    let folder = with_array("x.npy", &[]);
    std::fs::remove_file(folder.path().join("x.npy")).unwrap();
    let error = refused(&check(folder.path()), "check");
    assert_eq!(error["found"], "x.npy: no such file");
    std::fs::create_dir(folder.path().join("x.npy")).unwrap();
    let error = refused(&check(folder.path()), "check");
    assert_eq!(error["found"], "x.npy: something that is not a regular file");
}

#[rstest]
#[case(&["check", "nowhere.toml"], "file", "no such file", "a readable plan (TOML or JSON)")]
#[case(&["check", "examples"], "file", "is a directory", "a readable plan (TOML or JSON)")]
#[case(&["check", "examples/plans/two-ranks.toml#halves"], "file", "no proposal \"halves\"", "one of whole, sharded, originals")]
#[case(&["compare", "examples/plans/two-ranks.toml", "nowhere.json"], "file", "no such file", "a readable plan (TOML or JSON)")]
#[case(&["compare", "examples/plans/first-shard-on-a.toml"], "file", "one proposal", "two proposals to compare")]
#[case(&["judge", "examples/plans/two-ranks.toml", "--observed", "docs"], "usage", "examples/plans/two-ranks.toml with 3 proposals", "PLAN#NAME with one of whole, sharded, originals")]
#[case(&["judge", "examples/plans/two-ranks.toml#whole", "--observed", "nowhere"], "file", "no such folder", "a readable folder of .npy or .safetensors files")]
#[case(&["relabel", "examples/plans/two-ranks.toml", "--devices", "B"], "usage", "--devices B", "1 devices for 2 ranks; name one per rank, rank 0 first")]
#[case(&["relabel", "examples/plans/two-ranks.toml", "--devices", "A,A"], "usage", "--devices A,A", "device `A` is not left to place; the plan has A, B")]
#[case(&["relabel", "examples/plans/two-ranks.toml", "--devices", "A,C"], "usage", "--devices A,C", "device `C` is not left to place; the plan has A, B")]
fn what_the_command_line_names_must_be_there(
    #[case] words: &[&str],
    #[case] fault: &str,
    #[case] found: &str,
    #[case] expected: &str,
) {
    let ran = rankwise(words.iter().chain(&["--json"]));
    let error = refused(&ran, words[0]);
    assert_eq!([&error["fault"], &error["found"], &error["expected"]], [fault, found, expected]);
    let ran = rankwise(words);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.ends_with(&format!("found {found}, expected {expected}\n")), "{ran:?}");
}

#[test]
fn a_plan_that_is_not_text_is_refused_at_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    std::fs::write(&plan, b"format = 1\ngroup.ranks = \xff2\n").unwrap();
    let error =
        refused(&rankwise(["check".as_ref(), plan.as_os_str(), "--json".as_ref()]), "check");
    assert_eq!((error["line"].as_u64(), error["column"].as_u64()), (Some(2), Some(15)));
    assert_eq!(error["found"], "the byte 0xff, which is not UTF-8");
}

/// Contradictions that show only when the steps are carried out.
#[rstest]
#[case(
    "call = \"reduce_scatter\"\nop = \"sum\"\nsend = \"x\"\nrecv = \"s\"\ncount = 4",
    "contradiction",
    11,
    9,
    "count 4"
)]
#[case(
    "call = \"reduce_scatter\"\nop = \"sum\"\nsend = \"x\"\nrecv = \"s\"\nover = [[0, 1, 2]]",
    "contradiction",
    6,
    1,
    "buffer `x` of 4 elements on rank 0"
)]
#[case(
    "call = \"all_gather\"\nsend = \"z\"\nrecv = \"y\"",
    "unknown_name",
    6,
    1,
    "buffer `z`, which rank 0 does not have at this step"
)]
fn contradictions_between_steps_are_refused_at_the_step(
    #[case] step: &str,
    #[case] fault: &str,
    #[case] line: u64,
    #[case] column: u64,
    #[case] found: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "format = 1\ngroup.ranks = 3\n[input.x]\ndtype = \"i32\"\ncount = 4\n[[proposal.p.step]]\n{step}\n"
    );
    std::fs::write(
        &plan,
        text.replace("ranks = 3", if step.contains("over") { "ranks = 3" } else { "ranks = 2" }),
    )
    .unwrap();
    let error =
        refused(&rankwise(["check".as_ref(), plan.as_os_str(), "--json".as_ref()]), "check");
    assert_eq!([&error["fault"], &error["found"]], [fault, found], "{error}");
    assert_eq!(
        (error["line"].as_u64(), error["column"].as_u64()),
        (Some(line), Some(column)),
        "{error}"
    );
}
