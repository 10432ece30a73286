//! Views as texts: one, or a list of them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::RankLayout;
use serde::{Deserialize, Serialize};

use crate::call::Signature;
use crate::history::widen;
use crate::program::{Buffers, Fault, View};

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Views {
    One(String),
    Several(Vec<String>),
}

impl Views {
    pub(super) fn write(views: &[View]) -> Option<Self> {
        match views {
            [] => None,
            [one] => Some(Self::One(one.to_string())),
            several => Some(Self::Several(several.iter().map(ToString::to_string).collect())),
        }
    }
}

pub(super) fn read(views: Option<Views>) -> Result<Vec<View>, Fault> {
    let texts = match views {
        None => Vec::new(),
        Some(Views::One(text)) => Vec::from([text]),
        Some(Views::Several(texts)) => texts,
    };
    texts.iter().map(|text| text.parse().map_err(Fault::View)).collect()
}

/// The buffers of a call, as long as its layout makes them.
pub(super) fn of_call(
    signature: &Signature,
    at: Option<&RankLayout>,
    send: Option<Views>,
    recv: Option<Views>,
) -> Result<Buffers, Fault> {
    let (input, output) = match at {
        Some(at) => {
            (at.has_input().then(|| at.input_len()), at.has_output().then(|| at.output_len()))
        }
        None => (None, None),
    };
    Ok(Buffers {
        reads: sized(signature, "send", read(send)?, input)?,
        writes: sized(signature, "recv", read(recv)?, output)?,
    })
}

/// Gives views without positions their equal shares, and compares the sum.
fn sized(
    signature: &Signature,
    field: &'static str,
    mut views: Vec<View>,
    expected: Option<u64>,
) -> Result<Vec<View>, Fault> {
    if views.is_empty() {
        return Ok(views);
    }
    let Some(expected) = expected else {
        return Err(Fault::NoBuffer { field, call: signature.to_string() });
    };
    let named = views.iter().filter(|view| !view.is_whole());
    let named = named.fold(0_u64, |sum, view| sum.saturating_add(view.len()));
    let open = widen(views.iter().filter(|view| view.is_whole()).count());
    let mismatch = Fault::ViewLength { field, found: named, expected };
    let Some(rest) = expected.checked_sub(named) else { return Err(mismatch) };
    match (rest.checked_div(open), rest.checked_rem(open)) {
        // All have positions.
        (None, _) if rest > 0 => return Err(mismatch),
        (Some(share), Some(0)) => {
            for view in views.iter_mut().filter(|view| view.is_whole()) {
                view.end = share;
            }
        }
        (Some(_), _) => return Err(Fault::UnequalViews { field, views: open, expected }),
        (None, _) => {}
    }
    Ok(views)
}
