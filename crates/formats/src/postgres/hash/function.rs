//! The hash functions that hash indexes keep the values of: bytes and numbers to 32 bits.

/// The start of the three words, before the length is added.
// EVIDENCE: src/common/hashfn.c hash_bytes: 0x9e3779b9 + len + 3923095
const START: u32 = 0x9E37_79B9u32.wrapping_add(3_923_095);

/// The hash value of bytes, as `hash_any` gives it.
// EVIDENCE: src/common/hashfn.c hash_bytes (Jenkins' lookup3 of 2006), little-endian
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u32 {
    let start = START.wrapping_add(bytes.len() as u32);
    let mut words = [start; 3];
    let (chunks, rest) = bytes.as_chunks::<12>();
    for chunk in chunks {
        let (parts, _) = chunk.as_chunks::<4>();
        for (word, part) in words.iter_mut().zip(parts) {
            *word = word.wrapping_add(u32::from_le_bytes(*part));
        }
        mix(&mut words);
    }
    for (number, byte) in rest.iter().enumerate() {
        // The lowest byte of the third word stands for the length.
        let place = if number < 8 { number } else { number + 1 };
        if let Some(word) = words.get_mut(place / 4) {
            *word = word.wrapping_add(u32::from(*byte) << (place % 4 * 8));
        }
    }
    end(words)
}

/// The hash value of a number of 32 bits, as `hash_uint32` gives it.
// EVIDENCE: hashfn.c hash_bytes_uint32
#[must_use]
pub fn hash_u32(number: u32) -> u32 {
    let start = START.wrapping_add(4);
    end([start.wrapping_add(number), start, start])
}

/// The hash value of a number of 64 bits: that of 32 bits with the same value, if there is one.
// EVIDENCE: src/backend/access/hash/hashfunc.c hashint8
#[must_use]
pub fn hash_i64(number: i64) -> u32 {
    let (low, high) = (number as u32, (number >> 32) as u32);
    hash_u32(low ^ if number >= 0 { high } else { !high })
}

// EVIDENCE: hashfn.c mix
fn mix(words: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *words;
    let step = |x: &mut u32, y: &mut u32, add: u32, bits: u32| {
        *x = x.wrapping_sub(*y) ^ y.rotate_left(bits);
        *y = y.wrapping_add(add);
    };
    step(&mut a, &mut c, b, 4);
    step(&mut b, &mut a, c, 6);
    step(&mut c, &mut b, a, 8);
    step(&mut a, &mut c, b, 16);
    step(&mut b, &mut a, c, 19);
    step(&mut c, &mut b, a, 4);
    *words = [a, b, c];
}

// EVIDENCE: hashfn.c final
fn end(words: [u32; 3]) -> u32 {
    let [mut a, mut b, mut c] = words;
    let step = |x: &mut u32, y: u32, bits: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(bits));
    step(&mut c, b, 14);
    step(&mut a, c, 11);
    step(&mut b, a, 25);
    step(&mut c, b, 16);
    step(&mut a, c, 4);
    step(&mut b, a, 14);
    step(&mut c, b, 24);
    c
}
