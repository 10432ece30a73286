//! Slurm's lists of nodes, as far as their first node.

/// The first node of a list such as `gpu[007-010,12],login1`.
///
/// The form is that of `scontrol show hostnames`: names apart by commas, and in brackets
/// numbers and ranges of them, whose leading zeros are part of the name.
pub(super) fn first(list: &str) -> Option<String> {
    let mut name = String::new();
    let mut rest = list.trim();
    loop {
        match rest.find(['[', ',']) {
            Some(at) if rest[at..].starts_with('[') => {
                let (before, after) = (&rest[..at], &rest[at + 1..]);
                let (numbers, after) = after.split_once(']')?;
                let number = numbers.split(['-', ',']).next()?;
                if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                name.push_str(before);
                name.push_str(number);
                rest = after;
            }
            Some(at) => {
                name.push_str(&rest[..at]);
                break;
            }
            None => {
                name.push_str(rest);
                break;
            }
        }
    }
    let whole = !name.is_empty() && !name.contains(|c: char| "[]".contains(c) || c.is_whitespace());
    whole.then_some(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("node1", Some("node1"))]
    #[case("node1,node2", Some("node1"))]
    #[case("gpu[007-010,12],login1", Some("gpu007"))]
    #[case("gpu[3,5]", Some("gpu3"))]
    #[case("a,gpu[3,5]", Some("a"))]
    #[case("rack[0-1]n[04-07].local", Some("rack0n04.local"))]
    #[case("", None)]
    #[case("gpu[", None)]
    #[case("gpu[]", None)]
    #[case("gpu[x-y]", None)]
    #[case("gpu]1", None)]
    fn the_first_node_of_a_list(#[case] list: &str, #[case] first: Option<&str>) {
        assert_eq!(super::first(list).as_deref(), first);
    }
}
