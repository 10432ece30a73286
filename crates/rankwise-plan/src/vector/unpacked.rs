//! A check of packed vectors: whatever is done to them, element for element they are
//! what plain lists of contents are after the same.

use alloc::boxed::Box;
use alloc::vec::Vec as List;
use core::ops::Range;

use proptest::prelude::*;
use rankwise_model::Dtype;

use super::{Content, Family, Gap, Run, Sources, Vector, side_by_side};
use crate::evaluate::evaluate;
use crate::file::Format;
use crate::memory::ranks;
use crate::need::{NeedsAnswer, judge_needs};
use crate::plan::{Counts, Plan};
use crate::read::NoArrays;
use crate::term::{InputIdentity, Origin, Placed, TermId, Terms};

/// Every element of a vector, one by one: a term and where in it, or a gap.
type Plain = List<Content>;

/// Three terms, whatever they are of.
fn terms() -> [TermId; 3] {
    let mut terms = Terms::new();
    let identity = InputIdentity {
        name: "x".into(),
        dtype: Dtype::F32,
        counts: Counts::Each(99),
        meaning: None,
    };
    let input = terms.input(&identity);
    ["a", "b", "c"].map(|device| terms.atom(input, Origin::Device(device.into())).term)
}

/// How a vector is made; places are taken modulo what there is.
#[derive(Clone, Debug)]
enum Made {
    Run {
        count: u64,
        term: usize,
        at: u64,
    },
    Gap {
        count: u64,
        step: usize,
    },
    Series {
        block: u64,
        terms: List<usize>,
        at: u64,
        stride: u64,
    },
    /// Both, one after the other.
    Joined(Box<Made>, Box<Made>),
    Sliced(Box<Made>, u64, u64),
    /// The second from some position of the first on, as far as there is room.
    Replaced(Box<Made>, u64, Box<Made>),
    /// Each term exchanged for the next, and read further on: the second further.
    Mapped(Box<Made>, [u64; 3]),
}

impl Made {
    fn vector(&self) -> (Vector, Plain) {
        let ids = terms();
        match self {
            Self::Run { count, term, at } => {
                let content = Content::Term(Placed { term: ids[*term], at: *at });
                let plain = (0..*count).map(|by| content.shifted(by)).collect();
                (Vector::of(Dtype::F32, *count, content), plain)
            }
            Self::Gap { count, step } => {
                let content = Content::Gap(Gap::ReadsGap { step: *step });
                let plain = (0..*count).map(|_| content).collect();
                (Vector::of(Dtype::F32, *count, content), plain)
            }
            Self::Series { block, terms, at, stride } => {
                let each: List<TermId> = terms.iter().map(|term| ids[*term]).collect();
                let of = |index: u64, term| {
                    let at = at + index * stride;
                    (0..*block).map(move |by| Content::Term(Placed { term, at: at + by }))
                };
                let plain = (0..).zip(&each).flat_map(|(index, term)| of(index, *term)).collect();
                let (blocks, terms) = (each.len() as u64, Sources::each(each));
                let made = Vector::series(Dtype::F32, *block, blocks, terms, *at, *stride);
                (made.unwrap(), plain)
            }
            Self::Joined(one, other) => {
                let ((mut vector, mut plain), (more, others)) = (one.vector(), other.vector());
                vector.extend(&more);
                plain.extend(others);
                (vector, plain)
            }
            Self::Sliced(whole, from, to) => {
                let (vector, plain) = whole.vector();
                let positions = part(plain.len(), *from, *to);
                let slice = vector.slice(positions.clone()).unwrap();
                (slice, plain[bounds(&positions)].to_vec())
            }
            Self::Replaced(whole, from, by) => {
                let ((vector, mut plain), (piece, others)) = (whole.vector(), by.vector());
                let Some(room) = plain.len().checked_sub(others.len()) else {
                    assert_eq!(vector.replaced(0, &piece), None);
                    return (vector, plain);
                };
                let start = *from % (room as u64 + 1);
                let replaced = vector.replaced(start, &piece).unwrap();
                plain.splice(bounds(&(start..start + others.len() as u64)), others);
                (replaced, plain)
            }
            Self::Mapped(inner, further) => {
                let (vector, plain) = inner.vector();
                let change = |placed: Placed| {
                    let index = ids.iter().position(|id| *id == placed.term).unwrap();
                    Placed { term: ids[(index + 1) % 3], at: placed.at + further[index] }
                };
                let changed = plain.into_iter().map(|content| match content {
                    Content::Term(placed) => Content::Term(change(placed)),
                    gap @ Content::Gap(_) => gap,
                });
                (vector.map(Dtype::F32, change), changed.collect())
            }
        }
    }
}

