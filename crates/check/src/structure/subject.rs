//! Which tables and indexes are meant, and their order in the output.

use results::structure::ObjectStructure;

/// Whether a table is the one that the user names: the whole qualified name or its end, without case.
pub fn is_meant(qualified: &str, wanted: &str) -> bool {
    let (qualified, wanted) = (qualified.to_lowercase(), wanted.to_lowercase());
    qualified == wanted || qualified.strip_suffix(&wanted).is_some_and(|rest| rest.ends_with('.'))
}

/// Sorts a table before its indexes and numbers them: 0 a heap, 1 a tree that holds the rows, others from 2 on.
///
/// Objects come in the order in which the catalog made them; that order is kept among the indexes of a table.
pub fn in_order(objects: &mut [ObjectStructure]) {
    objects.sort_by(|left, right| {
        (&left.table, left.index.is_some()).cmp(&(&right.table, right.index.is_some()))
    });
    let mut table: Option<String> = None;
    let mut next = 2;
    for object in objects {
        if table.as_ref() != Some(&object.table) {
            table = Some(object.table.clone());
            next = 2;
        }
        if object.index.is_some() {
            object.index_id = next;
            next += 1;
        } else {
            object.index_id = u32::from(object.kind != results::structure::StorageKind::Heap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_meant_by_its_name_with_or_without_qualification() {
        for wanted in ["orders", "public.orders", "Shop.Public.Orders"] {
            assert!(is_meant("shop.public.orders", wanted), "{wanted}");
        }
        for other in ["rders", "public", "", "other.orders", "shop.public.orders.x"] {
            assert!(!is_meant("shop.public.orders", other), "{other}");
        }
        assert!(is_meant("orders", "ORDERS"));
    }
}
