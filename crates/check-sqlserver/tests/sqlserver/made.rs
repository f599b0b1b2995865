//! A database that these tests make themselves, so that a clone without real files tests the checker: the base tables that
//! it reads, and one table of a user with an index, 48 pages, of which extent 4 is free and extent 5 is the user's as a whole. The layout is what `formats::sqlserver` has evidence for.

use formats::sqlserver::{PAGE_BYTES, object, protect};

/// Pages of the file.
pub(crate) const PAGES: u32 = 48;
/// Rows of the user's table.
pub(crate) const ROWS: u32 = 60;
/// The page with the rows of the user's table, that with the entries of its index, and those that name them.
pub(crate) const DATA: u32 = 26;
pub(crate) const DATA_IAM: u32 = 27;
pub(crate) const INDEX: u32 = 28;
const INDEX_IAM: u32 = 29;
/// The first page of the base tables: each has a page of rows and an IAM page.
const FIRST: u32 = 10;
/// The number of the user's table.
const TABLE: u32 = 1000;
const BITMAP_BYTES: usize = 7988;

const BIGINT: u32 = 0x7f;
const INT: u32 = 0x38;
const SMALLINT: u32 = 0x34;
const TINYINT: u32 = 0x30;
/// binary(n) and nvarchar(n).
const fn binary(length: u32) -> u32 {
    0xad | length << 8
}
const NAME: u32 = 0xe7 | 256 << 8;

/// Protection of the pages.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protection {
    Checksum,
    Torn,
}

/// A column: its number, its type, its position in the key from 1.
type Column = (u32, u32, u16);

/// A heap or B-tree of one page.
struct Tree {
    object: u32,
    index: u32,
    unit: u64,
    rowset: u64,
    page: u32,
    iam: u32,
    columns: &'static [Column],
    row_count: u32,
}

/// Base tables: object, name, columns in the order of their bytes. Columns that the checker reads by offset are so placed.
#[rustfmt::skip]
const BASE: [(u32, &str, &[Column]); 8] = [
    (
        object::ALLOCATION_UNITS,
        "sysallocunits",
        &[
            (1, BIGINT, 1), (2, TINYINT, 0), (3, BIGINT, 0), (4, INT, 0), (5, SMALLINT, 0),
            (6, binary(6), 0), (7, binary(6), 0), (8, binary(6), 0), (9, BIGINT, 0), (10, BIGINT, 0),
            (11, BIGINT, 0),
        ],
    ),
    (
        object::ROWSETS,
        "sysrowsets",
        &[
            (1, BIGINT, 1), (2, TINYINT, 0), (3, INT, 0), (4, INT, 0), (5, INT, 0), (6, INT, 0),
            (7, SMALLINT, 0), (8, BIGINT, 0), (9, TINYINT, 0), (10, TINYINT, 0),
        ],
    ),
    (
        object::COLUMNS_OF_ROWSETS,
        "sysrscols",
        &[
            (1, BIGINT, 1), (2, INT, 2), (3, INT, 0), (4, BIGINT, 0), (5, INT, 0), (6, INT, 0),
            (7, SMALLINT, 0), (8, SMALLINT, 0), (9, INT, 0), (10, INT, 0), (11, INT, 0),
            (12, SMALLINT, 0),
        ],
    ),
    (object::OBJECTS, "sysschobjs", &[(1, INT, 1), (3, INT, 0), (6, binary(2), 0), (2, NAME, 0)]),
    (object::COLUMNS, "syscolpars", &[(1, INT, 1), (2, SMALLINT, 2), (3, INT, 3), (10, INT, 0), (11, INT, 0), (4, NAME, 0)]),
    (object::INDEXES, "sysidxstats", &[(1, INT, 1), (2, INT, 2), (4, INT, 0), (7, TINYINT, 0), (3, NAME, 0)]),
    (object::INDEX_COLUMNS, "sysiscols", &[(1, INT, 1), (2, INT, 2), (3, INT, 3), (5, INT, 0)]),
    (object::CLASSES, "sysclsobjs", &[(1, TINYINT, 1), (2, INT, 2), (3, NAME, 0)]),
];

const USER: &[Column] = &[(1, INT, 1), (2, INT, 0), (3, NAME, 0)];
/// The indexed column, then the key of the row.
const USER_INDEX: &[Column] = &[(1, INT, 1), (2, INT, 2)];

