//! Where things lie: the data folder (F-4), the database, and what stands beside it.

use std::path::{Path, PathBuf};

/// The platform's data folder for Holdpoint (F-4). `None` where the environment names no home.
pub fn data_folder() -> Option<PathBuf> {
    data_folder_from(|name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute()))
}

fn data_folder_from(env: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return Some(env("HOME")?.join("Library/Application Support/Holdpoint"));
    }
    if cfg!(target_os = "windows") {
        return Some(env("APPDATA")?.join("Holdpoint"));
    }
    let base = env("XDG_DATA_HOME").or_else(|| Some(env("HOME")?.join(".local/share")))?;
    Some(base.join("holdpoint"))
}

/// F-4. Without a data folder: the working directory.
pub fn default_db() -> PathBuf {
    data_folder().unwrap_or_default().join("holdpoint.db")
}

/// operator token and address of the engine that holds `db`.
pub fn operator_file(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".operator");
    name.into()
}

/// Credentials of connections, where no keyring takes them (M-2).
pub fn credentials_file(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".credentials");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_data_folder_follows_the_platform_f4() {
        let env =
            |pairs: &'static [(&str, &str)]| move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, path)| path.into());
        assert_eq!(data_folder_from(env(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")])), Some("/x/holdpoint".into()));
        assert_eq!(data_folder_from(env(&[("HOME", "/h")])), Some("/h/.local/share/holdpoint".into()));
        assert_eq!(data_folder_from(env(&[])), None);
    }

    #[test]
    fn the_operator_file_stands_beside_the_database_q32() {
        assert_eq!(operator_file(Path::new("/d/hp.db")), Path::new("/d/hp.db.operator"));
    }
}
