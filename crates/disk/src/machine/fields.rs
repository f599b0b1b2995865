//! Lines `name: value` of the kernel's text files.

/// The value of a line `name: value` or `name\t: value`.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The value of a line `name: 123 kB`, in bytes. The kernel writes kB and means KiB.
pub(super) fn kib_field(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