/// What a row has in a column.
enum Value {
    Number(u64),
    Page(u32),
    Text(String),
}

fn trees() -> Vec<Tree> {
    let base = (0..).zip(BASE).map(|(number, (object, _, columns))| Tree {
        object,
        index: 1,
        unit: u64::from(object) << 16,
        rowset: u64::from(object) << 16,
        page: FIRST + 2 * number,
        iam: FIRST + 2 * number + 1,
        columns,
        row_count: 0,
    });
    let user = |index: u32, page, iam, columns| Tree {
        object: TABLE,
        index,
        unit: u64::from(255 + index) << 48 | u64::from(TABLE) << 16,
        rowset: u64::from(255 + index) << 48 | u64::from(TABLE) << 16,
        page,
        iam,
        columns,
        row_count: ROWS,
    };
    base.chain([user(1, DATA, DATA_IAM, USER), user(2, INDEX, INDEX_IAM, USER_INDEX)]).collect()
}

/// The bytes of the database.
pub(crate) fn database(protection: Protection) -> Vec<u8> {
    let mut bytes = vec![0; PAGES as usize * PAGE_BYTES];
    let mut put = |number: u32, page: Vec<u8>| {
        let mut page = page;
        page[4..6].copy_from_slice(&if protection == Protection::Checksum { [0, 2] } else { [0, 1] });
        protect(&mut page);
        bytes[number as usize * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&page);
    };
    put(0, file_header());
    put(1, pfs());
    // Extents 0 to 3 are mixed, the second and the last of them with free pages; extent 4 is free, extent 5 in use.
    for (page, kind, bits) in
        [(2, 8, [0xd0_u8, 0xff]), (3, 9, [0b1010, 0]), (6, 16, [0x2f, 0]), (7, 17, [0, 0])]
    {
        put(page, map(page, kind, 99, &[0; 94], &bits));
    }
    put(9, boot());
    let trees = trees();
    for tree in &trees {
        let mut first = [0; 94];
        first[40..46].copy_from_slice(&name(0));
        first[46..52].copy_from_slice(&name(tree.page));
        let extents = if tree.iam == DATA_IAM { [0x20] } else { [0] };
        put(tree.iam, own(map(tree.iam, 10, 0, &first, &extents), tree));
        let records: Vec<Vec<u8>> = match (tree.object, tree.index) {
            (TABLE, 2) => (0..ROWS).map(entry).collect(),
            _ => rows(tree, &trees).iter().map(|row| record(tree.columns, row)).collect(),
        };
        let (kind, fixed) = if tree.index == 2 { (2, 9) } else { (1, fixed_end(tree.columns)) };
        put(tree.page, own(page(tree.page, kind, fixed as u16, &records), tree));
    }
    bytes
}

/// The number by which the entries of the index are in order: another order than that of the rows.
pub(crate) fn indexed(id: u32) -> u32 {
    1000 + 7 * (id * 23 % ROWS)
}

/// The entry at a position: the indexed number, then the key of its row.
fn entry(position: u32) -> Vec<u8> {
    let id = (0..ROWS).find(|id| indexed(*id) == 1000 + 7 * position).unwrap();
    [&[6][..], &indexed(id).to_le_bytes(), &id.to_le_bytes()].concat()
}

