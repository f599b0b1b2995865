//! Damage that takes more than a line to make.

use formats::sqlserver::Record;

use crate::copy::Copy;

/// Makes a row of the heap Territories a stub.
pub(crate) fn make_stub(copy: &mut Copy, target: &[u8; 8]) {
    let header = copy.header(383);
    let offset = copy.slot(383, 5);
    let bytes = copy.page(383);
    let length = Record::new(&bytes, &header, 5, offset).unwrap().bytes.len() as u16;
    copy.write(383, offset, &[4]);
    copy.write(383, offset + 1, target);
    copy.write(383, 28, &(header.free_count + length - 9).to_le_bytes());
}

/// Lets the last variable column of an order end three bytes later, inside the next record.
pub(crate) fn lengthen_record(copy: &mut Copy) {
    let bytes = copy.page(286);
    let record = copy.slot(286, 3);
    let count = usize::from(bytes[record + 62]);
    let last = record + 64 + 2 * (count - 1);
    copy.flip(286, last, bytes[last] ^ (bytes[last] + 3));
}

/// Gives the second employee the photo of the first.
pub(crate) fn share_photo(copy: &mut Copy) {
    let bytes = copy.page(220);
    let header = copy.header(220);
    let photo = |slot: usize| {
        let record = Record::new(&bytes, &header, slot, copy.slot(220, slot)).unwrap();
        let variable = record.variable(11).unwrap().bytes;
        (variable.as_ptr() as usize - bytes.as_ptr() as usize, variable.to_vec())
    };
    let ((_, first), (at, _)) = (photo(0), photo(1));
    copy.write(220, at, &first);
}
