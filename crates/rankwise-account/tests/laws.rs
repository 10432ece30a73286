//! Laws of the accounting, over any arguments.

use core::time::Duration;

use proptest::prelude::*;
use rankwise_account::{
    Amount, Basis, ByteCount, Division, ElemCount, Figure, ImpliedRanks, Label, Meaning, Number,
    PerRole, Rounding, Test, nccl_tests::parse_request, payload,
};
use rankwise_model::{Dtype, GroupSize, Layout, Operation, OperationKind, Reduction};

fn ranks() -> impl Strategy<Value = GroupSize> {
    prop_oneof![1..=9_u32, any::<u32>().prop_map(|n| n.max(1))]
        .prop_map(|n| GroupSize::new(n).unwrap())
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    proptest::sample::select(&Dtype::ALL[..])
}

fn kinds() -> impl Strategy<Value = OperationKind> {
    proptest::sample::select(&OperationKind::ALL[..])
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_u64, any::<u64>(), (0..64_u32).prop_map(|shift| 1 << shift)]
}

fn operation(kind: OperationKind, a: u32, b: u32, ranks: GroupSize) -> Operation {
    let rank = |at: u32| ranks.rank(at % ranks.get()).unwrap();
    let (root, reduction) = (rank(a), Reduction::Sum);
    match kind {
        OperationKind::AllReduce => Operation::AllReduce { reduction },
        OperationKind::Reduce => Operation::Reduce { reduction, root },
        OperationKind::Broadcast => Operation::Broadcast { root },
        OperationKind::AllGather => Operation::AllGather,
        OperationKind::ReduceScatter => Operation::ReduceScatter { reduction },
        OperationKind::AllToAll => Operation::AllToAll,
        OperationKind::Gather => Operation::Gather { root },
        OperationKind::Scatter => Operation::Scatter { root },
        OperationKind::Message => Operation::Message { from: root, to: rank(b) },
        other => panic!("no strategy for {other}"),
    }
}

fn labels() -> impl Strategy<Value = Label> {
    let number = (numbers(), any::<bool>()).prop_map(|(number, bytes)| {
        if bytes {
            Number::Bytes(ByteCount::new(number))
        } else {
            Number::Elements(ElemCount::new(number))
        }
    });
    let meanings = proptest::sample::select(&Meaning::ALL[..]);
    let maybe = proptest::option::of::<BoxedStrategy<OperationKind>>(kinds().boxed());
    (
        number,
        maybe,
        proptest::option::of(meanings),
        proptest::option::of(ranks()),
        proptest::option::of(dtypes()),
    )
        .prop_map(|(number, operation, meaning, ranks, dtype)| {
            let mut label = Label::bare(number);
            label = operation.map_or(label, |operation| label.of(operation));
            label = meaning.map_or(label, |meaning| label.naming(meaning));
            label = ranks.map_or(label, |ranks| label.over(ranks));
            dtype.map_or(label, |dtype| label.typed(dtype))
        })
}

/// Pieces of labels, right and wrong, so that most texts get past the first word.
fn texts() -> impl Strategy<Value = String> {
    let words = [
        "16",
        "B",
        "16B",
        "1.5",
        "MiB",
        "KB",
        "1_0",
        "1__0",
        "4",
        "elements",
        "el",
        "n=",
        "n=2",
        "n=0",
        "send",
        "recv",
        "in",
        "out",
        "count",
        "size",
        "all_gather",
        "send/recv",
        "i32",
        "float",
        "nccl",
        "MPI_",
        "é",
        "1é",
        "🦀",
        "\u{a0}",
        "\t",
        "99999999999999999999999",
        "0.",
        "=",
        "-",
        "",
    ];
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..9)
            .prop_map(|words| words.join(" ")),
        proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..6)
            .prop_map(|words| words.concat()),
    ]
}

