# What scripts need that start a server, use it, and look at its threads. They source this file, and set `name`, the
# program whose turn it is, `work`, a folder for what is written, and `own`, the first words of the names of the threads
# that the program or a library of its starts itself.
# shellcheck shell=bash disable=SC2154
server='' port=''

fail() {
    printf 'FAILED: %s: %s\n' "$name" "$1" >&2
    exit 1
}

# $1: of what; $2: what is wanted; $3: what has come.
expect() {
    [ "$2" = "$3" ] || fail "$1: not \"$2\", but \"$3\""
}

# Waits until a command succeeds. $1: for what; the rest is the command.
until_it() {
    local what=$1 begun=$SECONDS
    shift
    until "$@"; do
        [ $((SECONDS - begun)) -lt 60 ] || fail "waited for $what for a minute"
        [ -z "$server" ] || kill -0 "$server" 2>/dev/null || fail "it ended: $(tail -n 3 "$work/printed")"
        sleep 0.05
    done
}

# The port on which the server listens: it was told 0, and not each program says which one it has got.
finds_port() {
    local inodes
    inodes=$(find "/proc/$server/fd" -lname 'socket:*' -printf '%l ' 2>/dev/null | tr -d 'socket:[]')
    port=$(awk -v inodes=" $inodes " '$4 == "0A" && index(inodes, " " $10 " ") { print substr($2, length($2) - 3) }' \
        "/proc/$server/net/tcp" | head -1)
    [ "$port" ] && port=$((16#$port))
}

# Starts a server. The arguments are the command.
start() {
    "$@" >"$work/printed" 2>&1 &
    server=$!
    trap 'kill -9 "$server" 2>/dev/null || true' EXIT
    until_it 'a port' finds_port
}

# Interrupts the server after a look at its threads, and waits for its end.
end() {
    local status=0 kind
    threads=$(sed -E 's/[-:|]*[0-9]*$//' "/proc/$server/task/"*/comm | sort -u | tr '\n' ' ')
    # A program may name all threads of its runtimes itself. That the runtimes are liten's is what the doctor has said.
    [[ $own || $threads == *liten-worker* ]] || fail "no thread is liten's: $threads"
    for kind in $threads; do
        case $kind in
        liten-*) ;;
        *)
            [[ " $own $(cat "/proc/$server/comm") " == *" ${kind%%|*} "* ]] ||
                fail "a thread named $kind is neither liten's nor the program's"
            ;;
        esac
    done
    kill -INT "$server"
    timeout 60 tail --pid="$server" --follow /dev/null || fail 'it does not end when it is interrupted'
    wait "$server" || status=$?
    server=
    trap - EXIT
    expect 'the exit code' 0 "$status"
}

get() {
    curl --silent --no-progress-meter --show-error --max-time 60 "$@"
}
