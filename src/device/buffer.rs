//! Typed device memory that gives itself back.

use super::Device;
use crate::{error::Result, layout::Ptr};
use bytemuck::Pod;
use std::{marker::PhantomData, sync::Arc};

/// An array of `len` values of `T` in a device's memory.
pub struct Buffer<T> {
    device: Arc<dyn Device>,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Takes memory; its contents are undefined. `what` names it should there be too little.
    pub fn new(device: &Arc<dyn Device>, len: usize, what: &str) -> Result<Self> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let address = device.allocate(bytes.max(1), what)?;
        Ok(Buffer { device: device.clone(), address, len, element: PhantomData })
    }

    /// Takes memory and sets it to zero.
    pub fn zeroed(device: &Arc<dyn Device>, len: usize, what: &str) -> Result<Self> {
        let buffer = Self::new(device, len, what)?;
        buffer.zero()?;
        Ok(buffer)
    }

    /// Takes memory and fills it with `values`.
    pub fn from_slice(device: &Arc<dyn Device>, values: &[T], what: &str) -> Result<Self> {
        let buffer = Self::new(device, values.len(), what)?;
        buffer.write(0, values)?;
        Ok(buffer)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its address, for a kernel.
    pub fn ptr(&self) -> Ptr<T> {
        Ptr::new(self.address)
    }

    /// The address of its value `index`, for a kernel.
    pub fn ptr_at(&self, index: usize) -> Ptr<T> {
        assert!(index <= self.len);
        Ptr::new(self.address + (index * size_of::<T>()) as u64)
    }

    /// Overwrites `values.len()` values from `first` on.
    pub fn write(&self, first: usize, values: &[T]) -> Result<()> {
        assert!(first + values.len() <= self.len, "write beyond the buffer");
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: within the allocation, checked above.
        unsafe { self.device.upload(self.ptr_at(first).0, bytemuck::cast_slice(values)) }
    }

    /// Waits for the device, then reads `values.len()` values from `first` on.
    pub fn read(&self, first: usize, values: &mut [T]) -> Result<()> {
        assert!(first + values.len() <= self.len, "read beyond the buffer");
        if values.is_empty() {
            return Ok(());
        }
        // SAFETY: within the allocation, checked above.
        unsafe { self.device.download(self.ptr_at(first).0, bytemuck::cast_slice_mut(values)) }
    }

    /// Waits for the device, then reads everything.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.read(0, &mut values)?;
        Ok(values)
    }

    /// Sets every byte to zero.
    pub fn zero(&self) -> Result<()> {
        // SAFETY: the whole allocation.
        unsafe { self.device.zero(self.address, (self.len * size_of::<T>()) as u64) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: taken in `new`, given back here only. Devices wait for their work before they free.
        unsafe { self.device.free(self.address) }
    }
}
