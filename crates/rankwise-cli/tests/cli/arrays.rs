//! The example plan whose inputs are megabytes of real arrays.

use std::path::Path;

use super::{npy, rankwise, root};

#[path = "../../examples/make_arrays.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod make_arrays;

/// The plan and its arrays in a folder of their own.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make_arrays::write_arrays(&folder.path().join("arrays")).unwrap();
    let plan = "fsdp-arrays.toml";
    std::fs::copy(root().join("examples/plans").join(plan), folder.path().join(plan)).unwrap();
    folder
}

/// The elements of an array that `make_arrays` wrote, as they stand in the file.
fn elements(folder: &Path, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(folder.join("arrays").join(name)).unwrap();
    let data = &bytes[bytes.len() - 4 * 262_144..];
    let floats = data.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap()));
    floats.collect()
}

fn npy_f32(values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f4", values.len(), &data)
}

#[test]
fn real_arrays_are_read_shown_and_judged() {
    let folder = folder();
    let plan = folder.path().join("fsdp-arrays.toml").display().to_string();
    let total: u64 = std::fs::read_dir(folder.path().join("arrays"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!((4 << 20..8 << 20).contains(&total), "{total} bytes");

    let fsdp = format!("{plan}#fsdp");
    assert_eq!(rankwise(["check", &fsdp]).status, 0);
    assert_eq!(rankwise(["check", &format!("{plan}#unreduced")]).status, 1);

    let gradients: Vec<Vec<f32>> =
        (0..4).map(|rank| elements(folder.path(), &format!("gradient.rank{rank}.npy"))).collect();
    let parameters = elements(folder.path(), "parameters.safetensors");
    let sum = |position: usize| gradients.iter().map(|gradient| gradient[position]).sum::<f32>();

    // The first values of rank 1's shard, position 65536 of the sum.
    let data = &rankwise(["explain", &fsdp, "--json"]).envelope("explain")["data"];
    let shard = &data["proposals"][0]["steps"][1]["holds"][1]["runs"][0]["values"];
    for (offset, value) in shard.as_array().unwrap().iter().enumerate() {
        assert_eq!(value["value"].as_f64(), Some(f64::from(sum(65_536 + offset))));
    }

    let observed = folder.path().join("observed");
    std::fs::create_dir(&observed).unwrap();
    let whole = npy_f32(&parameters);
    for rank in 0..4 {
        let shard: Vec<f32> = (0..65_536).map(|offset| sum(rank * 65_536 + offset)).collect();
        std::fs::write(observed.join(format!("full_parameters.gpu{rank}.npy")), &whole).unwrap();
        std::fs::write(observed.join(format!("gradient_shard.gpu{rank}.npy")), npy_f32(&shard))
            .unwrap();
    }
    let judge = ["judge", &fsdp, "--observed", observed.to_str().unwrap()];
    let ran = rankwise(judge);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.says(&format!("{fsdp}: right, all 8 arrays"));
}
