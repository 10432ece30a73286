//! The tables of `docs/counts.md` are what the code says.
//!
//! A failing test prints the table as it should be.

use std::fmt::{Display, Write as _};

use rankwise_account::{
    Basis, ByteCount, Label, Meaning, MpiCall, MpiCounts, MpiInPlace, NcclCall, Reading, Rounding,
    Test, bus_factor, mpi, payload,
};
use rankwise_model::operation::{Holders, InPlaceRule};
use rankwise_model::{
    Dtype, Extent, GroupSize, InPlace, Layout, Operation, OperationKind, Reduction,
};

const SUM: Reduction = Reduction::Sum;

fn two() -> GroupSize {
    GroupSize::new(2).unwrap()
}

/// A Markdown table, and whether the document has it.
struct Table(String);

impl Table {
    fn new(heading: &[&str]) -> Self {
        let mut table = Self(String::new());
        table.row(heading);
        writeln!(table.0, "|{}", "---|".repeat(heading.len())).unwrap();
        table
    }

    fn row<T: Display>(&mut self, cells: &[T]) {
        self.0.push('|');
        for cell in cells {
            write!(self.0, " {cell} |").unwrap();
        }
        self.0.push('\n');
    }

    fn check(&self) {
        let path = format!("{}/../docs/counts.md", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains(&self.0), "docs/counts.md should have\n\n{}", self.0);
    }
}

fn on(holders: Holders) -> &'static str {
    match holders {
        Holders::Everyone => "every rank",
        Holders::Root => "the root",
        Holders::Sender => "the sender",
        Holders::Receiver => "the receiver",
    }
}

fn length(extent: Extent, holders: Holders) -> String {
    let length = match extent {
        Extent::Count => "c",
        Extent::CountPerRank => "n·c",
    };
    format!("{length} on {}", on(holders))
}

fn relation(rule: InPlaceRule) -> &'static str {
    match rule {
        InPlaceRule::SameBuffer => "both start the buffer",
        InPlaceRule::InputIsOwnBlock => "input is the own block of the output",
        InPlaceRule::OutputIsOwnBlock => "output is the own block of the input",
        InPlaceRule::Refused => "none",
    }
}

#[test]
fn nccl() {
    let mut table =
        Table::new(&["operation", "call", "count", "counts", "input", "output", "in place"]);
    for operation in OperationKind::ALL {
        let row = operation.row();
        let calls = NcclCall::of(operation);
        let functions: Vec<_> = calls.iter().map(|call| format!("`{}`", call.function)).collect();
        table.row(&[
            format!("`{operation}`"),
            functions.join(", "),
            format!("`{}`", calls[0].count),
            row.count.to_string(),
            length(row.input, row.input_on),
            length(row.output, row.output_on),
            relation(row.in_place).to_string(),
        ]);
    }
    table.check();
}

#[test]
fn mpi_functions() {
    let mut table = Table::new(&["operation", "function", "§", "counts", "in place by", "then"]);
    for operation in OperationKind::ALL {
        for call in MpiCall::of(operation) {
            let counts = call.counts.iter().map(|count| {
                let what = match count.counts {
                    MpiCounts::Whole => "the buffer",
                    MpiCounts::OneOfMany => "**one** rank's block",
                    MpiCounts::PerRank => "a vector, one entry per rank",
                    MpiCounts::AtMost => "the room, at most",
                    other => panic!("no words for {other:?}"),
                };
                let read = match count.read_on {
                    Holders::Everyone => String::new(),
                    holders => format!(" (read on {})", on(holders)),
                };
                format!("`{}`: {what}{read}", count.name)
            });
            let in_place = match call.in_place {
                MpiInPlace::ForSendBuffer(holders) => {
                    format!("`MPI_IN_PLACE` for `sendbuf` on {}", on(holders))
                }
                MpiInPlace::ForRecvBuffer(holders) => {
                    format!("`MPI_IN_PLACE` for `recvbuf` on {}", on(holders))
                }
                MpiInPlace::OneBuffer => "having one buffer".to_string(),
                MpiInPlace::Never => "–".to_string(),
                other => panic!("no words for {other:?}"),
            };
            table.row(&[
                format!("`{operation}`"),
                format!("`{}`", call.function),
                call.section.to_string(),
                counts.collect::<Vec<_>>().join("; "),
                in_place,
                relation(call.relation).to_string(),
            ]);
        }
    }
    table.check();
}

