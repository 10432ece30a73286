//! The pages show real output: every `console` block in them is run.
//!
//! With `RANKWISE_DOCS=write` in the environment the pages are rewritten instead.

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
                // Both ways to write it: installed, and from a checkout.
                let from_checkout = command.strip_prefix("cargo run --release -- ");
                let words = match from_checkout {
                    Some(arguments) => words(&format!("rankwise {arguments}")),
                    None => words(command),
                };
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

/// Runs what a page of the repository shows, and compares (or rewrites) it.
fn check_page(name: &str) -> (String, usize) {
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let (now, commands) = page_as_run(&page);
    if std::env::var_os("RANKWISE_DOCS").is_some_and(|wish| wish == "write") {
        std::fs::write(&path, &now).unwrap();
        return (now, commands);
    }
    assert!(
        now == page,
        "{name} is stale; run `RANKWISE_DOCS=write cargo test -p rankwise-cli`\n{}",
        page.lines()
            .zip(now.lines())
            .find(|(old, new)| old != new)
            .map_or_else(String::new, |(old, new)| format!("- {old}\n+ {new}"))
    );
    (page, commands)
}

#[test]
fn the_page_of_the_command_shows_what_it_prints() {
    let (page, commands) = check_page("docs/command.md");
    for verb in [
        "explain", "check", "compare", "relabel", "explore", "judge", "run", "label", "template",
        "certify", "verify",
    ] {
        assert!(page.contains(&format!("\n$ rankwise {verb}")), "no example of {verb}");
    }
    assert!(commands >= 7);
}

#[test]
fn the_page_of_the_templates_shows_what_they_print() {
    let (_, commands) = check_page("docs/templates.md");
    assert!(commands >= 2);
}

/// The mission's figures, as the README's example prints them.
#[test]
fn the_readme_shows_every_figure_of_the_mission() {
    let (page, commands) = check_page("README.md");
    assert_eq!(commands, 5);
    let spaced: String = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for figure in [
        // The table: values, count arguments, outputs per rank.
        "y 0 A 0..4 x@A[0..4] + x@B[0..4] [11, 22, 33, 44]",
        "y 1 B 0..4 x@A[0..4] + x@B[0..4] [11, 22, 33, 44]",
        "s 0 A 0..2 x@A[0..2] + x@B[0..2] [11, 22]",
        "s 1 B 0..2 x@A[2..4] + x@B[2..4] [33, 44]",
        "y 0 A 0..4 x@A[0..4] [1, 2, 3, 4] 4..8 x@B[0..4] [10, 20, 30, 40]",
        "count 4 is the whole vector",
        "count 4 is one rank's contribution (sendcount)",
        "count 2 is one rank's shard (recvcount)",
        "count 2 is one rank's contribution (sendcount)",
        "every rank 2 4 elements i32, 16 B 4 elements i32, 16 B",
        "every rank 2 4 elements i32, 16 B 8 elements i32, 32 B",
        "every rank 2 4 elements i32, 16 B 2 elements i32, 8 B",
        "every rank 2 2 elements i32, 8 B 4 elements i32, 16 B",
        // Relabelled.
        "all 0 B 0..4 x@B[0..4] [10, 20, 30, 40] 4..8 x@A[0..4] [1, 2, 3, 4]",
        "shard 0 B 0..2 x@B[0..2] + x@A[0..2] [11, 22]",
        "shard 1 A 0..2 x@B[2..4] + x@A[2..4] [33, 44]",
        // What the figures are not.
        "It is not link bytes, not time, not temporary buffers, not peak memory.",
    ] {
        assert!(spaced.contains(figure), "the README does not show: {figure}");
    }
}

#[test]
fn quotes_group_words() {
    assert_eq!(
        words("rankwise label \"16 B\" 'x'  n=2 \"\""),
        ["rankwise", "label", "16 B", "x", "n=2", ""]
    );
}
