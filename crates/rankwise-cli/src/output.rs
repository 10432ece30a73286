//! The one place where the command writes.

use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};

use crate::args::Color;

/// Standard output and standard error, each with its own idea of colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    color: Color,
}

impl Output {
    /// An output that uses colour as asked.
    pub(crate) const fn new(color: Color) -> Self {
        Self { color }
    }

    /// Writes a complete answer to standard output.
    ///
    /// A reader that has gone away (`rankwise … | head -1`) has had enough: that is no
    /// error. Any other failure to write is.
    pub(crate) fn answer(self, text: &str) -> io::Result<()> {
        let stdout = io::stdout().lock();
        let choice = self.choice(stdout.is_terminal());
        let mut stream = AutoStream::new(stdout, choice);
        match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    /// Writes a complaint to standard error; if even that fails, nobody is listening.
    pub(crate) fn complain(self, text: &str) {
        let stderr = io::stderr().lock();
        let choice = self.choice(stderr.is_terminal());
        let mut stream = AutoStream::new(stderr, choice);
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    fn choice(self, is_terminal: bool) -> ColorChoice {
        // https://no-color.org: set and not empty.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self.color {
            Color::Always => ColorChoice::Always,
            Color::Auto if is_terminal && !no_color && !dumb => ColorChoice::Always,
            Color::Auto | Color::Never => ColorChoice::Never,
        }
    }
}