fn get(figure: Figure) -> u64 {
    match figure {
        Figure::Elements(elements) => elements.get(),
        Figure::Bytes(bytes) => bytes.get(),
        Figure::Formula(formula) => panic!("{formula} of a label that lacks nothing"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn no_text_panics_and_errors_point_into_it(text in texts()) {
        match Label::parse(&text) {
            Ok(label) => {
                let shown = label.to_string();
                prop_assert_eq!(Label::parse(&shown).unwrap().to_string(), shown);
                let _ = label.settle().map_err(|error| error.to_string());
            }
            Err(error) => {
                prop_assert!(text[error.at..].starts_with(error.found.as_str()));
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
        let _ = parse_request(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn labels_read_back(label in labels()) {
        let back = Label::parse(&label.to_string()).unwrap();
        prop_assert_eq!(back.to_string(), label.to_string());
        prop_assert_eq!(back.number(), label.number());
        prop_assert_eq!(
            (back.operation(), back.meaning(), back.ranks(), back.dtype()),
            (label.operation(), label.meaning(), label.ranks(), label.dtype())
        );
    }

    /// Every label has a reading for each operation it may be of, nothing panics, and
    /// what is said stays said.
    #[test]
    fn readings_agree_with_the_label(label in labels()) {
        let readings: Vec<_> = label.readings().collect();
        prop_assert!(!readings.is_empty());
        for reading in &readings {
            if let Some(operation) = label.operation() {
                prop_assert_eq!(reading.operation(), operation);
            }
            if let Some(meaning) = label.meaning() {
                prop_assert!(reading.names(meaning));
            }
            for figure in [
                reading.count(),
                reading.input_elements(),
                reading.input_bytes(),
                reading.output_elements(),
                reading.output_bytes(),
            ] {
                match figure {
                    Ok(figure) => prop_assert!(!figure.to_string().is_empty()),
                    Err(why) => prop_assert!(!why.to_string().is_empty() && reading.possible().is_err()),
                }
            }
        }
    }

    /// A settled label is a layout: figures computed by readings agree with payloads
    /// computed from the table, and both refuse the same overflows.
    #[test]
    fn readings_agree_with_payloads(
        kind in kinds(), a: u32, b: u32, ranks in ranks(), dtype in dtypes(), count in numbers(),
    ) {
        let operation = operation(kind, a, b, ranks);
        let label = Label::bare(Number::Elements(ElemCount::new(count)))
            .of(kind).naming(Meaning::Count).over(ranks).typed(dtype);
        let roles = Layout::new(operation, ranks, count)
            .ok()
            .and_then(|layout| PerRole::of(&layout, dtype).ok());
        let settled = label.settle();
        prop_assert_eq!(settled.is_ok(), roles.is_some());
        let (Ok(settled), Some(roles)) = (settled, roles) else { return Ok(()) };
        prop_assert_eq!(settled.count().get(), count);
        let longest = |side: fn(&rankwise_account::Payload) -> Amount| {
            roles.iter().map(|share| side(&share.payload).bytes()).max().unwrap()
        };
        prop_assert_eq!(settled.figure(Meaning::Input).bytes(), longest(|payload| payload.input));
        prop_assert_eq!(settled.figure(Meaning::Output).bytes(), longest(|payload| payload.output));

        // Any figure of it, as a label of its own, settles to the same call.
        for meaning in Meaning::ALL {
            let figure = settled.figure(meaning);
            for number in [Number::Elements(figure.elements()), Number::Bytes(figure.bytes())] {
                let other = Label::bare(number).of(kind).naming(meaning).over(ranks).typed(dtype);
                prop_assert_eq!(other.settle(), Ok(settled), "{}", other);
                let reading = other.readings().next().unwrap();
                prop_assert_eq!(get(reading.count().unwrap()), count);
            }
        }
    }

    /// Role by role is rank by rank.
    #[test]
    fn roles_cover_every_rank(
        kind in kinds(), a: u32, b: u32, n in 1..9_u32, dtype in dtypes(), count in 0..100_u64,
    ) {
        let ranks = GroupSize::new(n).unwrap();
        let layout = Layout::new(operation(kind, a, b, ranks), ranks, count).unwrap();
        let roles = PerRole::of(&layout, dtype).unwrap();
        let holders: u32 = roles.iter().map(|share| share.holders).sum();
        prop_assert_eq!(holders, n);
        let (mut input, mut output) = (0, 0);
        for rank in ranks.ranks() {
            let each = payload(&layout, dtype, rank).unwrap();
            input += each.input.bytes().get();
            output += each.output.bytes().get();
        }
        prop_assert_eq!(roles.total_input().unwrap().get(), input);
        prop_assert_eq!(roles.total_output().unwrap().get(), output);
        for share in roles.iter() {
            prop_assert_eq!(share.payload, payload(&layout, dtype, share.example).unwrap());
        }
    }

    /// Overflow is an error, never a wrap: a product that is given is exact.
    #[test]
    fn counts_never_wrap(number in numbers(), other in numbers(), ranks in ranks(), dtype in dtypes()) {
        let (elements, bytes) = (ElemCount::new(number), ByteCount::new(number));
        let wide = u128::from(number);
        let limit = |exact: u128| u64::try_from(exact).ok();
        prop_assert_eq!(
            elements.bytes(dtype).ok().map(ByteCount::get),
            limit(wide * u128::from(dtype.bytes()))
        );
        prop_assert_eq!(
            elements.per_rank(ranks).ok().map(ElemCount::get),
            limit(wide * u128::from(ranks.get()))
        );
        prop_assert_eq!(
            bytes.on_each_of(other).ok().map(ByteCount::get),
            limit(wide * u128::from(other))
        );
        prop_assert_eq!(
            bytes.plus(ByteCount::new(other)).ok().map(ByteCount::get),
            limit(wide + u128::from(other))
        );
        prop_assert_eq!(
            elements.plus(ElemCount::new(other)).ok().map(ElemCount::get),
            limit(wide + u128::from(other))
        );
    }

    /// The exact number is always in the text, and the rounded one is near it.
    #[test]
    fn bytes_print_exactly(number in numbers()) {
        let text = ByteCount::new(number).to_string();
        let exact = format!("{number} B");
        prop_assert!(text == exact || text.ends_with(&format!("({exact})")), "{}", text);
        if let Some((rounded, _)) = text.split_once(" (") {
            let marked = rounded.starts_with('≈');
            let label = Label::parse(rounded.trim_start_matches('≈'));
            match label.map(|label| label.number()) {
                Ok(Number::Bytes(bytes)) if !marked => prop_assert_eq!(bytes.get(), number),
                other => prop_assert!(marked, "{:?}", other),
            }
        }
    }

    /// A row of nccl-tests implies the ranks that printed it, and algbw · t is `size`.
    #[test]
    fn rows_imply_their_ranks(
        test in proptest::sample::select(&Test::ALL[..]),
        requested in 0..=1_u64 << 36, n in 1..=512_u32, dtype in dtypes(),
        old: bool, micros in 1..=1_000_000_u64,
    ) {
        let ranks = GroupSize::new(n).unwrap();
        let rounding = if old { Rounding::WholeElements } else { Rounding::SixteenBytes };
        let Ok(row) = test.row(ByteCount::new(requested), ranks, dtype, rounding) else {
            prop_assert!(test == Test::AllToAllV || !n.is_power_of_two());
            return Ok(());
        };
        prop_assert!(row.size.get() <= requested);
        match test.implied_ranks(row.size, row.count, dtype).unwrap() {
            ImpliedRanks::Exactly(found) => prop_assert_eq!(found, ranks),
            ImpliedRanks::AnyNumber => prop_assert_eq!(row.count.bytes(dtype), Ok(row.size)),
            ImpliedRanks::EmptyRow => prop_assert_eq!(row.size, ByteCount::ZERO),
        }
        let elapsed = Duration::from_micros(micros);
        let basis = test.basis(row.count, ranks, dtype).unwrap();
        let algbw = basis.algbw(elapsed).unwrap().bytes_per_second();
        #[allow(clippy::cast_precision_loss)] // within the tolerance below
        let size = basis.size().get() as f64;
        prop_assert!((algbw * elapsed.as_secs_f64() - size).abs() <= size * 1e-12);
        if test != Test::Hypercube {
            prop_assert_eq!(basis.size(), row.size);
        }
        let busbw = basis.busbw(elapsed).unwrap().bytes_per_second();
        prop_assert!((busbw - algbw * basis.bus_factor().to_f64()).abs() <= algbw * 1e-12);
        prop_assert!(basis.bus_factor().to_f64() < 2.0);
    }

    #[test]
    fn nothing_panics_on_any_size(
        kind in kinds(), a: u32, b: u32, ranks in ranks(), dtype in dtypes(),
        count in numbers(), size in numbers(), nanos: u64,
    ) {
        if let Ok(layout) = Layout::new(operation(kind, a, b, ranks), ranks, count) {
            if let Ok(basis) = Basis::of(&layout, dtype) {
                let bandwidth = basis.busbw(Duration::from_nanos(nanos));
                let _ = bandwidth.map(|rate| (rate.to_string(), rate.time_for(basis.size())));
            }
            for algorithm in
                [rankwise_account::Algorithm::Ring, rankwise_account::Algorithm::DoubleBinaryTree]
            {
                let _ = rankwise_account::TrafficEstimate::of(&layout, dtype, algorithm);
            }
            let _ = rankwise_account::mpi::in_place(&layout.at(ranks.first()).unwrap());
        }
        for test in Test::ALL {
            let (size, count) = (ByteCount::new(size), ElemCount::new(count));
            let _ = test.row(size, ranks, dtype, Rounding::SixteenBytes);
            let _ = test.implied_ranks(size, count, dtype);
            let _ = test.basis(count, ranks, dtype);
        }
    }

    /// Padded blocks own every position once, as a vector of their lengths does, and a
    /// change of owner is one.
    #[test]
    fn divisions_own_every_position_once(
        counts in proptest::collection::vec(0..7_u64, 1..7),
    ) {
        let total: u64 = counts.iter().sum();
        let ranks = GroupSize::new(u32::try_from(counts.len()).unwrap()).unwrap();
        let division = Division::new(ElemCount::new(total), ranks);
        let padded = division.padded().unwrap();
        let vector = division.vector(&counts).unwrap();
        prop_assert_eq!(division.even().is_some(), padded.padding() == ElemCount::ZERO);
        let owner = |owned: Vec<(rankwise_model::Rank, core::ops::Range<u64>)>, at: u64| {
            let owners: Vec<_> =
                owned.into_iter().filter(|(_, owned)| owned.contains(&at)).collect();
            assert_eq!(owners.len(), 1, "position {at}");
            owners[0].0
        };
        for at in 0..total {
            let by_blocks = owner(padded.owned().collect(), at);
            let by_vector = owner(vector.owned().collect(), at);
            prop_assert_eq!(padded.owner_of(at), Some(by_blocks));
            let change = padded.changes_from(vector).find(|change| change.positions.contains(&at));
            let expected = (by_blocks != by_vector).then_some((by_blocks, by_vector));
            prop_assert_eq!(change.map(|change| (change.padded, change.vector)), expected);
        }
        let padding: u64 =
            ranks.ranks().map(|rank| padded.padding_on(rank).unwrap().get()).sum();
        prop_assert_eq!(padding, padded.padding().get());
        prop_assert_eq!(padded.length().get(), total + padding);
    }
}
