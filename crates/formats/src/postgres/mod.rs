//! PostgreSQL: pages, tuples, B-trees and the files around them.
