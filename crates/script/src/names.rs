//! Names of variables as numbers, so that a run looks nothing up by name.

use std::collections::HashMap;

/// Number of a variable; valid for the [`Names`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub(crate) u32);

/// All variables of a program.
#[derive(Clone, Debug, Default)]
pub struct Names {
    slots: HashMap<Box<str>, Slot>,
    names: Vec<Box<str>>,
}

impl Names {
    /// Returns the number of a name, a new one if there is none.
    pub(crate) fn intern(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        // A script has at most 16 MiB, and so fewer names than 2^32.
        let slot = Slot(self.names.len() as u32);
        self.names.push(name.into());
        self.slots.insert(name.into(), slot);
        slot
    }

    /// Returns the number of a name that some script or definition uses.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// Returns the name of a number, empty for one of other names.
    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.0 as usize).map_or("", |name| name)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// May a variable have this name: letters, digits, underscores and all that is not ASCII, no digit first?
pub fn is_variable_name(name: &str) -> bool {
    name.bytes().next().is_some_and(starts_name) && name.bytes().all(continues_name)
}

/// May a name start with this byte?
pub(crate) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// May a name go on with this byte?
pub(crate) fn continues_name(byte: u8) -> bool {
    starts_name(byte) || byte.is_ascii_digit()
}
