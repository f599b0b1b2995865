//! The page in a real browser: no request, no error, marks in every chart, values on hover, files to take away, legible
//! on a phone, dark, and without scripts. Without a Chromium in PATH the tests say so and test nothing.
#![allow(clippy::unwrap_used)]

mod browser;
mod documents;
mod index;
mod live;
mod page;
mod paper;
mod scripts;
mod serving;
mod stored;
