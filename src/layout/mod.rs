//! The structures that host and kernels share, declared once; a file for each of those who use them.
//!
//! `layout!` makes each a `#[repr(C)]` Rust type and remembers its C++ form; the build script compiles these
//! very files, prints [`header`] and gives it to every kernel compiler as `layout.h`, with a `static_assert`
//! for each size and offset as Rust sees them. Sizes are the same on every target: only fixed-width numbers,
//! arrays of them, and 64-bit device addresses.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

/// A type that a kernel knows too.
pub trait CType {
    /// The C++ declaration of a member of this type called `name`.
    fn member(name: &str) -> String;
}

macro_rules! scalar {
    ($($rust:ty => $c:literal),*) => { $(impl CType for $rust {
        fn member(name: &str) -> String { format!("{} {name}", $c) }
    })* };
}
scalar!(u8 => "u8", u32 => "u32", u64 => "u64", i64 => "i64", f32 => "float");

impl<T: CType, const N: usize> CType for [T; N] {
    fn member(name: &str) -> String {
        T::member(&format!("{name}[{N}]"))
    }
}

/// The address of an array of `T` in a device's memory. The host passes it on and never follows it.
#[repr(transparent)]
pub struct Ptr<T>(pub u64, PhantomData<T>);

impl<T> Ptr<T> {
    /// The address `addr` as a pointer to `T`.
    pub const fn new(addr: u64) -> Self {
        Ptr(addr, PhantomData)
    }
    /// No array: for members that the kernel does not read.
    pub const fn null() -> Self {
        Ptr::new(0)
    }
}
impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ptr<T> {}
impl<T> std::fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
impl<T> Default for Ptr<T> {
    fn default() -> Self {
        Ptr::null()
    }
}
// SAFETY: a transparent u64 for any T.
unsafe impl<T> Zeroable for Ptr<T> {}
// SAFETY: a transparent u64 for any T: no padding, every bit pattern valid.
unsafe impl<T: 'static> Pod for Ptr<T> {}
impl<T: CType> CType for Ptr<T> {
    fn member(name: &str) -> String {
        T::member(&format!("*{name}"))
    }
}

/// 16 bytes that a lane moves in one access (`Quad` of platform.h).
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Quad {
    /// First word.
    pub x: u32,
    /// Second word.
    pub y: u32,
    /// Third word.
    pub z: u32,
    /// Fourth word.
    pub w: u32,
}
impl CType for Quad {
    fn member(name: &str) -> String {
        format!("Quad {name}")
    }
}

macro_rules! layout {
    ($( $(#[doc = $doc:literal])* pub struct $Name:ident { $( $(#[doc = $fdoc:literal])* pub $field:ident : $ty:ty, )* } )*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
            pub struct $Name { $( $(#[doc = $fdoc])* pub $field: $ty, )* }
            impl CType for $Name {
                fn member(name: &str) -> String { format!("{} {name}", stringify!($Name)) }
            }
        )*
        /// The C++ text of the structures above, with the checks of sizes and offsets.
        pub(super) fn structures() -> String {
            let mut text = String::new();
            $(
                for line in [$($doc),*] as [&str; _] { text += &format!("//{line}\n"); }
                text += &format!("struct {} {{\n", stringify!($Name));
                $(
                    for line in [$($fdoc),*] as [&str; _] { text += &format!("    //{line}\n"); }
                    text += &format!("    {};\n", <$ty as CType>::member(stringify!($field)));
                )*
                text += "};\n";
                text += &format!("static_assert(sizeof({0}) == {1}, \"size of {0}\");\n",
                    stringify!($Name), size_of::<$Name>());
                $(
                    text += &format!("static_assert(__builtin_offsetof({0}, {1}) == {2}, \"offset of {0}::{1}\");\n",
                        stringify!($Name), stringify!($field), std::mem::offset_of!($Name, $field));
                )*
            )*
            text
        }
    };
}

// These stand behind the macro, which they use.
mod bfs;
mod engine;
mod light;
mod probe;
mod queue;
mod scene;
mod world;

pub use bfs::*;
pub use engine::*;
pub use light::*;
pub use probe::*;
pub use queue::*;
pub use scene::*;
pub use world::*;

/// layout.h: the C++ text of every structure, what others are made of first.
#[allow(unused_qualifications)] // Every file has its `structures`.
pub fn header() -> String {
    let parts = [
        light::structures,
        world::structures,
        scene::structures,
        queue::structures,
        engine::structures,
        probe::structures,
        bfs::structures,
    ];
    let text: String = parts.iter().map(|part| part()).collect();
    format!(
        "// layout.h: made by the build script from src/layout/. Change it there.\n#pragma once\n\
         #include \"platform/platform.h\"\nnamespace rq {{\n{text}}}  // namespace rq\n"
    )
}
