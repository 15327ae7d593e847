# How `doctor` and `lay` come to their programs. They source this file, and set `home`, the folder of this workspace.
# shellcheck shell=bash disable=SC2154

# Builds a program of this workspace, and says in `built` where it lies. $1: its package.
#
# This happens in the uppermost folder, because rustup and cargo look for files in the current directory and in all above
# it: the toolchain, the flags, the platform and the registry in the files of the caller's project are for that project,
# and a clone of liten may lie inside of it. What the caller's variables say holds here, too, but for the platform. The
# program itself then runs where the caller is. `cargo run` would also set variables that hide the project's toolchain
# from it.
build() {
    local messages name
    command -v cargo >/dev/null || {
        printf 'error: there is no cargo on the PATH. Install Rust, for example from https://rustup.rs\n' >&2
        exit 1
    }
    # A path that is relative begins where the caller is.
    for name in CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR CARGO_HOME RUSTUP_HOME; do
        case ${!name-} in
        '' | /*) ;;
        *) export "$name=$PWD/${!name}" ;;
        esac
    done
    # rustup installs what is missing, or updates what is there, unless it is told not to.
    messages=$(cd / && env -u CARGO_BUILD_TARGET -u RUST_LIB_BACKTRACE RUST_BACKTRACE=0 RUSTUP_AUTO_INSTALL=0 \
        cargo build --quiet --locked --manifest-path "$home/Cargo.toml" --package "$1" \
        --message-format=json-render-diagnostics) || {
        printf 'error: the program behind this command could not be built. %s %s\n%s\n%s\n%s\n' \
            'It needs Rust' "$(sed -nE 's/^rust-version = "(.*)"/\1/p' "$home/face/Cargo.toml") or newer." \
            "If it is for want of the network, run this with it once; after that all lies in cargo's cache:" \
            "cargo fetch --locked --manifest-path '$home/Cargo.toml'" \
            "If the lock file does not fit upstream/Cargo.toml, run in $home: cargo update -p tokio" >&2
        exit 1
    }
    built=$(sed -nE 's/.*"executable":"([^"]+)".*/\1/p' <<<"$messages")
    # The program is shared by the clones that share a folder for what is built, and has to know whose turn it is.
    export LITEN_TOKIO=$home
}
