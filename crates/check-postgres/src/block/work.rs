//! One block while its rules are tested, and where its findings go.

use check::findings::Findings;
use check::rule::Rule;
use formats::postgres::Damage;

use crate::finding::BlockLocation;

/// One block, and where to write what is found in it.
pub(crate) struct Work<'a, S> {
    pub(crate) place: BlockLocation<'a>,
    pub(crate) findings: &'a mut Findings,
    pub(crate) sink: &'a mut S,
}

impl<S> Work<'_, S> {
    pub(crate) fn report(&mut self, rule: &'static Rule, item: Option<u16>, expected: String, found: String) {
        self.findings.push(self.place.finding(rule, item, expected, found));
    }

    pub(crate) fn drain(&mut self, damage: &mut Vec<Damage>) {
        for damage in damage.drain(..) {
            self.findings.push(self.place.damage(damage));
        }
    }
}