fn part(length: usize, from: u64, to: u64) -> Range<u64> {
    let length = length as u64;
    let (one, other) = (from % (length + 1), to % (length + 1));
    one.min(other)..one.max(other)
}

fn bounds(positions: &Range<u64>) -> Range<usize> {
    usize::try_from(positions.start).unwrap()..usize::try_from(positions.end).unwrap()
}

fn made() -> impl Strategy<Value = Made> {
    let one = prop_oneof![
        2 => (0..5_u64, 0..3_usize, 0..6_u64)
            .prop_map(|(count, term, at)| Made::Run { count, term, at }),
        1 => (0..3_u64, 0..2_usize).prop_map(|(count, step)| Made::Gap { count, step }),
        3 => (1..4_u64, prop::collection::vec(0..3_usize, 0..6), 0..6_u64, 0..5_u64)
            .prop_map(|(block, terms, at, stride)| Made::Series { block, terms, at, stride }),
        3 => (1..4_u64, 0..6_usize, 0..3_usize, 0..6_u64, 0..5_u64).prop_map(
            |(block, blocks, term, at, stride)| {
                Made::Series { block, terms: alloc::vec![term; blocks], at, stride }
            }
        ),
    ];
    one.prop_recursive(4, 24, 2, |inner| {
        let other = inner.clone().prop_map(Box::new);
        let inner = inner.prop_map(Box::new);
        prop_oneof![
            3 => (inner.clone(), other.clone()).prop_map(|(one, two)| Made::Joined(one, two)),
            3 => (inner.clone(), 0..99_u64, 0..99_u64)
                .prop_map(|(whole, from, to)| Made::Sliced(whole, from, to)),
            1 => (inner.clone(), 0..99_u64, other)
                .prop_map(|(whole, from, by)| Made::Replaced(whole, from, by)),
            1 => (inner, [0..3_u64, 0..3_u64, 0..3_u64])
                .prop_map(|(inner, further)| Made::Mapped(inner, further)),
        ]
    })
}

/// The runs of a list of contents: a new one wherever the last is not continued.
fn runs_of(plain: &[Content]) -> List<Run> {
    let mut runs: List<Run> = List::new();
    for (position, content) in (0_u64..).zip(plain) {
        match runs.last_mut() {
            Some(run) if run.content.shifted(run.count()) == *content => {
                run.positions.end += 1;
            }
            _ => runs.push(Run { positions: position..position + 1, content: *content }),
        }
    }
    runs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_packed_vector_hands_out_the_runs_of_its_elements(
        made in made(), from in 0..99_u64, to in 0..99_u64,
    ) {
        let (vector, plain) = made.vector();
        prop_assert_eq!(vector.count(), plain.len() as u64);
        let runs = runs_of(&plain);
        prop_assert_eq!(vector.runs().collect::<List<_>>(), &runs[..]);
        prop_assert!(vector.runs_at_most() >= runs.len() as u64);
        let promised = plain.iter().any(|content| matches!(content, Content::Term(_)));
        prop_assert_eq!(vector.promises_any(), promised);

        let positions = part(plain.len(), from, to);
        let within: List<Run> = vector.within(positions.clone()).collect();
        prop_assert_eq!(within, runs_of(&plain[bounds(&positions)]));
        prop_assert_eq!(vector.slice(0..vector.count() + 1), None);

        // As many entries as runs at most: packing never costs.
        let mut each = Vector::empty(Dtype::F32);
        for content in &plain {
            each.push(1, *content);
        }
        prop_assert_eq!(&vector, &each);
        prop_assert_eq!(each.entries_kept(), runs.len());
    }

    #[test]
    fn equal_vectors_are_those_of_equal_elements(one in made(), other in made()) {
        let ((first, left), (second, right)) = (one.vector(), other.vector());
        prop_assert_eq!(first == second, left == right);
        if first.is_kept_like(&second) {
            prop_assert_eq!(&left, &right);
        }
        let vectors = [&first, &second];
        let mut until = 0;
        for (positions, contents) in side_by_side(&vectors) {
            prop_assert_eq!(positions.start, until);
            for (by, position) in bounds(&positions).enumerate() {
                prop_assert_eq!(contents[0].shifted(by as u64), left[position]);
                prop_assert_eq!(contents[1].shifted(by as u64), right[position]);
            }
            until = positions.end;
        }
        prop_assert_eq!(until, left.len().min(right.len()) as u64);
    }

    #[test]
    fn a_family_hands_out_its_members_in_turn(
        first in made(),
        own in prop::collection::vec((0..3_usize, 0..9_u64), 4),
        stride in prop::option::weighted(0.8, 0..4_u64),
        from in 0..99_u64,
        to in 0..99_u64,
    ) {
        // Members that read one stride further each, of which some are no family.
        let ids = terms();
        let (first, _) = first.vector();
        let members: List<Vector> = (0_u64..).zip(&own).map(|(member, (term, at))| {
            let further = stride.map_or(*at, |stride| stride * member);
            let is_run = first.runs().count() == 1;
            first.map(Dtype::F32, |placed| Placed {
                term: if is_run { ids[*term] } else { placed.term },
                at: placed.at + further,
            })
        }).collect();
        let Some(family) = Family::of(members.iter()) else { return Ok(()) };
        let positions = part(usize::try_from(first.count()).unwrap(), from, to);
        let Some(turns) = family.in_turn(positions.clone()) else { return Ok(()) };
        let mut expected = Vector::empty(Dtype::F32);
        for member in &members {
            expected.extend(&member.slice(positions.clone()).unwrap());
        }
        prop_assert_eq!(turns.runs().collect::<List<_>>(), expected.runs().collect::<List<_>>());
    }
}

