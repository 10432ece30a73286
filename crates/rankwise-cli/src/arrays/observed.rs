//! The arrays that a run left: one per buffer and rank (or device), in one folder.

use std::path::{Path, PathBuf};

use super::{Array, ArrayFault, read};
use crate::unusable::Unusable;

/// A folder of arrays.
///
/// For buffer `y` on rank 0, which is device A, any one of `y.rank0.npy`, `y.A.npy`,
/// the tensor `y` in `rank0.safetensors`, or the tensor `y` in `A.safetensors`.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    folder: PathBuf,
    /// The names of its files, sorted.
    names: Vec<String>,
}

/// One array of the folder.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file's name within the folder, with the tensor's where it has one.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) array: Array,
}

impl Observed {
    /// Lists the folder.
    pub(crate) fn open(folder: &Path) -> Result<Self, Box<Unusable>> {
        let refuse = |error: std::io::Error| {
            let found = match error.kind() {
                std::io::ErrorKind::NotFound => "no such folder".into(),
                kind => kind.to_string(),
            };
            Unusable::file(folder, found, "a readable folder of .npy or .safetensors files")
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(refuse)? {
            // A name that is not UTF-8 is none that is looked for.
            if let Ok(name) = entry.map_err(refuse)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(Self { folder: folder.to_owned(), names })
    }

    /// The array of `buffer` on `rank`, which is `device`; `None` if the folder has none.
    pub(crate) fn array(
        &self,
        buffer: &str,
        rank: u32,
        device: Option<&str>,
    ) -> Result<Option<Found>, Box<Unusable>> {
        let mut found: Option<Found> = None;
        for (name, tensor) in candidates(buffer, rank, device) {
            if self.names.binary_search(&name).is_err() {
                continue;
            }
            let path = self.folder.join(&name);
            let array = match read(&path, tensor) {
                Ok(array) => array,
                Err(ArrayFault::NoTensor { .. }) => continue,
                Err(fault) => return Err(Unusable::array(&path, &fault)),
            };
            let name = match tensor {
                Some(tensor) => format!("{name}#{tensor}"),
                None => name,
            };
            if let Some(first) = &found {
                return Err(Unusable::file(
                    &self.folder,
                    format!("both {} and {name}", first.name),
                    format!("one array for buffer {buffer} of rank {rank}"),
                ));
            }
            found = Some(Found { name, array });
        }
        Ok(found)
    }

    /// Says that an array is needed and not there: what was looked for, what there is.
    pub(crate) fn missing(&self, buffer: &str, rank: u32, device: Option<&str>) -> Box<Unusable> {
        const SHOWN: usize = 8;
        let looked_for: Vec<String> = candidates(buffer, rank, device)
            .into_iter()
            .map(|(name, tensor)| match tensor {
                Some(tensor) => format!("{name} with a tensor {tensor}"),
                None => name,
            })
            .collect();
        let there = match self.names.split_at_checked(SHOWN) {
            Some((first, rest @ [_, ..])) => {
                format!("{} and {} more", first.join(", "), rest.len())
            }
            _ if self.names.is_empty() => "nothing".into(),
            _ => self.names.join(", "),
        };
        Unusable::file(
            &self.folder,
            format!("no array for buffer {buffer} of rank {rank}; the folder has {there}"),
            looked_for.join(" or "),
        )
    }
}

/// The files that may hold the array, with the tensor's name where they are of tensors.
fn candidates<'a>(
    buffer: &'a str,
    rank: u32,
    device: Option<&str>,
) -> Vec<(String, Option<&'a str>)> {
    // A device whose name is a path (`node0/gpu1`) can have no file of that name here.
    let device = device.filter(|device| !device.contains(['/', '\\']));
    let who = [Some(format!("rank{rank}")), device.map(str::to_owned)];
    let who: Vec<String> = who.into_iter().flatten().collect();
    let arrays = who.iter().map(|who| (format!("{buffer}.{who}.npy"), None));
    let tensors = who.iter().map(|who| (format!("{who}.safetensors"), Some(buffer)));
    arrays.chain(tensors).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version 1.0 `.npy` of bytes.
    fn npy(data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}\n", data.len());
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn tensors(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn first(found: Option<Found>) -> (String, u64) {
        let found = found.unwrap();
        (found.name, found.array.values.get(0).unwrap().bits())
    }

    #[test]
    fn each_of_the_four_names_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes);
        put("y.rank0.npy", npy(&[10])).unwrap();
        put("y.B.npy", npy(&[11])).unwrap();
        let header = r#"{"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
        put("rank2.safetensors", tensors(header, &[12])).unwrap();
        put("D.safetensors", tensors(header, &[13])).unwrap();

        let observed = Observed::open(folder.path()).unwrap();
        let find = |rank, device| first(observed.array("y", rank, Some(device)).unwrap());
        assert_eq!(find(0, "A"), ("y.rank0.npy".into(), 10));
        assert_eq!(find(1, "B"), ("y.B.npy".into(), 11));
        assert_eq!(find(2, "C"), ("rank2.safetensors#y".into(), 12));
        assert_eq!(find(3, "D"), ("D.safetensors#y".into(), 13));
        assert!(observed.array("y", 4, Some("E")).unwrap().is_none());
        assert!(observed.array("z", 2, Some("C")).unwrap().is_none());
    }

    #[test]
    fn two_arrays_for_one_place_are_a_contradiction() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["y.rank0.npy", "y.A.npy"] {
            std::fs::write(folder.path().join(name), npy(&[1])).unwrap();
        }
        let error = Observed::open(folder.path()).unwrap().array("y", 0, Some("A")).unwrap_err();
        assert_eq!(error.found, "both y.rank0.npy and y.A.npy");
    }

    #[test]
    fn what_is_missing_is_named_beside_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("y.rank1.npy"), npy(&[1])).unwrap();
        let error = Observed::open(folder.path()).unwrap().missing("y", 0, Some("A"));
        assert_eq!(error.found, "no array for buffer y of rank 0; the folder has y.rank1.npy");
        assert_eq!(
            error.expected,
            "y.rank0.npy or y.A.npy or rank0.safetensors with a tensor y or A.safetensors with a tensor y"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Observed::open(Path::new("nowhere/at/all")).unwrap_err();
        assert_eq!((error.fault, error.found.as_str()), ("file", "no such folder"));
    }
}
