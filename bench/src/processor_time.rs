//! How much time threads have had on a processor, as Linux counts it under `/proc`. While another program has
//! the processor it does not grow, so it can be compared on a busy machine, unlike time on the clock. Zero
//! where there is no such count.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Of the calling thread.
pub(crate) fn of_this_thread() -> Duration {
    of(Path::new("/proc/thread-self"))
}

/// Of all living threads of this process with such names.
pub(crate) fn of_threads(is_named: impl Fn(&str) -> bool) -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_meant =
        |folder: &Path| fs::read_to_string(folder.join("comm")).is_ok_and(|name| is_named(name.trim_end()));
    threads.map(|thread| thread.path()).filter(|folder| is_meant(folder)).map(|folder| of(&folder)).sum()
}

/// The first number of `schedstat` is that time, in nanoseconds.
fn of(folder: &Path) -> Duration {
    let text = fs::read_to_string(folder.join("schedstat")).unwrap_or_default();
    let used = text.split_whitespace().next().and_then(|used| used.parse().ok());
    Duration::from_nanos(used.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_that_computes_uses_time() {
        let (begun, before) = (Instant::now(), of_this_thread());
        let mut sum = 0_u64;
        while begun.elapsed() < Duration::from_millis(20) {
            sum = std::hint::black_box(sum + 1);
        }
        let used = of_this_thread().saturating_sub(before);
        assert!(used <= begun.elapsed(), "{used:?}");
        assert_eq!(used.is_zero(), !Path::new("/proc/thread-self/schedstat").exists());
        assert_eq!(of_threads(|name| name == "no thread"), Duration::ZERO);
    }
}