/// The rows of a table, in the order of their keys.
fn rows(tree: &Tree, trees: &[Tree]) -> Vec<Vec<Value>> {
    use Value::{Number, Page, Text};
    let number = |value: u32| Number(value.into());
    let mut rows: Vec<Vec<Value>> = match tree.object {
        object::ALLOCATION_UNITS => {
            let row = |tree: &Tree| {
                let pages = [Page(tree.page), Page(tree.page), Page(tree.iam)];
                let head = [Number(tree.unit), Number(1), Number(tree.rowset), Number(0), Number(1)];
                head.into_iter().chain(pages).chain([Number(2), Number(1), Number(2)]).collect()
            };
            trees.iter().map(row).collect()
        }
        object::ROWSETS => {
            let row = |tree: &Tree| {
                let numbers = [tree.object, tree.index, 1, 0, 1, tree.row_count, 0, 0].map(number);
                [Number(tree.rowset), Number(1)].into_iter().chain(numbers).collect()
            };
            trees.iter().map(row).collect()
        }
        object::COLUMNS_OF_ROWSETS => trees.iter().flat_map(columns_of).collect(),
        object::OBJECTS => {
            let base = BASE.map(|(object, name, _)| (object, name, "S "));
            let all = base.into_iter().chain([(TABLE, "goods", "U ")]);
            let kind = |kind: &str| Number(u16::from_le_bytes(kind.as_bytes().try_into().unwrap()).into());
            all.map(|(id, name, of)| {
                vec![number(id), number(if of == "U " { 1 } else { 4 }), kind(of), Text(name.to_owned())]
            })
            .collect()
        }
        object::COLUMNS => {
            let user = [(1, "id"), (2, "amount"), (3, "label")];
            user.map(|(id, name)| {
                let numbers = [TABLE, 0, id, if id == 3 { 0x0d00_0409 } else { 0 }, 0].map(number);
                numbers.into_iter().chain([Text(name.to_owned())]).collect()
            })
            .into()
        }
        object::INDEXES => [(1, "goods_id"), (2, "goods_amount")]
            .map(|(index, name)| {
                let status = if index == 1 { 0x8 } else { 0 };
                vec![number(TABLE), number(index), number(status), number(index), Text(name.to_owned())]
            })
            .into(),
        object::INDEX_COLUMNS => [(1, 1, 1), (2, 1, 2)]
            .map(|(index, position, column)| [TABLE, index, position, column].map(number).into())
            .into(),
        object::CLASSES => [(1, "dbo"), (4, "sys")]
            .map(|(id, name)| vec![Number(50), number(id), Text(name.to_owned())])
            .into(),
        _ => (0..ROWS)
            .map(|id| vec![number(id), number(indexed(id)), Text(format!("goods {id:04}"))])
            .collect(),
    };
    let key = |row: &Vec<Value>| -> Vec<i64> {
        let keys = tree.columns.iter().zip(row).filter(|((_, _, key), _)| *key > 0);
        keys.map(|(_, value)| if let Number(number) = value { *number as i64 } else { 0 }).collect()
    };
    rows.sort_by_key(key);
    rows
}

/// Rows of sysrscols for the columns of a heap or B-tree.
fn columns_of(tree: &Tree) -> Vec<Vec<Value>> {
    let (mut leaf, mut inner, mut variable) = (if tree.index == 2 { 1 } else { 4 }, 1, 0_i16);
    let mut row = |(position, (id, kind, key)): (u16, &Column)| {
        let offset = match bytes_of(*kind) {
            Some(length) => {
                leaf += length as i16;
                leaf - length as i16
            }
            None => {
                variable += 1;
                -variable
            }
        };
        let in_inner = if *key > 0 { inner } else { 0 };
        inner += if *key > 0 { bytes_of(*kind).unwrap_or(0) as i16 } else { 0 };
        let bit = if tree.index == 2 { 0 } else { position };
        let numbers = [
            u64::from(*id),
            u64::from(*id),
            0,
            u64::from(*kind),
            0,
            u64::from(*key),
            0,
            128,
            u64::from(offset as u16) | u64::from(in_inner as u16) << 16,
            u64::from(bit),
            0,
        ];
        [tree.rowset].into_iter().chain(numbers).map(Value::Number).collect()
    };
    (1..).zip(tree.columns).map(&mut row).collect()
}

fn bytes_of(kind: u32) -> Option<usize> {
    match kind {
        BIGINT => Some(8),
        INT => Some(4),
        SMALLINT => Some(2),
        TINYINT => Some(1),
        NAME => None,
        binary => Some((binary >> 8) as usize),
    }
}

fn fixed_end(columns: &[Column]) -> usize {
    4 + columns.iter().filter_map(|(_, kind, _)| bytes_of(*kind)).sum::<usize>()
}

/// A row: status, fixed columns, null bitmap, columns of variable length.
fn record(columns: &[Column], row: &[Value]) -> Vec<u8> {
    let has_text = columns.iter().any(|(_, kind, _)| *kind == NAME);
    let mut bytes = vec![if has_text { 0x30 } else { 0x10 }, 0];
    bytes.extend((fixed_end(columns) as u16).to_le_bytes());
    for ((_, kind, _), value) in columns.iter().zip(row) {
        match value {
            Value::Number(number) => bytes.extend(&number.to_le_bytes()[..bytes_of(*kind).unwrap()]),
            Value::Page(page) => bytes.extend(name(*page)),
            Value::Text(_) => {}
        }
    }
    bytes.extend((columns.len() as u16).to_le_bytes());
    bytes.extend(vec![0; columns.len().div_ceil(8)]);
    for text in row.iter().filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None }) {
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(((bytes.len() + 2 + 2 * text.len()) as u16).to_le_bytes());
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
    bytes
}

