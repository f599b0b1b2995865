//! The mount table of this process.
//!
//! One line of `/proc/self/mountinfo`, from proc_pid_mountinfo(5):
//! `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/source rw,errors=continue`

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::DeviceNumber;
use crate::tree::SystemTree;

/// How a file system is mounted where a directory lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    /// Where it is mounted.
    pub mount_point: String,
    /// The directory of the file system that is visible at the mount point; `/` unless it is a bind mount, a
    /// subvolume or a container.
    pub root: String,
    /// The type, such as `ext4`.
    pub file_system: String,
    /// What is mounted: a device, a server and path, or a word without meaning (for tmpfs, whatever was typed).
    pub source: String,
    /// Options of this mount, such as `noatime`, in the kernel's order.
    pub mount_options: Vec<String>,
    /// Options of the file system wherever it is mounted, such as `data=ordered`, in the kernel's order.
    pub super_options: Vec<String>,
}

/// One line of the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) number: DeviceNumber,
    pub(crate) root: PathBuf,
    pub(crate) mount_point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) source: PathBuf,
    pub(crate) mount_options: Vec<String>,
    pub(crate) super_options: Vec<String>,
}

impl Mount {
    /// The value of `name=value` among the options of the file system.
    pub(crate) fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

impl From<&Mount> for MountFacts {
    fn from(mount: &Mount) -> Self {
        MountFacts {
            mount_point: mount.mount_point.to_string_lossy().into_owned(),
            root: mount.root.to_string_lossy().into_owned(),
            file_system: mount.file_system.clone(),
            source: mount.source.to_string_lossy().into_owned(),
            mount_options: mount.mount_options.clone(),
            super_options: mount.super_options.clone(),
        }
    }
}

/// Reads the mount table. Lines that do not have the form are left out; no table gives no mounts.
pub(crate) fn mounts_of(tree: &SystemTree) -> Vec<Mount> {
    let table = tree.bytes("proc/self/mountinfo").unwrap_or_default();
    table.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// Finds the mount that holds `path`.
///
/// The device number decides first: a longer mount point may be hidden under a later mount. Where no line has the
/// number (btrfs gives each subvolume one of its own) the longest mount point wins. Of two mounts at one place the
/// later lies on top.
pub(crate) fn mount_holding<'a>(mounts: &'a [Mount], path: &Path, number: DeviceNumber) -> Option<&'a Mount> {
    let longest = |same_number: bool| {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .filter(|mount| !same_number || mount.number == number)
            .max_by_key(|mount| mount.mount_point.components().count())
    };
    longest(true).or_else(|| longest(false))
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let (_mount_id, _parent_id) = (fields.next()?, fields.next()?);
    let number = DeviceNumber::parse(std::str::from_utf8(fields.next()?).ok()?)?;
    let root = path_of(fields.next()?);
    let mount_point = path_of(fields.next()?);
    let mount_options = options_of(fields.next()?);
    // Zero or more optional fields (`shared:2`) end with a lone hyphen.
    fields.by_ref().find(|field| *field == b"-")?;
    let file_system = text_of(fields.next()?);
    let source = path_of(fields.next()?);
    let super_options = options_of(fields.next().unwrap_or_default());
    let complete = mount_point.has_root() && !file_system.is_empty();
    complete.then_some(Mount { number, root, mount_point, file_system, source, mount_options, super_options })
}

fn path_of(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescape(field)))
}

fn text_of(field: &[u8]) -> String {
    path_of(field).to_string_lossy().into_owned()
}

fn options_of(field: &[u8]) -> Vec<String> {
    // Split before unescaping: an escaped comma belongs to a value.
    field.split(|&byte| byte == b',').filter(|option| !option.is_empty()).map(text_of).collect()
}

/// Undoes the kernel's escapes: `\040` space, `\011` tab, `\012` newline, `\134` backslash, `\043` hash sign. Anything
/// that is not a backslash with three octal digits of a byte stays as it is.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                plain.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = tail;
            }
            _ => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const PLAIN: &[u8] =
        b"36 35 98:1 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue";

    #[test]
    fn a_line_gives_both_kinds_of_options() {
        let mount = parse_line(PLAIN).unwrap();
        assert_eq!(mount.number, DeviceNumber { major: 98, minor: 1 });
        assert_eq!(mount.root, Path::new("/mnt1"));
        assert_eq!(mount.mount_point, Path::new("/mnt2"));
        assert_eq!(mount.mount_options, ["rw", "noatime"]);
        assert_eq!(mount.file_system, "ext3");
        assert_eq!(mount.super_options, ["rw", "errors=continue"]);
        assert_eq!(mount.super_option("errors"), Some("continue"));
        assert_eq!(mount.super_option("error"), None);
    }

    #[test]
    fn octal_escapes_in_paths_are_undone() {
        let line = br"36 35 8:1 / /a\040b\011c\012d\134e\043f rw - ext4 /dev/disk\040one rw";
        let mount = parse_line(line).unwrap();
        assert_eq!(mount.mount_point, Path::new("/a b\tc\nd\\e#f"));
        assert_eq!(mount.source, Path::new("/dev/disk one"));
    }

    #[test]
    fn an_incomplete_escape_stays_as_it_is() {
        for odd in [&br"\"[..], br"\0", br"\04", br"\049", br"\400", br"\xyz"] {
            assert_eq!(unescape(odd), odd);
        }
    }

    #[test]
    fn a_line_cut_anywhere_is_left_out_or_has_all_that_matters() {
        for end in 0..PLAIN.len() {
            if let Some(mount) = parse_line(&PLAIN[..end]) {
                assert_eq!(mount.mount_point, Path::new("/mnt2"));
                assert!("ext3".starts_with(&mount.file_system));
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_reach_the_path_and_are_replaced_in_the_facts() {
        let mount = parse_line(b"36 35 8:1 / /a\xff rw - ext4 /dev/sda1 rw,x=\xfe").unwrap();
        assert_eq!(mount.mount_point.as_os_str().as_bytes(), b"/a\xff");
        assert_eq!(MountFacts::from(&mount).mount_point, "/a\u{fffd}");
        assert_eq!(mount.super_options, ["rw", "x=\u{fffd}"]);
    }

    #[test]
    fn the_device_number_beats_the_length_and_the_later_mount_lies_on_top() {
        let table = [
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 8:2 / /data rw - ext4 /dev/sda2 rw",
            "3 1 8:3 / /data rw - xfs /dev/sda3 rw",
            "4 2 8:4 / /data/hidden rw - ext4 /dev/sda4 rw",
        ];
        let mounts: Vec<Mount> = table.iter().filter_map(|line| parse_line(line.as_bytes())).collect();
        let held_by = |path: &str, minor: u32| {
            mount_holding(&mounts, Path::new(path), DeviceNumber { major: 8, minor }).unwrap().number.minor
        };
        assert_eq!(held_by("/data/hidden/x", 3), 3);
        assert_eq!(held_by("/data/x", 99), 3);
        assert_eq!(held_by("/database", 99), 1);
    }
}
