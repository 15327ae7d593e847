# How `doctor` and `lay` come to their programs. They source this file, and set `home`, the folder of this workspace.
# shellcheck shell=bash disable=SC2154

# Builds a program of this workspace, and says in `built` where it lies. $1: its package.
#
# This happens in the folder of this workspace, because rustup and cargo go by the current directory: the toolchain that
# the caller's project pins, and the flags and the platform that it sets, are for the project alone. The program itself
# then runs where the caller is. `cargo run` would also set variables that hide the project's toolchain from it.
build() {
    local messages
    command -v cargo >/dev/null || {
        printf 'error: there is no cargo on the PATH. Install Rust, for example from https://rustup.rs\n' >&2
        exit 1
    }
    case ${CARGO_TARGET_DIR-} in
    '' | /*) ;;
    *) export CARGO_TARGET_DIR=$PWD/$CARGO_TARGET_DIR ;;
    esac
    # rustup installs what is missing, or updates what is there, unless it is told not to.
    messages=$(cd "$home" && env -u CARGO_BUILD_TARGET -u RUST_LIB_BACKTRACE RUST_BACKTRACE=0 RUSTUP_AUTO_INSTALL=0 \
        cargo build --quiet --locked --package "$1" --message-format=json-render-diagnostics) || {
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
