//! What goes wrong around fathom: no room, kills, and things that are no files.

mod full_disk;
mod kills;
mod special_files;
