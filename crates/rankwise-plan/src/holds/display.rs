//! An expression as text that reads back to the same expression.

use core::fmt;

use rankwise_model::Reduction;

use crate::holds::{
    CAST, CONCAT, DIM, EXCHANGE, FILL, GATHER, OVER, PAD, RANK, SHAPE, SHARD, UNEVEN, VALUE,
    is_bare, rank_digits,
};
use crate::plan::{At, Expr, ExprKind};

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Input { name, at } => {
                name_to(f, name, is_bare(name))?;
                match at {
                    None => {}
                    Some(At::Rank(rank)) => write!(f, "@{RANK}{rank}")?,
                    Some(At::Device(device)) => {
                        f.write_str("@")?;
                        name_to(f, device, is_bare(device) && rank_digits(device).is_none())?;
                    }
                }
            }
            ExprKind::Gather(inner) => write!(f, "{GATHER}({inner})")?,
            ExprKind::Exchange(inner) => write!(f, "{EXCHANGE}({inner})")?,
            ExprKind::Shard(inner, block, sharding) => {
                write!(f, "{SHARD}({inner}")?;
                if let Some(block) = block {
                    write!(f, ", {block}")?;
                }
                if let Some(shape) = &sharding.shape {
                    write!(f, ", {SHAPE} = {shape:?}, {DIM} = {}", sharding.dim)?;
                }
                if let Some(uneven) = sharding.uneven {
                    write!(f, ", {UNEVEN} = {uneven}")?;
                }
                if let Some(value) = &sharding.value {
                    write!(f, ", {VALUE} = {value}")?;
                }
                f.write_str(")")?;
            }
            ExprKind::Pad(inner, count, value) => write!(f, "{PAD}({inner}, {count}, {value})")?,
            ExprKind::Fill(value, dtype, count) => write!(f, "{FILL}({value}, {dtype}, {count})")?,
            ExprKind::Reduce(reduction, inner) => write!(f, "{reduction}({inner})")?,
            ExprKind::PreMul(inner, scalars) => {
                write!(f, "{}({inner}", Reduction::PreMulSum)?;
                for scalar in scalars {
                    write!(f, ", {scalar}")?;
                }
                f.write_str(")")?;
            }
            ExprKind::Cast(inner, dtype) => write!(f, "{CAST}({inner}, {dtype})")?,
            ExprKind::Concat(parts) => {
                write!(f, "{CONCAT}(")?;
                for (index, part) in parts.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    part.fmt(f)?;
                }
                f.write_str(")")?;
            }
            ExprKind::Slice(inner, range) => write!(f, "{inner}[{}..{}]", range.start, range.end)?,
        }
        if let Some(group) = &self.over {
            write!(f, " {OVER} ")?;
            name_to(f, group, is_bare(group))?;
        }
        Ok(())
    }
}

fn name_to(f: &mut fmt::Formatter<'_>, name: &str, bare: bool) -> fmt::Result {
    if bare {
        return f.write_str(name);
    }
    f.write_str("\"")?;
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            f.write_str("\\")?;
        }
        write!(f, "{c}")?;
    }
    f.write_str("\"")
}
