//! The inputs: their shapes first, their values last.

mod values;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rankwise_model::Dtype;

use crate::error::{Fault, PlanError, Span};
use crate::file;
use crate::limits;
use crate::names;
use crate::plan::{Attachment, Counts, Input};
use crate::read::Declared;
use crate::read::arrays::Arrays;
use crate::read::group::Ranks;
use crate::read::spot::Spot;
use crate::words::{ATTACHMENTS, SLICINGS, Slicing};
use values::Contributions;

/// An input whose values are not read yet.
pub(super) struct Declaration<'f> {
    name: &'f str,
    span: Span,
    dtype: Dtype,
    counts: Option<Counts>,
    shape: Option<Vec<u64>>,
    meaning: Option<String>,
    attached: Attachment,
    source: Option<Source<'f>>,
}

/// Where the values are.
enum Source<'f> {
    /// In the plan, one list per rank, in rank order.
    Literals(Vec<(Spot, &'f [file::Spanned<file::Literal>])>),
    /// In one file per rank, in rank order.
    Files(Vec<(Spot, &'f str)>),
    /// In one file.
    File(Spot, &'f str, Slicing),
}

/// Everything about the inputs that needs no array.
pub(super) fn declarations<'f>(
    plan: &Spot,
    declared: &Declared<'f>,
) -> Result<Vec<Declaration<'f>>, PlanError> {
    let all = plan.key("input", plan.span);
    check_literals(&all, &declared.file.input, limits::LITERAL_ELEMENTS)?;
    let mut declarations = Vec::new();
    for (name, input) in declared.file.input.iter() {
        let named = all.key(&name.value, name.span);
        named.name(&name.value)?;
        if names::as_view(&name.value).is_some() {
            let found = names::quoted(&name.value);
            return Err(named.error(Fault::Value, found, "a name that is no part of a buffer"));
        }
        let spot = all.key(&name.value, input.span);
        declarations.push(declaration(
            &spot,
            &name.value,
            name.span,
            &input.value,
            &declared.ranks,
        )?);
    }
    Ok(declarations)
}

/// Refuses more than `most` elements written in one plan, where one too many is.
fn check_literals(
    all: &Spot,
    inputs: &file::Table<file::Input>,
    most: u64,
) -> Result<(), PlanError> {
    let mut elements = 0_u64;
    for (name, input) in inputs.iter() {
        let Some((spot, on)) =
            all.key(&name.value, input.span).given("on", input.value.on.as_ref())
        else {
            continue;
        };
        for table in [&on.device, &on.rank].into_iter().flatten() {
            for (_, list) in table.value.iter() {
                let more = u64::try_from(list.value.len()).unwrap_or(u64::MAX);
                elements = elements.saturating_add(more);
                if elements > most {
                    let found = format!("{elements} elements written in the plan");
                    let expected = format!("at most {most}; keep more in array files");
                    return Err(spot.moved(list.span).error(Fault::Limit, found, expected));
                }
            }
        }
    }
    Ok(())
}

/// The inputs with their values.
pub(super) fn read(
    declarations: Vec<Declaration<'_>>,
    ranks: &Ranks,
    arrays: &mut dyn Arrays,
) -> Result<BTreeMap<String, Input>, PlanError> {
    let mut inputs = BTreeMap::new();
    for declaration in declarations {
        let Declaration { name, span, dtype, counts, shape, meaning, attached, source } =
            declaration;
        let mut contributions = Contributions::new(dtype, counts);
        match source {
            None => {}
            Some(Source::Literals(lists)) => contributions.literals(&lists)?,
            Some(Source::Files(files)) => contributions.files(&files, arrays)?,
            Some(Source::File(spot, file, slicing)) => {
                contributions.file(&spot, file, slicing, ranks.size, arrays)?;
            }
        }
        let (counts, values, rounded) = contributions.finish();
        let name = String::from(name);
        let input = Input {
            name: name.clone(),
            dtype,
            counts,
            shape,
            meaning,
            attached,
            values,
            rounded,
            span,
        };
        inputs.insert(name, input);
    }
    Ok(inputs)
}

fn declaration<'f>(
    spot: &Spot,
    name: &'f str,
    span: Span,
    input: &'f file::Input,
    ranks: &Ranks,
) -> Result<Declaration<'f>, PlanError> {
    let (dtype_spot, dtype) = spot.needed("dtype", input.dtype.as_ref(), "the element type")?;
    let wrong = |expected| dtype_spot.error(Fault::Value, names::quoted(dtype), expected);
    let dtype = names::dtype(dtype).map_err(wrong)?;
    let (source, keyed_by) = source(spot, input, ranks)?;
    let attached = attachment(spot, input, keyed_by, ranks)?;
    let shape = shape(spot, input)?;
    let counts = counts(spot, input, dtype, shape.as_ref(), ranks)?;
    if counts.is_none() && source.is_none() {
        let expected = "the number of elements, as there are no values to count";
        let spot = spot.key("count", spot.span);
        return Err(spot.error(Fault::Missing, "no key count", expected));
    }
    let meaning = spot.given("meaning", input.meaning.as_ref()).map(|(_, meaning)| meaning.clone());
    let shape = shape.map(|(_, shape, _)| shape);
    Ok(Declaration { name, span, dtype, counts, shape, meaning, attached, source })
}

