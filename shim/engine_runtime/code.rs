//! Loaded code objects, through the loader extension's table.
//!
//! Source: `hsa_ven_amd_loader.h`, `hsa_ven_amd_loader_1_01_pfn_t`.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd as _, RawFd};
use std::os::unix::fs::FileExt as _;

use hsa_replay_engine::handles::{Agent, Executable};
use hsa_replay_engine::runtime::{LoadedCodeObject, RuntimeError, RuntimeResult};
use hsa_sys::*;

use super::call::{attribute, call, checked, collect};

const EXTENSION: u16 = 0x201;
const LARGEST_FILE: u64 = 4 << 30;

const ITERATE: &str = "hsa_ven_amd_loader_executable_iterate_loaded_code_objects";
const GET_INFO: &str = "hsa_ven_amd_loader_loaded_code_object_get_info";

fn failure(call: &'static str) -> RuntimeError {
    RuntimeError { call, status: HSA_STATUS_ERROR }
}

/// The loader extension's functions.
#[derive(Debug)]
pub struct Loader(hsa_ven_amd_loader_1_01_pfn_t);

impl Loader {
    /// Asks for the table.
    ///
    /// # Errors
    /// When the runtime has no loader extension.
    pub fn new() -> RuntimeResult<Self> {
        const { assert!(HSA_EXTENSION_AMD_LOADER == EXTENSION as hsa_extension_t) };
        let mut table = hsa_ven_amd_loader_1_01_pfn_t::default();
        let size = size_of_val(&table);
        // SAFETY: the place is as large as it is said to be.
        unsafe { call!(hsa_system_get_major_extension_table(EXTENSION, 1, size, (&raw mut table).cast())) }?;
        Ok(Self(table))
    }

    pub fn loaded_code_objects(&self, executable: Executable) -> RuntimeResult<Vec<LoadedCodeObject>> {
        unsafe extern "C" fn gather(
            _executable: hsa_executable_t,
            object: hsa_loaded_code_object_t,
            list: *mut c_void,
        ) -> hsa_status_t {
            // SAFETY: the list that is passed below.
            unsafe { collect(object, list) }
        }
        let iterate = self
            .0
            .hsa_ven_amd_loader_executable_iterate_loaded_code_objects
            .ok_or_else(|| failure(ITERATE))?;
        let mut objects: Vec<hsa_loaded_code_object_t> = Vec::new();
        let executable = hsa_executable_t { handle: executable.0 };
        // SAFETY: the callback is for this list, which outlives the call.
        checked(ITERATE, unsafe { iterate(executable, Some(gather), (&raw mut objects).cast()) })?;
        objects.into_iter().map(|object| self.loaded_code_object(object)).collect()
    }

    fn loaded_code_object(&self, object: hsa_loaded_code_object_t) -> RuntimeResult<LoadedCodeObject> {
        let kind: u32 = self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND)?;
        let agent = if kind == HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT {
            Some(Agent(self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT)?))
        } else {
            None
        };
        Ok(LoadedCodeObject {
            agent,
            load_base: self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE)?,
            load_size: self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE)?,
            load_delta: self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA)?,
            image: self.image(object)?,
        })
    }

    fn info<T: Copy + Default>(
        &self,
        object: hsa_loaded_code_object_t,
        what: hsa_ven_amd_loader_loaded_code_object_info_t,
    ) -> RuntimeResult<T> {
        let get_info =
            self.0.hsa_ven_amd_loader_loaded_code_object_get_info.ok_or_else(|| failure(GET_INFO))?;
        // SAFETY: the callers here name the attribute's type.
        attribute(|place| checked(GET_INFO, unsafe { get_info(object, what, place) }))
    }

    /// The ELF image that the object was loaded from.
    fn image(&self, object: hsa_loaded_code_object_t) -> RuntimeResult<Vec<u8>> {
        let storage: u32 =
            self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE)?;
        if storage == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE {
            let file: c_int =
                self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE)?;
            return read_file(file).ok_or_else(|| failure("reading a code object's file"));
        }
        let base: u64 =
            self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE)?;
        let size: u64 =
            self.info(object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE)?;
        read_memory(base, size).ok_or_else(|| failure("reading a code object's memory"))
    }
}

/// The whole file behind a descriptor of the application's, whose position stays as it is.
fn read_file(descriptor: RawFd) -> Option<Vec<u8>> {
    if descriptor < 0 {
        return None;
    }
    // SAFETY: only borrowed: never closed here. A descriptor that is closed or reused by now gives an error or another
    // file's bytes, which are no ELF of this load size; no memory is at stake.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let size =
        file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= LARGEST_FILE)?.len();
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

/// Bytes of this process. The application may have freed the image after loading it; asking the kernel turns a fault
/// into a failure.
fn read_memory(base: u64, size: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(size).ok().filter(|_| size <= LARGEST_FILE)?;
    let mut bytes = vec![0_u8; size];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, base).ok()?;
    Some(bytes)
}
