//! The server's hash functions of bytes and words, as Bloom filters of BRIN keep their results.

/// Hashes bytes to 32 bits.
// EVIDENCE: src/common/hashfn.c hash_bytes (lookup3 of Bob Jenkins, 2006), little-endian
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u32 {
    let mut state = State::new(bytes.len() as u32);
    let (chunks, rest) = bytes.as_chunks::<12>();
    for chunk in chunks {
        state.add(words(chunk));
        state.mix();
    }
    let mut last = [0; 12];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let [a, b, c] = words(&last);
    // The lowest byte of the third word is left to the length.
    state.add([a, b, c << 8]);
    state.finish();
    state.c
}

/// Hashes a word to 32 bits.
// EVIDENCE: hashfn.c hash_bytes_uint32
#[must_use]
pub fn hash_word(word: u32) -> u32 {
    hash_word_extended(word, 0) as u32
}

/// Hashes a word to 64 bits, with a seed.
// EVIDENCE: hashfn.c hash_bytes_uint32_extended
#[must_use]
pub fn hash_word_extended(word: u32, seed: u64) -> u64 {
    let mut state = State::new(4);
    if seed != 0 {
        state.add([(seed >> 32) as u32, seed as u32, 0]);
        state.mix();
    }
    state.add([word, 0, 0]);
    state.finish();
    (u64::from(state.b) << 32) | u64::from(state.c)
}

fn words(bytes: &[u8; 12]) -> [u32; 3] {
    let &[a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = bytes;
    [[a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]].map(u32::from_le_bytes)
}

struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(length: u32) -> State {
        let start = 0x9E37_79B9u32.wrapping_add(length).wrapping_add(3_923_095);
        State { a: start, b: start, c: start }
    }

    fn add(&mut self, [a, b, c]: [u32; 3]) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for bits in [[4, 6, 8], [16, 19, 4]] {
            *a = a.wrapping_sub(*c) ^ c.rotate_left(bits[0]);
            *c = c.wrapping_add(*b);
            *b = b.wrapping_sub(*a) ^ a.rotate_left(bits[1]);
            *a = a.wrapping_add(*c);
            *c = c.wrapping_sub(*b) ^ b.rotate_left(bits[2]);
            *b = b.wrapping_add(*a);
        }
    }

    fn finish(&mut self) {
        let State { a, b, c } = self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_server() {
        // OBSERVED: PostgreSQL 15: select hashint4(1), hashtext(''), hashtext('abc'), hashtext('abcdefghijklm'),
        // hashint4extended(1, 7)
        let words = [hash_word(1), hash_bytes(b""), hash_bytes(b"abc"), hash_bytes(b"abcdefghijklm")];
        assert_eq!(
            words.map(|word| word as i32),
            [-1_905_060_026, -1_477_818_771, -785_388_649, 405_849_808]
        );
        assert_eq!(hash_word_extended(1, 7) as i64, -6_563_890_024_097_284_161);
    }
}
