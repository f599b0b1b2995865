//! Facts of two sides compared one by one.

use std::cmp::Ordering;

/// The members of each side beyond those of the other, ascending. `key` is what counterparts have in common; the order of
/// members begins with it.
#[must_use]
pub fn unmatched<Member: Ord, Key: Ord>(
    mut expected: Vec<Member>,
    mut found: Vec<Member>,
    key: impl Fn(&Member) -> Key,
) -> (Vec<Member>, Vec<Member>) {
    expected.sort_unstable();
    found.sort_unstable();
    let (mut only_expected, mut only_found) = (Vec::new(), Vec::new());
    let (mut expected, mut found) = (expected.into_iter().peekable(), found.into_iter().peekable());
    // Each turn takes a member of a side.
    loop {
        match (expected.peek(), found.peek()) {
            (Some(one), Some(other)) => match key(one).cmp(&key(other)) {
                Ordering::Equal => {
                    expected.next();
                    found.next();
                }
                Ordering::Less => only_expected.extend(expected.next()),
                Ordering::Greater => only_found.extend(found.next()),
            },
            (Some(_), None) => only_expected.extend(expected.next()),
            (None, Some(_)) => only_found.extend(found.next()),
            (None, None) => return (only_expected, only_found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_without_counterpart_are_given_as_often_as_they_are_too_many() {
        // The second number tells members with equal keys apart.
        let rows = vec![(1, 1), (2, 1), (2, 2), (3, 1)];
        let entries = vec![(4, 9), (2, 9), (1, 9)];
        let (only_rows, only_entries) = unmatched(rows, entries, |member| member.0);
        assert_eq!(only_rows, [(2, 2), (3, 1)]);
        assert_eq!(only_entries, [(4, 9)]);
    }
}
