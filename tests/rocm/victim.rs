//! Compiling the programs of `tests/hip`, once for each release and content.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use super::release::{Release, cache, checkout, workspace};

/// A program compiled inside a root by its own hipcc.
#[derive(Clone, Debug)]
pub struct Victim {
    pub release: Release,
    pub name: String,
    pub executable: PathBuf,
    /// What it is told on its command line.
    pub arguments: Vec<PathBuf>,
    /// Variables that it needs: which GPUs it runs on.
    pub variables: Vec<(&'static str, &'static str)>,
    /// The code that it ends with when all is right; 128 and the signal's number if by a signal.
    pub code: i32,
}

impl Victim {
    /// A HIP program, `tests/hip/NAME.hip`.
    pub fn hip(name: &str, release: Release) -> Self {
        Self::at_level(name, release, "-O3")
    }

    /// The same, compiled without optimisation: variables live in scratch, and the metadata lists every hidden argument.
    pub fn unoptimised(name: &str, release: Release) -> Self {
        Self::at_level(name, release, "-O0")
    }

    /// The same, at one of the compiler's levels of optimisation.
    pub fn at_level(name: &str, release: Release, level: &str) -> Self {
        Self::compiled(name, release, release.target(), &[level])
    }

    /// The same, compiled for a target and run on it.
    pub fn for_target(name: &str, release: Release, target: &'static str) -> Self {
        Self::compiled(name, release, target, &["-O3"])
    }

    /// A HIP program that compiles kernels itself: newer releases have hiprtc in a library of its own.
    pub fn with_runtime_compiler(name: &str, release: Release) -> Self {
        let options: &[&str] = if release == Release::Newest { &["-O3", "-lhiprtc"] } else { &["-O3"] };
        Self::compiled(name, release, release.target(), options)
    }

    /// A HIP program that calls HSA too.
    pub fn with_hsa(name: &str, release: Release) -> Self {
        Self::compiled(name, release, release.target(), &["-O3", "-lhsa-runtime64"])
    }

    fn compiled(name: &str, release: Release, target: &'static str, options: &[&str]) -> Self {
        let source = format!("{name}.hip");
        let architecture = format!("--offload-arch={target}");
        let all = [&[&architecture, "-Wall", "-Werror"], options].concat();
        let executable = compile(release, &source, name, &all);
        Self {
            release,
            name: format!("{name} {} for {target}", options.join(" ")),
            executable,
            arguments: Vec::new(),
            variables: vec![("MODEL_GPU_TARGET", target)],
            code: 0,
        }
    }

    /// A HIP program that is given the code object of `kernels/KERNELS.hip`.
    pub fn hip_with_kernels(name: &str, kernels: &str, release: Release) -> Self {
        Self { arguments: vec![code_object(kernels, release)], ..Self::hip(name, release) }
    }

    /// The same with another number of GPUs.
    pub fn on_gpus(mut self, count: &'static str) -> Self {
        self.variables.push(("MODEL_GPU_AGENTS", count));
        self
    }

    /// The same, which ends by aborting.
    pub fn that_aborts(self) -> Self {
        Self { code: 128 + libc::SIGABRT, ..self }
    }

    /// A program that uses HSA without HIP, `tests/hip/NAME.cpp`; it is given the code object of `kernels/KERNELS.hip`.
    pub fn hsa(name: &str, kernels: &str, release: Release) -> Self {
        let source = format!("{name}.cpp");
        let options = ["-x", "c++", "-O2", "-Wall", "-Werror", "-no-hip-rt", "-lhsa-runtime64"];
        let executable = compile(release, &source, name, &options);
        Self {
            release,
            name: name.to_owned(),
            executable,
            arguments: vec![code_object(kernels, release)],
            variables: vec![("MODEL_GPU_TARGET", release.target())],
            code: 0,
        }
    }
}

fn code_object(kernels: &str, release: Release) -> PathBuf {
    let architecture = format!("--offload-arch={}", release.target());
    let device = [&architecture, "-O3", "--cuda-device-only", "--no-gpu-bundle-output", "-c"];
    compile(release, &format!("kernels/{kernels}.hip"), &format!("{kernels}.co"), &device)
}

/// Compiles a source of `tests/hip`, unless the same content was compiled before in the same release.
fn compile(release: Release, source: &str, output: &str, options: &[&str]) -> PathBuf {
    let source = checkout().join("tests/hip").join(source);
    let key = content_key(release, &source, options);
    let folder = workspace(Path::new(release.name()).join(format!("{output}-{key:016x}")));
    let result = folder.join(output);
    // One compilation of a program at a time; others go on.
    static BUSY: OnceLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = OnceLock::new();
    let busy = BUSY
        .get_or_init(Mutex::default)
        .lock()
        .expect("no panic while listing")
        .entry(result.clone())
        .or_default()
        .clone();
    let _guard = busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if result.is_file() {
        return result;
    }
    // A rename at the end: a compilation that was ended leaves nothing that looks finished.
    let part = folder.join(format!("part-{}", std::process::id()));
    let kept = cache().join(release.name()).join(format!("{output}-{key:016x}"));
    if copy_by_child(&kept, &part) {
        std::fs::rename(&part, &result).unwrap_or_else(|error| panic!("{}: {error}", result.display()));
        return result;
    }
    let build = release
        .without_gpu()
        .arg("hipcc")
        .args(options.iter().take_while(|option| !option.starts_with("-l")))
        .args([OsStr::new("-o"), part.as_ref(), source.as_ref()])
        // Libraries come behind what needs them.
        .args(options.iter().skip_while(|option| !option.starts_with("-l")))
        .output()
        .expect("scripts/in-root can be run");
    assert!(
        build.status.success() && part.is_file(),
        "hipcc of the {release} root cannot compile {}:\n{}{}",
        source.display(),
        String::from_utf8_lossy(&build.stdout),
        String::from_utf8_lossy(&build.stderr)
    );
    keep(&part, &kept);
    std::fs::rename(&part, &result).unwrap_or_else(|error| panic!("{}: {error}", result.display()));
    result
}

/// Keeps a compiled program for other checkouts. One that cannot be kept is compiled again there, which is no failure.
fn keep(program: &Path, kept: &Path) {
    let part = kept.with_extension(format!("part-{}", std::process::id()));
    let folder = kept.parent().expect("a file in the cache");
    if std::fs::create_dir_all(folder).is_ok() && copy_by_child(program, &part) {
        let _ = std::fs::rename(&part, kept);
    }
}

/// Copies a program in another process. A descriptor of this one, open for writing, could live on in a child that another
/// test has just forked, and the program would be busy when it is started.
pub fn copy_by_child(from: &Path, to: &Path) -> bool {
    from.is_file()
        && Command::new("cp").arg(from).arg(to).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Changes with the source, the shared header, the options and the compiler.
fn content_key(release: Release, source: &Path, options: &[&str]) -> u64 {
    let read =
        |path: &Path| std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut hasher = DefaultHasher::new();
    let text = read(source);
    (release.versions(), &text, read(&checkout().join("tests/hip/victim.h")), options).hash(&mut hasher);
    if text.windows(12).any(|window| window == b"hsa_replay.h") {
        read(&checkout().join("include/hsa_replay.h")).hash(&mut hasher);
    }
    hasher.finish()
}
