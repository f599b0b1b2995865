//! Levels of a tree by the references of its inner pages.

/// Deepest tree that is followed; deeper ones than 32 no format allows with page numbers of 32 bits.
const DEPTH_MAX: usize = 40;

/// What the walk asks of a tree.
pub trait Tree {
    /// References of inner pages, in their order; `None` for a page that is damaged or no inner page.
    fn children(&mut self, pages: &[u32]) -> Vec<Option<Vec<u32>>>;

    /// Whether these pages are leaves, as far as that can be told from a few of them.
    fn are_leaves(&mut self, pages: &[u32]) -> bool;

    /// Takes a page for this tree; no for one that cannot be a page of it or was taken before.
    fn claim(&mut self, page: u32) -> bool;
}

/// The pages of a tree, level by level.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Page numbers in the order of the keys; leaves first, the root last.
    pub levels: Vec<Vec<u32>>,
    /// Branches that were lost: pages that could not be read, references to pages that cannot be.
    pub lost_count: u64,
}

/// Follows a tree from its root. Every page is taken at most once, so that the walk ends with the file.
pub fn levels(root: u32, tree: &mut impl Tree) -> Levels {
    let mut found = Levels::default();
    if !tree.claim(root) {
        found.lost_count = 1;
        return found;
    }
    let mut level = vec![root];
    for _depth in 0..DEPTH_MAX {
        if tree.are_leaves(&level) {
            found.levels.push(level);
            found.levels.reverse();
            return found;
        }
        let mut next = Vec::new();
        let mut sound = Vec::with_capacity(level.len());
        for (page, children) in level.iter().zip(tree.children(&level)) {
            let Some(children) = children else {
                found.lost_count += 1;
                continue;
            };
            sound.push(*page);
            for child in children {
                if tree.claim(child) {
                    next.push(child);
                } else {
                    found.lost_count += 1;
                }
            }
        }
        if !sound.is_empty() {
            found.levels.push(sound);
        }
        if next.is_empty() {
            // The way down is lost: what was found above are no leaves, and a tree without leaves has no levels.
            found.levels.clear();
            return found;
        }
        level = next;
    }
    found.levels.clear();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[derive(Default)]
    struct Drawn {
        inner: HashMap<u32, Vec<u32>>,
        damaged: HashSet<u32>,
        taken: HashSet<u32>,
    }

    impl Tree for Drawn {
        fn children(&mut self, pages: &[u32]) -> Vec<Option<Vec<u32>>> {
            pages
                .iter()
                .map(|page| self.inner.get(page).filter(|_| !self.damaged.contains(page)).cloned())
                .collect()
        }

        fn are_leaves(&mut self, pages: &[u32]) -> bool {
            pages.iter().all(|page| !self.inner.contains_key(page))
        }

        fn claim(&mut self, page: u32) -> bool {
            page < 100 && self.taken.insert(page)
        }
    }

    fn drawn() -> Drawn {
        let inner = HashMap::from([(1, vec![2, 3]), (2, vec![10, 4]), (3, vec![5, 6, 7])]);
        Drawn { inner, ..Drawn::default() }
    }

    #[test]
    fn levels_come_in_the_order_of_the_keys_leaves_first() {
        let found = levels(1, &mut drawn());
        assert_eq!(found.levels, [vec![10, 4, 5, 6, 7], vec![2, 3], vec![1]]);
        assert_eq!(found.lost_count, 0);
        let single = levels(9, &mut drawn());
        assert_eq!(single.levels, [vec![9]]);
    }

    #[test]
    fn a_damaged_page_costs_its_branch_and_is_counted() {
        let mut tree = drawn();
        tree.damaged.insert(2);
        let found = levels(1, &mut tree);
        assert_eq!(found.levels, [vec![5, 6, 7], vec![3], vec![1]]);
        assert_eq!(found.lost_count, 1);
        tree = drawn();
        tree.damaged.insert(1);
        assert_eq!(levels(1, &mut tree).levels, Vec::<Vec<u32>>::new());
    }

    #[test]
    fn circles_and_references_beyond_the_file_end() {
        let mut tree = drawn();
        tree.inner.insert(3, vec![5, 1, 500, 5]);
        let found = levels(1, &mut tree);
        assert_eq!(found.levels, [vec![10, 4, 5], vec![2, 3], vec![1]]);
        assert_eq!(found.lost_count, 3);
        let mut circle = Drawn { inner: HashMap::from([(1, vec![1])]), ..Drawn::default() };
        assert!(levels(1, &mut circle).levels.is_empty());
    }
}