/// A page of a kind with records from byte 96 on.
fn page(number: u32, kind: u8, fixed: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[..2].copy_from_slice(&[1, kind]);
    page[14..16].copy_from_slice(&fixed.to_le_bytes());
    page[32..38].copy_from_slice(&name(number));
    let mut end = 96;
    for (slot, record) in records.iter().enumerate() {
        page[end..end + record.len()].copy_from_slice(record);
        let at = PAGE_BYTES - 2 * (slot + 1);
        page[at..at + 2].copy_from_slice(&(end as u16).to_le_bytes());
        end += record.len();
    }
    let free = PAGE_BYTES - end - 2 * records.len();
    for (offset, value) in [(22, records.len()), (28, free), (30, end)] {
        page[offset..offset + 2].copy_from_slice(&(value as u16).to_le_bytes());
    }
    page
}

/// Gives a page to an allocation unit.
fn own(mut page: Vec<u8>, tree: &Tree) -> Vec<u8> {
    page[6..8].copy_from_slice(&((tree.unit >> 48) as u16).to_le_bytes());
    page[24..28].copy_from_slice(&((tree.unit >> 16) as u32).to_le_bytes());
    page
}

/// A map of extents: a record that says what it is of, and one with the bits.
fn map(number: u32, kind: u8, object: u32, first: &[u8; 94], bits: &[u8]) -> Vec<u8> {
    let mut first = first.to_vec();
    first[2..4].copy_from_slice(&94_u16.to_le_bytes());
    let mut second = vec![0; 4 + BITMAP_BYTES];
    second[2..4].copy_from_slice(&(4 + BITMAP_BYTES as u16).to_le_bytes());
    second[4..4 + bits.len()].copy_from_slice(bits);
    if kind == 8 {
        // Whatever is behind the file is free.
        second[4 + bits.len()..].fill(0xff);
    }
    let mut page = page(number, kind, 90, &[first, second]);
    page[24..28].copy_from_slice(&object.to_le_bytes());
    page
}

/// One byte for each page: in use, in a mixed extent, an IAM page.
fn pfs() -> Vec<u8> {
    let mut bytes = vec![0; 8088];
    bytes[..4].fill(0x44);
    bytes[6..8].fill(0x44);
    bytes[9] = 0x64;
    for tree in trees() {
        bytes[tree.page as usize] = 0x60;
        bytes[tree.iam as usize] = 0x70;
    }
    let mut page = page(1, 11, 90, &[[&[0, 0, 0x9c, 0x1f][..], &bytes].concat()]);
    page[24..28].copy_from_slice(&99_u32.to_le_bytes());
    page
}

fn file_header() -> Vec<u8> {
    // Columns of variable length 2 and 4 are the number of the file and its size.
    let columns = [&[0; 16][..], &[0; 2], &1_u16.to_le_bytes(), &[0; 4], &PAGES.to_le_bytes()];
    let mut record = vec![0x30, 0, 4, 0, 5, 0, 0, 5, 0];
    let mut end = record.len() + 10;
    for column in columns {
        end += column.len();
        record.extend((end as u16).to_le_bytes());
    }
    record.extend(columns.concat());
    let mut page = page(0, 15, 4, &[record]);
    page[24..28].copy_from_slice(&99_u32.to_le_bytes());
    page
}

fn boot() -> Vec<u8> {
    let mut record = vec![0; 1440];
    record[2..4].copy_from_slice(&1440_u16.to_le_bytes());
    let mut page = page(9, 13, 1440, &[record]);
    page[24..28].copy_from_slice(&99_u32.to_le_bytes());
    for (offset, value) in [(100, 655_u16), (102, 655), (410, 100)] {
        page[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
    }
    page[144..148].copy_from_slice(&41_195_u32.to_le_bytes());
    page[148..404].copy_from_slice(&[b' ', 0].repeat(128));
    page[148..156].copy_from_slice(b"m\0a\0d\0e\0");
    page[612..618].copy_from_slice(&name(FIRST));
    page
}

/// Six bytes that name a page of the first file.
fn name(page: u32) -> [u8; 6] {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&page.to_le_bytes());
    bytes[4] = 1;
    if page == 0 { [0, 0, 0, 0, 1, 0] } else { bytes }
}
