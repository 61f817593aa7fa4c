//! Where the dynamic loader would look for a library: to know a file before loading it.

use std::path::{Path, PathBuf};

/// The loader's folders (environment, ld.so.conf, standard ones), then lib64 and lib of every folder whose
/// path starts with one of `roots`: /usr/local/cuda covers /usr/local/cuda-12.4. Only folders that exist.
pub fn folders(roots: &[&str]) -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|f| !f.as_os_str().is_empty()).collect();
    folders.extend(configured());
    let arch = std::env::consts::ARCH;
    let standard = [format!("/usr/lib/{arch}-linux-gnu"), format!("/lib/{arch}-linux-gnu")];
    folders.extend(standard.iter().map(PathBuf::from));
    folders.extend(["/usr/local/lib", "/usr/lib64", "/usr/lib", "/lib64", "/lib"].map(PathBuf::from));
    for root in roots.iter().flat_map(|root| starting_with(Path::new(root))) {
        folders.extend(["lib64", "lib"].map(|lib| root.join(lib)));
    }
    folders.retain(|f| f.is_dir());
    folders
}

/// The folders named in ld.so.conf and its parts.
fn configured() -> Vec<PathBuf> {
    let parts = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = parts.filter(|p| p.extension().is_some_and(|e| e == "conf")).collect();
    files.sort();
    files.push("/etc/ld.so.conf".into());
    let lines = files.iter().filter_map(|f| std::fs::read_to_string(f).ok());
    lines
        .flat_map(|t| t.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>())
        .filter(|l| l.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// The paths beside `root` that start with it, `root` itself included, the highest name first.
fn starting_with(root: &Path) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else { return vec![] };
    let name = name.to_string_lossy().into_owned();
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(&name)).map(|e| e.path()).collect();
    found.sort();
    found.reverse();
    found
}
