//! Files that results are written to: the old one or the whole new one, and refusals before the work.

use rayq::error::Error;
use rayq::film::Output;
use std::fs;
use std::path::Path;

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn temporary_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

/// The path and the reason of an output error.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (String, String) {
    match result {
        Err(Error::Output { path, why }) => (path.display().to_string(), why),
        other => panic!("expected an output error, got {other:?}"),
    }
}

#[test]
fn a_missing_folder_is_made_and_nothing_else() {
    let folder = temporary_folder();
    let path = folder.path().join("new/deeper/out.png");
    let output = Output::picture(&path).expect("can be made");
    let deeper = path.parent().expect("has a folder");
    assert_eq!(names(deeper), Vec::<String>::new(), "preparing leaves no file behind");
    output.write(b"picture").expect("writable");
    assert_eq!(fs::read(&path).expect("written"), b"picture");
    assert_eq!(names(deeper), ["out.png"]);
}

#[test]
fn overwriting_puts_the_new_file_in_place_of_the_old() {
    let folder = temporary_folder();
    let path = folder.path().join("out.png");
    fs::write(&path, "a longer old file").expect("writable");
    let output = Output::picture(&path).expect("can be overwritten");
    assert_eq!(fs::read(&path).expect("there"), b"a longer old file", "preparing does not touch it");
    output.write(b"new").expect("writable");
    assert_eq!(fs::read(&path).expect("there"), b"new");
    assert_eq!(names(folder.path()), ["out.png"]);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = temporary_folder();
    let path = folder.path().join("sub/out.png");
    let output = Output::picture(&path).expect("can be made");
    // The folder goes between check and write; a file in its place makes every write fail, root's too.
    fs::remove_dir(folder.path().join("sub")).expect("empty");
    fs::write(folder.path().join("sub"), "old").expect("writable");
    let (named, why) = refusal(output.write(b"new"));
    assert_eq!(named, path.display().to_string());
    assert!(why.contains("os error"), "the system's reason: {why}");
    assert_eq!(fs::read(folder.path().join("sub")).expect("there"), b"old");
    assert_eq!(names(folder.path()), ["sub"]);
}

#[test]
fn folders_and_impossible_places_are_refused_with_path_and_reason() {
    let folder = temporary_folder();
    fs::create_dir(folder.path().join("dir.png")).expect("writable");
    fs::write(folder.path().join("file"), "").expect("writable");
    for place in ["dir.png", "file/out.png", "file/sub/out.png"] {
        let path = folder.path().join(place);
        let (named, why) = refusal(Output::picture(&path));
        assert_eq!(named, path.display().to_string());
        assert!(why.contains("os error"), "{place}: {why}");
        assert!(!why.contains(".rayq-"), "{place}: names a file of ours: {why}");
    }
    assert_eq!(names(folder.path()), ["dir.png", "file"]);
}

#[test]
fn only_known_extensions() {
    for (name, said) in [("out.jpg", ".jpg"), ("out.exr", ".exr"), ("out", "no extension"), ("png", "no ext")]
    {
        match Output::picture(Path::new(name)) {
            Err(Error::Input(text)) => {
                assert!(text.contains(name) && text.contains(said) && text.contains(".png"), "{text}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert!(!Path::new(name).exists());
    }
    let folder = temporary_folder();
    Output::picture(&folder.path().join("OUT.PNG")).expect("capitals are the same extension");
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_link_stays_a_link() {
        let folder = temporary_folder();
        let (link, file) = (folder.path().join("out.png"), folder.path().join("real.png"));
        fs::write(&file, "old").expect("writable");
        symlink("real.png", &link).expect("links work here");
        Output::picture(&link).expect("writable").write(b"new").expect("writable");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"new");
    }

    #[test]
    fn pictures_have_the_permissions_of_other_new_files() {
        let folder = temporary_folder();
        let (ours, plain) = (folder.path().join("ours.png"), folder.path().join("plain"));
        Output::picture(&ours).expect("writable").write(b"new").expect("writable");
        fs::write(&plain, "").expect("writable");
        let mode = |path| fs::metadata(path).expect("there").mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_reported_and_stays() {
        let folder = temporary_folder();
        let link = folder.path().join("full.png");
        symlink("/dev/full", &link).expect("links work here");
        let output = Output::picture(&link).expect("a device can only be tried");
        let (named, why) = refusal(output.write(b"picture"));
        assert_eq!(named, link.display().to_string());
        assert!(why.contains("No space left on device"), "{why}");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    }

    #[test]
    fn a_protected_file_is_not_replaced() {
        let folder = temporary_folder();
        let path = folder.path().join("out.png");
        fs::write(&path, "old").expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("ours");
        // The system decides: root may write to what is protected, others may not.
        let allowed = fs::OpenOptions::new().write(true).open(&path).is_ok();
        assert_eq!(Output::picture(&path).is_ok(), allowed);
    }
}
