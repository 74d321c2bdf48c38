//! The message tree (§5): nodes with at most one parent, and the head. Nodes are only ever added.

use std::collections::HashMap;
use std::sync::Arc;

use crate::id::{MessageId, TurnId};
use crate::message::{Message, Role};
use crate::time::Millis;

/// Index of a node; nodes keep theirs for ever.
pub type Ix = u32;

#[derive(Clone, Debug)]
pub struct Node {
    pub id: MessageId,
    pub message: Arc<Message>,
    pub parent: Option<Ix>,
    pub depth: u32,
    /// An ancestor some way up (a skew-binary jump pointer), so that ancestry takes a logarithm of the depth.
    jump: Ix,
    pub children: Vec<Ix>,
    pub seq: u64,
    pub at: Millis,
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    index: HashMap<MessageId, Ix>,
    roots: Vec<Ix>,
    head: Option<Ix>,
    leaves: u32,
}

impl Tree {
    pub fn head(&self) -> Option<Ix> {
        self.head
    }
    pub fn head_id(&self) -> Option<&MessageId> {
        self.head.map(|ix| &self.node(ix).id)
    }
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Leaves, which is what a person counts as branches.
    pub fn leaves(&self) -> u32 {
        self.leaves
    }
    pub fn node(&self, ix: Ix) -> &Node {
        &self.nodes[ix as usize]
    }
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    pub fn find(&self, id: &str) -> Option<Ix> {
        self.index.get(id).copied()
    }
    pub fn children(&self, of: Option<Ix>) -> &[Ix] {
        match of {
            Some(ix) => &self.node(ix).children,
            None => &self.roots,
        }
    }

    /// Adds a node and moves the head to it.
    pub fn add(&mut self, message: Message, id: MessageId, parent: Option<Ix>, seq: u64, at: Millis, turn_id: Option<TurnId>) -> Ix {
        let ix = self.nodes.len() as Ix;
        let (depth, jump) = match parent {
            None => (0, ix),
            Some(parent) => {
                let up = self.node(parent);
                let over = self.node(up.jump);
                let even = up.depth - over.depth == over.depth - self.node(over.jump).depth;
                (up.depth + 1, if even { over.jump } else { parent })
            }
        };
        match parent {
            Some(parent) => {
                let siblings = &mut self.nodes[parent as usize].children;
                siblings.push(ix);
                if siblings.len() > 1 {
                    self.leaves += 1;
                }
            }
            None => {
                self.roots.push(ix);
                self.leaves += 1;
            }
        }
        self.index.insert(id.clone(), ix);
        self.nodes.push(Node { id, message: Arc::new(message), parent, depth, jump, children: Vec::new(), seq, at, turn_id });
        self.head = Some(ix);
        ix
    }

    pub fn move_head(&mut self, to: Ix) {
        self.head = Some(to);
    }

    /// Whether `above` lies on the path from the root to `leaf` (a node lies on its own path).
    pub fn on_path(&self, above: Ix, leaf: Ix) -> bool {
        let depth = self.node(above).depth;
        let mut at = leaf;
        while self.node(at).depth > depth {
            let node = self.node(at);
            at = match node.parent {
                Some(parent) if self.node(node.jump).depth < depth => parent,
                Some(_) => node.jump,
                None => return false,
            };
        }
        at == above
    }

    /// Path root → leaf.
    pub fn path(&self, leaf: Option<Ix>) -> Vec<Ix> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(ix) = at {
            path.push(ix);
            at = self.node(ix).parent;
        }
        path.reverse();
        path
    }

    pub fn path_to<'a>(&'a self, leaf: Option<&MessageId>) -> impl Iterator<Item = &'a Node> + use<'a> {
        let leaf = leaf.and_then(|id| self.find(id.as_str()));
        self.path(leaf).into_iter().map(|ix| self.node(ix))
    }

    /// The longest chain of recorded tool messages below `parent` that answer some of these calls, each once.
    pub fn answers_below(&self, parent: Option<Ix>, calls: &[&str]) -> Vec<Ix> {
        let mut longest = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let Some(ix) = self.answer_below(parent, call) else { continue };
            let rest: Vec<&str> = calls.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, call)| *call).collect();
            let chain: Vec<Ix> = std::iter::once(ix).chain(self.answers_below(Some(ix), &rest)).collect();
            if chain.len() > longest.len() {
                longest = chain;
            }
        }
        longest
    }

    /// The recorded tool message below `parent` that answers `call` (N-10: recognised whatever its id).
    pub fn answer_below(&self, parent: Option<Ix>, call: &str) -> Option<Ix> {
        self.children(parent).iter().copied().find(|ix| {
            let message = &self.node(*ix).message;
            message.role == Role::Tool && message.tool_call_id.as_deref() == Some(call)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(tree: &mut Tree, id: &str, parent: Option<Ix>) -> Ix {
        tree.add(Message::new(Role::User, id), id.into(), parent, 1, Millis(0), None)
    }

    #[test]
    fn ancestry_is_exact_on_long_chains_and_forks_t1() {
        let mut tree = Tree::default();
        let mut at = node(&mut tree, "n0", None);
        let root = at;
        for n in 1..1000 {
            at = node(&mut tree, &format!("n{n}"), Some(at));
        }
        let fork = node(&mut tree, "fork", Some(500));
        for n in 0..1000 {
            assert!(tree.on_path(n, at), "n{n} lies above the leaf");
            assert_eq!(tree.on_path(n, fork), n <= 500, "n{n} and the fork");
        }
        assert!(!tree.on_path(fork, at) && tree.on_path(root, fork));
        let other = node(&mut tree, "second root", None);
        assert!(!tree.on_path(root, other));
        assert_eq!(tree.leaves(), 3);
    }
}
