//! The ROCm roots and how a command is run in one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Seconds after which a command is taken to hang and is ended; no test waits for it on purpose.
const HANG: &str = "600";

/// A release of the real stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// ROCr and HIP 5.2: knows no gfx942.
    Oldest,
    Stable,
    Testing,
    Newest,
}

impl Release {
    pub const ALL: [Self; 4] = [Self::Oldest, Self::Stable, Self::Testing, Self::Newest];

    pub fn name(self) -> &'static str {
        match self {
            Self::Oldest => "oldest",
            Self::Stable => "stable",
            Self::Testing => "testing",
            Self::Newest => "newest",
        }
    }

    /// The release that `scripts/rocm-root` knows by this name.
    pub fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|release| release.name() == name);
        found.unwrap_or_else(|| panic!("there is no release {name}"))
    }

    /// The instruction set that programs are compiled for unless a test asks for another: the newest that the release knows.
    pub fn target(self) -> &'static str {
        match self {
            Self::Oldest => "gfx90a",
            Self::Stable | Self::Testing | Self::Newest => "gfx942",
        }
    }

    /// The packages in the root, after checking that it is there.
    pub fn versions(self) -> &'static str {
        static VERSIONS: [OnceLock<String>; 4] = [const { OnceLock::new() }; 4];
        VERSIONS[self as usize].get_or_init(|| {
            let output = Command::new(checkout().join("scripts/rocm-root"))
                .args(["--release", self.name(), "--versions"])
                .output()
                .expect("scripts/rocm-root can be run");
            assert!(
                output.status.success(),
                "there is no {self} root: run scripts/rocm-root --release {self}\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).expect("versions are text")
        })
    }

    /// A command inside the root, on the software GPU, in the checkout's folder.
    pub fn on_gpu(self) -> Command {
        let gpu = checkout().join("target/release/libmodel_gpu.so");
        assert!(gpu.is_file(), "{} is missing: run cargo build --release --workspace", gpu.display());
        self.in_root(&[])
    }

    /// A command inside the root without a GPU: compilers.
    pub fn without_gpu(self) -> Command {
        self.in_root(&["--no-gpu"])
    }

    fn in_root(self, options: &[&str]) -> Command {
        self.versions();
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=10", HANG])
            .arg(checkout().join("scripts/in-root"))
            .args(["--release", self.name()])
            .args(options)
            .arg("--")
            .current_dir(checkout());
        // What the caller of the tests has set must not reach the programs under test.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours = text.starts_with("HSA_") || text.starts_with("MODEL_GPU_") || text.starts_with("HIP_");
            if ours && text != "HSA_REPLAY_ROOTS" || text.starts_with("LD_") {
                command.env_remove(&name);
            }
        }
        command
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The folder of the repository.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where compiled programs are kept beyond this checkout: beside the ROCm roots.
pub fn cache() -> PathBuf {
    if let Some(roots) = std::env::var_os("HSA_REPLAY_ROOTS") {
        return checkout().join(roots).join(".programs");
    }
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME is set")).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("hsa-replay/programs")
}

/// A folder for what the tests build, visible inside the roots.
pub fn workspace(relative: impl AsRef<Path>) -> PathBuf {
    let folder = checkout().join("target/hip").join(relative);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}