/// By hand: three blocks of two, of terms a, b, a, each reading four further on.
#[test]
fn a_series_by_hand() {
    let [a, b, _] = terms();
    let sources = Sources::each(alloc::vec![a, b, a]);
    let series = Vector::series(Dtype::F32, 2, 3, sources, 10, 4).unwrap();
    let run = |positions, term, at| Run { positions, content: Content::Term(Placed { term, at }) };
    assert_eq!(series.entries_kept(), 1);
    let runs: List<Run> = series.runs().collect();
    assert_eq!(runs, [run(0..2, a, 10), run(2..4, b, 14), run(4..6, a, 18)]);
    let cut: List<Run> = series.slice(1..5).unwrap().runs().collect();
    assert_eq!(cut, [run(0..1, a, 11), run(1..3, b, 14), run(3..4, a, 18)]);
    // Blocks as far apart as they are long are one run.
    let run_on = Vector::series(Dtype::F32, 2, 3, Sources::each(alloc::vec![b; 3]), 1, 2).unwrap();
    assert_eq!(run_on.runs().collect::<List<_>>(), [run(0..6, b, 1)]);
}

/// What it costs is counted in entries: one for each rank, not one for each pair.
#[test]
fn an_all_to_all_is_one_entry_on_each_rank() {
    let text = r#"
        format = 1
        group.ranks = 256
        input.x = { dtype = "bf16", count = 2048, meaning = "tokens" }
        proposal.experts.step = [
            { call = "all_to_all", send = "x", recv = "y" },
            { call = "all_to_all", send = "y", recv = "z" },
        ]
        need = [{ on = "every rank", buffer = "y", holds = "exchange(x)" }]
    "#;
    let plan = Plan::read(text, Format::Toml, &mut NoArrays).unwrap();
    let mut terms = Terms::new();
    let evaluation = evaluate(&plan, &plan.proposals[0], &mut terms).unwrap();
    for rank in ranks(plan.world) {
        let [y, z] = ["y", "z"].map(|name| evaluation.after.get(rank, name).unwrap());
        assert_eq!((y.entries_kept(), y.runs().count()), (1, 256));
        // The second is the inverse of the first: what each rank had is whole again.
        assert_eq!((z.entries_kept(), z.runs().count()), (1, 1));
    }
    let needs = judge_needs(&plan, &plan.proposals[0], &evaluation, &mut terms).unwrap();
    assert_eq!(needs.answer(), NeedsAnswer::Satisfied);
}

/// Two lists of equal terms are equal wherever they are kept; one list read from two places
/// is not.
#[test]
fn sources_are_equal_by_the_terms_of_their_blocks() {
    let [a, b, c] = terms();
    let each = |terms: &[TermId]| Sources::each(terms.to_vec());
    assert_eq!(each(&[a, a]), each(&[a]));
    assert_ne!(each(&[a]), each(&[b]));
    assert_eq!(each(&[a, b]), each(&[a, b]));
    assert_ne!(each(&[a, b]), each(&[a, c]));
    assert_ne!(each(&[a, b]), each(&[a]));
    let list: alloc::sync::Arc<[TermId]> = [a, b, c, a, b].into();
    let from = |first| Sources::Each { list: alloc::sync::Arc::clone(&list), first };
    assert_eq!(from(1), from(1));
    assert_ne!(from(0), from(3), "as far as both go they are equal, but one goes further");
    assert_eq!(from(3), each(&[a, b]));
}

#[test]
fn a_family_is_as_long_as_its_members() {
    let member = |at| Vector::of(Dtype::F32, 6, Content::Term(Placed { term: terms()[0], at }));
    let members = [member(0), member(6), member(12)];
    let family = Family::of(members.iter()).expect("they read at equal distances");
    assert_eq!(family.count(), 6);
}