/// Two ranks, count 2, seen from rank 1, the root where there is one.
#[test]
fn in_place_offsets() {
    let mut table =
        Table::new(&["operation", "NCCL input", "NCCL output", "MPI input", "MPI output"]);
    let root = two().rank(1).unwrap();
    let operations = [
        Operation::AllReduce { reduction: SUM },
        Operation::Reduce { reduction: SUM, root },
        Operation::Broadcast { root },
        Operation::AllGather,
        Operation::ReduceScatter { reduction: SUM },
        Operation::AllToAll,
        Operation::Gather { root },
        Operation::Scatter { root },
        Operation::Message { from: two().first(), to: root },
    ];
    for operation in operations {
        let at = Layout::new(operation, two(), 2).unwrap().at(root).unwrap();
        let cells = |lies: Option<InPlace>| match lies {
            Some(InPlace { input, output, .. }) => [format!("{input:?}"), format!("{output:?}")],
            None => ["–".to_string(), "–".to_string()],
        };
        let ([a, b], [c, d]) = (cells(at.in_place()), cells(mpi::in_place(&at)));
        table.row(&[format!("`{}`", operation.kind()), a, b, c, d]);
    }
    table.check();
}

/// What eight ranks of f32 print when asked for 1000 bytes.
#[test]
fn nccl_tests_columns() {
    let mut table = Table::new(&["test", "size is", "count is", "size", "count", "S", "factor"]);
    let ranks = GroupSize::new(8).unwrap();
    for test in Test::ALL {
        let asked = ByteCount::new(1000);
        let row = test.row(asked, ranks, Dtype::F32, Rounding::SixteenBytes);
        let (Some(operation), Ok(row)) = (test.operation(), row) else {
            let dash = "–".to_string();
            let test = format!("`{test}`");
            table.row(&[
                test,
                "the longest of any rank".to_string(),
                "a base block, or 0".to_string(),
                dash.clone(),
                dash.clone(),
                dash.clone(),
                dash,
            ]);
            continue;
        };
        let size = match Meaning::Size.extent(operation) {
            Extent::Count => "c·e",
            Extent::CountPerRank => "n·c·e",
        };
        let basis = test.basis(row.count, ranks, Dtype::F32).unwrap();
        table.row(&[
            format!("`{test}`"),
            size.to_string(),
            format!("c, {}", operation.row().count),
            row.size.to_string(),
            row.count.get().to_string(),
            basis.size().to_string(),
            basis.bus_factor().to_string(),
        ]);
    }
    table.check();
}

/// The mission's four steps.
#[test]
fn mission() {
    let mut table = Table::new(&[
        "step",
        "NCCL's count",
        "MPI's counts",
        "input per rank",
        "output per rank",
        "nccl-tests size, count",
        "S",
        "busbw / algbw",
    ]);
    let steps = [
        ("all_reduce(sum)", Operation::AllReduce { reduction: SUM }, 4),
        ("all_gather of the contributions", Operation::AllGather, 4),
        ("reduce_scatter(sum)", Operation::ReduceScatter { reduction: SUM }, 2),
        ("all_gather of the shards", Operation::AllGather, 2),
    ];
    for (name, operation, count) in steps {
        let layout = Layout::new(operation, two(), count).unwrap();
        let kind = operation.kind();
        let each = payload(&layout, Dtype::I32, two().first()).unwrap();
        let basis = Basis::of(&layout, Dtype::I32).unwrap();
        let mpi = MpiCall::of(kind)[0];
        let counts: Vec<_> =
            mpi.counts.iter().map(|each| format!("{} {count}", each.name)).collect();
        let test = Test::ALL.into_iter().find(|test| test.operation() == Some(kind)).unwrap();
        let row = test.row_of_count(rankwise_account::ElemCount::new(count), two(), Dtype::I32);
        let row = row.unwrap();
        table.row(&[
            name.to_string(),
            format!("{} {count}", NcclCall::of(kind)[0].count),
            format!("{}: {}", mpi.function, counts.join(", ")),
            each.input.to_string(),
            each.output.to_string(),
            format!("{}, {}", row.size, row.count.get()),
            basis.size().to_string(),
            bus_factor(kind, two()).to_string(),
        ]);
    }
    table.check();
}

/// Everything that `16 B` may mean, with nothing known and with two ranks of i32.
#[test]
fn sixteen_bytes() {
    let mut table = Table::new(&[
        "operation",
        "16 B is the",
        "input",
        "output",
        "two ranks of i32: count",
        "in",
        "out",
    ]);
    let readings = |text| Label::parse(text).unwrap().readings().collect::<Vec<Reading>>();
    let (bare, known) = (readings("16 B"), readings("16 B n=2 i32"));
    assert_eq!(bare.len(), known.len());
    for (bare, known) in bare.into_iter().zip(known) {
        let meanings: Vec<_> = bare.meanings().map(|meaning| meaning.to_string()).collect();
        table.row(&[
            format!("`{}`", bare.operation()),
            meanings.join(", "),
            bare.input_bytes().unwrap().to_string(),
            bare.output_bytes().unwrap().to_string(),
            known.count().unwrap().to_string(),
            known.input_bytes().unwrap().to_string(),
            known.output_bytes().unwrap().to_string(),
        ]);
    }
    table.check();
}
