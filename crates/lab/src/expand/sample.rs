//! A small realistic schema with rows: orders with lines, products, customers, and documents with large values.
//!
//! Made from a seed alone. Amounts, sizes and dates are skewed as in a shop: few customers place many orders, few
//! products are in most lines, most documents are short and some are very long.

use stats::random::{Random, derive_seed};

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A table of the sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleTable {
    /// Name.
    pub name: &'static str,
    /// Columns with their constraints; `BYTES` stands for the engine's type of bytes.
    pub columns: &'static str,
    /// Statements that make its indexes.
    pub indexes: &'static [&'static str],
}

/// The tables, those that others refer to first.
pub const TABLES: [SampleTable; 5] = [
    SampleTable {
        name: "customers",
        columns: "customer_id BIGINT PRIMARY KEY, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL, country TEXT NOT NULL, referred_by BIGINT REFERENCES customers (customer_id)",
        indexes: &["CREATE INDEX customers_country ON customers (country)"],
    },
    SampleTable {
        name: "products",
        columns: "product_id BIGINT PRIMARY KEY, sku TEXT NOT NULL UNIQUE, title TEXT NOT NULL, price_cents BIGINT NOT NULL",
        indexes: &[],
    },
    SampleTable {
        name: "orders",
        columns: "order_id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL REFERENCES customers (customer_id), ordered_on TEXT NOT NULL, status TEXT NOT NULL",
        indexes: &[
            "CREATE INDEX orders_customer ON orders (customer_id)",
            "CREATE INDEX orders_day ON orders (ordered_on)",
        ],
    },
    SampleTable {
        name: "order_lines",
        columns: "order_id BIGINT NOT NULL REFERENCES orders (order_id), line_number BIGINT NOT NULL, product_id BIGINT NOT NULL REFERENCES products (product_id), quantity BIGINT NOT NULL, price_cents BIGINT NOT NULL, PRIMARY KEY (order_id, line_number)",
        indexes: &["CREATE INDEX order_lines_product ON order_lines (product_id)"],
    },
    SampleTable {
        name: "documents",
        columns: "document_id BIGINT PRIMARY KEY, order_id BIGINT NOT NULL REFERENCES orders (order_id), kind TEXT NOT NULL, body TEXT NOT NULL, scan BYTES",
        indexes: &["CREATE INDEX documents_order ON documents (order_id)"],
    },
];

const CUSTOMERS: i64 = 200;
const PRODUCTS: i64 = 100;
const ORDERS: i64 = 1000;
const LINES_MAX: u64 = 9;
const DOCUMENTS: i64 = 120;
/// Words of the shortest document; each doubling of the length is half as frequent.
const WORDS_MIN: usize = 40;
const DOUBLINGS_MAX: u32 = 8;

const COUNTRIES: [&str; 6] = ["DE", "FR", "NL", "PL", "SE", "US"];
const STATES: [&str; 4] = ["new", "paid", "shipped", "returned"];
const WORDS: [&str; 16] = [
    "invoice",
    "delivery",
    "reference",
    "the",
    "of",
    "customer",
    "agreed",
    "amount",
    "within",
    "days",
    "goods",
    "returned",
    "address",
    "payment",
    "terms",
    "signed",
];

/// All rows of a table, from a seed; empty for a name that is not in [`TABLES`].
pub fn rows(table: &str, seed: u64) -> Vec<Vec<Value>> {
    let number = TABLES.iter().position(|one| one.name == table).unwrap_or(TABLES.len());
    let mut random = Random::new(derive_seed(seed, &[number as u64]));
    match table {
        "customers" => (1..=CUSTOMERS).map(|id| customer(id, &mut random)).collect(),
        "products" => (1..=PRODUCTS).map(|id| product(id, &mut random)).collect(),
        "orders" => (1..=ORDERS).map(|id| order(id, &mut random)).collect(),
        "order_lines" => (1..=ORDERS).flat_map(|order| lines(order, &mut random)).collect(),
        "documents" => (1..=DOCUMENTS).map(|id| document(id, &mut random)).collect(),
        _ => Vec::new(),
    }
}

