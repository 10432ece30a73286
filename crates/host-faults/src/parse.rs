//! Clauses, read strictly.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::{Effect, Faults, Nth, OfRank, OfSymbol};

/// A clause that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultError {
    /// The clause.
    pub clause: String,
    /// What stands there.
    pub found: String,
    /// What has to.
    pub expected: &'static str,
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clause, found, expected } = self;
        write!(f, "fault `{clause}`: found `{found}`, expected {expected}")
    }
}

impl std::error::Error for FaultError {}

pub(crate) fn parse(text: &str, known: &[&str]) -> Result<Faults, FaultError> {
    let mut faults = Faults::default();
    for clause in text.split(';').map(str::trim).filter(|clause| !clause.is_empty()) {
        Reader { clause, words: clause.split_whitespace(), known }.read(&mut faults)?;
    }
    Ok(faults)
}

/// One clause, word by word.
struct Reader<'t> {
    clause: &'t str,
    words: std::str::SplitWhitespace<'t>,
    known: &'t [&'t str],
}

impl<'t> Reader<'t> {
    fn read(mut self, faults: &mut Faults) -> Result<(), FaultError> {
        let verb = self.words.next().unwrap_or("");
        match verb {
            "fail" | "delay" | "async" => {
                let symbol = self.symbol()?;
                let nth = self.nth()?;
                let effect = match verb {
                    "fail" => Effect::Fail(self.number("a code")?),
                    "delay" => Effect::Delay(Duration::from_millis(self.number("milliseconds")?)),
                    _ => Effect::Later(self.number("a code")?),
                };
                // The other stand-in's are left to it.
                if self.known.contains(&symbol) {
                    let (symbol, calls) = (symbol.to_owned(), AtomicU64::new(0));
                    faults.symbols.push(OfSymbol { symbol, nth, effect, calls });
                }
            }
            "dead" => {
                let (rank, nth) = (self.number("a rank")?, self.number("the number of a call")?);
                faults.ranks.push(OfRank { rank, nth, calls: AtomicU64::new(0) });
            }
            "in-progress" => faults.polls = self.number("a number of polls")?,
            _ => return Err(self.error(verb, "fail, delay, async, dead or in-progress")),
        }
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.error(word, "the end of the clause")),
        }
    }

    fn error(&self, found: &str, expected: &'static str) -> FaultError {
        FaultError { clause: self.clause.to_owned(), found: found.to_owned(), expected }
    }

    /// A symbol of this library, or one that is plainly the other's.
    fn symbol(&mut self) -> Result<&'t str, FaultError> {
        let word = self.words.next().unwrap_or("");
        let family = |symbol: &str| {
            let families = ["nccl", "cu"].into_iter();
            families.into_iter().find(|prefix| symbol.starts_with(prefix))
        };
        let ours = self.known.first().and_then(|symbol| family(symbol));
        match family(word) {
            Some(theirs) if ours.is_some_and(|ours| ours != theirs) => Ok(word),
            Some(_) if self.known.contains(&word) => Ok(word),
            _ => Err(self.error(word, "a function of the stand-ins")),
        }
    }

    fn nth(&mut self) -> Result<Nth, FaultError> {
        let word = self.words.next().unwrap_or("");
        match word.parse() {
            Ok(number) if number > 0 => Ok(Nth::One(number)),
            _ if word == "every" => Ok(Nth::Every),
            _ => Err(self.error(word, "the number of a call, from 1, or `every`")),
        }
    }

    fn number<N: std::str::FromStr>(&mut self, expected: &'static str) -> Result<N, FaultError> {
        let word = self.words.next().unwrap_or("");
        word.parse().map_err(|_| self.error(word, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Struck;

    const OURS: &[&str] = &["ncclAllReduce", "ncclSend"];

    #[test]
    fn every_kind_of_clause_strikes_where_it_says() {
        let text = "fail ncclSend 2 99; delay ncclSend every 5 ;async ncclAllReduce 1 6;\
                    dead 1 2; in-progress 3; fail cuInit 1 100;";
        let faults = parse(text, OURS).unwrap();
        let held = Duration::from_millis(5);
        let (one, two) = (faults.strike("ncclSend"), faults.strike("ncclSend"));
        assert_eq!(one, Struck { delay: held, ..Struck::default() });
        assert_eq!(two, Struck { delay: held, answer: Some(99), later: None });
        assert_eq!(faults.strike("ncclAllReduce").later, Some(6));
        assert_eq!(faults.strike("ncclAllReduce"), Struck::default());
        assert_eq!([0, 1, 1, 1].map(|rank| faults.dies(rank)), [false, false, true, true]);
        assert_eq!(faults.polls(), 3);
        // The driver's is not ours.
        assert_eq!(faults.strike("cuInit"), Struck::default());
    }

    #[test]
    fn nothing_is_asked_for_by_nothing() {
        assert!(parse("", OURS).unwrap().is_empty());
        assert!(parse(" ; ", OURS).unwrap().is_empty());
        assert!(parse("fail cuInit 1 1", OURS).unwrap().is_empty());
    }

    #[test]
    fn a_word_that_means_nothing_is_named() {
        let words = |text| parse(text, OURS).unwrap_err().to_string();
        assert_eq!(
            words("fial ncclSend 1 5"),
            "fault `fial ncclSend 1 5`: found `fial`, expected fail, delay, async, dead or \
             in-progress"
        );
        assert_eq!(
            words("dead 1 2; fail ncclSned 1 5"),
            "fault `fail ncclSned 1 5`: found `ncclSned`, expected a function of the stand-ins"
        );
        for (text, found) in [
            ("fail malloc 1 5", "malloc"),
            ("fail ncclSend 0 5", "0"),
            ("fail ncclSend each 5", "each"),
            ("fail ncclSend 1 -1", "-1"),
            ("fail ncclSend 1", ""),
            ("delay ncclSend 1 soon", "soon"),
            ("dead one 2", "one"),
            ("in-progress 3 polls", "polls"),
        ] {
            assert_eq!(parse(text, OURS).unwrap_err().found, found, "{text}");
        }
    }
}
