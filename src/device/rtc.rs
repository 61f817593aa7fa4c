//! Run-time compilation: the kernels' source in memory, code for one architecture out.
//!
//! NVRTC and hipRTC have the same calls under two prefixes, so one table of functions serves both.

use crate::KERNEL_SOURCES;
use crate::device::cache::Key;
use crate::error::{Error, Result};
use crate::programs::Unit;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

/// The text of a compilation unit: its macros, and the program's file. The same for every compiler.
pub fn wrapper(unit: &Unit) -> String {
    let mut text = String::new();
    for macro_name in unit.defines() {
        text += &format!("#define {macro_name} 1\n");
    }
    text + &format!("#include \"{}\"\n", unit.program.file)
}

/// The cache's name for a unit compiled with these options by this compiler.
///
/// All kernel files count, whether the unit includes them or not: simple, and a rebuild of all takes seconds.
pub fn cache_key(unit: &Unit, options: &[String], compiler: &str) -> Key {
    let wrapper = wrapper(unit);
    let sources = KERNEL_SOURCES.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
    let options = options.iter().map(|o| o.as_bytes());
    Key::new([compiler.as_bytes(), wrapper.as_bytes()].into_iter().chain(options).chain(sources))
}

/// Path, size and time of change: another build of the library differs in one of them.
pub fn stamp(path: &Path) -> String {
    let file = path.metadata();
    let size = file.as_ref().map_or(0, |f| f.len());
    let changed = file.and_then(|f| f.modified()).ok();
    let changed = changed.and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    format!("{} {size} {}", path.display(), changed.as_nanos())
}

/// What a compiler made.
pub struct Compiled {
    /// CUBIN or PTX, or an AMD code object.
    pub code: Vec<u8>,
    /// PTX, where there is such a thing.
    pub ptx: Vec<u8>,
    /// What it said: empty when it had nothing to warn of.
    pub log: String,
}

/// Which compiler a library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// NVIDIA's.
    Nvrtc,
    /// AMD's.
    HipRtc,
}

impl Flavour {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Nvrtc => "NVRTC",
            Flavour::HipRtc => "hipRTC",
        }
    }

    fn symbol(self, function: &str) -> String {
        let prefix = match self {
            Flavour::Nvrtc => "nvrtc",
            Flavour::HipRtc => "hiprtc",
        };
        format!("{prefix}{function}")
    }
}

type Program = *mut c_void;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Numbers = unsafe extern "C" fn(*mut c_int) -> c_int;

/// A loaded run-time compiler.
pub struct Rtc {
    flavour: Flavour,
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    log: (Size, Text),
    code: (Size, Text),
    /// PTX and the list of architectures: NVRTC alone has them.
    ptx: Option<(Size, Text)>,
    architectures: Option<(Numbers, Numbers)>,
}

/// Loads the library of built-in functions that lies beside NVRTC, which asks the loader for it by name and, in
/// a Python wheel, does not find it by itself. Without effect where there is none.
fn load_builtins(nvrtc: &Path) {
    let files =
        nvrtc.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    for file in files.filter(|f| f.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so")) {
        // SAFETY: runs the library's initialisers; it belongs to the compiler that the user installed.
        if let Ok(library) = unsafe { Library::new(file.path()) } {
            std::mem::forget(library);
        }
    }
}

impl Rtc {
    /// Loads the compiler at `path`. The library stays loaded until the process ends: compilers do not
    /// survive being unloaded.
    pub fn load(flavour: Flavour, path: &Path) -> Result<Rtc> {
        let fail = |why: &dyn std::fmt::Display| {
            Error::Device(format!("{}: cannot load {}: {why}", flavour.name(), path.display()))
        };
        load_builtins(path);
        // SAFETY: runs the library's initialisers; it is the compiler that the user installed.
        let library: &'static Library =
            Box::leak(Box::new(unsafe { Library::new(path) }.map_err(|e| fail(&e))?));
        macro_rules! get {
            ($name:expr) => {{
                // SAFETY: the types are those of the documented C interface.
                let symbol = unsafe { library.get(flavour.symbol($name)) };
                *symbol.map_err(|e| fail(&e))?
            }};
        }
        let nvidia = flavour == Flavour::Nvrtc;
        let code = if nvidia { ("GetCUBINSize", "GetCUBIN") } else { ("GetCodeSize", "GetCode") };
        Ok(Rtc {
            flavour,
            version: get!("Version"),
            error_string: get!("GetErrorString"),
            create: get!("CreateProgram"),
            destroy: get!("DestroyProgram"),
            compile: get!("CompileProgram"),
            log: (get!("GetProgramLogSize"), get!("GetProgramLog")),
            code: (get!(code.0), get!(code.1)),
            ptx: if nvidia { Some((get!("GetPTXSize"), get!("GetPTX"))) } else { None },
            architectures: if nvidia {
                Some((get!("GetNumSupportedArchs"), get!("GetSupportedArchs")))
            } else {
                None
            },
        })
    }