/// Where a shape stands, its axes, and their product.
type Shape = (Spot, Vec<u64>, u64);

fn shape(spot: &Spot, input: &file::Input) -> Result<Option<Shape>, PlanError> {
    let Some((spot, axes)) = spot.given("shape", input.shape.as_ref()) else { return Ok(None) };
    if axes.is_empty() {
        return Err(spot.error(Fault::Value, "no axes", "at least one"));
    }
    let axes: Vec<u64> = axes.iter().map(|axis| axis.value.get()).collect();
    let product = axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis));
    let count = product.ok_or_else(|| {
        let found = format!("a tensor of shape {axes:?}");
        spot.error(Fault::Overflow, found, "fewer than 2^64 elements")
    })?;
    Ok(Some((spot, axes, count)))
}

/// The elements on each rank, as `count`, `counts` or `shape` say.
fn counts(
    spot: &Spot,
    input: &file::Input,
    dtype: Dtype,
    shape: Option<&Shape>,
    ranks: &Ranks,
) -> Result<Option<Counts>, PlanError> {
    let each = spot.given("count", input.count.as_ref()).map(|(spot, count)| (spot, count.get()));
    let fits = |spot: &Spot, count: u64| match count.checked_mul(dtype.bytes()) {
        Some(_) => Ok(()),
        None => {
            let found = format!("{count} elements of {} bytes", dtype.bytes());
            Err(spot.error(Fault::Overflow, found, "fewer than 2^64 bytes"))
        }
    };
    if let Some((spot, count)) = &each {
        fits(spot, *count)?;
    }
    if let Some((spot, axes, product)) = shape {
        fits(spot, *product)?;
        if let Some((_, count)) = each.as_ref().filter(|(_, count)| count != product) {
            let found = format!("{product} elements in shape {axes:?}");
            return Err(spot.error(Fault::Contradiction, found, format!("{count}, the count")));
        }
    }
    let Some((spot, by_rank)) = spot.given("counts", input.counts.as_ref()) else {
        let count = each.map(|(_, count)| count).or(shape.map(|(_, _, product)| *product));
        return Ok(count.map(Counts::Each));
    };
    if each.is_some() || shape.is_some() {
        let expected = "either counts, or count and shape";
        return Err(spot.error(Fault::Contradiction, "counts beside another length", expected));
    }
    if u32::try_from(by_rank.len()) != Ok(ranks.size.get()) {
        let found = format!("{} for {} ranks", names::counted(by_rank.len(), "count"), ranks.size);
        return Err(spot.error(Fault::Contradiction, found, "one for each rank"));
    }
    for (spot, count) in spot.each(by_rank) {
        fits(&spot, count.get())?;
    }
    Ok(Some(Counts::ByRank(by_rank.iter().map(|count| count.value.get()).collect())))
}

/// Where the values are, and by what they are keyed, if by anything.
fn source<'f>(
    spot: &Spot,
    input: &'f file::Input,
    ranks: &Ranks,
) -> Result<(Option<Source<'f>>, Option<Attachment>), PlanError> {
    const EXPECTED: &str = "at most one of on, files, file";
    let on = spot.given("on", input.on.as_ref());
    let files = spot.given("files", input.files.as_ref());
    let file = spot.given("file", input.file.as_ref());
    if let (Some((spot, _)), None) = (spot.given("slice", input.slice.as_ref()), &file) {
        return Err(spot.error(Fault::Contradiction, "slice without file", "slice only with file"));
    }
    match (on, files, file) {
        (None, None, None) => Ok((None, None)),
        (Some((spot, on)), None, None) => {
            let PerRank { keyed_by, entries } = per_rank(&spot, on, ranks)?;
            let lists = entries.into_iter().map(|(spot, list)| (spot, list.as_slice())).collect();
            Ok((Some(Source::Literals(lists)), Some(keyed_by)))
        }
        (None, Some((spot, files)), None) => {
            let PerRank { keyed_by, entries } = per_rank(&spot, files, ranks)?;
            let files = entries.into_iter().map(|(spot, file)| (spot, file.as_str())).collect();
            Ok((Some(Source::Files(files)), Some(keyed_by)))
        }
        (None, None, Some((file_spot, file))) => {
            let words = SLICINGS.map(|(word, _)| word);
            let expected = format!("whose is what in the file: {}", words.join(" or "));
            let (spot, slice) = spot.needed("slice", input.slice.as_ref(), &expected)?;
            let slicing = spot.word(slice, &SLICINGS)?;
            Ok((Some(Source::File(file_spot, file, slicing)), None))
        }
        (Some(_), _, Some((spot, _))) | (Some(_), Some((spot, _)), None) => {
            Err(spot.error(Fault::Contradiction, "values here beside those in on", EXPECTED))
        }
        (None, Some(_), Some((spot, _))) => {
            Err(spot.error(Fault::Contradiction, "a file beside files", EXPECTED))
        }
    }
}

