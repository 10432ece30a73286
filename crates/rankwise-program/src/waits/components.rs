//! Strongly connected components.

use alloc::vec;
use alloc::vec::Vec;

const UNSEEN: usize = usize::MAX;

/// The components of the nodes below `nodes` that are `within`, where a node leads to
/// those that `leads_to` gives. Each comes after every component that it leads to.
///
/// Tarjan's algorithm (1972), without recursion: chains of waits are long.
pub(crate) fn components<'a>(
    nodes: usize,
    within: impl Fn(usize) -> bool,
    leads_to: impl Fn(usize) -> &'a [usize],
) -> Vec<Vec<usize>> {
    let mut search = Search {
        order: vec![UNSEEN; nodes],
        low: vec![UNSEEN; nodes],
        on_stack: vec![false; nodes],
        stack: Vec::new(),
        seen: 0,
    };
    let mut found = Vec::new();
    for root in (0..nodes).filter(|node| within(*node)) {
        if search.order(root) != UNSEEN {
            continue;
        }
        search.enter(root);
        // Nodes under way, and how many of their ends have been looked at.
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, looked_at)) = path.last_mut() {
            let node = *node;
            if let Some(next) = leads_to(node).get(*looked_at) {
                *looked_at = looked_at.saturating_add(1);
                if !within(*next) {
                    continue;
                }
                if search.order(*next) == UNSEEN {
                    search.enter(*next);
                    path.push((*next, 0));
                } else if search.is_on_stack(*next) {
                    search.lower(node, search.order(*next));
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                search.lower(*parent, search.low(node));
            }
            if search.low(node) == search.order(node) {
                found.push(search.leave(node));
            }
        }
    }
    found
}

struct Search {
    order: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    seen: usize,
}

impl Search {
    fn order(&self, node: usize) -> usize {
        self.order.get(node).copied().unwrap_or(UNSEEN)
    }

    fn low(&self, node: usize) -> usize {
        self.low.get(node).copied().unwrap_or(UNSEEN)
    }

    fn is_on_stack(&self, node: usize) -> bool {
        self.on_stack.get(node) == Some(&true)
    }

    fn enter(&mut self, node: usize) {
        for table in [&mut self.order, &mut self.low] {
            if let Some(entry) = table.get_mut(node) {
                *entry = self.seen;
            }
        }
        if let Some(on_stack) = self.on_stack.get_mut(node) {
            *on_stack = true;
        }
        self.stack.push(node);
        self.seen = self.seen.saturating_add(1);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = to.min(*low);
        }
    }

    /// Takes the component off the stack whose first node this was.
    fn leave(&mut self, first: usize) -> Vec<usize> {
        let mut component = Vec::new();
        while let Some(node) = self.stack.pop() {
            if let Some(on_stack) = self.on_stack.get_mut(node) {
                *on_stack = false;
            }
            component.push(node);
            if node == first {
                break;
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::components;

    fn sorted(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut found = components(edges.len(), |_| true, |node| edges[node]);
        for component in &mut found {
            component.sort_unstable();
        }
        found
    }

    #[test]
    fn what_is_led_to_comes_first() {
        // 0 → 1 ⇄ 2 → 3, and 4 alone.
        assert_eq!(sorted(&[&[1], &[2], &[1, 3], &[], &[]]), [[3].as_slice(), &[1, 2], &[0], &[4]]);
    }

    #[test]
    fn two_circles_with_a_common_node_are_one() {
        assert_eq!(sorted(&[&[1], &[0, 2], &[1]]), [[0, 1, 2]]);
    }

    #[test]
    fn what_is_not_within_is_not_walked_through() {
        let edges: [&[usize]; 3] = [&[1], &[2], &[0]];
        let found = components(3, |node| node != 1, |node| edges[node]);
        assert_eq!(found, [[0], [2]]);
    }
}
