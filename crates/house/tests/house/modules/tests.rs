use super::*;

/// The cycles of a made-up crate, each as its files in one string.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let needs = Crate::read(files.iter().copied()).needs();
    cycles(&needs).into_iter().map(|cycle| cycle.into_iter().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn two_files_that_name_each_other_are_a_cycle() {
    let found = cycles_of(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::{self, B}; pub struct A(B);"),
        ("b.rs", "pub struct B; fn f() { super::a::A::new(c()) } use super::c::c;"),
        ("c.rs", "pub fn c() {}"),
    ]);
    assert_eq!(found, ["a.rs b.rs"]);
}

#[test]
fn a_parent_that_only_declares_and_re_exports_is_part_of_no_cycle() {
    let found = cycles_of(&[
        ("lib.rs", "pub mod a; pub use a::One;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One; pub(crate) use two::Two as Second;"),
        ("a/one.rs", "use super::Second; use crate::a; pub struct One(Second);"),
        ("a/two.rs", "pub struct Two;"),
    ]);
    assert_eq!(found, [] as [&str; 0]);
}

#[test]
fn a_re_exported_name_leads_to_the_file_that_defines_it() {
    let found = cycles_of(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One; pub use two::*;"),
        ("a/one.rs", "pub struct One(super::Two);"),
        ("a/two.rs", "use crate::a; pub struct Two; impl Two { fn f(one: a::One) {} }"),
    ]);
    assert_eq!(found, ["a/one.rs a/two.rs"]);
}

#[test]
fn a_parent_that_defines_what_its_child_needs_and_uses_the_child_is_a_cycle() {
    let files =
        |parent| [("lib.rs", "mod a;"), ("a.rs", parent), ("a/b.rs", "use super::A; pub struct B(A);")];
    assert_eq!(cycles_of(&files("mod b; pub struct A; fn f() { b::B(A) }")), ["a.rs a/b.rs"]);
    assert_eq!(cycles_of(&files("mod b; pub use b::B; pub struct A; fn f() -> B {}")), ["a.rs a/b.rs"]);
    assert_eq!(cycles_of(&files("mod b; pub use b::B; pub struct A;")), [] as [&str; 0]);
}

#[test]
fn tests_blocks_strings_and_other_crates_tie_nothing() {
    let found = cycles_of(&[
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod t;"),
        ("a.rs", "use crate::b::B; pub struct A; #[cfg(test)] mod tests { use crate::t::T; }"),
        (
            "b.rs",
            "use a::A; pub struct B; mod inner { use super::B; } #[cfg(test)] mod t { use crate::a::A; }",
        ),
        ("t.rs", "use crate::a::A; pub struct T;"),
    ]);
    assert_eq!(found, [] as [&str; 0], "`a` in b.rs is another crate");
}

#[test]
fn names_in_macros_and_blocks_of_modules_are_followed() {
    let found = cycles_of(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub mod inner { pub fn f() { println!(\"{}\", crate::b::g()) } }"),
        ("b.rs", "pub fn g() { use crate::a::inner; inner::f() }"),
    ]);
    assert_eq!(found, ["a.rs b.rs"]);
}
