//! Reader of AMDGPU code objects: kernel metadata, symbols and writable segments.
