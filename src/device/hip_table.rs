//! The functions of AMD's HIP runtime that rayq calls, found when the program runs or, with the cargo feature
//! `hip-runtime-sys`, linked when it is built.
//!
//! That crate's build script looks for include/hip/hip_runtime_api.h and lib/ under `hipconfig -p`, $HIP_PATH,
//! $ROCM_PATH and /opt/rocm; with Debian's libamdhip64-dev, HIP_PATH=/usr is the one.
//!
//! The types are those of the C interface, which has kept them since ROCm 5: handles are pointers, sizes
//! size_t, statuses and attribute numbers int.

use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! table {
    ($( $(#[$doc:meta])* fn $name:ident($($arg:ty),*) -> $result:ty; )*) => {
        /// The functions by their C names.
        #[allow(non_snake_case)]
        pub struct HipTable {
            $( $(#[$doc])* pub $name: unsafe extern "C" fn($($arg),*) -> $result, )*
            /// Writes a device's properties, a structure that ROCm 6 changed under a new symbol. Of it only the
            /// architecture's name is read, wherever it stands.
            pub device_properties: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
            /// Where the functions are from.
            pub origin: String,
        }

        impl HipTable {
            /// Takes the functions from a loaded library; the error names the first that is missing.
            #[cfg(not(feature = "hip-runtime-sys"))]
            fn of_library(library: &'static Library, origin: String) -> Result<HipTable, String> {
                Ok(HipTable {
                    $(
                        // SAFETY: the type is that of the documented C interface.
                        $name: *unsafe { library.get(stringify!($name)) }
                            .map_err(|_| format!("{origin} lacks {}: rayq needs ROCm 5.0 or newer", stringify!($name)))?,
                    )*
                    device_properties: device_properties(library)
                        .ok_or_else(|| format!("{origin} lacks hipGetDeviceProperties: rayq needs ROCm 5.0 or newer"))?,
                    origin,
                })
            }

            /// Takes the functions that the program is linked with.
            #[cfg(feature = "hip-runtime-sys")]
            fn of_program(program: &'static Library) -> HipTable {
                HipTable {
                    $(
                        // SAFETY: the same C function; its enumerations travel as the int that they are.
                        $name: unsafe {
                            std::mem::transmute::<*const (), unsafe extern "C" fn($($arg),*) -> $result>(
                                hip_runtime_sys::$name as *const (),
                            )
                        },
                    )*
                    device_properties: device_properties(program)
                        .expect("libamdhip64, which this program is linked with, has hipGetDeviceProperties"),
                    origin: "the linked libamdhip64".into(),
                }
            }
        }
    };
}

table! {
    /// Starts the runtime.
    fn hipInit(c_uint) -> c_int;
    /// Driver version, see [`version_text`].
    fn hipDriverGetVersion(*mut c_int) -> c_int;
    /// Name of a status.
    fn hipGetErrorName(c_int) -> *const c_char;
    /// Text of a status.
    fn hipGetErrorString(c_int) -> *const c_char;
    /// Number of devices.
    fn hipGetDeviceCount(*mut c_int) -> c_int;
    /// Product name into (text, length) of a device.
    fn hipDeviceGetName(*mut c_char, c_int, c_int) -> c_int;
    /// Value of an attribute of a device.
    fn hipDeviceGetAttribute(*mut c_int, c_int, c_int) -> c_int;
    /// Bytes of memory of a device.
    fn hipDeviceTotalMem(*mut usize, c_int) -> c_int;
    /// Makes a device current on this thread.
    fn hipSetDevice(c_int) -> c_int;
    /// Makes a stream, with flags.
    fn hipStreamCreateWithFlags(*mut *mut c_void, c_uint) -> c_int;
    /// Waits for a stream.
    fn hipStreamSynchronize(*mut c_void) -> c_int;
    /// Gives a stream back.
    fn hipStreamDestroy(*mut c_void) -> c_int;
    /// Free and total bytes of the current device.
    fn hipMemGetInfo(*mut usize, *mut usize) -> c_int;
    /// Takes memory.
    fn hipMalloc(*mut *mut c_void, usize) -> c_int;
    /// Gives memory back.
    fn hipFree(*mut c_void) -> c_int;
    /// Copies (to, from, bytes, direction, stream).
    fn hipMemcpyAsync(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> c_int;
    /// Sets bytes (to, value, bytes, stream).
    fn hipMemsetAsync(*mut c_void, c_int, usize, *mut c_void) -> c_int;
    /// Loads a code object.
    fn hipModuleLoadData(*mut *mut c_void, *const c_void) -> c_int;
    /// Unloads it.
    fn hipModuleUnload(*mut c_void) -> c_int;
    /// Finds an entry point.
    fn hipModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
    /// Blocks a compute unit holds (to, function, threads, shared bytes).
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, *mut c_void, c_int, usize) -> c_int;
    /// Starts a kernel (function, blocks x y z, threads x y z, shared bytes, stream, parameters, extra).
    fn hipModuleLaunchKernel(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
        *mut *mut c_void, *mut *mut c_void
    ) -> c_int;
    /// Makes an event.
    fn hipEventCreate(*mut *mut c_void) -> c_int;
    /// Gives it back.
    fn hipEventDestroy(*mut c_void) -> c_int;
    /// Records it on a stream.
    fn hipEventRecord(*mut c_void, *mut c_void) -> c_int;
    /// Waits for it.
    fn hipEventSynchronize(*mut c_void) -> c_int;
    /// Milliseconds between two.
    fn hipEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> c_int;
}

type DeviceProperties = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

fn device_properties(library: &'static Library) -> Option<DeviceProperties> {
    let get = |name: &str| {
        // SAFETY: both fill a structure of at most 2 KiB for a device.
        unsafe { library.get::<DeviceProperties>(name) }.ok().map(|symbol| *symbol)
    };
    get("hipGetDevicePropertiesR0600").or_else(|| get("hipGetDeviceProperties"))
}

impl HipTable {
    /// The table, or why there is none.
    #[cfg(not(feature = "hip-runtime-sys"))]
    pub fn find() -> Result<HipTable, String> {
        let (library, origin) = load()?;
        HipTable::of_library(library, origin)
    }

    /// The table of the functions that this program is linked with.
    #[cfg(feature = "hip-runtime-sys")]
    pub fn find() -> Result<HipTable, String> {
        let program: &'static Library = Box::leak(Box::new(libloading::os::unix::Library::this().into()));
        Ok(HipTable::of_program(program))
    }
}

/// Loads the newest HIP runtime by the names that ROCm's releases gave it.
#[cfg(not(feature = "hip-runtime-sys"))]
fn load() -> Result<(&'static Library, String), String> {
    const NAMES: [&str; 4] = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];
    let installed = super::loader::folders(&["/opt/rocm"]);
    let places = NAMES.iter().flat_map(|name| {
        let files = installed.iter().map(move |folder| folder.join(name)).filter(|file| file.exists());
        std::iter::once(std::path::PathBuf::from(name)).chain(files)
    });
    for place in places {
        // SAFETY: runs the library's initialisers, the vendor's business. Never unloaded.
        if let Ok(library) = unsafe { Library::new(&place) } {
            return Ok((Box::leak(Box::new(library)), place.display().to_string()));
        }
    }
    Err("AMD's HIP runtime (libamdhip64.so.7, .6 or .5) was not found: install ROCm's hip-runtime-amd (Debian: libamdhip64-5)".into())
}

/// A version number of HIP as text: 50221153 is 5.2.21153.
pub fn version_text(version: c_int) -> String {
    format!("HIP {}.{}.{}", version / 10_000_000, version / 100_000 % 100, version % 100_000)
}
