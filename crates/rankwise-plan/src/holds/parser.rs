//! The grammar, by recursive descent with a bound on depth.
//!
//! ```text
//! E    = form { "[" RANGE "]" | "over" NAME }
//! form = NAME [ "@" ( "rank" DIGITS | NAME ) ]
//!      | FUNCTION "(" E { "," argument } ")"
//!      | "fill" "(" NUMBER "," TYPE "," COUNT ")"
//! ```

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use rankwise_model::{Dtype, GroupSize, Reduction};
use rankwise_topology::{World, WorldRank};

use crate::error::{Fault, PlanError, Span};
use crate::holds::cursor::{Cursor, Word};
use crate::holds::{
    CAST, CONCAT, DIM, EXCHANGE, FILL, GATHER, PAD, Parsed, SHAPE, SHARD, UNEVEN, VALUE, error,
    rank_digits,
};
use crate::plan::{At, Expr, ExprKind, Sharding, Uneven, Wants};
use crate::{limits, names};

const FORM: &str = "an input such as x, or a form such as sum(x)";

/// A parser at some place of one expression.
pub(super) struct Parser<'e> {
    cursor: Cursor<'e>,
    groups: Vec<(String, Span)>,
}

/// An expression and how many forms deep it is.
struct Deep {
    expr: Expr,
    height: usize,
}

impl<'e> Parser<'e> {
    pub(super) fn new(cursor: Cursor<'e>) -> Self {
        Self { cursor, groups: Vec::new() }
    }

    /// The expression, and nothing after it.
    pub(super) fn whole(mut self) -> Result<Parsed, PlanError> {
        let deep = self.expression(0)?;
        match self.cursor.peek() {
            None => Ok(Parsed { expr: deep.expr, groups: self.groups }),
            Some(_) => Err(self.cursor.unexpected("the end, `over` or [a..b]")),
        }
    }

    fn expression(&mut self, depth: usize) -> Result<Deep, PlanError> {
        let start = self.cursor.start();
        self.check_depth(start, depth.saturating_add(1))?;
        let mut deep = self.form(start, depth)?;
        loop {
            if self.cursor.take('[') {
                let range = self.cursor.range()?;
                self.cursor.need(']', "], after the positions a..b")?;
                let height = deep.height.saturating_add(1);
                self.check_depth(start, depth.saturating_add(height))?;
                let kind = ExprKind::Slice(Box::new(deep.expr), range);
                deep = Deep { expr: self.made(kind, start), height };
            } else if self.cursor.take_over() {
                let group = self.cursor.name("the name of a group, after `over`")?;
                if !put_over(&mut deep.expr, &group.text) {
                    let span = self.cursor.span_from(group.start);
                    let found = format!("`over {}` where nothing takes it", group.text);
                    return Err(error(
                        Fault::Contradiction,
                        span,
                        found,
                        "it after gather, shard or a reduction that has no `over` yet",
                    ));
                }
                deep.expr.span = self.cursor.span_from(start);
                let span = self.cursor.span_from(group.start);
                self.groups.push((group.text.into_owned(), span));
            } else {
                return Ok(deep);
            }
        }
    }

    fn check_depth(&self, start: usize, depth: usize) -> Result<(), PlanError> {
        if depth <= limits::HOLDS_DEPTH {
            return Ok(());
        }
        let found = format!("{depth} forms inside one another");
        let expected = format!("at most {}", limits::HOLDS_DEPTH);
        Err(error(Fault::Limit, self.cursor.span_from(start), found, &expected))
    }

    fn made(&self, kind: ExprKind, start: usize) -> Expr {
        Expr { kind, over: None, span: self.cursor.span_from(start) }
    }

    fn form(&mut self, start: usize, depth: usize) -> Result<Deep, PlanError> {
        let word = self.cursor.name(FORM)?;
        if !word.quoted && self.cursor.take('(') {
            return self.function(&word, depth);
        }
        let at = if self.cursor.take('@') { Some(self.place()?) } else { None };
        let kind = ExprKind::Input { name: word.text.into_owned(), at };
        Ok(Deep { expr: self.made(kind, start), height: 1 })
    }

    /// What stands after `@`.
    fn place(&mut self) -> Result<At, PlanError> {
        let word = self.cursor.name("a device, or rank and a number, after @")?;
        match rank_digits(&word.text) {
            Some(digits) if !word.quoted => match digits.parse().ok().and_then(any_rank) {
                Some(rank) => Ok(At::Rank(rank)),
                None => Err(error(
                    Fault::Overflow,
                    self.cursor.span_from(word.start),
                    names::shortened(&word.text),
                    "a rank of the world",
                )),
            },
            _ => Ok(At::Device(word.text.into_owned())),
        }
    }