/// What the contributions belong to: as said, as keyed, or by the kind of group.
fn attachment(
    spot: &Spot,
    input: &file::Input,
    keyed_by: Option<Attachment>,
    ranks: &Ranks,
) -> Result<Attachment, PlanError> {
    let by_device = ranks.has_exclusive_devices();
    let default = if by_device { Attachment::Device } else { Attachment::Rank };
    let Some((spot, by)) = spot.given("by", input.by.as_ref()) else {
        return Ok(keyed_by.unwrap_or(default));
    };
    let attached = spot.word(by, &ATTACHMENTS)?;
    if keyed_by.is_some_and(|keyed_by| keyed_by != attached) {
        let keyed_by = if attached == Attachment::Device { "rank" } else { "device" };
        let found = format!("by {by:?}, and values by {keyed_by}");
        return Err(spot.error(Fault::Contradiction, found, "both by device, or both by rank"));
    }
    if attached == Attachment::Device && !by_device {
        return Err(no_device_each(&spot, ranks));
    }
    Ok(attached)
}

/// A contribution is one rank's, so a device can own it only if it has one rank.
fn no_device_each(spot: &Spot, ranks: &Ranks) -> PlanError {
    let found = match &ranks.map {
        None => "contributions by device where no devices are named",
        Some(_) => "contributions by device where a device has several ranks",
    };
    spot.error(Fault::Contradiction, found, "contributions by rank")
}

/// One entry for each rank, in rank order, whatever they were keyed by.
struct PerRank<'f, T> {
    keyed_by: Attachment,
    entries: Vec<(Spot, &'f T)>,
}

fn per_rank<'f, T>(
    spot: &Spot,
    keyed: &'f file::Keyed<T>,
    ranks: &Ranks,
) -> Result<PerRank<'f, T>, PlanError> {
    let device = spot.given("device", keyed.device.as_ref());
    let rank = spot.given("rank", keyed.rank.as_ref());
    let (keyed_by, spot, table) = match (device, rank) {
        (Some((spot, table)), None) => (Attachment::Device, spot, table),
        (None, Some((spot, table))) => (Attachment::Rank, spot, table),
        (None, None) => {
            return Err(spot.error(Fault::Missing, "neither", "one of device and rank"));
        }
        (Some(_), Some((spot, _))) => {
            return Err(spot.error(Fault::Contradiction, "both", "one of device and rank"));
        }
    };
    if keyed_by == Attachment::Device && !ranks.has_exclusive_devices() {
        return Err(no_device_each(&spot, ranks));
    }
    let mut by_rank = BTreeMap::new();
    for (key, value) in table.iter() {
        let key_spot = spot.key(&key.value, key.span);
        let rank = match keyed_by {
            Attachment::Device => {
                let device = ranks.device(&key_spot, &key.value)?;
                ranks.map.as_ref().and_then(|map| map.ranks_on(device).next())
            }
            Attachment::Rank => decimal(&key.value).and_then(|index| ranks.rank_at(index)),
        };
        let Some(rank) = rank else {
            let found = format!("rank {}", key.value);
            return Err(key_spot.error(Fault::UnknownName, found, ranks.indices()));
        };
        let value_spot = spot.key(&key.value, value.span);
        if by_rank.insert(rank, (value_spot, &value.value)).is_some() {
            let found = format!("{} a second time", key.value);
            return Err(key_spot.error(Fault::Contradiction, found, "each contribution once"));
        }
    }
    if let Some(absent) = ranks.world.ranks().find(|rank| !by_rank.contains_key(rank)) {
        let device = ranks.map.as_ref().and_then(|map| map.device(absent));
        let whose = match (keyed_by, device) {
            (Attachment::Device, Some(device)) => format!("device {device}"),
            _ => format!("rank {absent}"),
        };
        let found = format!("no contribution of {whose}");
        return Err(spot.error(Fault::Missing, found, "one for each, or none at all"));
    }
    Ok(PerRank { keyed_by, entries: by_rank.into_values().collect() })
}

/// A rank as a key: decimal, without sign or leading zeros, so that no two keys
/// are one rank.
fn decimal(key: &str) -> Option<u64> {
    let index: u64 = key.parse().ok()?;
    (alloc::string::ToString::to_string(&index) == key).then_some(index)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use crate::file::{Format, PlanFile};

    use super::*;

    #[test]
    fn literals_are_limited_over_all_inputs() {
        let text = "input.a.on.rank.0 = [1, 2]\ninput.b.on.device.A = [3]\n";
        let file = PlanFile::read(text, Format::Toml).unwrap();
        let all = Spot::root().key("input", Span::default());
        assert_eq!(check_literals(&all, &file.input, 3), Ok(()));
        let error = check_literals(&all, &file.input, 2).unwrap_err();
        assert_eq!((error.kind, error.span.place(text).to_string()), (Fault::Limit, "2:23".into()));
        assert_eq!(
            error.to_string(),
            "input.b.on: found 3 elements written in the plan, \
             expected at most 2; keep more in array files"
        );
    }
}
