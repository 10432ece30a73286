//! `docs/command.md` shows real output: every `console` block in it is run.
//!
//! With `RANKWISE_DOCS=write` in the environment the page is rewritten instead.

use std::fmt::Write as _;

use super::{rankwise, root};

/// The words of a shell line; double and single quotes group, nothing else is special.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The page with every block's output as it is now, and the number of commands run.
fn page_as_run(page: &str) -> (String, usize) {
    let (mut text, mut commands, mut inside, mut status) = (String::new(), 0, false, 0);
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        }
        match line.strip_prefix("$ ").filter(|_| inside) {
            Some("echo $?") => writeln!(text, "{line}\n{status}").unwrap(),
            Some(command) => {
                let words = words(command);
                assert_eq!(words[0], "rankwise", "{command}");
                let ran = rankwise(&words[1..]);
                writeln!(text, "{line}").unwrap();
                text.push_str(&ran.stdout);
                text.push_str(&ran.stderr);
                (status, commands) = (ran.status, commands + 1);
            }
            None if inside && !line.starts_with("```") => {} // output, replaced by the new
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    (text, commands)
}

#[test]
fn the_page_shows_what_the_command_prints() {
    let path = root().join("docs/command.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (now, commands) = page_as_run(&page);
    for verb in ["explain", "check", "compare", "relabel", "judge", "label", "schema"] {
        assert!(page.contains(&format!("\n$ rankwise {verb}")), "no example of {verb}");
    }
    assert!(commands >= 7);
    if std::env::var_os("RANKWISE_DOCS").is_some_and(|wish| wish == "write") {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    assert!(
        now == page,
        "docs/command.md is stale; run `RANKWISE_DOCS=write cargo test -p rankwise-cli`\n{}",
        page.lines()
            .zip(now.lines())
            .find(|(old, new)| old != new)
            .map_or_else(String::new, |(old, new)| format!("- {old}\n+ {new}"))
    );
}

#[test]
fn quotes_group_words() {
    assert_eq!(words("rankwise label \"16 B\" 'x'  n=2 \"\""), ["rankwise", "label", "16 B", "x", "n=2", ""]);
}
