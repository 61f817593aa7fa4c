//! Accessors: numbers in buffers, of any width, interleaved or not, sparse or not, read with every bound checked
//! before memory is taken.

use super::json::{Accessor, Index};
use super::source::Source;
use crate::error::Result;
use crate::memory;

/// Most elements of an accessor that no bytes stand for: it is all zeros but for its sparse part.
const MAX_ZEROS: u64 = 1 << 24;

/// Elements of one size in a row.
struct Block<'a> {
    bytes: &'a [u8],
    count: usize,
    size: usize,
    stride: usize,
}

impl<'a> Block<'a> {
    fn elements(&self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, size, stride) = (self.bytes, self.size, self.stride);
        (0..self.count).map(move |i| &bytes[i * stride..i * stride + size])
    }
}

/// Types of components by their numbers in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn size(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }

    /// The value of a component; normalised ones lie within -1..1 or 0..1.
    fn float(self, bytes: &[u8], normalized: bool) -> f32 {
        let scaled = |value: f32, most: f32| if normalized { (value / most).max(-1.0) } else { value };
        match (self, bytes) {
            (Component::I8, &[a]) => scaled(f32::from(a as i8), 127.0),
            (Component::U8, &[a]) => scaled(f32::from(a), 255.0),
            (Component::I16, &[a, b]) => scaled(f32::from(i16::from_le_bytes([a, b])), 32767.0),
            (Component::U16, &[a, b]) => scaled(f32::from(u16::from_le_bytes([a, b])), 65535.0),
            (Component::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            _ => self.whole(bytes) as f32,
        }
    }

    /// The value of an unsigned component.
    fn whole(self, bytes: &[u8]) -> u32 {
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
    }
}

