//! Compiles the C part by the MPI library's own compiler wrapper, and links that library. Without
//! the feature `system` it does nothing and needs nothing.

fn main() {
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    #[cfg(feature = "system")]
    system::build();
}

#[cfg(feature = "system")]
mod system {
    use std::process::Command;

    /// Wrappers by the names that Debian gives them, MPICH's first: it joins processes that mpirun
    /// has not started.
    const WRAPPERS: [&str; 2] = ["mpicc.mpich", "mpicc"];

    pub(crate) fn build() {
        let named = std::env::var("MPICC").ok();
        let wrappers: Vec<&str> =
            named.as_deref().map_or_else(|| WRAPPERS.to_vec(), |wrapper| vec![wrapper]);
        let Some((wrapper, flags)) =
            wrappers.iter().find_map(|wrapper| Some((*wrapper, flags(wrapper)?)))
        else {
            let tried = wrappers.join(", ");
            println!(
                "cargo::error=MPI's compiler wrapper was not found ({tried}): install an MPI library (Debian: \
                 libmpich-dev), name its wrapper in MPICC, or build without the feature `mpi`"
            );
            return;
        };
        cc::Build::new()
            .compiler(wrapper)
            .file("src/shim.c")
            .warnings(true)
            .compile("btu_mpi_shim");
        for flag in flags.split_whitespace() {
            if let Some(directory) = flag.strip_prefix("-L") {
                println!("cargo::rustc-link-search=native={directory}");
            } else if let Some(library) = flag.strip_prefix("-l") {
                println!("cargo::rustc-link-lib=dylib={library}");
            }
        }
    }

    /// The command that the wrapper runs; both MPICH's and Open MPI's print it.
    fn flags(wrapper: &str) -> Option<String> {
        let told = Command::new(wrapper)
            .arg("-show")
            .output()
            .ok()
            .filter(|told| told.status.success())?;
        String::from_utf8(told.stdout).ok()
    }
}