    /// Version, (major, minor).
    pub fn version(&self) -> Result<(i32, i32)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: two places to write to.
        self.check("its version", unsafe { (self.version)(&mut major, &mut minor) })?;
        Ok((major, minor))
    }

    /// The compute capabilities that NVRTC compiles for, ascending: 75, 80, 86, ...; empty for hipRTC.
    pub fn architectures(&self) -> Result<Vec<i32>> {
        let Some((count, list)) = self.architectures else { return Ok(vec![]) };
        let mut n = 0;
        // SAFETY: a place to write to.
        self.check("its architectures", unsafe { count(&mut n) })?;
        let mut architectures = vec![0; n.max(0) as usize];
        // SAFETY: writes the `n` numbers just announced.
        self.check("its architectures", unsafe { list(architectures.as_mut_ptr()) })?;
        architectures.sort_unstable();
        Ok(architectures)
    }

    /// Compiles `source`, which may include any file of the kernels by its path under kernels/.
    pub fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Compiled> {
        let c = |text: &str| CString::new(text).expect("kernel sources hold no NUL");
        let texts: Vec<_> = KERNEL_SOURCES.iter().map(|(_, text)| c(text)).collect();
        let names: Vec<_> = KERNEL_SOURCES.iter().map(|(name, _)| c(name)).collect();
        let options: Vec<_> = options.iter().map(|o| c(o)).collect();
        let pointers = |of: &[CString]| of.iter().map(|s| s.as_ptr()).collect::<Vec<_>>();
        let (texts, names, options) = (&pointers(&texts), &pointers(&names), &pointers(&options));
        let (source, file) = (c(source), c(&format!("{name}.cpp")));
        let mut program = std::ptr::null_mut();
        // SAFETY: as many texts as names, all alive to the end of this function, as are the options below.
        self.check(name, unsafe {
            (self.create)(
                &mut program,
                source.as_ptr(),
                file.as_ptr(),
                texts.len() as c_int,
                texts.as_ptr(),
                names.as_ptr(),
            )
        })?;
        // SAFETY: a program just made.
        let status = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let outcome = self.read(name, program, self.log).and_then(|log| {
            let log = String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).trim().to_owned();
            self.check(name, status).map_err(|e| Error::Device(format!("{e}\n{log}")))?;
            let code = self.read(name, program, self.code)?;
            let ptx = self.ptx.map_or(Ok(vec![]), |ptx| self.read(name, program, ptx))?;
            // PTX was asked for if there is no CUBIN.
            let code = if code.is_empty() { ptx.clone() } else { code };
            Ok(Compiled { code, ptx, log })
        });
        // SAFETY: made above, used no more.
        unsafe { (self.destroy)(&mut program) };
        outcome
    }

    fn read(&self, what: &str, program: Program, (size, text): (Size, Text)) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: a living program and a place to write to.
        self.check(what, unsafe { size(program, &mut bytes) })?;
        let mut out = vec![0u8; bytes];
        if bytes > 0 {
            // SAFETY: room for as many bytes as just announced.
            self.check(what, unsafe { text(program, out.as_mut_ptr().cast()) })?;
        }
        Ok(out)
    }

    fn check(&self, what: &str, status: c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: returns a constant string for any number.
        let text = unsafe { (self.error_string)(status) };
        let text = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: a C string, just checked not to be null.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(Error::Device(format!("{} failed on {what}: {text}", self.flavour.name())))
    }
}