    /// The rest of a function, after its opening parenthesis.
    fn function(&mut self, name: &Word<'e>, depth: usize) -> Result<Deep, PlanError> {
        let function = Function::named(&name.text).ok_or_else(|| {
            let expected = names::one_of(&name.text, Function::all());
            error(
                Fault::UnknownName,
                self.cursor.span(name.start..name.start.saturating_add(name.text.len())),
                format!("the form {}(…)", name.text),
                &expected,
            )
        })?;
        if matches!(function, Function::Fill) {
            let kind = self.fill()?;
            self.cursor.need(')', "a closing )")?;
            return Ok(Deep { expr: self.made(kind, name.start), height: 1 });
        }
        let first = self.expression(depth.saturating_add(1))?;
        let mut height = first.height;
        let inner = first.expr;
        let kind = match function {
            Function::Gather => ExprKind::Gather(Box::new(inner)),
            Function::Exchange => ExprKind::Exchange(Box::new(inner)),
            Function::Shard => {
                let (block, sharding) = self.shard(name)?;
                ExprKind::Shard(Box::new(inner), block, sharding)
            }
            Function::Pad => {
                self.cursor
                    .need(',', "a comma and how many elements there are with the padding")?;
                let count = self.cursor.integer("how many elements there are with the padding")?;
                self.cursor.need(',', "a comma and what the padding holds")?;
                ExprKind::Pad(Box::new(inner), count, self.cursor.number()?.to_owned())
            }
            // Read above: it is made of nothing.
            Function::Fill => inner.kind,
            Function::Reduce(Reduction::PreMulSum) => {
                let mut scalars = Vec::new();
                self.cursor.need(',', "a comma and one scalar per rank")?;
                loop {
                    scalars.push(self.cursor.number()?.to_owned());
                    self.check_arguments(name, scalars.len())?;
                    if !self.cursor.take(',') {
                        break;
                    }
                }
                ExprKind::PreMul(Box::new(inner), scalars)
            }
            Function::Reduce(reduction) => ExprKind::Reduce(reduction, Box::new(inner)),
            Function::Cast => {
                self.cursor.need(',', "a comma and an element type")?;
                ExprKind::Cast(Box::new(inner), self.dtype()?)
            }
            Function::Concat => {
                let mut parts = vec![inner];
                while self.cursor.take(',') {
                    let part = self.expression(depth.saturating_add(1))?;
                    height = height.max(part.height);
                    parts.push(part.expr);
                    self.check_arguments(name, parts.len())?;
                }
                ExprKind::Concat(parts)
            }
        };
        self.cursor.need(')', "a closing )")?;
        Ok(Deep { expr: self.made(kind, name.start), height: height.saturating_add(1) })
    }

    /// `value, type, count`.
    fn fill(&mut self) -> Result<ExprKind, PlanError> {
        let value = self.cursor.number()?.to_owned();
        self.cursor.need(',', "a comma and an element type")?;
        let dtype = self.dtype()?;
        self.cursor.need(',', "a comma and how many elements")?;
        Ok(ExprKind::Fill(value, dtype, self.cursor.integer("how many elements")?))
    }

    /// The arguments of `shard` after the first: a block, and how the tensor is divided.
    fn shard(&mut self, name: &Word<'e>) -> Result<(Option<u32>, Sharding), PlanError> {
        const NAMED: &str = "the number of a block, or one of shape, dim, uneven, value";
        let mut block = None;
        let mut sharding = Sharding::default();
        let mut given: Vec<String> = Vec::new();
        while self.cursor.take(',') {
            if given.is_empty() && block.is_none() && self.cursor.peek_digit() {
                block = Some(self.cursor.integer("the number of a block")?);
                continue;
            }
            let word = self.cursor.name(NAMED)?;
            self.cursor.need('=', "= after the name of an argument")?;
            match &*word.text {
                _ if given.contains(&word.text.to_string()) => {
                    let span = self.cursor.span_from(word.start);
                    let found = format!("{} a second time", word.text);
                    return Err(error(Fault::Contradiction, span, found, "each argument once"));
                }
                SHAPE => sharding.shape = Some(self.shape(name)?),
                DIM => sharding.dim = self.cursor.integer("an axis, from 0")?,
                UNEVEN => {
                    let rule = self.cursor.name("chunk, balanced or pad")?;
                    let known = Uneven::ALL.into_iter().find(|known| known.name() == rule.text);
                    sharding.uneven = Some(known.ok_or_else(|| {
                        let span = self.cursor.span_from(rule.start);
                        let expected =
                            names::one_of(&rule.text, Uneven::ALL.map(Uneven::name).into_iter());
                        error(Fault::Value, span, names::quoted(&rule.text), &expected)
                    })?);
                }
                VALUE => sharding.value = Some(self.cursor.number()?.to_owned()),
                other => {
                    let span = self.cursor.span_from(word.start);
                    return Err(error(Fault::UnknownName, span, names::quoted(other), NAMED));
                }
            }
            given.push(word.text.into_owned());
        }
        let has_dim = given.iter().any(|given| given == DIM);
        sharding.check(has_dim, Wants::Share).map_err(|(kind, found, expected)| {
            error(kind, self.cursor.span_from(name.start), found, &expected)
        })?;
        Ok((block, sharding))
    }

