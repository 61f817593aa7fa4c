/// Whether this build is for clippy: then nothing will be linked, and minutes of C++ would be for nothing.
pub fn is_lint() -> bool {
    std::env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.contains("clippy"))
}
