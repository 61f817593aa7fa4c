//! The host's memory: what there is, and whether more can be had before it is taken.

/// Bytes that the host has left; 0 where that cannot be read.
pub fn free() -> u64 {
    meminfo("MemAvailable:")
}

/// Bytes of the host's memory; 0 where that cannot be read.
pub fn physical() -> u64 {
    meminfo("MemTotal:")
}

/// Whether `bytes` more can be had. Asked before sizes that a file claims are believed: memory that is not there ends
/// the process.
///
/// # Errors
/// The reason, as the rest of a line: the host has less left, or this process may not have so much.
pub fn check(bytes: u64) -> Result<(), String> {
    let left = free();
    // Linux grants more than there is and kills later: ask first.
    if left > 0 && bytes > left {
        return Err(format!("{bytes} bytes of memory are needed and {left} are free"));
    }
    let mut taken = Vec::<u8>::new();
    let granted = usize::try_from(bytes).is_ok_and(|n| taken.try_reserve_exact(n).is_ok());
    // Compilers may leave out memory that nobody uses.
    std::hint::black_box(taken.as_ptr());
    match granted {
        true => Ok(()),
        false => {
            Err(format!("{bytes} bytes of memory are needed, more than this process may have (ulimit -v)"))
        }
    }
}

/// A figure of /proc/meminfo in bytes; 0 where it cannot be read.
fn meminfo(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().find_map(|w| w.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said() {
        assert_eq!(check(0), Ok(()));
        assert_eq!(check(1 << 20), Ok(()));
        let why = check(u64::MAX).expect_err("nobody has that");
        assert!(why.contains("18446744073709551615 bytes of memory are needed"), "{why}");
    }
}
