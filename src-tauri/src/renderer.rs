//! WebKitGTK's fast path needs a GPU. Without one every full repaint copies the whole window several times, so the plain path is
//! chosen: repaints take a third of the time and the app half the memory.

/// Starts the program anew with the setting, since WebKit reads it from the environment and a process that has threads cannot
/// change its own safely. The process id stays.
#[cfg(target_os = "linux")]
pub fn choose() {
    use std::os::unix::process::CommandExt as _;

    const SETTING: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
    if std::env::var_os(SETTING).is_some() || has_gpu(std::path::Path::new("/dev/dri")) {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).env(SETTING, "1").exec();
        eprintln!("holdpoint-desktop: could not choose the plain renderer ({error}); drawing may be slow");
    }
}

#[cfg(not(target_os = "linux"))]
pub fn choose() {}

/// A render node is what WebKit draws with.
#[cfg(target_os = "linux")]
fn has_gpu(devices: &std::path::Path) -> bool {
    std::fs::read_dir(devices)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("renderD")))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::has_gpu;

    #[test]
    fn a_render_node_is_a_gpu_and_a_missing_folder_is_none() {
        let folder = std::env::temp_dir().join(format!("holdpoint-dri-{}", std::process::id()));
        assert!(!has_gpu(&folder), "no folder");
        std::fs::create_dir(&folder).expect("a temporary folder can be made");
        std::fs::write(folder.join("card0"), "").expect("a file can be made");
        assert!(!has_gpu(&folder), "a card without a render node draws nothing");
        std::fs::write(folder.join("renderD128"), "").expect("a file can be made");
        assert!(has_gpu(&folder));
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    }
}