impl Source<'_> {
    /// An accessor's elements as finite floats within `-limit..=limit`. `what` is its attribute's name.
    pub fn floats<const N: usize>(&self, index: Index, what: &str, limit: f32) -> Result<Vec<[f32; N]>> {
        let accessor = self.accessor(index, what, ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1])?;
        let component = self.component(index, accessor.component_type)?;
        if component == Component::U32 {
            return Err(self.fault(format_args!("accessors[{index}]: componentType 5125 cannot be {what}")));
        }
        let element = |bytes: &[u8]| -> [f32; N] {
            let mut parts = bytes.chunks_exact(component.size());
            std::array::from_fn(|_| component.float(parts.next().expect("N of them"), accessor.normalized))
        };
        let elements = self.elements(index, accessor, N * component.size(), [0.0; N], element)?;
        match elements.iter().position(|e| !e.iter().all(|v| v.abs() <= limit)) {
            Some(bad) => Err(self.fault(format_args!(
                "accessors[{index}]: {what} {bad} is {:?}; allowed: -{limit:e} to {limit:e}",
                elements[bad]
            ))),
            None => Ok(elements),
        }
    }

    /// An accessor's elements as indices below `count`.
    pub fn indices(&self, index: Index, count: usize) -> Result<Vec<u32>> {
        let accessor = self.accessor(index, "indices", "SCALAR")?;
        let component = self.component(index, accessor.component_type)?;
        self.must_be_unsigned(index, component)?;
        let indices = self.elements(index, accessor, component.size(), 0, |bytes| component.whole(bytes))?;
        match indices.iter().position(|&i| i as usize >= count) {
            Some(bad) => Err(self.fault(format_args!(
                "accessors[{index}]: element {bad} is index {} of {count} vertices",
                indices[bad]
            ))),
            None => Ok(indices),
        }
    }

    /// How many elements an accessor has.
    pub fn count(&self, index: Index, what: &str) -> Result<u64> {
        Ok(self.get(&self.root.accessors, index, "accessors", what)?.count)
    }

    fn accessor(&self, index: Index, what: &str, shape: &str) -> Result<&Accessor> {
        let accessor = self.get(&self.root.accessors, index, "accessors", what)?;
        if accessor.shape != shape {
            let text = format!("accessors[{index}]: {what} must be {shape} and not `{}`", accessor.shape);
            return Err(self.fault(text));
        }
        Ok(accessor)
    }

    fn component(&self, index: Index, number: u64) -> Result<Component> {
        Ok(match number {
            5120 => Component::I8,
            5121 => Component::U8,
            5122 => Component::I16,
            5123 => Component::U16,
            5125 => Component::U32,
            5126 => Component::F32,
            _ => return Err(self.fault(format_args!("accessors[{index}]: unknown componentType {number}"))),
        })
    }

    fn must_be_unsigned(&self, index: Index, component: Component) -> Result<()> {
        match component {
            Component::U8 | Component::U16 | Component::U32 => Ok(()),
            _ => Err(self.fault(format_args!("accessors[{index}]: indices must be whole and unsigned"))),
        }
    }

    /// All elements of an accessor, the sparse ones put over the others.
    fn elements<T: Copy>(
        &self,
        index: Index,
        accessor: &Accessor,
        size: usize,
        zero: T,
        element: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<T>> {
        let name = format!("accessors[{index}]");
        let mut elements: Vec<T> = match accessor.buffer_view {
            Some(view) => {
                let block = self.block(&name, view, accessor.byte_offset, accessor.count, size)?;
                block.elements().map(&element).collect()
            }
            None if accessor.count > MAX_ZEROS => {
                let text =
                    format!("{name}: {} elements without a bufferView; allowed: {MAX_ZEROS}", accessor.count);
                return Err(self.fault(text));
            }
            None => {
                let bytes = accessor.count * size_of::<T>() as u64;
                memory::check(bytes).map_err(|why| self.fault(format_args!("{name}: {why}")))?;
                vec![zero; accessor.count as usize]
            }
        };
        let Some(sparse) = &accessor.sparse else { return Ok(elements) };
        let name = format!("{name}.sparse");
        let places = &sparse.indices;
        let component = self.component(index, places.component_type.unwrap_or(0))?;
        self.must_be_unsigned(index, component)?;
        let places =
            self.block(&name, places.buffer_view, places.byte_offset, sparse.count, component.size())?;
        let values =
            self.block(&name, sparse.values.buffer_view, sparse.values.byte_offset, sparse.count, size)?;
        for (place, value) in places.elements().zip(values.elements()) {
            let (place, count) = (component.whole(place), elements.len());
            let slot = elements.get_mut(place as usize);
            *slot.ok_or_else(|| self.fault(format_args!("{name}: index {place} of {count} elements")))? =
                element(value);
        }
        Ok(elements)
    }

    /// `count` elements of `size` bytes in a buffer view.
    fn block(&self, name: &str, view: Index, offset: u64, count: u64, size: usize) -> Result<Block<'_>> {
        let (bytes, stride) = self.view(view, name)?;
        let stride = stride.unwrap_or(size as u64);
        if stride < size as u64 {
            let text =
                format!("bufferViews[{view}]: byteStride {stride} is less than an element of {name}: {size}");
            return Err(self.fault(text));
        }
        let spread = count.saturating_sub(1).checked_mul(stride);
        let needed = spread.and_then(|s| s.checked_add(size as u64)).and_then(|s| s.checked_add(offset));
        match needed {
            _ if count == 0 => Ok(Block { bytes: &[], count: 0, size, stride: size }),
            Some(needed) if needed <= bytes.len() as u64 => Ok(Block {
                bytes: &bytes[offset as usize..],
                count: count as usize,
                size,
                stride: stride as usize,
            }),
            _ => {
                let needed = needed.map_or("too many".into(), |n| n.to_string());
                let text =
                    format!("{name}: needs {needed} bytes of bufferViews[{view}], which has {}", bytes.len());
                Err(self.fault(text))
            }
        }
    }
}
