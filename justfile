# What continuous integration calls, so that what fails there fails here.

# the fast part: format, lints, unit tests
quick:
    cargo fmt --all --check
    cargo clippy --all-targets --all-features -- -D warnings
    cargo test --lib --all-features

# everything the README's test command runs
test:
    cargo test --all-features

lint:
    cargo fmt --all --check
    cargo clippy --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --all-features

# licences and advisories (needs cargo-deny)
deny:
    cargo deny check

# the main job on real input
demo:
    cargo run --release -- demo

bench:
    cargo bench --all-features

# evdb beside its peers, every suite
compare:
    cargo run --release -p compare -- all --scale small

# make the golden files of the current format again; only before a release
golden:
    cargo run --all-features --example make_golden

# the second reader against the golden files
reader:
    cargo build
    python3 tests/reader/check.py

# fuzz one target for some seconds (needs cargo-fuzz and a nightly toolchain)
fuzz target seconds="60":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}} -max_len=65536
