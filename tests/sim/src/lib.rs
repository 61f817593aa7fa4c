//! A SIMT simulator: rayq kernels in waves of any size, on the CPU.