fn customer(id: i64, random: &mut Random) -> Vec<Value> {
    let referred = (id > 1 && below(random, 4) == 0).then(|| 1 + below(random, id as u64 - 1) as i64);
    vec![
        Value::Integer(id),
        Value::Text(format!("customer{id}@example.com")),
        Value::Text(format!("Customer {}", below(random, 1000))),
        Value::Text(COUNTRIES[skewed(random, COUNTRIES.len() as u64) as usize].to_owned()),
        referred.map_or(Value::Null, Value::Integer),
    ]
}

fn product(id: i64, random: &mut Random) -> Vec<Value> {
    vec![
        Value::Integer(id),
        Value::Text(format!("SKU-{id:05}")),
        Value::Text(words(random, 5)),
        Value::Integer(99 + skewed(random, 50_000) as i64),
    ]
}

fn order(id: i64, random: &mut Random) -> Vec<Value> {
    let (month, day) = (1 + below(random, 12), 1 + below(random, 28));
    vec![
        Value::Integer(id),
        Value::Integer(1 + skewed(random, CUSTOMERS as u64) as i64),
        Value::Text(format!("2024-{month:02}-{day:02}")),
        Value::Text(STATES[below(random, STATES.len() as u64) as usize].to_owned()),
    ]
}

fn lines(order: i64, random: &mut Random) -> Vec<Vec<Value>> {
    let count = 1 + skewed(random, LINES_MAX);
    (1..=count as i64)
        .map(|number| {
            vec![
                Value::Integer(order),
                Value::Integer(number),
                Value::Integer(1 + skewed(random, PRODUCTS as u64) as i64),
                Value::Integer(1 + skewed(random, 10) as i64),
                Value::Integer(99 + skewed(random, 50_000) as i64),
            ]
        })
        .collect()
}

fn document(id: i64, random: &mut Random) -> Vec<Value> {
    let doublings = (random.next_u64() | 1 << DOUBLINGS_MAX).trailing_zeros();
    let body = words(random, WORDS_MIN << doublings);
    let scan =
        (below(random, 3) == 0).then(|| (0..body.len() / 2).map(|_| random.next_u64() as u8).collect());
    vec![
        Value::Integer(id),
        Value::Integer(1 + below(random, ORDERS as u64) as i64),
        Value::Text(if scan.is_some() { "scan" } else { "letter" }.to_owned()),
        Value::Text(body),
        scan.map_or(Value::Null, Value::Bytes),
    ]
}

fn words(random: &mut Random, count: usize) -> String {
    let word = |_| WORDS[below(random, WORDS.len() as u64) as usize];
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// Evenly from 0 to below `bound`; the modulo's bias is far below what a sample shows.
fn below(random: &mut Random, bound: u64) -> u64 {
    random.next_u64() % bound.max(1)
}

/// From 0 to below `bound`, small numbers much more often: the smaller of two draws of squares.
fn skewed(random: &mut Random, bound: u64) -> u64 {
    let unit = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    ((unit * unit * unit * bound as f64) as u64).min(bound.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
        for table in TABLES {
            assert!(!rows(table.name, 1).is_empty(), "{}", table.name);
            assert_eq!(rows(table.name, 1), rows(table.name, 1));
        }
        assert_ne!(rows("orders", 1), rows("orders", 2));
        assert!(rows("no_such_table", 1).is_empty());
    }

    #[test]
    fn values_are_skewed_and_some_documents_are_very_long() {
        let longest = rows("documents", 1)
            .iter()
            .filter_map(|row| match &row[3] {
                Value::Text(body) => Some(body.len()),
                _ => None,
            })
            .max();
        assert!(longest > Some(5_000), "{longest:?}");
        let of_first = rows("orders", 1).iter().filter(|row| row[1] == Value::Integer(1)).count();
        assert!(of_first > 5 * ORDERS as usize / CUSTOMERS as usize, "{of_first}");
    }
}