    /// `[4, 6]`.
    fn shape(&mut self, name: &Word<'e>) -> Result<Vec<u64>, PlanError> {
        self.cursor.need('[', "[, before the axes of a shape")?;
        let mut shape = Vec::new();
        loop {
            shape.push(self.cursor.integer("the length of an axis")?);
            self.check_arguments(name, shape.len())?;
            if !self.cursor.take(',') {
                break;
            }
        }
        self.cursor.need(']', "], after the axes of a shape")?;
        Ok(shape)
    }

    fn check_arguments(&self, name: &Word<'e>, arguments: usize) -> Result<(), PlanError> {
        if u64::try_from(arguments).is_ok_and(|arguments| arguments <= limits::ARGUMENTS) {
            return Ok(());
        }
        let found = format!("{arguments} arguments of {}", name.text);
        let expected = format!("at most {}", limits::ARGUMENTS);
        Err(error(Fault::Limit, self.cursor.span_from(name.start), found, &expected))
    }

    fn dtype(&mut self) -> Result<Dtype, PlanError> {
        let word = self.cursor.name("an element type")?;
        names::dtype(&word.text).map_err(|expected| {
            error(
                Fault::Value,
                self.cursor.span_from(word.start),
                names::quoted(&word.text),
                &expected,
            )
        })
    }
}

/// A rank of the largest world there can be: the plan that the expression is in
/// will say whether it has it.
fn any_rank(index: u32) -> Option<WorldRank> {
    World::new(GroupSize::new(u32::MAX)?).rank(index)
}

/// Gives `over` to the form itself if it is over ranks, else to those inside it;
/// whether any took it.
fn put_over(expr: &mut Expr, group: &str) -> bool {
    match &mut expr.kind {
        ExprKind::Gather(_)
        | ExprKind::Exchange(_)
        | ExprKind::Shard(..)
        | ExprKind::Reduce(..)
        | ExprKind::PreMul(..) => {
            let is_free = expr.over.is_none();
            expr.over.get_or_insert_with(|| group.to_string());
            is_free
        }
        ExprKind::Cast(inner, _) | ExprKind::Slice(inner, _) | ExprKind::Pad(inner, ..) => {
            put_over(inner, group)
        }
        ExprKind::Concat(parts) => {
            let mut taken = false;
            for part in parts {
                taken |= put_over(part, group);
            }
            taken
        }
        ExprKind::Input { .. } | ExprKind::Fill(..) => false,
    }
}

/// A word that may stand before a parenthesis.
#[derive(Clone, Copy)]
enum Function {
    Gather,
    Exchange,
    Shard,
    Reduce(Reduction),
    Cast,
    Concat,
    Pad,
    Fill,
}

impl Function {
    const OWN: [(&'static str, Self); 7] = [
        (GATHER, Self::Gather),
        (EXCHANGE, Self::Exchange),
        (SHARD, Self::Shard),
        (CAST, Self::Cast),
        (CONCAT, Self::Concat),
        (PAD, Self::Pad),
        (FILL, Self::Fill),
    ];

    fn named(name: &str) -> Option<Self> {
        let own = Self::OWN.into_iter().find(|(own, _)| *own == name).map(|(_, form)| form);
        own.or_else(|| name.parse().ok().map(Self::Reduce))
    }

    fn all() -> impl Iterator<Item = &'static str> + Clone {
        let own = Self::OWN.into_iter().map(|(name, _)| name);
        own.chain(Reduction::ALL.into_iter().map(Reduction::name))
    }
}

impl Expr {
    /// The expression without its places, to compare meanings.
    #[must_use]
    pub fn without_spans(&self) -> Self {
        let inner = |expr: &Self| Box::new(expr.without_spans());
        let kind = match &self.kind {
            ExprKind::Input { name, at } => {
                ExprKind::Input { name: String::clone(name), at: at.clone() }
            }
            ExprKind::Gather(expr) => ExprKind::Gather(inner(expr)),
            ExprKind::Exchange(expr) => ExprKind::Exchange(inner(expr)),
            ExprKind::Shard(expr, block, sharding) => {
                ExprKind::Shard(inner(expr), *block, sharding.clone())
            }
            ExprKind::Pad(expr, count, value) => {
                ExprKind::Pad(inner(expr), *count, String::clone(value))
            }
            ExprKind::Fill(value, dtype, count) => {
                ExprKind::Fill(String::clone(value), *dtype, *count)
            }
            ExprKind::Reduce(reduction, expr) => ExprKind::Reduce(*reduction, inner(expr)),
            ExprKind::PreMul(expr, scalars) => ExprKind::PreMul(inner(expr), scalars.clone()),
            ExprKind::Cast(expr, dtype) => ExprKind::Cast(inner(expr), *dtype),
            ExprKind::Concat(parts) => {
                ExprKind::Concat(parts.iter().map(Self::without_spans).collect())
            }
            ExprKind::Slice(expr, range) => ExprKind::Slice(inner(expr), range.clone()),
        };
        Self { kind, over: self.over.clone(), span: Span::default() }
    }
}
