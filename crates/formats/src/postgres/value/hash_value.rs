//! The server's hash functions of bytes and numbers: hash indexes and Bloom filters of BRIN keep their results.

/// What is added to the length of the bytes to begin with.
// EVIDENCE: src/common/hashfn.c hash_bytes: 0x9e3779b9 + len + 3923095
const SEED: u32 = 0x9E37_79B9u32.wrapping_add(3_923_095);

/// Hashes bytes to 32 bits, as `hash_any` does.
// EVIDENCE: src/common/hashfn.c hash_bytes (lookup3 of Bob Jenkins, 2006), little-endian
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u32 {
    lookup3(SEED.wrapping_add(bytes.len() as u32), bytes).c
}

/// Hashes a number of 32 bits to 32 bits, as `hash_uint32` does.
// EVIDENCE: hashfn.c hash_bytes_uint32
#[must_use]
pub fn hash_u32(number: u32) -> u32 {
    hash_u32_extended(number, 0) as u32
}

/// Hashes a number of 32 bits to 64 bits, with a seed.
// EVIDENCE: hashfn.c hash_bytes_uint32_extended
#[must_use]
pub fn hash_u32_extended(number: u32, seed: u64) -> u64 {
    let mut state = State::new(SEED.wrapping_add(4));
    if seed != 0 {
        state.add([(seed >> 32) as u32, seed as u32, 0]);
        state.mix();
    }
    state.add([number, 0, 0]);
    state.finish();
    (u64::from(state.b) << 32) | u64::from(state.c)
}

/// Hashes a number of 64 bits to 32 bits: to the value of the same number of 32 bits, if there is one.
// EVIDENCE: src/backend/access/hash/hashfunc.c hashint8
#[must_use]
pub fn hash_i64(number: i64) -> u32 {
    let (low, high) = (number as u32, (number >> 32) as u32);
    hash_u32(low ^ if number >= 0 { high } else { !high })
}

/// The state after all bytes. The server leaves the lowest byte of the last word to the length, which is in the start.
fn lookup3(start: u32, bytes: &[u8]) -> State {
    let mut state = State::new(start);
    let (chunks, rest) = bytes.as_chunks::<12>();
    for chunk in chunks {
        state.add(words(chunk));
        state.mix();
    }
    let mut last = [0; 12];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let [a, b, c] = words(&last);
    state.add([a, b, c << 8]);
    state.finish();
    state
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
    fn new(start: u32) -> State {
        State { a: start, b: start, c: start }
    }

    fn add(&mut self, [a, b, c]: [u32; 3]) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    // EVIDENCE: hashfn.c mix
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

    // EVIDENCE: hashfn.c final
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
    fn hashes_have_the_published_values() {
        // EVIDENCE: burtleburtle.net/bob/c/lookup3.c, driver5: hashlittle2 of this text, whose last 6 bytes do not reach the
        // third word, with initial values 0 and 1
        let text = b"Four score and seven years ago";
        let hash = |seed: u32| {
            let state = lookup3(0xDEAD_BEEFu32.wrapping_add(text.len() as u32).wrapping_add(seed), text);
            (state.c, state.b)
        };
        assert_eq!(hash(0), (0x1777_0551, 0xCE72_26E6));
        assert_eq!(hash(1), (0xCD62_8161, 0x6CBE_A4B3));
    }

    #[test]
    fn hashes_are_those_of_the_server() {
        // OBSERVED: PostgreSQL 15: select hashint4(1), hashtext(''), hashtext('abc'), hashtext('abcdefghijklm'),
        // hashint4extended(1, 7)
        let words = [hash_u32(1), hash_bytes(b""), hash_bytes(b"abc"), hash_bytes(b"abcdefghijklm")];
        assert_eq!(
            words.map(|word| word as i32),
            [-1_905_060_026, -1_477_818_771, -785_388_649, 405_849_808]
        );
        assert_eq!(hash_u32_extended(1, 7) as i64, -6_563_890_024_097_284_161);
        for number in [0, 1, -1, i64::from(i32::MIN), i64::from(i32::MAX)] {
            assert_eq!(hash_i64(number), hash_u32(number as u32), "{number}");
        }
        let text = b"abcdefghijklmnopqrstuvwxyz";
        let all: std::collections::BTreeSet<u32> =
            (0..text.len()).map(|length| hash_bytes(&text[..length])).collect();
        assert_eq!(all.len(), text.len());
    }
}
