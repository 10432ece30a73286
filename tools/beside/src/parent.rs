//! Every situation with every library, each in a process of its own, for it may never end.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::Library;
use crate::ending::Ending;
use crate::program::Order;
use crate::situation::{RANKS, Situation};

const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) fn print_table(libraries: &[Library]) {
    let names: Vec<_> = libraries.iter().map(|library| library.name).collect();
    println!("| what happens | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for situation in Situation::ALL {
        let told: Vec<_> = libraries.iter().map(|library| told(library, situation)).collect();
        println!("| {} | {} |", situation.words(), told.join(" | "));
    }
}

fn told(library: &Library, situation: Situation) -> String {
    if let Err(lacks) = (library.program)(situation) {
        return lacks.to_owned();
    }
    let [up, down] = Order::ALL.map(|order| (order, in_words(&run(library, situation, order))));
    if up.1 == down.1 {
        return up.1;
    }
    [up, down].map(|(order, told)| format!("*{}*: {told}", order.words())).join("<br>")
}

/// A process that is ended when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How each rank ended; `None` if it had not when time was up.
fn run(library: &Library, situation: Situation, order: Order) -> Vec<Option<Ending>> {
    let own = env::current_exe().expect("this program has a path");
    let mut command = Command::new(own);
    command.args([library.name, situation.words(), order.words()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().expect("this program starts again"));
    let lines = BufReader::new(running.0.stdout.take().expect("piped")).lines();

    let (tell, told) = mpsc::channel();
    let begun = Instant::now();
    let reader = thread::spawn(move || {
        for ending in lines.map_while(Result::ok).filter_map(|line| Ending::from_line(&line)) {
            // Nobody listens once time is up.
            let _ = tell.send(ending);
        }
    });
    let mut endings = vec![None; RANKS];
    while let Ok(ending) = told.recv_timeout(DEADLINE.saturating_sub(begun.elapsed())) {
        let rank = ending.rank;
        endings[rank] = Some(ending);
    }
    drop(running);
    reader.join().expect("it only reads");
    endings
}

/// Ranks that ended alike are said together.
fn in_words(endings: &[Option<Ending>]) -> String {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (rank, ending) in endings.iter().enumerate() {
        let waits = || format!("still waits after {} s", DEADLINE.as_secs());
        let how = ending.as_ref().map_or_else(waits, ToString::to_string);
        match groups.iter_mut().find(|(known, _)| *known == how) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((how, vec![rank])),
        }
    }
    let group = |(how, ranks): (String, Vec<usize>)| match ranks.as_slice() {
        all if all.len() == RANKS => format!("every rank: {how}"),
        [one] => format!("rank {one}: {how}"),
        several => {
            let ranks: Vec<_> = several.iter().map(ToString::to_string).collect();
            format!("ranks {}: {how}", ranks.join(", "))
        }
    };
    groups.into_iter().map(group).collect::<Vec<_>>().join("<br>")
}
