//! The faults, by the part of the checker that they are in.
//!
//! Each is a mistake that somebody could make. Its name says what the checker then
//! believes.

/// A mistake, as a replacement in one file.
pub(super) struct Fault {
    /// The part of the checker.
    pub(super) part: &'static str,
    /// What the checker believes with it.
    pub(super) name: &'static str,
    /// The file, from the root.
    pub(super) file: &'static str,
    /// What stands there, once.
    pub(super) from: &'static str,
    /// What is put in its place.
    pub(super) to: &'static str,
    /// Who should catch it.
    pub(super) killer: Killer,
}

/// An oracle, by what it looks at.
#[derive(Clone, Copy)]
pub(super) enum Killer {
    /// Plans: the tests of `rankwise-oracle`.
    Plans,
    /// The programs of ranks: the interpreter in `tests/tests/random_programs`.
    Programs,
}

const fn fault(
    part: &'static str,
    name: &'static str,
    file: &'static str,
    [from, to]: [&'static str; 2],
) -> Fault {
    Fault { part, name, file, from, to, killer: Killer::Plans }
}

const FORM: &str = "crates/rankwise-plan/src/form.rs";
const SUMS: &str = "crates/rankwise-plan/src/form/sums.rs";
const COLLECTIVE: &str = "crates/rankwise-plan/src/evaluate/collective.rs";
const LOCAL: &str = "crates/rankwise-plan/src/evaluate/local.rs";
const MESSAGE: &str = "crates/rankwise-plan/src/evaluate/message.rs";
const VECTOR: &str = "crates/rankwise-plan/src/vector.rs";
const RUNS: &str = "crates/rankwise-plan/src/vector/runs.rs";
const TERM: &str = "crates/rankwise-plan/src/term.rs";
const EQUAL: &str = "crates/rankwise-plan/src/equal.rs";
const STATE: &str = "crates/rankwise-plan/src/compare/state.rs";
const WALK: &str = "crates/rankwise-plan/src/compare/walk.rs";
const NEED: &str = "crates/rankwise-plan/src/need.rs";
const FIND: &str = "crates/rankwise-plan/src/need/find.rs";
const HOLDS: &str = "crates/rankwise-plan/src/need/expression.rs";
const VALUE: &str = "crates/rankwise-plan/src/wrong/value.rs";
const SCALE: &str = "crates/rankwise-plan/src/wrong/scale.rs";
const PLACEMENT: &str = "crates/rankwise-plan/src/wrong/placement.rs";
const HISTORY: &str = "crates/rankwise-plan/src/wrong/history.rs";
const LAYOUT: &str = "crates/rankwise-model/src/layout.rs";
const INSTANCE: &str = "crates/rankwise-program/src/instance.rs";
const SEATING: &str = "crates/rankwise-program/src/matcher/seating.rs";

/// All of them.
pub(super) const FAULTS: &[Fault] = &[
    // Evaluation: what the steps leave.
    fault(
        "evaluation",
        "blocks are handed out from the last rank on",
        LAYOUT,
        [
            "Start::OwnBlock => self.layout.blocks(self.rank.index()),",
            "Start::OwnBlock => self.layout.blocks(self.layout.ranks.get() - 1 - self.rank.index()),",
        ],
    ),
    fault(
        "evaluation",
        "a gather holds the first rank's block again and again",
        LAYOUT,
        [
            "layout.ranks.ranks().map(move |q| (layout.block_of(q), Source::Rank(q)))",
            "layout.ranks.ranks().map(move |q| (layout.block_of(q), Source::Rank(layout.ranks.first())))",
        ],
    ),
    fault(
        "evaluation",
        "every rank has the first rank's output",
        COLLECTIVE,
        ["output.take().filter(|_| shared)", "output.take().filter(|_| shared || true)"],
    ),
    fault(
        "evaluation",
        "what is not promised is as it was before",
        COLLECTIVE,
        [
            "None if call.elsewhere == Elsewhere::Untouched => continue,",
            "None if call.elsewhere == Elsewhere::Untouched || true => continue,",
        ],
    ),
    fault(
        "evaluation",
        "a reduce-scatter in place keeps the other blocks",
        COLLECTIVE,
        ["before.filter(|_| !rank.layout().operation().kind().reduces())", "before"],
    ),
    fault(
        "evaluation",
        "a scatter in place loses the other blocks",
        COLLECTIVE,
        [
            "before.filter(|_| !rank.layout().operation().kind().reduces())",
            "before.filter(|_| false)",
        ],
    ),
    fault(
        "evaluation",
        "in place the whole buffer is sent",
        COLLECTIVE,
        [
            "(Some(buffer), Some(relation)) => buffer.slice(relation.input).map(Arc::new),",
            "(Some(buffer), Some(_)) => Some(buffer),",
        ],
    ),
    fault(
        "evaluation",
        "lengths may differ between ranks",
        COLLECTIVE,
        [
            "Some((first, of, on)) if (first, of) != (count, dtype) => {",
            "Some((first, of, on)) if of != dtype && first > 0 => {",
        ],
    ),
    fault(
        "evaluation",
        "a length need be no multiple",
        COLLECTIVE,
        [
            "if count.checked_mul(counts_long) == Some(buffer.count()) {",
            "if count.checked_mul(counts_long) <= Some(buffer.count()) {",
        ],
    ),
    fault(
        "evaluation",
        "an average of floats is a sum",
        COLLECTIVE,
        ["terms.scaled(placed, Factor::Reciprocal(ranks))", "{ let _ = (terms, ranks); placed }"],
    ),
    fault(
        "evaluation",
        "an average of integers is a sum",
        COLLECTIVE,
        ["terms.divided(placed, ranks))", "{ let _ = (terms, ranks); placed })"],
    ),
    fault(
        "evaluation",
        "a fold reads what no rank promises",
        COLLECTIVE,
        [
            "Content::Gap(_) => None,\n            })\n            .collect();",
            "Content::Gap(_) => None,\n            })\n            .filter(|part| part.is_some() || contents.len() == 1)\n            .collect();",
        ],
    ),
    fault(
        "evaluation",
        "a slice starts at the first position",
        LOCAL,
        [
            "buffer.slice(positions.clone()).ok_or_else(",
            "buffer.slice(0..positions.end - positions.start).ok_or_else(",
        ],
    ),
    fault(
        "evaluation",
        "a concatenation has its parts in another order",
        LOCAL,
        [
            "for buffer in buffers {\n            if whole",
            "for buffer in buffers.into_iter().rev() {\n            if whole",
        ],
    ),
    fault(
        "evaluation",
        "a local fold has at most two parts",
        LOCAL,
        [
            "buffers.iter().map(AsRef::as_ref).collect();\n        let mut result",
            "buffers.iter().take(2).map(AsRef::as_ref).collect();\n        let mut result",
        ],
    ),
    fault("evaluation", "a half is one", LOCAL, ["    Ok(over / under)\n", "    Ok(over)\n"]),
    fault(
        "evaluation",
        "a conversion changes the type alone",
        LOCAL,
        [
            "buffer.map(*to, |placed| self.terms.cast(placed, *to))",
            "buffer.map(*to, |placed| placed)",
        ],
    ),
    fault(
        "evaluation",
        "runs of one term continue each other",
        VECTOR,
        [
            "&& content.shifted(start.saturating_sub(before)) == *next\n",
            "&& (content.shifted(start.saturating_sub(before)) == *next || *content == *next)\n",
        ],
    ),
    fault(
        "evaluation",
        "a run that is cut starts where it did",
        VECTOR,
        [
            "Held::Run(content) => Held::Run(content.shifted(from)),",
            "Held::Run(content) => Held::Run(*content),",
        ],
    ),
    fault(
        "evaluation",
        "a buffer ends after the part that was written",
        VECTOR,
        ["whole.extend(&self.slice(end..self.count())?);", "self.slice(end..self.count())?;"],
    ),
    fault(
        "evaluation",
        "side by side, runs start anew at every boundary",
        RUNS,
        [
            "contents.push(run.content.shifted(start.saturating_sub(run.positions.start)));",
            "contents.push(run.content);",
        ],
    ),
    // Matching: which calls meet.
    fault(
        "matching",
        "a message is the one between the same ranks the other way",
        MESSAGE,
        [
            "Direction::Recv => Ends { group: members, from: message.peer, to: own, pair: (peer, rank) },",
            "Direction::Recv => Ends { group: members, from: message.peer, to: own, pair: (rank, peer) },",
        ],
    ),
    Fault {
        part: "matching",
        name: "a call is complete while one rank is missing",
        file: INSTANCE,
        from: "self.standing == Standing::Open && self.missing == 0",
        to: "self.standing == Standing::Open && self.missing <= 1",
        killer: Killer::Programs,
    },
    Fault {
        part: "matching",
        name: "sends and recvs sit in one seat",
        file: SEATING,
        from: "Some((from, position, End::Recv, 1))",
        to: "Some((from, position, End::Recv, 0))",
        killer: Killer::Programs,
    },
    // Normalisation: which terms are one value.
    fault(
        "normalisation",
        "a multiple of a sum is the sum",
        SUMS,
        ["_ => Arc::new(&*inner.times * &**times),", "_ => Arc::clone(&inner.times),"],
    ),
    fault(
        "normalisation",
        "integers have one bit more",
        FORM,
        ["let modulus = BigInt::one() << bits;", "let modulus = BigInt::one() << (bits + 1);"],
    ),
    fault(
        "normalisation",
        "a contribution counts once in a sum",
        SUMS,
        ["*total = &*total + &**times;", "*total = Multiplicity::clone(times);"],
    ),
    fault(
        "normalisation",
        "a minimum inside a maximum is one with it",
        FORM,
        [
            "Some(Form::Extreme { how: inner, parts }) if *inner == how => {",
            "Some(Form::Extreme { parts, .. }) => {",
        ],
    ),
    fault(
        "normalisation",
        "a maximum keeps no more than its first part",
        FORM,
        [
            "let base = self.base(set.iter());",
            "let set: BTreeSet<_> = set.into_iter().take(2).collect();\n        let base = self.base(set.iter());",
        ],
    ),
    fault(
        "normalisation",
        "a truncating division by two changes nothing",
        FORM,
        ["                1 => None,\n", "                1..=2 => None,\n"],
    ),
    fault(
        "normalisation",
        "a conversion that narrows can be taken back",
        FORM,
        ["(original == to && holds_all_of(*through, to))", "(original == to)"],
    ),
    fault(
        "normalisation",
        "a term is where its last part is",
        FORM,
        ["reading.map(|part| part.at).min()", "reading.map(|part| part.at).max()"],
    ),
    fault(
        "normalisation",
        "a power is its base",
        FORM,
        [
            "*powers.entry(factor).or_default() += power;",
            "*powers.entry(factor).or_default() = power;",
        ],
    ),
    fault(
        "normalisation",
        "constants of a product are lost",
        FORM,
        ["constant *= times;", "let _ = times;"],
    ),
    fault(
        "normalisation",
        "inputs of one type are one input",
        TERM,
        [
            "if let Some(known) = self.input_ids.get(identity) {",
            "let alike = |(of, _): &(&InputIdentity, _)| of.dtype == identity.dtype;\n        if let Some((_, known)) = self.input_ids.iter().find(alike) {",
        ],
    ),
    // Comparison: whether two states are the same.
    fault(
        "comparison",
        "a value and none are the same",
        WALK,
        [
            "return (!both_gaps).then(|| found(true));",
            "return (!both_gaps).then(|| found(true)).filter(|_| false);",
        ],
    ),
    fault(
        "comparison",
        "a value is the same at any position",
        EQUAL,
        ["if left == right =>", "if left.form == right.form =>"],
    ),
    fault(
        "comparison",
        "what is not proven is a difference",
        EQUAL,
        ["(Some(_), Some(_)) => Equality::NotProven,", "(Some(_), Some(_)) => Equality::Differ,"],
    ),
    fault(
        "comparison",
        "a longer buffer is the same",
        WALK,
        ["in rest.within(short..long) {", "in rest.within(long..long) {"],
    ),
    fault(
        "comparison",
        "the first place speaks for all",
        STATE,
        [
            "&pairs };\n        for Pair { place, ranks } in &pairs {",
            "&pairs };\n        for Pair { place, ranks } in pairs.iter().take(1) {",
        ],
    ),
    fault(
        "comparison",
        "the first buffer speaks for all",
        STATE,
        [
            "for buffer in &surface.compared {\n                let Some",
            "for buffer in surface.compared.iter().take(1) {\n                let Some",
        ],
    ),
    fault(
        "comparison",
        "an open question outweighs a difference behind it",
        WALK,
        ["let is_certain = found.certain;", "let is_certain = true;"],
    ),
    // Needs: whether a consumer finds what it must.
    fault(
        "needs",
        "the first rank speaks for all",
        NEED,
        [
            "for rank in ranks(self.plan.world).filter(|rank| self.plan.is_on(&need.on, *rank)) {",
            "for rank in ranks(self.plan.world).filter(|rank| self.plan.is_on(&need.on, *rank)).take(1) {",
        ],
    ),
    fault(
        "needs",
        "some positions are the first ones",
        FIND,
        [
            "let Some(slice) = held.slice(positions.clone()) else {",
            "let Some(slice) = held.slice(0..wanted) else {",
        ],
    ),
    fault(
        "needs",
        "a longer buffer will do",
        FIND,
        ["held.count() == wanted", "held.count() >= wanted"],
    ),
    fault(
        "needs",
        "nobody fails",
        NEED,
        ["report.failing = report.failing.saturating_add(1);", ""],
    ),
    fault(
        "needs",
        "evidence stands at positions of the need",
        FIND,
        ["let start = positions.start.saturating_add(from);", "let start = from;"],
    ),
    // The language of needs.
    fault(
        "holds",
        "a gather is in another order",
        HOLDS,
        [
            "for member in group.members() {\n                        parts.push(",
            "for member in group.members().iter().rev() {\n                        parts.push(",
        ],
    ),
    fault(
        "holds",
        "everybody's shard is the first",
        HOLDS,
        ["None => own,", "None => { let _ = own; group.size().first() }"],
    ),
    fault(
        "holds",
        "every group is the world",
        HOLDS,
        [
            "let partition = match &expr.over {",
            "let partition = match &expr.over.clone().filter(|_| false) {",
        ],
    ),
    fault(
        "holds",
        "a conversion changes the type alone, in a need",
        HOLDS,
        ["vector.map(*to, |placed| terms.cast(placed, *to))", "vector.map(*to, |placed| placed)"],
    ),
    fault(
        "holds",
        "one group's value is everybody's",
        HOLDS,
        [
            "let key = (core::ptr::from_ref(expr).addr(), first);",
            "let key = (core::ptr::from_ref(expr).addr(), ranks(self.plan.world).next().unwrap_or(first));",
        ],
    ),
    fault(
        "holds",
        "a slice of a need starts at its first position",
        HOLDS,
        [
            "vector.slice(positions.clone()).map(Arc::new).ok_or_else(",
            "vector.slice(0..positions.end - positions.start).map(Arc::new).ok_or_else(",
        ],
    ),
    // Wrongness: what is said of a value that is not the one needed.
    fault(
        "wrongness",
        "a factor is told the other way round",
        SCALE,
        ["let ratio = found / needed;", "let ratio = needed / found;"],
    ),
    fault(
        "wrongness",
        "the mean is over as many as needed",
        SCALE,
        ["return Wrong::Averaged { over: found };", "return Wrong::Averaged { over: needed };"],
    ),
    fault(
        "wrongness",
        "what is missing is told to be too much",
        VALUE,
        ["wrongs.push(if times.is_zero() {", "wrongs.push(if needed.is_zero() {"],
    ),
    fault(
        "wrongness",
        "positions are told the other way round",
        VALUE,
        [
            "(found != needed).then_some(Wrong::OutOfPlace { found, needed })",
            "(found != needed).then_some(Wrong::OutOfPlace { found: needed, needed: found })",
        ],
    ),
    fault(
        "wrongness",
        "sub-groups are told the other way round",
        VALUE,
        ["Wrong::SubGroup { found, needed }]", "Wrong::SubGroup { found: needed, needed: found }]"],
    ),
    fault(
        "wrongness",
        "another multiple is only another rank's",
        VALUE,
        ["&& have.parts.values().eq(want.parts.values())\n", "\n"],
    ),
    fault("wrongness", "a power is a multiple", VALUE, ["            && !powers\n", ""]),
    fault(
        "wrongness",
        "whatever is held belongs to whoever needs something",
        PLACEMENT,
        [".and_then(|mine| needs.get(mine))", ".and_then(|_| needs.values().next())"],
    ),
    fault(
        "wrongness",
        "whatever was written over was right",
        HISTORY,
        [
            ".rev()\n            .find(|(_, version)| is_here(version.buffer) && holds(version));",
            ".rev()\n            .skip(1)\n            .find(|(_, version)| is_here(version.buffer));",
        ],
    ),
];
