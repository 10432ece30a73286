//! What the environment asks for, read once at `cuInit`.

use std::thread;
use std::time::Duration;

use crate::report;

/// How many devices there are; 8 if unset.
const DEVICES: &str = "RANKWISE_HOST_DEVICES";
/// A seed: streams then dawdle at random, so that a missing wait shows.
const DELAY: &str = "RANKWISE_HOST_DELAY";

/// The most devices that can be asked for.
const MOST_DEVICES: u32 = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) devices: u32,
    pub(crate) seed: Option<u64>,
}

impl Settings {
    /// Reads the environment. What cannot be read is said, and then there is no device.
    pub(crate) fn read() -> Self {
        Self::from(|name| std::env::var(name).ok())
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Self {
        let devices = variable(DEVICES).map_or(Some(8), |text| text.trim().parse().ok());
        let devices = devices.filter(|devices| *devices <= MOST_DEVICES).unwrap_or_else(|| {
            report::say(format_args!("{DEVICES} is no number from 0 to {MOST_DEVICES}"));
            0
        });
        let seed = variable(DELAY).and_then(|text| {
            let seed = text.trim().parse().ok();
            if seed.is_none() {
                report::say(format_args!("{DELAY} is no seed, so nothing is delayed"));
            }
            seed
        });
        Self { devices, seed }
    }
}

/// The pauses of one stream.
pub(crate) struct Pauses(Option<u64>);

impl Pauses {
    /// Those of the stream with this number, which differ from every other's.
    pub(crate) fn of_stream(seed: Option<u64>, number: u64) -> Self {
        Self(seed.map(|seed| seed ^ number.wrapping_mul(0xa076_1d64_78bd_642f)))
    }

    /// How long to dawdle next: half the time not at all.
    pub(crate) fn next(&mut self) -> Pause {
        let Some(state) = self.0.as_mut() else { return Pause(Duration::ZERO) };
        // Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let microseconds = [0, 0, 0, 50, 200, 1000][usize::try_from(mixed % 6).unwrap_or(0)];
        Pause(Duration::from_micros(microseconds))
    }
}

/// One pause, which may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause(Duration);

impl Pause {
    pub(crate) fn take(self) {
        if self != Self(Duration::ZERO) {
            thread::sleep(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Settings {
        Settings::from(move |asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn eight_devices_unless_told_otherwise() {
        assert_eq!(Settings::from(|_| None), Settings { devices: 8, seed: None });
        assert_eq!(with(DEVICES, "3").devices, 3);
        assert_eq!(with(DEVICES, " 64\n").devices, 64);
        for nonsense in ["65", "-1", "two", ""] {
            assert_eq!(with(DEVICES, nonsense).devices, 0, "{nonsense}");
        }
    }

    #[test]
    fn only_a_seed_delays_and_streams_differ() {
        assert_eq!(with(DELAY, "7").seed, Some(7));
        assert_eq!(with(DELAY, "soon").seed, None);
        let pauses = |seed, number| {
            let mut pauses = Pauses::of_stream(seed, number);
            (0..100).map(|_| pauses.next()).collect::<Vec<_>>()
        };
        let none = Pause(Duration::ZERO);
        assert_eq!(pauses(None, 1), [none; 100]);
        let some = pauses(Some(7), 1).iter().filter(|pause| **pause != none).count();
        assert!((25..75).contains(&some), "{some} of 100");
        assert_eq!(pauses(Some(7), 1), pauses(Some(7), 1));
        assert_ne!(pauses(Some(7), 1), pauses(Some(7), 2));
    }
}
