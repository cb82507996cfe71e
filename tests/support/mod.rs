//! What the tests of the built library share: the shim as it is installed, and C programs compiled around it.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

pub mod device;

/// Name of the runtime, and of the shim in its place.
pub const SONAME: &str = "libhsa-runtime64.so.1";
/// The name without a version, which some libraries open.
pub const PLAIN_NAME: &str = "libhsa-runtime64.so";

/// The library that cargo built beside this test.
pub fn built_library() -> PathBuf {
    let executable = std::env::current_exe().expect("this program's path");
    let library = executable
        .ancestors()
        .skip(1)
        .flat_map(|folder| [folder.join("deps/libhsa_runtime64.so"), folder.join("libhsa_runtime64.so")])
        .find(|path| path.is_file());
    library.expect("cargo builds the library before the tests of its package")
}

/// What programs are linked with: only the SONAME gets into them, and that is the real runtime's.
pub fn linked_runtime() -> String {
    built_library().to_str().expect("a plain path").to_owned()
}

/// A temporary folder with an installed shim, fake runtimes and a client.
pub struct Stage {
    root: TempDir,
}

/// What a client printed and how it ended.
#[derive(Debug)]
pub struct Outcome {
    pub lines: Vec<String>,
    pub errors: Vec<String>,
    pub code: Option<i32>,
}

impl Outcome {
    /// The lines of standard output, after checking that the client ended well and nothing was said on standard error.
    #[track_caller]
    pub fn quiet(self) -> Vec<String> {
        assert!(self.errors.is_empty(), "standard error: {:#?}", self.errors);
        self.well()
    }

    /// The lines of standard output, after checking that the client ended well.
    #[track_caller]
    pub fn well(self) -> Vec<String> {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.lines
    }
}

impl Stage {
    /// Lays the shim out as installed, `shim/libhsa-runtime64.so.1` and `.so` beside it, a fake runtime in `real/`
    /// and a client linked with it.
    pub fn new() -> Self {
        let stage = Self { root: tempfile::tempdir().expect("a temporary folder") };
        stage.install("shim");
        stage.fake_runtime("real", &[]);
        stage.client("client", &[]);
        stage
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    pub fn folder(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// Links the built library under its two installed names.
    pub fn install(&self, folder: &str) {
        let folder = self.folder(folder);
        for name in [SONAME, PLAIN_NAME] {
            std::os::unix::fs::symlink(built_library(), folder.join(name)).expect("a symbolic link");
        }
    }

    /// Copies the built library byte for byte: another file with the same contents.
    pub fn copy_shim(&self, folder: &str) -> PathBuf {
        let copy = self.folder(folder).join(SONAME);
        std::fs::copy(built_library(), &copy).expect("a copy");
        copy
    }

    /// Compiles a fake runtime that calls itself by its folder's name.
    pub fn fake_runtime(&self, folder: &str, options: &[&str]) -> PathBuf {
        let library = self.folder(folder).join(SONAME);
        let name = format!("-DFAKE_NAME=\"{folder}\"");
        let soname = format!("-Wl,-soname,{SONAME}");
        compile(
            "runtime.c",
            &library,
            ["-shared", "-fPIC", &name, &soname].into_iter().chain(options.iter().copied()),
        );
        library
    }

    /// A library that others can be linked with and that is gone when they are loaded.
    pub fn needed_then_lost(&self) -> String {
        let library = self.folder("lost").join("liblost.so");
        compile("hip.c", &library, ["-shared", "-fPIC", "-Wl,-soname,liblost.so"].into_iter());
        library.to_str().expect("a plain path").to_owned()
    }

    /// Compiles the client, linked with the runtime by its SONAME as HIP is.
    pub fn client(&self, name: &str, options: &[&str]) -> PathBuf {
        let client = self.path(name);
        let fixed = ["-pthread", "-Wl,--no-as-needed", &linked_runtime(), "-ldl"];
        compile("client.c", &client, fixed.into_iter().chain(options.iter().copied()));
        client
    }

    /// Compiles the client on its own: it has to open a library before it calls anything.
    pub fn client_without_runtime(&self, name: &str) -> PathBuf {
        let client = self.path(name);
        compile("client.c", &client, ["-pthread", "-ldl"].into_iter());
        client
    }

    /// A run of the client with nothing of this process's environment.
    pub fn run<'a>(
        &self,
        environment: impl IntoIterator<Item = (&'a str, OsString)>,
        commands: &[&str],
    ) -> Outcome {
        self.run_program("client", environment, commands)
    }

    pub fn run_program<'a>(
        &self,
        program: &str,
        environment: impl IntoIterator<Item = (&'a str, OsString)>,
        commands: &[&str],
    ) -> Outcome {
        let environment: BTreeMap<_, _> = environment.into_iter().collect();
        let mut command = Command::new(self.path(program));
        command.args(commands).env_clear().envs(environment).current_dir(self.root.path());
        let output = loop {
            match command.output() {
                // A child that another test has forked holds the file that `compile` wrote open until it executes its own.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                output => break output.expect("the client starts"),
            }
        };
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
        Outcome { lines: lines(&output.stdout), errors: lines(&output.stderr), code: output.status.code() }
    }

    /// `LD_LIBRARY_PATH` over folders of the stage.
    pub fn library_path(&self, folders: &[&str]) -> (&'static str, OsString) {
        let folders = folders.iter().map(|folder| self.path(folder));
        ("LD_LIBRARY_PATH", std::env::join_paths(folders).expect("plain paths"))
    }

    /// `LD_PRELOAD` of the installed shim.
    pub fn preload(&self) -> (&'static str, OsString) {
        ("LD_PRELOAD", self.path("shim").join(SONAME).into())
    }
}

/// Compiles one C source of `tests/fake_runtime`. What was compiled with the same options before, by this process, is copied.
pub fn compile<'a>(source: &str, output: &Path, options: impl Iterator<Item = &'a str>) {
    type Key = (String, Vec<String>);
    static COMPILED: Mutex<BTreeMap<Key, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let key: Key = (source.to_owned(), options.map(str::to_owned).collect());
    // Options that name files of one stage are not shared; the others are the bulk.
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let program = compiled.entry(key).or_insert_with_key(|(source, options)| {
        run_compiler(source, output, options);
        std::fs::read(output).expect("the compiler's output")
    });
    if !output.exists() {
        std::fs::write(output, program).expect("a file");
        std::fs::set_permissions(output, Permissions::from_mode(0o755)).expect("the mode of a program");
    }
}

fn run_compiler(source: &str, output: &Path, options: &[String]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_runtime");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
    // Options last, after the source: libraries are searched in the order in which they are named.
    let result = Command::new(&compiler)
        .args([
            OsStr::new("-O2"),
            "-Wall".as_ref(),
            "-o".as_ref(),
            output.as_ref(),
            folder.join(source).as_ref(),
        ])
        .args(options)
        .output()
        .expect("a C compiler, as rustc needs one for linking");
    assert!(result.status.success(), "{source}: {}", String::from_utf8_lossy(&result.stderr));
}
